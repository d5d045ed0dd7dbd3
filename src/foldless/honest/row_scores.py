"""Honest scores when rows are independent: remove one row, or one row of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Ints
from foldless.honest.objective import SameScale
from foldless.honest.problem import Problem
from foldless.honest.removal import MAX_LEVERAGE, cross_shifts, single_shifts, within_influence


@dataclass(frozen=True, eq=False)
class Honest:
    """Honest scores of some rows; the fields are those of `Removed`."""

    rows1: Ints
    rows0: Ints
    loo: Floats
    without_pair1: Floats
    without_pair0: Floats
    drift: float
    influence_sq: float
    cluster_influence_sq: float


def by_row(problem: Problem, rows: Ints) -> Honest:
    """Honest scores with every row on its own; pairs among `rows` only."""
    model, positive = problem.local_model(rows), problem.positive[rows]
    local1, local0 = np.flatnonzero(positive), np.flatnonzero(~positive)
    single = single_shifts(model)
    shift1, shift0, bystanders = cross_shifts(model, local1, local0)
    within = (within_influence(model, local1, single), within_influence(model, local0, single))
    between = (_between(shift1 - single[local1, None]), _between(shift0.T - single[local0, None]))
    sums = _scaled_sums(problem, within, between)
    all_single = single if rows.size == problem.positive.size else _all_single(problem)
    score1, score0 = _read_pairs(problem, rows[local1], rows[local0], shift1, shift0)
    return Honest(
        rows[local1],
        rows[local0],
        _read_single(problem, all_single),
        score1,
        score0,
        problem.drift(bystanders),
        problem.slope**2 * _per_row(problem, sums, (len(local1), len(local0))),
        problem.slope**2 * (sums[0] / len(local1) ** 2 + sums[1] / len(local0) ** 2),
    )


def _all_single(problem: Problem) -> Floats:
    diagonal = problem.curvature.leverage(problem.design)
    slack = 1.0 - np.minimum(diagonal * problem.D, MAX_LEVERAGE)
    return np.asarray(diagonal * problem.g / slack)


def _read_single(problem: Problem, shifts: Floats) -> Floats:
    rows = np.arange(shifts.size)
    scores = problem.scores(rows, shifts)
    return problem.readout.without(scores, problem.removal(*problem.mass, problem.lever(rows, scores)))


def _read_pairs(problem: Problem, rows1: Ints, rows0: Ints, shift1: Floats, shift0: Floats) -> tuple[Floats, Floats]:
    score1, score0 = problem.scores(rows1, shift1), problem.scores(rows0, shift0.T).T
    if isinstance(problem.readout, SameScale):
        return score1, score0
    lever = problem.lever(rows1, score1) + problem.lever(rows0, score0.T).T
    removed = problem.removal(problem.D[rows1, None], problem.D[rows0], lever)
    return problem.readout.without(score1, removed), problem.readout.without(score0, removed)


def _between(influence: Floats) -> Floats:
    """Column sums of squares about the column means."""
    influence -= influence.mean(axis=0)
    return np.asarray(np.einsum("ij,ij->j", influence, influence))


def _scaled_sums(
    problem: Problem, within: tuple[Floats, Floats], between: tuple[Floats, Floats]
) -> tuple[float, float]:
    """For each class, the sum of squared influences over its evaluated rows i and over ALL other rows j."""
    n1 = int(np.count_nonzero(problem.positive))
    n0 = problem.positive.size - n1
    m1, m0 = len(within[0]), len(within[1])
    same1, same0 = (n1 - 1) / (m1 - 1), (n0 - 1) / (m0 - 1)
    sum1 = same1 * within[0].sum() + n0 / m0 * between[0].sum()
    sum0 = same0 * within[1].sum() + n1 / m1 * between[1].sum()
    return float(sum1), float(sum0)


def _per_row(problem: Problem, sums: tuple[float, float], evaluated: tuple[int, int]) -> float:
    """(1/N) sum_k n_k/(n_k - 1) sums_k, each class scaled up from its evaluated rows to all of them."""
    n1 = int(np.count_nonzero(problem.positive))
    counts = (n1, problem.positive.size - n1)
    return sum(n / (m - 1) * s for n, m, s in zip(counts, evaluated, sums, strict=True)) / problem.positive.size
