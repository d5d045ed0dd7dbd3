"""Means over all pairs of one positive and one negative row, whatever their number.

With few rows, every pair is evaluated. With many, the difference between the scores of a pair, both from the fit
without the pair, is additive except for a small remainder e_ij specific to the pair:

    diff_ij = S_i - S_j + e_ij
    share of ordered pairs = that of all S_i - S_j  +  mean over sampled pairs of [diff_ij > 0] - [S_i - S_j > 0]

The first takes a sort; the second is a control variate on a few hundred rows of each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Bools, Floats, Ints

ROUNDING = 1e-10  # differences of scores below this share of the largest one are ties


@dataclass(frozen=True, eq=False)
class Effects:
    """Share of ordered pairs: over the partners of each row of either class, and over all pairs."""

    by_row1: Floats
    by_row0: Floats
    mean: float


@dataclass(frozen=True, eq=False)
class PairSample:
    """Exact differences `diff` of sampled rows, their places among the rows of each class, and in-sample scores.

    `share1` and `share0` sum to one: the share of its class that a sampled row stands for. `level1` and `level0` are
    the in-sample scores of all rows of each class: rows with equal columns share them and are tied in every fit.
    """

    diff: Floats
    place1: Ints
    place0: Ints
    share1: Floats
    share0: Floats
    level1: Floats
    level0: Floats


@dataclass(frozen=True, eq=False)
class Pairs:
    """Scores S of the positive and of the negative rows, and sampled pairs if differences are not purely additive.

    `complete` holds all differences, of shape (n1, n0), if every pair was evaluated.
    """

    score1: Floats
    score0: Floats
    complete: Floats | None = None
    sample: PairSample | None = None

    @classmethod
    def of_differences(cls, diff: Floats) -> Pairs:
        """From the differences of all pairs."""
        n1, n0 = diff.shape
        margins = diff.sum(axis=1) / n0, diff.sum(axis=0) / n1
        pairs = cls(margins[0], margins[0].sum() / n1 - margins[1], diff)
        pairs.__dict__["margins"] = margins
        return pairs

    def share_without(self, out1: Bools, out0: Bools) -> float:
        """Share of ordered pairs without some rows; what sampled pairs add to it is taken to stay."""
        ranks, n1, n0, m1, m0 = self.ranks(), out1.size, out0.size, np.count_nonzero(out1), np.count_nonzero(out0)
        left = n1 * n0 * ranks.mean - n0 * ranks.by_row1[out1].sum() - n1 * ranks.by_row0[out0].sum()
        if m1 and m0:  # taken off twice
            diff = None if self.complete is None else self.complete[np.ix_(out1, out0)]
            left += m1 * m0 * Pairs(self.score1[out1], self.score0[out0], diff).ranks().mean
        return float(left / ((n1 - m1) * (n0 - m0)))

    @cached_property
    def margins(self) -> tuple[Floats, Floats]:
        """Mean difference of every positive and of every negative row against the other class."""
        if self.complete is not None:
            return self.complete.mean(axis=1), self.complete.mean(axis=0)
        margin1, margin0 = self.score1 - self.score0.mean(), self.score1.mean() - self.score0
        if self.sample is not None:  # means of e_ij
            sample, S1, S0 = self.sample, self.score1[self.sample.place1], self.score0[self.sample.place0]
            margin1[sample.place1] += sample.diff @ sample.share0 - (S1 - S0 @ sample.share0)
            margin0[sample.place0] += sample.share1 @ sample.diff - (sample.share1 @ S1 - S0)
        return margin1, margin0

    def ranks(self) -> Effects:
        """Whether a pair is in the right order; ties count half."""
        return self._ranks

    @cached_property
    def _ranks(self) -> Effects:
        if self.complete is not None:
            right, (n1, n0) = ordered(self.complete), self.complete.shape
            rows = right.sum(axis=1)
            return Effects(rows / n0, right.sum(axis=0) / n1, float(rows.sum() / right.size))
        order1, order0 = np.argsort(self.score1), np.argsort(self.score0)
        by1, by0 = _below(self.score0, order0, self.score1, order1), _below(self.score1, order1, self.score0, order0)
        by0 = 1.0 - by0
        mean = float(by1.mean())
        if self.sample is not None:
            mean += _tie_correction(self.score1, self.score0, self.sample) + self._sampled_order(self.sample)
        return Effects(by1, by0, min(max(mean, 0.0), 1.0))

    def _sampled_order(self, sample: PairSample) -> float:
        """What sampled pairs add to the share of ordered pairs; pairs of equal rows are tied in both terms."""
        additive = np.sign(self.score1[sample.place1][:, None] - self.score0[sample.place0])
        level1, level0 = sample.level1[sample.place1], sample.level0[sample.place0]
        if _may_tie(level1, level0, _tolerance(sample)):
            additive *= np.abs(level1[:, None] - level0) > _tolerance(sample)
        return float(sample.share1 @ (np.sign(sample.diff) @ sample.share0 - additive @ sample.share0)) / 2


def ordered(diff: Floats) -> Floats:
    """1 for a positive difference, 1/2 for a tie, 0 for a negative difference."""
    return np.where(diff == 0, 0.5, diff > 0)


def pair_differences(
    first: Floats, second: Floats, level1: Floats | None = None, level0: Floats | None = None
) -> Floats:
    """first - second, exactly 0 where rounding alone separates them: rows with equal columns tie.

    `level1` and `level0` are the scores of the rows in the sample. Rows that tie there tie whatever is left out, which
    corrections for a scaler, and single precision, are too coarse to show.
    """
    diff = first - second
    size = np.abs(diff)
    diff[size <= ROUNDING * size.max()] = 0.0
    if level1 is not None and level0 is not None:
        tolerance = ROUNDING * float(np.ptp(np.concatenate([level1, level0])))
        if _may_tie(level1, level0, tolerance):
            diff[np.abs(level1[:, None] - level0) <= tolerance] = 0.0
    return diff


def _may_tie(level1: Floats, level0: Floats, tolerance: float) -> bool:
    """Whether two of the scores are as close as this; to sort them takes less than to look at every pair."""
    return bool(np.diff(np.sort(np.concatenate([level1, level0]))).min() <= tolerance)


def variance(values: Floats) -> float:
    """With n - 1; for few values NumPy's own takes four times as long."""
    off = values - values.sum() / values.size
    return float((off * off).sum()) / (values.size - 1)


