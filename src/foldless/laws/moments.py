"""Sufficient statistics from one pass over the data, and how the statistics of two parts add up.

Along a weight vector, the conjugate model needs only the number, mean and scatter of the scores in each class. These
merge exactly (Chan, Golub and LeVeque's pairwise update), so results of several chunks, files or machines are added
with ``a + b``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Array, Floats
from foldless.errors import InputError
from foldless.tables import as_source, device
from foldless.tables.block import ByLabel, Moments
from foldless.tables.matrix import ArraySource, ClassSums, ScoreSums, block_height, column_sums, row_sums

# Numbers handled at once, of X where it is not float64 and of the scores: a few megabytes.
BLOCK_ELEMENTS = 1 << 19
SANE_EXPONENT = 200  # weights between 2^-200 and 2^200 have squares that neither overflow nor vanish
MIN_HEIGHT = 1024  # rows below which a matrix product no longer runs at full speed


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

        If a part of the data lacks a class, name both with ``classes=(negative, positive)``.
        """
        z = checks.as_scores(scores, (1, 2))
        positive = _positive_rows(y, pos_label, classes)
        checks.same_length(z.shape[0], positive.size, "there are {} scores")
        return _finite(cls.from_classes(z, positive))

    @classmethod
    def from_data(cls, X: Any, y: Any, w: Any, *, pos_label: Any = None, classes: Any = None) -> ScoreStats:
        """Statistics of ``X @ w``, reading X once; `w` has shape (P,) or, for K classifiers, (P, K).

        Parameters
        ----------
        X : table of shape (N, P)
            An array, memory map, sparse matrix or data frame; a Dask array; an array on a GPU; the path of Parquet
            files, or a list of paths; an iterable of pairs (X_chunk, y_chunk). It is never copied as a whole.
        y : array of shape (N,)
            The labels; for Parquet files the name of the column that holds them, for chunks None.
        w : array of shape (P,) or (P, K)
        """
        return _finite(prepared(X, y, w, pos_label=pos_label, classes=classes).collect().stats)

    @classmethod
    def from_classes(cls, scores: Floats, positive: Array) -> ScoreStats:
        """Statistics of validated scores, given which rows are positive."""
        return cls(Moments.of(scores[~positive]), Moments.of(scores[positive]))

    def __add__(self, other: ScoreStats) -> ScoreStats:
        if not isinstance(other, ScoreStats):
            return NotImplemented
        return _finite(ScoreStats(self.negative + other.negative, self.positive + other.positive))

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


def _finite(stats: ScoreStats) -> ScoreStats:
    figures = (stats.mean0, stats.mean1, stats.scatter0, stats.scatter1)
    if not all(np.all(np.isfinite(each)) for each in figures):
        raise InputError("the squares of the scores overflow: rescale X, w or the scores.")
    return stats


def _positive_rows(y: Any, pos_label: Any, classes: Any) -> Array:
    if classes is None:
        try:
            return checks.as_labels(y, pos_label=pos_label).positive
        except InputError as err:
            hint = " For a part of the data that lacks a class, name both with classes=."
            raise InputError(str(err) + hint * ("one class" in str(err))) from err
    return checks.as_partial_labels(y, classes, pos_label=pos_label).positive


# ---- from any kind of table


@dataclass(frozen=True)
class Summary:
    """Statistics of the scores, for the weights of `Prepared`, and, where asked for, of the columns."""

    stats: ScoreStats
    columns: tuple[Moments, Moments] | None


@dataclass(frozen=True, eq=False)
class Prepared:
    """A pass over a table that is ready to run, or already running on its device; `collect` waits for its end."""

    weights: Floats  # checked, over 2**exponent
    exponent: Any
    collect: Callable[[], Summary]


def prepared(
    X: Any,
    y: Any,
    w: Any,
    *,
    pos_label: Any = None,
    classes: Any = None,
    columns: bool = False,
    unit_length: bool = False,
) -> Prepared:
    """Statistics of ``X @ w`` from any kind of table, in one pass and bounded memory.

    With `unit_length` the weights are scaled near 1 by a power of two, which costs no digits, so that neither huge nor
    tiny ones overflow.
    """
    if device.is_device_array(X):
        return _on_device(X, y, w, pos_label, classes, columns, unit_length)
    source = as_source(X, y)
    if source is not None:
        W, exponent = _checked(w, source.n_features or len(np.atleast_1d(device.to_host(w))), unit_length)
        total, sums = source.total, ScoreSums(W, columns)
        return Prepared(W, exponent, lambda: _summary(total(sums).pair(pos_label, classes), W))
    M = checks.as_matrix(X)
    W, exponent = _checked(w, M.shape[1], unit_length)
    positive = _positive_rows(y, pos_label, classes)
    return Prepared(W, exponent, lambda: _summary(_in_memory(M, positive, W, columns), W))


