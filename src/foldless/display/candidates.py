"""The table of a search as something that can be drawn: one parameter across, one line per setting of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Floats, listed
from foldless.errors import InputError

FARTHEST = 1e100
DECADE = 10.0
COLUMNS = ("params", "mean", "lower", "upper", "rank")


@dataclass(frozen=True)
class Candidate:
    """One candidate: its value of the parameter across, its other settings, its AUC, and its place in the table."""

    value: Any
    others: str
    mean: float
    low: float
    high: float
    index: int
    rank: int


@dataclass(frozen=True)
class Candidates:
    """What `SearchDisplay` draws.

    `param` is the parameter across and `brief` its name without the step of the pipeline, for the legend;
    `chosen` is the index of the chosen candidate in the table of the search, `level` that of the intervals.
    """

    param: str
    brief: str
    rows: tuple[Candidate, ...]
    chosen: int
    notes: tuple[str, ...] = ()
    level: float | None = None

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers that an axis can hold; others, such as names, stand side by side."""
        return all(_fits_an_axis(row.value) for row in self.rows)

    @property
    def spans_decades(self) -> bool:
        """Whether a logarithmic axis spaces the values more evenly than a linear one."""
        if not self.numeric:
            return False
        x = np.unique([float(row.value) for row in self.rows])
        if x[0] <= 0 or x[-1] < DECADE * x[0]:
            return False
        return x.size < 3 or _unevenness(np.log(x)) < _unevenness(x)

    @property
    def lines(self) -> dict[str, list[Candidate]]:
        """The candidates by their other settings, those of the chosen one first."""
        order = sorted(self.rows, key=lambda row: row.value) if self.numeric else list(self.rows)
        found: dict[str, list[Candidate]] = {}
        for row in order:
            found.setdefault(row.others, []).append(row)
        mine = next((row.others for row in self.rows if row.index == self.chosen), None)
        return dict(sorted(found.items(), key=lambda item: item[0] != mine))

    def at(self, index: int) -> Candidate | None:
        """The candidate at a place of the table, None if it is not drawn."""
        return next((row for row in self.rows if row.index == index), None)


def _fits_an_axis(value: Any) -> bool:
    """Whether it is a number; one with margins of several decades around it that do not overflow either."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return bool(value == 0 or FARTHEST**-1 <= abs(float(value)) <= FARTHEST)


def _unevenness(x: Floats) -> float:
    gaps = np.diff(x)
    return float(np.std(gaps) / np.mean(gaps))


def candidates_of(search: Any, param: str | None = None) -> Candidates:
    """The candidates of a fitted search along one parameter."""
    table = _table(search)
    params = [dict(each) for each in table["params"]]
    across = _across(params, param)
    chosen = int(search.best_index_)
    drawn = [k for k, each in enumerate(params) if across in each and np.isfinite(float(table["mean"][k]))]
    if not drawn:
        raise InputError(f"no candidate with {across} has a posterior: there is nothing to draw.")
    brief = _brief_names(params)
    varying = [name for name in _varying(params) if name != across]
    rows = tuple(
        Candidate(
            params[k][across],
            ", ".join(f"{brief[name]} = {short(params[k][name])}" for name in varying if name in params[k]),
            float(table["mean"][k]),
            float(table["lower"][k]),
            float(table["upper"][k]),
            k,
            int(table["rank"][k]),
        )
        for k in drawn
    )
    judged = getattr(getattr(search, "best_posterior_", None), "notes", ())
    return Candidates(
        across,
        brief[across],
        rows,
        chosen,
        (*_notes(params, across, table, chosen), *judged),
        getattr(search, "level", None),
    )


def _table(search: Any) -> Mapping[str, Any]:
    name = type(search).__name__
    table = getattr(search, "results_", None)
    if table is None and hasattr(search, "param_grid") and not hasattr(search, "cv_results_"):
        raise InputError(f"this {name} is not fitted: call fit(X, y) first.")
    if table is None or not all(column in table for column in COLUMNS) or not hasattr(search, "best_index_"):
        raise InputError(f"expected a fitted FoldlessSearch, got {name}: pass FoldlessSearch(...).fit(X, y).")
    return dict(table)


def _brief_names(params: list[dict[str, Any]]) -> dict[str, str]:
    """The last part of each name, or the whole where two would look alike."""
    names = list(dict.fromkeys(name for each in params for name in each))
    last = [name.split("__")[-1] for name in names]
    return {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}


def _varying(params: list[dict[str, Any]]) -> list[str]:
    """Names of the parameters that differ between candidates, in the order of their first appearance."""
    names = dict.fromkeys(name for each in params for name in each)
    return [name for name in names if len({short(each[name]) if name in each else None for each in params}) > 1]


def _across(params: list[dict[str, Any]], param: str | None) -> str:
    """The parameter to draw along: the one asked for, else the one with the most values."""
    names = list(dict.fromkeys(name for each in params for name in each))
    if param is not None:
        # In a pipeline the parameter is step__C; its last part will do where only one has it.
        matches = [name for name in names if name == param] or [n for n in names if n.split("__")[-1] == param]
        if len(matches) != 1:
            raise InputError(f"param {param!r} is not one parameter of the search: choose among {listed(names)}.")
        return matches[0]
    if not names:
        raise InputError("the search varied no parameter: there is nothing to draw along.")
    counts = {name: len({short(each[name]) for each in params if name in each}) for name in names}
    return max(names, key=lambda name: counts[name])


def _notes(params: list[dict[str, Any]], across: str, table: Mapping[str, Any], chosen: int) -> tuple[str, ...]:
    without = [k for k, each in enumerate(params) if across not in each]
    failed = int(np.count_nonzero(~np.isfinite(np.asarray(table["mean"], dtype=np.float64))))
    notes = []
    if without:
        extra = ", the chosen one among them" if chosen in without else ""
        notes.append(f"{len(without)} of {len(params)} candidates have no {across} and are not drawn{extra}.")
    if failed:
        notes.append(f"{failed} of {len(params)} candidates have no posterior and are not drawn.")
    return tuple(notes)


def short(value: Any) -> str:
    """A value of a parameter as text: numbers briefly, estimators by their class."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = type(value).__name__ if hasattr(value, "get_params") else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
