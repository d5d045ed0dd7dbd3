"""
The ROC curve with its band
===========================

The curve to expect on new rows, a 95 % band, and the point at which ``predict`` decides, with the intervals of both
of its rates.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

X, progression = load_diabetes(return_X_y=True)
X, y = X[:150], progression[:150] > 140
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
fl.ROCPosteriorDisplay.from_estimator(model, X, y, name="150 patients")
