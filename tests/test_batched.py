"""Fits made at once: the scores of scikit-learn's own refits, and what is left to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    chi2,
    mutual_info_classif,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

import foldless as fl
from data import alternating, ones_first
from foldless.errors import EstimatorError, InputError
from foldless.honest.batched import fit_at_once
from foldless.honest.refits import FOLDS, Training, hold_out, stratified
from sklearn_versions import l1

EXACT = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}
LOGISTIC, RIDGE = LogisticRegression(**EXACT), RidgeClassifier()
PIPELINES = {
    "kbest": make_pipeline(StandardScaler(), SelectKBest(k=10), LOGISTIC),
    "kbest, then scaled": make_pipeline(SelectKBest(k=10), StandardScaler(), RIDGE),
    "all": make_pipeline(SelectKBest(k="all"), RIDGE),
    "percentile": make_pipeline(StandardScaler(), SelectPercentile(percentile=7), RIDGE),
    "percentile on a score": make_pipeline(SelectPercentile(percentile=25), RIDGE),
    "fpr": make_pipeline(SelectFpr(alpha=0.1), RidgeClassifier(alpha=10)),
    "fdr": make_pipeline(StandardScaler(with_mean=False), SelectFdr(alpha=0.5), LOGISTIC),
    "fpr, centred": make_pipeline(StandardScaler(with_std=False), SelectFpr(alpha=0.5), LOGISTIC),
    "chi2": make_pipeline(SelectKBest(chi2, k=6), StandardScaler(), LOGISTIC),
    "chi2 fdr": make_pipeline(StandardScaler(with_mean=False), SelectFdr(chi2, alpha=0.9), RIDGE),
    "varying": make_pipeline(VarianceThreshold(2.0), SelectPercentile(percentile=30), StandardScaler(), LOGISTIC),
    "no selection": make_pipeline(StandardScaler(), LOGISTIC),
    "weighed": make_pipeline(SelectKBest(k=5), RidgeClassifier(class_weight={0: 2.0, 1: 1.0}, fit_intercept=False)),
    "weak penalty": make_pipeline(StandardScaler(), SelectKBest(k=5), LogisticRegression(C=100.0, **EXACT)),
    "pls in a pipeline": make_pipeline(StandardScaler(with_mean=False), PLSRegression(2)),
    "selected pls": make_pipeline(SelectKBest(k=15), PLSRegression(3, scale=False)),
    **{f"pls {k}": PLSRegression(k) for k in range(1, 6)},
    **{f"pls {k}, unscaled": PLSRegression(k, scale=False) for k in range(1, 6)},
}
L1 = make_pipeline(StandardScaler(), LogisticRegression(C=0.3, solver="liblinear", random_state=0, **l1()))


def rows(columns, seed=0):
    """Columns of unequal means and spreads, five of them with signal; more negative rows than positive ones."""
    X, y = ones_first(30, 40, columns, seed=seed)
    rng = np.random.default_rng(seed)
    X = X * rng.uniform(0.5, 3, columns) + rng.normal(scale=3, size=columns)
    X[:, :5] += y[:, None]
    return X, y


def trained(model, X, y, pos_label=None, sample_weight=None):
    return Training.of(clone(model).fit(X, y), X, y, pos_label, None, sample_weight)


@dataclass
class Batch:
    scores: np.ndarray
    probabilities: np.ndarray
    doubtful: np.ndarray


def batch_of(t):
    """The fits made at once, and the splits."""
    splits = t.splits()
    found = fit_at_once(t.estimator, t.X, t.labels, t.own, t.weight, [test for _, test in splits])
    return None if found is None else Batch(*found[0], found[1]), splits


def scored(fit, X):
    return fit.decision_function(X) if hasattr(fit, "decision_function") else np.ravel(fit.predict(X)) - 0.5


def refitted_scores(model, X, y, splits, **fit):
    """One clone per split, scored on the rows that it lacks."""
    each = ({k: v[train] for k, v in fit.items()} for train, _ in splits)
    return [scored(clone(model).fit(X[a], y[a], **extra), X[b]) for (a, b), extra in zip(splits, each, strict=True)]


@pytest.mark.parametrize("columns", [12, 100])
@pytest.mark.parametrize("name", PIPELINES)
def test_scores_are_those_of_scikit_learns_refits(name, columns):
    """To 1e-8 of the spread of the scores."""
    if columns < 15 and "selected" in name:
        pytest.skip("fewer columns than are to be selected")
    (X, y), model = rows(columns), PIPELINES[name]
    if "chi2" in name:
        X = np.abs(X)
    batch, splits = batch_of(trained(model, X, y))
    assert batch is not None
    assert not batch.doubtful.any()
    for k, expected in enumerate(refitted_scores(model, X, y, splits)):
        np.testing.assert_allclose(batch.scores[k, splits[k][1]], expected, rtol=0, atol=1e-8 * np.std(expected))


def test_solvers_with_a_tolerance_of_their_own_agree_to_that():
    """Liblinear, whose intercept is penalised, and the squared hinge; lbfgs stops at about 1e-7."""
    X, y = rows(40)
    for final in (
        LogisticRegression(solver="liblinear", tol=1e-12, max_iter=10_000),
        LogisticRegression(tol=1e-12, max_iter=10_000),
        LinearSVC(dual=False, tol=1e-12, max_iter=10_000),
    ):
        model = make_pipeline(StandardScaler(), SelectKBest(k=8), final)
        batch, splits = batch_of(trained(model, X, y))
        for k, expected in enumerate(refitted_scores(model, X, y, splits)):
            np.testing.assert_allclose(batch.scores[k, splits[k][1]], expected, rtol=0, atol=5e-6 * np.std(expected))


def test_probabilities_are_those_of_scikit_learn():
    X, y = rows(30)
    model = PIPELINES["kbest"]
    batch, splits = batch_of(trained(model, X, y, pos_label=0))
    for k, (train, test) in enumerate(splits):
        expected = clone(model).fit(X[train], y[train]).predict_proba(X[test])[:, 0]
        np.testing.assert_allclose(batch.probabilities[k, test], expected, atol=1e-9)
    assert np.isnan(batch_of(trained(PIPELINES["fpr"], X, y))[0].probabilities).all()


def test_sample_weights_reach_the_classifier_only():
    X, y = rows(30)
    weight, model = np.random.default_rng(1).uniform(0.2, 2, y.size), make_pipeline(SelectKBest(k=5), LOGISTIC)
    t = trained(model, X, y)
    t = Training.of(t.estimator.fit(X, y, logisticregression__sample_weight=weight), X, y, None, None, weight)
    batch, splits = batch_of(t)
    refits = refitted_scores(model, X, y, splits, logisticregression__sample_weight=weight)
    for k, expected in enumerate(refits):
        np.testing.assert_allclose(batch.scores[k, splits[k][1]], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("model", [PIPELINES["kbest"], PIPELINES["pls 2"], L1], ids=["kbest", "pls", "l1"])
def test_no_clone_is_fitted(model, monkeypatch):
    """Which is what saves the time."""
    t = trained(model, *rows(40))
    for kind in (LogisticRegression, PLSRegression):
        monkeypatch.setattr(kind, "fit", None)
    assert hold_out(t).fits == 20


# ---- an L1 penalty, and the hinge

LIBLINEAR = {**l1(), "solver": "liblinear", "tol": 1e-10, "max_iter": 100_000, "random_state": 0}
SAGA = {**l1(), "solver": "saga", "tol": 1e-9, "max_iter": 100_000, "random_state": 0}
TIGHT = {"tol": 1e-9, "max_iter": 10_000_000}
SPARSE = {
    **{f"l1 {C}": make_pipeline(StandardScaler(), LogisticRegression(C=C, **LIBLINEAR)) for C in (0.05, 0.3, 1.0)},
    "l1, saga": make_pipeline(StandardScaler(), LogisticRegression(C=0.3, **SAGA)),
    "elastic net": make_pipeline(StandardScaler(), LogisticRegression(C=0.2, **SAGA | l1(0.5))),
    "l1, no intercept": LogisticRegression(C=0.1, fit_intercept=False, **LIBLINEAR),
    "l1, selected": make_pipeline(SelectKBest(k=10), StandardScaler(), LogisticRegression(C=0.3, **LIBLINEAR)),
    "l1, weighed": make_pipeline(
        StandardScaler(), LogisticRegression(C=0.2, class_weight={0: 2.0}, intercept_scaling=3.0, **LIBLINEAR)
    ),
    "l1, squared hinge": make_pipeline(StandardScaler(), LinearSVC(C=0.05, penalty="l1", dual=False, **TIGHT)),
    "hinge": make_pipeline(StandardScaler(), SVC(kernel="linear", C=0.1, tol=1e-9)),
    "hinge, balanced": make_pipeline(StandardScaler(), SVC(kernel="linear", C=0.01, class_weight="balanced", tol=1e-9)),
    "hinge, penalised intercept": make_pipeline(StandardScaler(), LinearSVC(C=0.01, loss="hinge", **TIGHT)),
}


@pytest.mark.parametrize("columns", [12, 100])
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_and_hinge_scores_are_those_of_scikit_learns_refits(name, columns):
    """To 1e-5 of the spread of the scores, at a tight tolerance of its solvers."""
    (X, y), model = rows(columns), SPARSE[name]
    batch, splits = batch_of(trained(model, X, y, pos_label=0))
    assert batch is not None
    assert not batch.doubtful.any()
    for k, expected in enumerate(refitted_scores(model, X, y, splits)):
        np.testing.assert_allclose(-batch.scores[k, splits[k][1]], expected, rtol=0, atol=1e-5 * np.std(expected))


def test_fits_that_use_no_column_are_made_at_once():
    """Of a penalty so strong that only the fit to all rows, and some others, have a column left."""
    X, y = alternating(60, 20, seed=4)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    C = 1.05 / np.max(np.abs(Z.T @ (y - 0.5)))
    model = make_pipeline(StandardScaler(), LogisticRegression(C=C, **LIBLINEAR))
    batch, splits = batch_of(trained(model, X, y))
    empty = [np.ptp(each) == 0 for each in batch.scores]
    assert 0 < sum(empty) < len(splits)
    for k, expected in enumerate(refitted_scores(model, X, y, splits)):
        np.testing.assert_allclose(batch.scores[k, splits[k][1]], expected, rtol=0, atol=1e-7)


def test_columns_that_repeat_each_other_under_an_l1_penalty():
    """Yes/no columns come in mirrored pairs: the weights are not unique, the scores are."""
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    half = rng.integers(0, 2, size=(60, 30)).astype(float)
    half[:, 0] = np.where(rng.random(60) < 0.8, y, 1 - y)
    X = np.hstack([half, half, 1 - half])
    model = LogisticRegression(C=1.0, solver="liblinear", tol=1e-9, max_iter=100_000, random_state=0, **l1())
    found, splits = batch_of(trained(model, X, y))
    if found is None:  # left to clones, which is slow and right
        pytest.fail("the fits were not made at once")
    expected = refitted_scores(model, X, y, splits)
    for k, (_, test) in enumerate(splits):
        if not found.doubtful[k]:
            np.testing.assert_allclose(found.scores[k, test], expected[k], atol=1e-3 * np.std(expected[k]))
    assert found.doubtful.mean() < 0.5


def test_weights_of_rows_reach_an_l1_problem_and_the_hinge():
    """To 1e-4 of the spread: of columns that are not centred, libsvm's single precision loses digits."""
    X, y = rows(30)
    weight = np.random.default_rng(1).uniform(0.2, 2, y.size)
    for model in (LogisticRegression(C=0.1, **LIBLINEAR), SVC(kernel="linear", C=0.1, tol=1e-9)):
        t = Training.of(clone(model).fit(X, y, sample_weight=weight), X, y, None, None, weight)
        batch, splits = batch_of(t)
        for k, expected in enumerate(refitted_scores(model, X, y, splits, sample_weight=weight)):
            np.testing.assert_allclose(batch.scores[k, splits[k][1]], expected, rtol=0, atol=1e-4 * np.std(expected))


