"""The scaler is refitted without the removed rows: what that adds to the scores of `foldless.honest.removal`.

Without the rows S, a scaler divides column l by r_l times the old divisor. In the columns of the full fit, that is the
same training with a different penalty,

    lam/2 sum_l r_l^2 w_l^2 + sum_{k not in S} loss_k(x_k w + b),

and a free intercept absorbs every shift of the centre. With Delta = lam (r^2 - 1), M = A H^-1 the influence of the
weights on the scores, and u_S as in `removal`, a Newton step from the optimum adds to the scores of the rows S

    -m_S (Delta^-1 + H_S^-1)^-1 w_S,    m_S = (I - G_SS D_S)^-1 M_S,    w_S = w + M_S' u_S,

H_S the Hessian without S. Of H_S^-1 only the diagonal is used: (Delta^-1 + H_S^-1)^-1 is taken for diag(E) with
E_l = Delta_l / (1 + Delta_l (H_S^-1)_ll). That is exact for quadratic losses if one scale changes; if one row nearly
alone determines several columns, these are treated as if they were unrelated. For pairs of rows, E is the sum of the E
of each row alone, which reduces all pairs to a few matrix products; groups of rows are treated set by set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular

from foldless.checks import Floats, is_sparse
from foldless.honest.design import Curvature, Design, Ints, blocks
from foldless.model.steps import ScaledColumns

if TYPE_CHECKING:
    from foldless.honest.removal import LocalModel

VANISHED = 1e-10  # r^2 below this is rounding: the column is constant without the rows, and its weight 0 already
BLOCK = 1 << 17  # entries of a table worked on at a time: fewer and wider products for the pairs, and 1 MB of memory
KEPT = 1 << 20  # up to this many entries, a table is kept rather than computed twice: 8 MB
MIN_DETERMINANT = 1e-12  # relative to what two unrelated rows would have


# ---- r^2: the factor by which squared scales change when units (rows, or groups of rows) are removed.


@dataclass(frozen=True, eq=False)
class Spread:
    """Columns divided by their standard deviation.

    `lost` is what is lost with each unit (units, p): the sums over its rows of weight, weight x value and
    weight x value^2, with standardised values. `total` is the weight of all rows.
    """

    lost: tuple[Floats, Floats, Floats]
    total: float

    @classmethod
    def of(cls, values: Floats, weight: Floats | None, codes: Ints | None) -> Spread:
        """From the values (N, p); `weight` is the weight of each row in the standard deviation."""
        c = np.ones(len(values)) if weight is None else weight
        total = float(c.sum())
        d = values - c @ values / total
        variance = c @ d**2 / total
        d /= np.sqrt(np.where(variance > 0, variance, 1.0))
        first = c[:, None] * d
        weights, sums, squares = (_per_unit(np.add, part, codes) for part in (c[:, None], first, first * d))
        # A column that does not vary is not divided by anything: it keeps its scale.
        return cls((weights, sums, np.where(variance > 0, squares, weights)), total)

    def ratio(self, sets: Ints) -> Floats:
        """r^2 (n, p) without each of these sets (n, s) of units: (W - sum c d^2)/V - (sum c d/V)^2, V = W - sum c."""
        lost, first, second = (part[sets].sum(axis=1) for part in self.lost)
        left = self.total - lost
        return np.asarray(np.maximum((self.total - second) / left - (first / left) ** 2, 0.0))


@dataclass(frozen=True, eq=False)
class Extent:
    """Columns divided by their range or largest absolute value: a sum of extremes, kept for each unit (units, p)."""

    extremes: tuple[Floats, ...]

    @classmethod
    def of(cls, values: Floats, ranged: bool, codes: Ints | None) -> Extent:
        """From the values (N, p)."""
        sides = (values, -values) if ranged else (np.abs(values),)
        return cls(tuple(_per_unit(np.maximum, side, codes) for side in sides))

    def ratio(self, sets: Ints) -> Floats:
        """The same for an extent, which changes only if the removed units alone hold an extreme."""
        whole = sum(side.max(axis=0) for side in self.extremes)
        without = sum(_largest_without(side, sets) for side in self.extremes)
        return np.asarray(np.where(whole > 0, without / np.where(whole > 0, whole, 1.0), 1.0) ** 2)


def _largest_without(units: Floats, sets: Ints) -> Floats:
    """Largest entry of each column of (units, p) without each set of units (n, s): shape (n, p)."""
    few = sets.shape[1] + 1
    top = np.argpartition(units, -few, axis=0)[-few:]
    top = np.take_along_axis(top, np.argsort(np.take_along_axis(units, top, axis=0), axis=0), axis=0)
    largest, *others = np.take_along_axis(units, top, axis=0)
    for place, value in zip(top[1:], others, strict=True):
        gone = np.any(sets[:, :, None] == place, axis=1)
        largest = np.where(gone, largest, value)
    return np.asarray(largest)


def _per_unit(combine: np.ufunc, values: Floats, codes: Ints | None) -> Floats:
    """Rows of one group combined into one; the rows themselves without groups."""
    if codes is None:
        return values
    order = np.argsort(codes, kind="stable")
    return np.asarray(combine.reduceat(values[order], np.flatnonzero(np.diff(codes[order], prepend=-1)), axis=0))


def scale_of(scaled: ScaledColumns, values: Floats, codes: Ints | None) -> Spread | Extent:
    """How the scale of some of the columns follows from their values."""
    if scaled.kind == "sd":
        return Spread.of(values, scaled.weight, codes)
    return Extent.of(values, scaled.kind == "range", codes)


# ---- The fit, seen from its columns.


@dataclass(frozen=True, eq=False)
class Rescaling:
    """A fit whose columns went through scalers.

    Attributes
    ----------
    X : matrix of shape (N, P)
        The columns after the scalers.
    scaled : tuple of ScaledColumns
        Which of them, and by what they were divided.
    lam : float
        Penalty at the optimum.
    coef : ndarray of shape (k,), or (k, K) for the fits of several classes
        Weights there, in the coordinates of the design.
    D : ndarray of shape (N,)
        Curvatures of the losses there.
    design, curvature : the rows, and the inverse Hessian
    """

    X: Any
    scaled: tuple[ScaledColumns, ...]
    lam: float
    coef: Floats
    D: Floats
    design: Design
    curvature: Curvature

    @cached_property
    def _lifted(self) -> tuple[Floats, Floats]:
        """Rows of M (N, k), and w, as combinations of the pivot rows of a design of the row space."""
        root, matrix, pivots = self.curvature.root, self.design.matrix, self._pivots
        seen = self.design.rows(slice(None), self.curvature.centre) @ root @ root.T
        both = solve_triangular(matrix[pivots], np.vstack([seen, self.coef.T]).T, lower=True, trans="T")
        return both[:, : len(seen)].T, both[:, len(seen) :].reshape(self.coef.shape)

    @property
    def _pivots(self) -> Ints:
        return np.asarray(self.design.pivots)[: self.design.matrix.shape[1]]

    def columns(self, B: Floats, rows: Ints, codes: Ints | None = None) -> Iterator[Columns]:
        """The scaled columns, some at a time; `B` are the rows `rows` seen through the root of the inverse Hessian.

        Rows are removed one by one, or in groups `codes` (N,).
        """
        seen = B[:, : self.curvature.root.shape[1]]
        for scaled in self.scaled:
            start = scaled.columns.start
            for part in blocks(scaled.width, rows.size, BLOCK):
                at = slice(start + part.start, start + part.stop)
                values = self.X[:, at]
                values = np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)
                inner = self._own(at, seen) if self.design.pivots is None else self._of_row_space(values, rows)
                yield Columns(scale_of(scaled, values, codes), *inner, self.lam)

    def _own(self, at: slice, seen: Floats) -> tuple[Floats, Floats, Floats]:
        """w, M and h where the coordinates of the design are the columns."""
        root = self.curvature.root[at]
        return self.coef[at], seen @ root.T, np.einsum("ij,ij->i", root, root)

    def _of_row_space(self, values: Floats, rows: Ints) -> tuple[Floats, Floats, Floats]:
        """The same from A = L Q', Q' = L_top^-1 A_top with the pivot rows on top; diag(X'D A H^-1) + lam h = 1."""
        top = values[self._pivots]
        if self.curvature.centre is not None:
            top = top - values.mean(axis=0)
        lifted, coef = self._lifted
        M = lifted @ top
        used = np.minimum(np.einsum("ij,ij->j", self.D[:, None] * values, M), 1.0)
        return top.T @ coef, M[rows], (1.0 - used) / self.lam


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of X: `scale`, weights `w` (p,) or (p, K), influence `M` (rows, p), `h` = diag H^-1 (p,), `lam`."""

    scale: Spread | Extent
    w: Floats
    M: Floats
    h: Floats
    lam: float

    def effective(self, h: Floats, ratio: Floats) -> Floats:
        """E = Delta / (1 + Delta h), Delta = lam (r^2 - 1), h = diag H_S^-1; 0 where a column vanishes."""
        change = self.lam * (ratio - 1.0)
        return np.asarray(np.where(ratio < VANISHED, 0.0, change / np.maximum(1.0 + change * h, VANISHED)))


@dataclass(frozen=True, eq=False)
class Table:
    """For some columns, weights `w` (p,) or (p, K), influence `M` and changed penalty `E` of each row (rows, p)."""

    w: Floats
    M: Floats
    E: Floats


# ---- A penalised intercept (liblinear) after a scaler that centres.
#
# Without the rows S, the scaler centres the others again, so that the intercept, though penalised, hardly has to move.
# With the centre kept it would have to move, against its penalty. The closest equivalent is to free the intercept: b
# then absorbs the shift of the centre. Since X'1 = 0, the weights stay optimal when the slopes are centred.


def is_centred(scaled: tuple[ScaledColumns, ...], width: int) -> bool:
    """Whether scalers subtracted the unweighted mean from every column."""
    return sum(part.width for part in scaled if part.centred and part.weight is None) == width


def with_free_intercept(design: Design, curvature: Curvature, D: Floats, lam: float, constant: float) -> Curvature:
    """The inverse Hessian without the penalty on the weight of the constant column, e: an update of rank one.

    (H - lam e e')^-1 = H^-1 + f f',  f = H^-1 e sqrt(lam / (1 - lam e'H^-1 e)).
    """
    root, e = curvature.root, np.zeros(design.matrix.shape[1])
    if design.pivots is None:
        e[-1] = 1.0
    else:  # all rows together are a multiple of e, so it lies in the row space
        top = design.matrix[design.pivots[: e.size]]
        e = solve_triangular(top, np.full(e.size, constant), lower=True)
    f = root @ (root.T @ e)
    left = constant * float(D @ design.scores(f))  # 1 - lam e'H^-1 e, without the subtraction
    f *= np.sqrt(lam / left) if left > 0 else 0.0
    return Curvature(np.hstack([root, f[:, None]]), None, np.inf)


# ---- What to add to the scores of single rows, and of pairs.


@dataclass(frozen=True, eq=False)
class Corrections:
    """What the scaler adds to the shifts of the rows `rows` of X, of which `model` is the quadratic model."""

    rescaling: Rescaling
    model: LocalModel
    rows: Ints

    def tables(self) -> Iterable[Table]:
        """The scaled columns, some at a time."""
        width = sum(scaled.width for scaled in self.rescaling.scaled)
        return self._kept if width * self.rows.size <= KEPT else self._made()

    @cached_property
    def _kept(self) -> list[Table]:
        return list(self._made())

    def _made(self) -> Iterator[Table]:
        for columns in self.rescaling.columns(self.model.B, self.rows):
            h = columns.h + self.model.curvature_alone[:, None] * columns.M**2  # without the row
            yield Table(columns.w, columns.M, columns.effective(h, columns.scale.ratio(self.rows[:, None])))

    @cached_property
    def own(self) -> tuple[Floats, Floats]:
        """M_i E_i w and M_i E_i M_i' of every row."""
        along, across = np.zeros((self.rows.size, *self.rescaling.coef.shape[1:])), np.zeros(self.rows.size)
        for table in self.tables():
            ME = table.M * table.E
            along += ME @ table.w
            across += np.einsum("ij,ij->i", ME, table.M)
        return along, across

    def single(self) -> Floats:
        """For z_i(-i), of every row: -M_i E_i (w + M_i' u_i) / (1 - h_i), u_i = g_i / (1 - h_i)."""
        along, across = self.own
        return np.asarray(-(along + across * self.model.slope_alone) / self.model.slack)

    def pairs(self, i: Ints, j: Ints, G: Floats, ui: Floats, uj: Floats) -> tuple[Floats, Floats]:
        """For z_i(-ij) and z_j(-ij), (i, j) each; places among `rows`, with G and the slopes u of `removal`."""
        iw, jw, ij, ii, jj = np.zeros((5, i.size, j.size))
        for table in self.tables():
            M, E, Mw = table.M, table.E, table.M * table.w
            ME, M2, Ei, Ej = M * E, M * M, E[i], E[j].T
            iw += Mw[i] @ Ej
            jw += Ei @ Mw[j].T
            ij += ME[i] @ M[j].T + M[i] @ ME[j].T
            ii += M2[i] @ Ej
            jj += Ei @ M2[j].T
        along, across = self.own
        felt_i = along[i, None] + iw + (across[i, None] + ii) * ui + ij * uj  # M_i (E_i + E_j) w_S
        felt_j = along[j] + jw + (across[j] + jj) * uj + ij * ui
        pull_i, pull_j = G * self.model.curvature_alone[j], G * self.model.curvature_alone[i, None]
        det = np.maximum(1.0 - pull_i * pull_j, MIN_DETERMINANT)
        slack = self.model.slack
        return -(felt_i + pull_i * felt_j) / (det * slack[i, None]), -(felt_j + pull_j * felt_i) / (det * slack[j])
