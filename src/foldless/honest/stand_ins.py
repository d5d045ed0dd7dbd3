"""Fits whose own objective cannot be used: unknown training, and weights determined by single rows alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from foldless.checks import Floats, Ints
from foldless.errors import InputError
from foldless.honest.design import Curvature, Design, build_design
from foldless.honest.newton import Point
from foldless.honest.objective import Objective, Readout
from foldless.honest.optimum import Optimum, curvature_of, descend, full_step
from foldless.honest.removal import LocalModel, Problem, column_blocks, problem_at

if TYPE_CHECKING:
    from foldless.model.view import LinearView


# ---- When the training is unknown: the ridge regression whose direction is closest to w stands in for it.
#
# Its removal shifts, times kappa = <c, w>/<c, c> (c the ridge weights), are applied to the scores of w. That is exact
# if w is a ridge direction; if w has nothing to do with the labels, kappa is near 0 and its scores are honest anyway.

LOG_PENALTIES = np.linspace(-9.0, 7.0, 33)  # relative to the mean eigenvalue
RANK = 1e-18  # eigenvalues below this share of the largest are rounding noise


@dataclass(frozen=True, eq=False)
class NearestRidge:
    """Penalty, weights in the eigenbasis, share kappa of w along them, and agreement of the directions."""

    penalty: float
    coef: Floats
    kappa: float
    match: float


def surrogate_problem(view: LinearView, sample_weight: Floats | None) -> tuple[Problem, float]:
    """The stand-in for an unknown training method, and its `match` with the weights of the view."""
    own = view.scores()
    positive = view.labels.positive
    D = np.ones(own.size) if sample_weight is None else sample_weight
    t = np.where(positive, 1.0, -1.0)
    design = build_design(view.X, constant=0.0, free_intercept=True)
    centre, mean_t = design.mean(D), float(D @ t / D.sum())
    values, vectors = eigh(design.gram(D, centre))
    values = np.maximum(values, 0.0)
    w = vectors.T @ design.coefficients(view.w, own - own.mean())
    ridge = nearest_ridge(values, vectors.T @ design.back(D * (t - mean_t), centre), w, float(view.w @ view.w))
    if not np.isfinite([ridge.match, ridge.kappa]).all():
        raise InputError("the rows of X differ by rounding alone: check how X was made.")
    coef = vectors @ ridge.coef
    z = design.scores(coef) - centre @ coef + mean_t
    curvature = Curvature(vectors / np.sqrt(values + ridge.penalty), centre, float(D.sum()), D)
    return Problem(positive, own, ridge.kappa, D * (z - t), D, design, curvature, Readout()), ridge.match


def nearest_ridge(values: Floats, right: Floats, w: Floats, norm_sq: float) -> NearestRidge:
    """Ridge weights c = right / (values + penalty) closest to w, among 33 penalties.

    Closeness is the mean of the cosines in weight space and in score space (where coordinate k counts `values[k]`).
    All vectors are coordinates in the eigenbasis of the scatter; `norm_sq` is the squared length of the whole of w.
    """
    tiny = np.finfo(float).tiny
    mean = max(float(values[values >= RANK * values[-1]].mean()), tiny)
    penalties = mean * np.exp(LOG_PENALTIES)
    c = right / (values + penalties[:, None])
    longest = max(norm_sq, float(w @ w))  # rounding may make w, recovered from scores, longer than the whole
    in_weights = c @ w / np.sqrt(np.sum(c**2, axis=1) * longest + tiny)
    in_scores = c @ (values * w) / np.sqrt((c**2 @ values) * float(w**2 @ values) + tiny)
    match = 0.5 * (in_weights + in_scores)
    best = int(np.argmax(match))
    along = float(c[best] @ w) / max(float(c[best] @ c[best]), tiny)
    return NearestRidge(float(penalties[best]), c[best], along, float(match[best]))


# ---- Unpenalised fits with weights that a few rows alone determine: what happens when those rows are removed.
#
# Take a column that is constant except in one row, or a category that occurs in one group only: that row's score is its
# label (leverage 1), and its score without the row is 0/0. Where the rows leave weights undetermined, scikit-learn's
# fits take the smallest ones. That is the limit of a vanishing ridge penalty on standardised columns, so such a penalty
# is added: strong enough that 1 - leverage exceeds rounding, weak enough to leave everything else unchanged.

PENALTY = 1e-10  # on columns of unit length
NO_SLACK = 1e-11  # 1 - leverage below this is rounding


def determined(problem: Problem, objective: Objective, solution: Optimum, rows: Ints, codes: Ints | None) -> Problem:
    """The unpenalised problem; if two rows, or groups, alone determine a direction, the same with a tiny penalty.

    Their block of the hat matrix then has an eigenvalue 1.
    """
    model = problem.local_model(rows)
    slack = _slack_of_pairs(model) if codes is None else _slack_of_groups(model, codes[rows])
    if not slack < NO_SLACK:
        return problem
    return problem_at(problem.positive, *barely_penalised(objective, problem.design, solution))


def _slack_of_pairs(model: LocalModel) -> float:
    """1 - the largest eigenvalue of any two rows; it can be near 0 only if one of them has leverage 1/2 or more."""
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
    """The same for whole groups; only those whose leverages sum to one or more are checked."""
    seen, sums = model.B * np.sqrt(model.D)[:, None], np.bincount(codes, weights=model.diagonal * model.D)
    groups = [seen[codes == code] for code in np.flatnonzero(sums)]
    sums, least = sums[sums > 0], 1.0
    for a, b in combinations_with_replacement(range(len(groups)), 2):
        if sums[a] + sums[b] * (a != b) >= 1.0:
            block = groups[a] if a == b else np.vstack([groups[a], groups[b]])
            least = min(least, 1.0 - float(np.linalg.norm(block, 2)) ** 2)
    return least


def barely_penalised(objective: Objective, design: Design, solution: Optimum) -> tuple[Objective, Design, Optimum]:
    """The same fit in standardised columns, with a penalty that fixes what the remaining rows leave open."""
    lengths = np.sqrt(np.maximum(np.diag(_scatter(objective, design)), 0.0))
    lengths[lengths == 0.0] = 1.0
    scaled, penalised = design.scaled(1.0 / lengths), replace(objective, lam=PENALTY)
    start = Point(solution.point.coef * lengths, solution.point.scores)
    near, curvature, _ = descend(penalised, scaled, start, curvature_of(penalised, scaled, start))
    # The penalty changes the objective by less than rounding, which ends the descent; its effect on scores is larger.
    point = full_step(penalised, scaled, near, curvature)
    return penalised, scaled, replace(solution, point=point, curvature=curvature_of(penalised, scaled, point))


def _scatter(objective: Objective, design: Design) -> Floats:
    weight = objective.loss.weight
    return design.gram(weight, design.mean(weight) if objective.free_intercept else None)
