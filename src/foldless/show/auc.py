"""`AUCPosteriorDisplay` and `PairwiseAUCDisplay`: the density of an AUC, and the AUCs of pairs of classes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from foldless import words
from foldless.cards.drawing import DensityCurve, density_curve, window
from foldless.checks import Floats
from foldless.estimate import auc_posterior
from foldless.results.auc import AUCPosterior
from foldless.results.classes import MulticlassAUCPosterior
from foldless.show import style
from foldless.show.style import named_estimators, named_posteriors, warned_once

# ---- `AUCPosteriorDisplay`: the density of the AUC with its interval, for one model or several.

TALL = 0.72  # height of a density; rows are 1 apart
LONGEST = 28  # letters of a name in one line


class AUCPosteriorDisplay:
    """Posterior of the AUC, drawn: density, mean and credible interval, one row per model.

    Make it with `from_estimator` or `from_posterior`; the constructor takes the numbers themselves. Each
    density is scaled to the height of its row, so compare places and widths, not heights. The notes of
    the posteriors are written under the axes.

    Parameters
    ----------
    curves : dict of DensityCurve
        The curve of each model, by name.
    notes : dict of tuple of str, optional
        What a reader of each model's number must know.
    quantity : str
        What is drawn, for the axis; "average AUC" where there are more than two classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_, fills_, intervals_, points_ : lists of artists, one per model, in the order of `curves`
    line_ : the first of `lines_`
    chance_level_ : line at 0.5, or None where 0.5 is out of view
    notes_ : text under the axes, or None

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

    def __init__(
        self,
        curves: Mapping[str, DensityCurve],
        notes: Mapping[str, Iterable[str]] | None = None,
        quantity: str = "AUC",
    ) -> None:
        self.curves = dict(curves)
        self.quantity = quantity
        self.notes = {name: tuple((notes or {}).get(name, ())) for name in self.curves}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        level: float = 0.95,
        name: str | None = None,
        ax: Any = None,
        method: Any = "auto",
        prior: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        multi_class: Any = "ovo",
        **kwargs: Any,
    ) -> AUCPosteriorDisplay:
        """Compute and draw the posterior of a fitted classifier, or of each in a dict of them, from its training data.

        Parameters
        ----------
        estimator : fitted linear classifier, Pipeline ending in one, weights, or a dict of them by name
        X, y, method, prior, groups, sample_weight, pos_label, multi_class
            As in `auc_posterior`.
        level : float
            Level of the interval.
        name : str, optional
            Name of a single model; its class by default.
        ax, **kwargs
            As in `plot`.
        """
        how = {"method": method, "prior": prior, "groups": groups, "sample_weight": sample_weight}
        how |= {"pos_label": pos_label, "multi_class": multi_class}
        with warned_once():
            posteriors = {
                key: auc_posterior(each, X, y, **how) for key, each in named_estimators(estimator, name).items()
            }
        return cls.from_posterior(posteriors, level=level, ax=ax, **kwargs)

    @classmethod
    def from_posterior(
        cls, posterior: Any, *, level: float = 0.95, name: Any = None, ax: Any = None, **kwargs: Any
    ) -> AUCPosteriorDisplay:
        """Draw posteriors that are there already.

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
        found = named_posteriors(posterior, AUCPosterior, "foldless.auc_posterior", name)
        within = window(list(found.values()))
        curves = {key: density_curve(post, level, within) for key, post in found.items()}
        averages = all(isinstance(post, MulticlassAUCPosterior) for post in found.values())
        notes = {key: post.notes for key, post in found.items()}
        return cls(curves, notes, "average AUC" if averages else "AUC").plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, plot_chance_level: bool = True, **kwargs: Any) -> AUCPosteriorDisplay:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        plot_chance_level : bool
            Whether to draw the line at 0.5, where it is in view.
        **kwargs
            Passed to ``ax.plot`` for the line of each density, such as ``color``.

        Returns
        -------
        AUCPosteriorDisplay
            Itself, with the artists in its attributes.
        """
        notes = style.merged_notes(self.notes)
        self.figure_, self.ax_ = style.axes_for(ax, 6.4, 1.0 + 0.85 * max(2, len(self.curves)), notes)
        self.lines_: list[Any] = []
        self.fills_: list[Any] = []
        self.intervals_: list[Any] = []
        self.points_: list[Any] = []
        for row, curve in enumerate(self.curves.values()):
            self._draw_row(len(self.curves) - 1 - row, curve, {"color": "C0", "linewidth": 1.5, **kwargs})
        self.line_ = self.lines_[0]
        self._label()
        low, high = self._window
        self.chance_level_ = None
        if plot_chance_level and low <= 0.5 <= high:
            self.chance_level_ = style.chance_line(self.ax_, (0.5, 0.5), (-0.15, len(self.curves) - 0.1))
        self.notes_ = style.write_notes(self.ax_, notes)
        return self

    @property
    def _window(self) -> tuple[float, float]:
        edges = [curve.edges for curve in self.curves.values()]
        return float(min(e[0] for e in edges)), float(max(e[-1] for e in edges))

    def _draw_row(self, base: float, curve: DensityCurve, line: dict[str, Any]) -> None:
        (x, y), (sx, sy) = curve.outline, curve.shaded
        scale = TALL / float(np.max(curve.heights))
        (drawn,) = self.ax_.plot(x, base + scale * y, **line)
        colour = drawn.get_color()
        fill = self.ax_.fill_between(sx, base, base + scale * sy, color=colour, alpha=style.BAND, linewidth=0)
        bar = {"color": colour, "alpha": 0.55, "linewidth": 4, "solid_capstyle": "butt", "clip_on": False}
        (interval,) = self.ax_.plot([curve.low, curve.high], [base, base], zorder=3, **bar)
        (point,) = self.ax_.plot(
            curve.mean, base, "o", color=colour, markersize=7, markeredgecolor="white", clip_on=False, zorder=4
        )
        for artists, artist in (
            (self.lines_, drawn),
            (self.fills_, fill),
            (self.intervals_, interval),
            (self.points_, point),
        ):
            artists.append(artist)

    def _label(self) -> None:
        n = len(self.curves)
        labels = [
            "\n".join([*textwrap.wrap(name, LONGEST), words.estimate(curve.mean, curve.low, curve.high)])
            for name, curve in self.curves.items()
        ]
        self.ax_.set_yticks([n - 1 - k for k in range(n)], labels)
        for label in self.ax_.get_yticklabels():
            label.set_parse_math(False)
        low, high = self._window
        self.ax_.set(xlim=(low, high), ylim=(-0.15, n - 0.1))
        self.ax_.tick_params(axis="y", length=0)
        levels = dict.fromkeys(words.percent(curve.level) for curve in self.curves.values())
        quantity = self.quantity[:1].upper() + self.quantity[1:]
        self.ax_.set_xlabel(f"{quantity} on new data: mean and {' or '.join(levels)} interval")
        style.open_frame(self.ax_, left=False)


