"""Arrays on another device, such as PyTorch tensors on a GPU: reduced there, a few numbers per classifier come back.

X is read once, by the matrix product, in its own precision: float32 tables are multiplied in float32. Here all that
follows, means and scatters of the scores, is in float64. PyTorch has a file of its own, `torch_sums`, that waits for
the device once; with many classifiers it sums up in the precision of the product within a block of rows.
Beside X there is room for the scores of a block of rows and a few copies of them, never for another X.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Array, Floats, same_length
from foldless.errors import InputError
from foldless.words import listed

BLOCK_SCORES = 1 << 25  # scores worked on at a time: 256 MB of float64


@dataclass(frozen=True)
class DevicePart:
    """Number, mean and scatter of the scores of both classes in some rows, on the host."""

    n: tuple[int, int]
    mean: Floats  # (2, K) or (2,)
    scatter: Floats


def is_device_array(X: Any) -> bool:
    """An Array-API array other than NumPy's: PyTorch, CuPy, JAX, ..."""
    if isinstance(X, np.ndarray | np.generic):
        return False
    return is_torch(X) or hasattr(X, "__array_namespace__")


def is_torch(X: Any) -> bool:
    """A PyTorch tensor, without importing PyTorch; other objects of PyTorch, such as data loaders, are none."""
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
    """A small array as NumPy's."""
    if isinstance(array, np.ndarray) or not is_device_array(array):
        return np.asarray(array)
    if hasattr(array, "detach"):
        on_cpu = array.detach().cpu()
        return np.asarray(on_cpu.double() if "bfloat16" in str(on_cpu.dtype) else on_cpu)  # NumPy has no bfloat16
    return np.asarray(array.get()) if hasattr(array, "get") else np.from_dlpack(array)


@dataclass(frozen=True, eq=False)
class DeviceTable:
    """X and labels, checked, on a device."""

    xp: Any
    X: Any
    y: Any

    @classmethod
    def of(cls, X: Any, y: Any) -> DeviceTable:
        """Check shapes; labels that are not on the device are brought there."""
        xp = namespace(X)
        X = X.detach() if hasattr(X, "detach") else X
        labels = y if is_device_array(y) else xp.asarray(numeric_labels(y), device=X.device)
        refuse_other_shapes(X, labels, xp.isdtype(X.dtype, "real floating"))
        if xp.isdtype(labels.dtype, "bool"):
            labels = xp.astype(labels, xp.uint8)
        return cls(xp, X, labels)

    @cached_property
    def low(self) -> Any:
        """The smallest label, still on the device."""
        return self.xp.min(self.y)

    @cached_property
    def high(self) -> Any:
        """The largest label, still on the device."""
        return self.xp.max(self.y)

    @cached_property
    def positive(self) -> Any:
        """Which rows bear the larger label."""
        return self.y == self.high

    def strangers(self) -> Any:
        """Number of rows whose label is neither; NaN labels are counted, too."""
        return self.xp.sum(self.xp.astype((self.y != self.low) & (self.y != self.high), self.xp.float64))

    def checked_labels(self, low: float, high: float, strangers: float) -> tuple[Any, Any]:
        """The two labels as numbers of the host, or an error."""
        if strangers or not np.isfinite([low, high]).all():
            self._refuse_missing()
            classes = to_host(self.xp.unique_values(self.y)).tolist()
            raise InputError(f"y has {len(classes)} classes ({listed(classes)}), expected two.")
        if low == high:
            raise InputError(f"y has one class only ({low:g}): an AUC needs rows of two classes.")
        whole = not self.xp.isdtype(self.y.dtype, "real floating")
        return (int(low), int(high)) if whole else (low, high)

    def _refuse_missing(self) -> None:
        if not self.xp.isdtype(self.y.dtype, "real floating"):
            return
        missing = int(self.xp.sum(self.xp.astype(~self.xp.isfinite(self.y), self.xp.int64)))
        if missing:
            raise InputError(f"y has {missing} missing label(s): drop those rows from X and y.")


