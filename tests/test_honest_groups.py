"""Dependent rows: whole groups are removed, alone and in pairs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from data import alternating, gaussian
from foldless.errors import InputError
from foldless.honest.design import MAX_LEVERAGE
from foldless.honest.groups import _inverse_slack
from foldless.honest.leave_one_out import remove_rows
from foldless.model.view import take_apart
from test_honest_refits import balanced, pair_auc, refit_scores, removed

GROUPS = np.random.default_rng(0).permutation(np.repeat(np.arange(9), [1, 1, 2, 2, 3, 4, 4, 5, 8]))


def data(P):
    return gaussian(11, P, N=30, n1=13)


def refit_group_pairs(model, X, y, groups, weight=None):
    """Scores (N, groups) of each row without its own group and each group."""
    names = np.unique(groups)
    out = np.empty((len(y), len(names)))
    for a in names:
        rows = np.flatnonzero(groups == a)
        for column, h in enumerate(names):
            out[rows, column] = refit_scores(model, X, y, np.flatnonzero(np.isin(groups, [a, h])), rows, weight)
    return out


@pytest.mark.parametrize("P", [5, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_exact(P, weighted):
    X, y = data(P)
    weight = balanced(y) * np.linspace(0.5, 2.0, len(y)) if weighted else None
    model = RidgeClassifier(alpha=2.0)
    result = removed(model, X, y, sample_weight=weight, groups=np.array(list("abcdefghi"))[GROUPS])
    truth = refit_group_pairs(model, X, y, GROUPS, weight)
    rows1, rows0 = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    np.testing.assert_array_equal(result.rows1, rows1)
    np.testing.assert_allclose(result.without_pair1, truth[rows1][:, GROUPS[rows0]], atol=1e-9)
    np.testing.assert_allclose(result.without_pair0, truth[rows0][:, GROUPS[rows1]].T, atol=1e-9)
    np.testing.assert_allclose(result.loo, truth[np.arange(30), GROUPS], atol=1e-9)
    assert result.cluster_influence_sq == pytest.approx(clustered_noise(truth, y), rel=1e-8)


def clustered_noise(truth, y):
    """The definition, spelt out."""
    influence = truth - truth[np.arange(30), GROUPS][:, None]
    n = np.where(y == 1, np.sum(y == 1), -np.sum(y == 0))
    total = 0.0
    for h in range(9):
        column = influence[:, h].copy()
        for k in (0, 1):
            column[y == k] -= column[y == k].mean()
        total += sum((column[a == GROUPS] / n[a == GROUPS]).sum() ** 2 for a in range(9) if a != h)
    return total


def test_discriminant_analysis_is_exact():
    X, y = data(5)
    result = removed(LinearDiscriminantAnalysis(), X, y, groups=GROUPS)
    truth = refit_group_pairs(LinearDiscriminantAnalysis(), X, y, GROUPS)
    rows1, rows0 = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    np.testing.assert_allclose(result.without_pair1, truth[rows1][:, GROUPS[rows0]], atol=1e-8)
    np.testing.assert_allclose(result.without_pair0, truth[rows0][:, GROUPS[rows1]].T, atol=1e-8)
    np.testing.assert_allclose(result.loo, truth[np.arange(30), GROUPS], atol=1e-8)


@pytest.mark.parametrize("P", [5, 60])
def test_logistic_regression(P):
    X, y = data(P)
    model = LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000)
    result = removed(model, X, y, groups=GROUPS)
    truth = refit_group_pairs(model, X, y, GROUPS)
    rows1, rows0 = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    expected = pair_auc(truth[rows1][:, GROUPS[rows0]], truth[rows0][:, GROUPS[rows1]].T)
    assert pair_auc(result.without_pair1, result.without_pair0) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("P", [5, 60])
def test_groups_of_one_are_rows(P):
    X, y = data(P)
    model = LogisticRegression(C=5.0, tol=1e-10, max_iter=10_000)
    alone, grouped = removed(model, X, y), removed(model, X, y, groups=np.random.default_rng(1).permutation(30))
    for field in ("loo", "without_pair1", "without_pair0", "influence_sq", "cluster_influence_sq"):
        np.testing.assert_allclose(getattr(grouped, field), getattr(alone, field), rtol=1e-7, atol=1e-9)


def test_bad_groups_are_refused():
    X, y = data(3)
    with pytest.raises(InputError, match="one label per row"):
        removed(RidgeClassifier(), X, y, groups=[1, 2, 3])
    with pytest.raises(InputError, match="at least 3 groups"):
        removed(RidgeClassifier(), X, y, groups=y)


def test_too_few_rows_are_refused():
    X, y = gaussian(0, 3, N=8, n1=1)
    with pytest.raises(InputError, match="two rows"):
        removed(RidgeClassifier(), X, y)


def test_identical_rows_are_refused():
    with pytest.raises(InputError, match="rows of X are the same"):
        remove_rows(take_apart(np.ones(40), np.ones((30, 40)), data(3)[1]))


def test_duplicate_rows_are_no_obstacle():
    X, y = gaussian(0, 60, N=30)
    X[1::2] = X[::2]
    result = removed(LogisticRegression(C=1e3, tol=1e-8, max_iter=10_000), X, y)
    assert np.all(np.isfinite(result.without_pair1))


def test_bad_weights_are_refused():
    X, y = data(3)
    fitted = RidgeClassifier().fit(X, y)
    for bad in (np.ones(3), -np.ones(30), np.full(30, np.nan), np.zeros(30)):
        with pytest.raises(InputError, match="sample_weight"):
            remove_rows(take_apart(fitted, X, y), sample_weight=bad)


def test_long_floats_in_groups():
    """NumPy's linear algebra takes no float128; groups were the first to ask it."""
    X, Y = alternating(40, 3, shift=0.7)
    model, groups = RidgeClassifier().fit(X, Y), np.arange(40) // 2
    plain, long = (fl.auc_posterior(model, table, Y, groups=groups) for table in (X, X.astype(np.longdouble)))
    assert long.mean == pytest.approx(plain.mean, rel=1e-12)


def test_groups_whose_deviations_cancel_leave_a_variance():
    """Few rows, two scores: the clustered variance was 0 and the mean of the posterior nan."""
    post = fl.auc_posterior_from_scores([1, 1, 0, 0, 0, 1], [0.0, 0, 1, 0, 0, 1], groups=[1, 0, 1, 0, 1, 1])
    assert 0 < post.mean < 1
    assert post.sd > 0


@pytest.mark.parametrize("size", [3, 40])
def test_a_group_with_more_rows_than_columns_is_inverted_in_the_space_of_its_columns(size):
    """The same matrix as by the eigenvalues of the whole block, the largest of which is cut."""
    rng = np.random.default_rng(size)
    B = rng.normal(size=(2, size, 4)) / np.sqrt(5 * size)
    B[1] *= 4  # a group that determines its own scores
    root, G = np.sqrt(rng.uniform(0.5, 1, size=(2, size))), B @ B.transpose(0, 2, 1)
    leverage = root[:, :, None] * G * root[:, None, :]
    values, vectors = np.linalg.eigh(leverage)
    assert values[1].max() > MAX_LEVERAGE
    expected = (vectors / (1 - np.minimum(values, MAX_LEVERAGE))[:, None, :]) @ vectors.transpose(0, 2, 1)
    assert _inverse_slack(G, root, B) == pytest.approx(expected, rel=1e-9, abs=1e-9)
