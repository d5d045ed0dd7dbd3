"""Make the measurements that are not made yet, one after the other, then write the tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foldless as fl
from foldless_studies.runs import Progress, Settings, completed, versions
from foldless_studies.speed import page
from foldless_studies.speed.measurement import Measurement, machine, perform
from foldless_studies.speed.rivals import DATA_SETS, RIVALS, chosen
from foldless_studies.speed.subjects import GROWTH, IMPORTS, MANY, MEMORY, ONE_PASS
from foldless_studies.store import Store

RUNS = "runs"


@dataclass(frozen=True)
class SpeedSettings(Settings):
    """`data` is a folder of .npz files, `sets` the names of those to take (None: the first few of each kind)."""

    data: str | None = None
    sets: tuple[str, ...] | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        if self.sets is not None and self.data is None:
            raise fl.InputError("--sets names files in a folder: give the folder with --data.")
        if self.sets is not None and len(set(self.sets)) < len(self.sets):
            raise fl.InputError(f"every data set can be named once, got {', '.join(self.sets)}.")

    def command(self) -> str:
        """The command line that gives this run."""
        words = ["foldless benchmark speed"]
        words += ["--quick"] if self.quick else []
        words += ["--data FOLDER"] if self.data else []
        words += [f"--sets {','.join(self.sets)}"] if self.sets else []
        return " ".join(words)


def plan(settings: SpeedSettings) -> list[Measurement]:
    """Everything there is to measure; each of them holds its data only while it is measured."""
    subjects = (ONE_PASS, MANY, GROWTH, RIVALS, MEMORY, IMPORTS)
    found = [m for subject in subjects for m in subject.measurements(quick=settings.quick)]
    if settings.data is not None:
        files = chosen(Path(settings.data), settings.sets)
        found += DATA_SETS.measurements(quick=settings.quick, cases=files)
    return found


# ---- What the library promises itself about its cost, and whether a run bears it out.


@dataclass(frozen=True)
class Goal:
    """A figure of one measurement, and the bounds it should keep."""

    text: str
    measurement: str
    figure: str
    most: float
    least: float | None = None

    def judged(self, results: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The goal with what was measured."""
        measured = results[self.measurement][self.figure]
        holds = measured <= self.most and (self.least is None or measured >= self.least)
        return {"goal": self.text, "least": self.least, "most": self.most, "measured": measured, "holds": holds}


GOALS = (
    Goal(
        "1,000 classifiers, relative to the product X @ W",
        "many classifiers: 20,000 x 1,000, K = 1,000",
        "ratio_product",
        1.2,
    ),
    Goal("exponent of CBAUC in N", "growth: cbauc with N", "exponent", 1.1, 0.9),
    Goal("exponent of CBAUC in P", "growth: cbauc with P", "exponent", 1.1, 0.9),
    Goal("exponent of CBAUC in K, from 64 on", "growth: cbauc with K", "exponent", 1.1),
)


def judge(results: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """All goals, with what a run at full size measured."""
    return [goal.judged(results) for goal in GOALS]


# ---- The run.


def run(
    settings: SpeedSettings, folder: Path, *, resume: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Write speed.json and speed.md; the summary. `folder`/runs keeps every measurement, for `resume`.

    A ratio comes from one measurement, so an interruption between two of them cannot spoil it; on another machine a
    run cannot be resumed.
    """
    todo, about = plan(settings), {"versions": versions(), "machine": machine()}
    record = {**settings.as_dict(), **about}
    lines = completed(todo, perform, Store(folder / RUNS), record, resume=resume, progress=progress)
    head = {"command": settings.command(), "settings": settings.published(), **about}
    summary = {**head, "goals": [] if settings.quick else judge({line["task"]: line for line in lines})}
    summary["results"] = lines
    shelf = Store(folder)
    shelf.write("speed.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    shelf.write("speed.md", page.of(summary).markdown())
    return summary
