"""
Do six blood tests add anything?
================================

The same model with four clinical columns and with all ten. What is drawn is the posterior of the *difference* of
the two AUCs: both were judged on the same rows, so the difference is known better than either.
"""

from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

X, progression = load_diabetes(return_X_y=True)
X, y = X[:150], progression[:150] > 140


def on_columns(columns):
    pick = make_column_transformer((StandardScaler(), columns))
    return make_pipeline(pick, LogisticRegression()).fit(X, y)


result = fl.compare(
    on_columns(list(range(10))), on_columns([0, 1, 2, 3]), X, y, rope=0.01, names=("with blood", "clinical")
)
fl.ComparisonDisplay.from_comparison(result)
