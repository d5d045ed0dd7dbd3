"""Fits that stopped early, extreme penalties and awkward columns: the optimum is found, and the figures stay finite."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from data import gaussian
from development_data import load
from foldless.honest.families import describe
from foldless.honest.leave_one_out import remove_rows
from foldless.honest.optimum import CONVERGED, agreement, curvature_of, nearest_on_path, optimum, residual, tempered
from foldless.model.view import take_apart
from test_honest_refits import pair_auc


def loose(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return take_apart(model.fit(X, y), X, y)


def assert_finite(result):
    for array in (result.z, result.loo, result.without_pair1, result.without_pair0, result.influence_sq):
        assert np.all(np.isfinite(array))


@pytest.mark.parametrize(("seed", "N", "P"), [(1, 120, 800), (2, 120, 800), (0, 150, 2000)])
def test_a_default_fit_to_few_rows_gives_the_scores_of_a_tight_one(seed, N, P):
    # In a row space leverages are close to 1: with a Hessian of one step before they were off by up to 1.5 sd.
    rng, y = np.random.default_rng(seed), np.arange(N) % 2
    X = rng.normal(size=(N, P))
    X[:, 0] += y
    early, tight = (remove_rows(loose(LogisticRegression(tol=tol, max_iter=10_000), X, y)).loo for tol in (1e-4, 1e-10))
    np.testing.assert_allclose(early, tight, rtol=0, atol=0.005 * tight.std())


EXTREME = (1e-6, 1e-3, 1.0, 1e3, 1e6)


@pytest.mark.parametrize("C", EXTREME)
@pytest.mark.parametrize(("P", "effect"), [(4, 1.0), (4, 12.0), (25, 3.0), (120, 1.0)], ids=str)
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LogisticRegression(solver="liblinear"),
        LinearSVC(),
        LogisticRegression(fit_intercept=False),
    ],
    ids=repr,
)
def test_extreme_penalties(model, P, effect, C):
    X, y = gaussian(1, P, effect=effect)
    view = loose(model.set_params(C=C), X, y)
    objective = describe(view)
    design, found = optimum(objective)
    left = residual(tempered(objective, design), design, found.point, found.curvature)
    assert left < 1e-5 if found.polished else left <= CONVERGED
    assert_finite(remove_rows(view))


@pytest.mark.parametrize("C", [0.1, 1.0, 1e3])
@pytest.mark.parametrize("P", [4, 120])
def test_polished_fit_is_the_converged_one(C, P):
    X, y = gaussian(2, P)
    tight = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    _, found = optimum(describe(loose(LogisticRegression(C=C, max_iter=1), X, y)))
    assert found.polished
    assert found.direction_cosine < 1.0
    np.testing.assert_allclose(found.point.scores, tight.decision_function(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("P", [12, 120])
def test_fit_that_stopped_early_is_judged_where_it_stopped(P):
    """Weights on the way to C = 1000 are those of a smaller C: the answer is that of a converged fit there."""
    X, y = gaussian(2, P, effect=1.5)
    stopped = loose(LogisticRegression(C=1e3, max_iter=4), X, y)
    objective = describe(stopped)
    design, plain = optimum(objective)
    found = nearest_on_path(objective, design, plain)
    assert found.direction_cosine > plain.direction_cosine + 0.005
    assert found.penalty_factor > 1
    there = LogisticRegression(C=1e3 / found.penalty_factor, solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(found.point.scores, there.decision_function(X), rtol=1e-5, atol=1e-6)
    result, wanted = remove_rows(stopped), remove_rows(take_apart(there, X, y))
    # On the scale of the user's weights, which the scores in the sample tell.
    slope, level = np.polyfit(wanted.z, stopped.scores(), 1)
    np.testing.assert_allclose(result.without_pair1, level + slope * wanted.without_pair1, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(result.influence_sq, wanted.influence_sq, rtol=1e-4)


def test_converged_fit_stays_at_its_own_optimum():
    X, y = gaussian(2, 120)
    objective = describe(loose(LogisticRegression(C=1e3, tol=1e-9, max_iter=10_000), X, y))
    design, plain = optimum(objective)
    assert nearest_on_path(objective, design, plain) is plain


def test_start_far_out_on_the_saturated_side():
    X, y = gaussian(3, 5)
    fitted = LogisticRegression(C=10.0, tol=1e-10).fit(X, y)
    wanted = fitted.decision_function(X)
    fitted.coef_ = fitted.coef_ * -1e4
    result = remove_rows(take_apart(fitted, X, y))
    np.testing.assert_allclose(result.z, wanted, atol=1e-5)
    assert result.provenance.direction_cosine < 0
    assert "not of your weights" in result.provenance.notes[0]


def test_a_fit_at_the_tolerance_of_scikit_learn_is_no_alarm():
    """The default stops where it makes no difference; a weak penalty a little before, which a calm note says."""
    X, y = load_breast_cancer(return_X_y=True)
    fits = {C: make_pipeline(StandardScaler(), LogisticRegression(C=C)).fit(X, y) for C in (1.0, 100.0)}
    default, weak = (fl.analyse(fit, X, y) for fit in fits.values())
    assert not any("optimum" in note for note in default.notes)
    (note,) = [note for note in weak.notes if "optimum" in note]
    assert note.startswith("the weights are a little off the optimum")
    assert note.endswith("the solver stopped a little short, which is no cause for concern.")
    assert not any("optimum" in finding.text for finding in weak.findings)


@pytest.mark.parametrize("word", ["residual", "match "])
def test_notes_use_no_word_that_they_do_not_explain(word):
    X, y = gaussian(4, 60)
    weights = LogisticRegression().fit(X, y).coef_[0]
    early = loose(LogisticRegression(C=1e4, max_iter=1), X, y)
    notes = (*remove_rows(early).provenance.notes, *fl.analyse(weights, X, y).notes)
    assert len(notes) >= 2
    assert not any(word in note for note in notes)


def test_notes_follow_the_direction():
    X, y = gaussian(4, 60)
    assert remove_rows(loose(LogisticRegression(tol=1e-10), X, y)).provenance.notes == ()
    early = remove_rows(loose(LogisticRegression(C=1e4, max_iter=1), X, y))
    assert early.provenance.direction_cosine < 0.99
    assert "not at the optimum" in early.provenance.notes[0]


def test_weights_outside_the_row_space_count_as_unconverged():
    X, y = gaussian(5, 60)
    fitted = RidgeClassifier().fit(X, y)
    null = np.linalg.svd(X)[2][-1]
    fitted.coef_ = fitted.coef_ + null
    result = remove_rows(take_apart(fitted, X, y))
    assert result.provenance.polished
    assert result.provenance.residual > 0.1
    assert result.provenance.direction_cosine < 0.95


@pytest.mark.parametrize(
    "model", [RidgeClassifier(), LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)], ids=repr
)
def test_collinear_columns_and_mixed_units(model):
    X, y = gaussian(6, 3, effect=0.8)
    awkward = np.c_[X, X[:, 0] + X[:, 1]]
    plain, doubled = remove_rows(loose(model, X, y)), remove_rows(loose(model, awkward, y))
    assert_finite(doubled)
    if isinstance(model, LogisticRegression):
        # Without a penalty, a redundant column and other units change nothing.
        np.testing.assert_allclose(doubled.without_pair1, plain.without_pair1, atol=1e-5)
        units = remove_rows(loose(LogisticRegression(C=np.inf), X * [1e-2, 1.0, 1e2], y))
        np.testing.assert_allclose(units.without_pair1, plain.without_pair1, atol=1e-3)


@pytest.mark.parametrize("P", [5, 60])
@pytest.mark.parametrize("model", [LogisticRegression(tol=1e-10), LinearSVC(dual=False, tol=1e-10)], ids=repr)
def test_sparse_and_single_precision_agree_with_dense(model, P):
    X, y = gaussian(7, P)
    X = np.float32(X * (np.abs(X) > 0.5))
    dense = remove_rows(loose(model, X.astype(np.float64), y))
    for other in (sparse.csr_matrix(X.astype(np.float64)), X):
        result = remove_rows(loose(model, other, y))
        np.testing.assert_allclose(result.without_pair1, dense.without_pair1, atol=2e-3)
        np.testing.assert_allclose(result.loo, dense.loo, atol=2e-3)


def test_far_from_the_origin():
    X, y = gaussian(8, 60)
    near, far = (remove_rows(loose(RidgeClassifier(), X + shift, y)) for shift in (0.0, 1e4))
    np.testing.assert_allclose(far.without_pair1, near.without_pair1, atol=1e-6)


@pytest.mark.parametrize("name", ["colon_alon", "breast_gravier", "ucr_ham"])
def test_weak_penalty_on_real_data(name):
    """At C = 100 the default fit is far from its optimum; polished, it gives the answer of a converged fit."""
    data = load(name)
    X, y = StandardScaler().fit_transform(data["X"]), data["y"].astype(int)
    result = remove_rows(loose(LogisticRegression(C=100.0), X, y))
    tight = remove_rows(loose(LogisticRegression(C=100.0, tol=1e-9, max_iter=50_000), X, y))
    assert result.provenance.polished
    assert result.provenance.residual > 0.05
    auc = pair_auc(result.without_pair1, result.without_pair0)
    assert auc == pytest.approx(pair_auc(tight.without_pair1, tight.without_pair0), abs=0.005)


def test_an_outdated_curvature_is_renewed_once(monkeypatch):
    """A fit that stopped early in the row space: two curvatures lead as close to the optimum as a tight fit."""
    X, y = gaussian(7, 400, N=160, n1=70)
    early, tight = (LogisticRegression(C=1.0, tol=tol, max_iter=10_000).fit(X, y) for tol in (1e-4, 1e-10))
    exact, at = remove_rows(take_apart(tight, X, y)), curvature_of
    calls = []
    monkeypatch.setattr("foldless.honest.optimum.curvature_of", lambda *args: calls.append(None) or at(*args))
    found = remove_rows(take_apart(early, X, y))
    assert found.provenance.polished
    assert len(calls) == 2
    np.testing.assert_allclose(found.loo, exact.loo, atol=0.002 * exact.loo.std())


@pytest.mark.parametrize("P", [30, 200])
def test_dear_hessians_are_computed_at_both_ends_only(P, monkeypatch):
    """An early stop on a path of penalties: conjugate gradients lead to the same point as a Hessian for every step."""
    X, y = gaussian(2, P, N=150, n1=70, effect=1.5)
    objective = describe(loose(LogisticRegression(C=1e3, max_iter=4), X, y))
    at, calls, points = curvature_of, [], []
    monkeypatch.setattr("foldless.honest.optimum.curvature_of", lambda *args: calls.append(None) or at(*args))
    for cheap in (np.inf, 0.0):
        monkeypatch.setattr("foldless.honest.optimum.CHEAP", cheap)
        design, plain = optimum(objective)
        found = nearest_on_path(objective, design, plain)
        points.append((found.penalty_factor, found.point.scores, len(calls)))
    (factor, wanted, many), (same, scores, total) = points
    assert same == factor > 1
    assert total - many <= 4 < many
    np.testing.assert_allclose(scores, wanted, atol=1e-3 * wanted.std())


def test_an_early_stop_keeps_the_scale_of_the_user():
    """Judged at a thousand times the penalty, which points the same way: thresholds count on the scale of the fit."""
    X, y = gaussian(4, 600, N=50, n1=18, effect=2.0)
    X = X + 3 * np.random.default_rng(0).normal(size=(3, 600))[np.arange(50) % 3]  # batches slow the solver down
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e3)).fit(X, y)
    a = fl.analyse(model, X, y, method="loo")
    refits = cross_val_predict(model, X, y, cv=LeaveOneOut(), method="decision_function")
    assert "x the penalty" in a.notes[0]
    assert a.scores.scores.std() == pytest.approx(refits.std(), rel=0.2)
    assert a.scores.scores.mean() == pytest.approx(refits.mean(), abs=0.25 * refits.std())
    low, high = a.error().sensitivity.interval(0.9)
    assert low < np.mean(refits[y == 1] > 0) < high


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_that_change_no_score_do_not_count(classes):
    """One-hot columns add up to 1, as the intercept does: solvers leave their common level wherever they stop."""
    rng = np.random.default_rng(0)
    y, town = np.arange(900) % classes, rng.integers(6, size=900)
    X = np.column_stack([rng.standard_normal((900, 3)) + 0.6 * y[:, None], np.eye(6)[town]])
    far = LogisticRegression(C=10, tol=1e-10, max_iter=10_000).fit(X, y)
    level = np.r_[np.zeros(3), np.full(6, 4.0)]
    stopped = LogisticRegression(C=10).fit(X, y)
    stopped.coef_, stopped.intercept_ = far.coef_ + level, far.intercept_ - 4.0  # the same scores, far from the optimum
    a, b = (fl.analyse(model, X, y) for model in (stopped, far))
    assert a.verdict == "trust"
    assert a.auc.mean == pytest.approx(b.auc.mean, abs=1e-9)
    assert a.auc.sd == pytest.approx(b.auc.sd, abs=1e-9)


@pytest.mark.parametrize("columns", [5, 30])
def test_on_new_rows_classifiers_agree_at_least_as_far_as_the_bound_says(columns):
    """Directions that hardly vary, and others: the cosine of the scores on new rows of the same law."""
    rng, scale = np.random.default_rng(1), np.logspace(-3, 0, columns)
    for _ in range(20):
        X, new = (rng.standard_normal((n, columns)) * scale for n in (200, 20_000))
        v = rng.standard_normal(columns) / scale
        w = v + 0.1 * rng.standard_normal(columns) / scale
        (here, there), of_weights = (np.corrcoef(Z @ v, Z @ w)[0, 1] for Z in (X, new)), v @ w
        of_weights /= np.linalg.norm(v) * np.linalg.norm(w)
        assert there >= 1 - (1 - here) / (1 - (columns / 200) ** 0.5) ** 2
        assert agreement(of_weights, here, columns / 200) <= max((of_weights + here) / 2, there) + 1e-12
    assert agreement(0.2, 0.9, 1.5) == pytest.approx(0.55)  # more columns than rows: training scores do not tell
