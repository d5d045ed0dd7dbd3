"""FoldlessSearch for more than two classes: what it finds, chooses and says, its score, its pictures, its refusals."""

from __future__ import annotations

import pickle
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from foldless.honest.class_statistic import TrainingRows, averaged
from foldless.honest.classes import remove_rows_of_classes
from foldless.model.view import take_apart
from foldless.search import run
from foldless.search.candidates import shares_of

C = [0.001, 0.1, 10.0]
NAMES = np.array(["ash", "birch", "cedar"])


def three_classes(seed=0, n=60, P=6, shift=0.7):
    """Rows and labels of three Gaussian classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, P)) + shift * rng.normal(size=(3, P))[y], y


X, CODES = three_classes()
Y = NAMES[CODES]
TEST, TEST_CODES = three_classes(seed=0, n=90)
TEST = TEST + np.random.default_rng(5).normal(size=TEST.shape)
TEST_Y = NAMES[TEST_CODES]


def scaled(classifier, **steps):
    """Pipeline of a scaler, other steps, and a classifier."""
    return Pipeline([("scale", StandardScaler()), *steps.items(), ("clf", classifier)])


def average(y, scores, kind):
    """Mean of two-class AUCs, counted pair by pair."""
    found = []
    for a, b in permutations(range(scores.shape[1]), 2):
        first, second = scores[y == a, a], scores[(y == b) if kind == "ovo" else (y != a), a]
        gaps = first[:, None] - second
        found.append(np.mean(gaps > 0) + 0.5 * np.mean(gaps == 0))
    return float(np.mean(found))


# ---- the answer


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (scaled(LogisticRegression()), {"clf__C": C}),
        (RidgeClassifier(), {"alpha": [0.1, 10.0], "class_weight": [None, "balanced"]}),
        (LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": [0.1, 0.5]}),
        (LinearSVC(random_state=0), {"C": [0.01, 0.1]}),
        (OneVsRestClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}),
        (scaled(LogisticRegression(), pick=SelectKBest()), {"pick__k": [2, 4]}),
    ],
    ids=["logistic", "ridge", "lda", "svc", "one against the rest", "selection"],
)
def test_every_candidate_has_the_posterior_of_its_own_fit(estimator, grid, multi_class):
    """The same numbers, notes and matrices as auc_posterior gives for the candidate fitted alone."""
    search = fl.FoldlessSearch(estimator, grid, multi_class=multi_class).fit(X, Y)
    assert search.path_ == ("shared" if isinstance(estimator, RidgeClassifier) else "general")
    for params, found in zip(search.results_["params"], search.posteriors_, strict=True):
        alone = fl.auc_posterior(clone(estimator).set_params(**params).fit(X, Y), X, Y, multi_class=multi_class)
        assert isinstance(found, fl.MulticlassAUCPosterior)
        if search.path_ == "shared":  # the same optimum by another factorisation
            np.testing.assert_allclose(found.pairwise.interval(), alone.pairwise.interval(), rtol=1e-9)
            np.testing.assert_allclose([found.mean, found.sd], [alone.mean, alone.sd], rtol=1e-9)
            assert (found.notes, found.counts) == (alone.notes, alone.counts)
        else:
            assert found.summary() == alone.summary()
        assert found.multi_class == multi_class
    assert search.results_["mean"].tolist() == [post.mean for post in search.posteriors_]


def test_the_choice_and_what_is_said_about_it():
    """The largest mean is kept with its note; the fitted estimator is scikit-learn's own."""
    search = fl.FoldlessSearch(LogisticRegression(), {"C": np.logspace(-4, 3, 6)}).fit(X, Y)
    assert search.best_index_ == int(np.argmax(search.results_["mean"]))
    assert isinstance(search.best_posterior_, fl.MulticlassAUCPosterior)
    assert "chosen among 6 candidates" in search.best_posterior_.notes[-1]
    assert search.posteriors_[search.best_index_].notes == ()
    assert search.best_posterior_.pairwise["ash", "cedar"].mean > 0.5
    assert 0 <= search.optimism_ < search.best_posterior_.sd
    by_hand = LogisticRegression(**search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(search.predict_proba(X), by_hand.predict_proba(X))
    assert search.decision_function(X).shape == (60, 3)
    assert list(search.classes_) == list(NAMES)
    again = fl.auc_posterior(search, X, Y)
    assert again.mean == search.best_score_
    assert "FoldlessSearch chose among candidates" in again.notes[0]
    back = pickle.loads(pickle.dumps(search))
    assert back.best_posterior_.summary() == search.best_posterior_.summary()


def test_simplest_and_refit_callable():
    """Both rules of choice work on averages."""
    grid = {"alpha": np.logspace(-3, 4, 6)}
    best = fl.FoldlessSearch(RidgeClassifier(), grid).fit(X, Y)
    simple = fl.FoldlessSearch(RidgeClassifier(), grid, rule="simplest").fit(X, Y)
    certain = fl.FoldlessSearch(RidgeClassifier(), grid, rule="simplest", level=1 - 1e-12).fit(X, Y)
    assert best.best_params_["alpha"] <= simple.best_params_["alpha"] <= certain.best_params_["alpha"]
    assert certain.best_params_["alpha"] > best.best_params_["alpha"]
    worst = fl.FoldlessSearch(RidgeClassifier(), grid, refit=lambda r: int(np.argmin(r["mean"]))).fit(X, Y)
    assert worst.best_score_ == worst.results_["mean"].min()


def test_sample_weight_reaches_fit_and_posterior():
    weight = np.linspace(0.1, 3.0, len(Y))
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0, 10.0]}).fit(X, Y, sample_weight=weight)
    model = RidgeClassifier(alpha=10.0).fit(X, Y, sample_weight=weight)
    assert search.posteriors_[1].mean == pytest.approx(
        fl.auc_posterior(model, X, Y, sample_weight=weight).mean, rel=1e-12
    )
    assert abs(search.posteriors_[1].mean - fl.auc_posterior(RidgeClassifier(alpha=10.0).fit(X, Y), X, Y).mean) > 1e-6


