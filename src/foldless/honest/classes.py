"""From a fit of several classes to honest scores: the first way that knows the classifier, else a stand-in.

linear discriminant analysis      `foldless.honest.discriminant`
multinomial logistic regression   `foldless.honest.softmax`
one class against the rest        below: ridge, the squared hinge, OneVsRestClassifier
anything else                     below: the nearest ridge regression of each class against the rest
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from foldless import checks
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.honest import discriminant
from foldless.honest.design import Ints, blocks, build_design
from foldless.honest.families import (
    Objective,
    balanced_counts_sample_weights,
    class_weights,
    describe,
    is_one_against_rest,
    row_weights,
)
from foldless.honest.optimum import CONVERGED, Optimum, nearest_on_path, optimum
from foldless.honest.pairs import SEED
from foldless.honest.removal import (
    Problem,
    Provenance,
    column_blocks,
    pair_shifts,
    pair_slopes,
    problem_at,
    single_shifts,
)
from foldless.honest.scaling import Corrections
from foldless.honest.scores import (
    WORTH_SAYING,
    on_convergence,
    surrogate_provenance,
)
from foldless.honest.softmax import affordable_rows, scores_of_softmax, softmax_of
from foldless.honest.stand_ins import determined, surrogate_problem
from foldless.model.steps import sklearn_names
from foldless.model.view import LinearView

MAX_ENTRIES = 1 << 24  # scores of pairs of rows kept at a time, 128 MB
NO_GROUPS = (
    "groups are supported for two classes only: fit and pass one class against the rest, y == label, or leave groups "
    "out if the rows are independent."
)
USED = "that optimum, or the nearest one with a stronger penalty"
DECISION = "the class's column of decision_function"
LOG_ODDS = "log odds of the class's column of predict_proba"
# Families whose decision values become probabilities through a softmax: a row is ranked by the odds of its class.
COMPETING = {"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"}
ALIKE = {"RidgeClassifier", "RidgeClassifierCV", "LinearSVC"}  # trained one class against the rest


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
        """The scores, with the diagonal filled in."""
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
    provenance : Provenance
        That of the worst class.
    """

    tensor: Tensor
    codes: Ints
    counts: Ints
    score: str
    provenance: Provenance


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


def remove_rows_of_classes(
    view: LinearView, *, sample_weight: Any = None, groups: Any = None, max_entries: int = MAX_ENTRIES
) -> ClassScores:
    """Scores of all rows for all classes under fits that lack the row, and that lack any pair of rows.

    Parameters
    ----------
    view : LinearView
        A classifier of more than two classes.
    sample_weight : array of shape (N,), optional
        Weights given to fit.
    groups : None
        Refused: dependent rows are handled for two classes only.
    max_entries : int
        Where K x N^2 exceeds it, a fixed random subset of rows is evaluated.
    """
    if groups is not None:
        raise InputError(NO_GROUPS)
    checks.sane_size(view.X)
    checks.unequal_scores(view.scores())
    weight = _checked_weight(sample_weight, view)
    most = int(np.sqrt(max_entries / len(view.classes)))
    for way in (_with_discriminant, _with_softmax, _with_targets):
        known = way(view, weight, most)
        if known is not None:
            return known
    return _with_surrogates(view, weight, most)


def on_subset(evaluated: int, rows: int) -> tuple[str, ...]:
    """That not all pairs of rows were evaluated."""
    if evaluated == rows:
        return ()
    return (
        f"pairs were evaluated on {evaluated} of {rows} rows, drawn at random: "
        f"the interval is as wide as that many rows make it.",
    )


