"""Accuracies of several classes: against refits, through identities, and with known truth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from data import several_classes
from foldless.errors import InputError
from foldless.honest.accuracy import judged
from foldless.honest.least_squares import RidgePath
from foldless.results.accuracy import AccuracyPosterior

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def classes(K=4, n=60, P=6, shift=1.0, seed=0):
    X, y, _ = several_classes(K, n, P, shift=shift, seed=seed, shuffle=True)
    return X, y


def without(estimator, X, y, i, weight=None):
    """Decision values of row i under a refit that lacks it."""
    rest = np.arange(len(y)) != i
    given = {} if weight is None else {"sample_weight": weight[rest]}
    return clone(estimator).fit(X[rest], y[rest], **given).decision_function(X[[i]])[0]


# ---- rows removed, against refits


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("P", [6, 90])
def test_ridge_is_exact_for_all_rows_and_classes(P, intercept, weighted):
    X, y = classes(P=P)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(y)) if weighted else None
    model = RidgeClassifier(3.0, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    found = fl.analyse(model, X, y, sample_weight=weight).class_scores
    truth = np.array([without(model, X, y, i, weight) for i in range(len(y))]).T
    np.testing.assert_allclose(found.alone, truth, atol=1e-9)
    np.testing.assert_allclose(found.level, model.decision_function(X).T, atol=1e-9)
    assert np.abs(found.level - truth).max() > 0.05


def test_ridge_takes_sparse_columns():
    X, y = classes(P=8)
    X[np.abs(X) < 0.7] = 0.0
    dense, sparse = (fl.analyse(RidgeClassifier().fit(A, y), A, y).accuracy for A in (X, sp.csr_matrix(X)))
    assert dense.interval() == pytest.approx(sparse.interval(), rel=1e-9)


@pytest.mark.parametrize("P", [6, 90])
def test_ridge_behind_a_scaler_agrees_with_the_classes_one_by_one(P, monkeypatch):
    """All classes at once, and the same rows removed from each class's own problem, which `test_scaling` checks."""
    X, y = classes(P=P)
    model = make_pipeline(StandardScaler(), RidgeClassifier(3.0)).fit(X, y)
    together = fl.analyse(model, X, y).class_scores
    monkeypatch.setattr("foldless.honest.least_squares.ridge_of", lambda view, weight: None)
    one_by_one = fl.analyse(model, X, y).class_scores
    assert together.added_back().shape == one_by_one.added_back().shape == together.alone.shape
    np.testing.assert_allclose(together.alone, one_by_one.alone, atol=1e-9)
    np.testing.assert_allclose(together.added_back(), one_by_one.added_back(), atol=1e-9)
    np.testing.assert_allclose(together.tensor.without, one_by_one.tensor.without, atol=1e-9)


def test_weights_far_from_their_optimum_take_the_way_of_single_classes():
    X, y = classes()
    model = RidgeClassifier(3.0).fit(X, y)
    model.coef_ = model.coef_ * np.linspace(0.9, 1.1, 6)
    found = fl.analyse(model, X, y).class_scores
    assert found.provenance.polished
    assert found.provenance.direction_cosine < 1


@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(3.0),
        LogisticRegression(C=0.5, **TIGHT),
        OneVsRestClassifier(LogisticRegression(C=0.5, **TIGHT)),
    ],
    ids=["ridge", "softmax", "one against the rest"],
)
def test_an_average_row_of_the_class_takes_the_place_of_the_row(model):
    """Against refits without the row in which the rest of its class weighs n/(n - 1): the class keeps its mass."""
    X, y = classes(K=4, n=240, shift=0.8)
    found = fl.analyse(clone(model).fit(X, y), X, y).class_scores.added_back()
    ours, truth = [], []
    for i in range(0, 60, 5):
        rest, n = np.arange(len(y)) != i, np.bincount(y)[y[i]]
        weight = np.where(y == y[i], n / (n - 1), 1.0)[rest]
        kept = _fitted(model, X[rest], y[rest], weight).decision_function(X[[i]])[0]
        truth.append(_centred(kept - without(model, X, y, i), model))
        ours.append(_centred(found[:, i], model))
    gap, size = np.abs(np.array(ours) - truth), np.abs(truth)
    assert gap.mean() < 0.1 * size.mean()
    assert gap.max() < 0.15 * size.max()


