"""Iterables of (X, y) pairs: anything that produces a table in chunks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.checks import Array
from foldless.errors import InputError
from foldless.tables.block import Block, Source
from foldless.tables.device import is_device_array, to_host

NO_CHUNKS = (str, bytes, bytearray, os.PathLike, Mapping, Set, list, tuple)
TABLE_MARKS = ("shape", "columns", "__array__", "__dataframe__", "__arrow_c_stream__")


def recognises(X: Any, y: Any) -> bool:
    """An iterable of pairs, or a function that returns one; the labels come with the chunks."""
    if y is not None:
        return False
    pairs = isinstance(X, list | tuple) and bool(X) and all(_is_pair(chunk) for chunk in X)
    return isinstance(X, Iterator) or callable(X) or pairs or _is_loader(X)


def open_source(X: Any, y: Any) -> ChunkSource:
    """Chunks as a source."""
    return ChunkSource(X)


@dataclass(frozen=True, eq=False)
class ChunkSource(Source):
    """Chunks of a table, each checked as it arrives."""

    origin: Iterable[Any] | Callable[[], Iterable[Any]]
    known: Array | None = None  # labels of an earlier pass; every later pass must give the same

    @property
    def n_features(self) -> None:
        return None

    @property
    def repeatable(self) -> bool:
        return not isinstance(self.origin, Iterator)

    def blocks(self) -> Iterator[Block]:
        before, start = None, 0
        for number, chunk in enumerate(self.origin() if callable(self.origin) else self.origin):
            block = _opened(chunk, number, start)
            if block is None:
                continue
            _same_columns(block, before, number)
            if self.known is not None and not np.array_equal(self.known[block.rows], block.y):
                raise _not_repeated(f"chunk {number} has other labels than before")
            yield block
            before, start = block, start + len(block.y)
        if self.known is not None and start != self.known.size:
            raise _not_repeated(f"{start} rows, {self.known.size} before")

    def repeating(self, labels: Array) -> ChunkSource:
        """The same source, for passes that must give these labels again, row by row."""
        return replace(self, known=labels)


def _is_pair(chunk: Any) -> bool:
    """A tuple of two; a list of two must start with a table, or it may be a row of numbers."""
    if isinstance(chunk, tuple):
        return len(chunk) == 2
    return isinstance(chunk, list) and len(chunk) == 2 and len(getattr(chunk[0], "shape", ())) == 2


def _is_loader(X: Any) -> bool:
    """An iterable such as PyTorch's DataLoader, and not a table itself."""
    return isinstance(X, Iterable) and not isinstance(X, NO_CHUNKS) and not any(hasattr(X, m) for m in TABLE_MARKS)


def _opened(chunk: Any, number: int, start: int) -> Block | None:
    """The rows of a chunk; None if it is empty."""
    try:
        X, y = chunk
    except (TypeError, ValueError) as err:
        raise InputError(f"chunk {number} is a {type(chunk).__name__}: expected pairs (X_chunk, y_chunk).") from err
    X, y = (to_host(part) if is_device_array(part) else part for part in (X, y))
    if _is_empty(X):
        checks.same_length(0, int(np.size(y)))
        return None
    return Block.of(X, y, start, checks.column_names(X))


def _is_empty(X: Any) -> bool:
    shape = getattr(X, "shape", None)
    return shape[0] == 0 if shape else isinstance(X, list | tuple) and not X


def _same_columns(block: Block, before: Block | None, number: int) -> None:
    if before is None:
        return
    width, expected = block.X.shape[1], before.X.shape[1]
    if width != expected:
        raise InputError(f"chunk {number} has {width} columns, those before it {expected}: they must match.")
    if block.names != before.names:
        raise InputError(
            f"chunk {number} has columns {_named(block)}, those before it {_named(before)}: "
            f"every chunk needs the same columns in the same order."
        )


def _named(block: Block) -> str:
    return "without names" if block.names is None else words.listed(block.names)


def _not_repeated(how: str) -> InputError:
    return InputError(
        f"the chunks are read several times and came out differently ({how}): every pass must give the same rows "
        f"in the same order, so make a fresh iterator each time and do not shuffle."
    )
