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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_single_and_half_precision(dtype):
    """As the same numbers in float64, whatever the penalty; coefficients are in single precision."""
    X, y = table(600, 20, 4)
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    X[::200, 2] = 50.0  # a few rows fill a direction
    tensor, alphas = torch.asarray(X).to(dtype), [1e-8, 1e-3, 1.0, 1e9]
    got, expected = searched(tensor, y, alphas=alphas), searched(tensor.double().numpy(), y, alphas=alphas)
    assert_same(got, expected, 1e-9)
    assert got.best_estimator_.coef_.dtype == np.float32


def test_tiny_penalties_of_more_columns_than_rows():
    """They are raised to where the arithmetic is reliable, as on the host."""
    X, y = table(60, 90, 4)
    assert_same(
        searched(torch.asarray(X), y, alphas=[1e-12, 1e-9, 1.0]), searched(X, y, alphas=[1e-12, 1e-9, 1.0]), 1e-5
    )


def test_strong_penalties_find_nothing_in_noise():
    X, y = np.random.default_rng(0).normal(size=(60, 100)) / 10, np.arange(60) % 4
    got = searched(torch.asarray(X), y, alphas=[1.0, 1e4, 1e8])
    assert max(posterior.mean for posterior in got.posteriors_) < 0.45


def test_a_candidate_that_cannot_be_judged():
    """Is left out or raised, as `error_score` says; what scikit-learn refuses is refused in its words."""
    X, y = table(*SHAPES[0])
    with pytest.warns(fl.TrustWarning, match="1 of 3 candidates .* alpha=0"):
        got = searched(torch.asarray(X), y, alphas=[1.0, 0, 10.0], error_score=np.nan)
    assert np.isnan(got.results_["mean"]).tolist() == [False, True, False]
    with pytest.raises(fl.EstimatorError, match="alpha=0"):
        searched(torch.asarray(X), y, alphas=[1.0, 0], error_score="raise")
    with pytest.raises(ValueError, match="'solver' parameter of RidgeClassifier"):
        searched(torch.asarray(X), y, RidgeClassifier(solver="none"))


class Sums(RidgeClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(np.cumsum(X, axis=1), y, sample_weight)


REFUSED = {
    "LogisticRegression": {"model": LogisticRegression(), "grid": {"C": [1.0]}},
    "Pipeline": {"model": make_pipeline(StandardScaler(), RidgeClassifier())},
    "class_weight='balanced'": {"model": RidgeClassifier(class_weight="balanced")},
    "positive=True": {"model": RidgeClassifier(positive=True, solver="lbfgs")},
    "Sums": {"model": Sums()},
    "alpha=0": {"grid": {"alpha": [0]}},
    "scoring='auc'": {"scoring": "auc"},
    "method='refit'": {"method": "refit"},
    "fit(X, y, sample_weight=...)": {"fit": {"sample_weight": np.ones(300)}},
}


@pytest.mark.parametrize("named", REFUSED)
def test_what_needs_the_host_is_refused(named):
    """By its name, with what is taken and the way out."""
    X, y = table(*SHAPES[0])
    case = {"model": RidgeClassifier(), "scoring": "accuracy", "method": "auto", "fit": {}, "grid": {}} | REFUSED[named]
    search = fl.FoldlessSearch(case["model"], case["grid"], scoring=case["scoring"], method=case["method"])
    with pytest.raises(
        fl.EstimatorError, match=r"is for RidgeClassifier .* with X.detach\(\).cpu\(\).numpy"
    ) as refusal:
        search.fit(torch.asarray(X), y, **case["fit"])
    assert f"got {named}" in str(refusal.value)


def test_an_argument_of_fit_that_is_none_is_none():
    X, y = table(*SHAPES[0])
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": ALPHAS}, scoring="accuracy")
    assert_same(search.fit(torch.asarray(X), y, sample_weight=None), searched(X, y), 1e-9)


def test_bad_tables_are_named():
    """A NaN by its place, a class of one row by its label; numbers that cannot be squared, rows that are all alike."""
    X, y = table(*SHAPES[0])
    hole = torch.asarray(X.copy())
    hole[17, 4] = torch.nan
    with pytest.raises(fl.InputError, match="row 17, column 4"):
        searched(hole, y)
    for bad, said in ((hole.nan_to_num() * 1e200, "too large or too small"), (torch.ones(300, 4), "are the same")):
        with pytest.raises(fl.InputError, match=said):
            searched(bad, y)
    with pytest.raises(fl.InputError, match="sparse tensor"):
        searched(torch.asarray(X).to_sparse(), y)
    y = np.where(np.arange(y.size) == 5, 7, y)
    with pytest.raises(fl.InputError, match="class 7 has 1"):
        searched(torch.asarray(X), y)
