"""`plan_sample_size`: the smallest study that keeps a promise about the AUC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, stdtr, stdtrit

from foldless.checks import as_number, in_open_interval
from foldless.errors import InputError
from foldless.honest.posterior import HIGH, LOW, EffectPrior, separation_posterior
from foldless.honest.statistic import MIN_TAIL, Rows, SeparationStatistic, normal_clumpiness
from foldless.laws.effect import SQRT2, GridEffect, effect_of
from foldless.results.auc import ShownAsCard

# Data not yet collected give a share of ordered pairs that is worth m comparisons (`foldless.honest.statistic`); the
# planned interval is that of the posterior which follows from it.

FEWEST, FEWEST_OF_A_CLASS = 20, 5  # rows; below, the variance has not been checked
MOST = 10_000_000


def future_statistic(delta: float, n0: int, n1: int, noise_share: float) -> SeparationStatistic:
    """Statistic of n0 + n1 normal scores of equal variance that turn out to be delta apart."""
    auc = float(np.clip(ndtr(delta / SQRT2), MIN_TAIL, 1 - MIN_TAIL))
    clumpiness = normal_clumpiness(auc)
    rows = Rows(np.array([n1, n0]), np.ones(2), 1 / n1 + 1 / n0, noise_share)
    # K of `foldless.honest.statistic`, on average: rows that take part in misordered pairs.
    shows = np.multiply(rows.sizes, (1 - auc) / (clumpiness * auc + 1 - auc), dtype=np.float64)
    trials, df = rows.trials(auc, rows.with_few_others(clumpiness), shows)
    return SeparationStatistic(auc, trials, df, noise_share, n0, n1, auc)


def expected_half_width(statistic: SeparationStatistic, prior: EffectPrior, level: float) -> float:
    """Mean half width of the credible interval, over repetitions of a study whose true separation is `estimate`."""
    outcomes = statistic.estimate + statistic.separation_error * stdtrit(statistic.df, (np.arange(11) + 0.5) / 11)
    tails = np.array([(1 - level) / 2, 1 - (1 - level) / 2])
    ends = [ndtr(_posterior(statistic, float(seen), prior).ppf(tails) / SQRT2) for seen in outcomes]
    return float(np.mean([float(high - low) / 2 for low, high in ends]))


def power_above(statistic: SeparationStatistic, prior: EffectPrior, level: float, above: float) -> float:
    """Probability that the interval will lie above a bound, if the true separation is `estimate`."""
    certainty, bound = 1 - (1 - level) / 2, float(effect_of(above, SQRT2))

    def excess(seen: float) -> float:
        return float(_posterior(statistic, seen, prior).sf(bound)) - certainty

    # The smallest estimate whose interval lies above the bound, within the range of the prior.
    end = LOW if excess(LOW) >= 0 else HIGH
    needed = end if end == LOW or excess(HIGH) <= 0 else brentq(excess, LOW, HIGH, xtol=1e-4)
    return float(stdtr(statistic.df, (statistic.estimate - needed) / statistic.separation_error))


def _posterior(statistic: SeparationStatistic, seen: float, prior: EffectPrior) -> GridEffect:
    return separation_posterior(replace(statistic, auc=float(ndtr(np.clip(seen, LOW, HIGH) / SQRT2))), prior)


def noise_share_of(delta: float, n0: int, n1: int, n_features: float) -> float:
    """The noise share that foldless will measure for an unpenalised linear rule that separates the classes by delta.

    1 - (1 - r)(1 - P/N), overstated by 1/(1 - P/N), with r from delta^2 = D^2 (1 - r)(1 - P/N), r = P c / (D^2 + P c),
    c = 1/n0 + 1/n1 and D the separation of the best rule (docs/planning.md).
    """
    kept = 1 - n_features / (n0 + n1)
    if kept <= 0:
        return 1.0
    q = n_features * (1 / n0 + 1 / n1) * kept / delta**2
    return float(min(1 / kept - (1 - 2 * q / (2 * q + 1 + np.sqrt(4 * q + 1))), 1.0))


@dataclass(frozen=True, repr=False)
class SamplePlan(ShownAsCard):
    """How many rows a study needs, and what to expect from them.

    Attributes
    ----------
    n, n0, n1 : rows in all, of the negative and of the positive class.
    auc : the AUC that the classifier trained on these rows is taken to have.
    half_width : expected half width of the interval of level `level`.
    above, power : the bound, and the probability that the interval will lie above it; None if not asked.
    noise_share : share of the variance of the scores that is training noise at this size, as assumed.
    n_if_noisy : rows needed if the scores were training noise throughout, the worst case; None if the share was given.
    notes : what a reader must know.
    """

    n: int
    n0: int
    n1: int
    auc: float
    level: float
    balance: float
    half_width: float
    above: float | None
    power: float | None
    noise_share: float
    n_if_noisy: int | None
    notes: tuple[str, ...] = ()
    _card = "sample_plan"

    def summary(self) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        return {**asdict(self), "notes": list(self.notes)}

    def __repr__(self) -> str:
        promise = "" if self.above is None else f", P(interval above {self.above:g})={self.power:.3f}"
        return (
            f"SamplePlan(n={self.n} ({self.n1} positive, {self.n0} negative), AUC {self.auc:g} +- "
            f"{self.half_width:.3f} at {100 * self.level:g}%{promise}, noise_share={self.noise_share:.2f})"
        )


@dataclass(frozen=True)
class _Question:
    """The assumptions: separation, level, share of the positive class, prior, and noise share at given sizes."""

    delta: float
    level: float
    balance: float
    prior: EffectPrior
    noise: Callable[[int, int], float]

    def counts(self, n: int) -> tuple[int, int]:
        n1 = round(n * self.balance)
        return n - n1, n1

    def statistic(self, n: int) -> SeparationStatistic:
        n0, n1 = self.counts(n)
        return future_statistic(self.delta, n0, n1, self.noise(n0, n1))

    def half_width(self, n: int) -> float:
        return expected_half_width(self.statistic(n), self.prior, self.level)

    def power(self, n: int, above: float) -> float:
        return power_above(self.statistic(n), self.prior, self.level, above)


def plan_sample_size(
    auc: float,
    half_width: float | None = None,
    level: float = 0.95,
    balance: float = 0.5,
    *,
    above: float | None = None,
    power: float = 0.9,
    noise_share: float | None = None,
    n_features: float | None = None,
    prior: EffectPrior | None = None,
) -> SamplePlan:
    """Rows needed so that foldless's interval is narrow enough, or lies above a bound.

    The interval rests on the number m of independent comparisons that the ordered pairs of n1 + n0 rows are worth,

        1/m = k (1/n1 + 1/n0) r (1 + rho r (1/n1 + 1/n0)),

    with k the clumpiness of normal scores with this AUC (a third at chance, less above), rho the share of the variance
    of the scores that is training noise, and r = 1 + rho. Small terms are in docs/method.md.

    Parameters
    ----------
    auc : float
        The AUC that the classifier, trained on the planned rows, is expected to have.
    half_width : float
        Expected half width of the interval of `auc_posterior`. Give either this or `above`.
    level : float
        Level of the interval.
    balance : float
        Share of the positive class.
    above, power : float
        A bound that the lower end of the interval exceeds with probability `power`.
    noise_share : float, optional
        rho, from 0 (few features, or held-out scores; the default) to 1 (nothing but training noise).
    n_features : float, optional
        Instead of rho: the number of features of an unpenalised classifier, from which rho follows at each size. With a
        penalty, fewer count. Without either, ``n_if_noisy`` of the result is the answer for the worst case.
    prior : EffectPrior, optional

    Examples
    --------
    >>> import foldless as fl
    >>> plan = fl.plan_sample_size(0.8, 0.05)
    >>> plan.n, plan.n_if_noisy
    (293, 590)
    >>> fl.plan_sample_size(0.8, above=0.7, power=0.9, n_features=10).n
    269
    """
    expected = as_number(auc, "auc")
    if not 0.5 < expected < 1:
        raise InputError(f"auc must lie strictly between 0.5 (chance) and 1, got {auc!r}.")
    delta, level = float(effect_of(expected, SQRT2)), in_open_interval(level, "level")
    balance = in_open_interval(balance, "balance")
    question = _Question(delta, level, balance, EffectPrior.checked(prior), _noise(delta, noise_share, n_features))
    n = _smallest(question, _promise(question, auc, half_width, above, power))
    worst = None
    if noise_share is None and n_features is None:
        noisy = replace(question, noise=lambda n0, n1: 1.0)
        worst = _smallest(noisy, _promise(noisy, auc, half_width, above, power))
    n0, n1 = question.counts(n)
    width, noise = question.half_width(n), question.noise(n0, n1)
    bound = None if above is None else float(above)
    chance = None if bound is None else question.power(n, bound)
    notes = _notes(question, expected, n, worst)
    return SamplePlan(n, n0, n1, expected, level, balance, width, bound, chance, noise, worst, notes)


def _noise(delta: float, share: Any, n_features: Any) -> Callable[[int, int], float]:
    if share is not None and n_features is not None:
        raise InputError("noise_share and n_features say the same thing: give one of them.")
    if n_features is not None:
        count = as_number(n_features, "n_features")
        if count <= 0:
            raise InputError(f"n_features must be above 0, got {n_features!r}.")
        return lambda n0, n1: noise_share_of(delta, n0, n1, count)
    rho = 0.0 if share is None else as_number(share, "noise_share")
    if not 0 <= rho <= 1:
        raise InputError(f"noise_share must lie between 0 and 1, got {share!r}.")
    return lambda n0, n1: rho


def _promise(question: _Question, auc: Any, half_width: Any, above: Any, power: Any) -> Callable[[int], bool]:
    """Whether n rows keep the promise."""
    if (half_width is None) == (above is None):
        got = "neither" if above is None else "both"
        raise InputError(f"plan_sample_size needs half_width or above, got {got}: ask for one of them.")
    if above is None:
        wanted = in_open_interval(half_width, "half_width", 0.0, 0.5)
        return lambda n: question.half_width(n) <= wanted
    bound, chance = in_open_interval(above, "above"), in_open_interval(power, "power")
    if bound >= float(auc):
        raise InputError(f"above must be less than the expected auc ({auc:g}), got {above!r}: no study would show it.")
    return lambda n: question.power(n, bound) >= chance


def _smallest(question: _Question, kept: Callable[[int], bool]) -> int:
    """The smallest size that keeps the promise, by doubling and bisection."""
    low = fewest_rows(question.balance)
    if kept(low):
        return low
    high = 2 * low
    while not kept(high):
        low, high = high, 2 * high
        if high > MOST:
            raise InputError(f"more than {MOST:,} rows would be needed: ask for less.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def fewest_rows(balance: float) -> int:
    """The smallest plan that is considered."""
    return max(FEWEST, ceil((FEWEST_OF_A_CLASS + 0.5) / min(balance, 1 - balance)))


def _notes(question: _Question, auc: float, n: int, worst: int | None) -> tuple[str, ...]:
    n0, n1 = question.counts(n)
    notes = []
    if worst is not None:
        notes.append(
            f"few features, or scores of rows not used in the fit, were assumed; {worst} rows are enough for any share "
            f"of training noise. The number of features, if given, narrows that down."
        )
    if n == fewest_rows(question.balance):
        notes.append(f"fewer than {n} rows were not considered: the interval has not been checked there.")
    if (1 - auc) * n0 * n1 < 5:  # pairs expected out of order; with fewer, perfect order is not rare
        notes.append("so few rows may well be in perfect order by luck; the interval is wider than planned then.")
    return tuple(notes)
