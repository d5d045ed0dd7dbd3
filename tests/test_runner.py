"""Who does the tasks cannot be seen in the results: processes, threads or Dask; and what may go wrong with them."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from joblib.externals.loky import get_reusable_executor

import foldless as fl
from foldless.cli.app import app
from foldless.tables import clusters
from foldless_studies.paper.run import PaperSettings, run
from foldless_studies.runs import Workers, work
from foldless_studies.store import Store


def command(*words):
    return CliRunner().invoke(app, [str(w) for w in words], prog_name="foldless")


def squared(number: int) -> dict[str, int]:
    return {"task": str(number), "square": number**2}


def squared_by_survivors(flag: Path, number: int) -> dict[str, int]:
    """The first worker that gets here dies."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return squared(number)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> bytes:
    """results.csv of a small item, done by this process."""
    folder = tmp_path_factory.mktemp("alone")
    run(SMALL, folder)
    return csv_of(folder)


SMALL = PaperSettings("fig3", iterations=2, quick=True)


def csv_of(folder: Path) -> bytes:
    return (folder / "runs" / "fig3" / "results.csv").read_bytes()


def test_threads_give_the_same_bytes(alone, tmp_path):
    result = command("reproduce", "fig3", "--quick", "--iterations", 2, "--backend", "threading", "--jobs", 2,
                     "--out", tmp_path)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert csv_of(tmp_path) == alone


@pytest.mark.slow
def test_a_local_dask_cluster_gives_the_same_bytes_and_is_closed(alone, tmp_path):
    result = command("reproduce", "fig3", "--quick", "--iterations", 2, "--backend", "dask", "--jobs", 2,
                     "--out", tmp_path)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert csv_of(tmp_path) == alone
    import multiprocessing

    assert [p for p in multiprocessing.active_children() if "Dask" in p.name] == []


@pytest.mark.slow
def test_a_running_dask_cluster_is_used_and_left_alone(alone, tmp_path):
    """Also for the other benchmark: `--scheduler` takes an address."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as running:
        address = running.scheduler_address
        options = ("--backend", "dask", "--scheduler", address, "--out")
        result = command("reproduce", "fig3", "--quick", "--iterations", 2, *options, tmp_path / "paper")
        assert result.exit_code == 0, result.output
        assert csv_of(tmp_path / "paper") == alone
        accuracy = ("benchmark", "accuracy", "--quick", "--replicates", 1, "--methods", "loo")
        assert command(*accuracy, *options, tmp_path / "dask").exit_code == 0
        assert command(*accuracy, "--out", tmp_path / "here").exit_code == 0
        one, two = ((tmp_path / name / "results.csv").read_bytes() for name in ("dask", "here"))
        assert one == two
        with Client(address, set_as_default=False) as client:
            assert client.submit(sum, (1, 2)).result() == 3


@pytest.mark.slow
def test_a_killed_dask_worker_loses_nothing(tmp_path):
    store = Store(tmp_path)
    with Workers(2, "dask").ready() as team:
        work(range(12), partial(squared_by_survivors, tmp_path / "flag"), store, done=0, team=team, progress=None)
    assert (tmp_path / "flag").exists()
    assert {line["task"]: line["square"] for line in store.finished()} == {str(n): n**2 for n in range(12)}


@pytest.mark.slow
def test_a_killed_process_is_one_line_and_the_results_are_kept(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(fl.InputError, match="--resume does the rest"), Workers(2).ready() as team:
        work(range(12), partial(squared_by_survivors, tmp_path / "flag"), store, done=0, team=team, progress=None)
    assert all(line["square"] == int(line["task"]) ** 2 for line in store.finished())


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--backend", "dask", "--scheduler", "nonsense"), "no Dask scheduler answers at 'nonsense'"),
        (("--backend", "dask", "--scheduler", "tcp://127.0.0.1:many"), "no Dask scheduler answers"),
        (("--scheduler", "tcp://127.0.0.1:8786"), "add --backend dask"),
        (("--backend", "mpi"), "'mpi' is not one of"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_begun(words, expected, tmp_path):
    result = command("reproduce", "fig3", "--quick", "--out", tmp_path / "o", *words)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_a_scheduler_that_does_not_answer_is_given_up_soon(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", 0.3)
    address = f"tcp://127.0.0.1:{free_port()}"
    result = command("benchmark", "accuracy", "--quick", "--backend", "dask", "--scheduler", address,
                     "--out", tmp_path / "o")  # fmt: skip
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"no Dask scheduler answers at '{address}' (nothing within 0.3 s)" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_a_stranger_at_the_address_is_no_scheduler():
    """Something else that listens there, and talks."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        import threading

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4)
                time.sleep(0.2)

        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(fl.InputError, match="no Dask scheduler answers"):
            clusters._refuse_unless_ready(f"tcp://127.0.0.1:{server.getsockname()[1]}", 1.0)


def test_a_scheduler_without_workers_is_refused(monkeypatch):
    async def nobody(address):
        return {"type": "Scheduler", "workers": {}}

    monkeypatch.setattr(clusters, "_identity", nobody)
    with pytest.raises(fl.InputError, match="has no workers: start some with 'dask worker tcp://host:1'"):
        clusters._refuse_unless_ready("tcp://host:1", 1.0)


@pytest.mark.parametrize(("found", "words"), [("0.0.9", "has foldless 0.0.9"), (ImportError("x"), "has no foldless")])
def test_workers_need_the_same_version(found, words):
    class Client:
        def run(self, function, *args, on_error):
            return {"tcp://here:1": fl.__version__, "tcp://there:2": found}

    with pytest.raises(fl.InputError, match=f"tcp://there:2 {words}: install foldless {fl.__version__} there"):
        clusters._refuse_other_versions(Client())


def test_without_dask_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "find_spec", lambda name: None if name == "distributed" else True)
    result = command("reproduce", "fig3", "--quick", "--backend", "dask", "--out", tmp_path / "o")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "distributed: pip install 'foldless[dask]'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_settings_of_workers_are_checked():
    with pytest.raises(fl.InputError, match="unknown backend 'mpi': choose from loky, threading, dask"):
        Workers(2, "mpi")
    with pytest.raises(fl.InputError, match="at least 1"):
        Workers(0)


def test_progress_counts_what_was_there_before(tmp_path):
    calls: list[tuple[int, int]] = []
    work([1, 2], squared, Store(tmp_path), done=3, progress=lambda done, total, left: calls.append((done, total)))
    assert calls == [(4, 5), (5, 5)]
    assert [json.loads(line)["square"] for line in (tmp_path / "tasks.jsonl").read_text().splitlines()] == [1, 4]


def interrupts_of(task):
    """What a worker does on Ctrl-C."""
    return {"task": task, "ignored": signal.getsignal(signal.SIGINT) == signal.SIG_IGN}


def test_workers_leave_an_interrupt_to_the_process_that_started_them():
    """Ctrl-C reaches the whole group; a worker that was just starting answered with a traceback of its own."""
    before = signal.getsignal(signal.SIGINT)
    get_reusable_executor().shutdown(wait=True)  # as in a command: no workers of an earlier test
    with Workers(jobs=2).ready() as team:
        assert all(result["ignored"] for result in team([1, 2, 3], interrupts_of))
    assert signal.getsignal(signal.SIGINT) is before
