"""Decoding: every number against refits and brute force, corrected p-values, generalisation, and what is refused."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from sklearn_versions import l1


def trials(n=40, features=5, times=6, shift=0.0, seed=0):
    """X (n, features, times) and y: from the middle on, class 1 lies `shift` higher in all features."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, features, times)) + rng.normal(size=(features, times))
    X[:, :, times // 2 :] += shift * y[:, None, None]
    return X, y


def crossed_pairs(model, X, y):
    """(T, T): pairs in order at each time, by refits at another time without the pair."""
    wins = []
    for i, j in product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)):
        rest = np.setdiff1d(np.arange(y.size), [i, j])
        gaps = -np.diff(refitted(model, X[rest], y[rest], X[[i, j]]), axis=2)[:, :, 0]
        wins.append((gaps > 1e-12) + 0.5 * (np.abs(gaps) <= 1e-12))
    return np.mean(wins, axis=0)


def crossed_rows(model, X, y, groups=None):
    """(T, T): AUC of refits without the row or group, scores less the mean score of the rows trained on."""
    T, codes = X.shape[2], np.arange(y.size) if groups is None else groups
    scores = np.empty((T, T, y.size))
    for code in np.unique(codes):
        rest = codes != code
        all_scores = refitted(model, X[rest], y[rest], X)
        scores[:, :, ~rest] = all_scores[:, :, ~rest] - all_scores[:, :, rest].mean(axis=2, keepdims=True)
    return np.array([[roc_auc_score(y, each) for each in row] for row in scores])


def refitted(model, X, y, rows):
    """(T, T, rows): decision values of the fit at each time, at all times."""
    times = range(X.shape[2])
    fits = [clone(model).fit(X[:, :, t], y) for t in times]
    return np.array([[fit.decision_function(rows[:, :, t]) for t in times] for fit in fits])


# ---- AUCs and p-values


@pytest.mark.parametrize("model", [RidgeClassifier(), make_pipeline(StandardScaler(), LogisticRegression())], ids=str)
def test_each_point_is_what_the_single_questions_answer(model):
    X, y = trials(shift=0.5)
    decoding = fl.decode(model, X, y, n_permutations=30, pos_label=0)
    for k in range(X.shape[2]):
        fitted = clone(model).fit(X[:, :, k], y)
        post = fl.auc_posterior(fitted, X[:, :, k], y, pos_label=0)
        alone = fl.permutation_test(fitted, X[:, :, k], y, 30)
        assert decoding.auc[k].mean == pytest.approx(post.mean, abs=1e-12)
        assert decoding.auc[k].interval() == pytest.approx(post.interval(), abs=1e-12)
        assert decoding.statistic[k] == pytest.approx(alone.statistic, abs=1e-12)


def test_without_groups_a_point_is_a_permutation_test():
    """The same relabellings, so the same uncorrected p-values; with a single point the corrected ones too."""
    X, y = trials(shift=0.4)
    decoding = fl.decode(RidgeClassifier(), X, y, n_permutations=99)
    tests = [fl.permutation_test(RidgeClassifier().fit(X[..., k], y), X[..., k], y, 99) for k in range(6)]
    np.testing.assert_array_equal(decoding.p_uncorrected, [test.p_value for test in tests])
    np.testing.assert_array_equal(decoding.null, np.max([test.null for test in tests], axis=0))
    alone = fl.decode(RidgeClassifier(), X[..., 3:4], y, n_permutations=99)
    assert alone.p_values[0] == alone.p_uncorrected[0] == tests[3].p_value


def test_correction_is_that_of_brute_force():
    """All 20 relabellings of 6 trials, refitted without every pair at 2 times: the share whose best time is as good."""
    X, y = trials(6, 2, 2, shift=1.5, seed=2)
    decoding = fl.decode(RidgeClassifier(), X, y)
    assert decoding.exhaustive
    highest = []
    for chosen in combinations(range(6), 3):
        labels = np.isin(np.arange(6), chosen).astype(int)
        highest.append(np.diag(crossed_pairs(RidgeClassifier(), X, labels)).max())
    expected = [np.mean(np.array(highest) >= s - 1e-9) for s in decoding.statistic]
    np.testing.assert_allclose(decoding.p_values, expected, atol=1e-12)
    assert len(set(expected)) > 1
    assert "20 distinct relabellings" in decoding.notes[-1]


