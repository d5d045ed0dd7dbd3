"""How each kind of analysis answers: two classes, the in-sample method, weights on a stream, several classes.

Each class reads its answers off what an analysis has computed (`Computation`); `foldless.analysis` chooses among them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from foldless import checks
from foldless.checks import Bools, Floats
from foldless.computation import Computation
from foldless.errors import EstimatorError, FoldlessWarning, InputError, OptimismWarning, PriorError, TrustWarning
from foldless.findings.scores import auc_answer, rate_notes
from foldless.given_weights import posterior_of_weights
from foldless.honest import in_sample
from foldless.honest.accuracy import judged
from foldless.honest.class_refits import ClassTraining
from foldless.honest.posterior import EffectPrior
from foldless.honest.probabilities import ProbableRows
from foldless.honest.refits import Refits
from foldless.laws.prior import Prior
from foldless.measures import ClassMeasures, Measures
from foldless.model.probabilities import (
    SAME,
    Link,
    class_link_of,
    link_by_itself,
    link_of,
    probabilities_of,
    without_probabilities,
)
from foldless.model.steps import innermost, is_estimator, notes_on_threshold, own_threshold
from foldless.model.view import LinearView
from foldless.results.accuracy import AccuracyPosterior, ClassErrorPosterior
from foldless.results.auc import AUCPosterior, HonestScores
from foldless.results.classes import MulticlassAUCPosterior, posterior_of_scores
from foldless.results.error import ErrorPosterior, RatePair, SeparateScales, SharedScale, shares_of
from foldless.results.roc import BinormalCurves, ROCPosterior, SeparationCurves, counted_steps
from foldless.tables import is_out_of_core

NEITHER = "error_posterior takes a prior and a covariance with method='in-sample' only: leave them out."


@dataclass(frozen=True, eq=False)
class OfTwoClasses:
    """Two classes, each row judged as if it had been left out of the fit."""

    analysis: Computation

    @property
    def method(self) -> str:
        return self.analysis.leave_one_out.method

    @property
    def notes(self) -> tuple[str, ...]:
        return rate_notes(self.analysis.leave_one_out, self.analysis.table_notes)

    def warnings(self) -> tuple[FoldlessWarning, ...]:
        if self.analysis.by_refits:  # every step was fitted again: none has seen the rows that it was judged on
            return ()
        return _trust_warnings(self.analysis.view, self.analysis.leave_one_out.removed.provenance.strain)

    def auc(self) -> AUCPosterior:
        a, labels = self.analysis, self.analysis.rows.labels
        return auc_answer(a.leave_one_out, labels.n0, labels.n1, a.table_notes, a.names)

    @property
    def own(self) -> Floats | None:
        """The scores of the training rows by the fit that saw them; None if they are not known."""
        a = self.analysis
        if isinstance(a.rows, LinearView) and not is_out_of_core(a.X, a.y):
            return a.rows.scores()
        return a.leave_one_out.removed.z  # of refits; of a stream at its optimum, without another pass

    def curves(self) -> SeparationCurves | BinormalCurves:
        """The law of the ROC curve."""
        loo = self.analysis.leave_one_out
        return BinormalCurves.from_variances(loo.effect, *loo.class_variances())

    def rates(self, threshold: float, covariance: str | None) -> RatePair:
        """The joint law of the false and the true positive rate."""
        if covariance is not None:
            raise InputError(NEITHER)
        return SeparateScales(*self.analysis.leave_one_out.class_effects(threshold))

    def roc(self) -> ROCPosterior:
        labels = self.analysis.rows.labels
        return ROCPosterior(self.curves(), self.method, labels.n0, labels.n1, self.notes, self.steps())

    def steps(self) -> tuple[Floats, Floats] | None:
        """The ROC curve of the honest scores themselves."""
        return counted_steps(*self.analysis.leave_one_out.removed.by_class)

    def error(self, threshold: float | None, prevalence: float | None, covariance: str | None) -> ErrorPosterior:
        notes: tuple[str, ...] = ()
        if threshold is None:
            threshold, notes = self.own_threshold(), notes_on_threshold(self.analysis.estimator)
        post = self._rates_of(self.rates(threshold, covariance), threshold, prevalence, notes)
        return replace(post, probability=self._probability_at(threshold))

    def _probability_at(self, threshold: float) -> float | None:
        """A threshold of the scores as a probability; None where scores do not become one."""
        with suppress(EstimatorError, InputError):
            return float(self._link_of_scores.probability(threshold))
        return None

    @cached_property
    def _link_of_scores(self) -> Link:
        if not self.analysis.by_refits:
            return self.link
        training = self.analysis.training
        return link_of(training.estimator, training.table, training.own, training.labels.positive_label)

    def _rates_of(
        self, rates: RatePair, threshold: float, prevalence: float | None, notes: tuple[str, ...] = ()
    ) -> ErrorPosterior:
        n0, n1 = self.analysis.rows.labels.n0, self.analysis.rows.labels.n1
        post = ErrorPosterior(rates, threshold, n1 / (n0 + n1), self.method, n0, n1, self.notes + notes)
        if prevalence is not None:
            return replace(post, prevalence=checks.in_open_interval(prevalence, "prevalence"))
        return replace(post, shares=shares_of(post.prevalence, n0 + n1, self.analysis.options.groups))

    @cached_property
    def link(self) -> Link:
        """How scores become probabilities; an error if they do not."""
        a = self.analysis
        if not is_estimator(a.estimator):
            raise InputError("weights have no probabilities: pass a fitted classifier that has them.")
        if self.method == "in-sample":
            raise InputError("method 'in-sample' has no honest probabilities: leave method out.")
        if self.method == "loo-surrogate":
            raise InputError(
                "a ridge regression stands in for the training of this classifier and has no probabilities: use "
                "method='refit'."
            )
        if isinstance(a.leave_one_out, Refits):
            if a.leave_one_out.held.probabilities is None:
                raise without_probabilities(a.estimator)
            return SAME
        if is_out_of_core(a.X, a.y):
            return link_by_itself(innermost(a.estimator))
        return link_of(a.estimator, a.X, a.view.scores(), a.view.labels.positive_label)

    def measures(self, prevalence: float | None) -> Measures:
        """Everything that is read off the honest probabilities."""
        if prevalence is not None:
            prevalence = checks.in_open_interval(prevalence, "prevalence")
        loo, link, rows = self.analysis.leave_one_out, self.link, self.analysis.rows
        if isinstance(loo, Refits):
            training = self.analysis.training
            own = probabilities_of(training.estimator, training.table, training.labels.positive_label)
            honest, in_pairs = np.asarray(loo.held.probabilities), None
        else:
            each = self.analysis.view.scores(), loo.removed.loo, loo.removed.undrifted
            own, honest, in_pairs = (np.asarray(link.probability(scores)) for scores in each)
        positive, about = np.asarray(rows.labels.positive), (loo.statistic.noise_share, loo.removed.groups, prevalence)
        probable = ProbableRows(positive, np.atleast_2d(honest), own, *about, in_pairs)
        curves = BinormalCurves.nearly_equal(loo.effect, *loo.class_variances())
        at = partial(self.at, prevalence=prevalence)
        return Measures(probable, loo.effect, loo.statistic.estimate, curves, at, self.method, self.notes)

    def at(self, probability: float, prevalence: float | None = None) -> ErrorPosterior:
        """Rates at a threshold on the scale of probabilities."""
        at = checks.in_open_interval(probability, "probability")
        loo, link = self.analysis.leave_one_out, self.link
        if not isinstance(loo, Refits):
            return replace(self.error(float(link.decision(at)), prevalence, None), probability=at)
        return replace(self._rates_of(SeparateScales(*loo.class_effects_at(at)), at, prevalence), probability=at)

    def at_rate(self, rate: str, value: float, prevalence: float | None) -> ErrorPosterior:
        """Rates at the threshold with the given mean sensitivity or specificity."""
        target, loo = checks.in_open_interval(value, rate), self.analysis.leave_one_out
        scores = np.unique(loo.removed.loo)
        between = np.concatenate([scores[:1] - 1.0, (scores[1:] + scores[:-1]) / 2, scores[-1:] + 1.0])
        low, high = 0, between.size - 1
        while high - low > 1:  # the sensitivity falls with the threshold, the specificity grows
            middle = (low + high) // 2
            mean = getattr(self.error(float(between[middle]), prevalence, None), rate).mean
            low, high = (middle, high) if (mean < target) == (rate == "specificity") else (low, middle)
        # The last threshold that is sensitive enough, the first that is specific enough.
        best, other = (high, low) if rate == "specificity" else (low, high)
        found = self.error(float(between[best]), prevalence, None)
        if getattr(found, rate).mean >= target:
            return found
        nearest = max(found, self.error(float(between[other]), prevalence, None), key=lambda e: getattr(e, rate).mean)
        note = f"no threshold between these rows' scores has an expected {rate} of {target:g}: this is the nearest."
        return replace(nearest, notes=(*nearest.notes, note))

    def accuracy(self, k: int) -> AccuracyPosterior:
        return self._without_error("accuracy", None)

    def balanced_accuracy(self) -> AccuracyPosterior:
        return self._without_error("balanced accuracy", 0.5)

    def _without_error(self, name: str, prevalence: float | None) -> AccuracyPosterior:
        """1 - error, as a Beta law of the same mean and spread."""
        post = self.error(None, prevalence, None)

        share = post.prevalence if prevalence is None else prevalence
        about = {"method": post.method, "notes": post.notes, "apparent": self._right(post.threshold, share)}
        return AccuracyPosterior.of_moments(name, 1.0 - post.error.mean, post.error.sd, **about)

    def _right(self, threshold: float, share: float) -> float:
        """The share of training rows that the fit which saw them gets right, at this share of positive rows."""
        if self.own is None:
            return float("nan")
        above, positive = np.asarray(self.own > threshold), np.asarray(self.analysis.rows.labels.positive)
        return float(share * above[positive].mean() + (1 - share) * (~above[~positive]).mean())

    def own_threshold(self) -> float:
        """The classifier's own, oriented towards the positive class."""
        if self.analysis.by_refits:
            return self.analysis.training.threshold
        own = own_threshold(self.analysis.estimator)
        return 0.0 - own if self.analysis.two_classes.flipped else own

    def scores(self) -> HonestScores:
        loo = self.analysis.leave_one_out
        origin, notes = loo.removed.provenance, rate_notes(loo, self.analysis.table_notes)
        figures = (loo.statistic.pair_auc, loo.statistic.noise_share, origin.residual, origin.match)
        return HonestScores(np.asarray(loo.removed.loo), *figures, origin.method, notes)


