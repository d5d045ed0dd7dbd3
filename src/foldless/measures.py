"""Every measure of a model with probabilities, read off the honest probabilities of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Floats, as_numbers
from foldless.errors import InputError
from foldless.honest import probabilities
from foldless.honest.calibration import CalibrationLaw
from foldless.honest.design import Ints
from foldless.honest.probabilities import ProbableRows
from foldless.laws.effect import SQRT2, Effect, effect_of
from foldless.results.calibration import Calibration
from foldless.results.classes import MulticlassAUCPosterior
from foldless.results.error import ErrorPosterior
from foldless.results.measure import Measure
from foldless.results.net_benefit import NetBenefit, net_benefit_at
from foldless.results.precision import PrecisionRecall, apparent_precision, average_precision
from foldless.results.roc import BinormalCurves

EPS = float(np.finfo(float).eps)


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
    def brier(self) -> Measure:
        """Mean squared error of the probabilities."""
        return self._average("Brier score", probabilities.brier, most=1.0)

    @cached_property
    def log_loss(self) -> Measure:
        """Mean of minus the log probability of the class that came true."""
        return self._average("log loss", probabilities.log_loss)

    def _average(self, name: str, loss: probabilities.Loss, most: float = np.inf) -> Measure:
        return Measure.positive(name, self.rows.average(loss), self.rows.apparent.average(loss).value, most)

    @cached_property
    def scaled_brier(self) -> Measure:
        """1 less the Brier score over that of the prevalence as everybody's probability."""
        return Measure.normal("scaled Brier", self.rows.scaled_brier(), self.rows.apparent.scaled_brier().value, 1.0)

    @cached_property
    def average_precision(self) -> Measure:
        """Area under the precision-recall curve."""
        apparent = apparent_precision(self.rows.positive, self.rows.own, self.rows.weights)
        return average_precision(self.curves, self.rows.prevalences(), apparent)

    @cached_property
    def precision_recall(self) -> PrecisionRecall:
        """The precision-recall curve."""
        return PrecisionRecall(self.curves, self.rows.share, self.method, self.notes)

    def net_benefit(self, thresholds: Any) -> NetBenefit:
        """The decision curve at these probabilities."""
        at: Floats = np.atleast_1d(as_numbers(thresholds, "thresholds"))
        if at.ndim != 1 or not at.size or np.any((at <= 0) | (at >= 1)):
            raise InputError(f"thresholds must be probabilities strictly between 0 and 1, got {thresholds!r}.")
        each = tuple(net_benefit_at(self.rates_at(float(t)), self.rows, float(t)) for t in at)
        return NetBenefit(at, each, self.rows.share, self.notes)


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """The same of more than two classes, from the probabilities (K, N) of all rows, and their AUCs."""

    honest: Floats
    own: Floats
    codes: Ints
    auc: MulticlassAUCPosterior

    @cached_property
    def brier(self) -> Measure:
        """Squared error of the probabilities, summed over the classes, on average."""
        true = np.arange(len(self.own))[:, None] == self.codes
        return self._average("Brier score", lambda p: np.square(p - true).sum(axis=0), most=2.0)

    @cached_property
    def log_loss(self) -> Measure:
        """Mean of minus the log probability of the class that came true."""
        rows = np.arange(self.codes.size)
        return self._average("log loss", lambda p: -np.log(np.maximum(p[self.codes, rows], EPS)))

    def _average(self, name: str, loss: Callable[[Floats], Floats], most: float = np.inf) -> Measure:
        rows = self.of_class(0, float(self.auc.details["noise_share"]))
        return Measure.positive(name, rows.mean_of(loss(self.honest), noise=True), float(loss(self.own).mean()), most)

    def of_class(self, k: int, noise_share: float) -> ProbableRows:
        """Class k against the rest."""
        return ProbableRows(self.codes == k, self.honest[k][None, :], self.own[k], noise_share)

    @cached_property
    def calibration(self) -> Mapping[Any, Calibration]:
        """That of each class against the rest, by label."""
        laws = {}
        for k, (label, post) in enumerate(self.auc.against_rest.items()):
            rows = self.of_class(k, float(post.details["noise_share"]))
            estimate = float(effect_of(np.clip(post.details["pair_auc"], EPS, 1 - EPS), SQRT2))
            laws[label] = Calibration(CalibrationLaw(rows, post.effect, estimate), self.auc.method, self.auc.notes)
        return laws
