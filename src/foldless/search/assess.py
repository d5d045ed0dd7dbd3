"""One candidate judged: the posterior of its AUC, and what every row contributes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from foldless import checks, multiclass, words
from foldless.checks import Floats
from foldless.errors import InputError, TrustWarning, warn_user
from foldless.estimate import auc_posterior
from foldless.findings.quick import quick_notes
from foldless.findings.scores import auc_answer
from foldless.honest.analysis import Analysis
from foldless.honest.class_statistic import Classes, Component, TrainingRows
from foldless.honest.classes import LOG_ODDS, ClassScores, evaluated_rows, log_odds, remove_rows_of_classes
from foldless.honest.design import Ints
from foldless.honest.posterior import EffectPrior
from foldless.model.view import has_several_classes, take_apart
from foldless.results.auc import AUCPosterior
from foldless.results.classes import MulticlassAUCPosterior

# ---- One candidate judged: the posterior of its AUC, and what every row contributes to it.


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
    for doubt in view.doubts:
        warn_user(doubt, TrustWarning)
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


# ---- One candidate of more than two classes judged: the posterior of its average AUC, and what every row does to it.
#
# The average A of the AUCs Phi(d_c / sqrt 2) moves with the mean differences of all rows (notation of
# `foldless.honest.class_statistic`). The share of row i is
#
#     sum_c phi(d_c / sqrt 2) / (C sqrt 2) (r_c(i) - mean) / (n_c(i) sqrt v_c).


@dataclass(frozen=True, eq=False)
class Remembered(TrainingRows):
    """Honest scores as a source that works out each AUC once: the posterior and the shares ask for the same ones."""

    _known: dict[tuple[int, Classes, Classes], Component] = field(default_factory=dict)

    def component(self, score: int, first: Classes, second: Classes) -> Component:
        key = (score, first, second)
        if key not in self._known:
            self._known[key] = super().component(score, first, second)
        return self._known[key]


def judge_classes(
    estimator: Any, X: Any, y: Any, *, prior: EffectPrior, multi_class: str, sample_weight: Any
) -> tuple[MulticlassAUCPosterior, Floats, str | None]:
    """The posterior of `auc_posterior`, the share of each row in its estimate, and what deserves a warning, if any."""
    view = take_apart(estimator, X, y, several=True)
    for doubt in view.doubts:
        warn_user(doubt, TrustWarning)
    found = remove_rows_of_classes(view, sample_weight=sample_weight)
    source = Remembered(found)
    counts = dict(zip(view.classes, view.counts.tolist(), strict=True))
    notes, method = view.notes + found.provenance.notes, found.provenance.method
    details = multiclass.details_of(found)
    posterior = multiclass.posterior_of_source(source, counts, prior, multi_class, method, notes, details)
    shares = np.zeros(view.codes.size)
    shares[rows_of(found, view.codes)] = shares_of(components_of(source, len(counts), multi_class))
    return posterior, shares, found.provenance.strain


def components_of(source: TrainingRows, n_classes: int, multi_class: str) -> list[Component]:
    """The AUCs that are averaged: of every class above every other, or of every class above the rest."""
    everyone = range(n_classes)
    if multi_class == "ovo":
        return [source.component(a, (a,), (b,)) for a, b in permutations(everyone, 2)]
    return [source.component(a, (a,), tuple(k for k in everyone if k != a)) for a in everyone]


def shares_of(components: Sequence[Component]) -> Floats:
    """What each evaluated row contributes to the average AUC."""
    d = np.array([c.separation for c in components])
    slopes = np.exp(-(d**2) / 4) / (np.sqrt(4 * np.pi) * d.size)
    return np.asarray(slopes @ np.array([c.mean_share for c in components]))


def rows_of(found: ClassScores, codes: Ints) -> Ints:
    """Which rows were evaluated.

    Candidates of different kinds may be judged on subsets of different sizes; their shares are compared by rows.
    """
    if found.codes.size == codes.size:
        return np.arange(codes.size)
    most = int(np.bincount(found.codes).max()) * found.counts.size
    rows = evaluated_rows(codes, most)
    if not np.array_equal(codes[rows], found.codes):
        raise InputError(
            f"the {found.codes.size} evaluated rows are not those that {most} allow: this is a mistake in foldless, "
            f"please report it with the number of rows per class, {np.bincount(codes).tolist()}."
        )
    return rows


# ---- The average AUC of a classifier of more than two classes on given rows, by the scores that its posterior used.


def average_auc(y: Any, decisions: Any, classes: Any, *, kind: Any, multi_class: str, sample_weight: Any) -> float:
    """Mean over ordered pairs of classes ("ovo"), or over classes against the rest ("ovr"), of the AUC of a score.

    Equal to ``sklearn.metrics.roc_auc_score(average="macro")`` on `predict_proba` where `kind` says that rows are
    ranked by odds; that function takes nothing but probabilities, and this one also decision values.

    Parameters
    ----------
    y : classes of the rows
    decisions : array of shape (N, K), from ``decision_function``
    classes : the K classes
    kind : ``details["score"]`` of the posterior
    multi_class : {"ovo", "ovr"}
    sample_weight : array of shape (N,), or None
    """
    from sklearn.metrics import roc_auc_score

    codes = codes_of(y, np.asarray(classes).tolist())
    z = ranked_by(np.asarray(decisions, dtype=np.float64), kind)
    checks.same_length(len(z), codes.size)
    weight = np.ones(codes.size) if sample_weight is None else checks.as_row_weights(sample_weight, codes.size)

    def auc(score: int, rows: Any) -> float:
        return float(roc_auc_score(codes[rows] == score, z[rows, score], sample_weight=weight[rows]))

    if multi_class == "ovr":
        return float(np.mean([auc(k, slice(None)) for k in range(z.shape[1])]))
    return float(np.mean([auc(a, np.isin(codes, (a, b))) for a, b in permutations(range(z.shape[1]), 2)]))


def ranked_by(decisions: Floats, kind: Any) -> Floats:
    """The scores that the posterior is about: log odds, which rank as probabilities do, or decision values."""
    return log_odds(decisions.T).T if kind == LOG_ODDS else decisions


def codes_of(y: Any, classes: list[Any]) -> Ints:
    """Class of each row as its place in `classes`; every class must have rows."""
    place = {label: k for k, label in enumerate(classes)}
    values = checks.label_vector(y).tolist()
    strangers = sorted({str(v) for v in values if v not in place})
    if strangers:
        raise InputError(
            f"y has unknown labels: {words.listed(strangers)}; the classes are {words.listed(classes)}: "
            f"score rows of these classes only."
        )
    codes = np.array([place[v] for v in values], dtype=np.intp)
    counts = np.bincount(codes, minlength=len(classes))
    if not counts.all():
        raise InputError(
            f"y has no rows of class {classes[int(counts.argmin())]!r}, and the average AUC is over all of "
            f"{words.listed(classes)}: score rows of every class."
        )
    return codes
