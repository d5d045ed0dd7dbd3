"""`ErrorPosterior`: error, sensitivity, specificity, PPV and NPV at a threshold and a prevalence.

Given the threshold, FPR = Phi(x0) and TPR = Phi(x1) with two standardised distances x0, x1. Every
other rate is a ratio of sums of the two, so ``rate <= v`` is a half plane of the ROC square:

    a FPR + b TPR <= c        with a, b, c depending on v and on the prevalence.

One quadrature therefore serves them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from foldless._check import Floats, as_probabilities, in_open_interval
from foldless.rate import RatePosterior
from foldless.student import NEGLIGIBLE, StudentEffect, chi_nodes

HERMITE_NODES = 32
COARSE_NODES = 40
HALVINGS = 50

HalfPlane = Callable[[Any], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class RatePair:
    """Joint law of FPR = Phi(x0) and TPR = Phi(x1): a mixture of independent normal pairs.

    `weights` are the mixture weights, `loc0` and `loc1` the component means of x0 and x1,
    `spread0` and `spread1` their standard deviations.
    """

    fpr: StudentEffect
    tpr: StudentEffect
    weights: Floats
    loc0: Floats
    loc1: Floats

    @classmethod
    def shared_scale(cls, fpr: StudentEffect, tpr: StudentEffect) -> RatePair:
        """Both classes have one covariance, so both distances share its uncertainty."""
        r, weights = fpr._nodes()
        return cls(fpr, tpr, weights, fpr.loc * r, tpr.loc * r)

    @classmethod
    def separate_scales(cls, fpr: StudentEffect, tpr: StudentEffect) -> RatePair:
        """Each class has a covariance of its own: the two distances are independent."""
        r0, weights0 = _coarse_chi(fpr.df)
        r1, weights1 = _coarse_chi(tpr.df)
        weights = np.outer(weights0, weights1).ravel()
        return cls(fpr, tpr, weights, fpr.loc * np.repeat(r0, r1.size), tpr.loc * np.tile(r1, r0.size))

    def probability(self, a: Any, b: Any, c: Any) -> float:
        """P(a FPR + b TPR <= c).

        The rate with the narrower conditional law is put on nodes, the other integrated exactly.
        """
        if self.fpr.spread <= self.tpr.spread:
            return self._given(self.loc0, self.fpr.spread, self.loc1, self.tpr.spread, a, b, c)
        return self._given(self.loc1, self.tpr.spread, self.loc0, self.fpr.spread, b, a, c)

    def _given(self, loc_u: Floats, sd_u: float, loc_v: Floats, sd_v: float, a: Any, b: Any, c: Any) -> float:
        z, weights = _hermite()
        rate = ndtr(loc_u[:, None] + sd_u * z)
        if b == 0:
            return float(self.weights @ ((a * rate <= c) @ weights))
        bound = ndtri(np.clip((c - a * rate) / b, 0.0, 1.0))
        below = ndtr((bound - loc_v[:, None]) / sd_v)
        return float(self.weights @ ((below if b > 0 else 1 - below) @ weights))

    def moments(self, rate: Callable[[Floats, Floats], Floats]) -> tuple[float, float]:
        """Mean and standard deviation of rate(FPR, TPR)."""
        z, wz = _hermite()
        fpr = ndtr(self.loc0[:, None] + self.fpr.spread * z)
        tpr = ndtr(self.loc1[:, None] + self.tpr.spread * z)
        values = rate(fpr[:, :, None], tpr[:, None, :])
        mean = np.einsum("j,a,b,jab->", self.weights, wz, wz, values)
        variance = np.einsum("j,a,b,jab->", self.weights, wz, wz, np.square(values - mean))
        return float(mean), float(np.sqrt(variance))


@dataclass(frozen=True)
class DerivedRate:
    """Posterior of a rate computed from FPR and TPR, such as the error or the PPV."""

    pair: RatePair
    value: Callable[[Floats, Floats], Floats]
    half_plane: HalfPlane

    @cached_property
    def _moments(self) -> tuple[float, float]:
        return self.pair.moments(self.value)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return self._moments[0]

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return self._moments[1]

    def cdf(self, v: Any) -> Floats:
        """Posterior probability that the rate is at most v."""
        values = np.asarray(v, dtype=np.float64)
        out = [self._cdf(x) for x in values.ravel()]
        return np.asarray(out).reshape(values.shape)[()]

    def _cdf(self, v: float) -> float:
        if v < 0:
            return 0.0
        return 1.0 if v >= 1 else self.pair.probability(*self.half_plane(v))

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles, by bisection."""
        levels = as_probabilities(q, "q")
        return np.asarray([self._quantile(p) for p in levels.ravel()]).reshape(levels.shape)[()]

    def _quantile(self, p: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._cdf(middle) < p else (low, middle)
        return (low + high) / 2

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central credible interval."""
        tail = (1 - in_open_interval(level, "level")) / 2
        return self._quantile(tail), self._quantile(1 - tail)


@dataclass(frozen=True, repr=False)
class ErrorPosterior:
    """Posterior of the error rates of one classifier at one threshold.

    `error`, `sensitivity`, `specificity`, `ppv` and `npv` each have ``mean``, ``sd``, ``interval(level)``,
    ``cdf`` and ``ppf``. `prevalence` is the share of the positive class where the classifier is used.

    Examples
    --------
    >>> from foldless.error import ErrorPosterior, RatePair
    >>> from foldless.student import StudentEffect
    >>> pair = RatePair.shared_scale(StudentEffect(-1.0, 0.2, 40), StudentEffect(0.8, 0.25, 40))
    >>> post = ErrorPosterior(pair, 0.0, 0.3, "in-sample", 25, 16)
    >>> round(post.error.mean, 3), [round(v, 3) for v in post.ppv.interval(0.9)]
    (0.183, [0.539, 0.803])
    """

    rates: RatePair
    threshold: float
    prevalence: float
    method: str
    n0: int
    n1: int
    notes: tuple[str, ...] = ()

    @property
    def sensitivity(self) -> RatePosterior:
        """True positive rate."""
        return RatePosterior(self.rates.tpr, 1.0)

    @property
    def specificity(self) -> RatePosterior:
        """True negative rate."""
        x0 = self.rates.fpr
        return RatePosterior(StudentEffect(-x0.loc, x0.spread, x0.df), 1.0)

    @property
    def error(self) -> DerivedRate:
        """Share of wrong decisions at the given prevalence."""
        p1, p0 = self.prevalence, 1 - self.prevalence
        return DerivedRate(self.rates, lambda f, t: p0 * f + p1 * (1 - t), lambda v: (p0, -p1, v - p1))

    @property
    def ppv(self) -> DerivedRate:
        """Positive predictive value: how often a positive decision is right."""
        p1, p0 = self.prevalence, 1 - self.prevalence
        return DerivedRate(self.rates, lambda f, t: _ratio(p1 * t, p0 * f), lambda v: (-v * p0, (1 - v) * p1, 0.0))

    @property
    def npv(self) -> DerivedRate:
        """Negative predictive value: how often a negative decision is right."""
        p1, p0 = self.prevalence, 1 - self.prevalence
        return DerivedRate(
            self.rates,
            lambda f, t: _ratio(p0 * (1 - f), p1 * (1 - t)),
            lambda v: (-(1 - v) * p0, v * p1, v * p1 - (1 - v) * p0),
        )

    def __repr__(self) -> str:
        low, high = self.error.interval()
        return (
            f"ErrorPosterior(error={self.error.mean:.3f} [{low:.3f}, {high:.3f}], "
            f"sensitivity={self.sensitivity.mean:.3f}, specificity={self.specificity.mean:.3f}, "
            f"threshold={self.threshold:g}, prevalence={self.prevalence:.3g}, method={self.method!r})"
        )

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Every rate with its interval, as a plain dict."""
        names = ("error", "sensitivity", "specificity", "ppv", "npv")
        return {
            "threshold": self.threshold,
            "prevalence": self.prevalence,
            "level": level,
            **{name: _described(getattr(self, name), level) for name in names},
            "method": self.method,
            "n0": self.n0,
            "n1": self.n1,
            "notes": list(self.notes),
        }


def _described(rate: RatePosterior | DerivedRate, level: float) -> dict[str, float]:
    low, high = rate.interval(level)
    return {"mean": rate.mean, "sd": rate.sd, "low": low, "high": high}


def _ratio(part: Floats, rest: Floats) -> Floats:
    """part / (part + rest), one half where both vanish."""
    total = part + rest
    return np.where(total > 0, part / np.where(total > 0, total, 1.0), 0.5)


def _hermite() -> tuple[Floats, Floats]:
    z, weights = np.polynomial.hermite_e.hermegauss(HERMITE_NODES)
    return z, weights / weights.sum()


def _coarse_chi(df: float) -> tuple[Floats, Floats]:
    """A Gauss-Legendre rule for R, short enough for products of two of them."""
    if np.isinf(df):
        return np.ones(1), np.ones(1)
    fine, _ = chi_nodes(df)
    low, high = np.log(fine[[0, -1]])
    t, weights = np.polynomial.legendre.leggauss(COARSE_NODES)
    x = low + (high - low) * (t + 1) / 2
    weights = weights * np.exp(np.maximum(df * (x - np.expm1(2 * x) / 2), -NEGLIGIBLE * 2))
    return np.exp(x), weights / weights.sum()
