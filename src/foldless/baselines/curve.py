"""The empirical AUC from midranks, and the area under a curve of points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foldless._check import Array, Floats

Mask = npt.NDArray[np.bool_]


def midranks(values: Array) -> Floats:
    """Ranks from 1, ties sharing the mean of the ranks that they take up; O(N log N)."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def rank_auc(positive: Mask, scores: Array) -> float:
    """AUC as the Mann-Whitney statistic: P(positive scores higher) + half the probability of a tie."""
    n1 = int(np.count_nonzero(positive))
    n0 = positive.size - n1
    return float((midranks(scores)[positive].sum() - n1 * (n1 + 1) / 2) / (n0 * n1))


def area(fpr: Floats, tpr: Floats, *, anchored: bool) -> float:
    """Area under a curve given by rising points, by trapezoids, with or without the two corners."""
    if anchored:
        fpr, tpr = np.r_[0.0, fpr, 1.0], np.r_[0.0, tpr, 1.0]
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)
