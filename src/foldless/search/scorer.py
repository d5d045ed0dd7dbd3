"""The calibrated AUC as a scorer for scikit-learn's own tools."""

from __future__ import annotations

from typing import Any

from foldless.estimate import auc_posterior


def auc_scorer(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, groups: Any = None) -> float:
    """Posterior mean of the AUC that a fitted linear classifier has on new data, from its own training rows.

    For ``scoring=`` in scikit-learn. The rows that are scored must be those that were fitted, so the "split" trains
    and scores on everything: ``cv=[(rows, rows)]``. With folds the scorer would be given rows that the classifier
    has not seen; it then warns (`TrustWarning`) that the weights do not belong to the rows. With more than two classes
    it is the average AUC over pairs of classes.

    Parameters
    ----------
    estimator : fitted linear classifier, or Pipeline ending in one
    X, y : the rows it was fitted on
    sample_weight : array of shape (N,), optional
        The weights given to ``fit``; rows count alike in the AUC itself.
    groups : array of shape (N,), optional
        Labels of dependent rows.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:60, :10], y[:60]
    >>> rows = np.arange(len(y))
    >>> grid = {"alpha": [0.01, 1.0, 100.0]}
    >>> search = GridSearchCV(RidgeClassifier(), grid, scoring=fl.auc_scorer, cv=[(rows, rows)]).fit(X, y)
    >>> bool(0.9 < search.best_score_ < 1)
    True
    """
    return auc_posterior(estimator, X, y, sample_weight=sample_weight, groups=groups).mean
