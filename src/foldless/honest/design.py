"""The rows of a linear model in their cheaper coordinates, and the inverse Hessian as a square root.

With P >= N every quantity of a penalised fit lives in the span of the rows. The Gram matrix K = A A' is
factored once, K = L L' (pivoted Cholesky, so rank deficiency is no obstacle), and L, N x rank, takes the place of A:
penalties and scores are the same in the new coordinates, c = Q'w with A = L Q'. From there on, one code path
serves both cases, and no formula subtracts two large numbers, as K - K r (I + r K r)^-1 r K would at small penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import blas, eigh, lapack, solve_triangular

from foldless.checks import Bools as Bools
from foldless.checks import Floats, is_sparse, slices
from foldless.checks import Ints as Ints
from foldless.errors import EstimatorError, InputError
from foldless.tables.matrix import DeviceMatrix

CANCELLED = 1e-6  # a centred square this small relative to the raw one has lost half of its digits
BLOCK_ENTRIES = 1 << 22  # 32 MB of float64: bounds the working copy of any block of X
CACHED, FEWEST = 1 << 18, 4096  # entries of a block that is used several times, and its minimum number of rows
# Products with at least this many columns and multiplications use single precision, if the Hessian allows it.
WIDE, MANY_PRODUCTS = 64, 1e8
MAX_LEVERAGE = 1.0 - 1e-13  # a row that alone determines its own score has leverage 1


@dataclass(frozen=True)
class Design:
    """Matrix A of shape (N, k) and the products that fitting and removal need.

    `pivots` is None for the columns of X themselves; in row-space coordinates it lists the rows whose block of
    `matrix` is triangular.
    """

    matrix: Any
    pivots: Ints | None = None
    memory: dict[Any, Any] | None = None
    known: list[tuple[Floats, Floats]] = field(default_factory=list)  # the last products A'g
    at_hand: ClassVar[bool] = True  # whether many products, one after the other, cost little more than their work

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` returns, kept for the next fit to these rows if the design has a `memory`."""
        if self.memory is None:
            return make()
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def is_large(self) -> bool:
        """Whether single precision saves noticeable time."""
        k = self.matrix.shape[1]
        return bool(k >= WIDE and self.n_rows * k**2 >= MANY_PRODUCTS and not is_sparse(self.matrix))

    def scores(self, coef: Floats) -> Floats:
        """A c."""
        return np.asarray(self.matrix @ coef, dtype=np.float64)

    def back(self, g: Floats, centre: Floats | None) -> Floats:
        """(A - 1 centre')' g."""
        product = next((product for known, product in self.known if np.array_equal(known, g)), None)
        product = self._multiplied(g)[0] if product is None else product
        return product if centre is None else product - centre * float(g.sum())

    def _multiplied(self, *vectors: Floats) -> list[Floats]:
        """A'g of vectors g, kept until others are asked for."""
        self.known[:] = zip(vectors, products := self._products(*vectors), strict=True)
        return products

    def _products(self, *vectors: Floats) -> list[Floats]:
        return [np.asarray(self.matrix.T @ g, dtype=np.float64) for g in vectors]

    def foresee(self, *functions: Callable[[Floats], Floats], at: Floats) -> None:
        """Products A'f(at) will be asked for: in memory they cost no more one by one."""

    def mean(self, d: Floats) -> Floats:
        """Mean row under the weights d."""
        return np.asarray(self.matrix.T @ d / d.sum(), dtype=np.float64)

    def gram(self, d: Floats, centre: Floats | None, dtype: Any = np.float64) -> Floats:
        """(A - 1 centre')' diag(d) (A - 1 centre'), shape (k, k); row blocks are multiplied in the given precision."""
        if is_sparse(self.matrix):
            return _sparse_gram(self.matrix, d, centre)
        total = np.zeros((self.matrix.shape[1],) * 2)
        root = np.sqrt(d).astype(dtype)
        for part in self._row_blocks():
            rows = self.rows(part, centre, dtype)
            rows = np.multiply(rows, root[part, None], out=None if centre is None else rows)  # already a copy
            total += rows.T @ rows
        return total

    def _row_blocks(self) -> Iterator[slice]:
        """Blocks of rows that stay in the cache while they are centred, scaled and multiplied."""
        return blocks(self.n_rows, self.matrix.shape[1], min(BLOCK_ENTRIES, max(CACHED, FEWEST * self.matrix.shape[1])))

    def rows(self, index: Any, centre: Floats | None, dtype: Any = np.float64) -> Any:
        """Dense rows A[index] - centre, a copy unless float64; subtraction comes before rounding to the precision."""
        part = self.matrix[index]
        dense = part.toarray() if is_sparse(part) else np.asarray(part)
        if centre is None:
            return dense.astype(dtype, copy=dtype != np.float64)  # callers may overwrite single precision
        return np.subtract(dense, centre, out=np.empty(dense.shape, dtype=dtype), casting="same_kind")

    def seen_through(self, root: Any, centre: Floats | None, V: Floats, *more: Any) -> Floats:
        """|b_i|^2, a further number, and b_i' V, of every row b_i = root' (a_i - centre); shape (N, 2 + columns of V).

        If `more` is given, its first is a function that computes the number from some rows a_i - centre, b_i, |b_i|^2,
        and the entries for these rows of the vectors that follow.
        """
        out, V = np.zeros((2 + V.shape[1], self.n_rows)).T, V.astype(root.dtype, copy=False)
        for part in self._row_blocks():
            rows = self.rows(part, centre, root.dtype)
            seen = _through(rows.copy() if more else rows, root)
            out[part, 0] = np.einsum("ij,ij->i", seen, seen)
            out[part, 2:] = seen @ V
            if more:
                out[part, 1] = more[0](rows, seen, out[part, 0], *(each[part] for each in more[1:]))
        return out

    def through(self, root: Any, centre: Floats | None, index: Any) -> Any:
        """root' (a_i - centre) of some rows."""
        return _through(self.rows(index, centre, root.dtype), root)

    def inverse_root(self, d: Floats, centre: Floats | None, lam: float, dtype: Any) -> tuple[Floats, float]:
        """`inverse_root_and_pivot` of the Gram matrix with lam added to its diagonal."""
        H = self.gram(d, centre, dtype)
        H.flat[:: len(H) + 1] += lam
        return inverse_root_and_pivot(H, dtype)

    def scaled(self, factors: Floats) -> Design:
        """Every column times its factor."""
        if is_sparse(self.matrix):
            return Design(self.matrix.multiply(factors).tocsr())
        return Design(np.asarray(self.matrix, dtype=np.float64) * factors)

    def coefficients(self, w: Floats, scores: Floats) -> Floats:
        """Coordinates of the weight vector w, given its scores A w."""
        if self.pivots is None:
            return w
        top = self.pivots[: self.matrix.shape[1]]
        return np.asarray(solve_triangular(self.matrix[top], scores[top], lower=True))