@pytest.mark.parametrize("P", [3, 30])
@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(2.0),
        RidgeClassifier(2.0, fit_intercept=False),
        LogisticRegression(C=0.5, **TIGHT),
        LogisticRegression(C=0.5, fit_intercept=False, **TIGHT),
        OneVsRestClassifier(LogisticRegression(C=0.5, **TIGHT)),
        LinearSVC(C=0.1, tol=1e-10, max_iter=100_000),
    ],
)
def test_among_rows_that_are_all_alike_none_is_missed(model, P):
    """Exact: what takes the place of a row is the row, whatever is fitted."""
    y = np.repeat(np.arange(4), [4, 5, 5, 8])
    X = np.random.default_rng(0).normal(size=(4, P))[y]
    found = fl.analyse(clone(model).fit(X, y), X, y).class_scores
    assert np.abs(found.alone - found.level).max() > 1e-3
    np.testing.assert_allclose(found.replaced, found.level, atol=1e-6)


def test_an_unseen_row_of_the_class_takes_the_place_of_the_row():
    """Against refits with one, where columns outnumber rows and the rows that are left say little about it."""
    rng = np.random.default_rng(3)
    means, gaps, sizes = rng.normal(size=(4, 200)) / 6, [], []
    for _ in range(4):
        y = np.arange(40) % 4
        X = rng.normal(size=(40, 200)) + means[y]
        found = fl.analyse(RidgeClassifier(1.0).fit(X, y), X, y).class_scores
        truth = np.empty_like(found.replaced)
        for i in range(40):
            put = np.tile(X, (4, 1, 1))
            put[:, i] = rng.normal(size=(4, 200)) + means[y[i]]
            truth[:, i] = np.mean([RidgeClassifier(1.0).fit(Z, y).decision_function(X[[i]])[0] for Z in put], axis=0)
        each = (found.alone, found.replaced, truth)
        alone, replaced, kept = (4 * z[y, np.arange(40)] - z.sum(axis=0) for z in each)
        gaps += [(replaced - kept).mean(), (alone - kept).mean()]
        sizes.append(kept.std())
    assert abs(np.mean(gaps[::2])) < 0.05 * np.mean(sizes)
    assert np.mean(gaps[1::2]) < -0.1 * np.mean(sizes)


@pytest.mark.parametrize(
    ("model", "constant"),
    [
        (LinearSVC(C=1e-4), False),
        (OneVsRestClassifier(LogisticRegression(C=1e-3, solver="liblinear")), False),
        (make_pipeline(StandardScaler(), LinearSVC(C=1e-6)), False),
        (RidgeClassifier(fit_intercept=False), True),
        (LogisticRegression(fit_intercept=False), True),
    ],
)
def test_an_intercept_with_a_penalty_finds_nothing_in_noise(model, constant):
    """Where hardly anything but the intercept is fitted, each row's own class has no edge."""
    X, y = 1e-3 * np.random.default_rng(1).normal(size=(60, 4)), np.arange(60) % 3
    X = np.column_stack([X, np.ones(60)]) if constant else X
    a = fl.analyse(clone(model).fit(X, y), X, y)
    assert a.accuracy.interval(0.99)[0] < 1 / 3 < a.accuracy.interval(0.99)[1]
    assert a.accuracy.mean < 0.5


