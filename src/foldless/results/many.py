"""`AUCPosteriors`: the in-sample posteriors of many classifiers at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldless.checks import Floats, as_number
from foldless.laws.effect import SQRT2, StudentEffect, bisected, effect_of, probability, t_cdf
from foldless.results.auc import AUCPosterior, central

CELLS = 1 << 20  # numbers of the quadrature held at once


@dataclass(frozen=True, repr=False, eq=False)
class AUCPosteriors:
    """Posteriors of the AUC of K classifiers, as arrays with one entry each; ``posteriors[k]`` is one `AUCPosterior`.

    Made by `auc_posterior_many`, which has an example.

    Attributes
    ----------
    loc : ndarray of shape (K,)
        Standardised difference of the posterior class means.
    spread, df : float
        The uncertainty of that difference and of the scale, the same for all classifiers.
    n0, n1, notes
        As in `AUCPosterior`.
    """

    loc: Floats
    spread: float
    df: float
    n0: int
    n1: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.loc.size)

    def __iter__(self) -> Iterator[AUCPosterior]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> AUCPosterior:
        return AUCPosterior.from_effect(self._effect(k), "in-sample", self.n0, self.n1, self.notes)

    def __repr__(self) -> str:
        best = int(np.argmax(self.mean))
        return (
            f"AUCPosteriors({len(self)} classifiers, mean from {self.mean.min():.3f} to {self.mean[best]:.3f} "
            f"(classifier {best}), method='in-sample', n0={self.n0}, n1={self.n1})"
        )

    @cached_property
    def mean(self) -> Floats:
        """Posterior means: the paper's CBAUC of each classifier."""
        return np.asarray(t_cdf(self.loc / np.hypot(SQRT2, self.spread), self.df))

    @cached_property
    def sd(self) -> Floats:
        """Posterior standard deviations."""
        return np.array([self._effect(k).sd_probability(SQRT2) for k in range(len(self))])

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the central credible intervals."""
        low, high = (np.asarray(probability(self._quantile(q), SQRT2)) for q in central(level))
        return low, high

    def prob_above(self, a: float) -> Floats:
        """Posterior probabilities that the AUC exceeds `a`."""
        bound = as_number(a, "a")
        if not 0 < bound < 1:
            return np.full(len(self), 1.0 if bound <= 0 else 0.0)
        return 1.0 - self._cdf(np.full(len(self), float(effect_of(bound, SQRT2))))

    def _quantile(self, q: float) -> Floats:
        low, high = np.transpose([self._effect(k).bounds() for k in range(len(self))])
        return bisected(lambda x: self._cdf(x) < q, low, high)

    def _effect(self, k: int) -> StudentEffect:
        return StudentEffect(float(self.loc[k]), self.spread, self.df)

    def _cdf(self, x: Floats) -> Floats:
        """P(effect_k <= x_k): the quadrature of `StudentEffect.cdf`, one row per classifier."""
        from scipy.special import ndtr

        nodes, weights = self._effect(0).scale_nodes()
        out = np.empty(len(self))
        step = max(1, CELLS // nodes.size)
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            out[part] = ndtr((x[part, None] - self.loc[part, None] * nodes) / self.spread) @ weights
        for k in np.flatnonzero(np.abs(self.loc) > self.spread * np.sqrt(2 * self.df)):
            out[k] = float(self._effect(int(k)).cdf(x[k]))
        return np.minimum(out, 1.0)