def test_axis_and_column_sets_are_the_same_tables():
    """Time first or last, columns by number, name or mask, dense, sparse or a frame."""
    X, y = trials(30, 3, 4, shift=0.6)
    flat = X.transpose(0, 2, 1).reshape(30, 12)
    names = [f"c{k}" for k in range(12)]
    sets = [np.arange(3) + 3 * k for k in range(4)]
    masks, named = [np.isin(np.arange(12), s) for s in sets], [[names[c] for c in s] for s in sets]
    model = make_pipeline(StandardScaler(), RidgeClassifier())
    expected = fl.decode(model, X, y, n_permutations=20)
    others = [
        fl.decode(model, X.transpose(0, 2, 1), y, axis=1, n_permutations=20),
        fl.decode(model, flat, y, axis=sets, n_permutations=20),
        fl.decode(model, flat, y, axis=masks, n_permutations=20),
        fl.decode(model, sparse.csr_matrix(flat), y, axis=sets, n_permutations=20),
        fl.decode(model, pd.DataFrame(flat, columns=names), y, axis=named, n_permutations=20),
    ]
    for other in others:
        np.testing.assert_allclose(other.null, expected.null, atol=1e-12)
        np.testing.assert_allclose([a.mean for a in other.auc], [a.mean for a in expected.auc], atol=1e-9)
    assert [other.points for other in others] == ["times"] + ["column sets"] * 4


def test_groups_leave_and_move_together():
    X, y = trials(24, 3, 3)
    subject = np.arange(24) // 4
    y = np.arange(24) % 2
    decoding = fl.decode(RidgeClassifier(), X, y, groups=subject, n_permutations=40)
    assert (decoding.left_out, decoding.permuted) == ("groups", "rows within groups")
    fitted = RidgeClassifier().fit(X[..., 1], y)
    assert decoding.auc[1].mean == fl.auc_posterior(fitted, X[..., 1], y, groups=subject).mean
    expected = np.diag(crossed_rows(RidgeClassifier(), X, y, subject))
    np.testing.assert_allclose(decoding.statistic, expected, atol=1e-10)


def test_groups_of_one_trial_are_none():
    X, y = trials(20, 2, 2)
    alone, grouped = (fl.decode(RidgeClassifier(), X, y, groups=g, n_permutations=20) for g in (None, np.arange(20)))
    np.testing.assert_array_equal(alone.null, grouped.null)
    assert grouped.notes[-1] == "every group has one row, so rows were treated as independent."


# ---- Family-wise error and detection


@pytest.mark.slow
def test_family_wise_error_and_detection():
    """40 null samples of 4 dependent times: one p-value or more at or below 0.1 in about a tenth. With signal, most."""
    false, right = 0, 0
    for seed in range(40):
        X, y = trials(20, 3, 4, seed=seed)
        X += 0.7 * np.random.default_rng([seed, 1]).normal(size=(20, 3, 1))  # times of one trial resemble each other
        false += bool(fl.decode(RidgeClassifier(), X, y, n_permutations=39, random_state=seed).significant(0.1).any())
        if seed < 10:
            X[:, :, 2:] += 2.0 * y[:, None, None]
            found = fl.decode(RidgeClassifier(), X, y, n_permutations=39, random_state=seed).significant(0.1)
            right += int(found[2:].sum())
            assert found[:2].sum() <= 1
    assert 1 <= false <= 9  # 4 are expected; more than 9 have probability 0.005
    assert right >= 16  # of 20


# ---- Temporal generalisation


EXACT = [
    (RidgeClassifier(), 3),
    (RidgeClassifier(), 12),
    (RidgeClassifier(alpha=30.0, fit_intercept=False), 3),
    (RidgeClassifier(alpha=30.0, fit_intercept=False), 12),
    (LinearDiscriminantAnalysis(), 3),
]


