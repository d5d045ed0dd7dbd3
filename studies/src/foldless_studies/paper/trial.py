"""One trial: draw a sample, fit the classifier once, ask every estimator, compare with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.methods import Answer
from foldless_studies.paper.cells import Cell, name_of
from foldless_studies.paper.estimators import ESTIMATORS
from foldless_studies.paper.recipes import unfitted
from foldless_studies.sample import Known, Sample
from foldless_studies.seeds import small_seed
from foldless_studies.task import DIGITS, quietly, short


@dataclass(frozen=True)
class Trial:
    """One iteration of a cell."""

    cell: Cell
    replicate: int

    @property
    def key(self) -> str:
        return f"{name_of(self.cell)}#{self.replicate}"


def perform(trial: Trial, *, seed: int, classifier: str, estimators: Sequence[str]) -> dict[str, Any]:
    """The result as plain data: the truth, and one entry per estimator."""
    from sklearn import config_context

    # Simulated rows are finite and the parameters are ours: checking both anew costs as much as a small fit.
    with quietly(), config_context(assume_finite=True, skip_parameter_validation=True):
        sample = trial.cell.draw(seed, trial.replicate)
        start = thread_time()
        model = unfitted(trial.cell.recipe, classifier, sample).fit(sample.X, sample.y)
        seconds = thread_time() - start
        (known,) = sample.truth(np.asarray(model.coef_, dtype=np.float64).reshape(-1, 1))
        folds = small_seed(seed, trial.key, "folds")
        answers = {name: _asked(name, model, sample, known, folds, trial.cell.held_out) for name in estimators}
    n1 = int(sample.y.sum())
    return {
        "task": trial.key,
        "n0": sample.y.size - n1,
        "n1": n1,
        "truth": short(known.auc),
        "truth_se": short(known.se),
        "fit_seconds": round(seconds, 6),
        "answers": answers,
    }


def _asked(name: str, model: Any, sample: Sample, known: Known, seed: int, held_out: bool) -> dict[str, Any]:
    # Processor time of this thread: on a busy machine the clock on the wall measures the others.
    start = thread_time()
    try:
        answer = ESTIMATORS[name].ask(model, sample, seed)
    except fl.FoldlessError as err:
        return {"failed": str(err)}
    seconds = thread_time() - start
    return {
        "estimate": short(answer.estimate),
        "rank": short(rank(answer, known, held_out=held_out)),
        "seconds": round(seconds, 6),
    }


def rank(answer: Answer, known: Known, *, held_out: bool) -> float | None:
    """Where the truth lies in the estimate's distribution, from 0 to 1; None where it has none.

    A truth measured on a test set is compared with posterior plus test noise; where the classifier separates the
    test set that noise is unknown, and there is no rank. An exact truth is compared to the digits that are kept, so
    that an interval that ends at 1 holds a truth that is 1 to nine digits.
    """
    if answer.cdf is None:
        return None
    if held_out:
        return answer.rank(known)
    near = known.auc + 10.0**-DIGITS * np.array([-1, 1])
    return float(np.mean(answer.cdf(near)))