def _below(others: Floats, order_of_others: Ints, scores: Floats, order: Ints) -> Floats:
    """Share of the others below each score; ties count half. Looking up scores in sorted order stays in the cache."""
    among, sought, share = others[order_of_others], scores[order], np.empty_like(scores)
    share[order] = np.searchsorted(among, sought) + np.searchsorted(among, sought, side="right")
    return share / (2 * others.size)


def _tolerance(sample: PairSample) -> float:
    """In-sample scores closer than this are equal but for rounding."""
    return ROUNDING * max(float(np.ptp(np.concatenate([sample.level1, sample.level0]))), np.finfo(float).tiny)


def _tie_correction(score1: Floats, score0: Floats, sample: PairSample) -> float:
    """Change in the mean when pairs of equal rows count half instead of by the order of S."""
    tolerance = _tolerance(sample)
    if not _may_tie(sample.level1, sample.level0, tolerance):
        return 0.0
    order = np.argsort(level := np.concatenate([sample.level1, sample.level0]))
    equal = np.asarray(np.flatnonzero(np.diff(level[order]) <= tolerance))
    rows = np.asarray(order[np.union1d(equal, equal + 1)])
    code = np.cumsum(np.diff(np.asarray(level[rows]), prepend=-np.inf) > tolerance) - 1
    positive = rows < score1.size
    counts1, counts0 = np.bincount(code, positive), np.bincount(code, ~positive)
    counted = _ordered_within(np.asarray(np.concatenate([score1, score0])[rows]), code, positive)
    return float((0.5 * (counts1 @ counts0) - counted) / (score1.size * score0.size))


def _ordered_within(scores: Floats, code: Ints, positive: Bools) -> float:
    """Number of pairs of the same code in which the positive row has the higher score."""
    by_score: Any = np.lexsort((scores, code))
    code, positive = code[by_score], positive[by_score]
    negatives = np.cumsum(~positive)
    before = np.concatenate([[0], negatives])[np.searchsorted(code, code)]
    return float(((negatives - before) * positive).sum())


# ---- Which rows represent all if there are too many pairs: a random sample of each class, and indispensable rows.

SEED = 20240229  # fixed: the same data give the same answer
# Rows per class: sampling adds an error of 2 P^(1/4) / rows times the standard error of the AUC.
LEAST, MOST = 300, 500
SHUFFLED = 200_000  # rows of a class
FOR_NOISE = 150  # of these, how many are used for the share of training noise
# A row is influential above this multiple of the mean weight and this share of the total; the last caps their number.
MANY_TIMES, SHARE, STRONGEST = 8.0, 0.01, 60


def rows_per_class(n_rows: int, n_columns: int) -> int:
    """Size of the random sample of a class."""
    return int(np.clip(100 * min(n_rows, n_columns) ** 0.25, LEAST, MOST))


def random_rows(positive: Bools, most: int) -> Ints:
    """At most `most` rows of each class, in increasing order."""
    rng = np.random.default_rng(SEED)
    classes = (np.flatnonzero(positive), np.flatnonzero(~positive))
    return np.asarray(np.sort(np.concatenate([c if c.size <= most else c[_drawn(rng, c.size, most)] for c in classes])))


