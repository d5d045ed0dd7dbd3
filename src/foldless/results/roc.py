"""`ROCPosterior` and `PrecisionRecall`: both curves with their uncertainty, read off the same law."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtri, ndtr, ndtri

from foldless.checks import Bools, Floats, as_number, as_probabilities
from foldless.errors import InputError
from foldless.honest.probabilities import normal_rule, unit_rule
from foldless.laws.effect import SQRT2, Effect, GridEffect, bisected, effect_of
from foldless.results.auc import ShownAsCard, central
from foldless.results.measure import Measure

MOST_STEPS = 2000
REACH = 40.0  # probits beyond which a rate is 0 or 1
SPREAD = 0.2  # of the log of beta, before the rows are seen
EPS = float(np.finfo(float).eps)
Sample = tuple[Bools, Floats, Floats]  # which rows are positive, their scores and weights
Nodes = tuple[Floats, Floats]  # and their weights


class PointInterval(NamedTuple):
    """A posterior mean with the ends of its credible interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class SeparationCurves:
    """Equal variances: one parameter delta, TPR = Phi(delta + q); the band is simultaneous."""

    effect: Effect

    def mean_tpr(self, q: Floats) -> Floats:
        """E[TPR] at fpr = Phi(q)."""
        return self.effect.mean_tpr(q)

    def tpr_quantile(self, q: Floats, p: float) -> Floats:
        """Quantile p of TPR at fpr = Phi(q)."""
        return np.asarray(ndtr(self.effect.ppf(p) + q))

    def area_quantiles(self, q: Floats, weights: Floats, p: Floats) -> Floats:
        """Quantiles of the area sum(weights * TPR(q))."""
        # The area grows with delta, so its quantiles are the areas at the quantiles of delta.
        return np.asarray(ndtr(self.effect.ppf(p)[:, None] + q) @ weights)


@dataclass(frozen=True, eq=False)
class BinormalCurves:
    """Unequal variances: separation delta and ratio beta = sd0/sd1 of the score spreads.

    TPR = Phi(delta sqrt((1 + beta^2)/2) + beta q). Its area is Phi(delta / sqrt 2) for every beta, so the curve agrees
    with the posterior of the AUC. beta^2 is a variance ratio with an F law, to first order independent of delta.
    """

    effect: GridEffect
    beta: Floats
    weights: Floats

    @classmethod
    def from_variances(cls, effect: GridEffect, v0: float, v1: float, df0: float, df1: float) -> BinormalCurves:
        """Curves from the score variances of both classes and their degrees of freedom."""
        p, weights = unit_rule(24)
        return cls(effect, np.sqrt(v0 / v1 * fdtri(df1, df0, p)), weights)

    @classmethod
    def nearly_equal(cls, effect: GridEffect, v0: float, v1: float, df0: float, df1: float) -> BinormalCurves:
        """The same, with a prior log beta ~ N(0, SPREAD^2), and delta around that of the mean AUC.

        Else few rows flatter the precision: their law of beta is wide, and the mean of delta is above that of the AUC.
        """
        (z, weights), error = normal_rule(12), (1 / df0 + 1 / df1) / 2
        kept = SPREAD**2 / (SPREAD**2 + error)
        off = effect_of(effect.mean_probability(SQRT2), SQRT2) - effect.expect(effect.points)
        beta = np.exp(kept * np.log(v0 / v1) / 2 + np.sqrt(kept * error) * z)
        return cls(replace(effect, points=effect.points + off), beta, weights)

    @property
    def _stretch(self) -> Floats:
        return np.asarray(np.sqrt((1 + self.beta**2) / 2))

    def mean_tpr(self, q: Floats) -> Floats:
        q = np.asarray(q, dtype=np.float64)
        total = np.zeros(q.shape)
        for beta, stretch, weight in zip(self.beta, self._stretch, self.weights, strict=True):
            total += weight * self.effect.expect(ndtr(stretch * self.effect.points + beta * q[..., None]))
        return total

    def tpr_quantile(self, q: Floats, p: float) -> Floats:
        q = np.asarray(q, dtype=np.float64)
        reach = self._stretch.max() * np.abs(self.effect.points).max() + self.beta.max() * np.abs(q)
        reach = np.minimum(reach, REACH)  # a wide law of beta would take the halvings
        return np.asarray(ndtr(bisected(lambda x: self._cdf(x, q) < p, -reach, reach, halvings=44)))

    def _cdf(self, x: Floats, q: Floats) -> Floats:
        """P(Phi^-1(TPR) <= x) at fpr = Phi(q)."""
        return self.effect.cdf((x[..., None] - self.beta * q[..., None]) / self._stretch) @ self.weights

    def area_quantiles(self, q: Floats, weights: Floats, p: Floats) -> Floats:
        # For each beta the area grows with delta, so P(area <= a) is the cdf of the delta that gives a.
        least, most = (float(end) for end in self.effect.ppf(np.array([1e-9, 1 - 1e-9])))
        delta = np.linspace(least, most, 400)
        curves = ndtr(np.multiply.outer(self._stretch, delta)[..., None] + np.multiply.outer(self.beta, q)[:, None, :])
        areas = curves @ weights

        def is_below(area: Floats) -> Any:
            at = np.stack([np.interp(area, each, delta) for each in areas])
            return self.weights @ self.effect.cdf(at) < p

        return bisected(is_below, np.full(p.shape, areas.min()), np.full(p.shape, areas.max()))