@dataclass(frozen=True)
class DeviceDesign(Design):
    """A design whose matrix lies on another device and multiplies there."""

    at_hand: ClassVar[bool] = False

    def scores(self, coef: Floats) -> Any:
        return self.matrix.project(coef)

    def foresee(self, *functions: Callable[[Floats], Floats], at: Floats) -> None:
        self._multiplied(*(function(at) for function in functions))

    def _products(self, *vectors: Floats) -> list[Floats]:
        return list(self.matrix.back(*vectors))  # in one pass

    def mean(self, d: Floats) -> Floats:
        return self.back(d, None) / float(d.sum())

    def gram(self, d: Floats, centre: Floats | None, dtype: Any = np.float64) -> Floats:
        return np.asarray(self.matrix.gram(d, centre, dtype))

    def rows(self, index: Any, centre: Floats | None, dtype: Any = np.float64) -> Any:
        return self.matrix.rows(index, centre).astype(dtype, copy=False)

    def seen_through(self, root: Any, centre: Floats | None, V: Floats, *more: Any) -> Any:
        assert not more, "no scaler lies before a classifier whose rows are on another device"
        return self.matrix.seen_through(root, centre, V)

    def through(self, root: Any, centre: Floats | None, index: Any) -> Any:
        return self.matrix.rows_through(index, centre, root)

    def inverse_root(self, d: Floats, centre: Floats | None, lam: float, dtype: Any) -> tuple[Floats, float]:
        root, pivot = self.matrix.inverse_root(d, centre, lam, dtype)
        usable = dtype != np.float64 or pivot >= SINGULAR * len(root)
        return (root, pivot) if usable else super().inverse_root(d, centre, lam, dtype)

    def scaled(self, factors: Floats) -> Design:
        raise EstimatorError(
            "single rows determine weights of this fit without a penalty, which takes X on the host to sort out: fit "
            "with a penalty, or pass X.cpu().numpy()."
        )


