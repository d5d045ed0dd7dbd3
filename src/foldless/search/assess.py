"""One candidate judged: the posterior of its AUC, and what every row contributes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Floats
from foldless.anatomy import take_apart
from foldless.auc import AUCPosterior
from foldless.estimate import auc_posterior
from foldless.findings.quick import quick_notes
from foldless.honest import remove_rows
from foldless.honest.analysis import Analysis
from foldless.honest.multi.view import has_several_classes
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.result import Removed
from foldless.honest.statistics import statistic_of_removed
from foldless.search.classes import judge_classes


@dataclass(frozen=True)
class Judge:
    """How candidates are judged: the method, its prior, the groups of dependent rows, and what is averaged."""

    method: str
    prior: Any
    groups: Any
    multi_class: str = "ovo"


@dataclass(frozen=True, eq=False)
class Assessment:
    """Posterior of the AUC, and the share of each row (or group) in its estimate.

    Shares of two candidates that go up and down together mean errors that do.
    """

    posterior: AUCPosterior
    shares: Floats
    strained: str | None = None


def assess(estimator: Any, X: Any, y: Any, judge: Judge, sample_weight: Any) -> Assessment:
    """Judge a fitted candidate on its training rows; gives the posterior of `auc_posterior`."""
    if has_several_classes(estimator):
        prior = judge.prior or EffectPrior.default()
        how: dict[str, Any] = {"multi_class": judge.multi_class, "sample_weight": sample_weight}
        return Assessment(*judge_classes(estimator, X, y, prior=prior, **how))
    if judge.method == "in-sample":
        posterior = auc_posterior(estimator, X, y, method="in-sample", prior=judge.prior, groups=judge.groups)
        view = take_apart(estimator, X, y)
        z, positive = view.scores(), view.labels.positive
        return Assessment(posterior, _shares(z[positive][:, None] - z[~positive], *_places(positive)))
    view = take_apart(estimator, X, y)
    removed = remove_rows(view, groups=judge.groups, sample_weight=sample_weight)
    notes = view.notes + quick_notes(view, X, removed.groups)
    return from_removed(removed, judge, notes, view.labels.n0, view.labels.n1)


def from_removed(removed: Removed, judge: Judge, notes: tuple[str, ...], n0: int, n1: int) -> Assessment:
    """Judge honest scores."""
    statistic = statistic_of_removed(removed)
    effect = separation_posterior(statistic, judge.prior or EffectPrior.default())
    analysis = Analysis(removed, statistic, effect, notes + removed.notes)
    posterior = AUCPosterior.from_effect(effect, removed.method, n0, n1, analysis.notes, analysis.details())
    diff = removed.differences
    shares = _shares(diff, removed.rows1, removed.rows0, removed.z.size)
    if removed.groups is not None:
        shares = np.asarray(np.bincount(removed.groups, weights=shares), dtype=np.float64)
    return Assessment(posterior, shares, analysis.strained)


def _shares(diff: Floats, rows1: Any, rows0: Any, n: int) -> Floats:
    """Deviation of each row's mean difference to the other class, divided by the size of its own class."""
    shares = np.zeros(n)
    for rows, axis in ((rows1, 1), (rows0, 0)):
        means = diff.mean(axis=axis)
        shares[rows] = (means - means.mean()) / means.size
    return shares


def _places(positive: Any) -> tuple[Any, Any, int]:
    return np.flatnonzero(positive), np.flatnonzero(~positive), positive.size
