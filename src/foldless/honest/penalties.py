"""One rotation of the data serves every strength of an L2 penalty, solved one after the other.

With A = L Q' (rows to coordinates, see `foldless.honest.design`) all objectives live in the coordinates L. They are
visited from the strongest penalty to the weakest: each starts where the last one ended, uses its factorisation, and
leaves its own, from which the leave-one-out scores are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.checks import Floats, Ints
from foldless.errors import EstimatorError
from foldless.honest.design import Design, build_design
from foldless.honest.families import describe, known_class, with_balance
from foldless.honest.least_squares import Spectrum
from foldless.honest.leave_one_out import checked_weight, evaluated_rows, on_given_scales, provenance_at, removed_from
from foldless.honest.newton import Factor, Fit, Point, approach
from foldless.honest.objective import Objective, SquaredLoss
from foldless.honest.optimum import TRUSTED, Optimum, optimum, tempered, tolerance_of
from foldless.honest.removal import LocalModel, Problem, problem_at
from foldless.honest.rows import MATERIAL, Removed
from foldless.model.steps import sklearn_names
from foldless.model.view import LinearView

# Classifiers with a plain L2 penalty, and the name of its strength.
L2_CLASSIFIERS = {"LogisticRegression": "C", "LinearSVC": "C", "RidgeClassifier": "alpha"}


def final_classifier(estimator: Any) -> tuple[Any, str]:
    """Last step of nested pipelines and the prefix of its parameters; the estimator itself and '' otherwise."""
    prefix = ""
    while "Pipeline" in sklearn_names(estimator):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return estimator, prefix


def l2_strength(estimator: Any) -> str | None:
    """Full name of the L2 strength of a classifier or pipeline; None for other classifiers."""
    final, prefix = final_classifier(estimator)
    # LogisticRegressionCV inherits from LogisticRegression but has a `fit` of its own.
    own = known_class(final, L2_CLASSIFIERS)
    return None if own is None else prefix + L2_CLASSIFIERS[own]


def is_strength(value: Any) -> bool:
    """A positive, finite number."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and 0 < value < np.inf


KEPT = 1 << 24  # entries of X up to which what a scaler needs of its rows is kept: up to 400 MB


def by_spectrum(objective: Objective, spectrum: Spectrum) -> tuple[Fit, Optimum]:
    """A ridge classifier: its fit in the coordinates of the design, and its optimum in those of the spectrum."""
    curvature, loss = spectrum.curvature(objective), objective.loss
    turned = curvature.root**2 * spectrum.design.back(loss.weight * loss.target, None)
    level = 0.0 if spectrum.centre is None else float(np.average(loss.target, weights=loss.weight))
    scores, coef = spectrum.design.scores(turned) + level, spectrum.vectors @ turned
    intercept = level if spectrum.centre is None else level - float(spectrum.centre @ coef)
    return Fit(coef, intercept, scores, 0.0), Optimum(Point(turned, scores), curvature, 0.0, 1.0)


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
        centred = free and design.pivots is not None
        centre = np.asarray(objective.X.mean(axis=0), dtype=np.float64).ravel() if centred else None
        # With a scaler, or with class weights that change as rows leave, Hessians have no eigenvectors in common.
        quadratic = isinstance(objective.loss, SquaredLoss) and not objective.scaled and objective.balance is None
        spectrum = Spectrum.of(objective, design) if quadratic else None
        return cls(design, objective.X, centre, objective.constant, spectrum)

    def turned(self, objective: Objective, fit: Fit) -> Objective:
        """The same objective in the coordinates of the design, with `fit` as its fitted point."""
        turned = {"X": self.design.matrix, "weights": fit.coef, "intercept": fit.intercept, "scores": None}
        return replace(objective, **turned, constant=0.0)

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


