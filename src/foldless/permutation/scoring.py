"""The AUC of every relabelling, each row or pair scored by the fit to that relabelling without it.

Labels come as rows of a matrix (B, N). With a squared loss all relabellings share one hat matrix and everything is a
product with it; otherwise Newton steps are taken on all relabellings at once, each with its own Hessian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from foldless.checks import Floats
from foldless.honest.design import MAX_LEVERAGE, Bools, Ints, inverse_root
from foldless.honest.objective import Loss, SquaredLoss
from foldless.honest.removal import LocalModel
from foldless.honest.scaling import MIN_DETERMINANT
from foldless.permutation.leverages import SharedVectors, doubtful
from foldless.permutation.relabelling import ROWS, Relabelling
from foldless.permutation.training import PAIRS_UP_TO, Training

PAIR_CHUNK = 256  # relabellings worked on at a time, so that the arrays of one row's pairs stay in the cache
CHUNK_ENTRIES = 1 << 19  # of the arrays worked on at a time
FLOOR = 1e-10  # of the penalty, relative to the mean square of the coordinates: columns may be collinear
MOST_STEPS, MOST_HALVINGS, MOST_PRODUCTS = 30, 12, 60
CLOSE = 3e-4  # gain still to be expected from a Newton step, relative to the objective: the last one is taken
CLOSE_IF_EXACT = 1e-9  # with a squared loss
ROUNDED = 1e-6  # relative to the objective, in single precision
FORCING = 0.1  # residual of a Newton step, relative to the slope


# ---- Scores without a row or group, and their AUC.


@dataclass(frozen=True, eq=False)
class Influence:
    """Of slopes of the rows on their scores, in some fits (B or 1): diagonal and column sums (B, N), and blocks.

    That of the rows that were trained on is G = A H^-1 A'; for the same rows at another time it is not symmetric.
    """

    diagonal: Floats
    sums: Floats
    block: Callable[[Ints], Floats]


def left_out_slopes(g: Floats, D: Floats, G: Influence, units: tuple[Ints, ...] | None) -> Floats:
    """u (B, N) of each row when it, or its unit, leaves: (I - D G_SS) u_S = g_S."""
    if units is None:
        return np.asarray(g / (1.0 - np.minimum(G.diagonal * D, MAX_LEVERAGE)))
    out, weight = np.empty(g.shape), np.broadcast_to(D, (len(D), g.shape[1]))
    for rows in units:
        inverse = np.linalg.inv(np.eye(rows.size) - weight[:, rows, None] * G.block(rows))
        out[:, rows] = np.matmul(inverse, g[:, rows, None])[:, :, 0]
    return out


def left_out_scores(z: Floats, u: Floats, G: Influence, units: tuple[Ints, ...] | None) -> Floats:
    """Score of each row (B, N) without it or its unit, less the mean score of the rows that stay.

    The mean is that of the same fit. Without it, a row that leaves would move the intercept away from its own class,
    and all positive rows would be ranked too low.
    """
    N, total = z.shape[1], z.sum(axis=1, keepdims=True)
    if units is None:
        return np.asarray(z + G.diagonal * u - (total - z + u * (G.sums - G.diagonal)) / (N - 1))
    out = np.empty(z.shape)
    for rows in units:
        block, slopes = G.block(rows), u[:, rows]
        moved = np.matmul(block, slopes[:, :, None])[:, :, 0]
        rest = total[:, 0] - z[:, rows].sum(axis=1) + ((G.sums[:, rows] - block.sum(axis=1)) * slopes).sum(axis=1)
        out[:, rows] = z[:, rows] + moved - rest[:, None] / (N - rows.size)
    return out


def rank_auc(scores: Floats, positive: Bools, equal: tuple[Ints, ...] = ()) -> Floats:
    """AUC of each row of scores; sets of `equal` rows tie.

    A row that is left out moves the fit away from its class, and an equal row of the other class moves it the other
    way: left out one by one, all pairs of equal rows would be in the wrong order.
    """
    right = _in_order(scores, positive)
    for rows in equal:
        one = positive[:, rows]
        right += 0.5 * one.sum(axis=1) * (~one).sum(axis=1) - _in_order(scores[:, rows], one)
    n1 = positive.sum(axis=1)
    return np.asarray(right / (n1 * (positive.shape[1] - n1)))


def _in_order(scores: Floats, positive: Bools) -> Floats:
    """Number of pairs in which the positive row has the higher score."""
    n1 = positive.sum(axis=1)
    ordered = np.take_along_axis(positive, np.argsort(scores, axis=1), axis=1)
    return np.asarray(ordered @ np.arange(1.0, positive.shape[1] + 1) - n1 * (n1 + 1) / 2)


# ---- One hat matrix for all relabellings.


@dataclass(frozen=True, eq=False)
class SharedFit:
    """Least squares: H^-1 = root root', B = A root with G = B B', the row weight D, a number for each distinct row."""

    training: Training
    root: Floats
    B: Floats
    D: float
    distinct: Ints
    units: tuple[Ints, ...] | None

    @classmethod
    def of(cls, training: Training, units: tuple[Ints, ...] | None) -> SharedFit:
        """From the rows: one factorisation."""
        A, D = training.A, training.strength * training.shares[0]
        root = inverse_root(D * A.T @ A + np.diag(training.lam * training.penalised))
        return cls(training, root, A @ root, D, training.distinct_rows(), units)

    @property
    def uses_pairs(self) -> bool:
        return self.units is None and len(self.B) <= PAIRS_UP_TO

    @property
    def chunk(self) -> int:
        return PAIR_CHUNK if self.uses_pairs else max(1, CHUNK_ENTRIES // len(self.B))

    @cached_property
    def influence(self) -> Influence:
        B = self.B
        diagonal = np.einsum("ij,ij->i", B, B)
        return Influence(diagonal[None], (B @ B.sum(axis=0))[None], lambda rows: (B[rows] @ B[rows].T)[None])

    @cached_property
    def pairs(self) -> tuple[Floats, Bools]:
        """a (N, N) of `auc` for pairs, and which pairs are of equal rows (their a is 0)."""
        h = self.D * self.B @ self.B.T
        slack = 1.0 - np.minimum(np.diag(h), MAX_LEVERAGE)
        both = np.outer(slack, slack)
        a = (slack - h) / np.maximum(both - h**2, MIN_DETERMINANT * both)
        equal = np.triu(self.distinct[:, None] == self.distinct, 1)
        a[equal | equal.T] = 0.0
        return a, equal

    def auc(self, positive: Bools) -> Floats:
        """AUC of each relabelling: over pairs left out together, or over rows or groups left out one by one."""
        t = np.where(positive, 1.0, -1.0)
        z = self.D * (t @ self.B) @ self.B.T
        if self.uses_pairs:
            return self._pair_auc(np.ascontiguousarray((t * (t - z)).T), np.ascontiguousarray(positive.T))
        u = left_out_slopes(self.D * (z - t), np.full((1, 1), self.D), self.influence, self.units)
        return rank_auc(left_out_scores(z, u, self.influence, self.units), positive, self.training.equal_rows)

    def fitted(self, positive: Bools) -> tuple[Floats, Floats, LocalModel]:
        """The fit to labels (N,): coordinates of its weights, and `root`, with the model at its optimum."""
        t = np.where(positive, 1.0, -1.0)
        x = self.D * (t @ self.B)
        return self.root @ x, self.root, LocalModel(self.D * (self.B @ x - t), np.full(t.size, self.D), self.B)

    def _pair_auc(self, u: Floats, positive: Bools) -> Floats:
        """Share of pairs in order, from u = t (t - z), (N, B).

        Without i and j their residuals are (I - H_SS)^-1 (t - z)_S. With t_i = -t_j that makes the pair ordered if
        a_ij u_i + a_ji u_j < 2, a_ij = (1 - h_jj - h_ij) / ((1 - h_ii)(1 - h_jj) - h_ij^2), which needs no labels.
        """
        a, equal = self.pairs
        N, n1 = len(positive), positive.sum(axis=0)
        right = np.zeros(positive.shape[1])
        for i in range(N - 1):
            later = slice(i + 1, N)
            sums = u[later] * a[later, i, None]
            sums += a[i, later, None] * u[i]
            ordered = (sums < 2.0) & (positive[later] ^ positive[i])
            right += np.add.reduce(ordered.view(np.uint8), axis=0, dtype=np.uint8)  # at most 255 pairs
            if equal[i].any():  # tied in every fit: counted as ordered, they count half
                right -= 0.5 * np.count_nonzero(positive[equal[i]] ^ positive[i], axis=0)
        return np.asarray(right / (n1 * (N - n1)))


# ---- Newton steps on all relabellings at once.


@dataclass(frozen=True, eq=False)
class OwnFits:
    """A fit for every relabelling, by Newton steps, and one further step for every row or group that is left out."""

    training: Training
    units: tuple[Ints, ...] | None
    uses_pairs: bool = False

    @property
    def chunk(self) -> int:
        N, k = self.training.A.shape
        return max(1, CHUNK_ENTRIES // int(N * (8 if self.units is None else k)))

    @cached_property
    def frame(self) -> Frame:
        return Frame.of(self.training)

    @cached_property
    def shared(self) -> SharedVectors:
        return SharedVectors.of(self.frame.B, self.frame.D0)

    def auc(self, positive: Bools) -> Floats:
        """AUC of each relabelling over rows, or groups, that are left out one by one."""
        x, loss, ratio = self._minimised(positive)
        z = x @ self.frame.B.T
        g, D = loss.gradient(z), loss.curvature(z)
        G = self._influence(z, g, D, np.broadcast_to(ratio[:, 0], len(D)))
        scores = left_out_scores(z, left_out_slopes(g, D, G, self.units), G, self.units)
        return rank_auc(scores, positive, self.training.equal_rows)

    def _influence(self, z: Floats, g: Floats, D: Floats, ratio: Floats) -> Influence:
        """Of slopes on scores; with rows left out one by one, from shared eigenvectors where these will do."""
        frame = self.frame
        if self.units is not None:
            seen = np.stack([frame.seen(d, r) for d, r in zip(D, ratio, strict=True)])
            sums = np.matmul(seen, seen.sum(axis=1)[:, :, None])[:, :, 0]
            diagonal = np.einsum("bik,bik->bi", seen, seen)
            return Influence(diagonal, sums, lambda rows: np.matmul(seen[:, rows], seen[:, rows].transpose(0, 2, 1)))
        own, sums, hard = np.empty(D.shape), np.empty(D.shape), np.full(len(D), True)
        if not frame.exact and self.shared.pays:
            own, *_ = found = self.shared.diagonals(D)
            hard = doubtful(z, g, D, found)
            sums[~hard] = frame.summed(D[~hard])
        for b in np.flatnonzero(hard):
            seen = frame.seen(D[b], ratio[b])
            own[b], sums[b] = np.einsum("ik,ik->i", seen, seen), seen @ seen.sum(axis=0)
        return Influence(own, sums, lambda rows: np.empty(0))

    def fitted(self, positive: Bools) -> tuple[Floats, Floats, LocalModel]:
        """As for a `SharedFit`."""
        (x,), loss, ((ratio,),) = self._minimised(positive[None])
        A, z = self.training.A, (self.frame.B @ x)[None]
        (g,), (D,) = loss.gradient(z), loss.curvature(z)
        root = inverse_root((A.T * D) @ A + np.diag(ratio * self.frame.lam * self.training.penalised))
        return self.frame.root @ x, root, LocalModel(g, D, A @ root)

    def _minimised(self, positive: Bools) -> tuple[Floats, Loss, Floats]:
        """Coordinates in the frame of every optimum, the losses, and the ratios of the penalties to the frame's."""
        frame, weight = self.frame, np.broadcast_to(self.training.weights(positive), positive.shape)
        loss = self.training.loss(np.where(positive, 1.0, -1.0), weight)
        ratio = np.maximum(self.training.lams(positive), frame.floor)[:, None] / frame.lam
        return _descended(frame, loss, np.broadcast_to(ratio, (len(positive), 1))), loss, ratio


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates in which the Hessian at scores of 0 and equal class weights is the identity.

    There, all Hessians are close enough to it for a few conjugate-gradient steps, which are products with `B` for all
    relabellings at once: H = B' diag(D) B + r S, S = I - D0 B'B the penalty, r the ratio of penalties.
    """

    root: Floats
    B: Floats
    D0: float
    S: Floats
    lam: float
    floor: float
    exact: bool
    dtype: Any

    @classmethod
    def of(cls, training: Training) -> Frame:
        """From the rows: one factorisation."""
        A, c = training.A, training.strength
        D0 = float(training.loss(np.ones(1), np.full(1, c)).curvature(np.zeros(1))[0])
        floor = FLOOR * c * float(np.mean(A**2))
        lam = max(training.lam, floor)
        root = inverse_root(D0 * A.T @ A + np.diag(lam * training.penalised))
        S = lam * (root.T * training.penalised) @ root
        exact = training.loss is SquaredLoss
        return cls(root, A @ root, D0, S, lam, floor, exact, np.float64 if exact else np.float32)

    @cached_property
    def matrices(self) -> tuple[Any, Any]:
        """B and S in the precision of the steps: optima need not be sharper than the one step by which rows leave."""
        return self.B.astype(self.dtype), self.S.astype(self.dtype)

    def summed(self, D: Floats) -> Floats:
        """Column sums of G = B H^-1 B' of every relabelling, (B, N), at the frame's own penalty."""
        B, one = self.matrices[0], np.ones((len(D), 1), dtype=self.dtype)
        return np.asarray(conjugate_gradients(self, D.astype(self.dtype), one, one * B.sum(axis=0)) @ B.T)

    def scored(self, loss: Loss, r: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Scores (B, N) at coordinates x, and the values of the objectives."""
        B, S = self.matrices
        z = x @ B.T
        return z, loss.value(z).sum(axis=1) + 0.5 * r[:, 0] * np.einsum("bk,bk->b", x @ S, x)

    def seen(self, D: Floats, ratio: float, dtype: Any = np.float32) -> Floats:
        """Rows of the root of G = B H^-1 B', (N, k), in single precision where that will do."""
        B, S = (each.astype(dtype, copy=False) for each in (self.matrices if dtype == np.float32 else (self.B, self.S)))
        rows = B * np.sqrt(D).astype(dtype)[:, None]
        H = rows.T @ rows + dtype(ratio) * S
        factor, invert = lapack.get_lapack_funcs(("potrf", "trtri"), (H,))
        lower, failed = factor(H, lower=1)
        if failed and dtype == np.float32:
            return self.seen(D, ratio, np.float64)
        return np.asarray(B @ (inverse_root(H) if failed else invert(lower, lower=1)[0].T))


