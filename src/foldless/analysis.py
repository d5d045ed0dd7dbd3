"""`analyse`: take a classifier apart once, remove its rows once, and answer every question from the `Analysis`.

The steps are in `foldless.computation`; how each kind of analysis answers is in `foldless.answers`. Nothing here emits
a Python warning: warnings are data (`Analysis.warnings`), and the public functions of `foldless.estimate` emit them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.answers import InSample, OfSeveralClasses, OfTwoClasses, OfWeightsOnStream
from foldless.checks import Floats
from foldless.computation import Computation, Options, two_classes_only
from foldless.errors import EstimatorError, FoldlessWarning, InputError, OptimismWarning
from foldless.findings.diagnosis import diagnosis_of_classes, diagnosis_of_refits, diagnosis_of_two
from foldless.findings.finding import Diagnosis, Finding, Verdict
from foldless.given_weights import conjugate_prior
from foldless.honest.posterior import EffectPrior
from foldless.laws.prior import Prior
from foldless.measures import ClassMeasures, Measures, NetBenefit
from foldless.model.steps import is_estimator
from foldless.model.view import has_several_classes
from foldless.results.accuracy import AccuracyPosterior, ClassErrorPosterior
from foldless.results.auc import AUCPosterior, HonestScores
from foldless.results.classes import MulticlassAUCPosterior, refuse_pos_label
from foldless.results.error import ErrorPosterior
from foldless.results.measure import Measure
from foldless.results.roc import PrecisionRecall, ROCPosterior
from foldless.tables import is_out_of_core


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Computation):
    """A fitted classifier and its training rows, analysed once; every answer is computed on first use and kept.

    Made by `analyse`, which has an example. `report`, `compare`, `learning_curve` and the displays accept it in place
    of a classifier, so that nothing is computed twice.

    Attributes
    ----------
    estimator, X, y
        As given to `analyse`.
    options : Options
        The other arguments of `analyse`.
    """

    def by(self, method: str) -> Analysis:
        """The same question, answered by another method; the classifier is not taken apart again."""
        other = replace(self, options=replace(self.options, method=method))
        vars(other).update({name: found for name, found in vars(self).items() if name in ("view", "training")})
        return other

    @cached_property
    def _answers(self) -> OfTwoClasses | OfSeveralClasses:
        if has_several_classes(self.estimator):
            return OfSeveralClasses(self)
        if not self.options.in_sample:
            return OfTwoClasses(self)
        prior = conjugate_prior(self.options.prior, self.options.groups, self.options.sample_weight)
        if is_out_of_core(self.X, self.y) and not is_estimator(self.estimator):
            return OfWeightsOnStream(self, prior)
        return InSample(self, prior)

    def _answers_for(self, function: str) -> OfTwoClasses:
        if isinstance(self._answers, OfSeveralClasses):
            raise two_classes_only(self.estimator, function)
        return self._answers

    # ---- what users ask

    @cached_property
    def auc(self) -> AUCPosterior:
        """Posterior of the AUC on new data; a `MulticlassAUCPosterior` for more than two classes."""
        return self._answers.auc()

    @cached_property
    def roc(self) -> ROCPosterior:
        """Posterior of the ROC curve."""
        return self._answers_for("roc_posterior").roc()

    def error(
        self, threshold: float | None = None, prevalence: float | None = None, *, covariance: str | None = None
    ) -> ErrorPosterior | ClassErrorPosterior:
        """Posterior of error, sensitivity, specificity, PPV and NPV; parameters as in `error_posterior`.

        Of more than two classes, those of each class, and a confusion matrix.
        """
        if not isinstance(self._answers, OfSeveralClasses):
            return self.rates(threshold, prevalence, covariance)
        if threshold is not None or prevalence is not None or covariance is not None:
            raise InputError("threshold, prevalence and covariance are for two classes only: leave them out.")
        return self._answers.error()

    def rates(
        self, threshold: float | None = None, prevalence: float | None = None, covariance: str | None = None
    ) -> ErrorPosterior:
        """The same of two classes only."""
        if threshold is not None:
            threshold = checks.as_number(threshold, "threshold")
        if covariance is not None:
            checks.one_of(covariance, "covariance", ("common", "per-class"))
        return self._answers_for("this question").error(threshold, prevalence, covariance)

    @cached_property
    def accuracy(self) -> AccuracyPosterior:
        """Posterior of the share of rows that are classified rightly, by ``predict``, on new data."""
        return self._answers.accuracy(1)

    @cached_property
    def balanced_accuracy(self) -> AccuracyPosterior:
        """The same, averaged over the classes."""
        return self._answers.balanced_accuracy()

    def top_k(self, k: int) -> AccuracyPosterior:
        """The same for rows whose class has one of the `k` largest decision values."""
        most = len(self.estimator.classes_) - 1 if self.several_classes else 1
        if not isinstance(k, int) or not 1 <= k <= most:
            raise InputError(f"k must be an integer from 1 to {most}, one less than there are classes, got {k!r}.")
        return self._answers.accuracy(k)

    # ---- for classifiers of two classes that have probabilities

    def measures(self, prevalence: float | None = None) -> Measures:
        """All measures below where `prevalence` is the share of positive rows; by default that of the sample."""
        answers = self._answers_for("this question about probabilities")
        return self._measures if prevalence is None else answers.measures(prevalence)

    @cached_property
    def _measures(self) -> Measures:
        return self._answers_for("this question about probabilities").measures(None)

    @cached_property
    def class_measures(self) -> ClassMeasures:
        """The measures of probabilities that there are for more than two classes."""
        if not (isinstance(self._answers, OfSeveralClasses) and isinstance(self.auc, MulticlassAUCPosterior)):
            raise InputError("class_measures is for more than two classes: use measures().")
        return self._answers.measures(self.auc)

    @property
    def _of_any(self) -> Measures | ClassMeasures:
        return self.class_measures if isinstance(self._answers, OfSeveralClasses) else self._measures

    @property
    def probabilities(self) -> Floats:
        """The probability that each row would have got had it not been in training; of refits the mean.

        Of more than two classes one column per class, with an average row of its class in the place of the row.
        """
        if isinstance(self._answers, OfSeveralClasses):
            return np.asarray(self.class_measures.honest.mean(axis=1).T)
        return np.asarray(self._measures.rows.honest.mean(axis=0))

    @property
    def calibration(self) -> Any:
        """Slope, intercept, observed/expected, ICI and the curve: is a predicted 30 % a 30 %?

        A `Calibration`; of more than two classes one for each, against the rest, by label.
        """
        return self._of_any.calibration

    @property
    def brier(self) -> Measure:
        """Brier score on new data; of more than two classes the sum over them."""
        return self._of_any.brier

    @property
    def scaled_brier(self) -> Measure:
        """1 less the Brier score over that of the prevalence as everybody's probability."""
        return self._measures.scaled_brier

    @property
    def log_loss(self) -> Measure:
        """Log loss on new data."""
        return self._of_any.log_loss

    @property
    def average_precision(self) -> Measure:
        """Area under the precision-recall curve on new data."""
        return self._measures.average_precision

    @property
    def precision_recall(self) -> PrecisionRecall:
        """The precision-recall curve, at the prevalence of the sample."""
        return self._measures.precision_recall

    def net_benefit(self, thresholds: Any) -> NetBenefit:
        """Net benefit of decisions at these probabilities: the decision curve."""
        return self._measures.net_benefit(thresholds)

    def at(
        self,
        *,
        probability: float | None = None,
        specificity: float | None = None,
        sensitivity: float | None = None,
        prevalence: float | None = None,
    ) -> ErrorPosterior:
        """Rates at a probability, or at the threshold that has a given specificity or sensitivity: name one."""
        given = {"probability": probability, "specificity": specificity, "sensitivity": sensitivity}
        named = [(name, value) for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise InputError(f"name one of probability, specificity and sensitivity, got {len(named)}.")
        (name, value), answers = named[0], self._answers_for("at")
        return answers.at(value, prevalence) if name == "probability" else answers.at_rate(name, value, prevalence)

    @cached_property
    def scores(self) -> HonestScores:
        """What the training rows would have scored had they not been in the training set."""
        answers = self._answers
        return answers.scores(self.auc) if isinstance(answers, OfSeveralClasses) else answers.scores()

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """All checks of data and fit, with the verdict."""
        if self.by_refits and self.several_classes:
            return diagnosis_of_refits(self.class_training, self.names, lambda: (self.class_rows, self.auc))
        if self.by_refits:
            return diagnosis_of_refits(self.training, self.names, lambda: (self.refits, self.auc))
        if self.several_classes:
            return diagnosis_of_classes(self.view, self.names, lambda: (self.class_scores, self.auc))
        diagnosis = diagnosis_of_two(
            self.view, self.names, self.options.groups, lambda: self.leave_one_out, self.left_out
        )
        return _with_optimism(diagnosis, self.auc, self.warnings) if self.options.in_sample else diagnosis

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What speaks for and against the answer, the worst first."""
        return self.diagnosis.findings

    @property
    def verdict(self) -> Verdict:
        """ "trust", "caution" or "do not use": the worst finding decides."""
        return self.diagnosis.verdict

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know when reading the AUC."""
        return self.auc.notes

    @property
    def method(self) -> str:
        """Where the numbers come from: "loo", "loo-surrogate", "refit" or "in-sample"."""
        return self.auc.method

    @property
    def warnings(self) -> tuple[FoldlessWarning, ...]:
        """The warnings that belong to the answers, as data."""
        return self._answers.warnings()

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """The AUC (None where it is refused), the verdict and the findings, as a plain dict."""
        answer = self.diagnosis.auc
        return {
            **({"auc": None} if answer is None else answer.summary(level)),
            "verdict": self.verdict,
            "findings": [finding.summary() for finding in self.findings],
        }

    def in_sample_auc(self) -> tuple[AUCPosterior, str | None]:
        """The AUC that the paper's method gives for the same fit, and its warning, if any."""
        answers = InSample(self, Prior.paper())
        return answers.auc(), answers.optimism

    def __repr__(self) -> str:
        # Shows only what has been computed: a repr should neither compute nor fail.
        known = self.__dict__
        parts = [type(self.estimator).__name__ if is_estimator(self.estimator) else "weights"]
        if "training" in known:
            parts.append(words.counted(self.training.y.size, "row"))
        elif "view" in known:
            rows, columns = self.view.X.shape
            parts.append(f"{words.counted(rows, 'row')} x {words.counted(columns, 'column')}")
        if "auc" in known:
            parts.append(f"AUC {words.estimate(self.auc.mean, *self.auc.interval())}, method={self.method!r}")
        if "diagnosis" in known:
            parts.append(f"verdict={self.verdict!r}")
        return f"Analysis({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return self.auc._repr_html_()


def _with_optimism(diagnosis: Diagnosis, auc: AUCPosterior, warnings: tuple[FoldlessWarning, ...]) -> Diagnosis:
    """The diagnosis of an in-sample answer, whose optimism is the worst finding."""
    advice = "Use method='loo', the default, which judges every row as if it had been left out."
    told = (str(warning) for warning in warnings if isinstance(warning, OptimismWarning))
    optimistic = (Finding("in-sample answer", "severe", text, advice, auc.mean) for text in told)
    return replace(diagnosis, auc=auc, findings=(*optimistic, *diagnosis.findings))


# ---- making an analysis


def analyse(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    prior: Any = None,
    method: str = "auto",
    multi_class: str = "ovo",
    n_jobs: int | None = None,
    progress: Any = None,
    feature_names: Any = None,
    row_names: Any = None,
) -> Analysis:
    """Analyse a fitted classifier and its training rows once, and get every answer from the result.

    The classifier is taken apart immediately, so unusable input is refused here. Everything else is computed on first
    use and kept: ``a.auc``, ``a.roc``, ``a.error(threshold=...)``, ``a.scores``, ``a.findings``, ``a.verdict``,
    ``a.notes``. Do not refit the classifier or change X in place while you still use the analysis.
    `auc_posterior`, `roc_posterior`, `error_posterior`, `honest_scores` and `diagnose` each ask one question of such an
    analysis; all but the last emit its ``warnings``, which an `Analysis` carries as data.

    Parameters
    ----------
    model : fitted scikit-learn linear classifier, Pipeline ending in one, or weights of shape (P,)
        Any classifier or Pipeline for ``method="refit"``.
    X, y, groups, sample_weight, pos_label, prior, method, multi_class, n_jobs
        As in `auc_posterior`.
    progress : callable, optional
        Called as ``progress(done, total)`` after each refit; what it raises ends them.
    feature_names, row_names : sequences, optional
        Names of the columns and rows of X, for findings; by default those of a data frame.

    Returns
    -------
    Analysis

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> a = fl.analyse(RidgeClassifier().fit(X[50:], y[50:]), X[50:], y[50:])
    >>> a.auc
    AUCPosterior(...)
    >>> a.error(threshold=0.5).sensitivity
    RatePosterior(...)
    >>> a.scores.pair_auc > 0.95
    True
    >>> a.verdict
    'trust'
    """
    how = (groups, sample_weight, pos_label, prior, method, multi_class, n_jobs, progress)
    options = Options(*how, feature_names, row_names)
    if isinstance(model, Analysis):
        raise InputError("this is an Analysis already: read its answers, such as a.auc.")
    if X is None:
        raise InputError("X is missing: pass X and y, the data that the classifier was fitted on, or an Analysis.")
    checks.feature_names(feature_names, X)
    checks.row_names(row_names, X)
    if has_several_classes(model):
        _refuse_for_several_classes(model, X, y, options)
    if not options.in_sample:
        EffectPrior.checked(prior)
    analysis = Analysis(model, X, y, options)
    if options.refit or analysis.only_refits:
        _ = analysis.class_training if analysis.several_classes else analysis.training  # or refused
    elif not isinstance(analysis._answers, OfWeightsOnStream):  # its stream may be readable only once
        rows = analysis.view.codes.size
        if groups is not None:
            checks.group_codes(groups, rows)
        if sample_weight is not None:
            checks.as_row_weights(sample_weight, rows)
    return analysis


def analysed(model: Any, X: Any, y: Any, options: Options | None = None, *, closed_form: bool = False) -> Analysis:
    """The given analysis, or that of a classifier and its rows; `closed_form` for what cannot make use of refits."""
    options = Options() if options is None else options
    if not isinstance(model, Analysis):
        if closed_form and options.method == "auto":
            options = replace(options, method="loo")
        return analyse(model, X, y, **options.keywords)
    surplus = [*(name for name, value in (("X", X), ("y", y)) if value is not None), *options.given]
    if surplus:
        raise InputError(f"an Analysis has its data and options already: leave {words.listed(surplus)} out.")
    return model


def _refuse_for_several_classes(estimator: Any, X: Any, y: Any, options: Options) -> None:
    if is_out_of_core(X, y):
        raise EstimatorError("classifiers of more than two classes need X in memory: load it as an array.")
    if options.in_sample:
        raise EstimatorError(
            f"method 'in-sample' is for two classes, and {type(estimator).__name__} was fitted on "
            f"{len(estimator.classes_)} ({words.listed(estimator.classes_.tolist())}): use method='loo'."
        )
    refuse_pos_label(options.pos_label)
