"""Checks of arguments: turn what users pass into plain arrays, or say what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless.errors import InputError
from foldless.words import counted, listed

# ---- Names for kinds of arrays.

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]


# ---- Parameters with a fixed set of values.


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse an option that does not exist."""
    if value not in choices:
        *first, last = map(repr, choices)
        raise InputError(f"{name} must be {', '.join(first)} or {last}, got {value!r}.")


def known_average(multi_class: Any) -> None:
    """Refuse an unknown average over classes."""
    if multi_class not in ("ovo", "ovr"):
        raise InputError(
            f"multi_class must be 'ovo' (pairs of classes) or 'ovr' (each class against the rest), got {multi_class!r}."
        )


# ---- Single numbers, levels and probabilities.


def as_number(value: Any, name: str) -> float:
    """A finite real number."""
    try:
        number = float(value)
    except (TypeError, ValueError) as err:
        raise InputError(f"{name} must be a number, got {value!r}.") from err
    if not np.isfinite(number):
        raise InputError(f"{name} must be finite, got {number}.")
    return number


def in_open_interval(value: Any, name: str, low: float = 0.0, high: float = 1.0) -> float:
    """A number strictly between two bounds, such as the level of an interval."""
    number = as_number(value, name)
    if not low < number < high:
        raise InputError(f"{name} must lie strictly between {low:g} and {high:g}, got {value!r}.")
    return number


def as_numbers(value: Any, name: str) -> Floats:
    """Numbers of any shape, none of them NaN."""
    numbers = _floats(value, lambda: f"{name} must hold numbers, got {value!r}.")
    if np.any(np.isnan(numbers)):
        raise InputError(f"{name} must hold numbers, got NaN.")
    return numbers


def as_finite_numbers(value: Any, name: str) -> Floats:
    """Finite numbers of any shape."""
    numbers = _floats(value, lambda: f"{name} must hold numbers, got {value!r}.")
    if not np.all(np.isfinite(numbers)):
        raise InputError(f"{name} must be finite, got NaN or infinity.")
    return numbers


def as_probabilities(value: Any, name: str) -> Floats:
    """Numbers in [0, 1], of any shape."""
    p = _floats(value, lambda: f"{name} must hold numbers between 0 and 1, got {value!r}.")
    if not np.all((p >= 0) & (p <= 1)):
        raise InputError(f"{name} must lie between 0 and 1, got {listed(np.ravel(p).tolist())}.")
    return p


def _floats(value: Any, message: Callable[[], str]) -> Floats:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InputError(message()) from err


# ---- y and groups: labels of any type.


