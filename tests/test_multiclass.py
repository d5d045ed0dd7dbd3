"""More than two classes: the average of pairwise AUCs with its posterior, from one fit or from held-out scores."""

from __future__ import annotations

import json
import pickle
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import foldless as fl
from data import several_classes
from development_data import load
from foldless.errors import EstimatorError, InputError, PriorError, TrustWarning
from foldless.honest.classes import remove_rows_of_classes
from foldless.honest.leave_one_out import remove_rows
from foldless.honest.posterior import separation_posterior
from foldless.honest.refits import SEED
from foldless.honest.statistic import statistic_of_removed
from foldless.model.view import take_apart

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
X, Y = IRIS_X[:, :2], np.array(["setosa", "versicolor", "virginica"])[IRIS_Y]
MODEL = LogisticRegression().fit(X, Y)
POST = fl.auc_posterior(MODEL, X, Y)


def hand_till(y, scores):
    """Average over pairs by scikit-learn's two-class AUC, for scores of any scale."""
    found = []
    for a, b in combinations(range(scores.shape[1]), 2):
        rows = (y == a) | (y == b)
        found += [roc_auc_score(y[rows] == k, scores[rows, k]) for k in (a, b)]
    return float(np.mean(found))


# ---- identities


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("seed", [0, 1])
def test_point_auc_of_held_out_scores_is_that_of_scikit_learn(multi_class, seed):
    train, y, centres = several_classes(4, 60, 4, shift=0.8, seed=seed)
    test = centres[y] + np.random.default_rng(seed + 9).normal(size=train.shape)
    p = LogisticRegression().fit(train, y).predict_proba(test)
    p = np.round(p, 2)  # ties
    p[:, -1] = 1 - p[:, :-1].sum(axis=1)
    post = fl.auc_posterior_from_scores(y, p, multi_class=multi_class)
    assert post.details["pair_auc"] == pytest.approx(roc_auc_score(y, p, multi_class=multi_class), abs=1e-12)
    assert post.method == "scores"


def test_odds_rank_as_probabilities_do():
    """Honest scores are log odds; with them the point AUC is that of predict_proba."""
    train, y, _ = several_classes(4, 60, 4, shift=0.8, seed=3)
    model = LogisticRegression().fit(train, y)
    p = model.predict_proba(train)
    by_odds = fl.auc_posterior_from_scores(y, np.log(p / (1 - p))).details["pair_auc"]
    assert by_odds == pytest.approx(roc_auc_score(y, p, multi_class="ovo"), abs=1e-12)


def test_one_class_against_the_rest_is_the_two_class_analysis():
    """A RidgeClassifier of several classes is one of two classes for each, so its AUCs are theirs."""
    train, y, _ = several_classes(4, 60, 4, shift=0.8, seed=1)
    several = fl.auc_posterior(RidgeClassifier(2.0).fit(train, y), train, y, multi_class="ovr")
    for k in range(4):
        two = fl.auc_posterior(RidgeClassifier(2.0).fit(train, y == k), train, y == k)
        one = several.against_rest[k]
        assert (one.n0, one.n1) == (two.n0, two.n1)
        np.testing.assert_allclose([one.mean, one.sd, *one.interval()], [two.mean, two.sd, *two.interval()], atol=1e-8)
        assert one.details["noise_share"] == pytest.approx(two.details["noise_share"], rel=1e-8)


def test_order_and_names_of_classes_do_not_matter():
    train, y, _ = several_classes(4, 60, 4, shift=0.8, seed=2)
    plain = fl.auc_posterior(LinearDiscriminantAnalysis().fit(train, y), train, y)
    names = np.array(["d", "b", "a", "c"])[y]
    named = fl.auc_posterior(LinearDiscriminantAnalysis().fit(train, names), train, names)
    assert named.classes == ("a", "b", "c", "d")
    assert named.mean == pytest.approx(plain.mean, abs=1e-9)
    assert named.pairwise["d", "b"].mean == pytest.approx(plain.pairwise[0, 1].mean, abs=1e-9)


def test_average_lies_among_the_pairs():
    means = POST.pairwise.mean[np.triu_indices(3, 1)]
    assert means.min() < POST.mean < means.max()
    points = [POST.pairwise[pair].details["pair_auc"] for pair in POST.pairwise]
    assert POST.details["pair_auc"] == pytest.approx(np.mean(points), abs=1e-12)


