"""Tables of every kind give the answer of the same numbers in memory, read once and in bounded memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import foldless as fl
from foldless.streaming import cluster, open_files
from foldless.tables import as_source

da = pytest.importorskip("dask.array")

N, P, K = 700, 6, 3
PRIORS = [fl.Prior.paper(), fl.Prior.improper(), fl.Prior.scaled_identity()]


@pytest.fixture(scope="module")
def data():
    """Rows far from zero, labels as text, one and several weight vectors."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N) < 0.4, "yes", "no")
    X = rng.normal(size=(N, P)) * np.arange(1, P + 1) + 50 + 0.4 * (y == "yes")[:, None]
    return X, y, rng.normal(size=P), rng.normal(size=(P, K))


def pieces(X, y, size=64):
    """Chunks of rows."""
    return ((X[i : i + size], y[i : i + size]) for i in range(0, len(y), size))


def write_parquet(folder, X, y, files=2):
    """The table in several files, each with several row groups and a column that is no feature."""
    for k, rows in enumerate(np.array_split(np.arange(len(y)), files)):
        table = pl.DataFrame(X[rows], schema=[f"x{j}" for j in range(X.shape[1])])
        table = table.with_columns(pl.Series("label", y[rows]))
        table.write_parquet(folder / f"part{k}.parquet", row_group_size=100)


def kinds(X, y, folder):
    """The same table in every form, each with its own y."""
    mapped = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype=np.float64, shape=X.shape)
    mapped[:] = X
    write_parquet(folder, X, y)
    return {
        "memmap": (np.load(folder / "x.npy", mmap_mode="r"), y),
        "fortran memmap": (np.asfortranarray(X), y),
        "generator": (pieces(X, y), None),
        "function": (lambda: pieces(X, y), None),
        "list of pairs": (list(pieces(X, y)), None),
        "sparse chunks": (((sp.csr_array(A), b) for A, b in pieces(X, y)), None),
        "parquet folder": (folder, "label"),
        "parquet pattern": (str(folder / "*.parquet"), "label"),
        "parquet files": ([folder / "part0.parquet", str(folder / "part1.parquet")], "label"),
        "dask": (da.from_array(X, chunks=(97, 4)), da.from_array(y, chunks=50)),
        "dask, y in memory": (da.from_array(X, chunks=(97, 4)), y),
        "csr": (sp.csr_matrix(X), y),
        "csc": (sp.csc_array(X), y),
    }


KINDS = [
    "memmap", "fortran memmap", "generator", "function", "list of pairs", "sparse chunks", "parquet folder",
    "parquet pattern", "parquet files", "dask", "dask, y in memory", "csr", "csc",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_statistics(data, tmp_path, kind):
    """ScoreStats.from_data equals the statistics of the product in memory, for one and for several classifiers."""
    X, y, w, W = data
    for weights in (w, W):
        table, labels = kinds(X, y, tmp_path)[kind]
        got = fl.ScoreStats.from_data(table, labels, weights)
        expected = fl.ScoreStats.from_scores(y, X @ weights)
        assert (got.n0, got.n1) == (expected.n0, expected.n1)
        for name in ("mean0", "mean1", "scatter0", "scatter1"):
            np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-12)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_answer(data, tmp_path, kind, prior):
    """cbauc and the in-sample posterior, also where the prior needs the moments of the columns (the same pass)."""
    X, y, w, _ = data
    table, labels = kinds(X, y, tmp_path)[kind]
    assert fl.cbauc(w, table, labels, prior=prior) == pytest.approx(fl.cbauc(w, X, y, prior=prior), abs=1e-12)
    table, labels = kinds(X, y, tmp_path)[kind]
    post = fl.auc_posterior(w, table, labels, method="in-sample", prior=prior)
    expected = fl.auc_posterior(w, X, y, method="in-sample", prior=prior)
    assert post.interval() == pytest.approx(expected.interval(), abs=1e-10)
    assert (post.n0, post.n1, post.method) == (expected.n0, expected.n1, "in-sample")


def test_a_generator_is_read_once(data):
    """One pass is enough for cbauc: a generator that can only be read once, and counts its chunks."""
    X, y, w, _ = data
    seen = []

    def counted():
        for chunk in pieces(X, y):
            seen.append(len(chunk[1]))
            yield chunk

    assert fl.cbauc(w, counted(), prior=fl.Prior.scaled_identity()) == pytest.approx(
        fl.cbauc(w, X, y, prior=fl.Prior.scaled_identity()), abs=1e-12
    )
    assert sum(seen) == N


