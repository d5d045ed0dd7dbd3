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

from foldless.checks import Floats, is_sparse
from foldless.errors import EstimatorError, InputError
from foldless.honest.design import MAX_LEVERAGE, Bools, Ints, build_design, inverse_root
from foldless.honest.families import MAX_SHRINKAGE, Loss, Objective, SquaredLoss, class_weights, describe, shrinkage
from foldless.honest.removal import LocalModel
from foldless.honest.scaling import MIN_DETERMINANT
from foldless.model.view import LinearView
from foldless.permutation.relabelling import ROWS, Relabelling

PAIRS_UP_TO = 200  # rows; above, pairs cost more than they tell beyond single rows
PAIR_CHUNK = 256  # relabellings worked on at a time, so that the arrays of one row's pairs stay in the cache
CHUNK_ENTRIES = 1 << 19  # of the arrays worked on at a time
FLOOR = 1e-10  # of the penalty, relative to the mean square of the coordinates: columns may be collinear
MOST_STEPS, MOST_HALVINGS, MOST_PRODUCTS = 30, 12, 60
CLOSE = 1e-5  # gain still to be expected from a Newton step, relative to the objective: the last one is taken
FORCING = 0.05  # residual of a Newton step, relative to the slope
WAY_OUT = (
    "scikit-learn's permutation_test_score refits it for every permutation, and the ridge, logistic, LDA and "
    "squared-hinge classifiers are tested without refits"
)


# ---- What is trained on every relabelling.


