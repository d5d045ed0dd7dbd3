"""Which rows stand for all where there are too many pairs: a random sample of each class, and rows it may not lack."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldless.checks import Floats
from foldless.honest.design import Bools, Ints

SEED = 20240229  # fixed: the same data give the same answer
# Rows of each class: what the sample adds to the error of the AUC is 2 P^(1/4) / rows of its standard error.
LEAST, MOST = 300, 500
FOR_NOISE = 150  # of them, for the share of training noise
# A row is influential if it weighs so many times the mean, and this share of the whole; so many of them are kept.
MANY_TIMES, SHARE, STRONGEST = 8.0, 0.01, 60


def rows_per_class(n_rows: int, n_columns: int) -> int:
    """Size of the random sample of a class."""
    return int(np.clip(100 * min(n_rows, n_columns) ** 0.25, LEAST, MOST))


def random_rows(positive: Bools, most: int) -> Ints:
    """At most so many rows of each class, in increasing order."""
    rng = np.random.default_rng(SEED)
    classes = (np.flatnonzero(positive), np.flatnonzero(~positive))
    return np.sort(np.concatenate([c if c.size <= most else rng.permutation(c)[:most] for c in classes]))


def influential(exposure: Floats, impact: Floats) -> Ints:
    """Rows that weigh far more than others, as the one that suffers or as the one that acts."""
    tiny = np.finfo(float).tiny
    weight = np.maximum(exposure / max(exposure.mean(), tiny), impact / max(impact.mean(), tiny))
    strong = np.flatnonzero(weight > max(MANY_TIMES, SHARE * weight.size))
    return strong[np.argsort(-weight[strong])][:STRONGEST]


def in_doubt(scores: Floats, positive: Bools, most: int) -> Ints:
    """The `most` lowest positive and highest negative rows, where these hold all pairs that are out of order."""
    rows1, rows0 = np.flatnonzero(positive), np.flatnonzero(~positive)
    low, high = scores[rows1], scores[rows0]
    if max(np.count_nonzero(low < high.max()), np.count_nonzero(high > low.min())) > most:
        return np.empty(0, dtype=np.intp)
    most1, most0 = min(most, rows1.size), min(most, rows0.size)
    return np.concatenate([rows1[np.argsort(low)[:most1]], rows0[np.argsort(-high)[:most0]]])


@dataclass(frozen=True, eq=False)
class Members:
    """Sampled rows of one class, the share of the class that each stands for, and the size of the class."""

    rows: Ints
    share: Floats
    count: int


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows in increasing order, which of them are positive, and which were sure to be taken; of so many per class."""

    rows: Ints
    positive: Bools
    certain: Bools
    counts: tuple[int, int]

    @classmethod
    def of(cls, positive: Bools, random: Ints, certain: Ints) -> Sample:
        """Random rows, joined by those that are certain."""
        rows = np.union1d(random, certain)
        n1 = int(np.count_nonzero(positive))
        return cls(rows, positive[rows], np.isin(rows, certain), (n1, positive.size - n1))

    def thinned(self, most: int) -> Sample:
        """All rows where they are complete; else those that are certain, and at most so many others of each class."""
        if self.complete:
            return self
        kept = self.certain.copy()
        for mine in (self.positive, ~self.positive):
            drawn = np.flatnonzero(mine & ~self.certain)
            kept[np.random.default_rng(SEED).permutation(drawn)[:most]] = True
        return Sample(self.rows[kept], self.positive[kept], self.certain[kept], self.counts)

    @property
    def complete(self) -> bool:
        """Whether these are all rows."""
        return self.rows.size == sum(self.counts)

    @cached_property
    def members(self) -> tuple[Members, Members]:
        """The positive and the negative rows, numbered within the sample."""
        return self._members(self.positive, self.counts[0]), self._members(~self.positive, self.counts[1])

    def _members(self, mine: Bools, count: int) -> Members:
        """A certain row stands for itself, the others for all that remain."""
        rows = np.flatnonzero(mine)
        certain = self.certain[rows]
        share, drawn = np.full(rows.size, 1.0 / count), np.count_nonzero(~certain)
        if drawn:
            share[~certain] = (count - np.count_nonzero(certain)) / (drawn * count)
        return Members(rows, share, count)

    def places(self, positive: Bools) -> tuple[Ints, Ints]:
        """Where the sampled rows stand among the rows of their class."""
        first, second = self.members
        return (
            np.cumsum(positive)[self.rows[first.rows]] - 1,
            np.cumsum(~positive)[self.rows[second.rows]] - 1,
        )

    def ratios(self, positive: Bools, exposure: Floats, impact: Floats) -> Floats:
        """(2, 2): what sums over pairs (i of class k, j of class l) are to their estimates from the sample.

        Products of exposure and impact go with squared influences, and are known for all rows.
        """
        if self.complete:
            return np.ones((2, 2))
        every = [np.ones(np.count_nonzero(mine)) for mine in (positive, ~positive)]
        whole = _sums_over_pairs([(exposure[mine], impact[mine]) for mine in (positive, ~positive)], every)
        drawn = [self.rows[m.rows] for m in self.members]
        counted = [m.count * m.share for m in self.members]
        sampled = _sums_over_pairs([(exposure[rows], impact[rows]) for rows in drawn], counted)
        return np.divide(whole, sampled, out=np.ones((2, 2)), where=sampled > 0)


def _sums_over_pairs(classes: list[tuple[Floats, Floats]], weights: list[Floats]) -> Floats:
    """(2, 2): sum of weight_i weight_j exposure_i impact_j over different i in class k and j in class l."""
    exposed, acting, own = np.array(
        [(w @ e, w @ a, (w * e) @ (w * a)) for (e, a), w in zip(classes, weights, strict=True)]
    ).T
    return np.outer(exposed, acting) - np.diag(own)
