"""How candidates are fitted: one by one as scikit-learn does, or a whole family of L2 strengths at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldless import checks
from foldless.analysis import Options, analysed
from foldless.checks import Floats
from foldless.errors import EstimatorError, InputError, TrustWarning, warn_user
from foldless.findings.quick import quick_notes
from foldless.findings.scores import auc_answer
from foldless.honest.design import Ints
from foldless.honest.families import Objective, describe
from foldless.honest.leave_one_out import LeaveOneOut
from foldless.honest.optimum import Optimum, Point, optimum
from foldless.honest.posterior import EffectPrior
from foldless.honest.removal import MATERIAL, Removed, problem_at
from foldless.honest.scores import (
    MAX_ROWS,
    checked_weight,
    evaluated_rows,
    on_given_scales,
    provenance_at,
    removed_from,
)
from foldless.model.steps import sklearn_names
from foldless.model.view import LinearView, take_apart
from foldless.search.assess import Assessment, assess, shares_of_rows
from foldless.search.candidates import Family, Params, final_classifier, weakness
from foldless.search.newton import Factor, Fit, Rotation, descend
from foldless.search.outcome import Outcome, OwnFit, SharedFit, Tick, as_heard, listening


@dataclass(frozen=True, eq=False)
class Study:
    """What all candidates share: the unfitted estimator, the training rows, and how to judge."""

    estimator: Any
    X: Any
    y: Any
    fit_params: Params
    options: Options

    @cached_property
    def several_classes(self) -> bool:
        """Whether there are more than two classes: then no path is shared, and what is judged is an average AUC."""
        from sklearn.utils.multiclass import type_of_target

        return bool(type_of_target(self.y) == "multiclass")

    def unfitted(self, params: Params) -> Any:
        """A fresh candidate."""
        from sklearn.base import clone

        # Parameters may be estimators themselves, and must not be shared between candidates.
        return clone(self.estimator).set_params(**clone(params, safe=False))

    def weight(self, estimator: Any) -> Floats | None:
        """Sample weights that reach the classifier of a candidate, checked."""
        given = weight_of_classifier(estimator, self.fit_params)
        if given is None:
            return None
        values = checks.label_vector(self.y)
        weight = checks.as_row_weights(given, values.size)
        for name in checks.distinct(values).tolist():
            if not weight[values == name].any():
                raise InputError(
                    f"sample_weight is 0 for every row of class {name!r}, which leaves nothing to learn it from: give "
                    f"some rows of each class a positive weight, or leave that class out."
                )
        return weight


def try_candidate(study: Study, index: int, params: Params) -> Outcome:
    """Fit and judge one candidate; whatever goes wrong becomes part of the outcome."""
    candidate = study.unfitted(params)
    with listening() as caught:
        try:
            fitted = candidate.fit(study.X, study.y, **study.fit_params)
            options = replace(study.options, sample_weight=study.weight(fitted))
            assessment = assess(analysed(fitted, study.X, study.y, options))
            for warning in assessment.warnings:
                warn_user(warning)
        except Exception as err:
            return Outcome(index, "general", error=err, heard=as_heard(caught))
    return Outcome(index, "general", assessment, OwnFit(fitted), heard=as_heard(caught))


def weight_of_classifier(estimator: Any, fit_params: Params) -> Any:
    """The sample weights that reach the classifier at the end of a pipeline, or None."""
    if not fit_params or "Pipeline" not in sklearn_names(estimator):
        return fit_params.get("sample_weight")
    name, last = estimator.steps[-1]
    return weight_of_classifier(last, _params_of_step(estimator, name, fit_params))


def _params_of_step(pipeline: Any, name: str, fit_params: Params) -> Params:
    from sklearn import get_config
    from sklearn.utils.metadata_routing import process_routing

    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(pipeline, "fit", **fit_params)[name]["fit"])
    prefix = f"{name}__"
    return {key.removeprefix(prefix): value for key, value in fit_params.items() if key.startswith(prefix)}


@dataclass(frozen=True, eq=False)
class Prototype:
    """A fitted member of the family, taken apart; its own coefficients are of no interest."""

    estimator: Any
    view: LinearView
    weight: Floats | None
    strength: str
    X: Any  # as the user gave it

    @classmethod
    def of(cls, study: Study, params: Params, strength: str) -> Prototype:
        """Fit a member for one iteration: scikit-learn checks the data and sets all but the coefficients."""
        estimator = _fitted_briefly(study, params)
        weight = study.weight(estimator)
        view = take_apart(estimator, study.X, study.y)
        for doubt in view.doubts:
            warn_user(doubt, TrustWarning)
        return cls(estimator, view, weight, strength, study.X)

    @cached_property
    def template(self) -> Objective | None:
        """What the prototype minimises; None where the honest method does not know, or not on these columns."""
        view = self.view
        # With a single row in a class there is nothing to remove: the general path says so.
        if view.estimator is None or min(view.labels.n0, view.labels.n1) < 2:
            return None
        objective = describe(view, self.weight)
        # Without a penalty the strength has no effect, and the optimum may not exist.
        return objective if objective is not None and objective.lam > 0 else None

    def objective(self, value: float) -> Objective:
        """What the member with this strength minimises: C multiplies the losses, alpha is the penalty itself."""
        template, name = self.template, self.strength.split("__")[-1]
        if template is None:
            raise EstimatorError(f"no closed form is known for {type(self.estimator).__name__} with these parameters.")
        if name == "alpha":
            return replace(template, lam=float(value))
        loss: Any = template.loss
        factor = float(value) / float(self.view.estimator.C)  # type: ignore[union-attr]
        return replace(template, loss=replace(loss, weight=factor * loss.weight))


def _fitted_briefly(study: Study, params: Params) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    estimator = study.unfitted(params)
    own = final_classifier(estimator)[0].get_params(deep=False)
    brief = _brief(own)
    final_classifier(estimator)[0].set_params(**brief)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(study.X, study.y, **study.fit_params)
    final_classifier(estimator)[0].set_params(**{name: own[name] for name in brief})
    return estimator


def _brief(own: Params) -> Params:
    """Parameters that end an iterative fit at once. With L2, all solvers but liblinear minimise the same as lbfgs."""
    if not isinstance(own.get("max_iter"), int) or own["max_iter"] < 1:
        return {}
    l1 = own.get("penalty") in ("l1", "elasticnet") or bool(own.get("l1_ratio"))
    other = own.get("solver") in ("newton-cg", "newton-cholesky", "sag", "saga") and not l1
    return {"max_iter": 1, "solver": "lbfgs"} if other else {"max_iter": 1}


# ---- The shared path: one rotation of the data serves every strength of an L2 penalty.
#
# With A = L Q' (rows to coordinates, see `foldless.honest.design`) all objectives of the family live in the coordinates
# L, N x min(N, P). They are visited from the strongest penalty to the weakest: each starts where the last one ended,
# uses its factorisation, and leaves its own, from which the leave-one-out scores are read.

TRUSTED = 1e-6  # residual above which scikit-learn's own fit is preferred: the arithmetic has reached its end


@dataclass(frozen=True, eq=False)
class Stage:
    """What a family shares: its prototype, the rotation, and the rows on which pairs are compared."""

    prototype: Prototype
    rotation: Rotation
    rows: Ints
    codes: Ints | None
    options: Options
    table_notes: tuple[str, ...]

    @classmethod
    def of(cls, prototype: Prototype, options: Options) -> Stage | None:
        """The stage of a family; None where the honest method does not know what its members minimise."""
        if prototype.template is None:
            return None
        positive = prototype.view.labels.positive
        codes = None if options.groups is None else checks.as_groups(options.groups, positive, fewest=3)
        checked_weight(prototype.weight, positive)
        rows = evaluated_rows(positive, codes, MAX_ROWS)
        table_notes = quick_notes(prototype.view, prototype.X, codes)
        return cls(prototype, Rotation.of(prototype.template), rows, codes, options, table_notes)

    def visit(self, value: float, start: Fit | None, near: Factor | None) -> Visit | None:
        """Fit and judge one strength; None where the descent does not get close enough to the optimum."""
        objective, design = self.prototype.objective(value), self.rotation.design
        start = Fit.origin(design) if start is None else start
        fit = descend(objective, design, start, near or Factor.at(objective, design, start.scores))
        if not fit.residual <= TRUSTED:
            return None
        solution, factor = self.settled(objective, fit)
        if solution.direction_cosine < MATERIAL:
            return None
        view, prior = self.prototype.view, EffectPrior.checked(self.options.prior)
        try:
            removed = self.removed_at(objective, solution)
        except EstimatorError:  # scores that overflow: scikit-learn's own fit may do better, or says so for itself
            return None
        analysis = LeaveOneOut.from_removed(removed, prior, view.notes)
        posterior = auc_answer(analysis, view.labels.n0, view.labels.n1, self.table_notes)
        assessment = Assessment(posterior, shares_of_rows(analysis))
        return Visit(objective, fit, factor, assessment, removed.loo)

    def settled(self, objective: Objective, fit: Fit) -> tuple[Optimum, Factor | None]:
        """Where rows are removed: at the fit, or at what the honest method makes of it when the penalty vanishes."""
        if self.rotation.is_negligible(objective):
            return optimum(self.rotation.turned(objective, fit), self.rotation.design)[1], None
        factor = Factor.at(objective, self.rotation.design, fit.scores)
        return Optimum(Point(fit.coef, fit.scores), factor.curvature, fit.residual, fit.residual, 1.0), factor

    def removed_at(self, objective: Objective, solution: Optimum) -> Removed:
        """Honest scores at the optimum, as `foldless.honest.remove_rows` gives them for a fit of its own."""
        problem = problem_at(self.prototype.view.labels.positive, objective, self.rotation.design, solution)
        provenance = provenance_at(objective.name, solution, on_given_scales(objective))
        return removed_from(problem, self.rows, self.codes, provenance)

    def fitted(self, params: Params, visit: Visit) -> SharedFit:
        """The way to the scikit-learn estimator of a visited strength."""
        return SharedFit(self.prototype.estimator, params, self.rotation, visit.objective, visit.fit)


@dataclass(frozen=True, eq=False)
class Visit:
    """One strength: its objective, its fit, the factorisation and the leave-one-out scores there, and its worth."""

    objective: Objective
    fit: Fit
    factor: Factor | None
    assessment: Assessment
    loo: Floats


def try_family(study: Study, family: Family, name: str, tick: Tick) -> list[Outcome]:
    """Outcomes of a family that differs in the parameter `name`: by the shared path, or one by one where it fails."""
    order = sorted(range(len(family.params)), key=lambda i: weakness(name, family.params[i][name]))
    with listening() as caught:
        try:
            # The strongest penalty is the easiest to fit.
            prototype = Prototype.of(study, family.params[order[0]], name)
            stage = Stage.of(prototype, study.options)
        except EstimatorError:  # an L1 penalty that leaves no weight, for one: a weaker one may leave some
            stage = None
        except Exception as err:  # what scikit-learn says of one member, it would say of all
            shared_warnings = as_heard(caught)
            return [_ticked(Outcome(k, "shared", error=err, heard=shared_warnings), tick) for k in family.indices]
    shared_warnings, outcomes = as_heard(caught), []
    trail: list[tuple[float, Fit]] = []
    near: Factor | None = None
    for i in order:
        value = float(family.params[i][name])
        visit = None if stage is None else stage.visit(value, _ahead(trail, value), near)
        if stage is None or visit is None:
            outcomes.append(try_candidate(study, family.indices[i], family.params[i]))
        else:
            near = visit.factor
            trail.append((value, visit.fit))
            fitted = stage.fitted({name: family.params[i][name]}, visit)
            outcomes.append(Outcome(family.indices[i], "shared", visit.assessment, fitted, heard=shared_warnings))
        tick()
    return outcomes


def _ticked(outcome: Outcome, tick: Tick) -> Outcome:
    tick()
    return outcome


def _ahead(trail: list[tuple[float, Fit]], value: float) -> Fit | None:
    """Where to start: on the line through the last two fits, which move evenly with the logarithm of the strength."""
    if len(trail) < 2:
        return trail[-1][1] if trail else None
    (first, before), (second, last) = trail[-2:]
    step = np.log(second / first)
    return last.beyond(before, float(np.log(value / second) / step)) if step else last
