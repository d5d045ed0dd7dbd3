"""The correlation of two estimates: against brute-force refits, and against what repeated samples show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from data import alternating
from foldless.comparison.paired import PairedEvidence, paired_evidence
from foldless.honest.leave_one_out import remove_rows
from foldless.honest.statistic import statistic_of_removed
from foldless.model.view import take_apart

Fit = tuple[np.ndarray, Any]


def evidence(fits: list[Fit], X: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> PairedEvidence:
    """Evidence of classifiers, each fitted on some of the columns."""
    removed = [remove_rows(take_apart(m.fit(X[:, c], y), X[:, c], y), groups=groups) for c, m in fits]
    return paired_evidence(removed, [statistic_of_removed(r) for r in removed])


def sample(seed: int, n: int = 14) -> tuple[np.ndarray, np.ndarray]:
    return alternating(n, 6, shift=[0.8, 0.6, 0.3, 0, 0, 0], seed=seed)


# ---- refits


def refitted(fit: Fit, X: np.ndarray, y: np.ndarray, gone: list[int], row: int) -> float:
    """Score of a row under a fit that lacks the rows `gone`."""
    columns, model = fit
    keep = np.setdiff1d(np.arange(y.size), gone)
    A, t = X[np.ix_(keep, columns)], 2.0 * y[keep] - 1
    mean = A.mean(axis=0)
    w = np.linalg.solve((A - mean).T @ (A - mean) + model.alpha * np.eye(len(columns)), (A - mean).T @ (t - t.mean()))
    return float((X[row, columns] - mean) @ w + t.mean())


def by_refits(fit: Fit, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """diff_ij, I_ij of positive and I_ji of negative rows, from one refit per row and per pair."""
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    one1, one0 = (np.array([refitted(fit, X, y, [i], i) for i in rows]) for rows in (ones, zeros))
    pair1 = np.array([[refitted(fit, X, y, [i, j], i) for j in zeros] for i in ones])
    pair0 = np.array([[refitted(fit, X, y, [i, j], j) for j in zeros] for i in ones])
    return pair1 - pair0, pair1 - one1[:, None], pair0 - one0


def expected(fits: list[Fit], X: np.ndarray, y: np.ndarray, shares: list[float]) -> tuple[float, float]:
    """r and the likeness, written out for two models without groups."""
    (Da, Ia1, Ia0), (Db, Ib1, Ib0) = (by_refits(fit, X, y) for fit in fits)
    n1, n0 = Da.shape

    def effects(S: np.ndarray) -> np.ndarray:
        a, b = S.mean(1), S.mean(0)
        return np.r_[(a - a.mean()) / np.sqrt(n1 * (n1 - 1)), (b - b.mean()) / np.sqrt(n0 * (n0 - 1))]

    def signed(I1: np.ndarray, I0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (I1 - I1.mean(axis=0)) / n1, -(I0 - I0.mean(axis=1, keepdims=True)) / n0

    A, B = signed(Ia1, Ia0), signed(Ib1, Ib0)

    def twice(x: tuple[np.ndarray, np.ndarray], z: tuple[np.ndarray, np.ndarray]) -> float:
        return float(np.sum(x[0] * z[1]) + np.sum(z[0] * x[1]))

    size = [np.sum(x[0] ** 2) + np.sum(x[1] ** 2) for x in (A, B)]
    R = np.corrcoef(effects(np.sign(Da)), effects(np.sign(Db)))[0, 1]
    T = twice(A, B) / np.sqrt(size[0] * size[1]) * np.sqrt(shares[0] * shares[1])
    Taa, Tbb = (max(twice(x, x), 0) / s * share for x, s, share in zip((A, B), size, shares, strict=True))
    inflation = np.sqrt((1 + Taa) * (1 + Tbb))
    pooled = [np.r_[D.mean(1) - D.mean(), D.mean(0) - D.mean()] for D in (Da, Db)]
    like = pooled[0] @ pooled[1] / np.sqrt((pooled[0] @ pooled[0]) * (pooled[1] @ pooled[1]))
    return min((R + T) / inflation, 1 - (1 - R) / inflation), float(like)


@pytest.mark.parametrize("second", [(np.arange(6), 1.0), (np.arange(3, 6), 2.0), (np.arange(3), 40.0)])
def test_against_refits(second):
    X, y = sample(1)
    fits = [(np.arange(3), RidgeClassifier(alpha=1.0)), (second[0], RidgeClassifier(alpha=second[1]))]
    found = evidence(fits, X, y)
    r, like = expected(fits, X, y, [s.noise_share for s in found.statistics])
    assert found.correlation[0, 1] == pytest.approx(r, abs=1e-8)
    assert found.likeness[0, 1] == pytest.approx(like, abs=1e-8)


# ---- structure


def test_the_covariance_has_the_errors_of_the_statistics():
    X, y = sample(2, 40)
    found = evidence([(np.arange(k), RidgeClassifier()) for k in (2, 4, 6)], X, y)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), [s.separation_error for s in found.statistics])
    assert np.array_equal(found.correlation, found.correlation.T)


def test_equal_models_are_one():
    X, y = sample(3, 40)
    fit = (np.arange(4), RidgeClassifier())
    found = evidence([fit, fit], X, y)
    assert found.same(0, 1)
    assert found.correlation[0, 1] == pytest.approx(1)


def test_nearly_equal_models_nearly_agree():
    X, y = sample(4, 60)
    gaps = []
    for alpha in (1.5, 1.05, 1.005):
        found = evidence([(np.arange(6), RidgeClassifier(alpha=a)) for a in (1.0, alpha)], X, y)
        assert not found.same(0, 1)
        gaps.append(1 - found.correlation[0, 1])
    assert 0 < gaps[2] < gaps[1] / 20 < gaps[0] / 400  # as the square of the change


def test_groups_of_single_rows_are_rows():
    X, y = sample(5, 40)
    fits = [(np.arange(3), RidgeClassifier()), (np.arange(6), RidgeClassifier())]
    rows, groups = evidence(fits, X, y), evidence(fits, X, y, np.arange(40))
    assert rows.correlation[0, 1] == pytest.approx(groups.correlation[0, 1], abs=0.02)
    assert rows.likeness[0, 1] == pytest.approx(groups.likeness[0, 1], abs=0.02)


def test_groups_against_a_copy_of_each_row():
    """Each row twice, as one group: the correlation is that of the single rows with half the penalty."""
    X, y = sample(6, 30)
    single = evidence([(np.arange(3), RidgeClassifier(alpha=1.0)), (np.arange(6), RidgeClassifier(alpha=1.0))], X, y)
    double = [(np.arange(3), RidgeClassifier(alpha=2.0)), (np.arange(6), RidgeClassifier(alpha=2.0))]
    found = evidence(double, np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(np.arange(30), 2))
    assert found.correlation[0, 1] == pytest.approx(single.correlation[0, 1], abs=0.03)


# ---- repeated samples


def logistic(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, tol=1e-6, max_iter=3000)


CELLS = {
    "independent": (10, [0.45] * 10, (range(5), RidgeClassifier(5.0)), (range(5, 10), RidgeClassifier(5.0))),
    "nested": (20, [0.5] * 5 + [0.0] * 15, (range(5), RidgeClassifier(5.0)), (range(20), RidgeClassifier(5.0))),
    "two C": (30, [0.4] * 10 + [0.0] * 20, (range(30), logistic(0.01)), (range(30), logistic(1.0))),
}


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_errors_of_the_estimates_are_correlated_as_stated(cell):
    """The error is dhat less the separation that the very fit has on new data; 120 samples of 60 rows."""
    P, shift, *models = CELLS[cell]
    shift, y = np.array(shift), np.arange(60) % 2
    errors, stated, ratio = [], [], []
    for seed in range(120):
        X = np.random.default_rng([17, seed]).normal(size=(60, P)) + np.outer(y, shift)
        fits = [(np.array(columns), model) for columns, model in models]
        found = evidence(fits, X, y)
        truth = [m.coef_.ravel() @ shift[c] / np.linalg.norm(m.coef_) for c, m in fits]
        errors.append([s.estimate - t for s, t in zip(found.statistics, truth, strict=True)])
        C = found.covariance
        stated.append(found.correlation[0, 1])
        ratio.append((errors[-1][0] - errors[-1][1]) ** 2 / (C[0, 0] + C[1, 1] - 2 * C[0, 1]))
    seen = np.corrcoef(np.array(errors).T)[0, 1]
    # Fisher's z of 120 samples has a standard error of 0.09.
    assert abs(np.arctanh(seen) - np.arctanh(np.mean(stated))) < 0.27
    assert 0.7 < np.mean(ratio) < 1.35