MOST_COORDINATES = 30_000  # 7 GB for a square of that size, of which there are several


def build_design(X: Any, *, constant: float, free_intercept: bool) -> Design:
    """Columns of X, or the row space when there are at least as many columns as rows."""
    if min(X.shape) > MOST_COORDINATES and not isinstance(X, DeviceMatrix):
        raise EstimatorError(
            f"leaving rows out in closed form takes several matrices of {min(X.shape):,} x {min(X.shape):,} numbers "
            f"({8e-9 * min(X.shape) ** 2:.0f} GB each): use method='refit' where offered, or fewer rows or columns."
        )
    if X.shape[1] + (constant != 0) < X.shape[0]:
        if isinstance(X, DeviceMatrix):
            return DeviceDesign(replace(X, constant=constant))  # type: ignore[type-var]
        return Design(with_constant(X, constant))
    return row_space(gram_of_rows(X, centred=free_intercept) + constant**2)


def gram_of_rows(X: Any, *, centred: bool) -> Floats:
    """K = A A', A the rows of X, less their mean if `centred`; N x N, one pass over X in blocks of columns."""
    if isinstance(X, DeviceMatrix):
        return X.gram_of_rows(centred)
    if is_sparse(X):
        K = np.asarray((X @ X.T).toarray(), dtype=np.float64)
        if not centred:
            return K
        mean = K.mean(axis=0)
        inner = np.asarray(K - mean - mean[:, None] + mean.mean())
        if np.all(np.diag(inner) >= CANCELLED * np.diag(K)):
            return inner
        X = X.toarray()  # rows far from zero are hardly sparse
    K = np.zeros((X.shape[0],) * 2)
    for part in blocks(X.shape[1], X.shape[0]):
        columns = np.asarray(X[:, part], dtype=np.float64)
        if centred:
            columns = columns - columns.mean(axis=0)
        K += columns @ columns.T
    return K


def row_space(K: Floats) -> Design:
    """Coordinates L with K = L L', from a pivoted Cholesky factorisation."""
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    if rank == 0:
        raise InputError("all rows of X are the same, so no classifier can tell them apart: check how X was made.")
    lower, order = np.zeros((len(K), rank)), pivots - 1
    lower[order] = np.tril(factor)[:, :rank]
    return Design(lower, order)


def blocks(n: int, width: int, entries: int | None = None) -> Iterator[slice]:
    """Slices of range(n) such that slice x width stays within `entries`, BLOCK_ENTRIES by default."""
    return slices(n, width, entries or BLOCK_ENTRIES)


def with_constant(X: Any, constant: float) -> Any:
    """X with a last column filled with `constant`; X itself if that is 0."""
    if constant == 0:
        return X
    column = np.full((X.shape[0], 1), constant)
    if is_sparse(X):
        from scipy.sparse import hstack

        return hstack([X, column], format="csr")
    return np.hstack([X, column])


