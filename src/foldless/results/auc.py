"""`RatePosterior`, the posterior of one probability; `AUCPosterior`, that of an AUC; `HonestScores`, behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from foldless.checks import Floats, as_number, as_numbers, as_probabilities, in_open_interval
from foldless.errors import InputError
from foldless.laws.effect import SQRT2, Effect, effect_of, log_jacobian, probability

Details = Mapping[str, Any]


class ShownAsCard:
    """A result that notebooks show with the function of `foldless.cards.results` named by `_card`."""

    _card: ClassVar[str]

    def _repr_html_(self) -> str:
        from foldless.cards import results

        return str(getattr(results, self._card)(self))


def central(level: float) -> Floats:
    """The two quantiles that bound the central interval of this level."""
    tail = (1 - in_open_interval(level, "level")) / 2
    return np.array([tail, 1 - tail])


class WithQuantiles(ABC):
    """The median and central intervals of a law that has `ppf`."""

    @abstractmethod
    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""

    @property
    def median(self) -> float:
        """Posterior median."""
        return float(self.ppf(0.5))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central credible interval."""
        low, high = self.ppf(central(level))
        return float(low), float(high)


def stated(law: Any, level: float) -> dict[str, float]:
    """Mean, standard deviation and interval of a law, as a plain dict."""
    low, high = law.interval(level)
    return {"mean": law.mean, "sd": law.sd, "low": low, "high": high}


def drawn(draw: Callable[[np.random.Generator], Floats], size: Any, rng: Any) -> Floats:
    """Random draws; an `InputError` if the size or the seed is unusable."""
    try:
        return draw(np.random.default_rng(rng))
    except (TypeError, ValueError) as err:
        raise InputError(f"sample takes a size or shape and a seed or generator, got {size!r}, {rng!r}.") from err


@dataclass(frozen=True)
class RatePosterior(ShownAsCard, WithQuantiles):
    """Posterior of a probability Phi(x / scale), x an `Effect`.

    `mean`, `sd` and `interval` describe it; `cdf`, `ppf`, `pdf` and `sample` are the whole law.
    """

    effect: Effect
    scale: float
    _card = "rate_posterior"

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return self.effect.mean_probability(self.scale)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return self.effect.sd_probability(self.scale)

    def cdf(self, a: Any) -> Floats:
        """Posterior probability that the rate is at most `a`; 0 below 0 and 1 from 1 on."""
        a = as_numbers(a, "a")
        return np.where(a >= 1, 1.0, np.where(a <= 0, 0.0, self.effect.cdf(self._finite_effect(a))))[()]

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""
        return np.asarray(probability(self.effect.ppf(as_probabilities(q, "q")), self.scale))[()]

    def pdf(self, a: Any) -> Floats:
        """Posterior density; at 0 and 1 its limit, which may be infinite."""
        a = as_probabilities(a, "a")
        x = effect_of(np.clip(a, 1e-300, 1 - 1e-16), self.scale)
        density = np.exp(np.minimum(self.effect.logpdf(x) + log_jacobian(x, self.scale), 700.0))
        # The limit at an end depends on which falls faster, the tail of the effect or phi.
        lower, upper = (np.inf if sd >= self.scale else 0.0 for sd in self.effect.tail_sd())
        return np.where(a <= 0, lower, np.where(a >= 1, upper, density))[()]

    def sample(self, size: Any = None, rng: np.random.Generator | int | None = None) -> Floats:
        """Random draws from the posterior."""
        draws = drawn(lambda source: self.effect.sample(size, source), size, rng)
        return np.asarray(probability(draws, self.scale))[()]

    def prob_above(self, a: float) -> float:
        """Posterior probability that the rate exceeds `a`."""
        bound = as_number(a, "a")
        if not 0 < bound < 1:
            return 1.0 if bound <= 0 else 0.0
        return float(self.effect.sf(self._finite_effect(np.asarray(bound))))

    def _finite_effect(self, a: Floats) -> Floats:
        return np.asarray(np.clip(effect_of(np.clip(a, 0.0, 1.0), self.scale), -1e100, 1e100))


@dataclass(frozen=True, repr=False, eq=False)
class AUCPosterior(RatePosterior):
    """Posterior of the area under the ROC curve.

    Attributes
    ----------
    method : str
        Where the number comes from: "loo", "loo-surrogate", "refit", "in-sample" or "scores".
    n0, n1 : int
        Rows of the negative and the positive class.
    notes : tuple of str
        What to know when reading the number.
    details : mapping
        Further figures of the method.

    Examples
    --------
    >>> import foldless as fl
    >>> from foldless.laws.effect import StudentEffect
    >>> post = fl.AUCPosterior.from_effect(StudentEffect(1.8, 0.3, 40), "in-sample", 20, 22)
    >>> post
    AUCPosterior(mean=0.890, 95% interval [0.778, 0.961], method='in-sample', n0=20, n1=22)
    >>> round(post.prob_above(0.8), 3)
    0.952
    """

    method: str
    n0: int
    n1: int
    notes: tuple[str, ...] = ()
    details: Details = field(default_factory=dict)
    _card = "auc_posterior"

    @classmethod
    def from_effect(
        cls, effect: Effect, method: str, n0: int, n1: int, notes: tuple[str, ...] = (), details: Details | None = None
    ) -> AUCPosterior:
        """The posterior of AUC = Phi(delta / sqrt 2), given that of delta."""
        return cls(effect, SQRT2, method, n0, n1, notes, dict(details or {}))

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, dict):
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"AUCPosterior(mean={self.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], "
            f"method={self.method!r}, n0={self.n0}, n1={self.n1})"
        )

    def __float__(self) -> float:
        return self.mean

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be pickled; its content can.
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        plain: dict[str, Any] = {name: dict(v) if isinstance(v, MappingProxyType) else v for name, v in values.items()}
        return partial(type(self), **plain), ()

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        low, high = self.interval(level)
        return {
            "auc": self.mean,
            "sd": self.sd,
            "median": self.median,
            "level": level,
            "low": low,
            "high": high,
            "prob_above_chance": self.prob_above(0.5),
            "method": self.method,
            "n0": self.n0,
            "n1": self.n1,
            **self.details,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False, repr=False)
class HonestScores(ShownAsCard):
    """What the training rows would have scored had they not been in the training set.

    Attributes
    ----------
    scores : array of shape (N,), of more than two classes (N, K)
        Leave-one-out scores; of refits the mean over four of them; of a softmax or LDA of several classes up to a
        constant per row. Do not pool them into an AUC: the class balance moves with the removed row.
    pair_auc : float
        Leave-pair-out AUC, free of that bias; of more than two classes the average, of refits the share of ordered
        pairs among rows held out together.
    noise_share : float
        Share of the variance of the scores that is due to the training set, from 0 to 1; of refits a bound, which may
        be slightly above 1.
    residual : float
        How far the fit is from its optimum (0: at it), nan where the training objective is unknown.
    match : float
        How closely a surrogate matches the classifier; 1 where the objective is known.
    method, notes
        As in `AUCPosterior`.
    """

    scores: Floats
    pair_auc: float
    noise_share: float
    residual: float
    match: float
    method: str
    notes: tuple[str, ...] = ()
    _card = "honest_scores"

    def __repr__(self) -> str:
        return (
            f"HonestScores({len(self.scores)} rows, leave-pair-out AUC {self.pair_auc:.3f}, "
            f"noise_share={self.noise_share:.2f}, method={self.method!r})"
        )
