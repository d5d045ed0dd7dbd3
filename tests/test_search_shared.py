"""The shared path against scikit-learn's own fits and the general path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from foldless.computation import Options
from foldless.honest.design import curvature_at, inverse_lower
from foldless.honest.newton import Factor
from foldless.search.candidates import families, l2_strength
from foldless.search.paths import Stage, Study
from sklearn_versions import VERSION

EXACT = {"tol": 1e-10, "max_iter": 1_000_000}
CLASSIFIERS = {
    "newton": (LogisticRegression(solver="newton-cholesky", **EXACT), "C", np.logspace(-4, 3, 6)),
    "lbfgs": (LogisticRegression(**EXACT), "C", np.logspace(-4, 0, 5)),
    "balanced": (LogisticRegression(solver="newton-cg", class_weight="balanced", **EXACT), "C", np.logspace(-3, 1, 5)),
    "no-intercept": (LogisticRegression(solver="newton-cg", fit_intercept=False, **EXACT), "C", np.logspace(-3, 1, 5)),
    "liblinear": (LogisticRegression(solver="liblinear", intercept_scaling=2.0, **EXACT), "C", np.logspace(-3, 1, 5)),
    "svm": (LinearSVC(**EXACT), "C", np.logspace(-4, 0, 5)),
    "svm-no-intercept": (LinearSVC(fit_intercept=False, **EXACT), "C", np.logspace(-4, 0, 5)),
    "ridge": (RidgeClassifier(), "alpha", np.logspace(-2, 5, 6)),
    "ridge-no-intercept": (RidgeClassifier(fit_intercept=False, class_weight={0: 2.0}), "alpha", np.logspace(-2, 5, 6)),
}
SHAPES = {"tall": (40, 30, 9), "square": (20, 20, 40), "wide": (25, 30, 200)}


@pytest.fixture(scope="module")
def shapes(make_data):
    """Data with P < N, P = N and P > N, away from the origin."""
    return {name: make_data(5, *shape, shift=0.4)[:2] for name, shape in SHAPES.items()}


def path_of(estimator, name, X, y, *, groups=None, **fit_params):
    """The shared path of a family, ready to be walked."""
    study = Study(estimator, X, y, fit_params, Options(groups=groups))
    return Stage.of(study, {name: 1.0}, name).path


def every_candidate(estimator, name, values, X, y, **fit_params):
    """Fitted estimator of each candidate of a search on the shared path."""
    found = []
    for k in range(len(values)):
        search = fl.FoldlessSearch(estimator, {name: values}, refit=lambda r, k=k: k).fit(X, y, **fit_params)
        assert search.path_ == "shared"
        found.append(search.best_estimator_)
    return found


def flat(classifier):
    """Weights and intercept in one vector."""
    return np.r_[np.ravel(classifier.coef_), np.ravel(classifier.intercept_)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_coefficients_equal_a_direct_fit(shapes, shape, kind):
    """Weights and intercept in the columns of X: 1e-5 relative to scikit-learn's fit with tol=1e-10."""
    X, y = shapes[shape]
    estimator, name, values = CLASSIFIERS[kind]
    for ours, value in zip(every_candidate(estimator, name, values, X, y), values, strict=True):
        direct = clone(estimator).set_params(**{name: value}).fit(X, y)
        assert type(ours) is type(direct)
        assert ours.get_params() == direct.get_params()
        assert np.linalg.norm(flat(ours) - flat(direct)) <= 1e-5 * np.linalg.norm(flat(direct))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["newton", "balanced", "liblinear", "svm", "ridge"])
def test_leave_one_out_scores_equal_the_general_path(shapes, shape, kind):
    """Honest scores along the path against `honest_scores` of direct fits: 1e-6 of the largest."""
    X, y = shapes[shape]
    estimator, name, values = CLASSIFIERS[kind]
    path = path_of(estimator, name, X, y)
    start = near = None
    for value in values if name == "C" else values[::-1]:
        visit = path.visit(value, start, near)
        start, near = visit.fit, visit.factor
        general = fl.honest_scores(clone(estimator).set_params(**{name: value}).fit(X, y), X, y, method="loo")
        assert np.abs(visit.removed.loo - general.scores).max() <= 1e-6 * np.abs(general.scores).max()
        assert visit.removed.pairs.ranks().mean == general.pair_auc