@dataclass(frozen=True, repr=False)
class ROCPosterior(ShownAsCard):
    """Posterior of the ROC curve of one classifier.

    `steps` are the false and true positive rates of the honest scores themselves, counted at each of them; None where
    there are none.

    Examples
    --------
    >>> from foldless.results.roc import ROCPosterior, SeparationCurves
    >>> from foldless.laws.effect import StudentEffect
    >>> roc = ROCPosterior(SeparationCurves(StudentEffect(1.8, 0.3, 40)), "in-sample", 20, 22)
    >>> roc.mean([0.05, 0.2]).round(3)
    array([0.554, 0.814])
    >>> [round(v, 3) for v in roc.tpr_at(0.2, level=0.9)]
    [0.814, 0.639, 0.939]
    """

    curves: SeparationCurves | BinormalCurves
    method: str
    n0: int
    n1: int
    notes: tuple[str, ...] = ()
    steps: tuple[Floats, Floats] | None = field(default=None, compare=False)
    _card = "roc_posterior"

    def __repr__(self) -> str:
        at = self.tpr_at(0.1)
        return (
            f"ROCPosterior(TPR at FPR 0.1: {at.mean:.3f} [{at.low:.3f}, {at.high:.3f}], "
            f"method={self.method!r}, n0={self.n0}, n1={self.n1})"
        )

    def mean(self, fpr: Any) -> Floats:
        """Posterior mean of the true positive rate at each false positive rate."""
        return self._at(fpr, self.curves.mean_tpr)

    def band(self, fpr: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible band: lower and upper true positive rate at each false positive rate."""
        low, high = (self._at(fpr, lambda q, p=p: self.curves.tpr_quantile(q, p)) for p in central(level))
        return low, high

    def tpr_at(self, fpr: float, level: float = 0.95) -> PointInterval:
        """True positive rate at one false positive rate, with its interval."""
        at = as_number(fpr, "fpr")
        low, high = self.band(at, level)
        return PointInterval(float(self.mean(at)), float(low), float(high))

    def partial_auc(self, max_fpr: float = 1.0, level: float = 0.95) -> PointInterval:
        """Area under the curve for fpr from 0 to `max_fpr`, not rescaled: at 1 it is the AUC."""
        q, weights = _area_rule(max_fpr)
        low, high = self.curves.area_quantiles(q, weights, central(level))
        return PointInterval(float(self.curves.mean_tpr(q) @ weights), float(low), float(high))

    def _at(self, fpr: Any, tpr: Any) -> Floats:
        f = as_probabilities(fpr, "fpr")
        inside = np.clip(f, 1e-300, 1 - 1e-16)
        # Every curve starts at (0, 0) and ends at (1, 1).
        return np.where(f == 0, 0.0, np.where(f == 1, 1.0, tpr(np.asarray(ndtri(inside)))))[()]


def counted_steps(negative: Floats, positive: Floats) -> tuple[Floats, Floats]:
    """Shares of both classes at or above each score, from (0, 0) to (1, 1); of very many scores an even choice."""
    at = np.unique(np.concatenate([negative, positive]))[::-1]
    at = at[np.linspace(0, at.size - 1, min(at.size, MOST_STEPS)).astype(np.intp)]
    fpr, tpr = (1 - np.searchsorted(np.sort(each), at) / each.size for each in (negative, positive))
    return np.append(0.0, fpr), np.append(0.0, tpr)


def _area_rule(max_fpr: float) -> tuple[Floats, Floats]:
    """Nodes q and weights of the integral over fpr = Phi(q) from 0 to max_fpr.

    In q the integrand is smooth; in fpr it has an infinite slope at 0.
    """
    end = as_number(max_fpr, "max_fpr")
    if not 0 < end <= 1:
        raise InputError(f"max_fpr must be above 0 and at most 1, got {max_fpr!r}.")
    t, weights = np.polynomial.legendre.leggauss(160)
    top = min(float(ndtri(end)), 9.0)
    bottom = min(-9.0, top - 6.0)
    half = (top - bottom) / 2
    q = bottom + half * (t + 1)
    return q, half * weights * np.exp(-0.5 * q**2) / np.sqrt(2 * np.pi)


# ---- The precision-recall curve and its area.

NODES = 24


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionRecall:
    """Posterior of the precision-recall curve at a prevalence.

    With TPR(q) = Phi(s delta + beta q) at FPR = Phi(q) (`BinormalCurves`), the precision at recall u is
    pi u / (pi u + (1 - pi) Phi((Phi^-1(u) - s delta) / beta)).
    """

    curves: BinormalCurves
    prevalence: float
    method: str = "loo"
    notes: tuple[str, ...] = ()

    def mean(self, recall: Any) -> Floats:
        """Posterior mean of the precision at each recall."""
        u = as_probabilities(recall, "recall")
        rates, weights = _rates(self.curves, np.atleast_1d(u))
        return (self._from_rate(np.atleast_1d(u)[:, None], rates) @ weights).reshape(u.shape)[()]

    def band(self, recall: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible band: lower and upper precision at each recall."""
        u = as_probabilities(recall, "recall")
        # The precision falls as the false positive rate at this recall grows.
        high, low = (self._from_rate(u, self._rate_quantile(u, p)) for p in central(level))
        return low[()], high[()]

    def _rate_quantile(self, u: Floats, p: float) -> Floats:
        """Quantile p of the false positive rate at recall u."""
        probit, curves = np.clip(ndtri(u), -REACH, REACH), self.curves

        def is_below(x: Floats) -> Any:
            at = (probit[..., None] - curves.beta * x[..., None]) / curves._stretch
            return (1 - curves.effect.cdf(at)) @ curves.weights < p

        ends = np.full(u.shape, -REACH), np.full(u.shape, REACH)
        return np.asarray(ndtr(bisected(is_below, *ends, halvings=46)))

    def _from_rate(self, u: Floats, rate: Floats) -> Floats:
        hits, alarms = self.prevalence * u, (1 - self.prevalence) * rate
        return np.where(hits + alarms > 0, hits / np.where(hits + alarms > 0, hits + alarms, 1.0), 1.0)

    def __repr__(self) -> str:
        low, high = self.band(0.8)
        return f"PrecisionRecall(precision at recall 0.8: {self.mean(0.8):.3f} [{low:.3f}, {high:.3f}])"


def _rates(curves: BinormalCurves, u: Floats, known: float | None = None) -> Nodes:
    """False positive rates at each recall under each (delta, beta), and the weights of these; delta may be known."""
    p, weights = unit_rule(NODES)
    deltas, weights = (curves.effect.ppf(p), weights) if known is None else (np.array([known]), np.ones(1))
    rates = ndtr((ndtri(u)[:, None, None] - np.multiply.outer(deltas, curves._stretch)) / curves.beta)
    return rates.reshape(u.size, -1), np.multiply.outer(weights, curves.weights).ravel()


def average_precision(curves: BinormalCurves, prevalences: Nodes, sample: Sample, kept: float) -> Measure:
    """The area under the precision-recall curve; equal scores are one step, as in scikit-learn.

    What ties and the shape of the scores add to the area of the binormal law is seen in the sample, at its own AUC;
    `kept` of that is expected of new rows, and of scores that separate the classes less, as much less: without
    separation the area is the share of positive rows, whatever the ties.
    """
    (shares, share_weights), (rates, weights) = prevalences, _rates(curves, unit_rule(NODES)[0])
    apparent, added, delta = _apparent(curves, sample)
    less = np.clip(float(curves.effect.ppf(0.5)) / delta, 0.0, 1.0) if delta > 0 else 0.0
    areas = [np.clip(_area(rates, share) + kept * less * added, 0.0, 1.0) for share in shares]
    return Measure.of("average precision", areas, np.multiply.outer(share_weights, weights), apparent)


def _area(rates: Floats, share: float) -> Floats:
    """The area of each column of false positive rates, (NODES, ...), where `share` of the rows are positive."""
    u, weights = unit_rule(NODES)
    return np.asarray(weights @ (1 / (1 + (1 - share) / share * rates / u[:, None])))


def _apparent(curves: BinormalCurves, sample: Sample) -> tuple[float, float, float]:
    """The area of the sample itself, how much more it is than that of the binormal law with the same AUC, and delta."""
    hits, rows = _counted(*sample)
    apparent, false = float(np.diff(hits, prepend=0.0) @ (hits / rows) / hits[-1]), rows - hits
    auc = float(np.diff(false, prepend=0.0) @ (hits + np.append(0.0, hits[:-1])) / (2 * hits[-1] * false[-1]))
    delta = float(effect_of(min(max(auc, EPS), 1 - EPS), SQRT2))
    rates, weights = _rates(curves, unit_rule(NODES)[0], delta)
    return apparent, apparent - float(_area(rates, float(hits[-1] / rows[-1])) @ weights), delta


def _counted(positive: Bools, scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weight of the positive rows, and of all rows, down to the end of each run of equal scores."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)
    return np.cumsum((weights * positive)[order])[last], np.cumsum(weights[order])[last]
