"""take_apart: the view must score exactly as the estimator does, on columns that y had no part in choosing."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import linear_model as lm
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFpr,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    chi2,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

import foldless as fl
from foldless.errors import EstimatorError, FoldlessError, InputError, TrustWarning
from foldless.model.steps import saw_y
from foldless.model.view import LinearView, take_apart
from sklearn_versions import NEW, l1

N, P = 60, 8
_rng = np.random.default_rng(20240501)
Y = np.arange(N) % 2
X = _rng.normal(size=(N, P)) * np.geomspace(0.1, 100, P) + np.linspace(-50, 1000, P)
X[:, 2] += 0.9 * X[:, 2].std() * Y
X[:, 5] -= 0.7 * X[:, 5].std() * Y
Z = StandardScaler().fit_transform(X)
NAMES = [f"f{j}" for j in range(P)]
FRAME = pd.DataFrame(Z, columns=NAMES)


def assert_same_scores(view: LinearView, expected: np.ndarray, tol: float = 1e-9) -> None:
    scores = view.scores()
    assert scores.dtype == np.float64
    assert scores.shape == (view.labels.positive.size,)
    np.testing.assert_allclose(scores, np.ravel(expected), rtol=0, atol=tol * max(1.0, np.ptp(expected)))


# ---- classifiers

CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegression(solver="liblinear", C=10),
    LogisticRegression(**l1(), solver="liblinear", C=0.5),
    LogisticRegression(fit_intercept=False),
    lm.SGDClassifier(random_state=0),
    lm.SGDClassifier(loss="log_loss", random_state=0),
    lm.Perceptron(random_state=0),
    RidgeClassifier(),
    lm.RidgeClassifierCV(),
    LinearSVC(random_state=0),
    LinearSVC(loss="hinge", random_state=0, max_iter=100_000),
    SVC(kernel="linear"),
    NuSVC(kernel="linear"),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: str(c)[:60])
@pytest.mark.parametrize("labels", [Y, np.where(Y, "ill", "healthy"), Y.astype(bool)], ids=["int", "str", "bool"])
def test_every_classifier_scores_as_itself(classifier, labels):
    fitted = classifier.fit(Z, labels)
    view = take_apart(fitted, Z, labels)
    assert_same_scores(view, fitted.decision_function(Z))
    assert view.estimator is fitted
    assert not view.flipped
    assert view.labels.positive_label == fitted.classes_[1]
    assert view.X is Z


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_passive_aggressive_and_cv_classifiers():
    fitted = lm.PassiveAggressiveClassifier(random_state=0).fit(Z, Y)
    assert_same_scores(take_apart(fitted, Z, Y), fitted.decision_function(Z))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = lm.LogisticRegressionCV(Cs=3, cv=3).fit(Z, Y)
    view = take_apart(fitted, Z, Y)
    assert_same_scores(view, fitted.decision_function(Z))
    assert "LogisticRegressionCV chose" in view.notes[0]


def test_sparsified_coefficients_and_sparse_input():
    fitted = lm.SGDClassifier(penalty="l1", random_state=0).fit(Z, Y).sparsify()
    assert_same_scores(take_apart(fitted, Z, Y), fitted.decision_function(Z))
    S = sp.csc_array(np.where(np.abs(Z) > 1, Z, 0))
    for classifier in (SVC(kernel="linear"), LogisticRegression(), LinearSVC(random_state=0)):
        fitted = classifier.fit(S, Y)
        view = take_apart(fitted, S, Y)
        assert view.X.format == "csr"
        assert_same_scores(view, fitted.decision_function(S))


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.bsr_matrix])
def test_sparse_tables_whose_rows_cannot_be_taken(kind):
    """Of more rows than are compared: they were said not to be what fit had been given."""
    rows = np.random.default_rng(0).standard_normal((200, 3)) * [[1, 0, 1]]
    y = np.arange(200) % 2
    fitted = LogisticRegression().fit(kind(rows), y)
    assert_same_scores(take_apart(fitted, kind(rows), y), fitted.decision_function(rows))


def test_float32_is_kept():
    X32 = X.astype(np.float32)
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X32, Y)
    view = take_apart(fitted, X32, Y)
    assert view.X.dtype == np.float32
    assert_same_scores(view, fitted.decision_function(X32), 1e-5)
    view = take_apart(make_pipeline(SelectKBest(k=3), StandardScaler(), LogisticRegression()).fit(X32, Y), X32, Y)
    assert view.X is X32


def test_many_rows_are_checked_on_a_sample():
    big = np.tile(Z, (20, 1))
    labels = np.tile(Y, 20)
    fitted = make_pipeline(StandardScaler(), SelectKBest(k=2), StandardScaler(), RidgeClassifier()).fit(big, labels)
    for container in (big, pd.DataFrame(big, columns=NAMES), pl.DataFrame(big, schema=NAMES), big.tolist()):
        assert_same_scores(take_apart(fitted, container, labels), fitted.decision_function(big))


class Foreign(ClassifierMixin, BaseEstimator):
    """A user's classifier; `power` makes its decision function non-linear, `margin` takes it away."""

    def __init__(self, power=1, with_decision=True):
        self.power, self.with_decision = power, with_decision

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.coef_ = X[y == self.classes_[1]].mean(0) - X[y == self.classes_[0]].mean(0)
        self.intercept_ = 0.5
        return self

    def __getattr__(self, name):
        if name == "decision_function" and self.__dict__.get("with_decision"):
            return lambda X: X @ self.coef_**self.power + self.intercept_
        raise AttributeError(name)


