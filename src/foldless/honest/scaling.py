"""The scaler is refitted without the removed rows: what that adds to the scores of `foldless.honest.removal`.

Without the rows S, a scaler divides column l by r_l times the old divisor (`foldless.honest.scales`). In the columns of
the full fit, that is the same training with a different penalty,

    lam/2 sum_l r_l^2 w_l^2 + sum_{k not in S} loss_k(x_k w + b),

and a free intercept absorbs every shift of the centre. With Delta = lam (r^2 - 1), M = A H^-1 the influence of the
weights on the scores, and u_S as in `removal`, a Newton step from the optimum adds to the scores of the rows S

    -m_S (Delta^-1 + H_S^-1)^-1 w_S,    m_S = (I - G_SS D_S)^-1 M_S,    w_S = w + M_S' u_S,

H_S the Hessian without S. Of H_S^-1 the diagonal is used, (Delta^-1 + H_S^-1)^-1 being taken for diag(E) with
E_l = Delta_l / (1 + Delta_l (H_S^-1)_ll), and for a row that holds several columns nearly alone, the block of these
columns. That is exact for quadratic losses if no other scale changes. For pairs of rows, E is the sum of the E of each
row alone, which reduces all pairs to a few matrix products. Groups of rows are treated set by set, with the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular

from foldless.checks import Bools, Floats, Ints, dense
from foldless.honest.design import MAX_LEVERAGE, Curvature, Design, blocks
from foldless.honest.scales import BLOCK, NO_WEIGHT, VANISHED, Units
from foldless.model.steps import ScaledColumns

if TYPE_CHECKING:
    from foldless.honest.removal import LocalModel

RARE = 1e-3  # above this, rounding cannot make 1 + Delta h vanish, which is at least r^2
MIN_DETERMINANT = 1e-12  # relative to what two unrelated rows would have
IN_CACHE = 1 << 15  # entries of the arrays that are worked on entry by entry
JOINT, MOST_JOINT = 0.15, 128  # columns whose r^2 falls by more than this are solved for together, so many at most
MANY = 10_000_000  # rows x rows x columns from which the columns of a row space are in single precision
Coordinates = tuple[Floats, Floats, Floats]  # influence of rows (rows, k), weights (k,), inverse Hessian (k, k)
Together = tuple[Ints, Ints, Floats, Callable[[], Floats]]  # see `Changes.several`
SLIGHT = 0.02  # a row that changes every r^2 by less than this hardly acts on its partners through the scaler


# ---- The fit, seen from its columns.


def lifted(design: Design, values: Floats, centred: bool) -> Floats:
    """Q' (k, p) with A = L Q' for some columns A of X (N, p) and a design L of the row space, pivot rows on top."""
    top = np.asarray(design.pivots)[: design.matrix.shape[1]]
    A = values[top] - values.mean(axis=0) if centred else values[top]
    return np.asarray(solve_triangular(design.matrix[top], A, lower=True))


@dataclass(frozen=True, eq=False)
class Rescaling:
    """A fit to the columns of X after scalers: penalty `lam`, weights `coef` in the coordinates of the design.

    `D` (N,) are the curvatures of the losses, and `curvature` is the inverse Hessian.
    """

    X: Any
    scaled: tuple[ScaledColumns, ...]
    lam: float
    coef: Floats
    D: Floats
    design: Design
    curvature: Curvature

    @cached_property
    def _reach(self) -> Floats:
        """A H^-1 of all rows, in the coordinates of the design."""
        root = self.curvature.root
        return np.asarray(self.design.rows(slice(None), self.curvature.centre) @ root @ root.T)

    @cached_property
    def _at_fit(self) -> tuple[Floats, Floats]:
        """The weights and the inverse Hessian, in the coordinates of the design."""
        return self.coef, np.asarray(self.curvature.root @ self.curvature.root.T)

    def without_rows(self) -> Rescaling:
        """What is needed to call it on rows that are not in memory."""
        marked = (replace(part, weight=None if part.weight is None else part.weight[:0]) for part in self.scaled)
        return replace(self, X=None, scaled=tuple(marked), D=self.D[:0], design=Design(None))

    def __call__(self, rows: Floats, seen: Floats, diagonal: Floats, g: Floats, D: Floats, weight: Floats) -> Floats:
        """What is added to the shift of rows removed alone: centred rows, as seen through the root, g, D, weights."""
        total, centre, own = self.curvature.total, self.curvature.centre, np.zeros((2, len(rows)))
        slack = 1.0 - np.minimum((diagonal + (0.0 if centre is None else 1.0 / total)) * D, MAX_LEVERAGE)
        values = rows if centre is None else rows + centre
        for scaled in self.scaled:
            columns = self._of_columns(scaled, values, seen)
            for part in blocks(len(rows), rows.shape[1], IN_CACHE):
                some = replace(columns, values=columns.values[part], M=columns.M[part])
                own[:, part] += some.table(D[part] / slack[part], some.changes(weight[part])).own()
        return added_alone(own[0], own[1], g / slack, slack)

    @property
    def weight(self) -> Floats:
        """Weights of the rows in the scales; anything where no scale has weights."""
        return next((part.weight for part in self.scaled if part.weight is not None), self.D)

    def columns(self, B: Floats, rows: Ints) -> Iterator[Columns]:
        """The scaled columns, some at a time; `B` are the rows `rows`, in order, through the root of H^-1."""
        seen = B[:, : self.curvature.root.shape[1]]
        own = self.design.rows(rows, None) if self.design.pivots is None else None
        for scaled in self.scaled:
            for part in blocks(scaled.width, rows.size, BLOCK):
                at = slice(scaled.columns.start + part.start, scaled.columns.start + part.stop)
                of_part = replace(scaled, columns=at, scale=scaled.scale.at(part))
                yield self._of_row_space(of_part, rows) if own is None else self._of_columns(of_part, own, seen)

    def of_groups(self, B: Floats, rows: Ints, codes: Ints) -> list[tuple[Columns, Units]]:
        """The same, and what each group of rows `codes` (N,) holds of their scales."""
        return [(c, Units.of(c.scaled, dense(self.X[:, c.scaled.columns]), codes)) for c in self.columns(B, rows)]

    def _of_columns(self, scaled: ScaledColumns, values: Floats, seen: Floats) -> Columns:
        """Where the coordinates of the design are the columns; from some rows, and these seen through the root."""
        at = scaled.columns
        root, h = self.curvature.root[at], self._diagonal[at]
        M = np.asarray(seen @ root.T.astype(seen.dtype, copy=False), dtype=np.float64)

        def space(M: Floats, J: Ints) -> Coordinates:
            return M.T[J].transpose(0, 2, 1), self.coef[at][J], root[J] @ root[J].transpose(0, 2, 1)

        own = values[:, at], self.coef[at]
        return Columns(scaled, *own, M, h, space, lambda J: np.eye(J.shape[1])[None], self.lam)

    @cached_property
    def _diagonal(self) -> Floats:
        """Of the inverse Hessian."""
        return np.asarray(np.einsum("ij,ij->i", self.curvature.root, self.curvature.root))

    def _of_row_space(self, scaled: ScaledColumns, rows: Ints) -> Columns:
        """From A = L Q' and X'D A H^-1 + lam H^-1 = I."""
        centred = self.curvature.centre is not None

        def lift() -> tuple[Floats, Any, Any]:
            values = dense(self.X[:, scaled.columns])
            dtype = np.float32 if centred and len(values) ** 2 * self.X.shape[1] >= MANY else np.float64
            about = values - values.mean(axis=0) if centred else values  # D'M = 0 with a free intercept
            return values, about.astype(dtype), lifted(self.design, values, centred).astype(dtype)

        values, about, Q = self.design.kept(("lifted", scaled.columns.start), lift)
        M, D = self._reach.astype(Q.dtype) @ Q, self.D.astype(Q.dtype)
        used = np.minimum(D @ (about * M), 1.0)

        own, seen = (values, M) if rows.size == len(M) else (values[rows], M[rows])
        w, h, space = self.coef.astype(Q.dtype) @ Q, (1.0 - used) / self.lam, (self._reach[rows], *self._at_fit)
        return Columns(scaled, own, w, seen, h, lambda *_: space, lambda J: Q.T[J].transpose(0, 2, 1), self.lam)


@dataclass(frozen=True, eq=False)
class Columns:
    """Some scaled columns of X: their `values` (rows, p) in some rows, and how these rows see them.

    `w` (p,) are the weights, `M` (rows, p) the influence, `h` (p,) the diagonal of H^-1; `lam` is the penalty. With
    coordinates in which columns J (sets, m) are Q_J (sets, k, m), as `lifted` tells, `space` gives M, w and H^-1 in
    these, for every set or once for all.
    """

    scaled: ScaledColumns
    values: Floats
    w: Floats
    M: Floats
    h: Floats
    space: Callable[[Floats, Ints], Coordinates]
    lifted: Callable[[Ints], Floats]
    lam: float

    def effective(self, h: Floats, ratio: Floats) -> Floats:
        """E = Delta / (1 + Delta h), Delta = lam (r^2 - 1), h = diag H_S^-1."""
        change = self.lam * (ratio - 1.0)
        slack = 1.0 + change * h
        if (rare := ratio < RARE).any():
            change[ratio < VANISHED] = self.lam * NO_WEIGHT
            slack[rare] = np.maximum(1.0 + change[rare] * h[rare], VANISHED)
        return np.asarray(np.divide(change, slack, out=change))

    def changes(self, weight: Floats) -> Changes:
        """What removing each row changes; `weight` are the weights of these rows in weighted scales."""
        ratio = self.scaled.scale.without_row(self.values, None if self.scaled.weight is None else weight)
        return Changes(ratio.astype(self.M.dtype, copy=False), self.lifted)

    def table(self, curvature_alone: Floats, changes: Changes) -> Table:
        """What removing each row on its own does to this fit."""
        h = self.M * self.M
        h *= curvature_alone[:, None].astype(h.dtype)
        E = self.effective(np.add(h, self.h, out=h), changes.ratio)  # h without the row
        joint: dict[int, Floats] = {}
        for rows, J, size, factor in changes.several:
            joint.update(zip(rows.tolist(), self._joint(rows, J, factor(), curvature_alone[rows]), strict=True))
            E[rows[:, None], J] *= size == 0.0
        return Table(self.w, self.M, E, changes, joint)

    def _joint(self, rows: Ints, J: Ints, F: Floats, curvature_alone: Floats) -> Floats:
        """M E_JJ w, the diagonal of M E_JJ M' and its column i, of every row i (rows, 3, all rows).

            E_JJ = (Delta^-1 + Q_J'(H_S^-1 - I/lam) Q_J + I/lam)^-1,    1/Delta + 1/lam = -r^2 / lam (1 - r^2),

        so that Q_J E_JJ Q_J' = -lam F (I + F'(I - lam H_S^-1) F)^-1 F', whose middle is at least I.
        """
        M, w, inverse = self.space(self.M, J)
        back, M, w = F.transpose(0, 2, 1), M @ F, (w[..., None, :] @ F)[:, 0]
        own = M[np.arange(rows.size), rows]
        middle = np.eye(F.shape[2]) + back @ (F - self.lam * (inverse @ F))
        middle -= (self.lam * curvature_alone[:, None] * own)[:, :, None] * own[:, None]
        ahead = M.transpose(0, 2, 1)
        solved = np.linalg.solve(middle, np.concatenate([ahead, w[:, :, None]], axis=2))
        along, square = M @ solved[:, :, -1:], np.einsum("sij,sji->si", M, solved[:, :, :-1])
        across = own[:, None] @ solved[:, :, :-1]
        return -self.lam * np.stack([along[:, :, 0], square, across[:, 0]], axis=1)


@dataclass(frozen=True, eq=False)
class Changes:
    """How each of some rows, removed alone, changes the scales of some columns: r^2 (rows, p), whatever the fit."""

    ratio: Floats
    lifted: Callable[[Ints], Floats]

    @cached_property
    def active(self) -> Bools:
        """The rows that act on their partners."""
        return np.asarray(np.abs(self.ratio - 1.0).max(axis=1) > SLIGHT)

    @cached_property
    def several(self) -> list[Together]:
        """Rows that nearly hold several columns alone, some at a time; these columns J (rows, m); sqrt(1/r^2 - 1).

        That is 0 for further columns in J of rows that hold fewer than others. The last is `_factor` of J.
        """
        falls = (self.ratio >= VANISHED) & (self.ratio < 1.0 - JOINT)
        count = np.minimum(np.count_nonzero(falls, axis=1), MOST_JOINT)
        rows = np.flatnonzero(count > 1)
        rows = rows[np.argsort(count[rows])]
        parts = blocks(rows.size, len(falls) * int(count.max(initial=1)), 2 * IN_CACHE)
        return [self._together(rows[part], falls[rows[part]], int(count[rows[part]].max())) for part in parts]

    def _together(self, rows: Ints, falls: Bools, most: int) -> Together:
        ratio = np.where(falls, self.ratio[rows], 1.0).astype(np.float64)
        J = np.argpartition(ratio, most - 1, axis=1)[:, :most]
        size = np.sqrt(1.0 / np.take_along_axis(ratio, J, axis=1) - 1.0)
        factor = partial(self._factor, J, size)
        return rows, J, size, cache(factor) if len(self.ratio) <= MOST_JOINT else factor  # the same for every penalty

    def _factor(self, J: Ints, size: Floats) -> Floats:
        """F with F F' = Q_J diag(1/r^2 - 1) Q_J', with no more columns than there are coordinates."""
        F = self.lifted(J) * size[:, None]
        if J.shape[1] <= F.shape[1]:
            return F
        return np.asarray(np.linalg.qr(F.transpose(0, 2, 1), mode="r")).transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class Table:
    """For some columns, the weights `w` (p,), the influence `M` and the changed penalty `E` of each row (rows, p).

    `joint` holds what is to be added for rows whose E is not diagonal, as `Columns._joint` has it.
    """

    w: Floats
    M: Floats
    E: Floats
    changes: Changes
    joint: dict[int, Floats]

    def own(self) -> tuple[Floats, Floats]:
        """M_i E_i w and M_i E_i M_i' of every row."""
        ME = self.M * self.E
        along, across = ME @ self.w, np.einsum("ij,ij->i", ME, self.M)
        for i, more in self.joint.items():
            along[i] += more[0, i]
            across[i] += more[1, i]
        return along, across


