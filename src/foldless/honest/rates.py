"""Error rates at a threshold, and the shape of the ROC curve, from the ranks of pair-removed scores.

Scores are averaged over the partners of a pair. Leave-one-out scores are never used: they shift with the
class balance. Scores and threshold are then replaced by what their ranks would be if both classes were normal
(`NormalScale`): no answer depends on the scale that a classifier happens to use. The rate of a class beyond the
threshold is Phi(x), with

    p = mean Phi((score - threshold) / h),    x = sqrt(1 + h^2 / s^2) Phi^-1(p)

This counts rows for h = 0 and uses the normal tail for infinite h; h is of the order n^(-1/3) s.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats, Ints
from foldless.honest.normal_scale import TIED, NormalScale
from foldless.honest.statistic import SeparationStatistic, clustered_square
from foldless.laws.effect import StudentEffect

# Less smoothing than for the AUC: at a threshold only the nearby scores matter.
RATE_BANDWIDTH = 1.0
BEYOND = 1.5  # how far an estimate may exceed what n rows can show, in probits
MIN_VARIANCE_RATIO = 1e-4


def effects_at(
    scale: NormalScale, groups: tuple[Ints | None, Ints | None], noise_share: float, threshold: float
) -> tuple[StudentEffect, StudentEffect]:
    """Standardised distances of the negative and the positive class above the threshold."""
    at = scale(threshold)
    low, high = (
        _distance(scores - at, codes, noise_share) for scores, codes in zip(scale.classes, groups, strict=True)
    )
    return low, high


def shape(scale: NormalScale, statistic: SeparationStatistic) -> tuple[float, float, float, float]:
    """(v0, v1, df0, df1): variances of both classes on the normal scale, within a ratio that a curve can show.

    Ranks tell less about the ratio of the variances the further the classes are apart: in simulations it varies
    1 + delta^2/3 times as much (in variance) as that of normal scores themselves.
    """
    v0, v1 = (float(each.var(ddof=1)) for each in scale.classes)
    floor = max(MIN_VARIANCE_RATIO * max(v0, v1), np.finfo(float).tiny)
    less = 1 + statistic.estimate**2 / 3
    return max(v0, floor), max(v1, floor), (statistic.units0 - 1.0) / less, (statistic.units1 - 1.0) / less


def _distance(scores: Floats, groups: Ints | None, noise_share: float) -> StudentEffect:
    """Posterior of x, with scores measured from the threshold."""
    n = scores.size if groups is None else len(np.unique(groups))
    sd = float(scores.std(ddof=1))
    if sd <= TIED * float(np.abs(scores).max()) or sd == 0.0:
        above = float(np.mean(scores > 0) + 0.5 * np.mean(scores == 0))
        share = float(np.clip(above, 0.5 / (n + 1), 1 - 0.5 / (n + 1)))
        x = float(ndtri(share))
        variance = share * (1 - share) / (n * _density(x) ** 2)  # binomial
    else:
        x, variance = _smoothed(scores, sd, n)
    if groups is not None and sd > 0:
        variance *= max(1.0, n * clustered_square((scores - scores.mean()) / scores.size, groups) / sd**2)
    df = float(n - 1)
    own = x**2 / (2 * df)  # what the uncertain spread already contributes to the variance
    return StudentEffect(x, float(np.sqrt((1 + noise_share) * max(variance - own, 1 / n))), df)


def _smoothed(scores: Floats, sd: float, n: int) -> tuple[float, float]:
    """Estimate of x and its variance: the normal-theory or the empirical one, whichever is larger.

    An estimate beyond what n rows can show is averaged with the most extreme value that they can show, and the
    difference between the two widens the interval: half of the result then rests on the tail of the normal law.
    """
    h = RATE_BANDWIDTH * scores.size ** (-1 / 3) * sd
    stretch = np.sqrt(1 + (h / sd) ** 2)
    each = ndtr(scores / h)
    bare = float(ndtri(np.clip(each.mean(), 1e-12, 1 - 1e-12)))
    empirical = float(each.var(ddof=1)) * (stretch / _density(bare)) ** 2 / n
    x = float(stretch * bare)
    end = float(ndtri(1 - 0.5 / (n + 1)))
    if abs(x) <= end:
        return x, max(empirical, (1 + x**2 / 2) / n)
    shown = float(np.copysign(end, x))
    x = float(np.clip(x, shown - BEYOND, shown + BEYOND))
    center, off = (x + shown) / 2, (x - shown) / 2
    return center, (1 + center**2 / 2) / n + off**2


def _density(x: float) -> float:
    return float(np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))
