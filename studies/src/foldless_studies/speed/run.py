"""Make the measurements that are not made yet, one after the other, then write the tables."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import foldless as fl
from foldless_studies.runner import Progress, work
from foldless_studies.settings import versions
from foldless_studies.speed import datasets, goals, growth, imports, many, memory, one_pass, page, rivals
from foldless_studies.speed.clock import Effort
from foldless_studies.speed.machine import machine
from foldless_studies.speed.measurement import Measurement, perform
from foldless_studies.store import Store

RUNS = "runs"
QUICK = Effort(2, 2, 0.0)


@dataclass(frozen=True)
class Settings:
    """`data` is a folder of .npz files, `sets` the names of those to take (None: the first few of each kind)."""

    data: str | None = None
    sets: tuple[str, ...] | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        if self.sets is not None and self.data is None:
            raise fl.InputError("--sets names files in a folder: give the folder with --data.")
        if self.sets is not None and len(set(self.sets)) < len(self.sets):
            raise fl.InputError(f"every data set can be named once, got {', '.join(self.sets)}.")

    def effort(self, usual: Effort) -> Effort:
        return QUICK if self.quick else usual

    def published(self) -> dict[str, Any]:
        """For tables that are passed on: the folder's name says enough, its place is nobody's business."""
        return {**asdict(self), "data": Path(self.data).name if self.data else None}

    def command(self) -> str:
        """The command line that gives this run."""
        words = ["foldless benchmark speed"]
        words += ["--quick"] if self.quick else []
        words += ["--data FOLDER"] if self.data else []
        words += [f"--sets {','.join(self.sets)}"] if self.sets else []
        return " ".join(words)


def plan(settings: Settings) -> list[Measurement]:
    """Everything there is to measure; each of them holds its data only while it is measured."""
    quick, effort = settings.quick, settings.effort
    found = one_pass.measurements(quick=quick, effort=effort(Effort(7, 25, 3.0)))
    found += many.measurements(quick=quick, effort=effort(Effort(5, 15, 10.0)))
    found += growth.measurements(quick=quick, effort=effort(Effort(5, 15, 10.0)))
    found += rivals.measurements(quick=quick, effort=effort(Effort(3, 15, 10.0)))
    found += memory.measurements(quick=quick)
    found += imports.measurements(quick=quick, effort=effort(Effort(5, 15, 8.0)))
    if settings.data is not None:
        found += datasets.measurements(Path(settings.data), settings.sets, effort=effort(Effort(3, 15, 5.0)))
    return found


def run(settings: Settings, folder: Path, *, resume: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """Write speed.json and speed.md; the summary. `folder`/runs keeps every measurement, for `resume`.

    A ratio comes from one measurement, so an interruption between two of them cannot spoil it; on another machine a
    run cannot be resumed.
    """
    todo, store, where = plan(settings), Store(folder / RUNS), machine()
    about = {"versions": versions(), "machine": where}
    store.begin({**asdict(settings), "sets": settings.sets and list(settings.sets), **about}, resume=resume)
    done = {line["task"] for line in store.finished()}
    work([m for m in todo if m.key not in done], perform, store, done=len(done), progress=progress)
    lines = {line["task"]: line for line in store.finished()}
    results = {m.key: lines[m.key] for m in todo}
    head = {"command": settings.command(), "settings": settings.published(), **about}
    summary = {**head, "goals": [] if settings.quick else goals.judge(results), "results": list(results.values())}
    shelf = Store(folder)
    shelf.write("speed.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    shelf.write("speed.md", page.of(summary).markdown())
    return summary