Result = tuple[list[DevicePart], tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Launched:
    """A reduction under way.

    `weights` are on the host, unchecked. `finish` waits for the device and brings the statistics by class (smaller
    label first), part by part, and the two labels. `table` is for those who need more.
    """

    weights: Array
    finish: Callable[[], Result]
    table: Callable[[], DeviceTable]


def launched(X: Any, y: Any, w: Any) -> Launched:
    """Start reducing ``X @ w``."""
    if is_torch(X):
        from foldless.tables import torch_sums

        pending = torch_sums.launched(X, y, w)
        return Launched(pending.weights, lambda: _of_torch(X, y, pending), lambda: DeviceTable.of(X, y))
    table, on_host = DeviceTable.of(X, y), to_host(w)

    def finish() -> Result:
        return _sums(table, table.xp.asarray(on_host, dtype=X.dtype, device=X.device))

    return Launched(on_host, finish, lambda: table)


def _of_torch(X: Any, y: Any, pending: Any) -> Result:
    (low, high, n0, n1), mean, scatter = (part.tolist() if part.ndim == 1 else part for part in pending.collect())
    whole = not (hasattr(y, "dtype") and y.dtype.is_floating_point) if is_torch(y) else False
    if low != high and n0 + n1 == X.shape[0] and np.isfinite(low + high):
        labels = (int(low), int(high)) if whole else (low, high)
    else:
        labels = DeviceTable.of(X, y).checked_labels(low, high, X.shape[0] - n0 - n1 if low != high else 0)
    return [DevicePart((int(n0), int(n1)), mean, scatter)], labels


def _sums(table: DeviceTable, w: Any) -> Result:
    """Class moments of the scores, a block of rows at a time; everything comes to the host at once."""
    xp, X = table.xp, table.X
    W = w if w.ndim == 2 else xp.reshape(w, (-1, 1))
    parts = [_class_moments(table, rows, xp.matmul(X[rows, :], W)) for rows in _row_blocks(X.shape[0], W.shape[1])]
    ends = xp.stack([*(xp.astype(v, xp.float64) for v in (table.low, table.high)), table.strangers()])
    out = to_host(xp.concat([ends, *(xp.reshape(part, (-1,)) for part in parts)]))
    labels = table.checked_labels(*out[:3])
    moments = out[3:].reshape(len(parts), 2, 3, -1)
    return [_on_host(part, w.ndim == 1) for part in moments], labels


def _class_moments(table: DeviceTable, rows: slice, values: Any) -> Any:
    """Number, mean and scatter of each column of some rows by class, in float64: an array (2, 3, K) on the device.

    Class indicators instead of gathered rows: two small products, and no wait for the device.
    """
    xp, high = table.xp, table.positive[rows]
    z = xp.astype(values, xp.float64)
    members = xp.astype(xp.stack([~high, high]), xp.float64)
    n = xp.sum(members, axis=1, keepdims=True)
    at_least_one = xp.where(n > 0, n, xp.ones_like(n))
    provisional = (members @ z) / at_least_one
    z = z - xp.where(high[:, None], provisional[1:, :], provisional[:1, :])
    correction = (members @ z) / at_least_one
    scatter = members @ (z * z) - n * correction * correction
    return xp.stack([xp.broadcast_to(n, scatter.shape), provisional + correction, scatter], axis=1)


def _on_host(moments: Floats, single: bool) -> DevicePart:
    """Moments (2, 3, K) on the host; of one classifier (2,), of several (2, K)."""
    n, mean, scatter = moments[:, 0, 0], moments[:, 1], np.maximum(moments[:, 2], 0.0)
    return DevicePart((int(n[0]), int(n[1])), mean[:, 0] if single else mean, scatter[:, 0] if single else scatter)


def _row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    height = max(1, BLOCK_SCORES // n_columns)
    for start in range(0, n_rows, height):
        yield slice(start, min(start + height, n_rows))


def column_parts(table: DeviceTable) -> Iterator[DevicePart]:
    """Statistics of the columns of X by class, a block of rows at a time."""
    X = table.X
    for rows in _row_blocks(X.shape[0], X.shape[1]):
        yield _on_host(to_host(_class_moments(table, rows, X[rows, :])), single=False)


def culprit(table: DeviceTable) -> str | None:
    """Where X holds its first NaN or infinity, in words; None if it has none. For error messages only."""
    xp, X = table.xp, table.X
    for rows in _row_blocks(X.shape[0], X.shape[1]):
        finite = xp.isfinite(X[rows, :])
        if not bool(xp.all(finite)):
            row, column = np.argwhere(~to_host(finite))[0]
            return f"row {rows.start + row}, column {column}"
    return None


def numeric_labels(y: Any) -> Array:
    """Labels from the host that can be sent to a device."""
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind not in "biuf":
        raise InputError(f"with X on a device, y must hold numbers, got {values.dtype}: encode the labels as 0 and 1.")
    return values


def refuse_other_shapes(X: Any, y: Any, is_real: bool) -> None:
    """Refuse an X that is not a table of real numbers, and a y that is not one label per row."""
    if X.ndim != 2 or 0 in tuple(X.shape):
        raise InputError(f"X must have two dimensions (rows x features) and rows, got shape {tuple(X.shape)}.")
    if not is_real:
        raise InputError(f"X holds {X.dtype}, expected real floating point on a device: convert it first.")
    if y.ndim != 1:
        raise InputError(f"y must be one label per row, got an array of shape {tuple(y.shape)}.")
    same_length(int(X.shape[0]), int(y.shape[0]))
