"""The calibrated posterior of the separation: statistic x prior, on a grid.

    log L(delta) = -(df + 1)/2 log(1 + D(delta)/df)

with D the deviance of the share of ordered pairs (`foldless.honest.statistic`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from foldless.checks import Floats, as_number
from foldless.errors import PriorError
from foldless.honest.statistic import SeparationStatistic
from foldless.laws.effect import GridEffect

LOW, HIGH = -4.0, 10.0
WHOLE, FINE = np.linspace(LOW, HIGH, 701), np.linspace(-8, 8, 801)


@dataclass(frozen=True)
class EffectPrior:
    """Prior of the separation delta of a classifier (AUC = Phi(delta / sqrt 2)) for ``method="loo"``.

    A share `chance` of classifiers is at chance, N(0, chance_sd^2); the others follow
    2 Phi(delta/soft) N(0, scale^2): seldom worse than chance. An infinite `scale` is flat.

    Examples
    --------
    >>> from foldless import EffectPrior
    >>> EffectPrior.default()
    EffectPrior(chance=0.08, chance_sd=0.22, soft=0.6, scale=3.0)
    """

    chance: float = 0.08
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
        """One classifier in twelve is at chance, the rest are seldom worse than chance."""
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
    evidence = -(statistic.df + 1) / 2 * np.log1p(statistic.deviance(points) / statistic.df)
    return GridEffect(points, prior.log_density(points) + evidence)


def _grid(statistic: SeparationStatistic) -> Floats:
    """Fine where the likelihood varies, coarse over the whole range of the prior."""
    center = min(max(statistic.estimate, LOW), HIGH)
    fine = np.clip(center + statistic.separation_error * FINE, LOW, HIGH)
    points = np.sort(np.concatenate([WHOLE, fine]))
    return np.append(points[:-1][points[:-1] < points[1:]], HIGH)  # `np.unique` takes several times as long
