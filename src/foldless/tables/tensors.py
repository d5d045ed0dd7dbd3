"""PyTorch tensors, on a GPU or not: sums of scores by class, and products with the rows of a fit, where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch  # this module is imported only when X is a tensor

from foldless.checks import Array, Floats
from foldless.errors import InputError
from foldless.tables.block import Moments
from foldless.tables.device import DeviceTable, column_moments, numeric_labels, refuse_other_shapes, to_host
from foldless.tables.matrix import DeviceMatrix

# ---- Sums: one product gives the scores of all rows, a few kernels their class sums.
#
# The product has the precision of X, or float32 if X is in half precision. For one classifier everything after it is in
# float64: class means first, then the sums about them, so the scatter is as exact as the scores. For many classifiers,
# sums within a block of rows are products in the precision of the scores, and blocks are added in float64. These sums
# are taken about the median score of a sample of rows from the whole table: a class whose mean lies d of its standard
# deviations from the median loses a factor of about 1 + d^2 of that precision, which matters for d in the hundreds with
# float32. The product is queued first, then everything after it, and beside it a copy of the weights to the host, which
# checks them while the device is busy, and waits only once, for the last number.

SAMPLE = 4096  # rows whose median score is subtracted from all scores
BLOCK_SCORES = 1 << 24  # scores of many classifiers held at a time
CUDA_BLOCK_SCORES = 1 << 28  # the same on a GPU with enough memory
WIDENED = 1 << 26  # numbers of X in half precision that are converted to float32 at a time


@dataclass(frozen=True, eq=False)
class Pending:
    """Class sums, about a shift, that the device is computing; labels and their counts; the weights on the host."""

    numbers: Any  # on the device: 4 for the labels, then (6, K): shift, sums and squares, each of both classes
    single: bool
    weights: Array

    def collect(self) -> tuple[Floats, Floats, Floats]:
        """Labels and counts (4,), means (2, K) and scatters (2, K) on the host; waits for the device once."""
        out = self.numbers.cpu().numpy()
        n, rest = (out[2:4], out[4:]) if self.single else (out[2:4, None], out[4:].reshape(6, -1))
        shift, sums, squares = rest[:2], rest[2:4], rest[4:]
        with np.errstate(all="ignore"):
            step = sums / n
            return out[:4], shift + step, np.maximum(squares - step * sums, 0.0)


def launched(X: Any, y: Any, w: Any) -> Pending:
    """Queue the work for a vector (P,) or a matrix (P, K) of weights, of any type and on any device."""
    X, y = checked_table(X, y)
    with torch.no_grad():
        w = w if torch.is_tensor(w) else torch.from_numpy(_weights(w))
        on_host = _host_copy(w)
        # Half precision overflows at 65504, or has three digits.
        weights = w.detach().to(X.device, torch.float32 if X.element_size() < 4 else X.dtype)
        if weights.shape[:1] != X.shape[1:] or weights.ndim not in (1, 2):
            return Pending(None, False, on_host())
        if weights.ndim == 2:
            return Pending(_sums_of_many(X, y, weights), False, on_host())
        return Pending(_sums_of_one(_scores_of_one(X, weights), y), True, on_host())


def checked_table(X: Any, y: Any) -> tuple[Any, Any]:
    """X and labels as tensors on the same device, or an error."""
    X = X.detach()
    if not torch.is_tensor(y):
        values = numeric_labels(y)
        y = torch.from_numpy(np.require(values, values.dtype.newbyteorder("="), ["C", "W"]))  # as PyTorch requires
    refuse_other_shapes(X, y, X.dtype.is_floating_point)
    return X, y.to(X.device, torch.uint8 if y.dtype == torch.bool else y.dtype)


def _weights(w: Any) -> Floats:
    """Weights that are not a tensor, as a copy in float64: PyTorch would turn a list into float32."""
    try:
        return np.array(to_host(w), dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InputError("w must hold numbers: one weight per column of X.") from err


def _host_copy(w: Any) -> Callable[[], Array]:
    """A function that copies the weights as they are now, and need not wait for what is queued in the meantime."""
    if not w.is_cuda:
        return lambda: to_host(w)
    here = torch.cuda.Event()
    here.record(torch.cuda.current_stream(w.device))

    def finished() -> Array:
        beside = torch.cuda.Stream(w.device)
        beside.wait_event(here)
        with torch.cuda.stream(beside):
            return to_host(w)

    return finished


def _scores_of_one(X: Any, w: Any) -> Any:
    if X.dtype == w.dtype:
        return torch.mv(X, w)
    height = max(1, WIDENED // X.shape[1])
    return torch.cat([torch.mv(rows.to(w.dtype), w) for rows in X.split(height)])


def _sums_of_one(scores: Any, y: Any) -> Any:
    """Labels, their counts, the shifts, sums and sums of squares of both classes: 10 numbers."""
    ends = torch.stack(torch.aminmax(y))
    members = (y == ends[:, None]).double()
    counts = members.sum(dim=1)
    both = members * scores.double()
    shift = both.sum(dim=1) / counts
    both = both.addcmul_(members, shift[:, None], value=-1)
    squares = torch.linalg.vector_norm(both, dim=1).square()
    return torch.cat([ends.double(), counts, shift, both.sum(dim=1), squares])


def _sums_of_many(X: Any, y: Any, W: Any) -> Any:
    """The same for each of K classifiers: 4 + 6 K numbers."""
    height = _height(X, W.shape[1])
    shift = (X[:: max(1, X.shape[0] // SAMPLE)][:SAMPLE].to(W.dtype) @ W).median(dim=0).values
    scores = _scores(X[:height], W, shift)  # the rest is prepared while this runs
    ends = torch.stack(torch.aminmax(y))
    both = y == ends[:, None]
    members = both.to(W.dtype)
    sums = _block_sums(scores, shift, members[:, :height])
    for start in range(height, X.shape[0], height):
        rows = slice(start, start + height)
        sums = sums + _block_sums(_scores(X[rows], W, shift), shift, members[:, rows])
    return torch.cat([ends.double(), both.sum(dim=1).double(), shift.double().repeat(2), sums.reshape(-1)])


def _height(X: Any, K: int) -> int:
    """Rows at a time: large products are fast, but scores and their squares must fit on the device."""
    scores = BLOCK_SCORES
    if X.is_cuda:
        room = torch.cuda.get_device_properties(X.device).total_memory // (32 * max(4, X.element_size()))
        scores = min(CUDA_BLOCK_SCORES, room)
    height = max(1, scores // K)
    return height if X.element_size() >= 4 else max(1, min(height, WIDENED // X.shape[1]))


def _scores(X: Any, W: Any, shift: Any) -> Any:
    """Scores of a block minus the shift; not shifted in float64, where a product with a shift is slow."""
    return X @ W if X.dtype == torch.float64 else torch.addmm(-shift, X.to(W.dtype), W)


def _block_sums(scores: Any, shift: Any, members: Any) -> Any:
    """Class sums of the shifted scores and of their squares; the scores are overwritten."""
    if scores.dtype != torch.float64:
        sums = members @ scores
        return torch.stack([sums, members @ scores.square_()]).double()
    # Shifting the sums instead of the scores loses no more than the rounding of the scores, and saves a kernel.
    squares = torch.nn.functional.mse_loss(scores, shift.expand_as(scores), reduction="none")
    sums = members @ scores - members.sum(dim=1)[:, None] * shift
    return torch.stack([sums, members @ squares])


# ---- A tensor as the matrix of a fit.
#
# Products that decide where the optimum is (scores, slopes) are in float64. The two large ones, the Hessian and the
# rows seen through its root, are in float32 where the caller allows it; sums in float32 never run over more than
# `SHORT` rows. Rows are converted, centred and scaled in a buffer of fixed size, so the device never holds another X.

BLOCK_ENTRIES = 1 << 26  # numbers in the buffer: 256 MB of float32
SHORT = 4096  # rows that are added up in float32; longer sums are in float64
PARTS = 4  # of the columns: products with a symmetric or triangular result leave out what is known


@dataclass(frozen=True, eq=False)
class TorchMatrix(DeviceMatrix):
    """Rows of a tensor, followed by a column filled with `constant` unless that is 0; vectors are on the host."""

    X: Any
    constant: float = 0.0
    known: list[tuple[Floats, Floats]] = field(default_factory=list)  # weights and their scores

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.X.shape[0]), int(self.X.shape[1]) + (self.constant != 0)

    def project(self, w: Floats) -> Floats:
        """A w; the last product is kept, since fits are scored first and analysed then."""
        if not (self.known and np.array_equal(self.known[0][0], w)):
            out, weights = self._empty(self.shape[0]), self._sent(w)
            for part, rows in self._blocks(torch.float64):
                torch.mv(rows, weights, out=out[part])
            self.known[:] = [(w, to_host(out))]
        return self.known[0][1]

    __matmul__ = project

    def back(self, g: Floats) -> Floats:
        """A'g."""
        total, weights = self._empty(self.shape[1]).zero_(), self._sent(g)
        for part, rows in self._blocks(torch.float64):
            total += rows.mT @ weights[part]
        return to_host(total)

    def gram(self, d: Floats, centre: Floats | None, dtype: Any) -> Floats:
        """(A - 1 centre')' diag(d) (A - 1 centre')."""
        k, root = self.shape[1], self._sent(np.sqrt(d))
        total = self._empty(k, k).zero_()
        for _, rows in self._blocks(_precision(dtype), centre, root):
            whole = len(rows) // SHORT * SHORT
            for batch in (rows[:whole].view(-1, SHORT, k), rows[None, whole:]):
                _add_upper_half(total, batch)
        return to_host(total.triu() + total.triu(1).mT)

    def rows(self, index: Any, centre: Floats | None) -> Floats:
        """Rows on the host."""
        place = index if isinstance(index, slice) else torch.as_tensor(index, device=self.X.device)
        rows = to_host(self.X[place].double())
        if self.constant:
            rows = np.hstack([rows, np.full((len(rows), 1), self.constant)])
        return rows if centre is None else rows - centre

    def __getitem__(self, row: int) -> Floats:
        return np.asarray(self.rows(slice(row, row + 1), None)[0])

    def seen_through(self, root: Any, centre: Floats | None, V: Floats) -> Floats:
        """|b_i|^2, followed by b_i' V, of every row b_i = root' (a_i - centre); a root in float32 is triangular."""
        dtype = _precision(root.dtype)
        R, RV = (self._sent(each).to(dtype) for each in (root, root.astype(np.float64) @ V))
        out = self._empty(1 + V.shape[1], self.shape[0]).zero_()
        for part, rows in self._blocks(dtype, centre):
            for columns in _parts(R.shape[1]):
                upto = columns.stop if dtype == torch.float32 else R.shape[0]
                seen = rows[:, :upto] @ R[:upto, columns]
                out[0, part] += torch.linalg.vector_norm(seen, dim=1, dtype=torch.float64).square()
            out[1:, part] = (rows @ RV).mT
        return to_host(out).T

    def gram_of_rows(self, centred: bool) -> Floats:
        """A A', the rows less their mean if `centred`; for fewer rows than columns."""
        N = self.X.shape[0]
        total = self._empty(N, N).zero_()
        for columns in self.X.split(max(1, BLOCK_ENTRIES // N), dim=1):
            part = columns.double() - columns.double().mean(dim=0) if centred else columns.double()
            total += part @ part.mT
        return to_host(total)

    def class_moments(self, positive: Array) -> tuple[Moments, Moments]:
        """Moments of the columns in the negative and in the positive class."""
        return column_moments(DeviceTable.of(self.X, positive.astype(np.uint8)))

    def extremes(self) -> Floats:
        """The smallest and the largest number."""
        return to_host(torch.stack(torch.aminmax(self.X)).double())

    def _blocks(self, dtype: Any, centre: Floats | None = None, factor: Any = None) -> Iterator[tuple[slice, Any]]:
        """Rows less the centre, times the factor of each, in a buffer that every block overwrites."""
        (N, k), P = self.shape, self.X.shape[1]
        height = min(N, max(1, BLOCK_ENTRIES // k // SHORT) * SHORT)
        shift = None if centre is None else self._sent(centre)
        plain = self.X.dtype == dtype and k == P and shift is None and factor is None
        buffer = None if plain else torch.empty((height, k), dtype=dtype, device=self.X.device)
        for start in range(0, N, height):
            part = slice(start, min(start + height, N))
            if buffer is None:
                yield part, self.X[part]
                continue
            rows = buffer[: part.stop - start]
            rows[:, P:] = self.constant
            if shift is None:
                rows[:, :P] = self.X[part]
            else:  # in float64, then rounded
                torch.sub(self.X[part], shift[:P], out=rows[:, :P])
                rows[:, P:] -= shift[P:]
            yield part, rows if factor is None else rows.mul_(factor[part, None])

    def _sent(self, values: Floats) -> Any:
        return torch.from_numpy(np.array(values, dtype=np.float64)).to(self.X.device)

    def _empty(self, *shape: int) -> Any:
        return torch.empty(shape, dtype=torch.float64, device=self.X.device)


def _precision(dtype: Any) -> Any:
    """The given one; float64 if PyTorch was told to round the factors of float32 products to three digits (TF32)."""
    matmul = torch.backends.cuda.matmul
    rounded = matmul.fp32_precision == "tf32" if hasattr(matmul, "fp32_precision") else matmul.allow_tf32
    return torch.float32 if np.dtype(dtype) == np.float32 and not rounded else torch.float64


def _parts(width: int) -> list[slice]:
    step = -(-width // PARTS)
    return [slice(start, min(start + step, width)) for start in range(0, width, step)]


def _add_upper_half(total: Any, batch: Any) -> None:
    """Add the inner products of the columns of each matrix of a batch, those below the diagonal left out."""
    for part in _parts(total.shape[1]):
        products = torch.bmm(batch[..., part].mT, batch[..., part.start :])
        total[part, part.start :] += products.sum(dim=0, dtype=torch.float64)
