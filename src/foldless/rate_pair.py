"""The joint law of FPR = Phi(x0) and TPR = Phi(x1), and the probability of a half plane under it.

One of the two rates is put on quadrature nodes and the other is integrated in closed form: always
the one that moves ``a FPR + b TPR`` more, so that the integrand is smooth on the nodes' scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from foldless._check import Floats
from foldless.student import StudentEffect, chi_nodes

HERMITE_NODES = 24
QUANTILE_NODES = 128
MAX_SCALE_NODES = 3000

RateFunction = Callable[[Floats, Floats], Floats]


class RatePair(Protocol):
    """Joint posterior of the false and the true positive rate."""

    @property
    def fpr(self) -> StudentEffect:
        """x0."""

    @property
    def tpr(self) -> StudentEffect:
        """x1."""

    def probability(self, a: float, b: float, c: float) -> float:
        """P(a FPR + b TPR <= c)."""

    def moments(self, rate: RateFunction) -> tuple[float, float]:
        """Mean and standard deviation of rate(FPR, TPR)."""


@dataclass(frozen=True)
class SeparateScales:
    """Each class has a spread of its own: the two rates are independent."""

    fpr: StudentEffect
    tpr: StudentEffect

    def probability(self, a: float, b: float, c: float) -> float:
        """The average over quantiles of the narrower rate of the cdf of the wider."""
        if abs(a) * self._sd0 >= abs(b) * self._sd1:
            return _average_cdf(self.fpr, self._quantiles1, a, b, c)
        return _average_cdf(self.tpr, self._quantiles0, b, a, c)

    def moments(self, rate: RateFunction) -> tuple[float, float]:
        """By the product of both quantile rules."""
        _, weights = _unit_rule()
        values = rate(self._quantiles0[:, None], self._quantiles1[None, :])
        mean = float(weights @ values @ weights)
        return mean, float(np.sqrt(weights @ np.square(values - mean) @ weights))

    @cached_property
    def _quantiles0(self) -> Floats:
        return np.asarray(ndtr(self.fpr.ppf(_unit_rule()[0])))

    @cached_property
    def _quantiles1(self) -> Floats:
        return np.asarray(ndtr(self.tpr.ppf(_unit_rule()[0])))

    @cached_property
    def _sd0(self) -> float:
        return self.fpr.sd_probability(1.0)

    @cached_property
    def _sd1(self) -> float:
        return self.tpr.sd_probability(1.0)


def _average_cdf(wide: StudentEffect, narrow: Floats, a: float, b: float, c: float) -> float:
    """P(a Phi(wide) + b narrow <= c), `narrow` on its quantile nodes."""
    _, weights = _unit_rule()
    below = wide.cdf(_bound(a, c - b * narrow))
    return float(weights @ (below if a > 0 else 1 - below))


@dataclass(frozen=True)
class SharedScale:
    """Both classes have one spread, so both distances share its uncertainty R: x = loc R + spread Z."""

    fpr: StudentEffect
    tpr: StudentEffect

    def probability(self, a: float, b: float, c: float) -> float:
        """Given R the two rates are independent and normal on the probit scale."""
        if abs(a) * _conditional_sd(self.fpr) >= abs(b) * _conditional_sd(self.tpr):
            return self._given_scale(self.fpr, self.tpr, a, b, c)
        return self._given_scale(self.tpr, self.fpr, b, a, c)

    def _given_scale(self, wide: StudentEffect, narrow: StudentEffect, a: float, b: float, c: float) -> float:
        r, weights = self._scale_nodes
        z, z_weights = _hermite()
        rate = ndtr(narrow.loc * r[:, None] + narrow.spread * z)
        below = ndtr((_bound(a, c - b * rate) - wide.loc * r[:, None]) / wide.spread)
        return float(weights @ ((below if a > 0 else 1 - below) @ z_weights))

    def moments(self, rate: RateFunction) -> tuple[float, float]:
        """By the product rule over R and both normal deviates."""
        r, weights = self.fpr.scale_nodes()
        z, w = _hermite()
        fpr = ndtr(self.fpr.loc * r[:, None] + self.fpr.spread * z)
        tpr = ndtr(self.tpr.loc * r[:, None] + self.tpr.spread * z)
        values = rate(fpr[:, :, None], tpr[:, None, :])
        mean = np.einsum("j,a,b,jab->", weights, w, w, values, optimize=True)
        variance = np.einsum("j,a,b,jab->", weights, w, w, np.square(values - mean), optimize=True)
        return float(mean), float(np.sqrt(variance))

    @cached_property
    def _scale_nodes(self) -> tuple[Floats, Floats]:
        """Nodes of R, dense enough to resolve the narrower of the two conditional laws."""
        r, weights = self.fpr.scale_nodes()
        if r.size == 1:
            return r, weights
        widest = max(abs(e.loc) / e.spread for e in (self.fpr, self.tpr))
        refine = widest / np.sqrt(2 * self.fpr.df)
        return chi_nodes(self.fpr.df, int(np.clip(np.ceil(refine), 1, max(1, MAX_SCALE_NODES // r.size))))


def _conditional_sd(effect: StudentEffect) -> float:
    """Spread of Phi(x) given R = 1, to first order."""
    return effect.spread * float(np.exp(-0.5 * min(abs(effect.loc), 37.0) ** 2))


def _bound(a: float, rest: Floats) -> Floats:
    """The probit of the rate at which a * rate reaches `rest`; infinite where it never or always does."""
    if a == 0:
        return np.where(rest >= 0, np.inf, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(ndtri(np.clip(rest / a, 0.0, 1.0)))


@lru_cache(maxsize=1)
def _hermite() -> tuple[Floats, Floats]:
    z, weights = np.polynomial.hermite_e.hermegauss(HERMITE_NODES)
    return z, weights / weights.sum()


@lru_cache(maxsize=1)
def _unit_rule() -> tuple[Any, Any]:
    """Gauss-Legendre on (0, 1)."""
    t, weights = np.polynomial.legendre.leggauss(QUANTILE_NODES)
    return (t + 1) / 2, weights / 2
