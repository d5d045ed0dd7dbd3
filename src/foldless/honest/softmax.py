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

from foldless.checks import Floats, Ints, dense
from foldless.errors import EstimatorError
from foldless.honest import newton, optimum
from foldless.honest.design import Design, blocks, build_design, inverse_root
from foldless.honest.families import (
    balanced_counts_sample_weights,
    is_one_against_rest,
    known_class,
    row_weights,
    strength,
)
from foldless.honest.scales import VANISHED, change_without_row, measured
from foldless.honest.scaling import lifted
from foldless.model.steps import ScaledColumns, sklearn_names
from foldless.model.view import LinearView

LOGISTIC = {"LogisticRegression", "LogisticRegressionCV"}
TINY = float(np.finfo(float).tiny)
MAX_STEPS = 100
MAX_HALVINGS = 40
ENOUGH = 1e-4  # a step must deliver at least this share of the descent that the slope promises


@dataclass(frozen=True, eq=False)
class Softmax:
    """The objective on given rows."""

    design: Design
    centre: Floats | None  # (r,) mean row where there is a free intercept, which takes up the shift
    codes: Ints  # (N,) class of each row
    mass: Floats  # (N,) C x sample weight x class weight of each row
    n_classes: int
    X: Any = None  # the columns
    scaled: tuple[ScaledColumns, ...] = ()  # those of them whose scaler leaves with the rows

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
        flat, own = np.zeros((K * r, K * r)), np.zeros((K, r, r))
        for part in blocks(len(z), K * r):
            A, q, mass = self.rows(part), p[part], self.mass[part, None]
            between = (A[:, None] * (np.sqrt(mass) * q)[:, :, None]).reshape(len(A), K * r)
            flat -= between.T @ between
            # Within a class p (1 - p), which a difference of two sums would lose where p is close to 1.
            own += np.array([(A * weight[:, None]).T @ A for weight in (mass * q * (1 - q)).T])
        H = flat.reshape(K, r, K, r)
        for k in range(K):
            H[k, :, k] = own[k]
            H[k, np.arange(r), k, np.arange(r)] += 1.0
        if self.centre is not None:
            H[np.arange(K), -1, np.arange(K), -1] -= 1.0
            H[:, -1, :, -1] += np.mean(H[np.arange(K), -1, np.arange(K), -1]) + np.finfo(float).tiny
        return flat


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


def softmax_optimum(problem: Softmax, coef: Floats, most: float = np.inf) -> SoftmaxOptimum | None:
    """The optimum next to the coefficients of the user's fit: the fit itself where its residual is small.

    None where it takes one Hessian after another, of more coefficients than `most`.
    """
    z = problem.decisions(coef)
    before = _residual(problem, coef, z)
    start = SoftmaxOptimum(coef, z, _root(problem, z), problem.mass, before, before, 1.0)
    if not start.polished:
        return start
    near = _with_kept_curvature(problem, start)
    if near is None and coef.size > most:
        return None
    solution = near or _descend(problem, start)
    solution = replace(solution, direction_cosine=_cosine(problem, start, solution))
    if solution.direction_cosine < optimum.ELSEWHERE and coef.size > most:
        return None
    return optimum.most_similar(solution, _stronger(problem, start, solution))


def _with_kept_curvature(problem: Softmax, start: SoftmaxOptimum) -> SoftmaxOptimum | None:
    """The optimum by Newton steps with one curvature, updated at most at the end; None if it is cheap or far off."""
    if problem.codes.size * len(start.coef) ** 2 * problem.n_classes**2 <= optimum.CHEAP:
        return None
    now, spread = start, float(np.linalg.norm(start.decisions - start.decisions.mean(axis=0)))
    for _ in range(optimum.KEPT_STEPS):
        coef = now.coef + _newton(problem, now)[1]
        z = problem.decisions(coef)
        size = float(np.linalg.norm(z - now.decisions)) / spread
        if not size <= optimum.SHORT:
            return None
        now = replace(now, coef=coef, decisions=z)
        if size <= optimum.NEGLIGIBLE:
            break
    else:
        return None
    p, q = softmax(start.decisions, axis=1), softmax(now.decisions, axis=1)
    change = np.abs(p * (1 - p) - q * (1 - q)).sum() / max(float((p * (1 - p) + q * (1 - q)).sum()), TINY)
    root = now.root if change < optimum.CHANGED else _root(problem, now.decisions)
    return replace(now, root=root, residual=_residual(problem, now.coef, now.decisions))


def _newton(problem: Softmax, now: SoftmaxOptimum) -> tuple[Floats, Floats]:
    """The gradient, and the Newton step."""
    slope, flat = problem.gradient(now.coef, now.decisions), now.root.reshape(-1, now.root.shape[-1])
    return slope, -(flat @ (flat.T @ slope.T.ravel())).reshape(problem.n_classes, -1).T


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
    return newton.descended(start, lambda now: _step(problem, now), MAX_STEPS)


