"""One candidate judged: the posterior of its AUC, and what every row contributes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.analysis import Analysis
from foldless.checks import Floats
from foldless.errors import FoldlessWarning, InputError
from foldless.honest.class_statistic import Component, TrainingRows
from foldless.honest.classes import LOG_ODDS, ClassScores, evaluated_rows, log_odds
from foldless.honest.design import Bools, Ints
from foldless.honest.leave_one_out import LeaveOneOut
from foldless.results.auc import AUCPosterior


@dataclass(frozen=True, eq=False)
class Assessment:
    """Posterior of the AUC, and the share of each row (or group) in its estimate.

    Shares of two candidates that go up and down together mean errors that do.
    """

    posterior: AUCPosterior
    shares: Floats
    warnings: tuple[FoldlessWarning, ...] = ()


def assess(analysis: Analysis) -> Assessment:
    """Judge a fitted candidate by the posterior of `auc_posterior`."""
    if analysis.several_classes:
        scores, shares = analysis.class_scores, np.zeros(analysis.view.codes.size)
        components = components_of(analysis.class_rows, scores.counts.size, analysis.options.multi_class)
        shares[rows_of(scores, analysis.view.codes)] = shares_of(components)
        return Assessment(analysis.auc, shares, analysis.warnings)
    if analysis.options.in_sample:
        z, positive = analysis.view.scores(), analysis.view.labels.positive
        return Assessment(analysis.auc, _shares((z[positive], -z[~positive]), positive), analysis.warnings)
    return Assessment(analysis.auc, shares_of_rows(analysis.leave_one_out), analysis.warnings)


def shares_of_rows(analysis: LeaveOneOut) -> Floats:
    """The share of each row, or of each group, in the estimate."""
    removed = analysis.removed
    positive = np.zeros(removed.z.size, dtype=bool)
    positive[removed.rows1] = True
    shares = _shares(removed.pairs.margins, positive)
    if removed.groups is None:
        return shares
    return np.asarray(np.bincount(removed.groups, weights=shares), dtype=np.float64)


def _shares(margins: tuple[Floats, Floats], positive: Bools) -> Floats:
    """Deviation of each row's mean difference to the other class, divided by the size of its own class."""
    shares = np.empty(positive.size)
    for rows, means in zip((positive, ~positive), margins, strict=True):
        shares[rows] = (means - means.mean()) / means.size
    return shares


def components_of(source: TrainingRows, n_classes: int, multi_class: str) -> list[Component]:
    """The AUCs that are averaged: of every class above every other, or of every class above the rest."""
    everyone = range(n_classes)
    if multi_class == "ovo":
        return [source.component(a, (a,), (b,)) for a, b in permutations(everyone, 2)]
    return [source.component(a, (a,), tuple(k for k in everyone if k != a)) for a in everyone]


def shares_of(components: Sequence[Component]) -> Floats:
    """What each evaluated row contributes to the average AUC.

    The average of the C AUCs Phi(d_c / sqrt 2) moves with the mean differences r_c(i) of all rows, in the notation of
    `foldless.honest.class_statistic`. The share of row i is

        sum_c phi(d_c / sqrt 2) / (C sqrt 2) (r_c(i) - mean) / (n_c(i) sqrt v_c).
    """
    d = np.array([c.separation for c in components])
    slopes = np.exp(-(d**2) / 4) / (np.sqrt(4 * np.pi) * d.size)
    return np.asarray(slopes @ np.array([c.mean_share for c in components]))


def rows_of(scores: ClassScores, codes: Ints) -> Ints:
    """Which rows were evaluated.

    Candidates of different kinds may be judged on subsets of different sizes; their shares are compared by rows.
    """
    if scores.codes.size == codes.size:
        return np.arange(codes.size)
    most = int(np.bincount(scores.codes).max()) * scores.counts.size
    rows = evaluated_rows(codes, most)
    if not np.array_equal(codes[rows], scores.codes):
        raise InputError(
            f"the {scores.codes.size} evaluated rows are not those that {most} allow: this is a mistake in foldless, "
            f"please report it with the number of rows per class, {np.bincount(codes).tolist()}."
        )
    return rows


def average_auc(y: Any, decisions: Any, classes: Any, *, kind: Any, multi_class: str, sample_weight: Any) -> float:
    """Mean over ordered pairs of classes ("ovo"), or over classes against the rest ("ovr"), of the AUC of a score.

    `decisions` (N, K) come from ``decision_function``; `kind` is ``details["score"]`` of the posterior. Equal to
    ``sklearn.metrics.roc_auc_score(average="macro")`` on `predict_proba` where `kind` says that rows are ranked by
    odds; that function takes nothing but probabilities, and this one also decision values.
    """
    from sklearn.metrics import roc_auc_score

    codes = codes_of(y, np.asarray(classes).tolist())
    z = np.asarray(decisions, dtype=np.float64)
    z = log_odds(z.T).T if kind == LOG_ODDS else z
    checks.same_length(len(z), codes.size)
    weight = np.ones(codes.size) if sample_weight is None else checks.as_row_weights(sample_weight, codes.size)

    def auc(score: int, rows: Any) -> float:
        return float(roc_auc_score(codes[rows] == score, z[rows, score], sample_weight=weight[rows]))

    if multi_class == "ovr":
        return float(np.mean([auc(k, slice(None)) for k in range(z.shape[1])]))
    return float(np.mean([auc(a, np.isin(codes, (a, b))) for a, b in permutations(range(z.shape[1]), 2)]))


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
