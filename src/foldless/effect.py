"""The separation delta of the two classes along a weight vector: one number that carries everything.

With normal scores AUC = Phi(delta / sqrt 2) and TPR(fpr) = Phi(delta + Phi^-1(fpr)); error rates
are Phi of a standardised distance to the threshold. Every result of foldless is therefore the
posterior of such an effect, pushed through Phi. `Effect` says what a result needs to know about
it; `conjugate` and `honest` each supply one.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from foldless._check import Floats

SQRT2 = float(np.sqrt(2.0))


class Effect(Protocol):
    """Posterior of an effect x. `scale` turns it into a probability: Phi(x / scale)."""

    def mean_probability(self, scale: float) -> float:
        """E[Phi(x / scale)]."""

    def sd_probability(self, scale: float) -> float:
        """Standard deviation of Phi(x / scale)."""

    def cdf(self, x: Any) -> Floats:
        """P(effect <= x)."""

    def sf(self, x: Any) -> Floats:
        """P(effect > x), accurate where it is small."""

    def ppf(self, q: Any) -> Floats:
        """Quantiles of the effect."""

    def logpdf(self, x: Any) -> Floats:
        """Log density of the effect."""

    def tail_sd(self) -> tuple[float, float]:
        """Spread of the Gaussian lower and upper tail of the effect."""

    def mean_tpr(self, q: Any) -> Floats:
        """E[Phi(x + q)]: the mean ROC curve at fpr = Phi(q)."""

    def sample(self, size: Any, rng: np.random.Generator) -> Floats:
        """Random draws of the effect."""


def probability(x: Any, scale: float) -> Any:
    """Phi(x / scale)."""
    return ndtr(np.asarray(x, dtype=np.float64) / scale)


def effect_of(p: Any, scale: float) -> Any:
    """The effect whose probability is p: scale * Phi^-1(p)."""
    return scale * ndtri(p)


def log_jacobian(x: Any, scale: float) -> Any:
    """log of d effect / d probability at effect x."""
    return np.log(scale * np.sqrt(2 * np.pi)) + 0.5 * (x / scale) ** 2
