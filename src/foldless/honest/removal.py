"""The removal formula: the score of a row under the fit without it, or without a pair of rows, in closed form.

For any set S of rows, the quadratic model of the objective at its optimum gives

    z_S(-S) - z_S = G_SS u_S,    (I - D_S G_SS) u_S = g_S,

with z the scores, g and D the slopes and curvatures of the losses, and G = A H^-1 A' the influence of the rows A on
each other's scores (H the Hessian). It is exact for quadratic losses and one Newton step otherwise; another is added
where it matters (`foldless.honest.newton.second_steps`). Nothing is divided by D, which may vanish. `pair_shifts`
applies the formula to two rows; `foldless.honest.rows` makes honest scores of the shifts z(-S) - z.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Bools, Floats, Ints
from foldless.honest.design import MAX_LEVERAGE, Curvature, Design, blocks, with_free_intercept
from foldless.honest.newton import MOST_ROWS, Point
from foldless.honest.objective import Loss, Objective, Readout, Removal, SquaredLoss
from foldless.honest.optimum import Optimum, curvature_of, descend, tempered
from foldless.honest.pairs import Members
from foldless.honest.scaling import MIN_DETERMINANT, Corrections, Intercept, Rescaling, is_centred

PAIRS_IN_CACHE, G_KNOWN = 1 << 16, 1 << 13  # pairs worked on at a time, whose arrays stay in the cache: by B, and by G


@dataclass(frozen=True)
class LocalModel:
    """Quadratic model at the optimum, on the rows under study: slopes g, curvatures D, and B with G = B B'."""

    g: Floats
    D: Floats
    B: Floats

    @cached_property
    def diagonal(self) -> Floats:
        """G_ii."""
        squares: Floats = np.einsum("ij,ij->i", self.B, self.B).astype(np.float64, copy=False)
        return squares

    @cached_property
    def slack(self) -> Floats:
        """1 - h_i, the share of its own score that a row does not determine."""
        return 1.0 - np.minimum(self.diagonal * self.D, MAX_LEVERAGE)

    @cached_property
    def slope_alone(self) -> Floats:
        """g_i / (1 - h_i)."""
        return self.g / self.slack

    @cached_property
    def curvature_alone(self) -> Floats:
        """D_i / (1 - h_i)."""
        return self.D / self.slack

    def between(self, rows: Ints, columns: Ints) -> Floats:
        """G of these rows and columns."""
        return (self.B[rows] @ self.B[columns].T).astype(np.float64, copy=False)

    @cached_property
    def G(self) -> Floats:
        """Influence of all rows on each other's scores."""
        return np.asarray(self.B @ self.B.T)

    def at(self, rows: Ints) -> LocalModel:
        """The model on some of its rows, on the host."""
        return LocalModel(*(np.asarray(each[rows]) for each in (self.g, self.D, self.B)))


def pair_shifts(model: LocalModel, rows: Ints, columns: Ints) -> tuple[Floats, Floats]:
    """Shifts of i and of j, both without i and j, for every i in `rows` and j in `columns`.

    The shift of i is G_ii u_i + G_ij u_j. Both arrays have shape (rows, columns); entries with i = j are meaningless.
    """
    G, ui, uj = pair_slopes(model, rows, columns)
    return model.diagonal[rows, None] * ui + G * uj, model.diagonal[columns] * uj + G * ui


def pair_slopes(model: LocalModel, rows: Ints, columns: Ints, G: Any = None) -> tuple[Floats, Floats, Floats]:
    """G, u_i = (g_i + d_i G g_j) / det and u_j likewise; det = 1 - d_i d_j G^2, g and d over 1 - h."""
    g, d = model.slope_alone, model.curvature_alone
    gi, di, gj, dj = g[rows, None], d[rows, None], g[columns], d[columns]
    G = model.between(rows, columns) if G is None else G
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
    share = np.zeros(len(model.B))
    share[rows1], share[rows0] = 0.5 / len(rows1), 0.5 / len(rows0)
    return share @ model.B


