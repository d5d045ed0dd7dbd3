"""Weights of unknown origin: the nearest ridge regression lends its shifts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from data import gaussian
from foldless.honest.leave_one_out import remove_rows
from foldless.honest.stand_ins import LOG_PENALTIES, nearest_ridge
from foldless.model.view import take_apart
from test_honest_refits import pair_auc


def grid_penalty(X, k=18):
    """A penalty of the surrogate's own grid."""
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    return float(np.mean(s[s > 1e-9 * s[0]] ** 2) * np.exp(LOG_PENALTIES[k]))


@pytest.mark.parametrize("P", [5, 80])
@pytest.mark.parametrize("groups", [None, np.arange(40) % 13])
def test_exact_for_ridge_directions(P, groups):
    X, y = gaussian(0, P)
    fitted = RidgeClassifier(alpha=grid_penalty(X)).fit(X, y)
    known = remove_rows(take_apart(fitted, X, y), groups=groups)
    bare = remove_rows(take_apart(7.0 * fitted.coef_.ravel(), X, y), groups=groups)
    assert bare.provenance.method == "loo-surrogate"
    assert bare.provenance.match == pytest.approx(1.0, abs=1e-9)
    shift = 7.0 * fitted.intercept_[0]
    np.testing.assert_allclose(bare.without_pair1 + shift, 7.0 * known.without_pair1, atol=1e-7)
    np.testing.assert_allclose(bare.without_pair0 + shift, 7.0 * known.without_pair0, atol=1e-7)
    np.testing.assert_allclose(bare.loo + shift, 7.0 * known.loo, atol=1e-7)
    assert bare.influence_sq == pytest.approx(49.0 * known.influence_sq, rel=1e-6)


@pytest.mark.parametrize("P", [5, 80])
def test_close_to_the_known_objective(P):
    X, y = gaussian(1, P)
    fitted = LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000).fit(X, y)
    known, bare = (remove_rows(take_apart(e, X, y)) for e in (fitted, fitted.coef_.ravel()))
    assert bare.provenance.match > 0.9
    difference = pair_auc(bare.without_pair1, bare.without_pair0) - pair_auc(known.without_pair1, known.without_pair0)
    assert abs(difference) < 0.05


@pytest.mark.parametrize("P", [5, 80])
def test_random_weights_keep_their_scores(P):
    rng, gaps = np.random.default_rng(2), []
    for seed in range(20):
        X, y = gaussian(seed, P)
        result = remove_rows(take_apart(rng.normal(size=P), X, y))
        honest, plain = pair_auc(result.without_pair1, result.without_pair0), pair_auc(*in_sample(result))
        gaps.append(honest - plain)
    assert abs(np.mean(gaps)) < 0.05


def in_sample(result):
    return result.z[result.rows1][:, None], result.z[result.rows0][None, :]


def test_selection_does_not_leak():
    """Pure noise, best 20 of 2000 columns by t test: honest on all columns with zeros for the dropped ones."""
    from sklearn.feature_selection import SelectKBest
    from sklearn.pipeline import make_pipeline

    rng, aucs = np.random.default_rng(3), []
    for _ in range(3):
        X, y = rng.normal(size=(60, 2000)), np.arange(60) % 2
        model = make_pipeline(SelectKBest(k=20), LogisticRegression()).fit(X, y)
        result = remove_rows(take_apart(model, X, y))
        aucs.append(pair_auc(result.without_pair1, result.without_pair0))
    assert np.mean(aucs) < 0.65


@pytest.mark.parametrize("P", [5, 80])
def test_sparse_rows(P):
    X, y = gaussian(4, P)
    X = X * (np.abs(X) > 0.7)
    w = np.random.default_rng(0).normal(size=P) + X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    dense, thin = (remove_rows(take_apart(w, M, y)) for M in (X, sparse.csr_matrix(X)))
    assert dense.provenance.match == pytest.approx(thin.provenance.match, abs=1e-9)
    np.testing.assert_allclose(dense.without_pair1, thin.without_pair1, atol=1e-9)


def test_weighted_rows():
    X, y = gaussian(5, 6)
    weight = np.linspace(0.0, 2.0, 40)
    result = remove_rows(take_apart(np.ones(6), X, y), sample_weight=weight)
    assert np.all(np.isfinite(result.without_pair1))
    # A row without weight was not trained on: its own removal changes nothing.
    assert result.loo[0] == pytest.approx(result.z[0], abs=1e-9)


def test_note_says_how_near():
    X, y = gaussian(6, 80)
    poor = remove_rows(take_apart(np.random.default_rng(1).normal(size=80), X, y))
    assert "stands in" in poor.provenance.notes[0]
    assert "far from it" in poor.provenance.notes[0]


def test_agreement_with_the_stand_in_is_at_most_one():
    """Weights read back from scores may come out longer than they are: a cosine of 1.0000049 was reported."""
    ridge = nearest_ridge(np.array([1.0, 4.0]), np.array([1.0, 2.0]), np.array([1.0, 0.5]), norm_sq=1.2)
    assert ridge.match <= 1
