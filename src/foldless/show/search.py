"""`SearchDisplay`: the AUC of every candidate against a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from foldless import words
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.results.classes import MulticlassAUCPosterior
from foldless.show import style

LARGEST = 1e100
DECADE = 10.0
COLUMNS = ("params", "mean", "lower", "upper", "rank")


@dataclass(frozen=True)
class Candidate:
    """One candidate: its value of the parameter on the axis, its other settings, its AUC and its rank."""

    value: Any
    others: str
    mean: float
    low: float
    high: float
    rank: int


@dataclass(frozen=True)
class Candidates:
    """What `SearchDisplay` draws.

    `param` is the parameter on the axis and `brief` its name without the pipeline step, for the legend; `chosen` is
    the chosen candidate, None if it is not drawn.
    """

    param: str
    brief: str
    rows: tuple[Candidate, ...]
    chosen: Candidate | None
    notes: tuple[str, ...] = ()
    level: float | None = None

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers that fit on an axis; others, such as names, are placed side by side."""
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
        """The candidates grouped by their other settings, the group of the chosen one first."""
        order = sorted(self.rows, key=lambda row: row.value) if self.numeric else list(self.rows)
        lines: dict[str, list[Candidate]] = {}
        for row in order:
            lines.setdefault(row.others, []).append(row)
        return dict(sorted(lines.items(), key=lambda item: self.chosen is None or item[0] != self.chosen.others))

    def positions(self, rows: Iterable[Candidate]) -> list[float]:
        """Where candidates are on the axis."""
        if self.numeric:
            return [float(row.value) for row in rows]
        names = self.names
        return [float(names.index(short(row.value))) for row in rows]

    @property
    def names(self) -> list[str]:
        """The distinct values as text, in the order of the axis if they are not numbers."""
        return list(dict.fromkeys(short(row.value) for row in self.rows))


def _fits_an_axis(value: Any) -> bool:
    """Whether it is a number, and not so large or small that the margins of the axis would overflow."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return bool(value == 0 or LARGEST**-1 <= abs(float(value)) <= LARGEST)


def _unevenness(x: Floats) -> float:
    gaps = np.diff(x)
    return float(np.std(gaps) / np.mean(gaps))


def candidates_of(search: Any, param: str | None = None) -> Candidates:
    """The candidates of a fitted search along one parameter."""
    table = _table(search)
    params = [dict(each) for each in table["params"]]
    names = list(dict.fromkeys(name for each in params for name in each))
    across, brief = _across(names, params, param), _brief_names(names)
    chosen = int(search.best_index_)
    varying = [name for name in names if name != across and len(_values(name, params)) > 1]

    def candidate(k: int) -> Candidate:
        others = ", ".join(f"{brief[name]} = {short(params[k][name])}" for name in varying if name in params[k])
        mean, low, high = (float(table[column][k]) for column in ("mean", "lower", "upper"))
        return Candidate(params[k][across], others, mean, low, high, int(table["rank"][k]))

    judged = np.isfinite(np.asarray(table["mean"], dtype=np.float64))
    rows = {k: candidate(k) for k, each in enumerate(params) if across in each and judged[k]}
    if not rows:
        raise InputError(f"no candidate with {across} has a posterior: there is nothing to draw.")
    own = getattr(getattr(search, "best_posterior_", None), "notes", ())
    notes = (*_not_drawn(params, across, chosen, failed=int(np.count_nonzero(~judged))), *own)
    level = getattr(search, "level", None)
    return Candidates(across, brief[across], tuple(rows.values()), rows.get(chosen), notes, level)


def _table(search: Any) -> Mapping[str, Any]:
    name = type(search).__name__
    table = getattr(search, "results_", None)
    if table is None and hasattr(search, "param_grid") and not hasattr(search, "cv_results_"):
        raise InputError(f"this {name} is not fitted: call fit(X, y) first.")
    if table is None or not all(column in table for column in COLUMNS) or not hasattr(search, "best_index_"):
        raise InputError(f"expected a fitted FoldlessSearch, got {name}: pass FoldlessSearch(...).fit(X, y).")
    return dict(table)


def _brief_names(names: list[str]) -> dict[str, str]:
    """The last part of each name, or the whole name where two share their last part."""
    last = [name.split("__")[-1] for name in names]
    return {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}


def _values(name: str, params: list[dict[str, Any]]) -> set[str | None]:
    """The values of a parameter among the candidates; None for candidates without it."""
    return {short(each[name]) if name in each else None for each in params}


def _across(names: list[str], params: list[dict[str, Any]], param: str | None) -> str:
    """The parameter for the axis: the one asked for, else the one with the most values."""
    if param is not None:
        # In a pipeline the parameter is step__C; its last part is enough if only one parameter has it.
        matches = [name for name in names if name == param] or [n for n in names if n.split("__")[-1] == param]
        if len(matches) != 1:
            raise InputError(f"param {param!r} is not one parameter of the search: choose among {words.listed(names)}.")
        return matches[0]
    if not names:
        raise InputError("the search varied no parameter: there is nothing to draw along.")
    return max(names, key=lambda name: len(_values(name, params) - {None}))


def _not_drawn(params: list[dict[str, Any]], across: str, chosen: int, failed: int) -> list[str]:
    """How many candidates are not in the picture, and why."""
    without = [k for k, each in enumerate(params) if across not in each]
    notes = []
    if without:
        extra = ", the chosen one among them" if chosen in without else ""
        notes.append(f"{len(without)} of {len(params)} candidates have no {across} and are not drawn{extra}.")
    if failed:
        notes.append(f"{failed} of {len(params)} candidates have no posterior and are not drawn.")
    return notes


def short(value: Any) -> str:
    """A parameter value as text: numbers with four digits, estimators by their class."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = type(value).__name__ if hasattr(value, "get_params") else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."