@dataclass(frozen=True)
class Labels:
    """Two-class labels: which rows are positive, and what the two classes are called."""

    positive: Bools
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

    `classes`, if known from a fitted estimator, fixes the order and the set of valid labels.
    """
    if classes is not None:
        labels = as_partial_labels(y, classes, pos_label=pos_label)
        if labels.n0 and labels.n1:
            return labels
    values = label_vector(y)
    present = distinct(values).tolist()
    if len(present) == 1:
        raise InputError(f"y has one class only ({present[0]!r}): an AUC needs rows of two classes.")
    refuse_many_classes(present)
    return _oriented(values, present, pos_label)


def as_partial_labels(y: Any, classes: Any, *, pos_label: Any = None) -> Labels:
    """Labels of a part of the data, in which one of the two known classes may not occur."""
    values = label_vector(y)
    known = np.ravel(np.asarray(classes)).tolist()
    if len(known) != 2:
        raise InputError(f"classes must name two classes, got {len(known)} ({listed(known)}).")
    unknown = [v for v in distinct(values).tolist() if v not in known]
    if unknown:
        raise InputError(f"y has unknown labels: {listed(unknown)}; the two classes are {listed(known)}.")
    return _oriented(values, known, pos_label)


def _oriented(values: Array, classes: list[Any], pos_label: Any) -> Labels:
    """Labels of two classes, the second being the positive one unless `pos_label` is the first."""
    first, second = classes
    if np.ndim(pos_label) > 0:
        raise InputError(f"pos_label must be one label, got {pos_label!r}: choose {first!r} or {second!r}.")
    if pos_label is not None and pos_label not in (first, second):
        raise InputError(f"pos_label {pos_label!r} is not a class of y: choose {first!r} or {second!r}.")
    negative, positive = (second, first) if pos_label is not None and pos_label != second else (first, second)
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
        return sum(map(is_missing, values))
    return 0


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: NaN differs from itself, and pandas' NA refuses the comparison altogether."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def distinct(values: Array, name: str = "y") -> Array:
    try:
        return np.unique(values)
    except TypeError as err:
        kinds = sorted({type(v).__name__ for v in values})
        raise InputError(
            f"{name} mixes labels of different kinds ({', '.join(kinds)}): use one kind throughout."
        ) from err


def refuse_many_classes(present: list[Any], or_more: str = "") -> None:
    """Refuse more than two distinct labels."""
    if len(present) <= 2:
        return
    if len(present) > 20 and all(isinstance(label, float) for label in present):
        raise InputError(f"y has {len(present)} distinct values and looks continuous: expected two classes.")
    raise InputError(
        f"y has {len(present)} classes {or_more}({listed(present)}), expected two: "
        f"keep the rows of two classes, or turn y into one class against the rest."
    )


def group_codes(groups: Any, n_rows: int) -> Ints:
    """Group labels as codes 0, 1, ..."""
    labels = _plain_labels(groups)
    if labels.shape != (n_rows,):
        raise InputError(f"groups must be one label per row ({n_rows}), got shape {labels.shape}.")
    if _count_missing(labels):
        raise InputError(f"groups has {_count_missing(labels)} missing label(s): name the group of every row.")
    return np.searchsorted(distinct(labels, "groups"), labels).astype(np.intp)


def slices(n: int, width: int, entries: int) -> Iterator[slice]:
    """Slices of range(n) such that slice x width stays within so many entries, where a single one does."""
    step = max(1, entries // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def rows_of_groups(codes: Ints) -> list[Ints]:
    """Rows of group 0, of group 1, and so on."""
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])


def as_groups(groups: Any, classes: Bools | Ints, *, fewest: int) -> Ints:
    """Group codes; each class, given for every row, must occur in at least `fewest` groups."""
    codes = group_codes(groups, classes.size)
    n_groups = min(np.unique(codes[classes == k]).size for k in np.unique(classes))
    if n_groups < fewest:
        raise InputError(
            f"each class must occur in at least {fewest} groups, got {n_groups}: "
            f"use finer groups, or none if the rows are independent."
        )
    return codes


# ---- Weights of classifiers and of rows, and scores.


def as_weights(w: Any, n_features: int) -> Floats:
    """Weights as float64 of shape (P,) or (P, K), finite and with no all-zero classifier."""
    W = _floats(w, lambda: "w must hold numbers: one weight per column of X.")
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
        raise _cannot_be_squared(f"the weights are of size {size:.0e}", "w, or X before the fit")
    return w


def as_row_weights(sample_weight: Any, n_rows: int) -> Floats:
    """One finite weight per row, none negative and not all zero; a single number stands for all rows."""
    weights = _floats(sample_weight, lambda: f"sample_weight must be {n_rows} numbers, one per row, as given to fit.")
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,) or not np.all(np.isfinite(weights)) or np.any(weights < 0) or not weights.any():
        raise InputError(
            f"sample_weight must be {n_rows} finite weights, none negative and not all zero, got shape "
            f"{weights.shape}: pass the weights given to fit."
        )
    if not SMALLEST < weights.max() < LARGEST:
        raise _cannot_be_squared(f"sample_weight is of size {weights.max():.0e}", "it, and C")
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
        raise _cannot_be_squared(f"the scores span {spread:.0e}", "w, or X before the fit")


def finite_scores(scores: Array, X: Any, start: int = 0) -> None:
    """Refuse scores that are not finite, naming the row and column of X that caused them.

    `start` is the place of the first row in the whole table.
    """
    bad = ~np.isfinite(scores if scores.ndim == 1 else scores.sum(axis=1))
    if not bad.any():
        return
    row = int(np.flatnonzero(bad)[0])
    values = np.asarray(X[[row]].todense() if is_sparse(X) else X[row], dtype=np.float64).ravel()
    columns = np.flatnonzero(~np.isfinite(values))
    rows = counted(int(bad.sum()), "row")
    if columns.size:
        raise NotFiniteError(
            f"X has NaN or infinity in {rows}; first at row {start + row}, column {columns[0]}: "
            f"impute or drop those rows before fitting."
        )
    raise NotFiniteError(f"the scores X @ w overflow in {rows}, first at row {start + row}: rescale X or w.")


class NotFiniteError(InputError):
    """A score is NaN or infinite."""


# ---- X: a table of numbers, sparse or dense.
#
# Nothing here scans X for NaN: that costs more than the answer. A NaN anywhere in a row makes the row's score NaN, so
# scores are checked (`finite_scores`), and X is searched only if that check fails.

SMALLEST, LARGEST = 1e-70, 1e70  # numbers between them can be squared twice


def is_sparse(X: Any) -> bool:
    """True for SciPy sparse matrices and arrays, without importing scipy.sparse."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def dense(X: Any) -> Floats:
    """A sparse or dense matrix as a dense one of float64."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def is_frame(X: Any) -> bool:
    """True for pandas and polars data frames."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def column_names(X: Any) -> list[str] | None:
    """Column names of a data frame, None for anything else."""
    return [str(c) for c in X.columns] if is_frame(X) else None


