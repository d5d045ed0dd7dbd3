"""Estimates from the scores of the one fit: resubstitution, DeLong, binormal, and Dalton's EBAUC."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, stdtr

from foldless.baselines.estimate import AUCEstimate, Interval, Mask, area, midranks, rank_auc
from foldless.baselines.scores import fewest_rows, linear_scores, training_scores
from foldless.checks import Floats, as_labels, as_scores, one_of, same_length
from foldless.errors import InputError


def resubstitution_auc(estimator_or_w: Any, X: Any, y: Any, *, pos_label: Any = None) -> AUCEstimate:
    """AUC of the scores that the classifier gives to its own training rows.

    With many features it tends to 1 however poor the classifier is: a number to correct, not an estimate to trust.

    Parameters
    ----------
    estimator_or_w : estimator or array of shape (P,)
        A fitted classifier (decision_function, else predict_proba), or weights w for scores X @ w.
    X, y : training rows and labels
    pos_label : label, optional
        The positive class; by default the later one in sorted order.

    Examples
    --------
    >>> X, y = [[0.0], [2.0], [1.0], [3.0]], ["a", "a", "b", "b"]
    >>> resubstitution_auc([1.0], X, y)
    AUCEstimate(0.75, method='resubstitution')
    """
    scores, labels = training_scores(estimator_or_w, X, y, pos_label)
    reason = "training scores are optimistic, and an interval around them would hide it"
    return AUCEstimate(rank_auc(labels.positive, scores), method="resubstitution", reason=reason)


def delong(y: Any, scores: Any, *, pos_label: Any = None) -> AUCEstimate:
    """AUC of held-out scores with the standard error of DeLong, DeLong and Clarke-Pearson.

    With V1_i the share of negatives that positive i beats (ties count half) and V0_j the share of positives that beat
    negative j, ``AUC = mean V1`` and ``var = s^2(V1) / n1 + s^2(V0) / n0``, from midranks in O(N log N) (Sun and Xu).
    The interval is symmetric on the logit scale.

    Where that variance is zero or undefined (AUC 0 or 1, all scores tied, a class of one row) `se` is None and the
    interval is Newcombe's method 5: all theta with ``(theta - AUC)^2 <= z^2 V(theta)``,

        V(theta) = theta (1 - theta) / (n0 n1) * (1 + (N* - 1) ((1-theta)/(2-theta) + theta/(1+theta))),

    N* = (n0 + n1) / 2, Hanley and McNeil's variance with both class sizes averaged.

    Parameters
    ----------
    y : labels of two classes
    scores : array of shape (N,)
        Scores of rows that the classifier was not trained on; training scores give a wrong answer.
    pos_label : label, optional
        As in `resubstitution_auc`.

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44(3), 1988.
    X. Sun and W. Xu, IEEE Signal Process. Lett. 21(11), 2014.
    R. G. Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2",
    Stat. Med. 25(4), 2006.

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
    # Exactly zero is safe to test: perfect ranking and all ties give shares of 1, 0 or 1/2, without rounding error.
    if min(v0.size, v1.size) < 2 or variance == 0:
        return AUCEstimate(auc, method="delong", bounds=partial(newcombe, auc=auc, **details), details=details)
    se = float(np.sqrt(variance))
    return AUCEstimate(auc, method="delong", se=se, bounds=partial(_logit, auc=auc, se=se), details=details)


class DeLongTest(NamedTuple):
    """Difference of two AUCs on the same rows, in standard errors, and its two-sided p-value."""

    difference: float
    z: float
    p_value: float


