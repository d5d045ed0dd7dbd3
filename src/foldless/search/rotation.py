"""The design that candidates of one family share, and the way back from its coordinates to the columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.checks import Floats
from foldless.honest.design import Design, build_design
from foldless.honest.families import Objective, SquaredLoss
from foldless.honest.least_squares import Spectrum
from foldless.honest.newton import Fit, Point
from foldless.honest.optimum import Optimum

KEPT = 1 << 24  # entries of X up to which what a scaler needs of its rows is kept: up to 400 MB


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
