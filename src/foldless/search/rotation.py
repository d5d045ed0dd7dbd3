"""There and back: the columns of X, and the fewer coordinates in which a family of L2 fits is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Design, build_design
from foldless.honest.objective import Objective
from foldless.honest.polish import MIN_PENALTY
from foldless.search.newton import Fit


@dataclass(frozen=True, eq=False)
class Rotation:
    """The design of a family, and the columns that it came from.

    Attributes
    ----------
    design : Design
        The columns themselves (P < N), or coordinates of the row space.
    X : matrix of shape (N, P)
    centre : array of shape (P,), or None
        Mean row, where the design was centred.
    constant : float
        Value of the penalised column for the intercept (liblinear), 0 for none.
    """

    design: Design
    X: Any
    centre: Floats | None
    constant: float

    @classmethod
    def of(cls, objective: Objective) -> Rotation:
        free = objective.free_intercept
        design = build_design(objective.X, constant=objective.constant, free_intercept=free)
        centre = None
        if free and design.pivots is not None:
            centre = np.asarray(objective.X.mean(axis=0), dtype=np.float64).ravel()
        return cls(design, objective.X, centre, objective.constant)

    def drowns(self, objective: Objective) -> bool:
        """Whether the penalty is so weak that 1 - leverage is lost in rounding; the honest method then raises it."""
        if self.design.pivots is None:
            return False
        return bool(objective.lam < MIN_PENALTY * (objective.loss.stiffness() @ self._lengths) / self.design.n_rows)

    @cached_property
    def _lengths(self) -> Floats:
        """Squared lengths of the rows."""
        return np.asarray(np.einsum("ij,ij->i", self.design.matrix, self.design.matrix))

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