def delong_test(y: Any, scores: Any, other: Any, *, pos_label: Any = None) -> DeLongTest:
    """DeLong's test whether two sets of held-out scores of the same rows have the same AUC.

    Parameters
    ----------
    y, pos_label
        As in `delong`.
    scores, other : arrays of shape (N,)

    Examples
    --------
    >>> test = delong_test([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.25, 0.8, 0.9], [0.5, 0.1, 0.7, 0.3, 0.6, 0.2])
    >>> round(test.difference, 3), round(test.p_value, 2)
    (0.444, 0.07)
    """
    labels = as_labels(y, pos_label=pos_label)
    both = [as_scores(each) for each in (scores, other)]
    for each in both:
        same_length(each.size, labels.positive.size, "there are {} scores")
    apart = [a - b for a, b in zip(*(_components(labels.positive, each) for each in both), strict=True)]
    difference, variance = float(apart[0].mean()), sum(_variance(each) for each in apart)
    if min(labels.n0, labels.n1) < 2 or variance == 0:
        raise InputError("the test needs scores that order the rows differently, and at least two rows of each class.")
    z = difference / float(np.sqrt(variance))
    return DeLongTest(difference, z, float(2 * ndtr(-abs(z))))


def _components(positive: Mask, scores: Floats) -> tuple[Floats, Floats]:
    """Share of the other class that each positive beats, and that each negative is beaten by."""
    ranks, n1 = midranks(scores), int(np.count_nonzero(positive))
    n0 = positive.size - n1
    beats = (ranks[positive] - midranks(scores[positive])) / n0
    return beats, 1 - (ranks[~positive] - midranks(scores[~positive])) / n1


def _variance(values: Floats) -> float:
    """Variance of the mean; 0 for a single value, whose spread is unknown."""
    return float(values.var(ddof=1) / values.size) if values.size > 1 else 0.0


def _logit(level: float, *, auc: float, se: float) -> Interval:
    half = ndtri((1 + level) / 2) * se / (auc * (1 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))


def newcombe(level: float, *, auc: float, n0: int, n1: int) -> Interval:
    """Newcombe's method 5; the upper end is the lower one of the mirrored problem."""
    z = float(ndtri((1 + level) / 2))
    return _lower_end(auc, z, n0, n1), 1 - _lower_end(1 - auc, z, n0, n1)


def _lower_end(auc: float, z: float, n0: int, n1: int) -> float:
    # auc - theta exceeds z sqrt(V(theta)) at theta = 0 and not at theta = auc, with one crossing between. Bisection
    # copes with auc = 1 too, where theta = 1 is a second, useless root.
    low, high = 0.0, auc
    for _ in range(60):
        middle = (low + high) / 2
        outside = auc - middle > z * np.sqrt(_hanley_mcneil(middle, n0, n1))
        low, high = (middle, high) if outside else (low, middle)
    return low


def _hanley_mcneil(theta: float, n0: int, n1: int) -> float:
    spread = (1 - theta) / (2 - theta) + theta / (1 + theta)
    return theta * (1 - theta) / (n0 * n1) * (1 + ((n0 + n1) / 2 - 1) * spread)


def binormal_auc(estimator_or_w: Any, X: Any, y: Any, *, pos_label: Any = None) -> AUCEstimate:
    """AUC of two normal distributions fitted to the training scores of the two classes.

    ``Phi((zbar1 - zbar0) / sqrt(s1^2 + s0^2))`` with unbiased variances. The intercept cancels. Like resubstitution it
    is optimistic: the scores are those of the training rows.

    Parameters
    ----------
    estimator_or_w, X, y, pos_label :
        As in `resubstitution_auc`.

    References
    ----------
    M. S. Pepe, *The Statistical Evaluation of Medical Tests for Classification and Prediction*, Oxford, 2003, sec. 4.4.

    Examples
    --------
    >>> X, y = [[0.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> binormal_auc([1.0], X, y)  # Phi(1 / 2)
    AUCEstimate(0.691462, method='binormal')
    """
    scores, labels = training_scores(estimator_or_w, X, y, pos_label)
    n, label = fewest_rows(labels)
    if n < 2:
        raise InputError(f"binormal_auc needs two rows of each class for a variance, got {n} of class {label!r}.")
    z = np.ldexp(scores, -np.frexp(np.abs(scores).max())[1])  # exact, and no square overflows
    z0, z1 = z[~labels.positive], z[labels.positive]
    distance = z1.mean() - z0.mean()
    spread = np.sqrt(z0.var(ddof=1) + z1.var(ddof=1))
    # Without spread there are two point masses: one above the other, or both at the same score.
    value = ndtr(distance / spread) if spread > 0 else 0.5 + 0.5 * np.sign(distance)
    reason = "it plugs in training scores, and an interval around them would hide their optimism"
    return AUCEstimate(float(value), method="binormal", reason=reason)


