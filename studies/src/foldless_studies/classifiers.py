"""The classifiers under judgement, all with one dial C (large C: weak penalty), and the fits of the paper."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC, LinearSVC

from foldless_studies.choices import LOGISTIC
from foldless_studies.sampling import Floats, Sample

MAX_ITER = 10_000


def _svm(C: float, sample: Sample) -> Any:
    return LinearSVC(C=C, max_iter=MAX_ITER, random_state=0)


def _lda(C: float, sample: Sample) -> Any:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage(C, sample))


def shrinkage(C: float, sample: Sample) -> float:
    """1 / (1 + C), brought to the present number of columns.

    The penalty is q/(1-q) tr(W)/P; in a rotated sample tr(W) is the same and P is not, so q has to make up for it.
    """
    odds: float = sample.X.shape[1] / (C * sample.n_features)
    return odds / (1 + odds)


def _l1(C: float, sample: Sample) -> Any:
    # Before scikit-learn 1.8 l1_ratio does nothing unless the penalty is named.
    old = LogisticRegression().get_params()["penalty"] == "l2"
    lasso: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    return LogisticRegression(C=C, solver="liblinear", max_iter=MAX_ITER, random_state=0, **lasso)


CLASSIFIERS: dict[str, Callable[[float, Sample], Any]] = {
    "logistic": lambda C, sample: LogisticRegression(C=C, max_iter=MAX_ITER),
    "ridge": lambda C, sample: RidgeClassifier(alpha=1 / C),
    "svm": _svm,
    "hinge": lambda C, sample: SVC(kernel="linear", C=C),
    "lda": _lda,
    "l1": _l1,
}
# An L1 penalty sees the axes.
ROTATABLE = frozenset(CLASSIFIERS) - {"l1"}


def weights_of(model: Any) -> Floats:
    """The weights of a fitted classifier of two classes, one per column."""
    return np.asarray(model.coef_, dtype=np.float64).ravel()


# ---- How the paper's classifier is fitted: its toolbox, its ovarian script, a converged fit.


def _liblinear(*, C: float = 1.0, fit_intercept: bool = True, tol: float = 1e-4) -> Any:
    # LIBLINEAR's primal solver draws no random numbers; the seed keeps scikit-learn from asking for one.
    return LogisticRegression(
        C=C, solver="liblinear", fit_intercept=fit_intercept, tol=tol, max_iter=1000, random_state=0
    )


RECIPES: dict[str, Callable[[], Any]] = {
    # As in the simulations of the paper: LIBLINEAR, L2, C = 1. The intercept shares the penalty.
    "liblinear": _liblinear,
    # As in the authors' ovarian script: `train -s 0 -c 1` has no bias term and stops at 0.01.
    "authors": partial(_liblinear, fit_intercept=False, tol=0.01),
    "converged": partial(LogisticRegression, tol=1e-6, max_iter=10_000),
    "no-intercept": partial(_liblinear, fit_intercept=False),
    "no-intercept, C=10": partial(_liblinear, C=10.0, fit_intercept=False),
}


def unfitted(recipe: str, classifier: str, sample: Sample) -> Any:
    """The classifier of a cell; recipes are about logistic regression, the others have one of their own."""
    return RECIPES[recipe]() if classifier == LOGISTIC else CLASSIFIERS[classifier](1.0, sample)