@dataclass(frozen=True, eq=False)
class Training:
    """The objective of a family, for any labels of the same rows.

        lam/2 |w|^2 + sum_i weight_i loss(t_i, z_i),    z = A w (+ intercept, the last column, without penalty)

    `shares` are the weights of the negative and of the positive class, each times N over the rows of the class if
    `balanced`. With shrinkage q, lam is q/(1 - q) times the mean within-class scatter of the columns.
    """

    X: Any
    A: Floats
    free_intercept: bool
    loss: type[Loss]
    strength: float
    lam: float
    shares: tuple[float, float]
    balanced: bool
    shrinkage: float
    n_columns: int
    constant: float

    @classmethod
    def of(cls, view: LinearView) -> Training:
        """Read off a fitted classifier; a named refusal where a relabelling has no closed form."""
        objective = _objective(view)
        shares, balanced = _class_weights(view, objective)
        q = min(shrinkage(view.estimator) or 0.0, MAX_SHRINKAGE) if objective.readout.rescales else 0.0
        first = int(view.codes[0])
        factor = shares[first] * (view.codes.size / view.counts[first] if balanced else 1.0)
        strength = float(objective.loss.weight[0]) / factor
        free, n_columns = objective.free_intercept, int(view.X.shape[1])
        about = (type(objective.loss), strength, objective.lam, shares, balanced, q, n_columns, objective.constant)
        return cls(view.X, _rows(objective), free, *about)

    @property
    def is_shared(self) -> bool:
        """Whether all relabellings have the same hat matrix: a squared loss whose weights and penalty ignore y."""
        equal = self.shares[0] == self.shares[1] and not self.balanced
        return self.loss is SquaredLoss and equal and not self.shrinkage

    def distinct_rows(self, most: int) -> Ints:
        """A number for each row that equal rows share; with more than `most` rows, each has its own."""
        if len(self.A) > most:
            return np.arange(len(self.A))
        X = self.X.toarray() if is_sparse(self.X) else np.asarray(self.X)
        return np.unique(X, axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def equal_rows(self) -> tuple[Ints, ...]:
        """Sets of two rows or more that are equal."""
        numbers = self.distinct_rows(PAIRS_UP_TO)
        return tuple(np.flatnonzero(numbers == k) for k in np.flatnonzero(np.bincount(numbers) > 1))

    def weights(self, positive: Bools) -> Floats:
        """Weight of each row under each relabelling, (B, N), or (1, N) where it does not depend on the labels."""
        if self.shares[0] == self.shares[1] and not self.balanced:
            return np.full((1, positive.shape[1]), self.strength * self.shares[0])
        factors = np.array(self.shares) * np.ones((len(positive), 2))
        if self.balanced:
            n1, N = positive.sum(axis=1), positive.shape[1]
            factors = factors * N / np.column_stack([N - n1, n1])
        return np.asarray(self.strength * np.where(positive, factors[:, 1:], factors[:, :1]))

    @property
    def penalised(self) -> Floats:
        """1 for each coordinate that the penalty acts on, 0 for the intercept."""
        k = self.A.shape[1]
        return np.asarray(np.arange(k) < k - self.free_intercept, dtype=np.float64)

    def lams(self, positive: Bools) -> Floats:
        """Penalty under each relabelling, (B,), or (1,) where it does not depend on the labels."""
        if not self.shrinkage:
            return np.array([self.lam])
        return np.asarray(self.shrinkage / (1 - self.shrinkage) * self._scatter(positive) / self.n_columns)

    def _scatter(self, positive: Bools) -> Floats:
        """Trace of the within-class scatter, with the weights of the classes."""
        A, weight = self.A[:, : self.A.shape[1] - 1], self.weights(positive)
        total = np.broadcast_to(weight, positive.shape) @ np.einsum("ij,ij->i", A, A)
        for mask in (positive, ~positive):
            mass = (weight * mask).sum(axis=1)
            sums = (weight * mask) @ A
            total = total - np.einsum("bj,bj->b", sums, sums) / mass
        return np.asarray(total)


def _objective(view: LinearView) -> Objective:
    if view.estimator is None:
        raise EstimatorError(
            "permuted labels need the classifier and all that it learned from y: weights alone, or a step that saw y "
            f"(such as a selection of columns), cannot be trained on other labels. {WAY_OUT.capitalize()}."
        )
    objective = describe(view)
    if objective is None:
        raise EstimatorError(
            f"permuted labels have no closed form for this {type(view.estimator).__name__}: {WAY_OUT}."
        )
    if objective.lam == 0 and not isinstance(objective.loss, SquaredLoss):
        raise EstimatorError(
            f"{objective.name} has no finite solution for labels that happen to be separable, and permuted labels may "
            f"be: fit it with a finite C."
        )
    return objective


def _class_weights(view: LinearView, objective: Objective) -> tuple[tuple[float, float], bool]:
    """Weights of the two classes, and whether they are to be divided by the share of the class."""
    est: Any = view.estimator
    priors = getattr(est, "priors", None)
    if objective.readout.rescales:  # only some solvers weight the rows by the priors of their classes
        weighted = priors is not None and est.solver != "svd"
        first, second = (float(p) for p in est.priors_) if weighted else (1.0, 1.0)
        return ((second, first) if view.flipped else (first, second)), weighted
    weighing = est.class_weight
    if isinstance(weighing, str):
        return (0.5, 0.5), True
    low, high = (1.0, 1.0) if weighing is None else class_weights(view, weighing, None)
    return (float(low), float(high)), False


def _rows(objective: Objective) -> Floats:
    """Rows as coordinates, centred and with a last column of ones where the intercept is free."""
    design = build_design(objective.X, constant=objective.constant, free_intercept=objective.free_intercept)
    N = design.n_rows
    if not objective.free_intercept:
        return np.asarray(design.rows(slice(None), None), dtype=np.float64)
    A = np.asarray(design.rows(slice(None), design.mean(np.ones(N))), dtype=np.float64)
    if not np.any(np.abs(A) > 0):
        raise InputError("all rows of X are the same, so no classifier can tell them apart: check how X was made.")
    return np.hstack([A, np.ones((N, 1))])


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
        return cls(training, root, A @ root, D, training.distinct_rows(PAIRS_UP_TO), units)

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
        return max(1, CHUNK_ENTRIES // self.training.A.size)

    @cached_property
    def frame(self) -> Frame:
        return Frame.of(self.training)

    def auc(self, positive: Bools) -> Floats:
        """AUC of each relabelling over rows, or groups, that are left out one by one."""
        frame = self.frame
        x, loss, ratio = self._minimised(positive)
        z = x @ frame.B.T
        g, D = loss.gradient(z), loss.curvature(z)
        seen = frame.seen(D, ratio)
        diagonal, sums = np.einsum("bik,bik->bi", seen, seen), np.matmul(seen, seen.sum(axis=1)[:, :, None])[:, :, 0]
        G = Influence(diagonal, sums, lambda rows: np.matmul(seen[:, rows], seen[:, rows].transpose(0, 2, 1)))
        scores = left_out_scores(z, left_out_slopes(g, D, G, self.units), G, self.units)
        return rank_auc(scores, positive, self.training.equal_rows)

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

    @classmethod
    def of(cls, training: Training) -> Frame:
        """From the rows: one factorisation."""
        A, c = training.A, training.strength
        D0 = float(training.loss(np.ones(1), np.full(1, c)).curvature(np.zeros(1))[0])
        floor = FLOOR * c * float(np.mean(A**2))
        lam = max(training.lam, floor)
        root = inverse_root(D0 * A.T @ A + np.diag(lam * training.penalised))
        return cls(root, A @ root, D0, lam * (root.T * training.penalised) @ root, lam, floor)

    def seen(self, D: Floats, ratio: Floats) -> Floats:
        """Rows of the root of G = B H^-1 B' of every relabelling, (B, N, k), in single precision where that will do."""
        ratio = np.broadcast_to(ratio[:, 0], len(D))
        return np.stack([self._seen(d, r, np.float32) for d, r in zip(D, ratio, strict=True)])

    def _seen(self, D: Floats, ratio: float, dtype: Any) -> Floats:
        B = self.B.astype(dtype, copy=False)
        rows = B * np.sqrt(D).astype(dtype)[:, None]
        H = rows.T @ rows + (ratio * self.S).astype(dtype)
        factor, invert = lapack.get_lapack_funcs(("potrf", "trtri"), (H,))
        lower, failed = factor(H, lower=1)
        if failed and dtype == np.float32:
            return self._seen(D, ratio, np.float64)
        return np.asarray(B @ (inverse_root(H) if failed else invert(lower, lower=1)[0].T))


def _descended(frame: Frame, loss: Loss, ratio: Floats) -> Floats:
    """Coordinates (B, k) of the optimum of every relabelling; those that have arrived take no further steps.

    What happens to a relabelling does not depend on the others, so that the true labels are treated like all others.
    """
    B = frame.B
    x = -loss.gradient(np.zeros(loss.target.shape)) @ B  # the first step, since the Hessian is the identity
    moving = np.arange(len(x))
    for _ in range(MOST_STEPS):
        some, r, at = type(loss)(loss.target[moving], loss.weight[moving]), ratio[moving], x[moving]
        z = at @ B.T
        slope = (some.gradient(z) - r * frame.D0 * z) @ B + r * at
        step = conjugate_gradients(B, some.curvature(z) - r * frame.D0, r, slope)
        value = _value(frame, some, r, at, z)
        x[moving] = _shortened(frame, some, r, at, step, value)
        moving = moving[np.einsum("bk,bk->b", step, slope) > CLOSE * value]
        if not moving.size:
            break
    return x


def conjugate_gradients(B: Floats, w: Floats, r: Floats, right: Floats) -> Floats:
    """x with (r I + B' diag(w) B) x = right, one system per row, to a relative residual of FORCING."""
    x, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    size = np.einsum("bk,bk->b", right, right)[:, None]
    goal = FORCING**2 * size
    for _ in range(MOST_PRODUCTS):
        going = size > goal
        if not going.any():
            break
        product = (w * (direction @ B.T)) @ B + r * direction
        curvature = np.einsum("bk,bk->b", direction, product)[:, None]
        length = np.divide(size, curvature, out=np.zeros_like(size), where=going & (curvature > 0))
        x += length * direction
        residual -= length * product
        new = np.einsum("bk,bk->b", residual, residual)[:, None]
        direction = residual + np.divide(new, size, out=np.zeros_like(size), where=going) * direction
        size = np.where(going, new, size)
    return x


def _value(frame: Frame, loss: Loss, r: Floats, x: Floats, z: Floats) -> Floats:
    squares = np.einsum("bk,bk->b", x, x) - frame.D0 * np.einsum("bi,bi->b", z, z)
    return np.asarray(loss.value(z).sum(axis=1) + 0.5 * r[:, 0] * squares)


def _shortened(frame: Frame, loss: Loss, r: Floats, x: Floats, step: Floats, value: Floats) -> Floats:
    """x - step, with a step that is halved until the objective is no larger than before."""
    length = np.ones((len(x), 1))
    for _ in range(MOST_HALVINGS):
        new = x - length * step
        worse = _value(frame, loss, r, new, new @ frame.B.T) > value * (1 + 1e-12)
        if not worse.any():
            break
        length[worse] *= 0.5
    return np.asarray(x - length * step)


def fit_for(training: Training, relabelling: Relabelling) -> SharedFit | OwnFits:
    """The cheaper way for this family."""
    units = None if relabelling.what == ROWS else relabelling.units
    return SharedFit.of(training, units) if training.is_shared else OwnFits(training, units)
