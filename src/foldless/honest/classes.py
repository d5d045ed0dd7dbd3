"""From a fit of several classes to honest scores: the first way that knows the classifier, else a stand-in."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.honest import discriminant, scores
from foldless.honest.design import Ints
from foldless.honest.scores import SEED
from foldless.honest.softmax import CONVERGED, affordable_rows, scores_of_softmax, softmax_of
from foldless.honest.targets import (
    DECISION,
    LOG_ODDS,
    ClassScores,
    Targets,
    competes,
    scores_of_targets,
    surrogates_of,
    targets_of,
)
from foldless.model.view import ClassesView

MAX_ENTRIES = 1 << 24  # scores of pairs of rows kept at a time, 128 MB
NO_GROUPS = (
    "groups are supported for two classes only: fit and pass one class against the rest, y == label, or leave groups "
    "out if the rows are independent."
)
USED = "that optimum, or the nearest one with a stronger penalty"


def remove_rows_of_classes(
    view: ClassesView, *, sample_weight: Any = None, groups: Any = None, max_entries: int = MAX_ENTRIES
) -> ClassScores:
    """Scores of all rows for all classes under fits that lack the row, and that lack any pair of rows.

    Parameters
    ----------
    view : ClassesView
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
    return (
        _with_discriminant(view, weight, most)
        or _with_softmax(view, weight, most)
        or _with_targets(view, weight, most)
        or _with_surrogates(view, weight, most)
    )


def _checked_weight(sample_weight: Any, view: ClassesView) -> Floats | None:
    if sample_weight is None:
        return None
    weight = checks.as_row_weights(sample_weight, view.codes.size)
    if np.bincount(view.codes[weight > 0], minlength=len(view.classes)).min() < 3:
        raise InputError(
            "each class needs at least 3 rows with a sample_weight above 0, since two at a time are left out."
        )
    return weight


def _with_discriminant(view: ClassesView, weight: Floats | None, most: int) -> ClassScores | None:
    model = discriminant.discriminant_of(view, weight)
    if model is None:
        return None
    rows = evaluated_rows(view.codes, most)
    cosine = _agreement(discriminant.decisions(model), view.scores())
    residual = float(np.sqrt(max(0.0, 1.0 - cosine**2)))
    return ClassScores(
        discriminant.scores_of_discriminant(model, rows).as_log_odds(),
        view.codes[rows],
        view.counts,
        LOG_ODDS,
        method="loo",
        family="linear discriminant analysis",
        residual=residual,
        polished=cosine < scores.WORTH_SAYING,
        direction_cosine=cosine,
        match=1.0,
        notes=_notes(residual, cosine, rows, view),
    )


def _with_softmax(view: ClassesView, weight: Floats | None, most: int) -> ClassScores | None:
    known = softmax_of(view, weight)
    if known is None:
        return None
    problem, found = known
    rows = evaluated_rows(view.codes, min(most, affordable_rows(problem)))
    return ClassScores(
        scores_of_softmax(problem, found, rows).as_log_odds(),
        view.codes[rows],
        view.counts,
        LOG_ODDS,
        method="loo",
        family="multinomial logistic regression",
        residual=found.residual_before,
        polished=found.polished,
        direction_cosine=found.direction_cosine,
        match=1.0,
        notes=_notes(found.residual_before, found.direction_cosine, rows, view),
    )


def _with_targets(view: ClassesView, weight: Floats | None, most: int) -> ClassScores | None:
    targets = targets_of(view, weight)
    if targets is None:
        return None
    rows = evaluated_rows(view.codes, most)
    residual = max(o.residual_before for o in targets.optima)
    cosine = min(o.direction_cosine for o in targets.optima)
    return ClassScores(
        scores_of_targets(targets.problems, rows),
        view.codes[rows],
        view.counts,
        DECISION,
        method="loo",
        family=f"{targets.name}, one class against the rest",
        residual=residual,
        polished=residual > CONVERGED,
        direction_cosine=cosine,
        match=1.0,
        notes=_notes(residual, cosine, rows, view),
    )


def _with_surrogates(view: ClassesView, weight: Floats | None, most: int) -> ClassScores:
    targets = surrogates_of(view, weight)
    rows, match = evaluated_rows(view.codes, most), min(targets.matches)
    tensor = scores_of_targets(targets.problems, rows)
    competing = competes(view.estimator)
    name = "mapped-back weights" if view.estimator is None else f"this {type(view.estimator).__name__}"
    return ClassScores(
        tensor.as_log_odds() if competing else tensor,
        view.codes[rows],
        view.counts,
        LOG_ODDS if competing else DECISION,
        method="loo-surrogate",
        family="weights" if view.estimator is None else type(view.estimator).__name__,
        residual=float("nan"),
        polished=False,
        direction_cosine=1.0,
        match=match,
        notes=(
            scores.on_surrogate(_stand_in(name, targets, view), match),
            *scores.on_subset(rows.size, view.codes.size),
        ),
    )


def evaluated_rows(codes: Ints, most: int) -> Ints:
    """All rows if there are at most so many, else a fixed random subset with a fair share of every class."""
    if codes.size <= most:
        return np.arange(codes.size)
    rng, counts = np.random.default_rng(SEED), np.bincount(codes)
    wanted = np.minimum(counts, max(3, most // counts.size))
    chosen = [rng.permutation(np.flatnonzero(codes == k))[: wanted[k]] for k in range(counts.size)]
    return np.sort(np.concatenate(chosen))


def _agreement(a: Floats, b: Floats) -> float:
    """Cosine between two tables of decision values, up to a constant per row and per class."""
    a, b = (z - z.mean(axis=1, keepdims=True) for z in (a, b))
    a, b = (z - z.mean(axis=0) for z in (a, b))
    return float(np.sum(a * b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), np.finfo(float).tiny))


def _notes(residual: float, cosine: float, rows: Ints, view: ClassesView) -> tuple[str, ...]:
    return scores.on_convergence(residual, cosine, USED) + scores.on_subset(rows.size, view.codes.size)


def _stand_in(name: str, targets: Targets, view: ClassesView) -> str:
    worst = int(np.argmin(targets.matches))
    return (
        f"leaving rows out has no affordable closed form for {name}: for each class against the rest, the nearest "
        f"ridge regression stands in for its training (worst match {targets.matches[worst]:.2f}, class "
        f"{view.classes[worst]!r})."
    )
