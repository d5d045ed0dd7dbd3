"""`ErrorPosterior`: error, sensitivity, specificity, PPV and NPV at a threshold and a prevalence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from foldless.checks import Floats, as_numbers, as_probabilities
from foldless.honest.probabilities import unit_rule
from foldless.laws.effect import StudentEffect, chi_nodes
from foldless.results.auc import RatePosterior, ShownAsCard, WithQuantiles, stated
from foldless.results.measure import Measure
from foldless.results.roc import PointInterval

# Given the threshold, FPR = Phi(x0) and TPR = Phi(x1) with two standardised distances x0, x1. Every
# other rate is a ratio of sums of the two, so ``rate <= v`` is a half plane of the ROC square,
#
#     a FPR + b TPR <= c        with a, b, c depending on v and on the prevalence,
#
# and its probability under the joint law of FPR and TPR is the cdf of the rate. The rate that moves ``a FPR + b TPR``
# more is integrated in closed form, so that the integrand is smooth on the scale of the quadrature nodes of the other.

NODES = 128
RateFunction = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class RatePair(ABC):
    """Joint posterior of the false positive rate Phi(x0) and the true positive rate Phi(x1), given x0 and x1."""

    fpr: StudentEffect
    tpr: StudentEffect

    @abstractmethod
    def probability(self, a: float, b: float, c: float) -> float:
        """P(a FPR + b TPR <= c)."""

    @abstractmethod
    def nodes(self) -> tuple[Floats, Floats, Floats]:
        """False and true positive rates, and weights, of a rule for their joint law; they broadcast."""

    def moments(self, rate: RateFunction) -> tuple[float, float]:
        """Mean and standard deviation of rate(FPR, TPR)."""
        fpr, tpr, weights = self.nodes()
        values = rate(fpr, tpr)
        mean = float(np.sum(weights * values))
        return mean, float(np.sqrt(np.sum(weights * np.square(values - mean))))


class SeparateScales(RatePair):
    """Each class has its own spread, so the two rates are independent."""

    def probability(self, a: float, b: float, c: float) -> float:
        """The cdf of the wider rate, averaged over quantiles of the narrower."""
        (sd0, sd1), wide, narrow = self._sds, self.fpr, self._quantiles[1]
        if abs(a) * sd0 < abs(b) * sd1:
            wide, narrow, a, b = self.tpr, self._quantiles[0], b, a
        below = wide.cdf(_bound(a, c - b * narrow))
        return float(unit_rule(NODES)[1] @ (below if a > 0 else 1 - below))

    def nodes(self) -> tuple[Floats, Floats, Floats]:
        """The product of both quantile rules."""
        weights = unit_rule(NODES)[1]
        fpr, tpr = self._quantiles
        return fpr[:, None], tpr, np.multiply.outer(weights, weights)

    @cached_property
    def _quantiles(self) -> tuple[Floats, Floats]:
        p = unit_rule(NODES)[0]
        return np.asarray(ndtr(self.fpr.ppf(p))), np.asarray(ndtr(self.tpr.ppf(p)))

    @cached_property
    def _sds(self) -> tuple[float, float]:
        return self.fpr.sd_probability(1.0), self.tpr.sd_probability(1.0)


class SharedScale(RatePair):
    """Both classes have the same spread, so both distances share its uncertainty R: x = loc R + spread Z."""

    def probability(self, a: float, b: float, c: float) -> float:
        """Given R, the two rates are independent and normal on the probit scale."""
        wide, narrow, (r, weights), (z, z_weights) = self.fpr, self.tpr, self._scale_nodes, _hermite()
        if abs(a) * _conditional_sd(wide) < abs(b) * _conditional_sd(narrow):
            wide, narrow, a, b = narrow, wide, b, a
        rate = ndtr(narrow.loc * r[:, None] + narrow.spread * z)
        below = ndtr((_bound(a, c - b * rate) - wide.loc * r[:, None]) / wide.spread)
        return float(weights @ ((below if a > 0 else 1 - below) @ z_weights))

    def nodes(self) -> tuple[Floats, Floats, Floats]:
        """The product rule over R and both normal deviates."""
        r, weights = self.fpr.scale_nodes()
        z, w = _hermite()
        fpr = ndtr(self.fpr.loc * r[:, None] + self.fpr.spread * z)
        tpr = ndtr(self.tpr.loc * r[:, None] + self.tpr.spread * z)
        return fpr[:, :, None], tpr[:, None, :], weights[:, None, None] * np.multiply.outer(w, w)

    @cached_property
    def _scale_nodes(self) -> tuple[Floats, Floats]:
        """Nodes of R, dense enough to resolve the narrower of the two conditional laws."""
        r, weights = self.fpr.scale_nodes()
        if r.size == 1:
            return r, weights
        widest = max(abs(e.loc) / e.spread for e in (self.fpr, self.tpr))
        refine = widest / np.sqrt(2 * self.fpr.df)
        return chi_nodes(self.fpr.df, int(np.clip(np.ceil(refine), 1, max(1, 3000 // r.size))))


def _conditional_sd(effect: StudentEffect) -> float:
    """Spread of Phi(x) given R = 1, to first order."""
    return effect.spread * float(np.exp(-0.5 * min(abs(effect.loc), 37.0) ** 2))


def _bound(a: float, rest: Floats) -> Floats:
    """Probit of the rate at which a * rate reaches `rest`; infinite where it never does, or always has."""
    if a == 0:
        return np.where(rest >= 0, np.inf, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(ndtri(np.clip(rest / a, 0.0, 1.0)))


@lru_cache(maxsize=1)
def _hermite() -> tuple[Floats, Floats]:
    z, weights = np.polynomial.hermite_e.hermegauss(24)
    return z, weights / weights.sum()


RATES = ("error", "sensitivity", "specificity", "ppv", "npv", "alarms", "f1", "mcc")
SECANTS, NEGLIGIBLE = 12, 1e-14
RateName = Literal["error", "ppv", "npv", "alarms", "f1"]


@dataclass(frozen=True)
class DerivedRate(ShownAsCard, WithQuantiles):
    """Posterior of a rate computed from FPR and TPR: the error, the PPV, the NPV, the share of alarms, or F1."""

    pair: RatePair
    name: RateName
    prevalence: float
    _card = "derived_rate"

    @cached_property
    def _fraction(self) -> Floats:
        """Numerator and denominator of the rate, each by its factors of 1, FPR and TPR."""
        p1, p0 = self.prevalence, 1 - self.prevalence
        rates = {
            "error": ((p1, p0, -p1), (1, 0, 0)),
            "ppv": ((0, 0, p1), (0, p0, p1)),
            "npv": ((p0, -p0, 0), (1, -p0, -p1)),
            "alarms": ((0, p0, p1), (1, 0, 0)),
            "f1": ((0, 0, 2 * p1), (p1, p0, p1)),
        }
        return np.array(rates[self.name])

    def _value(self, fpr: Floats, tpr: Floats) -> Floats:
        part, whole = (c + a * fpr + b * tpr for c, a, b in self._fraction)
        return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 0.5)  # one half where there is no decision

    def _half_plane(self, v: float) -> tuple[float, float, float]:
        """(a, b, c) such that the rate is at most v where a FPR + b TPR <= c."""
        c, a, b = (self._fraction[0] - v * self._fraction[1]).tolist()
        return a, b, -c

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self.name != "error" or not isinstance(self.pair, SeparateScales):
            return self.pair.moments(self._value)
        # A sum of independent rates needs no quadrature.
        p1, (fpr, tpr) = self.prevalence, (self.pair.fpr, self.pair.tpr)
        mean = (1 - p1) * fpr.mean_probability(1.0) + p1 * (1 - tpr.mean_probability(1.0))
        return mean, float(np.hypot((1 - p1) * fpr.sd_probability(1.0), p1 * tpr.sd_probability(1.0)))

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
        return self._cdf(as_numbers(v, "v"))

    def _cdf(self, values: Floats) -> Floats:
        probability = self.pair.probability
        out = [probability(*self._half_plane(x)) if 0 <= x < 1 else float(x >= 1) for x in values.ravel()]
        return np.asarray(out).reshape(values.shape)[()]

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""
        levels = as_probabilities(q, "q")
        return np.asarray([self._quantile(p) for p in levels.ravel()]).reshape(levels.shape)[()]

    def _quantile(self, p: float) -> float:
        """By secants on the probit of the cdf, which is nearly a line; by Brent's method where they do not settle."""
        if p in (0.0, 1.0):
            return float(p)
        target, (mean, sd) = float(ndtri(p)), self._moments
        if sd < NEGLIGIBLE:  # such as where there is no decision
            return mean
        v, last, step = mean + target * sd, 0.0, 0.0
        for k in range(SECANTS):
            if not 0 < v < 1 or not np.isfinite(off := float(ndtri(self._cdf(np.asarray(v)))) - target):
                break
            step = -off * (sd if k == 0 or off == last else step / (off - last))
            v, last = v + step, off
            if abs(step) < min(1e-8, 1e-3 * sd):  # the error is smaller still, as the method converges superlinearly
                return v
        return float(brentq(lambda v: float(self._cdf(np.asarray(v))) - p, 0.0, 1.0, xtol=1e-13))


