"""Baselines that fit again: each against a naive loop."""

from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
import foldless.baselines as fb
from data import alternating, shuffled
from foldless.baselines import folds
from foldless.baselines.resampling import _bags, _combined
from foldless.baselines.scores import as_sample
from foldless.errors import EstimatorError, InputError

RIDGE = RidgeClassifier(alpha=2.0)
REFITTING = [fb.cv_auc, fb.loo_auc, fb.leave_pair_out_auc, fb.bootstrap632plus_auc]


def make(n=24, p=5, shift=0.5, seed=1):
    return shuffled(np.arange(n) % 3 == 0, p, shift=shift, seed=seed)


def few(method, estimator, X, y, **options):
    """Call a baseline, with few replicates where the number is free."""
    extra = {"n_bootstraps": 5} if method is fb.bootstrap632plus_auc else {}
    return method(estimator, X, y, **extra, **options)


# --- cross-validation ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 5])
def test_cv_is_scikit_learns(seed):
    X, y = make()
    expected = cross_val_score(RIDGE, X, y, scoring="roc_auc", cv=StratifiedKFold(4, shuffle=True, random_state=seed))
    auc = fb.cv_auc(RIDGE, X, y, folds=4, random_state=seed)
    assert auc.details["values"] == pytest.approx(expected)
    assert auc == pytest.approx(expected.mean())
    repeated = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=seed)
    expected = cross_val_score(RIDGE, X, y, scoring="roc_auc", cv=repeated)
    assert fb.cv_auc(RIDGE, X, y, folds=4, repeats=3, random_state=seed).details["values"] == pytest.approx(expected)


def test_cv_interval_is_students():
    X, y = make()
    auc = fb.cv_auc(RIDGE, X, y, folds=4, repeats=2)
    values = np.array(auc.details["values"])
    assert auc.se == pytest.approx(values.std(ddof=1) / np.sqrt(8))
    low, high = student.interval(0.8, 7, values.mean(), auc.se)
    assert auc.interval(0.8) == pytest.approx((low, min(high, 1.0)))
    perfect = fb.cv_auc(RIDGE, X + 9 * y[:, None], y)
    assert perfect.interval() == (1.0, 1.0)


def test_cv_pooled():
    X, y = make()
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    splits, expected = list(splitter.split(X, y)), []
    for repeat in (splits[:3], splits[3:]):
        z = np.empty(len(y))
        for train, test in repeat:
            z[test] = clone(RIDGE).fit(X[train], y[train]).decision_function(X[test])
        expected.append(roc_auc_score(y, z))
    auc = fb.cv_auc(RIDGE, X, y, folds=3, repeats=2, aggregate="pooled")
    assert auc.details["values"] == pytest.approx(expected)
    assert auc == pytest.approx(np.mean(expected))
    with pytest.raises(InputError, match="'cv-pooled' has no interval"):
        auc.interval()


def naive_published(estimator, X, y, folds, seed):
    """The authors' CV-AUC: loops over thresholds, counts, and an area without corners."""
    w = clone(estimator).fit(X, y).coef_.ravel()
    if (X[y == 0] @ w).mean() > (X[y == 1] @ w).mean():
        w = -w
    thresholds = sorted(X @ w)
    areas = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y):
        w = clone(estimator).fit(X[train], y[train]).coef_.ravel()
        p0, p1 = X[test][y[test] == 0] @ w, X[test][y[test] == 1] @ w
        if p0.mean() > p1.mean():
            p0, p1 = -p0, -p1
        points = [(sum(p0 >= t) / len(p0), sum(p1 >= t) / len(p1)) for t in thresholds][::-1]
        areas.append(sum((b[0] - a[0]) * (b[1] + a[1]) / 2 for a, b in pairwise(points)))
    return areas


@pytest.mark.parametrize("shift", [0.5, 0.0, -0.3])
def test_cv_published_is_the_naive_one(shift):
    X, y = make(shift=shift, p=12)
    expected = naive_published(RidgeClassifier(fit_intercept=False), X, y, 4, 3)
    auc = fb.cv_auc(RidgeClassifier(fit_intercept=False), X, y, folds=4, variant="published", random_state=3)
    assert auc.method == "cv-published"
    assert auc.details["values"] == pytest.approx(expected)
    # The intercept is fitted but never scored.
    expected = naive_published(RIDGE, X, y, 4, 3)
    assert fb.cv_auc(RIDGE, X, y, folds=4, variant="published", random_state=3) == pytest.approx(np.mean(expected))


