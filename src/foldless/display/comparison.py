"""`ComparisonDisplay`: the difference of two AUCs, with the region in which they count as equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._html.density import DensityCurve
from foldless.comparison.two import Comparison, compare
from foldless.display import style
from foldless.display.models import warned_once
from foldless.errors import InputError

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
