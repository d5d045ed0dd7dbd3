"""From honest scores of several classes to one statistic: the average of AUCs, with the rows that they share.

An AUC here is one score on two sets of rows: score a on classes a and b, or on class a and the rest. Each has the
statistic of `foldless.honest.statistic`, an estimated separation d_c. The average of C of them is put on that scale,

    A = mean Phi(d_c / sqrt 2),   d = sqrt2 Phi^-1(A),   dd/dd_c = w_c = phi(d_c/sqrt 2) / (C phi(d/sqrt 2)),

and its variance comes from what every row contributes to all of them. With r_c(i) the mean difference of row i to the
other set, v_c the variance of the scores and n_c(i) the size of the set of i,

    h_i = sum_c w_c (r_c(i) - mean) / (n_c(i) sqrt v_c),   V = (1 + 4 r/n) r sum_i h_i^2 + scale part,   r = 1 + rho.

rho is the share of training noise: the sum over i and j of the squares of the same combination of what row j does to
the honest scores of i, relative to the sum of h_i^2. It counts twice for the reason given in
`foldless.honest.statistic`. n are the rows that classes of equal size would need to know as much. The scale part adds
up the errors of the spreads v_c in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats
from foldless.honest.classes import ClassScores
from foldless.honest.design import Bools, Ints
from foldless.honest.pairs import Pairs, pair_differences
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
    """One AUC: a score on two sets of rows, and what each of the m evaluated rows contributes to its separation.

    Attributes
    ----------
    score : int
        The class whose score it is.
    statistic : SeparationStatistic
    pull : ndarray of shape (m,)
        What a unit of its honest score adds to the separation: 1/(n sqrt v) in the first set, the negative in the
        second, 0 elsewhere.
    mean_share, scale_share : ndarrays of shape (m,)
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
        """Class of each evaluated row."""
        ...

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        """The AUC with which one score ranks the rows of some classes above those of others."""
        ...

    def noise(self, pull: Floats) -> float:
        """Sum of the squares of what the rows do to each other's scores; `pull` of shape (K, m) weighs the scores."""
        ...


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Honest scores as a source."""

    honest: ClassScores
    _known_influence: dict[tuple[int, Classes], float] = field(default_factory=dict)

    @property
    def codes(self) -> Ints:
        return self.honest.codes

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        rows1, rows0 = _members(self.codes, first), _members(self.codes, second)
        without = self.honest.tensor.without[score]
        ones, zeros = without[np.ix_(rows1, rows0)], without[np.ix_(rows0, rows1)].T
        diff = ones - zeros
        n1, n0 = (float(self.honest.counts[list(c)].sum()) for c in (first, second))
        sum1, sum0 = self._influence(score, first), self._influence(score, second)
        influence = (n1 / (rows1.size - 1) * sum1 + n0 / (rows0.size - 1) * sum0) / (n1 + n0)
        statistic = statistic_of_pairs(Pairs.of_differences(pair_differences(ones, zeros)), influence)
        spread = Spread(diff.mean(axis=1), diff.mean(axis=0))
        return _component(score, statistic, spread, rows1, rows0, self.codes.size, statistic.pair_auc)

    def noise(self, pull: Floats) -> float:
        total = 0.0
        for k in np.unique(self.codes[pull.any(axis=0)]):
            rows = np.flatnonzero(self.codes == k)
            scores = np.flatnonzero(pull[:, rows].any(axis=1))
            together = np.sum([pull[s, rows, None] * self._moves(int(s), rows) for s in scores], axis=0)
            total += rows.size / (rows.size - 1) * self._centred_square(together, rows)
        return total

    def _influence(self, score: int, classes: Classes) -> float:
        """Sum of squared influences of all rows on the rows of some classes, centred per column."""
        key = (score, classes)
        if key not in self._known_influence:
            rows = _members(self.codes, classes)
            self._known_influence[key] = self._centred_square(self._moves(score, rows), rows)
        return self._known_influence[key]

    def _moves(self, score: int, rows: Ints) -> Floats:
        """I_ij: what row j does to the honest score of row i, for i in `rows`."""
        return np.asarray(self.honest.tensor.without[score][rows] - self.honest.tensor.alone[score][rows, None])

    def _centred_square(self, moves: Floats, rows: Ints) -> float:
        own = (np.arange(rows.size), rows)
        moves = moves - moves.mean(axis=0)
        moves[own] = 0.0
        share = self.honest.counts / np.bincount(self.codes, minlength=self.honest.counts.size)
        return float(np.einsum("ij,ij->j", moves, moves) @ share[self.codes])


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
    # The error of a spread counts in proportion to the separation; near chance, separations are noise themselves.
    part = weights * np.clip(d / estimate if estimate != 0 else 1.0, 0.0, MAX_RATIO)
    scale = np.sum([w * c.scale_share for w, c in zip(part, components, strict=True)], axis=0)
    rows = np.any([c.pull != 0 for c in components], axis=0)
    counts = np.unique(source.codes[rows], return_counts=True)[1] if rows.any() else np.bincount(source.codes)
    # Rows on either side, were the classes two: few in the smallest class count more than many in the largest.
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
    """Honest scores as a source that works out each AUC once: several questions ask for the same ones."""

    _known: dict[tuple[int, Classes, Classes], Component] = field(default_factory=dict)

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        key = (score, first, second)
        if key not in self._known:
            self._known[key] = super().component(score, first, second)
        return self._known[key]
