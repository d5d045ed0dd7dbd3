"""Matrices that are read in blocks: arrays in memory, and the transformed rows of a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Array, Floats
from foldless.tables.block import Block, Moments, Source, Statistic
from foldless.tables.sums import column_sums, finite_block_scores

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
