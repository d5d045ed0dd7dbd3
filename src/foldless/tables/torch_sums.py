"""PyTorch tensors, on a GPU or not: the scores of all rows by one product, their class sums by a handful of kernels.

The product is in the precision of X, in float32 where X is in a half precision. For one classifier everything after
it is in float64: class means first, then the sums about them, so the scatter is as exact as the scores are. For many,
sums within a block of rows are products in the precision of the scores, and blocks are added in float64. They are taken
about the median score of some rows from all over the table: a class whose mean lies d of its standard deviations from
it loses a factor of about 1 + d^2 of that precision, which matters for d in the hundreds with float32. A copy of the
weights for the host is queued first, then the product and all that follows it; the host does its share while the device
is busy and waits once, for the last number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.checks import Array, Floats
from foldless.errors import InputError
from foldless.tables.device import numeric_labels, refuse_other_shapes, to_host

SAMPLE = 4096  # rows whose median score is the shift
BLOCK_SCORES = 1 << 24  # scores of many classifiers held at a time
CUDA_BLOCK_SCORES = 1 << 28  # the same on a GPU with room for them
WIDENED = 1 << 26  # numbers of X in half precision that are turned into float32 at a time


@dataclass(frozen=True, eq=False)
class Pending:
    """Class sums that are being computed, about a shift; the labels and their counts; the weights on the host."""

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
    """Queue the work for a vector (P,) or a matrix (P, K) of weights, of any kind and place."""
    import torch

    X, y = checked_table(X, y)
    with torch.no_grad():
        w = w if torch.is_tensor(w) else torch.from_numpy(_weights(w))
        on_host = _host_copy(w)  # queued before the product: once the device is busy, a copy would wait for it
        weights = w.detach().to(X.device, _precision(X))
        if weights.shape[:1] != X.shape[1:] or weights.ndim not in (1, 2):
            return Pending(None, False, on_host())
        if weights.ndim == 2:
            return Pending(_sums_of_many(X, y, weights), False, on_host())
        return Pending(_sums_of_one(_scores_of_one(X, weights), y), True, on_host())


def checked_table(X: Any, y: Any) -> tuple[Any, Any]:
    """X and labels as tensors of the same device, or an error."""
    import torch

    X = X.detach()
    if not torch.is_tensor(y):
        values = numeric_labels(y)
        y = torch.from_numpy(np.require(values, values.dtype.newbyteorder("="), ["C", "W"]))  # PyTorch takes no others
    refuse_other_shapes(X, y, X.dtype.is_floating_point)
    return X, y.to(X.device, torch.uint8 if y.dtype == torch.bool else y.dtype)


def _weights(w: Any) -> Floats:
    """Weights that are no tensor, as a copy in float64: PyTorch itself would make float32 of a list."""
    try:
        return np.array(to_host(w), dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InputError("w must hold numbers: one weight per column of X.") from err


def _precision(X: Any) -> Any:
    """That of the product: half precision overflows at 65504, or has three digits."""
    import torch

    return torch.float32 if X.element_size() < 4 else X.dtype


def _host_copy(w: Any) -> Callable[[], Array]:
    """Start to bring weights to the host; the function that is returned waits for them."""
    import torch

    if not w.is_cuda:
        return lambda: to_host(w)
    copy = torch.empty(w.shape, dtype=w.dtype, pin_memory=True)
    copy.copy_(w.detach(), non_blocking=True)
    done = torch.cuda.Event()
    done.record()

    def finished() -> Array:
        done.synchronize()
        return to_host(copy)

    return finished


def _scores_of_one(X: Any, w: Any) -> Any:
    import torch

    if X.dtype == w.dtype:
        return torch.mv(X, w)
    height = max(1, WIDENED // X.shape[1])
    return torch.cat([torch.mv(rows.to(w.dtype), w) for rows in X.split(height)])


def _sums_of_one(scores: Any, y: Any) -> Any:
    """Labels, their counts, the shifts, sums and sums of squares of both classes: 10 numbers."""
    import torch

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
    import torch

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
    """Rows at a time: large products are fast, but scores and their squares must leave room on the device."""
    scores = BLOCK_SCORES
    if X.is_cuda:
        from torch import cuda

        room = cuda.get_device_properties(X.device).total_memory // (32 * max(4, X.element_size()))
        scores = min(CUDA_BLOCK_SCORES, room)
    height = max(1, scores // K)
    return height if X.element_size() >= 4 else max(1, min(height, WIDENED // X.shape[1]))


def _scores(X: Any, W: Any, shift: Any) -> Any:
    """Scores of a block less their shift; in float64, where a product with a shift is slow, the scores as they are."""
    import torch

    return X @ W if X.dtype == torch.float64 else torch.addmm(-shift, X.to(W.dtype), W)


def _block_sums(scores: Any, shift: Any, members: Any) -> Any:
    """Class sums of the scores less their shift, and of the squares of these; the scores are overwritten."""
    import torch

    if scores.dtype != torch.float64:
        sums = members @ scores
        return torch.stack([sums, members @ scores.square_()]).double()
    # Shifting the sums in place of the scores costs no more than the rounding of the scores, and saves a kernel.
    squares = torch.nn.functional.mse_loss(scores, shift.expand_as(scores), reduction="none")
    sums = members @ scores - members.sum(dim=1)[:, None] * shift
    return torch.stack([sums, members @ squares])
