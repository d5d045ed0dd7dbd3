"""`SearchDisplay`: the AUC of every candidate against a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from foldless import words
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.results.classes import MulticlassAUCPosterior
from foldless.show import style

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
        lines: dict[str, list[Candidate]] = {}
        for row in order:
            lines.setdefault(row.others, []).append(row)
        chosen = self.at(self.chosen)
        return dict(sorted(lines.items(), key=lambda item: chosen is None or item[0] != chosen.others))

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
    names = list(dict.fromkeys(name for each in params for name in each))
    across, brief = _across(names, params, param), _brief_names(names)
    chosen = int(search.best_index_)
    varying = [name for name in names if name != across and len(_values(name, params)) > 1]

    def candidate(k: int) -> Candidate:
        others = ", ".join(f"{brief[name]} = {short(params[k][name])}" for name in varying if name in params[k])
        mean, low, high = (float(table[column][k]) for column in ("mean", "lower", "upper"))
        return Candidate(params[k][across], others, mean, low, high, k, int(table["rank"][k]))

    judged = np.isfinite(np.asarray(table["mean"], dtype=np.float64))
    rows = tuple(candidate(k) for k, each in enumerate(params) if across in each and judged[k])
    if not rows:
        raise InputError(f"no candidate with {across} has a posterior: there is nothing to draw.")
    own = getattr(getattr(search, "best_posterior_", None), "notes", ())
    notes = (*_not_drawn(params, across, chosen, failed=int(np.count_nonzero(~judged))), *own)
    return Candidates(across, brief[across], rows, chosen, notes, getattr(search, "level", None))


def _table(search: Any) -> Mapping[str, Any]:
    name = type(search).__name__
    table = getattr(search, "results_", None)
    if table is None and hasattr(search, "param_grid") and not hasattr(search, "cv_results_"):
        raise InputError(f"this {name} is not fitted: call fit(X, y) first.")
    if table is None or not all(column in table for column in COLUMNS) or not hasattr(search, "best_index_"):
        raise InputError(f"expected a fitted FoldlessSearch, got {name}: pass FoldlessSearch(...).fit(X, y).")
    return dict(table)


def _brief_names(names: list[str]) -> dict[str, str]:
    """The last part of each name, or the whole where two would look alike."""
    last = [name.split("__")[-1] for name in names]
    return {name: end if last.count(end) == 1 else name for name, end in zip(names, last, strict=True)}


def _values(name: str, params: list[dict[str, Any]]) -> set[str | None]:
    """The values of a parameter among the candidates; None stands for candidates without it."""
    return {short(each[name]) if name in each else None for each in params}


def _across(names: list[str], params: list[dict[str, Any]], param: str | None) -> str:
    """The parameter to draw along: the one asked for, else the one with the most values."""
    if param is not None:
        # In a pipeline the parameter is step__C; its last part will do where only one has it.
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
    """A value of a parameter as text: numbers briefly, estimators by their class."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = type(value).__name__ if hasattr(value, "get_params") else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."


MOST_LABELS = 8


