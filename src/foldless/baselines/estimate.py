"""The result of a baseline, and the empirical AUC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from foldless.checks import Array, Floats, in_open_interval
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
