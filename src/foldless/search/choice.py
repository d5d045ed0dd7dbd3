"""Which candidate to take, given that all were judged on the same rows and err together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from foldless.checks import Floats
from foldless.errors import InputError
from foldless.search.candidates import Params, others_of, strength_of, weakness

DRAWS = 2000  # in pairs of opposite sign
SEED = 20190822


@dataclass(frozen=True, eq=False)
class JointAUC:
    """Normal approximation of the AUCs of K candidates together."""

    mean: Floats  # (K,) of the posteriors
    sd: Floats
    shares: Floats  # (K, n) of each independent unit in each estimate; only their correlation is used

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
        S, about = self.covariance, self.mean - self.mean.mean()
        noise, size = float(np.trace(S) - S.mean() * self.mean.size), float(about @ about)
        keep = max(0.0, 1.0 - noise / size) if size > 0 else 0.0
        truth = self.mean.mean() + keep * about
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        errors = np.random.default_rng(SEED).standard_normal((DRAWS, self.mean.size)) @ root.T
        up, down = (truth + errors).argmax(axis=1), (truth - errors).argmax(axis=1)
        each = np.arange(DRAWS)
        return float(0.5 * np.mean(errors[each, up] - errors[each, down]))


def ranks(means: Floats) -> Any:
    """1 for the largest mean; equal means share a rank, candidates without one come last."""
    filled = np.where(np.isnan(means), np.nanmin(means) - 1.0, means)
    return rankdata(-filled, method="min").astype(np.int32)


def simplest(best: int, candidates: list[Params], joint: JointAUC, level: float) -> int:
    """Position, among the judged `candidates`, of the most regularised one that is not credibly worse than the best.

    Only candidates that set everything else as the best one does are compared: strengths of different models, or of
    one model on different features, are not on one scale. "Credibly worse": the probability that the best has the
    larger AUC is at least `level`, errors on shared rows taken into account.
    """
    name = strength_of(candidates[best])
    if name is None:
        raise InputError(
            f"rule='simplest' needs one positive strength of regularisation (C, alpha or shrinkage) in param_grid, "
            f"got {', '.join(sorted(candidates[best])) or 'none'}: add one, or use rule='best'."
        )
    others, better = others_of(candidates[best], name), joint.prob_better(best)
    close = [
        k
        for k, params in enumerate(candidates)
        if strength_of(params) == name and others_of(params, name) == others and (better[k] < level or k == best)
    ]
    return min(close, key=lambda k: weakness(name, candidates[k][name]))
