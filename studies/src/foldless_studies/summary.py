"""From results to a tidy table: how far off, how well covered, how often a false alarm, how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless_studies.methods import CV5, CV5X5, LEVELS
from foldless_studies.results import Results
from foldless_studies.sample import Floats

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
    return {f"ratio_{rival}": error_ratio(part, m, rival) for rival in (CV5, CV5X5)}


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
