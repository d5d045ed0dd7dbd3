"""From trials to a tidy table and a summary: how far off, how spread, how biased, how well covered, how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless_studies.pages import csv_text
from foldless_studies.paper.cells import PaperCell
from foldless_studies.paper.items import Item
from foldless_studies.sampling import Floats, Task

LEVELS = (0.5, 0.9)
SEPARATED = "the test set was separated: its noise, and so the coverage, is unknown there"


@dataclass(frozen=True)
class Result:
    """A finished trial: one iteration of a cell."""

    trial: Task[PaperCell]
    line: dict[str, Any]


def gather(trials: Sequence[Task[PaperCell]], lines: Iterable[dict[str, Any]]) -> list[Result]:
    """Results in the order of cells and iterations, whatever the order in which they were finished."""
    by_key = {line["task"]: line for line in lines}
    cells = {cell: k for k, cell in enumerate(dict.fromkeys(t.cell.name for t in trials))}
    ordered = sorted(trials, key=lambda t: (cells[t.cell.name], t.replicate))
    return [Result(t, by_key[t.key]) for t in ordered if t.key in by_key]


def as_csv(item: Item, results: list[Result]) -> str:
    """A line per trial and estimator. Times are left out: they are in tasks.jsonl and differ from run to run."""
    return csv_text(_lines(item, results))


def _lines(item: Item, results: list[Result]) -> Iterator[list[Any]]:
    where = [key for key, _ in results[0].trial.cell.where] if results else []
    yield ["item", *where, "iteration", "n0", "n1", "truth", "truth_se", "estimator", "estimate", "rank", "failed"]
    for result in results:
        line = result.line
        unit = [item.name, *(value for _, value in result.trial.cell.where), result.trial.replicate]
        unit += [line[key] for key in ("n0", "n1", "truth", "truth_se")]
        # An item without estimators has a line for the truth.
        answers: dict[str, dict[str, Any]] = line["answers"] or {"": {}}
        for name, answer in answers.items():
            yield [*unit, name, *(_blank(answer.get(key)) for key in ("estimate", "rank", "failed"))]


def _blank(value: Any) -> Any:
    return "" if value is None else value


def summarize(item: Item, results: list[Result]) -> dict[str, Any]:
    """Truths by cell, figures by cell and estimator, and seconds by estimator."""
    cells: dict[str, list[Result]] = {}
    for result in results:
        cells.setdefault(result.trial.cell.name, []).append(result)
    truths = [_truth(part) for part in cells.values()]
    table = [_figures(part, name) for part in cells.values() for name in item.estimators]
    return {
        "trials": len(results),
        "truths": truths,
        "table": table,
        "seconds": {"fit": _median([r.line["fit_seconds"] for r in results]), **_seconds(item, results)},
        "missing": {n: sum(row["missing"] for row in table if row["estimator"] == n) for n in item.estimators},
        "notes": [SEPARATED] if any(t["separated"] for t in truths) else [],
    }


def _truth(part: list[Result]) -> dict[str, Any]:
    cell = part[0].trial.cell
    truth = np.array([r.line["truth"] for r in part])
    separated = sum(r.line["truth_se"] == 0 for r in part) if cell.held_out else 0
    return {
        **dict(cell.where),
        "n0": part[0].line["n0"],
        "n1": part[0].line["n1"],
        "iterations": len(part),
        "truth": _mean(truth),
        "truth_se": _standard_error(truth),
        "bayes": None if cell.bayes is None else round(cell.bayes, 6),
        "separated": separated,
    }


def _figures(part: list[Result], name: str) -> dict[str, Any]:
    given = [r for r in part if "failed" not in r.line["answers"][name]]
    answers = [r.line["answers"][name] for r in given]
    estimate = np.array([a["estimate"] for a in answers])
    error = estimate - np.array([r.line["truth"] for r in given])
    ranks = np.array([a["rank"] for a in answers if a["rank"] is not None])
    return {
        **dict(part[0].trial.cell.where),
        "estimator": name,
        "units": len(given),
        "missing": len(part) - len(given),
        "mean": _mean(estimate),
        "mae": _mean(np.abs(error)),
        "mae_se": _standard_error(np.abs(error)),
        "sd": round(float(error.std(ddof=1)), 6) if error.size > 1 else None,
        "bias": _mean(error),
        **{f"coverage{100 * c:.0f}": _mean((np.abs(ranks - 0.5) <= c / 2).astype(float)) for c in LEVELS},
        "coverage_units": int(ranks.size),
        "seconds": _median([a["seconds"] for a in answers]),
    }


def _seconds(item: Item, results: list[Result]) -> dict[str, float | None]:
    answers = {name: [r.line["answers"][name] for r in results] for name in item.estimators}
    return {name: _median([a["seconds"] for a in found if "seconds" in a]) for name, found in answers.items()}


# ---- What findings and pages read off the table.


def by_panel(item: Item, summary: dict[str, Any]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The rows of each panel, with what the panel stands for."""
    keys = [key for key in (item.down, item.across) if key]
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in summary["table"]:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return [(dict(zip(keys, where, strict=True)), rows) for where, rows in found.items()]


def average(rows: list[dict[str, Any]], quantity: str) -> float | None:
    """Mean over the points that have a value."""
    values = [row[quantity] for row in rows if row[quantity] is not None]
    return float(np.mean(values)) if values else None


def pooled_coverage(rows: list[dict[str, Any]]) -> float | None:
    """Coverage of 90 % intervals over all trials of these points."""
    pairs = [(r["coverage90"], r["coverage_units"]) for r in rows if r["coverage90"] is not None]
    total = sum(units for _, units in pairs)
    return sum(value * units for value, units in pairs) / total if total else None


# ---- Rounded figures.


def _mean(values: Sequence[float] | Floats) -> float | None:
    return round(float(np.mean(values)), 6) if len(values) else None


def _median(values: Sequence[float]) -> float | None:
    # Not the mean: the first call in a process imports what it needs.
    return round(float(np.median(values)), 6) if len(values) else None


def _standard_error(values: Floats) -> float | None:
    return round(float(values.std(ddof=1) / np.sqrt(values.size)), 6) if values.size > 1 else None
