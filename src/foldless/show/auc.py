"""`AUCPosteriorDisplay` and `PairwiseAUCDisplay`: the density of an AUC, and the AUCs of pairs of classes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from foldless import words
from foldless.cards.drawing import DensityCurve, density_curve, window
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.results.auc import AUCPosterior
from foldless.results.classes import MulticlassAUCPosterior
from foldless.show import style

TALL = 0.72  # height of a density; rows are 1 apart
NAME_LETTERS = 28  # per line


@dataclass(repr=False, eq=False)
class AUCPosteriorDisplay(style.ModelsDisplay):
    """Posterior of the AUC, drawn: density, mean and credible interval, one row per model.

    Make it with `from_estimator` or `from_posterior`; the constructor takes the numbers themselves. Each density is
    scaled to the height of its row, so compare positions and widths, not heights.

    Parameters
    ----------
    curves : dict of DensityCurve
        The curve of each model, by name.
    notes : dict of tuple of str, optional
        Notes on each model, written under the axes.
    quantity : str
        What is drawn, for the axis label; "average AUC" with more than two classes.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    lines_, fills_, intervals_, points_ : lists of artists, one per model, in the order of `curves`
    line_ : the first of `lines_`
    chance_level_ : line at 0.5, or None where 0.5 is out of view

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> rows = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> first = fl.auc_posterior_from_scores(rows, [1, 2, 3, 5, 4, 6, 7, 8])
    >>> second = fl.auc_posterior_from_scores(rows, [1, 4, 3, 6, 2, 5, 7, 8])
    >>> display = fl.AUCPosteriorDisplay.from_posterior({"with age": first, "without age": second})
    >>> [label.get_text().splitlines()[0] for label in display.ax_.get_yticklabels()]
    ['with age', 'without age']
    """

    quantity: str = "AUC"

    @classmethod
    def from_posterior(
        cls, posterior: Any, *, level: float = 0.95, name: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw posteriors that were computed before.

        Parameters
        ----------
        posterior : AUCPosterior, or a dict or list of them
        level : float
            Level of the interval.
        name : str or list of str, optional
            Name of the posterior, or of each in a list.
        ax, **kwargs
            As in `plot`.
        """
        posteriors = style.named_posteriors(posterior, AUCPosterior, "foldless.auc_posterior", name)
        within = window(list(posteriors.values()))
        curves = {key: density_curve(post, level, within) for key, post in posteriors.items()}
        averages = all(isinstance(post, MulticlassAUCPosterior) for post in posteriors.values())
        notes = {key: post.notes for key, post in posteriors.items()}
        return cls(curves, notes, "average AUC" if averages else "AUC").plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, plot_chance_level: bool = True, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes; the line at 0.5 only where it is in view and `plot_chance_level` is true.

        `kwargs` are passed to ``ax.plot`` for the line of each density, such as ``color``. Returns the display.
        """
        n = len(self.curves)
        look = {"color": "C0", "linewidth": 1.5, **kwargs}
        with self._axes(ax, 6.4, 1.0 + 0.85 * max(2, n)) as axes:
            drawn = [_draw_row(axes, n - 1 - row, curve, look) for row, curve in enumerate(self.curves.values())]
            artists = (list(kind) for kind in zip(*drawn, strict=True))
            self.lines_, self.fills_, self.intervals_, self.points_ = artists
            self.line_ = self.lines_[0]
            self._label()
            low, high = axes.get_xlim()
            visible = plot_chance_level and low <= 0.5 <= high
            self.chance_level_ = style.chance_line(axes, (0.5, 0.5), (-0.15, n - 0.1)) if visible else None
        return self

    def _label(self) -> None:
        ax, curves = self.ax_, self.curves.values()
        labels = [
            "\n".join([*textwrap.wrap(name, NAME_LETTERS), words.estimate(curve.mean, curve.low, curve.high)])
            for name, curve in self.curves.items()
        ]
        ax.set_yticks(range(len(labels) - 1, -1, -1), labels)
        style.without_formulas(ax.get_yticklabels())
        edges = np.array([(curve.edges[0], curve.edges[-1]) for curve in curves])
        ax.set(xlim=(edges.min(), edges.max()), ylim=(-0.15, len(labels) - 0.1))
        ax.tick_params(axis="y", length=0)
        levels = dict.fromkeys(words.percent(curve.level) for curve in curves)
        ax.set_xlabel(f"{style.capital(self.quantity)} on new data: mean and {' or '.join(levels)} interval")
        style.open_frame(ax, left=False)


def _draw_row(ax: Any, base: float, curve: DensityCurve, look: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Line, shaded area, bar of the interval and dot at the mean of one density."""
    (x, y), (shaded_x, shaded_y) = curve.outline, curve.shaded
    scale = TALL / float(np.max(curve.heights))
    (line,) = ax.plot(x, base + scale * y, **look)
    colour = line.get_color()
    fill = ax.fill_between(shaded_x, base, base + scale * shaded_y, color=colour, alpha=style.BAND, linewidth=0)
    return line, fill, *style.mean_and_interval(ax, curve, base, {"color": colour, "alpha": 0.55}, colour)


