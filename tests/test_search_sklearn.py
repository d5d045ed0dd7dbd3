"""FoldlessSearch as a citizen of scikit-learn: its checks, nesting, metadata, data frames, warnings, failures."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import FoldlessSearch, TrustWarning, auc_posterior, auc_scorer
from sklearn_versions import VERSION

PIPELINE = Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression())])


@pytest.mark.filterwarnings("ignore")  # the checks feed nonsense on purpose and count on warnings not being errors
@parametrize_with_checks(
    [
        FoldlessSearch(LogisticRegression(), {"C": [0.1, 1]}),
        FoldlessSearch(RidgeClassifier(), {"alpha": [0.1, 1]}, rule="simplest"),
        FoldlessSearch(PIPELINE, {"clf__C": [0.1, 1], "scale__with_std": [True, False]}),
        FoldlessSearch(LogisticRegression(), {"fit_intercept": [False, True]}),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """All of scikit-learn's own checks, without any expected failure; shared and general path."""
    check(estimator)


@pytest.fixture(scope="module")
def data(make_data):
    """30 + 25 rows, 12 columns, some signal."""
    X, y, _ = make_data(3, 30, 25, 12, shift=0.4)
    return X, y


@pytest.fixture
def routing():
    """Metadata routing switched on."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_nested_in_cross_validation_and_pipelines(data):
    """Outer folds, an outer pipeline and an outer search see an ordinary classifier."""
    X, y = data
    search = FoldlessSearch(PIPELINE, {"clf__C": [0.01, 1.0]})
    folds = StratifiedKFold(3)
    by_hand = []
    for train, test in folds.split(X, y):
        inner = clone(search).fit(X[train], y[train])
        by_hand.append(roc_auc_score(y[test], inner.decision_function(X[test])))
    assert cross_val_score(search, X, y, cv=folds) == pytest.approx(by_hand)
    assert cross_val_score(search, X, y, cv=folds, scoring="roc_auc") == pytest.approx(by_hand)
    whole = make_pipeline(StandardScaler(), FoldlessSearch(LogisticRegression(), {"C": [0.01, 1.0]})).fit(X, y)
    np.testing.assert_allclose(whole.decision_function(X), clone(search).fit(X, y).decision_function(X))
    outer = GridSearchCV(search, {"rule": ["best", "simplest"]}, cv=folds).fit(X, y)
    assert outer.best_params_["rule"] in ("best", "simplest")


def test_clone_pickle_and_refit_forget(data):
    """Cloning keeps parameters only; pickling keeps everything; a second fit leaves nothing of the first."""
    X, y = data
    search = FoldlessSearch(LogisticRegression(), {"C": [0.01, 1.0]}, rule="simplest").fit(X, y)
    assert not hasattr(clone(search), "best_index_")
    assert clone(search).rule == "simplest"
    back = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(back.decision_function(X), search.decision_function(X))
    assert back.best_posterior_.interval() == search.best_posterior_.interval()
    search.set_params(refit=False).fit(X, y)
    assert not hasattr(search, "best_estimator_")


def test_a_pickled_search_keeps_its_table_and_its_notes_and_leaves_the_rows_behind(make_data):
    """Both are made on first use: from a search that was pickled before, as from the search itself."""
    X, y, _ = make_data(3, 9, 7, 3, shift=0.4)  # few rows, of which a note tells
    X[0] = 271828.182845  # as 8 bytes, easily found
    search = FoldlessSearch(RidgeClassifier(), {"alpha": [0.5, 2.0, 1e9]}).fit(X, y)
    held = pickle.dumps(search)
    assert X[0, :1].tobytes() not in held
    again = pickle.loads(held)
    assert [post.notes for post in again.posteriors_] == [post.notes for post in search.posteriors_]
    assert any("7 rows" in note for post in again.posteriors_ for note in post.notes)
    for name, column in search.results_.items():
        np.testing.assert_array_equal(again.results_[name], column)
    assert not hasattr(FoldlessSearch(RidgeClassifier(), {"alpha": [1.0]}), "results_")


def test_frames_in_and_out(data):
    """Column names are kept and checked, and steps may hand on data frames."""
    X, y = data
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    plain = FoldlessSearch(PIPELINE, {"clf__C": [0.01, 1.0]}).fit(X, y)
    model = clone(PIPELINE).set_output(transform="pandas")
    search = FoldlessSearch(model, {"clf__C": [0.01, 1.0]}).fit(frame, pd.Series(y))
    assert search.path_ == "shared"
    assert list(search.feature_names_in_) == list(frame.columns)
    assert list(search.best_estimator_["clf"].feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(search.results_["mean"], plain.results_["mean"])
    with sklearn.config_context(transform_output="pandas"):
        again = FoldlessSearch(PIPELINE, {"clf__C": [0.01, 1.0]}).fit(frame, y)
    np.testing.assert_allclose(again.results_["mean"], plain.results_["mean"])
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("grid", [{"clf__C": [0.1, 1.0]}, {"clf__C": [0.1]}], ids=["shared", "general"])
def test_sample_weight_without_routing(data, grid):
    """step__sample_weight reaches the classifier's fit, and its posterior knows."""
    X, y = data
    weight = np.linspace(0.1, 3.0, len(y))
    search = FoldlessSearch(PIPELINE, grid).fit(X, y, clf__sample_weight=weight)
    model = clone(PIPELINE).set_params(clf__C=0.1, clf__tol=1e-10).fit(X, y, clf__sample_weight=weight)
    expected = auc_posterior(model, X, y, sample_weight=weight)
    assert search.posteriors_[0].mean == pytest.approx(expected.mean, abs=1e-4)
    assert abs(search.posteriors_[0].mean - auc_posterior(clone(model).fit(X, y), X, y).mean) > 1e-4


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("grid", [{"clf__C": [0.1, 1.0]}, {"clf__C": [0.1]}], ids=["shared", "general"])
def test_sample_weight_with_routing(data, grid):
    """Requested metadata are routed to the step; unrequested ones are refused in scikit-learn's words."""
    X, y = data
    weight = np.linspace(0.1, 3.0, len(y))
    asks = LogisticRegression(C=0.1, tol=1e-10).set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    search = FoldlessSearch(Pipeline([("scale", scaler), ("clf", asks)]), grid).fit(X, y, sample_weight=weight)
    Z = StandardScaler().fit_transform(X)
    expected = auc_posterior(clone(asks).fit(Z, y, sample_weight=weight), Z, y, sample_weight=weight)
    assert search.posteriors_[0].mean == pytest.approx(expected.mean, abs=1e-5)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        FoldlessSearch(LogisticRegression(), {"C": [0.1, 1.0]}).fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("routing")
