"""Rows removed from multinomial logistic regression: one Newton step with the whole block Hessian.

The formula of `foldless.honest.removal` with K numbers per row instead of one: slopes g_i are vectors, curvatures D_i
and influences G_ij are K x K matrices, and for a pair of rows

    S_j = (I - D_j G_jj)^-1,
    (I - D_i G_ii - D_i G_ij S_j D_j G_ji) u_i = g_i + D_i G_ij S_j g_j,    u_j = S_j (g_j + D_j G_ji u_i),
    z_i(-ij) - z_i = G_ii u_i + G_ij u_j.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax

from foldless._check import Floats
from foldless._steps import sklearn_names
from foldless.errors import EstimatorError
from foldless.honest.design import Ints, build_design
from foldless.honest.multi.result import Tensor
from foldless.honest.multi.softmax import Softmax, SoftmaxOptimum, softmax_optimum
from foldless.honest.multi.targets import class_weights, is_one_against_rest
from foldless.honest.multi.view import ClassesView
from foldless.honest.objectives._rows import balanced_counts_sample_weights

MAX_WIDTH = 4000  # coefficients in all: the Hessian is a square of that size
MOST_WORK = 2e10  # multiplications for the pairs of rows
BLOCK_ENTRIES = 1 << 20


def softmax_of(view: ClassesView, sample_weight: Floats | None) -> tuple[Softmax, SoftmaxOptimum] | None:
    """The objective of multinomial logistic regression with an L2 penalty at its optimum; None for anything else."""
    est: Any = view.estimator
    if not sklearn_names(est) & {"LogisticRegression", "LogisticRegressionCV"} or is_one_against_rest(est):
        return None
    C = _strength(est)
    if C is None or not trains_as_its_class(est):
        return None
    K, intercept = len(view.classes), bool(est.fit_intercept)
    if K * (min(view.X.shape) + intercept) > MAX_WIDTH:
        return None
    s = class_weights(view, sample_weight, counted=balanced_counts_sample_weights())[view.codes]
    mass = C * (s if sample_weight is None else s * sample_weight)
    design = build_design(view.X, constant=0.0, free_intercept=intercept)
    centre = design.mean(np.ones(view.codes.size)) if intercept else None
    problem = Softmax(design, centre, view.codes, mass, K)
    return problem, softmax_optimum(problem, _fitted(problem, view))


def trains_as_its_class(est: Any) -> bool:
    """Whether fit is scikit-learn's own: a subclass with another one may minimise anything."""
    return str(getattr(type(est).fit, "__module__", "")).startswith("sklearn.")


def affordable_rows(problem: Softmax) -> int:
    """How many rows can be evaluated in pairs within `MOST_WORK`."""
    K = problem.n_classes
    return int(np.sqrt(MOST_WORK / (K**2 * (8 * K + K * problem.width))))


def scores_of_softmax(problem: Softmax, found: SoftmaxOptimum, rows: Ints) -> Tensor:
    """Decision values of the rows without them, and without every pair of them."""
    z, local = found.decisions[rows], _Local(problem, found, rows)
    own = local.alone()
    alone = z + np.einsum("ikl,il->ik", local.own, own)
    without = np.empty((problem.n_classes, rows.size, rows.size))
    for part in _column_parts(rows.size, problem.n_classes):
        without[:, :, part] = (z[:, None, :] + local.pair_shifts(part)).transpose(2, 0, 1)
    return Tensor.of(alone.T.copy(), without)


class _Local:
    """Slopes, curvatures and influences of the rows under study."""

    def __init__(self, problem: Softmax, found: SoftmaxOptimum, rows: Ints) -> None:
        problem = replace(problem, mass=found.mass)
        A, p = problem.rows(rows), softmax(found.decisions[rows], axis=1)
        self.B = np.einsum("ir,krs->iks", A, found.root, optimize=True)  # G_ij = B_i B_j'
        self.g = problem.slopes(found.decisions)[rows]
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


def _column_parts(m: int, n_classes: int) -> Iterator[slice]:
    step = max(1, BLOCK_ENTRIES // (m * n_classes**2))
    for start in range(0, m, step):
        yield slice(start, min(start + step, m))


def _fitted(problem: Softmax, view: ClassesView) -> Floats:
    """The user's coefficients in the coordinates of the problem, shape (width, K)."""
    linear = view.scores() - view.intercepts
    means = linear.mean(axis=0)
    own = linear - means if problem.centre is not None else linear
    coef = np.column_stack([problem.design.coefficients(w, z) for w, z in zip(view.weights, own.T, strict=True)])
    return coef if problem.centre is None else np.vstack([coef, view.intercepts + means])


def _strength(est: Any) -> float | None:
    """C of an L2 penalty, None for L1, elastic net and averaged fits; no penalty is refused."""
    penalty, cross_validated = getattr(est, "penalty", "deprecated"), hasattr(est, "C_")
    if cross_validated and not est.refit:
        return None
    ratio = np.ravel(np.asarray(est.l1_ratio_ if cross_validated else est.l1_ratio, dtype=object))[0]
    if penalty == "l1" or (penalty in ("elasticnet", "deprecated") and ratio not in (None, 0.0)):
        return None
    C = np.inf if penalty is None else float(np.ravel(est.C_ if cross_validated else est.C)[0])
    if not np.isfinite(C):
        raise EstimatorError(
            "multinomial logistic regression without a penalty has no single solution to leave rows out of: fit with a "
            "finite C; C=1e4 on standardised columns is next to no penalty."
        )
    return C