CELL = 0.95  # inches
CLASS_LETTERS = 14  # per line
MOST_WRITTEN = 12  # with more classes, numbers do not fit into the cells


@dataclass(repr=False, eq=False)
class PairwiseAUCDisplay(style.PosteriorDisplay):
    """Mean AUC of each pair of classes by colour, with its credible interval written into the cell.

    Make it with `from_estimator` or `from_posterior`; the constructor takes the numbers themselves. The matrix is
    symmetric, so only its lower half is drawn.

    Parameters
    ----------
    mean, low, high : arrays of shape (K, K)
        Posterior means and the ends of their intervals; the diagonal is ignored.
    classes : sequence of labels
    level : float
        Level of the intervals.
    title : str, optional
    notes : tuple of str, optional
        Written under the axes.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    im_ : the image
    text_ : array of shape (K, K) with the texts of the cells, None where there are none

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X[:, :2], y)
    >>> display = fl.PairwiseAUCDisplay.from_estimator(model, X[:, :2], y)
    >>> display.mean.shape
    (3, 3)
    """

    mean: Floats
    low: Floats
    high: Floats
    classes: Sequence[Any]
    _: KW_ONLY
    level: float = 0.95
    title: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def from_posterior(cls, posterior: Any, *, level: float = 0.95, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the matrix of a `MulticlassAUCPosterior`, with intervals at `level`; the rest as in `plot`."""
        posteriors = style.named_posteriors(posterior, MulticlassAUCPosterior, "foldless.auc_posterior")
        if len(posteriors) > 1:
            raise InputError(f"the matrix is that of one classifier, got {len(posteriors)}: draw one after another.")
        (post,) = posteriors.values()
        low, high = post.pairwise.interval(level)
        what = "mean over pairs" if post.multi_class == "ovo" else "mean against the rest"
        title = f"AUC on new data\n{what}: {words.estimate(post.mean, *post.interval(level))}"
        display = cls(post.pairwise.mean, low, high, post.classes, level=level, title=title, notes=post.notes)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, cmap: Any = "viridis", colorbar: bool = True, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes, in the colours of `cmap`, with a colour bar unless `colorbar` is false.

        `kwargs` are passed to ``ax.imshow``, such as ``vmin``. Returns the display.
        """
        K = len(self.classes)
        side = CELL * min(max(K, 3), MOST_WRITTEN)
        with self._axes(ax, side + 2.6, side + 1.2) as axes:
            shown = np.ma.masked_array(self.mean, mask=np.triu(np.ones((K, K), dtype=bool)))[1:, :-1]
            self.im_ = axes.imshow(shown, cmap=cmap, **{"vmin": min(0.5, float(shown.min())), "vmax": 1.0, **kwargs})
            self.text_ = np.full((K, K), None, dtype=object)
            if K <= MOST_WRITTEN:
                self._write()
            self._label()
            if colorbar:
                self.figure_.colorbar(self.im_, ax=axes, label="posterior mean of the AUC", shrink=0.8)
        return self

    def _write(self) -> None:
        for i, j in zip(*np.tril_indices(len(self.classes), -1), strict=True):
            text = words.estimate(self.mean[i, j], self.low[i, j], self.high[i, j])
            self.text_[i, j] = self.ax_.text(
                j, i - 1, text.replace(" (", "\n(").replace(" to ", " to\n"), ha="center", va="center", fontsize=8.5,
                color=_readable(self.im_.cmap(self.im_.norm(self.mean[i, j]))), parse_math=False,
            )  # fmt: skip

    def _label(self) -> None:
        ax = self.ax_
        names = ["\n".join(textwrap.wrap(str(c), CLASS_LETTERS)) or "''" for c in self.classes]
        ax.set_xticks(range(len(names) - 1), names[:-1])
        ax.set_yticks(range(len(names) - 1), names[1:])
        style.without_formulas((*ax.get_xticklabels(), *ax.get_yticklabels()))
        ax.tick_params(length=0)
        style.open_frame(ax, left=False)
        ax.spines["bottom"].set_visible(False)
        ax.set_xlabel(f"mean and {words.percent(self.level)} interval for each two classes")
        if self.title:
            ax.set_title(self.title, fontsize="medium", parse_math=False)


def _readable(colour: Any) -> str:
    """Black on light cells, white on dark ones."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
