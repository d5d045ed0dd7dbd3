"""Ridge classification:  alpha/2 |w|^2 + 1/2 sum_i s_i (z_i - t_i)^2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foldless._check import Floats
from foldless.errors import EstimatorError
from foldless.honest.losses import SquaredLoss
from foldless.honest.objective import Objective
from foldless.honest.objectives._rows import row_weights, targets

if TYPE_CHECKING:
    from foldless.anatomy import LinearView


def describe(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of RidgeClassifier and RidgeClassifierCV; None under a sign constraint."""
    est: Any = view.estimator
    if getattr(est, "positive", False):
        return None
    alpha = float(np.ravel(est.alpha_ if hasattr(est, "alpha_") else est.alpha)[0])
    N, P = view.X.shape
    if alpha == 0 and P + 3 > N:  # without two rows there are as many weights as rows, or more
        raise EstimatorError(
            f"least squares without a penalty on {P} columns and {N} rows fits any labels perfectly, so nothing can be "
            f"said about it: set alpha above 0 (alpha=1.0 is the default), or drop columns."
        )
    return Objective(
        name="ridge classifier",
        loss=SquaredLoss(targets(view.labels), row_weights(view.labels, est.class_weight, sample_weight)),
        lam=alpha,
        X=view.X,
        weights=view.weights,
        intercept=view.intercept,
        free_intercept=bool(est.fit_intercept),
    )
