"""Rows removed from classifiers of several classes in closed form, against refits without them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from data import several_classes
from foldless.honest import softmax
from foldless.honest.classes import LOG_ODDS, log_odds, remove_rows_of_classes
from foldless.model.view import take_apart

TIGHT = {"tol": 1e-10, "max_iter": 100_000}
PAIRS = [(0, 1), (0, 2), (5, 20), (7, 31), (40, 3), (12, 33)]


def classes(n=45, P=6, K=3, shift=1.0, seed=0):
    """K Gaussian classes with names."""
    X, y, _ = several_classes(K, n, P, shift=shift, seed=seed, shuffle=True)
    return X, np.array(["ant", "bee", "cat", "dog", "eel"])[y]


def removed(estimator, X, y, **options):
    return remove_rows_of_classes(take_apart(estimator, X, y, several=True), **options)


def refitted(estimator, X, y, i, j):
    """Scores (2, K) of rows i and j under a refit that lacks both."""
    rest = np.setdiff1d(np.arange(len(y)), [i, j])
    z = clone(estimator).fit(X[rest], y[rest]).decision_function(X[[i, j]])
    return log_odds(z.T).T if hasattr(estimator, "predict_proba") and hasattr(estimator, "coef_") else z


def errors(estimator, X, y):
    """Errors of the closed form and of the scores in the sample, relative to refits; one entry per pair."""
    estimator = clone(estimator).fit(X, y)
    found = removed(estimator, X, y)
    plain = estimator.decision_function(X)
    plain = log_odds(plain.T).T if found.score == LOG_ODDS else plain
    ours, naive = [], []
    for i, j in PAIRS:
        truth = refitted(estimator, X, y, i, j)
        honest = np.array([found.tensor.without[:, i, j], found.tensor.without[:, j, i]])
        ours.append(np.abs(honest - truth).max())
        naive.append(np.abs(plain[[i, j]] - truth).max())
    return np.array(ours), np.array(naive), found


@pytest.mark.parametrize("P", [6, 60])
@pytest.mark.parametrize("alpha", [0.5, 30.0])
def test_ridge_is_exact(P, alpha):
    ours, naive, found = errors(RidgeClassifier(alpha), *classes(P=P))
    assert ours.max() < 1e-10 < naive.min()
    assert found.provenance.method == "loo"


@pytest.mark.parametrize("priors", [None, [0.5, 0.3, 0.2]])
def test_discriminant_analysis_without_shrinkage_is_exact(priors):
    ours, naive, found = errors(LinearDiscriminantAnalysis(priors=priors), *classes())
    assert ours.max() < 1e-10 < naive.min()
    assert found.score == LOG_ODDS


@pytest.mark.parametrize("P", [6, 60])
@pytest.mark.parametrize(("solver", "shrinkage"), [("lsqr", 0.1), ("eigen", 0.5)])
def test_discriminant_analysis_with_shrinkage_keeps_the_order(P, solver, shrinkage):
    """The neglected change of the penalty is nearly a common factor: it moves scores a little, and no rank by much."""
    X, y = classes(P=P)
    estimator = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(X, y)
    found = removed(estimator, X, y)
    for i, j in PAIRS:
        truth = refitted(estimator, X, y, i, j)
        honest = np.array([found.tensor.without[:, i, j], found.tensor.without[:, j, i]])
        scale = np.sum(honest * truth) / np.sum(honest**2)
        assert abs(scale - 1) < 0.12
        assert np.abs(scale * honest - truth).max() < 0.08 * np.abs(truth).max()


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(C=0.1, **TIGHT),
        LogisticRegression(C=1.0, **TIGHT),
        LogisticRegression(C=0.3, fit_intercept=False, **TIGHT),
        LinearSVC(C=0.02, **TIGHT),
        OneVsRestClassifier(LogisticRegression(C=0.3, **TIGHT)),
    ],
    ids=str,
)
@pytest.mark.parametrize("P", [6, 60])
def test_one_newton_step_comes_near(estimator, P):
    ours, naive, found = errors(estimator, *classes(P=P))
    assert np.median(ours) < 0.12 * np.median(naive)
    assert found.provenance.method == "loo"
    assert found.provenance.residual < 1e-3


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(C=0.5, class_weight="balanced", **TIGHT),
        LogisticRegression(C=0.5, class_weight={"ant": 3.0}, **TIGHT),
        RidgeClassifier(class_weight="balanced"),
        RidgeClassifier(class_weight={"bee": 5.0}, fit_intercept=False),
        LinearSVC(C=0.1, class_weight={"ant": 3.0}, **TIGHT),
        LinearSVC(C=0.1, class_weight="balanced", **TIGHT),
        OneVsRestClassifier(LogisticRegression(C=0.3, class_weight="balanced", **TIGHT)),
        OneVsRestClassifier(LogisticRegression(C=0.3, class_weight={0: 1.0, 1: 4.0}, **TIGHT)),
    ],
    ids=str,
)
def test_the_objective_is_the_one_that_was_minimised(estimator):
    """At the fitted weights the gradient of our objective vanishes: penalty, row and class weights are understood."""
    X, y = classes()
    y[:6] = "ant"
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    plain = isinstance(estimator, OneVsRestClassifier)
    fitted = clone(estimator).fit(X, y) if plain else clone(estimator).fit(X, y, sample_weight=weight)
    assert removed(fitted, X, y, sample_weight=None if plain else weight).provenance.residual < 2e-5
    if not plain:
        assert removed(fitted, X, y).provenance.residual > 1e-2


def test_two_classes_of_softmax_odds_are_the_decision_value():
    z = np.random.default_rng(0).normal(size=(2, 50))
    np.testing.assert_allclose(log_odds(z), [z[0] - z[1], z[1] - z[0]], atol=1e-12)


def test_a_fit_that_stopped_early_is_taken_to_its_optimum():
    X, y = classes(P=60)
    with pytest.warns(ConvergenceWarning):
        early = LogisticRegression(C=1.0, max_iter=4).fit(X, y)
    tight = LogisticRegression(C=1.0, **TIGHT).fit(X, y)
    ours, reference = removed(early, X, y), removed(tight, X, y)
    assert ours.provenance.polished
    assert not reference.provenance.polished
    assert ours.provenance.direction_cosine > 0.98
    assert "optimum" in ours.provenance.notes[0]
    assert reference.provenance.notes == ()
    ours, reference = ours.tensor.alone.ravel(), reference.tensor.alone.ravel()
    assert np.corrcoef(ours, reference)[0, 1] > 0.97


def test_foreign_rows_are_noticed():
    X, y = classes()
    for estimator in (LogisticRegression(C=1.0, **TIGHT), LinearDiscriminantAnalysis(), RidgeClassifier()):
        fitted = estimator.fit(X, y)
        other, labels = classes(seed=5)
        found = removed(fitted, other, labels)
        assert found.provenance.direction_cosine < 0.99
        assert "point elsewhere" in found.provenance.notes[0]


def test_sparse_columns_change_nothing():
    X, y = classes()
    for estimator in (RidgeClassifier(solver="sparse_cg", tol=1e-12), LogisticRegression(**TIGHT)):
        dense, sparse = (removed(clone(estimator).fit(M, y), M, y) for M in (X, sp.csr_matrix(X)))
        np.testing.assert_allclose(dense.tensor.without, sparse.tensor.without, atol=1e-5)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), RidgeClassifier(), LinearDiscriminantAnalysis()], ids=lambda e: type(e).__name__
)
def test_scores_do_not_depend_on_the_rows_drawn(estimator):
    """Pairs are evaluated on some rows, which stand for all of their classes; every row is removed on its own."""
    X, y = classes(n=60)
    estimator = clone(estimator).fit(X, y)
    everyone, some = removed(estimator, X, y), removed(estimator, X, y, max_entries=3 * 30**2)
    rows = some.drawn.rows
    assert 30 <= rows.size < 40  # influential rows join those that were drawn
    assert some.provenance.notes == ()
    np.testing.assert_allclose(some.tensor.alone, everyone.tensor.alone, atol=1e-10)
    np.testing.assert_allclose(some.tensor.without, everyone.tensor.without[np.ix_(range(3), rows, rows)], atol=1e-8)
    np.testing.assert_allclose(np.bincount(some.codes[rows], some.drawn.weight), np.bincount(some.codes))


def test_influential_rows_are_always_drawn():
    """A row far out is sure to be drawn, and stands for itself alone."""
    X, y = classes(n=300)
    X[17] *= 30
    found = removed(RidgeClassifier().fit(X, y), X, y, max_entries=3 * 30**2)
    assert found.drawn.weight[found.drawn.rows == 17] == pytest.approx(1.0)
    assert found.drawn.weight.sum() == pytest.approx(300)


def test_pairs_that_do_not_settle_are_solved(monkeypatch):
    """Few rows in many columns: solving the pairs' equations, or repeating the rounds until they hold, is the same."""
    X, y = classes(P=60)
    estimator = LogisticRegression(C=100.0, **TIGHT).fit(X, y)
    solved = removed(estimator, X, y).tensor.without
    monkeypatch.setattr(softmax, "ROUNDS", 1)
    np.testing.assert_allclose(removed(estimator, X, y).tensor.without, solved, atol=1e-6)


