"""Permutation tests: every relabelled AUC against refits, exact p-values, groups, and what is refused."""

from __future__ import annotations

import signal
import warnings
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from data import alternating, ones_first, shuffled
from foldless.model.view import take_apart
from foldless.permutation.leverages import doubtful
from foldless.permutation.relabelling import Relabelling
from foldless.permutation.scoring import fit_for, rank_auc
from foldless.permutation.training import Training
from sklearn_versions import l1


def test_copies_of_rows_are_named():
    """They keep their labels under the true labelling alone, so that p is tiny on noise; as groups they are none."""
    X, y = np.random.default_rng(11).normal(size=(30, 40)), np.arange(30) % 2
    X, y = np.r_[X, X], np.r_[y, y]
    test = fl.permutation_test(RidgeClassifier().fit(X, y), X, y, 99)
    assert test.p_value <= 0.05
    assert any("30 repeat an earlier one" in note for note in test.notes)
    together = fl.permutation_test(RidgeClassifier().fit(X, y), X, y, 99, groups=np.arange(60) % 30)
    assert not any("repeat" in note for note in together.notes)


def relabelled(model, X, y, groups=None, n=6):
    """Labels, the true ones first, and their AUCs."""
    y = y == 1
    relabelling = Relabelling.of(y, groups)
    labels = np.concatenate([y[None], relabelling.drawn(np.random.default_rng(0), n)])
    return labels, fit_for(Training.of(take_apart(model.fit(X, y), X, y)), relabelling).auc(labels)


def refitted_pairs(model, X, y):
    """Share of pairs in order, each scored by a refit without the pair."""
    wins = []
    for i, j in product(np.flatnonzero(y), np.flatnonzero(~y)):
        rest = np.setdiff1d(np.arange(y.size), [i, j])
        first, second = clone(model).fit(X[rest], y[rest]).decision_function(X[[i, j]])
        wins.append((first > second + 1e-12) + 0.5 * (abs(first - second) <= 1e-12))
    return np.mean(wins)


def refitted_rows(model, X, y, groups=None):
    """AUC of the scores of refits without the row or group, less the mean score of the rows trained on."""
    scores, codes = np.empty(y.size), np.arange(y.size) if groups is None else groups
    for code in np.unique(codes):
        rest = codes != code
        fit = clone(model).fit(X[rest], y[rest])
        scores[~rest] = fit.decision_function(X[~rest]) - fit.decision_function(X[rest]).mean()
    return roc_auc_score(y, scores)


EXACT = [RidgeClassifier(), RidgeClassifier(alpha=50.0, fit_intercept=False), LinearDiscriminantAnalysis()]


@pytest.mark.parametrize("model", EXACT, ids=str)
def test_relabelled_aucs_are_those_of_refits(model):
    """Ridge and LDA: pair by pair, to the last digit."""
    X, y = ones_first(7, 9, 4, shift=0.5)
    X[0] = X[12]  # a tie in every fit
    labels, aucs = relabelled(model, X, y)
    np.testing.assert_allclose(aucs, [refitted_pairs(model, X, each) for each in labels], atol=1e-8)


@pytest.mark.parametrize("alpha", [0.01, 1e4])
def test_more_columns_than_rows(alpha):
    X, y = ones_first(6, 8, 40, shift=0.3)
    model = RidgeClassifier(alpha=alpha)
    labels, aucs = relabelled(model, X, y)
    np.testing.assert_allclose(aucs, [refitted_pairs(model, X, each) for each in labels], atol=1e-8)
    np.testing.assert_array_equal(aucs, relabelled(model, sparse.csr_matrix(X), y)[1])


@pytest.mark.slow
def test_many_rows_are_left_out_one_by_one():
    """Above 200 rows; ridge is exact there too, with class weights and with groups."""
    X, y = shuffled(np.arange(210) % 3 == 0, 3, shift=0.2)
    for model in (RidgeClassifier(), RidgeClassifier(class_weight={False: 1.0, True: 3.0})):
        labels, aucs = relabelled(model, X, y, n=2)
        np.testing.assert_allclose(aucs, [refitted_rows(model, X, each) for each in labels], atol=1e-8)


