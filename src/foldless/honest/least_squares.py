"""Ridge classifiers of several classes: every row removed from the fits of all classes at once, exactly.

One class against the rest, all classes have the same rows, weights D and penalty, hence the same Hessian and leverages
h = D G_ii. With Z the scores (N, K), T the targets +-1 and U = D (Z - T) / (1 - h), one factorisation gives

    Z_i(-i) = Z_i + G_ii U_i,    and, to first order, row j adds   -G_ij U_j / (1 - h_i)   to it.

A row that is removed also weakens its class: the sixth row of a class is judged by a fit that has seen five, and ranks
its class too low. Where classes are compared, an average row of the class takes its place (`pull_of_class`), so that
the counts are those of the fit.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Floats
from foldless.honest.design import Curvature, Design, Ints, blocks, build_design, curvature_at
from foldless.honest.families import Objective, Readout, describe, row_weights
from foldless.honest.optimum import CONVERGED, tempered
from foldless.honest.removal import MAX_LEVERAGE, LocalModel, Problem
from foldless.honest.scaling import Corrections, Rescaling
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
    residual: float  # distance of the given scores from these, relative to their spread

    @classmethod
    def at(cls, objective: Objective, codes: Ints, design: Design, curvature: Curvature, given: Floats) -> LeastSquares:
        """The optimum, from the normal equations; `given` are the scores of the user's fit."""
        D, level = objective.loss.weight, np.zeros(given.shape[1])
        g = -_gradient(np.zeros(given.shape), codes, D)  # D T
        if curvature.centre is not None:
            level = g.sum(axis=0) / curvature.total
        right = np.asarray(design.matrix.T @ (g - D[:, None] * level))
        coef = curvature.root @ (curvature.root.T @ right)
        scores = design.scores(coef) + level
        if curvature.centre is not None:
            scores -= curvature.centre @ coef
        spread = np.linalg.norm(scores - scores.mean(axis=0), axis=0)
        residual = float(np.max(np.linalg.norm(scores - given, axis=0) / np.maximum(spread, TINY)))
        return cls(objective, codes, design, curvature, coef, scores, residual)

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
            added[rows] = pull_of_class(B, U[rows], self.D[rows]) / -slack
        exposure = G / self._slack(G, slice(None))[:, 0] ** 2
        felt = exposure[:, None] * self.gradient**2
        impact = np.sum(felt / np.maximum(felt.mean(axis=0), TINY), axis=1)
        return self.scores + G[:, None] * U + self._by_scaler(U), added, exposure, impact

    def _slack(self, G: Floats, rows: Any) -> Floats:
        return np.asarray(1.0 - np.minimum(G * self.D[rows], MAX_LEVERAGE))[:, None]

    def _by_scaler(self, U: Floats) -> Floats | float:
        """What the scaler adds to the score of each row without it: see `foldless.honest.scaling`."""
        rescaling = self._rescaling(self.coef)
        if rescaling is None:
            return 0.0
        more = np.empty_like(U)
        for part in blocks(self.codes.size, len(self.curvature.root)):
            rows = np.arange(self.codes.size)[part]
            model = LocalModel(U[part], self.D[part], self.curvature.influence_rows(self.design, rows))
            along, across = Corrections(rescaling, model, rows).own
            more[part] = (along + across[:, None] * U[part]) / -model.slack[:, None]
        return more

    def _rescaling(self, coef: Floats) -> Rescaling | None:
        scaled = self.objective.scaled
        parts = (self.objective.lam, coef, self.D, self.design, self.curvature)
        return Rescaling(self.objective.X, scaled, *parts) if scaled else None

    def problems(self) -> list[Problem]:
        """Each class against the rest."""
        shared = (self.D, self.design, self.curvature, Readout())
        return [
            Problem(self.codes == k, z, 1.0, g, *shared, rescaling=self._rescaling(coef))
            for k, (z, g, coef) in enumerate(zip(self.scores.T, self.gradient.T, self.coef.T, strict=True))
        ]


def pull_of_class(B: Floats, U: Floats, D: Floats) -> Floats:
    """Sum over the other rows j of a class of G_ij U_j D_i / (total D of the others), G = B B'; shape of U."""
    others = B @ (B.T @ U) - np.einsum("ij,ij->i", B, B)[:, None] * U
    return np.asarray(others * (D / np.maximum(D.sum() - D, TINY))[:, None])


def ridge_of(view: LinearView, sample_weight: Floats | None) -> LeastSquares | None:
    """RidgeClassifier and RidgeClassifierCV; None for others, without a penalty, and for weights off their optimum."""
    est: Any = view.estimator
    if not sklearn_names(est) & {"RidgeClassifier", "RidgeClassifierCV"}:
        return None
    plain = copy.copy(est)
    plain.class_weight = None
    weight = sample_weight if est.class_weight is None else row_weights(view, est.class_weight, sample_weight)
    objective = describe(view.against_rest(0, plain), weight)
    if objective is None or objective.lam <= 0:
        return None
    free, D = objective.free_intercept, objective.loss.weight
    design = build_design(view.X, constant=0.0, free_intercept=free)
    objective = tempered(objective, design)
    curvature = curvature_at(design, D, objective.lam, free)
    known = LeastSquares.at(objective, view.codes, design, curvature, view.scores())
    # Weights away from their optimum are followed to it, one class at a time.
    return known if known.residual <= CONVERGED else None


def _gradient(scores: Floats, codes: Ints, D: Floats) -> Floats:
    g = scores + 1.0
    g[np.arange(codes.size), codes] -= 2.0
    return np.asarray(g * D[:, None])
