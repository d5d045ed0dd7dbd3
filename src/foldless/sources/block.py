"""Some rows of a table, and what every source of them can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from foldless._check import Array
from foldless.errors import InputError

# What is computed from a block (and from the entries of some vectors that belong to its rows); parts add with `+`.
Statistic = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of X (dense or CSR), their labels, and the place of the first row in the whole table."""

    X: Any
    y: Array
    start: int = 0
    names: tuple[str, ...] | None = None  # of the columns, where the rows came as a data frame

    @property
    def rows(self) -> slice:
        """Their place in the whole table."""
        return slice(self.start, self.start + len(self.y))


@runtime_checkable
class Source(Protocol):
    """A table that is read a block of rows at a time."""

    @property
    def n_features(self) -> int | None:
        """Number of columns, None where only reading tells."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether the table can be read more than once."""
        ...

    def blocks(self) -> Iterator[Block]:
        """The rows in order, one pass."""
        ...

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        """Sum over the blocks of ``statistic(block, *(v[block.rows] for v in vectors))``, one pass."""
        ...

    def labels(self) -> Array:
        """The labels of all rows; X is not read where that can be helped."""
        ...


def folded(blocks: Iterable[Block], statistic: Statistic, vectors: tuple[Array, ...]) -> Any:
    """`Source.total` for blocks that come one after the other."""
    total = None
    for block in blocks:
        part = statistic(block, *(v[block.rows] for v in vectors))
        total = part if total is None else total + part
    if total is None:
        raise no_rows()
    return total


def joined_labels(parts: Iterable[Array]) -> Array:
    """The labels of blocks that come one after the other."""
    found = list(parts)
    if not found:
        raise no_rows()
    return np.concatenate(found)


def no_rows() -> InputError:
    """The complaint about a table without rows."""
    return InputError("X is empty: got no rows, expected at least one.")
