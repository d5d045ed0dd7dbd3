"""A fit that stopped early resembles the optimum at a stronger penalty: find the one that it resembles most.

Solvers start at zero and walk towards the optimum much as the optimum itself walks when the penalty weakens. Where the
user's weights point elsewhere than the optimum of their objective, rows are removed at the nearest point of that path:
it stands for the user's classifier, the optimum for a classifier that nobody has.
"""

from __future__ import annotations

from dataclasses import replace

from foldless.honest.design import Design
from foldless.honest.objective import Objective
from foldless.honest.polish import Optimum, curvature_of, descend, fitted_point, match_of_fit, tempered

ELSEWHERE = 0.999  # above, the optimum itself stands for the weights well enough
STEP = 10**0.25
MAX_STEPS = 12  # three decades
RESEMBLES = 0.9  # below this, the weights did not stop on the way: they are not from these rows
PAST = 0.02  # once this far below the best match, the path only leads away


def nearest_on_path(objective: Objective, design: Design, found: Optimum) -> Optimum:
    """`found`, or the optimum at a stronger penalty to which the user's weights are closer in direction."""
    if not found.polished or found.direction_cosine >= ELSEWHERE or objective.lam == 0:
        return found
    start = fitted_point(objective, design)
    best, point, stronger = found, found.point, tempered(objective, design)
    for _ in range(MAX_STEPS):
        stronger = replace(stronger, lam=stronger.lam * STEP)
        point, curvature, left = descend(stronger, design, point, curvature_of(stronger, design, point))
        cosine = match_of_fit(objective, start, point)
        if cosine > best.direction_cosine:
            factor = stronger.lam / objective.lam
            best = replace(
                best, point=point, curvature=curvature, residual=left, direction_cosine=cosine, penalty_factor=factor
            )
        elif not cosine >= best.direction_cosine - PAST:
            break
    return best if best.direction_cosine >= RESEMBLES else found
