"""`AccuracyPosterior`: the posterior of a share of right decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betaincinv

from foldless.checks import Floats, as_number, as_numbers, as_probabilities
from foldless.results.auc import ShownAsCard, WithQuantiles

HALF = 0.5  # Jeffreys' prior


@dataclass(frozen=True, repr=False)
class AccuracyPosterior(ShownAsCard, WithQuantiles):
    """Posterior of an accuracy, a balanced accuracy or a top-k accuracy on new data: a Beta law.

    `method` and `notes` are as in `AUCPosterior`.

    Examples
    --------
    >>> from foldless.results.accuracy import AccuracyPosterior
    >>> post = AccuracyPosterior.of_rows("accuracy", 90.0, 10.0)
    >>> post
    AccuracyPosterior(accuracy 0.896, 95% interval [0.830, 0.947], method='loo')
    >>> round(post.prob_above(0.85), 3)
    0.925
    """

    name: str
    a: float
    b: float
    method: str = "loo"
    notes: tuple[str, ...] = ()
    _card = "accuracy_posterior"

    @classmethod
    def of_rows(cls, name: str, right: float, wrong: float, **about: Any) -> AccuracyPosterior:
        """From numbers of right and wrong rows, under Jeffreys' prior."""
        return cls(name, right + HALF, wrong + HALF, **about)

    @classmethod
    def of_moments(cls, name: str, mean: float, sd: float, **about: Any) -> AccuracyPosterior:
        """The law with this mean and standard deviation."""
        size = mean * (1.0 - mean) / max(sd, 1e-12) ** 2 - 1.0
        return cls(name, mean * size, (1.0 - mean) * size, **about)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return self.a / (self.a + self.b)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(np.sqrt(self.mean * (1.0 - self.mean) / (self.a + self.b + 1.0)))

    def cdf(self, p: Any) -> Floats:
        """Posterior probability that the accuracy is at most `p`."""
        return np.asarray(betainc(self.a, self.b, np.clip(as_numbers(p, "p"), 0.0, 1.0)))[()]

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""
        return np.asarray(betaincinv(self.a, self.b, as_probabilities(q, "q")))[()]

    def prob_above(self, p: float) -> float:
        """Posterior probability that the accuracy exceeds `p`."""
        return float(betaincc(self.a, self.b, np.clip(as_number(p, "p"), 0.0, 1.0)))

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"AccuracyPosterior({self.name} {self.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], "
            f"method={self.method!r})"
        )
