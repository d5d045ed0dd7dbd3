"""Columns: their figures, one by one; heavy tails; columns that look as if y had chosen them; more of them than rows.

The columns are those that the classifier was judged on: after its scalers and transforms, before any step that saw y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Floats, is_sparse
from foldless.anatomy import LinearView
from foldless.findings.finding import Finding, found
from foldless.honest.design import Bools, Ints
from foldless.moments import feature_moments

MAX_ROWS, MAX_COLUMNS = 5000, 10_000
BLOCK = 1 << 20
SEED = 20240303
CHANCE = 1e-3  # that so many columns are skewed by luck
# Skewness that is not luck (as a normal deviate: one normal column in a thousand), and that a log would mend (an
# exponential law has 2, a log-normal one with sigma 1 has 6).
SKEWED, STRONGLY = 3.3, 1.5
SKEWED_SHARE, CARRIED = 0.1, 0.5  # of the columns, and of the score
CHOSEN_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class ColumnFigures:
    """Figures of the columns `index`: AUC of each alone, skewness within classes, t value of the difference of means.

    `deviate` is the skewness as a normal deviate; `carried` is the share of each in the score, |weight| x sd;
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
    """All checks of this file."""
    return found(heavy_tails(figures), chosen_with_y(figures), many_columns(view))


def column_figures(view: LinearView) -> ColumnFigures:
    """Figures of all columns, or of those that weigh most where there are very many."""
    positive = view.labels.positive
    load = np.abs(view.weights) * _sd(view.X, positive)
    index = np.sort(np.argsort(-load, kind="stable")[:MAX_COLUMNS])
    rows = _rows(positive)
    parts = [_figures(_dense(view.X, rows, part), positive[rows]) for part in _blocks(index, rows.size)]
    auc, skewness, deviate, t, two = (np.concatenate(values) for values in zip(*parts, strict=True))
    carried = load[index] / max(float(load.sum()), np.finfo(float).tiny)
    n1 = int(positive[rows].sum())
    return ColumnFigures(index, auc, skewness, deviate, t, carried, two, view.weights.size, rows.size - n1, n1)


# ---- heavy tails


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
    """Fewest columns out of n that are not all skewed by luck: Poisson tail below `CHANCE`."""
    rate, k, tail = 1e-3 * n, 0, 1.0
    term = float(np.exp(-rate))
    while tail > CHANCE:
        tail -= term
        k += 1
        term *= rate / k
    return max(k, 1)


# ---- chosen columns, many columns


def chosen_with_y(figures: ColumnFigures) -> Finding | None:
    """Columns that all just pass a test against y, as the best of many useless ones do.

    Beyond a threshold c, the t values of useless columns fall off like exp(-c (t - c)): their mean lies about 1/c above
    the least. Columns that mean something scatter far more than that, and some of them mean little.
    """
    t = np.abs(figures.t)
    if t.size < CHOSEN_COLUMNS or figures.n_columns != t.size:
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


def many_columns(view: LinearView) -> Finding | None:
    """At least as many columns as rows."""
    n, p = view.X.shape
    if p < n:
        return None
    return Finding(
        "columns and rows",
        "info",
        f"there are {p} columns and {n} rows: the training rows can be separated whatever their labels.",
        "The leave-one-out answer allows for it; training scores and the in-sample method do not.",
        p / n,
    )


# ---- passes over the columns


def _rows(positive: Bools) -> Ints:
    n = positive.size
    return np.arange(n) if n <= MAX_ROWS else np.sort(np.random.default_rng(SEED).permutation(n)[:MAX_ROWS])


def _sd(X: Any, positive: Bools) -> Floats:
    """Standard deviation of each column, both classes together."""
    negative, other = feature_moments(X, positive)
    return np.asarray(np.sqrt((negative + other).scatter / positive.size))


def _blocks(index: Ints, n_rows: int) -> list[Ints]:
    step = max(1, BLOCK // n_rows)
    return [index[start : start + step] for start in range(0, index.size, step)]


def _dense(X: Any, rows: Ints, columns: Ints) -> Floats:
    part = X[:, columns] if rows.size == X.shape[0] else X[rows][:, columns]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def _figures(block: Floats, positive: Bools) -> tuple[Floats, Floats, Floats, Floats, Bools]:
    """AUC, skewness, the same as a normal deviate, t value, and whether there are two values, by column."""
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
    return _aucs(block, positive), skew, normal_skewness(skew, n), t, two


def _aucs(block: Floats, positive: Bools) -> Floats:
    from scipy.stats import rankdata

    n1 = int(positive.sum())
    ranks = rankdata(block, axis=0)[positive].sum(axis=0)
    return np.asarray((ranks - n1 * (n1 + 1) / 2) / (n1 * (positive.size - n1)))


def normal_skewness(skew: Floats, n: int) -> Floats:
    """Sample skewness as a standard normal deviate (D'Agostino 1970): right in the tails from n = 8 on."""
    if n < 8:
        return np.zeros_like(skew)
    y = skew * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w2 = np.sqrt(2 * (kurtosis - 1)) - 1
    return np.asarray(np.arcsinh(y / np.sqrt(2 / (w2 - 1))) / np.sqrt(np.log(np.sqrt(w2))))
