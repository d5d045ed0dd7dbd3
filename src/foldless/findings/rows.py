"""Checks of the rows: copies, and rows that resemble their neighbours in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from foldless.checks import Floats, as_matrix, dense, is_sparse
from foldless.errors import InputError
from foldless.findings.columns import SKETCH_SEED, Sketch, label_column
from foldless.findings.finding import Finding, Severity, present
from foldless.findings.naming import Names
from foldless.honest.design import Ints, blocks
from foldless.honest.refits import Refittable
from foldless.model.view import LinearView
from foldless.results.auc import AUCPosterior

# Leaving a row out has no effect while a copy of it stays in the training set.
#
# Exact copies are equal in every column. In a table of few distinct values, equal rows are to be expected; they count
# as copies only if they outnumber pairs of rows that differ in a single column. Where most cells of every column are
# equal, as in a table of zeros, rows of these values alone do not count. Indicator columns of one category count as
# one column here, and a table of categories with only a handful of different rows has no copies. Values count as in
# the table given: after PCA none are common.
#
# Near copies are closer than chance allows. If the k nearest of N independent rows lie within r_k, and distances
# grow as in m dimensions, a neighbour within r has probability about k (r / r_k)^m; over N rows that must stay
# below `CHANCE`. No unit of measurement or threshold of distance enters; m is estimated from r_k and r_(k/2).

NEIGHBOURS, REFERENCES = 20, 1000
CHANCE = 0.01
BLOCK = 1024
HARDLY, MANY = 0.01, 0.05  # shares of redundant rows: below the first they are harmless, above the second severe
MAX_ROWS, MAX_ENTRIES, MAX_COLUMNS = 5000, 1 << 23, 64  # looked at when equal rows are compared with nearly equal ones
HANDFUL, OFTEN = 20, 4  # a table of categories has at most so many different rows, each at least so often on average
CODINGS = 2  # columns that encode one category, such as a number and its square
SEED = 20240302
SAME_PRODUCT = 1e-12  # products of equal rows with a vector differ by less than this share of the largest


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows and their copies."""

    codes: Ints  # (N,) the same for a row and its copies, so that it can be passed as `groups`
    n_exact: int  # rows that repeat an earlier one
    n_near: int  # further rows that are closer to another than chance allows
    n_contradicting: int  # rows that have a copy with another label

    @property
    def share(self) -> float:
        """Share of redundant rows."""
        return (self.n_exact + self.n_near) / self.codes.size


def find_copies(X: Any, groups: Ints | None = None, given: Any = None, sketch: Sketch | None = None) -> Copies:
    """Exact copies of rows, and near ones where there is a `sketch` of them; `given` is the table X was made from.

    Copies inside one of the `groups` are left out together anyway and do not count.
    """
    equal = equal_rows(X)
    n, first = equal.size, np.unique(equal, return_index=True)[1]
    usual = first.size < n and not unusual(_as_given(given, X), equal)  # then equal rows are to be expected
    later = np.flatnonzero((first[equal] != np.arange(n)) & (not usual))
    exact = _outside(np.column_stack([first[equal[later]], later]), groups)
    codes = _components(exact, n)
    n_exact = n - int(codes.max()) - 1
    if sketch is None:
        return Copies(codes, n_exact, 0, 0)
    # In a table of few distinct values, distances have few distinct values too.
    near = exact[:0] if usual else _outside(first[near_pairs(sketch.Z[first])], groups)
    codes = _components(np.vstack([exact, near]), n)
    # Codes that occur with more than one class belong to rows with a contradicting copy.
    own = np.unique(np.column_stack([codes, sketch.classes]), axis=0)[:, 0]
    return Copies(codes, n_exact, n - int(codes.max()) - 1 - n_exact, int((np.bincount(own)[codes] > 1).sum()))


