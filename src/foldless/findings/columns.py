"""Checks of the columns: heavy tails, columns chosen with y, too many columns, a column that gives the label away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.checks import Array, Floats, column_names, is_frame, is_sparse
from foldless.findings.finding import Finding, present
from foldless.honest.design import Bools, Ints
from foldless.laws.moments import feature_moments
from foldless.model.view import LinearView
from foldless.tables.block import Moments
from foldless.tables.sums import project

DIRECTIONS = 12
SKETCH_SEED = 20240301  # fixed: the same data give the same findings


@dataclass(frozen=True, eq=False)
class Sketch:
    """Rows projected on a few random directions: enough to see copies, order and spread in one pass over X.

    Columns are brought to unit spread within the classes first, so that no unit of measurement matters. Rows that are
    near each other stay near; rows that are not stay apart in most of a dozen directions. Z has shape (N, at most
    `DIRECTIONS`); `classes` holds the class of each row, or of two classes whether it is positive.
    """

    Z: Floats
    classes: Any

    @classmethod
    def of(cls, X: Any, classes: Any) -> Sketch:
        """Sketch of the rows that the classifier was judged on."""
        mean, sd = column_spread(X, classes)
        used = np.flatnonzero(sd > 0)
        directions = np.eye(used.size)
        if used.size > DIRECTIONS:
            draws = np.random.default_rng(SKETCH_SEED).standard_normal((used.size, DIRECTIONS))
            directions = draws / np.sqrt(used.size)
        weights = np.zeros((sd.size, directions.shape[1]))
        weights[used] = directions / sd[used, None]
        return cls(project(X, weights) - mean @ weights, classes)

    def by_class(self) -> list[Floats]:
        """Rows of each class, the last one (of two: the positive one) first."""
        return [self.Z[self.classes == label] for label in np.unique(self.classes)[::-1]]


def column_spread(X: Any, classes: Any) -> tuple[Floats, Floats]:
    """Mean of each column, and its standard deviation within the classes; 0 for what is rounding noise."""
    two = classes.dtype == bool
    parts: tuple[Moments, ...] = (
        feature_moments(X, classes) if two else tuple(feature_moments(X, classes == c)[1] for c in np.unique(classes))
    )
    mean = sum(part.n * part.mean for part in parts) / classes.size
    sd = np.sqrt(sum(part.scatter for part in parts) / classes.size)
    return mean, np.where(sd > 1e-12 * np.abs(mean), sd, 0.0)


MAX_ROWS, MAX_COLUMNS = 5000, 10_000
BLOCK = 1 << 20
SEED = 20240303
CHANCE = 1e-3  # that so many columns are skewed by luck
# Skewness that is not luck (as a normal deviate: one normal column in a thousand), and that a log would mend (an
# exponential law has 2, a log-normal one with sigma 1 has 6).
SKEWED, STRONGLY = 3.3, 1.5
SKEWED_SHARE, CARRIED = 0.1, 0.5  # of the columns, and of the score
# AUC of a single column that gives the label away, and the chance that one of many useless columns reaches it.
LEAK, LEAK_OF_TWO_VALUES, LEAK_CHANCE = 0.99, 0.95, 1e-3


@dataclass(frozen=True, eq=False)
class ColumnFigures:
    """Figures of the columns `index`: AUC of each alone, skewness within classes, t value of the difference of means.

    The columns are those that the classifier was judged on: after its scalers and transforms, before any step that saw
    y. `deviate` is the skewness as a normal deviate; `carried` is the share of each in the score, |weight| x sd;
    `two_valued` marks columns such as 0/1.
    """

    index: Ints
    auc: Floats
    skewness: Floats
    deviate: Floats
    t: Floats
    carried: Floats
    two_valued: Bools
    n_columns: int
    n0: int
    n1: int


def column_findings(figures: ColumnFigures, view: LinearView) -> tuple[Finding, ...]:
    """All checks of this file, but for leaks."""
    return present(heavy_tails(figures), chosen_with_y(figures), many_columns(view.X.shape))


def column_figures(view: LinearView) -> ColumnFigures:
    """Figures of all columns, or of those that weigh most where there are very many."""
    positive = view.labels.positive
    negative, other = feature_moments(view.X, positive)
    load = np.abs(view.w) * np.sqrt((negative + other).scatter / positive.size)
    index = np.sort(np.argsort(-load, kind="stable")[:MAX_COLUMNS])
    rows, X = np.arange(positive.size), view.X
    if rows.size > MAX_ROWS:
        rows = np.sort(np.random.default_rng(SEED).permutation(rows.size)[:MAX_ROWS])
        X = X[rows]
    parts = [_figures(as_dense(X[:, part]), positive[rows]) for part in blocks(index, rows.size, BLOCK)]
    auc, skewness, deviate, t, two = (np.concatenate(values) for values in zip(*parts, strict=True))
    carried = load[index] / max(float(load.sum()), np.finfo(float).tiny)
    n1 = int(positive[rows].sum())
    return ColumnFigures(index, auc, skewness, deviate, t, carried, two, view.w.size, rows.size - n1, n1)


def heavy_tails(figures: ColumnFigures) -> Finding | None:
    """Skewed columns that carry a good part of the score: few rows decide, and a log or a rank would serve better."""
    skewed = (np.abs(figures.deviate) > SKEWED) & (np.abs(figures.skewness) > STRONGLY)
    share, carried = float(skewed.mean()), float(figures.carried[skewed].sum())
    if skewed.sum() < _more_than_luck(figures.index.size) or share < SKEWED_SHARE or carried < CARRIED:
        return None
    n = figures.index.size
    return Finding(
        "heavy tails",
        "caution",
        f"{int(skewed.sum())} of {n} columns have heavy tails (median skewness within the classes "
        f"{np.median(np.abs(figures.skewness[skewed])):.1f}, 0 for normal ones) and carry {carried:.0%} of the score.",
        "A few extreme rows decide the fit. Take logarithms or ranks (PowerTransformer, QuantileTransformer in a "
        "Pipeline), fit again, and compare the two with compare().",
        share,
    )


def _more_than_luck(n: int) -> int:
    """The least number of skewed columns out of n that is not luck: Poisson tail below `CHANCE`."""
    from scipy.stats import poisson

    return int(poisson.isf(CHANCE, 1e-3 * n)) + 1


def chosen_with_y(figures: ColumnFigures) -> Finding | None:
    """Columns that all just pass a test against y, as the best of many useless ones do.

    Beyond a threshold c, the t values of useless columns fall off like exp(-c (t - c)): their mean lies about 1/c above
    the least. Columns that mean something scatter far more than that, and some of them mean little.
    """
    t = np.abs(figures.t)
    if t.size < 8 or figures.n_columns != t.size:
        return None
    least, excess = float(t.min()), float((t - t.min()).mean())
    if least < 1.8 or excess > 1.5 / least:
        return None
    return Finding(
        "chosen columns",
        "caution",
        f"all {t.size} columns are related to y to nearly the same degree (|t| from {least:.1f} to {t.max():.1f}), as "
        f"the best of many useless columns would be.",
        "If they were chosen by looking at y, the answer is too good: pass all columns and put the choice into a "
        "Pipeline, where foldless sees it.",
        least,
    )


def many_columns(shape: tuple[int, int]) -> Finding | None:
    """At least as many columns as rows."""
    n, p = shape
    if p < n:
        return None
    return Finding(
        "columns and rows",
        "info",
        f"there are {p} columns and {n} rows: the training rows can be separated whatever their labels.",
        "The leave-one-out answer allows for it; training scores and the in-sample method do not.",
        p / n,
    )


def blocks(index: Ints, n_rows: int, entries: int) -> list[Ints]:
    """Columns in blocks of about so many entries."""
    step = max(1, entries // n_rows)
    return [index[start : start + step] for start in range(0, index.size, step)]


def as_dense(X: Any) -> Floats:
    """A dense table in double precision."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _figures(block: Floats, positive: Bools) -> tuple[Floats, Floats, Floats, Floats, Bools]:
    """Of each column: AUC, skewness, the same as a normal deviate, t value, and whether it has two values."""
    from scipy.stats import rankdata

    # None of the figures depends on the size of a column, and squares and cubes of tiny ones vanish.
    sized = np.ldexp(block, -np.frexp(np.max(np.abs(block), axis=0))[1])
    mean1, mean0 = sized[positive].mean(axis=0), sized[~positive].mean(axis=0)
    within = sized - np.where(positive[:, None], mean1, mean0)
    variance = np.mean(within * within, axis=0)
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    n, n1 = positive.size, int(positive.sum())
    t = (mean1 - mean0) / (scale * np.sqrt(1 / n1 + 1 / (n - n1)))
    low, high = block.min(axis=0), block.max(axis=0)
    two = np.all((block == low) | (block == high), axis=0) & (high > low)
    # What a 0/1 column lacks is not symmetry: it has no tails.
    skew = np.where(two, 0.0, np.mean((within / scale) ** 3, axis=0))
    auc = (rankdata(block, axis=0)[positive].sum(axis=0) - n1 * (n1 + 1) / 2) / (n1 * (n - n1))
    return np.asarray(auc), skew, normal_skewness(skew, n), t, two


