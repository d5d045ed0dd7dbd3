"""Number, mean and scatter of values, kept to full precision and merged exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Array, Floats
from foldless.errors import InputError

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
