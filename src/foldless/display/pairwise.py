"""`PairwiseAUCDisplay`: how well each two classes are told apart, as a heat map with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foldless._check import Floats
from foldless._html import numbers
from foldless.display import style
from foldless.display.models import named_posteriors, warned_once
from foldless.estimate import auc_posterior
from foldless.multiclass import MulticlassAUCPosterior

CELL = 0.95  # inches
LONGEST = 14  # letters of a class in one line
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
        title = f"AUC on new data\n{what}: {numbers.estimate(post.mean, *post.interval(level))}"
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
            words = numbers.estimate(self.mean[i, j], self.low[i, j], self.high[i, j])
            self.text_[i, j] = self.ax_.text(
                j, i - 1, words.replace(" (", "\n(").replace(" to ", " to\n"), ha="center", va="center", fontsize=8.5,
                color=_readable(self.im_.cmap(self.im_.norm(self.mean[i, j]))), parse_math=False,
            )  # fmt: skip

    def _label(self) -> None:
        names = ["\n".join(textwrap.wrap(str(c), LONGEST)) or "''" for c in self.classes]
        places = list(range(len(names) - 1))
        self.ax_.set_xticks(places, names[:-1])
        self.ax_.set_yticks(places, names[1:])
        for label in (*self.ax_.get_xticklabels(), *self.ax_.get_yticklabels()):
            label.set_parse_math(False)
        self.ax_.tick_params(length=0)
        style.open_frame(self.ax_, left=False)
        self.ax_.spines["bottom"].set_visible(False)
        self.ax_.set_xlabel(f"mean and {numbers.percent(self.level)} interval for each two classes")
        if self.title:
            self.ax_.set_title(self.title, fontsize="medium", parse_math=False)


def _readable(colour: Any) -> str:
    """Black on light cells, white on dark ones."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
