"""Error rates at a threshold from pair-removed scores.

Scores are averaged over the partners of a pair. Leave-one-out scores are never used: they shift with the
class balance. The rate of a class beyond the threshold is Phi(x), and x is estimated like the separation:

    p = mean Phi((score - threshold) / h),    x = sqrt(1 + h^2 / s^2) Phi^-1(p)

This counts rows for h = 0 and uses the normal tail for infinite h. With h of the order n^(-1/3) s, skewed scores do
no harm.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats
from foldless.honest.design import Ints
from foldless.honest.removal import Removed
from foldless.honest.statistic import clustered_square, robust_scale
from foldless.laws.effect import StudentEffect

# Scores whose spread is below this share of their distance from the threshold only show which side they are on.
TIED = 1e-6
FARTHEST = 1e70  # beyond all scores, and its square is still finite
# Less smoothing than for the AUC: at a threshold only the nearby scores matter.
RATE_BANDWIDTH = 1.0
BEYOND = 1.5  # how far an estimate may exceed what n rows can show, in probits
MIN_VARIANCE_RATIO = 1e-4
# Lilliefors' statistic D sqrt(n) exceeds this once in a thousand normal samples; smaller D does not matter.
NOT_NORMAL, RELEVANT = 1.2, 0.08


def pair_scores(removed: Removed) -> tuple[Floats, Floats]:
    """Honest scores of the negative and the positive rows, averaged over partners of the other class.

    The drift of the intercept is undone: the classifier in use was trained on all rows.
    """
    scores = removed.partnered - removed.drift
    return scores[removed.rows0], scores[removed.rows1]


def class_effects(removed: Removed, noise_share: float, threshold: float) -> tuple[StudentEffect, StudentEffect]:
    """Standardised distances of the negative and the positive class above the threshold."""
    codes = removed.groups
    groups = (None, None) if codes is None else (codes[removed.rows0], codes[removed.rows1])
    return effects_at(pair_scores(removed), groups, noise_share, threshold)


def effects_at(
    scores: tuple[Floats, Floats], groups: tuple[Ints | None, Ints | None], noise_share: float, threshold: float
) -> tuple[StudentEffect, StudentEffect]:
    """The same from the scores of the negative and the positive class, and the groups of their rows."""
    threshold = float(np.clip(threshold, -FARTHEST, FARTHEST))
    return (
        _distance(scores[0] - threshold, groups[0], noise_share),
        _distance(scores[1] - threshold, groups[1], noise_share),
    )


def class_variances(removed: Removed) -> tuple[float, float]:
    """Score variances of the negative and the positive class, kept within a ratio that a curve can show."""
    v0, v1 = (float(scores.var(ddof=1)) for scores in pair_scores(removed))
    floor = max(MIN_VARIANCE_RATIO * max(v0, v1), np.finfo(float).tiny)
    return max(v0, floor), max(v1, floor)


def not_normal(removed: Removed) -> tuple[str, ...]:
    """A note for each class whose honest scores are far from normal: the shape of the ROC curve assumes they are."""
    names = ("negative", "positive")
    gaps = [normal_gap(scores) for scores in pair_scores(removed)]
    return tuple(
        f"the honest scores of the {name} class are not normal (their distribution differs by {gap:.2f}): "
        f"the ends of the ROC curve may be off; the AUC and the error rates do not rely on it."
        for name, (gap, n) in zip(names, gaps, strict=True)
        if gap > max(NOT_NORMAL / np.sqrt(n), RELEVANT)
    )


def _distance(scores: Floats, groups: Ints | None, noise_share: float) -> StudentEffect:
    """Posterior of x, with scores measured from the threshold."""
    n = scores.size if groups is None else len(np.unique(groups))
    sd = float(scores.std(ddof=1))
    if sd <= TIED * float(np.abs(scores).max()) or sd == 0.0:
        above = float(np.mean(scores > 0) + 0.5 * np.mean(scores == 0))
        x, variance = _from_share(float(np.clip(above, 0.5 / (n + 1), 1 - 0.5 / (n + 1))), n)
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
    h = RATE_BANDWIDTH * scores.size ** (-1 / 3) * max(min(sd, robust_scale(scores)), 0.1 * sd)
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


def _from_share(share: float, n: int) -> tuple[float, float]:
    """Probit of a counted share, and its binomial variance."""
    x = float(ndtri(share))
    return x, share * (1 - share) / (n * _density(x) ** 2)


def _density(x: float) -> float:
    return float(np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))


def normal_gap(scores: Floats) -> tuple[float, int]:
    """Largest distance between the distribution of the scores and the normal one with their mean and sd."""
    sd = float(scores.std(ddof=1))
    if sd == 0.0:
        return 0.0, scores.size
    expected = ndtr((np.sort(scores) - scores.mean()) / sd)
    steps = np.arange(scores.size + 1) / scores.size
    return float(max(np.max(steps[1:] - expected), np.max(expected - steps[:-1]))), scores.size
