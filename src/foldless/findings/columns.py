"""Checks of the columns: heavy tails, columns chosen with y, too many columns, a column that gives the label away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.checks import Floats, dense, slices
from foldless.findings.finding import Finding, present
from foldless.findings.naming import Names
from foldless.honest.design import Bools, Ints
from foldless.laws.moments import feature_moments
from foldless.model.view import LinearView
from foldless.tables.block import Moments
from foldless.tables.matrix import project

DIRECTIONS = 12
SCREEN_SEED, FEW = 20240302, 32
VARIES = 1e-9  # share of a column's variance that is rounding
BLOCK_ENTRIES = 1 << 20
SKETCH_SEED = 20240301  # fixed: the same data give the same findings


@dataclass(frozen=True, eq=False)
class Sketch:
    """Rows projected on a few random directions: enough to see copies, order and spread in one pass over X.

    Columns are first scaled to unit spread within the classes, so that units of measurement do not matter. Rows that
    are close stay close; rows that are not stay apart in most of the directions.
    """

    Z: Floats  # (N, at most `DIRECTIONS`)
    classes: Any  # the class of each row; of two classes, whether it is positive

    @classmethod
    def of(cls, X: Any, classes: Any) -> Sketch:
        """Sketch of the rows on which the classifier was judged."""
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
    """Mean of each column, and its standard deviation within the classes; 0 if that is rounding noise."""
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
CHANCE = 1e-3  # accepted probability that this many columns are skewed by chance
# Skewness beyond chance (as a normal deviate: one normal column in a thousand), and skewness that a logarithm would
# cure (an exponential law has 2, a log-normal one with sigma 1 has 6).
SKEWED, STRONGLY = 3.3, 1.5
SKEWED_SHARE, CARRIED = 0.1, 0.5  # of the columns, and of the score
# AUC of a single column that may give the label away, and that of a copy of it; the probability that one of many
# useless columns reaches it. Of 43 real sets of two classes, one has such a column that is honest.
LEAK, LEAK_OF_TWO_VALUES, COPY, LEAK_CHANCE = 0.985, 0.95, 0.99, 1e-3


@dataclass(frozen=True, eq=False)
class ColumnFigures:
    """Figures of columns after the classifier's scalers and transforms, before any step that saw y."""

    index: Ints
    auc: Floats  # of each column alone
    skewness: Floats  # within the classes
    deviate: Floats  # the skewness as a normal deviate
    t: Floats  # of the difference of means
    carried: Floats  # share of the score, |weight| x sd
    two_valued: Bools  # columns such as 0/1
    n_columns: int
    n0: int
    n1: int


def column_findings(figures: ColumnFigures, view: LinearView, names: Names) -> tuple[Finding, ...]:
    """All checks of this file except for leaks."""
    return present(heavy_tails(figures, view, names), chosen_with_y(figures), many_columns(view.X.shape))


def column_figures(X: Any, positive: Bools, w: Floats | None = None) -> ColumnFigures:
    """Figures of all columns, or of those with the largest share of the score where there are very many.

    Without weights the columns share alike.
    """
    negative, other = feature_moments(X, positive)
    load = np.sqrt((negative + other).scatter / positive.size) * np.abs(w) if w is not None else np.ones(X.shape[1])
    index = np.sort(np.argsort(-load, kind="stable")[:MAX_COLUMNS])
    rows = np.arange(positive.size)
    if rows.size > MAX_ROWS:
        rows = np.sort(np.random.default_rng(SEED).permutation(rows.size)[:MAX_ROWS])
        X = X[rows]
    parts = [_figures(dense(X[:, index[part]]), positive[rows]) for part in slices(index.size, rows.size, BLOCK)]
    auc, skewness, deviate, t, two = (np.concatenate(values) for values in zip(*parts, strict=True))
    carried = load[index] / max(float(load.sum()), np.finfo(float).tiny)
    n1 = int(positive[rows].sum())
    return ColumnFigures(index, auc, skewness, deviate, t, carried, two, load.size, rows.size - n1, n1)


def heavy_tails(figures: ColumnFigures, view: LinearView, names: Names) -> Finding | None:
    """Skewed columns that make up much of the score, so that few rows decide; a log or ranks would serve better."""
    skewed = (np.abs(figures.deviate) > SKEWED) & (np.abs(figures.skewness) > STRONGLY)
    n, share, carried = figures.index.size, float(skewed.mean()), float(figures.carried[skewed].sum())
    if skewed.sum() < _more_than_luck(n) or share < SKEWED_SHARE or carried < CARRIED:
        return None
    which = names.columns(figures.index[skewed].tolist(), view.X)
    return Finding(
        "heavy tails",
        "info",  # of 95 such situations drawn at random, 90 % intervals held the truth in 95 %
        f"{int(skewed.sum())} of {n} columns{which} have heavy tails (median skewness within the classes "
        f"{np.median(np.abs(figures.skewness[skewed])):.1f}, 0 for normal ones) and carry {carried:.0%} of the score.",
        "A few extreme rows decide the fit. Take logarithms or ranks (PowerTransformer, QuantileTransformer in a "
        "Pipeline), fit again, and compare the two with compare().",
        share,
    )


def _more_than_luck(n: int) -> int:
    """The smallest number of skewed columns out of n beyond chance: Poisson tail below `CHANCE`."""
    from scipy.stats import poisson

    return int(poisson.isf(CHANCE, 1e-3 * n)) + 1


