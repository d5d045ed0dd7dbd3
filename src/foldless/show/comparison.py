"""`ComparisonDisplay` and `LearningCurveDisplay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from foldless import words
from foldless.cards.drawing import MARGIN, TAIL, DensityCurve, density_curve
from foldless.comparison.answers import Comparison, compare
from foldless.plan.learning import LearningCurve, learning_curve
from foldless.show import style

NARROWEST_DIFFERENCE, DIFFERENCE_BINS = 0.01, 201
A_BETTER, EQUAL, B_BETTER = "C0", style.FAINT, "C1"
GREY, BLACK = "#57606a", "#24292f"


@dataclass(repr=False, eq=False)
class ComparisonDisplay(style.Display):
    """A `Comparison`, drawn: the density of the difference in three colours, its mean and its interval.

    Make it with `from_estimators` or `from_comparison`; the constructor takes the numbers themselves. To the right
    of the rope the first model is better, to the left the second; the shares of the area are the three probabilities.

    Parameters
    ----------
    curve : DensityCurve
        Density of AUC_a - AUC_b.
    rope : float
    shares : (float, float, float)
        Probabilities that a is better, that both are equal within the rope, and that b is better.
    names : (str, str)
    notes : tuple of str
        Written under the axes.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    line_, interval_, point_ : the density, the bar of the interval, the dot at the mean
    fills_ : the areas of b better, equal and a better, from left to right; empty areas are left out
    rope_ : lines at the ends of the rope; one line at 0 without a rope
    labels_ : the three probabilities above the axes, from left to right

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [RidgeClassifier(alpha).fit(X, y == 1) for alpha in (1.0, 100.0)]
    >>> display = fl.ComparisonDisplay.from_estimators(*models, X, y == 1, rope=0.01)
    >>> len(display.labels_)
    3
    """

    curve: DensityCurve
    rope: float
    shares: tuple[float, float, float]
    names: tuple[str, str] = ("a", "b")
    notes: tuple[str, ...] = ()

    @classmethod
    def from_estimators(
        cls, a: Any, b: Any, X: Any = None, y: Any = None, *, level: float = 0.95, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Compare two fitted classifiers by `compare(a, b, X, y, **kwargs)`, and draw the result.

        The keywords are rope, method, prior, groups, sample_weight, pos_label and names; `level` is that of the
        interval, `ax` the axes to draw on.
        """
        return cls.from_comparison(compare(a, b, X, y, **kwargs), level=level, ax=ax)

    @classmethod
    def from_comparison(cls, comparison: Any, *, level: float = 0.95, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a `Comparison` with its interval at `level`; the rest as in `plot`."""
        comparison = style.of_kind(comparison, Comparison, "foldless.compare(a, b, X, y)")
        shares = comparison.difference.beyond(comparison.rope)
        display = cls(_curve(comparison, level), comparison.rope, shares, comparison.names, comparison.notes)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes; `kwargs` are passed to ``ax.plot`` for the density. Returns the display."""
        with self._axes(ax, 6.4, 3.0) as axes:
            (self.line_,) = axes.plot(*self.curve.outline, **{"color": GREY, "linewidth": 1.3, **kwargs})
            self.fills_ = self._fill()
            ends = (-self.rope, self.rope) if self.rope else (0.0,)
            self.rope_ = [axes.axvline(end, **style.DASHED) for end in ends]
            self.interval_, self.point_ = style.mean_and_interval(axes, self.curve, 0, {"color": GREY}, BLACK)
            self._label()
        return self

    def _fill(self) -> list[Any]:
        """The areas where b is better, both are equal, and a is better, if they are in view."""
        low, high = float(self.curve.edges[0]), float(self.curve.edges[-1])
        ends = [low, *np.clip([-self.rope, self.rope], low, high), high]
        fills = []
        for left, right, colour in zip(ends[:-1], ends[1:], (B_BETTER, EQUAL, A_BETTER), strict=True):
            if left < right:
                x, y = self.curve.between(left, right)
                fills.append(self.ax_.fill_between(x, 0, y, color=colour, alpha=0.35, linewidth=0))
        return fills

    def _label(self) -> None:
        a, equal, b = self.shares
        first, second = self.names
        texts = [(0.0, "left", f"{second} better: {b:.3f}", B_BETTER)]
        if self.rope or equal == 1:
            texts.append((0.5, "center", f"equal within {self.rope:g}: {equal:.3f}", GREY))
        texts.append((1.0, "right", f"{first} better: {a:.3f}", A_BETTER))
        place = {"transform": self.ax_.transAxes, "va": "bottom", "parse_math": False}
        self.labels_ = [self.ax_.text(x, 1.02, text, ha=side, color=colour, **place) for x, side, text, colour in texts]
        top = 1.08 * float(np.max(self.curve.heights))
        self.ax_.set(xlim=(self.curve.edges[0], self.curve.edges[-1]), ylim=(0, top), yticks=[])
        level = words.percent(self.curve.level)
        label = f"AUC of {first} less AUC of {second}, on new data: mean and {level} interval"
        style.without_formulas([self.ax_.set_xlabel(label)])
        style.open_frame(self.ax_, left=False)


def _curve(comparison: Comparison, level: float) -> DensityCurve:
    """Density over a window that shows nearly all of the difference, 0 and the rope."""
    difference, rope = comparison.difference, comparison.rope
    low, high = (float(end) for end in difference.ppf(np.array([TAIL, 1 - TAIL])))
    low, high = min(low, -1.2 * rope, 0.0), max(high, 1.2 * rope, 0.0)
    pad = max(MARGIN * (high - low), (NARROWEST_DIFFERENCE - (high - low)) / 2)
    return density_curve(difference, level, (low - pad, high + pad), DIFFERENCE_BINS)


ROOM = 1.12  # factor by which the axis extends beyond the first and the last point


@dataclass(repr=False, eq=False)
class LearningCurveDisplay(style.Display):
    """A learning curve, drawn: mean and interval of the AUC against the number of training rows.

    Make it with `from_estimator` or `from_curve`; the constructor takes the numbers themselves. The band shows what is
    known today; the bars show how long the interval of `auc_posterior` will be with that many rows.

    Parameters
    ----------
    rows : sequence of int
    mean, low, high : sequences of float
    half_widths : sequence of float
    level : float
    notes : tuple of str
        Written under the axes.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    line_, band_, bars_, chance_level_ : artists

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> display = fl.LearningCurveDisplay.from_estimator(RidgeClassifier().fit(X, y == 1), X, y == 1)
    >>> display.line_.get_xdata().tolist()
    [150, 300, 750]
    """

    rows: Sequence[int]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    half_widths: Sequence[float]
    level: float = 0.95
    notes: tuple[str, ...] = ()

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, level: float = 0.95, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the curve of a fitted classifier as computed by `learning_curve(estimator, X, y, **kwargs)`.

        The keywords are factors, prior, groups, sample_weight and pos_label; `level` is that of the band, `ax` the
        axes to draw on.
        """
        return cls.from_curve(learning_curve(estimator, X, y, **kwargs), level=level, ax=ax)

    @classmethod
    def from_curve(cls, curve: Any, *, level: float = 0.95, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a `LearningCurve` with its band at `level`; the rest as in `plot`."""
        curve = style.of_kind(curve, LearningCurve, "foldless.learning_curve")
        points = curve.summary(level)["points"]
        mean, low, high = ([p[name] for p in points] for name in ("auc", "low", "high"))
        return cls(curve.rows, mean, low, high, curve.half_widths, level, curve.notes).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes; `kwargs` are passed to ``ax.plot`` for the line. Returns the display."""
        line = {"color": "C0", "marker": "o", "markeredgecolor": "white", "label": "AUC to expect", **kwargs}
        band = {"alpha": style.BAND, "linewidth": 0, "label": f"{words.percent(self.level)} interval, today"}
        bars = {"elinewidth": 1.5, "capsize": 4, "label": "95 % interval with so many rows"}
        # No AUC exceeds 1.
        above = [min(half, 1 - mean) for mean, half in zip(self.mean, self.half_widths, strict=True)]
        with self._axes(ax, 6.0, 3.8) as axes:
            (self.line_,) = axes.plot(self.rows, self.mean, zorder=4, **line)
            colour = self.line_.get_color()
            self.band_ = axes.fill_between(self.rows, self.low, self.high, color=colour, **band)
            self.bars_ = axes.errorbar(
                self.rows, self.mean, yerr=[self.half_widths, above], fmt="none", ecolor=colour, zorder=3, **bars
            )
            self._label()
        return self

    def _label(self) -> None:
        ax, edges = self.ax_, (self.rows[0] / ROOM, self.rows[-1] * ROOM)
        self.chance_level_ = style.chance_line(ax, edges, (0.5, 0.5))
        ax.set_xscale("log")
        ax.set_xticks(self.rows, [f"{n:,}" for n in self.rows])
        ax.set_xticks([], minor=True)
        lowest = min(0.5, *self.low, *(m - h for m, h in zip(self.mean, self.half_widths, strict=True)))
        ax.set(xlim=edges, ylim=(max(0.0, lowest - 0.03), 1.01), xlabel="training rows", ylabel="AUC on new data")
        style.legend(ax, loc="lower right")
        style.open_frame(ax)
