"""Fits with no penalty, or next to none: rows that alone determine a weight, and fits that are exact without a row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from data import with_rare_column
from foldless.honest.classes import remove_rows_of_classes
from foldless.honest.leave_one_out import remove_rows
from foldless.model.view import take_apart
from sklearn_versions import VERSION

UNPENALISED = {
    "lda": LinearDiscriminantAnalysis(),
    "lda lsqr": LinearDiscriminantAnalysis(solver="lsqr"),
    "ridge": RidgeClassifier(alpha=0.0, solver="svd"),
}


def scores_without(model, X, y, gone):
    """Scores of the rows `gone` under a refit that lacks them."""
    keep = np.setdiff1d(np.arange(len(y)), gone)
    return clone(model).fit(X[keep], y[keep]).decision_function(X[gone])


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("name", UNPENALISED)
def test_row_with_a_column_of_its_own(name, scale):
    """Its leverage is 1, and its score in the sample is its label; the honest score is that of a refit."""
    X, y = with_rare_column([5], scale=scale)
    found = fl.honest_scores(clone(UNPENALISED[name]).fit(X, y), X, y).scores
    exact = [scores_without(UNPENALISED[name], X, y, [i])[0] for i in range(30)]
    assert found == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("name", UNPENALISED)
def test_pair_of_rows_with_a_column_of_their_own(name):
    """Neither has leverage 1, but both together leave the weight of the column open."""
    X, y = with_rare_column([5, 20])
    found = remove_rows(take_apart(clone(UNPENALISED[name]).fit(X, y), X, y))
    i, j = list(found.rows1).index(5), list(found.rows0).index(20)
    exact = scores_without(UNPENALISED[name], X, y, [5, 20])
    assert [found.without_pair1[i, j], found.without_pair0[i, j]] == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("name", UNPENALISED)
def test_group_with_a_column_of_its_own(name):
    """A hospital with one patient: rows that are left out together."""
    X, y = with_rare_column([5, 14, 20])
    groups = np.arange(30)
    groups[[5, 14, 20]] = 5
    found = fl.honest_scores(clone(UNPENALISED[name]).fit(X, y), X, y, groups=groups).scores
    assert found[[5, 14, 20]] == pytest.approx(scores_without(UNPENALISED[name], X, y, [5, 14, 20]), abs=1e-3)


def test_logistic_regression_and_a_row_with_a_column_of_its_own():
    """Without a penalty the weight of the column grows without end, and one row must not spoil all the others."""
    X, y = with_rare_column([5])
    model = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-8)
    found = fl.honest_scores(clone(model).fit(X, y), X, y).scores
    assert found[5] == pytest.approx(scores_without(model, X, y, [5])[0], abs=0.01)
    others = np.delete(np.arange(30), 5)
    plain = fl.honest_scores(clone(model).fit(X[others], y[others]), X[others], y[others]).scores
    assert np.corrcoef(found[others], plain)[0, 1] > 0.999


@pytest.mark.parametrize("name", ["lda", "ridge"])
def test_streamed_rows_with_a_column_of_their_own(name):
    """A table that is read in blocks: the answer of the table in memory, which is that of a refit."""
    X, y = with_rare_column([5])
    model = clone(UNPENALISED[name]).fit(X, y)
    blocks = lambda: ((X[i : i + 7], y[i : i + 7]) for i in range(0, 30, 7))  # noqa: E731
    found = fl.honest_scores(model, blocks).scores
    assert found == pytest.approx(fl.honest_scores(model, X, y).scores, abs=1e-3)
    assert found[5] == pytest.approx(scores_without(model, X, y, [5])[0], abs=1e-3)


def test_sparse_rows_with_a_column_of_their_own():
    """Sparse columns are scaled, not filled."""
    X, y = with_rare_column([5])
    model = clone(UNPENALISED["ridge"]).fit(X, y)
    assert fl.honest_scores(model, sp.csr_matrix(X), y).scores == pytest.approx(
        fl.honest_scores(model, X, y).scores, abs=1e-3
    )


@pytest.mark.parametrize("rows", [[5], [5, 20]])
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), RidgeClassifier(alpha=0.0, solver="svd")])
def test_three_classes_and_rows_with_a_column_of_their_own(model, rows):
    """The same for the formulas of several classes."""
    X, _ = with_rare_column(rows, n=45)
    y = np.arange(45) % 3
    found = remove_rows_of_classes(take_apart(clone(model).fit(X, y), X, y, several=True)).tensor.without
    keep = np.setdiff1d(np.arange(45), [5, 20])
    exact = clone(model).fit(X[keep], y[keep]).decision_function(X[[5, 20]])
    if isinstance(model, LinearDiscriminantAnalysis):
        exact = exact - np.log(np.exp(exact).sum(axis=1, keepdims=True) - np.exp(exact))
    assert found[:, 5, 20] == pytest.approx(exact[0], abs=1e-3)
    assert found[:, 20, 5] == pytest.approx(exact[1], abs=1e-3)


# ---- fits that become singular or exact without two rows


@pytest.mark.parametrize("P", [27, 28])
def test_discriminant_that_two_rows_less_make_singular(P):
    """30 rows less two leave a scatter of rank 26: more columns have no closed form, whatever rounding says."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, P)), np.arange(30) % 2
    found = remove_rows(take_apart(LinearDiscriminantAnalysis().fit(X, y), X, y))
    assert found.provenance.method == "loo-surrogate"
    assert np.ptp(found.without_pair1) < 1e4 * np.ptp(found.z)


