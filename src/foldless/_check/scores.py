"""Weights of classifiers and of rows, and scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._check.arrays import Array, Floats
from foldless._check.table import LARGEST, SMALLEST, is_sparse
from foldless.errors import InputError


def as_weights(w: Any, n_features: int) -> Floats:
    """Weights as float64 of shape (P,) or (P, K), finite and with no all-zero classifier."""
    try:
        W = np.asarray(w, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InputError("w must hold numbers: one weight per column of X.") from err
    if W.ndim not in (1, 2):
        raise InputError(f"w must be a vector (P,) or a matrix (P, K) of weights, got shape {W.shape}.")
    if W.shape[0] != n_features:
        hint = " It looks transposed: pass w.T." if W.ndim == 2 and W.shape[1] == n_features else ""
        raise InputError(f"w has {W.shape[0]} weights but X has {n_features} columns: they must match.{hint}")
    if W.ndim == 2 and W.shape[1] == 0:
        raise InputError("w has no column: expected at least one classifier.")
    if not np.all(np.isfinite(W)):
        raise InputError("w holds NaN or infinity: the classifier did not converge; fit it again.")
    if np.any(np.all(W == 0, axis=0)):
        raise InputError("w is all zeros: the classifier ignores every feature, its AUC is 0.5 by definition.")
    return W


def sane_length(w: Floats) -> Floats:
    """Refuse weights whose squares overflow or vanish. The AUC does not depend on their length."""
    size = float(np.max(np.abs(w)))
    if not 1e-100 < size < 1e100:
        raise InputError(f"the weights are of size {size:.0e}, their squares are lost: rescale w, or X before the fit.")
    return w


def as_row_weights(sample_weight: Any, n_rows: int) -> Floats:
    """One finite weight per row, none negative and not all zero; a single number stands for all rows."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InputError(f"sample_weight must be {n_rows} numbers, one per row, as given to fit.") from err
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,) or not np.all(np.isfinite(weights)) or np.any(weights < 0) or not weights.any():
        raise InputError(
            f"sample_weight must be {n_rows} finite weights, none negative and not all zero, got shape "
            f"{weights.shape}: pass the weights given to fit."
        )
    if not SMALLEST < weights.max() < LARGEST:
        raise InputError(f"sample_weight is of size {weights.max():.0e}, its squares are lost: rescale it, and C.")
    return weights


def as_scores(scores: Any, dimensions: tuple[int, ...] = (1,)) -> Floats:
    """Finite scores as float64."""
    shape = "one number per row" if dimensions == (1,) else "an array (N,) or (N, K)"
    try:
        values = np.asarray(scores.to_numpy() if hasattr(scores, "to_numpy") else scores)
        z = values.astype(np.float64, casting="same_kind" if values.dtype.kind in "biufc" else "unsafe")
    except (TypeError, ValueError) as err:
        raise InputError(f"scores must be numbers, {shape}.") from err
    if z.ndim not in dimensions:
        raise InputError(f"scores must be {shape}, got shape {z.shape}.")
    bad = int(np.count_nonzero(~np.isfinite(z)))
    if bad:
        raise InputError(f"scores hold {bad} NaN or infinite value(s): every row needs a finite score.")
    return z


def unequal_scores(scores: Floats) -> None:
    """Refuse scores (N,) or (N, K) that are all the same, or too large or too small to be squared."""
    with np.errstate(over="ignore"):
        spread = float(np.max(np.ptp(scores, axis=0)))
    if spread <= 8 * np.finfo(float).eps * float(np.max(np.abs(scores))):
        raise InputError(
            "all rows have the same score, so none ranks above another: check whether all rows of X are the same, or "
            "only columns that do not vary have a weight."
        )
    if not SMALLEST < spread < LARGEST:
        raise InputError(f"the scores span {spread:.0e}, and their squares are lost: rescale w, or X before the fit.")


def finite_scores(scores: Array, X: Any) -> None:
    """Refuse non-finite scores, naming the row and column of X that caused them."""
    bad = ~np.isfinite(scores if scores.ndim == 1 else scores.sum(axis=1))
    if not bad.any():
        return
    row = int(np.flatnonzero(bad)[0])
    values = np.asarray(X[[row]].todense() if is_sparse(X) else X[row], dtype=np.float64).ravel()
    culprits = np.flatnonzero(~np.isfinite(values))
    n = int(bad.sum())
    if culprits.size:
        raise InputError(
            f"X has NaN or infinity in {n} row(s); first at row {row}, column {culprits[0]}: "
            f"impute or drop those rows before fitting."
        )
    raise InputError(f"the scores X @ w overflow in {n} row(s), first at row {row}: rescale X or w.")
