"""Every measure of a model with probabilities, read off the honest probabilities of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Floats, Ints, as_numbers
from foldless.errors import InputError
from foldless.honest import probabilities
from foldless.honest.calibration import CalibrationLaw
from foldless.honest.probabilities import Estimate, ProbableRows, Unseen
from foldless.laws.effect import SQRT2, Effect, effect_of
from foldless.results.calibration import Calibration
from foldless.results.classes import MulticlassAUCPosterior
from foldless.results.error import ErrorPosterior
from foldless.results.measure import Measure
from foldless.results.roc import EPS, BinormalCurves, PrecisionRecall, average_precision

PRECISION_ROWS = 100.0  # as many as the binormal law counts for, where its average precision is not the sample's


@dataclass(frozen=True, eq=False)
class Measures:
    """The rows, the posterior of the separation, the law of the ROC curve, and the rates at a probability."""

    rows: ProbableRows
    effect: Effect
    estimate: float  # of the separation, without its prior
    curves: BinormalCurves
    rates_at: Callable[[float], ErrorPosterior]
    method: str
    notes: tuple[str, ...]

    @cached_property
    def calibration(self) -> Calibration:
        """Slope, intercept, observed/expected, ICI, and the curve."""
        return Calibration(CalibrationLaw(self.rows, self.effect, self.estimate), self.method, self.notes)

    @cached_property
    def unseen(self) -> Unseen:
        """Rows that averages over few rows count besides."""
        return self.rows.balanced.unseen(self.effect)

    @cached_property
    def brier(self) -> Measure:
        """Mean squared error of the probabilities."""
        rows, loss = self.rows, probabilities.brier
        apparent = float(rows.weights @ loss(rows.own, rows.positive))
        found = rows.balanced.average(loss, self.unseen, self.calibration.law.said)
        return Measure.positive("Brier score", found, apparent, 1.0)

    @cached_property
    def log_loss(self) -> Measure:
        """Mean of minus the log probability of the class that came true."""
        rows, loss = self.rows, probabilities.log_loss
        apparent = float(rows.weights @ loss(rows.own, rows.positive))
        return Measure.positive("log loss", rows.balanced.average(loss, self.unseen), apparent)

    @cached_property
    def scaled_brier(self) -> Measure:
        """1 less the Brier score over that of the prevalence as everybody's probability."""
        law = self.rows.balanced.scaled_brier(self.brier.mean, self.unseen)
        reference = self.rows.share * (1 - self.rows.share)
        return Measure.normal("scaled Brier", law, 1 - self.brier.apparent / reference, 1.0)

    @cached_property
    def average_precision(self) -> Measure:
        """Area under the precision-recall curve."""
        rows, w = self.rows, self.calibration.law.counted_beside(PRECISION_ROWS)
        kept = w**2 / (w**2 + (1 - w) ** 2)  # the shape that few rows have is mostly that of the fit
        return average_precision(self.curves, rows.prevalences(), (rows.positive, rows.own, rows.weights), kept)

    @cached_property
    def precision_recall(self) -> PrecisionRecall:
        """The precision-recall curve."""
        return PrecisionRecall(self.curves, self.rows.share, self.method, self.notes)

    def net_benefit(self, thresholds: Any) -> NetBenefit:
        """The decision curve at these probabilities."""
        at: Floats = np.atleast_1d(as_numbers(thresholds, "thresholds"))
        if at.ndim != 1 or not at.size or np.any((at <= 0) | (at >= 1)):
            raise InputError(f"thresholds must be probabilities strictly between 0 and 1, got {thresholds!r}.")
        each = tuple(net_benefit_at(self.rates_at(float(t)), self.calibration.law, float(t)) for t in at)
        return NetBenefit(at, each, self.rows.share, self.notes)


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """The same of more than two classes, from the probabilities of all rows, and their AUCs."""

    honest: Floats  # (K, R, N), in R repeats
    own: Floats  # (K, N)
    codes: Ints
    auc: MulticlassAUCPosterior
    groups: Ints | None = None

    @cached_property
    def brier(self) -> Measure:
        """Squared error of the probabilities, summed over the classes, on average."""
        true = np.arange(len(self.own))[:, None] == self.codes
        others = np.where(true[:, None], 0.0, self.honest)
        # What a row's class does not get goes to the others as it does where rows were left out.
        split = float(np.mean(np.square(others).sum(axis=0) / np.maximum(others.sum(axis=0), EPS) ** 2))
        return self._average(
            "Brier score", lambda p: np.square(p - true).sum(axis=0), lambda p: (1 + split) * np.square(1 - p), most=2.0
        )

    @cached_property
    def log_loss(self) -> Measure:
        """Mean of minus the log probability of the class that came true."""
        rows = np.arange(self.codes.size)

        def of_true(p: Floats) -> Floats:
            return np.asarray(-np.log(np.maximum(p, EPS)))

        return self._average("log loss", lambda p: of_true(p[self.codes, rows]), of_true)

    def _average(
        self, name: str, loss: Callable[[Floats], Floats], unseen: Callable[[Floats], Floats], most: float = np.inf
    ) -> Measure:
        """The mean loss; `unseen`: that of a further row, by the probability of its class."""
        rows = self.of_class(0, float(self.auc.details["noise_share"]))
        losses = np.mean([loss(p) for p in np.moveaxis(self.honest, 1, 0)], axis=0)
        law = rows.mean_of(losses, False, self.unseen.of(lambda p, _: unseen(p)))
        law = replace(law, error=law.error * (1 + rows.noise_share) ** 0.5)  # whatever the order of the classes
        return Measure.positive(name, law, float(loss(self.own).mean()), most)

    @cached_property
    def unseen(self) -> Unseen:
        """Further rows of each class, with its probability."""
        each = [self.of_class(k, 0.0).unseen(post.effect) for k, post in enumerate(self.auc.against_rest.values())]
        p, weights = (np.concatenate([getattr(law, x)[law.positive] for law in each]) for x in ("values", "weights"))
        return Unseen(np.arange(p.size) < np.count_nonzero(each[0].positive), p, weights, each[0].share)

    def of_class(self, k: int, noise_share: float) -> ProbableRows:
        """Class k against the rest."""
        return ProbableRows(self.codes == k, self.honest[k], self.own[k], noise_share, self.groups)

    @cached_property
    def calibration(self) -> Mapping[Any, Calibration]:
        """That of each class against the rest, by label."""
        laws = {}
        for k, (label, post) in enumerate(self.auc.against_rest.items()):
            rows = self.of_class(k, float(post.details["noise_share"]))
            estimate = float(effect_of(np.clip(post.details["pair_auc"], EPS, 1 - EPS), SQRT2))
            laws[label] = Calibration(CalibrationLaw(rows, post.effect, estimate), self.auc.method, self.auc.notes)
        return laws


