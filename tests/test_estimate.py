"""The public entry points: estimators and bare weights agree, optimism is said aloud, nothing is ignored."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl

ENTRIES = [fl.auc_posterior, fl.roc_posterior, fl.error_posterior]


def answer(result):
    """The numbers of any result."""
    if isinstance(result, fl.AUCPosterior):
        return [result.mean, *result.interval()]
    if isinstance(result, fl.ROCPosterior):
        return list(result.mean([0.1, 0.5]))
    return [result.sensitivity.mean, result.specificity.mean]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda f: f.__name__)
def test_many_features_warn(make_data, entry):
    """In-sample with many features per row: OptimismWarning, and the same text in the notes."""
    X, y, _ = make_data(0, 30, 30, 40)
    model = LogisticRegression().fit(X, y)
    with pytest.warns(fl.OptimismWarning, match="optimistic with 40 features and 60 rows") as caught:
        result = entry(model, X, y, method="in-sample")
    assert caught[0].filename == __file__
    assert any("optimistic" in note for note in result.notes)
    if not isinstance(result, fl.ROCPosterior):
        assert any("optimistic" in note for note in result.summary()["notes"])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda f: f.__name__)
def test_few_features_are_silent(make_data, entry):
    """In-sample with few features per row: no warning, no note (warnings are errors here)."""
    X, y, _ = make_data(0, 100, 100, 2)
    result = entry(LogisticRegression().fit(X, y), X, y, method="in-sample")
    assert result.notes == ()
    assert (result.method, result.n0, result.n1) == ("in-sample", 100, 100)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda f: f.__name__)
def test_bare_weights_equal_the_estimator(make_data, entry):
    """A weight vector gives the answer of the estimator that it was taken from; threshold on its own scale."""
    X, y, _ = make_data(1, 80, 90, 3)
    model = RidgeClassifier(fit_intercept=False).fit(X, y)
    expected = answer(entry(model, X, y, method="in-sample"))
    for w in (model.coef_, model.coef_.ravel(), model.coef_.ravel().tolist()):
        np.testing.assert_allclose(answer(entry(w, X, y, method="in-sample")), expected, atol=1e-12)


def test_mean_is_cbauc(make_data):
    """The mean of the in-sample posterior is the paper's number, for every prior."""
    X, y, w = make_data(2, 90, 60, 3)
    for prior in (None, fl.Prior.improper(), fl.Prior.scaled_identity(), fl.Prior.known_covariance(2.0)):
        post = fl.auc_posterior(w, X, y, method="in-sample", prior=prior)
        assert post.mean == pytest.approx(fl.cbauc(w, X, y, prior=prior), abs=1e-13)


def test_pos_label_for_bare_weights(make_data):
    """For a weight vector pos_label names the class that high scores stand for: the same in cbauc and auc_posterior."""
    X, y, w = make_data(2, 90, 60, 3)
    for label in (0, 1):
        post = fl.auc_posterior(w, X, y, method="in-sample", pos_label=label)
        assert post.mean == pytest.approx(fl.cbauc(w, X, y, pos_label=label), abs=1e-12)


def test_loo_is_not_in_sample(make_data):
    """method="loo" and "auto" give the leave-one-out answer: on pure noise far below the in-sample one."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), np.arange(60) % 2
    model = LogisticRegression().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fl.OptimismWarning)
        optimistic = fl.auc_posterior(model, X, y, method="in-sample")
    for method in ("auto", "loo"):
        post = fl.auc_posterior(model, X, y, method=method)
        assert post.method.startswith("loo")
        assert post.mean < 0.75 < optimistic.mean


def test_labels_of_any_kind(make_data):
    """Text, booleans, pandas and polars columns and column vectors as y give the answer of 0 and 1."""
    import pandas as pd
    import polars as pl

    X, y, w = make_data(3, 90, 60, 3)
    expected = fl.cbauc(w, X, y)
    text = np.where(y == 1, "b", "a")
    for labels in (
        y.astype(bool),
        text,
        text.tolist(),
        pd.Series(text),
        pd.Categorical(text),
        pl.Series(text),
        y[:, None],
    ):
        assert fl.cbauc(w, X, labels) == expected


def test_data_are_left_alone(make_data):
    """X, y and w are not written to, and read-only arrays are accepted."""
    X, y, w = make_data(4, 90, 60, 3)
    before = [a.copy() for a in (X, y, w)]
    for a in (X, y, w):
        a.setflags(write=False)
    fl.cbauc(w, X, y, prior=fl.Prior.scaled_identity())
    for entry in ENTRIES:
        for method in ("in-sample", "loo"):
            entry(w, X, y, method=method)
    for given, copy in zip((X, y, w), before, strict=True):
        np.testing.assert_array_equal(given, copy)
