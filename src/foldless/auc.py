"""`AUCPosterior`: what is known about the AUC of one classifier, and the questions it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from foldless.effect import SQRT2, Effect
from foldless.rate import RatePosterior


@dataclass(frozen=True, repr=False, eq=False)
class AUCPosterior(RatePosterior):
    """Posterior of the area under the ROC curve.

    Attributes
    ----------
    method : str
        "loo", "loo-surrogate", "in-sample" or "scores": where the number comes from.
    n0, n1 : int
        Rows of the negative and the positive class.
    notes : tuple of str
        What a reader of the number must know.
    details : mapping
        Further figures of the method.

    Examples
    --------
    >>> import foldless as fl
    >>> from foldless.student import StudentEffect
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
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_effect(
        cls,
        effect: Effect,
        method: str,
        n0: int,
        n1: int,
        notes: tuple[str, ...] = (),
        details: Mapping[str, Any] | None = None,
    ) -> AUCPosterior:
        """The posterior of AUC = Phi(delta / sqrt 2), given that of delta."""
        return cls(effect, SQRT2, method, n0, n1, notes, MappingProxyType(dict(details or {})))

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"AUCPosterior(mean={self.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], "
            f"method={self.method!r}, n0={self.n0}, n1={self.n1})"
        )

    def _repr_html_(self) -> str:
        from foldless._html import results

        return results.auc_posterior(self)

    def __float__(self) -> float:
        return self.mean

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping does not pickle; its content does.
        return AUCPosterior.from_effect, (
            self.effect,
            self.method,
            self.n0,
            self.n1,
            self.notes,
            dict(self.details),
        )

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
