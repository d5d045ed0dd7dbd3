"""From honest scores to one statistic: the estimated separation, its noise share and its variance.

The separation is estimated from differences of pair-removed scores, smoothed where that is safe, otherwise by ranks:

    smooth:  m = mean Phi(diff / (sqrt2 b)),   A_s = Phi(sqrt(1 + b^2/c^2) Phi^-1(m))
    ranks:   A_r = mean [diff > 0]
    both:    A = A_s + w (A_r - A_s),   w = max(0, 1 - 2 se^2 / (A_r - A_s)^2),   dhat = sqrt2 Phi^-1(A)

A_s is precise and correct for normal scores; A_r is correct for all scores but noisier. Their difference is believed
to the extent that it exceeds its own standard error: with few rows or normal scores the result is A_s, with many rows
of another shape it is A_r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats
from foldless.honest.design import Bools, Ints
from foldless.honest.pairs import Effects, PairMeans, Pairs
from foldless.honest.removal import Removed

BANDWIDTH = 6.0
DISBELIEF = 2.0  # variances that a squared difference must exceed before it counts
IQR_OF_NORMAL = 1.349
IQR_ERROR = 1.2  # standard error of the robust scale of normal scores, times sqrt(N)
# Beyond this the statistic no longer tells how far apart the classes are.
MIN_TAIL = 1e-7


def separation(pairs: Pairs, sd: float, ranks: Effects | None = None) -> float:
    """dhat from the pair-removed scores; `sd` is the spread of the scores in a class."""
    return blended(pairs, core_scale(*pairs.margins, sd), pairs.ranks() if ranks is None else ranks)


def blended(pairs: PairMeans, scale: float, ranks: Effects) -> float:
    """dhat from differences of scores; `scale` is the spread of the bulk of the scores in a class."""
    smooth, slope, auc = _smoothed(pairs, scale, ranks.by_row1.size + ranks.by_row0.size)
    gap = ranks.mean - auc
    noise = ranks.less(slope, smooth).variance()
    belief = max(0.0, 1.0 - DISBELIEF * noise / gap**2) if gap != 0 else 0.0
    return float(np.sqrt(2) * ndtri(np.clip(auc + belief * gap, MIN_TAIL, 1 - MIN_TAIL)))


def robust_scale(values: Floats) -> float:
    """Standard deviation from the interquartile range, as for normal values."""
    low, high = np.percentile(values, [25, 75])
    return float(high - low) / IQR_OF_NORMAL


def _smoothed(pairs: PairMeans, scale: float, rows: int) -> tuple[Effects, float, float]:
    """Phi of the differences, the slope of the AUC in its mean, and the AUC that follows from that mean."""
    b = BANDWIDTH * rows ** (-1 / 3) * scale
    smooth = pairs.smoothed(float(np.sqrt(2) * b))
    probit = ndtri(np.clip(smooth.mean, MIN_TAIL, 1 - MIN_TAIL))
    stretch = np.sqrt(1 + (b / scale) ** 2)
    slope = stretch * np.exp(0.5 * (1 - stretch**2) * probit**2)
    return smooth, float(slope), float(ndtr(stretch * probit))


def core_scale(positive: Floats, negative: Floats, sd: float) -> float:
    """Spread of the bulk of the scores: the robust scale where it is below sd by more than its own error."""
    robust = np.sqrt((robust_scale(positive) ** 2 + robust_scale(negative) ** 2) / 2)
    return float(max(min(sd, robust * (1 + IQR_ERROR / np.sqrt(positive.size + negative.size))), 1e-3 * sd))


# ---- From pair-removed scores to one statistic: the estimated separation, its noise share and its variance.
#
# For i in the positive and j in the negative class, ``diff_ij`` is the difference of their scores under the model
# fitted without both.

# Small samples vary more than their plug-in variances say: by a factor 1 + 4 r/n, with n the number of rows that two
# equal classes would need for the same precision, and r = 1 + rho for training noise. In the variance of the scale,
# that noise enters with a power between one and two. Both were measured where the truth is known.
SMALL_SAMPLE = 4.0
NOISE_IN_SCALE = 1.5
MAX_KURTOSIS_FACTOR = 3.0
LEAST_CLUSTERED = 0.01  # of the variance of independent rows: with few groups, deviations may cancel by chance
# The rows of a small class help to train each other's honest scores (with two rows, both are the same inner product),
# so they may agree by chance: up to FEW rows, their spread is taken to be at least that of the other class; from ENOUGH
# rows on, it is used as it is.
FEW, ENOUGH = 5, 10


@dataclass(frozen=True)
class SeparationStatistic:
    """Estimated separation of the classes, and the variance of that estimate.

    Attributes
    ----------
    estimate : dhat; infinite if the scores do not vary within the classes.
    mean_variance, scale_variance : V(delta) = mean_variance + delta^2 scale_variance.
    noise_share : rho, the part of the variance that stems from the training set, 0 for held-out scores.
    units0, units1 : independent units (rows, or groups) per class.
    df : degrees of freedom of the variance.
    pair_auc : share of correctly ordered pairs.
    """

    estimate: float
    mean_variance: float
    scale_variance: float
    noise_share: float
    units0: int
    units1: int
    df: float
    pair_auc: float

    def variance(self, delta: Floats) -> Floats:
        """Variance of the estimate when the separation is delta."""
        return np.asarray(self.mean_variance + self.scale_variance * np.square(delta))


@dataclass(frozen=True)
class Spread:
    """Mean difference of each row against the other class; their variances; the groups of the rows, if any."""

    row1: Floats
    row0: Floats
    groups1: Ints | None = None
    groups0: Ints | None = None

    @cached_property
    def v1(self) -> float:
        return _believed(self.row1, self.row0, self.units[1])

    @cached_property
    def v0(self) -> float:
        return _believed(self.row0, self.row1, self.units[0])

    @property
    def v(self) -> float:
        return (self.v1 + self.v0) / 2

    @property
    def units(self) -> tuple[int, int]:
        """Independent units per class: rows, or groups."""
        if self.groups1 is None or self.groups0 is None:
            return self.row0.size, self.row1.size
        return len(np.unique(self.groups0)), len(np.unique(self.groups1))

    def mean_variance(self) -> float:
        """Variance of the difference of the class means; clustered over groups, which may hold both classes."""
        independent = self.v1 / self.row1.size + self.v0 / self.row0.size
        if self.groups1 is None or self.groups0 is None:
            return independent
        effects = np.concatenate(self.deviations())
        clustered = clustered_square(effects, np.concatenate([self.groups1, self.groups0]))
        return max(clustered, LEAST_CLUSTERED * independent)

    def deviations(self) -> tuple[Floats, Floats]:
        """Contributions of the rows of each class to the error of its mean, scaled to the variances v1 and v0."""
        return _deviations(self.row1, self.v1), _deviations(self.row0, self.v0)

    def df(self) -> float:
        if self.groups1 is None or self.groups0 is None:
            return degrees_of_freedom(*self.units)
        together = max(len(np.union1d(self.groups1, self.groups0)) - 2.0, 1.0)
        return min(together, degrees_of_freedom(*self.units))


def statistic_of_removed(removed: Removed) -> SeparationStatistic:
    """The statistic of honest scores, clustered if they came with groups.

    V(delta) = (1 + 4 r/n) r (s1/n1 + s0/n0) + (1 + 1.5 rho) k delta^2/8 (s1^2/(n1-1) + s0^2/(n0-1)),
    with r = 1 + rho, s_k = v_k / v and 4/n = 1/n1 + 1/n0.

    The factor r: every pair of rows enters the leave-one-out statistic twice (each tests the model that
    the other helped to train), which doubles the variance of the noise part. The second term is the variance of the
    scale; k = (kurtosis - 1)/2, at least 1.
    """
    pairs, codes = removed.pairs, removed.groups
    if codes is None:
        return statistic_of_pairs(pairs, removed.influence_sq)
    spread = Spread(*pairs.margins, codes[removed.rows1], codes[removed.rows0])
    return _statistic(pairs, spread, _share(removed.cluster_influence_sq, spread.mean_variance()))


def statistic_of_pairs(pairs: Pairs, influence_sq: float) -> SeparationStatistic:
    """The same for independent rows, from their pairs and `Removed.influence_sq`."""
    spread = Spread(*pairs.margins)
    n0, n1 = spread.units
    pooled = ((n1 - 1) * spread.v1 + (n0 - 1) * spread.v0) / (n0 + n1 - 2)
    return _statistic(pairs, spread, _share(influence_sq, pooled))


def statistic_of_scores(scores: Floats, positive: Bools, groups: Ints | None = None) -> SeparationStatistic:
    """The statistic of held-out scores: no training noise."""
    scores = unit_size(scores)
    codes = (None, None) if groups is None else (groups[positive], groups[~positive])
    pairs = Pairs.of_scores(scores[positive], scores[~positive])
    return _statistic(pairs, Spread(*pairs.margins, *codes), 0.0)


def _statistic(pairs: Pairs, spread: Spread, noise_share: float) -> SeparationStatistic:
    return statistic_at(pairs, spread, noise_share, lambda ranks: separation(pairs, float(np.sqrt(spread.v)), ranks))


def statistic_at(
    pairs: PairMeans, spread: Spread, noise_share: float, estimated: Callable[[Effects], float]
) -> SeparationStatistic:
    """The statistic of differences of scores and their spread; `estimated` computes dhat from the ranks."""
    units0, units1 = spread.units
    ranks = pairs.ranks()
    level = max(*(float(np.abs(row).max()) for row in (spread.row1, spread.row0)), np.finfo(float).tiny)
    if spread.v <= (1e-9 * level) ** 2:
        # Scores are constant within each class: only their order is known.
        estimate = 0.0 if ranks.mean == 0.5 else float(np.copysign(np.inf, ranks.mean - 0.5))
        return SeparationStatistic(estimate, 1 / units0 + 1 / units1, 0.0, 0.0, units0, units1, spread.df(), ranks.mean)
    s1, s0 = spread.v1 / spread.v, spread.v0 / spread.v
    return SeparationStatistic(
        estimate=estimated(ranks),
        mean_variance=noise_in_mean(noise_share, units0, units1) * spread.mean_variance() / spread.v,
        scale_variance=noise_in_scale(noise_share)
        * _kurtosis_factor(spread)
        * (s1**2 / max(units1 - 1, 1) + s0**2 / max(units0 - 1, 1))
        / 8,
        noise_share=noise_share,
        units0=units0,
        units1=units1,
        df=spread.df(),
        pair_auc=ranks.mean,
    )


def noise_in_mean(noise_share: float, n0: float, n1: float) -> float:
    """Factor by which training noise and small samples increase the variance of the mean difference."""
    r, balanced = 1 + noise_share, 4 / (1 / n0 + 1 / n1)
    return (1 + SMALL_SAMPLE * r / balanced) * r


def degrees_of_freedom(n0: float, n1: float) -> float:
    """Of the variance of a difference of two means with equal variances: Satterthwaite's, n - 2 for equal classes."""
    parts = sum(1 / (n**2 * max(n - 1, 1)) for n in (n0, n1))
    return float(max((1 / n0 + 1 / n1) ** 2 / parts, 1.0))


