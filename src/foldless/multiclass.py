"""More than two classes: the posterior of the average AUC, from a classifier or from held-out scores."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.errors import InputError
from foldless.honest.class_statistic import Component, EvaluatedRows, HeldOutRows, TrainingRows, average
from foldless.honest.classes import NO_GROUPS
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.scores import on_few_rows
from foldless.laws.effect import SQRT2
from foldless.results.auc import AUCPosterior
from foldless.results.classes import MulticlassAUCPosterior, PairwisePosteriors


def posterior_of_scores(
    rows: TrainingRows, counts: Mapping[Any, int], prior: EffectPrior, multi_class: str, notes: tuple[str, ...]
) -> MulticlassAUCPosterior:
    """The posterior from honest scores; `counts` are all rows of each class."""
    scores = rows.honest
    details = {**scores.provenance.details(), "score": scores.score}
    return _posterior(rows, counts, prior, multi_class, scores.provenance.method, notes, details)


def posterior_from_scores(y: Any, scores: Any, *, prior: EffectPrior, multi_class: str) -> MulticlassAUCPosterior:
    """The posterior from held-out scores, one column per class in the sorted order of the labels."""
    z = checks.as_scores(scores, (2,))
    values = checks.label_vector(y)
    checks.same_length(len(z), values.size, "there are scores of {} rows")
    classes = checks.distinct(values)
    codes = np.searchsorted(classes, values).astype(np.intp)
    if z.shape[1] != classes.size:
        raise InputError(
            f"scores have {z.shape[1]} columns but y has {classes.size} classes ({words.listed(classes.tolist())}): "
            f"pass one column per class, in sorted order, and rows of every class."
        )
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise InputError(
            f"each class needs at least two rows, but class {classes.tolist()[int(sizes.argmin())]!r} has "
            f"{sizes.min()}: the spread of one score is unknown."
        )
    flat = np.flatnonzero(np.all(z == z[0], axis=0))
    if flat.size:
        raise InputError(f"the scores of class {classes.tolist()[flat[0]]!r} are all equal: they rank no row.")
    counts = dict(zip(classes.tolist(), sizes.tolist(), strict=True))
    return _posterior(HeldOutRows(z, codes), counts, prior, multi_class, "scores")


def _posterior(
    source: EvaluatedRows,
    counts: Mapping[Any, int],
    prior: EffectPrior,
    multi_class: str,
    method: str,
    notes: tuple[str, ...] = (),
    details: Mapping[str, Any] | None = None,
) -> MulticlassAUCPosterior:
    classes, sizes, total = tuple(counts), tuple(counts.values()), sum(counts.values())
    everyone = range(len(classes))
    notes = notes + on_few_rows(min(sizes), which="smallest")
    # Two AUCs for each pair: the score of a ranks rows of a above b, and the score of b ranks rows of b above a.
    pairs = {
        (a, b): [source.component(a, (a,), (b,)), source.component(b, (b,), (a,))] for a, b in combinations(everyone, 2)
    }
    rest = [source.component(a, (a,), tuple(k for k in everyone if k != a)) for a in everyone]

    def posterior(components: list[Component], n0: int, n1: int) -> AUCPosterior:
        statistic = average(source, components)
        figures = {"pair_auc": float(np.mean([c.auc for c in components])), "noise_share": statistic.noise_share}
        return AUCPosterior.from_effect(separation_posterior(statistic, prior), method, n0, n1, notes, figures)

    statistic = average(source, list(chain(*pairs.values())) if multi_class == "ovo" else rest)
    return MulticlassAUCPosterior(
        separation_posterior(statistic, prior),
        SQRT2,
        method,
        total,
        total,
        notes,
        {**(details or {}), "pair_auc": statistic.pair_auc, "noise_share": statistic.noise_share},
        multi_class=multi_class,
        classes=classes,
        counts=sizes,
        pairwise=PairwisePosteriors(
            classes,
            {(classes[a], classes[b]): posterior(parts, sizes[a], sizes[b]) for (a, b), parts in pairs.items()},
        ),
        against_rest={classes[k]: posterior([rest[k]], total - sizes[k], sizes[k]) for k in everyone},
    )


def refuse_two_class_options(pos_label: Any, groups: Any) -> None:
    """Refuse options that have no meaning, or no method yet, for more than two classes."""
    if pos_label is not None:
        raise InputError(
            f"pos_label={pos_label!r} is for two classes: leave it out; against_rest[{pos_label!r}] of the result is "
            f"the AUC of that class against the others."
        )
    if groups is not None:
        raise InputError(NO_GROUPS)
