"""Streams that are odd or wrong: each gives the answer of the same rows in memory, or says what is the matter."""

from __future__ import annotations

import datetime
import decimal
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from data import alternating
from foldless.streaming import fit_logistic, in_blocks, open_files
from foldless.tables import as_source

da = pytest.importorskip("dask.array")

N, P = 400, 3
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = (rng.random(N) < 0.4).astype(int)
    return rng.normal(size=(N, P)) + 0.5 * y[:, None], y, np.array([1.0, -2.0, 0.5])


def chunks(X, y, size=100):
    """Pairs of the rows, in order."""
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(y), size)]


def written(path, X, y, **columns):
    """A Parquet file of the rows, with other columns beside."""
    table = {name: X[:, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table({**table, **columns, "label": y}), path)
    return path


# ---- labels


@pytest.mark.parametrize("label", [True, False])
def test_one_class_of_truth_values_is_refused_everywhere(data, tmp_path, label):
    """Also where the labels are booleans no class is made up."""
    X, _, w = data
    y = np.full(N, label)
    calls = [
        lambda: fl.cbauc(w, X, y),
        lambda: fl.cbauc(w, iter(chunks(X, y))),
        lambda: fl.cbauc(w, chunks(X, y)),
        lambda: fl.cbauc(w, da.from_array(X, chunks=(90, P)), y),
        lambda: fl.cbauc(w, written(tmp_path / "one.parquet", X, y), "label"),
        lambda: fl.cbauc(w, in_blocks(X, y)),
        lambda: fl.cbauc(w, in_blocks(X, y), prior=fl.Prior.scaled_identity()),
        lambda: fit_logistic(chunks(X, y)),
    ]
    for call in calls:
        with pytest.raises(fl.InputError, match="y has one class only"):
            call()


def test_truth_values_of_two_classes_that_never_share_a_chunk(data):
    """Chunks of one class each add up; a part that lacks a class is fine where both are named."""
    X, y, w = data
    order = np.argsort(y, kind="stable")
    apart = [(X[rows], y[rows].astype(bool)) for rows in (order[: N - y.sum()], order[N - y.sum() :])]
    assert fl.cbauc(w, apart) == pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
    part = fl.ScoreStats.from_data(X[:5], np.ones(5, bool), w, classes=(False, True))
    assert (part.n0, part.n1) == (0, 5)


# ---- columns


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_chunks_with_columns_in_another_order_are_refused(data, frame):
    """Names decide, not places: a chunk that disagrees with those before it is named."""
    X, y, w = data
    first = frame(dict(zip(NAMES, X[:200].T, strict=True)))
    second = frame(dict(zip(NAMES, X[200:].T, strict=True)))
    with pytest.raises(fl.InputError, match="chunk 1 has columns 'c', 'a', 'b', those before it 'a', 'b', 'c'"):
        fl.cbauc(w, [(first, y[:200]), (second[["c", "a", "b"]], y[200:])])
    assert fl.cbauc(w, [(first, y[:200]), (second, y[200:])]) == pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
    with pytest.raises(fl.InputError, match="chunk 1 has columns without names"):
        fl.cbauc(w, [(first, y[:200]), (X[200:], y[200:])])


def test_the_names_of_chunks_are_those_of_the_fit(data):
    """As in memory: another order, or other names, is an EstimatorError; the right ones leave no remark."""
    X, y, _ = data
    table = pd.DataFrame(X, columns=NAMES)
    model = LogisticRegression().fit(table, y)
    for wrong, message in (
        (table[["c", "b", "a"]], "another order"),
        (table.rename(columns={"a": "z"}), "missing 'a'"),
    ):
        with pytest.raises(fl.EstimatorError, match=message):
            fl.auc_posterior(model, wrong, y)
        with pytest.raises(fl.EstimatorError, match=message):
            fl.auc_posterior(model, chunks(wrong, y))
    got, expected = fl.auc_posterior(model, chunks(table, y)), fl.auc_posterior(model, table, y)
    assert got.mean == pytest.approx(expected.mean, abs=1e-8)
    assert not any("no names" in note for note in got.notes)


# ---- what counts as chunks


class Loader:
    """Something that can be iterated over again and again."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __iter__(self):
        return iter(self.pairs)


def test_every_iterable_of_pairs_is_taken(data):
    """Objects with __iter__ and lists of lists [X, y], also where more than one pass is made."""
    X, y, w = data
    pairs = chunks(X, y)
    model = LogisticRegression().fit(X, y)
    expected = fl.cbauc(w, X, y), fl.auc_posterior(model, X, y).mean
    for stream in (Loader(pairs), [list(pair) for pair in pairs], Loader([list(pair) for pair in pairs])):
        assert fl.cbauc(w, stream) == pytest.approx(expected[0], rel=1e-12)
        assert fl.auc_posterior(model, stream).mean == pytest.approx(expected[1], abs=1e-8)


def test_tables_are_not_taken_for_chunks(data):
    """Rows of two numbers, frames, series and mappings stay tables without labels."""
    X, _, _ = data
    frame = pd.DataFrame(X)
    for table in (X[:, :2].tolist(), frame, frame[0], pl.DataFrame(X), pa.table({"a": [1]}), {"a": 1}, {1, 2}, "text"):
        assert as_source(table, None) is None


@pytest.mark.parametrize("empty", [np.empty((0, P)), sp.csr_array((0, P)), pl.DataFrame(), []])
def test_chunks_without_rows_are_skipped(data, empty):
    """At the start, in the middle and at the end; labels without rows are an error."""
    X, y, w = data
    none = (empty, np.empty(0, int))
    first, *rest = chunks(X, y)
    assert fl.cbauc(w, [none, first, none, *rest, none]) == pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
    with pytest.raises(fl.InputError, match="X has 0 rows but y has 2 labels"):
        fl.cbauc(w, [first, (empty, [0, 1])])
    with pytest.raises(fl.InputError, match="X is empty"):
        fl.cbauc(w, [none])


def test_passes_that_differ_are_refused(data):
    """A function whose second pass is shorter, in another order, or empty."""
    X, y, _ = data
    model = LogisticRegression().fit(X, y)
    shuffled = np.random.default_rng(0).permutation(N)

    def answers(*passes):
        left = iter(passes)
        return lambda: iter(next(left, passes[-1]))

    whole = chunks(X, y)
    for later in (whole[:-1], chunks(X[shuffled], y[shuffled]), []):
        with pytest.raises(fl.InputError, match=r"came out differently|X is empty"):
            fl.auc_posterior(model, answers(whole, later))
    with pytest.raises(fl.InputError, match="X had 400 rows, then 300"):
        fit_logistic(answers(whole, whole[:-1]))
    with pytest.raises(fl.InputError, match="X is empty"):
        fl.auc_posterior(model, lambda: iter(()))


# ---- bounded memory


def test_fitting_sparse_blocks_stays_in_bounded_memory():
    """A thousand columns with three entries a row: dense parts of some megabytes, whatever the height of a block."""
    rng = np.random.default_rng(0)
    n, p = 40_000, 1000  # 320 MB when dense
    X = sp.csr_array((rng.normal(size=3 * n), rng.integers(0, p, 3 * n), np.arange(0, 3 * n + 1, 3)), shape=(n, p))
    y = (rng.random(n) < 0.5).astype(int)
    fit_logistic(X[:100], y[:100], standardize=False)
    tracemalloc.start()
    model = fit_logistic(X, y, C=0.1, standardize=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6
    residuals = expit(model.decision_function(X)) - y  # at the optimum the slope of the objective vanishes
    np.testing.assert_allclose(model[-1].coef_[0] / 0.1 + X.T @ residuals, 0, atol=1e-5)
    assert residuals.sum() == pytest.approx(0, abs=1e-5)


# ---- files


def test_columns_that_hold_no_numbers_are_named(data, tmp_path):
    """Dates, durations and text that could be converted are not; those left out do not matter."""
    X, y, w = data
    day = datetime.datetime(2020, 1, 1)
    others = {"day": [day] * N, "length": [datetime.timedelta(1)] * N, "text": ["1.5"] * N}
    for name, values in others.items():
        path = written(tmp_path / f"{name}.parquet", X, y, **{name: values})
        with pytest.raises(fl.InputError, match=rf"column '{name}' holds .*, expected numbers"):
            fl.cbauc(np.ones(P + 1), path, "label")
        assert fl.cbauc(w, open_files(path, "label", drop=name)) == pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
        named = LogisticRegression().fit(pd.DataFrame(X, columns=NAMES), y)
        assert 0.5 < fl.auc_posterior(named, path, "label").mean < 1


def test_truth_values_and_decimals_are_numbers(data, tmp_path):
    """They are read as 0, 1 and as floats."""
    X, y, w = data
    flag, price = X[:, 0] > 0, np.round(X[:, 1], 2)
    path = written(tmp_path / "x.parquet", X, y, flag=flag, price=[decimal.Decimal(f"{v:.2f}") for v in price])
    expected = fl.cbauc([*w, 1.0, 1.0], np.column_stack([X, flag, price]), y)
    assert fl.cbauc([*w, 1.0, 1.0], path, "label") == pytest.approx(expected, rel=1e-12)


def test_names_of_files_and_folders(data, tmp_path):
    """A name with brackets that exists, and a folder of .pq files."""
    X, y, w = data
    expected = pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
    assert fl.cbauc(w, written(tmp_path / "data[1].parquet", X, y), "label") == expected
    folder = tmp_path / "folder"
    folder.mkdir()
    written(folder / "rows.pq", X, y)
    assert fl.cbauc(w, folder, "label") == expected
    assert fl.cbauc(w, str(folder), "label") == expected


def test_empty_files_and_unknown_shapes(data, tmp_path):
    """No rows is an error in words, here and with Dask; unknown numbers of columns are found out."""
    X, y, w = data
    model = LogisticRegression().fit(X, y)
    path = written(tmp_path / "none.parquet", X[:0], y[:0])
    for call in (
        lambda: fl.auc_posterior(model, path, "label"),
        lambda: fl.cbauc(w, path, "label"),
        lambda: fl.cbauc(w, open_files(path, "label", spread=True)),
        lambda: fit_logistic(path, "label"),
    ):
        with pytest.raises(fl.InputError, match="X is empty"):
            call()
    some = da.from_array(X, chunks=(90, 2))[:, da.from_array(np.array([True, False, True]), chunks=2)]
    assert fl.cbauc(w[[0, 2]], some, y) == pytest.approx(fl.cbauc(w[[0, 2]], X[:, [0, 2]], y), rel=1e-12)


def test_what_needs_the_table_in_memory_says_so(data, tmp_path):
    """Functions, generators, files and sources."""
    X, y, _ = data
    model = LogisticRegression().fit(X, y)
    path = written(tmp_path / "x.parquet", X, y)
    streams = [(lambda: iter(chunks(X, y)), None), (iter(chunks(X, y)), None), (path, "label"), (in_blocks(X, y), None)]
    for stream, labels in streams:
        for name, call in {
            "diagnose": lambda s, t: fl.diagnose(model, s, t),
            "compare": lambda s, t: fl.compare(model, model, s, t),
            "report": lambda s, t: fl.report(model, s, t),
            "learning_curve": lambda s, t: fl.learning_curve(model, s, t),
        }.items():
            with pytest.raises(fl.InputError, match=f"{name} needs the table in memory"):
                call(stream, labels)


def in_pieces(X, y, height=8):
    """A function that serves the table a few rows at a time."""
    return lambda: ((X[k : k + height], y[k : k + height]) for k in range(0, len(y), height))


def test_numbers_whose_squares_overflow_are_refused_before_they_are_squared():
    """They were squared first, with a warning of NumPy's, and refused afterwards."""
    X, Y = alternating(40, 3, shift=0.7)
    huge = X.copy()
    huge[20, 1] = 1e200
    model = RidgeClassifier().fit(X, Y)
    model.coef_[..., 1] = 0.0  # so that the scores themselves are tame
    with pytest.raises(fl.InputError, match="too large or too small to be squared: rescale X"):
        fl.auc_posterior(model, in_pieces(huge, Y))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
def test_chunks_of_whole_numbers_and_truth_values(dtype):
    """The size of a block was sought with a minus sign, which truth values do not know and unsigned numbers wrap."""
    Y = np.arange(40) % 2
    wide = np.random.default_rng(1).normal(size=(40, 12)) + 0.5 * Y[:, None]
    table = (wide > 0.3).astype(dtype) * (np.int8(-128) if dtype == "int8" else np.array(1, dtype=dtype))
    model = RidgeClassifier().fit(table.astype(float), Y)
    whole = fl.auc_posterior(model, table.astype(float), Y)
    assert fl.auc_posterior(model, in_pieces(table, Y)).mean == pytest.approx(whole.mean, abs=1e-9)


def test_adaptive_prior_on_a_stream_is_refused():
    """Of a classifier, that is; weights were refused already. It ended in an AttributeError."""
    X, Y = alternating(40, 3, shift=0.7)
    model = RidgeClassifier().fit(X, Y)
    with pytest.raises(fl.PriorError, match=r"spectrum of X.*load X"):
        fl.auc_posterior(model, in_pieces(X, Y), method="in-sample", prior=fl.Prior.adaptive())


def test_sparse_columns_whose_squares_overflow_are_refused_by_the_fit():
    """NumPy warned of the overflow before they were refused."""
    X, Y = alternating(40, 3, shift=0.7)
    table = sp.csr_matrix(X * np.array([1.0, 1e200, 1.0]))
    with pytest.raises(fl.InputError, match="squares overflow"):
        fl.streaming.fit_logistic(in_pieces(table, Y))


def test_sparse_columns_whose_squares_overflow_are_refused_under_the_scaled_identity_prior():
    """The other user of those moments."""
    X, Y = alternating(40, 3, shift=0.7)
    table = sp.csr_matrix(X * np.array([1.0, 1e200, 1.0]))
    with pytest.raises(fl.InputError, match="overflow"):
        fl.cbauc([1.0, 0.0, 1.0], in_pieces(table, Y), prior=fl.Prior.scaled_identity())
