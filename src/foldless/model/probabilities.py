"""Probabilities of a classifier, and the function that turns its decision values into them.

The function is found by comparing ``predict_proba`` with the decision values of some rows, so that nothing has to be
known about the classifier. All links are symmetric: they hold for either class as the positive one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from foldless.checks import Floats
from foldless.errors import EstimatorError
from foldless.model.pullback import quiet_names, sampled_rows
from foldless.model.steps import innermost

COMPARED, AGREE = 64, 1e-6  # rows on which a link is compared with predict_proba, and how closely


@dataclass(frozen=True, eq=False)
class Link:
    """An increasing function from decision values to probabilities, and its inverse."""

    probability: Callable[[Any], Any]
    decision: Callable[[Any], Any]

    def __reduce__(self) -> Any:  # by its number: functions without a name cannot be pickled
        return _link, (LINKS.index(self),)


def _link(number: int) -> Link:
    return LINKS[number]


SAME = Link(lambda p: p, lambda p: p)  # scores that are probabilities already
LINKS = (
    Link(expit, logit),
    Link(lambda s: expit(2 * s), lambda p: logit(p) / 2),  # a softmax of both classes
    Link(lambda s: (np.clip(s, -1, 1) + 1) / 2, lambda p: 2 * p - 1),  # modified Huber loss
    SAME,
)


def probabilities_of(model: Any, X: Any, positive_label: Any) -> Floats:
    """Probability of the positive class."""
    if not hasattr(model, "predict_proba"):
        raise without_probabilities(model)
    column = np.asarray(model.classes_).tolist().index(positive_label)
    with quiet_names():
        return np.asarray(model.predict_proba(X), dtype=np.float64)[:, column]


def without_probabilities(model: Any) -> EstimatorError:
    """The error for a classifier that has none."""
    return EstimatorError(
        f"{type(innermost(model)).__name__} has no probabilities (predict_proba) to be judged: use a classifier with "
        f"them, such as LogisticRegression or LinearDiscriminantAnalysis."
    )


def link_by_itself(estimator: Any) -> Link:
    """The same of a linear classifier without rows: at points near the threshold, where no link is saturated."""
    w, rng = np.ravel(estimator.coef_), np.random.default_rng(0)
    X = np.outer((rng.uniform(-2, 2, COMPARED) - float(np.ravel(estimator.intercept_)[0])) / (w @ w), w)
    with quiet_names():
        return link_of(estimator, X, np.asarray(estimator.decision_function(X)), estimator.classes_[1])


def link_of(estimator: Any, X: Any, scores: Floats, positive_label: Any) -> Link:
    """The link of a classifier, given its scores of the rows of X towards the positive class."""
    own = probabilities_of(estimator, sampled_rows(X, COMPARED), positive_label)
    at = sampled_rows(scores, COMPARED)
    for link in LINKS:
        if np.allclose(link.probability(at), own, atol=AGREE):
            return link
    raise EstimatorError(
        f"the probabilities of {type(estimator).__name__} are not a known function of its decision values, so they "
        f"have no closed form without a row: use method='refit'."
    )


ClassLink = Callable[[Floats], Floats]  # decision values (K, ..., N) to probabilities


def _shares(scores: Floats) -> Floats:
    """Each class against the rest, and all of them scaled to add up to 1."""
    each = expit(scores)
    return np.asarray(each / each.sum(axis=0))


# Rows may be ranked by their probabilities: these stay.
CLASS_LINKS: tuple[ClassLink, ...] = (np.asarray, partial(softmax, axis=0), _shares)


def class_link_of(estimator: Any, X: Any, scores: Floats) -> ClassLink:
    """The same for more than two classes, given the decision values (N, K) of the rows of X."""
    if not hasattr(estimator, "predict_proba"):
        raise without_probabilities(estimator)
    with quiet_names():
        own = np.asarray(estimator.predict_proba(sampled_rows(X, COMPARED)), dtype=np.float64)
    at = sampled_rows(scores, COMPARED).T
    for link in CLASS_LINKS:
        if np.allclose(link(at).T, own, atol=AGREE):
            return link
    raise EstimatorError(
        f"the probabilities of {type(estimator).__name__} are not a known function of its decision values, so they "
        f"are not known without a row: use a classifier that is ranked by them, such as CalibratedClassifierCV."
    )
