"""The public entry points: fitted classifier and data in, result object out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from foldless import checks, words
from foldless.errors import EstimatorError, InputError, OptimismWarning, PriorError, TrustWarning, warn_user
from foldless.findings.quick import quick_notes
from foldless.findings.scores import auc_answer, rate_notes
from foldless.given_weights import conjugate_prior, is_out_of_core, posterior_of_weights
from foldless.honest import in_sample
from foldless.honest.analysis import Analysis, HonestScores
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.scores import on_few_rows
from foldless.honest.statistic import statistic_of_scores
from foldless.laws.prior import Prior
from foldless.model.steps import is_estimator, notes_on_threshold, own_threshold
from foldless.model.streamed import stream_view
from foldless.model.view import LinearView, has_several_classes, take_apart
from foldless.multiclass import (
    known_average,
    posterior_from_scores,
    posterior_of_classes,
    refuse_two_class_options,
    two_classes_only,
)
from foldless.results.auc import AUCPosterior
from foldless.results.classes import MulticlassAUCPosterior
from foldless.results.error import ErrorPosterior, RatePair, SeparateScales, SharedScale
from foldless.results.roc import BinormalCurves, ROCPosterior, SeparationCurves

Method = Literal["auto", "loo", "in-sample"]
MultiClass = Literal["ovo", "ovr"]


def auc_posterior(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multi_class: MultiClass = "ovo",
) -> AUCPosterior:
    """Posterior of the AUC that a fitted linear classifier has on new data, from its training data.

    Parameters
    ----------
    estimator : fitted scikit-learn linear classifier, Pipeline ending in one, or weights of shape (P,)
    X, y : the data that it was fitted on
        Tables that do not fit into memory are read in blocks: memory maps, Parquet files (y is the name of the label
        column), Dask arrays, a function that returns an iterator over pairs (X_chunk, y_chunk) (no y). Arrays on a GPU
        go with weights and "in-sample".
    method : {"auto", "loo", "in-sample"}
        "loo" (the default under "auto") judges every row by what its score would have been without it,
        in closed form; nothing is refitted. "in-sample" is the paper's model on the training scores:
        optimistic unless there are far fewer features than rows, and it warns then.
    prior : EffectPrior for "loo", Prior for "in-sample", optional
        `EffectPrior.default()` and `Prior.paper()` by default.
    groups : array of shape (N,), optional
        Labels of dependent rows: patients, sessions, runs.
    sample_weight : array of shape (N,), optional
        The weights given to ``fit``, if any.
    pos_label : optional
        The positive class; by default the second of ``classes_``. For a weight vector, the class that
        high scores stand for.
    multi_class : {"ovo", "ovr"}
        For more than two classes, as in ``sklearn.metrics.roc_auc_score``: the average over pairs of classes (Hand and
        Till), or over classes against the rest. Rows are ranked by the probabilities where scikit-learn makes them
        from all decision values by a softmax (LogisticRegression, LinearDiscriminantAnalysis), else by the class's own
        decision value.

    Returns
    -------
    AUCPosterior, or MulticlassAUCPosterior for a classifier of more than two classes
        Its ``method`` reads "loo", "loo-surrogate" (the training objective has no closed form, the nearest
        ridge regression stands in for it) or "in-sample"; its ``notes`` say what a reader must know.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:60, :10], y[:60]
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> fl.auc_posterior(model, X, y)
    AUCPosterior(...)
    """
    known_average(multi_class)
    if has_several_classes(estimator):
        return _several_classes(estimator, X, y, method, prior, groups, sample_weight, pos_label, multi_class)
    if is_out_of_core(X, y) and checks.known_method(method) == "in-sample" and not is_estimator(estimator):
        return posterior_of_weights(estimator, X, y, conjugate_prior(prior, groups, sample_weight), pos_label)
    view = _view(estimator, X, y, pos_label)
    n0, n1 = view.labels.n0, view.labels.n1
    if checks.known_method(method) == "in-sample":
        conjugate = conjugate_prior(prior, groups, sample_weight)
        effect = in_sample.separation(view, conjugate)
        return AUCPosterior.from_effect(effect, "in-sample", n0, n1, _in_sample_notes(view, conjugate))
    answer = _analysed(view, prior, groups, sample_weight)
    return auc_answer(answer, n0, n1, quick_notes(view, X, answer.removed.groups))


def auc_posterior_from_scores(
    y: Any,
    scores: Any,
    *,
    prior: Any = None,
    groups: Any = None,
    pos_label: Any = None,
    multi_class: MultiClass = "ovo",
) -> AUCPosterior:
    """Posterior of the AUC from held-out scores of any classifier, linear or not.

    The rows must not have been used in the fit. `scores` may be on any scale, larger for the positive class.

    Parameters
    ----------
    y : array of shape (N,)
        Two classes of any type, or more.
    scores : array of shape (N,), or (N, K) for K > 2 classes, one column for each in sorted order
    prior : EffectPrior, optional
    groups : array of shape (N,), optional
        Labels of dependent rows.
    pos_label : optional
        The class that high scores stand for, if not the later one.
    multi_class : {"ovo", "ovr"}
        As in `auc_posterior`; rows are ranked by the scores as they are.

    Examples
    --------
    >>> import foldless as fl
    >>> post = fl.auc_posterior_from_scores([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.2, 0.3, 0.9, 0.7])
    >>> 0.6 < post.mean < 0.95
    True
    """
    known_average(multi_class)
    if _one_column_per_class(scores):
        refuse_two_class_options(pos_label, groups)
        return posterior_from_scores(y, scores, prior=EffectPrior.checked(prior), multi_class=multi_class)
    z = checks.as_scores(scores)
    labels = checks.as_labels(y, pos_label=pos_label)
    checks.same_length(z.size, labels.positive.size, "there are {} scores")
    if min(labels.n0, labels.n1) < 2:
        raise InputError("each class needs at least two rows: the spread of one score is unknown.")
    if np.all(z == z[0]):
        raise InputError("scores are all equal: they rank no row above another.")
    codes = None if groups is None else checks.as_groups(groups, labels.positive, fewest=2)
    statistic = statistic_of_scores(z, labels.positive, codes)
    effect = separation_posterior(statistic, EffectPrior.checked(prior))
    fewest, what = min(statistic.units0, statistic.units1), "rows" if groups is None else "groups"
    told = on_few_rows(fewest, what)
    return AUCPosterior.from_effect(effect, "scores", labels.n0, labels.n1, told, {"pair_auc": statistic.pair_auc})


def _one_column_per_class(scores: Any) -> bool:
    try:
        shape = np.shape(scores)
    except ValueError:  # rows of unequal length: `as_scores` says so
        return False
    return len(shape) == 2 and shape[1] > 2


def honest_scores(
    estimator: Any, X: Any, y: Any = None, *, groups: Any = None, sample_weight: Any = None, pos_label: Any = None
) -> HonestScores:
    """Leave-one-out scores and leave-pair-out AUC from one fit; parameters as in `auc_posterior`.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:60, :10], y[:60]
    >>> fl.honest_scores(RidgeClassifier().fit(X, y), X, y).scores.shape
    (60,)
    """
    two_classes_only(estimator, "honest_scores")
    view = _view(estimator, X, y, pos_label)
    answer = _analysed(view, None, groups, sample_weight)
    return replace(answer.scores(), notes=rate_notes(answer, quick_notes(view, X, answer.removed.groups)))


def roc_posterior(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> ROCPosterior:
    """Posterior of the ROC curve of a fitted linear classifier; parameters as in `auc_posterior`.

    With "loo" the curve is binormal with unequal variances, and its area has the posterior of
    `auc_posterior`.

    Returns
    -------
    ROCPosterior
    """
    two_classes_only(estimator, "roc_posterior")
    view = _view(estimator, X, y, pos_label)
    n0, n1 = view.labels.n0, view.labels.n1
    if checks.known_method(method) == "in-sample":
        conjugate = conjugate_prior(prior, groups, sample_weight)
        curves = SeparationCurves(in_sample.separation(view, conjugate))
        return ROCPosterior(curves, "in-sample", n0, n1, _in_sample_notes(view, conjugate))
    answer = _analysed(view, prior, groups, sample_weight)
    binormal = BinormalCurves.from_variances(answer.effect, *answer.class_variances())
    notes = rate_notes(answer, quick_notes(view, X, answer.removed.groups)) + answer.shape_notes()
    return ROCPosterior(binormal, answer.removed.provenance.method, n0, n1, notes)


def error_posterior(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    threshold: float | None = None,
    prevalence: float | None = None,
    covariance: Literal["common", "per-class"] | None = None,
) -> ErrorPosterior:
    """Posterior of error, sensitivity, specificity, PPV and NPV of a fitted linear classifier.

    Parameters that are not listed are those of `auc_posterior`; with "loo" there is no prior here.

    Parameters
    ----------
    threshold : float, optional
        Rows with ``decision_function > threshold`` (oriented towards the positive class) count as positive. By default
        the classifier's own: 0, or that of a FixedThresholdClassifier or TunedThresholdClassifierCV.
    prevalence : float, optional
        Share of the positive class where the classifier will be used; its share in y by default.
    covariance : {"common", "per-class"}, optional
        In-sample only: one covariance for both classes (the default), or one for each (Dalton and
        Dougherty 2011). With "loo" each class has its own spread.

    Returns
    -------
    ErrorPosterior
    """
    if threshold is not None:
        threshold = checks.as_number(threshold, "threshold")
    if covariance not in (None, "common", "per-class"):
        raise InputError(f"covariance must be 'common' or 'per-class', got {covariance!r}.")
    two_classes_only(estimator, "error_posterior")
    view = _view(estimator, X, y, pos_label)
    told: tuple[str, ...] = ()
    if threshold is None:
        threshold, told = own_threshold(estimator), notes_on_threshold(estimator)
        threshold = 0.0 - threshold if view.flipped else threshold
    n0, n1 = view.labels.n0, view.labels.n1
    share = n1 / (n0 + n1) if prevalence is None else checks.in_open_interval(prevalence, "prevalence")
    if checks.known_method(method) == "in-sample":
        conjugate = conjugate_prior(prior, groups, sample_weight)
        rates = _in_sample_rates(view, conjugate, threshold, covariance or "common")
        return ErrorPosterior(rates, threshold, share, "in-sample", n0, n1, _in_sample_notes(view, conjugate) + told)
    if prior is not None or covariance is not None:
        raise InputError("error_posterior with method 'loo' takes neither prior nor covariance: leave them out.")
    answer = _analysed(view, None, groups, sample_weight)
    rates = SeparateScales(*answer.class_effects(threshold))
    notes = rate_notes(answer, quick_notes(view, X, answer.removed.groups)) + told
    return ErrorPosterior(rates, threshold, share, answer.removed.provenance.method, n0, n1, notes)


def _view(estimator: Any, X: Any, y: Any, pos_label: Any) -> LinearView:
    take = stream_view if is_out_of_core(X, y) else take_apart
    view = take(estimator, X, y, pos_label=pos_label)
    for doubt in view.doubts:
        warn_user(doubt, TrustWarning)
    return view


def _several_classes(
    estimator: Any,
    X: Any,
    y: Any,
    method: Any,
    prior: Any,
    groups: Any,
    sample_weight: Any,
    pos_label: Any,
    multi_class: str,
) -> MulticlassAUCPosterior:
    if is_out_of_core(X, y):
        raise EstimatorError("classifiers of more than two classes need X in memory: load it as an array.")
    if checks.known_method(method) == "in-sample":
        raise EstimatorError(
            f"method 'in-sample' is for two classes, and {type(estimator).__name__} was fitted on "
            f"{len(estimator.classes_)} ({words.listed(estimator.classes_.tolist())}): use method='loo'."
        )
    refuse_two_class_options(pos_label, groups)
    result, strained = posterior_of_classes(
        estimator,
        X,
        y,
        prior=EffectPrior.checked(prior),
        groups=groups,
        sample_weight=sample_weight,
        multi_class=multi_class,
    )
    if strained is not None:
        warn_user(strained, TrustWarning)
    return result


def _analysed(view: LinearView, prior: Any, groups: Any, sample_weight: Any) -> Analysis:
    analysis = Analysis.of(view, EffectPrior.checked(prior), groups, sample_weight)
    if analysis.strained is not None:
        warn_user(analysis.strained, TrustWarning)
    return analysis


def _in_sample_rates(view: LinearView, prior: Prior, threshold: float, covariance: str) -> RatePair:
    if prior.family == "adaptive" or (covariance == "per-class" and prior.family != "inverse-wishart"):
        raise PriorError(
            f"error_posterior with covariance={covariance!r} does not take {prior!r}: use Prior.paper(), Prior.niw() "
            f"or Prior.improper(), or method='loo'."
        )
    if covariance == "common":
        return SharedScale(*in_sample.error_effects(view, prior, threshold))
    return SeparateScales(*in_sample.class_error_effects(view, prior, threshold))


def _in_sample_notes(view: LinearView, prior: Prior) -> tuple[str, ...]:
    warning = in_sample.optimism(view.w.size, view.labels.positive.size, prior)
    if warning is None:
        return view.notes
    warn_user(warning, OptimismWarning)
    return (*view.notes, warning)
