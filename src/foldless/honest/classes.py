"""From a fit of several classes to honest scores: the first method that covers the classifier, else a stand-in.

linear discriminant analysis      `foldless.honest.discriminant`
multinomial logistic regression   `foldless.honest.softmax`
ridge                             `foldless.honest.least_squares`
one class against the rest        below: the squared hinge, OneVsRestClassifier
anything else                     below: the nearest ridge regression of each class against the rest
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Floats, Ints
from foldless.honest import discriminant, least_squares
from foldless.honest.design import MAX_LEVERAGE, build_design
from foldless.honest.families import (
    balanced_counts_sample_weights,
    class_weights,
    describe,
    is_one_against_rest,
    row_weights,
)
from foldless.honest.leave_one_out import (
    WORTH_SAYING,
    NoClosedForm,
    StoppedEarly,
    checked_weight,
    is_sooner_refitted,
    on_convergence,
    surrogate_provenance,
)
from foldless.honest.objective import Objective
from foldless.honest.optimum import CONVERGED, Optimum, nearest_on_path, optimum
from foldless.honest.pairs import SEED, influential
from foldless.honest.removal import Problem, column_blocks, pair_shifts, pair_slopes, problem_at
from foldless.honest.rows import Provenance
from foldless.honest.softmax import MOST_STEPPED, Removal, affordable_rows, softmax_of
from foldless.honest.stand_ins import determined, surrogate_problem
from foldless.model.steps import innermost, sklearn_names
from foldless.model.view import LinearView

MAX_ENTRIES = 1 << 24  # scores of pairs of rows kept at a time, 128 MB
MOST_REFITTED = 5e8  # entries of X, times classes, of which 20 refits take some minutes
MOST_ROWS, FEWEST_OF_CLASS = 300, 3  # rows whose pairs are evaluated: roughly in all, and the minimum per class
KEPT_APART = (
    "the groups keep the classes apart: some fits would not see all classes, or no model would score rows of two of "
    "them: use finer groups, or none if the rows are independent."
)
USED = "that optimum, or the nearest one with a stronger penalty"
DECISION = "the class's column of decision_function"
LOG_ODDS = "log odds of the class's column of predict_proba"
PROBABILITY = "the class's column of predict_proba"
# Families whose decision values become probabilities through a softmax: a row is ranked by the odds of its class.
COMPETING = {"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"}
# What these predict has the largest decision value, but not always the largest probability.
APART = {"OneVsRestClassifier", "SVC", "NuSVC"}
ALIKE = {"RidgeClassifier", "RidgeClassifierCV", "LinearSVC"}  # trained one class against the rest


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows on which pairs are evaluated, in increasing order, and how many rows of its class each stands for.

    `exposed` and `acting` are the same weights adjusted for exposure to other rows and for impact on them: with these
    weights the drawn rows reproduce the class totals of both, which are known from all rows.
    """

    rows: Ints
    weight: Floats
    exposed: Floats
    acting: Floats