def noise_in_scale(noise_share: float) -> float:
    """The same for the variance of the scale."""
    return 1 + NOISE_IN_SCALE * noise_share


def unit_size(scores: Floats) -> Floats:
    """Scores (N,) or (N, K) times an exact power of two: the largest of each column is near 1, ranks are unchanged."""
    return np.asarray(np.ldexp(scores, -np.frexp(np.max(np.abs(scores), axis=0))[1]))


def clustered_square(effects: Floats, groups: Ints) -> float:
    """Variance of a sum of effects that are independent between groups only."""
    codes, where = np.unique(groups, return_inverse=True)
    sums = np.bincount(where, weights=effects, minlength=codes.size)
    return float(np.sum(sums**2) * codes.size / max(codes.size - 1, 1))


def _share(part: float, total: float) -> float:
    return min(part / total, 1.0) if total > 0 else 0.0


def _kurtosis_factor(spread: Spread) -> float:
    """How much more the variance of the scores varies than that of normal ones: (kurtosis - 1) / 2."""
    kurtosis = (_kurtosis(spread.row1) + _kurtosis(spread.row0)) / 2
    return float(np.clip((kurtosis - 1) / 2, 1.0, MAX_KURTOSIS_FACTOR))


def _kurtosis(values: Floats) -> float:
    squares = np.square(values - values.mean())
    return float(np.mean(squares**2) / max(float(np.mean(squares)) ** 2, np.finfo(float).tiny))


def _believed(own: Floats, other: Floats, units: int) -> float:
    """Variance of the scores of a class; with few `units`, at least a share of the other class's."""
    doubt = float(np.clip((ENOUGH - units) / (ENOUGH - FEW), 0.0, 1.0))
    return max(float(own.var(ddof=1)), doubt * float(other.var(ddof=1)))


def _deviations(row: Floats, variance: float) -> Floats:
    own = float(row.var(ddof=1))
    if own == 0:  # equal scores have no deviations to rescale: each row gets an equal share
        return np.full(row.size, np.sqrt(variance * (row.size - 1) / row.size) / row.size)
    return np.asarray((row - row.mean()) / row.size * np.sqrt(variance / own))
