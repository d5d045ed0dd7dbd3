"""The subject of a report, and the parts that are read off its analysis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.analysis import Analysis
from foldless.cards.drawing import density_curve
from foldless.errors import EstimatorError, InputError
from foldless.model.steps import why_unknown
from foldless.plan.learning import learning_curve
from foldless.results.accuracy import ClassErrorPosterior
from foldless.results.classes import MulticlassAUCPosterior
from foldless.results.error import ErrorPosterior
from foldless.results.roc import ROCPosterior
from foldless.show import style
from foldless.show.auc import AUCPosteriorDisplay
from foldless.show.comparison import LearningCurveDisplay
from foldless.show.report import page
from foldless.show.roc import ROCCurve, ROCPosteriorDisplay


@dataclass(frozen=True)
class Part:
    """One part of the report: its content as a dict of plain values, and pictures by name."""

    content: dict[str, Any]
    pictures: dict[str, page.Picture] = field(default_factory=dict)

    @classmethod
    def skipped(cls, reason: str) -> Part:
        """A part that does not apply, with the reason as a sentence."""
        return cls({"skipped": reason})


@dataclass(frozen=True, eq=False)
class Case:
    """The subject of a report: an analysis, and how to show it; `names` are those of the columns of X, if any."""

    analysis: Analysis
    level: float
    names: list[str] | None
    seed: int
    search: bool

    @classmethod
    def of(cls, analysis: Analysis, level: float, feature_names: Iterable[str] | None, seed: Any, search: bool) -> Case:
        """Check what the parts rely on."""
        level = checks.in_open_interval(level, "level")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
            raise InputError(f"seed must be a whole number from 0 to 2**32 - 1, got {seed!r}.")
        return cls(analysis, level, checks.feature_names(feature_names, analysis.X), int(seed), bool(search))

    @property
    def two_classes(self) -> bool:
        return not self.analysis.several_classes

    @property
    def is_weights(self) -> bool:
        """Whether it is a bare weight vector, which cannot be refitted."""
        return not hasattr(self.analysis.estimator, "fit")

    @cached_property
    def why_no_risks(self) -> str | None:
        """Why the classifier has no probabilities that could be judged; None if it has."""
        try:
            return None if self.analysis.probabilities.size else "There are no rows."
        except (EstimatorError, InputError) as err:
            return style.capital(str(err))

    @property
    def counts(self) -> dict[Any, int]:
        """Rows of each class; with two classes, the positive one first."""
        view = self.analysis.rows if self.two_classes else self.analysis.of_classes
        order = slice(None, None, -1 if self.two_classes else 1)
        return dict(zip(view.classes[order], view.counts[order].tolist(), strict=True))


def auc_part(case: Case) -> Part:
    """The posterior of the AUC, and its picture."""
    post = case.analysis.auc
    content: dict[str, Any] = post.summary(case.level)
    quantity = "AUC"
    if isinstance(post, MulticlassAUCPosterior):
        content["weakest"], quantity = list(post.pairwise.weakest()), "average AUC"
        content["confusion"] = _confusion(case)
    alt = (
        f"Posterior density of the {quantity}: mean {words.rate(post.mean)}, {words.percent(case.level)} interval "
        f"{words.span(content['low'], content['high'])}."
    )

    def draw(ax: Any) -> None:
        AUCPosteriorDisplay({"": density_curve(post, case.level)}, quantity=quantity).plot(ax)
        ax.set_yticks([])

    return Part(content, {"density": page.Picture(alt, draw, 2.1)})


def _confusion(case: Case) -> list[dict[str, Any]]:
    """Of 100 new rows of each class, those taken for each class, with intervals; none where there are many classes."""
    post = case.analysis.error()
    if not isinstance(post, ClassErrorPosterior) or len(post.classes) > page.MOST_CLASSES:
        return []
    low, high = post.confusion_interval(case.level)
    cells = 100 * np.stack([post.confusion_mean, low, high], axis=-1)
    return [
        {"label": label, "cells": [dict(zip(("mean", "low", "high"), cell, strict=True)) for cell in line.tolist()]}
        for label, line in zip(post.classes, cells, strict=True)
    ]


NO_THRESHOLD = (
    "Given weights rank rows but draw no line between the classes: pass a threshold to foldless.error_posterior."
)


def rates_part(case: Case) -> Part:
    """The rates at the threshold of the classifier and the prevalence of the data."""
    rates = own_rates(case)
    if isinstance(rates, str):
        return Part.skipped(rates)
    counts = {name: count._asdict() for name, count in rates.confusion(100, case.level).items()}
    return Part({**rates.summary(case.level), "per_100": counts})


def own_rates(case: Case) -> ErrorPosterior | str:
    """The rates at the classifier's own threshold, or why they are unknown."""
    reason = NO_THRESHOLD if case.is_weights else why_unknown(case.analysis.estimator)
    return case.analysis.rates() if reason is None else reason


