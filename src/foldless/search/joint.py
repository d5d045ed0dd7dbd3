"""What the AUCs of all candidates have in common: they were judged on the same rows, so they err together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from foldless._check import Floats

DRAWS = 2000  # in pairs of opposite sign
SEED = 20190822


@dataclass(frozen=True, eq=False)
class JointAUC:
    """Normal approximation of the AUCs of K candidates together.

    Attributes
    ----------
    mean, sd : arrays of shape (K,)
        Of the posteriors.
    shares : array of shape (K, n)
        What each independent unit contributes to the estimate of each candidate; only their correlation is used.
    """

    mean: Floats
    sd: Floats
    shares: Floats

    @cached_property
    def covariance(self) -> Floats:
        """sd_k sd_l corr(shares_k, shares_l)."""
        length = np.linalg.norm(self.shares, axis=1, keepdims=True)
        unit = np.divide(self.shares, length, out=np.zeros_like(self.shares), where=length > 0)
        correlation = unit @ unit.T
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation * self.sd * self.sd[:, None])

    def prob_better(self, a: int) -> Floats:
        """For every candidate, the probability that candidate `a` has the larger AUC; 1/2 against itself."""
        S = self.covariance
        sd = np.sqrt(np.maximum(S[a, a] + np.diag(S) - 2 * S[a], 0.0))
        gap = self.mean[a] - self.mean
        with np.errstate(divide="ignore"):
            z = np.divide(gap, sd, out=np.copysign(np.inf, gap), where=sd > 0)
        return np.where(gap == 0, 0.5, ndtr(z))

    def optimism(self) -> float:
        """How far the largest of the K means is expected to lie above the AUC of the candidate that has it.

            E[ e_k* ],    k* = argmax (truth + e),    e ~ N(0, covariance)

        The spread of the observed means is itself partly noise; the truth is therefore taken as those means, drawn
        together about their average by the factor max(0, 1 - tr(S) / |means|^2), both about the average (James and
        Stein). Fixed draws in pairs +-e: the same answer every time, and never below zero.
        """
        if self.mean.size < 2:
            return 0.0
        truth = self._shrunken()
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        errors = np.random.default_rng(SEED).standard_normal((DRAWS, self.mean.size)) @ root.T
        up, down = (truth + errors).argmax(axis=1), (truth - errors).argmax(axis=1)
        each = np.arange(DRAWS)
        return float(0.5 * np.mean(errors[each, up] - errors[each, down]))

    def _shrunken(self) -> Floats:
        about = self.mean - self.mean.mean()
        S = self.covariance
        noise = float(np.trace(S) - S.mean() * self.mean.size)
        size = float(about @ about)
        keep = max(0.0, 1.0 - noise / size) if size > 0 else 0.0
        return np.asarray(self.mean.mean() + keep * about)
