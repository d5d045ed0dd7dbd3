"""Fits without a penalty that some rows hold up alone: what becomes of the weights when those rows are removed.

A column that is constant but for one row, a category that one group has to itself: that row's score is its label
(leverage 1), and its score without the row is 0/0. scikit-learn's fits take the smallest weights where rows leave them
open. That is the limit of a vanishing ridge penalty on standardised columns, so such a penalty is added: strong enough
that 1 - leverage is more than rounding, weak enough to leave all else as it was.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Bools, Design, Ints
from foldless.honest.objective import Objective
from foldless.honest.polish import Optimum, Point, curvature_of, descend, full_step
from foldless.honest.problem import Problem, problem_at
from foldless.honest.removal import LocalModel, column_blocks

PENALTY = 1e-10  # on columns of unit length
NO_SLACK = 1e-11  # 1 - leverage below this is rounding


def determined(
    positive: Bools, objective: Objective, design: Design, found: Optimum, rows: Ints, codes: Ints | None
) -> Problem:
    """The objective at its optimum, ready for removal; where rows hold up weights alone, barely penalised."""
    problem = problem_at(positive, objective, design, found)
    if objective.lam == 0 and is_undetermined(problem, rows, codes):
        return problem_at(positive, *barely_penalised(objective, design, found))
    return problem


def is_undetermined(problem: Problem, rows: Ints, codes: Ints | None) -> bool:
    """Whether two rows, or two groups, hold up a direction alone: an eigenvalue 1 of their block of the hat matrix."""
    model = problem.local_model(rows)
    return (_slack_of_pairs(model) if codes is None else _slack_of_groups(model, codes[rows])) < NO_SLACK


def _slack_of_pairs(model: LocalModel) -> float:
    """1 - the largest eigenvalue of any two rows; it can only be near 0 where one of them has leverage 1/2 or more."""
    seen = model.B * np.sqrt(model.D)[:, None]
    h = model.diagonal * model.D
    strong, least = np.flatnonzero(h >= 0.5), 1.0 - float(h.max())
    for part in column_blocks(len(h), len(strong)):
        i = strong[part]
        cross = seen @ seen[i].T
        cross[i, np.arange(len(i))] = 0.0
        largest = 0.5 * (h[:, None] + h[i]) + np.hypot(0.5 * (h[:, None] - h[i]), cross)
        least = min(least, 1.0 - float(largest.max()))
    return least


def _slack_of_groups(model: LocalModel, codes: Ints) -> float:
    """The same for whole groups; only where their leverages sum to one or more."""
    seen, sums = model.B * np.sqrt(model.D)[:, None], np.bincount(codes, weights=model.diagonal * model.D)
    groups = [seen[codes == code] for code in np.flatnonzero(sums)]
    sums, least = sums[sums > 0], 1.0
    for a, b in combinations_with_replacement(range(len(groups)), 2):
        if sums[a] + sums[b] * (a != b) >= 1.0:
            block = groups[a] if a == b else np.vstack([groups[a], groups[b]])
            least = min(least, 1.0 - float(np.linalg.norm(block, 2)) ** 2)
    return least


def barely_penalised(objective: Objective, design: Design, found: Optimum) -> tuple[Objective, Design, Optimum]:
    """The same fit in standardised columns, with a penalty that decides what the remaining rows do not."""
    lengths = np.sqrt(np.maximum(np.diag(_scatter(objective, design)), 0.0))
    lengths[lengths == 0.0] = 1.0
    scaled, penalised = design.scaled(1.0 / lengths), replace(objective, lam=PENALTY)
    start = Point(found.point.coef * lengths, found.point.scores)
    near, curvature, _ = descend(penalised, scaled, start, curvature_of(penalised, scaled, start))
    # What the penalty changes in the objective is lost in its rounding, which ends a descent; in the scores it is not.
    point = full_step(penalised, scaled, near, curvature)
    return penalised, scaled, replace(found, point=point, curvature=curvature_of(penalised, scaled, point))


def _scatter(objective: Objective, design: Design) -> Floats:
    weight = objective.loss.weight
    return design.gram(weight, design.mean(weight) if objective.free_intercept else None)