def test_cv_published_loses_area():
    X, y = make(n=21, p=40)
    assert fb.cv_auc(RIDGE, X, y, variant="published") < fb.cv_auc(RIDGE, X, y)


def test_cv_groups():
    X, y = make(n=36)
    groups = np.arange(36) // 3
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=1)
    expected = cross_val_score(RIDGE, X, y, groups=groups, scoring="roc_auc", cv=cv)
    names = np.array([f"subject {g}" for g in np.argsort(np.arange(12).astype(str))])[groups]
    auc = fb.cv_auc(RIDGE, X, y, folds=3, groups=names, random_state=1)
    assert len(auc.details["values"]) == 3
    assert fb.cv_auc(RIDGE, X, y, folds=3, groups=groups, random_state=1).details["values"] == pytest.approx(expected)


def test_cv_bad_input():
    X, y = make()
    cases = [
        (InputError, r"at least 9 rows of each class for 9 folds, got 8 of 1: use folds=8", {"folds": 9}),
        (InputError, "folds must be at least 2", {"folds": 1}),
        (InputError, "folds must be a whole number", {"folds": 2.5}),
        (InputError, "repeats must be at least 1", {"repeats": 0}),
        (InputError, "aggregate must be 'mean' or 'pooled'", {"aggregate": "median"}),
        (InputError, "variant must be", {"variant": "paper"}),
        (InputError, "mean over folds", {"variant": "published", "aggregate": "pooled"}),
        (InputError, "one label per row", {"groups": [1, 2]}),
        (InputError, "got 2 groups for 5 folds", {"groups": np.arange(24) % 2}),
        (InputError, "both classes in every fold", {"groups": y * 10 + np.arange(24) % 5}),
        (InputError, "random_state", {"random_state": "today"}),
    ]
    for error, message, options in cases:
        with pytest.raises(error, match=message):
            fb.cv_auc(RIDGE, X, y, **options)
    with pytest.raises(InputError, match="got 1 of 1: it cannot"):
        fb.cv_auc(RIDGE, X[:4], [0, 0, 0, 1])


# --- leave-one-out, leave-pair-out ---------------------------------------------------------------


def test_loo_is_the_naive_loop():
    X, y = make()
    z = [
        clone(RIDGE).fit(np.delete(X, i, 0), np.delete(y, i)).decision_function(X[i : i + 1])[0] for i in range(len(y))
    ]
    auc = fb.loo_auc(RIDGE, X, y)
    np.testing.assert_allclose(auc.details["scores"], z)
    assert auc == pytest.approx(roc_auc_score(y, z))


def test_loo_with_groups_and_weights():
    X, y = make()
    groups, weights = np.arange(24) // 2, np.linspace(1, 3, 24)
    z = np.empty(24)
    for g in range(12):
        keep = groups != g
        z[~keep] = clone(RIDGE).fit(X[keep], y[keep], sample_weight=weights[keep]).decision_function(X[~keep])
    auc = fb.loo_auc(RIDGE, X, y, groups=groups, sample_weight=weights)
    np.testing.assert_allclose(auc.details["scores"], z)


def naive_pairs(estimator, X, y, groups, weights=None):
    wins = []
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            keep = (groups != groups[i]) & (groups != groups[j])
            extra = {} if weights is None else {"sample_weight": weights[keep]}
            zi, zj = clone(estimator).fit(X[keep], y[keep], **extra).decision_function(X[[i, j]])
            wins.append(1.0 if zi > zj else 0.5 if zi == zj else 0.0)
    return np.mean(wins), len(wins)


def test_leave_pair_out_is_the_naive_loop():
    X, y = make(n=15)
    expected, n = naive_pairs(RIDGE, X, y, np.arange(15))
    auc = fb.leave_pair_out_auc(RIDGE, X, y)
    assert auc == pytest.approx(expected)
    assert auc.details == {"n_pairs": n, "n_refits": n}


def test_leave_pair_out_fits_once_per_pair_of_groups():
    X, y = make(n=24)
    groups, weights = np.arange(24) // 4, np.linspace(1, 2, 24)
    expected, n = naive_pairs(RIDGE, X, y, groups, weights)
    auc = fb.leave_pair_out_auc(RIDGE, X, y, groups=groups, sample_weight=weights)
    assert auc == pytest.approx(expected)
    assert auc.details["n_pairs"] == n
    assert auc.details["n_refits"] <= 6 * 7 / 2


