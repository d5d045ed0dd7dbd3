"""Honest scores of any classifier of more than two classes, by the refits of `foldless.honest.refits`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Floats, Ints
from foldless.errors import EstimatorError
from foldless.honest.class_statistic import RefittedRows
from foldless.honest.classes import LOG_ODDS, MOST_ROWS, PROBABILITY, ClassScores, log_odds, ranked_by
from foldless.honest.leave_one_out import checked_weight
from foldless.honest.refits import (
    FEWEST,
    Progress,
    Refittable,
    answer_of,
    as_rows,
    ask_refits,
    classes_of,
    on_refits,
    refuse_unfit,
)
from foldless.honest.rows import Provenance
from foldless.model.view import codes_among


@dataclass(frozen=True, eq=False)
class ClassTraining(Refittable):
    """A fitted classifier of several classes, and the rows to refit it on; scores are (K, N)."""

    notes = doubts = ()  # what a classifier that was taken apart may have: here every step is fitted again

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, groups: Any, sample_weight: Any) -> ClassTraining:
        """Check what was passed; nothing is fitted yet."""
        refuse_unfit(estimator, several=True)
        classes = tuple(classes_of(estimator))
        codes = codes_among(y, classes)
        X = as_rows(X, codes.size)
        together = None if groups is None else checks.as_groups(groups, codes, fewest=FEWEST)
        weight = checked_weight(sample_weight, codes, 2)
        own = class_scores_of(estimator, X)
        return cls(estimator, X, checks.label_vector(y), codes, classes, own, weight, together)

    def asked(self, model: Any, table: Any) -> Floats:
        """Scores (K, N) of some rows by a refit."""
        return class_scores_of(model, table)

    def on_scale(self, answers: Floats, train: Ints, test: Ints) -> Floats:
        """The scores, spread as far as those of the fit about the rows `train`: fits to fewer rows are milder."""
        off = (z[:, train] - z[:, train].mean(axis=1, keepdims=True) for z in (answers, self.own))
        size, unit = map(np.linalg.norm, off)
        kept = min(size, unit) == 0 or ranked_by(self.estimator) == PROBABILITY
        return answers[:, test] * (1.0 if kept else unit / size)


def class_scores_of(model: Any, X: Any) -> Floats:
    """Scores of each class (K, N), as `ranked_by` has it."""
    scores = answer_of(model, "predict_proba" if ranked_by(model) == PROBABILITY else "decision_function", X).T
    pairwise = any(k.split("__")[-1] == "decision_function_shape" and v == "ovo" for k, v in model.get_params().items())
    if pairwise or len(scores) != len(classes_of(model)):
        name = type(model).__name__
        raise EstimatorError(f"{name} gives no score per class: set decision_function_shape='ovr' and fit again.")
    return scores


def refitted_rows(training: ClassTraining, n_jobs: int | None, progress: Progress | None) -> RefittedRows:
    """Honest scores of several classes: those of refits without each fold of the rows or groups."""
    decisions, fold, share, warned = ask_refits(training, n_jobs, progress)
    mean, ones, name = decisions.mean(axis=1), np.ones(training.codes.size), type(training.estimator).__name__
    score = ranked_by(training.estimator)
    found = ClassScores(
        training.own,
        mean,
        partial(np.zeros, mean.shape),
        partial(_each_alone, mean),
        *(ones, ones, MOST_ROWS, training.codes),
        score,
        Provenance("refit", name),
        training.groups,
        repeats=decisions,
    )
    ranked = log_odds(decisions) if score == LOG_ODDS else decisions
    rows = RefittedRows(found, ranked, fold, share, training.groups)
    provenance = Provenance("refit", name, notes=on_refits(training, rows, warned))
    return replace(rows, honest=replace(found, provenance=provenance, noise_share=rows.noise_share(())))


def _each_alone(scores: Floats, rows: Ints) -> Floats:
    """Scores (K, m, m) of rows whatever other row is left out."""
    return np.repeat(scores[:, rows, None], rows.size, axis=2)
