"""Scores of all rows by models that were not trained on them, and the statistic that they lead to.

Leaving out one row at a time would not help fits with discrete choices: a part of the score that depends on m training
rows jointly enters the mean of leave-one-out scores m + 1 times, so its variance grows like 1 + m. When a share p of
the rows is used for training, averaging over splits damps such a part by p^m. With s_m the share of score variance in
parts of order m,

    r = sum_m (1 + m) p^m s_m  is the factor on the variance of the mean,    q = sum_m p^m s_m  can be observed:

q is the correlation between repeats of the held-out scores of a row. As q (1 + log q / log p) is concave in the
orders, Jensen's inequality makes it a bound on r, and it never exceeds 1 / (e p log 1/p): 2.06 for p = 4/5. Only
scores from the same model are compared, so neither the intercept nor the scale of a model matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from foldless.checks import Floats
from foldless.honest.design import Bools, Ints
from foldless.honest.pairs import Effects, Pairs, pair_differences, variance
from foldless.honest.statistic import Placements, SeparationStatistic, separation_slope, statistic_of_placements


class Agreeing:
    """What the agreement of models tells that were each fitted to a `share` of the rows."""

    fold: Ints
    share: float
    deviations: Any  # (R, N): the scores about the class means of each repeat

    @property
    def fits(self) -> int:
        """How often the classifier was fitted."""
        return int(self.fold.max()) + 1

    @cached_property
    def agreement(self) -> float:
        """q, the correlation between repeats of a row's scores, about the class means of each repeat."""
        return agreement_of(self.deviations)

    @property
    def noise_factor(self) -> float:
        """The bound on r; its largest value if the models agree so little that the bound would fall again."""
        return factor_of(self.agreement, self.share)

    @property
    def growth(self) -> float:
        """Ratio of the delta of the fit to all rows to that of fits to a share p of them.

        delta^2 is proportional to the share s of the variance of the scores that is not training noise (all of it taken
        as of order 1), and s / (1 - s) to the number of rows. The ratio is 1 if the models agree and sqrt(1 / p) if
        they have nothing in common.
        """
        return float(max(self.share, self.agreement) ** -0.5)


@dataclass(frozen=True, eq=False)
class HeldOut(Agreeing):
    """Scores of all rows by models that were not trained on them.

    Attributes
    ----------
    scores : ndarray of shape (R, N)
        One score per row in every repeat.
    fold : ndarray of int, shape (R, N)
        Rows with the same number were scored by the same model.
    positive : ndarray of bool, shape (N,)
    share : float
        p, the share of the rows that each model was trained on.
    warned : tuple of str
        One warning text for each fit that raised any.
    placed : ndarray of shape (R, N), or None
        The scores on the scale of the fit to all rows, where thresholds count; None if that is their own.
    probabilities : ndarray of shape (R, N), or None
        Probabilities of the positive class, where the classifier has them.
    """

    scores: Floats
    fold: Ints
    positive: Bools
    share: float
    warned: tuple[str, ...] = ()
    placed: Floats | None = None
    probabilities: Floats | None = None

    @property
    def on_scale(self) -> Floats:
        """The scores on the scale of the fit to all rows."""
        return self.scores if self.placed is None else self.placed

    @cached_property
    def idle(self) -> int:
        """How many of the models gave all rows the same score."""
        return sum(not _ranks_any(pairs) for pairs, _, _ in self.pairs.models)

    @cached_property
    def by_repeat(self) -> tuple[ModelPairs, ...]:
        """The pairs of rows that the models of each repeat compare."""
        return tuple(ModelPairs.of(self, [k]) for k in range(len(self.scores)))

    @cached_property
    def pairs(self) -> ModelPairs:
        """Those of all repeats."""
        return ModelPairs(self.positive, tuple(model for each in self.by_repeat for model in each.models))

    @cached_property
    def deviations(self) -> Floats:
        """The scores about the class means of each repeat."""
        means = (self.scores[:, self.positive == k].mean(axis=1, keepdims=True) for k in (True, False))
        return np.asarray(self.scores - np.where(self.positive, *means))

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Within-class variances (v0, v1) of the scores from one model, pooled over the models."""
        return _within(self.scores, self.fold, ~self.positive), _within(self.scores, self.fold, self.positive)

    def per_row(self) -> Floats:
        """One score per row: the mean over repeats, rescaled within each class to the spread of one model's scores."""
        mean = self.scores.mean(axis=0)
        for half, square in zip((~self.positive, self.positive), self.variances, strict=True):
            mean[half] = _spread(mean[half], square)
        return np.asarray(mean)


