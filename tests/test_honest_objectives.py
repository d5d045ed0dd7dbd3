"""What each classifier minimised: the gradient of the described objective vanishes at a tightly converged fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.svm import SVC, LinearSVC

from data import gaussian
from foldless.errors import EstimatorError
from foldless.honest.families import describe
from foldless.honest.leave_one_out import remove_rows
from foldless.honest.objective import LogisticLoss, SquaredHingeLoss, SquaredLoss
from foldless.model.view import take_apart
from sklearn_versions import CV_QUIET, cv_l1, l1

NAMES = np.array(["no", "yes"])
TIGHT = {"tol": 1e-12, "max_iter": 100_000}
CV_NEW = {"scoring": "neg_log_loss", **CV_QUIET}


def fitted_quietly(model, X, y, **kwargs):
    with warnings.catch_warnings():
        # A tolerance of 1e-12 is out of reach for some solvers: they say so, and stop where we want them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y, **kwargs)


def described(model, P=5, n1=15, seed=0, weight=None, pos_label=None, as_matrix=np.asarray):
    X, y = gaussian(seed, P, N=40, n1=n1)
    kwargs = {} if weight is None else {"sample_weight": weight}
    view = take_apart(
        fitted_quietly(model, as_matrix(X), NAMES[y], **kwargs), as_matrix(X), NAMES[y], pos_label=pos_label
    )
    return describe(view, weight)


def relative_gradient(objective):
    """Largest component of the gradient over the sum of the magnitudes that cancel in it; plain dense arithmetic."""
    X = objective.X.toarray() if sparse.issparse(objective.X) else objective.X
    w = objective.weights
    g = objective.loss.gradient(X @ w + objective.intercept)
    if objective.constant:
        X = np.c_[X, np.full(len(X), objective.constant)]
        w = np.append(w, objective.intercept / objective.constant)
    gradient, size = objective.lam * w + X.T @ g, np.abs(X.T) @ np.abs(g)
    if objective.free_intercept:
        gradient, size = np.append(gradient, g.sum()), np.append(size, np.abs(g).sum())
    return float(np.max(np.abs(gradient) / size))


WEIGHT = np.random.default_rng(1).uniform(0.1, 3.0, size=40)

LOGISTIC = [
    *(
        LogisticRegression(solver=s, C=C, **TIGHT)
        for s in ("lbfgs", "newton-cg", "newton-cholesky")
        for C in (0.01, 10)
    ),
    *(LogisticRegression(solver=s, C=0.3, tol=1e-10, max_iter=20_000) for s in ("sag", "saga")),
    LogisticRegression(solver="lbfgs", fit_intercept=False, **TIGHT),
    *(
        LogisticRegression(solver="liblinear", C=C, intercept_scaling=k, **TIGHT)
        for C, k in ((1, 1), (10, 5), (0.1, 0.3))
    ),
    LogisticRegression(solver="liblinear", dual=True, tol=1e-10, max_iter=100_000),
    LogisticRegression(solver="liblinear", fit_intercept=False, **TIGHT),
    LogisticRegression(class_weight="balanced", **TIGHT),
    LogisticRegression(class_weight={"yes": 3.0, "no": 0.5}, **TIGHT),
    LogisticRegression(class_weight={"yes": 3.0}, solver="liblinear", **TIGHT),
    LogisticRegression(C=np.inf, **TIGHT),
    LogisticRegression(C=np.inf, fit_intercept=False, class_weight="balanced", **TIGHT),
    LogisticRegression(penalty="l2", **TIGHT),
    LogisticRegression(penalty=None, **TIGHT),
    LogisticRegression(penalty="elasticnet", l1_ratio=0.0, solver="saga", tol=1e-10, max_iter=20_000),
    LogisticRegressionCV(Cs=[0.05, 0.5], cv=3, **CV_NEW, **TIGHT),
    LogisticRegressionCV(Cs=[0.05, 0.5], cv=3, class_weight="balanced", **TIGHT),
]
RIDGE = [
    *(RidgeClassifier(alpha=a, solver=s) for a in (0.1, 100.0) for s in ("auto", "svd", "cholesky")),
    RidgeClassifier(solver="lsqr", tol=1e-12),
    RidgeClassifier(fit_intercept=False),
    RidgeClassifier(class_weight="balanced"),
    RidgeClassifier(class_weight={"yes": 2.0}),
    RidgeClassifier(alpha=0.0, solver="svd"),
    RidgeClassifierCV(alphas=(0.1, 1.0, 10.0), class_weight="balanced"),
    RidgeClassifierCV(alphas=(0.1, 1.0, 10.0), cv=3),
]
SVM = [
    *(LinearSVC(C=C, dual=False, intercept_scaling=k, **TIGHT) for C in (0.01, 1.0) for k in (1.0, 4.0)),
    LinearSVC(dual=True, C=0.1, tol=1e-9, max_iter=1_000_000),
    LinearSVC(dual=False, fit_intercept=False, **TIGHT),
    LinearSVC(dual=False, class_weight="balanced", **TIGHT),
]
LDA = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(priors=(0.3, 0.7)),
    *(
        LinearDiscriminantAnalysis(solver=s, shrinkage=q, priors=p)
        for s in ("lsqr", "eigen")
        for q in (None, 0.0, 0.2, 0.9)
        for p in (None, (0.3, 0.7))
    ),
]


@pytest.mark.parametrize("pos_label", ["yes", "no"])
@pytest.mark.parametrize("model", [*LOGISTIC, *RIDGE, *SVM, *LDA], ids=repr)
def test_gradient_vanishes(model, pos_label):
    assert relative_gradient(described(model, pos_label=pos_label)) < 1e-6


@pytest.mark.parametrize(
    "model", [LOGISTIC[0], LOGISTIC[9], LOGISTIC[14], RIDGE[0], RIDGE[8], SVM[0], SVM[6]], ids=repr
)
def test_gradient_vanishes_with_sample_weights(model):
    assert relative_gradient(described(model, weight=WEIGHT)) < 1e-6


@pytest.mark.parametrize(
    "model",
    [LOGISTIC[4], LOGISTIC[9], RIDGE[0], SVM[0], LDA[6], LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)],
    ids=repr,
)
def test_gradient_vanishes_with_more_columns_than_rows(model):
    assert relative_gradient(described(model, P=60)) < 1e-6


@pytest.mark.parametrize("model", [LOGISTIC[0], LOGISTIC[9], RIDGE[6], SVM[0]], ids=repr)
def test_sparse_rows(model):
    assert relative_gradient(described(model, as_matrix=sparse.csr_matrix)) < 1e-6


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(**l1(), solver="liblinear"),
        LogisticRegression(**l1(0.5), solver="saga", max_iter=10_000),
        LogisticRegression(penalty="l1", solver="liblinear"),
        LogisticRegressionCV(Cs=[1.0], cv=3, refit=False, **CV_NEW),
        LogisticRegressionCV(Cs=[1.0], cv=3, solver="saga", **{**CV_NEW, **cv_l1(0.5)}),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1", dual=False),
        LinearSVC(multi_class="crammer_singer"),
        SVC(kernel="linear"),
        SGDClassifier(random_state=0),
        RidgeClassifier(positive=True),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    ],
    ids=repr,
)
def test_no_closed_form(model):
    assert described(model) is None


def test_bare_weights_have_no_objective():
    X, y = gaussian(0, 4)
    assert describe(take_apart(np.ones(4), X, y)) is None


def test_subclass_that_trains_alike_is_known():
    class Renamed(LogisticRegression):
        pass

    class Retrained(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    assert described(Renamed()).name == "logistic regression"
    assert described(Retrained()) is None


def test_discriminant_with_singular_scatter_has_no_closed_form():
    assert described(LinearDiscriminantAnalysis(), P=60) is None


def test_no_penalty_is_refused_where_it_has_no_optimum():
    with pytest.raises(EstimatorError, match="finite C"):
        described(LogisticRegression(C=np.inf), P=60)
    with pytest.raises(EstimatorError, match="alpha"):
        described(RidgeClassifier(alpha=0.0, solver="svd"), P=60)
    X, y = gaussian(0, 2, effect=20.0)
    with pytest.raises(EstimatorError, match="separates"):
        describe(take_apart(fitted_quietly(LogisticRegression(C=np.inf), X, y), X, y))


def test_separable_data_are_refused_also_when_the_fit_stopped_early():
    X, y = gaussian(0, 2, effect=8.0)
    stopped = fitted_quietly(LogisticRegression(C=np.inf, max_iter=1), X, y)
    stopped.intercept_ += 1e3  # all negative rows on the wrong side, and saturated
    with pytest.raises(EstimatorError, match="penalty"):
        remove_rows(take_apart(stopped, X, y))


@pytest.mark.parametrize("kind", [LogisticLoss, SquaredLoss, SquaredHingeLoss])
def test_losses_are_consistent(kind):
    rng = np.random.default_rng(0)
    z, t, c = rng.normal(size=50) * 3, rng.choice([-1.0, 1.0], size=50), rng.uniform(0.5, 2.0, size=50)
    loss, h = kind(t, c), 1e-6
    slope = (loss.value(z + h) - loss.value(z - h)) / (2 * h)
    bend = (loss.gradient(z + h) - loss.gradient(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(z), slope, atol=1e-7)
    np.testing.assert_allclose(loss.curvature(z), bend, atol=1e-7)
