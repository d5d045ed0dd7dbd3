"""`FoldlessSearch`: used like GridSearchCV, fits every candidate once and judges it by its calibrated AUC."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from foldless import checks, words
from foldless.computation import Options
from foldless.errors import InputError
from foldless.estimate import auc_posterior
from foldless.honest.class_refits import class_scores_of
from foldless.honest.classes import LOG_ODDS, log_odds
from foldless.honest.posterior import EffectPrior
from foldless.honest.refits import classes_of, scores_of
from foldless.results.auc import AUCPosterior
from foldless.search.paths import Study, posterior_of_search
from foldless.search.run import SearchOutcome, check_settings, run
from foldless.tables.device import is_torch, to_host

NO_GROUPS = (
    "a search over more than two classes takes independent rows: search one class against the rest, y == label, or "
    "leave groups out if the rows are independent."
)


def auc_scorer(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, groups: Any = None) -> float:
    """Posterior mean of the AUC that a fitted linear classifier has on new data, from its own training rows.

    For ``scoring=`` in scikit-learn. The rows that are scored must be those of the fit, so use ``cv=[(rows, rows)]``;
    with other rows it warns (`TrustWarning`) that the weights do not belong to them. Parameters as in `auc_posterior`;
    with more than two classes it is the average AUC over pairs of classes.

    Examples
    --------
    >>> import numpy as np
    >>> import foldless as fl
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = make_classification(60, random_state=0)
    >>> rows, grid = np.arange(60), {"alpha": [0.01, 1.0, 100.0]}
    >>> search = GridSearchCV(RidgeClassifier(), grid, scoring=fl.auc_scorer, cv=[(rows, rows)]).fit(X, y)
    >>> bool(0.8 < search.best_score_ < 1)
    True
    """
    return auc_posterior(estimator, X, y, sample_weight=sample_weight, groups=groups).mean


def _exists_with(name: str) -> Any:
    """Decorator: the method exists if the best (before fit, the given) estimator has `name`."""

    def check(search: FoldlessSearch) -> bool:
        if not search.refit:
            raise AttributeError(f"FoldlessSearch(refit=False) keeps no estimator and has no {name}: set refit=True.")
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


def _by_best(name: str, doc: str) -> Any:
    """A method that calls that of the chosen candidate."""

    def method(self: FoldlessSearch, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    method.__name__, method.__qualname__, method.__doc__ = name, f"FoldlessSearch.{name}", doc
    return _exists_with(name)(method)


def _of_search(name: str, doc: str) -> Any:
    """What a finished search holds, made on first use."""

    def read(self: FoldlessSearch) -> Any:
        if not hasattr(self, "_search"):
            raise AttributeError(f"FoldlessSearch has no {name}_: call fit.")
        return getattr(self._search, name)

    return property(read, doc=doc)


class FoldlessSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Search over the parameters of a classifier; used like scikit-learn's ``GridSearchCV``.

    Every candidate is fitted on all rows, and judged by the posterior of its AUC, or accuracy, on new data: without
    folds where rows leave the fit in closed form.

    Candidates that differ only in the strength of an L2 penalty - C of LogisticRegression and of LinearSVC with the
    squared hinge, alpha of RidgeClassifier, also at the end of a Pipeline - share one rotation of the data and are
    solved one after the other (``path_ == "shared"``); their fits are exact optima, whatever ``tol``, ``max_iter`` and
    ``solver`` say. With more than two classes this holds for RidgeClassifier on columns that no scaler of the pipeline
    divides. Other candidates are fitted by scikit-learn.

    Parameters
    ----------
    estimator : linear classifier, or Pipeline ending in one; any classifier with method="refit"
    param_grid : dict of lists, or list of such dicts
        As for GridSearchCV; parameters of steps are named ``step__parameter``.
    method, prior
        As in `auc_posterior`: candidates without a closed form (L1, selected columns, PLS-DA) are refitted 20 times
        under "auto", any others with "refit". "in-sample" favours candidates that overfit, and is for comparison only.
    rule : {"best", "simplest"}
        "best" takes the largest posterior mean. "simplest" takes the strongest regularisation (smallest C, largest
        alpha or shrinkage) that is not credibly worse: the probability that the best is better stays below `level`.
        Only candidates that agree with the best in all other parameters are considered. With few rows little is
        credible and "simplest" may cost some AUC; a `level` nearer to 0.5 costs less.
    level : float
        Level of the intervals in ``results_``, and for "simplest".
    refit : bool or callable
        Whether to keep the fitted classifier of the chosen candidate; nothing is fitted again. A callable takes
        ``results_`` and returns the index of the candidate to choose.
    n_jobs : int, optional
        Processes for candidates that do not share their work.
    error_score : nan or "raise"
        With nan, candidates that cannot be fitted or judged are left out of the choice, with a warning.
    progress : bool or callable
        True shows a bar on stderr once the search has lasted two seconds; a callable is called with
        (done, total, seconds to go) after every candidate.
    multi_class : {"ovo", "ovr"}
        With more than two classes, the average AUC that candidates are judged by, as in `auc_posterior`.
    scoring : {"auc", "accuracy", "balanced_accuracy"}
        What candidates are judged by; accuracies are those of ``predict``, as in `Analysis`.

    Attributes
    ----------
    best_index_, best_params_ : the chosen candidate
    best_score_ : float
        Its posterior mean, chosen for being large: see ``optimism_``.
    best_posterior_ : AUCPosterior, MulticlassAUCPosterior with more than two classes, or AccuracyPosterior
        Its posterior; a note says how much the choice may have flattered it.
    posterior_ : AUCPosterior
        Posterior of the AUC of the whole procedure, tuning included: for every pair of rows a candidate is chosen
        without it and scores it. Computed on first use from X and y as given to fit; for two classes without groups,
        rule="best" and candidates whose rows leave in closed form.
    best_estimator_ : its fitted scikit-learn estimator (with refit)
    results_ : dict of arrays
        params, param_<name>, mean, sd, lower, upper, rank and path ("shared" or "general"), one entry per candidate;
        nan for those that could not be judged.
    cv_results_ : the same by scikit-learn's names: mean_test_score, std_test_score (of the posterior), rank_test_score
    posteriors_ : list of such posteriors, None for candidates that could not be judged
    path_ : str
        "shared" if all candidates took the shared path, "general" otherwise.
    optimism_ : float
        How far the largest posterior mean is expected to exceed the AUC of its candidate merely because it is the
        largest, from a simulation of the candidates' correlated errors with a fixed seed. ``best_score_ - optimism_``
        is the more realistic figure, and a cautious one (docs/guides/choosing_c.md).
    classes_, n_features_in_, feature_names_in_ : those of ``best_estimator_``

    Notes
    -----
    ``fit(X, y, groups=...)`` takes labels of dependent rows, as `auc_posterior` does. Other keyword arguments go to
    ``fit`` of the estimator; rows count equally in the AUC even with a `sample_weight`. ``score`` is the AUC on the
    given rows; with more than two classes the average `multi_class` of the AUCs of the scores that
    ``best_posterior_.details["score"]`` names. Groups and "in-sample" are for two classes. Each kind of warning is
    given once, not once per candidate.

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
        scoring: str = "auc",
    ) -> None:
        self.estimator, self.param_grid = estimator, param_grid
        self.method, self.prior, self.rule, self.level, self.refit = method, prior, rule, level, refit
        self.n_jobs, self.error_score, self.progress = n_jobs, error_score, progress
        self.multi_class, self.scoring = multi_class, scoring

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> FoldlessSearch:
        """Fit and judge all candidates, and choose one.

        Parameters
        ----------
        X, y : training rows and their classes, two or more
            With more than two classes X may be a PyTorch tensor, and the work is done on its device: for
            RidgeClassifier, with scoring "accuracy" or "balanced_accuracy".
        groups : array of shape (N,), optional
            Labels of dependent rows: patients, sessions, runs. For two classes.
        **params : passed on to ``fit`` of the estimator
        """
        check_settings(self)
        y = to_host(y) if is_torch(y) else y
        options = Options(groups=groups, prior=self.prior, method=self.method, multi_class=self.multi_class)
        if not options.in_sample:
            EffectPrior.checked(self.prior)
        _check_classes(y)
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "fit", **params)["estimator"]["fit"])
        study = Study(self.estimator, X, y, params, options, self.scoring)
        if study.several_classes:
            if options.groups is not None:
                raise InputError(NO_GROUPS)
            if options.in_sample:
                raise InputError("method 'in-sample' is for two classes, and y has more: use method='loo'.")
        search = run(study, self)
        self._search, self._study = self._kept(search), study
        self._tuned: AUCPosterior | None = None
        return self

    def _kept(self, search: SearchOutcome) -> SearchOutcome:
        index = self.refit(search.results) if callable(self.refit) else search.best
        chosen = _chosen(index, search)
        self.path_, self.best_index_, self.best_params_ = search.path, int(index), search.candidates[index]
        self.best_score_ = chosen.posterior.mean
        for name in ("best_estimator_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if self.refit:
            self.best_estimator_ = chosen.estimator()
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return search if index == search.best else replace(search, best=self.best_index_)

    @property
    def classes_(self) -> Any:
        """The classes; of two, the positive one is second."""
        return np.asarray(classes_of(self._best("classes_")))

    @property
    def posterior_(self) -> AUCPosterior:
        """Posterior of the AUC of the whole procedure, tuning included."""
        known: AUCPosterior | None = getattr(self, "_tuned", None)
        if known is None:
            outcomes = self._search.outcomes if hasattr(self, "_search") else ()
            known = self._tuned = posterior_of_search(self, getattr(self, "_study", None), outcomes)
        return known

    results_ = _of_search("results", "The table of the candidates.")
    cv_results_ = _of_search("cv_results", "The table of the candidates, by scikit-learn's names of columns.")
    posteriors_ = _of_search("posteriors", "What the candidates are judged by.")
    best_posterior_ = _of_search("best_posterior", "Posterior of the chosen candidate.")
    optimism_ = _of_search("optimism", "How far the largest posterior mean is expected to lie too high.")

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        light = {"_search": state["_search"].on_its_own()} if "_search" in state else {}
        return {**state, **light, "_study": None}  # training rows stay behind

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

    @_exists_with("predict")  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """AUC (average AUC) or accuracy of the chosen candidate on rows that it was not fitted on."""
        from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

        if self.scoring != "auc":
            measure = accuracy_score if self.scoring == "accuracy" else balanced_accuracy_score
            return float(measure(y, self.predict(X), sample_weight=sample_weight))
        if len(self.classes_) > 2:
            scores = class_scores_of(self.best_estimator_, X).T
            how = {"kind": self.best_posterior_.details["score"], "multi_class": self.multi_class}
            return average_auc(y, scores, self.classes_, sample_weight=sample_weight, **how)
        labels = checks.as_labels(y, classes=self.classes_)
        scores = scores_of(self.best_estimator_, X, labels.positive_label)
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
    """Refuse anything but one class per row; scikit-learn's own checks look for some of the words."""
    if y is None:
        raise InputError("FoldlessSearch requires y to be passed, but the target y is None: pass one class per row.")
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
    count = len(search.outcomes)
    if not isinstance(index, int | np.integer) or not 0 <= index < count:
        raise InputError(f"refit must return the index of a candidate, 0 to {count - 1}, got {index!r}.")
    outcome = search.outcomes[index]
    if outcome.error is not None:
        raise InputError(f"refit returned candidate {index}, which could not be judged: {outcome.error}")
    return outcome


