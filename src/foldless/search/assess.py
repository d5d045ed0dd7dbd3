"""One candidate judged: the posterior of its AUC, and what every row contributes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Floats
from foldless.anatomy import take_apart
from foldless.auc import AUCPosterior
from foldless.estimate import auc_posterior
from foldless.findings.answer import auc_answer
from foldless.findings.quick import quick_notes
from foldless.honest.analysis import Analysis
from foldless.honest.multi.view import has_several_classes
from foldless.honest.posterior import EffectPrior
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
    analysis = Analysis.of(view, judge.prior or EffectPrior.default(), judge.groups, sample_weight)
    return from_analysis(analysis, view.labels.n0, view.labels.n1, quick_notes(view, X, analysis.removed.groups))


def from_analysis(analysis: Analysis, n0: int, n1: int, table_notes: tuple[str, ...]) -> Assessment:
    """Judge honest scores."""
    posterior, removed = auc_answer(analysis, n0, n1, table_notes), analysis.removed
    shares = _shares(removed.differences, removed.rows1, removed.rows0, removed.z.size)
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
