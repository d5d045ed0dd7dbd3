"""Leverages of the fits to all relabellings, without a factorisation of each.

The influence of the rows on their own scores is the diagonal of G = B H^-1 B', H = I + B' diag(D - D0) B, and only the
curvatures D differ between relabellings. With the same curvature c at all rows, all G(c) have the eigenvectors of BB'.
Rows whose curvature is another one scatter. Each row by itself, to all orders of its own difference, gives

    G_ii = G(c)_ii - sum_j G(c)_ij^2 tau_j,    tau_j = (D_j - c) / (1 + (D_j - c) G(c)_jj),

with the c that makes the mean of tau 0: the coherent-potential approximation (Soven, Phys. Rev. 156, 809). What rows
scatter to each other is left out; where its estimated size is not small, a relabelling has its own factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foldless.checks import Floats
from foldless.honest.design import MAX_LEVERAGE, Bools

ROUNDS = 3  # for c
GRID = 0.05  # steps of log c: relabellings of one step share their G(c)
KEPT = 40  # of these G(c)
LEAST = 1e-6  # c relative to D0, and 1 + (D - c) G(c)
CALL = 1e6  # operations that a factorisation costs beside its own
MOST_ERROR = 0.5  # of the scores, as estimated, relative to their spread
MOST_ADDED = 1.0  # by scattering to a leverage, relative to its distance from 1


@dataclass(frozen=True, eq=False)
class SharedVectors:
    """B = U diag(s) V': U, the squares of s, and the curvature D0 at which H is the identity."""

    U: Floats
    squares: Floats
    D0: float
    known: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, B: Floats, D0: float) -> SharedVectors:
        U, s, _ = np.linalg.svd(B, full_matrices=False)
        return cls(U, s**2, D0)

    @property
    def pays(self) -> bool:
        """Whether N x N products cost less than the factorisations."""
        N, k = self.U.shape
        return bool(CALL + 2 * N * k**2 > N**2)

    def diagonals(self, D: Floats) -> tuple[Floats, Floats, Floats]:
        """Diagonal of G for curvatures D (B, N), what scattering added, and what is left out relative to it."""
        steps = np.rint(np.log(self._level(D)[:, 0]) / GRID)
        own, added, missing = (np.empty(D.shape) for _ in range(3))
        for step in np.unique(steps):
            at, c = steps == step, float(np.exp(step * GRID))
            alone, squares = self._squared(c)
            tau = (D[at] - c) / np.maximum(1 + (D[at] - c) * alone, LEAST)
            added[at] = -tau @ squares
            own[at] = alone + added[at]
            missing[at] = tau**2 @ squares - (tau * alone) ** 2  # scattered by two other rows in turn
        return own, added, missing

    def _squared(self, c: float) -> tuple[Floats, Floats]:
        """Diagonal of G(c), and G(c) with its entries squared; the first ones are kept for later batches."""
        if (found := self.known.get(c)) is None:
            G = (self.U * self._spectrum(c)) @ self.U.T
            found = np.diag(G).copy(), G**2
            if len(self.known) < KEPT:
                self.known[c] = found
        return found

    def _level(self, D: Floats) -> Floats:
        """c (B, 1) at which the tau have mean 0; a mean of D."""
        c, own = D.mean(axis=1, keepdims=True), self.U.T**2
        for _ in range(ROUNDS):
            c = np.maximum(c, LEAST * self.D0)
            mass = 1 / np.maximum(1 + (D - c) * (self._spectrum(c) @ own), LEAST)
            c = (mass * D).sum(axis=1, keepdims=True) / mass.sum(axis=1, keepdims=True)
        return np.asarray(np.maximum(c, LEAST * self.D0))

    def _spectrum(self, c: Floats | float) -> Floats:
        return np.asarray(self.squares / (1 + (c - self.D0) * self.squares))


def doubtful(z: Floats, g: Floats, D: Floats, diagonals: tuple[Floats, Floats, Floats]) -> Bools:
    """Which relabellings need their own factorisation, since the scores without their rows would be wrong."""
    own, added, missing = diagonals
    slack = 1 - np.minimum(D * own, MAX_LEVERAGE)
    moved = own * g / slack
    error, shift = (np.sqrt(np.mean(each**2, axis=1)) for each in (moved * missing / slack, D * added / slack))
    return np.asarray(~((error <= MOST_ERROR * np.std(z + moved, axis=1)) & (shift <= MOST_ADDED)))
