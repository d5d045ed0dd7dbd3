"""The calibrated posterior of the separation: statistic x prior, on a grid.

    dhat | delta ~ delta + sqrt(V(delta)) t,   with n - 2 degrees of freedom for classes of equal size, else fewer

When all pairs are ordered the same way, that likelihood reads the margin as if the normal tail were known. To the
extent that the margin exceeds what makes such an order nearly certain, the evidence of the order alone replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, logsumexp

from foldless.checks import Floats, as_number
from foldless.errors import PriorError
from foldless.honest.statistic import SeparationStatistic
from foldless.laws.effect import GridEffect

LOW, HIGH = -4.0, 10.0
SURE_ORDER = 0.9


@dataclass(frozen=True)
class EffectPrior:
    """Prior of the separation delta of a classifier (AUC = Phi(delta / sqrt 2)) for ``method="loo"``.

    A share `chance` of classifiers is at chance, N(0, chance_sd^2); the others follow
    2 Phi(delta/soft) N(0, scale^2): seldom worse than chance. An infinite `scale` is flat.

    Examples
    --------
    >>> from foldless import EffectPrior
    >>> EffectPrior.default()
    EffectPrior(chance=0.13, chance_sd=0.22, soft=0.6, scale=3.0)
    """

    chance: float = 0.13
    chance_sd: float = 0.22
    soft: float = 0.6
    scale: float = 3.0

    def __post_init__(self) -> None:
        if not 0 <= as_number(self.chance, "chance") < 1:
            raise PriorError(f"chance must be a share in [0, 1), got {self.chance!r}.")
        for name in ("chance_sd", "soft", "scale"):
            if not getattr(self, name) > 0:
                raise PriorError(f"{name} must be positive, got {getattr(self, name)!r}.")

    @classmethod
    def default(cls) -> EffectPrior:
        """One classifier in eight is at chance, the rest are seldom worse than chance."""
        return cls()

    @classmethod
    def flat(cls) -> EffectPrior:
        """Every separation is equally likely a priori, including those below chance."""
        return cls(chance=0.0, soft=np.inf, scale=np.inf)

    @classmethod
    def no_chance_mass(cls) -> EffectPrior:
        """The default without its share of classifiers at chance."""
        return cls(chance=0.0)

    @classmethod
    def checked(cls, prior: Any) -> EffectPrior:
        """What a user passed as prior, or the default for None."""
        if prior is None:
            return cls.default()
        if not isinstance(prior, cls):
            raise PriorError(
                f"prior must be an EffectPrior such as EffectPrior.flat() (only method='in-sample' takes a Prior), got "
                f"{type(prior).__name__}."
            )
        return prior

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
    share = _share_of_order(statistic)
    if share == 0:
        return GridEffect(points, log_prior + _margin_evidence(statistic, points))
    order = log_prior + _order_evidence(statistic, points)
    if share == 1:
        return GridEffect(points, order)
    return GridEffect(points, _pooled(points, log_prior + _margin_evidence(statistic, points), order, share))


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


def _share_of_order(statistic: SeparationStatistic) -> float:
    """Share of the posterior that comes from the order alone: the part of the margin beyond a nearly certain order.

    At the separation where all pairs are in order with probability 0.9, the order hardly distinguishes it from a
    larger one: whatever the margin adds beyond that comes from the normal law, not from the rows.
    """
    if np.isinf(statistic.estimate):
        return 1.0
    if statistic.pair_auc not in (0.0, 1.0):
        return 0.0
    separations, log_chance = _chance_of_order(statistic.units0, statistic.units1)
    sure = float(np.interp(np.log(SURE_ORDER), log_chance, separations))
    return max(0.0, 1 - sure / abs(statistic.estimate))


def _order_evidence(statistic: SeparationStatistic, delta: Floats) -> Floats:
    """log P(observed order | delta)."""
    separations, log_chance = _chance_of_order(statistic.units0, statistic.units1)
    toward = delta if statistic.pair_auc > 0.5 else -delta
    # Smooth in delta, so a coarse table will do: this is the one costly step of the posterior.
    return np.asarray(np.interp(toward, separations, log_chance))


@lru_cache(maxsize=8)
def _chance_of_order(n0: int, n1: int) -> tuple[Floats, Floats]:
    """log P(every positive scores above every negative | delta) for normal scores, and the deltas of this table.

    With x the largest negative score, n0 phi(x) Phi(x)^(n0-1) is its density and Phi(delta - x)^n1 the
    chance that all positives lie above it.
    """
    x, separations = np.linspace(-7, 9, 161), np.linspace(LOW, HIGH, 141)
    largest = np.log(n0 * (x[1] - x[0])) - 0.5 * np.log(2 * np.pi) - 0.5 * x**2 + (n0 - 1) * log_ndtr(x)
    above = n1 * log_ndtr(separations[:, None] - x)
    return separations, np.asarray(logsumexp(largest + above, axis=1))


def _pooled(points: Floats, margin: Floats, order: Floats, share: float) -> Floats:
    """Mixture of the posterior from the margin and the one from the order alone."""
    densities = [GridEffect(points, part).density for part in (margin, order)]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log((1 - share) * densities[0] + share * densities[1]))
