"""What findings call columns and rows: by name where that is known, else by number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from foldless.checks import Array, Floats, feature_names, is_frame, is_sparse
from foldless.model.steps import Steps, is_estimator, saw_y
from foldless.model.view import dismantled
from foldless.words import listed


@dataclass(frozen=True, eq=False)
class Names:
    """Names of the columns that a classifier sees and of the rows, as far as they are known."""

    X: Any = None
    estimator: Any = None  # None for checks of X itself
    features: Any = None  # names of the columns of X, if X does not hold them
    rows: Any = None  # one name per row

    def column(self, j: int, M: Any) -> str:
        """Column j of M, which is what the classifier sees."""
        if self._seen is not None and len(self._seen) == M.shape[1]:
            return f"column {self._seen[j]!r}"
        if not self._is_of_table(j, M):
            return f"column {j} of what the classifier sees"
        return f"column {j}" if self._own is None else f"column {self._own[j]!r}"

    def columns(self, index: Iterable[int], M: Any) -> str:
        """A few columns of M in brackets; empty where they have no names."""
        if self._seen is None or len(self._seen) != M.shape[1]:
            return ""
        return f" ({listed(self._seen[j] for j in index)})"

    def row(self, k: int) -> str:
        """One row."""
        return f"row {k} (numbered from 0)" if self._labels is None else f"row {self._labels[k]!r}"

    def listed_rows(self, rows: Iterable[int]) -> str:
        """The first few of some rows."""
        if self._labels is None:
            return f"{listed(rows)}, numbered from 0"
        return listed(self._labels[k] for k in rows)

    @cached_property
    def _labels(self) -> Any:
        """A name per row: as given, or the index of a pandas frame that is not just 0, 1, 2, ..."""
        if self.rows is not None:
            return np.asarray(self.rows).tolist()
        index = self.X.index.tolist() if hasattr(self.X, "iloc") else None
        return None if index is None or index == list(range(len(index))) else index

    @cached_property
    def _own(self) -> list[str] | None:
        return feature_names(self.features, self.X)

    @cached_property
    def _seen(self) -> list[str] | None:
        """Names of the columns that the classifier sees; None if X has none or a step does not name its output."""
        names = self._own
        for _, step in steps_before_y(self.estimator):
            names = names and names_after(step, names)
        return names and [in_words(name) for name in names]

    def _is_of_table(self, j: int, M: Any) -> bool:
        """Whether column j is recognisably column j of X."""
        own = _column(self.X, j) if getattr(self.X, "shape", (0, 0))[1:] == M.shape[1:] else np.empty(0, dtype=object)
        return own.dtype.kind in "biuf" and _same_order(own.astype(np.float64), _column(M, j).astype(np.float64))


def steps_before_y(estimator: Any) -> Steps:
    """The steps between X and what the weights act on: those up to the first that saw y."""
    steps = dismantled(estimator)[0] if is_estimator(estimator) else []
    return list(takewhile(lambda named: not saw_y(named[1]), steps))


def names_after(step: Any, names: list[str]) -> list[str] | None:
    """Names of the columns after a step; None if it does not tell."""
    for given in (names, None):
        try:
            return [str(name) for name in step.get_feature_names_out(given)]
        except Exception:  # names other than those seen in fit, or a step without names
            continue
    return None


def in_words(name: str) -> str:
    """The name of a column, where scikit-learn made it for cells that were missing.

    >>> in_words("missingindicator_age"), in_words("age")
    ('age was missing', 'age')
    """
    before, mark, column = name.partition("missingindicator_")
    return f"{column} was missing" if mark and (not before or before.endswith("__")) else name


def _column(X: Any, j: int) -> Array:
    if hasattr(X, "iloc"):  # by position: two columns may have the same name
        return np.asarray(X.iloc[:, j])
    if is_frame(X):
        return np.asarray(X[X.columns[j]].to_numpy())
    return np.asarray(X.tocsc()[:, [j]].toarray() if is_sparse(X) else X[:, j]).ravel()


def _same_order(a: Floats, b: Floats) -> bool:
    """Whether b rises (or falls) with a, as after a scaler or a logarithm."""
    steps = np.diff(b[np.argsort(a, kind="stable")])
    return bool(np.all(steps >= -1e-9 * np.ptp(b)) or np.all(steps <= 1e-9 * np.ptp(b)))