@dataclass(frozen=True, eq=False, repr=False)
class NetBenefit:
    """Posterior of the net benefit at each threshold: prevalence x TPR - odds x (1 - prevalence) x FPR.

    `mean`, `sd`, `apparent`, `treat_all` and `treat_none` are arrays, one value for each of `thresholds`, and so are
    both ends of `interval(level)`. A true positive counts 1, a false positive the odds of the threshold.
    """

    thresholds: Floats
    measures: tuple[Measure, ...]
    prevalence: float
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> Floats:
        """Posterior means."""
        return np.array([each.mean for each in self.measures])

    @property
    def sd(self) -> Floats:
        """Posterior standard deviations."""
        return np.array([each.sd for each in self.measures])

    @property
    def apparent(self) -> Floats:
        """The net benefit on the training rows, by the fit that saw them."""
        return np.array([each.apparent for each in self.measures])

    @property
    def treat_all(self) -> Floats:
        """The net benefit of a positive decision for every row."""
        return np.asarray(self.prevalence - (1 - self.prevalence) * self.thresholds / (1 - self.thresholds))

    @property
    def treat_none(self) -> Floats:
        """That of none: zero."""
        return np.zeros(self.thresholds.shape)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Central credible intervals: lower and upper ends."""
        ends = np.array([each.interval(level) for each in self.measures])
        return ends[:, 0], ends[:, 1]

    def __repr__(self) -> str:
        parts = (f"{t:g}: {each.mean:.3f}" for t, each in zip(self.thresholds[:5], self.measures, strict=False))
        return f"NetBenefit({', '.join(parts)}{', ...' if self.thresholds.size > 5 else ''})"


def net_benefit_at(post: ErrorPosterior, curve: CalibrationLaw, threshold: float) -> Measure:
    """The net benefit at one threshold: a normal law with the moments of rates and prevalence, less what is chance."""
    rows, cost, fpr, tpr = curve.rows, threshold / (1 - threshold), post.rates.fpr, post.rates.tpr
    hits, alarms, share = tpr.mean_probability(1.0), cost * fpr.mean_probability(1.0), rows.share
    if (flagged := rows.honest >= threshold).all() or not flagged.any():  # all are treated, or none
        hits, alarms = float(flagged[0, 0]), cost * flagged[0, 0]
    spread = share * (1 - share) / rows.positive.size if rows.prevalence is None else 0.0
    variance = (
        (share**2 + spread) * tpr.sd_probability(1.0) ** 2
        + ((1 - share) ** 2 + spread) * (cost * fpr.sd_probability(1.0)) ** 2
        + spread * (hits + alarms) ** 2
    )
    value = share * hits - (1 - share) * alarms
    chance = rows.chance_in(value, 1.0 * flagged[0], -cost * flagged[0], curve.said)
    apparent = float(rows.weights @ ((rows.own >= threshold) * np.where(rows.positive, 1.0, -cost)))
    law = Measure.normal(f"net benefit at {threshold:g}", Estimate(value - chance, float(variance**0.5)), apparent)
    # All positive rows found and no false alarm: more cannot be had.
    return replace(law, values=np.minimum(law.values, share + 3 * np.sqrt(spread)))
