"""PyTorch tensors, on a GPU or not: the scores of all rows by one product, their class sums by a handful of kernels.

The product is in the precision of X. Sums are taken about a provisional value, the score of a row or the mean of some.
For one classifier everything after the product is in float64; for many, sums within a block of rows are products in
the precision of X, about a shift that keeps them small, and blocks are added in float64. A copy of the weights for the
host is queued first, then the product and all that follows it; the host does its share while the device is busy and
waits once, for the last number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Array, Floats, same_length
from foldless.errors import InputError

FIRST = 4096  # rows whose mean score is the shift
BLOCK_SCORES = 1 << 24  # scores of many classifiers held at a time
CUDA_BLOCK_SCORES = 1 << 28  # the same on a GPU with room for them


@dataclass(frozen=True, eq=False)
class Pending:
    """Class sums that are being computed, about a shift; the labels and their counts; the weights on the host."""

    numbers: Any  # on the device: 4 for the labels, then (5, K): shift, sums and squares of both classes
    single: bool
    weights: Array

    def collect(self) -> tuple[Floats, Floats, Floats]:
        """Labels and counts (4,), means (2, K) and scatters (2, K) on the host; waits for the device once."""
        out = self.numbers.cpu().numpy()
        n, rest = (out[2:4], out[4:]) if self.single else (out[2:4, None], out[4:].reshape(5, -1))
        with np.errstate(all="ignore"):
            step = rest[1:3] / n
            scatter = np.maximum(rest[3:5] - step * rest[1:3], 0.0)
            return out[:4], rest[0] + step, scatter


def launched(X: Any, y: Any, w: Any) -> Pending:
    """Queue the work for a vector (P,) or a matrix (P, K) of weights, of any kind and place."""
    import torch

    X, y = checked_table(X, y)
    with torch.no_grad():
        on_host = _host_copy(w)  # queued before the product: once the device is busy, a copy would wait for it
        weights = torch.as_tensor(w).to(X.device, X.dtype)
        if weights.shape[:1] != X.shape[1:] or weights.ndim not in (1, 2):
            return Pending(None, False, on_host())
        if weights.ndim == 2:
            return Pending(_sums_of_many(X, y, weights), False, on_host())
        return Pending(_sums_of_one(torch.mv(X, weights), y), True, on_host())


def checked_table(X: Any, y: Any) -> tuple[Any, Any]:
    """X and labels as tensors of the same device, or an error."""
    import torch

    X = X.detach()
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"X must have two dimensions (rows x features) and rows, got shape {tuple(X.shape)}.")
    if not X.dtype.is_floating_point:
        raise InputError(f"X holds {X.dtype}, expected real floating point on a device: convert it first.")
    if not torch.is_tensor(y):
        y = torch.as_tensor(_numbers(y))
    if y.ndim != 1:
        raise InputError(f"y must be one label per row, got an array of shape {tuple(y.shape)}.")
    same_length(X.shape[0], y.shape[0])
    return X, y.to(X.device, torch.uint8 if y.dtype == torch.bool else y.dtype)


def _numbers(y: Any) -> Array:
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind not in "biuf":
        raise InputError(f"with X on a device, y must hold numbers, got {values.dtype}: encode the labels as 0 and 1.")
    return values


def _host_copy(w: Any) -> Callable[[], Array]:
    """Start to bring weights to the host; the function that is returned waits for them."""
    import torch

    if not (torch.is_tensor(w) and w.is_cuda):
        return lambda: np.asarray(w.detach().cpu() if hasattr(w, "detach") else w)
    copy = torch.empty(w.shape, dtype=w.dtype, pin_memory=True)
    copy.copy_(w.detach(), non_blocking=True)
    done = torch.cuda.Event()
    done.record()

    def finished() -> Array:
        done.synchronize()
        return np.asarray(copy)

    return finished


def _sums_of_one(scores: Any, y: Any) -> Any:
    """Labels, their counts, the shift, sums and sums of squares of both classes: 9 numbers."""
    import torch

    ends = torch.stack(torch.aminmax(y))
    members = (y == ends[:, None]).double()
    z = scores.double()
    both = members * (z - z[0])
    squares = torch.linalg.vector_norm(both, dim=1).square()
    return torch.cat([ends.double(), members.sum(dim=1), z[:1], both.sum(dim=1), squares])


def _sums_of_many(X: Any, y: Any, W: Any) -> Any:
    """The same for each of K classifiers: 4 + 5 K numbers."""
    import torch

    height = _height(X, W.shape[1])
    shift = (X[:FIRST] @ W).mean(dim=0)
    scores = _scores(X[:height], W, shift)  # the rest is prepared while this runs
    ends = torch.stack(torch.aminmax(y))
    both = y == ends[:, None]
    members = both.to(X.dtype)
    sums = _block_sums(scores, shift, members[:, :height])
    for start in range(height, X.shape[0], height):
        rows = slice(start, start + height)
        sums = sums + _block_sums(_scores(X[rows], W, shift), shift, members[:, rows])
    return torch.cat([ends.double(), both.sum(dim=1).double(), shift.double(), sums.reshape(-1)])


def _height(X: Any, K: int) -> int:
    """Rows at a time: large products are fast, but scores and their squares must leave room on the device."""
    scores = BLOCK_SCORES
    if X.is_cuda:
        from torch import cuda

        room = cuda.get_device_properties(X.device).total_memory // (32 * X.element_size())
        scores = min(CUDA_BLOCK_SCORES, room)
    return max(1, scores // K)


def _scores(X: Any, W: Any, shift: Any) -> Any:
    """Scores of a block less their shift; in float64, where a product with a shift is slow, the scores as they are."""
    import torch

    return X @ W if X.dtype == torch.float64 else torch.addmm(-shift, X, W)


def _block_sums(scores: Any, shift: Any, members: Any) -> Any:
    """Class sums of the scores less their shift, and of the squares of these; the scores are overwritten."""
    import torch

    if scores.dtype != torch.float64:
        sums = members @ scores
        return torch.stack([sums, members @ scores.square_()]).double()
    # No digits are lost when the sums are shifted in place of the scores, and the squares are one kernel.
    squares = torch.nn.functional.mse_loss(scores, shift.expand_as(scores), reduction="none")
    sums = members @ scores - members.sum(dim=1)[:, None] * shift
    return torch.stack([sums, members @ squares])
