"""The plug-in binormal AUC."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from foldless._check import Floats, Labels
from foldless.baselines.estimate import AUCEstimate
from foldless.baselines.scores import training_scores
from foldless.errors import InputError

REASON = "it plugs in training scores, and an interval around them would hide their optimism"


def binormal_auc(estimator_or_w: Any, X: Any, y: Any, *, pos_label: Any = None) -> AUCEstimate:
    """AUC of two normal distributions fitted to the training scores of the two classes.

    ``Phi((zbar1 - zbar0) / sqrt(s1^2 + s0^2))`` with unbiased variances. The intercept cancels.
    Like resubstitution it is optimistic: the scores are those of the training rows.

    Parameters
    ----------
    estimator_or_w, X, y, pos_label :
        As in `resubstitution_auc`.

    References
    ----------
    M. S. Pepe, *The Statistical Evaluation of Medical Tests for Classification and Prediction*,
    Oxford University Press, 2003, section 4.4.

    Examples
    --------
    >>> X, y = [[0.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> binormal_auc([1.0], X, y)  # Phi(1 / 2)
    AUCEstimate(0.691462, method='binormal')
    """
    scores, labels = training_scores(estimator_or_w, X, y, pos_label)
    _need_two_rows(labels)
    z0, z1 = scores[~labels.positive], scores[labels.positive]
    return AUCEstimate(_plug_in(z0, z1), method="binormal", reason=REASON)


def _plug_in(z0: Floats, z1: Floats) -> float:
    size = np.frexp(max(np.abs(z0).max(), np.abs(z1).max()))[1]
    z0, z1 = np.ldexp(z0, -size), np.ldexp(z1, -size)  # no digit is lost, and no square overflows
    distance = z1.mean() - z0.mean()
    spread = np.sqrt(z0.var(ddof=1) + z1.var(ddof=1))
    # Two point masses: one above the other, or on the same spot.
    return float(ndtr(distance / spread)) if spread > 0 else float(0.5 + 0.5 * np.sign(distance))


def _need_two_rows(labels: Labels) -> None:
    for n, label in ((labels.n0, labels.negative_label), (labels.n1, labels.positive_label)):
        if n < 2:
            raise InputError(f"binormal_auc needs two rows of each class for a variance, got {n} of class {label!r}.")
