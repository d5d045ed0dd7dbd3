"""
Several models on the same rows
===============================

Each posterior on its own, and in the names the probability of each to be the best one. The intervals overlap
widely; the ranking knows more, because it looks at differences.
"""

from sklearn.datasets import load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

import foldless as fl

X, progression = load_diabetes(return_X_y=True)
X, y = scale(X[:150]), progression[:150] > 140
models = {
    "logistic 1": LogisticRegression().fit(X, y),
    "logistic 0.001": LogisticRegression(C=0.001).fit(X, y),
    "ridge": RidgeClassifier(alpha=10).fit(X, y),
    "SVM": LinearSVC(C=0.01).fit(X, y),
    "LDA": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.3).fit(X, y),
}
ranking = fl.compare_many(models, X, y)
fl.AUCPosteriorDisplay.from_posterior({f"{m.name}: best {m.prob_best:.0%}": m.auc for m in ranking.models})