@pytest.mark.parametrize(("model", "features"), EXACT, ids=str)
def test_generalisation_is_that_of_refits(model, features):
    """Ridge and LDA: pair by pair, with fewer columns than rows and with more."""
    X, y = trials(10, features, 2, shift=0.6)
    X[np.argmin(y), :, 1] = X[np.argmax(y), :, 1]  # a tie at one time alone
    decoding = fl.decode(model, X, y, n_permutations=1, generalise=True)
    np.testing.assert_allclose(decoding.generalisation, crossed_pairs(model, X, y), atol=1e-8)
    np.testing.assert_allclose(np.diag(decoding.generalisation), decoding.statistic, atol=1e-12)
    honest = fl.auc_posterior(clone(model).fit(X[..., 0], y), X[..., 0], y)
    assert decoding.generalisation[0, 0] == pytest.approx(honest.details["pair_auc"], abs=1e-9)


NEWTON = [
    (LogisticRegression(C=0.3, tol=1e-6), 4),
    (LogisticRegression(class_weight="balanced", tol=1e-6), 4),
    (LinearSVC(C=0.1, tol=1e-6, dual=False), 4),
    (LinearSVC(C=0.1, tol=1e-6, dual=False), 60),
    (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3), 60),
]


@pytest.mark.parametrize(("model", "features"), NEWTON, ids=str)
def test_generalisation_by_newton_steps_comes_close_to_refits(model, features):
    X, y = trials(40, features, 2, shift=0.3)
    decoding = fl.decode(model, X, y, n_permutations=1, generalise=True)
    assert np.mean(np.abs(decoding.generalisation - crossed_rows(model, X, y))) < 0.01
    np.testing.assert_allclose(np.diag(decoding.generalisation), decoding.statistic, atol=0.003)


def test_generalisation_with_groups_is_exact_for_ridge():
    X, y = trials(24, 4, 3, shift=0.4)
    run = np.arange(24) // 6
    y = np.arange(24) % 2
    decoding = fl.decode(RidgeClassifier(), X, y, groups=run, n_permutations=1, generalise=True)
    np.testing.assert_allclose(decoding.generalisation, crossed_rows(RidgeClassifier(), X, y, run), atol=1e-9)


def test_steps_of_the_training_time_are_applied_at_the_other_times():
    X, y = trials(12, 6, 2, shift=0.8)
    model = make_pipeline(StandardScaler(), PCA(3), RidgeClassifier())
    decoding = fl.decode(model, X, y, n_permutations=1, generalise=True)
    fitted = clone(model).fit(X[..., 0], y)
    kept = np.stack([fitted[:-1].transform(X[..., t]) for t in range(2)], axis=2)
    expected = crossed_pairs(RidgeClassifier(), kept, y)[0]
    np.testing.assert_allclose(decoding.generalisation[0], expected, atol=1e-9)
    assert decoding.generalisation[0, 1] != decoding.generalisation[1, 0]


# ---- What is refused, progress, results


