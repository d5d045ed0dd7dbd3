"""The public questions: each takes one answer from an `Analysis` and emits the warnings that belong to it."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from foldless.analysis import Analysis, analysed
from foldless.answers import NEITHER
from foldless.computation import Options
from foldless.errors import InputError, warn_user
from foldless.findings.finding import Diagnosis
from foldless.results.accuracy import ClassErrorPosterior
from foldless.results.auc import AUCPosterior, HonestScores
from foldless.results.error import ErrorPosterior
from foldless.results.roc import ROCPosterior
from foldless.tables import refuse_stream

Method = Literal["auto", "loo", "refit", "in-sample"]
MultiClass = Literal["ovo", "ovr"]


def auc_posterior(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    multi_class: MultiClass = "ovo",
    n_jobs: int | None = None,
) -> AUCPosterior:
    """Posterior of the AUC that a fitted classifier has on new data, from its training data.

    Parameters
    ----------
    estimator : fitted scikit-learn linear classifier, Pipeline ending in one, weights of shape (P,), or an `Analysis`
        Any classifier or Pipeline for "refit".
    X, y : the data that it was fitted on; left out for an `Analysis`
        Tables that do not fit into memory are read in blocks: memory maps, Parquet files (y is the name of the label
        column), Dask arrays, a function that returns an iterator over pairs (X_chunk, y_chunk) (no y). PyTorch tensors
        stay on their GPU; other arrays on a GPU go with weights and "in-sample".
    method : {"auto", "loo", "refit", "in-sample"}
        "loo" judges every row by the score it would have had without it in the training data, in closed form; nothing
        is refitted. "refit" fits a clone of the classifier, with all steps of its pipeline, 20 times to four fifths of
        the rows and judges the others: for any classifier, linear or not. "auto" takes "loo" where there is a closed
        form, and "refit" for other linear classifiers (L1, hinge, feature selection, PLSRegression on 0 and 1), for
        fits that stopped far from their optimum, and for sparse rows by the thousand, which take longer in closed form.
        "in-sample" is the paper's model on the training scores; it is optimistic unless there are far fewer features
        than rows, and then warns.
    prior : EffectPrior for "loo" and "refit", Prior for "in-sample", optional
        `EffectPrior.default()` and `Prior.paper()` by default.
    groups : array of shape (N,), optional
        Labels of dependent rows: patients, sessions, runs.
    sample_weight : array of shape (N,), optional
        The weights given to ``fit``, if any.
    pos_label : optional
        The positive class, the second of ``classes_`` by default; for a weight vector, the class with high scores.
    multi_class : {"ovo", "ovr"}
        For more than two classes, as in ``sklearn.metrics.roc_auc_score``: the average over pairs of classes (Hand and
        Till), or over classes against the rest. Rows are ranked by the probabilities where scikit-learn computes them
        from all decision values by a softmax (LogisticRegression, LinearDiscriminantAnalysis), otherwise by the
        decision value of the class.
    n_jobs : int, optional
        Workers for refits (joblib); the result does not depend on it.

    Returns
    -------
    AUCPosterior, or MulticlassAUCPosterior for a classifier of more than two classes
        Its ``method`` is "loo", "loo-surrogate" (the training of bare weights is unknown, and the nearest ridge
        regression stands in for it), "refit" or "in-sample"; its ``notes`` tell what to know when reading it.

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
    options = Options(groups, sample_weight, pos_label, prior, method, multi_class, n_jobs)
    analysis = analysed(estimator, X, y, options)
    return _with_warnings(analysis, analysis.auc)