@dataclass(frozen=True, eq=False)
class InSample(OfTwoClasses):
    """The paper's model on the training scores; the honest scores stay those of the leave-one-out method."""

    prior: Prior
    method = "in-sample"

    @property
    def own(self) -> Floats | None:
        return None if is_out_of_core(self.analysis.X, self.analysis.y) else self.analysis.view.scores()

    @property
    def optimism(self) -> str | None:
        view = self.analysis.two_classes
        return in_sample.optimism(view.w.size, view.labels.positive.size, self.prior)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.analysis.view.notes + (() if self.optimism is None else (self.optimism,))

    def warnings(self) -> tuple[FoldlessWarning, ...]:
        optimism = () if self.optimism is None else (OptimismWarning(self.optimism),)
        return _trust_warnings(self.analysis.view, None) + optimism

    def auc(self) -> AUCPosterior:
        view = self.analysis.two_classes
        effect = in_sample.separation(view, self.prior)
        return AUCPosterior.from_effect(effect, self.method, view.labels.n0, view.labels.n1, self.notes)

    def curves(self) -> SeparationCurves | BinormalCurves:
        return SeparationCurves(in_sample.separation(self.analysis.two_classes, self.prior))

    def steps(self) -> tuple[Floats, Floats] | None:
        return None  # the training scores would flatter

    def rates(self, threshold: float, covariance: str | None) -> RatePair:
        view, prior, covariance = self.analysis.two_classes, self.prior, covariance or "common"
        if prior.family == "adaptive" or (covariance == "per-class" and prior.family != "inverse-wishart"):
            raise PriorError(
                f"error_posterior with covariance={covariance!r} does not take {prior!r}: use Prior.paper(), "
                f"Prior.niw() or Prior.improper(), or method='loo'."
            )
        if covariance == "common":
            return SharedScale(*in_sample.error_effects(view, prior, threshold))
        return SeparateScales(*in_sample.class_error_effects(view, prior, threshold))