def test_discriminant_that_two_groups_less_make_singular():
    """Large groups: without two of them there are fewer rows than columns, which is refused and not computed."""
    rng = np.random.default_rng(3)
    X, y, groups = rng.normal(size=(30, 20)), np.arange(30) % 2, np.arange(30) // 6
    with pytest.raises(fl.EstimatorError, match="fits the others exactly"):
        fl.auc_posterior(LinearDiscriminantAnalysis().fit(X, y), X, y, groups=groups)


def test_least_squares_that_two_rows_less_make_perfect():
    """As many weights as rows once two rows are gone: nothing can be said, and that is said."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 28)), np.arange(30) % 2
    with pytest.raises(fl.EstimatorError, match="fits any labels perfectly"):
        fl.auc_posterior(RidgeClassifier(alpha=0.0, solver="svd").fit(X, y), X, y)


def test_discriminant_that_fits_the_other_rows_exactly_is_refused():
    """Without one pair of rows the scatter within the classes vanished: scores were infinite and the AUC was nan."""
    if VERSION < (1, 9):
        pytest.skip("the covariance was divided by N - 2 then, and rounding leaves something finite")
    A, y = np.eye(3)[[0, 2, 2, 1, 2, 1, 1]], np.arange(7) % 2
    model = LinearDiscriminantAnalysis(priors=[0.2, 0.8])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn: variables are collinear
        model.fit(A, y)
    with pytest.raises(fl.EstimatorError, match="no finite scores"):
        fl.auc_posterior(model, A, y)


def test_a_discriminant_that_fits_its_rows_exactly_is_refused():
    """Next to no shrinkage, as many columns as rows: a division by zero came out."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(13, 12)), np.arange(13) % 2
    X[:, 0] += 50 * y
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-11).fit(X, y)
    with pytest.raises(fl.EstimatorError, match=r"fits its rows exactly.*more shrinkage"):
        fl.auc_posterior(model, X, y)


def test_a_discriminant_that_points_against_its_classes_is_judged():
    """Its scale is negative: that was taken for a fit that leaves no scatter, and ended in a division by zero."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    X[:, 0] += y
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5).fit(X, y)
    model.coef_ = -40 * model.coef_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fl.FoldlessWarning)
        post = fl.auc_posterior(model, X, y)
    assert 0 < post.mean < 0.5
