"""`LearningCurveDisplay`: the AUC to expect from more rows, with what is known about it today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldless.display import style
from foldless.display.models import warned_once
from foldless.errors import InputError
from foldless.plan.learning import LearningCurve, learning_curve

LEVEL = 0.95
MARGIN = 1.12


class LearningCurveDisplay:
    """A learning curve, drawn: mean and interval of the AUC against the number of training rows.

    Make it with `from_estimator` or `from_curve`; the constructor takes the numbers themselves. The band is what is
    known today; the short bars at the points are as long as the interval of `auc_posterior` will be with so many rows.

    Parameters
    ----------
    rows : sequence of int
    mean, low, high : sequences of float
    half_widths : sequence of float
    level : float
    notes : tuple of str

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, band_, bars_, chance_level_ : artists
    notes_ : text under the axes, or None

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:60, :10], y[:60]
    >>> display = fl.LearningCurveDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y)
    >>> display.line_.get_xdata().tolist()
    [60, 120, 300]
    """

    def __init__(
        self,
        rows: Sequence[int],
        mean: Sequence[float],
        low: Sequence[float],
        high: Sequence[float],
        half_widths: Sequence[float],
        level: float = LEVEL,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.rows = tuple(rows)
        self.mean, self.low, self.high = tuple(mean), tuple(low), tuple(high)
        self.half_widths = tuple(half_widths)
        self.level = level
        self.notes = tuple(notes)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, level: float = LEVEL, ax: Any = None, **kwargs: Any
    ) -> LearningCurveDisplay:
        """Compute and draw the learning curve of a fitted classifier.

        Parameters
        ----------
        estimator, X, y
            As in `learning_curve`.
        level : float
            Level of the band.
        ax : matplotlib axes, optional
        **kwargs
            Passed to `learning_curve`: factors, prior, groups, sample_weight, pos_label.
        """
        with warned_once():
            curve = learning_curve(estimator, X, y, **kwargs)
        return cls.from_curve(curve, level=level, ax=ax)

    @classmethod
    def from_curve(cls, curve: Any, *, level: float = LEVEL, ax: Any = None, **kwargs: Any) -> LearningCurveDisplay:
        """Draw a curve that is there already; `ax` and the rest as in `plot`."""
        if not isinstance(curve, LearningCurve):
            raise InputError(
                f"expected a LearningCurve, got {type(curve).__name__}: compute it with foldless.learning_curve."
            )
        points = curve.summary(level)["points"]
        mean, low, high = ([p[name] for p in points] for name in ("auc", "low", "high"))
        return cls(curve.rows, mean, low, high, curve.half_widths, level, curve.notes).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> LearningCurveDisplay:
        """Draw on the given axes, or on new ones; further arguments go to ``ax.plot`` for the line.

        Returns
        -------
        LearningCurveDisplay
            Itself, with the artists in its attributes.
        """
        self.figure_, self.ax_ = style.axes_for(ax, 6.0, 3.8, self.notes)
        level = f"{100 * self.level:.10g} %"
        look = {"color": "C0", "marker": "o", "markeredgecolor": "white", "label": "AUC to expect", **kwargs}
        (self.line_,) = self.ax_.plot(self.rows, self.mean, zorder=4, **look)
        colour = self.line_.get_color()
        self.band_ = self.ax_.fill_between(
            self.rows,
            self.low,
            self.high,
            color=colour,
            alpha=style.BAND,
            linewidth=0,
            label=f"{level} interval, today",
        )
        self.bars_ = self.ax_.errorbar(
            self.rows,
            self.mean,
            yerr=self._bars(),
            fmt="none",
            ecolor=colour,
            elinewidth=1.5,
            capsize=4,
            zorder=3,
            label="95 % interval with so many rows",
        )
        self._label()
        self.notes_ = style.write_notes(self.ax_, self.notes)
        return self

    def _bars(self) -> list[list[float]]:
        """Lengths below and above the mean; no AUC exceeds 1."""
        above = [min(h, 1 - m) for m, h in zip(self.mean, self.half_widths, strict=True)]
        return [list(self.half_widths), above]

    def _label(self) -> None:
        edges = (self.rows[0] / MARGIN, self.rows[-1] * MARGIN)
        self.chance_level_ = style.chance_line(self.ax_, edges, (0.5, 0.5))
        self.ax_.set_xscale("log")
        self.ax_.set_xticks(self.rows, [f"{n:,}" for n in self.rows])
        self.ax_.set_xticks([], minor=True)
        lowest = min(0.5, *self.low, *(m - h for m, h in zip(self.mean, self.half_widths, strict=True)))
        self.ax_.set(xlim=edges, ylim=(max(0.0, lowest - 0.03), 1.01), xlabel="training rows", ylabel="AUC on new data")
        style.legend(self.ax_, loc="lower right")
        style.open_frame(self.ax_)
