"""`SearchDisplay`: the AUC of every candidate against a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless import words
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.results.classes import MulticlassAUCPosterior
from foldless.show import style
from foldless.words import listed

# ---- The table of a search as something that can be drawn: one parameter across, one line per setting of the others.

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


# ---- `SearchDisplay`: the posterior of the AUC against a parameter, with the candidate that was chosen.

MOST_LABELS = 8


class SearchDisplay:
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
        self.candidates = candidates
        self.quantity = quantity

    @classmethod
    def from_estimator(cls, search: Any, *, param: str | None = None, ax: Any = None, **kwargs: Any) -> SearchDisplay:
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
        found = candidates_of(search, param)
        several = isinstance(getattr(search, "best_posterior_", None), MulticlassAUCPosterior)
        return cls(found, "average AUC" if several else "AUC").plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, log: bool | None = None, **kwargs: Any) -> SearchDisplay:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        log : bool, optional
            Whether the parameter's axis is logarithmic; by default where its values span decades.
        **kwargs
            Passed to ``ax.plot`` for the line of the chosen candidate, such as ``color``.

        Returns
        -------
        SearchDisplay
            Itself, with the artists in its attributes.
        """
        found = self.candidates
        self.figure_, self.ax_ = style.axes_for(ax, 6.4, 4.2, found.notes)
        self._places = {} if found.numeric else {v: k for k, v in enumerate(dict.fromkeys(_texts(found)))}
        self.lines_: list[Any] = []
        for k, (others, rows) in enumerate(found.lines.items()):
            self._draw_line(k, others, rows, kwargs)
        self.line_ = self.lines_[0]
        chosen, top = found.at(found.chosen), min(found.rows, key=lambda row: row.rank)
        self.chosen_ = None if chosen is None else self._mark(chosen, "chosen", self.line_.get_color())
        other = None if chosen is None or top.rank == chosen.rank else top
        self.top_ = None if other is None else self._mark(other, "highest mean", "none")
        self._label(found.spans_decades if log is None else log)
        self.notes_ = style.write_notes(self.ax_, found.notes)
        return self

    def _x(self, rows: list[Candidate]) -> list[float]:
        if self.candidates.numeric:
            return [float(row.value) for row in rows]
        return [float(self._places[short(row.value)]) for row in rows]

    def _draw_line(self, k: int, others: str, rows: list[Candidate], line: dict[str, Any]) -> None:
        x, mean = self._x(rows), [row.mean for row in rows]
        label = others if k < MOST_LABELS else "_nolegend_"
        joined = "-" if self.candidates.numeric else ""
        how: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": joined, "label": label, "zorder": 3}
        if k > 0:
            self.lines_ += self.ax_.plot(x, mean, **{**how, "linewidth": 1, "alpha": 0.7, "zorder": 2})
            return
        (drawn,) = self.ax_.plot(x, mean, **{**how, "linewidth": 2, **line})
        self.lines_.append(drawn)
        low, high = [row.low for row in rows], [row.high for row in rows]
        if self.candidates.numeric and len(rows) > 1:
            self.band_ = self.ax_.fill_between(x, low, high, color=drawn.get_color(), alpha=style.BAND, linewidth=0)
        else:
            # One line with gaps, which the placing of the legend knows to avoid.
            gaps = np.repeat(x, 3), np.stack([low, high, np.full(len(x), np.nan)], axis=1).ravel()
            (self.band_,) = self.ax_.plot(*gaps, color=drawn.get_color(), alpha=0.4, linewidth=4, solid_capstyle="butt")

    def _mark(self, row: Candidate, what: str, face: Any) -> Any:
        """A large dot with its interval, described in the legend."""
        at, edge = self._x([row])[0], self.line_.get_color()
        settings = ", ".join(part for part in (f"{self.candidates.brief} = {short(row.value)}", row.others) if part)
        label = f"{what}: {settings}\n{self.quantity} {words.estimate(row.mean, row.low, row.high)}"
        if what == "chosen" and self.candidates.numeric:
            self.ax_.plot([at, at], [row.low, row.high], color=edge, linewidth=1.5, zorder=4)
        (mark,) = self.ax_.plot(
            at, row.mean, "o", markersize=10, color=edge, markerfacecolor=face, linestyle="none", label=label, zorder=5
        )
        return mark

    def _label(self, log: bool) -> None:
        if self.candidates.numeric:
            self.ax_.set_xscale("log" if log else "linear")
        else:
            self.ax_.set_xticks(list(self._places.values()), list(self._places))
            self.ax_.margins(x=0.2)
        level = "" if self.candidates.level is None else f"{words.percent(self.candidates.level)} "
        quantity = self.quantity[:1].upper() + self.quantity[1:]
        self.ax_.set(xlabel=self.candidates.param, ylabel=f"{quantity} on new data: mean and {level}interval")
        self.ax_.xaxis.label.set_parse_math(False)
        style.legend(self.ax_, loc="best")
        style.open_frame(self.ax_)


def _texts(found: Candidates) -> list[str]:
    return [short(row.value) for row in found.rows]