def test_a_fold_where_a_class_has_no_weight_is_refused_by_scikit_learn():
    X, y = alternating(24, 3)
    groups = np.repeat(np.arange(8), 3)
    weight = np.where((y == 1) & (groups != 1), 0.0, 1.0)  # two rows of one group
    model = SVC(kernel="linear").fit(X, y, weight)
    with pytest.raises(fl.EstimatorError, match=r"SVC could not be fitted again, on \d+ of the 24 rows: Invalid input"):
        fl.auc_posterior(model, X, y, groups=groups, sample_weight=weight)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_a_hinge_solver_that_warns_is_left_to_itself():
    """Its warnings reach the notes."""
    X, y = rows(30)
    model = make_pipeline(StandardScaler(), LinearSVC(C=100.0, loss="hinge", max_iter=3000, random_state=0)).fit(X, y)
    t = Training.of(model, X, y, None, None, None)
    short = replace(t, estimator=clone(model).set_params(linearsvc__max_iter=60).fit(X, y))
    short.estimator[-1].n_iter_ = 1  # as if the fit to all rows had ended in time
    assert len(hold_out(short).warned) > 0


def test_refits_of_a_fit_that_took_long_are_made_one_by_one(monkeypatch):
    """All at once they would show no progress, and leave other cores idle."""
    X, y = rows(30)
    model, steps = SVC(kernel="linear", C=0.1, tol=1e-9).fit(X, y), []
    t = Training.of(model, X, y, None, None, None)
    at_once = hold_out(t)
    assert t.at_once([rows for _, rows in t.splits()]) is not None
    monkeypatch.setattr("foldless.honest.batched.PATIENCE", 1)
    assert t.at_once([rows for _, rows in t.splits()]) is None
    found = hold_out(t, progress=lambda done, of: steps.append((done, of)))
    assert steps == [(k + 1, 20) for k in range(20)]
    np.testing.assert_allclose(found.scores, at_once.scores, atol=1e-4 * np.std(found.scores))