def test_prior_reaches_the_posterior():
    flat = fl.EffectPrior.flat()
    search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0]}, prior=flat).fit(X, Y)
    model = RidgeClassifier().fit(X, Y)
    assert search.best_score_ == fl.auc_posterior(model, X, Y, prior=flat).mean != fl.auc_posterior(model, X, Y).mean


def test_candidates_are_spread_over_processes_one_by_one(monkeypatch):
    """Strengths share nothing here, so each is a task of its own; what comes back survives the journey."""
    sent = []

    def in_parallel(study, families, n_jobs):
        for family in families:
            sent.append(family.indices)
            yield pickle.loads(pickle.dumps(run._try_elsewhere(*pickle.loads(pickle.dumps((study, family))))))

    monkeypatch.setattr(run, "_in_parallel", in_parallel)
    one = fl.FoldlessSearch(LogisticRegression(), {"C": C}).fit(X, Y)
    assert sent == []
    two = fl.FoldlessSearch(LogisticRegression(), {"C": C}, n_jobs=2).fit(X, Y)
    assert sent == [(0,), (1,), (2,)]
    np.testing.assert_array_equal(one.results_["mean"], two.results_["mean"])
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert one.optimism_ == two.optimism_


def test_failed_candidates_are_left_out():
    search = fl.FoldlessSearch(LogisticRegression(), {"C": [-1.0, 0.1, 1.0]})
    with pytest.warns(fl.TrustWarning, match=r"1 of 3 candidates could not be judged.*'C': -1\.0"):
        search.fit(X, Y)
    assert search.posteriors_[0] is None
    assert search.best_index_ in (1, 2)


