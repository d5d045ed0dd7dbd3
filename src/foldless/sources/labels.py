"""Statistics per label. Which two classes a stream holds is known only once it has been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless import _check
from foldless._check import Array
from foldless.errors import InputError

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ByLabel:
    """One statistic per label; two of them add label by label."""

    parts: Mapping[Any, Any]

    def __add__(self, other: ByLabel) -> ByLabel:
        if not isinstance(other, ByLabel):
            return NotImplemented
        merged = dict(self.parts)
        for label, part in other.parts.items():
            merged[label] = merged[label] + part if label in merged else part
        _at_most_two(list(merged))
        return ByLabel(merged)

    def pair(self, pos_label: Any = None, classes: Any = None) -> tuple[Any, Any]:
        """The statistics of the negative and of the positive class; None for a class that has no rows."""
        found = list(self.parts)
        if classes is None and pos_label is None and len(found) == 2 and type(found[0]) is type(found[1]) is int:
            return self.parts[min(found)], self.parts[max(found)]  # nothing to check
        if classes is None:
            labels = _check.as_labels(np.array(found, dtype=object), pos_label=pos_label)
        else:
            labels = _check.as_partial_labels(np.array(found, dtype=object), classes, pos_label=pos_label)
        return self.parts.get(labels.negative_label), self.parts.get(labels.positive_label)


def split_by_label(y: Any) -> list[tuple[Any, Bools]]:
    """Each label of a block with the rows that bear it, in linear time; more than two labels are refused."""
    values = np.asarray(y)
    if values.dtype == np.bool_:
        return [(label, rows) for label, rows in ((False, ~values), (True, values)) if rows.any()]
    values = _check.label_vector(y)
    found: list[tuple[Any, Bools]] = []
    left = np.ones(values.size, dtype=bool)
    while left.any():
        label = values[int(np.argmax(left))]
        same = np.asarray(values == label, dtype=bool)
        if len(found) == 2:
            _at_most_two(_check.distinct(values).tolist())
        found.append((label.item() if isinstance(label, np.generic) else label, same))
        left &= ~same
    return found


def _at_most_two(labels: list[Any]) -> None:
    if len(labels) <= 2:
        return
    if len(labels) > 20 and all(isinstance(v, float) for v in labels):
        raise InputError(f"y has {len(labels)} distinct values and looks continuous: expected two classes.")
    raise InputError(
        f"y has {len(labels)} classes or more ({_check.listed(labels)}), expected two: "
        f"keep the rows of two classes, or turn y into one class against the rest."
    )


def same_rows(n_rows: int, y: Array) -> Array:
    """Labels of a block, refused unless there is one per row."""
    labels = _check.label_vector(y)
    _check.same_length(n_rows, labels.size)
    return labels
