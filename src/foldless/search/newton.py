"""The optimum of one L2 objective after another, each from the last one's optimum and with its factorisation.

A Newton step solves H v = -gradient. Neighbours on a path of strengths have similar Hessians: in the coordinates in
which the last one was factored (for the leave-one-out scores, which need it anyway) the new one is

    k I + B' diag(D - k D_last) B,    k = lam / lam_last,

nearly the identity, and a few steps of conjugate gradients take the place of a factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Design
from foldless.honest.objective import Objective
from foldless.search.factor import Factor

TIGHT = 1e-8  # residual at which a fit counts as done
MAX_STEPS = 50
MAX_PRODUCTS = 60
MAX_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients in the coordinates of the design, intercept, scores, and how the descent went."""

    coef: Floats
    intercept: float
    scores: Floats
    residual: float = np.inf
    steps: int = 0

    @classmethod
    def origin(cls, design: Design) -> Fit:
        return cls(np.zeros(design.matrix.shape[1]), 0.0, np.zeros(design.n_rows))

    def beyond(self, before: Fit, ratio: float) -> Fit:
        """Where the line from `before` through this fit leads: `ratio` times as far again."""
        return Fit(
            self.coef + ratio * (self.coef - before.coef),
            self.intercept + ratio * (self.intercept - before.intercept),
            self.scores + ratio * (self.scores - before.scores),
        )


def descend(objective: Objective, design: Design, start: Fit, near: Factor) -> Fit:
    """Newton steps from `start` until the residual is below `TIGHT` or no step descends; `near` is a similar Hessian.

    The residual is that of the honest method: |lam c + A'g| / |lam c|, and |sum g| / sum |g| for a free intercept.
    """
    coef, intercept, z = start.coef, start.intercept, start.scores
    residual, steps = np.inf, 0
    while steps < MAX_STEPS:
        g = objective.loss.gradient(z)
        slope = objective.lam * coef + design.back(g, None)
        residual = _residual(objective, coef, slope, g)
        if residual <= TIGHT:
            break
        target = -near.gradient(slope, float(g.sum()))
        u, dz = _solve(near, objective.loss.curvature(z), objective.lam / near.lam, target, min(0.1, residual))
        dc, db = near.coordinates(u)
        step = _step_length(objective, coef, dc, z, dz, -float(target @ u))
        if step == 0.0:
            break
        coef, intercept, z, steps = coef + step * dc, intercept + step * db, z + step * dz, steps + 1
    return Fit(coef, intercept, z, residual, steps)


def _residual(objective: Objective, coef: Floats, slope: Floats, g: Floats) -> float:
    penalty = _ratio(float(slope @ slope) ** 0.5, objective.lam * float(coef @ coef) ** 0.5)
    if not objective.free_intercept:
        return penalty
    return max(penalty, _ratio(abs(float(g.sum())), float(np.abs(g).sum())))


def _ratio(part: float, whole: float) -> float:
    if part == 0.0:
        return 0.0
    return part / whole if whole > 1e-200 * part else np.inf


def _solve(near: Factor, D: Floats, ratio: float, target: Floats, forcing: float) -> tuple[Floats, Floats]:
    """u with H u = target by conjugate gradients, to a relative error `forcing`; and its scores B u."""
    change = D - ratio * near.D
    u, scores = np.zeros_like(target), np.zeros_like(D)
    left, ahead = target, target
    size = first = float(target @ target)
    for _ in range(MAX_PRODUCTS):
        if size <= forcing**2 * first:
            break
        seen = near.scores(ahead)
        curved = ratio * ahead + near.back(change * seen)
        along = float(ahead @ curved)
        if along <= 0.0:
            break
        step = size / along
        u, scores, left = u + step * ahead, scores + step * seen, left - step * curved
        last, size = size, float(left @ left)
        ahead = left + size / last * ahead
    return u, scores


def _step_length(objective: Objective, coef: Floats, dc: Floats, z: Floats, dz: Floats, initial: float) -> float:
    """1, or a smaller step at which the slope along the line, `initial` at 0, has at least halved; 0 for no descent.

    Along the line the objective is convex, so its slope is monotone and bisection finds the place.
    """
    fixed, growing = objective.lam * float(coef @ dc), objective.lam * float(dc @ dc)

    def slope(step: float) -> float:
        return fixed + step * growing + float(objective.loss.gradient(z + step * dz) @ dz)

    low, high, step = 0.0, 1.0, 1.0
    if not initial < 0.0:
        return 0.0
    for _ in range(MAX_HALVINGS):
        here = slope(step)
        if abs(here) <= 0.5 * abs(initial) or (step == 1.0 and here < 0.0):
            return step
        low, high = (step, high) if here < 0.0 else (low, step)
        step = 0.5 * (low + high)
    return low