def test_foreign_classifier_is_verified():
    fitted = Foreign().fit(Z, Y)
    assert_same_scores(take_apart(fitted, Z, Y), fitted.decision_function(Z))


# ---- orientation


@pytest.mark.parametrize("labels", [Y, np.where(Y, "ill", "healthy"), Y.astype(bool), pd.Series(Y, dtype="Int64")])
def test_pos_label_flips(labels):
    values = np.asarray(labels).astype(object if isinstance(labels, pd.Series) else np.asarray(labels).dtype)
    fitted = make_pipeline(SelectKBest(k=3), StandardScaler(), LogisticRegression()).fit(Z, np.array(labels.tolist()))
    first, second = np.unique(np.asarray(labels))
    same, turned = take_apart(fitted, Z, labels, pos_label=second), take_apart(fitted, Z, labels, pos_label=first)
    np.testing.assert_array_equal(turned.w, -same.w)
    assert turned.intercept == -same.intercept
    assert (same.flipped, turned.flipped) == (False, True)
    np.testing.assert_array_equal(turned.labels.positive, values == first)
    assert_same_scores(turned, -fitted.decision_function(Z))


@pytest.mark.parametrize("shape", [(P,), (1, P), (P, 1)])
def test_bare_weights(shape):
    w = np.arange(1.0, P + 1)
    for given in (w.reshape(shape), w.reshape(shape).tolist(), sp.csr_matrix(w.reshape(-1, 1))):
        view = take_apart(given, Z, Y)
        np.testing.assert_array_equal(view.w, w)
        assert (view.intercept, view.estimator, view.flipped, view.notes) == (0.0, None, False, ())
    # A bare vector has no classes of its own: pos_label says which class its high scores stand for.
    named = take_apart(w, Z, np.where(Y, "b", "a"), pos_label="a")
    assert not named.flipped
    np.testing.assert_array_equal(named.labels.positive, ~np.asarray(Y, dtype=bool))
    np.testing.assert_array_equal(named.scores(), Z @ w)


def test_bare_weights_from_series():
    w = pd.Series(np.arange(1.0, P + 1), index=NAMES)
    assert_same_scores(take_apart(w, FRAME, Y), FRAME.to_numpy() @ w.to_numpy())
    assert_same_scores(take_apart(pl.Series(w.to_numpy()), pl.DataFrame(FRAME), Y), Z @ w.to_numpy())
    with pytest.raises(EstimatorError, match="another order"):
        take_apart(w[::-1], FRAME, Y)


# ---- pipelines that did not see y

