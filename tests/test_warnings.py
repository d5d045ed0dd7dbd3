"""Warnings name the line of the user, whichever function found the reason."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

import foldless as fl
from data import alternating


class Halves(TransformerMixin, BaseEstimator):
    """A step that foldless does not know."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.asarray(X) / 2


@pytest.fixture(scope="module")
def rows():
    return alternating(40, 5, shift=1.0)


@pytest.fixture(scope="module")
def unknown_step(rows):
    return make_pipeline(Halves(), RidgeClassifier()).fit(*rows)


@pytest.fixture(scope="module")
def wrong_weights(rows):
    model = RidgeClassifier().fit(*rows)
    model.coef_ = model.coef_ * np.array([1.0, -3.0, 1.0, 5.0, -1.0])
    return model


CALLS = {
    "auc_posterior": fl.auc_posterior,
    "roc_posterior": fl.roc_posterior,
    "error_posterior": fl.error_posterior,
    "honest_scores": fl.honest_scores,
    "learning_curve": fl.learning_curve,
    "compare": lambda model, X, y: fl.compare(model, RidgeClassifier(alpha=9.0).fit(X, y), X, y),
    "compare_many": lambda model, X, y: fl.compare_many({"a": model, "b": RidgeClassifier().fit(X, y)}, X, y),
    "in-sample": lambda model, X, y: fl.auc_posterior(model, X, y, method="in-sample"),
    "search": lambda model, X, y: fl.FoldlessSearch(model, {"memory": [None]}).fit(X, y),
    "display": lambda model, X, y: fl.AUCPosteriorDisplay.from_estimator(model, X, y),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_line_of_the_user_is_named(name, rows, unknown_step):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name](unknown_step, *rows)
    assert caught
    assert {w.filename for w in caught if issubclass(w.category, fl.FoldlessWarning)} == {__file__}


@pytest.mark.parametrize("name", ["auc_posterior", "learning_curve", "compare"])
def test_weights_from_elsewhere_are_told_at_the_line_of_the_user(name, rows, wrong_weights):
    with pytest.warns(fl.TrustWarning, match="point elsewhere") as caught:
        CALLS[name](wrong_weights, *rows)
    assert {w.filename for w in caught} == {__file__}
