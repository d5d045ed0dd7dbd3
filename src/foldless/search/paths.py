"""How candidates are fitted and judged: one by one with scikit-learn, or a whole family of L2 strengths at once."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.analysis import Analysis, analysed
from foldless.checks import Floats
from foldless.computation import Options
from foldless.errors import EstimatorError, InputError, TrustWarning, warn_user
from foldless.findings.naming import Names
from foldless.findings.rows import quick_notes
from foldless.findings.scores import auc_answer, auc_of, rate_notes
from foldless.honest.class_statistic import TrainingRows
from foldless.honest.classes import scores_of_ridge
from foldless.honest.families import describe
from foldless.honest.least_squares import RidgePath
from foldless.honest.leave_one_out import LeaveOneOut, is_sooner_refitted
from foldless.honest.newton import Fit
from foldless.honest.objective import Objective
from foldless.honest.penalties import PenaltyPath, Visit, final_classifier
from foldless.honest.posterior import EffectPrior
from foldless.honest.softmax import strength_of_softmax
from foldless.honest.tuning import AUC, Candidate, tuned
from foldless.model.steps import sklearn_names
from foldless.model.view import take_apart
from foldless.results.accuracy import AccuracyPosterior
from foldless.results.auc import AUCPosterior
from foldless.results.error import DerivedRate, SeparateScales, shares_of
from foldless.search.candidates import Family, Params, shares_in, shares_of_right, shares_of_rows, weakness

Warnings = tuple[tuple[type[Warning], str], ...]


@dataclass(frozen=True, eq=False)
class Study:
    """What all candidates share: the unfitted estimator, the training rows, and how to judge."""

    estimator: Any
    X: Any
    y: Any
    fit_params: Params
    options: Options
    scoring: str = "auc"

    @cached_property
    def several_classes(self) -> bool:
        """Whether there are more than two classes: then no path is shared, and candidates are judged by an average."""
        from sklearn.utils.multiclass import type_of_target

        return bool(type_of_target(self.y) == "multiclass")

    def unfitted(self, params: Params) -> Any:
        """A fresh candidate."""
        from sklearn.base import clone

        # Parameters may be estimators themselves, and must not be shared between candidates.
        return clone(self.estimator).set_params(**clone(params, safe=False))

    def analysed(self, fitted: Any) -> Analysis:
        """A fitted candidate, in closed form wherever there is one: so all values of a penalty are judged alike."""
        options = replace(self.options, sample_weight=self.weight(fitted))
        found = analysed(fitted, self.X, self.y, options)
        if options.method != "auto" or found.only_refits or is_sooner_refitted(found.view):
            return found
        if not self.several_classes:
            known = describe(found.view, options.sample_weight) is not None
        else:
            known = options.groups is None and strength_of_softmax(found.view) is not None
        return found.by("loo") if known else found

    def judged(self, analysis: Analysis) -> tuple[AUCPosterior | AccuracyPosterior, Floats]:
        """The posterior that a candidate is judged by, and the shares of the rows in it."""
        return getattr(analysis, self.scoring), shares_in(analysis, self.scoring)

    def refuse_lost(self, by_refits: bool, weight: Any) -> None:
        """Refuse arguments of fit that refits of a candidate would lack."""
        if by_refits and len(self.fit_params) > (weight is not None):
            raise InputError(
                f"fit arguments other than the classifier's sample_weight do not reach refits, got "
                f"{words.listed(list(self.fit_params))}: leave them out, or use method='loo'."
            )

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
                    f"sample_weight is 0 for every row of class {name!r}: give some rows of each class a positive "
                    f"weight, or leave that class out."
                )
        return weight


@dataclass(frozen=True, eq=False)
class Outcome:
    """One candidate: the posterior that it is judged by and how to get its estimator, or its error."""

    index: int  # position in the grid
    path: str  # "shared" or "general"
    posterior: AUCPosterior | AccuracyPosterior | None = None
    shares: Floats | None = None  # contribution of each row, or group, to the estimate
    estimator: Callable[[], Any] | None = None
    error: Exception | None = None
    warnings: Warnings = ()  # collected rather than given: K candidates would repeat them K times
    candidate: Candidate | None = None  # what its rows were removed from, where the path knows
    analysis: LeaveOneOut | None = None  # where the notes of the posterior are yet to be written ...
    answer: Callable[[LeaveOneOut], AUCPosterior] | None = None  # ... by this function

    def without_rows(self) -> Outcome:
        """The same for another process: no estimator, and nothing that holds the training rows."""
        return replace(self, posterior=self.told(), estimator=None, candidate=None, analysis=None, answer=None)

    def told(self) -> AUCPosterior | AccuracyPosterior | None:
        """The posterior with all of its notes."""
        return self.posterior if self.answer is None or self.analysis is None else self.answer(self.analysis)


def try_candidate(study: Study, index: int, params: Params) -> Outcome:
    """Fit and judge one candidate; whatever goes wrong becomes part of the outcome."""
    candidate = study.unfitted(params)
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            fitted = candidate.fit(study.X, study.y, **study.fit_params)
            analysis = study.analysed(fitted)
            study.refuse_lost(analysis.by_refits, analysis.options.sample_weight)
            posterior, shares = study.judged(analysis)
            for warning in analysis.warnings:
                warn_user(warning)
        except Exception as err:
            return Outcome(index, "general", error=err, warnings=_as_data(caught))
    return Outcome(index, "general", posterior, shares, partial(as_is, fitted), warnings=_as_data(caught))


def as_is(fitted: Any) -> Any:
    """The argument itself: an `Outcome.estimator` that is already there (and, unlike a lambda, can be pickled)."""
    return fitted


def _as_data(messages: list[warnings.WarningMessage]) -> Warnings:
    return tuple((m.category, str(m.message)) for m in messages)


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


# ---- The shared path: one rotation of the data serves every strength of an L2 penalty (`foldless.honest.penalties`).


@dataclass(frozen=True, eq=False)
class Stage:
    """What a family shares: a fitted member (whose own weights do not matter), its path, and how to judge."""

    estimator: Any
    path: PenaltyPath
    options: Options
    scoring: str
    table_notes: tuple[str, ...]
    names: Names

    @classmethod
    def of(cls, study: Study, params: Params, strength: str) -> Stage | None:
        """The stage of a family with the member `params`; None if it has no closed form, or is sooner refitted."""
        estimator = _fitted_briefly(study, params)
        view = take_apart(estimator, study.X, study.y)
        for doubt in view.doubts:
            warn_user(doubt, TrustWarning)
        if study.options.method == "auto" and is_sooner_refitted(view):
            return None
        groups = study.options.groups
        codes = None if groups is None else checks.as_groups(groups, view.labels.positive, fewest=3)
        path = PenaltyPath.of(view, strength.split("__")[-1], study.weight(estimator), codes)
        if path is None:
            return None
        names = Names(study.X, estimator)
        return cls(estimator, path, study.options, study.scoring, quick_notes(view, names, codes), names)

    def outcome(self, index: int, visit: Visit, **others: Any) -> Outcome:
        """A visited strength, judged."""
        prior, view = EffectPrior.checked(self.options.prior), self.path.view
        analysis, labels = LeaveOneOut.from_removed(visit.removed, prior, view.notes), view.labels
        others["candidate"] = Candidate.of_visit(visit)
        if self.scoring == "auc":
            about: dict[str, Any] = {"n0": labels.n0, "n1": labels.n1, "table_notes": self.table_notes}
            auc, answer = auc_of(analysis, **about), partial(auc_answer, names=self.names, **about)
            return Outcome(index, "shared", auc, shares_of_rows(analysis), analysis=analysis, answer=answer, **others)
        error = DerivedRate(SeparateScales(*analysis.class_effects(0.0)), "error", 0.5)
        if self.scoring == "accuracy":
            n = labels.positive.size
            error = replace(error, shares=shares_of(labels.n1 / n, n, self.options.groups))
        about = {"method": analysis.method, "notes": rate_notes(analysis, self.table_notes)}
        posterior = AccuracyPosterior.of_moments(self.scoring.replace("_", " "), 1.0 - error.mean, error.sd, **about)
        shares = shares_of_right((visit.removed.loo > 0) == labels.positive, visit.removed.groups)
        return Outcome(index, "shared", posterior, shares, **others)

    def fitted(self, params: Params, objective: Objective, fit: Fit) -> Any:
        """The scikit-learn estimator of a visited strength; built on request, as only one candidate is chosen."""
        coef, intercept = self.path.rotation.back(objective, fit)
        fitted = copy.deepcopy(self.estimator).set_params(**params)
        final, _ = final_classifier(fitted)
        # Versions of scikit-learn differ in the shapes; those of the fitted member are right.
        final.coef_ = coef.reshape(final.coef_.shape).astype(final.coef_.dtype)
        if final.fit_intercept:
            final.intercept_ = np.full_like(final.intercept_, intercept)[()]
        if final.n_iter_ is not None:
            final.n_iter_ = np.full_like(final.n_iter_, fit.steps)[()]
        return fitted


def _fitted_briefly(study: Study, params: Params) -> Any:
    """A candidate fitted for one iteration: scikit-learn checks the data and sets everything but the coefficients."""
    from sklearn.exceptions import ConvergenceWarning

    estimator = study.unfitted(params)
    final = final_classifier(estimator)[0]
    own = final.get_params(deep=False)
    brief = _brief(own)
    final.set_params(**brief)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(study.X, study.y, **study.fit_params)
    final_classifier(estimator)[0].set_params(**{name: own[name] for name in brief})
    return estimator


def _brief(own: Params) -> Params:
    """Parameters that end an iterative fit at once. With L2, all solvers but liblinear have the objective of lbfgs."""
    if not isinstance(own.get("max_iter"), int) or own["max_iter"] < 1:
        return {}
    l1 = own.get("penalty") in ("l1", "elasticnet") or bool(own.get("l1_ratio"))
    other = own.get("solver") in ("newton-cg", "newton-cholesky", "sag", "saga") and not l1
    return {"max_iter": 1, "solver": "lbfgs"} if other else {"max_iter": 1}


def try_family(study: Study, family: Family, name: str) -> Iterator[Outcome]:
    """Outcomes of a family that differs in the parameter `name`: by the shared path, or one by one where it fails."""
    order = sorted(range(len(family.params)), key=lambda i: weakness(name, family.params[i][name]))
    # The strongest penalty is the easiest to fit.
    stage, error, noted = _stage(study, family.params[order[0]], name)
    values = [float(family.params[i][name]) for i in order]
    visits = iter(()) if stage is None else stage.path.walk(values)
    for i in order:
        index, params = family.indices[i], family.params[i]
        if error is not None:
            yield Outcome(index, "shared", error=error, warnings=noted)
            continue
        visit = next(visits, None)
        if stage is None or visit is None:
            yield try_candidate(study, index, params)
            continue
        fitted = partial(stage.fitted, {name: params[name]}, visit.objective, visit.fit)
        yield stage.outcome(index, visit, estimator=fitted, warnings=noted)


def _stage(study: Study, params: Params, name: str) -> tuple[Stage | None, Exception | None, Warnings]:
    """The stage of a family, or the error that all of its members share; and the warnings."""
    stage, error = None, None
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            stage = Stage.of(study, params, name)
        except EstimatorError:  # such as an L1 penalty that leaves no weight; a weaker one may leave some, so every
            stage = None  # member is tried on its own and reports its own error
        except Exception as err:  # what scikit-learn reports for one member it would report for all
            error = err
    return stage, error, _as_data(caught)


# ---- Ridge classifiers of several classes: one eigendecomposition serves every penalty.


def try_ridges(study: Study, family: Family, name: str) -> Iterator[Outcome]:
    """Outcomes of a family of ridge classifiers of several classes; one by one where there is no shared path."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            first = study.unfitted(family.params[0]).fit(study.X, study.y, **study.fit_params)
            member = study.analysed(first)
            path = None if member.warnings else RidgePath.of(member.view, member.options.sample_weight)
        except Exception:  # every member is tried on its own and reports its own error
            path = None
    for index, params in zip(family.indices, family.params, strict=True):
        if path is None:
            yield try_candidate(study, index, params)
            continue
        known = path.at(float(params[name]))
        fitted = copy.deepcopy(first).set_params(**{name: params[name]})
        final, (weights, intercepts) = final_classifier(fitted)[0], path.weights(known)
        final.coef_, final.intercept_ = weights.astype(final.coef_.dtype), intercepts
        view = replace(member.view, weights=weights, intercepts=intercepts, estimator=final)
        analysis = replace(member, estimator=fitted)
        # What the path knows already is not computed again.
        rows = TrainingRows(scores_of_ridge(known))
        analysis.__dict__.update(view=view, class_rows=rows, table_notes=member.table_notes)
        yield Outcome(index, "shared", *study.judged(analysis), partial(as_is, fitted), warnings=_as_data(caught))


