"""Scores of rows under the fit that lacks them, in closed form: one row, or a pair of rows.

For any set S of rows, the quadratic model of the objective at its optimum gives

    z_S(-S) - z_S = G_SS u_S,    (I - D_S G_SS) u_S = g_S,

exact for quadratic losses and one Newton step otherwise. Nothing is divided by D, which may vanish.
All functions return shifts z(-S) - z.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Ints, blocks

MAX_LEVERAGE = 1.0 - 1e-13  # a row that alone decides its own score has leverage 1
MIN_DETERMINANT = 1e-12  # relative to what two unrelated rows would have
PAIRS_IN_CACHE = 1 << 14  # pairs worked on at a time: a few arrays of 128 kB, which stay in the cache


@dataclass(frozen=True)
class LocalModel:
    """Quadratic model at the optimum, on the rows under study: slopes g, curvatures D, and B with G = B B'."""

    g: Floats
    D: Floats
    B: Floats

    @cached_property
    def diagonal(self) -> Floats:
        """G_ii."""
        return np.asarray(np.einsum("ij,ij->i", self.B, self.B))

    @cached_property
    def slack(self) -> Floats:
        """1 - h_i, the share of its own score that a row does not decide."""
        return 1.0 - np.minimum(self.diagonal * self.D, MAX_LEVERAGE)

    @cached_property
    def steepness(self) -> Floats:
        """g_i / (1 - h_i)."""
        return np.asarray(self.g / self.slack)

    @cached_property
    def bend(self) -> Floats:
        """D_i / (1 - h_i)."""
        return np.asarray(self.D / self.slack)

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """G[rows, columns]."""
        return np.asarray(self.B[rows] @ self.B[columns].T)


def single_shifts(model: LocalModel) -> Floats:
    """z_i(-i) - z_i = G_ii g_i / (1 - h_i)."""
    return np.asarray(model.diagonal * model.steepness)


def pair_shifts(model: LocalModel, rows: Ints, columns: Ints) -> tuple[Floats, Floats]:
    """Shifts of i and of j, both without i and j, for every i in `rows` and j in `columns`.

    The shift of i is G_ii u_i + G_ij u_j. Both arrays have shape (rows, columns); entries with i = j are meaningless.
    """
    return _shifts(model, rows, columns, *_pair_slopes(model, rows, columns))


def _shifts(model: LocalModel, rows: Ints, columns: Ints, G: Floats, ui: Floats, uj: Floats) -> tuple[Floats, Floats]:
    shift_i, shift_j = model.diagonal[rows, None] * ui, model.diagonal[columns] * uj
    shift_i += G * uj
    shift_j += G * ui
    return shift_i, shift_j


def _pair_slopes(model: LocalModel, rows: Ints, columns: Ints) -> tuple[Floats, Floats, Floats]:
    """G, u_i = (g_i + d_i G g_j) / det and u_j likewise; det = 1 - d_i d_j G^2, g and d over 1 - h."""
    gi, di, gj, dj = model.steepness[rows, None], model.bend[rows, None], model.steepness[columns], model.bend[columns]
    G = model.block(rows, columns)
    ui, uj = G * di, G * dj
    det = ui * uj
    np.subtract(1.0, det, out=det)
    np.maximum(det, MIN_DETERMINANT, out=det)
    for u, own, other in ((ui, gi, gj), (uj, gj, gi)):
        u *= other
        u += own
        u /= det
    return G, ui, uj


def typical_row(model: LocalModel, rows1: Ints, rows0: Ints) -> Floats:
    """Row of B half-way between the class means."""
    return np.asarray(0.5 * (model.B[rows1].mean(axis=0) + model.B[rows0].mean(axis=0)))


def cross_shifts(model: LocalModel, rows1: Ints, rows0: Ints) -> tuple[Floats, Floats, float]:
    """`pair_shifts` of all pairs of one positive and one negative row, and the mean shift of the rows that stay.

    That last one is the mean over pairs, classes counted alike: one row is a larger part of a small class than of a
    large one, so the intercept of the removed fit drifts.
    """
    out1, out0 = np.empty((len(rows1), len(rows0))), np.empty((len(rows1), len(rows0)))
    reach = model.B @ typical_row(model, rows1, rows0)
    moved = 0.0
    for part in column_blocks(len(rows1), len(rows0)):
        columns = rows0[part]
        G, ui, uj = _pair_slopes(model, rows1, columns)
        moved += float(reach[rows1] @ ui.sum(axis=1) + reach[columns] @ uj.sum(axis=0))
        out1[:, part], out0[:, part] = _shifts(model, rows1, columns, G, ui, uj)
    return out1, out0, moved / out1.size


def within_influence(model: LocalModel, rows: Ints, single: Floats) -> Floats:
    """For each j in `rows`: sum over the other i in `rows` of (I_ij - mean_i I_ij)^2, I_ij = z_i(-ij) - z_i(-i)."""
    total = np.empty(len(rows))
    for part in column_blocks(len(rows), len(rows)):
        own, _ = pair_shifts(model, rows, rows[part])
        influence = own - single[rows, None]
        diagonal = (np.arange(len(rows))[part], np.arange(influence.shape[1]))
        influence[diagonal] = 0.0
        influence -= influence.mean(axis=0)
        influence[diagonal] = 0.0
        total[part] = np.einsum("ij,ij->j", influence, influence)
    return total


def column_blocks(height: int, width: int) -> Iterator[slice]:
    """Slices of range(width) such that height x slice stays in the cache."""
    return blocks(width, height, PAIRS_IN_CACHE)
