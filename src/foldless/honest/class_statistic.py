"""From honest scores of several classes to one statistic: the average of AUCs that share rows.

Each AUC evaluates one score on two sets of rows: score a on classes a and b, or on class a and the rest. In the average
of C of them a row counts with all of its pairs: with v_c(i) its placement in AUC c and n_c(i) the size of the set that
contains it, the average moves by sum_c (v_c(i) - A_c) / (C n_c(i)). The mean of the v_c(i) with these weights is the
placement of the row among all classes, and `foldless.honest.statistic` makes of these what it makes of two classes.

rho is the share of training noise. With d_c(i) the mean difference between the score of row i and the other set, v_c
the variance of the scores and w_c the slope of AUC c in the separation, the row contributes

    h_i = sum_c w_c (d_c(i) - mean) / (n_c(i) sqrt v_c)

on the scale of the scores. The influences of row j on the honest scores of row i are combined in the same way, squared,
summed over i and j, and divided by the sum of h_i^2.

With many rows, pairs are evaluated only for a drawn subset. Each AUC is then computed from the leave-one-out scores of
all rows, corrected by the drawn pairs (`foldless.honest.pairs`), and rho from the drawn rows, which represent all rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from foldless.checks import Floats, Ints
from foldless.errors import InputError
from foldless.honest.classes import KEPT_APART, ClassScores
from foldless.honest.held_out import Agreeing, HeldOut, ModelPairs, settled
from foldless.honest.pairs import Pairs, PairSample, pair_differences
from foldless.honest.statistic import (
    MIN_TAIL,
    Placements,
    SeparationStatistic,
    separation_slope,
    statistic_of_pairs,
    statistic_of_placements,
)

Classes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Component:
    """One AUC: the pairs that one score makes of two sets of rows."""

    score: int  # the class whose score it is
    rows: tuple[Ints, Ints]  # of the first set, to be ranked above those of the second
    pairs: Pairs | ModelPairs
    statistic: SeparationStatistic
    by_repeat: Floats | None = None  # the AUC of each repeat, of refits

    @property
    def auc(self) -> float:
        """Share of correctly ordered pairs."""
        return self.statistic.pair_auc

    @property
    def slope(self) -> float:
        """d AUC / d separation."""
        return separation_slope(float(np.clip(self.auc, MIN_TAIL, 1 - MIN_TAIL)))

    def contributions(self, n: int) -> tuple[Floats, Floats]:
        """What a unit of each row's score, and what its own score, adds to the separation of the sets, (n,) each."""
        assert isinstance(self.pairs, Pairs)  # refits have no closed form, and no use for this
        margins = self.pairs.margins
        sd = np.sqrt(sum(float(margin.var(ddof=1)) for margin in margins) / 2)
        pull, own = np.zeros(n), np.zeros(n)
        if sd > 0:
            for rows, margin, sign in zip(self.rows, margins, (1.0, -1.0), strict=True):
                pull[rows] = sign / (rows.size * sd)
                own[rows] = (margin - margin.mean()) / (rows.size * sd)
        return pull, own


class EvaluatedRows(ABC):
    """Where components come from: honest scores of training rows, by removal or by refits, or held-out scores."""

    groups: Ints | None  # of each row, if rows are dependent
    codes: Ints  # class of each row

    @abstractmethod
    def component(self, score: int, first: Classes, second: Classes) -> Component:
        """The AUC with which one score ranks the rows of some classes above those of others."""

    @abstractmethod
    def noise_share(self, components: Sequence[Component]) -> float:
        """rho of the average of some AUCs."""

    def settled(self, statistic: SeparationStatistic, components: Sequence[Component]) -> SeparationStatistic:
        """The statistic of an average, with what only the source knows."""
        return statistic


class _EachOnce(EvaluatedRows):
    """Honest scores as a source; each AUC is computed only once, since several averages share AUCs."""

    honest: ClassScores
    _known: dict[tuple[int, Classes, Classes], Component]

    @property
    def codes(self) -> Ints:  # type: ignore[override]  # nobody writes it
        return self.honest.codes

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        key = (score, first, second)
        if key not in self._known:
            self._known[key] = self._component(*key)
        return self._known[key]

    @abstractmethod
    def _component(self, score: int, first: Classes, second: Classes) -> Component: ...


