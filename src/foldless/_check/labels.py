"""y and groups: labels of any type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless._check.arrays import Array
from foldless._check.text import listed
from foldless.errors import InputError


@dataclass(frozen=True)
class Labels:
    """Two-class labels: which rows are positive, and what the two classes are called."""

    positive: npt.NDArray[np.bool_]
    negative_label: Any
    positive_label: Any

    @property
    def n0(self) -> int:
        return int(self.positive.size - np.count_nonzero(self.positive))

    @property
    def n1(self) -> int:
        return int(np.count_nonzero(self.positive))


def as_labels(y: Any, *, pos_label: Any = None, classes: Any = None) -> Labels:
    """Two-class labels from any vector of labels; the positive class is the later one in sorted order.

    `classes`, when known from a fitted estimator, fixes the order and the set of legal labels.
    """
    if classes is not None:
        labels = as_partial_labels(y, classes, pos_label=pos_label)
        if labels.n0 and labels.n1:
            return labels
    values = label_vector(y)
    found = distinct(values)
    _two_classes(values, found)
    negative, positive = _ordered(found.tolist(), pos_label)
    return Labels(np.asarray(values == positive, dtype=bool), negative, positive)


def as_partial_labels(y: Any, classes: Any, *, pos_label: Any = None) -> Labels:
    """Labels of a part of the data, which may lack one of the two known classes."""
    values = label_vector(y)
    known = np.ravel(np.asarray(classes)).tolist()
    if len(known) != 2:
        raise InputError(f"classes must name two classes, got {len(known)} ({listed(known)}).")
    strangers = [v for v in distinct(values).tolist() if v not in known]
    if strangers:
        raise InputError(f"y has unknown labels: {listed(strangers)}; the two classes are {listed(known)}.")
    negative, positive = _ordered(known, pos_label)
    return Labels(np.asarray(values == positive, dtype=bool), negative, positive)


def label_vector(y: Any) -> Array:
    values = _plain_labels(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        got = "None" if y is None else f"an array of shape {values.shape}"
        raise InputError(f"y must be one label per row, got {got}.")
    if values.size == 0:
        raise InputError("y is empty: expected one label per row of X.")
    if values.dtype.kind == "O" and any(isinstance(v, tuple | list | set | dict | np.ndarray) for v in values):
        raise InputError("y must be one label per row, got rows with several: use text or numbers as labels.")
    missing = _count_missing(values)
    if missing:
        raise InputError(f"y has {missing} missing label(s): drop those rows from X and y.")
    return values


def _plain_labels(y: Any) -> Array:
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    values = np.asarray(y)
    # A NaN among strings would silently become the class "nan".
    if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
        return np.asarray(y, dtype=object)
    return values


def _count_missing(values: Array) -> int:
    if values.dtype.kind in "mM":
        return int(np.count_nonzero(np.isnat(values)))
    if values.dtype.kind == "f":
        return int(np.count_nonzero(~np.isfinite(values)))
    if values.dtype.kind == "O":
        # NaN differs from itself; pandas' NA refuses the comparison altogether.
        return sum(v is None or type(v).__name__ in ("NAType", "NaTType") or bool(v != v) for v in values)
    return 0


def distinct(values: Array, name: str = "y") -> Array:
    try:
        return np.unique(values)
    except TypeError as err:
        kinds = sorted({type(v).__name__ for v in values})
        raise InputError(
            f"{name} mixes labels of different kinds ({', '.join(kinds)}): use one kind throughout."
        ) from err


def _two_classes(values: Array, found: Array) -> None:
    if len(found) == 2:
        return
    if len(found) == 1:
        raise InputError(f"y has one class only ({found.tolist()[0]!r}): an AUC needs rows of two classes.")
    if values.dtype.kind == "f" and len(found) > 20:
        raise InputError(f"y has {len(found)} distinct values and looks continuous: expected two classes.")
    raise InputError(
        f"y has {len(found)} classes ({listed(found.tolist())}), expected two: "
        f"keep the rows of two classes, or turn y into one class against the rest."
    )


def _ordered(classes: Any, pos_label: Any) -> tuple[Any, Any]:
    first, second = list(classes)
    if np.ndim(pos_label) > 0:
        raise InputError(f"pos_label must be one label, got {pos_label!r}: choose {first!r} or {second!r}.")
    if pos_label is None or pos_label == second:
        return first, second
    if pos_label == first:
        return second, first
    raise InputError(f"pos_label {pos_label!r} is not a class of y: choose {first!r} or {second!r}.")


def group_codes(groups: Any, n_rows: int) -> npt.NDArray[np.intp]:
    """Group labels as codes 0, 1, ..."""
    labels = _plain_labels(groups)
    if labels.shape != (n_rows,):
        raise InputError(f"groups must be one label per row ({n_rows}), got shape {labels.shape}.")
    if _count_missing(labels):
        raise InputError(f"groups has {_count_missing(labels)} missing label(s): name the group of every row.")
    return np.searchsorted(distinct(labels, "groups"), labels).astype(np.intp)


def as_groups(groups: Any, positive: npt.NDArray[np.bool_], *, fewest: int) -> npt.NDArray[np.intp]:
    """Group codes; each class must occur in at least `fewest` groups."""
    codes = group_codes(groups, positive.size)
    found = min(np.unique(codes[mask]).size for mask in (positive, ~positive))
    if found < fewest:
        raise InputError(
            f"each class must occur in at least {fewest} groups, got {found}: "
            f"use finer groups, or none if the rows are independent."
        )
    return codes