@pytest.mark.parametrize("whole", [True, False])
def test_groups_leave_together(whole):
    """Labels move with their groups or within them; the honest scores are those of refits without the group."""
    groups = np.repeat(np.arange(8), [3, 4, 2, 3, 5, 2, 4, 3])
    y = groups % 2 if whole else np.arange(26) % 2
    X, _ = alternating(26, 5)
    labels, aucs = relabelled(RidgeClassifier(), X, y, groups)
    expected = [refitted_rows(RidgeClassifier(), X, each, groups) for each in labels]
    np.testing.assert_allclose(aucs, expected, atol=1e-8)
    for each in labels:
        shares = np.bincount(groups, weights=each) / np.bincount(groups)
        assert (
            set(shares) == {0.0, 1.0}
            if whole
            else np.array_equal(shares, np.bincount(groups, y == 1) / np.bincount(groups))
        )
    logistic, aucs = relabelled(LogisticRegression(C=0.1), X, y, groups)
    expected = [refitted_rows(LogisticRegression(C=0.1), X, each, groups) for each in logistic]
    assert np.mean(np.abs(aucs - expected)) < 0.01


NEWTON = [
    LogisticRegression(tol=1e-8),
    LogisticRegression(C=0.01, tol=1e-8),
    LogisticRegression(C=100.0, tol=1e-8, max_iter=1000),
    LogisticRegression(class_weight="balanced", tol=1e-8),
    LogisticRegression(solver="liblinear", tol=1e-8),
    LinearSVC(tol=1e-8, dual=False),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.2, priors=[0.3, 0.7]),
]


@pytest.mark.parametrize("columns", [6, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", NEWTON, ids=str)
def test_newton_steps_come_close_to_refits(model, columns):
    """One step of removal is not a refit, but on average within 0.01 of its AUC."""
    X, y = shuffled(np.arange(60) % 5 < 2, columns, shift=0.2)
    labels, aucs = relabelled(model, X, y, n=3)
    expected = np.array([refitted_rows(model, X, each) for each in labels])
    assert np.mean(np.abs(aucs - expected)) < 0.01


@pytest.mark.parametrize(
    "model", [LogisticRegression(C=10.0), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)], ids=str
)
def test_equal_rows_tie(model):
    """Rare columns of noise: left out one by one, equal rows of both classes would all be in the wrong order."""
    rng = np.random.default_rng(0)
    X, y = (rng.random((90, 2)) < 0.08).astype(float), np.arange(90) % 2
    found = fl.permutation_test(make_pipeline(StandardScaler(), model).fit(X, y), X, y, 200)
    assert 0.45 < found.null.mean() < 0.55
    assert 0.4 < found.statistic < 0.65


def test_a_relabelling_does_not_depend_on_the_others_in_its_batch():
    """Else the true labels, which come first, would not be treated like all others."""
    X, y = shuffled(np.arange(60) % 2, 30)
    for model in (LogisticRegression(), LinearSVC(), RidgeClassifier()):
        fit = fit_for(Training.of(take_apart(model.fit(X, y), X, y)), Relabelling.of(y == 1, None))
        labels = Relabelling.of(y == 1, None).drawn(np.random.default_rng(1), 20)
        alone = np.concatenate([fit.auc(each[None]) for each in labels])
        np.testing.assert_allclose(fit.auc(labels), alone, atol=1e-12)


def test_shared_leverages_are_those_of_factorisations():
    """Exact where all rows have one curvature; close where they do not."""
    X, y = shuffled(np.arange(80) % 2, 20)
    view, labels = take_apart(LogisticRegression().fit(X, y), X, y), Relabelling.of(y == 1, None)
    fit = fit_for(Training.of(view), labels)
    rng = np.random.default_rng(0)
    z, equal = rng.normal(size=(6, 80)), np.repeat(rng.uniform(0.02, 0.25, size=(6, 1)), 80, axis=1)
    mild = rng.uniform(0.1, 0.2, size=(6, 80))
    for D, most in ((equal, 1e-4), (mild, 0.05)):  # single precision, for the factorisations
        exact = [np.square(fit.frame.seen(d, 1.0)).sum(axis=1) for d in D]
        found = fit.shared.diagonals(D)
        np.testing.assert_allclose(found[0], exact, rtol=most + 0.003)
        assert not doubtful(z, z, D, found).any()


def test_leverages_of_a_relabelling_are_exact_where_they_are_doubtful():
    """A large C and more columns than rows: the shared leverages would be off by 0.06."""
    X, y = shuffled(np.arange(60) % 5 < 2, 120, shift=0.2)
    view = take_apart(LogisticRegression(C=100.0, max_iter=1000).fit(X, y), X, y)
    fit = fit_for(Training.of(view), Relabelling.of(y == 1, None))
    x, loss, _ = fit._minimised((y == 1)[None])
    scores = x @ fit.frame.B.T
    D = loss.curvature(scores)
    assert doubtful(scores, loss.gradient(scores), D, fit.shared.diagonals(D)).all()


def test_rank_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(5, 30)), rng.random((5, 30)) < 0.4
    expected = [roc_auc_score(y, s) for y, s in zip(labels, scores, strict=True)]
    np.testing.assert_allclose(rank_auc(scores, labels), expected, atol=1e-12)


