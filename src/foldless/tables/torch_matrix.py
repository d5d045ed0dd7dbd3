"""A PyTorch tensor as the matrix of a fit: products with its rows, computed where it lies.

Products that decide where the optimum is (scores, slopes) are in float64. The two large ones, the Hessian and the rows
seen through its root, are in float32 where the caller allows it; sums in float32 never run over more than `SHORT` rows.
Rows are converted, centred and scaled in a buffer of fixed size, so the device never holds another X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch  # this module is imported only when X is a tensor

from foldless.checks import Array, Floats
from foldless.tables.block import Moments
from foldless.tables.device import DeviceTable, column_moments, to_host
from foldless.tables.matrix import DeviceMatrix

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
