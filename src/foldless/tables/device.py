"""Arrays on another device, such as PyTorch tensors on a GPU: reduced there to a few numbers per classifier.

The matrix product reads X once, in its own precision: float32 tables are multiplied in float32. The means and scatters
of the scores are computed in float64. PyTorch has its own module, `tensors`, which waits for the device only once;
with many classifiers it adds within a block of rows in the precision of the product. Besides X, the device holds the
scores of a block of rows and a few copies of them, never another X.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from math import isfinite
from operator import add
from typing import Any

import numpy as np

from foldless.checks import Array, Floats, refuse_many_classes, same_length, slices
from foldless.errors import InputError
from foldless.tables.block import Moments

BLOCK_SCORES = 1 << 25  # scores worked on at a time: 256 MB of float64


def is_device_array(X: Any) -> bool:
    """An Array-API array other than NumPy's: PyTorch, CuPy, JAX, ..."""
    if isinstance(X, np.ndarray | np.generic):
        return False
    return is_torch(X) or hasattr(X, "__array_namespace__")


def is_torch(X: Any) -> bool:
    """A PyTorch tensor, without importing PyTorch; not other objects of PyTorch, such as data loaders."""
    if not (hasattr(X, "dtype") and hasattr(X, "shape") and hasattr(X, "detach")):
        return False
    return any(base.__module__.partition(".")[0] == "torch" for base in type(X).__mro__)


def namespace(X: Any) -> Any:
    """Array-API functions for this array."""
    if hasattr(X, "__array_namespace__"):
        return X.__array_namespace__()
    try:
        from array_api_compat import array_namespace
    except ModuleNotFoundError as err:
        raise InputError(f"{type(X).__name__} needs array-api-compat: pip install 'foldless[gpu]'.") from err
    return array_namespace(X)


def to_host(array: Any) -> Array:
    """A small array as a NumPy array."""
    if isinstance(array, np.ndarray) or not is_device_array(array):
        return np.asarray(array)
    if hasattr(array, "detach"):
        on_cpu = array.detach().cpu()
        return np.asarray(on_cpu.double() if "bfloat16" in str(on_cpu.dtype) else on_cpu)  # NumPy has no bfloat16
    return np.asarray(array.get()) if hasattr(array, "get") else np.from_dlpack(array)


@dataclass(frozen=True, eq=False)
class DeviceTable:
    """X and labels, checked, on a device, with the smallest and the largest label."""

    xp: Any
    X: Any
    y: Any
    low: Any
    high: Any

    @classmethod
    def of(cls, X: Any, y: Any) -> DeviceTable:
        """Check the shapes, and move labels to the device if they are on the host."""
        xp = namespace(X)
        X = X.detach() if hasattr(X, "detach") else X
        labels = y if is_device_array(y) else xp.asarray(numeric_labels(y), device=X.device)
        refuse_other_shapes(X, labels, xp.isdtype(X.dtype, "real floating"))
        if xp.isdtype(labels.dtype, "bool"):
            labels = xp.astype(labels, xp.uint8)
        return cls(xp, X, labels, xp.min(labels), xp.max(labels))

    def others(self) -> Any:
        """Number of rows, still on the device, with neither of these labels; NaN labels count, too."""
        return self.xp.sum(self.xp.astype((self.y != self.low) & (self.y != self.high), self.xp.float64))

    def checked_labels(self, low: float, high: float, others: float) -> tuple[Any, Any]:
        """The two labels as numbers on the host, or an error."""
        whole = not self.xp.isdtype(self.y.dtype, "real floating")
        if others or not np.isfinite([low, high]).all():
            missing = 0 if whole else int(self.xp.sum(self.xp.astype(~self.xp.isfinite(self.y), self.xp.int64)))
            if missing:
                raise InputError(f"y has {missing} missing label(s): drop those rows from X and y.")
            refuse_many_classes(to_host(self.xp.unique_values(self.y)).tolist())
        if low == high:
            raise InputError(f"y has one class only ({low:g}): an AUC needs rows of two classes.")
        return (int(low), int(high)) if whole else (low, high)


