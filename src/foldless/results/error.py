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
from foldless.honest.probabilities import prevalences, unit_rule
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

NODES, FEWER = 128, 32  # of the narrower rate, at one prevalence and at so many, whose average smooths as well
RateFunction = Callable[[Floats, Floats], Floats]
Shares = tuple[tuple[float, float], ...]  # values of the prevalence and their probabilities; none if it is known


@dataclass(frozen=True)
class RatePair(ABC):
    """Joint posterior of the false positive rate Phi(x0) and the true positive rate Phi(x1), given x0 and x1."""

    fpr: StudentEffect
    tpr: StudentEffect

    @abstractmethod
    def probability(self, a: Floats, b: Floats, c: Floats) -> Floats:
        """P(a FPR + b TPR <= c), with a of one sign and b of one sign."""

    @abstractmethod
    def nodes(self, prevalences: int) -> tuple[Floats, Floats, Floats]:
        """False and true positive rates, and weights, of a rule for their joint law; they broadcast."""

    def moments(self, rate: RateFunction, each: Floats) -> tuple[float, float]:
        """Mean and standard deviation of rate(FPR, TPR), whose first axis has these weights."""
        fpr, tpr, weights = self.nodes(each.size)
        values, weights = rate(fpr, tpr), _first(each, fpr.ndim) * weights
        mean = float(np.sum(weights * values))
        return mean, float(np.sqrt(np.sum(weights * np.square(values - mean))))


class SeparateScales(RatePair):
    """Each class has its own spread, so the two rates are independent."""

    def probability(self, a: Floats, b: Floats, c: Floats) -> Floats:
        """The cdf of the wider rate, averaged over quantiles of the narrower."""
        weights, fpr, tpr = self._quantiles[a.size > 1]
        (sd0, sd1), wide, narrow = self._sds, self._points[0], tpr
        if np.abs(a).sum() * sd0 < np.abs(b).sum() * sd1:
            wide, narrow, a, b = self._points[1], fpr, b, a
        below = ndtr(_line(_bound(a[:, None], c[:, None] - b[:, None] * narrow), wide, _probits()))
        return np.asarray(np.where((a > 0)[:, None], below, 1 - below) @ weights)

    def nodes(self, prevalences: int) -> tuple[Floats, Floats, Floats]:
        """The product of both quantile rules."""
        weights, fpr, tpr = self._quantiles[prevalences > 1]
        return fpr[:, None], tpr, np.multiply.outer(weights, weights)

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        """Quantiles of both distances, whose probits are nearly a line over them."""
        p = unit_rule(NODES)[0]
        return np.asarray(self.fpr.ppf(p)), np.asarray(self.tpr.ppf(p))

    @cached_property
    def _quantiles(self) -> tuple[tuple[Floats, Floats, Floats], ...]:
        """Weights and both rates, for one prevalence and for several."""
        (p, weights), (x0, x1) = unit_rule(FEWER), self._points
        few0, few1 = (_line(ndtri(p), _probits(), x) for x in (x0, x1))
        rules = (unit_rule(NODES)[1], x0, x1), (weights, few0, few1)
        return tuple((w, np.asarray(ndtr(low)), np.asarray(ndtr(high))) for w, low, high in rules)

    @cached_property
    def _sds(self) -> tuple[float, float]:
        return self.fpr.sd_probability(1.0), self.tpr.sd_probability(1.0)


