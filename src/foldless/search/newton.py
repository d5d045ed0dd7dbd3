"""The optimum of one L2 objective after another, each from the last one's optimum and with its factorisation.

The matrices are those of `foldless.honest.design`: H = At' diag(D) At + diag(lam, .., lam, 0) = (R R')^-1, and B with
At H^-1 At' = B B'.

A Newton step solves H v = -gradient. Neighbours on a path of strengths have similar Hessians: in the coordinates in
which the last one was factored (which the leave-one-out scores need anyway) the new one is

    k I + B' diag(D - k D_last) B,    k = lam / lam_last,

nearly the identity, and a few steps of conjugate gradients replace a factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.checks import Floats
from foldless.honest.design import BLOCK_ENTRIES, Curvature, Design, build_design, curvature_at
from foldless.honest.families import Objective, SquaredLoss
from foldless.honest.least_squares import Spectrum
from foldless.honest.optimum import TIGHT, Optimum, Point, bisected, descended, ratio_of_lengths

TRUSTED = 1e-6  # above this residual rounding stopped the descent, and scikit-learn's own fit is preferred
MAX_STEPS = 50
KEPT = 1 << 24  # entries of X up to which what a scaler needs of its rows is kept: up to 400 MB
MAX_PRODUCTS = 60


@dataclass(frozen=True, eq=False)
class Factor:
    """The factored Hessian of an objective at one point: coordinates u in which it is the identity.

    (c, b) = T u,    T = [[R, 0], [-m'R, 1/sqrt(total)]],    scores = B u
    """

    design: Design
    curvature: Curvature  # R, m and total
    D: Floats  # second derivatives of the losses
    lam: float
    B: Floats | None = None  # None where it would be large

    @classmethod
    def at(cls, objective: Objective, design: Design, scores: Floats) -> Factor:
        D, A = objective.loss.curvature(scores), design.matrix
        curvature = curvature_at(design, D, objective.lam, objective.free_intercept)
        small = isinstance(A, np.ndarray) and A.size <= BLOCK_ENTRIES and not curvature.is_single
        B = curvature.influence_rows(design, slice(None)) if small else None
        return cls(design, curvature, D, objective.lam, B)

    def coordinates(self, u: Floats) -> tuple[Floats, float]:
        """(c, b) = T u."""
        near = self.curvature
        if near.centre is None:
            return near.root @ u, 0.0
        c = near.root @ u[:-1]
        return c, float(u[-1] * near.total**-0.5 - near.centre @ c)

    def gradient(self, c: Floats, b: float) -> Floats:
        """T'(c, b): a gradient in the coordinates u."""
        near = self.curvature
        if near.centre is None:
            return np.asarray(near.root.T @ c)
        return np.append(near.root.T @ (c - b * near.centre), b * near.total**-0.5)

    def scores(self, u: Floats) -> Floats:
        """B u."""
        if self.B is not None:
            return np.asarray(self.B @ u)
        c, b = self.coordinates(u)
        return self.design.scores(c) + b

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

    def beyond(self, before: Fit, ratio: float) -> Fit:
        """The point on the line from `before` through this fit, `ratio` times the distance between them further on."""
        return Fit(
            self.coef + ratio * (self.coef - before.coef),
            self.intercept + ratio * (self.intercept - before.intercept),
            self.scores + ratio * (self.scores - before.scores),
        )


def descend(objective: Objective, design: Design, start: Fit, near: Factor) -> Fit:
    """Newton steps from `start` until the residual is small or no step descends; `near` is a similar Hessian.

    The residual is that of the honest method: |lam c + A'g| / |lam c|, and |sum g| / sum |g| for a free intercept.
    """

    tolerance = TRUSTED if design.is_large else TIGHT

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

    return descended(at(start.coef, start.intercept, start.scores, 0), step, MAX_STEPS)[0]


def _residual(objective: Objective, coef: Floats, slope: Floats, g: Floats) -> float:
    # As in the honest method, but from the slope at hand: another product with the design would cost as much again.
    penalty = ratio_of_lengths(slope, objective.lam * coef)
    if not objective.free_intercept:
        return penalty
    return max(penalty, abs(float(g.sum())) / (float(np.abs(g).sum()) or 1.0))


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


def _step_length(objective: Objective, fit: Fit, dc: Floats, dz: Floats, initial: float) -> float:
    """Step along the line (dc, dz), on which the slope at 0 is `initial`; 0 for no descent."""
    if not initial < 0.0:
        return 0.0
    fixed, growing = objective.lam * float(fit.coef @ dc), objective.lam * float(dc @ dc)
    return bisected(
        lambda step: fixed + step * growing + float(objective.loss.gradient(fit.scores + step * dz) @ dz), initial
    )


def by_spectrum(objective: Objective, spectrum: Spectrum) -> tuple[Fit, Optimum]:
    """A ridge classifier: its fit in the coordinates of the design, and its optimum in those of the spectrum."""
    curvature, loss = spectrum.curvature(objective), objective.loss
    turned = curvature.root**2 * spectrum.design.back(loss.weight * loss.target, None)
    level = 0.0 if spectrum.centre is None else float(np.average(loss.target, weights=loss.weight))
    scores, coef = spectrum.design.scores(turned) + level, spectrum.vectors @ turned
    intercept = level if spectrum.centre is None else level - float(spectrum.centre @ coef)
    return Fit(coef, intercept, scores, 0.0), Optimum(Point(turned, scores), curvature, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Rotation:
    """The design of a family, and the columns that it came from; its spectrum if the family is quadratic."""

    design: Design  # the columns themselves (P < N), or coordinates of the row space
    X: Any  # (N, P)
    centre: Floats | None  # mean row, where the design was centred
    constant: float  # value of the penalised column for the intercept (liblinear), 0 for none
    spectrum: Spectrum | None = None

    @classmethod
    def of(cls, objective: Objective) -> Rotation:
        free = objective.free_intercept
        design = build_design(objective.X, constant=objective.constant, free_intercept=free)
        if objective.X.shape[0] * objective.X.shape[1] <= KEPT:
            design = replace(design, memory={})
        centre = None
        if free and design.pivots is not None:
            centre = np.asarray(objective.X.mean(axis=0), dtype=np.float64).ravel()
        # With a scaler, or with class weights that change as rows leave, Hessians have no eigenvectors in common.
        quadratic = isinstance(objective.loss, SquaredLoss) and not objective.scaled and objective.balance is None
        spectrum = Spectrum.of(objective, design) if quadratic else None
        return cls(design, objective.X, centre, objective.constant, spectrum)

    def turned(self, objective: Objective, fit: Fit) -> Objective:
        """The same objective in the coordinates of the design, with `fit` as its fitted point."""
        return replace(objective, X=self.design.matrix, weights=fit.coef, intercept=fit.intercept, constant=0.0)

    def back(self, objective: Objective, fit: Fit) -> tuple[Floats, float]:
        """Weights on the columns of X, and the intercept, of a fit.

        In the row space they follow from stationarity, lam w = -A'g, which holds as closely as the fit has converged.
        """
        if self.design.pivots is None:
            return (fit.coef[:-1], self.constant * float(fit.coef[-1])) if self.constant else (fit.coef, fit.intercept)
        pull = objective.loss.gradient(fit.scores) / -objective.lam
        weights, total = np.asarray(self.X.T @ pull, dtype=np.float64), float(pull.sum())
        if self.centre is None:
            return weights, self.constant**2 * total
        weights = weights - total * self.centre
        return weights, fit.intercept - float(weights @ self.centre)