def _checked(w: Any, n_features: int, unit_length: bool) -> tuple[Floats, Any]:
    W = checks.as_weights(device.to_host(w), n_features)
    if not unit_length:
        return W, 0
    exponent = np.frexp(np.max(np.abs(W), axis=0))[1]
    if np.abs(exponent).max() < SANE_EXPONENT:
        return W, 0
    return np.ldexp(W, -exponent), exponent


def _in_memory(M: Any, positive: Array, W: Floats, columns: bool) -> tuple[ClassSums | None, ClassSums | None]:
    checks.same_length(M.shape[0], positive.size)
    source = ArraySource(M, positive, _height(M, W, columns))
    try:
        sums = source.total(ScoreSums(W, columns))
    except checks.NotFiniteError:
        checks.finite_scores(np.concatenate([row_sums(block, W) for block in source.blocks()]), M)
        raise
    return sums.parts.get(False), sums.parts.get(True)


def _height(M: Any, W: Floats, columns: bool) -> int:
    """Rows per block: bounded by the size of the scores where the block is a view of X, else by that of its copy."""
    width = W[:1].size
    if columns or not _multiplied_in_place(M):
        return block_height(M, BLOCK_ELEMENTS, width)
    return max(BLOCK_ELEMENTS // width, MIN_HEIGHT)


def _multiplied_in_place(M: Any) -> bool:
    """Whether the matrix product reads the rows of M in place, without copying them."""
    if checks.is_sparse(M) or M.dtype != np.float64 or not M.flags.aligned:
        return False
    return 8 in M.strides and all(s >= 0 and s % 8 == 0 for s in M.strides)


def _summary(pair: tuple[ClassSums | None, ClassSums | None], W: Floats) -> Summary:
    negative, positive = (ClassSums(Moments.of(np.empty((0, *W.shape[1:]))), None) if p is None else p for p in pair)
    columns = None if negative.columns is None or positive.columns is None else (negative.columns, positive.columns)
    return Summary(ScoreStats(negative.scores, positive.scores), columns)


def _on_device(X: Any, y: Any, w: Any, pos_label: Any, classes: Any, columns: bool, unit_length: bool) -> Prepared:
    started = device.launched(X, y, w)
    # From here on the device computes, and the host checks the weights in the meantime.
    W, exponent = _checked(started.weights, int(X.shape[1]), unit_length)
    scaled = bool(np.any(exponent))

    def collect() -> Summary:
        with np.errstate(all="ignore"):  # non-finite values are refused below
            moments, labels = started.finish()
        stats = [_rescaled(m, -exponent) if scaled else m for m in moments]
        if not np.isfinite(stats[0].mean + stats[1].mean).all():
            _refuse_on_device(started.table())
        features = device.column_moments(started.table()) if columns else (None, None)
        by_label = ByLabel({k: ClassSums(s, f) for k, s, f in zip(labels, stats, features, strict=True)})
        return _summary(by_label.pair(pos_label, classes), W)

    return Prepared(W, exponent, collect)


def _rescaled(moments: Moments, exponent: Any) -> Moments:
    with np.errstate(over="ignore"):
        return Moments(moments.n, np.ldexp(moments.mean, exponent), np.ldexp(moments.scatter, 2 * exponent))


def _refuse_on_device(table: device.DeviceTable) -> None:
    where = device.first_not_finite(table.X)
    if where is not None:
        raise checks.NotFiniteError(
            f"X has NaN or infinity; first at {where}: impute or drop those rows before fitting."
        )
    raise checks.NotFiniteError("the scores X @ w overflow: rescale X or w.")


# ---- moments of the columns


def feature_moments(X: Any, positive: Array) -> tuple[Moments, Moments]:
    """Column means and scatters (P,) of both classes, a block of rows at a time, without a centred copy of X."""
    if hasattr(X, "class_moments"):  # a table that is not in memory
        negative, other = X.class_moments(positive)
        return negative, other
    sums = ArraySource(X, positive, block_height(X, BLOCK_ELEMENTS)).total(column_sums)
    return sums.parts[False], sums.parts[True]
