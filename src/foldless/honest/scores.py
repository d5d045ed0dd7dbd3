"""From a view to honest scores: the objective, its optimum, and every row and pair removed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from foldless import checks
from foldless.checks import Floats
from foldless.errors import EstimatorError, InputError
from foldless.honest.design import Bools, Ints
from foldless.honest.families import describe
from foldless.honest.groups import by_group
from foldless.honest.objective import Objective
from foldless.honest.optimum import Optimum, nearest_on_path, optimum
from foldless.honest.removal import Problem, by_row
from foldless.honest.stand_ins import determined, surrogate_problem
from foldless.honest.streamed import refuse_surrogate, refuse_unless_tall, streamed_design
from foldless.tables.matrix import LazyMatrix

if TYPE_CHECKING:
    from foldless.model.view import LinearView


# ---- The honest scores of a classifier: what `remove_rows` returns.

ROUNDING = 1e-10  # differences of scores below this part of the largest one are ties


@dataclass(frozen=True, eq=False)
class Removed:
    """Scores of training rows under fits that lack them, on the scale of decision_function.

    Positive rows score higher. "Without" a row means without its whole group where groups were given.

    Attributes
    ----------
    rows1, rows0 : ndarray of int, shapes (n1,) and (n0,)
        Positive and negative rows on which pairs were evaluated; all rows unless there are very many.
    z : ndarray of shape (N,)
        In-sample scores at the optimum.
    loo : ndarray of shape (N,)
        Score of each row without it.
    without_pair1 : ndarray of shape (n1, n0)
        Score of positive row i without i and j.
    without_pair0 : ndarray of shape (n1, n0)
        Score of negative row j without i and j, from the same fit.
    drift : float
        How far removal moves the scores of the rows that stay, on average: the part of an honest score that is a
        change of the intercept and not of the row's own rank. Differences of scores are free of it.
    influence_sq : float
        (1/N) sum_k n_k/(n_k - 1) sum_{i in k, j != i} I_ij^2, where I_ij = z_i(-ij) - z_i(-i) is what row (or
        group) j does to the honest score of i, centred per class and column; estimated from the evaluated rows.
        Divided by the pooled within-class variance of the scores it is the share of training noise.
    cluster_influence_sq : float
        sum over ordered pairs of different groups a, h of (sum_{i in a} +-I_ih / n_k)^2, centred likewise: the part of
        the clustered variance of the difference of class means that is training noise. Without groups every row is
        its own.
    groups : ndarray of int, shape (N,), or None
        Group of each row, as codes 0, 1, ...
    method : str
        "loo" or "loo-surrogate".
    family : str
        The classifier, in words.
    residual : float
        Optimality residual of the user's fit; nan for a surrogate.
    polished : bool
        Whether Newton steps were taken from the user's fit.
    direction_cosine : float
        Agreement of the user's direction with the polished one; 1 if not polished.
    match : float
        Agreement of the user's direction with the surrogate's; 1 where the objective is known.
    notes : tuple of str
        What a reader of the result has to know.
    """

    rows1: Ints
    rows0: Ints
    z: Floats
    loo: Floats
    without_pair1: Floats
    without_pair0: Floats
    drift: float
    influence_sq: float
    cluster_influence_sq: float
    groups: Ints | None
    method: str
    family: str
    residual: float
    polished: bool
    direction_cosine: float
    match: float
    notes: tuple[str, ...] = ()

    @cached_property
    def differences(self) -> Floats:
        """(n1, n0): positive minus negative score, both without the pair; 0 where only rounding tells them apart.

        Rows with equal columns tie, whichever way their scores were computed.
        """
        diff = self.without_pair1 - self.without_pair0
        size = np.abs(diff)
        diff[size <= ROUNDING * size.max()] = 0.0
        return np.asarray(diff)


# ---- What the user must know about honest scores: a fit that was not at its optimum, a stand-in, a subset of rows.

WORTH_SAYING = 0.9999  # cosines above this leave every figure where it was
MATERIAL = 0.99  # below, the figures are not those of the user's weights
FEW_ROWS = 10  # of a class, below which its spread is a guess
POOR_MATCH = 0.5  # below, the stand-in is far from the training it stands for


def strain(notes: tuple[str, ...], cosine: float) -> str | None:
    """The note that deserves a warning: the figures are those of another classifier than the user's."""
    return notes[0] if cosine < MATERIAL else None