def _step(problem: Softmax, now: SoftmaxOptimum) -> SoftmaxOptimum | None:
    """A damped Newton step; None at the optimum, or when no step descends any further."""
    if now.residual <= optimum.TIGHT:
        return None
    slope, move = _newton(problem, now)
    dz, promised, value = problem.decisions(move), float(np.sum(slope * move)), problem.value(now.coef, now.decisions)

    def trial(step: float) -> tuple[Floats, Floats] | None:
        coef, z = now.coef + step * move, now.decisions + step * dz
        return (coef, z) if problem.value(coef, z) < value + ENOUGH * step * promised else None

    lower = newton.halved(trial, MAX_HALVINGS)
    if lower is None:
        return None
    coef, z = lower
    return replace(now, coef=coef, decisions=z, root=_root(problem, z), residual=_residual(problem, coef, z))


def _root(problem: Softmax, z: Floats) -> Floats:
    R = inverse_root(problem.hessian(z))
    return R.reshape(problem.n_classes, problem.width, R.shape[1])


@np.errstate(over="ignore")
def _residual(problem: Softmax, coef: Floats, z: Floats) -> float:
    """The larger of |gradient| / |penalty's part of it| and, for the intercepts, |sum g| / sum |g|."""
    slope, g = problem.gradient(coef, z), problem.slopes(z)
    balance = np.abs(g.sum(axis=0)) / np.maximum(np.abs(g).sum(axis=0), TINY)
    weights = problem.penalised(coef)
    part = float(np.linalg.norm(problem.penalised(slope)) / max(float(np.linalg.norm(weights)), TINY))
    return max(part, float(balance.max())) if problem.centre is not None else part


def _cosine(problem: Softmax, a: SoftmaxOptimum, b: SoftmaxOptimum) -> float:
    """The `agreement` of two fits, ignoring what softmax leaves free."""
    weights = _angle(problem.penalised(a.coef), problem.penalised(b.coef))
    scores = _angle(a.decisions - a.decisions.mean(axis=0), b.decisions - b.decisions.mean(axis=0))
    in_row_space = problem.design.pivots is not None
    return optimum.agreement(weights, scores, 1.0 if in_row_space else len(a.coef) / len(a.decisions))


def _angle(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return float(np.sum(a * b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), TINY))


# ---- Rows removed from multinomial logistic regression: one Newton step with the whole block Hessian.
#
# The formula of `foldless.honest.removal` with K numbers per row instead of one: slopes g_i are vectors, curvatures D_i
# and influences G_ij = (a_i' x I) H^-1 (a_j x I) are K x K matrices. With every row alone,
#
#     T_i = (I - G_ii D_i)^-1,   s_i = T_i' g_i,   C_i = D_i T_i,   z_i(-i) - z_i = G_ii s_i,
#
# and for a pair of rows u_i = s_i + C_i G_ij u_j, u_j = s_j + C_j G_ji u_i, z_i(-ij) - z_i(-i) = T_i G_ij u_j.

MAX_WIDTH = 4000  # coefficients in all: the Hessian is a square of that size
MOST_STEPPED = 1000  # if there are more, 20 refits take less time than steps with a Hessian each
MOST_WORK = 1.6e9  # multiplications for the pairs of rows
IN_SOLVING = 20  # solving for a pair costs this many times K^3
ROWS_IN_CACHE = 1 << 17  # entries of the rows that are worked on at a time
# Substituting u_i and u_j into each other converges fast if rows hardly influence each other: pairs that have not
# settled to this relative accuracy after this many rounds are solved directly.
SETTLED, ROUNDS = 1e-7, 8


def strength_of_softmax(view: LinearView) -> float | None:
    """C of a multinomial logistic regression with an L2 penalty and an affordable Hessian; None for anything else."""
    est: Any = view.estimator
    if not sklearn_names(est) & LOGISTIC or is_one_against_rest(est):
        return None
    C = strength(est)
    if C is not None and not np.isfinite(C):
        raise EstimatorError(
            "multinomial logistic regression without a penalty has no single solution to leave rows out of: fit with a "
            "finite C; C=1e4 on standardised columns is next to no penalty."
        )
    width = len(view.classes) * (min(view.X.shape) + bool(est.fit_intercept))
    return None if known_class(est, LOGISTIC) is None or width > MAX_WIDTH else C


