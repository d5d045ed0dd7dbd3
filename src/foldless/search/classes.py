"""One candidate of more than two classes judged: the posterior of its average AUC, and what every row does to it.

The average A of the AUCs Phi(d_c / sqrt 2) moves with the mean differences of all rows (`foldless.honest.multi`
`.statistics` has the notation). The share of row i is

    sum_c phi(d_c / sqrt 2) / (C sqrt 2) (r_c(i) - mean) / (n_c(i) sqrt v_c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from foldless._check import Floats
from foldless.errors import InputError
from foldless.honest.design import Ints
from foldless.honest.multi import evaluated_rows, remove_rows_of_classes
from foldless.honest.multi.result import ClassScores
from foldless.honest.multi.statistics import Classes, Component, TrainingRows
from foldless.honest.multi.view import take_classes_apart
from foldless.honest.notes import strain
from foldless.honest.posterior import EffectPrior
from foldless.multiclass import MulticlassAUCPosterior, analysis


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
    view = take_classes_apart(estimator, X, y)
    found = remove_rows_of_classes(view, sample_weight=sample_weight)
    source = Remembered(found)
    counts = dict(zip(view.classes, view.counts.tolist(), strict=True))
    notes, details = view.notes + found.notes, analysis.details_of(found)
    posterior = analysis.posterior_of_source(source, counts, prior, multi_class, found.method, notes, details)
    shares = np.zeros(view.codes.size)
    shares[rows_of(found, view.codes)] = shares_of(components_of(source, len(counts), multi_class))
    return posterior, shares, strain(found.notes, found.direction_cosine)


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