def test_a_fit_that_stopped_early_is_told():
    """The warning of auc_posterior is given once, with the number of candidates it concerns."""
    wine, y = load_wine(return_X_y=True)
    search = fl.FoldlessSearch(LogisticRegression(max_iter=3, C=100.0), {"tol": [1e-4, 1e-5]})
    with pytest.warns() as seen:
        search.fit(wine, y)
    told = [str(w.message) for w in seen if w.category is fl.TrustWarning]
    assert len(told) == 1
    assert "point elsewhere" in told[0]
    assert "2 of 2 candidates" in told[0]


# ---- what rows contribute


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_shares_are_the_derivative_of_the_average_by_the_weights_of_the_rows(multi_class):
    """Numerically: more weight on one row, the classes' weights summing to 1, spreads held fixed."""
    model = RidgeClassifier(3.0).fit(X, Y)
    found = remove_rows_of_classes(take_apart(model, X, Y, several=True))
    parts = averaged(TrainingRows(found), 3, multi_class)
    rest = {a: [k for k in range(3) if k != a] for a in range(3)}
    ordered = [each for pair in combinations(range(3), 2) for each in (pair, pair[::-1])]
    sets = ordered if multi_class == "ovo" else [(a, rest[a]) for a in range(3)]
    tables, spreads = [], []
    for (a, b), part in zip(sets, parts, strict=True):
        ones, zeros = np.flatnonzero(np.isin(CODES, a)), np.flatnonzero(np.isin(CODES, b))
        diff = found.tensor.without[a][np.ix_(ones, zeros)] - found.tensor.without[a][np.ix_(zeros, ones)].T
        tables.append((ones, zeros, diff))
        spreads.append(diff.mean() / part.statistic.estimate)

    def value(weight):
        total = 0.0
        for (ones, zeros, diff), sd in zip(tables, spreads, strict=True):
            w1, w0 = weight[ones] / weight[ones].sum(), weight[zeros] / weight[zeros].sum()
            total += ndtr(w1 @ diff @ w0 / sd / np.sqrt(2))
        return total / len(tables)

    eps, numeric = 1e-5, np.zeros(len(Y))
    for i in range(len(Y)):
        step = eps * (np.arange(len(Y)) == i)
        numeric[i] = (value(1 + step) - value(1 - step)) / (2 * eps)
    shares = shares_of(parts)
    # The separation of a component is its mean difference over its spread up to a factor near 1 for small samples.
    assert np.corrcoef(shares, numeric)[0, 1] > 0.9995
    assert np.linalg.norm(shares) == pytest.approx(np.linalg.norm(numeric), rel=0.05)


@pytest.mark.parametrize("most", [30, 90])
def test_all_rows_have_a_share_whatever_the_number_of_pairs(most):
    """Unequal classes, drawn rows of several numbers: shares are those that all pairs give."""
    codes = np.repeat([0, 1, 2], [150, 30, 60])
    table = np.random.default_rng(3).standard_normal((240, 6)) + np.eye(3, 6)[codes]
    view = take_apart(RidgeClassifier().fit(table, codes), table, codes, several=True)
    every, some = (remove_rows_of_classes(view, max_entries=3 * rows**2) for rows in (240, most))
    assert some.drawn.rows.size < 240 == every.drawn.rows.size
    reference, ours = (shares_of(averaged(TrainingRows(found), 3, "ovo")) for found in (every, some))
    np.testing.assert_allclose(ours, reference, atol=0.05 * np.abs(reference).max())


@pytest.mark.slow
def test_optimism_on_shuffled_labels():
    """No candidate is any good: the largest mean exceeds the average candidate by about what optimism_ says."""
    rng = np.random.default_rng(11)
    table = rng.standard_normal((45, 20))
    largest, fixed, claimed = [], [], []
    for _ in range(25):
        search = fl.FoldlessSearch(RidgeClassifier(), {"alpha": np.logspace(-2, 4, 6)})
        search.fit(table, rng.permutation(np.arange(45) % 3))
        largest.append(search.best_score_)
        fixed.append(search.results_["mean"])
        claimed.append(search.optimism_)
    real = np.mean(largest) - np.mean(fixed)
    assert real > 0.003
    assert 0.75 * real < np.mean(claimed) < 2.25 * real


