"""FoldlessSearch: what it finds, how it chooses, what it says about its choice, and how it fails."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from data import alternating
from foldless.progress import Bar
from foldless.search.candidates import JointAUC
from sklearn_versions import l1

C = [0.001, 0.1, 10.0]


@pytest.fixture(scope="module")
def data(make_data):
    """30 + 25 rows, 12 columns, some signal."""
    X, y, _ = make_data(3, 30, 25, 12, shift=0.4)
    return X, y


def scaled(classifier, **steps):
    """Pipeline of a scaler, other steps, and a classifier."""
    return Pipeline([("scale", StandardScaler()), *steps.items(), ("clf", classifier)])


# ---- the answer


@pytest.mark.parametrize(
    ("estimator", "grid", "path"),
    [
        (scaled(LogisticRegression(tol=1e-10, max_iter=10_000)), {"clf__C": C}, "shared"),
        (scaled(LogisticRegression(C=3.0)), {"clf__class_weight": [None, "balanced"]}, "general"),
        (scaled(LinearDiscriminantAnalysis(solver="lsqr")), {"clf__shrinkage": [0.1, 0.5]}, "general"),
        (scaled(LogisticRegression(), pick=SelectKBest(k=4)), {"clf__C": C}, "general"),
        (scaled(LinearSVC(loss="hinge", max_iter=100_000, random_state=0)), {"clf__C": [0.01, 0.1]}, "general"),
        (
            scaled(LogisticRegression(solver="liblinear", **l1(), random_state=0)),
            {"clf__C": [0.1, 1.0]},
            "general",
        ),
    ],
    ids=["logistic", "weights", "lda", "selection", "hinge", "l1"],
)
def test_every_candidate_has_the_posterior_of_its_own_fit(data, estimator, grid, path):
    """Posterior, interval and notes are those of auc_posterior on the candidate fitted alone."""
    X, y = data
    search = fl.FoldlessSearch(estimator, grid).fit(X, y)
    assert search.path_ == path
    assert list(search.results_["path"]) == [path] * len(search.posteriors_)
    for k, params in enumerate(search.results_["params"]):
        alone = fl.auc_posterior(estimator.set_params(**params).fit(X, y), X, y)
        found = search.posteriors_[k]
        assert found.method == alone.method
        assert found.notes == alone.notes
        assert found.mean == pytest.approx(alone.mean, abs=1e-6)
        assert found.interval(0.9) == pytest.approx(alone.interval(0.9), abs=1e-6)
        figures = [search.results_[name][k] for name in ("mean", "sd", "lower", "upper")]
        assert figures == pytest.approx([alone.mean, alone.sd, *alone.interval()], abs=1e-6)


def test_best_candidate_and_ranks(data):
    """The largest mean is chosen and kept; ranks order the means; the estimator predicts."""
    X, y = data
    search = fl.FoldlessSearch(LogisticRegression(), {"C": np.logspace(-4, 3, 9)}).fit(X, y)
    mean = search.results_["mean"]
    assert search.best_index_ == int(np.argmax(mean))
    assert search.best_score_ == mean.max() == search.best_posterior_.mean
    assert search.best_params_ == search.results_["params"][search.best_index_] == {"C": search.best_estimator_.C}
    assert (np.argsort(search.results_["rank"]) == np.argsort(-mean)).all()
    assert search.results_["rank"].min() == 1
    assert search.cv_results_["mean_test_score"] is mean
    assert {"params", "param_C", "std_test_score", "rank_test_score"} < set(search.cv_results_)
    np.testing.assert_array_equal(search.results_["param_C"], np.logspace(-4, 3, 9))
    np.testing.assert_array_equal(search.predict(X), search.classes_[(search.decision_function(X) > 0).astype(int)])
    assert search.predict_proba(X).shape == search.predict_log_proba(X).shape == (len(y), 2)
    assert "chosen among 9 candidates" in search.best_posterior_.notes[-1]
    assert f"{search.optimism_:.3f}" in search.best_posterior_.notes[-1]
    assert search.posteriors_[search.best_index_].notes == ()


def test_score_is_the_auc(data):
    """score counts ordered pairs, with labels of any kind."""
    X, y = data
    names = np.where(y == 1, "sick", "fit")
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0, 10.0]}).fit(X, names)
    assert list(search.classes_) == ["fit", "sick"]
    z = search.decision_function(X)
    pairs = z[y == 1][:, None] > z[y == 0]
    assert search.score(X, names) == pytest.approx(pairs.mean(), abs=1e-12)


def test_lists_of_grids_mix_families_and_paths(data):
    """Two classifiers in one search: shared families of each, a general candidate, masked parameters."""
    X, y = data
    grid = [
        {"clf": [LogisticRegression()], "clf__C": [0.1, 1.0]},
        {"clf": [RidgeClassifier()], "clf__alpha": [1.0, 10.0]},
        {"clf": [LinearDiscriminantAnalysis()]},
    ]
    search = fl.FoldlessSearch(scaled(None), grid).fit(X, y)
    assert list(search.results_["path"]) == ["shared"] * 4 + ["general"]
    assert search.path_ == "general"
    assert search.results_["param_clf__C"].mask.tolist() == [False, False, True, True, True]
    assert [p.details["family"] for p in search.posteriors_][::2] == [
        "logistic regression", "ridge classifier", "linear discriminant analysis",
    ]  # fmt: skip


def test_groups_and_prior_reach_the_posterior(data):
    """groups, prior and method change the answer as they do in auc_posterior."""
    X, y = data
    groups, model = np.arange(len(y)) // 3, LogisticRegression(C=0.1, tol=1e-10)
    flat = fl.EffectPrior.flat()
    for grid in ({"C": [0.1, 1.0]}, {"C": [0.1]}):
        search = fl.FoldlessSearch(model, grid, prior=flat).fit(X, y, groups=groups)
        expected = fl.auc_posterior(model.fit(X, y), X, y, groups=groups, prior=flat)
        assert search.posteriors_[0].mean == pytest.approx(expected.mean, abs=1e-6)
        assert search.posteriors_[0].sd == pytest.approx(expected.sd, abs=1e-6)
        assert search.posteriors_[0].details["groups"] == groups.max() + 1


def test_in_sample_method_is_the_papers_number_and_warns_once(data):
    """method='in-sample' ranks by the in-sample posterior, with one OptimismWarning for the whole search."""
    X, y = data
    search = fl.FoldlessSearch(LogisticRegression(), {"C": C}, method="in-sample")
    with pytest.warns(fl.OptimismWarning, match="3 of 3 candidates") as seen:
        search.fit(X, y)
    assert len(seen) == 1
    model = LogisticRegression(C=10.0).fit(X, y)
    assert search.posteriors_[2].mean == pytest.approx(fl.cbauc(model.coef_[0], X, y), abs=1e-9)
    assert search.best_index_ == 2


def test_a_finished_search_is_an_estimator_for_the_other_functions(data):
    """auc_posterior takes the search itself, and accounts for the choice that was made."""
    X, y = data
    search = fl.FoldlessSearch(scaled(LogisticRegression()), {"clf__C": C}).fit(X, y)
    posterior = fl.auc_posterior(search, X, y)
    assert posterior.mean == pytest.approx(search.posterior_.mean, abs=1e-9)
    assert "values of C is accounted for" in posterior.notes[0]
    grid = GridSearchCV(LogisticRegression(), {"C": C}, cv=2).fit(X, y)
    assert "values of C is accounted for" in fl.auc_posterior(grid, X, y).notes[0]


# ---- the rule


def test_simplest_takes_the_strongest_penalty_that_is_not_credibly_worse(data):
    """Recomputed from the posteriors: everything more regularised than the choice is credibly worse."""
    X, y = data
    grid = {"alpha": np.logspace(-3, 5, 12)}
    best = fl.FoldlessSearch(RidgeClassifier(), grid).fit(X, y)
    simple = fl.FoldlessSearch(RidgeClassifier(), grid, rule="simplest").fit(X, y)
    assert simple.best_params_["alpha"] >= best.best_params_["alpha"]
    strict = fl.FoldlessSearch(RidgeClassifier(), grid, rule="simplest", level=0.5001).fit(X, y)
    assert best.best_params_["alpha"] <= strict.best_params_["alpha"] <= simple.best_params_["alpha"]
    generous = fl.FoldlessSearch(RidgeClassifier(), grid, rule="simplest", level=1 - 1e-12).fit(X, y)
    assert generous.best_params_["alpha"] >= simple.best_params_["alpha"]
    assert generous.best_params_["alpha"] > best.best_params_["alpha"]


def test_simplest_stays_with_the_model_of_the_best():
    """Strengths are compared only where everything else is equal."""
    from foldless.search.candidates import simplest

    candidates = [{"C": c, "fit_intercept": f} for f in (True, False) for c in (0.1, 1.0)]
    mean, eye = np.array([0.7, 0.8, 0.8, 0.79]), np.eye(4)
    assert simplest(1, candidates, JointAUC(mean, np.full(4, 0.2), eye), 0.95) == 0
    assert simplest(3, candidates, JointAUC(mean, np.full(4, 0.2), eye), 0.95) == 2
    assert simplest(1, candidates, JointAUC(mean, np.full(4, 1e-3), eye), 0.95) == 1


def test_simplest_needs_a_strength(data):
    """Without C, alpha or shrinkage there is no order of simplicity."""
    search = fl.FoldlessSearch(LogisticRegression(), {"fit_intercept": [True, False]}, rule="simplest")
    with pytest.raises(fl.InputError, match=r"C, alpha or shrinkage.*got fit_intercept.*rule='best'"):
        search.fit(*data)


def test_refit_callable_and_refit_false(data):
    """A callable chooses from results_; refit=False keeps figures but no estimator."""
    X, y = data
    worst = fl.FoldlessSearch(LogisticRegression(), {"C": C}, refit=lambda r: int(np.argmin(r["mean"]))).fit(X, y)
    assert worst.best_score_ == worst.results_["mean"].min()
    assert worst.best_params_ == {"C": worst.best_estimator_.C}
    kept = fl.FoldlessSearch(LogisticRegression(), {"C": C}, refit=False).fit(X, y)
    assert kept.best_params_ in kept.results_["params"]
    assert not hasattr(kept, "best_estimator_")
    assert not hasattr(kept, "classes_")
    with pytest.raises(AttributeError) as caught:
        kept.predict(X)
    assert "set refit=True" in str(caught.value.__cause__)
    with pytest.raises(fl.InputError, match="0 to 2, got 7"):
        fl.FoldlessSearch(LogisticRegression(), {"C": C}, refit=lambda r: 7).fit(X, y)


# ---- failures and warnings


def test_failed_candidates_are_left_out_and_named(data):
    """An impossible candidate gets nan and a warning, the others are ranked; all failing is an error."""
    X, y = data
    search = fl.FoldlessSearch(LogisticRegression(), {"C": [-1.0, 0.1, 1.0]})
    with pytest.warns(fl.TrustWarning, match=r"1 of 3 candidates could not be judged.*'C': -1\.0"):
        search.fit(X, y)
    assert np.isnan(search.results_["mean"][0])
    assert search.posteriors_[0] is None
    assert search.results_["rank"][0] == 3
    assert search.best_index_ in (1, 2)
    with pytest.raises(ValueError, match="'C' parameter"):
        fl.FoldlessSearch(LogisticRegression(), {"C": [-1.0, 1.0]}, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="'C' parameter"):
        fl.FoldlessSearch(LogisticRegression(), {"C": [-1.0, -2.0]}).fit(X, y)


def test_warnings_are_repeated_once(data):
    """Three fits that stop early give one ConvergenceWarning, with the number of candidates."""
    X, y = data
    grid = {"C": [1.0], "max_iter": [1, 2, 3]}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fl.FoldlessSearch(LogisticRegression(), grid).fit(X, y)
    assert sorted(w.category.__name__ for w in seen) == ["ConvergenceWarning", "TrustWarning"]
    assert [str(w.message).count("3 of 3 candidates") for w in seen if w.category is ConvergenceWarning] == [1]
    assert all("of 3 candidates gave a warning of this kind" in str(w.message) for w in seen)
    assert all(w.filename == __file__ for w in seen)


@pytest.mark.parametrize(
    ("changes", "y", "message"),
    [
        ({"method": "cv"}, None, "method must be 'auto', 'loo', 'refit' or 'in-sample', got 'cv'"),
        ({"rule": "first"}, None, "rule must be 'best' or 'simplest', got 'first'"),
        ({"level": 95}, None, "level must lie strictly between 0 and 1, got 95"),
        ({"error_score": 0}, None, "error_score must be nan or 'raise', got 0"),
        ({"prior": fl.Prior.paper()}, None, "prior must be an EffectPrior"),
        ({"progress": "yes"}, None, "progress must be True, False or a callable"),
        ({"param_grid": {"C": 1.0}}, None, r"param_grid must be a dict of lists"),
        ({"param_grid": []}, None, "param_grid is an empty list"),
        ({}, np.arange(110).reshape(55, 2) % 2, "one class per row.*multilabel-indicator.*one search per column"),
        ({"multi_class": "micro"}, None, "multi_class must be 'ovo'.*or 'ovr'.*got 'micro'"),
        ({}, np.zeros(55), "one class"),
        ({"estimator": LogisticRegression, "param_grid": {}}, None, "."),
    ],
)
def test_bad_parameters_are_told(data, changes, y, message):
    """What was expected, what came, what to do."""
    settings = {"estimator": LogisticRegression(), "param_grid": {"C": C}, **changes}
    error = TypeError if changes.get("estimator") is LogisticRegression else ValueError
    with pytest.raises(error, match=message):
        fl.FoldlessSearch(settings.pop("estimator"), settings.pop("param_grid"), **settings).fit(
            data[0], data[1] if y is None else y
        )


def test_a_class_without_weight_is_refused(data):
    """Weights that leave one class cannot train a classifier."""
    X, y = data
    for grid in ({"alpha": [1.0]}, {"alpha": [1.0, 2.0]}):
        with pytest.raises(fl.InputError, match="sample_weight is 0 for every row of class 0"):
            fl.FoldlessSearch(RidgeClassifier(), grid).fit(X, y, sample_weight=y.astype(float))


# ---- progress


def test_progress_is_told_after_every_candidate(data):
    """A callable hears (done, total, seconds to go); the library is silent by default."""
    X, y = data
    told: list[tuple] = []
    for grid in ({"C": C}, {"fit_intercept": [True, False], "class_weight": [None, "balanced"]}):
        told.clear()
        fl.FoldlessSearch(LogisticRegression(), grid, progress=lambda *a: told.append(a)).fit(X, y)
        total = len(told)
        assert [t[:2] for t in told] == [(k + 1, total) for k in range(total)]
        assert told[-1][2] == 0.0
    assert total == 4


def test_bar_shows_itself_only_when_a_search_is_long(data, capsys, monkeypatch):
    """No patience: something is drawn on stderr; default patience and a short search: nothing."""
    X, y = data
    fl.FoldlessSearch(LogisticRegression(), {"C": C}, progress=True).fit(X, y)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("foldless.progress._rich_bar", lambda: None)
    bar = Bar(patience=0.0)
    for k in (1, 2, 3):
        bar(k, 3, 3.0 - k)
    bar.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["1 of 3 candidates, 2 s to go", "2 of 3 candidates, 1 s to go", "3 of 3 candidates"]


def test_rich_bar_counts(capsys):
    """With rich the bar reaches the total and is taken away at the end."""
    pytest.importorskip("rich")
    bar = Bar(patience=0.0)
    bar(1, 2, 1.0)
    assert bar.bar.tasks[0].completed == 1
    bar(2, 2, 0.0)
    assert bar.bar.finished
    bar.close()
    assert not bar.bar.live.is_started
    assert capsys.readouterr() == ("", "")  # a file gets nothing of it


def test_search_over_labels_of_two_kinds_is_refused():
    """They cannot be put in order, and NumPy's own TypeError came out."""
    X, Y = alternating(24, 2, shift=1.0)
    y = np.where(Y == 0, "one", np.array(1, dtype=object))  # the first one is what scikit-learn looks at
    with pytest.raises(fl.InputError, match=r"y mixes labels of different kinds \(int, str\)"):
        fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0]}).fit(X, y)