@pytest.mark.parametrize("size", [1, 3, 80, 81, 170, 333])
def test_triangular_inverse_by_halves(size):
    """Inverse times matrix is the identity, below and above the size at which it is split."""
    rng = np.random.default_rng(size)
    lower = np.tril(rng.standard_normal((size, size)) / size) + np.diag(rng.uniform(1, 2, size))
    np.testing.assert_allclose(inverse_lower(lower) @ lower, np.eye(size), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["newton", "svm", "ridge", "ridge-no-intercept"])
def test_factorisation_is_that_of_the_honest_method(shapes, shape, kind):
    """Root, centre and influence rows against `curvature_at`; both give the inverse Hessian."""
    X, y = shapes[shape]
    estimator, name, values = CLASSIFIERS[kind]
    path = path_of(estimator, name, X, y)
    for value in (values[0], values[-1]):
        visit = path.visit(value, None, None)
        objective, design, z = visit.objective, path.rotation.design, visit.fit.scores
        factor = Factor.at(objective, design, z)
        expected = curvature_at(design, objective.loss.curvature(z), objective.lam, objective.free_intercept)
        inverse, B = expected.root @ expected.root.T, expected.influence_rows(design, slice(None))
        assert factor.B is not None
        np.testing.assert_allclose(
            factor.curvature.root @ factor.curvature.root.T, inverse, atol=1e-10 * np.abs(inverse).max()
        )
        np.testing.assert_allclose(factor.B @ factor.B.T, B @ B.T, atol=1e-10 * np.abs(B @ B.T).max())
        assert (factor.curvature.centre is None) == (expected.centre is None)


def test_fitted_object_is_whole(shapes):
    """Everything that a direct fit has: attributes, their shapes and dtypes, predictions."""
    X, y = shapes["wide"]
    for kind in ("newton", "lbfgs", "liblinear", "svm", "ridge", "ridge-no-intercept"):
        estimator, name, values = CLASSIFIERS[kind]
        ours = every_candidate(estimator, name, values[1:3], X, y)[1]
        direct = clone(estimator).set_params(**{name: values[2]}).fit(X, y)
        assert set(vars(ours)) == set(vars(direct))
        for attribute in ("coef_", "intercept_", "classes_", "n_iter_"):
            assert np.shape(getattr(ours, attribute)) == np.shape(getattr(direct, attribute)), (kind, attribute)
            assert np.asarray(getattr(ours, attribute)).dtype.kind == np.asarray(getattr(direct, attribute)).dtype.kind
        np.testing.assert_array_equal(ours.predict(X), direct.predict(X))


def test_sample_weights_sparse_and_single_precision(shapes):
    """Weights shape the fit; sparse and float32 input give what a direct fit gives."""
    X, y = shapes["wide"]
    weight = np.linspace(0.2, 3.0, len(y))
    estimator, name, values = CLASSIFIERS["newton"]
    holes = np.where(np.abs(X - np.median(X)) < 0.8, 0.0, X)
    for matrix, fit_params in ((X, {"sample_weight": weight}), (sparse.csr_array(holes), {}), (X.astype("f4"), {})):
        solver = LogisticRegression(**EXACT)
        found = every_candidate(solver, name, values[:3], matrix, y, **fit_params)
        for ours, value in zip(found, values[:3], strict=True):
            # In single precision scikit-learn's own fit is off by several per cent: its fit in double is the measure.
            direct = clone(solver).set_params(C=value).fit(matrix.astype("f8"), y, **fit_params)
            # Before version 1.9 a fit in single precision had weights in double.
            assert ours.coef_.dtype == (matrix.dtype if VERSION >= (1, 9) else np.float64)
            assert np.linalg.norm(flat(ours) - flat(direct)) <= 1e-5 * np.linalg.norm(flat(direct))
    fitted = clone(estimator).set_params(C=1.0).fit(X, y, sample_weight=weight)
    posterior = fl.auc_posterior(fitted, X, y, sample_weight=weight)
    search = fl.FoldlessSearch(estimator, {"C": [0.1, 1.0]}).fit(X, y, sample_weight=weight)
    assert search.posteriors_[1].mean == pytest.approx(posterior.mean, abs=1e-8)