def _sparse_gram(matrix: Any, d: Floats, centre: Floats | None) -> Floats:
    raw = np.asarray((matrix.T @ matrix.multiply(d[:, None]).tocsr()).toarray())
    if centre is None:
        return raw
    cross = np.outer(matrix.T @ d, centre)
    centred = np.asarray(raw - cross - cross.T + d.sum() * np.outer(centre, centre))
    far = np.flatnonzero(np.diag(centred) < CANCELLED * np.diag(raw))
    return centred if far.size == 0 else _with_far_columns(centred, far, matrix, d, centre)


def _with_far_columns(centred: Floats, far: Ints, matrix: Any, d: Floats, centre: Floats) -> Floats:
    """Recompute from centred values the columns whose mean dwarfs their spread: subtracting sums leaves no digits."""
    columns = matrix[:, far].toarray() - centre[far]
    weighted = columns * d[:, None]
    product = np.asarray(matrix.T @ weighted) - np.outer(centre, weighted.sum(axis=0))
    product[far] = columns.T @ weighted
    centred[:, far], centred[far, :] = product, product.T
    return centred


# ---- The inverse of the Hessian, kept as a square root, and the rows seen through it.
#
#     H = At' diag(D) At + diag(lam, .., lam, 0),   At = [A, 1],   G = At H^-1 At' = B B'
#
# Centring A with the weights D makes H block diagonal, so B = [(A - 1 m') R, 1/sqrt(sum D)] with R R' the inverse of
# the centred block. Working with B instead of G keeps G positive semidefinite whatever the rounding.

SINGULAR = 1e-13  # squared pivots of a unit-diagonal matrix below this are rounding noise
LEAF = 80  # rows up to which LAPACK's triangular inverse is faster
SAFE = 1e-4  # above this, single precision leaves four digits


@dataclass(frozen=True)
class Curvature:
    """Square root `root` (k, r) of the inverse Hessian, weighted mean row `centre`, `total` = sum of D, and D itself.

    Leverages are G_ii D_i with this very D: in a row space they are so close to 1 that the curvatures of the losses one
    Newton step further would take them beyond. Without a free intercept, `centre` is None and `total` is infinite. If
    `is_single`, the root is triangular and safe to use in single precision.
    """

    root: Floats
    centre: Floats | None
    total: float
    D: Floats
    is_single: bool = False

    def solve(self, right: Floats) -> Floats:
        """H^-1 right, for the centred block."""
        return np.asarray(self.root @ (self.root.T @ right))

    def influence_rows(self, design: Design, index: Ints | slice, *, exact: bool = True) -> Any:
        """Rows of B with G = B B'; unless `exact`, in single precision where that is safe."""
        B = design.through(self.root if exact else self._own_root, self.centre, index)
        if self.centre is None:
            return B
        return np.hstack([B, np.full_like(B[:, :1], self.total**-0.5)])

    @cached_property
    def _own_root(self) -> Any:
        """The root, in single precision where that is safe."""
        return self.root.astype(np.float32) if self.is_single else self.root

    def seen(self, design: Design, V: Floats, *more: Any) -> tuple[Floats, Floats, Floats]:
        """G_ii of every row, B V, and `more` as in `Design.seen_through`."""
        k = self.root.shape[1]
        out = design.seen_through(self._own_root, self.centre, V[:k], *more)
        diagonal, added, products = out[:, 0], out[:, 1], out[:, 2:]
        if self.centre is None:
            return diagonal, products, added
        return diagonal + 1.0 / self.total, products + V[k] * self.total**-0.5, added