def on_convergence(residual: float, cosine: float, used: str) -> tuple[str, ...]:
    """Whether the weights are at the optimum of their objective; `used` names the optimum that was taken instead."""
    if cosine >= WORTH_SAYING:
        return ()
    fact = f"the weights are not at the optimum of their training objective (residual {residual:.2g})"
    if cosine >= MATERIAL:
        return (f"{fact}; {used}, which points the same way, was used instead.",)
    return (
        f"{fact}: the figures are those of {used}, not of your weights, which point elsewhere (cosine {cosine:.2f}). "
        f"Either X, y or sample_weight are not those given to fit, or the fit stopped early: "
        f"then use a smaller tol and a larger max_iter, or a stronger penalty.",
    )


def on_surrogate(stand_in: str, match: float) -> str:
    """That a stand-in was used, and how far it is from the user's weights."""
    if match >= POOR_MATCH:
        return stand_in
    return f"{stand_in} That is far from it: the answer is right if the weights owe little to these labels."


def on_subset(evaluated: int, rows: int) -> tuple[str, ...]:
    """That not all pairs of rows were evaluated."""
    if evaluated == rows:
        return ()
    return (
        f"pairs were evaluated on {evaluated} of {rows} rows, drawn at random: "
        f"the interval is as wide as that many rows make it.",
    )


def on_few_rows(fewest: int, what: str = "rows", which: str = "smaller") -> tuple[str, ...]:
    """That a class has so few independent rows, or groups, that the interval is a guess."""
    if fewest >= FEW_ROWS:
        return ()
    return (f"the {which} class has {fewest} {what}: the spread of its scores is a guess, and so is the interval.",)


# ---- Which rows to evaluate pairs on: all of them, or a fixed random subset where there are very many.

SEED = 20240229  # fixed: the same data give the same answer