@dataclass(frozen=True, eq=False)
class TrainingRows(_EachOnce):
    """Honest scores of rows that were removed, as a source."""

    honest: ClassScores
    _known: dict[tuple[int, Classes, Classes], Component] = field(default_factory=dict)
    _known_influence: dict[tuple[int, Classes], float] = field(default_factory=dict)
    _known_members: dict[Classes, tuple[Ints, Ints]] = field(default_factory=dict)
    groups = None  # rows of groups are refitted

    def _component(self, score: int, first: Classes, second: Classes) -> Component:
        (rows1, places1), (rows0, places0) = self._members(first), self._members(second)
        pairs = self._pairs(score, rows1, rows0, places1, places0)
        n1, n0 = rows1.size, rows0.size
        influence = (n1 * self._influence(score, first) + n0 * self._influence(score, second)) / (n1 + n0)
        return Component(score, (rows1, rows0), pairs, statistic_of_pairs(pairs, influence))

    def noise_share(self, components: Sequence[Component]) -> float:
        """The sum of all influences, over the sum of h_i^2."""
        pull, own = self._pulls(components)
        counts = np.bincount(self.codes)[self.codes]
        variance = float(np.sum(own**2 * counts / (counts - 1)))
        return min(self._noise(pull) / variance, 1.0) if variance > 0 else 0.0

    def influence(self, components: Sequence[Component]) -> Floats:
        """What drawn row j adds to the average by moving the honest scores of drawn row i, about its class mean."""
        rows, codes = self.honest.drawn.rows, self._drawn_codes
        pull = self._pulls(components)[0][:, rows]
        moves = np.sum([p[:, None] * self._moves(s, np.arange(rows.size)) for s, p in enumerate(pull)], axis=0)
        for places in (np.flatnonzero(codes == k) for k in np.unique(codes)):
            moves[places] -= moves[places].mean(axis=0)
        np.fill_diagonal(moves, 0.0)
        return np.asarray(moves)

    def _pulls(self, components: Sequence[Component]) -> tuple[Floats, Floats]:
        """What a unit of each score of each row (K, N), and h_i (N,), add to the average."""
        n = self.codes.size
        pull, own = np.zeros((1 + max(c.score for c in components), n)), np.zeros(n)
        for c in components:
            by_score, by_row = c.contributions(n)
            pull[c.score] += c.slope * by_score
            own += c.slope * by_row
        return pull, own

    def _noise(self, pull: Floats) -> float:
        """Sum of squared influences of the rows on each other's scores, weighted by `pull` of shape (K, N)."""
        total, pull = 0.0, pull[:, self.honest.drawn.rows]
        for k in np.unique(self._drawn_codes[pull.any(axis=0)]):
            places = self._members((int(k),))[1]
            scores = np.flatnonzero(pull[:, places].any(axis=1))
            together = np.sum([pull[s, places, None] * self._moves(int(s), places) for s in scores], axis=0)
            total += float(self.honest.drawn.weight[places].sum()) * self._mean_square(together, places)
        return total

    def _pairs(self, score: int, rows1: Ints, rows0: Ints, places1: Ints, places0: Ints) -> Pairs:
        """All pairs of the two sets if every row was drawn; otherwise the scores of all rows and the drawn pairs."""
        tensor, drawn = self.honest.tensor, self.honest.drawn
        without, level = tensor.without[score], tensor.level[score]
        diff = pair_differences(
            without[np.ix_(places1, places0)],
            without[np.ix_(places0, places1)].T,
            level[drawn.rows[places1]],
            level[drawn.rows[places0]],
        )
        if drawn.rows.size == self.codes.size:
            return Pairs.of_differences(diff)
        share1, share0 = (drawn.weight[p] / drawn.weight[p].sum() for p in (places1, places0))
        alone = tensor.alone[score]
        # Only differences matter: the drawn pairs determine the offset between the two sets.
        apart = alone[drawn.rows[places1], None] - alone[drawn.rows[places0]] - diff
        among1, among0 = np.searchsorted(rows1, drawn.rows[places1]), np.searchsorted(rows0, drawn.rows[places0])
        sample = PairSample(diff, among1, among0, share1, share0, level[rows1], level[rows0])
        return Pairs(alone[rows1], alone[rows0] + share1 @ apart @ share0, sample=sample)

    def _influence(self, score: int, classes: Classes) -> float:
        """Squared influence on a row of these classes, centred per column and summed over all rows; its mean."""
        key = (score, classes)
        if key not in self._known_influence:
            places = self._members(classes)[1]
            self._known_influence[key] = self._mean_square(self._moves(score, places), places)
        return self._known_influence[key]

    def _members(self, classes: Classes) -> tuple[Ints, Ints]:
        """Rows of some classes, and their places among the drawn ones."""
        if classes not in self._known_members:
            self._known_members[classes] = _members(self.codes, classes), _members(self._drawn_codes, classes)
        return self._known_members[classes]

    @cached_property
    def _drawn_codes(self) -> Ints:
        return np.asarray(self.codes[self.honest.drawn.rows])

    def _moves(self, score: int, places: Ints) -> Floats:
        """I_ij: influence of drawn row j on the honest score of drawn row i, for i in `places`."""
        without = self.honest.tensor.without[score]
        return np.asarray(without[places] - without[places, places][:, None])

    def _mean_square(self, moves: Floats, places: Ints) -> float:
        """Mean over i of sum_j moves_ij^2, centred per column, corrected for the bias of centring few rows."""
        drawn = self.honest.drawn
        count = float(drawn.weight[places].sum())
        moves = moves - drawn.weight[places] @ moves / count
        moves[np.arange(places.size), places] = 0.0
        return float(drawn.exposed[places] @ moves**2 @ drawn.acting) / count * places.size / (places.size - 1)


