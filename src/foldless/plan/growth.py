"""How the separation grows with the training rows.

Along a fitted rule w = s + e, with s what all training sets agree on and e noise of variance proportional to 1/n,

    delta_n^2 = (s'D)^2 / (s'S s + E[e'S e]),   so   1/delta_n^2 = a + b/n,

and the share r of the variance of the scores that is noise at n fixes both: delta_m = delta_n / sqrt(1 - r + r n/m).
docs/planning.md derives it and says where it fails; for that, r has a distribution and not a value.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from foldless._check import Floats
from foldless.grid import GridEffect
from foldless.honest.posterior import HIGH, LOW

# The noise share of the honest scores overstates what more rows remove (a jackknife does), and a fixed penalty grows
# weaker per row: r ~ Beta with this mean and concentration, from simulations and real data (docs/planning.md).
REMOVABLE, CONCENTRATION = 0.7, 5.0
LEAST = 0.01  # the penalty always gives way a little
SHARES = (np.arange(15) + 0.5) / 15


def grown(effect: GridEffect, noise_share: float, factor: float) -> GridEffect:
    """Posterior of delta with `factor` times the rows: a mixture over the share r of noise that goes away.

    A separation below zero stays where it is: more rows do not make a rule point further the wrong way.
    """
    if factor == 1:
        return effect
    gains = 1 / np.sqrt(1 - (1 - 1 / factor) * _removable(noise_share))
    points = _points(effect, gains)
    density = np.mean([np.interp(points / g, effect.points, effect.density, right=0.0) / g for g in gains], axis=0)
    density = np.where(points <= 0, np.interp(points, effect.points, effect.density, left=0.0), density)
    with np.errstate(divide="ignore"):
        return GridEffect(points, np.log(density))


def _removable(noise_share: float) -> Floats:
    """Equally likely values of r."""
    mean = max(REMOVABLE * noise_share, LEAST)
    return np.asarray(betaincinv(CONCENTRATION * mean, CONCENTRATION * (1 - mean), SHARES))


def _points(effect: GridEffect, gains: Floats) -> Floats:
    """The old grid, stretched by each gain: fine wherever one of the parts is; a jump at 0 is kept sharp."""
    inner = effect.points[(effect.points > 0) & (effect.points < HIGH)]
    stretched = np.concatenate([g * inner for g in gains[:: max(1, gains.size // 5)]])
    ends = [max(LOW, float(effect.points[0])), 0.0, 1e-9, float(gains[-1] * effect.points[-1])]
    return np.unique(np.concatenate([effect.points[effect.points < 0], stretched, ends]))