# ---- A penalised intercept (liblinear) after a scaler that centres.
#
# Without the rows S, the scaler centres the others again, so that the intercept, though penalised, hardly has to move.
# With the centre kept it would have to move, against its penalty. The closest equivalent is to free the intercept: b
# then absorbs the shift of the centre. Since X'1 = 0, the weights stay optimal when the slopes are centred. The weights
# hardly depend on the intercept, as X'D 1 is nearly 0 too: so the penalty is given back to the intercept in the end.


def is_centred(scaled: tuple[ScaledColumns, ...], width: int) -> bool:
    """Whether scalers subtracted the unweighted mean from every column."""
    return sum(part.width for part in scaled if part.centred and part.weight is None) == width


@dataclass(frozen=True, eq=False)
class Intercept:
    """An intercept with the penalty lam b^2 / 2; `seen` is its direction through the root that has it free.

    Without the k rows S it would go from b to b_S if it were free. Where sum_j g_j + lam b = 0, it goes to

        b_S - lam (b_S - b + b k / N) / (sum_{j not in S} D_j + lam).
    """

    lam: float
    value: float
    seen: Floats
    total: float  # sum of D
    n_rows: int

    def held_back(self, k: Any, moved: Any, z: Any, D: Any) -> Any:
        """What its penalty adds to all scores without k rows, whose scores and curvatures add up to z and D.

        Free and in the columns of all rows, it has `moved`; the scores too are those with the intercept free.
        """
        t = 1.0 / (self.n_rows - k)
        free = (1.0 + k * t) * (self.value + moved) - t * z
        return -self.lam * (free - self.value + self.value * k / self.n_rows) / (self.total - D + self.lam)