def feature_names(given: Iterable[str] | None, X: Any) -> list[str] | None:
    """Names of the columns of X: as given, or those of a data frame; None for anything else."""
    if given is None:
        return column_names(X)
    if isinstance(given, str):
        raise InputError(f"feature_names must be a list of names, got the text {given!r}.")
    names = [str(name) for name in given]
    shape = np.shape(X)
    if len(shape) == 2 and shape[1] != len(names):
        raise InputError(f"feature_names has {len(names)} names but X has {shape[1]} columns: they must match.")
    return names


def row_names(given: Any, X: Any) -> None:
    """Refuse names of rows that are not one for each row of X."""
    if given is not None and (shape := np.shape(X)) and shape[0] != len(given):
        raise InputError(f"row_names has {len(given)} names but X has {shape[0]} rows: they must match.")


def refuse_repeated(names: Iterable[str], where: object) -> None:
    """Refuse a table with two columns of the same name."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InputError(f"{where} has more than one column named {listed(twice)}: give every column its own name.")


def as_matrix(X: Any) -> Any:
    """X as a two-dimensional numeric array or a sparse matrix in row form; no copy if it already is one."""
    M = X.tocsr() if is_sparse(X) else _dense(X)
    if 0 in M.shape:
        raise InputError(f"X is empty: got shape {M.shape}, expected at least one row and one column.")
    return _real(M)


def _dense(X: Any) -> Array:
    if X is None or isinstance(X, str | bytes):
        raise InputError(f"X must be a table of numbers, got {X!r}: pass an array or a data frame.")
    try:
        M = np.asarray(X.to_numpy() if is_frame(X) else X)
    except ValueError as err:
        raise InputError("X must be a rectangular table of numbers, got rows of unequal length.") from err
    if M.ndim == 0:
        raise InputError(f"X must be a table of numbers, got a single {type(X).__name__}.")
    if M.ndim != 2:
        raise InputError(
            f"X must have two dimensions (rows x features), got {M.ndim}: use X.reshape(-1, 1) for a single feature."
        )
    if is_frame(X) and M.size and M.dtype.kind not in "biufc":
        return _converted([(str(name), np.asarray(X[name].to_numpy())) for name in X.columns])
    return M


def _real(M: Any) -> Any:
    # Integers stay as they are: `tables.matrix.project` converts a block of rows at a time.
    if M.dtype.kind == "f" and M.dtype.itemsize > 8:
        return M.astype(np.float64)  # linear algebra has no longer floats
    if M.dtype.kind in "biuf":
        return M
    if M.dtype.kind in "mM":
        raise InputError("X holds dates; expected numbers. Turn them into durations or calendar features.")
    if M.dtype.kind == "c":
        raise InputError("X holds complex numbers; expected real ones. Pass real and imaginary parts as columns.")
    return _converted(list(enumerate(M.T)))


def _converted(columns: list[tuple[Any, Array]]) -> Floats:
    """Columns of mixed types, given with their names, as one matrix of floats."""
    unusable = [name for name, values in columns if not _converts(values)]
    if unusable:
        raise InputError(
            f"X must hold numbers, got text, dates, complex or missing values in column {listed(unusable)}: "
            f"encode text columns (for example with OneHotEncoder), impute missing values, or drop them."
        )
    return np.column_stack([values.astype(np.float64) for _, values in columns])


def _converts(values: Array) -> bool:
    if values.dtype.kind in "mMc":
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def same_length(n_rows: int, n_labels: int, what: str = "X has {} rows") -> None:
    """Refuse X (or scores) and y of different lengths."""
    if n_rows != n_labels:
        raise InputError(f"{what.format(n_rows)} but y has {n_labels} labels: they must match, row by row.")


def largest_size(X: Any) -> float:
    """The largest absolute value."""
    values = X.data if is_sparse(X) else X
    return max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0


def sane_size(X: Any) -> None:
    """Refuse numbers whose squares, and the squares of those, overflow or vanish."""
    plain = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.flags.forc
    if plain and SMALLEST * X.size < float(np.vdot(values := X.ravel(order="K"), values)) < LARGEST:
        return  # one pass tells, but for extreme numbers
    size = largest_size(X)
    if size > 0 and not SMALLEST < size < LARGEST:
        raise _cannot_be_squared(f"the numbers in X are of size {size:.0e}", "X before the fit")


def _cannot_be_squared(what: str, remedy: str) -> InputError:
    return InputError(f"{what}, too large or too small to be squared: rescale {remedy}.")
