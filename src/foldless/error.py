"""`ErrorPosterior`: error, sensitivity, specificity, PPV and NPV at a threshold and a prevalence.

Given the threshold, FPR = Phi(x0) and TPR = Phi(x1) with two standardised distances x0, x1. Every
other rate is a ratio of sums of the two, so ``rate <= v`` is a half plane of the ROC square,

    a FPR + b TPR <= c        with a, b, c depending on v and on the prevalence,

and its probability under the joint law of FPR and TPR (`rate_pair`) is the cdf of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from foldless._check import Floats, as_numbers, as_probabilities, in_open_interval
from foldless.rate import RatePosterior
from foldless.rate_pair import RatePair
from foldless.student import StudentEffect

HALVINGS = 45

RateName = Literal["error", "ppv", "npv"]


def _half_plane(name: RateName, prevalence: float, v: float) -> tuple[float, float, float]:
    """(a, b, c) such that rate <= v where a FPR + b TPR <= c."""
    p1, p0 = prevalence, 1 - prevalence
    if name == "error":
        return p0, -p1, v - p1
    if name == "ppv":
        return -v * p0, (1 - v) * p1, 0.0
    return -(1 - v) * p0, v * p1, v * p1 - (1 - v) * p0


def _value(name: RateName, prevalence: float, fpr: Floats, tpr: Floats) -> Floats:
    p1, p0 = prevalence, 1 - prevalence
    if name == "error":
        return p0 * fpr + p1 * (1 - tpr)
    if name == "ppv":
        return _ratio(p1 * tpr, p0 * fpr)
    return _ratio(p0 * (1 - fpr), p1 * (1 - tpr))


def _ratio(part: Floats, rest: Floats) -> Floats:
    """part / (part + rest), one half where both vanish."""
    total = part + rest
    return np.where(total > 0, part / np.where(total > 0, total, 1.0), 0.5)


@dataclass(frozen=True)
class DerivedRate:
    """Posterior of a rate computed from FPR and TPR: the error, the PPV or the NPV."""

    pair: RatePair
    name: RateName
    prevalence: float

    @cached_property
    def _moments(self) -> tuple[float, float]:
        return self.pair.moments(lambda f, t: _value(self.name, self.prevalence, f, t))

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
        values = as_numbers(v, "v")
        out = [self._cdf(x) for x in values.ravel()]
        return np.asarray(out).reshape(values.shape)[()]

    def _cdf(self, v: float) -> float:
        if v < 0:
            return 0.0
        return 1.0 if v >= 1 else self.pair.probability(*_half_plane(self.name, self.prevalence, v))

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

    def _repr_html_(self) -> str:
        from foldless._html import results

        return results.derived_rate(self)


@dataclass(frozen=True, repr=False)
class ErrorPosterior:
    """Posterior of the error rates of one classifier at one threshold.

    `error`, `sensitivity`, `specificity`, `ppv` and `npv` each have ``mean``, ``sd``, ``interval(level)``,
    ``cdf`` and ``ppf``. `prevalence` is the share of the positive class where the classifier is used.

    Examples
    --------
    >>> from foldless.error import ErrorPosterior
    >>> from foldless.rate_pair import SharedScale
    >>> from foldless.student import StudentEffect
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
        return DerivedRate(self.rates, "error", self.prevalence)

    @property
    def ppv(self) -> DerivedRate:
        """Positive predictive value: how often a positive decision is right."""
        return DerivedRate(self.rates, "ppv", self.prevalence)

    @property
    def npv(self) -> DerivedRate:
        """Negative predictive value: how often a negative decision is right."""
        return DerivedRate(self.rates, "npv", self.prevalence)

    def __repr__(self) -> str:
        low, high = self.error.interval()
        return (
            f"ErrorPosterior(error={self.error.mean:.3f} [{low:.3f}, {high:.3f}], "
            f"sensitivity={self.sensitivity.mean:.3f}, specificity={self.specificity.mean:.3f}, "
            f"threshold={self.threshold:g}, prevalence={self.prevalence:.3g}, method={self.method!r})"
        )

    def _repr_html_(self) -> str:
        from foldless._html import results

        return results.error_posterior(self)

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
