"""
Choosing C without folds
========================

Every candidate was fitted once, on all rows. The band is the 95 % interval of each; the note says how much the
winner may owe to luck.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

X, progression = load_diabetes(return_X_y=True)
X, y = X[:100], progression[:100] > 140
model = make_pipeline(StandardScaler(), LogisticRegression())
search = fl.FoldlessSearch(model, {"logisticregression__C": np.logspace(-4, 3, 15)}).fit(X, y)
fl.SearchDisplay.from_estimator(search)
