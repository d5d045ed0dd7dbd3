"""Where a classifier draws its line: the value of ``decision_function`` at which ``predict`` changes its mind."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logit

from foldless._steps import innermost, sklearn_names
from foldless.errors import EstimatorError

WRAPPERS = {"FixedThresholdClassifier", "TunedThresholdClassifierCV"}
LOGISTIC = {"LogisticRegression", "LinearDiscriminantAnalysis"}  # their probability is 1 / (1 + exp(-decision))
TINY, EPS = np.finfo(float).tiny, np.finfo(float).eps  # a threshold of 0 or 1 is beyond all scores, yet a number


def own_threshold(estimator: Any) -> float:
    """0 for most; where a wrapper has moved it, its threshold in units of ``decision_function``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from sklearn.model_selection import FixedThresholdClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FixedThresholdClassifier(LinearDiscriminantAnalysis(), threshold=0.2).fit(X[:60, :5], y[:60])
    >>> round(own_threshold(model), 3)
    -1.386
    """
    wrapper = moved_by(estimator)
    if wrapper is None:
        return 0.0
    value, positive = _settings(wrapper)
    if _response(wrapper) == "predict_proba":
        found = _decision_at(0.5 if value == "auto" else value, wrapper)
    else:
        found = 0.0 if value == "auto" else float(value)
    return -found if positive is not None and positive != wrapper.classes_[1] else found


def why_unknown(estimator: Any) -> str | None:
    """Why a classifier's own threshold cannot be told, or None."""
    try:
        own_threshold(estimator)
    except EstimatorError as err:
        return str(err)
    return None


def moved_by(estimator: Any) -> Any | None:
    """The wrapper that moves the threshold, if there is one inside."""
    inner = innermost(estimator)
    return inner if sklearn_names(inner) & WRAPPERS and hasattr(inner, "estimator_") else None


def notes_on_threshold(estimator: Any) -> tuple[str, ...]:
    """What to know about rates at the classifier's own threshold."""
    wrapper = moved_by(estimator)
    if wrapper is None or "TunedThresholdClassifierCV" not in sklearn_names(wrapper):
        return ()
    return (f"{type(wrapper).__name__} chose its threshold with the help of y; that choice is not accounted for.",)


def _settings(wrapper: Any) -> tuple[Any, Any]:
    """The threshold, and the class whose score is compared with it; None for the second of ``classes_``."""
    if hasattr(wrapper, "best_threshold_"):
        return wrapper.best_threshold_, wrapper._curve_scorer._get_pos_label()
    return wrapper.threshold, wrapper.pos_label


def _response(wrapper: Any) -> str:
    if wrapper.response_method != "auto":
        return str(wrapper.response_method)
    return "predict_proba" if hasattr(wrapper.estimator_, "predict_proba") else "decision_function"


def _decision_at(probability: float, wrapper: Any) -> float:
    """Where the classifier inside has that probability."""
    final = innermost(wrapper.estimator_)
    loss = getattr(final, "loss", None)
    if getattr(final, "multi_class", None) == "multinomial":  # two classes as a softmax, of twice the decision
        return float(logit(np.clip(probability, TINY, 1 - EPS))) / 2
    if sklearn_names(final) & LOGISTIC or loss == "log_loss":
        return float(logit(np.clip(probability, TINY, 1 - EPS)))
    if loss == "modified_huber":
        return float(2 * probability - 1)
    raise EstimatorError(
        f"{type(wrapper).__name__} decides by the probabilities of {type(final).__name__}, which are no known function "
        f"of its decision_function: give the threshold in units of decision_function (threshold= in Python, or "
        f"--threshold on the command line)."
    )
