"""The leave-one-out analysis of two classes: remove rows, compute one statistic, apply the prior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from foldless.honest import rates
from foldless.honest.normal_scale import NormalScale
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.removal import Removed
from foldless.honest.scores import remove_rows
from foldless.honest.statistic import SeparationStatistic, statistic_of_removed
from foldless.laws.effect import GridEffect, StudentEffect
from foldless.model.view import LinearView


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Honest scores, their statistic, and the posterior of the separation."""

    removed: Removed
    statistic: SeparationStatistic
    effect: GridEffect
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, view: LinearView, prior: EffectPrior, groups: Any, sample_weight: Any, stand_in: bool = True
    ) -> LeaveOneOut:
        """Remove rows, compute the statistic, apply the prior."""
        removed = remove_rows(view, groups=groups, sample_weight=sample_weight, stand_in=stand_in)
        return cls.from_removed(removed, prior, view.notes)

    @classmethod
    def from_removed(cls, removed: Removed, prior: EffectPrior, notes: tuple[str, ...]) -> LeaveOneOut:
        """The same from honest scores; `notes` are those of the view."""
        statistic = statistic_of_removed(removed)
        return cls(removed, statistic, separation_posterior(statistic, prior), notes + removed.provenance.notes)

    @property
    def method(self) -> str:
        """ "loo", or "loo-surrogate" where a ridge regression stands in."""
        return self.removed.provenance.method

    @property
    def strained(self) -> str | None:
        """The note that calls for a warning: the figures are those of a classifier other than the user's."""
        return self.removed.provenance.strain

    def details(self) -> dict[str, Any]:
        """Further figures for the summary of a result."""
        return {
            **self.removed.provenance.details(),
            "pair_auc": self.statistic.pair_auc,
            "noise_share": self.statistic.noise_share,
            "groups": None if self.removed.groups is None else int(self.removed.groups.max()) + 1,
        }

    @cached_property
    def _scale(self) -> NormalScale:
        return NormalScale.of(*rates.pair_scores(self.removed))

    def class_variances(self) -> tuple[float, float, float, float]:
        """(v0, v1, df0, df1) of the honest scores on the normal scale of their ranks."""
        return rates.shape(self._scale, self.statistic)

    def class_effects(self, threshold: float) -> tuple[StudentEffect, StudentEffect]:
        """Standardised distances of both classes from the threshold."""
        codes, rows = self.removed.groups, (self.removed.rows0, self.removed.rows1)
        groups = (None, None) if codes is None else (codes[rows[0]], codes[rows[1]])
        return rates.effects_at(self._scale, groups, self.statistic.noise_share, threshold)