def agreement_of(off: Floats) -> float:
    """q of scores (R, N) about their class means, R times those of N rows."""
    square = float(np.sum(off**2))
    if square == 0:
        return 1.0
    return float(np.clip((np.sum(off.sum(axis=0) ** 2) / square - 1) / (len(off) - 1), 0.0, 1.0))


def factor_of(agreement: float, p: float) -> float:
    """The bound on r; its largest value if the models agree so little that the bound would fall again."""
    q = max(agreement, np.exp(-1) / p)
    return max(1.0, float(q * (1 + np.log(q) / np.log(p))))


def _within(scores: Floats, fold: Ints, rows: Bools) -> float:
    values, model = scores[:, rows].ravel(), fold[:, rows].ravel()
    count = np.bincount(model)
    means = np.bincount(model, weights=values) / np.maximum(count, 1)
    return float(np.sum((values - means[model]) ** 2) / np.sum(np.maximum(count - 1, 0)))


# ---- From held-out scores to the statistic


@dataclass(frozen=True, eq=False)
class ModelPairs:
    """Pairs of a positive and a negative row that were held out together, so that one model scored both.

    `models` holds the pairs, the positive rows and the negative rows of every model that scored rows of both classes.
    """

    positive: Bools
    models: tuple[tuple[Pairs, Ints, Ints], ...]

    @classmethod
    def of(cls, held: HeldOut, repeats: Iterable[int] | None = None) -> ModelPairs:
        """The pairs of the given repeats, or of all repeats if None."""
        parts = []
        for repeat in range(len(held.scores)) if repeats is None else repeats:
            z, fold = held.scores[repeat], held.fold[repeat]
            for inside in (fold == model for model in np.unique(fold)):
                rows1, rows0 = np.flatnonzero(inside & held.positive), np.flatnonzero(inside & ~held.positive)
                if rows1.size and rows0.size:
                    parts.append((_pairs_of(z[rows1], z[rows0]), rows1, rows0))
        return cls(held.positive, tuple(parts))

    @property
    def auc(self) -> float:
        """Share of correctly ordered pairs."""
        size, mean = np.array([(at1.size * at0.size, pairs.ranks().mean) for pairs, at1, at0 in self.models]).T
        return float(size @ mean / size.sum())

    @cached_property
    def count(self) -> Floats:
        """Number of pairs that each row is part of."""
        count = np.zeros(self.positive.size)
        for _, rows1, rows0 in self.models:
            count[rows1] += rows0.size
            count[rows0] += rows1.size
        return count

    @property
    def rows(self) -> tuple[Ints, Ints]:
        """Positive and negative rows that are part of some pair."""
        seen = self.count > 0
        return np.flatnonzero(seen & self.positive), np.flatnonzero(seen & ~self.positive)

    def ranking(self) -> ModelPairs:
        """Those of models that rank any rows; all of them if none does."""
        some = tuple(model for model in self.models if _ranks_any(model[0]))
        return replace(self, models=some) if 0 < len(some) < len(self.models) else self

    def ranks(self) -> Effects:
        """Whether a pair is in the right order; ties count half. Rows spread as by one model."""
        sums, rows, seen = np.zeros(self.positive.size), self.rows, (list[Floats](), list[Floats]())
        for pairs, *at in self.models:
            effects = pairs.ranks()
            for k, own in enumerate((effects.by_row1, effects.by_row0)):
                sums[at[k]] += at[1 - k].size * own
                seen[k].append(own)
        auc = float(sums[rows[0]].sum() / self.count[rows[0]].sum())
        means = [sums[each] / self.count[each] for each in rows]
        by1, by0 = (_as_by_one(means[k], means[1 - k].size, auc, seen[k], seen[1 - k]) for k in (0, 1))
        return Effects(by1, by0, auc)

    def placements(self, groups: Ints | None) -> Placements:
        """The shares of ordered pairs of each row, with the groups of the rows."""
        rows1, rows0 = self.rows
        return Placements.of(self.ranks(), None if groups is None else (groups[rows1], groups[rows0]))