@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(1e5),
        LogisticRegression(C=1e-5, **TIGHT),
        OneVsRestClassifier(LogisticRegression(C=1e-5, **TIGHT)),
    ],
    ids=["ridge", "softmax", "one against the rest"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_strong_penalties_find_nothing_in_noise(model, weighted):
    """Where classes are equal in number, hardly anything but the row's own share of the intercepts can tell them."""
    y = np.arange(60) % 4
    X = np.random.default_rng(0).normal(size=(60, 100)) / 10
    weight = 1.0 + (np.arange(60) % 8 >= 4) if weighted else np.ones(60)
    fit = {} if not weighted else {"sample_weight": weight}
    fitted = _fitted(model, X, y, weight)
    found = fl.analyse(fitted, X, y, **fit).class_scores
    assert np.mean(found.replaced.argmax(axis=0) == y) < 0.45
    for i in range(0, 60, 7):
        rest = np.arange(60) != i
        mass = weight[y == y[i]].sum()
        grown = weight * np.where(y == y[i], mass / (mass - weight[i]), 1.0)
        kept = _fitted(model, X[rest], y[rest], grown[rest])
        gap = _centred(found.replaced[:, i] - kept.decision_function(X[[i]])[0], model)
        assert np.abs(gap).max() < 1e-5


def test_a_search_over_ridges_removes_rows_from_one_spectrum(monkeypatch):
    """And not again from the weights, which are those of scikit-learn down to penalties that rounding would drown."""
    from foldless import computation

    X, y = classes(K=4, n=120)
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    alone = {alpha: RidgeClassifier(alpha, solver="svd").fit(X, y) for alpha in (1e-8, 1.0, 100.0)}
    expected = [fl.analyse(model, X, y).accuracy for model in alone.values()]
    calls, plain = [], computation.remove_rows_of_classes
    monkeypatch.setattr(computation, "remove_rows_of_classes", lambda *a, **o: calls.append(a) or plain(*a, **o))
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": list(alone)}, scoring="accuracy").fit(X, y)
    assert len(calls) == 1  # of the member that the others are made from
    for got, truth in zip(search.posteriors_, expected, strict=True):
        assert (got.a, got.b) == (pytest.approx(truth.a, rel=1e-8), pytest.approx(truth.b, rel=1e-8))
    for alpha, model in alone.items():
        search.set_params(param_grid={"alpha": [alpha, alpha]}).fit(X, y)
        np.testing.assert_allclose(search.decision_function(X), model.decision_function(X), atol=1e-6)


def test_a_search_prefers_no_strong_penalty_in_noise():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 100)), np.arange(60) % 4
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": np.logspace(0, 8, 9)}, scoring="accuracy").fit(X, y)
    assert search.best_score_ < 0.45
    assert max(search.cv_results_["mean_test_score"]) < 0.45


def _fitted(model, X, y, weight):
    if not isinstance(model, OneVsRestClassifier):
        return clone(model).fit(X, y, sample_weight=weight)
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        inner = clone(model.estimator).set_fit_request(sample_weight=True)
        return OneVsRestClassifier(inner).fit(X, y, sample_weight=weight)


def _centred(z, model):
    """Softmax leaves a constant per row open."""
    return z - z.mean() if isinstance(model, LogisticRegression) else z


def test_discriminant_analysis_keeps_the_prior_of_the_class():
    """Exact: a row at the mean of its class moves no mean, and the svd solver uses priors for nothing else."""
    X, y = classes(K=3, n=45)
    model = LinearDiscriminantAnalysis().fit(X, y)
    found = fl.analyse(model, X, y).class_scores
    for i in (0, 7, 21):
        rest = np.arange(len(y)) != i
        refitted = LinearDiscriminantAnalysis(priors=np.bincount(y) / len(y)).fit(X[rest], y[rest])
        truth, ours = refitted.decision_function(X[[i]])[0], found.replaced[:, i]
        np.testing.assert_allclose(ours - ours.mean(), truth - truth.mean(), atol=1e-8)


# ---- the posteriors


def test_top_k_counts_rows_among_the_k_largest():
    X, y = classes(K=5, n=100, shift=0.6)
    a = fl.analyse(LogisticRegression().fit(X, y), X, y)
    scores = a.class_scores.replaced
    for k in (1, 2, 4):
        right = np.mean([y[i] in np.argsort(-scores[:, i])[:k] for i in range(100)])
        assert np.mean(judged(a.class_scores, k).right) == right
        assert a.top_k(k).mean == pytest.approx(right, abs=0.02)
    assert a.top_k(1) == a.accuracy
    assert a.top_k(1).mean < a.top_k(2).mean < a.top_k(4).mean
    for wrong in (0, 5, 1.5, "2"):
        with pytest.raises(InputError, match="k must be an integer from 1 to 4"):
            a.top_k(wrong)


