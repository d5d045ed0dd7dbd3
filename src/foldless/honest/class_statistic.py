"""From honest scores of several classes to one statistic: the average of AUCs that share rows.

Each AUC evaluates one score on two sets of rows: score a on classes a and b, or on class a and the rest. Each has the
statistic of `foldless.honest.statistic`, an estimated separation d_c. The average of C AUCs is put on that scale,

    A = mean Phi(d_c / sqrt 2),   d = sqrt2 Phi^-1(A),   dd/dd_c = w_c = phi(d_c/sqrt 2) / (C phi(d/sqrt 2)),

and its variance comes from the contribution of each row to all of them. With r_c(i) the mean difference between row i
and the other set, v_c the variance of the scores and n_c(i) the size of the set that contains i,

    h_i = sum_c w_c (r_c(i) - mean) / (n_c(i) sqrt v_c),   V = (1 + 4 r/n) r sum_i h_i^2 + scale part,   r = 1 + rho.

rho is the share of training noise: the influences of row j on the honest scores of row i are combined in the same way,
squared, summed over i and j, and divided by the sum of h_i^2. It counts twice for the reason given in
`foldless.honest.statistic`. n is the number of rows that classes of equal size would need for the same precision. The
scale part combines the errors of the spreads v_c in the same way.

With many rows, pairs are evaluated only for a drawn subset. Each AUC is then computed from the leave-one-out scores of
all rows, corrected by the drawn pairs (`foldless.honest.pairs`), and rho from the drawn rows, which represent all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats
from foldless.honest.classes import ClassScores
from foldless.honest.design import Bools, Ints
from foldless.honest.pairs import Pairs, PairSample, pair_differences
from foldless.honest.statistic import (
    MIN_TAIL,
    SeparationStatistic,
    Spread,
    noise_in_mean,
    statistic_of_pairs,
    statistic_of_scores,
)

LARGEST = float(-np.sqrt(2) * ndtri(MIN_TAIL))  # beyond this, scores no longer tell how far apart the classes are
MAX_RATIO = 2.0
Classes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Component:
    """One AUC: a score on two sets of rows, and what each row contributes to its separation.

    Attributes
    ----------
    score : int
        The class whose score it is.
    statistic : SeparationStatistic
    pull : ndarray of shape (N,)
        Change in the separation per unit of a row's honest score: 1/(n sqrt v) in the first set, the negative of
        that in the second, 0 elsewhere.
    mean_share, scale_share : ndarrays of shape (N,)
        Contributions to the mean difference and to the spread; the latter for a separation of 1.
    auc : float
        Share of correctly ordered pairs.
    """

    score: int
    statistic: SeparationStatistic
    pull: Floats
    mean_share: Floats
    scale_share: Floats
    auc: float

    @property
    def separation(self) -> float:
        return float(np.clip(self.statistic.estimate, -LARGEST, LARGEST))


class EvaluatedRows(Protocol):
    """Where components come from: honest scores of training rows, or held-out scores."""

    @property
    def codes(self) -> Ints:
        """Class of each row."""
        ...

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        """The AUC with which one score ranks the rows of some classes above those of others."""
        ...

    def noise(self, pull: Floats) -> float:
        """Sum of squared influences of the rows on each other's scores, weighted by `pull` of shape (K, N)."""
        ...


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Honest scores as a source."""

    honest: ClassScores
    _known_influence: dict[tuple[int, Classes], float] = field(default_factory=dict)
    _known_members: dict[Classes, tuple[Ints, Ints]] = field(default_factory=dict)

    @property
    def codes(self) -> Ints:
        return self.honest.codes

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        (rows1, places1), (rows0, places0) = self._members(first), self._members(second)
        pairs = self._pairs(score, rows1, rows0, places1, places0)
        n1, n0 = rows1.size, rows0.size
        influence = (n1 * self._influence(score, first) + n0 * self._influence(score, second)) / (n1 + n0)
        statistic = statistic_of_pairs(pairs, influence)
        return _component(score, statistic, Spread(*pairs.margins), rows1, rows0, self.codes.size, statistic.pair_auc)

    def noise(self, pull: Floats) -> float:
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
        without = tensor.without[score]
        diff = pair_differences(without[np.ix_(places1, places0)], without[np.ix_(places0, places1)].T)
        if drawn.rows.size == self.codes.size:
            return Pairs.of_differences(diff)
        share1, share0 = (drawn.weight[p] / drawn.weight[p].sum() for p in (places1, places0))
        alone, level = tensor.alone[score], tensor.level[score]
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
class HeldOutRows:
    """Scores (N, K) of rows that no fit has seen, as a source: no training noise."""

    scores: Floats
    codes: Ints

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        rows1, rows0 = _members(self.codes, first), _members(self.codes, second)
        z1, z0 = self.scores[rows1, score], self.scores[rows0, score]
        positive = np.arange(rows1.size + rows0.size) < rows1.size
        z = np.concatenate([z1, z0])
        spread = Spread(z1 - z0.mean(), z1.mean() - z0)
        statistic = statistic_of_scores(z, positive)
        return _component(score, statistic, spread, rows1, rows0, self.codes.size, rank_auc(z, positive))

    def noise(self, pull: Floats) -> float:
        return 0.0


def average(source: EvaluatedRows, components: Sequence[Component]) -> SeparationStatistic:
    """The statistic of the mean of some AUCs."""
    if len(components) == 1:
        return components[0].statistic
    d = np.array([c.separation for c in components])
    auc = float(np.clip(np.mean(ndtr(d / np.sqrt(2))), MIN_TAIL, 1 - MIN_TAIL))
    estimate = float(np.sqrt(2) * ndtri(auc))
    weights = np.exp((estimate**2 - d**2) / 4) / d.size
    variance, noise_share = _mean_variance(source, components, weights)
    # The error of a spread counts in proportion to the separation; near chance, separations themselves are noise.
    part = weights * np.clip(d / estimate if estimate != 0 else 1.0, 0.0, MAX_RATIO)
    scale = np.sum([w * c.scale_share for w, c in zip(part, components, strict=True)], axis=0)
    rows = np.any([c.pull != 0 for c in components], axis=0)
    counts = np.unique(source.codes[rows], return_counts=True)[1] if rows.any() else np.bincount(source.codes)
    # Rows per side of an equivalent two-class problem, from the harmonic mean: small classes dominate it.
    side = max(2, round(counts.size**2 / np.sum(1.0 / counts) / 2))
    return SeparationStatistic(
        estimate=estimate,
        mean_variance=noise_in_mean(noise_share, side, side) * variance,
        scale_variance=float(scale @ scale),
        noise_share=noise_share,
        units0=side,
        units1=side,
        df=float(max(2 * side - counts.size, 1)),
        pair_auc=float(np.mean([c.auc for c in components])),
    )


def _mean_variance(source: EvaluatedRows, components: Sequence[Component], weights: Floats) -> tuple[float, float]:
    """sum_i h_i^2, and the share of training noise in it."""
    codes = source.codes
    h = np.sum([w * c.mean_share for w, c in zip(weights, components, strict=True)], axis=0)
    n = np.bincount(codes)[codes]
    variance = float(np.sum(h**2 * n / (n - 1)))
    if variance <= 0:
        # Scores that do not vary within the classes: only their order is known.
        return float(np.mean([c.statistic.mean_variance for c in components])), 0.0
    pull = np.zeros((1 + max(c.score for c in components), codes.size))
    for w, c in zip(weights, components, strict=True):
        pull[c.score] += w * c.pull
    return variance, min(source.noise(pull) / variance, 1.0)


def _component(
    score: int, statistic: SeparationStatistic, spread: Spread, rows1: Ints, rows0: Ints, m: int, auc: float
) -> Component:
    pull, mean_share, scale_share = np.zeros(m), np.zeros(m), np.zeros(m)
    if np.isfinite(statistic.estimate) and spread.v > 0:
        sd = np.sqrt(spread.v)
        for rows, error, sign in zip((rows1, rows0), spread.deviations(), (1.0, -1.0), strict=True):
            away = error * rows.size / sd
            pull[rows] = sign / (rows.size * sd)
            mean_share[rows] = away / rows.size
            scale_share[rows] = (away**2 - np.mean(away**2)) / rows.size
        length = float(np.linalg.norm(scale_share))
        scale_share *= np.sqrt(statistic.scale_variance) / (length if length > 0 else 1.0)
    return Component(score, statistic, pull, mean_share, scale_share, auc)


def rank_auc(scores: Floats, positive: Bools) -> float:
    """Share of correctly ordered pairs, ties counting half."""
    z1, z0 = scores[positive], np.sort(scores[~positive])
    below = np.searchsorted(z0, z1, side="left") + np.searchsorted(z0, z1, side="right")
    return float(below.sum() / (2 * z1.size * z0.size))


def _members(codes: Ints, classes: Classes) -> Ints:
    return np.flatnonzero(np.isin(codes, classes))


@dataclass(frozen=True, eq=False)
class RememberedRows(TrainingRows):
    """Honest scores as a source that computes each AUC only once, since several averages share AUCs."""

    _known: dict[tuple[int, Classes, Classes], Component] = field(default_factory=dict)

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        key = (score, first, second)
        if key not in self._known:
            self._known[key] = super().component(score, first, second)
        return self._known[key]
