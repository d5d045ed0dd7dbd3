"""Any estimator: the linear ones with their settings, the others, unfitted ones, and things that are no estimator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn import linear_model as lm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fuzz.tables import mostly, width_of
from sklearn_versions import l1

LINEAR = {
    "logistic": lambda C, w: lm.LogisticRegression(C=C, class_weight=w),
    "logistic newton": lambda C, w: lm.LogisticRegression(C=C, class_weight=w, solver="newton-cholesky"),
    "logistic newton-cg": lambda C, w: lm.LogisticRegression(C=C, solver="newton-cg", fit_intercept=False),
    "liblinear": lambda C, w: lm.LogisticRegression(C=C, class_weight=w, solver="liblinear", intercept_scaling=2.0),
    "logistic dual": lambda C, w: lm.LogisticRegression(C=C, solver="liblinear", dual=True, max_iter=50),
    "logistic none": lambda C, w: lm.LogisticRegression(C=np.inf, class_weight=w),
    "logistic l1": lambda C, w: lm.LogisticRegression(C=C, **l1(), solver="liblinear"),
    "elastic net": lambda C, w: lm.LogisticRegression(C=C, **l1(0.5), solver="saga", max_iter=30),
    "logistic early": lambda C, w: lm.LogisticRegression(C=C, max_iter=2),
    "ridge": lambda C, w: lm.RidgeClassifier(alpha=1 / C, class_weight=w),
    "ridge lsqr": lambda C, w: lm.RidgeClassifier(alpha=1 / C, solver="lsqr", fit_intercept=False),
    "ridge zero": lambda C, w: lm.RidgeClassifier(alpha=0.0),
    "ridge positive": lambda C, w: lm.RidgeClassifier(alpha=1 / C, positive=True),
    "ridge cv": lambda C, w: lm.RidgeClassifierCV(alphas=(1 / C, 2 / C)),
    "svc": lambda C, w: LinearSVC(C=C, class_weight=w, max_iter=200),
    "svc primal": lambda C, w: LinearSVC(C=C, dual=False, fit_intercept=False, max_iter=200),
    "svc hinge": lambda C, w: LinearSVC(C=C, loss="hinge", max_iter=200),
    "svc l1": lambda C, w: LinearSVC(C=C, penalty="l1", dual=False, max_iter=200),
    "lda": lambda C, w: LDA(),
    "lda lsqr": lambda C, w: LDA(solver="lsqr", shrinkage=1 / (1 + C)),
    "lda eigen": lambda C, w: LDA(solver="eigen", shrinkage="auto"),
    "lda priors": lambda C, w: LDA(priors=[0.2, 0.8]),
    "perceptron": lambda C, w: lm.Perceptron(max_iter=20, tol=None, random_state=0),
    "sgd log": lambda C, w: lm.SGDClassifier(loss="log_loss", max_iter=20, tol=None, random_state=0, alpha=1 / C),
    "sgd hinge": lambda C, w: lm.SGDClassifier(max_iter=20, tol=None, random_state=0, class_weight=w),
    "kernel linear": lambda C, w: SVC(kernel="linear", C=C, max_iter=1000),
    "threshold": lambda C, w: FixedThresholdClassifier(lm.LogisticRegression(C=C), threshold=0.3),
    "grid": lambda C, w: GridSearchCV(lm.RidgeClassifier(), {"alpha": [1 / C]}, cv=2),
    "rfe": lambda C, w: RFE(lm.RidgeClassifier(alpha=1 / C), n_features_to_select=1),
}
CURVED = {
    "rest": lambda: OneVsRestClassifier(lm.RidgeClassifier()),
    "calibrated": lambda: CalibratedClassifierCV(lm.RidgeClassifier(), cv=2),
    "kernel": lambda: SVC(),
    "tree": lambda: DecisionTreeClassifier(max_depth=2, random_state=0),
    "bayes": lambda: GaussianNB(),
    "neighbours": lambda: KNeighborsClassifier(1),
    "quadratic": lambda: QuadraticDiscriminantAnalysis(),
    "dummy": lambda: DummyClassifier(),
    "regression": lambda: lm.LinearRegression(),
}
WEIGHTS = ("weights", "weights zero", "weights nan", "weights short", "weights matrix", "weights huge", "weights words")
NOTHING = ("None", "word", "number", "class", "unfitted", "dict")
STEPS = {
    "scaler": lambda: StandardScaler(),
    "uncentred": lambda: StandardScaler(with_mean=False),
    "minmax": lambda: MinMaxScaler(),
    "maxabs": lambda: MaxAbsScaler(),
    "robust": lambda: RobustScaler(),
    "pca": lambda: PCA(n_components=0.9),
    "white": lambda: PCA(whiten=True),
    "svd": lambda: TruncatedSVD(1, algorithm="arpack"),
    "select": lambda: SelectKBest(k=1),
    "from model": lambda: SelectFromModel(lm.RidgeClassifier()),
    "variance": lambda: VarianceThreshold(),
    "impute": lambda: SimpleImputer(),
    "impute and flag": lambda: SimpleImputer(strategy="median", add_indicator=True),
    "columns": lambda: ColumnTransformer([("a", StandardScaler(), [0])], remainder="passthrough"),
    "columns drop": lambda: ColumnTransformer([("a", MinMaxScaler(), slice(0, 1)), ("b", "passthrough", [-1])]),
    "one-hot": lambda: ColumnTransformer([("a", OneHotEncoder(handle_unknown="ignore"), [0])]),
    "squares": lambda: PolynomialFeatures(2),
    "unit rows": lambda: Normalizer(),
    "ranks": lambda: QuantileTransformer(n_quantiles=4),
    "as it is": lambda: FunctionTransformer(),
    "lda step": lambda: LDA(n_components=1),
    "twice": lambda: make_pipeline(StandardScaler(), SelectKBest(k="all")),
}


@dataclass(frozen=True)
class ModelSpec:
    """Which estimator; `fitted` on the given rows ("these"), on others of the same shape ("others") or not."""

    kind: str = "logistic"
    step: str | None = None
    power: int = 0
    weight: str | None = None
    fitted: str = "these"


def linear_models() -> st.SearchStrategy[ModelSpec]:
    """Estimators that foldless knows how to judge."""
    return _models(st.sampled_from(tuple(LINEAR)), "these")


def probable_models() -> st.SearchStrategy[ModelSpec]:
    """Classifiers with probabilities, linear or not."""
    linear = (kind for kind in LINEAR if kind.startswith(("log", "liblinear", "elastic", "lda", "sgd log")))
    return _models(st.sampled_from((*linear, "tree", "bayes", "neighbours")), "these")


def models(odd: bool = True) -> st.SearchStrategy[ModelSpec]:
    """Anything a user may pass; unless `odd`, linear classifiers and weights."""
    if not odd:
        return _models(st.sampled_from((*LINEAR, "weights", "weights")), "these")
    anything = st.sampled_from(tuple(CURVED) + WEIGHTS + NOTHING + tuple(LINEAR))
    return _models(anything, mostly("these", ("others",), 3))


def _models(kinds: st.SearchStrategy[str], fitted: Any) -> st.SearchStrategy[ModelSpec]:
    return st.builds(
        ModelSpec,
        kind=kinds,
        step=st.one_of(st.none(), st.none(), st.sampled_from(tuple(STEPS))),
        power=mostly(0, (-10, -6, -3, -1, 1, 3, 6, 10), 2),
        weight=mostly(None, ("balanced",), 4),
        fitted=st.just(fitted) if isinstance(fitted, str) else fitted,
    )


def endless(spec: ModelSpec, X: Any) -> bool:
    """Whether scikit-learn's compiled solvers might never end: they do not watch for numbers that overflow."""
    if not spec.kind.startswith(("liblinear", "logistic dual", "logistic l1", "elastic", "svc", "kernel", "sgd")):
        return False
    try:
        values = np.abs(np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float))
    except (TypeError, ValueError):
        return False
    return bool(values.size) and not (np.all(np.isfinite(values)) and 1e-9 < values.max() < 1e9)


