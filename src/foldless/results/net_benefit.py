"""`NetBenefit`: what decisions at a probability are worth, beside treating everybody and nobody."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foldless.checks import Floats
from foldless.honest.probabilities import Estimate, ProbableRows
from foldless.results.error import ErrorPosterior
from foldless.results.measure import Measure


@dataclass(frozen=True, eq=False, repr=False)
class NetBenefit:
    """Posterior of the net benefit at each threshold: prevalence x TPR - odds x (1 - prevalence) x FPR.

    `mean`, `sd`, `apparent`, `treat_all` and `treat_none` are arrays, one value for each of `thresholds`, and so are
    both ends of `interval(level)`. A true positive counts 1, a false positive the odds of the threshold.
    """

    thresholds: Floats
    measures: tuple[Measure, ...]
    prevalence: float
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> Floats:
        """Posterior means."""
        return np.array([each.mean for each in self.measures])

    @property
    def sd(self) -> Floats:
        """Posterior standard deviations."""
        return np.array([each.sd for each in self.measures])

    @property
    def apparent(self) -> Floats:
        """The net benefit on the training rows, by the fit that saw them."""
        return np.array([each.apparent for each in self.measures])

    @property
    def treat_all(self) -> Floats:
        """The net benefit of a positive decision for every row."""
        return np.asarray(self.prevalence - (1 - self.prevalence) * odds(self.thresholds))

    @property
    def treat_none(self) -> Floats:
        """That of none: zero."""
        return np.zeros(self.thresholds.shape)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Central credible intervals: lower and upper ends."""
        ends = np.array([each.interval(level) for each in self.measures])
        return ends[:, 0], ends[:, 1]

    def __repr__(self) -> str:
        parts = (f"{t:g}: {each.mean:.3f}" for t, each in zip(self.thresholds[:5], self.measures, strict=False))
        return f"NetBenefit({', '.join(parts)}{', ...' if self.thresholds.size > 5 else ''})"


def odds(threshold: Floats) -> Floats:
    """t / (1 - t)."""
    return np.asarray(threshold / (1 - threshold))


def net_benefit_at(post: ErrorPosterior, rows: ProbableRows, threshold: float) -> Measure:
    """The net benefit at one threshold: a normal law with the moments of rates and prevalence."""
    cost, (fpr, tpr) = float(odds(np.asarray(threshold))), (post.rates.fpr, post.rates.tpr)
    hits, alarms = tpr.mean_probability(1.0), cost * fpr.mean_probability(1.0)
    share, known = rows.share, rows.prevalence is not None
    spread = 0.0 if known else share * (1 - share) / rows.positive.size
    variance = (
        (share**2 + spread) * tpr.sd_probability(1.0) ** 2
        + ((1 - share) ** 2 + spread) * (cost * fpr.sd_probability(1.0)) ** 2
        + spread * (hits + alarms) ** 2
    )
    estimate = Estimate(share * hits - (1 - share) * alarms, float(np.sqrt(variance)))
    apparent = float(rows.weights @ ((rows.own >= threshold) * np.where(rows.positive, 1.0, -cost)))
    law = Measure.normal(f"net benefit at {threshold:g}", estimate, apparent)
    # All positive rows found and no false alarm: more cannot be had.
    return replace(law, values=np.minimum(law.values, share + 3 * np.sqrt(spread)))