def test_p_value_counts_those_that_reach_the_statistic():
    X, y = alternating(40, 5, shift=0.3)
    test = fl.permutation_test(RidgeClassifier().fit(X, y), X, y, n_permutations=200)
    assert test.p_value == (1 + np.sum(test.null >= test.statistic)) / 201
    assert (test.n_permutations, test.exhaustive, test.left_out, test.permuted) == (200, False, "pairs", "rows")
    honest = fl.honest_scores(RidgeClassifier().fit(X, y), X, y)
    assert test.statistic == pytest.approx(honest.pair_auc, abs=1e-12)


def test_all_relabellings_are_used_where_they_are_few():
    """8 of 70: each once, and p is the share of all 70, whatever the number asked for."""
    X, y = ones_first(4, 4, 2, shift=1.0)
    test = fl.permutation_test(RidgeClassifier().fit(X, y), X, y)
    assert test.exhaustive
    assert test.n_permutations == comb(8, 4) - 1
    everything = []
    for chosen in combinations(range(8), 4):
        labels = np.isin(np.arange(8), chosen)
        everything.append(refitted_pairs(RidgeClassifier(), X, labels))
    assert test.p_value == pytest.approx(np.mean(np.array(everything) >= test.statistic - 1e-9))
    assert "70 distinct relabellings" in test.notes[-1]
    assert "0.014" in test.notes[-1]
    groups = np.repeat([0, 1, 2], 4)
    within = fl.permutation_test(LogisticRegression().fit(X, np.arange(8) % 2), X, np.arange(8) % 2, groups=groups[:8])
    assert within.n_permutations == 6 * 6 - 1
    assert within.permuted == "rows within groups"


def test_same_seed_same_numbers_whatever_the_threads():
    X, y = alternating(50, 8)
    model = LogisticRegression().fit(X, y)
    first, second = (fl.permutation_test(model, X, y, 300, n_jobs=jobs).null for jobs in (1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, fl.permutation_test(model, X, y, 300, random_state=1).null)


def test_steps_that_do_not_see_y_are_kept():
    X, y = alternating(40, 5, shift=0.3)
    scaled = StandardScaler().fit_transform(X)
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, y)
    inside, outside = fl.permutation_test(model, X, y, 20), fl.permutation_test(model[-1], scaled, y, 20)
    np.testing.assert_allclose(inside.null, outside.null, atol=1e-12)


