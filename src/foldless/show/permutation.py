"""`PermutationDisplay`: the AUC of the true labels among those of permuted ones; `DecodingDisplay`: at many points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from foldless import words
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.permutation.answer import PermutationTest, permutation_test
from foldless.permutation.decoding import TIMES, Decoding, decode
from foldless.show import style

MOST_BINS = 60
MOST_NAMES = 12  # ticks of points that have names


@dataclass(repr=False, eq=False)
class PermutationDisplay(style.Display):
    """A permutation test, drawn: a histogram of the AUCs of permuted labels, and a line at that of the true labels.

    Make it with `from_estimator` or `from_test`; the constructor takes the numbers themselves.

    Parameters
    ----------
    statistic : float
        AUC of the true labels.
    null : ndarray
        AUCs of permuted labels.
    p_value : float
    notes : tuple of str
        Written under the axes.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    bars_, line_, chance_level_ : artists

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = make_classification(60, random_state=0)
    >>> test = fl.permutation_test(RidgeClassifier().fit(X, y), X, y, n_permutations=999)
    >>> fl.PermutationDisplay.from_test(test).line_.get_label()
    'true labels: AUC 0.788, p = 0.005'
    """

    statistic: float
    null: Floats
    p_value: float
    notes: tuple[str, ...] = ()

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Test a fitted classifier and draw the result; `kwargs` are those of `permutation_test`."""
        return cls.from_test(permutation_test(estimator, X, y, **kwargs), ax=ax)

    @classmethod
    def from_test(cls, test: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a `PermutationTest`; the rest as in `plot`."""
        test = style.of_kind(test, PermutationTest, "foldless.permutation_test")
        return cls(test.statistic, test.null, test.p_value, test.notes).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes; `kwargs` are passed to ``ax.hist``. Returns the display."""
        label = f"true labels: AUC {words.rate(self.statistic)}, p = {self.p_value:.2g}"
        bins = int(np.clip(np.sqrt(self.null.size), 5, MOST_BINS))
        look = {"bins": bins, "color": "C0", "alpha": 0.5, "label": f"{self.null.size:,} relabellings", **kwargs}
        with self._axes(ax, 6.0, 3.4) as axes:
            self.bars_ = axes.hist(self.null, **look)[2]
            top = axes.get_ylim()[1]
            (self.line_,) = axes.plot([self.statistic] * 2, [0, top], color=style.ALERT, linewidth=2, label=label)
            self.chance_level_ = style.chance_line(axes, (0.5, 0.5), (0, top))
            axes.set(ylim=(0, top), xlabel="AUC of rows left out of the fit", ylabel="relabellings")
            style.legend(axes, loc="upper left")
            style.open_frame(axes)
        return self


@dataclass(repr=False, eq=False)
class DecodingDisplay(style.Display):
    """A decoding, drawn: the AUC over time with a band, and a bar under the times that are significant.

    Sets of columns are drawn as dots with intervals, since neighbours in the list need not be neighbours. Make it with
    `from_estimator` or `from_decoding`; the constructor takes the decoding itself.

    Parameters
    ----------
    decoding : Decoding
    level, alpha : float
        Level of the intervals, and the largest p-value that is marked.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    line_, band_, spans_, chance_level_ : artists
    image_ : artist of `plot_generalisation`

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> y = np.arange(60) % 2
    >>> X = np.random.default_rng(0).normal(size=(60, 4, 6)) + y[:, None, None]
    >>> fl.DecodingDisplay.from_estimator(RidgeClassifier(), X, y).spans_.get_label()
    'p ≤ 0.05, corrected for 6 times'
    """

    decoding: Decoding
    level: float = 0.95
    alpha: float = 0.05

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Decode and draw the result; `kwargs` are those of `decode`."""
        return cls.from_decoding(decode(estimator, X, y, **kwargs), ax=ax)

    @classmethod
    def from_decoding(
        cls, decoding: Any, *, level: float = 0.95, alpha: float = 0.05, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a `Decoding`; the rest as in `plot`."""
        return cls(style.of_kind(decoding, Decoding, "foldless.decode"), level, alpha).plot(ax, **kwargs)

    def __post_init__(self) -> None:
        self.notes = self.decoding.notes

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes; `kwargs` are passed to ``ax.plot`` for the line. Returns the display."""
        d, x, edges = self.decoding, self._places, _edges(self._places)
        low, high = np.transpose([post.interval(self.level) for post in d.auc])
        line = {"color": "C0", "label": "AUC", "marker": None if d.points == TIMES else "o", **kwargs}
        bottom = max(0.0, min(0.45, float(low.min()) - 0.02) - 0.04)
        wide = [(edges[k], edges[k + 1] - edges[k]) for k in np.flatnonzero(d.significant(self.alpha))]
        label = f"p ≤ {self.alpha:g}, corrected for {x.size} {d.points}"
        with self._axes(ax, 7.0, 3.6) as axes:
            (self.line_,) = axes.plot(x, [post.mean for post in d.auc], zorder=4, **line)
            look = {"color": self.line_.get_color(), "label": f"{words.percent(self.level)} interval"}
            if d.points == TIMES:
                self.band_ = axes.fill_between(x, low, high, alpha=style.BAND, linewidth=0, **look)
            else:
                self.line_.set_linestyle("none")
                self.band_ = axes.vlines(x, low, high, **look)
            self.spans_ = axes.broken_barh(wide, (bottom + 0.01, 0.02), color=style.ALERT, label=label)
            self.chance_level_ = style.chance_line(axes, (edges[0], edges[-1]), (0.5, 0.5))
            axes.set(xlim=(edges[0], edges[-1]), ylim=(bottom, 1.01), xlabel=d.points[:-1], ylabel="AUC on new trials")
            self._name(axes.xaxis)
            style.legend(axes, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
            style.open_frame(axes)
        return self

    def plot_generalisation(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the AUCs of training at one time and testing at another; `kwargs` are passed to ``ax.pcolormesh``."""
        across, edges = self.decoding.generalisation, _edges(self._places)
        if across is None:
            raise InputError("there is no generalisation to draw: decode with generalise=True.")
        reach = max(0.1, float(np.abs(across - 0.5).max()))
        with self._axes(ax, 5.2, 4.4) as axes:
            kwargs = {"cmap": "RdBu_r", "vmin": 0.5 - reach, "vmax": 0.5 + reach, **kwargs}
            self.image_ = axes.pcolormesh(edges, edges, across, **kwargs)
            self.figure_.colorbar(self.image_, ax=axes, label="AUC of left-out trials")
            axes.plot(edges[[0, -1]], edges[[0, -1]], **style.DASHED)
            axes.set(aspect="equal", xlabel="testing time", ylabel="training time")
            self._name(axes.xaxis, axes.yaxis)
        return self

    @property
    def _places(self) -> Floats:
        """Times, where they can serve as places on an axis; else the numbers of the points."""
        times = self.decoding.times
        places = self.decoding.points == TIMES and times.dtype.kind in "iuf" and np.all(np.diff(times) > 0)
        return np.asarray(times if places else np.arange(times.size))

    def _name(self, *sides: Any) -> None:
        times = self.decoding.times
        if self.decoding.points != TIMES or not np.array_equal(self._places, times):
            some = np.arange(0, times.size, -(-times.size // MOST_NAMES))
            for side in sides:
                side.set_ticks(some, [words.cut(str(times[k]), 12) for k in some])


def _edges(x: Floats) -> Floats:
    """Half-way between neighbouring places, and as far beyond the first and last."""
    steps = np.diff(x) if x.size > 1 else np.ones(1)
    return np.concatenate([x[:1] - steps[0] / 2, x[:-1] + np.diff(x) / 2, x[-1:] + steps[-1] / 2])
