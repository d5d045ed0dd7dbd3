"""A single column that knows the label, and what its owner calls it."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._check import Array, Floats, column_names, is_frame, is_sparse
from foldless.anatomy import LinearView
from foldless.findings.columns import ColumnFigures
from foldless.findings.finding import Finding

LEAK, LEAK_OF_TWO_VALUES = 0.99, 0.95  # AUC of a single column
CHANCE = 1e-3  # that the best of so many useless columns does it by luck


def leak(figures: ColumnFigures, view: LinearView, X: Any) -> Finding | None:
    """A single column that orders nearly all pairs: a result recorded as if it were a cause?"""
    alone = np.maximum(figures.auc, 1 - figures.auc)
    bound = np.where(figures.two_valued, LEAK_OF_TWO_VALUES, LEAK)
    suspects = np.flatnonzero(alone >= bound)
    if suspects.size == 0 or _by_luck(figures) > CHANCE:
        return None
    best = int(suspects[np.argmax(alone[suspects])])
    copy = bool(figures.two_valued[best] and alone[best] >= LEAK)
    more = f" (and {suspects.size - 1} more)" if suspects.size > 1 else ""
    name = name_of_column(int(figures.index[best]), view, X)
    fact = "is the label, written another way" if copy else "alone orders nearly all pairs of rows"
    return Finding(
        "leak",
        "severe" if copy else "caution",
        f"{name}{more} {fact}: its AUC without any classifier is {alone[best]:.3f}.",
        "Ask whether it is known before the outcome is. If not, drop it and fit again; if it is, you hardly need the "
        "other columns.",
        float(alone[best]),
    )


def _by_luck(figures: ColumnFigures) -> float:
    """Bound on the chance that one of so many useless columns reaches an AUC of `LEAK`: normal approximation."""
    n0, n1 = figures.n0, figures.n1
    z = (LEAK_OF_TWO_VALUES - 0.5) / np.sqrt((n0 + n1 + 1) / (12 * n0 * n1))
    return float(figures.n_columns * 2 * np.exp(-0.5 * z * z))


def name_of_column(j: int, view: LinearView, X: Any) -> str:
    """The column as the user knows it, if it is recognisably one of theirs."""
    if getattr(X, "shape", (0, 0))[1:] != view.X.shape[1:]:
        return f"column {j} of what the classifier sees"
    own, values = _column(X, j), _column(view.X, j).astype(np.float64)
    if own.dtype.kind not in "biuf" or not _same_order(own.astype(np.float64), values):
        return f"column {j} of what the classifier sees"
    names = column_names(X)
    return f"column {j}" if names is None else f"column {names[j]!r}"


def _column(X: Any, j: int) -> Array:
    if hasattr(X, "iloc"):  # by position: names may occur twice
        return np.asarray(X.iloc[:, j])
    if is_frame(X):
        return np.asarray(X[X.columns[j]].to_numpy())
    return np.asarray(X.tocsc()[:, [j]].toarray() if is_sparse(X) else X[:, j]).ravel()


def _same_order(a: Floats, b: Floats) -> bool:
    """Whether b rises (or falls) with a, so that a scaler or a log would make one of the other."""
    order = np.argsort(a, kind="stable")
    steps = np.diff(b[order])
    return bool(np.all(steps >= -1e-9 * np.ptp(b)) or np.all(steps <= 1e-9 * np.ptp(b)))