def honest_scores(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    method: Method = "auto",
    n_jobs: int | None = None,
) -> HonestScores:
    """Leave-one-out scores and leave-pair-out AUC from one fit, or those of refits; parameters as in `auc_posterior`.

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
    analysis = analysed(estimator, X, y, Options(groups, sample_weight, pos_label, None, method, n_jobs=n_jobs))
    return _with_warnings(analysis, analysis.scores)


def roc_posterior(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
) -> ROCPosterior:
    """Posterior of the ROC curve of a fitted classifier; parameters as in `auc_posterior`.

    With "loo" and "refit" the curve is binormal with unequal variances, and its area has the posterior of
    `auc_posterior`.
    """
    options = Options(groups, sample_weight, pos_label, prior, method, n_jobs=n_jobs)
    analysis = analysed(estimator, X, y, options)
    return _with_warnings(analysis, analysis.roc)


def error_posterior(
    estimator: Any,
    X: Any = None,
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
    n_jobs: int | None = None,
) -> ErrorPosterior | ClassErrorPosterior:
    """Posterior of error, sensitivity, specificity, PPV and NPV of a fitted classifier.

    With more than two classes `predict` decides, and the result is a `ClassErrorPosterior` with a confusion matrix.
    Parameters that are not listed are as in `auc_posterior`; a prior is taken with "in-sample" only.

    Parameters
    ----------
    threshold : float, optional
        Rows with ``decision_function > threshold`` (oriented towards the positive class) are classified as positive;
        without a decision_function, the probability is compared. By default the classifier's own: 0 (0.5 of a
        probability), or that of a FixedThresholdClassifier or TunedThresholdClassifierCV.
    prevalence : float, optional
        Share of the positive class where the classifier will be used. By default that in y, give or take what chance
        does to a random sample of its size: state the share of a sample whose classes were chosen.
    covariance : {"common", "per-class"}, optional
        In-sample only: one covariance for both classes (the default), or one for each (Dalton and
        Dougherty 2011). With "loo" and "refit" each class has its own spread.
    """
    options = Options(groups, sample_weight, pos_label, prior, method, n_jobs=n_jobs)
    if prior is not None and not options.in_sample and not isinstance(estimator, Analysis):
        raise InputError(NEITHER)
    analysis = analysed(estimator, X, y, options)
    return _with_warnings(analysis, analysis.error(threshold, prevalence, covariance=covariance))


def diagnose(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    method: Method = "auto",
    n_jobs: int | None = None,
) -> Diagnosis:
    """Reasons to doubt the answer of `auc_posterior`, each with its number and what to do about it.

    The checks cover honest scores (unequal variances, outliers that move the answer, perfect order, few rows), the
    training (steps that saw y, early stops, forgotten sample weights, stand-ins), columns (one that gives the label
    away, heavy tails, columns chosen with y, more columns than rows) and rows (exact and near copies, similar
    neighbours in the file, rows that betray the class of those closest to them), and how far refits agree, where there
    are any.

    Rows of one subject that are neither adjacent nor much alike look independent: "trust" means that no problem was
    found, not that there is none. If you know of groups, pass them.

    Parameters
    ----------
    estimator, X, y, groups, sample_weight, pos_label, method, n_jobs
        As in `auc_posterior`. Copies inside a group are accounted for.

    Returns
    -------
    Diagnosis
        ``verdict`` is "trust" (at most informative findings), "caution" or "do not use"; ``alternative`` tells what to
        do instead; ``findings`` are sorted, the worst first.

    Examples
    --------
    A row and its copy give each other's label away:

    >>> import foldless as fl
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 20)), np.repeat([0, 1], 30)
    >>> X, y = np.vstack([X, X]), np.r_[y, y]
    >>> diagnosis = fl.diagnose(LogisticRegression().fit(X, y), X, y)
    >>> diagnosis.verdict, diagnosis.flagged
    ('do not use', ('copies',))
    """
    refuse_stream(X, y, "diagnose")
    options = Options(groups, sample_weight, pos_label, None, method, n_jobs=n_jobs)
    return analysed(estimator, X, y, options).diagnosis


T = TypeVar("T")


def _with_warnings(analysis: Analysis, answer: T) -> T:
    """The answer, after its warnings have been emitted at the user's line."""
    for warning in analysis.warnings:
        warn_user(warning)
    return answer
