"""The AUC of a sample, the AUC of known normal populations, and the result of a baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from foldless.checks import Array, Floats, as_finite_numbers, as_weights, in_open_interval
from foldless.errors import InputError

Mask = npt.NDArray[np.bool_]


def midranks(values: Array) -> Floats:
    """Ranks from 1, ties sharing their mean rank; `scipy.stats.rankdata`, without the slow import of scipy.stats."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def rank_auc(positive: Mask, scores: Array) -> float:
    """AUC as the Mann-Whitney statistic: P(positive scores higher) + half the probability of a tie."""
    n1 = int(np.count_nonzero(positive))
    n0 = positive.size - n1
    return float((midranks(scores)[positive].sum() - n1 * (n1 + 1) / 2) / (n0 * n1))


def area(fpr: Floats, tpr: Floats, *, anchored: bool) -> float:
    """Area under a curve given by increasing points, by trapezoids, with or without the two corners."""
    if anchored:
        fpr, tpr = np.r_[0.0, fpr, 1.0], np.r_[0.0, tpr, 1.0]
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)


# ---- When the populations are known: the truth in simulations.


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


# ---- An estimate, with its method, standard error and interval.

Interval = tuple[float, float]
Bounds = Callable[[float], Interval]


class AUCEstimate(float):
    """An estimated AUC: usable as a plain number, with its method, standard error and interval.

    Parameters
    ----------
    value : float
        The estimate.
    method : str
        Short name of the method, such as ``"cv-mean"``.
    se : float, optional
        Standard error, where the method has one.
    bounds : callable, optional
        Maps a level in (0, 1) to the two ends of the interval; picklable.
    reason : str
        Why there is no interval, when `bounds` is None.
    details : mapping, optional
        What else the method computed, for example the AUC of each fold.

    Examples
    --------
    >>> auc = AUCEstimate(0.75, method="resubstitution", reason="training scores are optimistic")
    >>> auc
    AUCEstimate(0.75, method='resubstitution')
    >>> auc + 0.25
    1.0
    >>> auc.interval()
    Traceback (most recent call last):
    foldless.errors.InputError: the method 'resubstitution' has no interval: training scores are optimistic.
    """

    __slots__ = ("_bounds", "_reason", "details", "method", "se")

    method: str
    se: float | None
    details: Mapping[str, Any]
    _bounds: Bounds | None
    _reason: str

    def __new__(
        cls,
        value: float,
        *,
        method: str,
        se: float | None = None,
        bounds: Bounds | None = None,
        reason: str = "its spread over data sets cannot be read off one data set",
        details: Mapping[str, Any] | None = None,
    ) -> AUCEstimate:
        self = super().__new__(cls, value)
        frozen = MappingProxyType({key: _read_only(item) for key, item in (details or {}).items()})
        fields = {"method": method, "se": se, "details": frozen, "_bounds": bounds, "_reason": reason}
        for name, item in fields.items():
            object.__setattr__(self, name, item)
        return self

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"an AUCEstimate cannot be changed: {name!r} is read-only.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an AUCEstimate cannot be changed: {name!r} is read-only.")

    def __repr__(self) -> str:
        se = "" if self.se is None else f", se={self.se:.4g}"
        return f"AUCEstimate({float(self):.6g}, method={self.method!r}{se})"

    # In a table or an f-string it should print as a plain number.
    __str__ = float.__repr__

    def _repr_html_(self) -> str:
        from foldless.cards import results

        return results.auc_estimate(self, None if self._bounds is None else self.interval(), self._reason)

    def __reduce__(self) -> tuple[Any, ...]:
        about: dict[str, Any] = {"bounds": self._bounds, "reason": self._reason, "details": dict(self.details)}
        return partial(AUCEstimate, method=self.method, se=self.se, **about), (float(self),)

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence interval, within [0, 1]; an `InputError` gives the reason where there is none."""
        level = in_open_interval(level, "level")
        if self._bounds is None:
            raise InputError(f"the method {self.method!r} has no interval: {self._reason}.")
        low, high = self._bounds(level)
        return max(0.0, float(low)), min(1.0, float(high))


def _read_only(item: Any) -> Any:
    if not isinstance(item, np.ndarray):
        return item
    item = item.copy()
    item.setflags(write=False)
    return item
