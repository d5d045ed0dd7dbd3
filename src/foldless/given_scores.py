"""Held-out scores of any classifier: AUC, ROC curve and error rates, from the order of the scores alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from foldless import checks
from foldless.checks import Floats, Ints
from foldless.errors import InputError
from foldless.honest import rates
from foldless.honest.leave_one_out import on_few_rows
from foldless.honest.normal_scale import NormalScale
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.statistic import SeparationStatistic, statistic_of_scores
from foldless.laws.effect import GridEffect
from foldless.results.auc import AUCPosterior
from foldless.results.classes import posterior_from_scores, refuse_pos_label
from foldless.results.error import ErrorPosterior, SeparateScales, shares_of
from foldless.results.roc import BinormalCurves, ROCPosterior

METHOD = "scores"


def auc_posterior_from_scores(
    y: Any,
    scores: Any,
    *,
    prior: Any = None,
    groups: Any = None,
    pos_label: Any = None,
    multi_class: Literal["ovo", "ovr"] = "ovo",
) -> AUCPosterior:
    """Posterior of the AUC from held-out scores of any classifier, linear or not.

    The rows must not have been used in the fit. `scores` may be on any scale, larger for the positive class.

    Parameters
    ----------
    y : array of shape (N,)
        Labels of two or more classes.
    scores : array of shape (N,), or (N, K) for K > 2 classes, one column for each in sorted order
    prior, groups, pos_label, multi_class
        As in `auc_posterior`.

    Examples
    --------
    >>> import foldless as fl
    >>> post = fl.auc_posterior_from_scores([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.2, 0.3, 0.9, 0.7])
    >>> 0.6 < post.mean < 0.95
    True
    """
    checks.known_average(multi_class)
    if _one_column_per_class(scores):
        refuse_pos_label(pos_label)
        known = EffectPrior.checked(prior)
        return posterior_from_scores(y, scores, prior=known, multi_class=multi_class, groups=groups)
    given = GivenScores.of(y, scores, prior, groups, pos_label)
    details = {"pair_auc": given.statistic.pair_auc}
    return AUCPosterior.from_effect(given.effect, METHOD, given.n0, given.n1, given.notes, details)


def roc_posterior_from_scores(
    y: Any, scores: Any, *, prior: Any = None, groups: Any = None, pos_label: Any = None
) -> ROCPosterior:
    """Posterior of the ROC curve from held-out scores of any classifier of two classes.

    Its area has the posterior of `auc_posterior_from_scores`. Parameters as there.

    Examples
    --------
    >>> import foldless as fl
    >>> roc = fl.roc_posterior_from_scores([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.2, 0.3, 0.9, 0.7])
    >>> bool(roc.mean(0.1) < roc.mean(0.5))
    True
    """
    given = GivenScores.of(y, scores, prior, groups, pos_label)
    return ROCPosterior(given.curves(), METHOD, given.n0, given.n1, given.notes)


def error_posterior_from_scores(
    y: Any,
    scores: Any,
    *,
    threshold: float,
    prevalence: float | None = None,
    groups: Any = None,
    pos_label: Any = None,
) -> ErrorPosterior:
    """Posterior of error, sensitivity, specificity, PPV and NPV from held-out scores of any classifier of two classes.

    Parameters
    ----------
    y, scores, groups, pos_label
        As in `auc_posterior_from_scores`.
    threshold : float
        On the scale of the scores: rows above it are classified as positive.
    prevalence : float, optional
        Share of the positive class where the classifier will be used. By default that in y, give or take what chance
        does to a random sample of its size.

    Examples
    --------
    >>> import foldless as fl
    >>> post = fl.error_posterior_from_scores([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.2, 0.3, 0.9, 0.7], threshold=0.5)
    >>> bool(post.specificity.mean > post.sensitivity.mean)
    True
    """
    given = GivenScores.of(y, scores, None, groups, pos_label)
    at = checks.as_number(threshold, "threshold")
    pair, n = SeparateScales(*rates.effects_at(given.scale, given.groups, 0.0, at)), given.n0 + given.n1
    post = ErrorPosterior(pair, at, given.n1 / n, METHOD, given.n0, given.n1, given.notes)
    if prevalence is not None:
        return replace(post, prevalence=checks.in_open_interval(prevalence, "prevalence"))
    return replace(post, shares=shares_of(post.prevalence, n, groups))


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Scores of the negative and of the positive rows, with their statistic and the posterior of the separation."""

    scores: tuple[Floats, Floats]
    groups: tuple[Ints | None, Ints | None]
    statistic: SeparationStatistic
    effect: GridEffect
    notes: tuple[str, ...]

    @classmethod
    def of(cls, y: Any, scores: Any, prior: Any, groups: Any, pos_label: Any) -> GivenScores:
        """Check what the user gave, compute the statistic, apply the prior."""
        z = checks.as_scores(scores)
        labels = checks.as_labels(y, pos_label=pos_label)
        checks.same_length(z.size, labels.positive.size, "there are {} scores")
        if min(labels.n0, labels.n1) < 2:
            raise InputError("each class needs at least two rows: the spread of one score is unknown.")
        if np.all(z == z[0]):
            raise InputError("scores are all equal: they rank no row above another.")
        one = labels.positive
        codes = None if groups is None else checks.as_groups(groups, one, fewest=2)
        statistic = statistic_of_scores(z, one, codes)
        notes = on_few_rows(min(statistic.units0, statistic.units1), "rows" if groups is None else "groups")
        by_class = (None, None) if codes is None else (codes[~one], codes[one])
        effect = separation_posterior(statistic, EffectPrior.checked(prior))
        return cls((z[~one], z[one]), by_class, statistic, effect, notes)

    @property
    def n0(self) -> int:
        """Negative rows."""
        return self.scores[0].size

    @property
    def n1(self) -> int:
        """Positive rows."""
        return self.scores[1].size

    @property
    def scale(self) -> NormalScale:
        """The normal scale of the ranks."""
        return NormalScale.of(*self.scores)

    def curves(self) -> BinormalCurves:
        """The law of the ROC curve."""
        return BinormalCurves.from_variances(self.effect, *rates.shape(self.scale, self.statistic))


def _one_column_per_class(scores: Any) -> bool:
    try:
        shape = np.shape(scores)
    except ValueError:  # rows of unequal length: `as_scores` says so
        return False
    return len(shape) == 2 and shape[1] > 2
