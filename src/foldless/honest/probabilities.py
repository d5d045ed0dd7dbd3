"""Averages over rows whose probabilities come from fits that lack them: Brier score, log loss, observed/expected.

The mean of the losses of honest probabilities has the variance of independent rows, in each class times r = 1 + rho for
what the fits share (`foldless.honest.statistic`). Rows are a random sample, so that the prevalence is uncertain, too;
where it is stated, each class counts what is stated, and only the spread within the classes is left. The variance of
few or heavy-tailed losses is itself uncertain, with 2 n / (kurtosis - 1) degrees of freedom. Calibration in the large,
which compares the means of y and p, needs no factor r: the intercept absorbs what the training rows share.

Ten rows may show no loss where one in twenty is lost. So Brier score and log loss count a few `Unseen` rows more, of
normal log odds, whose classes are as far apart as the posterior of the separation says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

from foldless.checks import Array, Bools, Floats, Ints
from foldless.laws.effect import Effect, solved

LEAST_DF, NORMAL_ROWS, UNSEEN_ROWS = 4.0, 80.0, 5.0
FARTHEST = 25.0  # log odds beyond which a row is as good as certain
TINY = float(np.finfo(float).tiny)
Loss = Callable[[Floats, Bools], Floats]


def brier(p: Floats, y: Bools) -> Floats:
    """Squared error of each row."""
    return np.square(p - y)


def log_loss(p: Floats, y: Bools) -> Floats:
    """Minus the log probability of each row's class."""
    kept = np.clip(p, np.finfo(float).eps, 1 - np.finfo(float).eps)  # as in scikit-learn
    return np.asarray(-np.log(np.where(y, kept, 1 - kept)))


