"""AUC of a direction when the two normal populations are known: the truth in simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from foldless.checks import Floats, as_finite_numbers, as_weights
from foldless.errors import InputError


def true_auc(w: Any, mean0: Any, mean1: Any, cov0: Any, cov1: Any = None) -> float:
    """AUC of the scores w'x when class c is N(mean_c, cov_c).

    ``Phi( w'(mean1 - mean0) / sqrt(w'cov0 w + w'cov1 w) )``.

    Parameters
    ----------
    w : array of shape (P,)
    mean0, mean1 : array of shape (P,), or a number for all features
    cov0, cov1 : number, array of shape (P,) or (P, P)
        A multiple of the identity, a diagonal, or a full covariance; `cov1` defaults to `cov0`.

    Examples
    --------
    >>> round(true_auc([1.0, 1.0], [0.0, 0.0], [1.0, 1.0], 1.0), 4)  # Phi(2 / sqrt(4))
    0.8413
    """
    size = np.size(w)
    weights = as_weights(np.ravel(np.asarray(w)), size)
    shift = float(weights @ (_mean(mean1, "mean1", size) - _mean(mean0, "mean0", size)))
    variance = float(weights @ _total(cov0, cov1, size) @ weights)
    if not variance > 0:
        raise InputError(f"the variance of w'x must be positive, got {variance:g}: check cov0 and cov1.")
    return float(ndtr(shift / np.sqrt(variance)))


def bayes_auc(mean0: Any, mean1: Any, cov0: Any, cov1: Any = None) -> float:
    """Largest AUC of any linear score when class c is N(mean_c, cov_c).

    ``Phi( sqrt( D' (cov0 + cov1)^-1 D ) )`` with D = mean1 - mean0, reached by w = (cov0 + cov1)^-1 D (Su and Liu); for
    one covariance that of the Bayes classifier.

    Parameters
    ----------
    mean0, mean1, cov0, cov1 :
        As in `true_auc`; the number of features is that of the larger mean.

    References
    ----------
    J. Q. Su and J. S. Liu, "Linear combinations of multiple diagnostic markers", JASA 88(424), 1993.

    Examples
    --------
    >>> round(bayes_auc(0.0, [1.0] * 4, 1.0), 4)  # Phi(sqrt(4 / 2))
    0.9214
    """
    size = max(np.size(mean0), np.size(mean1))
    shift = _mean(mean1, "mean1", size) - _mean(mean0, "mean0", size)
    values, vectors = np.linalg.eigh(_total(cov0, cov1, size))
    if values[0] <= size * np.finfo(np.float64).eps * values[-1]:
        raise InputError(
            f"cov0 + cov1 must be positive definite, got eigenvalues from {values[0]:.3g} to {values[-1]:.3g}: "
            f"drop features that others determine, or add a little to the diagonal."
        )
    return float(ndtr(np.linalg.norm(shift @ vectors / np.sqrt(values))))


def _total(cov0: Any, cov1: Any, size: int) -> Floats:
    return _covariance(cov0, "cov0", size) + _covariance(cov0 if cov1 is None else cov1, "cov1", size)


def _mean(mean: Any, name: str, size: int) -> Floats:
    values = as_finite_numbers(mean, name)
    if values.shape not in ((), (size,)):
        raise InputError(f"{name} must be a number or have shape ({size},), got shape {values.shape}.")
    return np.broadcast_to(values, (size,))


def _covariance(cov: Any, name: str, size: int) -> Floats:
    values = as_finite_numbers(cov, name)
    if values.shape not in ((), (size,), (size, size)):
        raise InputError(f"{name} must be a number or have shape ({size},) or ({size}, {size}), got {values.shape}.")
    full = values if values.ndim == 2 else np.diag(np.broadcast_to(values, (size,)))
    if not np.allclose(full, full.T) or np.any(np.diag(full) < 0):
        raise InputError(f"{name} must be symmetric with no negative variance, as a covariance is.")
    return full
