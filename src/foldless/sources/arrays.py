"""Tables in memory, or mapped into it: blocks are views, nothing is copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from foldless import _check
from foldless._check import Array
from foldless.sources.block import Block, Statistic, folded


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A NumPy array, memory map or CSR matrix with one label per row, read `height` rows at a time."""

    X: Any
    y: Array
    height: int

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def repeatable(self) -> bool:
        return True

    def blocks(self) -> Iterator[Block]:
        for start in range(0, self.X.shape[0], self.height):
            rows = slice(start, start + self.height)
            yield Block(self.X[rows], self.y[rows], start)

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        return folded(self.blocks(), statistic, vectors)

    def labels(self) -> Array:
        return self.y


def block_height(X: Any, elements: int, width: int = 1) -> int:
    """Rows whose numbers, and `width` results for each, stay within so many elements."""
    per_row = max(X.nnz // max(X.shape[0], 1), 1) if _check.is_sparse(X) else X.shape[1]
    return int(max(1, elements // max(per_row, width)))
