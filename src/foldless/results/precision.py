"""`PrecisionRecall`: the precision-recall curve and its area, read off the same law as the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats, as_probabilities
from foldless.honest.design import Bools
from foldless.honest.probabilities import unit_rule
from foldless.laws.effect import bisected
from foldless.results.auc import central
from foldless.results.measure import Measure
from foldless.results.roc import BinormalCurves

NODES = 40
REACH = 40.0  # probits beyond which a rate is 0 or 1


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


def _rates(curves: BinormalCurves, u: Floats) -> tuple[Floats, Floats]:
    """False positive rates at each recall under each (delta, beta), and the weights of these."""
    p, weights = unit_rule(NODES)
    shift = np.multiply.outer(curves.effect.ppf(p), curves._stretch)
    rates = ndtr((ndtri(u)[:, None, None] - shift) / curves.beta)
    return rates.reshape(u.size, -1), np.multiply.outer(weights, curves.weights).ravel()


def apparent_precision(positive: Bools, scores: Floats, weights: Floats) -> float:
    """The average precision of the rows themselves: precision at each score, weighted by the recall that it adds."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)  # of each run of equal scores
    hits, alarms = (np.cumsum(w[order])[last] for w in (weights * positive, weights))
    return float(np.diff(hits, prepend=0.0) @ (hits / alarms) / hits[-1])


def average_precision(curves: BinormalCurves, prevalences: tuple[Floats, Floats], apparent: float) -> Measure:
    """The area under the precision-recall curve; `prevalences` are nodes and weights."""
    u, recall_weights = unit_rule(NODES)
    (shares, share_weights), (rates, weights) = prevalences, _rates(curves, u)
    areas = [recall_weights @ PrecisionRecall(curves, float(share))._from_rate(u[:, None], rates) for share in shares]
    return Measure.of("average precision", areas, np.multiply.outer(share_weights, weights), apparent)