def cross_shifts(model: LocalModel, first: Members, second: Members) -> tuple[Floats, Floats, float]:
    """`pair_shifts` of all pairs of one positive and one negative row, and the mean shift of the rows that stay.

    The latter is averaged over pairs, with equal weight for both classes: one row is a larger part of a small class
    than of a large one, so the intercept drifts when a pair is removed.
    """
    rows1, rows0 = first.rows, second.rows
    out1, reach = model.between(rows1, rows0), model.B @ typical_row(model, rows1, rows0)
    out0 = np.empty_like(out1)
    moved: Any = 0.0
    for part in blocks(len(rows1), len(rows0), G_KNOWN if isinstance(out1, np.ndarray) else None):
        rows, share1 = rows1[part], first.share[part]
        G, ui, uj = pair_slopes(model, rows, rows0, out1[part])
        moved = moved + (reach[rows] * share1) @ (ui @ second.share) + (share1 @ uj) @ (reach[rows0] * second.share)
        out1[part], out0[part] = model.diagonal[rows, None] * ui + G * uj, model.diagonal[rows0] * uj + G * ui
    return out1, out0, moved


def within_influence(model: LocalModel, members: Members) -> float:
    """Sum over j, and over the other i of a class, of (I_ij - mean_i I_ij)^2, I_ij = z_i(-ij) - z_i(-i)."""
    rows, total = members.rows, 0.0
    for part in column_blocks(len(rows), len(rows), model.B):
        G, _, influence = pair_slopes(model, rows, rows[part])
        influence *= G / model.slack[rows, None]  # I_ij = G_ij u_j / (1 - h_i)
        diagonal = (np.arange(len(rows))[part], np.arange(influence.shape[1]))
        influence[diagonal] = 0.0
        influence -= members.share @ influence
        influence[diagonal] = 0.0
        total += float(members.share @ influence**2 @ members.share[part])
    return members.count**2 * total


def between_influence(influence: Floats, members: Members, partners: Members) -> float:
    """The same for j of the other class, from I (members, partners)."""
    influence -= members.share @ influence
    return members.count * partners.count * float(members.share @ influence**2 @ partners.share)


def column_blocks(height: int, width: int, of: Any = None) -> Iterator[slice]:
    """Slices of range(width) such that height x slice stays in the cache, of arrays on the host."""
    return blocks(width, height, PAIRS_IN_CACHE if of is None or isinstance(of, np.ndarray) else None)


