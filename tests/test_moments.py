"""`ScoreStats`: merging is exact, no digits are lost, X is read once and never copied."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import foldless as fl
from data import alternating
from foldless.laws.moments import feature_moments
from foldless.tables.block import Moments

ScoreStats = fl.ScoreStats
FIELDS = ("n0", "n1", "mean0", "mean1", "scatter0", "scatter1")


def assert_same(a, b, scores, rtol=1e-12):
    """All six statistics agree: relative to the spread and level of the scores that made them."""
    assert (a.n0, a.n1) == (b.n0, b.n1)
    level = float(np.max(np.abs(scores))) + 1e-300
    for name in ("mean0", "mean1"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=rtol * level)
    for name in ("scatter0", "scatter1"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=rtol * level**2)


@st.composite
def cut_samples(draw):
    """Scores with labels, and a cut of the rows into parts (some may be empty or lack a class)."""
    n = draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-6, 6))
    z = scale * (rng.normal(size=n) + draw(st.floats(-5, 5)))
    y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    return z, y, [slice(a, b) for a, b in zip([0, *cuts], [*cuts, n], strict=True) if b > a]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cut_samples())
def test_any_partition_adds_up_to_the_whole(sample):
    """Merging the parts of any partition, in any order and grouping, gives the whole to 1e-12 relative."""
    z, y, parts = sample
    whole = ScoreStats.from_scores(y, z)
    pieces = [ScoreStats.from_scores(y[p], z[p], classes=(0, 1)) for p in parts]
    forward, backward = pieces[0], pieces[-1]
    for piece in pieces[1:]:
        forward = forward + piece
    for piece in pieces[-2::-1]:
        backward = piece + backward
    swapped = pieces[-1]
    for piece in pieces[-2::-1]:
        swapped = swapped + piece
    for merged in (forward, backward, swapped):
        assert_same(merged, whole, z)


def test_scatter_keeps_full_precision_at_a_high_level():
    """Mean 1e8, spread 1: the scatter is within 1e-8 of exact rational arithmetic, in one piece and in ten."""
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    z = 1e8 + rng.normal(size=400)
    whole = ScoreStats.from_scores(y, z)
    parts = [ScoreStats.from_scores(y[i::10], z[i::10], classes=(0, 1)) for i in range(10)]
    merged = sum(parts[1:], start=parts[0])
    for c, name in ((0, "scatter0"), (1, "scatter1")):
        values = [Fraction(float(v)) for v in z[y == c]]
        mean = sum(values) / len(values)
        exact = float(sum((v - mean) ** 2 for v in values))
        assert getattr(whole, name) == pytest.approx(exact, rel=1e-8)
        assert getattr(merged, name) == pytest.approx(exact, rel=1e-8)


def test_a_part_may_lack_a_class():
    """With classes= a part with one class only is legal, and merges; labels of any kind work."""
    a = ScoreStats.from_scores(["no", "no"], [1.0, 3.0], classes=("no", "yes"))
    b = ScoreStats.from_scores(["yes"], [5.0], classes=("no", "yes"))
    assert (a.n0, a.n1, b.n0, b.n1) == (2, 0, 0, 1)
    for merged in (a + b, b + a):
        assert [getattr(merged, f) for f in FIELDS] == [2, 1, 2.0, 5.0, 2.0, 0.0]
    turned = ScoreStats.from_scores(["no", "no"], [1.0, 3.0], classes=("no", "yes"), pos_label="no")
    assert (turned.n0, turned.n1) == (0, 2)


def containers(X, tmp_path):
    """The same numbers in every container that from_data takes."""
    memmap = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=X.shape)
    memmap[:] = X
    names = [f"c{j}" for j in range(X.shape[1])]
    return {
        "list": X.tolist(), "fortran": np.asfortranarray(X), "memmap": memmap, "strided": np.repeat(X, 2, axis=0)[::2],
        "csr": sp.csr_matrix(X), "csc array": sp.csc_array(X), "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(X, schema=names), "big endian": X.astype(">f8"),
    }  # fmt: skip


def test_from_data_is_from_scores_of_the_product(make_data, tmp_path):
    """from_data(X, y, w) equals from_scores(y, X @ w) for every container, for one and for several classifiers."""
    X, y, w = make_data(1, 40, 30, 6)
    for weights in (w, np.column_stack([w, -2 * w, w**2])):
        expected = ScoreStats.from_scores(y, X @ weights)
        for name, table in containers(X, tmp_path).items():
            got = ScoreStats.from_data(table, y, weights)
            try:
                assert_same(got, expected, X @ weights)
            except AssertionError as err:
                raise AssertionError(name) from err


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int16, np.uint8, bool])
def test_narrow_types_are_summed_in_double(make_data, dtype):
    """float32, float16, integer and boolean X (dense or sparse) give the statistics of the same values in float64."""
    X, y, w = make_data(2, 3000, 2000, 5)
    X = (np.abs(X) * 10).astype(dtype)
    expected = ScoreStats.from_scores(y, X.astype(np.float64) @ w)
    assert_same(ScoreStats.from_data(X, y, w), expected, X.astype(float) @ w)
    if dtype != np.float16:
        assert_same(ScoreStats.from_data(sp.csr_array(X), y, w), expected, X.astype(float) @ w)


def test_blocks_of_rows_join(monkeypatch):
    """X of another type is handled in blocks of rows; where a block ends does not matter."""
    monkeypatch.setattr("foldless.laws.moments.BLOCK_ELEMENTS", 7)
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(23, 3)).astype(np.float32), np.arange(23) % 2, rng.normal(size=3)
    assert_same(ScoreStats.from_data(X, y, w), ScoreStats.from_scores(y, X.astype(float) @ w), X @ w)
    for got, label in zip(feature_moments(X, y == 1), (0, 1), strict=True):
        expected = Moments.of(X[y == label].astype(float))
        np.testing.assert_allclose(got.scatter, expected.scatter, rtol=1e-12)
        np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-12)


def peak(call):
    """Peak of traced memory during a call, in bytes."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("prior", [fl.Prior.paper(), fl.Prior.improper(), fl.Prior.known_covariance(1.0)], ids=repr)