BLIND = {
    "scaler": [StandardScaler()],
    "pca": [StandardScaler(), PCA(4)],
    "imputer": [SimpleImputer(), StandardScaler()],
    "passthrough": ["passthrough", StandardScaler(), None],
    "variance": [VarianceThreshold(), MinMaxScaler(clip=True)],
    "quantile": [QuantileTransformer(n_quantiles=20)],
    "function": [StandardScaler(), FunctionTransformer(np.tanh)],
    "nested": [make_pipeline(StandardScaler(), make_pipeline(PCA(5), "passthrough"))],
    "union": [StandardScaler(), FeatureUnion([("pca", PCA(2)), ("same", "passthrough"), ("no", "drop")])],
    "pandas": [StandardScaler().set_output(transform="pandas"), PCA(3)],
    "frozen": [FrozenEstimator(StandardScaler().fit(X))],
}


def pipeline(steps, final=None):
    return Pipeline([(f"s{k}", s) for k, s in enumerate([*steps, final or LogisticRegression()])])


@pytest.mark.parametrize("steps", BLIND.values(), ids=BLIND.keys())
@pytest.mark.parametrize("container", ["array", "pandas", "polars"])
def test_steps_that_did_not_see_y_are_applied(steps, container):
    table = {"array": X, "pandas": pd.DataFrame(X, columns=NAMES), "polars": pl.DataFrame(X, schema=NAMES)}[container]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = pipeline(steps).fit(table, Y)
        expected, inner = fitted.decision_function(table), fitted[:-1].transform(table)
    view = take_apart(fitted, table, Y)
    assert_same_scores(view, expected)
    np.testing.assert_allclose(view.X, np.asarray(inner))
    assert view.estimator is fitted[-1]
    # The only thing to say is that a step stays as it was fitted while rows are left out.
    assert all("kept as fitted to all rows" in note for note in view.notes)


def mixed_frame():
    frame = pd.DataFrame(X.copy(), columns=NAMES)  # pandas before 3 would write into X
    frame["town"] = np.array(["Ulm", "Rome", "Oslo"])[np.arange(N) % 3]
    frame.loc[[3, 7], "f1"] = np.nan
    return frame


def column_transformer(numeric_tail=()):
    numeric = make_pipeline(SimpleImputer(), StandardScaler(), *numeric_tail)
    return ColumnTransformer([("num", numeric, NAMES[:6]), ("cat", OneHotEncoder(), ["town"])], remainder="passthrough")


@pytest.mark.parametrize("kind", ["pandas", "polars", "set_output"])
def test_column_transformer_on_frames(kind):
    if kind == "polars" and not NEW:
        pytest.skip("before version 1.8 a ColumnTransformer with sparse output cannot take polars frames")
    frame = pl.DataFrame(mixed_frame().to_dict("list")) if kind == "polars" else mixed_frame()
    ct = column_transformer()
    if kind == "set_output":
        ct = ct.set_output(transform="pandas")
        ct.set_params(cat__sparse_output=False)
    fitted = make_pipeline(ct, StandardScaler(with_mean=False), RidgeClassifier()).fit(frame, Y)
    view = take_apart(fitted, frame, Y)
    assert_same_scores(view, fitted.decision_function(frame))
    assert view.X.shape == (N, 11)
    assert view.estimator is fitted[-1]
    extra = frame.with_columns(pl.lit(1).alias("new")) if kind == "polars" else frame.assign(new=1)
    assert_same_scores(take_apart(fitted, extra, Y), fitted.decision_function(frame))


def test_nullable_dtypes():
    frame = pd.DataFrame(np.round(X), columns=NAMES).astype({"f0": "Float64", "f1": "Int64"})
    frame["yes"] = pd.array(Y[::-1] > 0, dtype="boolean")
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, Y)
    assert_same_scores(take_apart(fitted, frame, pd.Series(Y, dtype="Int64")), fitted.decision_function(frame))
    fitted = RidgeClassifier().fit(frame, Y)
    assert_same_scores(take_apart(fitted, frame, Y), fitted.decision_function(frame))


TEXT = ["a fine good day", "bad awful rain", "good sun fine", "rain and bad wind"] * 5


def test_text_pipelines_stay_sparse():
    y = [1, 0] * 10
    fitted = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXT, y)
    view = take_apart(fitted, TEXT, y)
    assert sp.issparse(view.X)
    assert_same_scores(view, fitted.decision_function(TEXT))
    fitted = make_pipeline(
        TfidfVectorizer(), SelectKBest(chi2, k=4), MaxAbsScaler(), TruncatedSVD(2), RidgeClassifier()
    ).fit(TEXT, y)
    view = take_apart(fitted, pd.Series(TEXT), y)
    assert view.X.shape[1] == 9
    assert np.count_nonzero(view.w) <= 4
    assert_same_scores(view, fitted.decision_function(TEXT))


