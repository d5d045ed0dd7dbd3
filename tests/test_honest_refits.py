"""Closed forms against brute force: leave-pair-out refits of scikit-learn's own classifiers at N = 40."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from data import gaussian
from foldless.honest.leave_one_out import remove_rows
from foldless.model.view import take_apart

TIGHT = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}
WIDE = pytest.param(100, marks=pytest.mark.slow)
SEEDS = (0, 1, 2)


def removed(model, X, y, sample_weight=None, **options):
    """Fit, take apart, remove."""
    kwargs = {} if sample_weight is None else {"sample_weight": sample_weight}
    fitted = clone(model).fit(X, y, **kwargs)
    return remove_rows(take_apart(fitted, X, y), sample_weight=sample_weight, **options)


def refit_scores(model, X, y, drop, rows, sample_weight=None):
    """Decision values of `rows` under a fit that lacks `drop`."""
    keep = np.setdiff1d(np.arange(len(y)), drop)
    kwargs = {} if sample_weight is None else {"sample_weight": sample_weight[keep]}
    return clone(model).fit(X[keep], y[keep], **kwargs).decision_function(X[rows])


def refit_pairs(model, X, y, sample_weight=None):
    """Scores (n1, n0) of i and of j under refits without i and j."""
    rows1, rows0 = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    pairs = [[refit_scores(model, X, y, [i, j], [i, j], sample_weight) for j in rows0] for i in rows1]
    return np.asarray(pairs).transpose(2, 0, 1)


def pair_auc(score1, score0):
    return float(np.mean(score1 > score0) + 0.5 * np.mean(score1 == score0))


def balanced(y):
    return np.where(y == 1, len(y) / (2 * np.sum(y == 1)), len(y) / (2 * np.sum(y == 0)))


# ---- quadratic losses: exact


@pytest.mark.parametrize("P", [6, 100])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_is_exact(P, alpha, fit_intercept):
    X, y = gaussian(3, P, N=24)
    model = RidgeClassifier(alpha=alpha, fit_intercept=fit_intercept)
    result = removed(model, X, y)
    score1, score0 = refit_pairs(model, X, y)
    np.testing.assert_allclose(result.without_pair1, score1, atol=1e-9)
    np.testing.assert_allclose(result.without_pair0, score0, atol=1e-9)
    loo = [refit_scores(model, X, y, [i], [i])[0] for i in range(len(y))]
    np.testing.assert_allclose(result.loo, loo, atol=1e-9)


@pytest.mark.parametrize("P", [6, 100])
def test_ridge_is_exact_with_weights(P):
    X, y = gaussian(4, P, N=24, n1=9)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=len(y))
    result = removed(RidgeClassifier(), X, y, sample_weight=weight)
    score1, score0 = refit_pairs(RidgeClassifier(), X, y, weight)
    np.testing.assert_allclose(result.without_pair1, score1, atol=1e-9)
    np.testing.assert_allclose(result.without_pair0, score0, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("P", "n1"), [(6, 9), (100, 9), (6, 3)])
def test_balanced_class_weights_leave_with_the_rows(P, n1, weighted):
    """Exact for quadratic losses, for every pair and for single rows."""
    X, y = gaussian(4, P, N=24, n1=n1)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=len(y)) if weighted else None
    model = RidgeClassifier(class_weight="balanced")
    result = removed(model, X, y, sample_weight=weight)
    score1, score0 = refit_pairs(model, X, y, weight)
    np.testing.assert_allclose(result.without_pair1, score1, atol=1e-9)
    np.testing.assert_allclose(result.without_pair0, score0, atol=1e-9)
    loo = [refit_scores(model, X, y, [i], [i], weight)[0] for i in range(len(y))]
    np.testing.assert_allclose(result.loo, loo, atol=1e-9)
    kwargs = {} if weight is None else {"sample_weight": weight}
    np.testing.assert_allclose(result.z, clone(model).fit(X, y, **kwargs).decision_function(X), atol=1e-9)


def test_balance_is_kept_for_groups_and_the_notes_say_so():
    X, y = gaussian(4, 6, N=24, n1=9)
    model, fixed = RidgeClassifier(class_weight="balanced"), RidgeClassifier()
    result = removed(model, X, y, groups=np.arange(24))
    np.testing.assert_allclose(result.loo, removed(fixed, X, y, sample_weight=balanced(y)).loo, atol=1e-9)
    assert any("balanced class weights are kept" in note for note in result.provenance.notes)


@pytest.mark.parametrize("P", [6, 100])
def test_influence_of_single_rows_adds_up(P):
    X, y = gaussian(5, P, N=18, n1=8)
    model = RidgeClassifier(alpha=2.0)
    result = removed(model, X, y)
    N, loo = len(y), result.loo
    influence = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if i != j:
                influence[i, j] = refit_scores(model, X, y, [i, j], [i])[0] - loo[i]
    expected = clustered = 0.0
    for k in (0, 1):
        rows = np.flatnonzero(y == k)
        centred = influence[rows] - influence[rows].mean(axis=0)
        centred[np.arange(len(rows)), rows] = 0.0
        expected += (centred**2).sum() * len(rows) / (len(rows) - 1) / N
        clustered += (centred**2).sum() / len(rows) ** 2
    assert result.influence_sq == pytest.approx(expected, rel=1e-8)
    assert result.cluster_influence_sq == pytest.approx(clustered, rel=1e-8)


# ---- other losses: one Newton step, measured in leave-pair-out AUC


N_PAIRS = 100  # refits per data set: enough to see a difference of 0.01, few enough to wait for


@dataclass(frozen=True)
class Case:
    """A way of drawing data sets; hashable, so that the refits of a model on it are done once."""

    P: int
    effect: float = 1.2
    n1: int = 20

    def data(self, seed):
        X, y = gaussian(seed, self.P, effect=self.effect, n1=self.n1)
        pairs = np.random.default_rng(seed).permutation(self.n1 * (40 - self.n1))[:N_PAIRS]
        return X, y, np.divmod(pairs, 40 - self.n1)


REFITS = {}


def refit_auc(model, case, seed):
    """AUC over the sampled pairs, each scored by a refit without it."""
    key = (repr(model), case, seed)
    if key not in REFITS:
        X, y, pairs = case.data(seed)
        rows = zip(np.flatnonzero(y == 1)[pairs[0]], np.flatnonzero(y == 0)[pairs[1]], strict=True)
        scores = np.asarray([refit_scores(model, X, y, [i, j], [i, j]) for i, j in rows])
        REFITS[key] = pair_auc(scores[:, 0], scores[:, 1])
    return REFITS[key]


def closed_form_auc(model, case, seed):
    X, y, pairs = case.data(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = removed(model, X, y)
    return pair_auc(result.without_pair1[pairs], result.without_pair0[pairs])


def mean_error(model, case, refitted=None):
    """Mean absolute difference of the leave-pair-out AUC between closed form and refits, over seeds."""
    reference = model if refitted is None else refitted
    return float(np.mean([abs(closed_form_auc(model, case, k) - refit_auc(reference, case, k)) for k in SEEDS]))


@pytest.mark.parametrize("P", [6, WIDE])
@pytest.mark.parametrize(("C", "tolerance"), [(0.01, 0.01), (1.0, 0.01), (100.0, 0.03)])
@pytest.mark.parametrize("user", [TIGHT, {}], ids=["tight", "default tolerance"])
def test_logistic_regression(P, C, tolerance, user):
    model = LogisticRegression(C=C, **user)
    assert mean_error(model, Case(P), LogisticRegression(C=C, **TIGHT)) < tolerance


@pytest.mark.parametrize("P", [6, WIDE])
def test_balanced_logistic_regression(P):
    model = LogisticRegression(class_weight="balanced", **TIGHT)
    assert mean_error(model, Case(P, n1=12)) < 0.01


def test_logistic_regression_without_penalty():
    # Weak effect: with 38 rows left, strong ones come out separable in some pairs.
    assert mean_error(LogisticRegression(C=np.inf, **TIGHT), Case(4, effect=0.8)) < 0.01


@pytest.mark.parametrize(("P", "shrinkage"), [(6, 0.1), (6, 0.5), (100, 0.1), (100, 0.999)])
def test_discriminant_analysis(P, shrinkage):
    assert mean_error(LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage), Case(P)) < 0.01


def test_discriminant_analysis_without_shrinkage():
    assert mean_error(LinearDiscriminantAnalysis(), Case(6)) < 0.01


@pytest.mark.parametrize("P", [6, 100])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_support_vector_machine(P, C):
    assert mean_error(LinearSVC(C=C, dual=False, tol=1e-8, max_iter=100_000), Case(P)) < 0.03


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_discriminant_scores_are_exact_without_shrinkage(solver):
    """Direction, scale, midpoint and prior odds: all follow the removed rows."""
    X, y = gaussian(7, 6, N=24, n1=8)
    model = LinearDiscriminantAnalysis(solver=solver)
    result = removed(model, X, y)
    score1, score0 = refit_pairs(model, X, y)
    np.testing.assert_allclose(result.without_pair1, score1, atol=1e-9)
    np.testing.assert_allclose(result.without_pair0, score0, atol=1e-9)
    np.testing.assert_allclose(result.loo, [refit_scores(model, X, y, [i], [i])[0] for i in range(24)], atol=1e-9)
    np.testing.assert_allclose(result.z, clone(model).fit(X, y).decision_function(X), atol=1e-9)


@pytest.mark.parametrize(("P", "shrinkage"), [(6, None), (6, 0.3), (60, 0.1), (60, 0.99)])
@pytest.mark.parametrize("priors", [None, (0.2, 0.8)])
def test_discriminant_scores_keep_their_scale(P, shrinkage, priors):
    """With shrinkage or priors, what a refit changes in tr W and in the class masses is neglected: a few percent."""
    X, y = gaussian(7, P, N=24, n1=8)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage, priors=priors)
    result = removed(model, X, y)
    ours = np.r_[result.without_pair1.ravel(), result.without_pair0.ravel()]
    theirs = refit_pairs(model, X, y).ravel()
    assert np.corrcoef(ours, theirs)[0, 1] > 0.999
    assert np.polyfit(theirs, ours, 1)[0] == pytest.approx(1.0, abs=0.15)
    np.testing.assert_allclose(result.z, clone(model).fit(X, y).decision_function(X), atol=1e-9)