# ---- The whole search.


def posterior_of_search(settings: Any, study: Study | None, outcomes: Sequence[Outcome]) -> AUCPosterior:
    """`FoldlessSearch.posterior_`; AttributeError, with the reason, where there is none."""
    reasons = {
        "call fit first (training rows are not pickled)": study is None,
        "it is for two classes": study is not None and study.several_classes,
        "it is for scoring='auc'": settings.scoring != "auc",
        "it is for rule='best', with refit True or False": settings.rule != "best" or callable(settings.refit),
        "groups are not supported": study is not None and study.options.groups is not None,
        "it needs method='loo'": study is not None and study.options.in_sample,
        "its candidates were refitted; a GridSearchCV with method='refit' is tuned again in every refit": any(
            o.posterior is not None and o.posterior.method == "refit" for o in outcomes
        ),
    }
    why = next((reason for reason, holds in reasons.items() if holds), None)
    if why is not None or study is None:
        raise AttributeError(f"FoldlessSearch has no posterior_: {why}.")
    return _posterior(study, [o for o in outcomes if o.estimator is not None], settings)


def _posterior(study: Study, outcomes: Sequence[Outcome], settings: Any) -> AUCPosterior:
    try:
        candidates = [o.candidate or _candidate(study, o) for o in outcomes]
    except InputError as err:
        raise AttributeError(f"FoldlessSearch has no posterior_: {err}.") from err
    best = next(o for o in outcomes if o.index == settings.best_index_)
    own, answer = best.analysis, best.answer
    if own is None or answer is None:
        a = study.analysed(None if best.estimator is None else best.estimator())
        own, labels = a.leave_one_out, a.two_classes.labels
        answer = partial(auc_answer, n0=labels.n0, n1=labels.n1, table_notes=a.table_notes, names=a.names)
    note = (
        f"the choice among {len(candidates)} candidates is accounted for: it is made again without every pair of rows."
    )
    return answer(tuned(own, candidates, EffectPrior.checked(study.options.prior), AUC, (*own.notes, note)))


def _candidate(study: Study, outcome: Outcome) -> Candidate:
    fitted = None if outcome.estimator is None else outcome.estimator()
    return Candidate.of(take_apart(fitted, study.X, study.y), study.weight(fitted))
