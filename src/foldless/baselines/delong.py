"""AUC of given scores with DeLong's variance, and an interval that is never a point."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri

from foldless._check import Floats, as_labels, as_scores, same_length
from foldless.baselines.curve import Mask, midranks
from foldless.baselines.estimate import AUCEstimate, Interval

BISECTIONS = 60


def delong(y: Any, scores: Any, *, pos_label: Any = None) -> AUCEstimate:
    """AUC of held-out scores with the standard error of DeLong, DeLong and Clarke-Pearson.

    With V1_i the share of negatives that positive i beats (ties half) and V0_j the share of
    positives that beat negative j, ``AUC = mean V1`` and ``var = s^2(V1) / n1 + s^2(V0) / n0``. Both
    come from midranks in O(N log N) (Sun and Xu). The interval is symmetric on the logit scale.

    Where that variance is zero or undefined (AUC 0 or 1, all scores tied, a class of one row) `se`
    is None and the interval is Newcombe's method 5: all theta with ``(theta - AUC)^2 <= z^2 V(theta)``,

        V(theta) = theta (1 - theta) / (n0 n1) * (1 + (N* - 1) ((1-theta)/(2-theta) + theta/(1+theta))),

    N* = (n0 + n1) / 2, Hanley and McNeil's variance with both class sizes averaged.

    Parameters
    ----------
    y : labels of two classes
    scores : array of shape (N,)
        Scores of rows that the classifier was not trained on; training scores give a wrong answer.
    pos_label : label, optional
        The positive class; by default the later one in sorted order.

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44(3), 1988.
    X. Sun and W. Xu, IEEE Signal Process. Lett. 21(11), 2014.
    R. G. Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2", Stat. Med. 25(4), 2006.

    Examples
    --------
    >>> auc = delong([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> auc
    AUCEstimate(0.75, method='delong', se=0.3536)
    >>> low, high = delong([0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0]).interval()
    >>> round(low, 3), high
    (0.386, 1.0)
    """
    labels = as_labels(y, pos_label=pos_label)
    z = as_scores(scores)
    same_length(z.size, labels.positive.size, "there are {} scores")
    v1, v0 = _components(labels.positive, z)
    auc, variance = float(v1.mean()), _variance(v1) + _variance(v0)
    details = {"n0": labels.n0, "n1": labels.n1}
    # Exactly zero: perfect ranking and all ties give shares of 1, 0 or 1/2, which carry no rounding error.
    if min(v0.size, v1.size) < 2 or variance == 0:
        return AUCEstimate(auc, method="delong", bounds=partial(newcombe, auc=auc, **details), details=details)
    se = float(np.sqrt(variance))
    return AUCEstimate(auc, method="delong", se=se, bounds=partial(_logit, auc=auc, se=se), details=details)


def _components(positive: Mask, scores: Floats) -> tuple[Floats, Floats]:
    """Share of the other class that each positive beats, and that each negative is beaten by."""
    ranks, n1 = midranks(scores), int(np.count_nonzero(positive))
    n0 = positive.size - n1
    beats = (ranks[positive] - midranks(scores[positive])) / n0
    beaten = 1 - (ranks[~positive] - midranks(scores[~positive])) / n1
    return beats, beaten


def _variance(values: Floats) -> float:
    """Variance of the mean; 0 for a single value, which says nothing about its spread."""
    return float(values.var(ddof=1) / values.size) if values.size > 1 else 0.0


def _logit(level: float, *, auc: float, se: float) -> Interval:
    half = ndtri((1 + level) / 2) * se / (auc * (1 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))


def newcombe(level: float, *, auc: float, n0: int, n1: int) -> Interval:
    """Newcombe's method 5; the upper end is the lower one of the mirrored problem."""
    z = float(ndtri((1 + level) / 2))
    return _lower_end(auc, z, n0, n1), 1 - _lower_end(1 - auc, z, n0, n1)


def _lower_end(auc: float, z: float, n0: int, n1: int) -> float:
    # auc - theta exceeds z sqrt(V(theta)) at theta = 0 and not at theta = auc, with one crossing
    # between. Bisection also copes with auc = 1, where theta = 1 is a second, useless root.
    low, high = 0.0, auc
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        outside = auc - middle > z * np.sqrt(_hanley_mcneil(middle, n0, n1))
        low, high = (middle, high) if outside else (low, middle)
    return low


def _hanley_mcneil(theta: float, n0: int, n1: int) -> float:
    spread = (1 - theta) / (2 - theta) + theta / (1 + theta)
    return theta * (1 - theta) / (n0 * n1) * (1 + ((n0 + n1) / 2 - 1) * spread)