REFUSED = [
    (
        {"X": np.zeros((20, 3))},
        r"shape \(trials, features, times\), got float64 of shape \(20, 3\).*axis=\[\[0, 1, 2\]",
    ),
    ({"X": np.full((20, 3, 4), "a")}, "must be numbers of shape"),
    ({"axis": 0}, "axis 0 holds the trials"),
    ({"axis": 3}, "axis must be 1 or 2"),
    ({"axis": "time"}, "axis must be the axis of time"),
    ({"X": np.ones((20, 3)), "axis": []}, "list of column sets"),
    ({"X": np.ones((20, 3)), "axis": [[0, 1], [2, 3]]}, r"axis\[1\] must be numbers from 0 to 2"),
    ({"X": np.ones((20, 3)), "axis": [[]]}, r"axis\[0\]"),
    ({"X": np.ones((20, 3)), "axis": [["a"]]}, r"axis\[0\]"),
    ({"X": np.eye(20, 3), "axis": [[0, 1]], "generalise": True}, "generalise=True needs the same features"),
    ({"y": np.arange(18) % 2}, "X has 20 trials but y has 18"),
    ({"y": np.arange(20) % 3}, "3"),
    ({"n_permutations": 0}, "n_permutations must be at least 1"),
    ({"random_state": "x"}, "random_state"),
    ({"times": [0.1, 0.2]}, r"one time or name per point \(4\)"),
    ({"groups": np.r_[np.zeros(10), np.arange(1, 11)]}, "one class .*others have both"),
    ({"prior": 3}, "prior"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_input_is_refused_in_words(options, message):
    X, _ = trials(20, 3, 4)
    given = {"X": X, "y": np.arange(20) % 2, **options}
    with pytest.raises(fl.FoldlessError, match=message):
        fl.decode(RidgeClassifier(), given.pop("X"), given.pop("y"), **given)


def test_unusable_times_are_named_before_anything_is_fitted():
    X, y = trials(20, 3, 5)
    times = np.array([-0.2, -0.1, 0.0, 0.1, 0.2])
    X[:, :, :2] = 7.0
    with pytest.raises(fl.InputError, match=r"same values in all trials at 2 of 5 times \(-0.2, -0.1\)"):
        fl.decode(RidgeClassifier(), X, y, times=times)
    X[4, 1, 3], X[:2, 0, 4] = np.nan, np.inf
    with pytest.raises(fl.InputError, match=r"NaN or infinity at 2 of 5 times \(0.1, 0.2\)"):
        fl.decode(RidgeClassifier(), X, y, times=times)


def test_more_permutations_than_relabellings_use_each_once():
    X, y = trials(6, 2, 2)
    for model in (RidgeClassifier(), LogisticRegression()):
        decoding = fl.decode(model, X, y, n_permutations=10**12)
        assert (decoding.null.size, decoding.exhaustive) == (19, True)
        assert decoding.notes[-1].endswith("each was used once: no p-value below 0.05 is possible.")


def test_a_constant_feature_is_no_obstacle():
    X, y = trials(20, 3, 3)
    without = fl.decode(RidgeClassifier(), X[:, 1:], y, n_permutations=20)
    X[:, 0] = 5.0
    decoding = fl.decode(RidgeClassifier(), X, y, n_permutations=20)
    np.testing.assert_allclose(decoding.null, without.null, atol=1e-12)


def test_families_without_a_closed_form_are_refused_by_name():
    X, y = trials(20, 3, 2)
    cases = {
        "at time 0: .*this LogisticRegression": LogisticRegression(solver="liblinear", **l1()),
        "at time 0: .*RandomForestClassifier": RandomForestClassifier(n_estimators=3),
        "ndarray cannot be fitted": np.ones(3),
        "cannot be fitted": LogisticRegression(C=-1.0),
    }
    for message, model in cases.items():
        with pytest.raises(fl.FoldlessError, match=message):
            fl.decode(model, X, y, n_permutations=10)


def test_progress_is_told_and_a_run_can_be_interrupted():
    X, y = trials(20, 3, 3)
    told = []
    fl.decode(RidgeClassifier(), X, y, n_permutations=5, generalise=True, progress=lambda *each: told.append(each[:2]))
    assert told == [(1, 3), (2, 3), (3, 3)] * 2

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fl.decode(RidgeClassifier(), X, y, n_permutations=5, progress=stop)


def test_result_shows_itself():
    X, y = trials(40, 4, 8, shift=1.2)
    times = np.round(np.arange(8) * 0.1 - 0.2, 1)
    decoding = fl.decode(RidgeClassifier(), X, y, n_permutations=99, times=times, generalise=True)
    assert decoding.spans() == [(0.2, 0.5)]
    assert "p <= 0.05 at 4 of them" in repr(decoding)
    assert "0.2 to 0.5" in decoding._repr_html_()
    frame = decoding.to_frame(0.9)
    assert frame.index.tolist() == times.tolist()
    assert frame.loc[0.3, "low"] == decoding.auc[5].interval(0.9)[0]
    assert decoding.summary()["points"][5]["p_value"] == decoding.p_values[5]
    display = fl.DecodingDisplay.from_decoding(decoding)
    np.testing.assert_array_equal(display.line_.get_ydata(), [post.mean for post in decoding.auc])
    assert len(display.spans_.get_paths()) == 4
    image = display.plot_generalisation().image_
    np.testing.assert_array_equal(image.get_array(), decoding.generalisation)
    with pytest.raises(fl.InputError, match="Decoding"):
        fl.DecodingDisplay.from_decoding(decoding.null)


def test_display_of_column_sets():
    X, y = trials(20, 3, 3)
    display = fl.DecodingDisplay.from_estimator(
        RidgeClassifier(), X[:, :, 0], y, axis=[[0], [1, 2]], times=["a", "b"], n_permutations=20
    )
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["a", "b"]
    with pytest.raises(fl.InputError, match="generalise=True"):
        display.plot_generalisation()