NU = 0.5  # prior rows for the mean, as in the paper


def ebauc(
    estimator_or_w: Any, X: Any, y: Any, *, anchored: bool = True, covariance: str = "per-class", pos_label: Any = None
) -> AUCEstimate:
    """EBAUC: sweep the threshold, take the Bayesian expectation of FPR and TPR, integrate.

    Rows of class c are N(mu_c, Sigma_c) with the prior of the paper (m = 0, S = I, nu = 0.5, kappa = P + 2). With the
    threshold t and k = kappa* - P + 1,

        E[P(w'x > t)] = t_k.cdf( (w'm* - t) sqrt(nu* / (nu* + 1)) sqrt(k / w'S*w) ),

    once per class; only (n, mean, scatter) of the scores and w'w enter, never a P x P matrix. The thresholds are the
    training scores without the intercept, which would shift w'm* and every threshold by the same number.

    Parameters
    ----------
    estimator_or_w : fitted linear classifier, pipeline ending in one, or weights of shape (P,)
        For a pipeline the prior is stated in the space of its last step.
    X, y, pos_label :
        As in `resubstitution_auc`.
    anchored : bool
        Close the curve at (0, 0) and (1, 1). False gives the published numbers, which lack the area beyond the first
        and the last training score.
    covariance : {"per-class", "common"}
        A covariance for each class (Dalton; the authors' code), or one for both as in CBAUC.

    References
    ----------
    L. A. Dalton, "Optimal ROC-based classification and performance analysis under Bayesian uncertainty models",
    IEEE/ACM Trans. Comput. Biol. Bioinform. 13(4), 2016.
    L. A. Dalton and E. R. Dougherty, "Bayesian minimum mean-square error estimation for classification error, part II",
    IEEE Trans. Signal Process. 59(1), 2011.

    Examples
    --------
    >>> X, y = [[0.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> ebauc([1.0], X, y)
    AUCEstimate(0.670..., method='ebauc')
    >>> ebauc([1.0], X, y, anchored=False) < ebauc([1.0], X, y)
    True
    """
    one_of(covariance, "covariance", ("per-class", "common"))
    w, scores, labels = linear_scores(estimator_or_w, X, y, pos_label)
    if not np.abs(scores).max() < 1e150:
        raise InputError("the squares of the scores overflow: rescale X, for example with StandardScaler.")
    classes = [scores[~labels.positive], scores[labels.positive]]
    scatters, sizes = [_scatter(z) for z in classes], [z.size for z in classes]
    if covariance == "common":
        scatters, sizes = [sum(scatters)] * 2, [scores.size] * 2
    fpr, tpr = (
        _share_above(np.sort(scores)[::-1], z, float(w @ w) + scatter, size)
        for z, scatter, size in zip(classes, scatters, sizes, strict=True)
    )
    method = "ebauc" if anchored else "ebauc-unanchored"
    reason = "it is a posterior mean without the posterior"
    return AUCEstimate(area(fpr, tpr, anchored=anchored), method=method, reason=reason)


def _scatter(z: Floats) -> float:
    """w'S*w without the prior's own share w'w."""
    return float(np.sum((z - z.mean()) ** 2)) + z.size * NU / (z.size + NU) * float(z.mean()) ** 2


def _share_above(thresholds: Floats, z: Floats, scatter: float, n_rows: int) -> Floats:
    """Expected share of the class with scores z above each threshold: a Student t tail."""
    nu = NU + z.size
    # kappa* - P + 1 with kappa* = P + 2 + rows: the number of features drops out.
    df = n_rows + 3
    scale = np.sqrt(df / scatter * nu / (nu + 1))
    return np.asarray(stdtr(df, (z.size * z.mean() / nu - thresholds) * scale), dtype=np.float64)
