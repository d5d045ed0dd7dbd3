"""Matrices that are read in blocks: their scores, sums over their rows, and rows that are not in memory.

Arrays and memory maps are read in blocks that are views; a `LazyMatrix` holds the transformed rows of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Array, Floats, slices
from foldless.errors import InputError
from foldless.tables.block import Block, ByLabel, Moments, Source, Statistic, split_by_label

# ---- Scores, and sums over a block of rows: moments of the scores, and of the columns, by label.

# Numbers of X converted to float64 at once; twice as many scores are held at once.
BLOCK_ELEMENTS = 1 << 19


def project(X: Any, w: Array) -> Floats:
    """Scores ``X @ w`` in float64; X of another type is upcast a block of rows at a time."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(X, Unloaded):
            scores: Floats = X @ w
            return scores
        if not isinstance(X, np.ndarray) or X.dtype == np.float64:  # sparse
            return np.asarray(X @ w, dtype=np.float64)
        out = np.empty((X.shape[0], *w.shape[1:]))
        for rows in slices(X.shape[0], X.shape[1], BLOCK_ELEMENTS):
            np.matmul(X[rows].astype(np.float64), w, out=out[rows])
        return out


@dataclass(frozen=True)
class ClassSums:
    """Moments of the scores of one class and, where asked for, of its columns."""

    scores: Moments
    columns: Moments | None

    def __add__(self, other: ClassSums) -> ClassSums:
        both = self.columns is not None and other.columns is not None
        return ClassSums(self.scores + other.scores, self.columns + other.columns if both else None)  # type: ignore[operator]


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """The statistic of a block of rows: moments by label along weights (P,) or (P, K)."""

    weights: Floats
    columns: bool = False

    def __call__(self, block: Block) -> ByLabel:
        if block.X.shape[1] != len(self.weights):
            raise InputError(
                f"w has {len(self.weights)} weights but X has {block.X.shape[1]} columns: they must match."
            )
        members = [(label, np.flatnonzero(mask)) for label, mask in split_by_label(block.y)]
        scores = self._score_moments(block, [rows for _, rows in members])
        return ByLabel(
            {
                label: ClassSums(moments, column_moments(block.X, rows) if self.columns else None)
                for (label, rows), moments in zip(members, scores, strict=True)
            }
        )

    def _score_moments(self, block: Block, members: list[Array]) -> list[Moments]:
        by_slice = [[Moments.of_rows(scores, rows) for rows in members] for scores in self._projected(block)]
        moments = [_side_by_side(list(parts)) for parts in zip(*by_slice, strict=True)]
        if not all(np.all(np.isfinite(m.mean)) for m in moments):
            checks.finite_scores(row_sums(block, self.weights), block.X, block.start)
        return moments

    def _projected(self, block: Block) -> Iterator[Floats]:
        """Scores of the block, for as many classifiers at a time as bounded memory allows."""
        W = self.weights
        if W.ndim == 1:
            yield project(block.X, W)
            return
        for part in slices(W.shape[1], len(block.y), 2 * BLOCK_ELEMENTS):
            yield project(block.X, W[:, part])


def finite_block_scores(block: Block, w: Floats) -> Floats:
    """Scores of a block; NaN and infinity are refused."""
    scores = project(block.X, w)
    checks.finite_scores(scores, block.X, block.start)
    return scores