# ---- score


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearDiscriminantAnalysis()], ids=str)
def test_score_is_that_of_scikit_learn_where_there_are_probabilities(model, multi_class):
    search = fl.FoldlessSearch(model, {}, multi_class=multi_class).fit(X, Y)
    expected = roc_auc_score(TEST_Y, search.predict_proba(TEST), multi_class=multi_class, average="macro")
    assert search.score(TEST, TEST_Y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("model", [RidgeClassifier(), scaled(RidgeClassifier(), pick=SelectKBest(k=3))], ids=str)
def test_score_counts_pairs_of_decision_values(model):
    """Where the posterior is about decision values, so is the score."""
    search = fl.FoldlessSearch(model, {}).fit(X, Y)
    assert "decision_function" in search.best_posterior_.details["score"]
    expected = average(TEST_CODES, search.decision_function(TEST), "ovo")
    assert search.score(TEST, TEST_Y) == pytest.approx(expected, abs=1e-12)


def test_score_with_weights_is_the_score_of_repeated_rows():
    search = fl.FoldlessSearch(LogisticRegression(), {"C": C}).fit(X, Y)
    times = np.random.default_rng(0).integers(1, 4, size=len(TEST_Y))
    repeated = search.score(np.repeat(TEST, times, axis=0), np.repeat(TEST_Y, times))
    assert search.score(TEST, TEST_Y, sample_weight=times) == pytest.approx(repeated, abs=1e-12)
    assert repeated != search.score(TEST, TEST_Y)


def test_nested_in_cross_validation():
    """Outer folds see an ordinary classifier; as a grid of GridSearchCV, auc_scorer agrees with the search."""
    search, folds = fl.FoldlessSearch(LogisticRegression(), {"C": [0.01, 1.0]}), StratifiedKFold(3)
    by_hand = [
        roc_auc_score(Y[test], clone(search).fit(X[train], Y[train]).predict_proba(X[test]), multi_class="ovo")
        for train, test in folds.split(X, Y)
    ]
    assert cross_val_score(search, X, Y, cv=folds) == pytest.approx(by_hand)
    rows = np.arange(len(Y))
    theirs = GridSearchCV(LogisticRegression(), {"C": C}, scoring=fl.auc_scorer, cv=[(rows, rows)]).fit(X, Y)
    ours = fl.FoldlessSearch(LogisticRegression(), {"C": C}).fit(X, Y)
    np.testing.assert_array_equal(theirs.cv_results_["mean_test_score"], ours.results_["mean"])


# ---- pictures


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.usefixtures("pyplot")
def test_search_display_shows_the_numbers():
    search = fl.FoldlessSearch(LogisticRegression(), {"C": np.logspace(-3, 2, 6)}, level=0.9).fit(X, Y)
    display = fl.SearchDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.line_.get_ydata(), search.results_["mean"])
    assert display.chosen_.get_ydata() == [search.best_score_]
    assert display.ax_.get_ylabel() == "Average AUC on new data: mean and 90 % interval"
    assert "average AUC" in display.chosen_.get_label()
    assert "chosen among 6 candidates" in display.notes_.get_text().replace("\n", " ")


@pytest.mark.usefixtures("pyplot")
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_density_display_shows_the_average_that_was_asked_for(multi_class):
    models = {
        "ridge": RidgeClassifier().fit(X, Y),
        "search": fl.FoldlessSearch(LogisticRegression(), {"C": C}).fit(X, Y),
    }
    display = fl.AUCPosteriorDisplay.from_estimator(models, X, Y, multi_class=multi_class)
    expected = [fl.auc_posterior(model, X, Y, multi_class=multi_class) for model in models.values()]
    assert [point.get_xdata()[0] for point in display.points_] == [post.mean for post in expected]
    assert [tuple(bar.get_xdata()) for bar in display.intervals_] == [post.interval() for post in expected]
    assert display.ax_.get_xlabel().startswith("Average AUC on new data")
    pairs = {f"{a}, {b}": expected[0].pairwise[a, b] for a, b in combinations(NAMES.tolist(), 2)}
    assert fl.AUCPosteriorDisplay.from_posterior(pairs).ax_.get_xlabel().startswith("AUC on new data")