def test_many_rows_bring_the_interval_to_the_point():
    """With 4,000 held-out normal scores the posterior centres on the truth, which is known."""
    y = np.arange(4000) % 4
    centres = np.array([[-0.5, 0.5], [1, 0], [0, 1.5], [1, 1]])
    scores = (centres[y] + np.random.default_rng(0).normal(size=(4000, 2))) @ centres.T - 0.5 * np.sum(centres**2, 1)
    many = np.arange(400_000) % 4
    far = (centres[many] + np.random.default_rng(1).normal(size=(many.size, 2))) @ centres.T - 0.5 * np.sum(
        centres**2, 1
    )
    post, truth = fl.auc_posterior_from_scores(y, scores), hand_till(many, far)
    assert abs(post.mean - truth) < 3 * post.sd < 0.02


@pytest.mark.parametrize("estimator", [LogisticRegression(), RidgeClassifier(), LinearDiscriminantAnalysis()], ids=str)
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_drawn_pairs_answer_as_all_pairs_do(estimator, multi_class, monkeypatch):
    """Skewed rows, of which all enter, half of them in pairs."""
    rows, y, centres = several_classes(3, 600, 8, seed=4)
    rows = centres[y] + np.exp(rows - centres[y])
    estimator.fit(rows, y)
    some = fl.auc_posterior(estimator, rows, y, multi_class=multi_class)
    monkeypatch.setattr("foldless.honest.classes.MOST_ROWS", 600)
    monkeypatch.setattr("foldless.honest.softmax.MOST_WORK", 1e12)
    every = fl.auc_posterior(estimator, rows, y, multi_class=multi_class)
    assert some.mean != every.mean
    assert some.mean == pytest.approx(every.mean, abs=0.05 * every.sd)
    np.testing.assert_allclose(some.interval(0.9), every.interval(0.9), atol=0.1 * every.sd)
    for a, b in combinations(range(3), 2):
        assert some.pairwise[a, b].mean == pytest.approx(every.pairwise[a, b].mean, abs=0.1 * every.pairwise[a, b].sd)


def test_every_row_narrows_the_interval():
    """The width goes with the root of the number of rows, beyond those that are compared in pairs."""
    rows, y, _ = several_classes(3, 6400, 6, shift=0.4, seed=2)
    widths = []
    for n in (400, 1600, 6400):
        low, high = fl.auc_posterior(RidgeClassifier().fit(rows[:n], y[:n]), rows[:n], y[:n]).interval(0.9)
        widths.append((high - low) * np.sqrt(n))
    np.testing.assert_allclose(widths, np.mean(widths), rtol=0.1)


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovr"}])
def test_two_classes_stay_as_they_were(options):
    """The two-class analysis itself, called directly, gives the same bits."""
    rows = IRIS_Y > 0
    two, labels = IRIS_X[rows, :2], IRIS_Y[rows]
    model = LogisticRegression().fit(two, labels)
    post = fl.auc_posterior(model, two, labels, **options)
    statistic = statistic_of_removed(remove_rows(take_apart(model, two, labels)))
    effect = separation_posterior(statistic, fl.EffectPrior.default())
    assert type(post) is fl.AUCPosterior
    np.testing.assert_array_equal(post.effect.log_density, effect.log_density)
    np.testing.assert_array_equal(post.effect.points, effect.points)


# ---- against refits


