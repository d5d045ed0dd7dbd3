"""The folder of a run: settings, one line per finished task, and tables that are whole or absent."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import foldless as fl

SETTINGS, TASKS = "settings.json", "tasks.jsonl"


@dataclass(frozen=True)
class Store:
    """Files of one run."""

    folder: Path

    @property
    def tasks(self) -> Path:
        return self.folder / TASKS

    def begin(self, settings: dict[str, Any], *, resume: bool) -> None:
        """Create the folder, or make sure that it holds the same run and ends in a whole line."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.tasks.exists():
            self.write(SETTINGS, json.dumps(settings, indent=2) + "\n")
            return
        if not resume:
            raise fl.InputError(
                f"{self.folder} already holds a run: add --resume to finish it, or choose another folder."
            )
        self._refuse_other_settings(settings)
        os.truncate(self.tasks, _whole_bytes(self.tasks))

    def _refuse_other_settings(self, settings: dict[str, Any]) -> None:
        try:
            before = json.loads((self.folder / SETTINGS).read_text(encoding="utf-8"))
        except (OSError, ValueError) as err:
            raise fl.InputError(f"{self.folder / SETTINGS} cannot be read: the run cannot be resumed.") from err
        different = sorted(k for k in before.keys() | settings.keys() if before.get(k) != settings.get(k))
        if different:
            what = ", ".join(f"{k} ({before.get(k)} then, {settings.get(k)} now)" for k in different)
            raise fl.InputError(f"{self.folder} holds a run with other settings: {what}. Choose another folder.")

    def appender(self) -> TextIO:
        """The file of finished tasks, open for more."""
        return self.tasks.open("a", encoding="utf-8")

    def finished(self) -> Iterator[dict[str, Any]]:
        """Results so far; a line that a kill cut short is none."""
        if not self.tasks.exists():
            return
        with self.tasks.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)

    def write(self, name: str, content: str | bytes) -> Path:
        """Replace a file at once: a reader sees the old one or the new one, never a part."""
        path, draft = self.folder / name, self.folder / f".{name}.{os.getpid()}.tmp"
        try:
            draft.write_bytes(content.encode() if isinstance(content, str) else content)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        return path


def append(file: TextIO, result: dict[str, Any]) -> None:
    """One line, handed to the system at once."""
    file.write(json.dumps(result, separators=(",", ":"), allow_nan=False) + "\n")
    file.flush()


def _whole_bytes(path: Path) -> int:
    """Length of the file without a last line that has no end."""
    return path.read_bytes().rfind(b"\n") + 1