def row_sums(block: Block, W: Floats) -> Floats:
    """One number per row, finite if and only if all scores of the row are."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.zeros(len(block.y))
        for scores in ScoreSums(W)._projected(block):
            total = total + (scores if scores.ndim == 1 else np.abs(scores).max(axis=1) + 0 * scores.sum(axis=1))
        return total


def _side_by_side(parts: list[Moments]) -> Moments:
    if len(parts) == 1:
        return parts[0]
    return Moments(parts[0].n, np.concatenate([m.mean for m in parts]), np.concatenate([m.scatter for m in parts]))


def column_sums(block: Block, labels: Array | None = None) -> ByLabel:
    """The statistic of a block of rows: moments of its columns by label, or by other labels."""
    members = split_by_label(block.y if labels is None else labels)
    return ByLabel({label: column_moments(block.X, np.flatnonzero(mask)) for label, mask in members})


def column_moments(X: Any, rows: Array) -> Moments:
    """Moments of the columns over some rows of a block."""
    if not checks.is_sparse(X):
        return Moments.of(np.asarray(X[rows], dtype=np.float64))
    n, part = len(rows), X[rows].astype(np.float64)
    if n == 0:
        return Moments.of(np.empty((0, X.shape[1])))
    with np.errstate(over="ignore", invalid="ignore"):  # callers refuse moments that are not finite
        mean = np.asarray(part.sum(axis=0)).ravel() / n
        squares = np.asarray(part.multiply(part).sum(axis=0)).ravel()
        scatter = np.maximum(squares - n * mean**2, 0.0)
    # The textbook sum of squares is accurate for values near zero, as in most sparse columns; the others are centred.
    far = np.flatnonzero(scatter < 1e-6 * squares)
    if far.size:
        scatter[far] = Moments.of(part[:, far].toarray()).scatter
    return Moments(n, mean, scatter)


# ---- Tables in memory, or mapped into it: blocks are views, nothing is copied whole.


@dataclass(frozen=True, eq=False)
class ArraySource(Source):
    """A NumPy array, memory map or CSR matrix with one label per row, read `height` rows at a time."""

    X: Any
    y: Array
    height: int

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def blocks(self) -> Iterator[Block]:
        for rows in slices(self.X.shape[0], 1, self.height):
            yield Block(self.X[rows], self.y[rows], rows.start)

    def labels(self) -> Array:
        return self.y


def block_height(X: Any, elements: int, width: int = 1) -> int:
    """Rows per block, so that neither its numbers nor `width` results per row exceed `elements`."""
    per_row = max(X.nnz // max(X.shape[0], 1), 1) if checks.is_sparse(X) else X.shape[1]
    return int(max(1, elements // max(per_row, width)))


# ---- A matrix that is not in memory: the transformed rows of a source, and products with them.


class Unloaded:
    """A matrix that is not in the memory of the host, and computes its products itself."""


class DeviceMatrix(Unloaded):
    """One on another device; see `TorchMatrix`."""

    gram_of_rows: Callable[[bool], Floats]
    extremes: Callable[[], Floats]


@dataclass(frozen=True, eq=False)
class Rows:
    """Results with one entry (or row) per row of the table; `+` concatenates them."""

    parts: tuple[Array, ...]

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.parts + other.parts)

    def joined(self) -> Any:
        """All of them, in the order of the table."""
        return np.concatenate(self.parts)


@dataclass(frozen=True, eq=False)
class LazyMatrix(Unloaded):
    """Rows of a source, each block passed through `transform`."""

    source: Source
    shape: tuple[int, int]
    transform: Callable[[Any], Any]

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        """`Source.total` of the transformed blocks: one pass."""
        return self.source.total(partial(_transformed, statistic=statistic, transform=self.transform), *vectors)

    def project(self, w: Floats) -> Floats:
        """Scores of all rows: one pass; an error names the first row with NaN or infinity."""
        scores: Floats = self.total(partial(_scores, weights=w)).joined()
        return scores

    __matmul__ = project

    def class_moments(self, positive: Array) -> tuple[Moments, Moments]:
        """Moments of the columns in the negative and in the positive class: one pass."""
        moments = self.total(column_sums, positive)
        return moments.parts[False], moments.parts[True]


def _transformed(block: Block, *vectors: Array, statistic: Statistic, transform: Callable[[Any], Any]) -> Any:
    return statistic(Block(transform(block.X), block.y, block.start), *vectors)


def _scores(block: Block, *, weights: Floats) -> Rows:
    return Rows((finite_block_scores(block, weights),))