@pytest.mark.parametrize(
    ("name", "estimator", "rows"),
    [
        ("mc_wine", RidgeClassifier(100.0), None),
        ("mc_wine", LinearDiscriminantAnalysis(), None),
        ("mc_vehicle", RidgeClassifier(1.0), 160),
        ("mc_vehicle", LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1), 160),
        ("mc_vehicle", LogisticRegression(C=0.1, max_iter=1000), 160),
        ("mc_srbct_khan", RidgeClassifier(1.0), None),
    ],
    ids=str,
)
def test_leave_pair_out_auc_against_refits_on_real_data(name, estimator, rows):
    """The same random pairs, without and with refits: their AUCs differ by at most 0.02."""
    data = load(name)
    table, y = data["X"], np.unique(data["y"], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    if rows:
        kept = rng.permutation(len(y))[:rows]
        table, y = table[kept], y[kept]
    table = StandardScaler().fit_transform(table)
    found = remove_rows_of_classes(take_apart(estimator.fit(table, y), table, y, several=True))
    ours, theirs = [], []
    for a, b in combinations(range(y.max() + 1), 2):
        for _ in range(8):
            i, j = rng.choice(np.flatnonzero(y == a)), rng.choice(np.flatnonzero(y == b))
            rest = np.setdiff1d(np.arange(len(y)), [i, j])
            model = type(estimator)(**estimator.get_params()).fit(table[rest], y[rest])
            z = model.predict_proba(table[[i, j]]) if hasattr(model, "predict_proba") else None
            z = model.decision_function(table[[i, j]]) if z is None else z
            theirs += [z[0, a] > z[1, a], z[1, b] > z[0, b]]
            pair = found.tensor.without[:, [i, j], [j, i]].T
            ours += [pair[0, a] > pair[1, a], pair[1, b] > pair[0, b]]
    assert abs(np.mean(ours) - np.mean(theirs)) <= 0.02
    assert np.mean(np.array(ours) == theirs) > 0.97


# ---- statistics


@pytest.mark.slow
@pytest.mark.parametrize("family", [RidgeClassifier, LinearDiscriminantAnalysis])
def test_intervals_cover_the_truth(family):
    """Four Gaussian classes, 48 data sets: a right 90 % interval covers 37 to 48 of them with probability 0.999."""
    covered, errors = 0, []
    for seed in range(48):
        train, y, centres = several_classes(4, 60, 4, shift=0.8, seed=seed)
        model = family().fit(train, y)
        new = np.arange(2000) % 4
        z = model.decision_function(centres[new] + np.random.default_rng(1000 + seed).normal(size=(2000, 4)))
        if hasattr(model, "predict_proba"):
            z = np.stack([z[:, k] - np.logaddexp.reduce(np.delete(z, k, 1), axis=1) for k in range(4)], axis=1)
        truth, post = hand_till(new, z), fl.auc_posterior(model, train, y)
        low, high = post.interval(0.9)
        covered += low <= truth <= high
        errors.append((post.mean - truth) / post.sd)
    assert 37 <= covered <= 47
    assert abs(np.mean(errors)) < 0.6
    assert 0.6 < np.std(errors) < 1.4


@pytest.mark.parametrize("P", [5, 100])
def test_shuffled_labels_stay_near_chance(P):
    means = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table, y = rng.normal(size=(60, P)), np.arange(60) % 4
        means.append(fl.auc_posterior(RidgeClassifier().fit(table, y), table, y).mean)
    assert 0.45 < np.mean(means) < 0.60


def test_selection_on_noise_does_not_leak():
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(60, 400)), np.arange(60) % 3
    model = make_pipeline(SelectKBest(k=20), LinearSVC(C=0.1)).fit(table, y)
    assert roc_auc_score(y == 0, model.decision_function(table)[:, 0]) > 0.9
    post = fl.auc_posterior(model, table, y)
    assert post.mean < 0.65
    assert "refitted 20 times, all of its steps" in post.notes[0]
    stand_in = fl.auc_posterior(model, table, y, method="loo")
    assert stand_in.mean < 0.65
    assert any("SelectKBest" in note for note in stand_in.notes)


# ---- the result


def test_the_result_answers_questions():
    low, high = POST.interval()
    assert low < POST.ppf(0.5) == POST.median < high
    assert POST.cdf(high) - POST.cdf(low) == pytest.approx(0.95, abs=1e-9)
    assert isinstance(POST, fl.MulticlassAUCPosterior)
    assert isinstance(POST, fl.AUCPosterior)
    assert POST.classes == ("setosa", "versicolor", "virginica")
    assert POST.counts == (50, 50, 50)
    assert float(POST) == POST.mean
    assert "multi_class='ovo'" in repr(POST)
    assert "3 classes, 150 rows" in repr(POST)
    assert repr(POST.pairwise).startswith("PairwisePosteriors(3 classes, weakest pair 'versicolor', 'virginica'")


def test_summary_is_plain_and_complete():
    found = json.loads(json.dumps(POST.summary(0.9)))
    assert found["auc"] == POST.mean
    assert found["level"] == 0.9
    assert [entry["classes"] for entry in found["pairwise"]] == [list(pair) for pair in POST.pairwise]
    assert found["counts"] == [50, 50, 50]
    assert "n0" not in found
    assert found["score"].startswith("log odds")