@dataclass(frozen=True, eq=False)
class RefittedRows(_EachOnce, Agreeing):
    """Scores of refits as a source, (K, R, N): rows are compared where one and the same model scored both."""

    honest: ClassScores
    scores: Floats
    fold: Ints  # (R, N): rows with the same number were scored by the same model
    share: float  # of the rows that each model was trained on
    groups: Ints | None = None
    _known: dict[tuple[int, Classes, Classes], Component] = field(default_factory=dict)

    @cached_property
    def deviations(self) -> Floats:
        """The scores about the class means of each repeat, (R, K N)."""
        off = self.scores.copy()
        for rows in (np.flatnonzero(self.codes == k) for k in range(len(off))):
            off[:, :, rows] -= off[:, :, rows].mean(axis=2, keepdims=True)
        return np.asarray(off.transpose(1, 0, 2).reshape(off.shape[1], -1))

    @property
    def idle(self) -> int:
        """How many of the models gave all rows the same scores."""
        return sum(not np.any(np.ptp(self.scores[:, self.fold == k], axis=1)) for k in range(self.fits))

    def _component(self, score: int, first: Classes, second: Classes) -> Component:
        rows = _members(self.codes, first + second)
        positive = np.isin(self.codes[rows], first)
        held = HeldOut(self.scores[score][:, rows], self.fold[:, rows], positive, self.share)
        if not all(part.models for part in held.by_repeat):
            raise InputError(KEPT_APART)
        ranking, groups = held.pairs.ranking(), None if self.groups is None else self.groups[rows]
        at1, at0 = (rows[local] for local in ranking.rows)
        statistic = statistic_of_placements(ranking.placements(groups), held.pairs.auc, self.noise_share(()))
        part = Component(score, (at1, at0), ranking, statistic, np.array([part.auc for part in held.by_repeat]))
        return replace(part, statistic=self.settled(statistic, [part]))

    def noise_share(self, components: Sequence[Component]) -> float:
        return self.noise_factor - 1

    def settled(self, statistic: SeparationStatistic, components: Sequence[Component]) -> SeparationStatistic:
        by_repeat = np.mean([c.by_repeat for c in components if c.by_repeat is not None], axis=0)
        return settled(statistic, by_repeat, self.growth)

    def details(self) -> dict[str, float]:
        """Further figures for the summary of a result."""
        return {"fits": self.fits, "agreement": self.agreement}


