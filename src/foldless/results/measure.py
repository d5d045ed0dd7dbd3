"""`Measure`: the posterior of one figure of merit, with its value on the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Floats, as_numbers, as_probabilities
from foldless.honest.probabilities import Estimate, normal_rule
from foldless.results.auc import ShownAsCard, WithQuantiles

NODES, ROUNDS = 200, 50
WIDEST = 2.0  # standard deviation of a logarithm beyond which the upper end of a 95 % interval would come down again


@dataclass(frozen=True, eq=False, repr=False)
class Measure(ShownAsCard, WithQuantiles):
    """Posterior of a figure such as the Brier score on new data.

    The law is held as nodes: `values` in ascending order, and the probability of each. `apparent` is the same figure on
    the training rows, by the fit that saw them.

    Examples
    --------
    >>> from foldless.honest.probabilities import Estimate
    >>> from foldless.results.measure import Measure
    >>> post = Measure.normal("intercept", Estimate(0.1, 0.2), apparent=0.0)
    >>> post
    Measure(intercept 0.100, 95% interval [-0.292, 0.492], apparent 0.000)
    """

    name: str
    values: Floats
    weights: Floats
    apparent: float
    _card = "measure"

    @classmethod
    def of(cls, name: str, values: Any, weights: Any, apparent: float) -> Measure:
        """From values and weights of the same shape, in any order."""
        flat, each = np.ravel(values), np.ravel(weights)
        order = np.argsort(flat)
        return cls(name, flat[order], each[order] / each.sum(), float(apparent))

    @classmethod
    def normal(cls, name: str, estimate: Estimate, apparent: float, most: float = np.inf) -> Measure:
        """A normal law; no value is above `most`, and what that takes from the mean is given back to the others."""
        z, weights = normal_rule(NODES)
        values = estimate.value + estimate.error * z
        for _ in range(ROUNDS if values[-1] > most else 0):
            values += estimate.value - weights @ np.minimum(values, most)
        return cls(name, np.minimum(values, most), weights, apparent)

    @classmethod
    def positive(cls, name: str, estimate: Estimate, apparent: float, most: float = np.inf) -> Measure:
        """The law of a positive figure: log-normal, with the estimate as its mean and no value above `most`."""
        z, weights = normal_rule(NODES)
        relative = np.exp(min(estimate.error / max(estimate.value, np.finfo(float).tiny), WIDEST) * z)
        values = estimate.value * relative / (weights @ relative)
        for _ in range(ROUNDS if values[-1] > most else 0):
            values *= estimate.value / (weights @ np.minimum(values, most))
        return cls(name, np.minimum(values, most), weights, apparent)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(self.weights @ self.values)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(np.sqrt(self.weights @ np.square(self.values - self.mean)))

    @property
    def optimism(self) -> float:
        """How much the training rows flatter the classifier: apparent less honest."""
        return self.apparent - self.mean

    @cached_property
    def _levels(self) -> Floats:
        """Probability below each node, half of its own included."""
        return np.asarray(np.cumsum(self.weights) - self.weights / 2)

    def cdf(self, v: Any) -> Floats:
        """Posterior probability that the figure is at most v."""
        return np.interp(as_numbers(v, "v"), self.values, self._levels, left=0.0, right=1.0)[()]

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""
        return np.interp(as_probabilities(q, "q"), self._levels, self.values)[()]

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"Measure({self.name} {self.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], apparent {self.apparent:.3f})"
        )
