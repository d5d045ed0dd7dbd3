"""The inverse of the Hessian, kept as a square root, and the rows seen through it.

    H = At' diag(D) At + diag(lam, .., lam, 0),   At = [A, 1],   G = At H^-1 At' = B B'

Centring A with the weights D makes H block diagonal, so B = [(A - 1 m') R, 1/sqrt(sum D)] with R R' the inverse of
the centred block. Working with B instead of G keeps G positive semidefinite whatever the rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, lapack

from foldless._check import Floats
from foldless.honest.design import Design, Ints

SINGULAR = 1e-13  # squared pivots of a unit-diagonal matrix below this are rounding noise


@dataclass(frozen=True)
class Curvature:
    """Square root `root` (k, r) of the inverse Hessian, weighted mean row `centre`, and `total` = sum of D.

    `centre` is None and `total` infinite without a free intercept.
    """

    root: Floats
    centre: Floats | None
    total: float

    def influence_rows(self, design: Design, index: Ints | slice) -> Floats:
        """Rows of B with G = B B'."""
        B = design.rows(index, self.centre) @ self.root
        if self.centre is None:
            return B
        return np.hstack([B, np.full((len(B), 1), self.total**-0.5)])

    def leverage(self, design: Design) -> Floats:
        """G_ii of every row."""
        lengths = design.squared_rows(self.root, self.centre)
        return lengths if self.centre is None else lengths + 1.0 / self.total


def curvature_at(design: Design, D: Floats, lam: float, free_intercept: bool) -> Curvature:
    """Curvature of the objective where the losses have curvature D."""
    total = float(D.sum())
    if free_intercept and total <= 0.0:
        # Every row saturated: any centre will do, since no row pulls on it.
        D = np.full_like(D, np.finfo(float).tiny)
        total = float(D.sum())
    centre = design.mean(D) if free_intercept else None
    H = design.gram(D, centre)
    H.flat[:: len(H) + 1] += lam
    return Curvature(inverse_root(H), centre, total if free_intercept else np.inf)


def inverse_root(H: Floats) -> Floats:
    """R with R R' = H^-1; directions in which H vanishes are left out (pseudo-inverse).

    H is first scaled to unit diagonal: columns in different units then cost no accuracy.
    """
    diagonal = np.sqrt(np.maximum(np.diag(H), 0.0))
    scale = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    unit = H * scale * scale[:, None]
    lower, failed = lapack.dpotrf(unit, lower=1)
    if failed or np.min(np.diag(lower)) ** 2 < SINGULAR * len(H):
        return scale[:, None] * _spectral_root(unit)
    inverse, _ = lapack.dtrtri(lower, lower=1)
    return np.asarray(scale[:, None] * np.tril(inverse).T)


def _spectral_root(unit: Floats) -> Floats:
    values, vectors = eigh(unit)
    kept = values > SINGULAR * len(unit) * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