def unfitted(spec: ModelSpec) -> Any:
    """The estimator with its steps, before fit."""
    final = LINEAR[spec.kind](10.0**spec.power, spec.weight) if spec.kind in LINEAR else CURVED[spec.kind]()
    return final if spec.step is None else make_pipeline(STEPS[spec.step](), final)


def build_model(spec: ModelSpec, X: Any, y: Any, codes: np.ndarray, sample_weight: Any = None) -> Any:
    """The model as the spec has it. What cannot be fitted to X and y is fitted to clean rows of the same shape."""
    if endless(spec, X):
        spec = replace(spec, kind="ridge")
    if spec.kind in WEIGHTS:
        return build_weights(spec.kind, width_of(X))
    if spec.kind in NOTHING:
        return {"None": None, "word": "model", "number": 3.5, "class": lm.RidgeClassifier, "dict": {"coef": 1},
                "unfitted": lm.LogisticRegression()}[spec.kind]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(spec, X, y, sample_weight) if spec.fitted == "these" else None
        return model if model is not None else on_clean_rows(spec, X, codes)


def fitted(spec: ModelSpec, X: Any, y: Any, sample_weight: Any) -> Any:
    model = unfitted(spec)
    weight = {} if sample_weight is None or spec.step or spec.kind[:3] == "lda" else {"sample_weight": sample_weight}
    try:
        return model.fit(X, y, **weight)
    except Exception:  # whatever scikit-learn says of X and y
        return None


def on_clean_rows(spec: ModelSpec, X: Any, codes: np.ndarray) -> Any:
    width = width_of(X, 3)
    clean, labels = np.random.default_rng(1).normal(size=(12, width)), np.arange(12) % 2
    try:
        return unfitted(spec).fit(clean + labels[:, None], labels)
    except Exception:
        return lm.RidgeClassifier().fit(clean, labels)


def build_weights(kind: str, width: int) -> Any:
    w = np.random.default_rng(2).normal(size=width)
    return {
        "weights": lambda: w,
        "weights zero": lambda: w * 0,
        "weights nan": lambda: w * np.nan,
        "weights short": lambda: w[1:],
        "weights matrix": lambda: np.outer(w, w),
        "weights huge": lambda: w * 1e120,
        "weights words": lambda: ["a"] * width,
    }[kind]()
