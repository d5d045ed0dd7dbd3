"""The separation of two classes, from the differences of their scores: smooth where that is safe, ranks where not.

    smooth:  m = mean Phi(diff / (sqrt2 b)),   A_s = Phi(sqrt(1 + b^2/c^2) Phi^-1(m))
    ranks:   A_r = mean [diff > 0]
    both:    A = A_s + w (A_r - A_s),   w = max(0, 1 - 2 se^2 / (A_r - A_s)^2),   dhat = sqrt2 Phi^-1(A)

A_s is precise and right for normal scores; A_r is right for all and noisier. Their difference is believed as far as it
exceeds its own standard error: with few rows or normal scores the answer is A_s, with many rows of another shape A_r.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from foldless._check import Floats

BANDWIDTH = 6.0
DISBELIEF = 2.0  # variances that a squared difference must exceed before it counts
IQR_OF_NORMAL = 1.349
IQR_ERROR = 1.2  # standard error of the robust scale of normal scores, times sqrt(N)
# Beyond this the statistic no longer tells how far apart the classes are.
MIN_TAIL = 1e-7


def separation(diff: Floats, sd: float) -> float:
    """dhat from the differences (n1, n0) of pair-removed scores; `sd` is the spread of the scores in a class."""
    ranks = np.where(diff == 0, 0.5, diff > 0)
    smooth, slope, auc = _smoothed(diff, sd)
    gap = float(ranks.mean()) - auc
    noise = _variance_of_mean(ranks - slope * smooth)
    belief = max(0.0, 1.0 - DISBELIEF * noise / gap**2) if gap != 0 else 0.0
    return float(np.sqrt(2) * ndtri(np.clip(auc + belief * gap, MIN_TAIL, 1 - MIN_TAIL)))


def robust_scale(values: Floats) -> float:
    """Standard deviation from the interquartile range, as for normal values."""
    low, high = np.percentile(values, [25, 75])
    return float(high - low) / IQR_OF_NORMAL


def _smoothed(diff: Floats, sd: float) -> tuple[Floats, float, float]:
    """Phi of all differences, the AUC that their mean stands for, and its slope in that mean."""
    rows = sum(diff.shape)
    scale = _core(diff, sd)
    b = BANDWIDTH * rows ** (-1 / 3) * scale
    with np.errstate(over="ignore"):  # scores that hardly vary within a class: Phi of an infinite difference is right
        smooth = ndtr(diff / (np.sqrt(2) * b))
    probit = ndtri(np.clip(smooth.mean(), MIN_TAIL, 1 - MIN_TAIL))
    stretch = np.sqrt(1 + (b / scale) ** 2)
    slope = stretch * np.exp(0.5 * (1 - stretch**2) * probit**2)
    return smooth, float(slope), float(ndtr(stretch * probit))


def _core(diff: Floats, sd: float) -> float:
    """Spread of the bulk of the scores: the robust scale where it is below sd by more than its own error."""
    robust = np.sqrt((robust_scale(diff.mean(axis=1)) ** 2 + robust_scale(diff.mean(axis=0)) ** 2) / 2)
    return float(max(min(sd, robust * (1 + IQR_ERROR / np.sqrt(sum(diff.shape)))), 1e-3 * sd))


def _variance_of_mean(effects: Floats) -> float:
    """Variance of the mean over all pairs, from the means of rows and of columns."""
    n1, n0 = effects.shape
    by_row, by_column = effects.mean(axis=1), effects.mean(axis=0)
    return float(by_row.var(ddof=1) / n1 + by_column.var(ddof=1) / n0)
