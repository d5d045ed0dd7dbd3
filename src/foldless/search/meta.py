"""`FoldlessSearch`: used like GridSearchCV, fits every candidate once and judges it by its calibrated AUC."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from foldless import checks
from foldless.analysis import Options
from foldless.errors import InputError
from foldless.estimate import auc_posterior
from foldless.honest.posterior import EffectPrior
from foldless.multiclass import refuse_two_class_options
from foldless.results.auc import AUCPosterior
from foldless.search.assess import average_auc
from foldless.search.paths import Study
from foldless.search.run import SearchOutcome, SearchSettings, run


def auc_scorer(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, groups: Any = None) -> float:
    """Posterior mean of the AUC that a fitted linear classifier has on new data, from its own training rows.

    For ``scoring=`` in scikit-learn. The rows that are scored must be those that were fitted, so the "split" trains
    and scores on everything: ``cv=[(rows, rows)]``. With folds the scorer would be given rows that the classifier
    has not seen; it then warns (`TrustWarning`) that the weights do not belong to the rows. With more than two classes
    it is the average AUC over pairs of classes.

    Parameters
    ----------
    estimator, X, y, sample_weight, groups
        As in `auc_posterior`.

    Examples
    --------
    >>> import numpy as np
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:60, :10], y[:60]
    >>> rows = np.arange(len(y))
    >>> grid = {"alpha": [0.01, 1.0, 100.0]}
    >>> search = GridSearchCV(RidgeClassifier(), grid, scoring=fl.auc_scorer, cv=[(rows, rows)]).fit(X, y)
    >>> bool(0.9 < search.best_score_ < 1)
    True
    """
    return auc_posterior(estimator, X, y, sample_weight=sample_weight, groups=groups).mean


Method = TypeVar("Method", bound=Callable[..., Any])


def _exists_with(name: str) -> Callable[[Method], Method]:
    """Decorator: the method exists where the best (before fit, the given) estimator has `name`."""

    def check(search: FoldlessSearch) -> bool:
        if not search.refit:
            raise AttributeError(
                f"FoldlessSearch with refit=False keeps no fitted estimator and has no {name}: "
                f"set refit=True, or fit an estimator with best_params_ yourself."
            )
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return cast("Callable[[Method], Method]", available_if(check))


def _by_best(name: str, doc: str) -> Any:
    """A method that asks the chosen candidate."""

    def method(self: FoldlessSearch, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    method.__name__, method.__qualname__, method.__doc__ = name, f"FoldlessSearch.{name}", doc
    return _exists_with(name)(method)


class FoldlessSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Search over the parameters of a linear classifier, without folds.

    Every candidate is fitted once, on all rows, and judged by the posterior of the AUC that it will have on new
    data (`foldless.auc_posterior`). Used like ``sklearn.model_selection.GridSearchCV``.

    Where candidates differ only in the strength of an L2 penalty - C of LogisticRegression and of LinearSVC with the
    squared hinge, alpha of RidgeClassifier, also at the end of a Pipeline - they share one rotation of the data
    and walk along the path of strengths (``path_ == "shared"``); their fits are then exact optima, whatever
    ``tol``, ``max_iter`` and ``solver`` say. Other candidates are fitted by scikit-learn, and so are all of them where
    there are more than two classes; what is judged then is the average AUC (see `multi_class`).

    Parameters
    ----------
    estimator : linear classifier, or Pipeline ending in one
    param_grid : dict of lists, or list of such dicts
        As for GridSearchCV; parameters of steps are named ``step__parameter``.
    method : {"auto", "loo", "in-sample"}
        As in `auc_posterior`. "in-sample" favours candidates that overfit: it is there for comparison.
    prior : EffectPrior for "loo", Prior for "in-sample", optional
    rule : {"best", "simplest"}
        "best" takes the largest posterior mean. "simplest" takes the strongest regularisation (smallest C, largest
        alpha or shrinkage) whose AUC is not credibly worse: the probability that the best one is better stays below
        `level`. It moves among candidates that set everything else as the best one does. With few rows little is
        credible and the simplest may cost some AUC; a `level` nearer to 0.5 gives away less.
    level : float
        Of the intervals in ``results_``, and for "simplest".
    refit : bool or callable
        Whether to keep the fitted classifier of the chosen candidate. Nothing is fitted again: the candidate was
        fitted on all rows. A callable takes ``results_`` and returns the index of the candidate to choose.
    n_jobs : int, optional
        Processes for candidates that do not share their work.
    error_score : nan or "raise"
        With nan, candidates that cannot be fitted or judged are left out of the choice, with a warning.
    progress : bool or callable
        True shows a bar on stderr once the search has lasted two seconds; a callable is called with
        (done, total, seconds to go) after every candidate.
    multi_class : {"ovo", "ovr"}
        With more than two classes, the average that candidates are judged by, as in `auc_posterior`: over pairs of
        classes (Hand and Till), or over classes against the rest.

    Attributes
    ----------
    best_index_, best_params_ : the chosen candidate
    best_score_ : float
        Its posterior mean AUC, chosen for being large: see ``optimism_``.
    best_posterior_ : AUCPosterior, or MulticlassAUCPosterior with more than two classes
        Its posterior; a note says how much the choice may have flattered it.
    best_estimator_ : its fitted scikit-learn estimator (with refit)
    results_ : dict of arrays
        params, param_<name>, mean, sd, lower, upper, rank and path ("shared" or "general"), one entry per candidate;
        nan for those that could not be judged.
    posteriors_ : list of AUCPosterior, None for candidates that could not be judged
    path_ : str
        "shared" if all candidates took the shared path, "general" otherwise.
    optimism_ : float
        How far the largest posterior mean is expected to lie above the AUC of the candidate that has it, merely
        because it is the largest; ``best_score_ - optimism_`` is the more sober figure. The candidates' errors are
        taken as normal with their posterior sds, correlated as the rows' contributions to their AUCs are; the average
        error of the largest comes from a simulation with a fixed seed, about truths that are the posterior means,
        drawn together as far as their spread is noise. In simulations it was once to twice the real optimism on
        labels without signal, and more where candidates truly differ: it errs on the side of caution.
    classes_, n_features_in_, feature_names_in_ : those of ``best_estimator_``

    Notes
    -----
    ``fit(X, y, groups=...)`` takes labels of dependent rows, as `auc_posterior` does. Other keyword arguments go to
    ``fit`` of the estimator; `sample_weight` shapes the fits, while rows count alike in the AUC. ``score`` is the AUC
    on the rows it is given; with more than two classes the average `multi_class` of ``roc_auc_score``, of the scores
    that ``best_posterior_.details["score"]`` names: odds where classes compete through a softmax, decision values
    elsewhere. Groups and "in-sample" are for two classes. Each kind of warning is given once, not once per candidate.

    Examples
    --------
    >>> import numpy as np
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> search = fl.FoldlessSearch(model, {"logisticregression__C": np.logspace(-3, 3, 7)}).fit(X[:60], y[:60])
    >>> search.path_
    'shared'
    >>> search.best_posterior_
    AUCPosterior(...)
    >>> bool(search.score(X[60:], y[60:]) > 0.97)
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        method: str = "auto",
        prior: Any = None,
        rule: str = "best",
        level: float = 0.95,
        refit: Any = True,
        n_jobs: int | None = None,
        error_score: Any = np.nan,
        progress: Any = False,
        multi_class: str = "ovo",
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.method = method
        self.prior = prior
        self.rule = rule
        self.level = level
        self.refit = refit
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.progress = progress
        self.multi_class = multi_class

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> FoldlessSearch:
        """Fit and judge all candidates, and choose one.

        Parameters
        ----------
        X, y : training rows and their classes, two or more
        groups : array of shape (N,), optional
            Labels of dependent rows: patients, sessions, runs. For two classes.
        **params : passed on to ``fit`` of the estimator
        """
        settings = SearchSettings(self.rule, self.level, self.n_jobs, self.error_score, self.progress)
        if self.method == "refit":
            raise InputError("FoldlessSearch fits every candidate once: use method='loo', then analyse the best one.")
        method = "loo" if self.method == "auto" else self.method
        options = Options(groups=groups, prior=self.prior, method=method, multi_class=self.multi_class)
        if not options.in_sample:
            EffectPrior.checked(self.prior)
        _check_classes(y)
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "fit", **params)["estimator"]["fit"])
        study = Study(self.estimator, X, y, params, options)
        if study.several_classes:
            refuse_two_class_options(None, options.groups)
            if options.in_sample:
                raise InputError("method 'in-sample' is for two classes, and y has more: use method='loo'.")
        self._keep(run(study, self.param_grid, settings))
        return self

    def _keep(self, search: SearchOutcome) -> None:
        self.results_, self.posteriors_ = search.results, [outcome.posterior for outcome in search.outcomes]
        self.path_, self.optimism_ = search.path, search.optimism
        index = self.refit(search.results) if callable(self.refit) else search.best
        chosen = _chosen(index, search)
        self.best_index_, self.best_params_ = int(index), search.candidates[index]
        self.best_posterior_ = _with_note(chosen.assessment.posterior, search)
        self.best_score_ = self.best_posterior_.mean
        for name in ("best_estimator_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if self.refit:
            self.best_estimator_ = chosen.fitted.estimator()
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_

    @property
    def classes_(self) -> Any:
        """The classes; of two, the positive one is second."""
        return self._best("classes_").classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in fit."""
        return int(self._best("n_features_in_").n_features_in_)

    def _best(self, name: str) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"FoldlessSearch has no {name}: call fit, with refit=True.")
        return self.best_estimator_

    predict = _by_best("predict", "Classes, by the chosen candidate.")
    predict_proba = _by_best("predict_proba", "Probabilities of the classes, by the chosen candidate.")
    predict_log_proba = _by_best("predict_log_proba", "Logarithms of `predict_proba`.")
    decision_function = _by_best(
        "decision_function",
        "Scores, by the chosen candidate; larger for the second of two ``classes_``, or a column for each of more.",
    )

    @_exists_with("decision_function")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """AUC (average AUC) of the chosen candidate on given rows, which should not be its training rows."""
        from sklearn.metrics import roc_auc_score

        scores = self.decision_function(X)
        if len(self.classes_) > 2:
            how = {"kind": self.best_posterior_.details["score"], "multi_class": self.multi_class}
            return average_auc(y, scores, self.classes_, sample_weight=sample_weight, **how)
        labels = checks.as_labels(y, classes=self.classes_)
        return float(roc_auc_score(labels.positive, scores, sample_weight=sample_weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """`groups` is for the search itself, everything else for the estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags = deepcopy(own.classifier_tags)
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        tags.input_tags = deepcopy(own.input_tags)
        tags.target_tags.required, tags.target_tags.multi_output = True, False
        return tags


def _check_classes(y: Any) -> None:
    """Refuse anything but one class per row, in words that scikit-learn's own checks look for."""
    if y is None:
        raise InputError(
            "FoldlessSearch requires y to be passed, but the target y is None: pass the class of each row."
        )
    try:
        kind = type_of_target(y, input_name="y", raise_unknown=True)
    except TypeError as err:  # labels that cannot be put in order
        checks.distinct(checks.label_vector(y))
        raise InputError(f"y must hold one class per row, all of one kind ({err}).") from err
    if kind.startswith("multi") and kind != "multiclass":
        raise InputError(
            f"y must hold one class per row, and the type of this target is {kind}: fit one search per column of y."
        )


def _chosen(index: Any, search: SearchOutcome) -> Any:
    """The outcome of the chosen candidate, which was judged."""
    count = len(search.candidates)
    if not isinstance(index, int | np.integer) or not 0 <= index < count:
        raise InputError(f"refit must return the index of a candidate, 0 to {count - 1}, got {index!r}.")
    outcome = search.outcomes[index]
    if outcome.assessment is None or outcome.fitted is None:
        raise InputError(f"refit returned candidate {index}, which could not be judged: {outcome.error}")
    return outcome


def _with_note(posterior: AUCPosterior, search: SearchOutcome) -> AUCPosterior:
    if len(search.candidates) == 1:
        return posterior
    note = (
        f"chosen among {len(search.candidates)} candidates with the help of this very number: the largest of their "
        f"means is expected to lie {search.optimism:.3f} too high for that reason alone."
    )
    return replace(posterior, notes=(*posterior.notes, note))