def test_nested_pipelines_keep_their_fitted_steps(shapes):
    """The scaler is fitted once, and the whole predicts as a direct fit does."""
    X, y = shapes["wide"]
    model = Pipeline([("prepare", StandardScaler()), ("end", make_pipeline(StandardScaler(), LinearSVC(**EXACT)))])
    values = [1e-4, 1e-3, 1e-2]
    name = "end__linearsvc__C"
    assert l2_strength(model) == name
    for ours, value in zip(every_candidate(model, name, values, X, y), values, strict=True):
        direct = clone(model).set_params(**{name: value}).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), direct.decision_function(X), rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(ours["prepare"].mean_, direct["prepare"].mean_)


def test_groups_on_the_shared_path(shapes):
    """Groups are removed whole, as in the general path."""
    X, y = shapes["wide"]
    groups = np.arange(len(y)) // 2
    estimator, name, values = CLASSIFIERS["ridge"]
    search = fl.FoldlessSearch(estimator, {name: values}).fit(X, y, groups=groups)
    assert search.path_ == "shared"
    for k, value in enumerate(values):
        alone = fl.auc_posterior(clone(estimator).set_params(alpha=value).fit(X, y), X, y, groups=groups)
        assert search.posteriors_[k].interval() == pytest.approx(alone.interval(), abs=1e-7)


def test_many_rows_are_worked_on_in_blocks(make_data):
    """More rows than fit into the cache, and a grid with a repeated value."""
    X, y, _ = make_data(9, 350, 300, 5, shift=0.2)
    estimator, name, _ = CLASSIFIERS["newton"]
    search = fl.FoldlessSearch(estimator, {name: [0.01, 0.01, 1.0]}).fit(X, y)
    assert search.path_ == "shared"
    for k, value in enumerate((0.01, 0.01, 1.0)):
        alone = fl.auc_posterior(clone(estimator).set_params(C=value).fit(X, y), X, y)
        assert search.posteriors_[k].interval() == pytest.approx(alone.interval(), abs=1e-8)


