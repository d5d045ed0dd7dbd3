"""A Dask cluster of two worker processes: the same answers, also when a worker is killed in mid-computation."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless.baselines import folds, resampling
from foldless.streaming import cluster, fit_logistic, in_blocks, open_files

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N, P = 6000, 8


@pytest.fixture(scope="module")
def client():
    """Two worker processes with nannies that restart them."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as two,
        distributed.Client(two) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    y = np.where(rng.random(N) < 0.35, "case", "control")
    X = rng.normal(size=(N, P)) * np.arange(1, P + 1) + 0.5 * (y == "case")[:, None] + 3
    return X, y, rng.normal(size=(P, 3))


def killed_once(block, marker):
    """The block; the first worker that comes here dies at once."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_statistics_are_computed_on_the_cluster(client, data):
    """cbauc, posterior and statistics of a Dask array equal those in memory to 1e-12."""
    X, y, W = data
    table, labels = da.from_array(X, chunks=(500, 3)), da.from_array(y, chunks=700)
    np.testing.assert_allclose(fl.cbauc(W, table, labels), fl.cbauc(W, X, y), rtol=1e-12)
    got = fl.ScoreStats.from_data(table, labels, W[:, 0])
    expected = fl.ScoreStats.from_data(X, y, W[:, 0])
    for name in ("n0", "n1", "mean0", "mean1", "scatter0", "scatter1"):
        assert getattr(got, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_blocks_never_come_to_the_client(client, data):
    """Only statistics travel: the blocks are made on the workers, and this process never sees one."""
    _, _, W = data
    home = os.getpid()

    def made(block_info=None):
        assert os.getpid() != home
        rows = block_info[None]["chunk-shape"][0]
        seed = block_info[None]["chunk-location"][0]
        return np.random.default_rng(seed).normal(size=(rows, P))

    table = da.map_blocks(made, chunks=((400,) * 10, (P,)), dtype=float, meta=np.empty((0, 0)))
    labels = np.arange(4000) % 2
    X = np.vstack([np.random.default_rng(k).normal(size=(400, P)) for k in range(10)])
    np.testing.assert_allclose(fl.cbauc(W, table, labels), fl.cbauc(W, X, labels), rtol=1e-12)


@pytest.mark.slow
def test_the_leave_one_out_method_runs_on_the_cluster(client, data):
    """Two passes of P x P sums over a Dask array: the posterior of the method in memory."""
    X, y, _ = data
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(X, y)
    got = fl.auc_posterior(model, da.from_array(X, chunks=(1000, P)), y)
    expected = fl.auc_posterior(model, in_blocks(X, y))
    assert got.mean == pytest.approx(expected.mean, abs=1e-12)
    assert got.interval() == pytest.approx(expected.interval(), abs=1e-12)
    assert got.mean == pytest.approx(fl.auc_posterior(model, X, y).mean, abs=1e-8)


def test_parquet_files_are_read_by_the_workers(client, data, tmp_path):
    """What the command line does with --scheduler: fit and posterior from files, as from the same rows in memory."""
    X, y, _ = data
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(P)]).with_columns(pl.Series("y", y))
    frame[:2500].write_parquet(tmp_path / "a.parquet", row_group_size=600)
    frame[2500:].write_parquet(tmp_path / "b.parquet", row_group_size=600)
    with cluster(client.scheduler.address) as spread:
        source = open_files(str(tmp_path / "*.parquet"), "y", spread=spread)
        model = fit_logistic(source)
        got = fl.auc_posterior(model, source, pos_label="case")
    expected = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=1000)).fit(X, y)
    np.testing.assert_allclose(model[-1].coef_, expected[-1].coef_, atol=1e-6)
    assert got.mean == pytest.approx(fl.auc_posterior(expected, X, y, pos_label="case").mean, abs=1e-7)


def test_a_wrong_address_is_told():
    """No scheduler there: an InputError with the address, not a traceback."""
    with (
        pytest.raises(fl.InputError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9' "),
        cluster("tcp://127.0.0.1:9", timeout=0.5),
    ):
        pass


@pytest.mark.slow
def test_baselines_and_search_run_on_the_joblib_backend(client, data):
    """Brute-force baselines and FoldlessSearch with joblib's Dask backend: the numbers of this process."""
    import joblib

    X, y, _ = data
    X, y = X[:30, :3], y[:30]
    model = RidgeClassifier()
    search = fl.FoldlessSearch(LogisticRegression(), {"C": [0.1, 1.0], "class_weight": [None, "balanced"]}, n_jobs=2)
    expected = [folds.cv_auc(model, X, y, random_state=0), resampling.leave_pair_out_auc(model, X, y)]
    best = search.fit(X, y).best_params_
    with joblib.parallel_config("dask"):
        got = [
            folds.cv_auc(model, X, y, random_state=0, n_jobs=2),
            resampling.leave_pair_out_auc(model, X, y, n_jobs=2),
        ]
        assert search.fit(X, y).best_params_ == best
    assert got == pytest.approx(expected, abs=1e-14)


@pytest.mark.slow
def test_a_killed_worker_does_not_change_the_answer(client, data, tmp_path):
    """SIGKILL in the middle of a block: Dask repeats what was lost, and the answer is the same to 1e-12."""
    X, y, W = data
    whole = da.from_array(X, chunks=(300, P))
    # With meta given, Dask does not try the function here first.
    table = whole.map_blocks(killed_once, marker=str(tmp_path / "mark"), dtype=float, meta=np.empty((0, 0)))
    before = set(client.run(os.getpid).values())
    np.testing.assert_allclose(fl.cbauc(W, table, y), fl.cbauc(W, X, y), rtol=1e-12)
    assert (tmp_path / "mark").exists()
    client.wait_for_workers(2, timeout=600)
    assert set(client.run(os.getpid).values()) != before
