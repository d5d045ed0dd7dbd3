"""The factorisation at one fit of a family: `foldless.honest.curvature`, arranged for many small dense problems.

Same matrices as there: H = At' diag(D) At + diag(lam, .., lam, 0) = (R R')^-1, and B with At H^-1 At' = B B'. The
centred rows are made once for both, and the triangular inverse is put together from products of halves, which BLAS does
several times faster than LAPACK's own routine at a few hundred rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from foldless._check import Floats
from foldless.honest.curvature import SINGULAR, Curvature, curvature_at
from foldless.honest.design import BLOCK_ENTRIES, Design
from foldless.honest.objective import Objective

LEAF = 80  # rows up to which LAPACK's triangular inverse is the faster one


@dataclass(frozen=True, eq=False)
class Factor:
    """The factored Hessian of an objective at one point: coordinates u in which it is the identity.

        (c, b) = T u,    T = [[R, 0], [-m'R, 1/sqrt(total)]],    scores = B u

    Attributes
    ----------
    design : Design
    curvature : Curvature
        R, m and total.
    D, lam : curvature of the losses and penalty there
    B : array of shape (N, k), or None where it would be large
    """

    design: Design
    curvature: Curvature
    D: Floats
    lam: float
    B: Floats | None = None

    @classmethod
    def at(cls, objective: Objective, design: Design, scores: Floats) -> Factor:
        D, lam, free = objective.loss.curvature(scores), objective.lam, objective.free_intercept
        fast = _dense(design, D, lam, free) if _is_small(design) and D.sum() > 0 else None
        return cls(design, curvature_at(design, D, lam, free), D, lam) if fast is None else fast

    def coordinates(self, u: Floats) -> tuple[Floats, float]:
        """(c, b) = T u."""
        near = self.curvature
        if near.centre is None:
            return near.root @ u, 0.0
        c = near.root @ u[:-1]
        return c, float(u[-1] * near.total**-0.5 - near.centre @ c)

    def gradient(self, c: Floats, b: float) -> Floats:
        """T'(c, b): a gradient in the coordinates u."""
        near = self.curvature
        if near.centre is None:
            return np.asarray(near.root.T @ c)
        return np.append(near.root.T @ (c - b * near.centre), b * near.total**-0.5)

    def scores(self, u: Floats) -> Floats:
        """B u."""
        if self.B is not None:
            return np.asarray(self.B @ u)
        c, b = self.coordinates(u)
        return self.design.scores(c) + b

    def back(self, q: Floats) -> Floats:
        """B'q."""
        return (
            np.asarray(q @ self.B) if self.B is not None else self.gradient(self.design.back(q, None), float(q.sum()))
        )


def _is_small(design: Design) -> bool:
    A = design.matrix
    return isinstance(A, np.ndarray) and A.dtype == np.float64 and A.size <= BLOCK_ENTRIES


def _dense(design: Design, D: Floats, lam: float, free: bool) -> Factor | None:
    """Cholesky of H scaled to unit diagonal; None where it is nearly singular, which the honest method can handle."""
    total = float(D.sum())
    centre = design.mean(D) if free else None
    A = design.matrix - centre if free else design.matrix
    weighted = A * np.sqrt(D)[:, None]
    H = weighted.T @ weighted
    H.flat[:: len(H) + 1] += lam
    scale = 1.0 / np.sqrt(np.diag(H))
    lower, failed = lapack.dpotrf(H * scale * scale[:, None], lower=1)
    if failed or np.min(np.diag(lower)) ** 2 < SINGULAR * len(H):
        return None
    root = scale[:, None] * inverse_lower(lower).T
    B = np.empty((len(A), root.shape[1] + free))
    np.matmul(A, root, out=B[:, : root.shape[1]])
    if free:
        B[:, -1] = total**-0.5
    return Factor(design, Curvature(root, centre, total if free else np.inf), D, lam, B)


def inverse_lower(lower: Floats) -> Floats:
    """Inverse of a lower triangular matrix, halves first: [[P, 0], [Q, S]]^-1 = [[P^-1, 0], [-S^-1 Q P^-1, S^-1]]."""
    n = len(lower)
    if n <= LEAF:
        return np.asarray(lapack.dtrtri(lower, lower=1)[0])
    half = n // 2
    out = np.zeros((n, n))
    out[:half, :half] = inverse_lower(lower[:half, :half])
    out[half:, half:] = inverse_lower(lower[half:, half:])
    out[half:, :half] = -out[half:, half:] @ (lower[half:, :half] @ out[:half, :half])
    return out
