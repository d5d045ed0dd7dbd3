"""
Which two classes are hard to tell apart?
=========================================

Three species of iris, by their sepals alone. The average AUC looks good and hides that two of them are nearly confused.
"""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

import foldless as fl

iris = load_iris()
X, y = scale(iris.data[::2, :2]), iris.target_names[iris.target][::2]
model = LogisticRegression().fit(X, y)
fl.PairwiseAUCDisplay.from_estimator(model, X, y)