@pytest.mark.parametrize("longer", [" and so on" * 40, "\0"])
def test_a_text_is_no_name_of_a_file(longer):
    """A list may hold paths of Parquet files; the operating system refuses to look for names like these."""
    texts, y = [text + longer for text in TEXT], [1, 0] * 10
    fitted = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, y)
    assert fl.auc_posterior(fitted, texts, y).mean > 0.9


# ---- pipelines that saw y

SEEING = {
    "kbest": [SelectKBest(k=3)],
    "scaler-kbest": [StandardScaler(), SelectKBest(k=3)],
    "kbest-scaler": [SelectKBest(k=3), StandardScaler()],
    "rfe-scaler": [RFE(RidgeClassifier(), n_features_to_select=3), StandardScaler()],
    "scaler-rfe": [StandardScaler(), RFE(RidgeClassifier(), n_features_to_select=3)],
    "rfecv": [StandardScaler(), RFECV(RidgeClassifier(), cv=3, min_features_to_select=2)],
    "from-model": [StandardScaler(), SelectFromModel(LinearSVC(C=0.05, random_state=0), max_features=3)],
    "prefit": [SelectFromModel(RidgeClassifier().fit(X, Y), prefit=True, max_features=3), StandardScaler()],
    "sequential": [SequentialFeatureSelector(RidgeClassifier(), n_features_to_select=2, cv=3), StandardScaler()],
    "percentile": [SelectPercentile(percentile=40), MinMaxScaler(clip=True)],
    "fpr": [SelectFpr(alpha=0.3), StandardScaler()],
    "kbest-pca": [SelectKBest(k=4), StandardScaler(), PCA(2, whiten=True)],
    "twice": [SelectKBest(k=6), StandardScaler(), SelectKBest(k=2), MaxAbsScaler()],
    "nested": [make_pipeline(StandardScaler(), make_pipeline(SelectKBest(k=3), StandardScaler())), PCA(2)],
    "frozen": [FrozenEstimator(SelectKBest(k=3).fit(X, Y)), StandardScaler()],
    "pandas": [SelectKBest(k=3).set_output(transform="pandas"), StandardScaler().set_output(transform="pandas")],
    "imputer-after": [SelectKBest(k=3), SimpleImputer(), StandardScaler()],
}


@pytest.mark.parametrize("steps", SEEING.values(), ids=SEEING.keys())
@pytest.mark.parametrize("container", ["array", "pandas", "polars"])
def test_selection_is_mapped_back(steps, container):
    table = {"array": X, "pandas": pd.DataFrame(X, columns=NAMES), "polars": pl.DataFrame(X, schema=NAMES)}[container]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = pipeline(steps).fit(table, Y)
        expected = fitted.decision_function(table)
    view = take_apart(fitted, table, Y)
    assert_same_scores(view, expected, 1e-8)
    assert view.X.shape == (N, P)
    assert 0 < np.count_nonzero(view.w) < P
    assert view.estimator is None
    assert "saw y" in view.notes[0]


@pytest.mark.parametrize(
    "step",
    [
        LinearDiscriminantAnalysis(),
        FrozenEstimator(PLSRegression(2).fit(Z, Y)),
        NeighborhoodComponentsAnalysis(2, max_iter=5),
    ],
    ids=["lda", "pls", "nca"],
)
def test_supervised_projections_are_mapped_back(step):
    fitted = make_pipeline(StandardScaler(), step, StandardScaler(), LogisticRegression()).fit(X, Y)
    view = take_apart(fitted, X, Y)
    assert_same_scores(view, fitted.decision_function(X), 1e-8)
    assert view.X.shape == (N, P)
    assert view.estimator is None


def test_zeros_are_exactly_at_the_dropped_columns():
    fitted = make_pipeline(StandardScaler(), SelectKBest(k=3), PCA(2), RidgeClassifier()).fit(X, Y)
    weights = take_apart(fitted, X, Y).w
    np.testing.assert_array_equal(weights != 0, fitted[1].get_support())


