"""`SearchDisplay`: the posterior of the AUC against a parameter, with the candidate that was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._html import numbers
from foldless.display import style
from foldless.display.candidates import Candidate, Candidates, candidates_of, short
from foldless.multiclass import MulticlassAUCPosterior

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
        label = f"{what}: {settings}\n{self.quantity} {numbers.estimate(row.mean, row.low, row.high)}"
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
        level = "" if self.candidates.level is None else f"{numbers.percent(self.candidates.level)} "
        quantity = self.quantity[:1].upper() + self.quantity[1:]
        self.ax_.set(xlabel=self.candidates.param, ylabel=f"{quantity} on new data: mean and {level}interval")
        self.ax_.xaxis.label.set_parse_math(False)
        style.legend(self.ax_, loc="best")
        style.open_frame(self.ax_)


def _texts(found: Candidates) -> list[str]:
    return [short(row.value) for row in found.rows]
