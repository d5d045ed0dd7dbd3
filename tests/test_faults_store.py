"""The folder of a run under damage: nothing finished is lost, nothing half-written is believed, one run at a time."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys

import pytest

import foldless as fl
from foldless import files
from foldless_studies.paper.run import publish
from foldless_studies.store import Store, append

SETTINGS = {"seed": 0, "sizes": [40]}
WHOLE = b'{"task":"a","value":1}\n{"task":"b","value":2}\n'


@pytest.fixture
def store(tmp_path):
    """A run with two finished tasks."""
    store = Store(tmp_path / "run")
    store.begin(SETTINGS, resume=False)
    with store.appender() as file:
        append(file, {"task": "a", "value": 1})
        append(file, {"task": "b", "value": 2})
    assert store.tasks.read_bytes() == WHOLE
    return store


def names(store):
    return [line["task"] for line in store.finished()]


@pytest.mark.parametrize("tail", [b'{"task":"c","va', b"\0" * 4096, b'{"task":"c"}', b"\xff\xfe"])
def test_a_last_line_without_an_end_is_taken_off(store, tail):
    """What a kill, a full disk or a power failure leaves at the end is no result, and goes before the next one."""
    with store.tasks.open("ab") as file:
        file.write(tail)
    assert names(store) == ["a", "b"]
    store.begin(SETTINGS, resume=True)
    assert store.tasks.read_bytes() == WHOLE


@pytest.mark.parametrize(
    "line", [b'{"task":"c","va', b"5", b"{}", b'{"task":7}', b"\xff\xfe\x00", b"[" * 100_000, b"name,value", b""]
)
def test_a_damaged_line_is_named_and_nothing_is_changed(store, line):
    """A line in the middle that is no result stops the run with its number; the file stays as it is."""
    damaged = b'{"task":"z"}\n' + line + b"\n" + WHOLE
    store.tasks.write_bytes(damaged)
    store.begin(SETTINGS, resume=True)
    with pytest.raises(fl.InputError, match=r"tasks\.jsonl, line 2, is not the result of a task.*Delete that line"):
        names(store)
    assert store.tasks.read_bytes() == damaged


def test_a_file_of_zero_bytes_is_a_run_without_results(store):
    """A run that was killed before its first result starts from the beginning."""
    store.tasks.write_bytes(b"")
    store.begin(SETTINGS, resume=True)
    assert names(store) == []


def test_a_task_that_is_there_twice_counts_once(store):
    """Two machines that once wrote to the same folder do not weigh double."""
    with store.tasks.open("ab") as file:
        file.write(b'{"task":"a","value":3}\n')
    assert [(line["task"], line["value"]) for line in store.finished()] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"text"', b"\xff", b"not ours"])
def test_foreign_settings_are_never_replaced(tmp_path, content):
    """A settings.json of something else is left alone, and no other file appears beside it."""
    (tmp_path / "settings.json").write_bytes(content)
    for resume in (False, True):
        with pytest.raises(fl.InputError, match="not that of a run: nothing is changed"):
            Store(tmp_path).begin(SETTINGS, resume=resume)
    assert [p.name for p in tmp_path.iterdir()] == ["settings.json"]
    assert (tmp_path / "settings.json").read_bytes() == content


def test_results_without_settings_are_not_resumed(store):
    """Results whose settings are gone could be anybody's."""
    store.settings.unlink()
    with pytest.raises(fl.InputError, match=r"settings\.json is missing"):
        store.begin(SETTINGS, resume=True)
    assert store.tasks.read_bytes() == WHOLE


def test_two_runs_at_once_are_refused(store):
    """Whoever comes second is told so, before anything is read or written."""
    with store.appender() as file:
        append(file, {"task": "c"})
        for attempt in (lambda: store.begin(SETTINGS, resume=True), lambda: store.appender().__enter__()):
            with pytest.raises(fl.InputError, match=r"another run is at work in .*: wait until it is done"):
                attempt()
        append(file, {"task": "d"})
    store.begin(SETTINGS, resume=True)
    assert names(store) == ["a", "b", "c", "d"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_lock_of_a_killed_process_is_gone_with_it(store):
    """No lock file to delete by hand after SIGKILL, even in the middle of a line."""
    code = (
        "import sys, time; from pathlib import Path; from foldless_studies.store import Store\n"
        "with Store(Path(sys.argv[1])).appender() as file:\n"
        "    file.write(b'{\"task\":\"c'); print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(store.folder)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(fl.InputError, match="another run is at work"):
        store.begin(SETTINGS, resume=True)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    store.begin(SETTINGS, resume=True)
    assert store.tasks.read_bytes() == WHOLE


def test_drafts_of_killed_processes_are_swept_and_other_hidden_files_kept(store):
    """Only what write_atomically itself could have left is removed."""
    for name in (".results.csv.123.tmp", ".notes.tmp", ".results.csv.tmp", ".editor.json.swp"):
        (store.folder / name).write_bytes(b"half")
    store.begin(SETTINGS, resume=True)
    hidden = sorted(p.name for p in store.folder.iterdir() if p.name.startswith("."))
    assert hidden == [".editor.json.swp", ".notes.tmp", ".results.csv.tmp"]


class FullDisk:
    """A file on a disk that takes a few more bytes."""

    name = "tasks.jsonl"

    def __init__(self, room):
        self.room, self.content = room, b""

    def write(self, data):
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = data[: self.room]
        self.room -= len(taken)
        self.content += taken
        return len(taken)


def test_a_disk_that_fills_up_in_the_middle_of_a_line():
    """The message names the file, the reason, and that nothing finished is lost."""
    file = FullDisk(room=30)
    append(file, {"task": "a"})
    with pytest.raises(fl.InputError, match=r"tasks\.jsonl cannot be written \(No space left.*kept, and --resume"):
        append(file, {"task": "b" * 40})
    assert file.content.startswith(b'{"task":"a"}\n')


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path, monkeypatch, step):
    """Disk full while the draft is written, or while it takes the name: old content, no draft, one sentence."""
    path = tmp_path / "results.csv"
    files.write_atomically(path, b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(fl.InputError, match=r"results\.csv cannot be written: No space left on device"):
        files.write_atomically(path, b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("results.csv", b"old")]


@pytest.mark.parametrize("content", [b"", b'{"item": "fig3", "tab', b"[]", b'{"item": "fig1"}', b"\x89PNG\xff"])
def test_a_damaged_summary_is_named_when_the_index_is_made(tmp_path, content):
    """The index is not made from half a summary; the message says how to get the summary back."""
    (tmp_path / "fig3.json").write_bytes(content)
    with pytest.raises(fl.InputError, match=r"fig3\.json is damaged.*foldless reproduce fig3' again with --resume"):
        publish(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["fig3.json"]


def test_settings_are_written_before_results(store):
    """What a run was is known as soon as it has a result."""
    assert json.loads(store.settings.read_bytes()) == SETTINGS


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    """The option that helps is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(fl.InputError, match=r"nothing can be written in .* choose another folder with --out"):
        Store(tmp_path / "file" / "run").begin({}, resume=False)