def test_containers_with_supervised_branches_are_opened():
    frame = mixed_frame()
    fitted = make_pipeline(column_transformer([SelectKBest(k=2), MaxAbsScaler()]), RidgeClassifier()).fit(frame, Y)
    view = take_apart(fitted, frame, Y)
    assert_same_scores(view, fitted.decision_function(frame))
    assert view.X.shape == (N, 11)
    assert np.count_nonzero(view.w[:6]) == 2
    assert view.estimator is None
    union = FeatureUnion(
        [("pca", PCA(2)), ("no", "drop"), ("best", SelectKBest(k=1)), ("all", "passthrough")],
        transformer_weights={"best": 3.0, "pca": 0.5},
    )
    fitted = make_pipeline(StandardScaler(), union, StandardScaler(), LogisticRegression()).fit(X, Y)
    view = take_apart(fitted, X, Y)
    assert_same_scores(view, fitted.decision_function(X))
    assert view.X.shape == (N, 2 + P + P)


def test_column_transformer_weights_and_selectors_by_type():
    frame = mixed_frame().drop(columns="f1")
    numeric = make_column_selector(dtype_include=float)
    ct = ColumnTransformer(
        [("none", StandardScaler(), []), ("cat", OneHotEncoder(), ["town"]), ("num", SelectKBest(k=2), numeric)],
        transformer_weights={"num": 0.01, "cat": 2.0},
    )
    fitted = make_pipeline(ct, RidgeClassifier()).fit(frame, Y)
    view = take_apart(fitted, frame, Y)
    assert sp.issparse(view.X)
    assert_same_scores(view, fitted.decision_function(frame))


def test_searches_and_thresholds_are_unwrapped():
    inner = Pipeline([("sc", StandardScaler()), ("sel", SelectKBest()), ("clf", LogisticRegression())])
    search = GridSearchCV(inner, {"sel__k": [2, 3]}, cv=3).fit(FRAME, Y)
    view = take_apart(search, FRAME, Y)
    assert_same_scores(view, search.decision_function(FRAME))
    assert "GridSearchCV chose" in view.notes[0]
    assert "'sel'" in view.notes[1]
    last = make_pipeline(StandardScaler(), GridSearchCV(RidgeClassifier(), {"alpha": [1, 2]}, cv=3)).fit(X, Y)
    view = take_apart(last, X, Y)
    assert view.estimator is last[-1].best_estimator_
    assert len(view.notes) == 1
    for wrapped in (FixedThresholdClassifier(RidgeClassifier(), threshold=0.3), FrozenEstimator(last)):
        fitted = wrapped.fit(X, Y)
        assert_same_scores(take_apart(fitted, X, Y), fitted.decision_function(X))
    rfe = RFE(RidgeClassifier(), n_features_to_select=2).fit(Z, Y)
    view = take_apart(rfe, Z, Y)
    assert_same_scores(view, rfe.decision_function(Z))
    assert view.estimator is None


def test_selection_on_noise_is_visible_as_zeros():
    noise = np.random.default_rng(1).normal(size=(40, 500))
    fitted = make_pipeline(StandardScaler(), SelectKBest(k=5), StandardScaler(), LogisticRegression())
    view = take_apart(fitted.fit(noise, Y[:40]), noise, Y[:40])
    assert view.X.shape == (40, 500)
    assert np.count_nonzero(view.w) == 5


# ---- whose habits are unknown


class Doubler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        return 2 * np.asarray(X)


class MyScaler(StandardScaler):
    pass


class MyBest(SelectKBest):
    def fit(self, X, y):
        return super().fit(X, y)


class Picker(TransformerMixin, BaseEstimator):
    """A user's selector; asked for its support it may answer with indices."""

    def __init__(self, as_mask=True):
        self.as_mask = as_mask

    def fit(self, X, y):
        self.kept_ = np.sort(np.argsort(-np.abs(np.asarray(X)[y == 1].mean(0) - np.asarray(X)[y == 0].mean(0)))[:2])
        return self

    def get_support(self):
        return np.isin(np.arange(P), self.kept_) if self.as_mask else self.kept_

    def transform(self, X):
        return np.asarray(X)[:, self.kept_]


