"""Runs on a full disk, without permission, with too little memory, and two at once: one line, exit code 2, no loss."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

import foldless as fl
import foldless_studies.accuracy.run
import foldless_studies.paper.run
import foldless_studies.speed.run
from foldless.cli.app import app
from foldless.cli.plan import plan
from foldless_studies.accuracy.run import AccuracySettings, run

resource = pytest.importorskip("resource", reason="limits of a process are a matter of POSIX")

PR_CAPBSET_DROP = 24  # linux/prctl.h
MAIN = "from foldless.cli import main; main()"
SETTINGS = AccuracySettings(quick=True, replicates=2, splits=2, sizes=(40,), methods=("loo",))
WORDS = ("benchmark", "accuracy", "--quick", "--replicates", "2", "--methods", "loo", "--out", "out")


def foldless(*words, cwd, before=None, code=MAIN):
    """The command in a process of its own, after `before` has been called there."""
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=cwd, preexec_fn=before, capture_output=True, text=True, timeout=600
    )


def limit(what, size):
    """A function that sets a limit, for a process that is about to start."""
    return partial(resource.setrlimit, what, (size, size))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The table of a run in peace, and the length of its file of tasks."""
    folder = tmp_path_factory.mktemp("whole")
    run(SETTINGS, folder)
    return (folder / "results.csv").read_bytes(), (folder / "tasks.jsonl").stat().st_size


def complaint(done):
    """The last line on stderr, where progress may stand before it; a traceback is never there."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    *_, last = done.stderr.splitlines()
    assert last.startswith("foldless: ")
    return last


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_loses_nothing(tmp_path, undisturbed):
    """Files may not grow beyond half of the results: the half is kept, and a resumed run gives the same table."""
    table, length = undisturbed
    done = foldless(*WORDS, cwd=tmp_path, before=limit(resource.RLIMIT_FSIZE, length // 2))
    assert "tasks.jsonl cannot be written (File too large): what was finished is kept" in complaint(done)
    kept = (tmp_path / "out" / "tasks.jsonl").read_bytes()
    assert 2 <= kept.count(b"\n") < 8
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["settings.json", "tasks.jsonl"]
    run(SETTINGS, tmp_path / "out", resume=True)
    assert (tmp_path / "out" / "tasks.jsonl").read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    assert (tmp_path / "out" / "results.csv").read_bytes() == table


@pytest.mark.slow
def test_a_disk_too_full_for_a_report(tmp_path):
    """No half a page, and the page that was there before stays."""
    y = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 2)) + y[:, None]
    np.savez(tmp_path / "table.npz", X=X, y=y)
    (tmp_path / "report.html").write_text("the old one")
    words = ("report", "table.npz", "--no-search", "-o", "report.html")
    done = foldless(*words, cwd=tmp_path, before=limit(resource.RLIMIT_FSIZE, 20_000))
    assert "report.html cannot be written: File too large" in complaint(done)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "table.npz"]
    assert (tmp_path / "report.html").read_text() == "the old one"


def test_a_second_run_in_the_same_folder_is_refused_and_the_first_is_whole(tmp_path, undisturbed):
    """Started in the middle of the first one, as another process would."""
    refused = []

    def intrude(done, total, remaining):
        if done == 1:
            with pytest.raises(fl.InputError, match="another run is at work") as caught:
                run(SETTINGS, tmp_path, resume=True)
            refused.append(caught)

    run(SETTINGS, tmp_path, progress=intrude)
    assert len(refused) == 1
    assert (tmp_path / "results.csv").read_bytes() == undisturbed[0]


def obey_permissions():
    """Root may write everywhere; without this capability (1: CAP_DAC_OVERRIDE) it may not."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, 1, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its powers by prctl")
@pytest.mark.parametrize(
    "words", [WORDS, ("reproduce", "fig3", "--quick", "--out", "out"), ("report", "table.csv", "-o", "out.html")]
)
def test_an_unwritable_folder_is_found_before_the_work(tmp_path, words):
    """The complaint comes at once and says why; nothing appears in the folder."""
    (tmp_path / "table.csv").write_text("a,y\n" + "".join(f"{k},{k % 2}\n" for k in range(40)))
    tmp_path.chmod(0o555)
    try:
        done = foldless(*words, cwd=tmp_path, before=obey_permissions)
    finally:
        tmp_path.chmod(0o755)
    assert "permission" in complaint(done).lower()
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what a process has taken is read from /proc")
@pytest.mark.parametrize("mebibytes", [900, 1400])
def test_too_little_memory_for_a_file_is_one_line(tmp_path, mebibytes):
    """A table that cannot fit is refused before polars or NumPy meet the limit."""
    np.savez(tmp_path / "large.npz", X=np.zeros((100_000, 1000), np.float32), y=np.arange(100_000) % 2)
    done = foldless("auc", "large.npz", cwd=tmp_path, before=limit(resource.RLIMIT_AS, mebibytes * 2**20))
    assert "not enough memory" in complaint(done)
    assert done.stderr.count("\n") == 1


def test_memory_that_ends_in_the_middle_is_one_line(monkeypatch):
    """NumPy's MemoryError, and the operating system's, reach the user as advice."""
    for err in (MemoryError(), OSError("Cannot allocate memory (os error 12)")):

        def fail(err=err, **_):
            raise err

        monkeypatch.setattr(plan, "callback", fail)
        result = CliRunner().invoke(app, ["plan"], prog_name="foldless")
        assert result.exit_code == 2
        assert result.stderr == "foldless: there is not enough memory for this: use fewer rows or columns (--drop).\n"


def test_too_little_memory_for_the_libraries_is_one_line(tmp_path):
    """Below what polars needs to start its threads nothing is begun."""
    done = foldless("--help", cwd=tmp_path, before=limit(resource.RLIMIT_AS, 500 * 2**20))
    assert complaint(done) == (
        "foldless: memory is limited to 500 MiB, and the libraries alone need 768: raise it (ulimit -v)."
    )


def test_an_interrupted_run_says_how_to_go_on(tmp_path, monkeypatch):
    """Ctrl-C in the middle of a benchmark: where the finished pieces are, and that --resume goes on."""

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    for study in (foldless_studies.accuracy, foldless_studies.speed, foldless_studies.paper):
        monkeypatch.setattr(study.run, "run", interrupted)
    for command in (["benchmark", "accuracy"], ["benchmark", "speed"], ["reproduce", "fig1"]):
        result = CliRunner().invoke(app, [*command, "--quick", "--out", str(tmp_path / "out")])
        assert result.exit_code == 130
        assert f"is kept in {tmp_path / 'out'}: run the same command with --resume to go on." in result.stderr
