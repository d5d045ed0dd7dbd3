"""What foldless's own interval will be like for data not yet collected.

The estimate follows ``dhat | delta ~ delta + sqrt(V(delta)) t`` (`foldless.honest.statistics`), and the
interval is that of the posterior which it leads to, prior and all. The width is averaged over what dhat may be.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from foldless._check import Floats
from foldless.effect import SQRT2
from foldless.grid import GridEffect
from foldless.honest import MAX_ROWS
from foldless.honest.posterior import HIGH, LOW, EffectPrior, separation_posterior
from foldless.honest.statistics import SeparationStatistic, degrees_of_freedom, noise_in_mean, noise_in_scale

OUTCOMES = (np.arange(11) + 0.5) / 11  # quantiles of dhat that the width is averaged over


def future_statistic(delta: float, n0: int, n1: int, noise_share: float) -> SeparationStatistic:
    """Statistic of n0 + n1 normal scores of equal variance that turn out to be delta apart."""
    return SeparationStatistic(
        estimate=delta,
        mean_variance=noise_in_mean(noise_share, n0, n1) * (1 / n0 + 1 / n1),
        scale_variance=noise_in_scale(noise_share) * (1 / (n0 - 1) + 1 / (n1 - 1)) / 8,
        noise_share=noise_share,
        units0=n0,
        units1=n1,
        df=degrees_of_freedom(n0, n1),
        pair_auc=likely_pair_auc(delta, n0, n1),
    )


def likely_pair_auc(delta: float, n0: int, n1: int) -> float:
    """Share of pairs in order, 1 where less than one is expected to be out of order: the interval is wider then."""
    auc = auc_of(delta)
    return 1.0 if (1 - auc) * n0 * n1 < 1 else auc


def expected_half_width(statistic: SeparationStatistic, prior: EffectPrior, level: float) -> float:
    """Mean half width of the credible interval, over repetitions of a study whose true separation is `estimate`."""
    spread = float(np.sqrt(statistic.variance(np.asarray(statistic.estimate))))
    outcomes = statistic.estimate + spread * stdtrit(statistic.df, OUTCOMES)
    widths = [half_width(_posterior(statistic, float(seen), prior), level) for seen in outcomes]
    return float(np.mean(widths))


def half_width(effect: GridEffect, level: float) -> float:
    """Half the length of the central interval of the AUC."""
    tail = (1 - level) / 2
    low, high = ndtr(effect.ppf(np.array([tail, 1 - tail])) / SQRT2)
    return float(high - low) / 2


def power_above(statistic: SeparationStatistic, prior: EffectPrior, level: float, above: float) -> float:
    """Probability that the interval will lie above a bound, if the true separation is `estimate`."""
    spread = float(np.sqrt(statistic.variance(np.asarray(statistic.estimate))))
    needed = _needed_estimate(statistic, prior, 1 - (1 - level) / 2, separation_of(above))
    return float(stdtr(statistic.df, (statistic.estimate - needed) / spread))


def _needed_estimate(statistic: SeparationStatistic, prior: EffectPrior, certainty: float, bound: float) -> float:
    """The dhat from which on the posterior probability of more than `bound` exceeds `certainty`."""

    def excess(seen: float) -> float:
        return float(_posterior(statistic, seen, prior).sf(bound)) - certainty

    if excess(LOW) >= 0:
        return LOW
    return HIGH if excess(HIGH) <= 0 else float(brentq(excess, LOW, HIGH, xtol=1e-4))


def _posterior(statistic: SeparationStatistic, seen: float, prior: EffectPrior) -> GridEffect:
    return separation_posterior(replace(statistic, estimate=float(np.clip(seen, LOW, HIGH))), prior)


def noise_share_of(delta: float, n0: int, n1: int, n_features: float) -> float:
    """The noise share that foldless will measure for an unpenalised linear rule that separates the classes by delta.

    With c = 1/n0 + 1/n1 and D the separation of the best rule, the means add noise of variance P c to D^2, and the
    covariance takes another share P/N: delta^2 = D^2 (1 - r)(1 - P/N), r = P c / (D^2 + P c). Solved for r, the noise
    share is 1 - (1 - r)(1 - P/N). It is measured by leaving rows out, which overstates it by 1/(1 - P/N).
    """
    kept = 1 - n_features / (n0 + n1)
    if kept <= 0:
        return 1.0
    q = n_features * (1 / n0 + 1 / n1) * kept / delta**2
    share = 1 - kept * (1 - 2 * q / (2 * q + 1 + np.sqrt(4 * q + 1)))
    return float(min(share / kept, 1.0))


def judged_rows(n0: int, n1: int) -> tuple[int, int]:
    """Rows of each class that the interval of a fitted classifier rests on: all, or a quarter of the limit each."""
    if n0 + n1 <= MAX_ROWS:
        return n0, n1
    return min(n0, MAX_ROWS // 4), min(n1, MAX_ROWS // 4)


def auc_of(delta: float | Floats) -> float:
    """Phi(delta / sqrt 2)."""
    return float(ndtr(delta / SQRT2))


def separation_of(auc: float) -> float:
    """The separation that an AUC stands for."""
    return float(SQRT2 * ndtri(auc))
