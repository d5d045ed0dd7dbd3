"""`PermutationDisplay`: the AUC of the true labels among those of permuted labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from foldless import words
from foldless.checks import Floats
from foldless.permutation.answer import PermutationTest, permutation_test
from foldless.show import style

MOST_BINS = 60


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