def evaluated_rows(positive: Bools, codes: Ints | None, max_rows: int) -> Ints:
    """Rows in increasing order: all of them up to `max_rows`, else about a quarter of that many per class.

    Groups are drawn whole.
    """
    if positive.size <= max_rows:
        return np.arange(positive.size)
    rng, wanted = np.random.default_rng(SEED), max(2, max_rows // 4)
    if codes is None:
        classes = (np.flatnonzero(positive), np.flatnonzero(~positive))
        return np.sort(np.concatenate([rng.permutation(c)[:wanted] for c in classes]))
    return _whole_groups(positive, codes, rng.permutation(int(codes.max()) + 1), wanted)


def _whole_groups(positive: Bools, codes: Ints, order: Ints, wanted: int) -> Ints:
    """Rows of the first groups in `order` that together hold `wanted` rows of each class (or all there are)."""
    have1 = np.cumsum(np.bincount(codes, weights=positive)[order])
    have0 = np.cumsum(np.bincount(codes, weights=~positive)[order])
    enough = (have1 >= min(wanted, have1[-1])) & (have0 >= min(wanted, have0[-1]))
    chosen = order[: max(3, int(np.argmax(enough)) + 1)]
    return np.flatnonzero(np.isin(codes, chosen))


# ---- From a fit to honest scores: which objective, at which optimum, and its rows removed.
#
# describe     what did the classifier minimise?                      objectives/
# optimum      is the fit at its optimum? if not, go there            polish, early
# undetermined no penalty, and rows that hold up weights alone         undetermined
# surrogate    no closed form: the nearest ridge regression           surrogate
# by_row       scores without a row, and without a pair of rows       removal, row_scores; grouped, group_scores

MAX_ROWS = 4000


def remove_rows(
    view: LinearView, *, sample_weight: Any = None, groups: Any = None, max_rows: int = MAX_ROWS
) -> Removed:
    """Scores of all rows, and of all pairs of one positive and one negative row, under fits that lack them.

    Nothing is refitted: the shifts follow in closed form from the optimum of the training objective.

    Parameters
    ----------
    view : LinearView
        The classifier and its training rows, from `foldless.model.view.take_apart`.
    sample_weight : array of shape (N,), optional
        Weights given to fit.
    groups : array of shape (N,), optional
        Labels of dependent rows; groups are removed whole.
    max_rows : int
        Above this many rows, pairs are evaluated on a fixed random subset of about max_rows/4 rows per class.

    Returns
    -------
    Removed
    """
    streamed = isinstance(view.X, LazyMatrix)
    if not streamed:  # else in the first pass
        checks.sane_size(view.X)
        checks.unequal_scores(view.scores())
    weight, codes = checked_weight(sample_weight, view.labels.positive), _checked_groups(groups, view)
    rows = evaluated_rows(view.labels.positive, codes, max_rows)
    if streamed:
        refuse_unless_tall(view, codes)
    objective = describe(view, weight)
    if objective is None and streamed:
        raise refuse_surrogate(_named(view))
    if objective is None:
        return _with_surrogate(view, weight, rows, codes)
    return _with_objective(view, objective, rows, codes)


def _with_objective(view: LinearView, objective: Objective, rows: Ints, codes: Ints | None) -> Removed:
    design: Any = None
    if isinstance(objective.X, LazyMatrix):
        objective, design = streamed_design(objective, rows)
    design, plain = optimum(objective, design)
    found = nearest_on_path(objective, design, plain)
    problem = determined(view.labels.positive, objective, design, found, rows, codes)
    return removed_at(problem, objective, found, rows, codes, _on_fit(found))


def removed_at(
    problem: Problem, objective: Objective, found: Optimum, rows: Ints, codes: Ints | None, said: tuple[str, ...] = ()
) -> Removed:
    """Rows removed from a known objective at its optimum."""
    return _removed(
        problem,
        rows,
        codes,
        method="loo",
        family=objective.name,
        residual=found.residual_before,
        polished=found.polished,
        direction_cosine=found.direction_cosine,
        match=1.0,
        said=said,
    )


def _with_surrogate(view: LinearView, weight: Floats | None, rows: Ints, codes: Ints | None) -> Removed:
    problem, match = surrogate_problem(view, weight)
    return _removed(
        problem,
        rows,
        codes,
        method="loo-surrogate",
        family="weights" if view.estimator is None else type(view.estimator).__name__,
        residual=float("nan"),
        polished=False,
        direction_cosine=1.0,
        match=match,
        said=(on_surrogate(_stand_in(view, match), match),),
    )


def _named(view: LinearView) -> str:
    return "bare or mapped-back weights" if view.estimator is None else f"this {type(view.estimator).__name__}"


def _removed(problem: Problem, rows: Ints, codes: Ints | None, said: tuple[str, ...], **how: Any) -> Removed:
    honest = by_row(problem, rows) if codes is None else by_group(problem, rows, codes)
    for scores in (honest.loo, honest.without_pair1, honest.without_pair0):
        if not np.isfinite(scores).all():
            raise EstimatorError(
                f"without some of the rows the {how['family']} fits the others exactly and has no finite scores: "
                f"fit with a penalty or with shrinkage, drop columns, or add rows."
            )
    told = said + on_subset(rows.size, problem.positive.size)
    return Removed(**vars(honest), z=problem.in_sample(), groups=codes, notes=told, **how)


def _on_fit(found: Optimum) -> tuple[str, ...]:
    factor = found.penalty_factor
    used = "that optimum" if factor == 1 else f"the optimum at {factor:.2g} x the penalty"
    return on_convergence(found.residual_before, found.direction_cosine, used) if found.polished else ()


def _stand_in(view: LinearView, match: float) -> str:
    return (
        f"leaving rows out has no closed form for {_named(view)}: "
        f"the nearest ridge regression stands in for its training (match {match:.2f})."
    )


# ---- checks


def checked_weight(sample_weight: Any, positive: Bools) -> Floats | None:
    """Weights of the rows, if there are any; two rows of each class must have one above 0."""
    if sample_weight is None:
        return None
    weight = checks.as_row_weights(sample_weight, positive.size)
    counted = weight > 0
    if min(np.count_nonzero(counted & positive), np.count_nonzero(counted & ~positive)) < 2:
        raise InputError(
            "each class needs at least two rows with a sample_weight above 0: with one removed, none would be left to "
            "train on."
        )
    return weight


def _checked_groups(groups: Any, view: LinearView) -> Ints | None:
    positive = view.labels.positive
    if groups is None:
        if min(view.labels.n1, view.labels.n0) < 2:
            raise InputError("each class needs at least two rows: with one removed, none would be left to train on.")
        return None
    # Removing two groups must leave a third to train on.
    return checks.as_groups(groups, positive, fewest=3)
