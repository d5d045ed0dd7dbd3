"""Honest scores of several classes as one record, and the classifiers that train one class against the rest."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from foldless.checks import Floats
from foldless.honest.design import Ints, blocks, build_design
from foldless.honest.families import balanced_counts_sample_weights, describe
from foldless.honest.objective import Objective, SameScale
from foldless.honest.optimum import Optimum, nearest_on_path, optimum
from foldless.honest.removal import Problem, column_blocks, pair_shifts, single_shifts
from foldless.honest.stand_ins import determined, surrogate_problem
from foldless.model.steps import sklearn_names
from foldless.model.view import ClassesView, LinearView

# ---- The honest scores of a classifier of several classes.

DECISION = "the class's column of decision_function"
LOG_ODDS = "log odds of the class's column of predict_proba"


@dataclass(frozen=True, eq=False)
class Tensor:
    """Scores of m rows for K classes, under fits that lack them.

    Attributes
    ----------
    alone : ndarray of shape (K, m)
        Score k of row i, without i.
    without : ndarray of shape (K, m, m)
        Score k of row i, without i and j; on the diagonal `alone`.
    """

    alone: Floats
    without: Floats

    @classmethod
    def of(cls, alone: Floats, without: Floats) -> Tensor:
        """The scores, with the diagonal put right."""
        rows = np.arange(alone.shape[1])
        without[:, rows, rows] = alone
        return cls(alone, without)

    def as_log_odds(self) -> Tensor:
        """From decision values to the log odds of their softmax."""
        odds = np.empty_like(self.without)
        for part in blocks(odds.shape[1], odds.shape[0] * odds.shape[2]):
            odds[:, part] = log_odds(self.without[:, part])
        return Tensor.of(log_odds(self.alone), odds)


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What `remove_rows_of_classes` returns.

    Attributes
    ----------
    tensor : Tensor
        Honest scores of the evaluated rows.
    codes : ndarray of int, shape (m,)
        Class of each evaluated row.
    counts : ndarray of int, shape (K,)
        All rows per class; more than the evaluated ones where there are very many.
    score : str
        What a score is, in words.
    method, family, residual, polished, direction_cosine, match, notes
        As in `foldless.honest.scores.Removed`; the worst of the classes.
    """

    tensor: Tensor
    codes: Ints
    counts: Ints
    score: str
    method: str
    family: str
    residual: float
    polished: bool
    direction_cosine: float
    match: float
    notes: tuple[str, ...] = ()


def log_odds(decisions: Floats) -> Floats:
    """log p_k/(1 - p_k) of p = softmax(decisions), along the first axis: ranks rows as p_k does, and does not saturate.

    Examples
    --------
    >>> import numpy as np
    >>> log_odds(np.array([[1.0], [3.0]])).ravel()
    array([-2.,  2.])
    """
    others = ~np.eye(len(decisions), dtype=bool)
    return np.array([z - logsumexp(decisions[rest], axis=0) for z, rest in zip(decisions, others, strict=True)])


# ---- One against the rest: every class has its own linear model of two classes, and rows leave all of them at once.
#
# Ridge classification, the squared hinge and OneVsRestClassifier are of this kind, and so is the surrogate for a
# training method that has no closed form.

# Families whose decision values become probabilities through a softmax: a row is ranked by the odds of its class.
COMPETING = {"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"}
ALIKE = {"RidgeClassifier", "RidgeClassifierCV", "LinearSVC"}


@dataclass(frozen=True, eq=False)
class Targets:
    """One problem per class, and how far its fit was from its optimum, or its surrogate from it."""

    problems: tuple[Problem, ...]
    name: str
    optima: tuple[Optimum, ...] = ()
    matches: tuple[float, ...] = ()


def competes(estimator: Any) -> bool:
    """Whether the classes compete through a softmax."""
    return bool(sklearn_names(estimator) & COMPETING) and not is_one_against_rest(estimator)


def targets_of(view: ClassesView, sample_weight: Floats | None) -> Targets | None:
    """The problems of the classes, or None if the classifier does not consist of K known ones."""
    objectives = [describe(each, weight) for each, weight in _one_by_one(view, sample_weight)]
    known = [o for o in objectives if o is not None and isinstance(o.readout, SameScale)]
    if len(known) != len(view.classes):
        return None
    return _at_optimum(view, known)


