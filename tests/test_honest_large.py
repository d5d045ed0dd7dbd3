"""Many rows: blocks of bounded size, and a fixed random sample of the pairs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from data import gaussian
from foldless.honest import design, pairs, removal
from foldless.honest import groups as group_removal
from foldless.honest.leave_one_out import remove_rows
from foldless.model.view import take_apart
from test_honest_refits import removed

FIELDS = ("z", "loo", "without_pair1", "without_pair0", "influence_sq", "cluster_influence_sq")


@pytest.mark.parametrize("P", [7, 130])
@pytest.mark.parametrize("groups", [None, np.arange(90) // 4])
def test_small_blocks_give_the_same_answer(P, groups, monkeypatch):
    X, y = gaussian(0, P, N=90, n1=37)
    whole = removed(RidgeClassifier(), X, y, groups=groups)
    for module, name in ((design, "BLOCK_ENTRIES"), (removal, "PAIRS_IN_CACHE"), (group_removal, "BLOCK_ENTRIES")):
        monkeypatch.setattr(module, name, 500)
    pieces = removed(RidgeClassifier(), X, y, groups=groups)
    for field in FIELDS:
        np.testing.assert_allclose(getattr(pieces, field), getattr(whole, field), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_sample_agrees_with_all_rows(grouped, monkeypatch):
    """The sampled pairs are those of the full computation, and what is estimated from them agrees with it."""
    X, y = gaussian(1, 40, N=1600, n1=600)
    groups = np.random.default_rng(2).integers(0, 500, size=1600) if grouped else None
    view = take_apart(LogisticRegression(C=0.1, tol=1e-8).fit(X, y), X, y)
    monkeypatch.setattr(pairs, "LEAST", 200)
    monkeypatch.setattr(pairs, "MOST", 200)
    part = remove_rows(view, groups=groups)
    monkeypatch.setattr(pairs, "LEAST", 2000)
    monkeypatch.setattr(pairs, "MOST", 2000)
    full = remove_rows(view, groups=groups)
    assert full.sampled1.size == full.rows1.size == part.rows1.size == 600
    assert 200 <= part.sampled1.size < 600
    assert np.all(y[part.sampled1] == 1)
    assert np.all(y[part.sampled0] == 0)
    np.testing.assert_allclose(part.loo, full.loo, atol=1e-9)
    assert part.pairs.ranks().mean == pytest.approx(full.pairs.ranks().mean, abs=0.003)
    assert part.influence_sq == pytest.approx(full.influence_sq, rel=0.1)
    assert part.cluster_influence_sq == pytest.approx(full.cluster_influence_sq, rel=0.1)
    spread = full.partnered.std()
    np.testing.assert_allclose(part.partnered, full.partnered, atol=0.05 * spread)
    if not grouped:
        block = np.ix_(np.searchsorted(full.rows1, part.sampled1), np.searchsorted(full.rows0, part.sampled0))
        np.testing.assert_allclose(part.without_pair1, full.without_pair1[block], atol=1e-9)


def test_many_rows_in_bounded_memory():
    rng = np.random.default_rng(3)
    N, P = 60_000, 12
    y = (rng.random(N) < 0.3).astype(int)
    X = rng.normal(size=(N, P)) + 0.4 * y[:, None]
    view = take_apart(LogisticRegression().fit(X, y), X, y)
    tracemalloc.start()
    result = remove_rows(view)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(result.without_pair1.shape) <= 500
    assert result.loo.shape == (N,)
    assert peak < 250e6  # an N x N matrix would be 29 GB
    again = remove_rows(view)
    np.testing.assert_array_equal(again.sampled1, result.sampled1)


def large_with_copies():
    """Rows enough for single precision; the first 300 come again with the other label."""
    X, y = gaussian(4, 250, N=1800, n1=900)
    return np.vstack([X, X[:300]]), np.concatenate([y, 1 - y[:300]])


@pytest.mark.parametrize("model", [LogisticRegression(C=0.1, tol=1e-8), LogisticRegression(fit_intercept=False)])
def test_single_precision_agrees_with_double(model, monkeypatch):
    """Every score to 1e-4 of their spread; equal rows of different classes tie in both."""
    X, y = large_with_copies()
    view = take_apart(model.fit(X, y), X, y)
    fast = remove_rows(view)
    monkeypatch.setattr(design, "MANY_PRODUCTS", np.inf)
    exact = remove_rows(view)
    for field in ("loo", "without_pair1", "without_pair0", "partnered"):
        np.testing.assert_allclose(getattr(fast, field), getattr(exact, field), atol=1e-4 * exact.loo.std())
    assert not np.array_equal(fast.loo, exact.loo)
    assert fast.influence_sq == pytest.approx(exact.influence_sq, rel=1e-4)
    tied = fast.pairs.sample.diff == 0
    np.testing.assert_array_equal(tied, exact.pairs.sample.diff == 0)
    assert np.count_nonzero(tied) > 20


def test_single_precision_leaves_the_rows_alone():
    """Products in place work on copies, also where X is in single precision and no centre is subtracted."""
    X, y = large_with_copies()
    X = X.astype(np.float32)
    before = X.copy()
    remove_rows(take_apart(LogisticRegression(fit_intercept=False).fit(X, y), X, y))
    np.testing.assert_array_equal(X, before)