def test_pos_label_and_classes_hold_for_streams(data):
    """The orientation is chosen after the pass, when the labels are known."""
    X, y, w, _ = data
    assert fl.cbauc(w, pieces(X, y), pos_label="no") == pytest.approx(fl.cbauc(w, X, y, pos_label="no"), abs=1e-12)
    part = fl.ScoreStats.from_data(pieces(X[y == "no"], y[y == "no"]), None, w, classes=("no", "yes"))
    assert (part.n0, part.n1) == (int((y == "no").sum()), 0)


def test_a_high_level_keeps_full_precision():
    """Scores with mean 1e8 and spread 1: chunks, row blocks and column blocks lose nothing."""
    rng = np.random.default_rng(3)
    X = np.column_stack([1e8 + rng.normal(size=900), rng.normal(size=900)])
    y = np.arange(900) % 2
    z = X[:, 0]
    expected = [float(np.sum((z[y == c] - z[y == c].mean()) ** 2)) for c in (0, 1)]
    for weights in (np.array([1.0, 0.0]), np.array([[1.0, 1.0], [0.0, 0.0]])):
        for table, labels in (((X, y)), (list(pieces(X, y)), None)):
            stats = fl.ScoreStats.from_data(table, labels, weights)
            np.testing.assert_allclose(stats.scatter0, expected[0], rtol=1e-8)
            np.testing.assert_allclose(stats.scatter1, expected[1], rtol=1e-8)


def test_parquet_reads_the_needed_columns_only(data, tmp_path):
    """A column that is not a number does no harm when the classifier was fitted on others."""
    from sklearn.linear_model import LogisticRegression

    X, y, _, _ = data
    names = [f"x{j}" for j in range(P)]
    frame = pl.DataFrame(X, schema=names).with_columns(pl.Series("label", y), pl.Series("note", ["text"] * N))
    frame.select(["note", "label", *names[::-1]]).write_parquet(tmp_path / "t.parquet")
    model = LogisticRegression(max_iter=5000).fit(frame.select(names).to_pandas(), y)
    with pytest.raises(fl.InputError, match=r"'note' holds text.*encode it or leave it out"):
        fl.cbauc(np.ones(P + 1), tmp_path / "t.parquet", "label")
    got = fl.auc_posterior(model, tmp_path / "t.parquet", "label")
    expected = fl.auc_posterior(model, frame.select(names).to_pandas(), y)
    assert got.mean == pytest.approx(expected.mean, abs=1e-12)


def test_sparse_rows_are_never_densified():
    """20,000 columns at 0.1 %: dense rows would take 640 MB; the answer allocates a hundredth of that."""
    import tracemalloc

    rng = np.random.default_rng(0)
    cells = rng.integers(4000, size=80_000), rng.integers(20_000, size=80_000)
    X = sp.coo_array((rng.random(80_000), cells), shape=(4000, 20_000)).tocsr()
    y, w = np.arange(4000) % 2, rng.normal(size=20_000)
    expected = fl.ScoreStats.from_scores(y, X @ w)
    for prior in (fl.Prior.paper(), fl.Prior.scaled_identity()):
        fl.cbauc(w, X[:10], y[:10], prior=prior)
        tracemalloc.start()
        fl.cbauc(w, X, y, prior=prior)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 6.4e6
    assert fl.ScoreStats.from_data(X, y, w).mean1 == pytest.approx(expected.mean1, rel=1e-12)


