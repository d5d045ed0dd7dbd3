"""Logistic regression with an L2 penalty or none:  1/2 |w|^2 + C sum_i s_i log(1 + exp(-t_i z_i))."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foldless._check import Floats
from foldless.errors import EstimatorError
from foldless.honest.losses import LogisticLoss
from foldless.honest.objective import Objective
from foldless.honest.objectives._rows import balanced_counts_sample_weights, row_weights, targets

if TYPE_CHECKING:
    from foldless.anatomy import LinearView

WAY_OUT = "fit LogisticRegression with a finite C (C=1.0 is the default), or drop columns"


def describe(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of LogisticRegression and LogisticRegressionCV; None for L1, elastic net and averaged fits."""
    est: Any = view.estimator
    C = _strength(est)
    if C is None:
        return None
    s = row_weights(view.labels, est.class_weight, sample_weight, counted=balanced_counts_sample_weights())
    t = targets(view.labels)
    liblinear = est.solver == "liblinear" and est.fit_intercept
    penalised = np.isfinite(C)
    if not penalised:
        _refuse_separable(view, t)
    return Objective(
        name="logistic regression" if penalised else "logistic regression without penalty",
        loss=LogisticLoss(t, C * s if penalised else s),
        lam=1.0 if penalised else 0.0,
        X=view.X,
        weights=view.weights,
        intercept=view.intercept,
        constant=float(est.intercept_scaling) if liblinear else 0.0,
        free_intercept=bool(est.fit_intercept and not liblinear),
    )


def _strength(est: Any) -> float | None:
    """C of an L2 penalty, infinity for no penalty, None for anything else.

    scikit-learn 1.8 moved from `penalty` to `l1_ratio` and C = inf; both spellings are read, none is touched.
    """
    penalty, cross_validated = getattr(est, "penalty", "deprecated"), hasattr(est, "C_")
    if getattr(est, "multi_class", "auto") == "multinomial" or (cross_validated and not est.refit):
        # Softmax over two classes penalises differently; refit=False averages the folds' weights.
        return None
    if penalty is None:
        return np.inf
    ratio = _chosen(est.l1_ratio_ if cross_validated else est.l1_ratio)
    if penalty == "l1" or (penalty in ("elasticnet", "deprecated") and ratio not in (None, 0.0)):
        return None
    return _chosen(est.C_ if cross_validated else est.C)


def _chosen(value: Any) -> float | None:
    first = np.ravel(np.asarray(value, dtype=object))[0]
    return None if first is None else float(first)


def _refuse_separable(view: LinearView, t: Floats) -> None:
    N, P = view.X.shape
    if P + 1 >= N:
        raise EstimatorError(
            f"logistic regression without a penalty on {P} columns and {N} rows has no finite solution, so nothing "
            f"can be said about it: {WAY_OUT}."
        )
    if np.min(t * view.scores()) > 0:
        raise EstimatorError(
            "logistic regression without a penalty separates the classes perfectly, so its weights grow without end: "
            f"{WAY_OUT}."
        )