def test_groups_with_routing(data):
    """groups is the search's own: it asks an outer cross-validation for them, and does not pass them on."""
    X, y = data
    groups = np.arange(len(y)) // 2
    search = FoldlessSearch(LogisticRegression(), {"C": [0.1, 1.0]})
    inner = clone(search).fit(X, y, groups=groups)
    assert inner.posteriors_[0].details["groups"] == groups.max() + 1
    asking = clone(search).set_fit_request(groups=True)
    found = cross_validate(asking, X, y, cv=GroupKFold(3), params={"groups": groups}, return_estimator=True)
    assert [s.posteriors_[0].details["groups"] is not None for s in found["estimator"]] == [True] * 3


def test_parallel_gives_the_same(data):
    """Two processes find what one finds, in the same order."""
    X, y = data
    grid = {"clf__C": [0.01, 1.0], "scale__with_mean": [True, False], "clf__class_weight": [None, "balanced"]}
    one = FoldlessSearch(PIPELINE, grid).fit(X, y)
    two = FoldlessSearch(PIPELINE, grid, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.results_["mean"], two.results_["mean"])
    np.testing.assert_array_equal(one.best_estimator_["clf"].coef_, two.best_estimator_["clf"].coef_)


# ---- auc_scorer


def test_scorer_in_grid_search_equals_the_search(data):
    """GridSearchCV with auc_scorer and one split of everything ranks as FoldlessSearch does."""
    X, y = data
    rows = np.arange(len(y))
    model, grid = LogisticRegression(tol=1e-10, max_iter=10_000), {"C": [0.001, 0.1, 10.0]}
    theirs = GridSearchCV(model, grid, scoring=auc_scorer, cv=[(rows, rows)]).fit(X, y)
    ours = FoldlessSearch(model, grid).fit(X, y)
    assert theirs.best_params_ == ours.best_params_
    np.testing.assert_allclose(theirs.cv_results_["mean_test_score"], ours.results_["mean"], atol=1e-7)
    if VERSION < (1, 7):  # weights did not reach the scorer
        return
    weight = np.linspace(0.1, 3.0, len(y))
    weighted = GridSearchCV(model, grid, scoring=auc_scorer, cv=[(rows, rows)]).fit(X, y, sample_weight=weight)
    expected = FoldlessSearch(model, grid).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.cv_results_["mean_test_score"], expected.results_["mean"], atol=1e-7)


def test_scorer_warns_about_rows_that_were_not_trained_on(data):
    """With folds the weights do not belong to the rows, and the scorer says so."""
    X, y = data
    with pytest.warns(TrustWarning, match="not those given to fit"):
        cross_val_score(LogisticRegression(), X, y, scoring=auc_scorer, cv=2)
