"""Ridge classifiers of several classes: every row removed from the fits of all classes at once, exactly.

One class against the rest, all classes have the same rows, weights D and penalty, hence the same Hessian and leverages
h = D G_ii. With Z the scores (N, K), T the targets +-1 and U = D (Z - T) / (1 - h), one factorisation gives

    Z_i(-i) = Z_i + G_ii U_i,    and, to first order, row j adds   -G_ij U_j / (1 - h_i)   to it.

A row that is removed also weakens its class: the sixth row of a class is judged by a fit that has seen five, and ranks
its class too low. Where classes are compared, an average row of the class takes its place (`pull_of_class`), so that
the counts are those of the fit. No fit has seen that row: its slope is U, less what the rows of a class have in common,
which the others show. Rows that are all alike would otherwise give their own class an edge of the order h^2, and that
decides where strong penalties leave little but the intercepts.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from foldless.checks import Floats, Ints
from foldless.honest.design import MAX_LEVERAGE, Curvature, Design, build_design, curvature_at
from foldless.honest.families import describe, row_weights
from foldless.honest.objective import Objective
from foldless.honest.optimum import CONVERGED, tempered
from foldless.honest.removal import LocalModel
from foldless.honest.scaling import MIN_DETERMINANT
from foldless.model.steps import sklearn_names
from foldless.model.view import LinearView

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The fits of all classes at their optimum, with coefficients (k, K) and scores (N, K)."""

    objective: Objective  # of the first class; rows, weights, penalty and scalers are those of all
    codes: Ints
    design: Design
    curvature: Curvature
    coef: Floats
    scores: Floats

    @classmethod
    def at(cls, objective: Objective, codes: Ints, design: Design, curvature: Curvature) -> LeastSquares:
        """The optimum, one Newton step from the origin; a second one where the first was in single precision."""
        D, K = objective.loss.weight, int(codes.max()) + 1
        coef, scores = np.zeros((design.matrix.shape[1], K)), np.zeros((codes.size, K))
        for _ in range(1 + curvature.is_single):
            g = _gradient(scores, codes, D)
            total, slope = g.sum(axis=0), objective.lam * coef + np.asarray(design.matrix.T @ g)
            if curvature.centre is not None:
                slope -= np.outer(curvature.centre, total)
            move = -curvature.solve(slope)
            coef, scores = coef + move, scores + design.scores(move)
            if curvature.centre is not None:
                scores -= curvature.centre @ move + total / curvature.total
        return cls(objective, codes, design, curvature, coef, scores)

    def residual(self, given: Floats) -> float:
        """Distance of the scores of the user's fit from these, relative to their spread."""
        spread = np.linalg.norm(self.scores - self.scores.mean(axis=0), axis=0)
        return float(np.max(np.linalg.norm(self.scores - given, axis=0) / np.maximum(spread, TINY)))

    @property
    def D(self) -> Floats:
        return self.objective.loss.weight

    @cached_property
    def gradient(self) -> Floats:
        """D (Z - T)."""
        return _gradient(self.scores, self.codes, self.D)

    def removed(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Scores (N, K) of each row without it, what an average row of its class in its place adds; exposure, impact.

        Class by class, so that the rows of a class are at hand when one of them is replaced.
        """
        G, U, added = np.empty(self.codes.size), self.gradient.copy(), np.empty_like(self.scores)
        for rows in (np.flatnonzero(self.codes == k) for k in range(self.scores.shape[1])):
            B = self.curvature.influence_rows(self.design, rows)
            G[rows] = np.einsum("ij,ij->i", B, B)
            slack = self._slack(G[rows], rows)
            U[rows] /= slack
            added[rows] = pull_of_class(B, self.D[rows], U[rows], self.D[rows]) / -slack
        exposure = G / self._slack(G, slice(None))[:, 0] ** 2
        felt = exposure[:, None] * self.gradient**2
        impact = np.sum(felt / np.maximum(felt.mean(axis=0), TINY), axis=1)
        return self.scores + G[:, None] * U, added, exposure, impact

    def _slack(self, G: Floats, rows: Any) -> Floats:
        return np.asarray(1.0 - np.minimum(G * self.D[rows], MAX_LEVERAGE))[:, None]

    def pairs(self, rows: Ints) -> Floats:
        """Scores (K, m, m) of the rows without each pair of them, the scaler kept."""
        B = self.curvature.influence_rows(self.design, rows)
        return scores_in_pairs(self.scores[rows], LocalModel(self.gradient[rows], self.D[rows], B))


def scores_in_pairs(scores: Floats, model: LocalModel) -> Floats:
    """Scores (K, m, m) of m rows without each pair of them, from those of the fit: `pair_shifts` with one D for all."""
    G, d, own = model.G, model.curvature_alone, model.diagonal[:, None]
    det = np.maximum(1.0 - np.outer(d, d) * G**2, MIN_DETERMINANT)
    by_own, by_other = (own + d * G**2) / det, G * (1.0 + own * d[:, None]) / det
    u = (model.g / model.slack[:, None]).T
    return np.asarray(scores.T[:, :, None] + u[:, :, None] * by_own + u[:, None] * by_other)


def pull_of_class(B: Floats, D: Floats, U: Floats, weight: Floats) -> Floats:
    """Sum over the other rows j of a class of G_ij U_j, G = B B', were they to gain the weight of row i; shape of U.

    U_j is reduced by the leverage D_j G_jl that row j has in common with the others l, on average.
    """
    G, others = np.einsum("ij,ij->i", B, B), weight.sum() - weight
    common = np.clip(D * (B @ (B.T @ weight) - G * weight) / others, 0.0, G * D)
    U = U * (1.0 - common)[:, None]
    return np.asarray((B @ (B.T @ U) - G[:, None] * U) * (weight / others)[:, None])


def ridge_of(view: LinearView, sample_weight: Floats | None) -> LeastSquares | None:
    """RidgeClassifier and RidgeClassifierCV; None for others, without a penalty, and for weights off their optimum.

    None also for columns whose scale leaves with the row: each class then has corrections of its own.
    """
    objective = _objective(view, sample_weight)
    if objective is None or objective.scaled:
        return None
    free, D = objective.free_intercept, objective.loss.weight
    design = build_design(view.X, constant=0.0, free_intercept=free)
    objective = tempered(objective, design)
    known = LeastSquares.at(objective, view.codes, design, curvature_at(design, D, objective.lam, free))
    # Weights away from their optimum are followed to it, one class at a time.
    return known if known.residual(view.scores()) <= CONVERGED else None


def _objective(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """That of the first class."""
    est: Any = view.estimator
    if not sklearn_names(est) & {"RidgeClassifier", "RidgeClassifierCV"}:
        return None
    plain = copy.copy(est)
    plain.class_weight = None
    weight = sample_weight if est.class_weight is None else row_weights(view, est.class_weight, sample_weight)
    objective = describe(view.against_rest(0, plain), weight)
    return None if objective is None or objective.lam <= 0 else objective


# ---- All penalties from one eigendecomposition: in the eigenvectors of the Gram matrix, every Hessian is diagonal.


class Diagonal(Curvature):
    """A Hessian with a diagonal inverse, of which `root` (k,) is the square root."""

    def solve(self, right: Floats) -> Floats:
        return np.asarray(self.root[:, None] ** 2 * right)

    def influence_rows(self, design: Design, index: Ints | slice, *, exact: bool = True) -> Floats:
        B = design.matrix[index] * self.root
        return B if self.centre is None else np.hstack([B, np.full((len(B), 1), self.total**-0.5)])

    def seen(self, design: Design, V: Floats, *more: Any) -> tuple[Floats, Floats, Floats]:
        k, A = self.root.size, design.matrix
        squares = design.kept("squares", lambda: A * A)
        constant = 0.0 if self.centre is None else V[k] * self.total**-0.5
        products = A @ (self.root[:, None] * V[:k]) + constant
        return squares @ self.root**2 + 1.0 / self.total, products, np.zeros(len(A))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Rows in the eigenvectors of their Gram matrix, about their weighted mean, and the eigenvalues."""

    design: Design
    values: Floats
    vectors: Floats
    centre: Floats | None

    @classmethod
    def of(cls, objective: Objective, design: Design) -> Spectrum:
        """Of a squared loss, whose curvatures are its weights, and the same for every penalty."""
        D = objective.loss.weight
        centre = design.mean(D) if objective.free_intercept else None
        values, vectors = eigh(design.gram(D, centre))
        rotated = Design(design.rows(slice(None), centre) @ vectors, memory={})
        return cls(rotated, np.maximum(values, 0.0), vectors, centre)

    def curvature(self, objective: Objective) -> Diagonal:
        """With the penalty of this objective."""
        root, D = 1.0 / np.sqrt(self.values + objective.lam), objective.loss.weight
        if self.centre is None:
            return Diagonal(root, None, np.inf, D)
        return Diagonal(root, np.zeros(root.size), float(D.sum()), D)


@dataclass(frozen=True, eq=False)
class RidgePath:
    """A ridge classifier of several classes, and the spectrum of its rows."""

    view: LinearView
    objective: Objective
    design: Design
    spectrum: Spectrum

    @classmethod
    def of(cls, view: LinearView, sample_weight: Floats | None) -> RidgePath | None:
        """None where there is no such path: other classifiers, and columns whose scale changes with the rows."""
        objective = _objective(view, sample_weight)
        if objective is None or objective.scaled:
            return None
        design = build_design(view.X, constant=0.0, free_intercept=objective.free_intercept)
        return cls(view, objective, design, Spectrum.of(objective, design))

    def at(self, lam: float) -> LeastSquares:
        """The fit with this penalty."""
        objective = tempered(replace(self.objective, lam=lam), self.design)
        return LeastSquares.at(objective, self.view.codes, self.spectrum.design, self.spectrum.curvature(objective))

    def weights(self, known: LeastSquares) -> tuple[Floats, Floats]:
        """Weights (K, P) of a fit on the columns of X, and intercepts (K,)."""
        if self.design.pivots is None:
            W = self.spectrum.vectors @ known.coef
        else:  # at the optimum of more columns than rows; elsewhere a weak penalty drowns that in rounding
            W = np.asarray(self.objective.X.T @ known.gradient) / -known.objective.lam
        rest = np.mean(known.scores - np.asarray(self.objective.X @ W), axis=0)
        return W.T, rest if self.objective.free_intercept else np.zeros(rest.size)


def _gradient(scores: Floats, codes: Ints, D: Floats) -> Floats:
    g = scores + 1.0
    g[np.arange(codes.size), codes] -= 2.0
    return np.asarray(g * D[:, None])