@dataclass(frozen=True, eq=False)
class Tensor:
    """Scores of N rows for K classes under fits without them, and of m rows under fits without pairs."""

    level: Floats  # (K, N) in the sample
    alone: Floats  # (K, N) of row i, without i
    without: Floats  # (K, m, m) of drawn row i, without i and j; `alone` on the diagonal


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What `remove_rows_of_classes` returns: decision values without the row; without pairs of rows on demand."""

    level: Floats  # (K, N) in the sample
    alone: Floats  # (K, N) of each row without it
    added_back: Callable[[], Floats]  # (K, N): what an average row of its class in the place of the row adds to `alone`
    pairs: Callable[[Ints], Floats]  # (K, m, m) of row i without i and j; the diagonal is meaningless
    exposure: Floats  # (N,): effect of other rows on a row
    impact: Floats  # (N,): effect of the row on others
    most: int  # rows that can be evaluated in pairs
    codes: Ints  # class of each row
    score: str  # what a score is, in words
    provenance: Provenance  # that of the worst class
    groups: Ints | None = None  # of rows that were left out together, by refits
    noise_share: float | None = None  # of refits, which show it by how far they agree
    repeats: Floats | None = None  # (K, R, N) of refits, whose mean is `alone`

    @cached_property
    def replaced(self) -> Floats:
        """Decision values (K, N) of each row with an average row of its class in its place: the counts stay."""
        return self.alone + self.added_back()

    @property
    def deciding(self) -> Floats:
        """The decision values (K, R, N) by which rows are classified: one each, or one in every repeat of refits."""
        return self.replaced[:, None] if self.repeats is None else self.repeats

    @cached_property
    def drawn(self) -> Drawn:
        """Rows on which pairs are evaluated; all where there are few."""
        return drawn_rows(self.codes, self.most, self.exposure, self.impact)

    @cached_property
    def tensor(self) -> Tensor:
        """Honest scores, and those of the drawn rows without each pair of them; of a softmax as log odds."""
        drawn = self.drawn.rows
        without, diagonal = self.pairs(drawn), np.arange(drawn.size)
        without[:, diagonal, diagonal] = self.alone[:, drawn]
        decisions = (self.level, self.alone, without)
        return Tensor(*map(log_odds, decisions)) if self.score == LOG_ODDS else Tensor(*decisions)


def log_odds(decisions: Floats) -> Floats:
    """log p_k/(1 - p_k) of p = softmax(decisions), along the first axis: ranks rows as p_k does, and does not saturate.

    Examples
    --------
    >>> import numpy as np
    >>> log_odds(np.array([[1.0], [3.0]])).ravel()
    array([-2.,  2.])
    """
    z = decisions.reshape(len(decisions), -1)
    top = (z.argmax(axis=0), np.arange(z.shape[1]))
    others = z.copy()
    others[top] = -np.inf
    largest, second = z[top], others.max(axis=0)
    # The largest is compared with the others, and each of those with it: nearly equal numbers are never subtracted.
    others = np.exp(others - second)
    rest, gap = others.sum(axis=0), np.exp(second - largest)
    odds = z - largest - np.log1p(gap * (rest - others))
    odds[top] = largest - second - np.log(rest)
    return np.asarray(odds.reshape(decisions.shape))


def remove_rows_of_classes(
    view: LinearView, *, sample_weight: Any = None, max_entries: int = MAX_ENTRIES, stand_in: bool = True
) -> ClassScores:
    """Scores of all rows for all classes, under fits without the row and under fits without each pair of rows.

    `sample_weight` are the weights given to fit. If K x N^2 exceeds `max_entries`, or N exceeds `MOST_ROWS`, only the
    pairs of a fixed random sample are evaluated. Where nothing is known about the training, `NoClosedForm` is raised
    unless a `stand_in` is wanted, or refits would take long; so it is where refits are sooner done, and where an
    optimum would stand in for a fit that stopped short of it.
    """
    checks.sane_size(view.X)
    checks.unequal_scores(view.scores())
    weight = checked_weight(sample_weight, view.codes, 2)
    most = min(MOST_ROWS, int(np.sqrt(max_entries / len(view.classes))))
    if not stand_in and is_sooner_refitted(view):
        raise NoClosedForm(f"rows are sooner left out of this {type(view.estimator).__name__} by refits.")
    softmax = partial(_with_softmax, coefficients=np.inf if stand_in else MOST_STEPPED)
    for way in (_with_discriminant, softmax, _with_least_squares, _with_targets):
        known = way(view, weight, most)
        if known is not None:
            if known.provenance.strain and not stand_in:
                raise StoppedEarly(known.provenance.strain)
            return known
    if not stand_in and len(view.classes) * view.X.size <= MOST_REFITTED:
        raise NoClosedForm(f"the training of {type(view.estimator).__name__} has no closed form.")
    return _with_surrogates(view, weight, most)


def drawn_rows(codes: Ints, most: int, exposure: Floats, impact: Floats) -> Drawn:
    """All rows if there are at most `most`, else a fixed random sample of each class plus the most influential rows."""
    if codes.size <= most:
        ones = np.ones(codes.size)
        return Drawn(np.arange(codes.size), ones, ones, ones)
    rng, counts, certain = np.random.default_rng(SEED), np.bincount(codes), influential(exposure, impact)
    weight = np.zeros(codes.size)
    weight[certain] = 1.0
    for k in range(counts.size):
        others = np.setdiff1d(np.flatnonzero(codes == k), certain)
        chosen = rng.permutation(others)[: max(FEWEST_OF_CLASS, most // counts.size)]
        weight[chosen] = others.size / max(chosen.size, 1)
    rows = np.flatnonzero(weight)
    ratios = (_ratios(codes, weight, strength)[rows] for strength in (exposure, impact))
    return Drawn(rows, weight[rows], *(weight[rows] * ratio for ratio in ratios))


def _ratios(codes: Ints, weight: Floats, strength: Floats) -> Floats:
    """For each row, the sum of strengths over its class relative to its estimate from the drawn rows."""
    whole, drawn = np.bincount(codes, strength), np.bincount(codes, strength * weight)
    return np.asarray(np.divide(whole, drawn, out=np.ones(whole.size), where=drawn > 0)[codes])


def _with_discriminant(view: LinearView, weight: Floats | None, most: int) -> ClassScores | None:
    model = discriminant.discriminant_of(view, weight)
    if model is None:
        return None
    decisions, (alone, leverage) = discriminant.decisions(model), discriminant.scores_alone(model)
    by_scaler = discriminant.of_scaler(model)
    cosine = _agreement(decisions, view.scores())
    residual = float(np.sqrt(max(0.0, 1.0 - cosine**2)))
    provenance = _provenance("linear discriminant analysis", residual, cosine < WORTH_SAYING, cosine)

    def pairs(rows: Ints) -> Floats:
        return discriminant.scores_in_pairs(model, rows) + by_scaler[:, rows, None]

    scores = (decisions.T, alone + by_scaler, partial(discriminant.added_back, model), pairs)
    return ClassScores(*scores, leverage, leverage, most, view.codes, LOG_ODDS, provenance)


def _with_softmax(view: LinearView, weight: Floats | None, most: int, coefficients: float) -> ClassScores | None:
    known = softmax_of(view, weight, coefficients)
    if known is None:
        return None
    problem, best = known
    removal, most = Removal(problem, best), min(most, affordable_rows(problem))
    scores = (best.decisions.T, removal.alone.T, removal.added_back, removal.pairs, removal.exposure, removal.impact)
    fit = (best.residual_before, best.polished, best.direction_cosine)
    provenance = _provenance("multinomial logistic regression", *fit)
    return ClassScores(*scores, most, view.codes, LOG_ODDS, provenance)


def _with_least_squares(view: LinearView, weight: Floats | None, most: int) -> ClassScores | None:
    known = least_squares.ridge_of(view, weight)
    return None if known is None else scores_of_ridge(known, most, known.residual(view.scores()))


def scores_of_ridge(known: least_squares.LeastSquares, most: int = MOST_ROWS, residual: float = 0.0) -> ClassScores:
    """Ridge regressions of all classes, with every row removed."""
    alone, back, exposure, impact = known.removed()
    provenance = _provenance("ridge classifier, one class against the rest", residual, False, 1.0)
    scores = (known.scores.T, alone.T, lambda: back.T, known.pairs)
    return ClassScores(*scores, exposure, impact, most, known.codes, DECISION, provenance)


def _with_targets(view: LinearView, weight: Floats | None, most: int) -> ClassScores | None:
    objectives = [describe(each, w) for each, w in _one_by_one(view, weight)]
    known = [o for o in objectives if o is not None and not o.readout.rescales]
    if len(known) != len(view.classes):
        return None
    problems, optima = _at_optimum(view, known)
    residual, cosine = max(o.residual_before for o in optima), min(o.direction_cosine for o in optima)
    provenance = _provenance(f"{known[0].name}, one class against the rest", residual, residual > CONVERGED, cosine)
    return scores_of_targets(problems, view.codes, weight, most, DECISION, provenance)


def _provenance(family: str, residual: float, polished: bool, cosine: float) -> Provenance:
    """That of a known objective."""
    return Provenance("loo", family, residual, polished, cosine, 1.0, on_convergence(cosine, USED))


def _with_surrogates(view: LinearView, weight: Floats | None, most: int) -> ClassScores:
    problems, matches = _surrogates_of(view, weight)
    worst = int(np.argmin(matches))
    name = "mapped-back weights" if view.estimator is None else f"this {type(view.estimator).__name__}"
    note = (
        f"leaving rows out has no affordable closed form for {name}: for each class against the rest, the nearest "
        f"ridge regression stands in for its training (they agree by {matches[worst]:.2f} or "
        f"more, least for class {view.classes[worst]!r}; 1 is the same direction)."
    )
    provenance = surrogate_provenance(view, matches[worst], note)
    score = LOG_ODDS if competes(view.estimator) else DECISION
    return scores_of_targets(problems, view.codes, weight, most, score, provenance)


def _agreement(a: Floats, b: Floats) -> float:
    """Cosine between two tables of decision values, up to a constant per row and per class."""
    a, b = (z - z.mean(axis=1, keepdims=True) for z in (a, b))
    a, b = (z - z.mean(axis=0) for z in (a, b))
    return float(np.sum(a * b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), np.finfo(float).tiny))


# ---- One against the rest: each class has its own two-class linear model, and rows are removed from all at once.


def scores_of_targets(
    problems: Sequence[Problem], codes: Ints, weight: Floats | None, most: int, score: str, provenance: Provenance
) -> ClassScores:
    """Decision values of each row without it; one problem per class."""
    diagonals, seen, added = zip(*(p.seen(_of_intercept(p)) for p in problems), strict=True)
    slack = [1.0 - np.minimum(G * p.D, MAX_LEVERAGE) for G, p in zip(diagonals, problems, strict=True)]
    exposure = [G / a**2 for G, a in zip(diagonals, slack, strict=True)]
    shifts = [G * p.g / a + m for p, G, a, m in zip(problems, diagonals, slack, added, strict=True)]
    held = np.zeros((len(problems), codes.size))
    for out, p, q, a, shift in zip(held, problems, seen, slack, shifts, strict=True):
        if p.intercept is not None:
            out[:] = p.intercept.held_back(1, q[:, 0] * p.g / a, p.base + shift, p.D)
    alone = np.array([p.base + p.gain * shift for p, shift in zip(problems, shifts + held, strict=True)])
    impact = [each * p.g**2 for each, p in zip(exposure, problems, strict=True)]
    scores = (np.array([p.base for p in problems]), alone, partial(_added_back, problems, slack, held, codes, weight))
    return ClassScores(
        *scores,
        partial(_pairs_of_targets, problems, held),
        _together(exposure),
        _together(impact),
        most,
        codes,
        score,
        provenance,
    )


def _of_intercept(problem: Problem) -> Floats:
    """What `Problem.seen` is asked for: how the rows see the intercept where its penalty is left out."""
    wanted = np.empty((problem.curvature.root.shape[1] + 1, 0))
    return wanted if problem.intercept is None else problem.intercept.seen[:, None]


def _added_back(
    problems: Sequence[Problem], slack: Sequence[Floats], held: Floats, codes: Ints, sample_weight: Floats | None
) -> Floats:
    """See `ClassScores.added_back`. The intercept stays, with its class as large as before: nothing is `held` back."""
    out, weight = np.empty((len(problems), codes.size)), np.ones(codes.size) if sample_weight is None else sample_weight
    for moved, problem, a, back in zip(out, problems, slack, held, strict=True):
        U = (problem.g / a)[:, None]
        for rows in (np.flatnonzero(codes == k) for k in range(len(problems))):
            B = problem.curvature.influence_rows(problem.design, rows)
            moved[rows] = least_squares.pull_of_class(B, problem.D[rows], U[rows], weight[rows])[:, 0]
        moved *= -problem.gain / a
        moved -= problem.gain * back
    return out


def _pairs_of_targets(problems: Sequence[Problem], held: Floats, rows: Ints) -> Floats:
    """Scores (K, m, m) of the rows without each pair of them."""
    out, everyone = np.empty((len(problems), rows.size, rows.size)), np.arange(rows.size)
    for without, problem, back in zip(out, problems, held[:, rows], strict=True):
        model = problem.local_model(rows)
        for part in column_blocks(rows.size, rows.size):
            without[:, part] = problem.scores(rows, pair_shifts(model, everyone, everyone[part])[0])
        corrections = problem.corrections(model, rows)
        if corrections is not None:
            without += problem.gain * corrections.pairs(everyone, everyone, partial(pair_slopes, model))[0]
        without += problem.gain * (back[:, None] + back)
    return out


def _together(strengths: list[Floats]) -> Floats:
    """Strengths of the rows in several problems, each relative to its mean."""
    return np.asarray(np.sum([s / max(float(s.mean()), np.finfo(float).tiny) for s in strengths], axis=0))


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

    Classes that compete through a softmax share a component of their weights that affects no probability. Only the
    deviation from the mean over rows can resemble one class against the rest, so that mean is subtracted.
    """
    competing = competes(view.estimator)
    if competing:
        share = view.counts / view.codes.size
        weights, intercepts = view.weights - share @ view.weights, view.intercepts - share @ view.intercepts
        view = replace(view, weights=weights, intercepts=intercepts)
    pairs = [surrogate_problem(view.against_rest(k, None), sample_weight) for k in range(len(view.classes))]
    problems = [problem for problem, _ in pairs]
    if competing:
        # Odds compare the classes, so the intercepts of their stand-ins, each on its own scale, are held fixed.
        problems = [replace(p, curvature=replace(p.curvature, total=np.inf)) for p in problems]
    return problems, [match for _, match in pairs]


def competes(estimator: Any) -> bool:
    """Whether the classes compete through a softmax."""
    return bool(sklearn_names(estimator) & COMPETING) and not is_one_against_rest(estimator)


def ranked_by(estimator: Any) -> str:
    """What rows are ranked by where a classifier is refitted, in words.

    Columns of ``decision_function`` are compared between rows only where each is a score of its own: boosting and
    others have log likelihoods there, up to a constant for each row.
    """
    final = innermost(estimator)
    if competes(final):
        return LOG_ODDS
    alone = hasattr(final, "coef_") or sklearn_names(final) & APART
    return DECISION if alone or not hasattr(estimator, "predict_proba") else PROBABILITY


def _one_by_one(view: LinearView, sample_weight: Floats | None) -> list[tuple[LinearView, Floats | None]]:
    """Each class against the rest, with the classifier that was trained for it and its row weights."""
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
    # liblinear applies the class weight to the one class and leaves the rest at 1.
    s = np.ones(view.codes.size) if sample_weight is None else sample_weight
    by_class = class_weights(view, est.class_weight, s if balanced_counts_sample_weights() else None)
    return [s * np.where(view.codes == k, by_class[k], 1.0) for k in range(len(view.classes))]
