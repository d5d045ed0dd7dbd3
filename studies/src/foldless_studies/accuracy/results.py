"""All results of a run as arrays, one unit per sample and C, one column per method; and the tidy table from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless_studies.accuracy.cells import AccuracyCell
from foldless_studies.estimators import CV5, CV5X5, LEVELS
from foldless_studies.pages import csv_text
from foldless_studies.sampling import Floats, Task

Line = dict[str, Any]

ENDS = tuple(f"{end}{100 * level:.0f}" for level in LEVELS for end in ("low", "high"))
VALUES = ("estimate", "sd", *ENDS, "rank", "seconds")
UNITS = ("kind", "cell", "group", "labels", "n", "p", "C", "replicate", "truth", "truth_se", "second_sample")


@dataclass(frozen=True)
class Results:
    """Units (U,) by name, and values (U, M) by name; NaN where a method has no value. Sorted by cell, C, replicate."""

    methods: tuple[str, ...]
    units: dict[str, npt.NDArray[Any]]
    values: dict[str, Floats]
    failures: list[tuple[int, str, str]]

    @classmethod
    def of(
        cls, tasks: Sequence[Task[AccuracyCell]], methods: tuple[str, ...], lines: Iterable[dict[str, Any]]
    ) -> Results:
        """Gather the lines of a run, in an order that does not depend on when they were finished."""
        by_key = {task.key: task for task in tasks}
        rows = [r for line in lines if line["task"] in by_key for r in _rows(by_key[line["task"]], line, methods)]
        rows.sort(key=lambda row: (row[0], row[1], row[6], row[7]))
        numbers = np.array([row[-2] for row in rows])
        return cls(
            methods,
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


def _rows(task: Task[AccuracyCell], line: Line, methods: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """For each C: the columns of `UNITS`, the values (M, V), and why methods failed."""
    cell = task.cell
    head = (cell.kind, cell.name, cell.group, cell.labels, cell.n, line["p"])
    return [(*head, fit["C"], task.replicate, *_truth(fit), *_answers(fit["methods"], methods)) for fit in line["fits"]]


def _truth(fit: Line) -> tuple[float, float, float]:
    second = fit["second_sample"]
    return fit["truth"], fit["truth_se"], np.nan if second is None else second


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
        unit = [_cell(results.units[name][u].item()) for name in UNITS]
        for m, method in enumerate(results.methods):
            values = [_cell(float(results.values[name][u, m])) for name in shown]
            yield [*unit, method, *values, failed.get((u, method), "")]


def _cell(value: Any) -> Any:
    return "" if value != value else value  # NaN is all that differs from itself


# ---- The tidy table: how far off, how well covered, how often a false alarm, how long.

POOLED = "pooled"
Groups = Iterator[tuple[dict[str, Any], npt.NDArray[np.bool_]]]

# What units have in common in each scope; the other keys are left empty.
SCOPES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("all", "data", ("labels",)),
    (POOLED, "data", ("labels", "n", "C")),
    ("set", "data", ("group", "labels", "n", "C")),
    ("all", "simulation", ("labels",)),
    (POOLED, "simulation", ("group", "labels")),
    ("cell", "simulation", ("cell", "group", "labels", "n", "p", "C")),
)


def summarize(results: Results) -> list[dict[str, Any]]:
    """One row per scope, group of units and method; None where a figure does not exist."""
    return [row for keys, mask in _groups(results) for row in _described(keys, results.where(mask))]


def _groups(results: Results) -> Groups:
    for scope, kind, names in SCOPES:
        of_kind = results.units["kind"] == kind
        columns = [results.units[name] for name in names]
        for values in sorted(set(zip(*(c[of_kind].tolist() for c in columns), strict=True))):
            same = [column == value for column, value in zip(columns, values, strict=True)]
            yield (
                {"scope": scope, "kind": kind, **dict(zip(names, values, strict=True))},
                of_kind & np.all(same, axis=0),
            )


def _described(keys: dict[str, Any], part: Results) -> list[dict[str, Any]]:
    return [{**keys, "method": name, **_figures(part, m)} for m, name in enumerate(part.methods)]


def _figures(part: Results, m: int) -> dict[str, Any]:
    errors, values = part.errors, part.values
    figures = {
        "units": int(np.sum(~np.isnan(errors[:, m]))),
        "mae": _mean(np.abs(errors[:, m])),
        "bias": _mean(errors[:, m]),
        **{f"coverage{100 * c:.0f}": _mean(part.covered(c)[:, m]) for c in LEVELS},
        **{f"adjusted{100 * c:.0f}": _mean(part.covered_noisy(c)[:, m]) for c in LEVELS},
        "width90": _mean(values["high90"][:, m] - values["low90"][:, m]),
        "false_alarms": _false_alarms(part, m),
        "seconds": _mean(values["seconds"][:, m]),
    }
    return {**figures, **_ratios(part, m), "sets_below_cv5": _sets_below(part, m, CV5)}


def _mean(values: Floats) -> float | None:
    present = values[~np.isnan(values)]
    return round(float(present.mean()), 6) if present.size else None


def _false_alarms(part: Results, m: int) -> float | None:
    """Share of units without signal where the 5 % quantile lies above 0.5."""
    low = part.values["low90"][:, m]
    low = low[(part.units["labels"] != "real") & ~np.isnan(low)]
    return _mean((low > 0.5).astype(np.float64))


def _ratios(part: Results, m: int) -> dict[str, float | None]:
    rivals = {f"ratio_{rival}": error_ratio(part, m, rival) for rival in (CV5, CV5X5)}
    return {**rivals, "ratio_second": _ratio_to_second_sample(part, m)}


def _ratio_to_second_sample(part: Results, m: int) -> float | None:
    """Pooled mean absolute error over that which a second labelled sample of the same size would have."""
    errors, second = np.abs(part.errors[:, m]), part.units["second_sample"]
    both = ~np.isnan(errors) & ~np.isnan(second)
    return round(float(errors[both].sum() / second[both].sum()), 6) if second[both].sum() > 0 else None


def error_ratio(part: Results, m: int, rival: str) -> float | None:
    """Pooled mean absolute error over that of a rival, on the units that both have."""
    ours, theirs = _paired(part, m, rival)
    return round(float(ours.sum() / theirs.sum()), 6) if theirs.sum() > 0 else None


def _paired(part: Results, m: int, rival: str) -> tuple[Floats, Floats]:
    if rival not in part.methods:
        return np.empty(0), np.empty(0)
    errors = np.abs(part.errors[:, [m, part.methods.index(rival)]])
    both = errors[~np.isnan(errors).any(axis=1)]
    return both[:, 0], both[:, 1]


def _sets_below(part: Results, m: int, rival: str) -> float | None:
    """Share of data sets (or simulated cells) on which the mean absolute error is below the rival's."""
    if rival not in part.methods or part.methods[m] == rival:
        return None
    names = part.units["group" if part.units["kind"][0] == "data" else "cell"]
    pairs = [_paired(part.where(names == name), m, rival) for name in np.unique(names)]
    return _mean(np.array([float(ours.sum() < theirs.sum()) for ours, theirs in pairs if ours.size]))