@dataclass(frozen=True, repr=False)
class ErrorPosterior(ShownAsCard):
    """Posterior of the error rates of one classifier at one threshold.

    `error`, `sensitivity`, `specificity`, `ppv`, `npv`, `alarms`, `f1` and `mcc` each have ``mean``, ``sd``,
    ``interval(level)``, ``cdf`` and ``ppf``. `prevalence` is the share of the positive class where the classifier is
    used; `probability` is the threshold on the scale of probabilities, where the classifier has them.

    Examples
    --------
    >>> from foldless.results.error import ErrorPosterior, SharedScale
    >>> from foldless.laws.effect import StudentEffect
    >>> pair = SharedScale(StudentEffect(-1.0, 0.2, 40), StudentEffect(0.8, 0.25, 40))
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
    probability: float | None = None
    _card = "error_posterior"

    @property
    def sensitivity(self) -> RatePosterior:
        """True positive rate."""
        return RatePosterior(self.rates.tpr, 1.0)

    @property
    def specificity(self) -> RatePosterior:
        """True negative rate."""
        return RatePosterior(self.rates.fpr.mirrored, 1.0)

    @property
    def error(self) -> DerivedRate:
        """Share of wrong decisions at the given prevalence."""
        return DerivedRate(self.rates, "error", self.prevalence)

    @property
    def ppv(self) -> DerivedRate:
        """Positive predictive value: the share of positive decisions that are right."""
        return DerivedRate(self.rates, "ppv", self.prevalence)

    @property
    def npv(self) -> DerivedRate:
        """Negative predictive value: the share of negative decisions that are right."""
        return DerivedRate(self.rates, "npv", self.prevalence)

    @property
    def alarms(self) -> DerivedRate:
        """Share of all rows that are above the threshold."""
        return DerivedRate(self.rates, "alarms", self.prevalence)

    @property
    def f1(self) -> DerivedRate:
        """Harmonic mean of PPV and sensitivity."""
        return DerivedRate(self.rates, "f1", self.prevalence)

    @property
    def mcc(self) -> Measure:
        """Matthews' correlation of decisions and classes."""
        fpr, tpr, weights = self.rates.nodes()
        flagged, p1 = self.prevalence * tpr + (1 - self.prevalence) * fpr, self.prevalence
        scale = np.sqrt(np.maximum(flagged * (1 - flagged), 1e-300))
        return Measure.of("MCC", np.sqrt(p1 * (1 - p1)) * (tpr - fpr) / scale, weights, np.nan)

    def confusion(self, n: int = 100, level: float = 0.95) -> dict[str, PointInterval]:
        """Expected true and false positives and negatives among n new rows, with intervals."""
        parts = {"tp": (self.prevalence, self.sensitivity), "tn": (1 - self.prevalence, self.specificity)}
        counts = {}
        for name, (share, rate) in parts.items():
            mean, low, high = (n * share * v for v in (rate.mean, *rate.interval(level)))
            counts[name] = PointInterval(mean, low, high)
            counts["fn" if name == "tp" else "fp"] = PointInterval(n * share - mean, n * share - high, n * share - low)
        return counts

    def __repr__(self) -> str:
        low, high = self.error.interval()
        return (
            f"ErrorPosterior(error={self.error.mean:.3f} [{low:.3f}, {high:.3f}], "
            f"sensitivity={self.sensitivity.mean:.3f}, specificity={self.specificity.mean:.3f}, "
            f"threshold={self.threshold:g}, prevalence={self.prevalence:.3g}, method={self.method!r})"
        )

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Every rate with its interval, as a plain dict."""
        return {
            "threshold": self.threshold,
            "probability": self.probability,
            "prevalence": self.prevalence,
            "level": level,
            **{name: stated(getattr(self, name), level) for name in RATES},
            "method": self.method,
            "n0": self.n0,
            "n1": self.n1,
            "notes": list(self.notes),
        }
