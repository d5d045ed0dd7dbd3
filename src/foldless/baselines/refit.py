"""Fit again on part of the rows, score the rest: what every resampling baseline shares."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless._check import Array, Floats, Labels, as_labels, as_row_weights, group_codes, same_length
from foldless.baselines.curve import Mask
from foldless.baselines.scores import as_table, estimator_scores, is_estimator
from foldless.errors import EstimatorError, InputError

Rows = npt.NDArray[np.intp]
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Sample:
    """The data that refits draw rows from."""

    X: Any
    labels: Labels
    target: Array
    weights: Floats | None = None

    @property
    def positive(self) -> Mask:
        return self.labels.positive

    @property
    def size(self) -> int:
        return int(self.positive.size)


def as_sample(estimator: Any, X: Any, y: Any, pos_label: Any, sample_weight: Any = None) -> Sample:
    """Check what every refitting baseline takes, and bring it into the form that refits use."""
    if not (is_estimator(estimator) and hasattr(estimator, "get_params")) or isinstance(estimator, type):
        raise EstimatorError(
            f"expected a scikit-learn estimator to fit again, got {type(estimator).__name__}: "
            f"pass the estimator (fitted or not) rather than its weights or its class."
        )
    table, labels = as_table(X), as_labels(y, pos_label=pos_label)
    same_length(table.shape[0], labels.positive.size)
    target = np.asarray([labels.negative_label, labels.positive_label])[labels.positive.astype(np.intp)]
    weights = None if sample_weight is None else as_row_weights(sample_weight, labels.positive.size)
    return Sample(table, labels, target, weights)


def as_groups(groups: Any, n_rows: int) -> Rows:
    """Groups as codes 0, 1, ...; without groups every row is its own."""
    return np.arange(n_rows) if groups is None else group_codes(groups, n_rows)


def refit(estimator: Any, sample: Sample, rows: Rows) -> Any:
    """A clone of the estimator, fitted on these rows (repeated rows count as often as they appear)."""
    from sklearn.base import clone

    extra = {} if sample.weights is None else {_weight_argument(estimator): sample.weights[rows]}
    try:
        return clone(estimator).fit(take_rows(sample.X, rows), sample.target[rows], **extra)
    except Exception as err:  # anything that an estimator may say about some of the rows
        reason = (str(err).strip() or type(err).__name__).splitlines()[0]
        name = type(estimator).__name__
        raise InputError(f"{name} could not be fitted on {len(rows)} of the rows: {reason}") from err


def _weight_argument(estimator: Any) -> str:
    # A pipeline hands fit arguments only to a step that is named.
    return f"{estimator.steps[-1][0]}__sample_weight" if hasattr(estimator, "steps") else "sample_weight"


def held_out_scores(estimator: Any, sample: Sample, train: Rows, test: Rows) -> Floats:
    """Scores of the test rows by the estimator fitted on the training rows."""
    return estimator_scores(refit(estimator, sample, train), take_rows(sample.X, test), sample.labels.positive_label)


def take_rows(X: Any, rows: Rows) -> Any:
    """Rows of an array, a sparse matrix, or a pandas or polars frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def run_all(
    task: Callable[..., Any], arguments: Sequence[Iterable[Any]], n_jobs: int | None, progress: Progress | None
) -> list[Any]:
    """``[task(*a) for a in arguments]``, in order, on `n_jobs` workers."""
    from joblib import Parallel, delayed

    results = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(delayed(task)(*a) for a in arguments):
        results.append(result)
        if progress is not None:
            progress(len(results), len(arguments))
    return results


def random_source(random_state: Any) -> np.random.RandomState:
    """A private source of random numbers (scikit-learn's kind, so that its splitters give the same folds)."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**32))
    try:
        return np.random.RandomState(random_state)
    except (TypeError, ValueError) as err:
        raise InputError(f"random_state must be None, a seed or a generator, got {random_state!r}.") from err


def as_count(value: Any, name: str, least: int) -> int:
    """A whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError as err:
        raise InputError(f"{name} must be a whole number, got {value!r}.") from err
    if number < least:
        raise InputError(f"{name} must be at least {least}, got {number}.")
    return number


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse an option that does not exist."""
    if value not in choices:
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}.")
