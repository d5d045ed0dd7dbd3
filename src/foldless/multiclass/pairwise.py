"""`PairwisePosteriors`: the AUC of every two classes, as a symmetric matrix of posteriors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Floats, listed
from foldless.auc import AUCPosterior
from foldless.errors import InputError

Pair = tuple[Any, Any]


@dataclass(frozen=True, repr=False, eq=False)
class PairwisePosteriors:
    """Posteriors of the AUC of each two classes; ``pairwise["bus", "van"]`` is one of them, in either order.

    Attributes
    ----------
    classes : tuple
        Labels, in the order of the rows and columns of `mean` and `interval`.
    posteriors : mapping
        One `AUCPosterior` for each pair (earlier class, later class); its n0 and n1 are the rows of the two.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> pairwise = fl.auc_posterior(LogisticRegression().fit(X[:, :2], y), X[:, :2], y).pairwise
    >>> pairwise[0, 1].mean > pairwise[1, 2].mean
    True
    >>> pairwise.weakest()
    (1, 2)
    """

    classes: tuple[Any, ...]
    posteriors: Mapping[Pair, AUCPosterior]

    def __getitem__(self, pair: Pair) -> AUCPosterior:
        try:
            first, second = pair
            return self.posteriors[(first, second) if (first, second) in self.posteriors else (second, first)]
        except (KeyError, TypeError, ValueError) as err:
            raise InputError(
                f"pairwise takes two different classes, as in pairwise[{self.classes[0]!r}, {self.classes[1]!r}], got "
                f"{pair!r}; the classes are {listed(self.classes)}."
            ) from err

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.posteriors)

    def __len__(self) -> int:
        return len(self.posteriors)

    @property
    def mean(self) -> Floats:
        """Posterior means, shape (K, K); nan on the diagonal."""
        return self._matrix(lambda post: post.mean)

    @property
    def sd(self) -> Floats:
        """Posterior standard deviations, shape (K, K)."""
        return self._matrix(lambda post: post.sd)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the central credible intervals, each of shape (K, K)."""
        return self._matrix(lambda post: post.interval(level)[0]), self._matrix(lambda post: post.interval(level)[1])

    def weakest(self) -> Pair:
        """The two classes that are told apart worst."""
        return min(self.posteriors, key=lambda pair: self.posteriors[pair].mean)

    def __repr__(self) -> str:
        first, second = self.weakest()
        mean = self.posteriors[first, second].mean
        return f"PairwisePosteriors({len(self.classes)} classes, weakest pair {first!r}, {second!r}: mean={mean:.3f})"

    def _matrix(self, value: Callable[[AUCPosterior], float]) -> Floats:
        place = {label: k for k, label in enumerate(self.classes)}
        out = np.full((len(place), len(place)), np.nan)
        for (first, second), post in self.posteriors.items():
            i, j = place[first], place[second]
            out[i, j] = out[j, i] = value(post)
        return out
