"""`plan_sample_size`: the smallest study that keeps a promise about the AUC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from foldless._check import as_number, in_open_interval
from foldless.errors import InputError
from foldless.honest import MAX_ROWS
from foldless.honest.posterior import EffectPrior
from foldless.plan import precision

FEWEST, FEWEST_OF_A_CLASS = 20, 5  # below, the variance has not been checked
MOST = 10_000_000
FEW_DISORDERED = 5.0  # expected pairs out of order; with fewer, perfect order is not rare
POWER = 0.9


@dataclass(frozen=True, repr=False)
class SamplePlan:
    """How many rows, and what they will bring.

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

    def summary(self) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        return {**asdict(self), "notes": list(self.notes)}

    def __repr__(self) -> str:
        promise = "" if self.above is None else f", P(interval above {self.above:g})={self.power:.3f}"
        return (
            f"SamplePlan(n={self.n} ({self.n1} positive, {self.n0} negative), AUC {self.auc:g} +- "
            f"{self.half_width:.3f} at {100 * self.level:g}%{promise}, noise_share={self.noise_share:.2f})"
        )

    def _repr_html_(self) -> str:
        from foldless._html import plans

        return plans.sample_plan(self)


@dataclass(frozen=True)
class _Question:
    """What is promised, under which assumptions."""

    delta: float
    level: float
    balance: float
    prior: EffectPrior
    noise: Callable[[int, int], float]

    def counts(self, n: int) -> tuple[int, int]:
        n1 = round(n * self.balance)
        return n - n1, n1

    def statistic(self, n: int) -> Any:
        n0, n1 = self.counts(n)
        return precision.future_statistic(self.delta, n0, n1, self.noise(n0, n1))

    def half_width(self, n: int) -> float:
        return precision.expected_half_width(self.statistic(n), self.prior, self.level)

    def power(self, n: int, above: float) -> float:
        return precision.power_above(self.statistic(n), self.prior, self.level, above)


def plan_sample_size(
    auc: float,
    half_width: float | None = None,
    level: float = 0.95,
    balance: float = 0.5,
    *,
    above: float | None = None,
    power: float = POWER,
    noise_share: float | None = None,
    n_features: float | None = None,
    prior: EffectPrior | None = None,
) -> SamplePlan:
    """Rows needed so that foldless's interval is narrow enough, or lies above a bound.

    Ask for one of two promises: `half_width`, the expected half width of the interval of `auc_posterior`; or
    `above`, a bound that the lower end of that interval exceeds with probability `power`.

    The interval rests on the variance of the estimated separation delta (AUC = Phi(delta / sqrt 2)),

        V = (1 + 4 r/m) r (1/n1 + 1/n0) + (1 + 1.5 rho) delta^2/8 (1/(n1-1) + 1/(n0-1)),

    with rho the share of the variance of the scores that is training noise, r = 1 + rho and 4/m = 1/n1 + 1/n0, for
    normal scores of equal variance.

    Parameters
    ----------
    auc : float
        The AUC that the classifier, trained on the planned rows, is expected to have.
    half_width : float, optional
    level : float
        Level of the interval.
    balance : float
        Share of the positive class.
    above, power : float, optional
    noise_share : float, optional
        rho, from 0 (few features, or held-out scores; the default) to 1 (training noise throughout).
    n_features : float, optional
        Instead of rho: the number of features of an unpenalised classifier, from which rho follows at each size. With a
        penalty, fewer count.
    prior : EffectPrior, optional

    Returns
    -------
    SamplePlan
        If neither `noise_share` nor `n_features` is given, ``n_if_noisy`` is the answer for the worst case.

    Examples
    --------
    >>> import foldless as fl
    >>> plan = fl.plan_sample_size(0.8, 0.05)
    >>> plan.n, plan.n_if_noisy
    (286, 590)
    >>> fl.plan_sample_size(0.8, above=0.7, power=0.9, n_features=10).n
    264
    """
    question = _question(auc, level, balance, noise_share, n_features, prior)
    kept = _promise(question, auc, half_width, above, power)
    n = _smallest(question, kept)
    worst = None
    if noise_share is None and n_features is None:
        noisy = _question(auc, level, balance, 1.0, None, prior)
        worst = _smallest(noisy, _promise(noisy, auc, half_width, above, power))
    n0, n1 = question.counts(n)
    return SamplePlan(
        n=n,
        n0=n0,
        n1=n1,
        auc=float(auc),
        level=question.level,
        balance=question.balance,
        half_width=question.half_width(n),
        above=None if above is None else float(above),
        power=None if above is None else question.power(n, float(above)),
        noise_share=question.noise(n0, n1),
        n_if_noisy=worst,
        notes=_notes(question, float(auc), n, worst),
    )


def _question(auc: Any, level: Any, balance: Any, share: Any, n_features: Any, prior: Any) -> _Question:
    expected = as_number(auc, "auc")
    if not 0.5 < expected < 1:
        raise InputError(f"auc must lie strictly between 0.5 (chance) and 1, got {auc!r}.")
    delta = precision.separation_of(expected)
    return _Question(
        delta,
        in_open_interval(level, "level"),
        in_open_interval(balance, "balance"),
        EffectPrior.checked(prior),
        _noise(delta, share, n_features),
    )


def _noise(delta: float, share: Any, n_features: Any) -> Callable[[int, int], float]:
    if share is not None and n_features is not None:
        raise InputError("noise_share and n_features say the same thing: give one of them.")
    if n_features is not None:
        count = as_number(n_features, "n_features")
        if count <= 0:
            raise InputError(f"n_features must be above 0, got {n_features!r}.")
        return lambda n0, n1: precision.noise_share_of(delta, n0, n1, count)
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
    """No plan is smaller than this."""
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
    if (1 - auc) * n0 * n1 < FEW_DISORDERED:
        notes.append("so few rows may well be in perfect order by luck; the interval is wider than planned then.")
    if n > MAX_ROWS:
        judged = precision.judged_rows(n0, n1)
        reached = precision.future_statistic(question.delta, *judged, question.noise(n0, n1))
        width = precision.expected_half_width(reached, question.prior, question.level)
        notes.append(
            f"above {MAX_ROWS} rows auc_posterior judges a fitted classifier on {sum(judged)} of them, and its half "
            f"width would be {width:.4f}. The plan holds for {n} held-out scores (auc_posterior_from_scores)."
        )
    return tuple(notes)