def test_pairwise_is_symmetric_and_named():
    mean, (low, high) = POST.pairwise.mean, POST.pairwise.interval(0.9)
    np.testing.assert_array_equal(mean, mean.T)
    assert np.isnan(np.diag(mean)).all()
    assert len(POST.pairwise) == 3
    above = np.triu_indices(3, 1)
    assert np.all(low[above] < mean[above])
    assert np.all(mean[above] < high[above])
    assert POST.pairwise["virginica", "setosa"] is POST.pairwise["setosa", "virginica"]
    assert np.all(POST.pairwise.sd[above] > 0)


def test_pickle_and_html():
    again = pickle.loads(pickle.dumps(POST))
    assert again.summary() == POST.summary()
    html = POST._repr_html_()
    assert "Average AUC on new data" in html
    assert "versicolor and virginica" in html
    assert "<svg" in html


def test_perfect_separation_is_not_certainty():
    wine, y = load_wine(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == k)[:8] for k in range(3)])
    model = make_pipeline(StandardScaler(), RidgeClassifier(10.0)).fit(wine[rows], y[rows])
    post = fl.auc_posterior(model, wine[rows], y[rows])
    assert post.details["pair_auc"] == 1.0
    assert 0.75 < post.interval()[0] < 0.99


def test_scorer_takes_it():
    assert fl.auc_scorer(MODEL, X, Y) == POST.mean


def test_warning_when_the_rows_are_not_those_of_the_fit():
    train, y, _ = several_classes(4, 60, 4, shift=0.8, seed=0)
    other, labels, _ = several_classes(4, 60, 4, shift=0.8, seed=7)
    with pytest.warns(TrustWarning, match="point elsewhere"):
        fl.auc_posterior(LinearDiscriminantAnalysis().fit(train, y), other, labels)


# ---- pictures


def test_heat_map_shows_the_numbers():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = fl.PairwiseAUCDisplay.from_estimator(MODEL, X, Y, level=0.9)
    np.testing.assert_array_equal(display.mean, POST.pairwise.mean)
    shown = display.text_[2, 1].get_text()
    assert f"{POST.pairwise['versicolor', 'virginica'].mean:.3f}" in shown
    assert display.text_[1, 2] is None
    assert display.text_[0, 0] is None
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["versicolor", "virginica"]
    assert "90 %" in display.ax_.get_xlabel()
    assert "AUC" in display.ax_.get_title()
    assert display.im_.get_array().shape == (2, 2)
    matplotlib.pyplot.close("all")
    with pytest.raises(InputError, match=r"expected MulticlassAUCPosterior.*AUCPosterior"):
        fl.PairwiseAUCDisplay.from_posterior(POST.pairwise["setosa", "virginica"])


def test_the_density_display_takes_it():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = fl.AUCPosteriorDisplay.from_posterior(
        {"all classes": POST, "worst": POST.pairwise[POST.pairwise.weakest()]}
    )
    assert len(display.lines_) == 2
    matplotlib.pyplot.close("all")


# ---- groups, comparisons and more rows


