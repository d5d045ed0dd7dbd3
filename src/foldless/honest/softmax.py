"""Multinomial logistic regression: its optimum, and rows removed by one Newton step with the block Hessian.

The objective is 1/2 sum_k |w_k|^2 + sum_i c_i (logsumexp_k z_ik - z_{i, y_i}). Its coefficients are a matrix (r, K)
in the coordinates of the design, the intercepts its last row. With p the softmax,

    g_i = c_i (p_i - e_{y_i}),   D_i = c_i (diag(p_i) - p_i p_i'),   H = sum_i (a_i a_i') x D_i + penalty.

Adding one number to all intercepts changes no probability; H is given a curvature along that direction, which
changes no probability either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from foldless.checks import Floats
from foldless.errors import EstimatorError
from foldless.honest import optimum
from foldless.honest.design import Design, Ints, blocks, build_design, inverse_root
from foldless.honest.families import (
    balanced_counts_sample_weights,
    is_one_against_rest,
    row_weights,
    strength,
    trains_as_its_class,
)
from foldless.model.steps import sklearn_names
from foldless.model.view import LinearView

MAX_STEPS = 100
MAX_HALVINGS = 40
ENOUGH = 1e-4  # of the descent that the slope promises, a step must deliver at least this share


@dataclass(frozen=True, eq=False)
class Softmax:
    """The objective on given rows.

    Attributes
    ----------
    design : Design
    centre : ndarray of shape (r,) or None
        Mean row where there is a free intercept, which takes up the shift.
    codes : ndarray of int, shape (N,)
    mass : ndarray of shape (N,)
        C x sample weight x class weight of each row.
    n_classes : int
    """

    design: Design
    centre: Floats | None
    codes: Ints
    mass: Floats
    n_classes: int

    @property
    def width(self) -> int:
        """Coefficients per class, the intercept included."""
        return int(self.design.matrix.shape[1]) + (self.centre is not None)

    def rows(self, index: Ints | slice) -> Floats:
        """Rows of the design, centred, and 1 for the intercept."""
        A = self.design.rows(index, self.centre)
        return A if self.centre is None else np.hstack([A, np.ones((len(A), 1))])

    def decisions(self, coef: Floats) -> Floats:
        """Decision values, shape (N, K)."""
        if self.centre is None:
            return self.design.scores(coef)
        return np.asarray(self.design.scores(coef[:-1]) - self.centre @ coef[:-1] + coef[-1])

    def penalised(self, coef: Floats) -> Floats:
        """The coefficients, with zeros for intercepts."""
        if self.centre is None:
            return coef
        return np.vstack([coef[:-1], np.zeros((1, self.n_classes))])

    def slopes(self, z: Floats) -> Floats:
        """g, shape (N, K)."""
        g = softmax(z, axis=1)
        g[np.arange(len(z)), self.codes] -= 1.0
        return np.asarray(g * self.mass[:, None])

    def value(self, coef: Floats, z: Floats) -> float:
        own = z[np.arange(len(z)), self.codes]
        return float(0.5 * np.sum(self.penalised(coef) ** 2) + self.mass @ (logsumexp(z, axis=1) - own))

    def gradient(self, coef: Floats, z: Floats) -> Floats:
        """Shape of `coef`."""
        g = self.slopes(z)
        back = np.asarray(self.design.matrix.T @ g, dtype=np.float64)
        if self.centre is not None:
            back = np.vstack([back - np.outer(self.centre, g.sum(axis=0)), g.sum(axis=0)])
        return back + self.penalised(coef)

    def hessian(self, z: Floats) -> Floats:
        """Second derivatives, shape (K width, K width), class by class."""
        K, r, p = self.n_classes, self.width, softmax(z, axis=1)
        H = np.zeros((K, r, K, r))
        for part in blocks(len(z), r):
            A, q = self.rows(part), p[part]
            for k in range(K):
                for m in range(k, K):
                    weight = self.mass[part] * q[:, k] * ((k == m) - q[:, m])
                    H[k, :, m] += (A * weight[:, None]).T @ A
        for k in range(K):
            H[k, np.arange(r), k, np.arange(r)] += 1.0
            for m in range(k):
                H[k, :, m] = H[m, :, k].T
        if self.centre is not None:
            H[np.arange(K), -1, np.arange(K), -1] -= 1.0
            H[:, -1, :, -1] += np.mean(H[np.arange(K), -1, np.arange(K), -1]) + np.finfo(float).tiny
        return H.reshape(K * r, K * r)


@dataclass(frozen=True, eq=False)
class SoftmaxOptimum:
    """Where rows are removed.

    Coefficients, decision values, R with R R' = H^-1 class by class (K, width, rank), and the mass of the rows there.
    """

    coef: Floats
    decisions: Floats
    root: Floats
    mass: Floats
    residual_before: float
    residual: float
    direction_cosine: float

    @property
    def polished(self) -> bool:
        return self.residual_before > optimum.CONVERGED


def softmax_optimum(problem: Softmax, coef: Floats) -> SoftmaxOptimum:
    """The optimum next to the coefficients of the user's fit: the fit itself where its residual is small."""
    z = problem.decisions(coef)
    before = _residual(problem, coef, z)
    start = SoftmaxOptimum(coef, z, _root(problem, z), problem.mass, before, before, 1.0)
    if not start.polished:
        return start
    solution = _descend(problem, start)
    solution = replace(solution, direction_cosine=_cosine(problem, start, solution))
    return optimum.most_similar(solution, _stronger(problem, start, solution))


