"""A block of rows: what every source of blocks provides, and the statistics that add up over blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from foldless import checks, words
from foldless.checks import Array, Floats
from foldless.errors import InputError

# ---- Some rows of a table, and what every source of them can do.

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
    """A table that is read a block of rows at a time; a kind of table has to say `n_features` and `blocks`."""

    @property
    def n_features(self) -> int | None:
        """Number of columns, None where only reading tells."""
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
        """The labels of all rows; X is not read where that can be helped."""
        return joined_labels(block.y for block in self.blocks())


def joined_labels(parts: Iterable[Array]) -> Array:
    """The labels of blocks that come one after the other."""
    labels = list(parts)
    if not labels:
        raise no_rows()
    return np.concatenate(labels)


def no_rows() -> InputError:
    """The complaint about a table without rows."""
    return InputError("X is empty: got no rows, expected at least one.")


# ---- A look at columns before they are used: what is missing, what is infinite, and which ones number the rows.


@dataclass(frozen=True, eq=False)
class ColumnLook:
    """Of each column of some rows; the parts of neighbours add, in the order of the table.

    Attributes
    ----------
    missing, infinite, negative : numbers of such values
    first, last : values of the first and of the last row
    counting : whether each value is the one before plus 1
    """

    missing: Array
    infinite: Array
    negative: Array
    first: Array
    last: Array
    counting: Array

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

Bools = npt.NDArray[np.bool_]


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
        _at_most_two(list(merged))
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
    """Each label of a block with the rows that bear it, in linear time; more than two labels are refused."""
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
            _at_most_two(checks.distinct(values).tolist())
        parts.append((label.item() if isinstance(label, np.generic) else label, same))
        left &= ~same
    return parts


def _at_most_two(labels: list[Any]) -> None:
    if len(labels) <= 2:
        return
    if len(labels) > 20 and all(isinstance(v, float) for v in labels):
        raise InputError(f"y has {len(labels)} distinct values and looks continuous: expected two classes.")
    raise InputError(
        f"y has {len(labels)} classes or more ({words.listed(labels)}), expected two: "
        f"keep the rows of two classes, or turn y into one class against the rest."
    )


def same_rows(n_rows: int, y: Array) -> Array:
    """Labels of a block, refused unless there is one per row."""
    labels = checks.label_vector(y)
    checks.same_length(n_rows, labels.size)
    return labels


# ---- Number, mean and scatter of values, kept to full precision and merged exactly.

CACHED = 1 << 15  # values whose moments are taken at once: they stay in the cache


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
        with np.errstate(over="ignore", invalid="ignore"):  # whoever uses an overflowing scatter refuses it
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
        with np.errstate(over="ignore", invalid="ignore"):  # whoever uses an overflowing scatter refuses it
            step = other.mean - self.mean
            return Moments(n, self.mean + step * share, self.scatter + other.scatter + step**2 * (self.n * share))