def _as_given(given: Any, X: Any) -> Any:
    """The table as it was given, if it is made of numbers; else X."""
    try:
        return as_matrix(given)
    except InputError:
        return X


def copies_finding(
    copies: Copies, names: Names, auc: AUCPosterior | None = None, together: AUCPosterior | None = None
) -> Finding | None:
    """The finding; `auc` is the present answer, `together` that with copies left out together, where it is known."""
    if copies.share == 0:
        return None
    rows = np.flatnonzero(copies.codes == int(np.argmax(np.bincount(copies.codes))))
    counts = {
        "repeat an earlier one in every column": copies.n_exact,
        "come closer to another than chance allows": copies.n_near,
    }
    example = names.listed_rows(rows.tolist())
    parts = [f"{n} {what if n > 1 else what.replace(' ', 's ', 1)}" for what, n in counts.items() if n]
    against = f" {copies.n_contradicting} rows have a copy with the other label." if copies.n_contradicting else ""
    effect, fallen = "", 0.0
    if auc is not None and together is not None:
        effect = f" The AUC is {auc.mean:.3f} as it is, and {together.mean:.3f} if copies are left out together."
        fallen = (auc.mean - together.mean) / max(auc.sd, np.finfo(float).tiny)
    return Finding(
        "copies",
        _severity(copies, fallen),
        f"of {copies.codes.size} rows {' and '.join(parts)} (for example {example}).{effect}{against}",
        "A copy of a row betrays its label when it is left out. Drop the copies and fit again; if they are repeated "
        "measurements, say which rows belong together: groups= in Python, --groups on the command line.",
        copies.share,
    )


def _severity(copies: Copies, fallen: float) -> Severity:
    if fallen > 1 or copies.n_exact >= MANY * copies.codes.size:
        return "severe"
    return "caution" if copies.share >= HARDLY else "info"


def equal_rows(X: Any) -> Ints:
    """A code per row, the same for rows that are equal in every column."""
    codes, rows = np.arange(X.shape[0]), _maybe_equal(X)
    if rows.size:
        _, first, where = np.unique(_keys(X[rows]), return_index=True, return_inverse=True)
        codes[rows] = rows[first[where]]
    return np.unique(codes, return_inverse=True)[1]


@np.errstate(over="ignore", invalid="ignore")
def _maybe_equal(X: Any) -> Ints:
    """Rows whose product with a random vector is that of another row: equal rows are among them."""
    vector = np.random.default_rng(SEED).standard_normal(X.shape[1])
    parts = blocks(X.shape[0], X.shape[1])
    product = np.concatenate([np.asarray(X[part] @ vector, dtype=np.float64) for part in parts])
    nearest = SAME_PRODUCT * np.abs(product).max()
    if np.diff(np.sort(product)).min() > nearest:  # sorting alone is faster than finding the order
        return np.empty(0, dtype=np.intp)
    order = np.argsort(product)
    close = np.diff(product[order]) <= nearest
    return np.sort(order[np.append(close, False) | np.append(False, close)])


def _keys(X: Any) -> Any:
    """Something to compare that is equal for equal rows."""
    if not is_sparse(X):
        dense = np.ascontiguousarray(X + 0.0)  # -0.0 becomes 0.0
        return dense.view(np.dtype((np.void, dense.itemsize * dense.shape[1]))).ravel()
    M = X.copy()
    M.sum_duplicates()
    M.eliminate_zeros()
    ends = zip(M.indptr[:-1], M.indptr[1:], strict=True)
    return np.array([M.indices[a:b].tobytes() + b"|" + M.data[a:b].tobytes() for a, b in ends], dtype=object)


