"""Sufficient statistics: what one pass over the data leaves behind, and how two parts add up.

Along a weight vector everything the conjugate model needs is the number, mean and scatter of
the scores in each class. They merge exactly (Chan, Golub and LeVeque's pairwise update), so
chunks of rows, files and machines can be added with ``a + b``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless import _check
from foldless._check import Array, Floats
from foldless.errors import InputError

# Rows handled at once when X is not float64: the upcast copy stays at a few megabytes.
BLOCK_ELEMENTS = 1 << 19


def project(X: Any, w: Array) -> Floats:
    """Scores ``X @ w`` in float64; X of another type is upcast a block of rows at a time."""
    with np.errstate(over="ignore", invalid="ignore"):
        if _check.is_sparse(X) or X.dtype == np.float64:
            return np.asarray(X @ w, dtype=np.float64)
        out = np.empty((X.shape[0], *w.shape[1:]))
        for rows in _row_blocks(X):
            np.matmul(X[rows].astype(np.float64), w, out=out[rows])
        return out


def _row_blocks(X: Any) -> list[slice]:
    step = max(1, BLOCK_ELEMENTS // X.shape[1])
    return [slice(start, start + step) for start in range(0, X.shape[0], step)]


@dataclass(frozen=True)
class Moments:
    """Number, mean and scatter (sum of squared deviations) of values; merge with ``+``.

    `mean` and `scatter` may be arrays: one entry per classifier.
    """

    n: int
    mean: Any
    scatter: Any

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Moments along the first axis.

        Two sweeps over the values, the second about a provisional mean, keep full precision when
        the mean is large against the spread (mean 1e8, spread 1).
        """
        n = values.shape[0]
        if n == 0:
            zero = np.zeros(values.shape[1:])[()]
            return cls(0, zero, zero)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever uses an overflowing scatter refuses it
            provisional = values.mean(axis=0, dtype=np.float64)
            deviations = values - provisional
            correction = deviations.mean(axis=0)
            scatter = np.einsum("i...,i...->...", deviations, deviations) - n * correction**2
            return cls(n, provisional + correction, np.maximum(scatter, 0.0))

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if np.shape(self.mean) != np.shape(other.mean):
            raise InputError("statistics of different numbers of classifiers cannot be added.")
        n = self.n + other.n
        if n == 0:
            return self
        step = other.mean - self.mean
        share = other.n / n
        return Moments(n, self.mean + step * share, self.scatter + other.scatter + step**2 * (self.n * share))


@dataclass(frozen=True)
class ScoreStats:
    """Moments of the scores of the negative (0) and the positive (1) class.

    Statistics of two parts of the data add up exactly: ``whole == part_a + part_b``.

    Examples
    --------
    >>> import foldless as fl
    >>> a = fl.ScoreStats.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.9, 1.3])
    >>> b = fl.ScoreStats.from_scores([0, 1], [0.2, 0.7])
    >>> whole = a + b
    >>> whole.n0, whole.n1, round(float(whole.mean1), 4)
    (3, 3, 0.9667)
    """

    negative: Moments
    positive: Moments

    @classmethod
    def from_scores(cls, y: Any, scores: Any, *, pos_label: Any = None, classes: Any = None) -> ScoreStats:
        """Statistics of given scores; `scores` has shape (N,) or, for K classifiers, (N, K).

        A part of the data may lack a class; name both with ``classes=(negative, positive)`` then.
        """
        z = _check.as_scores(scores, (1, 2))
        positive = _positive_rows(y, pos_label, classes)
        _check.same_length(z.shape[0], positive.size, "there are {} scores")
        return cls.from_classes(z, positive)

    @classmethod
    def from_data(cls, X: Any, y: Any, w: Any, *, pos_label: Any = None, classes: Any = None) -> ScoreStats:
        """Statistics of ``X @ w``, reading X once; `w` has shape (P,) or, for K classifiers, (P, K)."""
        M = _check.as_matrix(X)
        positive = _positive_rows(y, pos_label, classes)
        _check.same_length(M.shape[0], positive.size)
        scores = project(M, _check.as_weights(w, M.shape[1]))
        _check.finite_scores(scores, M)
        return cls.from_classes(scores, positive)

    @classmethod
    def from_classes(cls, scores: Floats, positive: Array) -> ScoreStats:
        """Statistics of validated scores, given which rows are positive."""
        return cls(Moments.of(scores[~positive]), Moments.of(scores[positive]))

    def __add__(self, other: ScoreStats) -> ScoreStats:
        if not isinstance(other, ScoreStats):
            return NotImplemented
        return ScoreStats(self.negative + other.negative, self.positive + other.positive)

    @property
    def n0(self) -> int:
        return self.negative.n

    @property
    def n1(self) -> int:
        return self.positive.n

    @property
    def mean0(self) -> Any:
        return self.negative.mean

    @property
    def mean1(self) -> Any:
        return self.positive.mean

    @property
    def scatter0(self) -> Any:
        return self.negative.scatter

    @property
    def scatter1(self) -> Any:
        return self.positive.scatter


def _positive_rows(y: Any, pos_label: Any, classes: Any) -> Array:
    if classes is None:
        try:
            return _check.as_labels(y, pos_label=pos_label).positive
        except InputError as err:
            hint = " For a part of the data that lacks a class, name both with classes=."
            raise InputError(str(err) + hint * ("one class" in str(err))) from err
    return _check.as_partial_labels(y, classes, pos_label=pos_label).positive


def feature_moments(X: Any, positive: Array) -> tuple[Moments, Moments]:
    """Column means and scatters (P,) of both classes, a block of rows at a time: never a centred copy of X."""
    if _check.is_sparse(X):
        return _sparse_moments(X[~positive]), _sparse_moments(X[positive])
    negative = Moments.of(np.empty((0, X.shape[1])))
    total = [negative, negative]
    for rows in _row_blocks(X):
        block = np.asarray(X[rows], dtype=np.float64)
        for k in (0, 1):
            total[k] += Moments.of(block[positive[rows] == k])
    return total[0], total[1]


def _sparse_moments(X: Any) -> Moments:
    # Sparse columns sit near zero by nature, so the textbook sum of squares is safe here.
    n, X = X.shape[0], X.astype(np.float64)
    mean = np.asarray(X.sum(axis=0)).ravel() / n
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
    return Moments(n, mean, np.maximum(squares - n * mean**2, 0.0))