def average_auc(y: Any, decisions: Any, classes: Any, *, kind: Any, multi_class: str, sample_weight: Any) -> float:
    """Mean over ordered pairs of classes ("ovo"), or over classes against the rest ("ovr"), of the AUC of a score.

    `decisions` (N, K) come from ``decision_function``; `kind` is ``details["score"]`` of the posterior. Where that is
    the log odds it equals ``roc_auc_score(average="macro")``, which accepts nothing but probabilities.
    """
    from sklearn.metrics import roc_auc_score

    values, names = checks.label_vector(y), np.asarray(classes).tolist()
    _refuse_other_classes(values.tolist(), names)
    z = np.asarray(decisions, dtype=np.float64)
    z = log_odds(z.T).T if kind == LOG_ODDS else z
    checks.same_length(len(z), values.size)
    weight = np.ones(values.size) if sample_weight is None else checks.as_row_weights(sample_weight, values.size)

    def auc(k: int, rows: Any) -> float:
        return float(roc_auc_score(values[rows] == names[k], z[rows, k], sample_weight=weight[rows]))

    everyone = range(len(names))
    if multi_class == "ovr":
        return float(np.mean([auc(k, slice(None)) for k in everyone]))
    return float(np.mean([auc(a, (values == names[a]) | (values == names[b])) for a, b in permutations(everyone, 2)]))


def _refuse_other_classes(labels: list[Any], classes: list[Any]) -> None:
    """Refuse labels that are not a class, and a class without rows."""
    expected = f"the classes are {words.listed(classes)}: score rows of every class, and of no other."
    strangers = sorted({str(label) for label in labels if label not in classes})
    if strangers:
        raise InputError(f"y has unknown labels: {words.listed(strangers)}; {expected}")
    absent = [name for name in classes if name not in labels]
    if absent:
        raise InputError(f"y has no rows of class {absent[0]!r}; {expected}")