class SharedScale(RatePair):
    """Both classes have the same spread, so both distances share its uncertainty R: x = loc R + spread Z."""

    def probability(self, a: Floats, b: Floats, c: Floats) -> Floats:
        """Given R, the two rates are independent and normal on the probit scale."""
        wide, narrow, (r, weights), (z, z_weights) = self.fpr, self.tpr, self._scale_nodes[a.size > 1], _hermite()
        if np.abs(a).sum() * _conditional_sd(wide) < np.abs(b).sum() * _conditional_sd(narrow):
            wide, narrow, a, b = narrow, wide, b, a
        a, b, c = (_first(each, 2) for each in (a, b, c))
        rate = ndtr(narrow.loc * r[:, None] + narrow.spread * z)
        below = ndtr((_bound(a, c - b * rate) - wide.loc * r[:, None]) / wide.spread)
        return np.asarray(np.where(a > 0, below, 1 - below) @ z_weights @ weights)

    def nodes(self, prevalences: int) -> tuple[Floats, Floats, Floats]:
        """The product rule over R and both normal deviates."""
        r, weights = self.fpr.scale_nodes()
        z, w = _hermite()
        fpr = ndtr(self.fpr.loc * r[:, None] + self.fpr.spread * z)
        tpr = ndtr(self.tpr.loc * r[:, None] + self.tpr.spread * z)
        return fpr[:, :, None], tpr[:, None, :], weights[:, None, None] * np.multiply.outer(w, w)

    @cached_property
    def _scale_nodes(self) -> tuple[tuple[Floats, Floats], ...]:
        """Nodes of R: dense enough to resolve the narrower of the two conditional laws, and for several prevalences."""
        r, weights = self.fpr.scale_nodes()
        if r.size == 1:
            return ((r, weights),) * 2
        widest = max(abs(e.loc) / e.spread for e in (self.fpr, self.tpr))
        refine = widest / np.sqrt(2 * self.fpr.df)
        return chi_nodes(self.fpr.df, int(np.clip(np.ceil(refine), 1, max(1, 3000 // r.size)))), (r, weights)


def _conditional_sd(effect: StudentEffect) -> float:
    """Spread of Phi(x) given R = 1, to first order."""
    return effect.spread * float(np.exp(-0.5 * min(abs(effect.loc), 37.0) ** 2))


@lru_cache(maxsize=1)
def _probits() -> Floats:
    return np.asarray(ndtri(unit_rule(NODES)[0]))


def _line(x: Floats, points: Floats, values: Floats) -> Floats:
    """Values between points, and on the last lines beyond them."""
    found = np.interp(x, points, values)
    with np.errstate(all="ignore"):  # points that rounding makes one
        for k, beyond in ((0, x < points[0]), (-1, x > points[-1])):
            slope = np.diff(values)[k] / np.diff(points)[k]
            found = np.where(beyond, values[k] + (x - points[k]) * slope, found)
    return np.asarray(found)


def _bound(a: Any, rest: Floats) -> Floats:
    """Probit of the rate at which a * rate reaches `rest`; infinite where it never does, or always has."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        reached = ndtri(np.clip(rest / a, 0.0, 1.0))
    return np.where(a == 0, np.where(rest >= 0, np.inf, -np.inf), reached)


@lru_cache(maxsize=1)
def _hermite() -> tuple[Floats, Floats]:
    z, weights = np.polynomial.hermite_e.hermegauss(24)
    return z, weights / weights.sum()


RATES = ("error", "sensitivity", "specificity", "ppv", "npv", "alarms", "f1", "mcc")
SECANTS, NEGLIGIBLE = 12, 1e-14
RateName = Literal["error", "ppv", "npv", "alarms", "f1"]


def _first(values: Floats, others: int) -> Floats:
    """With so many more axes, of length 1, after the last."""
    return values.reshape(*values.shape, *[1] * others)


def shares_of(share: float, rows: int, groups: Any) -> Shares:
    """What the prevalence may be where a random sample of rows (or groups) has this share of positive ones."""
    values, weights = prevalences(share, rows, groups, FEWER)
    return tuple(zip(values.tolist(), weights.tolist(), strict=True))


@dataclass(frozen=True)
class DerivedRate(ShownAsCard, WithQuantiles):
    """Posterior of a rate computed from FPR and TPR: the error, the PPV, the NPV, the share of alarms, or F1."""

    pair: RatePair
    name: RateName
    prevalence: float
    shares: Shares = ()
    _card = "derived_rate"

    @cached_property
    def _weights(self) -> Floats:
        return np.array([weight for _, weight in self.shares or ((self.prevalence, 1.0),)])

    @cached_property
    def _fraction(self) -> Floats:
        """Numerator and denominator of the rate, each by its factors of 1, FPR and TPR, at every prevalence."""
        p1 = np.array([share for share, _ in self.shares or ((self.prevalence, 1.0),)])
        p0 = 1 - p1
        rates: dict[str, Any] = {
            "error": ((p1, p0, -p1), (1, 0, 0)),
            "ppv": ((0, 0, p1), (0, p0, p1)),
            "npv": ((p0, -p0, 0), (1, -p0, -p1)),
            "alarms": ((0, p0, p1), (1, 0, 0)),
            "f1": ((0, 0, 2 * p1), (p1, p0, p1)),
        }
        return np.array([[np.broadcast_to(factor, p1.shape) for factor in part] for part in rates[self.name]])

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if self.name != "error" or not isinstance(self.pair, SeparateScales):
            return self.pair.moments(self._value, self._weights)
        # A sum of independent rates needs no quadrature.
        (p1, p0, _), (fpr, tpr) = self._fraction[0], (self.pair.fpr, self.pair.tpr)
        each = p0 * fpr.mean_probability(1.0) + p1 * (1 - tpr.mean_probability(1.0))
        squares = np.square(p0 * fpr.sd_probability(1.0)) + np.square(p1 * tpr.sd_probability(1.0))
        mean = float(self._weights @ each)
        return mean, float(np.sqrt(self._weights @ (np.square(each - mean) + squares)))

    def _value(self, fpr: Floats, tpr: Floats) -> Floats:
        """The rate at every prevalence, which are the first axis."""
        (c, a, b), (c_whole, a_whole, b_whole) = (_first(self._fraction[k], fpr.ndim) for k in (0, 1))
        part, whole = c + a * fpr + b * tpr, c_whole + a_whole * fpr + b_whole * tpr
        return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 0.5)  # one half where there is no decision

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
        out = [self._below(x) if 0 <= x < 1 else float(x >= 1) for x in values.ravel()]
        return np.asarray(out).reshape(values.shape)[()]

    def _below(self, v: float) -> float:
        """The probability of the half planes a FPR + b TPR <= c in which the rate is at most v."""
        c, a, b = self._fraction[0] - v * self._fraction[1]
        return float(self._weights @ self.pair.probability(a, b, -c))

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
    used, and `shares` what it may be, with probabilities, if the rows are a random sample; `probability` is the
    threshold on the scale of probabilities, where the classifier has them.

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
    shares: Shares = ()
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
        """Share of wrong decisions."""
        return DerivedRate(self.rates, "error", self.prevalence, self.shares)

    @property
    def ppv(self) -> DerivedRate:
        """Positive predictive value: the share of positive decisions that are right."""
        return DerivedRate(self.rates, "ppv", self.prevalence, self.shares)

    @property
    def npv(self) -> DerivedRate:
        """Negative predictive value: the share of negative decisions that are right."""
        return DerivedRate(self.rates, "npv", self.prevalence, self.shares)

    @property
    def alarms(self) -> DerivedRate:
        """Share of all rows that are above the threshold."""
        return DerivedRate(self.rates, "alarms", self.prevalence, self.shares)

    @property
    def f1(self) -> DerivedRate:
        """Harmonic mean of PPV and sensitivity."""
        return DerivedRate(self.rates, "f1", self.prevalence, self.shares)

    @property
    def mcc(self) -> Measure:
        """Matthews' correlation of decisions and classes."""
        shares = np.array(self.shares or ((self.prevalence, 1.0),))
        fpr, tpr, weights = self.rates.nodes(len(shares))
        p1, w = _first(shares.T, fpr.ndim)
        flagged = p1 * tpr + (1 - p1) * fpr
        scale = np.sqrt(np.maximum(flagged * (1 - flagged), 1e-300))
        return Measure.of("MCC", np.sqrt(p1 * (1 - p1)) * (tpr - fpr) / scale, w * weights, np.nan)

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
