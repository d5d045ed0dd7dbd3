"""Dalton's empirical Bayesian AUC, from scalars along the classifier's direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr

from foldless._check import Floats, as_weights
from foldless.baselines.curve import area
from foldless.baselines.estimate import AUCEstimate
from foldless.baselines.refit import one_of
from foldless.baselines.scores import linear_scores
from foldless.errors import InputError

# The paper's prior: zero mean, S = I, mean worth half a row, kappa = P + 2.
NU = 0.5
KAPPA_OVER_P = 2
LARGEST = 1e150  # scores beyond this have no squares

REASON = "it is a posterior mean without the posterior"


@dataclass(frozen=True)
class _Class:
    """Posterior of one class along w: effective rows and mean of the mean, scatter, degrees of freedom."""

    nu: float
    mean: float
    scatter: float
    df: float

    def upper_tail(self, thresholds: Floats) -> Floats:
        """Expected share of the class above each threshold: a Student t tail."""
        scale = np.sqrt(self.df / self.scatter * self.nu / (self.nu + 1))
        return np.asarray(stdtr(self.df, (self.mean - thresholds) * scale), dtype=np.float64)


def ebauc(
    estimator_or_w: Any,
    X: Any,
    y: Any,
    *,
    anchored: bool = True,
    covariance: str = "per-class",
    pos_label: Any = None,
) -> AUCEstimate:
    """EBAUC: sweep the threshold, take the Bayesian expectation of FPR and TPR, integrate.

    Rows of class c are N(mu_c, Sigma_c) with the prior of the paper (m = 0, S = I, nu = 0.5,
    kappa = P + 2). With the threshold t and k = kappa* - P + 1,

        E[P(w'x > t)] = t_k.cdf( (w'm* - t) sqrt(nu* / (nu* + 1)) sqrt(k / w'S*w) ),

    once per class; only (n, mean, scatter) of the scores and w'w enter, never a P x P matrix. The
    thresholds are the training scores without the intercept. The model is about x, so an intercept
    would add the same number to w'm* and to every threshold, and leave their differences alone.

    Parameters
    ----------
    estimator_or_w : fitted linear classifier, pipeline ending in one, or weights of shape (P,)
        For a pipeline the prior is stated in the space of its last step.
    X, y : training rows and labels
    anchored : bool
        Close the curve at (0, 0) and (1, 1). False gives the published numbers, which lose the
        area before the first and after the last training score.
    covariance : {"per-class", "common"}
        A covariance for each class (Dalton; the authors' code), or one for both as in CBAUC.
    pos_label : label, optional
        The positive class; by default the later one in sorted order.

    References
    ----------
    L. A. Dalton, "Optimal ROC-based classification and performance analysis under Bayesian
    uncertainty models", IEEE/ACM Trans. Comput. Biol. Bioinform. 13(4), 2016.
    L. A. Dalton and E. R. Dougherty, "Bayesian minimum mean-square error estimation for
    classification error, part II", IEEE Trans. Signal Process. 59(1), 2011.

    Examples
    --------
    >>> X, y = [[0.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> ebauc([1.0], X, y)
    AUCEstimate(0.670..., method='ebauc')
    >>> ebauc([1.0], X, y, anchored=False) < ebauc([1.0], X, y)
    True
    """
    one_of(covariance, "covariance", ("per-class", "common"))
    view, labels = linear_scores(estimator_or_w, X, y, pos_label)
    w = as_weights(view.w, view.w.size)
    if not np.abs(view.scores).max() < LARGEST:
        raise InputError("the squares of the scores overflow: rescale X, for example with StandardScaler.")
    classes = [_posterior(view.scores[rows], w) for rows in (~labels.positive, labels.positive)]
    if covariance == "common":
        classes = _pooled(classes, float(w @ w), view.scores.size)
    fpr, tpr = (c.upper_tail(np.sort(view.scores)[::-1]) for c in classes)
    method = "ebauc" if anchored else "ebauc-unanchored"
    return AUCEstimate(area(fpr, tpr, anchored=anchored), method=method, reason=REASON)


def _posterior(z: Floats, w: Floats) -> _Class:
    n, mean = z.size, float(z.mean())
    nu = NU + n
    scatter = float(w @ w) + float(np.sum((z - mean) ** 2)) + n * NU / nu * mean**2
    return _Class(nu, n * mean / nu, scatter, _df(n))


def _df(n_rows: int) -> float:
    # kappa* - P + 1 with kappa* = P + 2 + rows: the number of features drops out.
    return KAPPA_OVER_P + n_rows + 1


def _pooled(classes: list[_Class], prior_scatter: float, n_rows: int) -> list[_Class]:
    # Each class has counted the prior once; a common covariance has one prior.
    scatter = sum(c.scatter for c in classes) - prior_scatter
    return [_Class(c.nu, c.mean, scatter, _df(n_rows)) for c in classes]
