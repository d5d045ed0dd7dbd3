"""From honest scores to one statistic: the share of ordered pairs, and how many comparisons it is worth.

Only the order of the scores enters. With v_i the placement of row i, the share of its pairs that are in the right
order, the AUC is the mean of the placements and its likelihood that of a proportion in m independent comparisons:

    log L(A) = -(df + 1)/2 log(1 + D/df),    D = 2 m [A_r log(A_r/A) + (1 - A_r) log((1 - A_r)/(1 - A))]
    1/m      = sum over classes of k/n, less what is counted twice,    k = Var(v) / (A (1 - A))

k is the clumpiness of a class: 1/3 at chance, near 0 for well separated normal classes, 1 if errors are whole rows at
the wrong end. It shows only in rows that take part in misordered pairs, K = (sum e)^2 / sum e^2 of them with e = 1 - v.
A guess, worth `GUESS_ROWS` further rows, supplies the rest: the value of normal classes (for held-out scores with the
spreads that their ranks show), moved some way towards that at chance, since real scores have heavier tails. If all
pairs are in order nothing shows, and L ~ A^m with m as guessed.

Training noise: with rho its share of the variance of the scores and r = 1 + rho, 1/m grows by r (1 + rho r sum 1/n).
The factor r: every pair of rows enters the leave-one-out statistic twice (each tests the model that the other helped
to train), which doubles the variance of the noise part. The rest was measured where the truth is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri, owens_t, xlogy

from foldless.checks import Bools, Floats, Ints
from foldless.honest.normal_scale import UNSEEN, NormalScale, smoothed_auc
from foldless.honest.pairs import Effects, Pairs, variance
from foldless.honest.rows import Removed
from foldless.laws.effect import SQRT2

GUESS_ROWS = 10.0  # what the guess of the clumpiness is worth, in rows that show errors
HEAVY = 0.25  # how far the guess lies from the value of normal classes towards that at chance
LEAST_REST = 0.1
EQUAL = (0.5,)  # spreads of classes about which nothing is known
# Beyond this the statistic no longer tells how far apart the classes are.
MIN_TAIL = 1e-7


@dataclass(frozen=True)
class SeparationStatistic:
    """How well the scores order the rows, and how much that is worth."""

    auc: float  # its estimate
    trials: float  # m, the number of independent comparisons that it is worth
    df: float  # degrees of freedom of that number
    noise_share: float  # rho, the part of the variance that stems from the training set, 0 for held-out scores
    units0: int  # independent units (rows, or groups) of each class
    units1: int
    pair_auc: float  # share of correctly ordered pairs, from which `auc` may differ for fits to a part of the rows

    @property
    def estimate(self) -> float:
        """The AUC as a separation: AUC = Phi(delta / sqrt 2)."""
        return float(SQRT2 * ndtri(_off_the_ends(self.auc, MIN_TAIL)))

    @property
    def error(self) -> float:
        """Standard error of the AUC; what one unseen error would make it if all pairs are in order."""
        a = _off_the_ends(self.auc, UNSEEN / (self.trials + 1))
        return float(np.sqrt(a * (1 - a) / self.trials))

    @property
    def separation_error(self) -> float:
        """Standard error of the separation."""
        return self.error / separation_slope(_off_the_ends(self.auc, UNSEEN / (self.trials + 1)))

    def deviance(self, delta: Floats) -> Floats:
        """D at separations delta."""
        a, x = self.auc, np.asarray(delta) / SQRT2
        own, tail = xlogy(a, a) + xlogy(1 - a, 1 - a), log_ndtr(-np.abs(x))
        rest, above = np.log1p(-np.exp(tail)), x > 0
        deviance = 2 * self.trials * (own - np.where(above, a, 1 - a) * rest - np.where(above, 1 - a, a) * tail)
        return np.asarray(np.maximum(deviance, 0.0))

    def distance(self, delta: Floats) -> Floats:
        """Signed root of the deviance: how far the estimate lies above delta, in standard errors."""
        above = np.asarray(delta) / SQRT2 <= ndtri(self.auc)
        return np.asarray(np.where(above, 1.0, -1.0) * np.sqrt(self.deviance(delta)))


def _off_the_ends(auc: float, least: float) -> float:
    return min(max(auc, least), 1 - least)


def separation_slope(auc: float) -> float:
    """d AUC / d delta."""
    return float(np.exp(-0.5 * ndtri(auc) ** 2) / (SQRT2 * np.sqrt(2 * np.pi)))


@dataclass(frozen=True, eq=False)
class Rows:
    """How many rows there are of each class, what each class counts, and the share of training noise.

    `scarcity` is sum w^2/n over the independent units of each class: rows, or groups.
    """

    sizes: Ints
    weights: Floats
    scarcity: float
    noise_share: float
    alike: float = 1.0
    spreads: tuple[float, ...] = EQUAL

    def trials(self, auc: float, seen: Floats, shows: Floats) -> tuple[float, float]:
        """m and its degrees of freedom, from the clumpiness of each class seen in `shows` rows."""
        r = 1 + self.noise_share
        guess = self.alike * guessed_clumpiness(auc, 2 / self.scarcity / r, np.array(self.spreads))
        clumps = (shows * seen + GUESS_ROWS * self.with_few_others(guess)) / (shows + GUESS_ROWS)
        parts = self.weights**2 * clumps / self.sizes
        df = parts.sum() ** 2 / np.sum(parts**2 / (GUESS_ROWS - 1 + shows / r))
        # What both rows of a pair have in common stands in the placements of either class: it is counted once.
        rest = min(max((1 - 2 * clumps.mean()) / max(1 - 2 * np.mean(1 / self.sizes), LEAST_REST), 0.0), 1.0)
        inverse = max(parts.sum() - rest * self._per_pair, 0.5 * parts.sum())
        return float(1 / (inverse * r * (1 + self.noise_share * r * self.scarcity))), float(df)

    def with_few_others(self, clumpiness: Floats | float) -> Floats:
        """The clumpiness that shows: placements among few rows of other classes vary more than among many."""
        return np.asarray(clumpiness + (1 - 2 * clumpiness) / (self.sizes.sum() - self.sizes))

    @property
    def _per_pair(self) -> float:
        """Variance of the AUC if every pair of rows were a comparison of its own."""
        pairs, inverse = self.sizes.size * (self.sizes.size - 1) / 2, 1 / self.sizes
        return float((inverse.sum() ** 2 - np.sum(inverse**2)) / 2 / pairs**2)


@dataclass(frozen=True, eq=False)
class Placements:
    """Placements of the rows of each class, and what each class counts in the error of the AUC.

    With two classes both count 1. The average AUC of K classes moves by 2/K of what the mean placement of one class
    does. `groups` holds the group of each row, class by class, if rows are dependent. `alike` is the share of the
    variance of single placements that is left in these, which are means over several AUCs; 1 for one AUC. `spreads`
    holds the part of each class in the variance of the difference between two scores, if it is known; equal if not.
    """

    by_class: tuple[Floats, ...]
    weights: tuple[float, ...]
    groups: tuple[Ints, ...] | None = None
    alike: float = 1.0
    spreads: tuple[float, ...] = EQUAL

    @classmethod
    def of(
        cls, ranks: Effects, groups: tuple[Ints, Ints] | None = None, spreads: tuple[float, ...] = EQUAL
    ) -> Placements:
        """Of two classes, the positive one first."""
        return cls((ranks.by_row1, ranks.by_row0), (1.0, 1.0), groups, spreads=spreads)

    @property
    def units(self) -> tuple[int, ...]:
        """Independent units per class: rows, or groups."""
        if self.groups is None:
            return tuple(v.size for v in self.by_class)
        return tuple(len(np.unique(codes)) for codes in self.groups)

    @property
    def scarcity(self) -> float:
        """sum w^2/n, the variance of the AUC if every unit were one comparison."""
        return float(sum(w**2 / n for w, n in zip(self.weights, self.units, strict=True)))

    def trials(self, auc: float, noise_share: float) -> tuple[float, float]:
        """m and its degrees of freedom."""
        shows = np.array([_informative(v, auc) for v in self.by_class])
        own = auc * (1 - auc)
        seen = np.array([variance(v) / own if own > 0 else 0.0 for v in self.by_class])
        sizes = np.array([v.size for v in self.by_class])
        rows = Rows(sizes, np.array(self.weights), self.scarcity, noise_share, self.alike, self.spreads)
        trials, df = rows.trials(auc, seen, shows)
        if self.groups is None:
            return trials, df
        together = max(len(np.unique(np.concatenate(self.groups))) - sizes.size, 1)
        return trials / self._dependence(float(shows.sum())), float(min(df, together))

    def _dependence(self, shows: float) -> float:
        """Factor by which groups increase the variance: as seen, and as one more row in full agreement would."""
        assert self.groups is not None
        weighted = list(zip(self.by_class, self.weights, strict=True))
        effects = np.concatenate([w * (v - v.mean()) / v.size for v, w in weighted])
        alone = sum(w**2 * v.var(ddof=1) / v.size for v, w in weighted)
        seen = clustered_square(effects, np.concatenate(self.groups)) / alone if alone > 0 else 0.0
        return float((shows * seen + self.scarcity / sum(w**2 / v.size for v, w in weighted)) / (shows + 1))


def statistic_of_placements(placements: Placements, auc: float, noise_share: float) -> SeparationStatistic:
    """The statistic, given the share of training noise."""
    trials, df = placements.trials(auc, noise_share)
    units = placements.units
    side = (units[0], units[1]) if len(units) == 2 else 2 * (max(2, round(2 / placements.scarcity)),)
    return SeparationStatistic(auc, trials, df, noise_share, side[1], side[0], auc)


def _informative(v: Floats, auc: float) -> float:
    """K: the number of rows that take part in misordered pairs, each as far as it does."""
    errors = 1 - v if auc >= 0.5 else v
    squares = float(errors @ errors)
    return float(errors.sum()) ** 2 / squares if squares > 0 else 0.0


def guessed_clumpiness(auc: float, rows: float, spreads: Floats) -> Floats:
    """The clumpiness expected of a class if `rows` rows of each show this AUC."""
    return np.asarray((1 - HEAVY) * normal_clumpiness((auc * rows + UNSEEN) / (rows + 2 * UNSEEN), spreads) + HEAVY / 3)


def normal_clumpiness(auc: float, spread: Any = 0.5) -> Any:
    """Var(v) / (A (1 - A)) of a normal class with this part in the variance of the difference to the other one."""
    return 1 - 2 * owens_t(ndtri(auc), np.sqrt((1 - spread) / (1 + spread))) / (auc * (1 - auc))


def statistic_of_removed(removed: Removed) -> SeparationStatistic:
    """The statistic of honest scores, clustered if they came with groups."""
    pairs, codes = removed.pairs, removed.groups
    if codes is None:
        return statistic_of_pairs(pairs, removed.influence_sq)
    groups = codes[removed.rows1], codes[removed.rows0]
    effects = [(margin - margin.mean()) / margin.size for margin in pairs.margins]
    variance = clustered_square(np.concatenate(effects), np.concatenate(groups))
    share = _share(removed.cluster_influence_sq, variance)
    return statistic_of_placements(Placements.of(pairs.ranks(), groups), pairs.ranks().mean, share)


def statistic_of_pairs(pairs: Pairs, influence_sq: float) -> SeparationStatistic:
    """The same for independent rows, from their pairs and `Removed.influence_sq`."""
    ranks = pairs.ranks()
    return statistic_of_placements(Placements.of(ranks), ranks.mean, noise_share_of(pairs, influence_sq))


def noise_share_of(pairs: Pairs, influence_sq: float) -> float:
    """Share of training noise in the variance of the scores of independent rows."""
    squares = sum(float(np.sum((margin - margin.sum() / margin.size) ** 2)) for margin in pairs.margins)
    return _share(influence_sq, squares / max(sum(margin.size for margin in pairs.margins) - 2, 1))


def statistic_of_scores(scores: Floats, positive: Bools, groups: Ints | None = None) -> SeparationStatistic:
    """The statistic of held-out scores: no training noise, beside which the gain from smoothing would be lost."""
    ranks = Pairs(scores[positive], scores[~positive]).ranks()
    codes = None if groups is None else (groups[positive], groups[~positive])
    scale = NormalScale.of(scores[~positive], scores[positive])
    placements = Placements.of(ranks, codes, scale.spreads)
    return replace(statistic_of_placements(placements, smoothed_auc(scale, ranks), 0.0), pair_auc=ranks.mean)


def clustered_square(effects: Floats, groups: Ints) -> float:
    """Variance of a sum of effects that are independent between groups only."""
    codes, where = np.unique(groups, return_inverse=True)
    sums = np.bincount(where, weights=effects, minlength=codes.size)
    return float(np.sum(sums**2) * codes.size / max(codes.size - 1, 1))


def _share(part: float, total: float) -> float:
    return float(min(part / total, 1.0)) if total > 0 else 0.0
