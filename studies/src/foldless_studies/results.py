"""All results of a run as arrays: one unit per sample and C, one column per method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless_studies.methods import LEVELS
from foldless_studies.sample import Floats
from foldless_studies.settings import Settings
from foldless_studies.spreadsheet import csv_text
from foldless_studies.task import Task

ENDS = tuple(f"{end}{100 * level:.0f}" for level in LEVELS for end in ("low", "high"))
VALUES = ("estimate", "sd", *ENDS, "rank", "seconds")
UNITS = ("kind", "cell", "group", "labels", "n", "p", "C", "replicate", "truth", "truth_se")


@dataclass(frozen=True)
class Results:
    """Units (U,) by name, and values (U, M) by name; NaN where a method has no value. Sorted by cell, C, replicate."""

    methods: tuple[str, ...]
    units: dict[str, npt.NDArray[Any]]
    values: dict[str, Floats]
    failures: list[tuple[int, str, str]]

    @classmethod
    def of(cls, tasks: Sequence[Task], settings: Settings, lines: Iterable[dict[str, Any]]) -> Results:
        """Gather the lines of a run, in an order that does not depend on when they were finished."""
        by_key = {task.key: task for task in tasks}
        rows = [r for line in lines if line["task"] in by_key for r in _rows(by_key[line["task"]], line, settings)]
        rows.sort(key=lambda row: (row[0], row[1], row[6], row[7]))
        numbers = np.array([row[-2] for row in rows])
        return cls(
            settings.methods,
            {name: np.array([row[k] for row in rows]) for k, name in enumerate(UNITS)},
            {name: numbers[:, :, k] for k, name in enumerate(VALUES)},
            [(u, method, why) for u, row in enumerate(rows) for method, why in row[-1].items()],
        )

    def __len__(self) -> int:
        return len(self.units["truth"])

    def where(self, mask: npt.NDArray[np.bool_]) -> Results:
        """Some of the units."""
        units = {name: column[mask] for name, column in self.units.items()}
        return Results(self.methods, units, {name: column[mask] for name, column in self.values.items()}, [])

    @property
    def errors(self) -> Floats:
        """Estimate minus truth."""
        return np.asarray(self.values["estimate"] - self.units["truth"][:, None])

    def covered(self, level: float) -> Floats:
        """1 where the central interval holds the measured AUC, 0 where not, NaN where there is none."""
        name = f"{100 * level:.0f}"
        low, high, truth = self.values[f"low{name}"], self.values[f"high{name}"], self.units["truth"][:, None]
        return np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))

    def covered_noisy(self, level: float) -> Floats:
        """The same for the interval of posterior + test noise; without noise the two agree."""
        rank = self.values["rank"]
        inside = np.abs(rank - 0.5) <= level / 2
        return np.where(np.isnan(rank), self.covered(level), inside)


def _rows(task: Task, line: dict[str, Any], settings: Settings) -> list[tuple[Any, ...]]:
    """For each C: the columns of `UNITS`, the values (M, V), and why methods failed."""
    cell = task.cell
    head = (cell.kind, cell.name, cell.group, cell.labels, cell.n, line["p"])
    return [
        (*head, fit["C"], task.replicate, fit["truth"], fit["truth_se"], *_answers(fit["methods"], settings.methods))
        for fit in line["fits"]
    ]


def _answers(answers: dict[str, Any], methods: Sequence[str]) -> tuple[Floats, dict[str, str]]:
    numbers = np.array([_values(answers[name]) for name in methods], dtype=np.float64)
    return numbers, {name: answers[name]["failed"] for name in methods if "failed" in answers[name]}


def _values(answer: dict[str, Any]) -> list[float]:
    if "failed" in answer:
        return [np.nan] * len(VALUES)
    found = (answer["estimate"], answer["sd"], *answer["ends"], answer["rank"], answer["seconds"])
    return [np.nan if value is None else value for value in found]


def as_csv(results: Results) -> str:
    """A line per sample, C and method. Times are left out: they are in tasks.jsonl and differ from run to run."""
    return csv_text(_lines(results, [name for name in VALUES if name != "seconds"]))


def _lines(results: Results, shown: list[str]) -> Iterator[list[Any]]:
    failed = {(u, m): why for u, m, why in results.failures}
    yield [*UNITS, "method", *shown, "failed"]
    for u in range(len(results)):
        unit = [results.units[name][u].item() for name in UNITS]
        for m, method in enumerate(results.methods):
            values = [_cell(results.values[name][u, m]) for name in shown]
            yield [*unit, method, *values, failed.get((u, method), "")]


def _cell(value: float) -> float | str:
    return "" if np.isnan(value) else float(value)
