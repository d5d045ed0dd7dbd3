"""Matrices that are read in blocks: arrays in memory, and the rows of a source after a transformation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Array, Floats
from foldless.tables.block import Block, Moments, Source, Statistic
from foldless.tables.sums import ColumnSums, finite_block_scores

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
        for start in range(0, self.X.shape[0], self.height):
            rows = slice(start, start + self.height)
            yield Block(self.X[rows], self.y[rows], start)

    def labels(self) -> Array:
        return self.y


def block_height(X: Any, elements: int, width: int = 1) -> int:
    """Rows whose numbers, and `width` results for each, stay within so many elements."""
    per_row = max(X.nnz // max(X.shape[0], 1), 1) if checks.is_sparse(X) else X.shape[1]
    return int(max(1, elements // max(per_row, width)))


# ---- A matrix that is not in memory: the rows of a source after a transformation, with the products that methods need.


@dataclass(frozen=True, eq=False)
class Rows:
    """Results with one entry (or row) per row of the table; parts add by concatenation."""

    parts: tuple[Array, ...]

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.parts + other.parts)

    def joined(self) -> Any:
        """All of them, in the order of the table."""
        return np.concatenate(self.parts)


@dataclass(frozen=True, eq=False)
class LazyMatrix:
    """Rows of a source, each block passed through `transform`; every method that says so is one pass."""

    source: Source
    shape: tuple[int, int]
    transform: Callable[[Any], Any]

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        """`Source.total` of the transformed blocks: one pass."""
        return self.source.total(Transformed(statistic, self.transform), *vectors)

    def project(self, w: Floats) -> Floats:
        """Scores of all rows: one pass; a NaN is an error that names its row."""
        scores: Floats = self.total(Scores(w)).joined()
        return scores

    def __matmul__(self, w: Floats) -> Floats:
        return self.project(w)

    def class_moments(self, positive: Array) -> tuple[Moments, Moments]:
        """Moments of the columns in the negative and in the positive class: one pass."""
        moments = self.total(labelled_columns, positive)
        return moments.parts[False], moments.parts[True]


@dataclass(frozen=True, eq=False)
class Transformed:
    """A statistic of transformed rows."""

    statistic: Statistic
    transform: Callable[[Any], Any]

    def __call__(self, block: Block, *vectors: Array) -> Any:
        return self.statistic(Block(self.transform(block.X), block.y, block.start), *vectors)


@dataclass(frozen=True, eq=False)
class Scores:
    """The statistic that keeps every score."""

    weights: Floats

    def __call__(self, block: Block) -> Rows:
        return Rows((finite_block_scores(block, self.weights),))


def labelled_columns(block: Block, positive: Array) -> Any:
    """Moments of the columns, with labels given from outside."""
    return ColumnSums()(Block(block.X, positive, block.start))