def _stronger(problem: Softmax, start: SoftmaxOptimum, solution: SoftmaxOptimum) -> Iterator[SoftmaxOptimum]:
    """Optima at ever stronger penalties: what counts is penalty over mass, so the mass is divided."""
    now = solution
    for _ in range(optimum.PATH_STEPS if solution.direction_cosine < optimum.ELSEWHERE else 0):
        problem = replace(problem, mass=problem.mass / optimum.STEP)
        z = now.decisions
        now = _descend(problem, replace(now, root=_root(problem, z), residual=_residual(problem, now.coef, z)))
        now = replace(now, direction_cosine=_cosine(problem, start, now), mass=problem.mass)
        yield now


def _descend(problem: Softmax, start: SoftmaxOptimum) -> SoftmaxOptimum:
    return optimum.descended(start, lambda now: _step(problem, now), MAX_STEPS)


def _step(problem: Softmax, now: SoftmaxOptimum) -> SoftmaxOptimum | None:
    """A damped Newton step; None at the optimum, or when none descends any more."""
    if now.residual <= optimum.TIGHT:
        return None
    slope = problem.gradient(now.coef, now.decisions)
    flat = now.root.reshape(-1, now.root.shape[-1])
    move = -(flat @ (flat.T @ slope.T.ravel())).reshape(problem.n_classes, -1).T
    dz, promised, value = problem.decisions(move), float(np.sum(slope * move)), problem.value(now.coef, now.decisions)

    def trial(step: float) -> tuple[Floats, Floats] | None:
        coef, z = now.coef + step * move, now.decisions + step * dz
        return (coef, z) if problem.value(coef, z) < value + ENOUGH * step * promised else None

    lower = optimum.halved(trial, MAX_HALVINGS)
    if lower is None:
        return None
    coef, z = lower
    return replace(now, coef=coef, decisions=z, root=_root(problem, z), residual=_residual(problem, coef, z))


def _root(problem: Softmax, z: Floats) -> Floats:
    R = inverse_root(problem.hessian(z))
    return R.reshape(problem.n_classes, problem.width, R.shape[1])


def _residual(problem: Softmax, coef: Floats, z: Floats) -> float:
    """|gradient| / |penalty's part of it|, and |sum g| / sum |g| for the intercepts; the larger."""
    slope, g = problem.gradient(coef, z), problem.slopes(z)
    tiny = np.finfo(float).tiny
    balance = np.abs(g.sum(axis=0)) / np.maximum(np.abs(g).sum(axis=0), tiny)
    weights = problem.penalised(coef)
    part = float(np.linalg.norm(problem.penalised(slope)) / max(float(np.linalg.norm(weights)), tiny))
    return max(part, float(balance.max())) if problem.centre is not None else part


def _cosine(problem: Softmax, a: SoftmaxOptimum, b: SoftmaxOptimum) -> float:
    """Mean of the cosines between two fits in weights and in decision values, softmax's freedom taken out."""
    return 0.5 * (
        _angle(problem.penalised(a.coef), problem.penalised(b.coef))
        + _angle(a.decisions - a.decisions.mean(axis=0), b.decisions - b.decisions.mean(axis=0))
    )


def _angle(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return float(np.sum(a * b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), np.finfo(float).tiny))


# ---- Rows removed from multinomial logistic regression: one Newton step with the whole block Hessian.
#
# The formula of `foldless.honest.removal` with K numbers per row instead of one: slopes g_i are vectors, curvatures D_i
# and influences G_ij are K x K matrices, and for a pair of rows
#
#     S_j = (I - D_j G_jj)^-1,
#     (I - D_i G_ii - D_i G_ij S_j D_j G_ji) u_i = g_i + D_i G_ij S_j g_j,    u_j = S_j (g_j + D_j G_ji u_i),
#     z_i(-ij) - z_i = G_ii u_i + G_ij u_j.

MAX_WIDTH = 4000  # coefficients in all: the Hessian is a square of that size
MOST_WORK = 2e10  # multiplications for the pairs of rows
BLOCK_ENTRIES = 1 << 20


