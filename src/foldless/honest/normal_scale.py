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
from foldless.honest.pairs import Effects, Pairs

UNSEEN = 0.5  # errors, in rows of each class, added to those seen
# Scores whose spread is below this share of their distance from a threshold only show which side they are on.
TIED = 1e-6
FARTHEST = 1e70  # beyond all scores, and its square is still finite
UNIT = np.linspace(0.0, 1.0, 1025)
TAIL = 8.0  # standard deviations beyond the class means
STEPS, MOST_UNEQUAL = 12, 10.0


@dataclass(frozen=True, eq=False)
class NormalScale:
    """The increasing map from scores to those that two normal classes would have at their ranks."""

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
        rows, pooled = 2 / (1 / negative.size + 1 / positive.size), np.sort(np.concatenate([negative, positive]))
        auc = np.clip(Pairs.of_scores(positive, negative).ranks().mean, UNSEEN / (rows + 1), 1 - UNSEEN / (rows + 1))
        spread, share, distance = 1.0, positive.size / pooled.size, float(ndtri(auc))
        shares = _shares_below(pooled, negative), _shares_below(pooled, positive)
        for _ in range(STEPS):
            mean = distance * math.hypot(1.0, spread)
            low, high = min(-TAIL, mean - TAIL * spread), max(TAIL, mean + TAIL * spread)
            points = low + (high - low) * UNIT
            below = (1 - share) * ndtr(points) + share * ndtr((points - mean) / spread)
            spreads = [max(_sd(np.interp(each, below, points)), TIED) for each in shares]
            spread = min(max(spreads[1] / spreads[0], 1 / MOST_UNEQUAL), MOST_UNEQUAL)
        return cls(pooled, points, below)

    def __call__(self, values: Floats) -> Floats:
        """Values on the new scale; those below or above all scores lie just outside of them, infinite ones far off."""
        inside = np.interp(_shares_below(self.pooled, values), self.below, self.points)
        return np.where(np.isinf(values), np.copysign(FARTHEST, values), inside)


def _shares_below(pooled: Floats, values: Floats) -> Floats:
    """Share of the sorted scores below each value, ties half, kept off 0 and 1."""
    rank = (np.searchsorted(pooled, values) + np.searchsorted(pooled, values, side="right")) / 2
    return np.asarray((rank + 0.5) / (pooled.size + 1))


def _sd(values: Floats) -> float:
    """Standard deviation; for few values NumPy's own takes four times as long."""
    off = values - values.sum() / values.size
    return math.sqrt(off @ off / (values.size - 1))


def smoothed_auc(positive: Floats, negative: Floats, ranks: Effects) -> float:
    """The share of ordered pairs, moved towards the AUC of normal classes as far as sampling may explain the gap."""
    if not 0 < ranks.mean < 1:
        return ranks.mean
    scale = NormalScale.of(negative, positive)
    auc, *effects = _normal_auc(scale(positive), scale(negative))
    apart = zip((ranks.by_row1, ranks.by_row0), effects, strict=True)
    noise = sum((v - effect).var(ddof=1) / v.size for v, effect in apart)
    gap = ranks.mean - auc
    return float(auc + max(0.0, gap**2 - noise) / gap if gap else auc)


def _normal_auc(first: Floats, second: Floats) -> tuple[float, Floats, Floats]:
    """AUC of normal classes with the moments of these scores, and n times the effect of each score on it."""
    off1, off0 = first - first.mean(), second - second.mean()
    v1, v0 = float(first.var(ddof=1)), float(second.var(ddof=1))
    sd = np.sqrt(v1 + v0)
    x = float(first.mean() - second.mean()) / sd
    density = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    effect1, effect0 = (
        density * (side * off / sd - x * (off**2 - v) / (2 * sd**2)) for side, off, v in ((1, off1, v1), (-1, off0, v0))
    )
    return float(ndtr(x)), effect1, effect0