MOST_LABELS = 8


class SearchDisplay(style.Display):
    """A `FoldlessSearch`, drawn: mean and interval of the AUC of every candidate, and the chosen one.

    Make it with `from_estimator`; the constructor takes the numbers themselves. One parameter is on the x axis;
    candidates with the same other settings are joined by a line, and the line of the chosen one has a band.

    Parameters
    ----------
    candidates : Candidates
    quantity : str
        What is drawn, for the axis label; "average AUC" with more than two classes.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    lines_ : list of lines, that of the chosen candidate first
    line_ : the first of `lines_`
    band_ : the intervals around it: an area, or bars where the values are not numbers
    chosen_ : mark of the chosen candidate, or None where it is not drawn
    top_ : mark of the candidate of rank 1 where that is another one, or None

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": [0.01, 0.1, 1.0, 10.0]}).fit(X, y == 1)
    >>> display = fl.SearchDisplay.from_estimator(search)
    >>> display.ax_.get_xlabel(), display.ax_.get_xscale()
    ('alpha', 'log')
    """

    def __init__(self, candidates: Candidates, quantity: str = "AUC") -> None:
        self.candidates, self.quantity, self.notes = candidates, quantity, candidates.notes

    @classmethod
    def from_estimator(cls, search: Any, *, param: str | None = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a fitted search; nothing is computed again.

        Parameters
        ----------
        search : fitted FoldlessSearch
        param : str, optional
            The parameter on the x axis; by default the one with the most values. ``"C"`` also finds
            ``"logisticregression__C"``.
        ax, **kwargs
            As in `plot`.
        """
        several = isinstance(getattr(search, "best_posterior_", None), MulticlassAUCPosterior)
        return cls(candidates_of(search, param), "average AUC" if several else "AUC").plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, log: bool | None = None, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes; the x axis is logarithmic if `log`, by default where the values span decades.

        `kwargs` are passed to ``ax.plot`` for the line of the chosen candidate, such as ``color``. Returns the display.
        """
        candidates, chosen = self.candidates, self.candidates.chosen
        (label, rows), *others = candidates.lines.items()
        with self._axes(ax, 6.4, 4.2):
            self.line_ = self._draw_line(label, rows, **{"linewidth": 2, "alpha": None, "zorder": 3, **kwargs})
            self.band_ = self._draw_intervals(rows)
            self.lines_ = [self.line_]
            for k, (label, rows) in enumerate(others, 1):
                self.lines_.append(self._draw_line(label if k < MOST_LABELS else "_nolegend_", rows))
            self.chosen_ = None if chosen is None else self._mark(chosen, "chosen", self.line_.get_color())
            top = min(candidates.rows, key=lambda row: row.rank)
            same = chosen is None or top.rank == chosen.rank
            self.top_ = None if same else self._mark(top, "highest mean", "none")
            self._label(candidates.spans_decades if log is None else log)
        return self

    def _draw_line(self, label: str, rows: list[Candidate], **look: Any) -> Any:
        joined = "-" if self.candidates.numeric else ""
        usual = {"marker": "o", "markersize": 4, "linestyle": joined, "linewidth": 1, "alpha": 0.7, "zorder": 2}
        x, mean = self.candidates.positions(rows), [row.mean for row in rows]
        return self.ax_.plot(x, mean, **{"label": label, **usual, **look})[0]

    def _draw_intervals(self, rows: list[Candidate]) -> Any:
        """The intervals along the line of the chosen candidate."""
        x, low, high = self.candidates.positions(rows), [row.low for row in rows], [row.high for row in rows]
        colour = self.line_.get_color()
        if self.candidates.numeric and len(rows) > 1:
            return self.ax_.fill_between(x, low, high, color=colour, alpha=style.BAND, linewidth=0)
        # One line with gaps, which the placement of the legend can avoid.
        gaps = np.repeat(x, 3), np.stack([low, high, np.full(len(x), np.nan)], axis=1).ravel()
        return self.ax_.plot(*gaps, color=colour, alpha=0.4, linewidth=4, solid_capstyle="butt")[0]

    def _mark(self, row: Candidate, what: str, face: Any) -> Any:
        """A large dot with its interval, described in the legend."""
        (at,), edge = self.candidates.positions([row]), self.line_.get_color()
        settings = ", ".join(part for part in (f"{self.candidates.brief} = {short(row.value)}", row.others) if part)
        label = f"{what}: {settings}\n{self.quantity} {words.estimate(row.mean, row.low, row.high)}"
        if what == "chosen" and self.candidates.numeric:
            self.ax_.plot([at, at], [row.low, row.high], color=edge, linewidth=1.5, zorder=4)
        look = {"markersize": 10, "color": edge, "markerfacecolor": face, "linestyle": "none", "zorder": 5}
        (mark,) = self.ax_.plot(at, row.mean, "o", label=label, **look)
        return mark

    def _label(self, log: bool) -> None:
        ax = self.ax_
        if self.candidates.numeric:
            ax.set_xscale("log" if log else "linear")
        else:
            ax.set_xticks(range(len(self.candidates.names)), self.candidates.names)
            ax.margins(x=0.2)
        level = "" if self.candidates.level is None else f"{words.percent(self.candidates.level)} "
        quantity = style.capital(self.quantity)
        ax.set(xlabel=self.candidates.param, ylabel=f"{quantity} on new data: mean and {level}interval")
        style.without_formulas([ax.xaxis.label])
        style.legend(ax, loc="best")
        style.open_frame(ax)