# ---- what users get wrong


def fitted():
    return fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0, 2.0]}).fit(X, Y)


CASES = {
    "in-sample": (
        lambda: fl.FoldlessSearch(RidgeClassifier(), {}, method="in-sample").fit(X, Y), "is for two classes.*'loo'",
    ),
    "groups": (
        lambda: fl.FoldlessSearch(RidgeClassifier(), {}).fit(X, Y, groups=Y), "independent rows.*y == label",
    ),
    "few rows": (
        lambda: fl.FoldlessSearch(RidgeClassifier(), {}).fit(X[:8], Y[:8]), "at least 3 rows.*class 'cedar' has 2",
    ),
    "class without weight": (
        lambda: fl.FoldlessSearch(RidgeClassifier(), {}).fit(X, Y, sample_weight=(Y != "birch").astype(float)),
        "sample_weight is 0 for every row of class 'birch'.*positive weight",
    ),
    "unknown average": (
        lambda: fl.FoldlessSearch(RidgeClassifier(), {}, multi_class="micro").fit(X, Y), "'ovo'.*'ovr'.*got 'micro'",
    ),
    "score without a class": (
        lambda: fitted().score(X[CODES < 2], Y[CODES < 2]), "no rows of class 'cedar'.*rows of every class",
    ),
    "score of strangers": (
        lambda: fitted().score(X, np.where(Y == "ash", "oak", Y)), "unknown labels: 'oak'; the classes are 'ash'",
    ),
    "score of wrong length": (lambda: fitted().score(X, Y[1:]), "X has 60 rows but y has 59"),
    "score with wrong weights": (
        lambda: fitted().score(X, Y, sample_weight=np.ones(3)), "sample_weight must be 60",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_mistakes_are_told(case):
    call, words = CASES[case]
    with pytest.raises(fl.InputError, match=words):
        call()


def test_two_classes_in_a_search_with_multi_class_stay_two():
    """The option has no effect on two classes: the same bits on the shared path."""
    rows = CODES < 2
    one = fl.FoldlessSearch(LogisticRegression(), {"C": C}).fit(X[rows], Y[rows])
    two = fl.FoldlessSearch(LogisticRegression(), {"C": C}, multi_class="ovr").fit(X[rows], Y[rows])
    assert one.path_ == two.path_ == "shared"
    np.testing.assert_array_equal(one.results_["mean"], two.results_["mean"])
    assert type(two.best_posterior_) is fl.AUCPosterior
    assert two.score(X[rows], Y[rows]) == one.score(X[rows], Y[rows])


def test_iris_end_to_end():
    """Real data, a pipeline: the search beats its worst candidate on rows that it has not seen."""
    table, y = load_iris(return_X_y=True)
    table = np.hstack([table, np.random.default_rng(0).normal(size=(150, 40))])
    search = fl.FoldlessSearch(scaled(RidgeClassifier()), {"clf__alpha": np.logspace(-4, 4, 5)}).fit(table[::3], y[::3])
    test = np.arange(150) % 3 > 0
    worst = scaled(RidgeClassifier(search.results_["params"][int(np.argmin(search.results_["mean"]))]["clf__alpha"]))
    worse = average(y[test], worst.fit(table[::3], y[::3]).decision_function(table[test]), "ovo")
    assert search.score(table[test], y[test]) > worse
    low, high = search.best_posterior_.interval(0.99)
    assert low < search.score(table[test], y[test]) < high