# ---- A fitted model ready for removal: the common form of a known objective and of a surrogate.


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that removal needs, for all N rows.

    Honest score = readout(base + gain x shift), with shifts from the quadratic model (g, D, G = B B').

    `loss` is None where it is quadratic, and the formula exact.

    Balanced class weights are recomputed as rows are removed. This is then the fit to all rows with the class weights
    for one row fewer per class, which serves every pair; `fitted` holds the scores of the user's own fit, and `alone`
    the fits with the class weights for one negative row fewer, and for one positive row fewer.
    """

    positive: Bools
    base: Floats
    gain: float
    g: Floats
    D: Floats
    design: Design
    curvature: Curvature
    readout: Readout
    rescaling: Rescaling | None = None
    intercept: Intercept | None = None
    loss: Loss | None = None
    fitted: Floats | None = None
    alone: tuple[Problem, Problem] | None = None

    def corrections(self, model: LocalModel, rows: Ints) -> Corrections | None:
        """What the scaler adds to the shifts of these rows, of which `model` is the quadratic model."""
        return None if self.rescaling is None else Corrections(self.rescaling, model, rows)

    @cached_property
    def whole(self) -> LocalModel:
        """Quadratic model on all rows."""
        return LocalModel(self.g, self.D, self.curvature.influence_rows(self.design, np.arange(self.positive.size)))

    def local_model(self, rows: Ints, *, exact: bool = True) -> LocalModel:
        """Quadratic model on some of the rows, in order; `exact` as in `Curvature.influence_rows`."""
        if rows.size == self.positive.size <= MOST_ROWS:
            return self.whole
        return LocalModel(self.g[rows], self.D[rows], self.curvature.influence_rows(self.design, rows, exact=exact))

    def seen(self, V: Floats) -> tuple[Floats, Floats, Floats]:
        """G_ii and B V of all rows, and what the scaler adds to the shift of each row, removed on its own."""
        if self.rescaling is None:
            return self.curvature.seen(self.design, V)
        if self.design.pivots is None:
            more = self.rescaling.without_rows(), self.g, self.D, self.rescaling.weight
            return self.curvature.seen(self.design, V, *more)
        rows = np.arange(self.positive.size)
        model = self.local_model(rows)
        return model.diagonal, model.B @ V[: model.B.shape[1]], Corrections(self.rescaling, model, rows).single()

    @property
    def slope(self) -> float:
        """Decision value per unit of shift."""
        return self.gain * self.readout.slope

    def drift(self, bystander: float) -> float:
        """Change in the decision values of the remaining rows, given the change in their scores."""
        if self.fitted is not None:
            moved = self.base - self.fitted
            bystander += 0.5 * float(moved[self.positive].mean() + moved[~self.positive].mean())
        return self.readout.drift(self.gain * bystander)

    def in_sample(self) -> Floats:
        return self.readout.in_sample(self.base if self.fitted is None else self.fitted)

    def scores(self, rows: Ints | slice, shifts: Floats) -> Floats:
        """Honest scores before the readout; shifts of shape (rows,) or (rows, anything)."""
        base, moved = self.base[rows], shifts if self.gain == 1.0 else self.gain * shifts
        return (base if shifts.ndim == 1 else base[:, None]) + moved

    def lever(self, rows: Ints | slice, kept: Floats) -> Floats:
        """What each removed row adds to `Removal.lever`: D ((z - t) z(-S) - t z), from shifts with the scaler kept."""
        # With the scaler refitted, the row may lie far outside; the others, whose class means are wanted, do not.
        whole = self.base[rows], np.where(self.positive[rows], 1.0, -1.0), self.D[rows]
        z, t, D = (each.reshape(-1, *[1] * (kept.ndim - 1)) for each in whole)
        return np.asarray(D * ((z - t) * (z + self.gain * kept) - t * z))

    @cached_property
    def mass(self) -> tuple[Floats, Floats]:
        """Curvature of the positive rows, zero elsewhere; and of the negative rows."""
        return self.D * self.positive, self.D * ~self.positive

    def removal(self, gone1: Floats, gone0: Floats, lever: Floats) -> Removal:
        """Summary of removed rows: their mass in each class, and their lever."""
        return Removal(self.mass[0].sum() - gone1, self.mass[1].sum() - gone0, lever)


def problem_at(positive: Bools, objective: Objective, design: Design, solution: Optimum) -> Problem:
    """An objective at its optimum, with the class weights that apply once rows have been removed."""
    lam = max(tempered(objective, design).lam, objective.lam * solution.penalty_factor)
    if objective.balance is None:
        return _problem(positive, objective, lam, design, solution.point, solution.curvature)
    both, *alone = (
        _problem(positive, fewer, lam, design, *_reached(replace(fewer, lam=lam), design, solution.point))
        for fewer in (objective.without(1, 1), objective.without(1, 0), objective.without(0, 1))
    )
    return replace(both, fitted=solution.point.scores, alone=(alone[0], alone[1]))


def _reached(objective: Objective, design: Design, start: Point) -> tuple[Point, Curvature]:
    point, curvature, _ = descend(objective, design, start, curvature_of(objective, design, start))
    return point, curvature


def _problem(
    positive: Bools, objective: Objective, lam: float, design: Design, point: Point, curvature: Curvature
) -> Problem:
    z, loss = point.scores, objective.loss
    g, D = loss.gradient(z), curvature.D
    bent = None if isinstance(loss, SquaredLoss) else loss
    if not objective.scaled:
        return Problem(positive, z, 1.0, g, D, design, curvature, objective.readout, loss=bent)
    intercept, constant = None, objective.constant
    if constant != 0 and is_centred(objective.scaled, objective.X.shape[1]):
        curvature, e = with_free_intercept(design, curvature, lam, constant)
        value, seen = constant * float(e @ point.coef), constant * (curvature.root.T @ e)
        intercept, g = Intercept(lam / constant**2, value, seen, float(D.sum()), positive.size), g - g.mean()
    rescaling = Rescaling(objective.X, objective.scaled, lam, point.coef, D, design, curvature)
    return Problem(positive, z, 1.0, g, D, design, curvature, objective.readout, rescaling, intercept, bent)