def test_leave_pair_out_subset_and_ties():
    X, y = make(n=15)
    some = fb.leave_pair_out_auc(RIDGE, X, y, max_pairs=10, random_state=2)
    assert some.details["n_pairs"] == 10
    assert some == fb.leave_pair_out_auc(RIDGE, X, y, max_pairs=10, random_state=2)
    assert fb.leave_pair_out_auc(RIDGE, X, y, max_pairs=10**6) == fb.leave_pair_out_auc(RIDGE, X, y)
    assert fb.leave_pair_out_auc(RIDGE, np.zeros((6, 1)), [0, 0, 0, 1, 1, 1]) == 0.5


@pytest.mark.parametrize("method", [fb.loo_auc, fb.leave_pair_out_auc])
def test_leaving_out_the_last_row_of_a_class_is_refused(method):
    X, y = make()
    with pytest.raises(InputError, match="takes all 1 of class 1"):
        method(RIDGE, X[:5], [0, 0, 0, 0, 1])
    with pytest.raises(InputError, match="takes all 8 of class 1"):
        method(RIDGE, X, y, groups=np.where(y == 1, 99, np.arange(24)))
    with pytest.raises(InputError, match="sample_weight must be 24"):
        method(RIDGE, X, y, sample_weight=-np.ones(24))
    # A pair within one group takes its rows once, so this is enough to train on.
    assert 0 <= method(RIDGE, X[:8], [0, 1] * 4, groups=[0, 0, 1, 1, 2, 2, 3, 3]) <= 1


# --- .632+ ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 0.6, 4.0])
def test_632plus_is_the_naive_one(shift):
    X, y = make(n=18, p=8, shift=shift)
    apparent = roc_auc_score(y, clone(RIDGE).fit(X, y).decision_function(X))
    values = []
    for bag in _bags(as_sample(RIDGE, X, y, None), 30, 4):
        assert np.bincount(y[bag]).tolist() == np.bincount(y).tolist()
        out = np.setdiff1d(np.arange(18), bag)
        if len(set(y[out])) == 2:
            values.append(roc_auc_score(y[out], clone(RIDGE).fit(X[bag], y[bag]).decision_function(X[out])))
    auc = fb.bootstrap632plus_auc(RIDGE, X, y, n_bootstraps=30, random_state=4)
    assert auc.details["out_of_bag"] == pytest.approx(np.mean(values))
    assert auc.details["n_used"] == len(values)
    # Efron and Tibshirani's own form, in errors.
    err, err1, gamma = 1 - apparent, min(1 - np.mean(values), 0.5), 0.5
    rate = (err1 - err) / (gamma - err) if err1 > err and gamma > err else 0.0
    plain = 0.368 * err + 0.632 * err1
    assert 1 - auc == pytest.approx(plain + (err1 - err) * 0.368 * 0.632 * rate / (1 - 0.368 * rate))


def test_632plus_identities():
    assert _combined(0.8, 0.8, 1) == pytest.approx(0.8)  # no overfitting: both agree
    assert _combined(1.0, 0.5, 1) == pytest.approx(0.5)  # all of it: the weight is 1
    assert _combined(1.0, 0.3, 1) == pytest.approx(0.5)  # worse than chance counts as chance
    assert _combined(0.4, 0.3, 1) == pytest.approx(0.368 * 0.4 + 0.632 * 0.5)
    assert 0.75 < _combined(1.0, 0.75, 1) < 0.368 + 0.632 * 0.75
    X, y = make()
    with pytest.raises(InputError, match="at least two rows of each class, got 4 and 1"):
        fb.bootstrap632plus_auc(RIDGE, X[:5], [0, 0, 0, 0, 1])
    with pytest.raises(InputError, match="n_bootstraps must be at least 1"):
        fb.bootstrap632plus_auc(RIDGE, X, y, n_bootstraps=0)
    with pytest.raises(InputError, match="raise n_bootstraps"):
        fb.bootstrap632plus_auc(RIDGE, X[:4], [0, 0, 1, 1], n_bootstraps=1, random_state=0)


# --- what all of them share ----------------------------------------------------------------------


@pytest.mark.parametrize("method", REFITTING)
def test_result_does_not_depend_on_n_jobs(method):
    X, y = make(n=15)
    one = few(method, RIDGE, X, y, n_jobs=1)
    with joblib.parallel_config(backend="threading"):
        two = few(method, RIDGE, X, y, n_jobs=2)
    assert (one, one.details.keys()) == (two, two.details.keys())


