"""The leave-one-out analysis of one classifier, from which every honest result is read off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foldless.checks import Floats
from foldless.honest import rates
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.removal import Removed
from foldless.honest.scores import remove_rows
from foldless.honest.statistic import SeparationStatistic, statistic_of_removed
from foldless.laws.effect import GridEffect, StudentEffect
from foldless.model.view import LinearView


@dataclass(frozen=True, eq=False, repr=False)
class HonestScores:
    """What the training rows would have scored had they not been in the training set.

    Attributes
    ----------
    scores : array of shape (N,)
        Leave-one-out scores. Do not pool them into an AUC: the class balance moves with the removed row.
    pair_auc : float
        Leave-pair-out AUC, free of that bias.
    noise_share : float
        Share of the variance of the scores that is due to the training set, from 0 to 1.
    residual : float
        Optimality residual of the fit, nan where the training objective is unknown.
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

    def __repr__(self) -> str:
        return (
            f"HonestScores({self.scores.size} rows, leave-pair-out AUC {self.pair_auc:.3f}, "
            f"noise_share={self.noise_share:.2f}, method={self.method!r})"
        )

    def _repr_html_(self) -> str:
        from foldless.cards import results

        return results.honest_scores(self)


@dataclass(frozen=True, eq=False)
class Analysis:
    """Honest scores, their statistic, and the posterior of the separation."""

    removed: Removed
    statistic: SeparationStatistic
    effect: GridEffect
    notes: tuple[str, ...]

    @classmethod
    def of(cls, view: LinearView, prior: EffectPrior, groups: Any, sample_weight: Any) -> Analysis:
        """Remove rows, sum up, apply the prior."""
        return cls.from_removed(remove_rows(view, groups=groups, sample_weight=sample_weight), prior, view.notes)

    @classmethod
    def from_removed(cls, removed: Removed, prior: EffectPrior, notes: tuple[str, ...]) -> Analysis:
        """The same from honest scores; `notes` are those of the view."""
        statistic = statistic_of_removed(removed)
        return cls(removed, statistic, separation_posterior(statistic, prior), notes + removed.provenance.notes)

    @property
    def strained(self) -> str | None:
        """What deserves a warning: the figures are those of another classifier than the user's."""
        return self.removed.provenance.strain

    def scores(self) -> HonestScores:
        """The public face of the honest scores."""
        return HonestScores(
            scores=self.removed.loo,
            pair_auc=self.statistic.pair_auc,
            noise_share=self.statistic.noise_share,
            residual=self.removed.provenance.residual,
            match=self.removed.provenance.match,
            method=self.removed.provenance.method,
            notes=self.notes,
        )

    def details(self) -> dict[str, Any]:
        """Further figures for the summary of a result."""
        return {
            **self.removed.provenance.details(),
            "pair_auc": self.statistic.pair_auc,
            "noise_share": self.statistic.noise_share,
            "groups": None if self.removed.groups is None else int(self.removed.groups.max()) + 1,
        }

    def class_variances(self) -> tuple[float, float, float, float]:
        """(v0, v1, df0, df1) of the honest scores."""
        v0, v1 = rates.class_variances(self.removed)
        return v0, v1, self.statistic.units0 - 1.0, self.statistic.units1 - 1.0

    def shape_notes(self) -> tuple[str, ...]:
        """What to say about results that rely on the shape of the scores."""
        return rates.not_normal(self.removed)

    def class_effects(self, threshold: float) -> tuple[StudentEffect, StudentEffect]:
        """Standardised distances of both classes from the threshold."""
        return rates.class_effects(self.removed, self.statistic.noise_share, threshold)