@pytest.mark.parametrize("as_mask", [True, False])
def test_a_foreign_selector_is_mapped_back(as_mask):
    fitted = make_pipeline(StandardScaler(), Picker(as_mask), RidgeClassifier()).fit(Z, Y)
    view = take_apart(fitted, Z, Y)
    assert np.flatnonzero(view.w).tolist() == fitted[1].kept_.tolist()
    assert_same_scores(view, fitted.decision_function(Z))


def test_a_foreign_step_is_applied_with_a_warning():
    fitted = Pipeline([("mine", Doubler()), ("clf", RidgeClassifier())]).fit(Z, Y)
    view = take_apart(fitted, Z, Y)
    assert_same_scores(view, fitted.decision_function(Z))
    assert re.search(r"step 'mine' \(Doubler\).*if it uses y", view.notes[0])
    assert view.doubts == view.notes
    with pytest.warns(TrustWarning, match=r"step 'mine' \(Doubler\).*if it uses y"):
        fl.honest_scores(fitted, Z, Y)
    behind = make_pipeline(SelectKBest(k=3), Doubler(), RidgeClassifier()).fit(Z, Y)
    assert np.count_nonzero(take_apart(behind, Z, Y).w) == 3
    assert take_apart(behind, Z, Y).doubts == ()  # mapped back, so no warning is due


def test_subclasses_are_known_by_their_ancestors():
    fitted = make_pipeline(MyScaler(), MyBest(k=2), RidgeClassifier()).fit(Z, Y)
    view = take_apart(fitted, Z, Y)
    assert view.estimator is None
    assert_same_scores(view, fitted.decision_function(Z))


def test_who_saw_y():
    seeing = [s for steps in SEEING.values() for s in steps if not isinstance(s, str)]
    assert sum(map(saw_y, seeing)) == len(SEEING) + 1
    assert not any(saw_y(s) for steps in BLIND.values() for s in steps)
    assert saw_y(TargetEncoder())
    assert saw_y(PLSRegression())
    assert saw_y(GridSearchCV(LinearDiscriminantAnalysis(), {"tol": [1e-4]}, cv=2).fit(Z, Y))


def test_columns_without_names_are_noted():
    fitted = LogisticRegression().fit(FRAME, Y)
    assert "order could not be checked" in take_apart(fitted, FRAME.to_numpy(), Y).notes[0]
    assert take_apart(LogisticRegression().fit(Z, Y), FRAME, Y).notes == ()


def test_nothing_is_refitted(monkeypatch):
    fitted = make_pipeline(StandardScaler(), SelectKBest(k=3), PCA(2), RidgeClassifier()).fit(X, Y)

    def refuse(*args, **kwargs):
        raise AssertionError("refitted")

    refuse.__module__ = "sklearn.base"  # otherwise the steps look like a user's own
    for cls in (StandardScaler, SelectKBest, PCA, RidgeClassifier, Pipeline):
        monkeypatch.setattr(cls, "fit", refuse)
    for cls in (PCA, Pipeline, TransformerMixin):
        monkeypatch.setattr(cls, "fit_transform", refuse)
    take_apart(fitted, X, Y)


# ---- bad input

LOGISTIC = LogisticRegression().fit(Z, Y)
NAMED = LogisticRegression().fit(FRAME, Y)
THREE = np.arange(N) % 3
WITH_NAN = np.where((np.arange(N)[:, None] == 4) & (np.arange(P) == 2), np.nan, Z)
HELD_OUT = "auc_posterior_from_scores"

