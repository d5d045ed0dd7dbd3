"""`FoldlessSearch.posterior_`: the AUC of the whole procedure, against nested refits and on labels without signal."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from data import alternating, ones_first
from foldless.honest.removal import pair_shifts
from foldless.search import nested
from sklearn_versions import l1

ALPHAS = [0.1, 10.0, 1000.0]


def wins(model, X, y, pairs):
    """1, 1/2 or 0 for every pair, scored by a refit without it."""
    out = []
    for i, j in pairs:
        rest = np.setdiff1d(np.arange(len(y)), [i, j])
        first, second = clone(model).fit(X[rest], y[rest]).decision_function(X[[i, j]])
        out.append((first > second) + 0.5 * (first == second))
    return np.array(out)


def pairs_of(y):
    return list(product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)))


def nested_by_refits(models, X, y):
    """For every pair, the candidate with the most ordered pairs among the other rows; the pair's order by that one."""
    out = []
    for i, j in pairs_of(y):
        rest = np.setdiff1d(np.arange(len(y)), [i, j])
        inner = [round(float(wins(m, X[rest], y[rest], pairs_of(y[rest])).mean()), 10) for m in models]
        out.append(wins(models[int(np.argmax(inner))], X, y, [(i, j)])[0])
    return float(np.mean(out))


@pytest.mark.parametrize("columns", [3, 15])
def test_ridge_is_nested_leave_pair_out_by_refits(columns):
    """Four rows at a time, exactly."""
    X, y = ones_first(5, 5, columns, shift=0.4, seed=columns)
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": ALPHAS}).fit(X, y)
    expected = nested_by_refits([RidgeClassifier(alpha=a) for a in ALPHAS], X, y)
    assert search.posterior_.details["pair_auc"] == pytest.approx(expected, abs=1e-9)
    assert sum(search.posterior_.details["chosen"]) == pytest.approx(1.0)


def test_criterion_without_nothing_is_the_removal_formula():
    """No row left out beforehand: the share of ordered pairs by `pair_shifts`; of ridge, that of `auc_posterior`."""
    X, y = alternating(30, 6, shift=0.3)
    for model in (RidgeClassifier(), LogisticRegression(tol=1e-8)):
        search = fl.FoldlessSearch(model, {"fit_intercept": [True]}).fit(X, y)
        candidate = nested.Candidate.of(search.best_estimator_, search._tuning[0])
        rows = candidate.removed.rows1, candidate.removed.rows0
        shift1, shift0 = pair_shifts(candidate.model, *rows)
        expected = np.mean(candidate.z[rows[0], None] + shift1 > candidate.z[rows[1]] + shift0)
        (share,) = candidate.criterion(np.empty((1, 0), dtype=np.intp), *rows)
        assert share == pytest.approx(expected, abs=1e-12)
        if isinstance(model, RidgeClassifier):
            assert share == pytest.approx(search.best_posterior_.details["pair_auc"], abs=1e-12)


def test_first_order_is_close_to_every_pair(monkeypatch):
    """With many pairs the changes of the two rows are added."""
    X, y = alternating(40, 8, shift=0.4, seed=3)
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": np.logspace(-1, 3, 5)}).fit(X, y)
    exact = search.posterior_
    monkeypatch.setattr(nested, "EXACT_PAIRS", 0)
    added = copy.copy(search).fit(X, y).posterior_
    assert added.mean == pytest.approx(exact.mean, abs=0.02)


def test_one_candidate_has_nothing_to_tune():
    """The posterior is then that of the candidate."""
    X, y = alternating(50, 4, shift=0.5)
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))
    search = fl.FoldlessSearch(model, {"logisticregression__C": [0.3]}).fit(X, y)
    assert search.posterior_.interval() == pytest.approx(search.best_posterior_.interval(), abs=1e-6)


def test_tuning_costs_something():
    """Among many candidates on noise, the best one looks better than the procedure is."""
    gaps = []
    for seed in range(10):
        X, y = alternating(40, 20, seed=seed)
        search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": np.logspace(-2, 4, 12)}).fit(X, y)
        gaps.append(search.best_posterior_.mean - search.posterior_.mean)
    assert np.mean(gaps) > 0.005


def test_where_there_is_none_the_reason_is_given():
    X, y = alternating(40, 4, shift=0.5)
    grid, groups = {"alpha": ALPHAS}, np.arange(40) // 4
    cases = {
        "rule='best'": fl.FoldlessSearch(RidgeClassifier(), grid, rule="simplest").fit(X, y),
        "scoring='auc'": fl.FoldlessSearch(RidgeClassifier(), grid, scoring="accuracy").fit(X, y),
        "groups": fl.FoldlessSearch(RidgeClassifier(), grid).fit(X, y, groups=groups),
        "two classes": fl.FoldlessSearch(RidgeClassifier(), grid).fit(X, np.arange(40) % 3),
        "closed form": fl.FoldlessSearch(LogisticRegression(solver="saga", **l1()), {"C": [1.0]}).fit(X, y),
        "call fit": fl.FoldlessSearch(RidgeClassifier(), grid),
    }
    for message, search in cases.items():
        with pytest.raises(AttributeError, match=message):
            _ = search.posterior_
        assert not hasattr(search, "posterior_")


def test_training_rows_are_not_pickled():
    X, y = alternating(40, 4, shift=0.5)
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": ALPHAS}).fit(X, y)
    assert not hasattr(pickle.loads(pickle.dumps(search)), "posterior_")
    known = search.posterior_
    assert pickle.loads(pickle.dumps(search)).posterior_.mean == known.mean


@pytest.mark.slow
def test_null_labels_raise_few_alarms():
    """20 penalties on noise: 90 % intervals lie above 0.5 about as often as their 5 % tail says (100 samples)."""
    above = []
    for seed in range(100):
        X, y = alternating(40, 10, seed=seed)
        search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": np.logspace(-2, 4, 20)}).fit(X, y)
        above.append(search.posterior_.interval(0.9)[0] > 0.5)
    assert np.mean(above) <= 0.10
