"""
How good is my classifier?
==========================

The posterior of the AUC of a logistic regression that was trained on 60 rows, from those 60 rows. The point is the
mean, the bar is the 95 % interval, and the line is the density.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:60, :10], y[:60]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
post = fl.auc_posterior(model, X, y)
fl.AUCPosteriorDisplay.from_posterior(post, name="60 patients")

# %%
# In a notebook the result shows itself:
post
