"""How the scales of columns change when rows, or groups of rows, leave a scaler.

A scaler divides each column by its standard deviation, its range or its largest absolute value. Without some rows it
divides by r times that; r^2 follows from a few figures of the column, which are measured in one pass.

Cells at the mean of their column were missing, and filled. They follow the mean of the others, which the removed rows
move: kept where they were, they would be all that varies in a column that one row alone holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from foldless.checks import Bools, Floats, Ints, dense
from foldless.honest.design import blocks
from foldless.model.steps import ScaledColumns, are_standardised

VANISHED = 1e-10  # r^2 below this is rounding: the column is constant without the rows, and has no weight
NO_WEIGHT = 1e10  # what r^2 is taken for then: the penalty leaves nothing, of filled cells that did not move either
BLOCK = 1 << 18  # entries of a table worked on at a time: fewer and wider products for the pairs, and 2 MB of memory
NEAR = 1e-6  # a value this close to the extreme, relative to the extent, holds it: the next one is as close
AT_MEAN = 1e-6  # a value this close to the mean of a scaled column stands for a missing one, which the mean replaced


@dataclass(frozen=True, eq=False)
class Spread:
    """Columns divided by their standard deviation: total weight of the rows, means and variances (p,); parts add.

    `own` (p,) is the weight of the cells that were not filled, with which the mean moves.
    """

    total: float
    mean: Floats
    variance: Floats
    own: Floats

    @classmethod
    def of(cls, values: Floats, weight: Floats | None, filled: Bools) -> Spread:
        """From the values (n, p), the weight of each row in the standard deviation, and which cells were filled."""
        c = np.ones(len(values)) if weight is None else weight
        total = float(c.sum())
        mean = c @ values / total if total > 0 else np.zeros(values.shape[1])
        own = total - (np.count_nonzero(filled, axis=0) if weight is None else weight @ filled)
        return cls(total, mean, c @ (values - mean) ** 2 / (total or 1.0), own)

    def __add__(self, other: Spread) -> Spread:
        total = self.total + other.total
        share, step = other.total / (total or 1.0), other.mean - self.mean
        within = (1.0 - share) * self.variance + share * other.variance
        return Spread(total, self.mean + share * step, within + share * (1.0 - share) * step**2, self.own + other.own)

    def at(self, part: slice) -> Spread:
        return Spread(self.total, self.mean[part], self.variance[part], self.own[part])

    def without_row(self, values: Floats, weight: Floats | None) -> Floats:
        """r^2 (n, p) without each of these rows: W/V - c O/(O - c)/V d^2, V = W - c, O `own`, d standardised."""
        c = 1.0 if weight is None else weight[:, None]
        left, varies = self.total - c, self.variance > 0
        ratio = values - self.mean
        ratio *= ratio
        per_row = np.divide(-self.own, self.variance, out=np.zeros(varies.size), where=varies)
        ratio *= per_row * (c / left / np.maximum(self.own - c, AT_MEAN))
        ratio += self.total / left
        # A column that does not vary is not divided by anything: it keeps its scale.
        return ratio if varies.all() else np.where(varies, ratio, 1.0)

    def ratio(self, lost: Floats, own: Floats, first: Floats, second: Floats) -> Floats:
        """r^2 (n, p) without sets of units (n, s, p): (W - sum c d^2)/V - (sum c d)^2/(V O), V and O what is left."""
        lost, own, first, second = (part.sum(axis=1) for part in (lost, own, first, second))
        moved = first**2 / np.maximum(self.own - own, AT_MEAN)
        return np.asarray(np.maximum((self.total - second - moved) / (self.total - lost), 0.0))


@dataclass(frozen=True, eq=False)
class Extent:
    """Columns divided by their range or largest absolute value: the three largest values of each side (3, p).

    `mean` (p,) tells which cells were filled: these hold no extreme.
    """

    tops: tuple[Floats, ...]
    mean: Floats

    @classmethod
    def of(cls, *sides: Floats, mean: Floats) -> Extent:
        """From the `sides` of some rows."""
        return cls(tuple(-np.sort(-side, axis=0)[:3] for side in sides), mean)

    def __add__(self, other: Extent) -> Extent:
        return Extent.of(*(np.vstack(both) for both in zip(self.tops, other.tops, strict=True)), mean=self.mean)

    def at(self, part: slice) -> Extent:
        return Extent(tuple(top[:, part] for top in self.tops), self.mean[part])

    def sides(self, values: Floats) -> tuple[Floats, ...]:
        return _sides(values, self.mean, both=len(self.tops) > 1)

    def without_row(self, values: Floats, weight: Floats | None) -> Floats:
        """r^2 (n, p) without each of these rows."""
        return self.ratio(*(side[:, None] for side in self.sides(values)))

    def ratio(self, *sides: Floats) -> Floats:
        """r^2 (n, p) without sets of units (n, s, p); it changes only if these alone hold an extreme."""
        whole = np.maximum(np.asarray(sum(top[0] for top in self.tops)), 0.0)
        near, without = NEAR * np.abs(whole), np.zeros_like(sides[0][:, 0])
        for top, side in zip(self.tops, sides, strict=True):
            place = np.zeros(without.shape, dtype=np.intp)
            for value in -np.sort(-side, axis=1).transpose(1, 0, 2):
                place += value >= np.take_along_axis(top, place, axis=0) - near
            without += np.take_along_axis(top, place, axis=0)
        without = np.maximum(without, 0.0)
        return np.asarray(np.where(whole > 0, without / np.where(whole > 0, whole, 1.0), 1.0) ** 2)


def _sides(values: Floats, mean: Floats, both: bool) -> tuple[Floats, ...]:
    """The values (n, p) and, where the range counts, the values with the sign changed; nothing for filled cells."""
    none = _filled(values, mean)
    return tuple(np.where(none, -np.inf, side) for side in ((values, -values) if both else (np.abs(values),)))


def _filled(values: Floats, mean: Floats) -> Bools:
    return np.asarray(np.abs(values - mean) <= AT_MEAN)


Scale = Spread | Extent


@dataclass(frozen=True, eq=False)
class Units:
    """Groups of rows, and what each holds of the scales of some columns (units, p)."""

    scale: Scale
    held: tuple[Floats, ...]

    @classmethod
    def of(cls, scaled: ScaledColumns, values: Floats, codes: Ints) -> Units:
        """From the values (N, p) of all rows."""
        scale: Scale = scaled.scale
        if isinstance(scale, Extent):
            held = tuple(per_unit(np.maximum, side, codes) for side in scale.sides(values))
            return cls(Extent.of(*held, mean=scale.mean), held)
        c = np.ones((len(values), 1)) if scaled.weight is None else scaled.weight[:, None]
        d = (values - scale.mean) / np.sqrt(np.where(scale.variance > 0, scale.variance, 1.0))
        d2 = np.where(scale.variance > 0, d**2, 1.0)  # a column that does not vary keeps its scale
        own = c * ~_filled(values, scale.mean)
        return cls(scale, tuple(per_unit(np.add, part, codes) for part in (c, own, c * d, c * d2)))

    def ratio(self, sets: Ints) -> Floats:
        """r^2 (n, p) without each of these sets (n, s) of groups."""
        return self.scale.ratio(*(part[sets] for part in self.held))


def per_unit(combine: np.ufunc, values: Floats, codes: Ints) -> Floats:
    """Rows of one group combined into one."""
    order = np.argsort(codes, kind="stable")
    return np.asarray(combine.reduceat(values[order], np.flatnonzero(np.diff(codes[order], prepend=-1)), axis=0))


# ---- How the scale of the columns follows from their values: in blocks of rows, whose parts add.


@dataclass(frozen=True, eq=False)
class Measured:
    """Scales of each of the scaled columns, and once more with the sample weights, if there are any; parts add."""

    scales: tuple[Scale, ...]

    @classmethod
    def of(cls, X: Any, weight: Floats | None, *, scaled: tuple[ScaledColumns, ...]) -> Measured:
        """From some rows X and their weights."""
        values = [(part, dense(X[:, part.columns])) for part in scaled]
        return cls(tuple(_scale(*each, c) for c in (None, weight)[: 1 + (weight is not None)] for each in values))

    def __add__(self, other: Measured) -> Measured:
        return Measured(tuple(a + b for a, b in zip(self.scales, other.scales, strict=True)))  # type: ignore[operator]

    def chosen(self, scaled: tuple[ScaledColumns, ...], weight: Floats | None) -> tuple[ScaledColumns, ...]:
        """The columns with their scales, weighted where that gives unit variance; less those not `given` after all."""
        out = [replace(part, scale=scale) for part, scale in zip(scaled, self.scales, strict=False)]
        for k, scale in enumerate(self.scales[len(scaled) :]):
            if isinstance(scale, Spread) and np.allclose(scale.variance[scale.variance > 0], 1.0):
                out[k] = replace(scaled[k], scale=scale, weight=weight)
        return tuple(p for p in out if not p.given or are_standardised(p.scale.mean, p.scale.variance, p.scale.total))


def measured(X: Any, scaled: tuple[ScaledColumns, ...], weight: Floats | None) -> tuple[ScaledColumns, ...]:
    """The scaled columns of a matrix in memory, with their scales."""
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    scaled = tuple(replace(part, mean=mean[part.columns]) for part in scaled)
    parts = blocks(X.shape[0], X.shape[1], BLOCK)
    each = (Measured.of(X[part], None if weight is None else weight[part], scaled=scaled) for part in parts)
    return reduce(add, each).chosen(scaled, weight)


def _scale(part: ScaledColumns, values: Floats, weight: Floats | None) -> Scale:
    # The mean of columns that are read block by block is known if it is 0.
    mean = np.full(part.width, 0.0 if part.centred else np.nan) if part.mean is None else part.mean
    if part.kind == "sd":
        return Spread.of(values, weight, _filled(values, mean))
    return Extent.of(*_sides(values, mean, part.kind == "range"), mean=mean)


def change_without_row(X: Any, scaled: tuple[ScaledColumns, ...], rows: slice) -> Floats:
    """r^2 - 1 of all columns (rows, P), each row removed alone."""
    values = dense(X[rows])
    change = np.zeros(values.shape)
    for part in scaled:
        weight = None if part.weight is None else part.weight[rows]
        change[:, part.columns] = part.scale.without_row(values[:, part.columns], weight) - 1.0
    return np.where(change < VANISHED - 1.0, NO_WEIGHT, change)
