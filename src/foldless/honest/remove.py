"""From a fit to honest scores: which objective, at which optimum, and its rows removed.

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
from foldless.honest import notes
from foldless.honest.design import Bools, Ints
from foldless.honest.early import nearest_on_path
from foldless.honest.group_scores import by_group
from foldless.honest.objective import Objective
from foldless.honest.objectives import describe
from foldless.honest.polish import Optimum, optimum
from foldless.honest.problem import Problem
from foldless.honest.result import Removed
from foldless.honest.row_scores import by_row
from foldless.honest.sampling import evaluated_rows
from foldless.honest.streamed import refuse_surrogate, refuse_unless_tall, streamed_design
from foldless.honest.surrogate import surrogate_problem
from foldless.honest.undetermined import determined
from foldless.sources.matrix import LazyMatrix

if TYPE_CHECKING:
    from foldless.anatomy import LinearView

MAX_ROWS = 4000


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
        said=(notes.on_surrogate(_stand_in(view, match), match),),
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
    told = said + notes.on_subset(rows.size, problem.positive.size)
    return Removed(**vars(honest), z=problem.in_sample(), groups=codes, notes=told, **how)


def _on_fit(found: Optimum) -> tuple[str, ...]:
    factor = found.penalty_factor
    used = "that optimum" if factor == 1 else f"the optimum at {factor:.2g} x the penalty"
    return notes.on_convergence(found.residual_before, found.direction_cosine, used) if found.polished else ()


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
    weight = _check.as_row_weights(sample_weight, positive.size)
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
    return _check.as_groups(groups, positive, fewest=3)
