"""The shared path: one rotation of the data serves every strength of an L2 penalty.

With A = L Q' (rows to coordinates, see `foldless.honest.design`) all objectives of the family live in the coordinates
L, N x min(N, P). They are visited from the strongest penalty to the weakest: each starts where the last one ended,
uses its factorisation, and leaves its own, from which the leave-one-out scores are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldless import _check
from foldless._check import Floats
from foldless.errors import EstimatorError
from foldless.findings.quick import quick_notes
from foldless.honest import MAX_ROWS, Objective, Removed
from foldless.honest.analysis import Analysis
from foldless.honest.design import Ints
from foldless.honest.notes import MATERIAL
from foldless.honest.polish import Optimum, Point, optimum
from foldless.honest.posterior import EffectPrior
from foldless.honest.problem import problem_at
from foldless.honest.remove import checked_weight, removed_at
from foldless.honest.sampling import evaluated_rows
from foldless.search.assess import Assessment, Judge, from_analysis
from foldless.search.candidates import Family, Params, weakness
from foldless.search.factor import Factor
from foldless.search.general import Study, try_candidate
from foldless.search.newton import Fit, descend
from foldless.search.outcome import Outcome, SharedFit, Tick, as_heard, listening
from foldless.search.prototype import Prototype
from foldless.search.rotation import Rotation

TRUSTED = 1e-6  # residual above which scikit-learn's own fit is preferred: the arithmetic has reached its end


@dataclass(frozen=True, eq=False)
class Stage:
    """What a family shares: its prototype, the rotation, and the rows on which pairs are compared."""

    prototype: Prototype
    rotation: Rotation
    rows: Ints
    codes: Ints | None
    judge: Judge
    table_notes: tuple[str, ...]

    @classmethod
    def of(cls, prototype: Prototype, judge: Judge) -> Stage | None:
        """The stage of a family; None where the honest method does not know what its members minimise."""
        if prototype.template is None:
            return None
        positive = prototype.view.labels.positive
        codes = None if judge.groups is None else _check.as_groups(judge.groups, positive, fewest=3)
        checked_weight(prototype.weight, positive)
        rows = evaluated_rows(positive, codes, MAX_ROWS)
        table_notes = quick_notes(prototype.view, prototype.X, codes)
        return cls(prototype, Rotation.of(prototype.template), rows, codes, judge, table_notes)

    def visit(self, value: float, start: Fit | None, near: Factor | None) -> Visit | None:
        """Fit and judge one strength; None where the descent does not get close enough to the optimum."""
        objective, design = self.prototype.objective(value), self.rotation.design
        start = Fit.origin(design) if start is None else start
        fit = descend(objective, design, start, near or Factor.at(objective, design, start.scores))
        if not fit.residual <= TRUSTED:
            return None
        found, factor = self.settled(objective, fit)
        if found.direction_cosine < MATERIAL:
            return None
        view, prior = self.prototype.view, self.judge.prior or EffectPrior.default()
        try:
            removed = self.removed_at(objective, found)
        except EstimatorError:  # scores that overflow: scikit-learn's own fit may do better, or says so for itself
            return None
        analysis = Analysis.from_removed(removed, prior, view.notes)
        assessment = from_analysis(analysis, view.labels.n0, view.labels.n1, self.table_notes)
        return Visit(objective, fit, factor, assessment, removed.loo)

    def settled(self, objective: Objective, fit: Fit) -> tuple[Optimum, Factor | None]:
        """Where rows are removed: at the fit, or at what the honest method makes of it when the penalty vanishes."""
        if self.rotation.drowns(objective):
            return optimum(self.rotation.turned(objective, fit), self.rotation.design)[1], None
        factor = Factor.at(objective, self.rotation.design, fit.scores)
        return Optimum(Point(fit.coef, fit.scores), factor.curvature, fit.residual, fit.residual, 1.0), factor

    def removed_at(self, objective: Objective, found: Optimum) -> Removed:
        """Honest scores at the optimum, as `foldless.honest.remove_rows` gives them for a fit of its own."""
        problem = problem_at(self.prototype.view.labels.positive, objective, self.rotation.design, found)
        return removed_at(problem, objective, found, self.rows, self.codes)

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
    with listening() as heard:
        try:
            # The strongest penalty is the easiest to fit.
            prototype = Prototype.of(study, family.params[order[0]], name)
            stage = Stage.of(prototype, study.judge)
        except EstimatorError:  # an L1 penalty that leaves no weight, for one: a weaker one may leave some
            stage = None
        except Exception as err:  # what scikit-learn says of one member, it would say of all
            said = as_heard(heard)
            return [_ticked(Outcome(k, "shared", error=err, heard=said), tick) for k in family.indices]
    said, outcomes = as_heard(heard), []
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
            outcomes.append(Outcome(family.indices[i], "shared", visit.assessment, fitted, heard=said))
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
