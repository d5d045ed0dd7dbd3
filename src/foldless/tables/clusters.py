"""Dask arrays: the statistics of a block are computed where it lies, and merged as a tree.

Only statistics travel. With a `dask.distributed` client in use, its cluster does the work and repeats the blocks of
a worker that is lost; without one, Dask's threads do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Array
from foldless.errors import InputError
from foldless.tables.block import Block, Statistic, no_rows, same_rows

FAN_IN = 8  # statistics merged by one task


def recognises(X: Any, y: Any) -> bool:
    """A Dask array, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "to_delayed")


def open_source(X: Any, y: Any) -> DaskSource:
    """A Dask array with labels: a Dask array again, or anything with one label per row."""
    if hasattr(X, "columns"):
        raise InputError("X is a Dask data frame: pass X.to_dask_array(lengths=True) and y likewise.")
    if X.ndim != 2:
        raise InputError(f"X must have two dimensions (rows x features), got {X.ndim}.")
    X = _with_known_shape(X)
    rows = X.chunks[0]
    checks.same_length(int(X.shape[0]), _length(y))
    return DaskSource(X.rechunk({1: X.shape[1]}), _like_rows(y, rows))


@dataclass(frozen=True, eq=False)
class DaskSource:
    """Blocks of rows of a Dask array, and a Dask array of labels cut in the same places."""

    X: Any
    y: Any

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def repeatable(self) -> bool:
        return True

    def blocks(self) -> Iterator[Block]:
        for X, y, start, _ in self._parts():
            values, labels = _compute(X, y)
            yield _block(values, labels, start)

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        from dask import delayed

        task = delayed(_apply, pure=False)
        return tree_total(
            task(statistic, X, y, start, *(v[start : start + n] for v in vectors)) for X, y, start, n in self._parts()
        )

    def labels(self) -> Array:
        return np.asarray(_compute(self.y)[0])

    def _parts(self) -> Iterator[tuple[Any, Any, int, int]]:
        start = 0
        for X, y, n in zip(self.X.to_delayed().ravel(), self.y.to_delayed().ravel(), self.X.chunks[0], strict=True):
            if n:
                yield X, y, start, n
            start += n


@dataclass(frozen=True)
class SpreadSource:
    """A source in parts, such as the row groups of Parquet files, whose statistics Dask computes part by part."""

    whole: Any

    @property
    def n_features(self) -> int | None:
        features: int | None = self.whole.n_features
        return features

    @property
    def repeatable(self) -> bool:
        return True

    def blocks(self) -> Iterator[Block]:
        yield from self.whole.blocks()

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        from dask import delayed

        task = delayed(_part_total, pure=False)
        tasks, start = [], 0
        for part, n in self.whole.parts():
            tasks.append(task(part, statistic, start, *(v[start : start + n] for v in vectors)))
            start += n
        return tree_total(tasks)

    def labels(self) -> Array:
        return np.asarray(self.whole.labels())

    def with_features(self, names: list[str]) -> SpreadSource:
        """The same with other columns."""
        return SpreadSource(self.whole.with_features(names))

    @property
    def features(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self.whole.features
        return names


def tree_total(parts: Iterable[Any]) -> Any:
    """Sum of delayed statistics, neighbours first."""
    from dask import delayed

    level, merge = list(parts), delayed(_merged, pure=False)
    if not level:
        raise no_rows()
    while len(level) > 1:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return _compute(level[0])[0]


def _part_total(part: Any, statistic: Statistic, offset: int, *vectors: Array) -> Any:
    def here(block: Block) -> Any:
        rows = slice(block.start - offset, block.start - offset + len(block.y))
        return statistic(block, *(v[rows] for v in vectors))

    return part.total(here)


def _apply(statistic: Statistic, X: Any, y: Any, start: int, *vectors: Array) -> Any:
    return statistic(_block(X, y, start), *vectors)


def _block(X: Any, y: Any, start: int) -> Block:
    M = checks.as_matrix(X)
    return Block(M, same_rows(M.shape[0], y), start)


def _merged(parts: list[Any]) -> Any:
    return reduce(add, parts)


def _compute(*tasks: Any) -> tuple[Any, ...]:
    import dask

    computed: tuple[Any, ...] = dask.compute(*tasks)
    return computed


def _with_known_shape(X: Any) -> Any:
    if any(np.isnan(n) for sizes in X.chunks for n in sizes):
        X = X.compute_chunk_sizes()
    if 0 in X.shape:
        raise InputError(f"X is empty: got shape {X.shape}, expected at least one row and one column.")
    return X


def _length(y: Any) -> int:
    if recognises(y, None):
        return int(y.compute_chunk_sizes().shape[0]) if any(np.isnan(n) for n in y.chunks[0]) else int(y.shape[0])
    return int(checks.label_vector(y).size)


def _like_rows(y: Any, rows: tuple[int, ...]) -> Any:
    import dask.array as da

    if not recognises(y, None):
        return da.from_array(checks.label_vector(y), chunks=(rows,))
    if any(np.isnan(n) for n in y.chunks[0]):
        y = y.compute_chunk_sizes()
    return y.rechunk((rows,) if y.ndim == 1 else (rows, y.shape[1]))