def test_processes_give_the_same_numbers():
    X, y = make(n=15)
    one = fb.cv_auc(RIDGE, X, y, variant="published", n_jobs=1)
    assert one.details == fb.cv_auc(RIDGE, X, y, variant="published", n_jobs=2).details


@pytest.mark.parametrize("method", REFITTING)
def test_progress_counts_to_the_total(method):
    X, y = make(n=15)
    seen = []
    few(method, RIDGE, X, y, progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert {total for _, total in seen} == {len(seen)}


@pytest.mark.parametrize("method", REFITTING)
def test_labels_and_containers_make_no_difference(method):
    X, y = make(n=15)
    expected = few(method, RIDGE, X, y)
    names = np.where(y == 1, "yes", "no")
    columns = list("abcde")
    assert few(method, RIDGE, X, names) == pytest.approx(expected)
    assert few(method, RIDGE, pd.DataFrame(X, columns=columns, index=np.arange(15) + 100), pd.Series(names)) == expected
    assert few(method, RIDGE, pl.DataFrame(X, schema=columns), pl.Series(names)) == expected
    assert few(method, RIDGE, X.tolist(), y.tolist()) == expected
    assert few(method, LogisticRegression(), csr_matrix(X), y) == pytest.approx(
        few(method, LogisticRegression(), X, y), abs=1e-12
    )


@pytest.mark.parametrize("method", REFITTING)
def test_pos_label_turns_scores_and_labels_together(method):
    X, y = make(n=15)
    assert few(method, RIDGE, X, y, pos_label=0) == pytest.approx(few(method, RIDGE, X, y), abs=1e-12)


@pytest.mark.parametrize("method", REFITTING)
def test_fitted_or_not_the_estimator_is_left_alone(method):
    X, y = make(n=15)
    fitted = RidgeClassifier(alpha=2.0).fit(X[:5] + 1, [0, 1, 0, 1, 0])
    before = fitted.coef_.copy()
    assert few(method, fitted, X, y) == few(method, RIDGE, X, y)
    np.testing.assert_array_equal(fitted.coef_, before)
    assert not hasattr(RIDGE, "coef_")


@pytest.mark.parametrize("method", REFITTING)
def test_weights_cannot_be_fitted_again(method):
    X, y = make(n=15)
    for wrong in (np.ones(5), RidgeClassifier, "ridge"):
        with pytest.raises(EstimatorError, match="expected a scikit-learn estimator to fit again"):
            method(wrong, X, y)


@pytest.mark.parametrize("method", [fb.cv_auc, fb.bootstrap632plus_auc])
def test_random_state_kinds(method):
    X, y = make()
    np.random.seed(3)  # noqa: NPY002 - the global state is what must not move
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    few(method, RIDGE, X, y, random_state=None)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert few(method, RIDGE, X, y, random_state=np.random.RandomState(4)) == few(method, RIDGE, X, y, random_state=4)
    first, second = (few(method, RIDGE, X, y, random_state=np.random.default_rng(4)) for _ in range(2))
    assert first == second


def test_pipelines_by_column_name_and_weights():
    X, y = make()
    frame = pd.DataFrame(X, columns=list("abcde"))
    pipe = make_pipeline(make_column_transformer((StandardScaler(), ["b", "d"])), RidgeClassifier())
    same = make_pipeline(StandardScaler(), RidgeClassifier())
    assert fb.cv_auc(pipe, frame, y) == pytest.approx(fb.cv_auc(same, X[:, [1, 3]], y))
    assert fb.cv_auc(pipe, frame, y, variant="published") == pytest.approx(
        fb.cv_auc(same, X[:, [1, 3]], y, variant="published")
    )
    equal = fb.loo_auc(same, X, y, sample_weight=np.full(24, 1.0))
    assert equal == pytest.approx(fb.loo_auc(same, X, y))
    assert not np.allclose(
        equal.details["scores"], fb.loo_auc(same, X, y, sample_weight=np.linspace(0.1, 3, 24)).details["scores"]
    )


def test_errors_of_refits_name_the_estimator():
    """An IndexError of scikit-learn's discriminant analysis on a few rows came out as it was."""
    X, Y = alternating(40, 3, shift=0.7)

    class Stubborn(RidgeClassifier):
        def fit(self, X, y):
            raise IndexError

    with pytest.raises(fl.InputError, match=r"Stubborn could not be fitted on .* of the rows: IndexError"):
        folds.cv_auc(Stubborn(), X, Y)
