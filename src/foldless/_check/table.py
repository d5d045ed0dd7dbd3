"""X: a table of numbers, sparse or dense.

Nothing here scans X for NaN: that costs more than the answer. A NaN anywhere in a row makes the row's score
non-finite, so scores are checked (`foldless._check.scores.finite_scores`) and the culprit is looked for only when
that check fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._check.arrays import Array, Floats
from foldless._check.text import listed
from foldless.errors import InputError

SMALLEST, LARGEST = 1e-70, 1e70  # what may be squared twice


def is_sparse(X: Any) -> bool:
    """True for SciPy sparse matrices and arrays, without importing scipy.sparse."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def is_frame(X: Any) -> bool:
    """True for pandas and polars data frames."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def column_names(X: Any) -> list[str] | None:
    """Column names of a data frame, None for anything else."""
    return [str(c) for c in X.columns] if is_frame(X) else None


def as_matrix(X: Any) -> Any:
    """X as a two-dimensional numeric array or a sparse matrix in row form; no copy if it is one."""
    if is_sparse(X):
        return _real(_not_empty(X.tocsr()))
    if X is None or isinstance(X, str | bytes):
        raise InputError(f"X must be a table of numbers, got {X!r}: pass an array or a data frame.")
    M = _frame_to_array(X) if is_frame(X) else _to_array(X)
    if M.ndim == 0:
        raise InputError(f"X must be a table of numbers, got a single {type(X).__name__}.")
    if M.ndim != 2:
        raise InputError(
            f"X must have two dimensions (rows x features), got {M.ndim}: use X.reshape(-1, 1) for a single feature."
        )
    return _real(_not_empty(M))


def _not_empty(M: Any) -> Any:
    if 0 in M.shape:
        raise InputError(f"X is empty: got shape {M.shape}, expected at least one row and one column.")
    return M


def _to_array(X: Any) -> Array:
    try:
        return np.asarray(X)
    except ValueError as err:
        raise InputError("X must be a rectangular table of numbers, got rows of unequal length.") from err


def _real(M: Any) -> Any:
    # Integers stay as they are: `moments.project` converts a block of rows at a time.
    if M.dtype.kind == "f" and M.dtype.itemsize > 8:
        return M.astype(np.float64)  # linear algebra knows no longer floats
    if M.dtype.kind in "biuf":
        return M
    if M.dtype.kind in "mM":
        raise InputError("X holds dates; expected numbers. Turn them into durations or calendar features.")
    if M.dtype.kind == "c":
        raise InputError("X holds complex numbers; expected real ones. Pass real and imaginary parts as columns.")
    return _object_to_float(M)


def _object_to_float(M: Array) -> Floats:
    try:
        return M.astype(np.float64)
    except (TypeError, ValueError):
        columns = [j for j in range(M.shape[1]) if not _converts(M[:, j])]
    raise InputError(
        f"X must hold numbers, got text or missing values in column {listed(columns)}: "
        f"encode text columns (for example with OneHotEncoder), impute missing values, or drop them."
    )


def _converts(column: Any) -> bool:
    values = np.asarray(column)
    if values.dtype.kind in "mMc":
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _frame_to_array(X: Any) -> Array:
    M = np.asarray(X.to_numpy())
    if M.dtype.kind in "biufc":
        return M
    bad = [str(c) for c in X.columns if not _converts(X[c].to_numpy())]
    if bad:
        raise InputError(
            f"X must hold numbers, got text, dates, complex or missing values in column {listed(bad)}: "
            f"encode text columns (for example with OneHotEncoder), impute missing values, or drop them."
        )
    return np.column_stack([np.asarray(X[c].to_numpy()).astype(np.float64) for c in X.columns])


def same_length(n_rows: int, n_labels: int, what: str = "X has {} rows") -> None:
    """Refuse X (or scores) and y of different lengths."""
    if n_rows != n_labels:
        raise InputError(f"{what.format(n_rows)} but y has {n_labels} labels: they must match, row by row.")


def sane_size(X: Any) -> None:
    """Refuse numbers whose squares, and the squares of those, overflow or vanish."""
    values = X.data if is_sparse(X) else X
    size = max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0
    if size > 0 and not SMALLEST < size < LARGEST:
        raise InputError(
            f"the numbers in X are of size {size:.0e}, and their squares are lost: rescale X before the fit."
        )