def chosen_with_y(figures: ColumnFigures) -> Finding | None:
    """Columns that all just pass a test against y, as the best of many useless columns do.

    Beyond a threshold c, the t values of useless columns decay like exp(-c (t - c)), so their mean lies about 1/c above
    the smallest. The t values of informative columns scatter much more, and some of them are small.
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


def _figures(block: Floats, positive: Bools) -> tuple[Floats, Floats, Floats, Floats, Bools]:
    """AUC, skewness, skewness as a normal deviate, and t value of each column, and whether it has two values."""
    from scipy.stats import rankdata

    # No figure depends on the scale of a column; squares and cubes of tiny values would vanish.
    sized = np.ldexp(block, -np.frexp(np.max(np.abs(block), axis=0))[1])
    mean1, mean0 = sized[positive].mean(axis=0), sized[~positive].mean(axis=0)
    within = sized - np.where(positive[:, None], mean1, mean0)
    variance = np.mean(within * within, axis=0)
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    n, n1 = positive.size, int(positive.sum())
    t = (mean1 - mean0) / (scale * np.sqrt(1 / n1 + 1 / (n - n1)))
    low, high = block.min(axis=0), block.max(axis=0)
    two = np.all((block == low) | (block == high), axis=0) & (high > low)
    # A 0/1 column has no tails, so its skewness means nothing here.
    skew = np.where(two, 0.0, np.mean((within / scale) ** 3, axis=0))
    auc = (rankdata(block, axis=0)[positive].sum(axis=0) - n1 * (n1 + 1) / 2) / (n1 * (n - n1))
    return np.asarray(auc), skew, normal_skewness(skew, n), t, two


def normal_skewness(skew: Floats, n: int) -> Floats:
    """Sample skewness as a standard normal deviate (D'Agostino 1970), accurate in the tails from n = 8 on."""
    if n < 8:
        return np.zeros_like(skew)
    y = skew * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w2 = np.sqrt(2 * (kurtosis - 1)) - 1
    return np.asarray(np.arcsinh(y / np.sqrt(2 / (w2 - 1))) / np.sqrt(np.log(np.sqrt(w2))))


def leak(figures: ColumnFigures, X: Any, names: Names, label: Any = None) -> Finding | None:
    """A single column that ranks nearly all pairs correctly: perhaps a consequence of the label, not a predictor.

    `label` is the class that is told from all others, where there are more than two.
    """
    alone = np.maximum(figures.auc, 1 - figures.auc)
    suspects = np.flatnonzero(alone >= np.where(figures.two_valued, LEAK_OF_TWO_VALUES, LEAK))
    if suspects.size == 0 or _by_chance(figures) > LEAK_CHANCE:
        return None
    best, *others = suspects[np.argsort(-alone[suspects], kind="stable")].tolist()
    copy = bool(figures.two_valued[best] and alone[best] >= COPY)
    fact = "orders nearly all pairs of rows" if label is None else f"tells class {label!r} from nearly all other rows"
    fact = "is the label, written another way" if copy else f"alone {fact}"
    more = f", and that of {len(others)} more{names.columns(figures.index[others].tolist(), X)}" if others else ""
    more += f" at least {alone[others[-1]]:.3f}" if others else ""
    early = " known before the outcome is"
    ask = "" if copy else f" That is right only if it is{early}."
    return Finding(
        "leak",
        "severe" if copy else "caution",
        f"{names.column(int(figures.index[best]), X)} {fact}: its AUC without any classifier is {alone[best]:.3f}"
        f"{more}.{ask}",
        f"If it is not{early * copy}, drop it and fit again; if it is, you hardly need the other columns.",
        float(alone[best]),
    )


def _by_chance(figures: ColumnFigures) -> float:
    """Bound on the probability that a useless column reaches the AUC of a leak, by normal approximation."""
    n0, n1 = figures.n0, figures.n1
    z = (LEAK_OF_TWO_VALUES - 0.5) / np.sqrt((n0 + n1 + 1) / (12 * n0 * n1))
    return float(figures.n_columns * 2 * np.exp(-0.5 * z * z))


# ---- A column that is the label: cheap enough for every answer.


def label_column(M: Any, classes: Any, names: Names) -> Finding | None:
    """A column of M that is constant within every class."""
    same = _constant_within(M, np.asarray(classes))
    if same.size == 0:
        return None
    more = f" (and {same.size - 1} more)" if same.size > 1 else ""
    return Finding(
        "leak",
        "severe",
        f"{names.column(int(same[0]), M)}{more} is the label, written another way.",
        "Drop it and fit again: it is not known before the outcome is.",
        1.0,
    )


def _constant_within(M: Any, classes: Any) -> Ints:
    """Columns that only vary between the classes: those that do so in a few rows, checked on all rows."""
    rng = np.random.default_rng(SCREEN_SEED)
    rows = np.concatenate([rng.permutation(np.flatnonzero(classes == k))[:FEW] for k in np.unique(classes)])
    # What varies within the classes in few rows is at most that much more of their variance than in all rows.
    bound = 4 * VARIES * classes.size / rows.size
    left = np.flatnonzero(_between_classes(M[rows], classes[rows]) > 1 - bound)
    return left[_between_classes(M[:, left], classes) > 1 - VARIES] if left.size else left


def _between_classes(M: Any, classes: Any) -> Floats:
    """Share of each column's variance that lies between the classes; of two, the squared correlation with the label."""
    members = (np.asarray(classes)[:, None] == np.unique(classes)).astype(np.float64)
    members /= np.sqrt(members.sum(axis=0))
    shares = []
    for part in slices(M.shape[1], M.shape[0], BLOCK_ENTRIES):
        block = dense(M[:, part])
        with np.errstate(all="ignore"):
            block = block - block.mean(axis=0)
            share = np.square(members.T @ block).sum(axis=0) / np.einsum("ij,ij->j", block, block)
        shares.append(np.nan_to_num(share))
    return np.concatenate(shares)