@dataclass(frozen=True, eq=False)
class HeldOutRows(EvaluatedRows):
    """Scores (N, K) of rows that no fit has seen, as a source: no training noise."""

    scores: Floats
    codes: Ints
    groups: Ints | None = None

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        rows1, rows0 = _members(self.codes, first), _members(self.codes, second)
        pairs = Pairs(self.scores[rows1, score], self.scores[rows0, score])
        ranks, groups = pairs.ranks(), None if self.groups is None else (self.groups[rows1], self.groups[rows0])
        statistic = statistic_of_placements(Placements.of(ranks, groups), ranks.mean, 0.0)
        return Component(score, (rows1, rows0), pairs, statistic)

    def noise_share(self, components: Sequence[Component]) -> float:
        return 0.0


def pairs_of_classes(source: EvaluatedRows, count: int) -> dict[tuple[int, int], list[Component]]:
    """Two AUCs for each pair: the score of a ranks rows of a above b, and the score of b ranks rows of b above a."""
    return {
        (a, b): [source.component(a, (a,), (b,)), source.component(b, (b,), (a,))]
        for a, b in combinations(range(count), 2)
    }


def each_against_rest(source: EvaluatedRows, count: int) -> list[Component]:
    """One AUC for each class: its score ranks its rows above all others."""
    return [source.component(a, (a,), tuple(k for k in range(count) if k != a)) for a in range(count)]


def averaged(source: EvaluatedRows, count: int, multi_class: str) -> list[Component]:
    """The AUCs whose mean is the average AUC of `count` classes."""
    if multi_class == "ovr":
        return each_against_rest(source, count)
    return [part for parts in pairs_of_classes(source, count).values() for part in parts]


def effects_of_rows(codes: Ints, components: Sequence[Component]) -> Floats:
    """What each row contributes to the mean of some AUCs."""
    effects = np.zeros(codes.size)
    for c in components:
        ranks = c.pairs.ranks()
        for rows, each in zip(c.rows, (ranks.by_row1, ranks.by_row0), strict=True):
            effects[rows] += (each - each.mean()) / (len(components) * rows.size)
    return effects


def average(source: EvaluatedRows, components: Sequence[Component]) -> SeparationStatistic:
    """The statistic of the mean of some AUCs."""
    if len(components) == 1:
        return components[0].statistic
    auc = float(np.mean([c.auc for c in components]))
    placements = _placements(source.codes, components, source.groups)
    return source.settled(statistic_of_placements(placements, auc, source.noise_share(components)), components)


def _placements(codes: Ints, components: Sequence[Component], groups: Ints | None) -> Placements:
    """Placement of every row among all classes, by class; rows that no model ranks have none."""
    weight, total, square = np.zeros((3, codes.size))
    for c in components:
        ranks = c.pairs.ranks()
        for rows, each in zip(c.rows, (ranks.by_row1, ranks.by_row0), strict=True):
            share = 1 / (len(components) * rows.size)
            weight[rows] += share
            total[rows] += share * each
            square[rows] += share * (each - each.mean()) ** 2
    classes = [np.flatnonzero((codes == k) & (weight > 0)) for k in np.unique(codes[weight > 0])]
    by_class = tuple(total[rows] / weight[rows] for rows in classes)
    # A mean over AUCs varies less between rows than each of them: as much as they agree.
    single = float(weight @ square)
    joint = sum(float(np.sum(weight[rows] ** 2) * u.var()) for rows, u in zip(classes, by_class, strict=True))
    alike = min(joint / single, 1.0) if single > 0 else 1.0
    together = None if groups is None else tuple(groups[rows] for rows in classes)
    return Placements(by_class, tuple(float(weight[r].sum()) for r in classes), together, alike)


def _members(codes: Ints, classes: Classes) -> Ints:
    return np.flatnonzero(np.isin(codes, classes))
