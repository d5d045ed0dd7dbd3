"""A block of rows: what every source of blocks provides, and the statistics that add up over blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from foldless import checks
from foldless.checks import Array, Bools, Floats
from foldless.errors import InputError

# ---- Some rows of a table, and what every source of them can do.

# A function of a block, and of the entries of some vectors for its rows; its results add with `+`.
Statistic = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of X (dense or CSR), their labels, and the place of the first row in the whole table."""

    X: Any
    y: Array
    start: int = 0
    names: tuple[str, ...] | None = None  # of the columns, if the rows came as a data frame

    @classmethod
    def of(cls, X: Any, y: Any, start: int, names: list[str] | None = None) -> Block:
        """A block from any table, checked: numbers, and one label per row."""
        M, labels = checks.as_matrix(X), checks.label_vector(y)
        checks.same_length(M.shape[0], labels.size)
        return cls(M, labels, start, None if names is None else tuple(names))

    @property
    def rows(self) -> slice:
        """The place of the rows in the whole table."""
        return slice(self.start, self.start + len(self.y))


@runtime_checkable
class Source(Protocol):
    """A table that is read a block of rows at a time; each kind of table has its own `n_features` and `blocks`."""

    @property
    def n_features(self) -> int | None:
        """Number of columns; None if unknown before reading."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether the table can be read more than once."""
        return True

    def blocks(self) -> Iterator[Block]:
        """The rows in order, one pass."""
        ...

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        """Sum over the blocks of ``statistic(block, *(v[block.rows] for v in vectors))``, one pass."""
        total = None
        for block in self.blocks():
            part = statistic(block, *(v[block.rows] for v in vectors))
            total = part if total is None else total + part
        if total is None:
            raise no_rows()
        return total

    def labels(self) -> Array:
        """The labels of all rows, without reading X if possible."""
        return joined_labels(block.y for block in self.blocks())


def joined_labels(parts: Iterable[Array]) -> Array:
    """The labels of consecutive blocks."""
    labels = list(parts)
    if not labels:
        raise no_rows()
    return np.concatenate(labels)


def no_rows() -> InputError:
    """The error for a table without rows."""
    return InputError("X is empty: got no rows, expected at least one.")


# ---- Columns before they are used: missing and infinite values, and columns that merely number the rows.


@dataclass(frozen=True, eq=False)
class ColumnLook:
    """Facts about each column of some rows; those of consecutive blocks add, in the order of the table."""

    missing: Array  # number of missing values
    infinite: Array  # number of infinite values
    negative: Array  # number of negative values
    first: Array  # value in the first row
    last: Array  # value in the last row
    counting: Array  # whether each value is the previous one plus 1

    def __add__(self, after: ColumnLook) -> ColumnLook:
        goes_on = after.first == self.last + 1
        return ColumnLook(
            self.missing + after.missing,
            self.infinite + after.infinite,
            self.negative + after.negative,
            self.first,
            after.last,
            self.counting & after.counting & goes_on,
        )


def look_at_columns(block: Block) -> ColumnLook:
    """The statistic of a dense block."""
    X = np.asarray(block.X)
    return ColumnLook(
        np.isnan(X).sum(axis=0),
        np.isinf(X).sum(axis=0),
        (X < 0).sum(axis=0),
        X[0].copy(),
        X[-1].copy(),
        np.all(X[1:] == X[:-1] + 1, axis=0),
    )


# ---- Statistics per label. Which two classes a stream holds is known only once it has been read.


@dataclass(frozen=True)
class ByLabel:
    """One statistic per label; two of them add label by label."""

    parts: Mapping[Any, Any]

    def __add__(self, other: ByLabel) -> ByLabel:
        if not isinstance(other, ByLabel):
            return NotImplemented
        merged = dict(self.parts)
        for label, part in other.parts.items():
            merged[label] = merged[label] + part if label in merged else part
        checks.refuse_many_classes(list(merged), "or more ")
        return ByLabel(merged)

    def pair(self, pos_label: Any = None, classes: Any = None) -> tuple[Any, Any]:
        """The statistics of the negative and of the positive class; None for a class that has no rows."""
        present = list(self.parts)
        if classes is None and pos_label is None and len(present) == 2 and type(present[0]) is type(present[1]) is int:
            return self.parts[min(present)], self.parts[max(present)]  # nothing to check
        if classes is None:
            labels = checks.as_labels(np.array(present, dtype=object), pos_label=pos_label)
        else:
            labels = checks.as_partial_labels(np.array(present, dtype=object), classes, pos_label=pos_label)
        return self.parts.get(labels.negative_label), self.parts.get(labels.positive_label)


def split_by_label(y: Any) -> list[tuple[Any, Bools]]:
    """Each label of a block with the rows that have it, in linear time; more than two labels are refused."""
    values = np.asarray(y)
    if values.dtype == np.bool_:
        return [(label, rows) for label, rows in ((False, ~values), (True, values)) if rows.any()]
    values = checks.label_vector(y)
    parts: list[tuple[Any, Bools]] = []
    left = np.ones(values.size, dtype=bool)
    while left.any():
        label = values[int(np.argmax(left))]
        same = np.asarray(values == label, dtype=bool)
        if len(parts) == 2:
            checks.refuse_many_classes(checks.distinct(values).tolist(), "or more ")
        parts.append((label.item() if isinstance(label, np.generic) else label, same))
        left &= ~same
    return parts


# ---- Number, mean and scatter of values, in full precision and merged exactly.

CACHED = 1 << 15  # values processed at once, few enough to stay in the cache


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
        with np.errstate(over="ignore", invalid="ignore"):  # callers refuse a scatter that overflows
            provisional = values.mean(axis=0, dtype=np.float64)
            deviations = values - provisional
            correction = deviations.mean(axis=0)
            scatter = np.einsum("i...,i...->...", deviations, deviations) - n * correction**2
            return cls(n, provisional + correction, np.maximum(scatter, 0.0))

    @classmethod
    def of_rows(cls, values: Floats, rows: Array) -> Moments:
        """Moments of some rows, gathered and summed up a cache-sized part at a time."""
        step = max(1, CACHED // max(1, values[:1].size))
        total = cls.of(values[rows[:step]])
        for start in range(step, len(rows), step):
            total = total + cls.of(values[rows[start : start + step]])
        return total

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if np.shape(self.mean) != np.shape(other.mean):
            raise InputError("statistics of different numbers of classifiers cannot be added.")
        n = self.n + other.n
        if n == 0:
            return self
        share = other.n / n
        with np.errstate(over="ignore", invalid="ignore"):  # callers refuse a scatter that overflows
            step = other.mean - self.mean
            return Moments(n, self.mean + step * share, self.scatter + other.scatter + step**2 * (self.n * share))