@dataclass(frozen=True, eq=False)
class OfWeightsOnStream(InSample):
    """The same along given weights on a table that is not in memory: the AUC needs one pass, and no view."""

    @cached_property
    def _posterior(self) -> AUCPosterior:
        a = self.analysis
        return posterior_of_weights(a.estimator, a.X, a.y, self.prior, a.options.pos_label)

    def auc(self) -> AUCPosterior:
        return self._posterior

    def warnings(self) -> tuple[FoldlessWarning, ...]:
        return tuple(OptimismWarning(note) for note in self._posterior.notes)


@dataclass(frozen=True, eq=False)
class OfSeveralClasses:
    """More than two classes, each row judged as if it had been left out: the average AUC, and accuracies."""

    analysis: Computation

    @property
    def notes(self) -> tuple[str, ...]:
        a = self.analysis
        return a.of_classes.notes + a.class_scores.provenance.notes + a.table_notes

    def accuracy(self, k: int) -> AccuracyPosterior:
        a = self.analysis
        rows = a.judged_rows if k == 1 else judged(a.class_scores, k)
        return self._posterior("accuracy" if k == 1 else f"top-{k} accuracy", rows.accuracy(), self._right(k).mean())

    def balanced_accuracy(self) -> AccuracyPosterior:
        codes = self.analysis.of_classes.codes
        shares = np.bincount(codes, self._right(1)) / np.bincount(codes)
        return self._posterior("balanced accuracy", self.analysis.judged_rows.balanced(), shares.mean())

    def _right(self, k: int) -> Bools:
        """Which training rows the fit that saw them gets right."""
        own, codes = self.own, self.analysis.of_classes.codes
        return np.asarray(np.sum(own > own[codes, np.arange(codes.size)], axis=0) < k)

    @property
    def own(self) -> Floats:
        """The decision values (K, N) of the training rows by the fit that saw them."""
        a = self.analysis
        return a.class_training.own if a.by_refits else a.view.scores().T

    def _posterior(self, name: str, rows: tuple[float, float], apparent: float) -> AccuracyPosterior:
        method = self.analysis.class_scores.provenance.method
        return AccuracyPosterior.of_rows(name, *rows, method=method, notes=self.notes, apparent=float(apparent))

    def error(self) -> ClassErrorPosterior:
        a, rows = self.analysis, self.analysis.judged_rows
        classes, called = tuple(a.of_classes.classes), a.class_scores.deciding.argmax(axis=0)
        counts = np.zeros((len(classes),) * 2)
        np.add.at(counts, (rows.codes, called), 1.0 / (1.0 + rows.noise_share) / rows.dependence / len(called))
        right, about = self.accuracy(1), (classes, counts)
        return ClassErrorPosterior(right, self.balanced_accuracy(), *about, right.method, right.notes)

    def scores(self, auc: AUCPosterior) -> HonestScores:
        """The decision values of rows left out; `auc` has the leave-pair-out average."""
        honest, about = self.analysis.class_scores, auc.details
        origin = honest.provenance
        figures = (about["pair_auc"], about["noise_share"], origin.residual, origin.match)
        return HonestScores(honest.alone.T, *figures, origin.method, self.notes)

    def measures(self, auc: MulticlassAUCPosterior) -> ClassMeasures:
        """Everything that is read off the honest probabilities."""
        a, honest = self.analysis, self.analysis.class_scores
        if honest.provenance.method == "loo-surrogate":
            raise InputError(
                "a ridge regression stands in for the training of this classifier: it has no probabilities."
            )
        link = class_link_of(a.estimator, a.X, self.own.T)
        return ClassMeasures(link(honest.deciding), link(self.own), honest.codes, auc, honest.groups)

    def auc(self) -> MulticlassAUCPosterior:
        a = self.analysis
        counts = dict(zip(a.of_classes.classes, a.of_classes.counts.tolist(), strict=True))
        prior = EffectPrior.checked(a.options.prior)
        return posterior_of_scores(a.class_rows, counts, prior, a.options.multi_class, self.notes)

    def warnings(self) -> tuple[FoldlessWarning, ...]:
        return _trust_warnings(self.analysis.of_classes, self.analysis.class_scores.provenance.strain)


def _trust_warnings(view: LinearView | ClassTraining, strained: str | None) -> tuple[FoldlessWarning, ...]:
    """Steps that may have seen y, and a fit that differs from the one that was judged."""
    return tuple(TrustWarning(text) for text in (*view.doubts, strained) if text is not None)
