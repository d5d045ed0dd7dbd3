"""AUC of the training scores: the optimistic floor of all baselines."""

from __future__ import annotations

from typing import Any

from foldless.baselines.curve import rank_auc
from foldless.baselines.estimate import AUCEstimate
from foldless.baselines.scores import training_scores

REASON = "training scores are optimistic, and an interval around them would hide it"


def resubstitution_auc(estimator_or_w: Any, X: Any, y: Any, *, pos_label: Any = None) -> AUCEstimate:
    """AUC of the scores that the classifier gives to its own training rows.

    With many features it tends to 1 whatever the classifier is worth; it is here as the number to
    be corrected, not as an estimate to be trusted.

    Parameters
    ----------
    estimator_or_w : estimator or array of shape (P,)
        A fitted classifier (decision_function, else predict_proba), or weights w for scores X @ w.
    X, y : training rows and labels
    pos_label : label, optional
        The positive class; by default the later one in sorted order.

    Examples
    --------
    >>> X, y = [[0.0], [2.0], [1.0], [3.0]], ["a", "a", "b", "b"]
    >>> resubstitution_auc([1.0], X, y)
    AUCEstimate(0.75, method='resubstitution')
    """
    scores, labels = training_scores(estimator_or_w, X, y, pos_label)
    return AUCEstimate(rank_auc(labels.positive, scores), method="resubstitution", reason=REASON)
