"""PyTorch tensors, on a GPU or not: sums of scores by class, and products with the rows of a fit, where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
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
# float32. The product is queued first, then everything after it, and beside it the counting of labels and a copy of the
# weights to the host, which checks them while the device is busy, and waits only once, for the last number.

SAMPLE = 4096  # rows whose median score is subtracted from all scores
BLOCK_SCORES = 1 << 24  # scores of many classifiers held at a time
CUDA_BLOCK_SCORES = 1 << 28  # the same on a GPU with enough memory
WIDENED = 1 << 26  # numbers of X in half precision that are converted to float32 at a time


def launched(X: Any, y: Any, w: Any) -> tuple[Array, Callable[[], tuple[Any, Any, Any]]]:
    """Queue the work for a vector (P,) or a matrix (P, K) of weights, of any type and on any device.

    Returns the weights on the host, and what waits for labels and counts (4,), means (2, K) and scatters (2, K).
    """
    X, y = checked_table(X, y)
    with torch.no_grad():
        w = w if torch.is_tensor(w) else torch.from_numpy(_weights(w))
        # Half precision overflows at 65504, or has three digits.
        weights = w.detach().to(X.device, torch.float32 if X.element_size() < 4 else X.dtype)
        if weights.shape[:1] != X.shape[1:] or weights.ndim not in (1, 2):
            return to_host(w), lambda: (None, None, None)
        here = torch.cuda.current_stream(X.device).record_event() if X.is_cuda else None
        if weights.ndim == 2:
            numbers = _sums_of_many(X, y, weights)
            return _beside(here, lambda: to_host(w)), lambda: _of_many(to_host(numbers))
        scores, on_host = _scores_of_one(X, weights), _beside(here, lambda: to_host(w))
        numbers = _sums_of_one(scores, *_beside(here, lambda: _members(y)))
        return on_host, lambda: _of_one(numbers.tolist())


def _beside(here: Any, act: Callable[[], Any]) -> Any:
    """What `act` makes, on a GPU beside all that has been queued since the mark `here`; what is queued next waits."""
    if here is None:
        return act()
    queue, second = torch.cuda.current_stream(here.device), _second_stream(here.device)
    second.wait_event(here)
    with torch.cuda.stream(second):
        made = act()
    queue.wait_stream(second)
    for each in made if isinstance(made, tuple) else ():
        each.record_stream(queue)
    return made


_second_stream = lru_cache(partial(torch.cuda.Stream, priority=-1))  # memory stays with a stream: one for each device


def _of_one(numbers: list[float]) -> tuple[Any, Any, Any]:
    return numbers[:4], numbers[4:6], [root * root for root in numbers[6:]]


def _of_many(out: Floats) -> tuple[Floats, Floats, Floats]:
    shift, sums, squares = out[4:].reshape(3, 2, -1)
    with np.errstate(all="ignore"):
        step = sums / out[2:4, None]
        return out[:4], shift + step, np.maximum(squares - step * sums, 0.0)


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


def _scores_of_one(X: Any, w: Any) -> Any:
    if X.dtype == w.dtype:
        return torch.mv(X, w)
    height = max(1, WIDENED // X.shape[1])
    return torch.cat([torch.mv(rows.to(w.dtype), w) for rows in X.split(height)])


def _members(y: Any) -> tuple[Any, Any, Any]:
    """Which rows are of the smaller label and of the larger, both labels, and how many rows each has."""
    ends = torch.stack(torch.aminmax(y))
    members = torch.empty(2, len(y), dtype=torch.float64, device=y.device)
    torch.eq(y, ends[:, None], out=members)
    return members, ends, members.sum(dim=1)


def _sums_of_one(scores: Any, members: Any, ends: Any, counts: Any) -> Any:
    """Labels, their counts, means and roots of the scatters of both classes: 8 numbers, by as few kernels as can be."""
    both = members * scores
    mean = both.sum(dim=1) / counts
    both = both.addcmul_(members, mean[:, None], value=-1)
    return torch.cat([ends, counts, mean, torch.linalg.vector_norm(both, dim=1)])


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


# ---- Vectors with a number per row, kept on the device of X.


class Vector(torch.Tensor):  # type: ignore[misc]
    """Numbers on a device: NumPy's functions act on them there (`ON_DEVICE`), all others on a copy on the host."""

    size = property(torch.Tensor.numel)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.asarray(to_host(self.as_subclass(torch.Tensor)), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        act = _product if ufunc is np.matmul else getattr(torch, ufunc.__name__, None)
        if act is None or method != "__call__" or options.keys() - {"out"}:
            return getattr(ufunc, method)(*map(_on_host, inputs), **options)
        result = act(*map(self._beside, inputs))
        return options["out"][0].copy_(result) if options else result

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        with suppress(KeyError, TypeError):  # for arguments that PyTorch does not take
            return ON_DEVICE[function.__name__](*map(self._beside, args), **options)
        return function(*_on_host(args), **{name: _on_host(each) for name, each in options.items()})

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(self._index(index))

    def __setitem__(self, index: Any, values: Any) -> None:
        super().__setitem__(self._index(index), self._beside(values).to(self.dtype))

    def _index(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        return tuple(self._beside(p) if isinstance(p, np.ndarray) else p for p in parts)  # PyTorch is slow at that

    def __matmul__(self, other: Any) -> Any:
        return _product(self, self._beside(other))

    def max(self, axis: Any = ()) -> Any:
        return self.amax(axis)

    def min(self, axis: Any = ()) -> Any:
        return self.amin(axis)

    def var(self, ddof: int = 0) -> Any:
        return super().var(correction=ddof)

    def std(self, ddof: int = 0) -> Any:
        return self.var(ddof) ** 0.5

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return self.to(torch.from_numpy(np.empty(0, dtype)).dtype)

    def _beside(self, values: Any) -> Any:
        """Numbers on the host as a tensor that can be combined with this one."""
        if torch.is_tensor(values) or isinstance(values, str):
            return values
        if isinstance(values, list | tuple) and any(map(torch.is_tensor, values)):
            return [self._beside(each) for each in values]
        tensor = torch.as_tensor(np.asarray(values))
        return tensor.to(self.device, non_blocking=True).as_subclass(Vector) if tensor.ndim else tensor


def _in_double(name: str) -> Callable[[Any, Any], Any]:
    """An operator of PyTorch that makes float64 of whole numbers where it would make float32."""
    plain = getattr(torch.Tensor, name)

    def act(self: Any, other: Any) -> Any:
        real = self.is_floating_point() or not (isinstance(other, float) or name == "__truediv__")
        return plain(self if real else self.double(), other)

    return act


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv"):
    setattr(Vector, f"__{_name}__", _in_double(f"__{_name}__"))


def _on_host(values: Any) -> Any:
    if isinstance(values, list | tuple):
        return type(values)(map(_on_host, values))
    return np.asarray(values) if isinstance(values, Vector) else values


def _product(a: Any, b: Any) -> Any:
    dtype = torch.promote_types(a.dtype, b.dtype)
    return torch.matmul(a.to(dtype), b.to(dtype))


SAME = "where argsort searchsorted diff hstack stack einsum sum mean"  # as in NumPy
ON_DEVICE: dict[str, Callable[..., Any]] = {
    **{name: getattr(torch, name) for name in SAME.split()},
    "sort": lambda x: torch.sort(x).values,
    "concatenate": torch.cat,
    "cumsum": lambda x: torch.cumsum(x, 0),
    "flatnonzero": lambda x: torch.nonzero(x)[:, 0],
    "count_nonzero": lambda x: int(torch.count_nonzero(x)),
    "max": torch.amax,
    "ptp": lambda x, axis=(): x.max(axis) - x.min(axis),
    "percentile": lambda x, q: np.percentile(np.asarray(x), q) if x.size > 1 << 24 else torch.quantile(x, q / 100),
    "average": lambda x, weights: (x * weights).sum() / weights.sum(),
    "norm": torch.linalg.vector_norm,
    "array_equal": torch.equal,
    "empty_like": lambda x, shape=None: x.new_empty(shape or x.shape),
    "full_like": lambda x, value: torch.full_like(x, float(value)),
    "ones_like": lambda x, dtype: torch.ones_like(x.astype(dtype)),
}


# ---- A tensor as the matrix of a fit.
#
# Products that decide where the optimum is (scores, slopes) are in float64. The two large ones, the Hessian and the
# rows seen through its root, are in float32 where the caller allows it; sums in float32 never run over more than
# `SHORT` rows. Rows are converted, centred and scaled in a buffer of fixed size, so the device never holds another X.

BLOCK_ENTRIES = 1 << 27  # numbers in the buffer: 512 MB of float32
SHORT = 4096  # rows that are added up in float32; longer sums are in float64
FEW_ROWS = 10_000  # up to so many, vectors with a number per row are on the host
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
            self.known[:] = [(w, self.vector(out))]
        return self.known[0][1]

    __matmul__ = project

    def back(self, *vectors: Floats) -> list[Floats]:
        """A'g of vectors g, in one pass."""
        weights = [self._sent(g) for g in vectors]
        total = self._empty(len(weights), self.shape[1]).zero_()
        for part, rows in self._blocks(torch.float64):
            for k, g in enumerate(weights):
                total[k] += rows.mT @ g[part]
        return list(to_host(total))

    def gram(self, d: Floats, centre: Floats | None, dtype: Any) -> Floats:
        """(A - 1 centre')' diag(d) (A - 1 centre')."""
        return to_host(self._gram(d, centre, dtype))

    def inverse_root(self, d: Floats, centre: Floats | None, lam: float, dtype: Any) -> tuple[Floats, float]:
        """Triangular root of the inverse of `gram` + lam I, and its smallest squared pivot; 0 if it is singular."""
        H = self._gram(d, centre, dtype)
        H.diagonal().add_(lam)
        scale = H.diagonal().rsqrt()
        lower, failed = torch.linalg.cholesky_ex(H * scale * scale[:, None])
        eye = torch.eye(len(H), dtype=H.dtype, device=H.device)
        root = scale[:, None] * torch.linalg.solve_triangular(lower, eye, upper=False).mT
        pivot = torch.where(failed == 0, lower.diagonal().min() ** 2, 0.0).nan_to_num()
        return self.vector(root), float(pivot)

    def _gram(self, d: Floats, centre: Floats | None, dtype: Any) -> Any:
        k, root = self.shape[1], self._sent(np.sqrt(d)).to(_precision(dtype))
        total = self._empty(k, k).zero_()
        for _, rows in self._blocks(_precision(dtype), centre, root):
            whole = len(rows) // SHORT * SHORT
            for batch in (rows[:whole].view(-1, SHORT, k), rows[None, whole:]):
                _add_upper_half(total, batch)
        return total.triu() + total.triu(1).mT

    def vector(self, values: Any) -> Any:
        """One number per row, or several: on the device of X if there are many rows, else on the host."""
        if self.shape[0] <= max(FEW_ROWS, self.shape[1]):
            return to_host(values)
        return torch.as_tensor(values, device=self.X.device).as_subclass(Vector)

    def rows(self, index: Any, centre: Floats | None) -> Floats:
        """Rows on the host."""
        return to_host(self._rows(index, centre))

    def rows_through(self, index: Any, centre: Floats | None, root: Any) -> Any:
        """root' (a_i - centre) of some rows, in the precision of the root."""
        R = self._root(root)
        return self.vector(self._rows(index, centre).to(R.dtype) @ R)

    def _rows(self, index: Any, centre: Floats | None) -> Any:
        place = index if isinstance(index, slice) else torch.as_tensor(index, device=self.X.device)
        rows = self.X[place].double()
        if self.constant:
            rows = torch.nn.functional.pad(rows, (0, 1), value=self.constant)
        return rows if centre is None else rows - self._sent(centre)

    def _root(self, root: Any) -> Any:
        R = torch.as_tensor(root, device=self.X.device).as_subclass(torch.Tensor)
        return R.to(_precision(np.float32)) if R.dtype == torch.float32 else R

    def __getitem__(self, row: int) -> Floats:
        return np.asarray(self.rows(slice(row, row + 1), None)[0])

    def seen_through(self, root: Any, centre: Floats | None, V: Floats) -> Any:
        """|b_i|^2, 0, and b_i' V, of every row b_i = root' (a_i - centre); a root in float32 is triangular."""
        R = self._root(root)
        dtype, RV = R.dtype, (R.double() @ self._sent(V)).to(R.dtype)
        out = self._empty(2 + V.shape[1], self.shape[0]).zero_()
        for part, rows in self._blocks(dtype, centre):
            for columns in _parts(R.shape[1]):
                upto = columns.stop if dtype == torch.float32 else R.shape[0]
                seen = rows[:, :upto] @ R[:upto, columns]
                out[0, part] += torch.linalg.vector_norm(seen, dim=1, dtype=torch.float64).square()
            out[2:, part] = (rows @ RV).mT
        return self.vector(out.mT)

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
        wide = torch.promote_types(self.X.dtype, torch.float32)
        shift = None if centre is None else self._sent(centre).to(wide)
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
            else:  # in the precision of X, then rounded
                torch.sub(self.X[part], shift[:P], out=rows[:, :P])
                rows[:, P:] -= shift[P:]
            yield part, rows if factor is None else rows.mul_(factor[part, None])

    def _sent(self, values: Floats) -> Any:
        if isinstance(values, Vector):
            return values.as_subclass(torch.Tensor)
        return torch.from_numpy(np.array(values, dtype=np.float64)).to(self.X.device, non_blocking=True)

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
