"""The folder of a run: settings, one line per finished task, and tables that are whole or absent.

Whatever happens, a finished task stays: results are only ever added, a line at a time, by the one process that holds
the lock of the file. A kill can cut the last line short; it is taken off before the next one is added.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foldless as fl
from foldless.files import write_atomically

SETTINGS, TASKS = "settings.json", "tasks.jsonl"
# What `write_atomically` leaves where it is killed; other hidden files are somebody else's.
DRAFT = re.compile(r"\..+\.(json|csv|md|html|png|svg)\.\d+\.tmp")
KEPT = "what was finished is kept, and --resume does the rest"


@dataclass(frozen=True)
class Store:
    """Files of one run."""

    folder: Path

    @property
    def tasks(self) -> Path:
        return self.folder / TASKS

    @property
    def settings(self) -> Path:
        return self.folder / SETTINGS

    def begin(self, settings: dict[str, Any], *, resume: bool) -> None:
        """Create the folder, or make sure that it holds the same run and that nobody else is at work on it."""
        with _usable(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        if self._is_begun():
            self._refuse_other_settings(settings)
            if not resume:
                raise fl.InputError(
                    f"{self.folder} already holds a run: add --resume to finish it, or choose another folder."
                )
        with self.appender():
            self._sweep()
            if not self.settings.exists():
                self.write(SETTINGS, json.dumps(settings, indent=2) + "\n")
            # Once more: somebody else may have begun between the first look and the lock.
            self._refuse_other_settings(settings)

    def _is_begun(self) -> bool:
        return self.settings.exists() or (self.tasks.exists() and self.tasks.stat().st_size > 0)

    def _refuse_other_settings(self, settings: dict[str, Any]) -> None:
        before = read_object(self.settings)
        if before is None:
            raise fl.InputError(
                f"{self.settings} is missing, damaged, or not that of a run: nothing is changed there. Choose another "
                f"folder."
            )
        different = sorted(k for k in before.keys() | settings.keys() if before.get(k) != settings.get(k))
        if different:
            what = ", ".join(f"{k} ({before.get(k)} then, {settings.get(k)} now)" for k in different)
            raise fl.InputError(f"{self.folder} holds a run with other settings: {what}. Choose another folder.")

    def _sweep(self) -> None:
        """Remove the drafts of processes that were killed while they wrote."""
        for path in self.folder.glob(".*.tmp"):
            if DRAFT.fullmatch(path.name):
                path.unlink(missing_ok=True)

    @contextmanager
    def appender(self) -> Iterator[io.FileIO]:
        """The file of finished tasks, open for more, ending in a whole line, and locked against other runs."""
        with _usable(self.folder):
            opened = io.FileIO(self.tasks, "a+")
        with opened as file:
            if not acquire(file.fileno()):
                raise fl.InputError(
                    f"another run is at work in {self.folder}: wait until it is done, or choose another folder."
                )
            file.truncate(_whole_bytes(self.tasks))
            yield file

    def finished(self) -> Iterator[dict[str, Any]]:
        """Results so far, each task once; a line that a kill cut short is none."""
        seen: set[str] = set()
        for number, line in enumerate(self._whole_lines(), 1):
            result = _parsed(line)
            if result is None or not isinstance(result.get("task"), str):
                raise fl.InputError(
                    f"{self.tasks}, line {number}, is not the result of a task: the file was damaged or changed. "
                    f"Delete that line to have its task done again (--resume), or choose another folder."
                )
            if result["task"] not in seen:
                seen.add(result["task"])
                yield result

    def _whole_lines(self) -> Iterator[bytes]:
        if self.tasks.exists():
            with self.tasks.open("rb") as lines:
                yield from (line for line in lines if line.endswith(b"\n"))

    def write(self, name: str, content: str | bytes) -> Path:
        """Replace a file at once: a reader sees the old one or the new one, never a part."""
        path = self.folder / name
        write_atomically(path, content.encode() if isinstance(content, str) else content)
        return path


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as err:
        raise fl.InputError(
            f"nothing can be written in {folder} ({err.strerror or err}): choose another folder with --out."
        ) from err


def append(file: io.FileIO, result: dict[str, Any]) -> None:
    """One line, handed to the system at once."""
    line = (json.dumps(result, separators=(",", ":"), allow_nan=False) + "\n").encode()
    try:
        while line:  # a disk that fills up may take a part
            line = line[file.write(line) :]
    except OSError as err:
        raise fl.InputError(f"{file.name} cannot be written ({err.strerror or err}): {KEPT}.") from err


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, or None where there is none that could be read."""
    try:
        return _parsed(path.read_bytes())
    except OSError:
        return None


def _parsed(content: bytes) -> dict[str, Any] | None:
    """A JSON object, or None where it is none."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole_bytes(path: Path) -> int:
    """Length of the file without a last line that has no end."""
    return path.read_bytes().rfind(b"\n") + 1


# ---- One run at a time: a lock on an open file, which the system takes back when the process ends, however it ends.


def acquire(descriptor: int) -> bool:
    """Lock an open file until it is closed; False where somebody else holds it. An OSError where that is impossible."""
    try:
        _lock(descriptor)
    except (BlockingIOError, PermissionError):
        return False
    return True


if sys.platform == "win32":
    import msvcrt

    # Far behind the end: on Windows nobody else could read the bytes that are locked.
    FAR = 2**40

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