def test_classes_of_equal_size_have_one_accuracy_and_names_do_not_matter():
    X, y = classes(K=3, n=60)
    a = fl.analyse(RidgeClassifier().fit(X, y), X, y)
    named = np.array(["c", "a", "b"])[y]
    b = fl.analyse(RidgeClassifier().fit(X, named), X, named)
    assert judged(a.class_scores).balanced()[0] / sum(judged(a.class_scores).balanced()) == pytest.approx(
        np.mean(judged(a.class_scores).right)
    )
    assert b.accuracy.interval() == pytest.approx(a.accuracy.interval(), rel=1e-9)


def test_balanced_accuracy_is_the_mean_of_the_classes():
    X, y = classes(K=3, n=90, shift=0.5)
    kept = np.sort(np.r_[np.flatnonzero(y == 0)[:8], np.flatnonzero(y > 0)])
    X, y = X[kept], y[kept]
    a = fl.analyse(RidgeClassifier().fit(X, y), X, y)
    right = judged(a.class_scores).right
    by_class = np.mean([right[y == k].mean() for k in range(3)])
    assert a.balanced_accuracy.mean == pytest.approx(by_class, abs=0.02)
    shares = np.array([(right[y == k].sum() + 0.5) / (np.sum(y == k) + 1) for k in range(3)])
    binomial = np.sum(shares * (1 - shares) / np.bincount(y)) / 9
    noise = 1 + judged(a.class_scores).noise_share
    assert a.balanced_accuracy.sd == pytest.approx(np.sqrt(noise * binomial), rel=0.15)


def test_two_classes_have_one_minus_the_error():
    X, y = classes(K=2, n=80, shift=0.7)
    a = fl.analyse(LogisticRegression().fit(X, y), X, y)
    assert a.accuracy.mean == pytest.approx(1 - a.error().error.mean, rel=1e-12)
    assert a.accuracy.sd == pytest.approx(a.error().error.sd, rel=1e-9)
    low, high = a.error().error.interval(0.9)
    assert a.accuracy.interval(0.9) == pytest.approx((1 - high, 1 - low), abs=0.005)
    assert a.balanced_accuracy.mean == pytest.approx(1 - a.error(prevalence=0.5).error.mean)
    assert a.top_k(1) == a.accuracy
    assert "Accuracy on new data" in a.accuracy._repr_html_()


def test_the_error_of_independent_rates_needs_no_quadrature():
    """The sum of two independent rates, against the product rule that the other rates use."""
    X, y = classes(K=2, n=50, shift=0.7)
    error = fl.analyse(LogisticRegression().fit(X, y), X, y).error(prevalence=0.3).error
    mean, sd = error.pair.moments(error._value, np.ones(1))
    assert (error.mean, error.sd) == pytest.approx((mean, sd), rel=1e-4)


def test_the_law_is_that_of_scipy():
    post = AccuracyPosterior.of_rows("accuracy", 30.0, 6.0)
    law = stats.beta(30.5, 6.5)
    assert (post.mean, post.sd) == pytest.approx((law.mean(), law.std()))
    np.testing.assert_allclose(post.cdf([-1, 0.7, 0.9, 2]), [0, *law.cdf([0.7, 0.9]), 1])
    np.testing.assert_allclose(post.interval(0.8), law.ppf([0.1, 0.9]))
    assert post.prob_above(0.8) == pytest.approx(law.sf(0.8))
    again = AccuracyPosterior.of_moments("accuracy", post.mean, post.sd)
    assert (again.a, again.b) == pytest.approx((30.5, 6.5))


# ---- penalties from one factorisation


@pytest.mark.parametrize("P", [6, 90])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_penalty_of_the_path_is_the_fit_of_its_own(P, intercept):
    X, y = classes(P=P)
    model = RidgeClassifier(fit_intercept=intercept)
    grid = {"alpha": [0.1, 3.0, 300.0]}
    search = fl.FoldlessSearch(model, grid, scoring="accuracy").fit(X, y)
    assert search.path_ == "shared"
    for alpha, found in zip(grid["alpha"], search.posteriors_, strict=True):
        alone = fl.analyse(clone(model).set_params(alpha=alpha).fit(X, y), X, y).accuracy
        assert found.interval() == pytest.approx(alone.interval(), rel=1e-9)
    by_hand = clone(model).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.decision_function(X), by_hand.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(search.best_estimator_.coef_, by_hand.coef_, atol=1e-9)
    assert search.score(X, y) == by_hand.score(X, y)


