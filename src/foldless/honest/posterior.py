"""The calibrated posterior of the separation: statistic x prior, on a grid.

    dhat | delta ~ delta + sqrt(V(delta)) t_{n-2}

When every pair is ordered, that likelihood reads the margin as if the normal tail were known;
the evidence of the order alone is then blended in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from foldless._check import Floats, as_number
from foldless.errors import PriorError
from foldless.grid import GridEffect
from foldless.honest.statistics import SeparationStatistic

LOW, HIGH = -4.0, 10.0
RANK_SHARE = 0.5


@dataclass(frozen=True)
class EffectPrior:
    """Prior of the separation delta of a classifier (AUC = Phi(delta / sqrt 2)) for ``method="loo"``.

    A share `chance` of classifiers is at chance, N(0, chance_sd^2); the others follow
    2 Phi(delta/soft) N(0, scale^2): hardly ever worse than chance. An infinite `scale` is flat.

    Examples
    --------
    >>> from foldless import EffectPrior
    >>> EffectPrior.default()
    EffectPrior(chance=0.16, chance_sd=0.1, soft=0.2, scale=2.5)
    """

    chance: float = 0.16
    chance_sd: float = 0.1
    soft: float = 0.2
    scale: float = 2.5

    def __post_init__(self) -> None:
        if not 0 <= as_number(self.chance, "chance") < 1:
            raise PriorError(f"chance must be a share in [0, 1), got {self.chance!r}.")
        for name in ("chance_sd", "soft", "scale"):
            if not getattr(self, name) > 0:
                raise PriorError(f"{name} must be positive, got {getattr(self, name)!r}.")

    @classmethod
    def default(cls) -> EffectPrior:
        """One classifier in six is at chance, the rest are hardly ever worse than chance."""
        return cls()

    @classmethod
    def flat(cls) -> EffectPrior:
        """Every separation is equally likely beforehand, also below chance."""
        return cls(chance=0.0, soft=np.inf, scale=np.inf)

    @classmethod
    def no_chance_mass(cls) -> EffectPrior:
        """The default without its share of classifiers at chance."""
        return cls(chance=0.0)

    def log_density(self, delta: Floats) -> Floats:
        """Log prior density up to a constant."""
        spread = -0.5 * np.square(delta / self.scale)
        level = 0.0 if np.isinf(self.scale) else -np.log(self.scale)
        useful = np.log1p(-self.chance) + level + np.log(2) + log_ndtr(delta / self.soft) + spread
        if self.chance == 0:
            return np.asarray(useful)
        chance = np.log(self.chance) - np.log(self.chance_sd) - 0.5 * np.square(delta / self.chance_sd)
        return np.asarray(np.logaddexp(useful, chance))


def separation_posterior(statistic: SeparationStatistic, prior: EffectPrior) -> GridEffect:
    """Posterior of delta, given the statistic of honest scores."""
    points = _grid(statistic)
    log_prior = prior.log_density(points)
    ordered = statistic.pair_auc in (0.0, 1.0)
    if np.isinf(statistic.estimate):
        return GridEffect(points, log_prior + _order_evidence(statistic, points))
    margin = log_prior + _margin_evidence(statistic, points)
    if not ordered:
        return GridEffect(points, margin)
    order = log_prior + _order_evidence(statistic, points)
    return GridEffect(points, _pooled(points, margin, order))


def _grid(statistic: SeparationStatistic) -> Floats:
    """Fine where the likelihood varies, coarse over the whole range of the prior."""
    center = np.clip(statistic.estimate, LOW, HIGH)
    sd = np.sqrt(statistic.variance(center))
    fine = np.clip(center + sd * np.linspace(-8, 8, 801), LOW, HIGH)
    return np.unique(np.concatenate([np.linspace(LOW, HIGH, 701), fine]))


def _margin_evidence(statistic: SeparationStatistic, delta: Floats) -> Floats:
    variance, df = statistic.variance(delta), statistic.df
    squared = np.square(statistic.estimate - delta) / (df * variance)
    return np.asarray(-(df + 1) / 2 * np.log1p(squared) - 0.5 * np.log(variance))


def _order_evidence(statistic: SeparationStatistic, delta: Floats) -> Floats:
    """log P(every positive scores above every negative | delta) for normal scores.

    With x the largest negative score, n0 phi(x) Phi(x)^(n0-1) its density and Phi(delta - x)^n1 the
    chance that all positives lie above it. Training noise makes the rows worth less.
    """
    n0 = statistic.units0 / (1 + statistic.noise_share)
    n1 = statistic.units1 / (1 + statistic.noise_share)
    x, separations = np.linspace(-7, 9, 161), np.linspace(LOW, HIGH, 141)
    largest = np.log(n0) - 0.5 * x**2 + (n0 - 1) * log_ndtr(x)
    above = n1 * log_ndtr(separations[:, None] - x)
    evidence = logsumexp(largest + above, axis=1)
    toward = delta if statistic.pair_auc > 0.5 else -delta
    # Smooth in delta, so a coarse table will do: this is the one costly step of the posterior.
    return np.asarray(np.interp(toward, separations, evidence))


def _pooled(points: Floats, margin: Floats, order: Floats) -> Floats:
    """Half the posterior from the margin, half from the order alone."""
    densities = [GridEffect(points, part).density for part in (margin, order)]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log((1 - RANK_SHARE) * densities[0] + RANK_SHARE * densities[1]))