BAD = {
    "none": (None, Z, Y, EstimatorError, "got None"),
    "text": ("LogisticRegression", Z, Y, EstimatorError, "got the text 'LogisticRegression'"),
    "numeric text": ("1", Z, Y, EstimatorError, "got the text"),
    "number": (3.0, Z, Y, EstimatorError, "got float"),
    "dict": ({"C": 1}, Z, Y, EstimatorError, "got dict"),
    "class": (LogisticRegression, Z, Y, EstimatorError, "got the class LogisticRegression"),
    "unfitted": (LogisticRegression(), Z, Y, EstimatorError, "not fitted: call fit"),
    "unfitted svc": (SVC(kernel="linear"), Z, Y, EstimatorError, "not fitted"),
    "unfitted pipeline": (make_pipeline(StandardScaler(), RidgeClassifier()), Z, Y, EstimatorError, "not fitted"),
    "unfitted step": (make_pipeline(StandardScaler(), LOGISTIC), Z, Y, EstimatorError, "step 'standardscaler'"),
    "unfitted search": (GridSearchCV(LogisticRegression(), {"C": [1]}), Z, Y, EstimatorError, "not fitted"),
    "unfitted rfe": (RFE(LogisticRegression()), Z, Y, EstimatorError, "not fitted"),
    "no refit": (GridSearchCV(RidgeClassifier(), {}, refit=False, cv=2).fit(Z, Y), Z, Y, EstimatorError, "refit=True"),
    "rbf": (SVC().fit(Z, Y), Z, Y, EstimatorError, HELD_OUT),
    "poly": (SVC(kernel="poly").fit(Z, Y), Z, Y, EstimatorError, HELD_OUT),
    "forest": (RandomForestClassifier(5).fit(Z, Y), Z, Y, EstimatorError, HELD_OUT),
    "knn": (KNeighborsClassifier().fit(Z, Y), Z, Y, EstimatorError, HELD_OUT),
    "mlp": (MLPClassifier((2,), tol=1e9, random_state=0).fit(Z, Y), Z, Y, EstimatorError, HELD_OUT),
    "qda": (QuadraticDiscriminantAnalysis().fit(Z, Y), Z, Y, EstimatorError, HELD_OUT),
    "forest pipeline": (make_pipeline(StandardScaler(), SVC()).fit(Z, Y), Z, Y, EstimatorError, HELD_OUT),
    "clusterer": (KMeans(2, n_init=1).fit(Z), Z, Y, EstimatorError, HELD_OUT),
    "regressor": (lm.LinearRegression().fit(Z, Y), Z, Y, EstimatorError, "estimator.coef_.ravel()"),
    "lasso": (lm.Lasso(0.01).fit(Z, Y), Z, Y, EstimatorError, "regressor Lasso"),
    "one class": (OneClassSVM(kernel="linear").fit(Z), Z, Y, EstimatorError, "outlier detector OneClassSVM"),
    "sgd one class": (lm.SGDOneClassSVM(random_state=0).fit(Z), Z, Y, EstimatorError, "outlier detector"),
    "three classes": (LogisticRegression().fit(Z, THREE), Z, THREE, EstimatorError, "more than two classes"),
    "multilabel": (RidgeClassifier().fit(Z, np.c_[Y, 1 - Y]), Z, Y, EstimatorError, "more than two classes or outputs"),
    "multioutput": (
        MultiOutputClassifier(LogisticRegression()).fit(Z, np.c_[Y, 1 - Y]), Z, Y, EstimatorError, "wraps a linear",
    ),
    "transformer last": (make_pipeline(StandardScaler(), PCA(2)).fit(Z), Z, Y, EstimatorError, "got PCA"),
    "passthrough last": (make_pipeline(StandardScaler(), "passthrough").fit(Z), Z, Y, EstimatorError, "'passthrough'"),
    "too many columns": (LOGISTIC, Z[:, [0, *range(P)]], Y, EstimatorError, "X has 9 columns but LogisticRegression"),
    "too few columns": (BLIND["scaler"], Z[:, :4], Y, EstimatorError, "X has 4 columns but Pipeline was fitted on 8"),
    "list of lists": (LOGISTIC, Z[:, :4].tolist(), Y, EstimatorError, "X has 4 columns"),
    "missing name": (NAMED, FRAME.rename(columns={"f3": "g3"}), Y, EstimatorError, "missing 'f3'; unexpected 'g3'"),
    "column left in": (NAMED, FRAME.assign(target=Y), Y, EstimatorError, "unexpected 'target'"),
    "column order": (NAMED, FRAME[NAMES[::-1]], Y, EstimatorError, "another order"),
    "polars order": (NAMED, pl.DataFrame(FRAME[NAMES[::-1]]), Y, EstimatorError, "another order"),
    "no such column": ("ct", mixed_frame().drop(columns="f0"), Y, EstimatorError, "cannot transform X"),
    "array for names": ("ct", X, Y, EstimatorError, "cannot transform X"),
    "unknown labels": (LOGISTIC, Z, np.where(Y, "a", "b"), InputError, "'a', 'b'"),
    "pos_label": (LOGISTIC, Z, Y, InputError, "pos_label 7", 7),
    "one class in y": (LOGISTIC, Z, np.ones(N, int), InputError, "one class only"),
    "length": (LOGISTIC, Z, Y[:-1], InputError, "X has 60 rows but y has 59"),
    "length weights": (np.ones(P), Z, Y[:-1], InputError, "X has 60 rows but y has 59"),
    "zero weights": (np.zeros(P), Z, Y, InputError, "all zeros"),
    "zero l1": ("l1", Z, Y, EstimatorError, "all zero: the classifier ignores every feature"),
    "nan weights": (np.full(P, np.nan), Z, Y, InputError, "NaN or infinity"),
    "short weights": (np.ones(P - 1), Z, Y, InputError, "w has 7 weights but X has 8"),
    "weight matrix": (np.ones((P, 2)), Z, Y, EstimatorError, "shape (8, 2)"),
    "swapped": (Z, Y, LOGISTIC, EstimatorError, "shape (60, 8)"),
    "nan": (LOGISTIC, WITH_NAN, Y, InputError, "row 4, column 2"),
    "nan weights vector": (np.ones(P), WITH_NAN, Y, InputError, "row 4, column 2"),
    "nan pipeline": ("pca", WITH_NAN, Y, InputError, "row 4, column 2"),
    "nan before selection": (SEEING["kbest-scaler"], WITH_NAN, Y, InputError, "row 4, column 2"),
    "inf sparse": (LOGISTIC, sp.csr_array(np.where(np.isnan(WITH_NAN), np.inf, Z)), Y, InputError, "row 4, column 2"),
    "one dimension": (LOGISTIC, Z[:, 0], Y, InputError, "two dimensions"),
    "text in X": (LOGISTIC, Z.astype(str).astype(object) + "x", Y, InputError, "must hold numbers"),
    "ragged": (LOGISTIC, [[1, 2], [3]], [0, 1], InputError, "unequal length"),
    "no X": (LOGISTIC, None, Y, InputError, "got NoneType"),
    "X is a number": (LOGISTIC, 3, Y, InputError, "got int"),
    "no y": (LOGISTIC, Z, None, InputError, "y must be one label per row"),
    "foreign non-linear": (Foreign(power=3).fit(Z, Y), Z, Y, EstimatorError, "is not X @ coef_ + intercept_"),
    "foreign, no scores": (Foreign(1, False).fit(Z, Y), Z, Y, EstimatorError, "has no decision_function"),
    "normalizer after": ([SelectKBest(k=3), Normalizer()], Z, Y, EstimatorError, "cannot be mapped back linearly"),
    "bend after": ([SelectKBest(k=3), FunctionTransformer(np.tanh)], Z, Y, EstimatorError, HELD_OUT),
    "target encoder": ([TargetEncoder(cv=2)], THREE[:, None], THREE == 1, EstimatorError, "mapped back"),
    "encoder of text": ([TargetEncoder(cv=2)], mixed_frame()[["town"]], Y, EstimatorError, "'s0' (TargetEncoder)"),
    "sparse for dense": (SVC(kernel="linear").fit(Z, Y), sp.csr_array(Z), Y, EstimatorError, "cannot score X"),
}  # fmt: skip


def built(spec, X, y):
    """Estimators of the table that are described rather than given."""
    if isinstance(spec, list):
        fit_on = X if isinstance(X, pd.DataFrame) or X.shape[1] == 1 else Z
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pipeline(spec).fit(fit_on, y)
    if isinstance(spec, str):
        made = {
            "ct": lambda: make_pipeline(column_transformer(), RidgeClassifier()).fit(mixed_frame(), Y),
            "l1": lambda: LogisticRegression(**l1(), solver="liblinear", C=1e-6).fit(Z, Y),
            "pca": lambda: make_pipeline(PCA(2), RidgeClassifier()).fit(Z, Y),
        }
        return made[spec]() if spec in made else spec
    return spec


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_in_words(case):
    spec, X, y, error, fragment, *pos_label = case
    estimator = built(spec, X, y)
    with pytest.raises(FoldlessError) as caught:
        take_apart(estimator, X, y, pos_label=pos_label[0] if pos_label else None)
    assert isinstance(caught.value, error)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)
