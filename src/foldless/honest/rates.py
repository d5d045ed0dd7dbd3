"""Error rates at a threshold from pair-removed scores.

Each class is normal with a mean and a variance of its own; the distance of its mean from the
threshold, in units of its spread, has a Student posterior. Scores averaged over the partners of
a pair are used, never leave-one-out scores: those shift with the class balance.
"""

from __future__ import annotations

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Ints
from foldless.honest.result import Removed
from foldless.honest.statistics import clustered_square
from foldless.student import StudentEffect


def pair_scores(removed: Removed) -> tuple[Floats, Floats]:
    """Honest scores of the negative and the positive rows, averaged over partners of the other class."""
    return removed.without_pair0.mean(axis=0), removed.without_pair1.mean(axis=1)


def class_effects(removed: Removed, noise_share: float, threshold: float) -> tuple[StudentEffect, StudentEffect]:
    """Standardised distances of the negative and the positive class above the threshold."""
    negative, positive = pair_scores(removed)
    codes = removed.groups
    groups = (None, None) if codes is None else (codes[removed.rows0], codes[removed.rows1])
    return (
        _distance(negative, groups[0], noise_share, threshold),
        _distance(positive, groups[1], noise_share, threshold),
    )


def class_variances(removed: Removed) -> tuple[float, float]:
    """Score variances of the negative and the positive class, kept apart from zero."""
    v0, v1 = (float(scores.var(ddof=1)) for scores in pair_scores(removed))
    floor = max(1e-12 * max(v0, v1), np.finfo(float).tiny)
    return max(v0, floor), max(v1, floor)


def _distance(scores: Floats, groups: Ints | None, noise_share: float, threshold: float) -> StudentEffect:
    n = scores.size if groups is None else len(np.unique(groups))
    variance = max(float(scores.var(ddof=1)), (1e-9 * float(np.abs(scores - threshold).max())) ** 2)
    share = 1 / n if groups is None or variance == 0 else _clustered_share(scores, groups, variance)
    loc = (float(scores.mean()) - threshold) / np.sqrt(max(variance, np.finfo(float).tiny))
    return StudentEffect(float(loc), float(np.sqrt((1 + noise_share) * share)), float(n - 1))


def _clustered_share(scores: Floats, groups: Ints, variance: float) -> float:
    """Variance of the mean over that of one row, when rows of a group depend on each other."""
    clustered = clustered_square((scores - scores.mean()) / scores.size, groups)
    return max(clustered / variance, 1 / scores.size)
