"""When the training is unknown: the ridge regression whose direction is closest to w stands in for it.

Its removal shifts, times kappa = <c, w>/<c, c> (c the ridge weights), are applied to the scores of w. That is exact if
w is a ridge direction; if w has nothing to do with the labels, kappa is near 0 and its scores are honest anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from foldless._check import Floats
from foldless.errors import InputError
from foldless.honest.curvature import Curvature
from foldless.honest.design import build_design
from foldless.honest.objective import SameScale
from foldless.honest.problem import Problem

if TYPE_CHECKING:
    from foldless.anatomy import LinearView

LOG_PENALTIES = np.linspace(-9.0, 7.0, 33)  # relative to the mean eigenvalue
RANK = 1e-18  # eigenvalues below this share of the largest are rounding noise


@dataclass(frozen=True, eq=False)
class NearestRidge:
    """Penalty, weights in the eigenbasis, share kappa of w along them, and agreement of the directions."""

    penalty: float
    coef: Floats
    kappa: float
    match: float


def surrogate_problem(view: LinearView, sample_weight: Floats | None) -> tuple[Problem, float]:
    """The stand-in for an unknown training method, and its `match` with the weights of the view."""
    own = view.scores()
    positive = view.labels.positive
    D = np.ones(own.size) if sample_weight is None else sample_weight
    t = np.where(positive, 1.0, -1.0)
    design = build_design(view.X, constant=0.0, free_intercept=True)
    centre, mean_t = design.mean(D), float(D @ t / D.sum())
    values, vectors = eigh(design.gram(D, centre))
    values = np.maximum(values, 0.0)
    w = vectors.T @ design.coefficients(view.weights, own - own.mean())
    ridge = nearest_ridge(
        values, vectors.T @ design.back(D * (t - mean_t), centre), w, float(view.weights @ view.weights)
    )
    if not np.isfinite([ridge.match, ridge.kappa]).all():
        raise InputError("the rows of X differ by rounding alone: check how X was made.")
    coef = vectors @ ridge.coef
    z = design.scores(coef) - centre @ coef + mean_t
    curvature = Curvature(vectors / np.sqrt(values + ridge.penalty), centre, float(D.sum()))
    return Problem(positive, own, ridge.kappa, D * (z - t), D, design, curvature, SameScale()), ridge.match


def nearest_ridge(values: Floats, right: Floats, w: Floats, norm_sq: float) -> NearestRidge:
    """Ridge weights c = right / (values + penalty) closest to w, among 33 penalties.

    Closeness is the mean of the cosines in weight space and in score space (where coordinate k counts `values[k]`).
    All vectors are coordinates in the eigenbasis of the scatter; `norm_sq` is the squared length of the whole of w.
    """
    tiny = np.finfo(float).tiny
    mean = max(float(values[values >= RANK * values[-1]].mean()), tiny)
    penalties = mean * np.exp(LOG_PENALTIES)
    c = right / (values + penalties[:, None])
    longest = max(norm_sq, float(w @ w))  # what is read from scores may come out longer than the whole, by rounding
    in_weights = c @ w / np.sqrt(np.sum(c**2, axis=1) * longest + tiny)
    in_scores = c @ (values * w) / np.sqrt((c**2 @ values) * float(w**2 @ values) + tiny)
    match = 0.5 * (in_weights + in_scores)
    best = int(np.argmax(match))
    along = float(c[best] @ w) / max(float(c[best] @ c[best]), tiny)
    return NearestRidge(float(penalties[best]), c[best], along, float(match[best]))