def _drawn(rng: np.random.Generator, n: int, most: int) -> Ints:
    """Some of n rows; to shuffle a million takes longer than all that follows."""
    return rng.permutation(n)[:most] if n <= SHUFFLED else rng.choice(n, most, replace=False)


def influential(exposure: Floats, impact: Floats) -> Ints:
    """Rows with far more weight than others, either in exposure to other rows or in impact on them."""
    tiny = np.finfo(float).tiny
    weight = np.maximum(exposure / max(exposure.mean(), tiny), impact / max(impact.mean(), tiny))
    strong = np.flatnonzero(weight > max(MANY_TIMES, SHARE * weight.size))
    return strong[np.argsort(-weight[strong])][:STRONGEST]


def in_doubt(scores: Floats, positive: Bools, most: int) -> Ints:
    """The `most` lowest positive and highest negative rows if these contain all misordered pairs, else none."""
    rows1, rows0 = np.flatnonzero(positive), np.flatnonzero(~positive)
    low, high = scores[rows1], scores[rows0]
    if max(np.count_nonzero(low < high.max()), np.count_nonzero(high > low.min())) > most:
        return np.empty(0, dtype=np.intp)
    return np.concatenate([rows1[np.argsort(low)[:most]], rows0[np.argsort(-high)[:most]]])


@dataclass(frozen=True, eq=False)
class Members:
    """Sampled rows of one class, the share of the class that each stands for, and the size of the class."""

    rows: Ints
    share: Floats
    count: int


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows in increasing order, which of them are positive, which were certain to be taken, and the class sizes."""

    rows: Ints
    positive: Bools
    certain: Bools
    counts: tuple[int, int]

    @classmethod
    def of(cls, positive: Bools, random: Ints, certain: Ints) -> Sample:
        """Random rows, together with those that are certain."""
        rows = random if random is certain else np.union1d(random, certain)
        n1 = int(np.count_nonzero(positive))
        sure = np.ones(rows.size, dtype=np.bool_) if random is certain else np.isin(rows, certain)
        return cls(rows, np.asarray(positive[rows]), sure, (n1, positive.size - n1))

    def thinned(self, most: int) -> Sample:
        """The sample itself if complete; otherwise the certain rows and at most `most` others of each class."""
        if self.complete:
            return self
        kept = self.certain.copy()
        for mine in (self.positive, ~self.positive):
            drawn = np.flatnonzero(mine & ~self.certain)
            kept[np.random.default_rng(SEED).permutation(drawn)[:most]] = True
        return Sample(self.rows[kept], self.positive[kept], self.certain[kept], self.counts)

    @property
    def complete(self) -> bool:
        """Whether the sample contains all rows."""
        return self.rows.size == sum(self.counts)

    @cached_property
    def members(self) -> tuple[Members, Members]:
        """The positive and the negative rows, numbered within the sample."""
        return self._members(self.positive, self.counts[0]), self._members(~self.positive, self.counts[1])

    def _members(self, mine: Bools, count: int) -> Members:
        """A certain row represents itself; the drawn rows represent all that remain."""
        rows = np.flatnonzero(mine)
        certain = self.certain[rows]
        share, drawn = np.full(rows.size, 1.0 / count), np.count_nonzero(~certain)
        if drawn:
            share[~certain] = (count - np.count_nonzero(certain)) / (drawn * count)
        return Members(rows, share, count)

    def places(self, positive: Bools) -> tuple[Ints, Ints]:
        """Positions of the sampled rows among the rows of their class."""
        first, second = (self.rows[each.rows] for each in self.members)
        return np.cumsum(positive)[first] - 1, np.cumsum(~positive)[second] - 1

    def ratios(self, positive: Bools, exposure: Floats, impact: Floats) -> Floats:
        """(2, 2): ratios of sums over all pairs (i of class k, j of class l) to their estimates from the sample.

        The sums are of exposure x impact, which tracks the squared influence and is known for all rows.
        """
        if self.complete:
            return np.ones((2, 2))
        classes = [(exposure[mine], impact[mine]) for mine in (positive, ~positive)]
        whole = _sums_over_pairs(classes, [np.ones_like(e, dtype=np.float64) for e, _ in classes])
        drawn = [self.rows[m.rows] for m in self.members]
        counted = [m.count * m.share for m in self.members]
        sampled = _sums_over_pairs([(exposure[rows], impact[rows]) for rows in drawn], counted)
        return np.divide(whole, sampled, out=np.ones((2, 2)), where=sampled > 0)


def _sums_over_pairs(classes: list[tuple[Floats, Floats]], weights: list[Floats]) -> Floats:
    """(2, 2): sum of weight_i weight_j exposure_i impact_j over different i in class k and j in class l."""
    sums = [(w @ e, w @ a, (w * e) @ (w * a)) for (e, a), w in zip(classes, weights, strict=True)]
    exposed, acting, own = np.array(sums).T
    return np.outer(exposed, acting) - np.diag(own)