@dataclass(frozen=True)
class Estimate:
    """A value and its standard error."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Unseen:
    """A law of further rows: classes, values (probabilities, or losses), weights that add up to 1, what all count."""

    positive: Bools
    values: Floats
    weights: Floats
    share: float

    def of(self, loss: Loss) -> Unseen:
        """The same rows with their losses as values."""
        return replace(self, values=loss(self.values, self.positive))

    @property
    def mean(self) -> float:
        """The mean value."""
        return float(self.weights @ self.values)

    @property
    def within(self) -> Floats:
        """The values less the mean of their class."""
        of = self.weights * self.positive, self.weights * ~self.positive
        return np.asarray(self.values - np.where(self.positive, *(w @ self.values / w.sum() for w in of)))


@dataclass(frozen=True, eq=False)
class ProbableRows:
    """Probabilities of all rows by fits that lack them (R repeats), and by the fit itself.

    `prevalence` is the share of positive rows where the classifier is used; None if the rows are a random sample of
    that place.
    """

    positive: Bools  # (N,)
    honest: Floats  # (R, N)
    own: Floats  # (N,)
    noise_share: float
    groups: Ints | None = None
    prevalence: float | None = None
    in_pairs: Floats | None = None  # (N,)

    @cached_property
    def balanced(self) -> ProbableRows:
        """The same rows, each left out with one of the other class: alone, it would move the share of its class."""
        return self if self.in_pairs is None else replace(self, honest=self.in_pairs[None, :])

    @cached_property
    def apparent(self) -> ProbableRows:
        """The same rows as the fit itself sees them."""
        return replace(self, honest=self.own[None, :])

    @property
    def share(self) -> float:
        """The prevalence: as stated, or that of the rows."""
        return float(self.positive.mean()) if self.prevalence is None else self.prevalence

    @property
    def units(self) -> int:
        """Independent rows: those, or their groups."""
        return self.positive.size if self.groups is None else int(self.groups.max()) + 1

    @cached_property
    def weights(self) -> Floats:
        """What each row counts; they add up to 1."""
        n1 = np.count_nonzero(self.positive)
        each = self.share / n1, (1 - self.share) / (self.positive.size - n1)
        return np.where(self.positive, *each)

    @cached_property
    def log_odds(self) -> Floats:
        """Log odds of the honest probabilities, (R, N)."""
        return np.asarray(np.clip(logit(np.clip(self.honest, TINY, 1.0)), -FARTHEST, FARTHEST))

    def unseen(self, effect: Effect) -> Unseen:
        """Rows that there may be as well: log odds that vary as much in all, and that far apart."""
        s, one = self.log_odds.mean(axis=0), self.positive
        low, high = s[~one].mean(), s[one].mean()
        squares = np.sum(np.square(s - np.where(one, high, low))) / max(s.size - 2, 1)
        (p, p_weights), (z, z_weights) = unit_rule(16), normal_rule(48)
        apart = np.asarray(effect.ppf(p))[:, None]
        sd = np.sqrt((squares + np.square(high - low) / 4) / (1 + np.square(apart) / 4))
        log_odds = (low + high) / 2 + sd * np.stack([z - apart / 2, z + apart / 2])
        weights = np.multiply.outer([1 - self.share, self.share], np.multiply.outer(p_weights, z_weights))
        classes = np.broadcast_to(np.array([False, True])[:, None, None], log_odds.shape)
        share = UNSEEN_ROWS / (UNSEEN_ROWS + self.units)
        p_of = expit(np.clip(log_odds, -FARTHEST, FARTHEST))
        return Unseen(classes.ravel(), p_of.ravel(), weights.ravel(), share)

    def average(self, loss: Loss, unseen: Unseen | None = None, said: Floats | None = None) -> Estimate:
        """The mean of a loss, with its standard error; less what is chance, given the chances `said` of the labels."""
        losses = loss(self.honest, self.positive).mean(axis=0)
        others, seen = (None, 1.0) if unseen is None else (unseen.of(loss), 1 - unseen.share)
        found = self.mean_of(losses, True, others)
        one, zero = (loss(self.honest[0], np.full(self.positive.shape, label)) for label in (True, False))
        return replace(found, value=found.value - seen * self.chance_in(float(self.weights @ losses), one, zero, said))

    def chance_in(self, mean: float, one: Floats, zero: Floats, said: Floats | None) -> float:
        """What may be chance in a mean, given the chances `said` of the labels; rows count `one` or `zero` by label."""
        if said is None:
            return 0.0
        gap = mean - float(self.weights @ (said * one + (1 - said) * zero))
        chance = float(said * (1 - said) @ np.square(self.weights * (one - zero))) * said.size / self.units
        return min(gap**2, chance) / gap if gap else 0.0

    def mean_of(self, values: Floats, noise: bool, others: Unseen | None = None) -> Estimate:
        """The mean of one value per row, and of the values of `others`; `noise` if it varies with the training rows."""
        mean = float(self.weights @ values)
        if others is not None:
            mean += others.share * (others.mean - mean)
        return Estimate(mean, self.error_of(self.effects(values), noise, others))

    def effects(self, values: Floats) -> Floats:
        """What each row adds to the mean of the values."""
        if self.prevalence is None:
            return np.asarray(self.weights * (values - self.weights @ values))
        centre = np.where(self.positive, values[self.positive].mean(), values[~self.positive].mean())
        return np.asarray(self.weights * (values - centre))

    def error_of(self, effects: Floats, noise: bool, others: Unseen | None = None) -> float:
        """Standard error of a sum of effects; what the fits share moves those of a class, not its share of the rows."""
        within = effects - np.where(self.positive, effects[self.positive].mean(), effects[~self.positive].mean())
        sums, inner = (x if self.groups is None else np.bincount(self.groups, weights=x) for x in (effects, within))
        n = sums.size
        off, inner, weights = n * sums, n * inner, np.full(n, 1 / n)  # of a row each
        if others is not None:
            apart = others.within if self.prevalence is not None else others.values - others.mean
            off, inner = np.concatenate([off, apart]), np.concatenate([inner, others.within])
            weights = np.concatenate([(1 - others.share) * weights, others.share * others.weights])
        if (unit := float(np.abs(off).max())) == 0:
            return 0.0
        squares = np.square(off / unit)  # powers of tiny ones would vanish
        total = float(weights @ squares)
        df = max(2 * n / max(float(weights @ squares**2) / total**2 - 1, 1.0), LEAST_DF)  # n / (kurtosis - 1)
        total += noise * self.noise_share * float(weights @ np.square(inner / unit))
        return unit * float(np.sqrt(total / max(n - 1, 1) * df / (df - 2)))

    def scaled_brier(self, score: float, unseen: Unseen | None = None) -> Estimate:
        """1 - score / (share (1 - share)), of this Brier score: 0 for the prevalence as everybody's probability."""
        o = self.share
        reference = o * (1 - o)
        moved = (1 - 2 * o) * score / reference
        spread = self.average(lambda p, y: (moved * y - brier(p, y)) / reference, unseen).error
        return Estimate(1 - score / reference, spread)

    def log_observed_by_expected(self) -> Estimate:
        """Log of the ratio of observed to expected positive rows."""
        p, o = self.honest.mean(axis=0), self.share
        expected = float(self.weights @ p)
        return replace(self.mean_of(self.positive / o - p / expected, noise=False), value=float(np.log(o / expected)))

    @cached_property
    def intercept(self) -> Estimate:
        """Calibration in the large: what has to be added to the log odds for their mean probability to be right."""
        shift = float(self.level(np.ones(1), smooth=True)[0])
        q = expit(shift + self.log_odds)
        info = float(self.weights @ (q * (1 - q)).mean(axis=0))
        return Estimate(shift, self.error_of(self.effects((self.positive - q).mean(axis=0)), False) / max(info, TINY))

    def level(self, slopes: Floats, smooth: bool = False) -> Floats:
        """The intercept that gives the right mean probability at each slope; `smooth`: NORMAL_ROWS normal rows more."""
        repeats, share, reach = len(self.log_odds), self.share, FARTHEST * (1 + np.abs(slopes))
        s, weights = self.log_odds.ravel(), np.tile(self.weights, repeats) / repeats
        if smooth and repeats == 1 and np.abs(s).max() < FARTHEST:  # the log odds of refits have any law
            (z, each), c = normal_rule(48), NORMAL_ROWS / self.units
            s = np.concatenate([s, *(s[one].mean() + s[one].std() * z for one in (self.positive, ~self.positive))])
            weights = np.concatenate([weights, c * share * each, c * (1 - share) * each]) / (1 + c)

        def excess(a: Floats) -> tuple[Floats, Floats]:
            q = expit(a[:, None] + slopes[:, None] * s)
            return q @ weights - share, (q * (1 - q)) @ weights

        return solved(excess, np.zeros(slopes.shape), -reach, reach)

    def prevalences(self) -> tuple[Floats, Floats]:
        """Nodes and weights of the posterior of the prevalence; a single node if it is stated."""
        if self.prevalence is not None:
            return np.array([self.prevalence]), np.ones(1)
        return prevalences(self.share, self.positive.size, self.groups)


def prevalences(share: float, rows: int, groups: Array | None, nodes: int = 8) -> tuple[Floats, Floats]:
    """What the prevalence may be, and how probable, given its share in a sample of rows, or of whole groups.

    Groups tell as much as (sum of their sizes)^2 / (sum of the squares) independent rows: the large ones decide.
    """
    units = rows if groups is None else rows**2 / np.square(np.unique(groups, return_counts=True)[1]).sum()
    p, weights = unit_rule(nodes)
    return np.asarray(betaincinv(share * units, (1 - share) * units, p)), weights


@cache
def unit_rule(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the Gauss-Legendre rule on (0, 1)."""
    t, weights = np.polynomial.legendre.leggauss(n)
    return np.asarray((t + 1) / 2), np.asarray(weights / 2)


def normal_rule(n: int) -> tuple[Floats, Floats]:
    """Quantiles of the standard normal law at those nodes."""
    p, weights = unit_rule(n)
    return np.asarray(ndtri(p)), weights