@pytest.mark.parametrize("balance", [None, "balanced"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_scaler_leaves_on_the_shared_path(shapes, shape, balance):
    """What a scaler needs of the rows is computed once for all strengths: the answers are those of single fits."""
    X, y = shapes[shape]
    model = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cg", class_weight=balance, **EXACT))
    name, values = "logisticregression__C", [1e-3, 0.1, 1.0]
    search = fl.FoldlessSearch(model, {name: values}).fit(X, y)
    assert search.path_ == "shared"
    for k, value in enumerate(values):
        alone = fl.auc_posterior(clone(model).set_params(**{name: value}).fit(X, y), X, y)
        assert search.posteriors_[k].interval() == pytest.approx(alone.interval(), abs=1e-7)


@pytest.mark.parametrize("scale", [False, True])
def test_large_data_in_single_precision(make_data, scale):
    """Where single precision saves time, the answers are still those of single fits, and so are the weights."""
    X, y, _ = make_data(10, 1000, 700, 250, shift=0.2)
    steps = [StandardScaler()] if scale else []
    model = make_pipeline(*steps, LogisticRegression(solver="newton-cholesky", **EXACT))
    name, values = "logisticregression__C", [1e-3, 0.1, 10.0]
    search = fl.FoldlessSearch(model, {name: values}).fit(X, y)
    for k, value in enumerate(values):
        direct = clone(model).set_params(**{name: value}).fit(X, y)
        alone = fl.auc_posterior(direct, X, y)
        assert search.posteriors_[k].interval() == pytest.approx(alone.interval(), abs=1e-5)
        if k == search.best_index_:
            np.testing.assert_allclose(flat(search.best_estimator_[-1]), flat(direct[-1]), atol=1e-5)


def test_no_penalty_is_not_shared(shapes):
    """Without a penalty C means nothing: scikit-learn fits, on as many columns as allow it."""
    X, y = shapes["tall"]
    free = LogisticRegression(C=np.inf, tol=1e-8, max_iter=10_000)
    search = fl.FoldlessSearch(free, {"C": [np.inf, 1.0, 2.0]}).fit(X, y)
    assert list(search.results_["path"]) == ["general", "shared", "shared"]
    assert search.posteriors_[0].mean == pytest.approx(fl.auc_posterior(free.fit(X, y), X, y).mean, abs=1e-5)


def test_extreme_strengths(shapes):
    """Interpolating fits and vanishing weights: the answer of the general path, whichever path was taken."""
    X, y = shapes["wide"]
    for estimator, name, values in (
        (RidgeClassifier(solver="svd"), "alpha", [1e-10, 1e-7, 1e-4, 1e9]),
        (LogisticRegression(solver="newton-cg", **EXACT), "C", [1e-9, 1e5]),
    ):
        search = fl.FoldlessSearch(estimator, {name: values}).fit(X, y)
        for k, value in enumerate(values):
            alone = fl.auc_posterior(clone(estimator).set_params(**{name: value}).fit(X, y), X, y)
            assert search.posteriors_[k].mean == pytest.approx(alone.mean, abs=2e-4), (name, value)


def test_families():
    """Who shares with whom: same classifier, same everything else, a positive finite strength, at least two."""
    model = LogisticRegression()

    def shapes(estimator, grid):
        from foldless.search.candidates import expand

        return [(f.indices, f.strength) for f in families(estimator, expand(grid))]

    assert shapes(model, {"C": [1, 2, 4]}) == [((0, 1, 2), "C")]
    assert shapes(model, {"C": np.array([1.0, 2.0]), "tol": np.array([0.1, 0.2])}) == [((0, 2), "C"), ((1, 3), "C")]
    assert shapes(model, {"C": [1.0]}) == [((0,), None)]
    assert shapes(model, {"C": [1.0, np.inf, 2.0]}) == [((0, 2), "C"), ((1,), None)]
    assert shapes(model, {"tol": [0.1, 0.2]}) == [((0,), None), ((1,), None)]
    assert shapes(LogisticRegressionCV(), {"tol": [0.1, 0.2]}) == [((0,), None), ((1,), None)]
    assert shapes(make_pipeline(StandardScaler(), RidgeClassifier()), {"ridgeclassifier__alpha": [1, 2]}) == [
        ((0, 1), "ridgeclassifier__alpha")
    ]

    class Other(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    assert shapes(Other(), {"C": [1, 2]}) == [((0,), None), ((1,), None)]


@pytest.mark.parametrize("scoring", ["auc", "accuracy"])
@pytest.mark.parametrize("grouped", [False, True])
def test_ridge_penalties_share_one_eigendecomposition(make_data, grouped, scoring, monkeypatch):
    """Sampled pairs, weights and groups: the answers of single fits, and no other factorisation."""
    X, y, _ = make_data(11, 420, 300, 20, shift=0.2)
    weight, groups = np.linspace(0.5, 2.0, len(y)), np.arange(len(y)) // 2 if grouped else None
    values = [0.1, 1000.0]
    with monkeypatch.context() as patch:
        patch.setattr("foldless.honest.newton.curvature_at", None)
        search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": values}, scoring=scoring)
        search.fit(X, y, sample_weight=weight, groups=groups)
    for k, value in enumerate(values):
        fitted = RidgeClassifier(alpha=value).fit(X, y, sample_weight=weight)
        alone = getattr(fl.analyse(fitted, X, y, sample_weight=weight, groups=groups), scoring)
        assert search.posteriors_[k].interval() == pytest.approx(alone.interval(), abs=1e-7)