def normal_skewness(skew: Floats, n: int) -> Floats:
    """Sample skewness as a standard normal deviate (D'Agostino 1970): right in the tails from n = 8 on."""
    if n < 8:
        return np.zeros_like(skew)
    y = skew * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w2 = np.sqrt(2 * (kurtosis - 1)) - 1
    return np.asarray(np.arcsinh(y / np.sqrt(2 / (w2 - 1))) / np.sqrt(np.log(np.sqrt(w2))))


def leak(figures: ColumnFigures, view: LinearView, X: Any) -> Finding | None:
    """A single column that orders nearly all pairs: perhaps a consequence of the label, not a predictor."""
    alone = np.maximum(figures.auc, 1 - figures.auc)
    bound = np.where(figures.two_valued, LEAK_OF_TWO_VALUES, LEAK)
    suspects = np.flatnonzero(alone >= bound)
    if suspects.size == 0 or _by_luck(figures) > LEAK_CHANCE:
        return None
    best = int(suspects[np.argmax(alone[suspects])])
    copy = bool(figures.two_valued[best] and alone[best] >= LEAK)
    more = f" (and {suspects.size - 1} more)" if suspects.size > 1 else ""
    name = name_of_column(int(figures.index[best]), view.X, X)
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


def name_of_column(j: int, M: Any, X: Any) -> str:
    """The column as the user knows it, if it is recognisably one of theirs."""
    own = _column(X, j) if getattr(X, "shape", (0, 0))[1:] == M.shape[1:] else np.empty(0, dtype=object)
    if own.dtype.kind not in "biuf" or not _same_order(own.astype(np.float64), _column(M, j).astype(np.float64)):
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
    """Whether b rises (or falls) with a, so that a scaler or a logarithm could turn one into the other."""
    order = np.argsort(a, kind="stable")
    steps = np.diff(b[order])
    return bool(np.all(steps >= -1e-9 * np.ptp(b)) or np.all(steps <= 1e-9 * np.ptp(b)))