def test_unknown_training_takes_the_nearest_ridge_regression():
    """Exact where the classifier is a ridge regression after all; honest for selection and L1 on pure noise."""
    X, y = classes(P=8)
    known = RidgeClassifier(3.0).fit(X, y)

    class Foreign(RidgeClassifier):
        def fit(self, X, y):
            return super().fit(X, y)

    ours, reference = removed(Foreign(3.0).fit(X, y), X, y), removed(known, X, y)
    assert ours.provenance.method == "loo-surrogate"
    assert ours.provenance.match > 0.999
    assert np.corrcoef(ours.tensor.without.ravel(), reference.tensor.without.ravel())[0, 1] > 0.999
    assert "no affordable closed form" in ours.provenance.notes[0]


@pytest.mark.parametrize("P", [6, 60])
def test_softmax_that_is_too_large_takes_the_surrogate(P, monkeypatch):
    """The stand-in ranks rows much as the block Hessian does; the scores of the training rows themselves do not."""
    X, y = classes(P=P, shift=0.5)
    estimator = LogisticRegression(C=0.1, **TIGHT).fit(X, y)
    exact = removed(estimator, X, y)
    monkeypatch.setattr(softmax, "MAX_WIDTH", 10)
    stand_in = removed(estimator, X, y)
    assert (exact.provenance.method, stand_in.provenance.method) == ("loo", "loo-surrogate")
    reference, ours = exact.tensor.alone.ravel(), stand_in.tensor.alone.ravel()
    naive = log_odds(estimator.decision_function(X).T).ravel()
    assert np.corrcoef(reference, ours)[0, 1] > 0.98
    assert np.corrcoef(reference, ours)[0, 1] > np.corrcoef(reference, naive)[0, 1]
