"""Ranks on a normal scale: what the scores would be at their ranks if both classes were normal.

Normal scores of the ranks estimate the AUC with less error than the ordered pairs do if the classes are normal on some
scale, and with a bias if they are not. `smoothed_auc` weighs the two: of the square of their difference, the part that
sampling does not explain is bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats
from foldless.honest.pairs import Effects, variance

UNSEEN = 0.5  # errors, in rows of each class, added to those seen
# Scores whose spread is below this share of their distance from a threshold only show which side they are on.
TIED = 1e-6
FARTHEST = 1e70  # beyond all scores, and its square is still finite
UNIT = np.linspace(0.0, 1.0, 1025)
COARSE = UNIT[::8]  # enough to tell the spread
TAIL = 8.0  # standard deviations beyond the class means
STEPS, SAME_SPREAD, MOST_UNEQUAL = 12, 1e-3, 10.0


@dataclass(frozen=True, eq=False)
class NormalScale:
    """The increasing map from scores to those that two normal classes would have at their ranks."""

    classes: tuple[Floats, Floats]  # the scores of the negative and the positive class on the new scale
    pooled: Floats  # all scores, sorted
    points: Floats
    below: Floats  # share of both classes below each point

    @classmethod
    def of(cls, negative: Floats, positive: Floats) -> NormalScale:
        """The map for the scores of two classes, the negative one standard normal.

        The means are as far apart as the ordered pairs say. The spread of the positive class is the one that it then
        has on this scale, found step by step from equal spreads: where classes hardly overlap, ranks tell little about
        it, and it stays near them.
        """
        n0, n1, pooled = negative.size, positive.size, np.sort(np.concatenate([negative, positive]))
        shares = _shares_below(pooled, negative), _shares_below(pooled, positive)
        ordered = (shares[1].sum() * (pooled.size + 1) - n1 * (n1 + 1) / 2) / (n0 * n1)
        unseen = UNSEEN / (2 / (1 / n0 + 1 / n1) + 1)
        distance = float(ndtri(min(max(ordered, unseen), 1 - unseen)))
        spread, share = 1.0, n1 / pooled.size
        for _ in range(STEPS):
            points, below = _two_normals(distance, spread, share, COARSE)
            spreads = [max(math.sqrt(variance(np.interp(each, below, points))), TIED) for each in shares]
            last, spread = spread, min(max(spreads[1] / spreads[0], 1 / MOST_UNEQUAL), MOST_UNEQUAL)
            if abs(spread - last) < SAME_SPREAD:
                break
        points, below = _two_normals(distance, spread, share, UNIT)
        low, high = (np.interp(each, below, points) for each in shares)
        return cls((low, high), pooled, points, below)

    @property
    def spreads(self) -> tuple[float, float]:
        """Part of the positive and of the negative class in the variance of the difference between two scores."""
        v0, v1 = (variance(each) for each in self.classes)
        return (v1 / (v0 + v1), v0 / (v0 + v1)) if v0 + v1 > 0 else (0.5, 0.5)

    def __call__(self, value: float) -> float:
        """A value on the new scale: just outside of all scores if it is below or above them, far off if infinite."""
        if math.isinf(value):
            return math.copysign(FARTHEST, value)
        return float(np.interp(_shares_below(self.pooled, np.asarray(value)), self.below, self.points))


def _two_normals(distance: float, spread: float, share: float, unit: Floats) -> tuple[Floats, Floats]:
    """Points that cover two normal classes, and the share of both below each."""
    mean = distance * math.hypot(1.0, spread)
    low, high = min(-TAIL, mean - TAIL * spread), max(TAIL, mean + TAIL * spread)
    points = low + (high - low) * unit
    return points, (1 - share) * ndtr(points) + share * ndtr((points - mean) / spread)


def _shares_below(pooled: Floats, values: Floats) -> Floats:
    """Share of the sorted scores below each value, ties half, kept off 0 and 1."""
    rank = (np.searchsorted(pooled, values) + np.searchsorted(pooled, values, side="right")) / 2
    return np.asarray((rank + 0.5) / (pooled.size + 1))


def smoothed_auc(scale: NormalScale, ranks: Effects) -> float:
    """The share of ordered pairs, moved towards the AUC of normal classes as far as sampling may explain the gap."""
    if not 0 < ranks.mean < 1:
        return ranks.mean
    auc, *effects = _normal_auc(*scale.classes)
    apart = zip((ranks.by_row0, ranks.by_row1), effects, strict=True)
    noise = sum(variance(v - effect) / v.size for v, effect in apart)
    gap = ranks.mean - auc
    return float(auc + max(0.0, gap**2 - noise) / gap if gap else auc)


def _normal_auc(negative: Floats, positive: Floats) -> tuple[float, Floats, Floats]:
    """AUC of normal classes with the moments of these scores, and n times the effect of each score on it."""
    m0, m1, v0, v1 = negative.mean(), positive.mean(), variance(negative), variance(positive)
    sd = math.sqrt(v0 + v1)
    x = float(m1 - m0) / sd
    density = math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    off0, off1 = negative - m0, positive - m1
    effect0 = density * (-off0 / sd - x * (off0**2 - v0) / (2 * sd**2))
    effect1 = density * (off1 / sd - x * (off1**2 - v1) / (2 * sd**2))
    return float(ndtr(x)), effect0, effect1