def curvature_at(design: Design, D: Floats, lam: float, free_intercept: bool) -> Curvature:
    """Curvature of the objective where the losses have curvature D."""
    total = float(D.sum())
    if free_intercept and total <= 0.0:
        # Every row saturated: any centre will do, since no row pulls on it.
        D = np.full_like(D, np.finfo(float).tiny)
        total = float(D.sum())
    centre = design.mean(D) if free_intercept else None
    total = total if free_intercept else np.inf
    if design.is_large:
        root, pivot = design.inverse_root(D, centre, lam, np.float32)
        if pivot > SAFE:
            return Curvature(root, centre, total, D, is_single=True)
    return Curvature(design.inverse_root(D, centre, lam, np.float64)[0], centre, total, D)


def inverse_root(H: Floats) -> Floats:
    """R with R R' = H^-1; directions in which H vanishes are left out (pseudo-inverse)."""
    return inverse_root_and_pivot(H)[0]


def inverse_root_and_pivot(H: Floats, dtype: Any = np.float64) -> tuple[Floats, float]:
    """The root, and the smallest squared pivot of H: 0 if directions were left out, otherwise the root is triangular.

    H is first scaled to unit diagonal, so that columns in different units cost no accuracy. In single precision a
    small pivot comes without a root: the caller starts again in double.
    """
    diagonal = np.sqrt(np.maximum(np.diag(H), 0.0))
    scale = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    unit = H * scale * scale[:, None]
    lower, failed = (lapack.dpotrf if dtype == np.float64 else lapack.spotrf)(unit, lower=1)
    pivot = 0.0 if failed else float(np.min(np.diag(lower))) ** 2
    if dtype != np.float64 and pivot <= SAFE:
        return unit, pivot
    if pivot < SINGULAR * len(H):
        return scale[:, None] * _spectral_root(unit), 0.0
    return scale[:, None] * inverse_lower(lower).T, pivot


def inverse_lower(lower: Floats) -> Floats:
    """Inverse of a lower triangular matrix, halves first: [[P, 0], [Q, S]]^-1 = [[P^-1, 0], [-S^-1 Q P^-1, S^-1]].

    Products of halves are several times faster than LAPACK's own routine at a few hundred rows.
    """
    n = len(lower)
    if n <= LEAF:
        return np.asarray((lapack.dtrtri if lower.dtype == np.float64 else lapack.strtri)(lower, lower=1)[0])
    half = n // 2
    out = np.zeros((n, n), dtype=lower.dtype)
    out[:half, :half] = inverse_lower(lower[:half, :half])
    out[half:, half:] = inverse_lower(lower[half:, half:])
    out[half:, :half] = -out[half:, half:] @ (lower[half:, :half] @ out[:half, :half])
    return out


def _through(rows: Any, root: Any) -> Any:
    """rows @ root; one in single precision is upper triangular, which halves the work and overwrites `rows`."""
    return rows @ root if root.dtype == np.float64 else blas.strmm(1.0, root.T, rows.T, lower=1, overwrite_b=1).T


def _spectral_root(unit: Floats) -> Floats:
    values, vectors = eigh(unit)
    kept = values > SINGULAR * len(unit) * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def with_free_intercept(design: Design, curvature: Curvature, lam: float, constant: float) -> tuple[Curvature, Floats]:
    """The inverse Hessian without the penalty on the weight of the constant column, e: an update of rank one.

    (H - lam e e')^-1 = H^-1 + f f',  f = H^-1 e sqrt(lam / (1 - lam e'H^-1 e)). And e, in coordinates of the design.
    """
    root, D, e = curvature.root, curvature.D, np.zeros(len(curvature.root))
    if design.pivots is None:
        e[-1] = 1.0
    else:  # all rows together are a multiple of e, so it lies in the row space
        top = design.matrix[design.pivots[: e.size]]
        e = solve_triangular(top, np.full(e.size, constant), lower=True)
    f = root @ (root.T @ e)
    left = constant * float(D.sum() * design.mean(D) @ f)  # 1 - lam e'H^-1 e, without the subtraction
    f *= np.sqrt(lam / left) if left > 0 else 0.0
    return Curvature(np.hstack([root, f[:, None]]), None, np.inf, curvature.D), e