def visits(subjects=60, times=3, shift=0.6, seed=0):
    """Subjects of three classes, each seen several times."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(subjects) % 3, times)
    centres = shift * rng.normal(size=(3, 6))
    people = np.repeat(rng.normal(size=(subjects, 6)), times, axis=0)
    return centres[y] + people + 0.3 * rng.normal(size=people.shape), y, np.repeat(np.arange(subjects), times)


def test_groups_of_several_classes_leave_together():
    """The same share of ordered pairs as by hand, on the same folds; wider than if each row were a subject."""
    table, y, groups = visits()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, y)
    post = fl.auc_posterior(model, table, y, groups=groups)
    shares = np.zeros((2, 3, 3))
    for seed in range(SEED, SEED + 4):
        folds = StratifiedGroupKFold(5, shuffle=True, random_state=seed).split(table, y, groups)
        for train, test in folds:
            refit = clone(model).fit(table[train], y[train])
            seen = [m.decision_function(table[train]).var(axis=0).sum() for m in (model, refit)]
            p = softmax(np.sqrt(np.divide(*seen)) * refit.decision_function(table[test]), axis=1)
            for a, b in permutations(range(3), 2):
                first, second = (p[y[test] == k, a] for k in (a, b))
                ordered = np.mean(first[:, None] > second) if first.size and second.size else 0.0
                shares[:, a, b] += first.size * second.size * np.array([ordered, 1.0])
    by_hand = np.divide(*shares, where=shares[1] > 0, out=np.zeros((3, 3))).sum() / 6
    assert post.details["pair_auc"] == pytest.approx(by_hand, abs=1e-9)
    assert (post.method, post.details["fits"]) == ("refit", 20)
    alone = fl.auc_posterior(model, table, y)
    assert post.mean < alone.mean
    assert post.sd > 1.2 * alone.sd
    a = fl.analyse(model, table, y, groups=groups)
    assert a.accuracy.sd > fl.analyse(model, table, y).accuracy.sd
    assert a.error().classes == (0, 1, 2)
    assert a.verdict in ("trust", "caution")
    assert fl.report(a, search=False).summary()["auc"]["auc"] == a.auc.mean == post.mean
    given = fl.auc_posterior_from_scores(y, model.predict_proba(table), groups=groups)
    assert given.sd > fl.auc_posterior_from_scores(y, model.predict_proba(table)).sd


@pytest.mark.parametrize("grouped", [False, True])
def test_comparisons_of_several_classes(grouped):
    """The better one is found, the same one is the same, and both orders agree."""
    table, y, groups = visits(90, 1 + grouped, shift=1.0)
    how = {"groups": groups} if grouped else {}
    noise = np.random.default_rng(1).normal(size=table.shape)
    both = np.hstack([table, noise])
    good, other = (RidgeClassifier(), LogisticRegression(C=0.1))
    good, other = good.fit(both, y), other.fit(both, y)
    worse = make_pipeline(ColumnTransformer([("kept", "passthrough", slice(6, 12))]), LogisticRegression()).fit(both, y)
    found = fl.compare(good, worse, both, y, **how)
    assert found.prob_a_better > 0.99
    assert found.difference.mean == pytest.approx(found.a.mean - found.b.mean, abs=0.05)
    near, back = fl.compare(good, other, both, y, **how), fl.compare(other, good, both, y, **how)
    assert (near.a.interval(), near.b.interval()) == (back.b.interval(), back.a.interval())
    assert near.difference.interval() == pytest.approx([-v for v in back.difference.interval()[::-1]], abs=1e-14)
    assert near.difference.sd < 0.5 * np.hypot(near.a.sd, near.b.sd)  # the rows are shared, and so are their errors
    assert fl.compare(good, good, both, y, **how).difference.interval() == (0.0, 0.0)
    ranking = fl.compare_many({"good": good, "other": other, "worse": worse}, both, y, **how)
    assert ranking.prob_best["worse"] < 0.01
    assert near.a.mean == fl.auc_posterior(good, both, y, **how).mean
    with pytest.raises(InputError, match="differ in their"):
        fl.compare(fl.analyse(good, both, y), fl.analyse(other, both, y, groups=np.arange(y.size) // 2))


def test_more_rows_of_several_classes():
    """Today's figure is that of `auc_posterior`; a weak penalty on noisy columns gains from more rows."""
    train, y, _ = several_classes(3, 40, 12, shift=0.6, seed=1)
    model = LogisticRegression().fit(train, y)
    curve, today = fl.learning_curve(model, train, y), fl.auc_posterior(model, train, y)
    assert curve.rows == (len(y), 2 * len(y), 5 * len(y))
    assert curve.at(1).mean == pytest.approx(today.mean, rel=1e-12)
    assert curve.noise_share == today.details["noise_share"]
    assert curve.at(1).mean < curve.at(2).mean < curve.at(5).mean
    assert curve.half_widths[0] > curve.half_widths[1] > curve.half_widths[2]


# ---- what users get wrong

