"""Which candidate to take: the best, or the simplest that is not credibly worse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from foldless._check import Floats
from foldless.errors import InputError
from foldless.search.candidates import Params, others_of, strength_of, weakness
from foldless.search.joint import JointAUC

RULES = ("best", "simplest")


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