def test_cbauc_needs_a_few_score_vectors_of_memory(prior):
    """5,000 x 400 float64 is 16 MB; cbauc peaks below eight score vectors (0.3 MB): no copy of X, centred or not."""
    X = np.random.default_rng(0).normal(size=(5000, 400))
    y, w = np.arange(5000) % 2, np.ones(400)
    assert peak(lambda: fl.cbauc(w, X, y, prior=prior)) < 8 * 5000 * 8


def test_scaled_identity_does_not_copy_x():
    """tr(S*) needs column sums only: the peak stays below a quarter of X (blocks of rows, never whole classes)."""
    X = np.random.default_rng(0).normal(size=(20_000, 200))
    y, w = np.arange(20_000) % 2, np.ones(200)
    assert peak(lambda: fl.cbauc(w, X, y, prior=fl.Prior.scaled_identity())) < X.nbytes / 4


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_narrow_x_is_not_upcast_as_a_whole(dtype):
    """20,000 x 400 of one- or four-byte numbers: the float64 copy exists a block at a time only."""
    X = np.random.default_rng(0).integers(-100, 100, size=(20_000, 400)).astype(dtype)
    y, w = np.arange(20_000) % 2, np.ones(400)
    assert peak(lambda: fl.cbauc(w, X, y)) < X.size * 8 / 4


def test_adding_something_else_is_a_type_error():
    """Only statistics add to statistics."""
    stats = ScoreStats.from_scores([0, 1], [0.0, 1.0])
    with pytest.raises(TypeError):
        stats + 1
    with pytest.raises(TypeError):
        stats.negative + 1


X, Y = alternating(40, 3, shift=0.7)
HUGE = np.where(np.arange(40)[:, None] == 0, 1e308, X)


@pytest.mark.parametrize("call", [
    lambda: fl.ScoreStats.from_scores(Y, HUGE[:, 0]),
    lambda: fl.ScoreStats.from_data(HUGE, Y, np.ones(3)),
    lambda: fl.ScoreStats.from_scores(Y, X[:, 0] * 1e153) + fl.ScoreStats.from_scores(Y, 1e154 * (1 + X[:, 0])),
])  # fmt: skip
def test_statistics_of_scores_hold_no_nan(call):
    """Mean and scatter were nan or infinite, without a word."""
    with pytest.raises(fl.InputError, match=r"overflow.*rescale"):
        call()