@dataclass(frozen=True, eq=False)
class Visit:
    """One strength: its objective, fit and factorisation; the problem that rows are removed from, and their scores."""

    objective: Objective
    fit: Fit
    factor: Factor | None
    problem: Problem
    removed: Removed


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """The objective of a fitted member (whose own weights do not matter), the rotation, and the rows to compare."""

    view: LinearView
    template: Objective  # of that member
    strength: str  # "C" multiplies the losses, "alpha" is the penalty itself
    rotation: Rotation
    rows: Ints
    codes: Ints | None

    @classmethod
    def of(cls, view: LinearView, strength: str, weight: Floats | None, codes: Ints | None) -> PenaltyPath | None:
        """The path through the fit of a view; None if the honest method does not know its objective."""
        # With a single row in a class there is nothing to remove; whoever does it without a path reports that.
        if view.estimator is None or min(view.labels.n0, view.labels.n1) < 2:
            return None
        template = describe(view, weight)
        # Without a penalty the strength has no effect, and the optimum may not exist.
        if template is None or template.lam <= 0:
            return None
        checked_weight(weight, view.labels.positive)
        rows = evaluated_rows(view.labels.positive, codes, view.X.shape[1])
        if codes is None:
            template = with_balance(template, view, weight)
        return cls(view, template, strength, Rotation.of(template), rows, codes)

    def objective(self, value: float) -> Objective:
        """What the member with this strength minimises."""
        if self.strength == "alpha":
            return replace(self.template, lam=float(value))
        loss, own = self.template.loss, self.view.estimator
        factor = float(value) / float(np.ravel(own.C_ if hasattr(own, "C_") else own.C)[0])  # type: ignore[union-attr]
        return replace(self.template, loss=replace(loss, weight=factor * loss.weight))

    def walk(self, values: Iterable[float]) -> Iterator[Visit | None]:
        """Visits of all strengths, best given from the strongest penalty to the weakest; None as in `visit`."""
        trail: list[tuple[float, Fit]] = []
        near: Factor | None = None
        for value in values:
            visit = self.visit(value, None if self.rotation.spectrum else _ahead(trail, value), near)
            if visit is not None:
                near = visit.factor
                trail.append((value, visit.fit))
            yield visit

    @np.errstate(over="ignore", invalid="ignore")
    def visit(self, value: float, start: Fit | None = None, near: Factor | None = None) -> Visit | None:
        """Fit one strength and remove rows; None where the descent does not get close enough to the optimum."""
        objective, design, spectrum = self.objective(value), self.rotation.design, self.rotation.spectrum
        if spectrum is not None and tempered(objective, design).lam == objective.lam:
            (fit, solution), design, factor = by_spectrum(objective, spectrum), spectrum.design, None
        else:
            start = Fit.origin(design) if start is None else start
            near = near or Factor.at(objective, design, start.scores)
            fit = approach(objective, design, start, near, tolerance_of(design))
            if not fit.residual <= TRUSTED:
                return None
            solution, factor = self._settled(objective, fit)
        if solution.direction_cosine < MATERIAL:
            return None
        try:
            problem = problem_at(self.view.labels.positive, objective, design, solution)
            if factor is not None and factor.B is not None and problem.curvature is factor.curvature:
                problem.__dict__["whole"] = LocalModel(problem.g, problem.D, factor.B)  # known already
            provenance = provenance_at(objective.name, solution, on_given_scales(objective))
            removed = removed_from(problem, self.rows, self.codes, provenance)
        except EstimatorError:  # scores overflow: scikit-learn's own fit may do better, or fails with its own message
            return None
        return Visit(objective, fit, factor, problem, removed)

    def _settled(self, objective: Objective, fit: Fit) -> tuple[Optimum, Factor | None]:
        """Where rows are removed: at the fit, or where the honest method goes if the penalty is negligible."""
        design = self.rotation.design
        if tempered(objective, design).lam > objective.lam:
            return optimum(self.rotation.turned(objective, fit), design)[1], None
        factor = Factor.at(objective, design, fit.scores)
        return Optimum(Point(fit.coef, fit.scores), factor.curvature, fit.residual, 1.0), factor


def _ahead(trail: list[tuple[float, Fit]], value: float) -> Fit | None:
    """Where to start: on the curve through the last three fits, as they move with the logarithm of the strength."""
    at, x = {float(np.log(known)): fit for known, fit in trail[-3:]}, float(np.log(value))
    shares = np.array([np.prod([(x - b) / (a - b) for b in at if b != a]) for a in at])
    parts = zip(*((fit.coef, fit.intercept, fit.scores) for fit in at.values()), strict=True)
    return Fit(*(shares @ np.array(part) for part in parts)) if at else None