def _descended(frame: Frame, loss: Loss, ratio: Floats) -> Floats:
    """Coordinates (B, k) of the optimum of every relabelling; those that have arrived take no further steps.

    What happens to a relabelling does not depend on the others, so that the true labels are treated like all others.
    """
    B, S = frame.matrices
    target, weight, ratio = (each.astype(frame.dtype) for each in (loss.target, loss.weight, ratio))
    close = CLOSE_IF_EXACT if frame.exact else CLOSE
    loss = type(loss)(target, weight)
    x = -loss.gradient(np.zeros_like(target)) @ B  # the first step, since the Hessian is the identity
    z, value = frame.scored(loss, ratio, x)
    moving = np.arange(len(x))
    for _ in range(MOST_STEPS):
        some, r = type(loss)(target[moving], weight[moving]), ratio[moving]
        here, scores, before = x[moving], z[moving], value[moving]
        slope = some.gradient(scores) @ B + r * (here @ S)
        step = conjugate_gradients(frame, some.curvature(scores), r, slope)
        x[moving], z[moving], value[moving] = _shortened(frame, some, r, here, step, before)
        moving = moving[np.einsum("bk,bk->b", step, slope) > close * before]
        if not moving.size:
            break
    return np.asarray(x, dtype=np.float64)


def conjugate_gradients(frame: Frame, D: Floats, r: Floats, right: Floats) -> Floats:
    """x with H x = right, one system per row, to a relative residual of FORCING."""
    B, S = frame.matrices
    x, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    size = np.einsum("bk,bk->b", residual, residual)[:, None]
    goal = FORCING**2 * size
    for _ in range(MOST_PRODUCTS):
        going = size > goal
        if not going.any():
            break
        product = (D * (direction @ B.T)) @ B + r * (direction @ S)
        curvature = np.einsum("bk,bk->b", direction, product)[:, None]
        length = np.divide(size, curvature, out=np.zeros_like(size), where=going & (curvature > 0))
        x += length * direction
        residual -= length * product
        new = np.einsum("bk,bk->b", residual, residual)[:, None]
        direction = residual + np.divide(new, size, out=np.zeros_like(size), where=going) * direction
        size = np.where(going, new, size)
    return x


def _shortened(
    frame: Frame, loss: Loss, r: Floats, x: Floats, step: Floats, value: Floats
) -> tuple[Floats, Floats, Floats]:
    """x - step with its scores and its value; a step is halved until the objective is no larger than before."""
    length = np.ones((len(x), 1))
    for _ in range(MOST_HALVINGS):
        new = x - length * step
        z, reached = frame.scored(loss, r, new)
        worse = reached > value * (1 + ROUNDED)
        if not worse.any():
            break
        length[worse] *= 0.5
    return new, z, reached


def fit_for(training: Training, relabelling: Relabelling) -> SharedFit | OwnFits:
    """The cheaper way for this family."""
    units = None if relabelling.what == ROWS else relabelling.units
    return SharedFit.of(training, units) if training.is_shared else OwnFits(training, units)