def test_progress_is_told_and_a_run_can_be_interrupted():
    X, y = alternating(60, 5)
    model, told = RidgeClassifier().fit(X, y), []
    fl.permutation_test(model, X, y, 999, progress=lambda *each: told.append(each))
    assert [each[:2] for each in told] == [(256, 1000), (512, 1000), (768, 1000), (1000, 1000)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fl.permutation_test(model, X, y, 999, progress=stop)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_run_at_once(n_jobs, request):
    """A real signal, while the second of many batches is worked on."""
    X, y = alternating(60, 5)
    seen = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, signals are ignored
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def interrupt(*each):
        seen.append(each)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fl.permutation_test(LogisticRegression().fit(X, y), X, y, 10**6, n_jobs=n_jobs, progress=interrupt)
    assert len(seen) == 1
    assert seen[0][1] == 10**6 + 1


def test_groups_of_one_row_are_none():
    X, y = alternating(20, 3)
    model = RidgeClassifier().fit(X, y)
    alone, grouped = (fl.permutation_test(model, X, y, 20, groups=g) for g in (None, np.arange(20)))
    np.testing.assert_array_equal(alone.null, grouped.null)
    assert grouped.notes[-1] == "every group has one row, so rows were treated as independent."


REFUSED = [
    ({"n_permutations": 0}, "n_permutations must be at least 1"),
    ({"random_state": "x"}, "random_state"),
    ({"progress": 3}, "progress"),
    (
        {"groups": np.r_[np.zeros(10), np.arange(1, 11)]},
        "one class .1.0, 2.0.* and others have both .0.0",
    ),
    ({"groups": np.zeros(20)}, "single group"),
    ({"groups": np.arange(20) % 2}, "at least 2 groups"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_options_are_refused_in_words(options, message):
    X, y = alternating(20, 3)
    with pytest.raises(fl.InputError, match=message):
        fl.permutation_test(RidgeClassifier().fit(X, y), X, y, **options)


def test_constant_columns_alone_are_refused():
    X, y = alternating(20, 3)
    with pytest.raises(fl.FoldlessError, match="features vary"):
        fl.permutation_test(RidgeClassifier().fit(0 * X, y), 0 * X, y, 10)


def test_a_class_of_one_row_is_refused():
    X, y = ones_first(1, 9, 3)
    with pytest.raises(fl.InputError, match="at least 2 rows"):
        fl.permutation_test(RidgeClassifier().fit(X, y), X, y)


def test_families_without_a_closed_form_are_refused_by_name():
    X, y = alternating(40, 6, shift=0.3)
    cases = {
        "this LogisticRegression": LogisticRegression(solver="saga", **l1()).fit(X, y),
        "a step that saw y": make_pipeline(SelectKBest(k=3), RidgeClassifier()).fit(X, y),
        "finite C": LogisticRegression(C=np.inf).fit(X, y),
        "RandomForestClassifier": RandomForestClassifier(n_estimators=3).fit(X, y),
    }
    for message, model in cases.items():
        with pytest.raises(fl.EstimatorError, match=message):
            fl.permutation_test(model, X, y, 10)


def test_result_shows_itself():
    X, y = alternating(40, 5, shift=0.3)
    test = fl.permutation_test(RidgeClassifier().fit(X, y), X, y, n_permutations=99)
    card = test._repr_html_()
    assert f"p = {test.p_value:.2g}" in card
    assert "random 99, of rows" in card
    assert repr(test).startswith(f"PermutationTest(p={test.p_value:.4g}")
    assert test.summary()["p_value"] == test.p_value
    display = fl.PermutationDisplay.from_test(test)
    assert display.line_.get_xdata()[0] == test.statistic
    assert sum(bar.get_height() for bar in display.bars_) == 99
    with pytest.raises(fl.InputError, match="PermutationTest"):
        fl.PermutationDisplay.from_test(test.null)


NULL = {  # family, columns, rows per group
    "ridge": (RidgeClassifier, 10, 0),
    "LDA": (LinearDiscriminantAnalysis, 20, 0),
    "logistic": (LogisticRegression, 100, 0),
    "ridge, groups": (RidgeClassifier, 100, 4),
    "logistic, groups": (LogisticRegression, 10, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NULL)
def test_p_is_uniform_without_signal(name):
    """200 null samples; the share of p <= 0.05 is within 0.02 to 0.08, and the mean of p is near a half."""
    make, columns, size = NULL[name]
    p = []
    for seed in range(200):
        rng = np.random.default_rng([seed, columns])
        X, groups, y = rng.normal(size=(40, columns)), None, rng.permutation(np.arange(40) % 2)
        if size:
            groups = np.arange(40) // size
            X, y = X + rng.normal(size=(10, columns))[groups], rng.permutation(np.arange(10) % 2)[groups]
        p.append(fl.permutation_test(make().fit(X, y), X, y, 59, groups=groups, random_state=seed).p_value)
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.08
    assert abs(np.mean(p) - 0.508) < 0.07


def test_numbers_too_large_to_be_squared_are_refused():
    X, y = alternating(20, 3)
    model = RidgeClassifier().fit(X, y)
    with pytest.raises(fl.InputError, match=r"of size 1e\+308, too large or too small to be squared"):
        fl.permutation_test(model, X * (1e308 / np.abs(X).max()), y, 20)


def test_heavy_tails_do_not_overflow_in_single_precision():
    X, y = alternating(9, 11)
    X[0] *= 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        test = fl.permutation_test(LogisticRegression(C=10, max_iter=10_000).fit(X, y), X, y, 19)
    assert 0 < test.p_value <= 1


def test_more_permutations_than_memory_holds_are_refused():
    X, y = alternating(40, 3)
    with pytest.raises(fl.InputError, match="at most 10,000,000 where so many exist, got 1000000000"):
        fl.permutation_test(RidgeClassifier().fit(X, y), X, y, 10**9)