class SearchDisplay(style.Display):
    """A `FoldlessSearch`, drawn: mean and interval of the AUC of every candidate, and the chosen one.

    Make it with `from_estimator`; the constructor takes the numbers themselves. One parameter goes across;
    candidates with the same other settings are joined by a line, and the line of the chosen one has a band.

    Parameters
    ----------
    candidates : Candidates
    quantity : str
        What is drawn, for the axis; "average AUC" where there are more than two classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : list of lines, that of the chosen candidate first
    line_ : the first of `lines_`
    band_ : the intervals around it: an area, or bars where the values are not numbers
    chosen_ : mark of the chosen candidate, or None where it is not drawn
    top_ : mark of the candidate of rank 1 where that is another one, or None
    notes_ : text under the axes, or None

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> grid = {"logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0]}
    >>> search = fl.FoldlessSearch(model, grid).fit(X[:60, :10], y[:60])
    >>> display = fl.SearchDisplay.from_estimator(search)
    >>> display.ax_.get_xlabel(), display.ax_.get_xscale()
    ('logisticregression__C', 'log')
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
            The parameter to draw along; by default the one with the most values. ``"C"`` also finds
            ``"logisticregression__C"``.
        ax, **kwargs
            As in `plot`.
        """
        several = isinstance(getattr(search, "best_posterior_", None), MulticlassAUCPosterior)
        return cls(candidates_of(search, param), "average AUC" if several else "AUC").plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, log: bool | None = None, **kwargs: Any) -> Self:
        """Draw on the given axes, or on new ones, and return the display with the artists in its attributes.

        Parameters
        ----------
        ax : matplotlib axes, optional
        log : bool, optional
            Whether the parameter's axis is logarithmic; by default where its values span decades.
        **kwargs
            Passed to ``ax.plot`` for the line of the chosen candidate, such as ``color``.
        """
        candidates = self.candidates
        first, *others = candidates.lines.items()
        with self._axes(ax, 6.4, 4.2):
            self.lines_ = [self._draw_chosen_line(*first, kwargs)]
            self.lines_ += [self._draw_line(*line, labelled=k < MOST_LABELS) for k, line in enumerate(others, 1)]
            self.line_ = self.lines_[0]
            chosen, top = candidates.at(candidates.chosen), min(candidates.rows, key=lambda row: row.rank)
            self.chosen_ = None if chosen is None else self._mark(chosen, "chosen", self.line_.get_color())
            same = chosen is None or top.rank == chosen.rank
            self.top_ = None if same else self._mark(top, "highest mean", "none")
            self._label(candidates.spans_decades if log is None else log)
        return self

    @property
    def _places(self) -> dict[str, int]:
        """Where values that are not numbers stand on the axis, side by side."""
        return {text: k for k, text in enumerate(dict.fromkeys(short(row.value) for row in self.candidates.rows))}

    def _x(self, rows: list[Candidate]) -> list[float]:
        if self.candidates.numeric:
            return [float(row.value) for row in rows]
        places = self._places
        return [float(places[short(row.value)]) for row in rows]

    def _draw_line(self, label: str, rows: list[Candidate], *, labelled: bool = True, **look: Any) -> Any:
        joined = "-" if self.candidates.numeric else ""
        label = label if labelled else "_nolegend_"
        usual = {"marker": "o", "markersize": 4, "linestyle": joined, "linewidth": 1, "alpha": 0.7, "zorder": 2}
        return self.ax_.plot(self._x(rows), [row.mean for row in rows], **{"label": label, **usual, **look})[0]

    def _draw_chosen_line(self, label: str, rows: list[Candidate], look: dict[str, Any]) -> Any:
        """The line of the chosen candidate, with its intervals."""
        line = self._draw_line(label, rows, **{"linewidth": 2, "alpha": None, "zorder": 3, **look})
        x, low, high = self._x(rows), [row.low for row in rows], [row.high for row in rows]
        colour = line.get_color()
        if self.candidates.numeric and len(rows) > 1:
            self.band_ = self.ax_.fill_between(x, low, high, color=colour, alpha=style.BAND, linewidth=0)
        else:
            # One line with gaps, which the placing of the legend knows to avoid.
            gaps = np.repeat(x, 3), np.stack([low, high, np.full(len(x), np.nan)], axis=1).ravel()
            (self.band_,) = self.ax_.plot(*gaps, color=colour, alpha=0.4, linewidth=4, solid_capstyle="butt")
        return line

    def _mark(self, row: Candidate, what: str, face: Any) -> Any:
        """A large dot with its interval, described in the legend."""
        at, edge = self._x([row])[0], self.line_.get_color()
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
            ax.set_xticks(list(self._places.values()), list(self._places))
            ax.margins(x=0.2)
        level = "" if self.candidates.level is None else f"{words.percent(self.candidates.level)} "
        quantity = style.capital(self.quantity)
        ax.set(xlabel=self.candidates.param, ylabel=f"{quantity} on new data: mean and {level}interval")
        style.without_formulas([ax.xaxis.label])
        style.legend(ax, loc="best")
        style.open_frame(ax)
