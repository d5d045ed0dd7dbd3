"""Searches over ridge classifiers of several classes on tensors: the answers of the same rows as a NumPy array."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

torch = pytest.importorskip("torch")

ALPHAS = [0.01, 0.1, 1.0, 30.0, 1000.0]
SHAPES = [(300, 20, 3), (200, 40, 10), (60, 90, 4), (240, 12, 40)]


def table(n, p, k):
    X, y = make_classification(
        n, p, n_informative=min(p, 15), n_redundant=0, n_classes=k, n_clusters_per_class=1, random_state=0
    )
    return X + 3.0, y


def searched(X, y, model=None, alphas=ALPHAS, scoring="accuracy", **options):
    return fl.FoldlessSearch(model or RidgeClassifier(), {"alpha": alphas}, scoring=scoring, **options).fit(X, y)


def assert_same(got, expected, tolerance):
    for a, b in zip(got.posteriors_, expected.posteriors_, strict=True):
        assert (a.name, a.method) == (b.name, b.method)
        assert (a.a, a.b) == (pytest.approx(b.a, rel=tolerance), pytest.approx(b.b, rel=tolerance))
        assert a.apparent == pytest.approx(b.apparent, abs=tolerance)
    assert got.best_params_ == expected.best_params_
    assert got.optimism_ == pytest.approx(expected.optimism_, abs=tolerance)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_answer_of_numpy(shape, intercept, scoring, monkeypatch):
    """In blocks of a few rows: every posterior, the choice and what the choice may have gained, the chosen fit."""
    from foldless.honest import ridge_on_device

    monkeypatch.setattr(ridge_on_device, "BLOCK_ENTRIES", 7 * max(shape[1:]))
    X, y = table(*shape)
    model = RidgeClassifier(fit_intercept=intercept)
    got = searched(torch.asarray(X), torch.asarray(y), model, scoring=scoring)
    expected = searched(X, y, model, scoring=scoring)
    assert_same(got, expected, 1e-9)
    assert (got.path_, got.best_estimator_.alpha) == ("shared", got.best_params_["alpha"])
    np.testing.assert_array_equal(got.predict(X), expected.predict(X))
    np.testing.assert_allclose(got.decision_function(X), expected.decision_function(X), rtol=0, atol=1e-8)


def test_candidates_with_and_without_an_intercept():
    """They have a Gram matrix each, and stand in the order of the grid."""
    X, y = table(*SHAPES[0])
    grid = {"alpha": [1.0, 100.0], "fit_intercept": [False, True]}
    got, expected = (
        fl.FoldlessSearch(RidgeClassifier(), grid, scoring="accuracy").fit(each, y) for each in (torch.asarray(X), X)
    )
    assert_same(got, expected, 1e-9)
    assert list(got.results_["params"]) == list(expected.results_["params"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_single_and_half_precision(dtype):
    """As the same numbers in float64, but for rows that rounding moves over the border: at most one in a thousand."""
    X, y = table(1500, 30, 10)
    tensor = torch.asarray(X).to(dtype)
    got, expected = searched(tensor, y), searched(tensor.double().numpy(), y)
    assert_same(got, expected, 1e-3)
    assert got.best_estimator_.coef_.dtype == (np.float32 if dtype == torch.float32 else np.float64)


def test_a_penalty_too_weak_for_single_precision():
    """Nearly equal columns: rows are multiplied in float64."""
    X, y = table(600, 20, 4)
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    X = X.astype(np.float32)
    assert_same(
        searched(torch.asarray(X), y, alphas=[1e-6, 1e-5]), searched(X.astype(float), y, alphas=[1e-6, 1e-5]), 1e-9
    )


REFUSED = {
    "LogisticRegression": {"model": LogisticRegression(), "grid": {"C": [1.0]}},
    "Pipeline": {"model": make_pipeline(StandardScaler(), RidgeClassifier())},
    "class_weight='balanced'": {"model": RidgeClassifier(class_weight="balanced")},
    "positive=True": {"model": RidgeClassifier(positive=True, solver="lbfgs")},
    "alpha=0": {"grid": {"alpha": [1.0, 0]}},
    "scoring='auc'": {"scoring": "auc"},
    "method='refit'": {"method": "refit"},
    "fit arguments": {"fit": {"sample_weight": np.ones(300)}},
}


@pytest.mark.parametrize("named", REFUSED)
def test_what_needs_the_host_is_refused(named):
    """By its name, with what is taken and the way out."""
    X, y = table(*SHAPES[0])
    case = {"model": RidgeClassifier(), "scoring": "accuracy", "method": "auto", "fit": {}, "grid": {}} | REFUSED[named]
    search = fl.FoldlessSearch(case["model"], case["grid"], scoring=case["scoring"], method=case["method"])
    with pytest.raises(fl.EstimatorError, match=r"takes RidgeClassifier .* pass X.cpu\(\).numpy\(\)") as refusal:
        search.fit(torch.asarray(X), y, **case["fit"])
    assert f"got {named}" in str(refusal.value)


def test_bad_tables_are_named():
    """A NaN by its place, a class of one row by its label."""
    X, y = table(*SHAPES[0])
    hole = torch.asarray(X.copy())
    hole[17, 4] = torch.nan
    with pytest.raises(fl.InputError, match="row 17, column 4"):
        searched(hole, y)
    y = np.where(np.arange(y.size) == 5, 7, y)
    with pytest.raises(fl.InputError, match="class 7 has 1"):
        searched(torch.asarray(X), y)
