"""Honest scores when rows come in groups: remove a row's group, or the groups of both rows of a pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foldless._check import Floats
from foldless.honest.design import BLOCK_ENTRIES, Bools, Ints
from foldless.honest.grouped import group_pair_shifts, group_shifts
from foldless.honest.objective import Removal
from foldless.honest.problem import Problem
from foldless.honest.removal import typical_row
from foldless.honest.row_scores import Honest


def by_group(problem: Problem, rows: Ints, codes: Ints) -> Honest:
    """Honest scores with the groups `codes` (N,) removed whole; pairs among `rows`, which hold whole groups."""
    local = np.unique(codes[rows], return_inverse=True)[1]
    positive = problem.positive[rows]
    local1, local0 = np.flatnonzero(positive), np.flatnonzero(~positive)
    model = problem.local_model(rows)
    shifts, typical = group_pair_shifts(model, local, typical_row(model, local1, local0))
    scores = _read_pairs(problem, rows, local, shifts)
    influence = _centred_influence(problem.slope * shifts, local, positive)
    scale = _share_of_groups(codes, shifts.shape[1])
    return Honest(
        rows[local1],
        rows[local0],
        _read_own(problem, codes),
        scores[np.ix_(local1, local[local0])],
        scores[np.ix_(local0, local[local1])].T,
        problem.drift(float(typical[np.ix_(local[local1], local[local0])].mean())),
        scale * _per_row(problem, influence, positive),
        scale * _clustered(influence, local, positive),
    )


def _read_pairs(problem: Problem, rows: Ints, local: Ints, shifts: Floats) -> Floats:
    """Scores (rows, groups) without the row's own group and each group."""
    scores = problem.scores(rows, shifts)
    lever = group_sums(problem.lever(rows, scores), local)
    gone1, gone0 = (_counts(mass[rows], local) for mass in problem.mass)
    removed = problem.removal(_of_both(gone1), _of_both(gone0), _symmetric(lever))
    own = Removal(removed.mass1[local], removed.mass0[local], removed.lever[local])
    return problem.readout.without(scores, own)


def _read_own(problem: Problem, codes: Ints) -> Floats:
    """Scores (N,) of all rows without their own group."""
    scores = problem.scores(np.arange(codes.size), _all_own(problem, codes))
    parts = (*problem.mass, problem.lever(np.arange(codes.size), scores))
    gone1, gone0, lever = (_counts(part, codes)[codes] for part in parts)
    return problem.readout.without(scores, problem.removal(gone1, gone0, lever))


def _all_own(problem: Problem, codes: Ints) -> Floats:
    out = np.empty(codes.size)
    for rows in _row_chunks(codes, problem.curvature.root.shape[0]):
        local = np.unique(codes[rows], return_inverse=True)[1]
        out[rows] = group_shifts(problem.local_model(rows), local)
    return out


def _row_chunks(codes: Ints, width: int) -> Iterator[Ints]:
    """Rows of whole groups, in chunks of bounded size."""
    order = np.argsort(codes, kind="stable")
    chunk = np.cumsum(np.bincount(codes)) // max(1, BLOCK_ENTRIES // max(width, 1))
    for number in np.unique(chunk):
        yield order[chunk[codes[order]] == number]


def group_sums(values: Floats, codes: Ints) -> Floats:
    """Sums of the rows of `values` over each group."""
    order = np.argsort(codes, kind="stable")
    return np.add.reduceat(values[order], np.flatnonzero(np.diff(codes[order], prepend=-1)), axis=0)


def _counts(weights: Floats, codes: Ints) -> Floats:
    return np.asarray(np.bincount(codes, weights=weights), dtype=np.float64)


def _of_both(counts: Floats) -> Floats:
    """Rows lost with groups a and h: their sum, or one group's count where a = h."""
    both = counts[:, None] + counts
    np.fill_diagonal(both, counts)
    return both


def _symmetric(lever: Floats) -> Floats:
    both = lever + lever.T
    np.fill_diagonal(both, np.diag(lever))
    return both


def _centred_influence(shifts: Floats, local: Ints, positive: Bools) -> Floats:
    """I[i, h] = z_i(-own, h) - z_i(-own), less its mean over the class of i; 0 where h is the own group."""
    own = (np.arange(local.size), local)
    influence = shifts - shifts[own][:, None]
    for mask in (positive, ~positive):
        influence[mask] -= influence[mask].mean(axis=0)
    influence[own] = 0.0
    return influence


def _share_of_groups(codes: Ints, evaluated: int) -> float:
    """Sums over evaluated groups become sums over all groups."""
    return float(codes.max()) / max(evaluated - 1, 1)


def _per_row(problem: Problem, influence: Floats, positive: Bools) -> float:
    """(1/N) sum_k n_k/(n_k - 1) sum I^2, scaled up from evaluated rows to all rows."""
    total = 0.0
    for mask, everyone in ((positive, problem.positive), (~positive, ~problem.positive)):
        degrees = max(int(np.count_nonzero(mask)) - 1, 1)
        total += int(np.count_nonzero(everyone)) / degrees * float((influence[mask] ** 2).sum())
    return total / problem.positive.size


def _clustered(influence: Floats, local: Ints, positive: Bools) -> float:
    """sum over groups a != h of (sum_{i in a} +-I_ih / n_k)^2."""
    n1 = np.count_nonzero(positive)
    signed = np.where(positive, 1.0 / n1, -1.0 / (positive.size - n1))
    sums = group_sums(influence * signed[:, None], local)
    np.fill_diagonal(sums, 0.0)
    return float((sums**2).sum())