# ---- The ROC curve with its band.

TABLE_FPR = (0.05, 0.1, 0.2, 0.3)


def roc_part(case: Case) -> Part:
    """True positive rates along the curve, and the curve drawn with the operating point on it."""
    roc, rates = case.analysis.roc, own_rates(case)
    curve = ROCCurve.of(roc, case.level, None if isinstance(rates, str) else rates)
    points = [{"fpr": fpr, **roc.tpr_at(fpr, case.level)._asdict()} for fpr in TABLE_FPR]
    drawn = {"fpr": curve.fpr, "tpr": curve.mean, "low": curve.low, "high": curve.high}
    beside = None if isinstance(rates, str) else _beside_curve(roc, rates, case.level)
    content = {"level": case.level, "points": points, "curve": drawn, "point": beside, "notes": list(roc.notes)}
    rising = "; ".join(
        f"at a false positive rate of {p['fpr']:g} the true positive rate is {words.rate(p['mean'])}" for p in points
    )
    alt = f"ROC curve with its {words.percent(case.level)} band. {rising}."

    return Part(content, {"roc": page.Picture(alt, ROCPosteriorDisplay({"": curve}).plot, 4.0, 4.2)})


def _beside_curve(roc: ROCPosterior, rates: ErrorPosterior, level: float) -> dict[str, Any]:
    """The operating point beside the curve at its false positive rate, in words where it is outside the band."""
    fpr, tpr = 1 - rates.specificity.mean, rates.sensitivity.mean
    curve = roc.tpr_at(fpr, level)
    side = "above" if tpr > curve.high else "below" if tpr < curve.low else None
    text = "The dot at the threshold, which is counted from the rows on both sides of it, agrees with the curve."
    if side is not None:
        text = (
            f"At the threshold the sensitivity is {words.rate(tpr)}, {side} the band of the curve there "
            f"({words.span(curve.low, curve.high)}). The dot is counted from the rows on both sides of the threshold, "
            f"and so is the thin line; the smooth curve has a shape with one bend, set by the AUC and the spread of "
            f"the scores in each class, which does not follow these data here. For this threshold use the dot."
        )
    return {"fpr": fpr, "tpr": tpr, "curve": curve._asdict(), "agrees": side is None, "text": text}


FACTORS = (1, 2, 5)
POINT_KEYS = ("rows", "auc", "low", "high", "half_width_then")
ZOOM = 0.75


def learning_curve_part(case: Case) -> Part:
    """The AUC to expect from 2 and 5 times the rows, as a table and a picture."""
    if not case.analysis.in_closed_form:
        return Part.skipped("For classifiers whose rows are left out in closed form only.")
    content = learning_curve(case.analysis, factors=FACTORS).summary(case.level)
    alt = "; ".join(f"{p['rows']} rows: {words.estimate(p['auc'], p['low'], p['high'])}" for p in content["points"])
    rows, mean, low, high, half_widths = ([p[key] for p in content["points"]] for key in POINT_KEYS)

    def draw(ax: Any) -> None:
        display = LearningCurveDisplay(rows, mean, low, high, half_widths, case.level).plot(ax)
        lowest = min(low)
        if lowest > ZOOM:  # with chance in view, most of the picture would be empty
            display.chance_level_.remove()
            ax.set_ylim(lowest - 0.3 * (1 - lowest) - 0.02, 1.003)
            style.legend(ax, loc="lower right")

    return Part(content, {"learning": page.Picture(f"AUC to expect: {alt}.", draw, 3.0)})


def diagnosis_part(case: Case) -> Part:
    """The findings, the worst first, without the AUC, which has its own part."""
    return Part({key: value for key, value in case.analysis.diagnosis.summary().items() if key != "auc"})