# ---- `PairwiseAUCDisplay`: how well each two classes are told apart, as a heat map with intervals.

CELL = 0.95  # inches
LONGEST_CLASS = 14  # letters of a class in one line
WRITTEN = 12  # classes up to which figures fit into the cells


class PairwiseAUCDisplay:
    """Mean AUC of each two classes by colour, with its credible interval written into the cell.

    Make it with `from_estimator` or `from_posterior`; the constructor takes the numbers themselves. The matrix is
    symmetric, so only its lower half is drawn. The notes of the posterior are written under the axes.

    Parameters
    ----------
    mean, low, high : arrays of shape (K, K)
        Posterior means and the ends of their intervals; the diagonal is not looked at.
    classes : sequence of labels
    level : float
        Level of the intervals.
    title : str, optional
    notes : tuple of str, optional
        What a reader of the numbers must know.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    im_ : the image
    text_ : array of shape (K, K) with the texts of the cells, None where there are none
    notes_ : text under the axes, or None

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

    def __init__(
        self,
        mean: Floats,
        low: Floats,
        high: Floats,
        classes: Sequence[Any],
        *,
        level: float = 0.95,
        title: str = "",
        notes: Iterable[str] = (),
    ) -> None:
        self.mean, self.low, self.high = (np.asarray(m, dtype=np.float64) for m in (mean, low, high))
        self.classes, self.level, self.title, self.notes = tuple(classes), level, title, tuple(notes)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        level: float = 0.95,
        ax: Any = None,
        prior: Any = None,
        sample_weight: Any = None,
        multi_class: Any = "ovo",
        **kwargs: Any,
    ) -> PairwiseAUCDisplay:
        """Compute and draw the matrix of a fitted classifier of more than two classes, from its training data.

        Parameters
        ----------
        estimator, X, y, prior, sample_weight, multi_class
            As in `auc_posterior`; `multi_class` chooses the average that the title names.
        level : float
            Level of the intervals.
        ax, **kwargs
            As in `plot`.
        """
        with warned_once():
            post = auc_posterior(estimator, X, y, prior=prior, sample_weight=sample_weight, multi_class=multi_class)
        return cls.from_posterior(post, level=level, ax=ax, **kwargs)

    @classmethod
    def from_posterior(
        cls, posterior: Any, *, level: float = 0.95, ax: Any = None, **kwargs: Any
    ) -> PairwiseAUCDisplay:
        """Draw the matrix of a `MulticlassAUCPosterior`.

        Parameters
        ----------
        posterior : MulticlassAUCPosterior
        level : float
            Level of the intervals.
        ax, **kwargs
            As in `plot`.
        """
        (post,) = named_posteriors([posterior], MulticlassAUCPosterior, "foldless.auc_posterior").values()
        low, high = post.pairwise.interval(level)
        what = "mean over pairs" if post.multi_class == "ovo" else "mean against the rest"
        title = f"AUC on new data\n{what}: {words.estimate(post.mean, *post.interval(level))}"
        display = cls(post.pairwise.mean, low, high, post.classes, level=level, title=title, notes=post.notes)
        return display.plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, cmap: Any = "viridis", colorbar: bool = True, **kwargs: Any
    ) -> PairwiseAUCDisplay:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        cmap : str or matplotlib colormap
        colorbar : bool
        **kwargs
            Passed to ``ax.imshow``, such as ``vmin``.

        Returns
        -------
        PairwiseAUCDisplay
            Itself, with the artists in its attributes.
        """
        K = len(self.classes)
        side = CELL * (max(K, 3) if K <= WRITTEN else WRITTEN)
        self.figure_, self.ax_ = style.axes_for(ax, side + 2.6, side + 1.2, self.notes)
        shown = np.ma.masked_array(self.mean, mask=np.triu(np.ones((K, K), dtype=bool)))[1:, :-1]
        scale = {"vmin": min(0.5, float(shown.min())), "vmax": 1.0, **kwargs}
        self.im_ = self.ax_.imshow(shown, cmap=cmap, **scale)
        self.text_ = np.full((K, K), None, dtype=object)
        if K <= WRITTEN:
            self._write()
        self._label()
        if colorbar:
            self.figure_.colorbar(self.im_, ax=self.ax_, label="posterior mean of the AUC", shrink=0.8)
        self.notes_ = style.write_notes(self.ax_, self.notes)
        return self

    def _write(self) -> None:
        for i, j in zip(*np.tril_indices(len(self.classes), -1), strict=True):
            text = words.estimate(self.mean[i, j], self.low[i, j], self.high[i, j])
            self.text_[i, j] = self.ax_.text(
                j, i - 1, text.replace(" (", "\n(").replace(" to ", " to\n"), ha="center", va="center", fontsize=8.5,
                color=_readable(self.im_.cmap(self.im_.norm(self.mean[i, j]))), parse_math=False,
            )  # fmt: skip

    def _label(self) -> None:
        names = ["\n".join(textwrap.wrap(str(c), LONGEST_CLASS)) or "''" for c in self.classes]
        places = list(range(len(names) - 1))
        self.ax_.set_xticks(places, names[:-1])
        self.ax_.set_yticks(places, names[1:])
        for label in (*self.ax_.get_xticklabels(), *self.ax_.get_yticklabels()):
            label.set_parse_math(False)
        self.ax_.tick_params(length=0)
        style.open_frame(self.ax_, left=False)
        self.ax_.spines["bottom"].set_visible(False)
        self.ax_.set_xlabel(f"mean and {words.percent(self.level)} interval for each two classes")
        if self.title:
            self.ax_.set_title(self.title, fontsize="medium", parse_math=False)


def _readable(colour: Any) -> str:
    """Black on light cells, white on dark ones."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
