"""The damped Newton method, with a Hessian factored at every step or with one factored nearby; steps without rows.

A Newton step solves H v = -gradient, H = At' diag(D) At + diag(lam, .., lam, 0) = (R R')^-1, and B with
At H^-1 At' = B B' (`foldless.honest.design`). Where a similar Hessian was factored before, as on a path of penalties,
the new one is in its coordinates

    k I + B' diag(D - k D_last) B,    k = lam / lam_last,

nearly the identity, and a few steps of conjugate gradients replace a factorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.linalg import blas, lapack

from foldless.checks import Bools, Floats, Ints
from foldless.honest.design import BLOCK_ENTRIES, MAX_LEVERAGE, Curvature, Design, blocks, curvature_at
from foldless.honest.objective import Loss, Objective

if TYPE_CHECKING:
    from foldless.honest.removal import LocalModel

T = TypeVar("T")

MAX_HALVINGS = 60
MOST_STEPS = 50
MAX_PRODUCTS = 60


# ---- The loop: callers supply the step, its slope along a line, or the trial of a shorter one.


def descended(start: T, step: Callable[[T], T | None], most: int) -> T:
    """The result of repeated steps; `step` returns None at the optimum, or when no step descends any further."""
    now = start
    for _ in range(most):
        moved = step(now)
        if moved is None:
            break
        now = moved
    return now


def halved(trial: Callable[[float], T | None], most: int) -> T | None:
    """The first success of trial(1), trial(1/2), trial(1/4), ...; None if there is none."""
    return next((solution for k in range(most) if (solution := trial(0.5**k)) is not None), None)


def bisected(slope: Callable[[float], float], initial: float) -> float:
    """Step in (0, 1] at which the slope of a convex function, `initial` at 0, has at least halved.

    The slope is monotone, so bisection finds the step even where the curvature jumps (squared hinge).
    """
    low, high, step = 0.0, 1.0, 1.0
    for _ in range(MAX_HALVINGS):
        here = slope(step)
        if abs(here) <= 0.5 * abs(initial) or (step == 1.0 and here < 0.0):
            return step
        low, high = (step, high) if here < 0.0 else (low, step)
        step = 0.5 * (low + high)
    return low


@dataclass(frozen=True)
class Point:
    """Coefficients in the coordinates of the design, and the scores they give, intercept included."""

    coef: Floats
    scores: Floats


def ratio_of_lengths(vector: Floats, reference: Floats) -> float:
    """Of two vectors; infinite if only the second vanishes."""
    length, scale = (blas.dnrm2(v) if v.size else 0.0 for v in (vector, reference))  # whose squares may overflow
    if length == 0.0:
        return 0.0
    return length / scale if scale > 1e-200 * length else np.inf


# ---- With a Hessian that was factored nearby.


@dataclass(frozen=True, eq=False)
class Factor:
    """The factored Hessian of an objective at one point: coordinates u in which it is the identity.

    (c, b) = T u,    T = [[R, 0], [-m'R, 1/sqrt(total)]],    scores = B u
    """

    design: Design
    curvature: Curvature  # R, m and total
    lam: float
    B: Floats | None = None  # None where it would be large

    @classmethod
    def at(cls, objective: Objective, design: Design, scores: Floats) -> Factor:
        A, D = design.matrix, objective.loss.curvature(scores)
        curvature = curvature_at(design, D, objective.lam, objective.free_intercept)
        small = isinstance(A, np.ndarray) and A.size <= BLOCK_ENTRIES and not curvature.is_single
        return cls(design, curvature, objective.lam, curvature.influence_rows(design, slice(None)) if small else None)

    def coordinates(self, u: Floats) -> tuple[Floats, Any]:
        """(c, b) = T u, of one vector or of each column."""
        near = self.curvature
        if near.centre is None:
            return near.root @ u, 0.0
        c = near.root @ u[:-1]
        return c, u[-1] * near.total**-0.5 - near.centre @ c

    def gradient(self, c: Floats, b: float) -> Floats:
        """T'(c, b): a gradient in the coordinates u."""
        near = self.curvature
        if near.centre is None:
            return np.asarray(near.root.T @ c)
        return np.concatenate([near.root.T @ (c - b * near.centre), [b * near.total**-0.5]])

    def scores(self, u: Floats) -> Floats:
        """B u."""
        if self.B is not None:
            return np.asarray(self.B @ u)
        c, b = self.coordinates(u)
        return np.asarray(self.design.scores(c) + b)

    def back(self, q: Floats) -> Floats:
        """B'q."""
        if self.B is not None:
            return np.asarray(q @ self.B)
        return self.gradient(self.design.back(q, None), float(q.sum()))


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


def approach(objective: Objective, design: Design, start: Fit, near: Factor, tolerance: float) -> Fit:
    """Newton steps from `start` until the residual is small or no step descends; `near` is a similar Hessian.

    The residual is that of the honest method: |lam c + A'g| / |lam c|, and |sum g| / sum |g| for a free intercept.
    """

    def at(coef: Floats, intercept: float, z: Floats, steps: int) -> tuple[Fit, Floats, Floats]:
        g = objective.loss.gradient(z)
        slope = objective.lam * coef + design.back(g, None)
        return Fit(coef, intercept, z, _residual(objective, coef, slope, g), steps), slope, g

    def step(now: tuple[Fit, Floats, Floats]) -> tuple[Fit, Floats, Floats] | None:
        fit, slope, g = now
        if fit.residual <= tolerance:
            return None
        target = -near.gradient(slope, float(g.sum()))
        D, ratio = objective.loss.curvature(fit.scores), objective.lam / near.lam
        # As exactly as Newton's method converges, but not beyond what is asked for.
        forcing = max(min(0.1, fit.residual), 0.1 * tolerance / fit.residual)
        u, dz = _solve(near, D, ratio, target, forcing)
        dc, db = near.coordinates(u)
        length = _step_length(objective, fit, dc, dz, -float(target @ u))
        if length == 0.0:
            return None
        return at(fit.coef + length * dc, fit.intercept + length * db, fit.scores + length * dz, fit.steps + 1)

    return descended(at(start.coef, start.intercept, start.scores, 0), step, MOST_STEPS)[0]


def _residual(objective: Objective, coef: Floats, slope: Floats, g: Floats) -> float:
    # As in the honest method, but from the slope at hand: another product with the design would cost as much again.
    penalty = ratio_of_lengths(slope, objective.lam * coef)
    if not objective.free_intercept:
        return penalty
    return max(penalty, abs(float(g.sum())) / (float(np.abs(g).sum()) or 1.0))


def _solve(
    near: Factor,
    D: Floats,
    ratio: float,
    target: Floats,
    forcing: float,
    nearly: Callable[[Floats], Floats] = np.asarray,
) -> tuple[Floats, Floats]:
    """u with H u = target by conjugate gradients, to a relative error `forcing`; and its scores B u.

    `nearly` is close to H^-1; by default the identity.
    """
    change = D - ratio * near.curvature.D
    u, scores = np.zeros_like(target), np.zeros_like(D)
    left, ahead = target, nearly(target)
    size = first = float(target @ ahead)
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
        turned = nearly(left)
        last, size = size, float(left @ turned)
        ahead = turned + size / last * ahead
    return u, scores


def _step_length(objective: Objective, fit: Fit, dc: Floats, dz: Floats, initial: float) -> float:
    """Step along the line (dc, dz), on which the slope at 0 is `initial`; 0 for no descent."""
    if not initial < 0.0:
        return 0.0
    fixed, growing = objective.lam * float(fit.coef @ dc), objective.lam * float(dc @ dc)
    return bisected(
        lambda step: fixed + step * growing + float(objective.loss.gradient(fit.scores + step * dz) @ dz), initial
    )


# ---- More Newton steps, for rows whose removal the first step does not settle.
#
# In the coordinates of B the scores without the rows S are z + B c, and c is right where the gradient vanishes,
#
#     c + B'r = 0,    r_k = g_k(z_k + s_k) - g_k - D_k s_k,    r_S = -g_S - D_S s_S,    s = B c.
#
# The removal formula leaves out r_k, which the quadratic model of the other rows misses: a second step starts there.
# What it adds without both rows of a pair, or both of two groups, is the sum of what it adds without either.

UNSETTLED = 0.03  # a correction below this, in standard deviations of the scores, is not worth a step
LEFT = 0.3  # the same of what two steps leave
MOST_WORK = 3e8  # multiplications: what is least settled comes first
MOST_ROWS = 300  # among more, only rows of great impact take more steps than one
TINY = float(np.finfo(float).tiny)
SHORTER = (1.0, 0.5, 0.25)  # how far a step goes: as far as the gradient falls


def second_steps(z: Floats, model: LocalModel, loss: Loss, u: Floats, units: Ints) -> Floats:
    """(units, N): what a second step adds to all scores without a unit: a row, or a group.

    `z` are the scores of all rows, `model` is their quadratic model, `units` the unit of each row, and `u` the slopes
    u_S of the rows of each unit.
    """
    out = units == np.arange(units.max() + 1)[:, None]
    alone = np.array_equal(units, np.arange(units.size))  # every row is a unit of its own
    first = u[:, None] * model.G if alone else (out * u) @ model.B @ model.B.T
    missed = np.where(out, 0.0, loss.gradient(z + first) - loss.gradient(z) - model.D * first)
    added, spread = np.zeros_like(first), float((z + first[units, np.arange(units.size)]).std())
    some = _unsettled(model, missed, out, spread)
    for part in blocks(some.size, model.B.size):
        few = some[part]
        added[few] = _second_step(model, loss, z, out[few], u, first[few], missed[few])
    return np.asarray(added)


def unsettled(z: Floats, model: LocalModel, loss: Loss, added: Floats) -> float:
    """Share of rows without which some score is still `LEFT` from where the gradient vanishes, to first order."""
    s = model.slope_alone[:, None] * model.G + added
    r = np.where(np.eye(z.size, dtype=bool), -model.g, loss.gradient(z + s) - loss.gradient(z)) - model.D * s
    return float(np.mean(np.abs(s + r @ model.G).max(axis=1) > LEFT * float((z + np.diag(s)).std())))


def _second_step(model: LocalModel, loss: Loss, z: Floats, out: Bools, u: Floats, s: Floats, r: Floats) -> Floats:
    """What a Newton step from s without the rows `out`, shortened until the gradient B'(...) falls, adds to s."""
    B, D, slopes = model.B, model.D, loss.gradient(z)
    start = np.where(out, u - model.g - D * s, r) @ B
    step = -_solved_each(B, D, np.where(out, 0.0, loss.curvature(z + s)), start)
    size, length, left, further = np.linalg.norm(start, axis=1), np.zeros(len(s)), np.arange(len(s)), step @ B.T
    for t in SHORTER:
        there = s[left] + t * further[left]
        slope = np.where(out[left], u - model.g, loss.gradient(z + there) - slopes) - D * there
        falls = np.linalg.norm(t * step[left] + slope @ B, axis=1) < (1.0 - t / 2) * size[left]
        length[left[falls]], left = t, left[~falls]
        if not left.size:
            break
    return np.asarray(length[:, None] * further)


def _solved_each(B: Floats, D: Floats, bend: Floats, right: Floats) -> Floats:
    """x with x + B' diag(bend - D) B x = right, for each line of bend >= 0 and right; 0 where that has no solution."""
    columns, x = np.ascontiguousarray(B.T), np.zeros_like(right)
    rest = np.asfortranarray(np.eye(len(columns)) - (columns * D) @ B)  # positive semidefinite, and so is what is added
    for k, root in enumerate(np.sqrt(bend)):
        H = blas.dsyrk(1.0, (columns * root).T, trans=1, lower=1, beta=1.0, c=rest)
        lower, failed = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)  # `dposv` takes half as long again
        if not failed:
            x[k] = blas.dtrsv(lower, blas.dtrsv(lower, right[k], lower=1), lower=1, trans=1)
    return x


def _unsettled(model: LocalModel, missed: Floats, out: Bools, spread: float) -> Ints:
    """Units without which the other rows have slopes that are `missed` by an amount that moves some score."""
    moved = np.abs(missed @ model.B @ model.B.T).max(axis=1) / np.where(out, model.slack, 1.0).min(axis=1)
    some = np.flatnonzero(moved > UNSETTLED * spread)
    most = int(MOST_WORK / max(model.B.shape[1] * model.B.size, 1)) + 1
    return np.asarray(some[np.argsort(-moved[some])][:most])


# ---- The same among many rows: steps to the fit without a row, for those of great impact.
#
# A row that is alone in its class to hold a column gives the fit something that no other row holds it back from:
# without it the weight of the column moves until the penalty, or rare rows of the other class, stop it. One step falls
# short by far, since the curvature it is made of is that of the fit with the row.

FORCING, MOST_WITHOUT = 0.01, 16  # the error of a step, and their number; 24 moved endless fits alone
FARTHEST = 10.0  # that one step moves a score: without a penalty, the fit without a row may have no end


def without_row(z: Floats, g: Floats, loss: Loss, near: Factor, row: int, enough: float) -> tuple[Floats, float]:
    """Changes of all scores from z where the fit without a row is, and by how much a last step would still change them.

    Steps in the coordinates of `near` go on until none of the scores moves by as much as `enough`. The Hessian without
    the row, nearly I - D b b', has an eigenvalue 1 - h close to 0: what is left of the gradient along b counts most.
    """
    D, slopes = near.curvature.D, loss.gradient(z)
    b = near.back((np.arange(z.size) == row).astype(np.float64))
    grown = D[row] / (1.0 - min(D[row] * float(b @ b), MAX_LEVERAGE))

    def nearly(x: Floats) -> Floats:
        return np.asarray(x + grown * float(b @ x) * b)

    def missed(s: Floats) -> Floats:
        r = loss.gradient(z + s) - slopes - D * s
        r[row] = -g[row] - D[row] * s[row]
        return np.asarray(r)

    def step(now: tuple[Floats, Floats, float]) -> tuple[Floats, Floats, float] | None:
        v, s, moved = now
        if moved < enough:
            return None
        bend, downhill = loss.curvature(z + s), -(v + near.back(missed(s)))
        bend = np.where(np.arange(z.size) == row, 0.0, bend)
        x, further = _solve(near, bend, 1.0, downhill, FORCING, nearly)
        if not downhill @ x > 0.0:
            return None
        moved = float(np.abs(further).max())
        x, further = (min(1.0, FARTHEST / max(moved, TINY)) * each for each in (x, further))
        t = bisected(lambda t: float((v + t * x) @ x + missed(s + t * further) @ further), -float(downhill @ x))
        return v + t * x, s + t * further, moved

    start = np.zeros(near.curvature.root.shape[1] + (near.curvature.centre is not None))
    _, s, moved = descended((start, np.zeros_like(z), np.inf), step, MOST_WITHOUT)
    return s, moved
