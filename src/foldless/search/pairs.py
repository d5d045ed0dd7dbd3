"""Honest scores of all pairs in one go: `foldless.honest.row_scores.by_row` for problems that fit into the cache.

The slope u_ij that row i is left with when i and j are removed has u_ji as its partner, so one N x N array holds both
rows of every pair, within and between the classes. The positive rows come first in it, so that all blocks are views.
"""

from __future__ import annotations

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Bools
from foldless.honest.removal import MIN_DETERMINANT, LocalModel, single_shifts
from foldless.honest.row_scores import Honest

MAX_ROWS = 512  # beyond, N x N arrays leave the cache and blocks are faster


def all_pairs(positive: Bools, scores: Floats, whole: LocalModel) -> Honest:
    """Honest scores with every row on its own, for objectives whose scores are the decision values."""
    rows1, rows0 = np.flatnonzero(positive), np.flatnonzero(~positive)
    order, n1, n0 = np.concatenate([rows1, rows0]), rows1.size, rows0.size
    first, second = slice(n1), slice(n1, None)
    model, z = LocalModel(whole.g[order], whole.D[order], whole.B[order]), scores[order]
    single = single_shifts(model)
    G, U = _slopes(model)
    shifts = model.diagonal[:, None] * U
    shifts += G * U.T
    without1, without0 = z[first, None] + shifts[first, second], z[second] + shifts[second, first].T
    drift = _bystander(model, U, first, second)
    shifts -= single[:, None]  # from here on: the influence of j on i
    shifts.flat[:: z.size + 1] = 0.0
    sum1 = _squares(shifts[first, first], shifts[first, second])
    sum0 = _squares(shifts[second, second], shifts[second, first])
    loo = np.empty_like(z)
    loo[order] = z + single
    noise = (n1 / (n1 - 1) * sum1 + n0 / (n0 - 1) * sum0) / z.size
    return Honest(rows1, rows0, loo, without1, without0, drift, noise, sum1 / n1**2 + sum0 / n0**2)


def _slopes(model: LocalModel) -> tuple[Floats, Floats]:
    """G, and u_ij = (g_i + d_i G_ij g_j) / (1 - d_i G_ij d_j G_ij), g and d the slope and curvature over 1 - h."""
    G, g, d = model.B @ model.B.T, model.g / model.slack, model.D / model.slack
    dG = d[:, None] * G
    det = dG * dG.T
    np.subtract(1.0, det, out=det)
    np.maximum(det, MIN_DETERMINANT, out=det)
    dG *= g
    dG += g[:, None]
    dG /= det
    return G, dG


def _squares(within: Floats, between: Floats) -> float:
    """Sum of squared influences about their mean for each removed row, which has no influence on itself."""
    inner, outer = within.mean(axis=0), between.mean(axis=0)
    own, other = within - inner, between - outer
    return float(np.vdot(own, own) - inner @ inner + np.vdot(other, other))


def _bystander(model: LocalModel, U: Floats, first: slice, second: slice) -> float:
    """Mean shift of the rows that stay, over all pairs of one row of each class."""
    reach = model.B @ (0.5 * (model.B[first].mean(axis=0) + model.B[second].mean(axis=0)))
    pull1, pull0 = reach[first] @ U[first, second].mean(axis=1), reach[second] @ U[second, first].mean(axis=1)
    return float(pull1 / len(reach[first]) + pull0 / len(reach[second]))
