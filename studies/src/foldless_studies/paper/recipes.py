"""How the classifier is fitted: the paper's toolbox, its ovarian script, a converged fit, and two other classifiers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from foldless_studies.classifiers import CLASSIFIERS
from foldless_studies.sample import Sample

LOGISTIC = "logistic"
CHOICES = (LOGISTIC, "lda", "svm")


def _liblinear(*, C: float = 1.0, fit_intercept: bool = True, tol: float = 1e-4) -> Any:
    from sklearn.linear_model import LogisticRegression

    # LIBLINEAR's primal solver draws no random numbers; the seed keeps scikit-learn from asking for one.
    return LogisticRegression(
        C=C, solver="liblinear", fit_intercept=fit_intercept, tol=tol, max_iter=1000, random_state=0
    )


def _converged() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(tol=1e-6, max_iter=10_000)


RECIPES: dict[str, Callable[[], Any]] = {
    # As in the simulations of the paper: LIBLINEAR, L2, C = 1. The intercept shares the penalty.
    "liblinear": _liblinear,
    # As in the authors' ovarian script: `train -s 0 -c 1` has no bias term and stops at 0.01.
    "authors": partial(_liblinear, fit_intercept=False, tol=0.01),
    "converged": _converged,
    "no-intercept": partial(_liblinear, fit_intercept=False),
    "no-intercept, C=10": partial(_liblinear, C=10.0, fit_intercept=False),
}


def unfitted(recipe: str, classifier: str, sample: Sample) -> Any:
    """The classifier of a cell; recipes are about logistic regression, the others have one of their own."""
    return RECIPES[recipe]() if classifier == LOGISTIC else CLASSIFIERS[classifier](1.0, sample)
