"""Honest scores from one fit: what each row would have scored had it not been in the training set.

describe     what did the classifier minimise?                      objectives/
optimum      is the fit at its optimum? if not, go there            polish, early
undetermined no penalty, and rows that hold up weights alone         undetermined
surrogate    no closed form: the nearest ridge regression           surrogate
by_row       scores without a row, and without a pair of rows       removal, row_scores; grouped, group_scores
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foldless import _check
from foldless._check import Floats
from foldless.errors import EstimatorError, InputError
from foldless.honest.design import Ints
from foldless.honest.early import nearest_on_path
from foldless.honest.group_scores import by_group
from foldless.honest.objective import Objective
from foldless.honest.objectives import describe
from foldless.honest.polish import Optimum, optimum
from foldless.honest.problem import Problem
from foldless.honest.result import Removed
from foldless.honest.row_scores import Honest, by_row
from foldless.honest.sampling import evaluated_rows
from foldless.honest.streamed import refuse_surrogate, refuse_unless_tall, streamed_design
from foldless.honest.surrogate import surrogate_problem
from foldless.honest.undetermined import barely_penalised, is_undetermined, problem_at
from foldless.sources.matrix import LazyMatrix

if TYPE_CHECKING:
    from foldless.anatomy import LinearView

__all__ = ["Objective", "Removed", "describe", "remove_rows"]

MAX_ROWS = 4000
WORTH_SAYING = 0.9999  # cosines above this leave every figure where it was
MATERIAL = 0.99
POOR_MATCH = 0.5


def remove_rows(
    view: LinearView, *, sample_weight: Any = None, groups: Any = None, max_rows: int = MAX_ROWS
) -> Removed:
    """Scores of all rows, and of all pairs of one positive and one negative row, under fits that lack them.

    Nothing is refitted: the shifts follow in closed form from the optimum of the training objective.

    Parameters
    ----------
    view : LinearView
        The classifier and its training rows, from `foldless.anatomy.take_apart`.
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
        _check.sane_size(view.X)
        _check.unequal_scores(view.scores())
    weight, codes = _checked_weight(sample_weight, view), _checked_groups(groups, view)
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
    problem = problem_at(view.labels.positive, objective, design, found)
    if objective.lam == 0 and is_undetermined(problem, rows, codes):
        problem = problem_at(view.labels.positive, *barely_penalised(objective, design, found))
    return _removed(
        problem,
        _honest(problem, rows, codes),
        codes,
        method="loo",
        family=objective.name,
        residual=found.residual_before,
        polished=found.polished,
        direction_cosine=found.direction_cosine,
        match=1.0,
        notes=_notes_on_convergence(found) + _note_on_subset(rows, view),
    )


def _with_surrogate(view: LinearView, weight: Floats | None, rows: Ints, codes: Ints | None) -> Removed:
    problem, match = surrogate_problem(view, weight)
    return _removed(
        problem,
        _honest(problem, rows, codes),
        codes,
        method="loo-surrogate",
        family="weights" if view.estimator is None else type(view.estimator).__name__,
        residual=float("nan"),
        polished=False,
        direction_cosine=1.0,
        match=match,
        notes=(_note_on_surrogate(_named(view), match), *_note_on_subset(rows, view)),
    )


def _named(view: LinearView) -> str:
    return "bare or mapped-back weights" if view.estimator is None else f"this {type(view.estimator).__name__}"


def _honest(problem: Problem, rows: Ints, codes: Ints | None) -> Honest:
    return by_row(problem, rows) if codes is None else by_group(problem, rows, codes)


def _removed(problem: Problem, honest: Honest, codes: Ints | None, **how: Any) -> Removed:
    for scores in (honest.loo, honest.without_pair1, honest.without_pair0):
        if not np.isfinite(scores).all():
            raise EstimatorError(
                f"without some of the rows the {how['family']} fits the others exactly and has no finite scores: "
                f"fit with a penalty or with shrinkage, drop columns, or add rows."
            )
    return Removed(**vars(honest), z=problem.in_sample(), groups=codes, **how)


# ---- what the user must know


def _notes_on_convergence(found: Optimum) -> tuple[str, ...]:
    if not found.polished or found.direction_cosine >= WORTH_SAYING:
        return ()
    fact = f"the weights are not at the optimum of their training objective (residual {found.residual_before:.2g})"
    used = "that optimum" if found.penalty_factor == 1 else f"the optimum at {found.penalty_factor:.2g} x the penalty"
    if found.direction_cosine >= MATERIAL:
        return (f"{fact}; {used}, which points the same way, was used instead.",)
    return (
        f"{fact}: the figures are those of {used}, not of your weights, "
        f"which point elsewhere (cosine {found.direction_cosine:.2f}). "
        f"Either X, y or sample_weight are not those given to fit, or the fit stopped early: "
        f"then use a smaller tol and a larger max_iter, or a stronger penalty.",
    )


def _note_on_surrogate(name: str, match: float) -> str:
    note = (
        f"leaving rows out has no closed form for {name}: "
        f"the nearest ridge regression stands in for its training (match {match:.2f})."
    )
    if match >= POOR_MATCH:
        return note
    return f"{note} That is far from it: the answer is right if the weights owe little to these labels."


def _note_on_subset(rows: Ints, view: LinearView) -> tuple[str, ...]:
    if len(rows) == view.labels.positive.size:
        return ()
    return (
        f"pairs were evaluated on {len(rows)} of {view.labels.positive.size} rows, drawn at random: "
        f"the interval is as wide as that many rows make it.",
    )


# ---- checks


def _checked_weight(sample_weight: Any, view: LinearView) -> Floats | None:
    return None if sample_weight is None else _check.as_row_weights(sample_weight, view.labels.positive.size)


def _checked_groups(groups: Any, view: LinearView) -> Ints | None:
    positive = view.labels.positive
    if groups is None:
        if min(view.labels.n1, view.labels.n0) < 2:
            raise InputError("each class needs at least two rows: with one removed, none would be left to train on.")
        return None
    # Removing two groups must leave a third to train on.
    return _check.as_groups(groups, positive, fewest=3)
