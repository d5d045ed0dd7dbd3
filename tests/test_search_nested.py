"""`FoldlessSearch.posterior_`: the AUC of the whole procedure, against nested refits and on labels without signal."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from data import alternating, ones_first
from foldless.honest import tuning
from foldless.honest.removal import pair_shifts
from foldless.honest.statistic import SeparationStatistic
from foldless.model.view import take_apart
from sklearn_versions import CV_QUIET, l1

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


@pytest.mark.parametrize("columns", [3, pytest.param(15, marks=pytest.mark.slow)])
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
        candidate = tuning.Candidate.of(take_apart(search.best_estimator_, X, y), None)
        rows = candidate.removed.rows1, candidate.removed.rows0
        shift1, shift0 = pair_shifts(candidate.model, *rows)
        expected = np.mean(candidate.problem.base[rows[0], None] + shift1 > candidate.problem.base[rows[1]] + shift0)
        (share,) = candidate.criterion(np.empty((1, 0), dtype=np.intp), *rows)
        assert share == pytest.approx(expected, abs=1e-12)
        if isinstance(model, RidgeClassifier):
            assert share == pytest.approx(search.best_posterior_.details["pair_auc"], abs=1e-12)


def test_first_order_is_close_to_every_pair(monkeypatch):
    """With many pairs the changes of the two rows are added."""
    X, y = alternating(40, 8, shift=0.4, seed=3)
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": np.logspace(-1, 3, 5)}).fit(X, y)
    exact = search.posterior_
    monkeypatch.setattr(tuning, "EXACT_PAIRS", 0)
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
        "refitted": fl.FoldlessSearch(LogisticRegression(solver="saga", **l1()), {"C": [1.0]}).fit(X, y),
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


def test_candidates_with_a_closed_form_are_not_refitted():
    """`auc_posterior` refits a fit that single rows change too much; candidates of a search are judged alike."""
    X, y = alternating(60, 30, shift=0.3)
    weak = LinearSVC(C=1000.0, dual=True, max_iter=100_000, random_state=0)
    assert fl.analyse(clone(weak).fit(X, y), X, y).by_refits
    search = fl.FoldlessSearch(weak, {"C": [0.001, 1000.0]}).fit(X, y)
    assert [post.method for post in search.posteriors_] == ["loo", "loo"]
    closed = fl.analyse(search.best_estimator_, X, y, method="loo").auc
    assert search.best_posterior_.mean == pytest.approx(closed.mean)
    assert search.posterior_.mean < search.best_posterior_.mean


@pytest.mark.slow
def test_null_labels_raise_few_alarms():
    """20 penalties on noise: 90 % intervals lie above 0.5 about as often as their 5 % tail says (100 samples)."""
    above = []
    for seed in range(100):
        X, y = alternating(40, 10, seed=seed)
        search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": np.logspace(-2, 4, 20)}).fit(X, y)
        above.append(search.posterior_.interval(0.9)[0] > 0.5)
    assert np.mean(above) <= 0.10


# ---- Finished searches of scikit-learn over a penalty.


def searches():
    """A search of every kind, unfitted, and what its choice is repeated by."""
    values = np.geomspace(0.5, 2, 5)
    Cs, alphas = {"logisticregression__C": values}, 10 * values
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    return {
        "AUC": GridSearchCV(scaled, Cs, scoring="roc_auc", cv=3),
        "accuracy": LogisticRegressionCV(Cs=values, cv=3, scoring="accuracy", **CV_QUIET),
        "log loss": LogisticRegressionCV(Cs=values, cv=3, scoring="neg_log_loss", **CV_QUIET),
        "squared error": make_pipeline(StandardScaler(), RidgeClassifierCV(alphas)),
        "accuracy of folds": RidgeClassifierCV(alphas, cv=3),
        "balanced accuracy": GridSearchCV(scaled, Cs, scoring="balanced_accuracy", cv=3),
        "AUC in place of the search's own scoring": GridSearchCV(scaled, Cs, scoring="f1", cv=3),
    }


@pytest.mark.parametrize("by", searches())
def test_finished_searches_are_followed(by):
    """Their choice is made again by what they chose by, for every answer, and no note says that it was not."""
    X, y = alternating(40, 6, shift=0.4)
    a = fl.analyse(searches()[by].fit(X, y), X, y)
    (note,) = (n for n in a.notes if "choice" in n)
    assert note.startswith("the choice among 5 values of")
    assert note.endswith(f"leave-one-out {by.removesuffix(' of folds')}.")
    assert "search" not in {finding.name for finding in a.findings}
    assert sum(a.auc.details["chosen"]) == pytest.approx(1.0)
    assert a.roc.partial_auc().mean == pytest.approx(a.auc.mean, abs=0.01)
    assert 0 < a.accuracy.mean < 1
    assert a.scores.pair_auc == a.auc.details["pair_auc"]


def test_probabilities_are_those_of_the_choice_without_a_pair():
    """Without one row of two equal classes, the strongest penalty gets every left-out row wrong: Brier .13 for .26."""
    X, y = alternating(60, 8, shift=0.8)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 1e-4}
    own = fl.analyse(search.best_estimator_, X, y)
    assert fl.analyse(search, X, y).brier.mean == pytest.approx(own.brier.mean, abs=1e-4)


def test_a_search_that_took_another_classifier_is_not_followed():
    """Folds that are not shuffled took a penalty that no left-out row would choose: the answer is about that fit."""
    X, y = alternating(60, 8, shift=0.8)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    search.best_estimator_, search.best_params_ = LogisticRegression(C=1e-4).fit(X, y), {"C": 1e-4}
    a, own = fl.analyse(search, X, y), fl.analyse(search.best_estimator_, X, y)
    assert a.auc.mean == own.auc.mean
    assert a.brier.mean == own.brier.mean
    assert any("not accounted for here: method='refit' repeats" in note for note in a.notes)
    assert a.verdict == "caution"


def test_grid_search_by_auc_is_the_search_without_folds():
    """The same candidates and criterion: the posterior is `posterior_`, but for the fit in use, another one."""
    X, y = alternating(60, 8, shift=0.3)
    grid = {"alpha": np.geomspace(5, 20, 6)}
    ours = fl.FoldlessSearch(RidgeClassifier(), grid).fit(X, y)
    theirs = fl.auc_posterior(GridSearchCV(RidgeClassifier(), grid, scoring="roc_auc").fit(X, y), X, y)
    assert theirs.interval() == pytest.approx(ours.posterior_.interval(), abs=1e-3)
    assert fl.auc_posterior(ours, X, y).interval() == pytest.approx(ours.posterior_.interval(), abs=1e-9)


def test_ridge_with_its_own_cross_validation_against_refits_without_every_pair():
    """RidgeClassifierCV itself, fitted without each of 400 pairs: choice, fit and score."""
    X, y = alternating(40, 15, shift=0.25, seed=2)
    search = RidgeClassifierCV(np.logspace(-1, 3, 9))
    answer = fl.auc_posterior(copy.deepcopy(search).fit(X, y), X, y)
    assert len([share for share in answer.details["chosen"] if share > 0]) > 1
    assert answer.details["pair_auc"] == pytest.approx(wins(search, X, y, pairs_of(y)).mean(), abs=0.01)


def test_a_perfect_score_on_noise_is_at_chance():
    """RidgeClassifierCV(scoring="accuracy") reports an accuracy of 1 on noise (scikit-learn#34942)."""
    means = []
    for seed in range(10):
        X, y = alternating(60, 200, seed=seed)
        model = RidgeClassifierCV(np.logspace(-2, 4, 20), scoring="accuracy").fit(X, y)
        a = fl.analyse(model, X, y)
        assert a.auc.interval(0.99)[0] < 0.5
        means.append((a.auc.mean, a.accuracy.mean))
    assert np.mean(means, axis=0) == pytest.approx([0.5, 0.5], abs=0.06)


def test_other_searches_are_repeated_by_refits():
    """Two parameters: the note names method='refit', which fits the whole search again."""
    X, y = alternating(40, 4, shift=0.5)
    grid = {"C": [0.1, 1.0], "fit_intercept": [True, False]}
    search = GridSearchCV(LogisticRegression(), grid, cv=3).fit(X, y)
    assert any("not accounted for" in note and "method='refit'" in note for note in fl.analyse(search, X, y).notes)
    refitted = fl.analyse(search, X, y, method="refit")
    assert refitted.method == "refit"
    assert not any("accounted" in note for note in refitted.notes)


def test_comparisons_are_of_tuned_with_tuned():
    """On noise, a search over 12 penalties looks better than a plain fit only if its choice is not accounted for."""
    followed, flattered = [], []
    for seed in range(10):
        X, y = alternating(40, 20, seed=seed)
        search = GridSearchCV(RidgeClassifier(), {"alpha": np.logspace(-2, 4, 12)}, scoring="roc_auc").fit(X, y)
        plain = LogisticRegression().fit(X, y)
        followed.append(fl.compare(search, plain, X, y).difference.mean)
        flattered.append(fl.compare(search.best_estimator_, plain, X, y).difference.mean)
    assert np.mean(flattered) - np.mean(followed) > 0.005
    assert np.mean(followed) == pytest.approx(0.0, abs=0.02)


def test_two_searches_of_the_same_penalty_are_one():
    X, y = alternating(40, 6, shift=0.4)
    both = [RidgeClassifierCV([0.1, 1.0, 10.0]).fit(X, y) for _ in range(2)]
    result = fl.compare(*both, X, y)
    assert result.difference.mean == 0.0
    assert any("choice among 3 values of alpha" in note for note in result.notes)


def test_ties_between_candidates_do_not_decide_the_answer():
    """Of candidates that rank alike, those that order a pair wrongly look better without it: the answer is bounded.

    Figures of a squared hinge on one column without signal, where eight candidates had shares from 0.35 to 0.46.
    """
    found = SeparationStatistic(0.158, 150.0, 20.0, 0.5, 117, 68, 0.158)
    bounded = tuning._bounded(found, 0.45)
    assert bounded.auc == pytest.approx(0.45 - np.sqrt(0.45 * 0.55 / 150))
    assert bounded.pair_auc == 0.158
    near = replace(found, auc=0.43)
    assert tuning._bounded(near, 0.45) == near


def test_a_search_is_followed_whatever_penalty_it_took():
    """A weak one is hard to leave rows out of, and no reason to repeat the whole search."""
    rng = np.random.default_rng([1, 40, 20])
    X, y = rng.normal(size=(40, 20)), np.arange(40) % 2
    weak = LogisticRegression(C=1e4, solver="newton-cholesky", tol=1e-8)
    assert fl.auc_posterior(weak.fit(X, y), X, y).method == "refit"
    search = GridSearchCV(weak, {"C": [1e3, 1e4]}, scoring="roc_auc").fit(X, y)
    assert fl.auc_posterior(search, X, y).method == "loo"