def softmax_of(view: LinearView, sample_weight: Floats | None) -> tuple[Softmax, SoftmaxOptimum] | None:
    """The objective of multinomial logistic regression with an L2 penalty at its optimum; None for anything else."""
    est: Any = view.estimator
    if not sklearn_names(est) & {"LogisticRegression", "LogisticRegressionCV"} or is_one_against_rest(est):
        return None
    C = strength(est)
    if C is not None and not np.isfinite(C):
        raise EstimatorError(
            "multinomial logistic regression without a penalty has no single solution to leave rows out of: fit with a "
            "finite C; C=1e4 on standardised columns is next to no penalty."
        )
    if C is None or not trains_as_its_class(est):
        return None
    K, intercept = len(view.classes), bool(est.fit_intercept)
    if K * (min(view.X.shape) + intercept) > MAX_WIDTH:
        return None
    mass = C * row_weights(view, est.class_weight, sample_weight, counted=balanced_counts_sample_weights())
    design = build_design(view.X, constant=0.0, free_intercept=intercept)
    centre = design.mean(np.ones(view.codes.size)) if intercept else None
    problem = Softmax(design, centre, view.codes, mass, K)
    return problem, softmax_optimum(problem, _fitted(problem, view))


def affordable_rows(problem: Softmax) -> int:
    """How many rows can be evaluated in pairs within `MOST_WORK`."""
    K = problem.n_classes
    return int(np.sqrt(MOST_WORK / (K**2 * (8 * K + K * problem.width))))


def scores_of_softmax(problem: Softmax, solution: SoftmaxOptimum, rows: Ints) -> tuple[Floats, Floats]:
    """Decision values of the rows without them (K, m), and without every pair of them (K, m, m)."""
    z, local = solution.decisions[rows], _Local(problem, solution, rows)
    own = local.alone()
    alone = z + np.einsum("ikl,il->ik", local.own, own)
    without = np.empty((problem.n_classes, rows.size, rows.size))
    for part in blocks(rows.size, rows.size * problem.n_classes**2, BLOCK_ENTRIES):
        without[:, :, part] = (z[:, None, :] + local.pair_shifts(part)).transpose(2, 0, 1)
    return alone.T.copy(), without


class _Local:
    """Slopes, curvatures and influences of the rows under study."""

    def __init__(self, problem: Softmax, solution: SoftmaxOptimum, rows: Ints) -> None:
        problem = replace(problem, mass=solution.mass)
        A, p = problem.rows(rows), softmax(solution.decisions[rows], axis=1)
        self.B = np.einsum("ir,krs->iks", A, solution.root, optimize=True)  # G_ij = B_i B_j'
        self.g = problem.slopes(solution.decisions)[rows]
        mass = problem.mass[rows, None, None]
        self.D = mass * (p[:, :, None] * np.eye(problem.n_classes) - p[:, :, None] * p[:, None, :])
        self.own = self.B @ self.B.transpose(0, 2, 1)
        self.S = np.linalg.inv(np.eye(problem.n_classes) - self.D @ self.own)

    def alone(self) -> Floats:
        """u of each row on its own, shape (m, K)."""
        return np.asarray(np.einsum("ikl,il->ik", self.S, self.g))

    def pair_shifts(self, part: slice) -> Floats:
        """Shift of every row i without i and j, for j in `part`: shape (m, part, K)."""
        m, K, rank = self.B.shape
        G = (self.B.reshape(m * K, rank) @ self.B[part].reshape(-1, rank).T).reshape(m, K, -1, K).transpose(0, 2, 1, 3)
        back = G.transpose(0, 1, 3, 2)  # G_ji
        SD, Sg = self.S[part] @ self.D[part], np.einsum("jkl,jl->jk", self.S[part], self.g[part])
        D, eye = self.D[:, None], np.eye(K)
        left = eye - D @ (self.own[:, None] + G @ (SD @ back))
        right = self.g[:, None] + np.einsum("ikl,ijl->ijk", self.D, np.einsum("ijkl,jl->ijk", G, Sg))
        left[np.arange(m)[part], np.arange(left.shape[1])] = eye  # a row with itself is no pair
        ui = np.linalg.solve(left, right[..., None])[..., 0]
        uj = Sg + np.einsum("jkl,ijl->ijk", SD, np.einsum("ijkl,ijl->ijk", back, ui))
        return np.asarray(np.einsum("ikl,ijl->ijk", self.own, ui) + np.einsum("ijkl,ijl->ijk", G, uj))


def _fitted(problem: Softmax, view: LinearView) -> Floats:
    """The user's coefficients in the coordinates of the problem, shape (width, K)."""
    linear = view.scores() - view.intercepts
    means = linear.mean(axis=0)
    own = linear - means if problem.centre is not None else linear
    coef = np.column_stack([problem.design.coefficients(w, z) for w, z in zip(view.weights, own.T, strict=True)])
    return coef if problem.centre is None else np.vstack([coef, view.intercepts + means])