# ---- what is left to scikit-learn


def tables():
    """Tables on which rounding decides a choice, or a column does not vary in some folds."""
    X, y = rows(20)
    rare, leak = X.copy(), X.copy()
    rare[:, 0], rare[:, 1] = 0.0, 0.1
    rare[3, :2] = 5.0
    leak[:, 7] = 0.3 * y + 0.1
    words = (np.random.default_rng(2).random((70, 20)) < 0.3).astype(float)
    return {"equal columns": (np.hstack([X, X]), y), "words": (words, y), "rare": (rare, y), "leak": (leak, y)}


@pytest.mark.filterwarnings("ignore:Features .* are constant", "ignore:invalid value encountered in divide")
@pytest.mark.parametrize("table", ["equal columns", "words", "rare", "leak"])
@pytest.mark.parametrize("name", ["kbest", "kbest, then scaled", "percentile on a score", "fpr", "pls 2"])
def test_doubtful_fits_are_left_to_scikit_learn(name, table):
    """Whatever rounding decides, the scores are those of its refits."""
    (X, y), model = tables()[table], PIPELINES[name]
    if table == "words" and name == "fpr":
        model = make_pipeline(VarianceThreshold(0.2), SelectFpr(alpha=0.5), RIDGE)
    t = trained(model, X, y)
    held = hold_out(t)
    for k, expected in enumerate(refitted_scores(model, X, y, t.splits())):
        inside = held.fold[k // FOLDS] == k
        np.testing.assert_allclose(held.scores[k // FOLDS, inside], expected, rtol=0, atol=1e-8 * np.std(expected))


@pytest.mark.filterwarnings("ignore:No features were selected")
def test_a_fold_without_columns_is_refused_by_scikit_learn():
    X, y = alternating(40, 30, seed=3)
    model = make_pipeline(SelectFdr(alpha=0.5), RIDGE)
    model = model.set_params(selectfdr__alpha=min(1.0, 1.01 * alpha_for_one(X, y)))
    with pytest.raises(EstimatorError, match=r"could not be fitted again.*0 feature"):
        hold_out(trained(model, X, y))


def alpha_for_one(X, y):
    """The false discovery rate at which the first column is selected."""
    p = np.sort(SelectKBest().fit(X, y).pvalues_)
    return float(np.min(p * p.size / np.arange(1, p.size + 1)))


def test_negative_numbers_are_refused_under_chi2():
    X, y = rows(10)
    t = trained(PIPELINES["chi2"], np.abs(X), y)
    with pytest.raises(EstimatorError, match="could not be fitted again"):
        hold_out(replace(t, table=X))


def test_equal_columns_are_doubtful_only_at_the_edge_of_a_choice():
    X, y = rows(20)
    twice = np.hstack([X, X])
    assert not batch_of(trained(PIPELINES["all"], twice, y))[0].doubtful.any()
    odd = make_pipeline(SelectKBest(k=3), RIDGE)
    batch, _ = batch_of(trained(odd, twice, y))
    assert batch is None or batch.doubtful.any()


class Louder(SelectKBest):
    """Not scikit-learn's: it may do anything."""


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (make_pipeline(Louder(k=3), RIDGE), np.asarray),
        (make_pipeline(SelectKBest(mutual_info_classif, k=3), RIDGE), np.asarray),
        (make_pipeline(PowerTransformer(), SelectKBest(k=3), RIDGE), np.asarray),
        (make_pipeline(SelectKBest(k=200), RIDGE), lambda X: np.tile(X, 15)),
        (LogisticRegression(C=np.inf), np.asarray),
        (RidgeClassifier(alpha=0.0), np.asarray),
        (SVC(), np.asarray),
        (LogisticRegression(C=1e3, tol=1e-2, solver="liblinear", **l1()), lambda X: np.tile(X, 15)),
        (RIDGE, lambda X: X.astype(np.float32)),
        (RIDGE, csr_matrix),
        (RidgeClassifier(class_weight="balanced"), np.asarray),
    ],
    ids=[
        "subclass",
        "score",
        "step",
        "many columns",
        "no penalty",
        "least squares",
        "kernel",
        "l1, hardly penalised",
        "float32",
        "sparse",
        "balanced",
    ],
)
def test_other_pipelines_are_not_made_at_once(model, change):
    X, y = rows(20)
    assert batch_of(trained(model, change(X), y))[0] is None


def test_a_fit_that_stopped_early_or_is_not_that_of_these_rows_is_not_made_at_once():
    X, y = rows(20)
    with pytest.warns(ConvergenceWarning):
        t = trained(LogisticRegression(max_iter=2), X, y)
    assert batch_of(t)[0] is None
    other = trained(RIDGE, X + np.random.default_rng(0).normal(size=X.shape), y).estimator
    assert batch_of(Training.of(other, X, y, None, None, None))[0] is None


def test_folds_are_dealt_as_by_scikit_learn():
    rng = np.random.default_rng(0)
    for seed in range(30):
        y = rng.permutation((np.arange(rng.integers(20, 60)) < rng.integers(8, 12)).astype(int))
        expected = np.empty(y.size)
        for k, (_, test) in enumerate(StratifiedKFold(4, shuffle=True, random_state=seed).split(y, y)):
            expected[test] = k
        np.testing.assert_array_equal(stratified(y, 4, seed), expected)


# ---- PLS-DA


@pytest.fixture(scope="module")
def plsda():
    X, y = alternating(80, 30, shift=[0.7] * 5 + [0.0] * 25, seed=1)
    return fl.analyse(PLSRegression(2).fit(X, y), X, y)


def test_every_answer_about_pls_da(plsda):
    a, y = plsda, plsda.y
    assert a.method == a.roc.method == a.error().method == "refit"
    assert a.auc.mean == fl.auc_posterior(a.estimator, a.X, y, method="refit").mean
    assert "PLSRegression was refitted 20 times" in a.notes[0]
    wrong = np.mean((a.leave_one_out.held.scores > 0) != (y == 1))  # predictions above one half
    assert a.error().error.mean == pytest.approx(wrong, abs=0.03)
    other = fl.analyse(a.estimator, a.X, y, pos_label=0)
    assert other.auc.mean == pytest.approx(a.auc.mean)
    assert other.error().sensitivity.mean == pytest.approx(a.error().specificity.mean)
    with pytest.raises(EstimatorError, match="PLSRegression has no probabilities"):
        a.brier  # noqa: B018
    assert fl.report(a).summary()["auc"]["method"] == "refit"
    logistic = LogisticRegression().fit(a.X, y)
    assert fl.compare(a, fl.analyse(logistic, a.X, y)).method == "refit"


def test_pls_da_in_pipelines_and_searches(plsda):
    X, y = plsda.X, plsda.y
    pipeline = make_pipeline(StandardScaler(), PLSRegression(2)).fit(X, y)
    assert fl.auc_posterior(pipeline, X, y).mean == pytest.approx(plsda.auc.mean)  # its own scaling comes on top
    search = GridSearchCV(PLSRegression(), {"n_components": [1, 2]}, cv=3).fit(X, y)
    assert fl.auc_posterior(search, X, y).method == "refit"
    assert fl.auc_posterior(PLSRegression(2).fit(X, y == 1), X, y == 1).mean == pytest.approx(plsda.auc.mean)


def test_pls_da_finds_the_truth_and_nothing_in_noise():
    """Normal classes and known weights: the AUC of the fit is Phi(w'd / (sqrt 2 |w|))."""
    from scipy.special import ndtr

    covered, alarms = 0, 0
    shift = np.r_[[0.6] * 5, [0.0] * 45]
    for seed in range(20):
        X, y = alternating(80, 50, shift=shift, seed=seed)
        model = PLSRegression(2).fit(X, y)
        w = model.coef_.ravel()
        low, high = fl.auc_posterior(model, X, y).interval(0.9)
        covered += low <= ndtr(w @ shift / np.linalg.norm(w) / np.sqrt(2)) <= high
        X, y = alternating(80, 50, seed=seed)
        alarms += fl.auc_posterior(PLSRegression(2).fit(X, y), X, y).interval(0.9)[0] > 0.5
    assert covered >= 15  # 20 draws at 0.9: fewer than 15 have probability 0.002
    assert alarms <= 3  # at 0.05: more than 3 have probability 0.016


def test_pls_on_other_targets_is_refused(plsda):
    X, y = plsda.X, plsda.y
    with pytest.raises(InputError, match="the two classes are 0, 1"):
        fl.auc_posterior(PLSRegression(2).fit(X, 2 * y - 1), X, 2 * y - 1)
    with pytest.raises(EstimatorError, match="more than one target"):
        fl.auc_posterior(PLSRegression(2).fit(X, np.eye(2)[y]), X, y)
    with pytest.raises(EstimatorError, match="sample_weight"):
        fl.auc_posterior(plsda.estimator, X, y, sample_weight=np.ones(80))
    with pytest.raises(EstimatorError, match="method='auto' or 'refit'"):
        fl.auc_posterior(plsda.estimator, X, y, method="loo")