def unusual(X: Any, equal: Ints) -> bool:
    """Whether equal pairs outnumber pairs that differ in a single column."""
    distinct = int(equal.max()) + 1
    rng = np.random.default_rng(SEED)
    repeated = np.bincount(equal)[equal] > 1
    rows = np.concatenate([np.flatnonzero(repeated), rng.permutation(np.flatnonzero(~repeated))])
    values = dense(X[rows[: min(MAX_ROWS, max(500, MAX_ENTRIES // X.shape[1]))]]) + 0.0
    marks = np.add.reduceat(_hashed(values, rng), category_starts(values), axis=1, dtype=np.uint64)
    if distinct <= HANDFUL and distinct * OFTEN <= equal.size:
        # A single measurement tells all different rows apart.
        return sum(np.unique(column).size == distinct for column in marks.T[:MAX_COLUMNS]) > CODINGS
    whole = marks.sum(axis=1, dtype=np.uint64)
    columns = rng.permutation(marks.shape[1])[:MAX_COLUMNS]
    same = _pairs(whole)
    almost = sum(_pairs(whole - marks[:, j]) - same for j in columns) * marks.shape[1] / columns.size
    typical = marks == np.partition(marks, len(marks) // 2, axis=0)[len(marks) // 2]  # what most cells are, if any
    if typical.mean(axis=0).min() > 0.5:
        same = _pairs(whole[~typical.all(axis=1)])
    return bool(same > almost)


def category_starts(dense: Floats) -> Ints:
    """Where each independent column begins; adjacent indicators of one category count as one column.

    Indicators of a category are two-valued columns; every row has the upper value in exactly one of them.
    """
    n, (low, high) = len(dense), (dense.min(axis=0), dense.max(axis=0))
    upper = (dense == high) & (low < high)
    indicator = (upper | (dense == low)).all(axis=0)
    # Indicators of one category have the upper value n times in all, so at most one end fits a start.
    ends = np.cumsum(np.where(indicator, upper.sum(axis=0), n + 1))
    # With a random number for each row, comparing sums is faster than comparing rows.
    key = np.random.default_rng(SEED).integers(1 << 40, size=n)
    sums, every = np.concatenate([[0], np.cumsum(key @ upper)]), key.sum()
    starts, j = [], 0
    while j < dense.shape[1]:
        starts.append(j)
        wanted = n + (ends[j - 1] if j else 0)
        after = int(np.searchsorted(ends, wanted)) + 1
        fits = after <= ends.size and ends[after - 1] == wanted and sums[after] - sums[j] == every
        j = after if fits and (upper[:, j:after].sum(axis=1) == 1).all() else j + 1
    return np.array(starts, dtype=np.intp)


def _hashed(dense: Floats, rng: np.random.Generator) -> Any:
    """A hash of each entry; their sum over a row tells rows apart, with or without a column."""
    salt = rng.integers(1, 2**63, size=dense.shape[1], dtype=np.uint64)
    mixed = np.ascontiguousarray(dense).view(np.uint64) ^ salt
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _pairs(codes: Any) -> float:
    counts = np.unique(codes, return_counts=True)[1].astype(float)
    return float(np.sum(counts * (counts - 1)) / 2)


def near_pairs(Z: Floats) -> Ints:
    """Pairs (row, neighbour) of distinct rows that are closer than chance allows."""
    nobody = np.empty((0, 2), dtype=np.intp)
    n, n_references = len(Z), min(len(Z), REFERENCES)
    k = min(NEIGHBOURS, n_references // 4)
    if k < 4 or Z.shape[1] == 0:
        return nobody
    half, far = _radii(Z, np.random.default_rng(SEED).permutation(n)[:n_references], k)
    usable = (half > 0) & (far > half)
    if not usable.any():
        return nobody
    dimension = np.log(k / (k // 2)) / np.median(np.log(far[usable] / half[usable]))
    # Within the radius `far` lie k of the reference rows, and so k n / n_references rows.
    bound = np.where(usable, far, 0.0) * (CHANCE / (n * k * n / n_references)) ** (1 / dimension)
    from scipy.spatial import cKDTree

    reach = float(np.quantile(bound, 0.99)) * (1 + 1e-9) + np.finfo(float).tiny
    distances, neighbours = cKDTree(Z).query(Z, k=2, distance_upper_bound=reach)
    own = neighbours[:, 0] == np.arange(n)  # two rows at the same place may be listed in either order
    nearest = np.where(own, neighbours[:, 1], neighbours[:, 0])
    rows = np.flatnonzero((distances[:, 1] < bound) & (nearest < n))
    return np.column_stack([rows, nearest[rows]]).astype(np.intp)


def _radii(Z: Floats, references: Ints, k: int) -> tuple[Floats, Floats]:
    """Distances of each row to the (k/2)-th and the k-th nearest of the reference rows, itself not counted."""
    half, far = np.empty(len(Z)), np.empty(len(Z))
    R = Z[references]
    for start in range(0, len(Z), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(Z)))
        squares = np.sum(Z[rows] ** 2, axis=1)[:, None] - 2 * Z[rows] @ R.T + np.sum(R**2, axis=1)
        squares[rows[:, None] == references] = np.inf
        squares.partition([k // 2 - 1, k - 1], axis=1)
        half[rows], far[rows] = np.sqrt(np.maximum(squares[:, [k // 2 - 1, k - 1]], 0.0)).T
    return half, far


def _outside(pairs: Ints, groups: Ints | None) -> Ints:
    return pairs if groups is None else pairs[groups[pairs[:, 0]] != groups[pairs[:, 1]]]


def _components(pairs: Ints, n: int) -> Ints:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(pairs):
        return np.arange(n)
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


def neighbours_alike(sketch: Sketch) -> Finding | None:
    """Rows that resemble their neighbours in the file: sessions, subjects, time series; or a sorted file.

    In each projection of the rows, ranks within the class are correlated with those of the next row of that class.
    For independent rows of any law the mean is 0; shuffled rows show how far chance takes it. Only for data without
    groups.
    """
    # Only neighbours matter, so the first rows of a class suffice.
    classes = [_normal_ranks(rows[:MAX_ROWS]) for rows in sketch.by_class() if len(rows) > 4]
    if not classes:
        return None
    rng = np.random.default_rng(SKETCH_SEED)
    observed = _lag_one(classes)
    shuffled = np.array([_lag_one([rng.permutation(c) for c in classes]) for _ in range(99)])
    excess = observed - float(shuffled.mean())
    if excess < max(0.1, 5 * float(shuffled.std())):
        return None
    return Finding(
        "neighbours",
        "caution",
        f"rows of a class that follow each other in the file are alike (rank correlation {excess:.2f}, about 0 for "
        f"independent rows).",
        "If they come from the same subject, session or recording, say so (groups= in Python, --groups on the command "
        "line); otherwise the answer is too good and its interval too narrow. A file that is merely sorted is fine.",
        excess,
    )


def _lag_one(classes: list[Floats]) -> float:
    """Mean over directions of the correlation of a row with the next one, classes pooled."""
    products = sum(float(np.sum(c[1:] * c[:-1])) for c in classes)
    squares = sum(float(np.sum(c**2)) for c in classes)
    return products / squares if squares > 0 else 0.0


def _normal_ranks(rows: Floats) -> Floats:
    """Each column as normal scores; ties share a rank, since ranks in the order of the file would show a trend."""
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(rows, axis=0) - 0.5) / len(rows)))


# ---- Two checks cheap enough for every answer: repeated rows, and a column that is the label.


def quick_notes(view: LinearView | Refittable, names: Names, groups: Ints | None) -> tuple[str, ...]:
    """Notes on an answer that cost one pass over the table; none if it is not in memory."""
    if not (isinstance(view.X, np.ndarray) or is_sparse(view.X)):
        return ()
    copies = copies_finding(find_copies(view.X, groups, names.X), names)
    findings = present(copies, label_column(view.X, view.codes, names))
    return tuple(finding.note for finding in findings if finding.level > 0)