def softmax_of(
    view: LinearView, sample_weight: Floats | None, most: float = np.inf
) -> tuple[Softmax, SoftmaxOptimum] | None:
    """The objective of `strength_of_softmax` at its optimum; None for anything else, `most` as in `softmax_optimum`."""
    C, est = strength_of_softmax(view), view.estimator
    if C is None or est is None:
        return None
    intercept = bool(est.fit_intercept)
    mass = C * row_weights(view, est.class_weight, sample_weight, counted=balanced_counts_sample_weights())
    design = build_design(view.X, constant=0.0, free_intercept=intercept)
    centre = design.mean(np.ones(view.codes.size)) if intercept else None
    scaled = measured(view.X, view.scaled, sample_weight) if view.scaled else ()
    problem = Softmax(design, centre, view.codes, mass, len(view.classes), view.X, scaled)
    solution = softmax_optimum(problem, _fitted(problem, view), most)
    return None if solution is None else (problem, solution)


def affordable_rows(problem: Softmax) -> int:
    """How many rows can be evaluated in pairs within `MOST_WORK`."""
    K = problem.n_classes
    return int(np.sqrt(MOST_WORK / (K**2 * (IN_SOLVING * K + problem.width))))


class Removal:
    """Every row removed on its own, and what is needed to remove pairs.

    `alone` (N, K) are the decision values of each row without it; `exposure` and `impact` (N,) the effect of others on
    a row, and of the row on others: tr T G_ii T', and s' G_ii s.
    """

    def __init__(self, problem: Softmax, solution: SoftmaxOptimum) -> None:
        K, r, z = problem.n_classes, problem.width, solution.decisions
        self._problem, root = replace(problem, mass=solution.mass), solution.root.reshape(K * r, -1)
        self._inverse = (root @ root.T).reshape(K, r, K, r)
        self._p, self._G = p, own = softmax(z, axis=1), self._own()
        eye = np.eye(K)
        D = solution.mass[:, None, None] * (p[:, :, None] * eye - p[:, :, None] * p[:, None, :])
        self._T = np.linalg.inv(eye - own @ D)
        self._C = D @ self._T
        self._s = np.einsum("ilk,il->ik", self._T, self._problem.slopes(z))
        self._shift = shift = np.einsum("ikl,il->ik", own, self._s)
        self.alone = z + shift
        self.exposure = np.einsum("ikl,ikl->i", self._T @ own, self._T)
        self.impact = np.einsum("ik,ik->i", self._s, shift)
        if problem.scaled:
            self.alone = self.alone + self._of_scaler(solution.coef)

    def added_back(self) -> Floats:
        """What an average row of its own class, in the place of each row, adds to `alone`; shape (K, N).

        As `foldless.honest.least_squares.pull_of_class`, with K numbers per row.
        """
        moved, codes, mass, p = np.empty_like(self.alone), self._problem.codes, self._problem.mass, self._p
        for rows in (np.flatnonzero(codes == k) for k in range(self._problem.n_classes)):
            A, G, weight = self._problem.rows(rows), self._G[rows], mass[rows, None]
            others = weight.sum() - weight
            shared = np.tensordot(self._inverse, A.T @ weight[:, 0], (3, 0))  # H^-1 sum_l weight_l (a_l x I)
            s = self._s[rows]
            seen = (np.einsum("ir,krm,im->ik", A, shared, s, optimize=True) - weight * self._shift[rows]) / others
            s = s - weight * p[rows] * (seen - np.sum(p[rows] * seen, axis=1, keepdims=True))  # less D_i seen_i
            reach = np.tensordot(self._inverse, A.T @ s, ((3, 2), (0, 1)))  # H^-1 sum_j a_j x s_j
            moved[rows] = (A @ reach.T - np.einsum("ikl,il->ik", G, s)) * weight / others
        return np.asarray(-np.einsum("ikl,il->ki", self._T, moved))

    def pairs(self, rows: Ints) -> Floats:
        """Decision values (K, m, m) of row i without i and j, for all pairs of `rows`, two classes at a time."""
        A, alone, codes = self._problem.rows(rows), self.alone[rows].T, self._problem.codes[rows]
        out = np.empty((len(alone), rows.size, rows.size))
        classes = [np.flatnonzero(codes == k) for k in np.unique(codes)]
        inverse = self._inverse.transpose(0, 2, 1, 3)
        for b, second in enumerate(classes):
            reach = inverse @ A[second].T  # H^-1 (a_j x I)
            for first in classes[: b + 1]:
                G = A[first] @ reach
                if first is second:
                    G[:, :, np.arange(first.size), np.arange(first.size)] = 0.0  # a row is not paired with itself
                move1, move0 = self._moves(rows[first], rows[second], G)
                out[:, first[:, None], second] = alone[:, first, None] + move1
                out[:, second[:, None], first] = alone[:, second, None] + move0.transpose(0, 2, 1)
        return out

    def _of_scaler(self, coef: Floats) -> Floats:
        """What the scaler adds to the decision values of each row without it, (N, K): `foldless.honest.scaling`.

        Of the block of H_S^-1 at a column, which is K x K, the mean over directions that change probabilities is used.
        """
        problem, r = self._problem, self._problem.design.matrix.shape[1]
        N, K = self.alone.shape
        wide, inverse = problem.design.pivots is not None, self._inverse[:, :, :, :r]
        of_columns = lifted(problem.design, dense(problem.X), problem.centre is not None) if wide else np.eye(r)
        S = (np.einsum("krks->rs", inverse[:, :r]) - inverse[:, :r].sum(axis=(0, 2)) / K) / (K - 1)
        h = np.einsum("rp,rp->p", of_columns, S @ of_columns) + 1.0 - np.sum(of_columns**2, axis=0)
        w, added = coef[:r].T @ of_columns, np.empty((N, K))
        for part in blocks(N, K * K * h.size, ROWS_IN_CACHE):
            M = np.einsum("ir,krms->ikms", problem.rows(part), inverse, optimize=True) @ of_columns
            change = change_without_row(problem.X, problem.scaled, part)
            own = np.einsum("ikmp,ikl,ilmp->ip", M, self._C[part], M, optimize=True) / (K - 1)
            E = change / np.maximum(1.0 + change * (h + own), VANISHED)
            moved = w + np.einsum("ikmp,ik->imp", M, self._s[part])
            added[part] = -np.einsum("ikl,ilmp,imp,ip->ik", self._T[part], M, moved, E, optimize=True)
        return added

    def _own(self) -> Floats:
        """G_ii, shape (N, K, K)."""
        N, K, r = self._problem.mass.size, self._problem.n_classes, self._problem.width
        own = np.empty((N, K, K))
        for part in blocks(N, r, ROWS_IN_CACHE):
            A = self._problem.rows(part)
            for k in range(K):
                for m in range(k + 1):
                    own[part, k, m] = own[part, m, k] = np.einsum("ir,ir->i", A @ self._inverse[k, :, m], A)
        return own

    def _moves(self, rows1: Ints, rows0: Ints, G: Floats) -> tuple[Floats, Floats]:
        """z_i(-ij) - z_i(-i) and z_j(-ij) - z_j(-j), both (K, rows1, rows0), from G (K, K, rows1, rows0)."""
        s1, s0, C1, C0 = self._s[rows1].T[:, :, None], self._s[rows0].T[:, None], self._C[rows1], self._C[rows0]
        u0 = np.broadcast_to(s0, G.shape[1:])
        enough = SETTLED * float(np.abs(s0).max())
        for _ in range(ROUNDS):
            before, reach1 = u0, np.einsum("klij,lij->kij", G, u0)
            u1 = s1 + _of_rows(C1, reach1)
            reach0 = np.einsum("klij,kij->lij", G, u1)
            u0 = s0 + _of_columns(C0, reach0)
            restless = np.abs(u0 - before).max(axis=0) > enough
            if not restless.any():
                break
        else:
            i, j = np.nonzero(restless)
            reach1[:, i, j], reach0[:, i, j] = self._solved(rows1[i], rows0[j], G[:, :, i, j].transpose(2, 0, 1))
        return _of_rows(self._T[rows1], reach1), _of_columns(self._T[rows0], reach0)

    def _solved(self, i: Ints, j: Ints, G: Floats) -> tuple[Floats, Floats]:
        """G_ij u_j and G_ji u_i of some pairs, both (K, pairs), from G (pairs, K, K)."""
        back, s0 = G.transpose(0, 2, 1), self._s[j][..., None]
        F1, F0 = self._C[i] @ G, self._C[j] @ back
        u1 = np.linalg.solve(np.eye(G.shape[1]) - F1 @ F0, self._s[i][..., None] + F1 @ s0)
        return (G @ (s0 + F0 @ u1))[..., 0].T, (back @ u1)[..., 0].T


def _of_rows(matrices: Floats, vectors: Floats) -> Floats:
    """Matrix i (K, K) times vector ij, for vectors (K, rows, columns); matrix j in `_of_columns`."""
    return np.ascontiguousarray((matrices @ vectors.transpose(1, 0, 2)).transpose(1, 0, 2))


def _of_columns(matrices: Floats, vectors: Floats) -> Floats:
    return np.ascontiguousarray((matrices @ vectors.transpose(2, 0, 1)).transpose(1, 2, 0))


def _fitted(problem: Softmax, view: LinearView) -> Floats:
    """The user's coefficients in the coordinates of the problem, shape (width, K)."""
    linear = view.scores() - view.intercepts
    means = linear.mean(axis=0)
    own = linear - means if problem.centre is not None else linear
    coef = np.column_stack([problem.design.coefficients(w, z) for w, z in zip(view.weights, own.T, strict=True)])
    return coef if problem.centre is None else np.vstack([coef, view.intercepts + means])