def evaluated_rows(codes: Ints, most: int) -> Ints:
    """All rows if there are at most `most`, else a fixed random subset with a fair share of every class."""
    if codes.size <= most:
        return np.arange(codes.size)
    rng, counts = np.random.default_rng(SEED), np.bincount(codes)
    wanted = np.minimum(counts, max(3, most // counts.size))
    chosen = [rng.permutation(np.flatnonzero(codes == k))[: wanted[k]] for k in range(counts.size)]
    return np.sort(np.concatenate(chosen))


def _checked_weight(sample_weight: Any, view: LinearView) -> Floats | None:
    if sample_weight is None:
        return None
    weight = checks.as_row_weights(sample_weight, view.codes.size)
    if np.bincount(view.codes[weight > 0], minlength=len(view.classes)).min() < 3:
        raise InputError(
            "each class needs at least 3 rows with a sample_weight above 0, since two at a time are left out."
        )
    return weight


def _with_discriminant(view: LinearView, weight: Floats | None, most: int) -> ClassScores | None:
    model = discriminant.discriminant_of(view, weight)
    if model is None:
        return None
    rows = evaluated_rows(view.codes, most)
    tensor = Tensor.of(*discriminant.scores_of_discriminant(model, rows))
    cosine = _agreement(discriminant.decisions(model), view.scores())
    residual = float(np.sqrt(max(0.0, 1.0 - cosine**2)))
    fit = (residual, cosine < WORTH_SAYING, cosine)
    return _scores(view, rows, tensor.as_log_odds(), LOG_ODDS, "linear discriminant analysis", fit)


def _with_softmax(view: LinearView, weight: Floats | None, most: int) -> ClassScores | None:
    known = softmax_of(view, weight)
    if known is None:
        return None
    problem, best = known
    rows = evaluated_rows(view.codes, min(most, affordable_rows(problem)))
    tensor = Tensor.of(*scores_of_softmax(problem, best, rows))
    fit = (best.residual_before, best.polished, best.direction_cosine)
    return _scores(view, rows, tensor.as_log_odds(), LOG_ODDS, "multinomial logistic regression", fit)


def _with_targets(view: LinearView, weight: Floats | None, most: int) -> ClassScores | None:
    objectives = [describe(each, w) for each, w in _one_by_one(view, weight)]
    known = [o for o in objectives if o is not None and not o.readout.rescales]
    if len(known) != len(view.classes):
        return None
    problems, optima = _at_optimum(view, known)
    rows = evaluated_rows(view.codes, most)
    residual = max(o.residual_before for o in optima)
    fit = (residual, residual > CONVERGED, min(o.direction_cosine for o in optima))
    family = f"{known[0].name}, one class against the rest"
    return _scores(view, rows, scores_of_targets(problems, rows), DECISION, family, fit)


def _scores(
    view: LinearView, rows: Ints, tensor: Tensor, score: str, family: str, fit: tuple[float, bool, float]
) -> ClassScores:
    """Scores of a known objective; `fit` is its residual, whether it was polished, and the direction cosine."""
    residual, polished, cosine = fit
    notes = on_convergence(residual, cosine, USED) + on_subset(rows.size, view.codes.size)
    provenance = Provenance("loo", family, residual, polished, cosine, 1.0, notes)
    return ClassScores(tensor, view.codes[rows], view.counts, score, provenance)


def _with_surrogates(view: LinearView, weight: Floats | None, most: int) -> ClassScores:
    problems, matches = _surrogates_of(view, weight)
    rows, worst = evaluated_rows(view.codes, most), int(np.argmin(matches))
    tensor, competing = scores_of_targets(problems, rows), _competes(view.estimator)
    name = "mapped-back weights" if view.estimator is None else f"this {type(view.estimator).__name__}"
    note = (
        f"leaving rows out has no affordable closed form for {name}: for each class against the rest, the nearest "
        f"ridge regression stands in for its training (worst match {matches[worst]:.2f}, class "
        f"{view.classes[worst]!r})."
    )
    provenance = surrogate_provenance(view, matches[worst], note)
    provenance = replace(provenance, notes=provenance.notes + on_subset(rows.size, view.codes.size))
    tensor, score = (tensor.as_log_odds(), LOG_ODDS) if competing else (tensor, DECISION)
    return ClassScores(tensor, view.codes[rows], view.counts, score, provenance)


def _agreement(a: Floats, b: Floats) -> float:
    """Cosine between two tables of decision values, up to a constant per row and per class."""
    a, b = (z - z.mean(axis=1, keepdims=True) for z in (a, b))
    a, b = (z - z.mean(axis=0) for z in (a, b))
    return float(np.sum(a * b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), np.finfo(float).tiny))


# ---- One against the rest: every class has its own linear model of two classes, and rows leave all of them at once.


def scores_of_targets(problems: Sequence[Problem], rows: Ints) -> Tensor:
    """Decision values of the rows without them, and without every pair of them; one problem per class."""
    alone, without = np.empty((len(problems), rows.size)), np.empty((len(problems), rows.size, rows.size))
    everyone = np.arange(rows.size)
    for k, problem in enumerate(problems):
        model = problem.local_model(rows)
        alone[k] = problem.scores(rows, single_shifts(model))
        for part in column_blocks(rows.size, rows.size):
            without[k][:, part] = problem.scores(rows, pair_shifts(model, everyone, everyone[part])[0])
        if problem.rescaling is not None:
            corrections, slopes = Corrections(problem.rescaling, model, rows), pair_slopes(model, everyone, everyone)
            alone[k] += problem.gain * corrections.single()
            without[k] += problem.gain * corrections.pairs(everyone, everyone, *slopes)[0]
    return Tensor.of(alone, without)


def _at_optimum(view: LinearView, objectives: list[Objective]) -> tuple[list[Problem], list[Optimum]]:
    first, rows = objectives[0], np.arange(view.codes.size)
    design = build_design(view.X, constant=first.constant, free_intercept=first.free_intercept)
    problems, optima = [], []
    for k, objective in enumerate(objectives):
        best = nearest_on_path(objective, design, optimum(objective, design)[1])
        problem = problem_at(view.codes == k, objective, design, best)
        problems.append(determined(problem, objective, best, rows, None) if objective.lam == 0 else problem)
        optima.append(best)
    return problems, optima


def _surrogates_of(view: LinearView, sample_weight: Floats | None) -> tuple[list[Problem], list[float]]:
    """The nearest ridge regression of each class against the rest, and its match with the weights of the class.

    Classes that compete through a softmax share a part of their weights that no probability can see; only what
    sets a class apart from the average row's class can resemble one against the rest, so that part is taken out.
    """
    competing = _competes(view.estimator)
    if competing:
        share = view.counts / view.codes.size
        weights, intercepts = view.weights - share @ view.weights, view.intercepts - share @ view.intercepts
        view = replace(view, weights=weights, intercepts=intercepts)
    pairs = [surrogate_problem(view.against_rest(k, None), sample_weight) for k in range(len(view.classes))]
    problems = [problem for problem, _ in pairs]
    if competing:
        # Odds compare the classes, so the intercepts of their stand-ins, on scales of their own, must stay still.
        problems = [replace(p, curvature=replace(p.curvature, total=np.inf)) for p in problems]
    return problems, [match for _, match in pairs]


def _competes(estimator: Any) -> bool:
    """Whether the classes compete through a softmax."""
    return bool(sklearn_names(estimator) & COMPETING) and not is_one_against_rest(estimator)


def _one_by_one(view: LinearView, sample_weight: Floats | None) -> list[tuple[LinearView, Floats | None]]:
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


def _weights_of_targets(view: LinearView, sample_weight: Floats | None) -> list[Floats | None]:
    """Row weights of each class's problem: class weights are those of the classes of y, not of "class" and "rest"."""
    est: Any = view.estimator
    if est.class_weight is None:
        return [sample_weight] * len(view.classes)
    if "LinearSVC" not in sklearn_names(est):
        return [row_weights(view, est.class_weight, sample_weight)] * len(view.classes)
    # liblinear weights the class that is singled out, and leaves the rest at 1.
    s = np.ones(view.codes.size) if sample_weight is None else sample_weight
    by_class = class_weights(view, est.class_weight, s if balanced_counts_sample_weights() else None)
    return [s * np.where(view.codes == k, by_class[k], 1.0) for k in range(len(view.classes))]
