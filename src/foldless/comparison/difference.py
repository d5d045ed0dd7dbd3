"""`Difference`: what is known about the difference of two AUCs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.checks import Floats, as_numbers, as_probabilities
from foldless.results.auc import WithQuantiles, drawn

# Probabilities at which knots are placed, evenly spaced in log odds: fine in the tails as in the middle.
KNOTS = 1 / (1 + np.exp(-np.linspace(-16.0, 16.0, 401)))


@dataclass(frozen=True, eq=False)
class Difference(WithQuantiles):
    """Posterior of a difference of two AUCs: its cdf is linear between `points`.

    Two classifiers that rank all rows alike differ by exactly 0: `Difference.none()`.

    Attributes
    ----------
    points : array of shape (K,)
        Differences in increasing order.
    below : array of shape (K,)
        Probability that the difference is at most each of them, from 0 to 1.
    """

    points: Floats
    below: Floats

    @classmethod
    def of(cls, points: Any, below: Any) -> Difference:
        """The law with the given cdf, made increasing and read-only."""
        x = np.array(points, dtype=np.float64)
        p = np.maximum.accumulate(np.clip(np.array(below, dtype=np.float64), 0.0, 1.0))
        p[0], p[-1] = 0.0, 1.0
        for values in (x, p):
            values.setflags(write=False)
        return cls(x, p)

    @classmethod
    def none(cls) -> Difference:
        """The law of a difference that is exactly 0."""
        return cls.of([0.0, 0.0], [0.0, 1.0])

    @classmethod
    def of_draws(cls, draws: Floats) -> Difference:
        """The law of equally likely draws."""
        points = np.concatenate([[draws.min()], np.quantile(draws, KNOTS), [draws.max()]])
        return cls.of(points, np.concatenate([[0.0], KNOTS, [1.0]]))

    def mirrored(self) -> Difference:
        """The law of the difference with the two classifiers swapped."""
        return Difference.of(0.0 - self.points[::-1], 1.0 - self.below[::-1])

    @property
    def exactly_zero(self) -> bool:
        """Whether the two classifiers rank all rows alike."""
        return bool(self.points[0] == self.points[-1] == 0.0)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(np.diff(self.below) @ self._middles)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        within = np.square(np.diff(self.points)) / 12
        return float(np.sqrt(np.diff(self.below) @ (np.square(self._middles - self.mean) + within)))

    def cdf(self, x: Any) -> Floats:
        """Posterior probability that the difference is at most `x`."""
        return self._probability_up_to(as_numbers(x, "x"), "right")

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""
        return np.asarray(np.interp(as_probabilities(q, "q"), self.below, self.points))[()]

    def pdf(self, x: Any) -> Floats:
        """Posterior density; infinite at 0 for a difference of exactly 0."""
        x = as_numbers(x, "x")
        if self.exactly_zero:
            return np.where(x == 0, np.inf, 0.0)[()]
        wide = np.diff(self.points) > 0
        left, height = self.points[:-1][wide], np.diff(self.below)[wide] / np.diff(self.points)[wide]
        cell = np.clip(np.searchsorted(left, x, side="right") - 1, 0, left.size - 1)
        return np.where((x < self.points[0]) | (x > self.points[-1]), 0.0, height[cell])[()]

    def sample(self, size: Any = None, rng: np.random.Generator | int | None = None) -> Floats:
        """Random draws from the posterior."""
        return self.ppf(drawn(lambda source: source.random(size), size, rng))

    def beyond(self, rope: float) -> tuple[float, float, float]:
        """Probabilities that the difference is above `rope`, within [-rope, rope], and below -rope."""
        below = float(self._probability_up_to(np.asarray(-rope), "left"))
        up_to = float(self._probability_up_to(np.asarray(rope), "right"))
        return 1.0 - up_to, up_to - below, below

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"Difference(mean={self.mean:+.3f}, 95% interval [{low:+.3f}, {high:+.3f}])"

    @property
    def _middles(self) -> Floats:
        return np.asarray((self.points[1:] + self.points[:-1]) / 2)

    def _probability_up_to(self, x: Floats, side: Any) -> Floats:
        """P(difference <= x) for side "right", P(difference < x) for "left": they differ only at an atom."""
        if self.exactly_zero:
            return np.where(x >= 0 if side == "right" else x > 0, 1.0, 0.0)[()]
        return np.asarray(np.interp(x, self.points, self.below))[()]
