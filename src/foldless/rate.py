"""`RatePosterior`: what is known about one probability, be it an AUC, a sensitivity or an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Floats, as_number, as_numbers, as_probabilities, in_open_interval
from foldless.effect import Effect, effect_of, log_jacobian, probability
from foldless.errors import InputError


@dataclass(frozen=True)
class RatePosterior:
    """Posterior of a probability Phi(x / scale), x an `Effect`.

    `mean`, `sd` and `interval` describe it; `cdf`, `ppf`, `pdf` and `sample` are the whole law.
    """

    effect: Effect
    scale: float

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return self.effect.mean_probability(self.scale)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return self.effect.sd_probability(self.scale)

    @property
    def median(self) -> float:
        """Posterior median."""
        return float(self.ppf(0.5))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central credible interval."""
        tail = (1 - in_open_interval(level, "level")) / 2
        low, high = self.ppf(np.array([tail, 1 - tail]))
        return float(low), float(high)

    def cdf(self, a: Any) -> Floats:
        """Posterior probability that the rate is at most `a`; 0 below 0 and 1 from 1 on."""
        a = as_numbers(a, "a")
        p = self.effect.cdf(self._finite_effect(a))
        return np.where(a >= 1, 1.0, np.where(a <= 0, 0.0, p))[()]

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""
        q = as_probabilities(q, "q")
        return np.asarray(probability(self.effect.ppf(q), self.scale))[()]

    def pdf(self, a: Any) -> Floats:
        """Posterior density; at 0 and 1 its limit, which may be infinite."""
        a = as_probabilities(a, "a")
        x = effect_of(np.clip(a, 1e-300, 1 - 1e-16), self.scale)
        density = np.exp(np.minimum(self.effect.logpdf(x) + log_jacobian(x, self.scale), 700.0))
        # The limit at an end depends on which falls faster: the tail of the effect or phi itself.
        lower, upper = (np.inf if sd >= self.scale else 0.0 for sd in self.effect.tail_sd())
        return np.where(a <= 0, lower, np.where(a >= 1, upper, density))[()]

    def sample(self, size: Any = None, rng: np.random.Generator | int | None = None) -> Floats:
        """Random draws from the posterior."""
        try:
            draws = self.effect.sample(size, np.random.default_rng(rng))
        except (TypeError, ValueError) as err:
            raise InputError(f"sample takes a size or shape and a seed or generator, got {size!r}, {rng!r}.") from err
        return np.asarray(probability(draws, self.scale))[()]

    def prob_above(self, a: float) -> float:
        """Posterior probability that the rate exceeds `a`."""
        bound = as_number(a, "a")
        if not 0 < bound < 1:
            return 1.0 if bound <= 0 else 0.0
        return float(self.effect.sf(self._finite_effect(np.asarray(bound))))

    def _repr_html_(self) -> str:
        from foldless._html import results

        return results.rate_posterior(self)

    def _finite_effect(self, a: Floats) -> Floats:
        return np.asarray(np.clip(effect_of(np.clip(a, 0.0, 1.0), self.scale), -1e100, 1e100))