# ---- What to add to the scores of single rows, and of pairs.


def added_alone(along: Floats, across: Floats, slope_alone: Floats, slack: Floats) -> Floats:
    """For z_i(-i), of every row: -M_i E_i (w + M_i' u_i) / (1 - h_i), u_i = g_i / (1 - h_i)."""
    return np.asarray(-(along + across * slope_alone) / slack)


@dataclass(frozen=True, eq=False)
class Corrections:
    """What the scaler adds to the shifts of the rows `rows` of X, of which `model` is the quadratic model."""

    rescaling: Rescaling
    model: LocalModel
    rows: Ints

    @cached_property
    def tables(self) -> list[Table]:
        """The scaled columns, some at a time."""
        d, all_columns = self.model.curvature_alone, self.rescaling.columns(self.model.B, self.rows)
        return [columns.table(d, self._changes(columns)) for columns in all_columns]

    def _changes(self, columns: Columns) -> Changes:
        make = partial(columns.changes, self.rescaling.weight[self.rows])
        found: Changes = self.rescaling.design.kept((columns.scaled.columns.start, self.rows.tobytes()), make)
        return found

    @cached_property
    def own(self) -> Floats:
        """M_i E_i w and M_i E_i M_i' of every row."""
        return np.asarray(np.sum([table.own() for table in self.tables], axis=0))

    def single(self) -> Floats:
        return added_alone(self.own[0], self.own[1], self.model.slope_alone, self.model.slack)

    def pairs(self, i: Ints, j: Ints, slopes: Callable[..., tuple[Floats, ...]]) -> tuple[Floats, Floats]:
        """For z_i(-ij) and z_j(-ij), (i, j) each; places among `rows`, and `slopes` as `removal.pair_slopes`.

        Of two rows that both change the scales slightly, neither acts on the other.
        """
        alone, active = self.single(), np.any([table.changes.active for table in self.tables], axis=0)
        of_i, of_j = np.empty((2, i.size, j.size))
        mostly = 2 * np.count_nonzero(active) > active.size  # then all pairs in one go cost less than two parts of them
        strong, weak = np.flatnonzero(active[i] | mostly), np.flatnonzero(~active[i] & (not mostly))
        for first, second in ((strong, np.arange(j.size)), (weak, np.flatnonzero(active[j]))):
            for part in blocks(second.size if first.size else 0, first.size, IN_CACHE):
                places = np.ix_(first, second[part])
                at = i[first], j[second[part]]
                of_i[places], of_j[places] = self._pairs(*at, *slopes(*at))
        idle = ~(active[i, None] | active[j])
        return np.where(idle, alone[i, None], of_i), np.where(idle, alone[j], of_j)

    def _pairs(self, i: Ints, j: Ints, G: Floats, ui: Floats, uj: Floats) -> tuple[Floats, Floats]:
        (iw, ii, ij), (jw, jj, ji) = np.zeros((3, i.size, j.size)), np.zeros((3, j.size, i.size))
        for table in self.tables:
            _act(table, i, j, iw, ii, ij)
            _act(table, j, i, jw, jj, ji)
        along, across = self.own
        ij = ij + ji.T
        felt_i = along[i, None] + iw + (across[i, None] + ii) * ui + ij * uj  # M_i (E_i + E_j) w_S
        felt_j = along[j] + jw.T + (across[j] + jj.T) * uj + ij * ui
        pull_i, pull_j = G * self.model.curvature_alone[j], G * self.model.curvature_alone[i, None]
        det = np.maximum(1.0 - pull_i * pull_j, MIN_DETERMINANT)
        slack = self.model.slack
        return -(felt_i + pull_i * felt_j) / (det * slack[i, None]), -(felt_j + pull_j * felt_i) / (det * slack[j])


def _act(table: Table, i: Ints, j: Ints, w: Floats, square: Floats, cross: Floats) -> None:
    """Add M_i E_j w, M_i E_j M_i' and M_i E_j M_j', all (i, j), of the rows j that change a scale."""
    M, at = table.M[i], np.flatnonzero(table.changes.active[j])
    E = table.E[j[at]]
    w[:, at] += M @ (table.w * E).T
    square[:, at] += (M * M) @ E.T
    cross[:, at] += M @ (table.M[j[at]] * E).T
    for place, row in enumerate(j):
        if row in table.joint:
            for of_row, more in zip((w, square, cross), table.joint[row][:, i], strict=True):
                of_row[:, place] += more
