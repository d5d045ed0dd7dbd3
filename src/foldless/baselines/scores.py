"""Scores of a fitted classifier or weight vector, and refits on part of the rows: what the baselines share."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless.baselines.estimate import Mask
from foldless.checks import (
    Array,
    Floats,
    Labels,
    as_labels,
    as_matrix,
    as_row_weights,
    as_weights,
    dense,
    finite_scores,
    group_codes,
    is_frame,
    same_length,
    sane_length,
)
from foldless.errors import EstimatorError, InputError
from foldless.model.steps import is_estimator

# Scores always point towards the positive class: choosing the first class of an estimator as `pos_label` changes the
# sign of its scores (scikit-learn's scorers do the same), so its AUC does not depend on which class is called positive.
# A bare weight vector carries no labels: there the AUC becomes one minus itself.

Rows = npt.NDArray[np.intp]
Progress = Callable[[int, int], object]


def as_table(X: Any) -> Any:
    """X ready for an estimator: frames stay frames, as a pipeline may choose columns by name."""
    return X if is_frame(X) else as_matrix(X)


def training_scores(model: Any, X: Any, y: Any, pos_label: Any) -> tuple[Floats, Labels]:
    """Scores of every row by a fitted estimator or a weight vector, with the labels."""
    labels = _labels(model, X, y, pos_label)
    if is_estimator(model):
        return estimator_scores(model, as_table(X), labels.positive_label), labels
    return _vector_scores(model, X)[1], labels


def linear_scores(model: Any, X: Any, y: Any, pos_label: Any) -> tuple[Floats, Floats, Labels]:
    """Weights, scores without the intercept, and labels, for methods that need a linear classifier."""
    labels = _labels(model, X, y, pos_label)
    if is_estimator(model):
        return *direction_scores(model, as_table(X), labels.positive_label), labels
    return *_vector_scores(model, X), labels


def _labels(model: Any, X: Any, y: Any, pos_label: Any) -> Labels:
    """Labels of y, checked against X and against the classes of a fitted estimator."""
    labels = as_labels(y, pos_label=pos_label, classes=_classes(model) if is_estimator(model) else None)
    same_length(as_table(X).shape[0], labels.positive.size)
    return labels


def _classes(model: Any) -> Array:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, type):
        name = model.__name__
        raise EstimatorError(f"expected a fitted {name}, got the class itself: create and fit it, {name}().fit(X, y).")
    name = type(model).__name__
    try:
        check_is_fitted(model)
    except NotFittedError as err:
        raise EstimatorError(f"expected a fitted classifier, got an unfitted {name}: call fit(X, y) first.") from err
    classes = np.asarray(getattr(model, "classes_", ()))
    if classes.shape != (2,):
        raise EstimatorError(f"expected a classifier fitted on two classes, got a {name} with {classes.size}.")
    return classes


def estimator_scores(model: Any, X: Any, positive_label: Any) -> Floats:
    """Scores towards the positive class: decision_function, else the probability of that class."""
    name = type(model).__name__
    if hasattr(model, "decision_function"):
        scores = np.asarray(_called(model.decision_function, X), dtype=np.float64) * _sign(model, positive_label)
    elif hasattr(model, "predict_proba"):
        column = list(model.classes_).index(positive_label)
        scores = np.asarray(_called(model.predict_proba, X), dtype=np.float64)[:, column]
    else:
        raise EstimatorError(f"expected decision_function or predict_proba, got a {name} with neither.")
    if not np.all(np.isfinite(scores)):
        raise InputError(f"{name} gave NaN or infinite scores: check X for extreme values and rescale it.")
    return scores


def _called(score: Any, X: Any) -> Any:
    try:
        return score(X)
    except ValueError as err:
        raise InputError(f"X cannot be scored: {str(err).strip().splitlines()[0]}") from err


def direction_scores(model: Any, X: Any, positive_label: Any) -> tuple[Floats, Floats]:
    """Weights and scores in the space of the weights: after the transformers of a pipeline."""
    model = getattr(model, "best_estimator_", model)
    last, Z = model, X
    if hasattr(model, "steps"):
        last, Z = model[-1], model[:-1].transform(X) if len(model.steps) > 1 else X
    M = as_matrix(Z)
    w = _coefficients(last, M.shape[1]) * _sign(model, positive_label)
    return w, _project(M, w)


def _coefficients(model: Any, n_features: int) -> Floats:
    coef = getattr(model, "coef_", None)
    if coef is None:
        raise EstimatorError(f"expected a linear classifier with coef_, got a {type(model).__name__}.")
    w = dense(coef)
    if w.size != n_features:
        raise EstimatorError(
            f"expected one weight per column of X ({n_features}), got coef_ of shape {w.shape}: "
            f"fit on two classes and on the columns of this X."
        )
    return sane_length(as_weights(w.ravel(), n_features))


def _sign(model: Any, positive_label: Any) -> float:
    return 1.0 if model.classes_[1] == positive_label else -1.0


def _vector_scores(w: Any, X: Any) -> tuple[Floats, Floats]:
    M = as_matrix(X)
    weights = as_weights(w, M.shape[1])
    if weights.ndim == 2 and weights.shape[1] > 1:
        raise InputError(f"w must be one weight vector, got {weights.shape[1]} columns: pass them one at a time.")
    weights = sane_length(weights.ravel())
    return weights, _project(M, weights)


def _project(M: Any, w: Floats) -> Floats:
    # Overflow is reported by finite_scores, with the row; NumPy's warning would only come before it.
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(M @ w, dtype=np.float64)
    finite_scores(scores, M)
    return scores


@dataclass(frozen=True)
class Sample:
    """An estimator, and the data from which its refits draw rows."""

    estimator: Any
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

    def has_both_classes(self, rows: Rows) -> bool:
        """Whether some of these rows are positive and some negative."""
        return bool(0 < np.count_nonzero(self.positive[rows]) < rows.size)

    def group_codes(self, groups: Any) -> Rows:
        """Groups as codes 0, 1, ...; without groups every row is its own."""
        return np.arange(self.size) if groups is None else group_codes(groups, self.size)

    def part(self, rows: Rows) -> Any:
        """Rows of X, which may be an array, a sparse matrix, or a pandas or polars frame."""
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def refit(self, rows: Rows) -> Any:
        """A clone of the estimator, fitted on these rows (repeated rows count as often as they appear)."""
        from sklearn.base import clone

        # A pipeline takes fit arguments for a named step only.
        step = f"{self.estimator.steps[-1][0]}__" if hasattr(self.estimator, "steps") else ""
        extra = {} if self.weights is None else {f"{step}sample_weight": self.weights[rows]}
        try:
            return clone(self.estimator).fit(self.part(rows), self.target[rows], **extra)
        except Exception as err:  # whatever an estimator may raise for a part of the rows
            reason = (str(err).strip() or type(err).__name__).splitlines()[0]
            name = type(self.estimator).__name__
            raise InputError(f"{name} could not be fitted on {len(rows)} of the rows: {reason}") from err

    def held_out_scores(self, train: Rows, test: Rows) -> Floats:
        """Scores of the test rows by the estimator fitted on the training rows."""
        return estimator_scores(self.refit(train), self.part(test), self.labels.positive_label)


def as_sample(estimator: Any, X: Any, y: Any, pos_label: Any, sample_weight: Any = None) -> Sample:
    """Check what every refitting baseline takes, and convert it to the form that refits use."""
    if not (is_estimator(estimator) and hasattr(estimator, "get_params")) or isinstance(estimator, type):
        raise EstimatorError(
            f"expected a scikit-learn estimator to fit again, got {type(estimator).__name__}: "
            f"pass the estimator (fitted or not) rather than its weights or its class."
        )
    table, labels = as_table(X), as_labels(y, pos_label=pos_label)
    same_length(table.shape[0], labels.positive.size)
    target = np.asarray([labels.negative_label, labels.positive_label])[labels.positive.astype(np.intp)]
    weights = None if sample_weight is None else as_row_weights(sample_weight, labels.positive.size)
    return Sample(estimator, table, labels, target, weights)


def fewest_rows(labels: Labels) -> tuple[int, Any]:
    """Size and name of the smaller class."""
    return min((labels.n0, labels.negative_label), (labels.n1, labels.positive_label), key=lambda each: each[0])


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
