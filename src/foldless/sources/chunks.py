"""Iterables of (X, y) pairs: whatever produces a table piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless import _check
from foldless._check import Array
from foldless.errors import InputError
from foldless.sources.block import Block, Statistic, folded
from foldless.sources.labels import same_rows

EXPECTED = "expected pairs (X_chunk, y_chunk)"


def recognises(X: Any, y: Any) -> bool:
    """An iterator, a function that returns one, or a list of pairs; the labels come with the chunks."""
    if y is not None:
        return False
    return isinstance(X, Iterator) or callable(X) or _is_list_of_pairs(X)


def open_source(X: Any, y: Any) -> ChunkSource:
    """Chunks as a source. Only a function or a list can be read more than once."""
    if isinstance(X, Iterator):
        return ChunkSource(X, False)
    return ChunkSource(X, True)


@dataclass(frozen=True, eq=False)
class ChunkSource:
    """Chunks of a table; each is checked as it comes."""

    origin: Iterable[Any] | Callable[[], Iterable[Any]]
    repeatable: bool

    @property
    def n_features(self) -> None:
        return None

    def blocks(self) -> Iterator[Block]:
        start, width = 0, None
        for number, chunk in enumerate(self.origin() if callable(self.origin) else self.origin):
            X, y = _opened(chunk, number)
            if width not in (None, X.shape[1]):
                raise InputError(f"chunk {number} has {X.shape[1]} columns, those before it {width}: they must match.")
            width = X.shape[1]
            yield Block(X, y, start)
            start += len(y)

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        return folded(self.blocks(), statistic, vectors)

    def labels(self) -> Array:
        return np.concatenate([block.y for block in self.blocks()])


def _is_list_of_pairs(X: Any) -> bool:
    return isinstance(X, list | tuple) and bool(X) and all(isinstance(c, tuple) and len(c) == 2 for c in X)


def _opened(chunk: Any, number: int) -> tuple[Any, Array]:
    try:
        X, y = chunk
    except (TypeError, ValueError) as err:
        raise InputError(f"chunk {number} is a {type(chunk).__name__}: {EXPECTED}.") from err
    M = _check.as_matrix(X)
    return M, same_rows(M.shape[0], y)
