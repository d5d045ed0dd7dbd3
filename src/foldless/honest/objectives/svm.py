"""Linear support vector machine with the squared hinge:  1/2 |w|^2 + C sum_i s_i max(0, 1 - t_i z_i)^2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldless._check import Floats
from foldless.honest.losses import SquaredHingeLoss
from foldless.honest.objective import Objective
from foldless.honest.objectives._rows import balanced_counts_sample_weights, row_weights, targets

if TYPE_CHECKING:
    from foldless.anatomy import LinearView


def describe(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of LinearSVC; None for the plain hinge, an L1 penalty and the Crammer-Singer form."""
    est: Any = view.estimator
    if est.loss != "squared_hinge" or est.penalty != "l2" or est.multi_class != "ovr":
        return None
    s = row_weights(view.labels, est.class_weight, sample_weight, counted=balanced_counts_sample_weights())
    return Objective(
        name="linear support vector machine",
        loss=SquaredHingeLoss(targets(view.labels), float(est.C) * s),
        lam=1.0,
        X=view.X,
        weights=view.weights,
        intercept=view.intercept,
        # liblinear penalises the intercept as the weight of a constant column.
        constant=float(est.intercept_scaling) if est.fit_intercept else 0.0,
        free_intercept=False,
    )
