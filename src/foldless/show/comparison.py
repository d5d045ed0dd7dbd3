"""`ComparisonDisplay` and `LearningCurveDisplay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldless.cards.drawing import DensityCurve
from foldless.comparison.answers import Comparison, compare
from foldless.errors import InputError
from foldless.plan.learning import LearningCurve, learning_curve
from foldless.show import style
from foldless.show.style import warned_once

# ---- `ComparisonDisplay`: the difference of two AUCs, with the region in which they count as equal.

TAIL, MARGIN, NARROWEST, BINS = 5e-4, 0.05, 0.01, 200
A_BETTER, EQUAL, B_BETTER = "C0", style.FAINT, "C1"


class ComparisonDisplay:
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

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_, interval_, point_ : the density, the bar of the interval, the dot at the mean
    fills_ : the areas of b better, equal and a better, from left to right; those that are empty are left out
    rope_ : lines at the ends of the rope; one line at 0 without a rope
    labels_ : the three probabilities above the axes, from left to right
    notes_ : text under the axes, or None

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = scale(X[:100, :10]), y[:100]
    >>> models = [LogisticRegression(C=C).fit(X, y) for C in (0.001, 1.0)]
    >>> display = fl.ComparisonDisplay.from_estimators(*models, X, y, rope=0.01)
    >>> len(display.labels_)
    3
    """

    def __init__(
        self,
        curve: DensityCurve,
        rope: float,
        shares: tuple[float, float, float],
        names: tuple[str, str] = ("a", "b"),
        notes: tuple[str, ...] = (),
    ) -> None:
        self.curve = curve
        self.rope = rope
        self.shares = shares
        self.names = names
        self.notes = tuple(notes)

    @classmethod
    def from_estimators(
        cls, a: Any, b: Any, X: Any, y: Any, *, level: float = 0.95, ax: Any = None, **kwargs: Any
    ) -> ComparisonDisplay:
        """Compare two fitted classifiers on their training data, and draw the answer.

        Parameters
        ----------
        a, b, X, y
            As in `compare`.
        level : float
            Level of the interval.
        ax : matplotlib axes, optional
        **kwargs
            Passed to `compare`: rope, method, prior, groups, sample_weight, pos_label, names.
        """
        with warned_once():
            found = compare(a, b, X, y, **kwargs)
        return cls.from_comparison(found, level=level, ax=ax)

    @classmethod
    def from_comparison(
        cls, comparison: Any, *, level: float = 0.95, ax: Any = None, **kwargs: Any
    ) -> ComparisonDisplay:
        """Draw a comparison that is there already; `ax` and the rest as in `plot`."""
        if not isinstance(comparison, Comparison):
            raise InputError(
                f"expected a Comparison, got {type(comparison).__name__}: compute it with foldless.compare(a, b, X, y)."
            )
        curve = _curve(comparison, level)
        shares = comparison.difference.beyond(comparison.rope)
        return cls(curve, comparison.rope, shares, comparison.names, comparison.notes).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> ComparisonDisplay:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **kwargs
            Passed to ``ax.plot`` for the line of the density, such as ``color``.

        Returns
        -------
        ComparisonDisplay
            Itself, with the artists in its attributes.
        """
        self.figure_, self.ax_ = style.axes_for(ax, 6.4, 3.0, self.notes)
        x, y = self.curve.outline
        (self.line_,) = self.ax_.plot(x, y, **{"color": "#57606a", "linewidth": 1.3, **kwargs})
        low, high = float(self.curve.edges[0]), float(self.curve.edges[-1])
        parts = [(low, -self.rope, B_BETTER), (-self.rope, self.rope, EQUAL), (self.rope, high, A_BETTER)]
        self.fills_ = [self._fill(*part) for part in parts if max(part[0], low) < min(part[1], high)]
        ends = (-self.rope, self.rope) if self.rope else (0.0,)
        self.rope_ = [self.ax_.axvline(end, color=style.FAINT, linewidth=1, linestyle=(0, (4, 4))) for end in ends]
        bar = {"color": "#57606a", "linewidth": 4, "solid_capstyle": "butt", "clip_on": False}
        (self.interval_,) = self.ax_.plot([self.curve.low, self.curve.high], [0, 0], zorder=3, **bar)
        (self.point_,) = self.ax_.plot(
            self.curve.mean, 0, "o", color="#24292f", markersize=7, markeredgecolor="white", clip_on=False, zorder=4
        )
        self._label(low, high)
        self.notes_ = style.write_notes(self.ax_, self.notes)
        return self

    def _fill(self, left: float, right: float, colour: str) -> Any:
        x, y = self.curve.outline
        left, right = max(left, float(x[0])), min(right, float(x[-1]))
        inside = (x > left) & (x < right)
        ends = np.interp([left, right], x, y)
        across = np.concatenate([[left], x[inside], [right]])
        up = np.concatenate([ends[:1], y[inside], ends[1:]])
        return self.ax_.fill_between(across, 0, up, color=colour, alpha=0.35, linewidth=0)

    def _label(self, low: float, high: float) -> None:
        a, equal, b = self.shares
        words = [
            (0.0, "left", f"{self.names[1]} better: {b:.3f}", B_BETTER),
            (0.5, "center", f"equal within {self.rope:g}: {equal:.3f}", "#57606a"),
            (1.0, "right", f"{self.names[0]} better: {a:.3f}", A_BETTER),
        ]
        shown = [w for w in words if w[1] != "center" or self.rope or equal == 1]
        self.labels_ = [
            self.ax_.text(
                at, 1.02, text, transform=self.ax_.transAxes, ha=side, va="bottom", color=colour, parse_math=False
            )
            for at, side, text, colour in shown
        ]
        self.ax_.set(xlim=(low, high), ylim=(0, 1.08 * float(np.max(self.curve.heights))), yticks=[])
        level = f"{100 * self.curve.level:.10g} %"
        label = self.ax_.set_xlabel(
            f"AUC of {self.names[0]} less AUC of {self.names[1]}, on new data: mean and {level} interval"
        )
        label.set_parse_math(False)
        style.open_frame(self.ax_, left=False)


def _curve(comparison: Comparison, level: float) -> DensityCurve:
    """Density over bins that show the whole law, 0 and the rope."""
    law, rope = comparison.difference, comparison.rope
    low, high = (float(end) for end in law.ppf(np.array([TAIL, 1 - TAIL])))
    low, high = min(low, -1.2 * rope), max(high, 1.2 * rope)
    low, high = min(low, 0.0), max(high, 0.0)
    pad = max(MARGIN * (high - low), (NARROWEST - (high - low)) / 2)
    edges = np.linspace(low - pad, high + pad, BINS + 2)
    heights = np.diff(np.asarray(law.cdf(edges), dtype=np.float64)) / np.diff(edges)
    return DensityCurve(edges, heights, law.mean, *law.interval(level), level)


# ---- `LearningCurveDisplay`: the AUC to expect from more rows, with what is known about it today.

LEVEL = 0.95
ROOM = 1.12


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
        edges = (self.rows[0] / ROOM, self.rows[-1] * ROOM)
        self.chance_level_ = style.chance_line(self.ax_, edges, (0.5, 0.5))
        self.ax_.set_xscale("log")
        self.ax_.set_xticks(self.rows, [f"{n:,}" for n in self.rows])
        self.ax_.set_xticks([], minor=True)
        lowest = min(0.5, *self.low, *(m - h for m, h in zip(self.mean, self.half_widths, strict=True)))
        self.ax_.set(xlim=edges, ylim=(max(0.0, lowest - 0.03), 1.01), xlabel="training rows", ylabel="AUC on new data")
        style.legend(self.ax_, loc="lower right")
        style.open_frame(self.ax_)