SCORES = np.random.default_rng(0).dirichlet(np.ones(3), size=150)
CASES = {
    "in-sample": (lambda: fl.auc_posterior(MODEL, X, Y, method="in-sample"), EstimatorError, "two classes.*loo"),
    "unknown method": (lambda: fl.auc_posterior(MODEL, X, Y, method="cv"), InputError, "method must be"),
    "unknown average": (lambda: fl.auc_posterior(MODEL, X, Y, multi_class="micro"), InputError, "'ovo'.*'ovr'.*micro"),
    "groups": (lambda: fl.auc_posterior(MODEL, X, Y, groups=Y), InputError, "occur in at least 4 groups, got 1"),
    "groups and more rows": (
        lambda: fl.learning_curve(MODEL, X, Y, groups=np.arange(150) // 2), InputError, "groups of more than two",
    ),
    "pos_label": (lambda: fl.auc_posterior(MODEL, X, Y, pos_label="setosa"), InputError, "against_rest"),
    "prior": (lambda: fl.auc_posterior(MODEL, X, Y, prior=fl.Prior.paper()), PriorError, "EffectPrior"),
    "roc": (lambda: fl.roc_posterior(MODEL, X, Y), EstimatorError, r"about two.*y == 'virginica'.*auc_posterior takes"),
    "threshold": (lambda: fl.error_posterior(MODEL, X, Y, threshold=0.2), InputError, "threshold.*two classes only"),
    "few rows": (lambda: fl.auc_posterior(MODEL, X[:52], Y[:52]), InputError, "at least 3 rows.*has 0"),
    "strange label": (
        lambda: fl.auc_posterior(MODEL, X, np.where(Y == "setosa", "rose", Y)), InputError, "unknown.*'rose'",
    ),
    "lengths": (lambda: fl.auc_posterior(MODEL, X, Y[1:]), InputError, "150 rows but y has 149"),
    "columns": (lambda: fl.auc_posterior(MODEL, IRIS_X, Y), EstimatorError, "4 columns.*fitted on 2"),
    "nan": (lambda: fl.auc_posterior(MODEL, np.where(X > 7.8, np.nan, X), Y), InputError, "NaN.*row 131"),
    "weights": (lambda: fl.auc_posterior(MODEL, X, Y, sample_weight=[1.0]), InputError, "sample_weight must be 150"),
    "weights for LDA": (
        lambda: fl.auc_posterior(LinearDiscriminantAnalysis().fit(X, Y), X, Y, sample_weight=np.ones(150)),
        InputError, "takes no sample_weight",
    ),
    "one against one": (lambda: fl.auc_posterior(SVC(kernel="linear").fit(X, Y), X, Y), EstimatorError, "not linear"),
    "calibrated": (
        lambda: fl.auc_posterior(CalibratedClassifierCV(MODEL).fit(X, Y), X, Y),
        EstimatorError, "CalibratedClassifierCV",
    ),
    "no penalty": (
        lambda: fl.auc_posterior(LogisticRegression(C=np.inf, max_iter=5000).fit(X, Y), X, Y),
        EstimatorError, "without a penalty.*finite C",
    ),
    "pipeline inside": (
        lambda: fl.auc_posterior(
            OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, Y), X, Y
        ),
        EstimatorError, "in front of it",
    ),
    "scores of two classes": (
        lambda: fl.auc_posterior_from_scores(IRIS_Y > 0, SCORES), InputError, "3 columns but y has 2",
    ),
    "scores with NaN": (
        lambda: fl.auc_posterior_from_scores(IRIS_Y, np.where(SCORES > 0.9, np.nan, SCORES)), InputError, "NaN",
    ),
    "scores that are flat": (
        lambda: fl.auc_posterior_from_scores(IRIS_Y, SCORES * [1, 1, 0]), InputError, "class 2 are all equal",
    ),
    "scores with groups": (
        lambda: fl.auc_posterior_from_scores(IRIS_Y, SCORES, groups=IRIS_Y), InputError, "at least 2 groups, got 1",
    ),
    "no such pair": (lambda: POST.pairwise["setosa", "rose"], InputError, "two different classes.*'rose'"),
    "a class with itself": (lambda: POST.pairwise["setosa", "setosa"], InputError, "two different classes"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_mistakes_are_told(case):
    call, kind, words = CASES[case]
    with pytest.raises(kind, match=words):
        call()


def test_classes_that_json_does_not_know_become_text():
    """Dates as labels: every summary is a plain dict."""
    X, y = load_iris(return_X_y=True)
    days = np.datetime64("2020-01-01") + y
    a = fl.analyse(LogisticRegression(max_iter=1000).fit(X, days), X, days)
    for found in (a.auc, a.error(), fl.validate(a)):
        assert json.loads(json.dumps(found.summary(), allow_nan=False))["classes"][1] == "2020-01-02"
