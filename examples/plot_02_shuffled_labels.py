"""
Signal, or none: shuffle the labels
===================================

The check that comes before all others. On shuffled labels there is nothing to learn. The AUC of the training rows
does not notice (crosses); the posterior does, and says so by being wide and near 0.5.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale

import foldless as fl

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[100:160]), y[100:160]
rng = np.random.default_rng(0)
labels = {"real labels": y} | {f"shuffled, {k}": rng.permutation(y) for k in (1, 2, 3)}

answers, trained = {}, []
for name, target in labels.items():
    model = LogisticRegression(C=0.1).fit(X, target)
    answers[name] = fl.auc_posterior(model, X, target)
    trained.append(roc_auc_score(target, model.decision_function(X)))

display = fl.AUCPosteriorDisplay.from_posterior(answers)
display.ax_.plot(
    trained, range(len(labels) - 1, -1, -1), "x", color="C3", label="AUC of the training rows", clip_on=False
)
display.ax_.legend(loc="upper left", fontsize="small")