def test_columns_that_are_rescaled_have_no_path():
    X, y = classes()
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, y)
    assert RidgePath.of(fl.analyse(model, X, y).view, None) is None
    search = fl.FoldlessSearch(model, {"ridgeclassifier__alpha": [1.0, 30.0]}, scoring="accuracy").fit(X, y)
    assert search.path_ == "general"
    assert search.best_posterior_.name == "accuracy"


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
def test_two_classes_are_searched_by_their_accuracy(scoring):
    """The shared path gives what each fit gives on its own."""
    X, y = classes(K=2, n=80, shift=0.5)
    grid = {"C": [0.01, 0.3, 10.0]}
    search = fl.FoldlessSearch(LogisticRegression(**TIGHT), grid, scoring=scoring).fit(X, y)
    assert search.path_ == "shared"
    for C, found in zip(grid["C"], search.posteriors_, strict=True):
        alone = getattr(fl.analyse(LogisticRegression(C=C, **TIGHT).fit(X, y), X, y), scoring)
        assert found.interval() == pytest.approx(alone.interval(), rel=1e-4)
        assert found.name == alone.name
    assert 0 <= search.optimism_ < 0.1
    with pytest.raises(InputError, match="scoring must be"):
        fl.FoldlessSearch(LogisticRegression(), grid, scoring="f1").fit(X, y)


# ---- known truth


def simulated(rng, K, per_class, P, shift):
    means = shift * rng.standard_normal((K, P))
    y = np.repeat(np.arange(K), per_class)
    new = np.repeat(np.arange(K), -(-6000 // K))
    return rng.standard_normal((y.size, P)) + means[y], y, rng.standard_normal((new.size, P)) + means[new], new


def test_small_classes_are_not_judged_by_a_smaller_class():
    """100 classes of 6 rows: plain leave-one-out finds 48 % where 65 % is right on new rows."""
    rng = np.random.default_rng(3)
    gaps = []
    for _ in range(3):
        X, y, new, truth = simulated(rng, 100, 6, 50, 0.6)
        model = RidgeClassifier().fit(X, y)
        a = fl.analyse(model, X, y)
        plain = np.mean(a.class_scores.alone.argmax(axis=0) == y)
        gaps.append([a.accuracy.mean - model.score(new, truth), plain - model.score(new, truth)])
    assert abs(np.mean(gaps, axis=0)[0]) < 0.03
    assert np.mean(gaps, axis=0)[1] < -0.12


def test_digits_are_judged_as_by_twenty_folds():
    X, y = load_digits(return_X_y=True)
    X, y = X[:700], y[:700]
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(X, y)
    a = fl.analyse(model, X, y)
    folds = [np.arange(700) % 20 != k for k in range(20)]
    held_out = np.mean([clone(model).fit(X[t], y[t]).score(X[~t], y[~t]) for t in folds])
    assert a.accuracy.mean == pytest.approx(held_out, abs=0.012)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "K", "per_class", "P", "shift", "samples"),
    [
        (RidgeClassifier(), 3, 50, 10, 0.5, 70),
        (RidgeClassifier(10.0), 3, 50, 100, 0.3, 70),
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2), 10, 30, 20, 0.5, 70),
        (RidgeClassifier(), 100, 6, 50, 0.6, 30),
    ],
)
def test_intervals_cover_the_truth(model, K, per_class, P, shift, samples):
    """90 % intervals; the bounds are three standard errors of the simulation around 87 and 93 %."""
    rng, covered = np.random.default_rng(11), []
    for _ in range(samples):
        X, y, new, truth = simulated(rng, K, per_class, P, shift)
        model.fit(X, y)
        low, high = fl.analyse(model, X, y).accuracy.interval(0.9)
        covered.append(low <= model.score(new, truth) <= high)
    error = 3 * np.sqrt(0.09 / samples)
    assert 0.87 - error < np.mean(covered) < 0.93 + error