MAPPED = """
    import sys, numpy as np
    import foldless as fl
    from foldless_studies.evidence import memory
    X = np.load(sys.argv[1], mmap_mode="r")
    y = memory.labels_of(X.shape[0])
    W = memory.weights_of(X.shape[1], 16)
    fl.cbauc(W[:, 0], X[:1000], y[:1000])  # loads everything that will be loaded
    with memory.Peak() as peak:
        fl.cbauc(W[:, 0], X, y), fl.cbauc(W, X, y), fl.cbauc(W[:, 0], X, y, prior=fl.Prior.scaled_identity())
        fl.auc_posterior(W[:, 0], X, y, method="in-sample")
    print(peak.mb - peak.before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs RssAnon of Linux")
def test_a_memory_map_takes_no_memory_of_its_size(tmp_path):
    """300 MB on disk, evaluated four times in a fresh process: anonymous memory grows by less than a third of that.

    What is allocated is about 30 MB; how much of it the system counts at a time differs between machines.
    """
    X = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=(75_000, 500))
    block = np.random.default_rng(0).normal(size=(5_000, 500))
    for start in range(0, 75_000, 5_000):
        X[start : start + 5_000] = block
    X.flush()
    del X
    run = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(MAPPED), str(tmp_path / "x.npy")]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 100


# ---- what users are told


def nan_at(X, row, column):
    bad = X.copy()
    bad[row, column] = np.nan
    return bad


def complaints(X, y, w, folder):
    """What goes wrong, with a part of the message."""
    empty = folder / "empty"
    empty.mkdir()
    (folder / "broken.parquet").write_text("no such thing")
    pq.write_table(pa.table({"label": ["a", None]}), folder / "lone.parquet")
    pq.write_table(pa.table({"x0": [1.0, 2.0], "label": ["a", None]}), folder / "gap.parquet")
    pq.write_table(pa.table({"x0": [1.0, 2.0], "label": ["a", "b"]}), folder / "other.parquet")
    write_parquet(folder, X, y)
    return {
        "no chunks": (lambda: fl.cbauc(w, iter(())), "X is empty"),
        "not pairs": (lambda: fl.cbauc(w, iter([1, 2])), "chunk 0 is a int: expected pairs"),
        "chunks of unequal width": (lambda: fl.cbauc(w, iter([(X, y), (X[:, :2], y)])), "chunk 1 has 2 columns"),
        "chunk without labels": (lambda: fl.cbauc(w, iter([(X, y[:-1])])), "699 labels"),
        "weights of other length": (lambda: fl.cbauc(w[:2], pieces(X, y)), "w has 2 weights but X has 6 columns"),
        "NaN in a chunk": (lambda: fl.cbauc(w, pieces(nan_at(X, 333, 2), y)), "row 333, column 2"),
        "NaN in a mapped table": (lambda: fl.cbauc(w, nan_at(X, 333, 2), y), "row 333, column 2"),
        "one class": (lambda: fl.cbauc(w, pieces(X, np.zeros(N, int))), "one class only"),
        "three classes": (lambda: fl.cbauc(w, pieces(X, np.arange(N) % 3)), "3 classes"),
        "continuous labels": (lambda: fl.cbauc(w, pieces(X, X[:, 0])), "looks continuous"),
        "missing labels": (lambda: fl.cbauc(w, pieces(X, np.full(N, np.nan))), "missing label"),
        "adaptive prior": (lambda: fl.cbauc(w, pieces(X, y), prior=fl.Prior.adaptive()), "spectrum of X"),
        "no such file": (lambda: fl.cbauc(w, folder / "none.parquet", "label"), "no Parquet file at"),
        "no such column": (lambda: fl.cbauc(w, folder / "part0.parquet", "y"), "no column 'y'.*'x0'"),
        "no features": (lambda: fl.cbauc(w, folder / "lone.parquet", "label"), "no column besides"),
        "missing label in a file": (lambda: fl.cbauc([1.0], folder / "gap.parquet", "label"), "1 missing label"),
        "broken file": (lambda: fl.cbauc(w, folder / "broken.parquet", "label"), "is damaged or not a Parquet file"),
        "files that differ": (
            lambda: fl.cbauc(w, [folder / "part0.parquet", folder / "other.parquet"], "label"), "lacks column 'x1'",
        ),
        "labels instead of a name": (lambda: fl.cbauc(w, folder / "part0.parquet", y), "name of the label column"),
        "dask of other length": (lambda: fl.cbauc(w, da.from_array(X), y[:-1]), "700 rows but y has 699"),
        "dask vector": (lambda: fl.cbauc(w, da.from_array(X[:, 0]), y), "two dimensions"),
        "several passes over a generator": (lambda: fl.auc_posterior(w, pieces(X, y)), "more than one pass"),
        "leave-one-out of bare weights": (lambda: fl.auc_posterior(w, lambda: pieces(X, y)), "no closed form"),
    }  # fmt: skip


def test_complaints_say_what_is_wrong(data, tmp_path):
    """Each mistake is a FoldlessError whose message names it."""
    X, y, w, _ = data
    for call, expected in complaints(X, y, w, tmp_path).values():
        with pytest.raises(fl.FoldlessError, match=expected):
            call()


def test_ordinary_tables_are_not_streams(data):
    """Arrays, lists, frames and sparse matrices stay what they were."""
    X, y, _, _ = data
    for table in (X, X.tolist(), pl.DataFrame(X), sp.csr_array(X), None, "data.csv", ["a.csv"]):
        assert as_source(table, y) is None
    assert as_source(X, None) is None


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("pyarrow.parquet", lambda path: fl.cbauc(np.ones(P), path, "label"), r"foldless\[parquet\]"),
        ("dask", lambda path: open_files(path, "label", spread=True), r"foldless\[dask\]"),
        ("distributed", lambda path: cluster("tcp://nowhere:1").__enter__(), r"foldless\[dask\]"),
    ],
)
def test_a_missing_package_is_named(data, tmp_path, monkeypatch, module, call, extra):
    """What is optional says how to install it."""
    X, y, _, _ = data
    write_parquet(tmp_path, X, y, files=1)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(fl.InputError, match=extra):
        call(tmp_path / "part0.parquet")