def _as_by_one(means: Floats, others: int, auc: float, seen: Sequence[Floats], seen_others: Sequence[Floats]) -> Floats:
    """Placements of a class, means over models, spread as far as those that single models have `seen`.

    The bound on r multiplies the variance of one model's; means over models that disagree vary less. Clumpiness k shows
    as k + (1 - 2k)/n among n rows of the other class: what the few of a fold add is replaced by what all `others` do.
    """
    few, own = float(np.mean([v.size for v in seen_others])), auc * (1 - auc)
    if few < FEWEST_OTHERS or own == 0:
        return means
    values, sizes = np.concatenate(seen), np.array([v.size for v in seen])
    sums = np.add.reduceat(values, np.cumsum(sizes) - sizes)
    inside = float(values @ values - np.sum(sums**2 / sizes)) / max(values.size - sizes.size, 1)
    k = max((inside / own - 1 / few) / (1 - 2 / few), 0.0)
    return _spread(means, max(own * (k + (1 - 2 * k) / others), variance(means)))


def _spread(values: Floats, square: float) -> Floats:
    """The values about their mean, with this variance if they vary at all."""
    mean, own = values.mean(), variance(values)
    return np.asarray(mean + (values - mean) * (np.sqrt(square / own) if own > 0 else 0.0))


def _ranks_any(pairs: Pairs) -> bool:
    effects = pairs.ranks()
    return bool(effects.mean != 0.5 or np.any(effects.by_row1 != 0.5) or np.any(effects.by_row0 != 0.5))


FEWEST_OTHERS = 3  # rows of the other class among which placements tell how a class spreads
EVERY_PAIR = 1 << 20  # up to this many pairs, scores that only rounding separates tie


def _pairs_of(score1: Floats, score0: Floats) -> Pairs:
    if score1.size * score0.size > EVERY_PAIR:
        return Pairs(score1, score0)
    return Pairs(score1, score0, pair_differences(score1[:, None], score0))


def statistic_of_refits(held: HeldOut, groups: Ints | None = None) -> SeparationStatistic:
    """The statistic of held-out scores, as in `statistic_of_removed`, with r from the agreement of the models.

    Rows are compared only within a model. The variance between repeats, divided by their number, is added to account
    for the random choice of splits. The AUC is that of fits to a share of the rows, and grows with `HeldOut.growth`.
    A model without any column ranks like a coin, which counts, but without a coin's spread, which would not.
    """
    pairs, ranking = held.pairs, held.pairs.ranking()
    placements = ranking.placements(groups)
    statistic = statistic_of_placements(placements, pairs.auc, held.noise_factor - 1)
    units1, units0 = placements.units if ranking is pairs else pairs.placements(groups).units
    return settled(replace(statistic, units0=units0, units1=units1), [each.auc for each in held.by_repeat], held.growth)


def settled(statistic: SeparationStatistic, by_repeat: Sequence[float] | Floats, growth: float) -> SeparationStatistic:
    """The statistic with what the choice of splits adds, from the AUC of each repeat, for the fit to all rows."""
    of_splits, a = float(np.var(by_repeat, ddof=1)) / len(by_repeat), statistic.pair_auc
    if a * (1 - a) == 0:
        return statistic
    return _grown(replace(statistic, trials=1 / (1 / statistic.trials + of_splits / (a * (1 - a)))), growth)


def _grown(statistic: SeparationStatistic, growth: float) -> SeparationStatistic:
    """The statistic of fits whose separation is `growth` times as large; its relative error stays."""
    a = statistic.auc
    grown = float(ndtr(growth * ndtri(a)))
    stretch = growth * separation_slope(grown) / separation_slope(a)
    return replace(statistic, auc=grown, trials=statistic.trials * grown * (1 - grown) / (a * (1 - a)) / stretch**2)