# Moments of both classes, smaller label first, and the two labels.
Pair = tuple[Moments, Moments]
Result = tuple[Pair, tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Launched:
    """A reduction under way."""

    weights: Array  # on the host, unchecked
    finish: Callable[[], Result]  # waits for the device
    table: Callable[[], DeviceTable]  # for further statistics


def launched(X: Any, y: Any, w: Any) -> Launched:
    """Start reducing ``X @ w``."""
    if is_torch(X):
        from foldless.tables import tensors

        weights, collect = tensors.launched(X, y, w)
        whole = is_torch(y) and not y.dtype.is_floating_point
        return Launched(weights, lambda: _of_torch(X, y, whole, *collect()), lambda: DeviceTable.of(X, y))
    table, on_host = DeviceTable.of(X, y), to_host(w)

    def finish() -> Result:
        return _sums(table, table.xp.asarray(on_host, dtype=X.dtype, device=X.device))

    return Launched(on_host, finish, lambda: table)


def _of_torch(X: Any, y: Any, whole: bool, found: Any, mean: Any, scatter: Any) -> Result:
    low, high, n0, n1 = map(float, found)
    if low != high and n0 + n1 == X.shape[0] and isfinite(low + high):
        labels = (int(low), int(high)) if whole else (low, high)
    else:
        labels = DeviceTable.of(X, y).checked_labels(low, high, X.shape[0] - n0 - n1 if low != high else 0)
    return (Moments(int(n0), mean[0], scatter[0]), Moments(int(n1), mean[1], scatter[1])), labels


def _sums(table: DeviceTable, w: Any) -> Result:
    """Class moments of the scores, a block of rows at a time; everything comes to the host at once."""
    xp, X = table.xp, table.X
    W = w if w.ndim == 2 else xp.reshape(w, (-1, 1))
    blocks = slices(X.shape[0], W.shape[1], BLOCK_SCORES)
    parts = [_class_moments(table, rows, xp.matmul(X[rows, :], W)) for rows in blocks]
    ends = xp.stack([*(xp.astype(v, xp.float64) for v in (table.low, table.high)), table.others()])
    out = to_host(xp.concat([ends, *(xp.reshape(part, (-1,)) for part in parts)]))
    labels = table.checked_labels(*out[:3])
    moments = out[3:].reshape(len(parts), 2, 3, -1)
    return _merged(moments[..., 0] if w.ndim == 1 else moments), labels


def _class_moments(table: DeviceTable, rows: slice, values: Any) -> Any:
    """Number, mean and scatter of each column of some rows by class, in float64: an array (2, 3, K) on the device.

    Class indicators instead of gathered rows: two small products, and no wait for the device.
    """
    xp, high = table.xp, table.y[rows] == table.high
    z = xp.astype(values, xp.float64)
    members = xp.astype(xp.stack([~high, high]), xp.float64)
    n = xp.sum(members, axis=1, keepdims=True)
    at_least_one = xp.where(n > 0, n, xp.ones_like(n))
    provisional = (members @ z) / at_least_one
    z = z - xp.where(high[:, None], provisional[1:, :], provisional[:1, :])
    correction = (members @ z) / at_least_one
    scatter = members @ (z * z) - n * correction * correction
    return xp.stack([xp.broadcast_to(n, scatter.shape), provisional + correction, scatter], axis=1)


def _merged(parts: Iterable[Floats]) -> Pair:
    """Moments of both classes over blocks of rows, each an array (2, 3) or (2, 3, K) on the host."""
    by_block = [[Moments(int(np.ravel(n)[0]), mean, np.maximum(s, 0.0)) for n, mean, s in part] for part in parts]
    negative, positive = (reduce(add, moments) for moments in zip(*by_block, strict=True))
    return negative, positive


def column_moments(table: DeviceTable) -> Pair:
    """Moments of the columns of X by class, a block of rows at a time."""
    X = table.X
    blocks = slices(X.shape[0], X.shape[1], BLOCK_SCORES)
    return _merged(to_host(_class_moments(table, rows, X[rows, :])) for rows in blocks)


def first_not_finite(X: Any) -> str | None:
    """The place of the first NaN or infinity in X, in words; None if there is none. For error messages only."""
    for rows in slices(X.shape[0], X.shape[1], BLOCK_SCORES):
        finite = to_host(abs(X[rows, :]) < float("inf"))
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            return f"row {rows.start + row}, column {column}"
    return None


def numeric_labels(y: Any) -> Array:
    """Labels on the host, refused unless they can be sent to a device."""
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind not in "biuf":
        raise InputError(f"with X on a device, y must hold numbers, got {values.dtype}: encode the labels as 0 and 1.")
    return values


def refuse_other_shapes(X: Any, y: Any, is_real: bool) -> None:
    """Refuse an X that is not a table of real numbers, and a y that is not one label per row."""
    if is_torch(X) and "strided" not in str(X.layout):
        raise InputError("X is a sparse tensor; expected a dense one: pass X.to_dense(), or a SciPy matrix.")
    if X.ndim != 2 or 0 in tuple(X.shape):
        raise InputError(f"X must have two dimensions (rows x features) and rows, got shape {tuple(X.shape)}.")
    if not is_real:
        raise InputError(f"X holds {X.dtype}, expected real floating point numbers on a device: convert it first.")
    if y.ndim != 1:
        raise InputError(f"y must be one label per row, got an array of shape {tuple(y.shape)}.")
    same_length(int(X.shape[0]), int(y.shape[0]))