def surrogates_of(view: ClassesView, sample_weight: Floats | None) -> Targets:
    """The nearest ridge regression of each class against the rest.

    Classes that compete through a softmax share a part of their weights that no probability can see; only what
    sets a class apart from the average row's class can resemble one against the rest, so that part is taken out.
    """
    if competes(view.estimator):
        share = view.counts / view.codes.size
        weights, intercepts = view.weights - share @ view.weights, view.intercepts - share @ view.intercepts
        view = replace(view, weights=weights, intercepts=intercepts)
    found = [surrogate_problem(view.against_rest(k, None), sample_weight) for k in range(len(view.classes))]
    problems = tuple(p for p, _ in found)
    if competes(view.estimator):
        # Odds compare the classes, so the intercepts of their stand-ins, on scales of their own, must stay still.
        problems = tuple(replace(p, curvature=replace(p.curvature, total=np.inf)) for p in problems)
    return Targets(problems, "surrogate", matches=tuple(match for _, match in found))


def scores_of_targets(problems: Sequence[Problem], rows: Ints) -> Tensor:
    """Decision values of the rows without them, and without every pair of them."""
    alone, without = np.empty((len(problems), rows.size)), np.empty((len(problems), rows.size, rows.size))
    everyone = np.arange(rows.size)
    for k, problem in enumerate(problems):
        model = problem.local_model(rows)
        alone[k] = problem.scores(rows, single_shifts(model))
        for part in column_blocks(rows.size, rows.size):
            without[k][:, part] = problem.scores(rows, pair_shifts(model, everyone, everyone[part])[0])
    return Tensor.of(alone, without)


def is_one_against_rest(estimator: Any) -> bool:
    """True for logistic regression that older versions of scikit-learn fit one class at a time."""
    if not sklearn_names(estimator) & {"LogisticRegression", "LogisticRegressionCV"}:
        return False
    kind = getattr(estimator, "multi_class", "auto")
    return kind == "ovr" or (kind in ("auto", "deprecated", "warn") and estimator.solver == "liblinear")


def _one_by_one(view: ClassesView, sample_weight: Floats | None) -> list[tuple[LinearView, Floats | None]]:
    """Each class against the rest with the classifier that was trained for it, and the weights of its rows."""
    if view.members:
        return [(view.against_rest(k, member), sample_weight) for k, member in enumerate(view.members)]
    est: Any = view.estimator
    if not (sklearn_names(est) & ALIKE or (is_one_against_rest(est) and est.class_weight is None)):
        return [(view.against_rest(k, None), sample_weight) for k in range(len(view.classes))]
    weights = _weights_of_targets(view, sample_weight)
    plain = copy.copy(est)
    plain.class_weight = None
    return [(view.against_rest(k, plain), weight) for k, weight in enumerate(weights)]


def _weights_of_targets(view: ClassesView, sample_weight: Floats | None) -> list[Floats | None]:
    """Row weights of each class's problem: class weights are those of the classes of y, not of "class" and "rest"."""
    est: Any = view.estimator
    if est.class_weight is None:
        return [sample_weight] * len(view.classes)
    hinge = "LinearSVC" in sklearn_names(est)
    by_class = class_weights(view, sample_weight, counted=hinge and balanced_counts_sample_weights())
    s = np.ones(view.codes.size) if sample_weight is None else sample_weight
    if not hinge:
        return [s * by_class[view.codes]] * len(view.classes)
    # liblinear weights the class that is singled out, and leaves the rest at 1.
    return [s * np.where(view.codes == k, by_class[k], 1.0) for k in range(len(view.classes))]


def class_weights(view: ClassesView, sample_weight: Floats | None, *, counted: bool) -> Floats:
    """Weight of each class; "balanced" is rows / (K x rows of the class), in sample weights if `counted`."""
    class_weight = getattr(view.estimator, "class_weight", None)
    if class_weight is None:
        return np.ones(len(view.classes))
    if not isinstance(class_weight, str):
        return np.array([float(class_weight.get(label, 1.0)) for label in view.classes])
    mass = np.bincount(view.codes, weights=sample_weight if counted else None, minlength=len(view.classes))
    return np.asarray(mass.sum() / (mass.size * mass))


def _at_optimum(view: ClassesView, objectives: list[Objective]) -> Targets:
    first = objectives[0]
    design = build_design(view.X, constant=first.constant, free_intercept=first.free_intercept)
    problems, optima = [], []
    for k, objective in enumerate(objectives):
        found = nearest_on_path(objective, design, optimum(objective, design)[1])
        problems.append(determined(view.codes == k, objective, design, found, np.arange(view.codes.size), None))
        optima.append(found)
    return Targets(tuple(problems), first.name, tuple(optima))
