"""The classifiers under judgement: one line each, all with one dial C (large C: weak penalty)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from foldless_studies.sample import Floats, Sample

MAX_ITER = 10_000


def _logistic(C: float, sample: Sample) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=MAX_ITER)


def _ridge(C: float, sample: Sample) -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(alpha=1 / C)


def _svm(C: float, sample: Sample) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, max_iter=MAX_ITER, random_state=0)


def _lda(C: float, sample: Sample) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage(C, sample))


def shrinkage(C: float, sample: Sample) -> float:
    """1 / (1 + C), brought to the present number of columns.

    The penalty is q/(1-q) tr(W)/P; in a rotated sample tr(W) is the same and P is not, so q has to make up for it.
    """
    odds: float = sample.X.shape[1] / (C * sample.n_features)
    return odds / (1 + odds)


def _l1(C: float, sample: Sample) -> Any:
    from sklearn.linear_model import LogisticRegression

    # Before scikit-learn 1.8 l1_ratio does nothing unless the penalty is named.
    old = LogisticRegression().get_params()["penalty"] == "l2"
    lasso: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    return LogisticRegression(C=C, solver="liblinear", max_iter=MAX_ITER, random_state=0, **lasso)


CLASSIFIERS: dict[str, Callable[[float, Sample], Any]] = {
    "logistic": _logistic,
    "ridge": _ridge,
    "svm": _svm,
    "lda": _lda,
    "l1": _l1,
}
# An L1 penalty sees the axes.
ROTATABLE = frozenset(CLASSIFIERS) - {"l1"}


def weights_of(model: Any) -> Floats:
    """The weights of a fitted classifier of two classes, one per column."""
    return np.asarray(model.coef_, dtype=np.float64).ravel()
