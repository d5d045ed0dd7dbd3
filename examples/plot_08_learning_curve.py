"""
What would more rows bring?
===========================

The AUC of the same classifier with two and five times the rows, foretold from the rows at hand. Nothing is
refitted.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

import foldless as fl

rng = np.random.default_rng(0)
y = np.arange(80) % 2
X = rng.normal(size=(80, 200))
X[:, :20] += 0.5 * y[:, None]
model = LogisticRegression(C=0.01).fit(X, y)
fl.LearningCurveDisplay.from_estimator(model, X, y, factors=(1, 1.5, 2, 3, 5))
