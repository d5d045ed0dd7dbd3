"""Scores of dependent rows under fits that lack their whole group, or their own group and another one.

Removal is done one group after the other, which in the quadratic model is the same as removing both at once. After
group a, with R = sqrt(D) and C_a = R_a (I - R_a G_aa R_a)^-1 R_a,

    u_a = g_a + C_a G_aa g_a,    z' = z + G_.a u_a,    g' = g + D (z' - z),    G' = G + G_.a C_a G_a. ,

and the same formulas in primed quantities remove the second group. Groups of equal size are handled together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Ints
from foldless.honest.removal import MAX_LEVERAGE, LocalModel


@dataclass(frozen=True)
class Bucket:
    """Groups of one size m: `codes` (b,), their `rows` (b, m), and their blocks `G` (b, m, m)."""

    codes: Ints
    rows: Ints
    G: Floats


def group_shifts(model: LocalModel, codes: Ints) -> Floats:
    """z_i without the group of row i, minus z_i; shape (N,)."""
    out = np.empty(len(codes))
    for bucket in buckets(model, codes):
        u = _removed_slopes(bucket.G, model.D[bucket.rows], model.g[bucket.rows])
        out[bucket.rows] = np.einsum("bij,bj->bi", bucket.G, u)
    return out


def group_pair_shifts(model: LocalModel, codes: Ints, typical: Floats) -> tuple[Floats, Floats]:
    """Shifts T[i, h] = z_i without its own group and group h, minus z_i; T[i, own] lacks its own only.

    Also the shift S[a, h] of a `typical` row of B, one that stays, without groups a and h.
    """
    prepared, reach = buckets(model, codes), model.B @ typical
    n_groups = int(codes.max()) + 1
    T, S = np.empty((len(codes), n_groups)), np.empty((n_groups, n_groups))
    for bucket in prepared:
        for code, rows, G in zip(bucket.codes, bucket.rows, bucket.G, strict=True):
            T[rows], S[code] = _without_each_other(model, rows, G, prepared, reach)
            u = _removed_slopes(G, model.D[rows], model.g[rows])
            T[rows, code], S[code, code] = G @ u, reach[rows] @ u
    return T, S


def buckets(model: LocalModel, codes: Ints) -> list[Bucket]:
    """The groups, sorted by size."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    found = []
    for size in np.unique(sizes[sizes > 0]):
        members = np.flatnonzero(sizes == size)
        rows = order[starts[members, None] + np.arange(size)]
        B = model.B[rows]
        found.append(Bucket(members, rows, B @ B.transpose(0, 2, 1)))
    return found


def _without_each_other(
    model: LocalModel, rows: Ints, Gaa: Floats, prepared: list[Bucket], typical_reach: Floats
) -> tuple[Floats, Floats]:
    """Shifts of the rows of one group (rows, groups), and of the typical row, without it and each other group."""
    reach = model.B @ model.B[rows].T
    root = np.sqrt(model.D[rows])
    core = root[:, None] * _inverse_slack(Gaa, root) * root
    first = model.g[rows] + core @ (Gaa @ model.g[rows])
    shift = reach @ first
    g = model.g + model.D * shift
    n_groups = sum(len(b.codes) for b in prepared)
    out, typical = np.empty((len(rows), n_groups)), np.empty(n_groups)
    for bucket in prepared:
        reached = reach[bucket.rows]
        G = bucket.G + reached @ core @ reached.transpose(0, 2, 1)
        u = _removed_slopes(G, model.D[bucket.rows], g[bucket.rows])
        back = np.einsum("bmi,bm->ib", reached, u)
        out[:, bucket.codes] = shift[rows, None] + back + Gaa @ core @ back
        felt = typical_reach[bucket.rows] + reached @ (core @ typical_reach[rows])
        typical[bucket.codes] = typical_reach[rows] @ first + np.einsum("bm,bm->b", felt, u)
    return out, typical


def _removed_slopes(G: Floats, D: Floats, g: Floats) -> Floats:
    """u = (I - D G)^-1 g = g + R (I - R G R)^-1 R G g, for one block or a stack of them."""
    root = np.sqrt(D)
    inner = root * np.einsum("...ij,...j->...i", G, g)
    return np.asarray(g + root * np.einsum("...ij,...j->...i", _inverse_slack(G, root), inner))


def _inverse_slack(G: Floats, root: Floats) -> Floats:
    """(I - R G R)^-1 with the eigenvalues of R G R kept below one."""
    values, vectors = np.linalg.eigh(root[..., :, None] * G * root[..., None, :])
    slack = 1.0 - np.minimum(values, MAX_LEVERAGE)
    return np.asarray((vectors / slack[..., None, :]) @ np.swapaxes(vectors, -1, -2))
