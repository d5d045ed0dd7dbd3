"""Refits: held-out scores against scikit-learn's own, the statistic against its formula, and whole pipelines."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler, TargetEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import foldless as fl
from data import alternating, ones_first
from foldless.errors import EstimatorError, InputError
from foldless.honest.held_out import HeldOut, ModelPairs, statistic_of_refits
from foldless.honest.posterior import EffectPrior
from foldless.honest.refits import FOLDS, REPEATS, SEED, Refits, Refittable, Training, hold_out
from foldless.honest.statistic import Placements, separation_slope, statistic_of_placements
from foldless.results.auc import AUCPosterior
from sklearn_versions import l1

# Fits made at once are at the optimum: scikit-learn has to go there too.
KBEST = make_pipeline(StandardScaler(), SelectKBest(k=5), LogisticRegression(solver="newton-cholesky", tol=1e-10))


def training(model, X, y, pos_label=None, groups=None, sample_weight=None):
    """A fitted model with its rows."""
    return Training.of(model.fit(X, y), X, y, pos_label, groups, sample_weight)


def refitted(model, X, y, **options):
    """The analysis by refits."""
    return Refits.made(training(model, X, y, **options), EffectPrior.default())


def auc_of(refits):
    return AUCPosterior.from_effect(refits.effect, "refit", 1, 1)


# ---- held-out scores


@pytest.mark.parametrize(
    ("model", "response"),
    [
        (KBEST, "decision_function"),
        (SVC(), "decision_function"),
        (RandomForestClassifier(10, random_state=0), "predict_proba"),
        (KNeighborsClassifier(), "predict_proba"),
        (GridSearchCV(KBEST, {"selectkbest__k": [1, 3]}, cv=3), "decision_function"),
    ],
    ids=["kbest", "rbf", "forest", "knn", "search"],
)
def test_scores_are_those_of_cross_val_predict(model, response):
    X, y = alternating(40, 8, shift=0.5, seed=1)
    held = hold_out(training(model, X, y))
    assert held.fits == FOLDS * REPEATS
    for repeat, scores in enumerate(held.scores):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED + repeat)
        expected = cross_val_predict(model, X, y, cv=folds, method=response)
        np.testing.assert_allclose(scores, expected if expected.ndim == 1 else expected[:, 1], rtol=0, atol=1e-8)


def test_every_row_is_held_out_once_in_a_repeat_and_by_the_model_that_its_number_says():
    X, y = alternating(43, 3, seed=2)
    t = training(RidgeClassifier(), X, y)
    held = hold_out(t)
    for k, (train, test) in enumerate(t.splits()):
        assert not set(train) & set(test)
        assert set(np.flatnonzero(held.fold[k // FOLDS] == k)) == set(test)


def test_groups_are_never_split():
    X, y = alternating(60, 4, seed=3)
    groups = np.repeat(np.arange(20), 3)
    t = training(RidgeClassifier(), X, y, groups=groups)
    for train, test in t.splits():
        assert not set(groups[train]) & set(groups[test])
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=SEED)
    expected = cross_val_predict(RidgeClassifier(), X, y, cv=folds, groups=groups, method="decision_function")
    np.testing.assert_allclose(hold_out(t).scores[0], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", [RidgeClassifier(), make_pipeline(StandardScaler(), RidgeClassifier())])
def test_sample_weight_reaches_every_fit(model):
    X, y = alternating(60, 3, shift=0.5, seed=4)
    weight = np.random.default_rng(4).uniform(0, 2, 60)
    name = "ridgeclassifier__sample_weight" if hasattr(model, "steps") else "sample_weight"
    t = training(model, X, y, sample_weight=weight)
    held = hold_out(t)
    for k, (train, test) in enumerate(t.splits()):
        fit = clone(model).fit(X[train], y[train], **{name: weight[train]})
        np.testing.assert_allclose(held.scores[k // FOLDS, test], fit.decision_function(X[test]), rtol=0, atol=1e-10)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()], ids=["at once", "clones"])
def test_linear_refits_are_on_the_scale_of_the_fit(scaler):
    """Spread and middle of the rows that a refit saw; order and probabilities follow."""
    X, y = ones_first(20, 60, 5, shift=0.6, seed=9)
    model = make_pipeline(scaler, LogisticRegression(C=3.0, **l1(), solver="liblinear", tol=1e-10, max_iter=5000))
    t = training(model, X, y)
    held, own = hold_out(t), model.decision_function(X)
    for k, (train, test) in enumerate(t.splits()):
        refit = clone(model).fit(X[train], y[train])
        seen = refit.decision_function(X[train])
        ratio = own[train].std() / seen.std()
        expected = ratio * refit.decision_function(X[test]) + np.median(own[train] - ratio * seen)
        np.testing.assert_allclose(held.placed[k // FOLDS, test], expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(held.probabilities, 1 / (1 + np.exp(-held.placed)), rtol=0, atol=1e-12)


def test_refits_that_are_all_but_certain_have_a_slope():
    X, y = ones_first(30, 30, 20, shift=0.5, seed=8)
    a = fl.analyse(LogisticRegression(C=1e6, tol=1e-8, max_iter=5000).fit(X, y), X, y, method="refit")
    assert np.abs(a.calibration.law.rows.log_odds).max() == pytest.approx(25.0, abs=1e-3)
    assert np.isfinite(a.calibration.slope.mean)


@pytest.mark.parametrize(("slope", "level"), [(0.7, -0.3), (9.0, 4.0), (1e-3, -2.0)])
def test_scores_are_placed_where_those_of_the_fit_are(slope, level):
    X, y = ones_first(10, 50, 3, shift=1.0, seed=9)
    t, rows = training(LogisticRegression(), X, y), np.arange(60)
    other = np.stack([slope * t.own + level] * 2 + [np.full(60, np.nan)])
    np.testing.assert_allclose(t.on_scale(other, rows, rows)[1], t.own, atol=1e-12)


def test_a_few_rows_far_out_do_not_move_all_others_over_the_threshold():
    """As columns that few rows hold are weighted by thousands without a penalty, and otherwise in every refit."""
    X, y = ones_first(10, 50, 3, shift=1.0, seed=9)
    t, rows, far = training(LogisticRegression(), X, y), np.arange(60), np.arange(60) % 20 == 0
    own = np.where(far, 2000.0, t.own)
    refit = np.where(far, np.tile([1500.0, 300.0, 700.0], 20), t.own)
    placed = dataclasses.replace(t, own=own).on_scale(np.stack([refit, refit, np.full(60, np.nan)]), rows, rows)[1]
    ratio = own.std() / refit.std()
    assert abs(own.mean() - ratio * refit.mean()) > 5 * t.own.std()  # what the means would move them by
    np.testing.assert_allclose(placed[~far], ratio * t.own[~far], atol=2 * t.own.std())


def off_target(seed):
    """By how much sensitivity and Brier score miss those of new rows: L1, a strong penalty, few positive rows."""
    X, y = ones_first(60, 240, 8, shift=0.9, seed=seed)
    model = LogisticRegression(C=0.05, **l1(), solver="liblinear", tol=1e-8).fit(X, y)
    new, label = ones_first(4_000, 16_000, 8, shift=0.9, seed=1_000 + seed)
    a, p = fl.analyse(model, X, y), model.predict_proba(new)[:, 1]
    truth = np.mean(p[label == 1] > 0.5), np.mean((p - label) ** 2)
    return a.error().sensitivity.mean - truth[0], a.brier.mean - truth[1]


def test_rates_and_brier_scores_are_those_of_a_fit_to_all_rows(monkeypatch):
    """A penalty counts for more among four fifths of the rows: such fits find too few positive rows, and err more."""
    here = np.array([off_target(seed) for seed in range(12)])
    monkeypatch.setattr(Training, "on_scale", Refittable.on_scale)
    kept = np.array([off_target(seed) for seed in range(12)])
    assert np.all(np.abs(here).mean(axis=0) < np.abs(kept).mean(axis=0))
    assert np.all(np.abs(here.mean(axis=0)) < 0.7 * np.abs(kept.mean(axis=0)))


def test_the_answer_does_not_depend_on_the_workers_nor_on_chance():
    X, y = alternating(40, 4, shift=0.5, seed=5)
    forest = RandomForestClassifier(5)  # no seed of its own
    t = training(forest, X, y)
    first = hold_out(t, n_jobs=1).scores
    np.testing.assert_array_equal(first, hold_out(t, n_jobs=2).scores)
    np.testing.assert_array_equal(first, hold_out(t).scores)


@pytest.mark.parametrize("model", [SVC(), KNeighborsClassifier(4)])
def test_the_other_class_as_the_positive_one_turns_the_scores(model):
    X, y = alternating(40, 4, shift=0.5, seed=6)
    names = np.array(["a", "b"])[y]
    one, other = (hold_out(training(model, X, names, pos_label=label)) for label in ("b", "a"))
    flipped = -one.scores if hasattr(model, "decision_function") else 1 - one.scores
    np.testing.assert_allclose(other.scores, flipped, atol=1e-12)
    a, b = statistic_of_refits(one), statistic_of_refits(other)
    assert a.estimate == pytest.approx(b.estimate)
    assert a.pair_auc == pytest.approx(b.pair_auc)


def test_progress_is_told_of_every_fit_and_may_interrupt():
    X, y = alternating(40, 4, seed=7)
    t, seen = training(RidgeClassifier(), X, y), []
    hold_out(t, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 20) for k in range(1, 21)]

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hold_out(t, progress=interrupt)


def test_warnings_of_the_fits_become_one_note():
    X, y = alternating(40, 4, seed=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = training(LogisticRegression(max_iter=1), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refits = Refits.made(t, EffectPrior.default())
    assert "20 of the 20 refits gave a warning; the first: ConvergenceWarning" in refits.notes[1]


# ---- the statistic


def drawn(seed=0, n1=20, n0=30, noise=0.5, shift=1.0, folds=5):
    """Made-up held-out scores of four repeats, with drifting models."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n1 + n0) < n1
    fold = np.array([[r * folds + k for k in rng.permutation(np.arange(n1 + n0) % folds)] for r in range(REPEATS)])
    own = rng.normal(size=n1 + n0) + shift * positive
    scores = own + noise * rng.normal(size=(REPEATS, n1 + n0))
    return HeldOut(scores, fold, positive, 1 - 1 / folds)


def test_agreement_is_the_mean_correlation_of_repeats():
    held = drawn(n1=2000, n0=2000, noise=1.0)
    assert held.agreement == pytest.approx(0.5, abs=0.03)
    off = held.scores.copy()
    for half in (held.positive, ~held.positive):
        off[:, half] -= off[:, half].mean(axis=1, keepdims=True)
    pairs = np.corrcoef(off)[np.triu_indices(REPEATS, 1)]
    assert held.agreement == pytest.approx(pairs.mean(), abs=1e-3)


def test_the_noise_factor_is_largest_for_models_that_share_little():
    """1 / (e p log(1/p)) = 2.06 at p = 0.8; 1 for models that agree; the formula of Jensen's bound between."""
    for noise, expected in ((0.0, 1.0), (50.0, 2.0608)):
        assert drawn(noise=noise).noise_factor == pytest.approx(expected, abs=1e-4)
    held = drawn()
    q = held.agreement
    assert held.noise_factor == pytest.approx(q * (1 + np.log(q) / np.log(0.8)))


@pytest.mark.parametrize("orders", [(0.5, 0.5), (0.4, 0.3, 0.3), (0.0, 0.0, 0.0, 1.0), (0.2, 0.1, 0.1, 0.6)])
def test_the_bound_holds_for_any_orders(orders):
    """r = sum (1 + m) p^m s_m never exceeds the bound at q = sum p^m s_m."""
    m, p, s = np.arange(len(orders)), 0.8, np.array(orders)
    q, r = float(np.sum(p**m * s)), float(np.sum((1 + m) * p**m * s))
    noise = np.sqrt(1 / q - 1)
    bound = drawn(n1=4000, n0=4000, noise=noise, shift=0.0).noise_factor
    assert r <= bound + 0.03


def test_pairs_are_those_held_out_by_one_model():
    """Means over pairs, and over those of each row, from loops over all rows."""
    held = drawn(n1=6, n0=8)
    pairs = {
        (i, j, r): held.scores[r, i] - held.scores[r, j]
        for r in range(REPEATS)
        for i in range(6)
        for j in range(6, 14)
        if held.fold[r, i] == held.fold[r, j]
    }
    found = ModelPairs.of(held)
    assert found.count.sum() == 2 * len(pairs)
    ranks = found.ranks()
    values = {place: np.heaviside(d, 0.5) for place, d in pairs.items()}
    assert ranks.mean == pytest.approx(np.mean(list(values.values())))
    for of_row, rows, side in ((ranks.by_row1, found.rows[0], 0), (ranks.by_row0, found.rows[1], 1)):
        expected = [np.mean([v for place, v in values.items() if place[side] == row]) for row in rows]
        np.testing.assert_allclose(of_row, expected)


def test_what_a_model_adds_to_all_of_its_scores_does_not_count_in_pairs():
    held = drawn()
    drift = np.random.default_rng(1).normal(size=held.fits)[held.fold]
    moved = HeldOut(held.scores + drift, held.fold, held.positive, held.share)
    for one, other in zip(ModelPairs.of(moved).models, ModelPairs.of(held).models, strict=True):
        np.testing.assert_allclose(one[0].complete, other[0].complete, atol=1e-9)
    assert moved.variances == pytest.approx(held.variances)
    assert moved.agreement < held.agreement  # models that drift do not agree


def test_comparisons_of_grown_fits():
    """The separation grows by c and its error with it; the repeats add the variance of their mean."""
    held = drawn(n1=20, n0=30)
    statistic, c = statistic_of_refits(held), held.growth
    ranks = ModelPairs.of(held).ranks()
    alone = statistic_of_placements(Placements.of(ranks), ranks.mean, held.noise_factor - 1)
    each = [ModelPairs.of(held, [k]).ranks().mean for k in range(REPEATS)]
    error = np.sqrt(alone.auc * (1 - alone.auc) / alone.trials + np.var(each, ddof=1) / REPEATS)
    assert statistic.estimate == pytest.approx(c * alone.estimate)
    assert statistic.separation_error == pytest.approx(c * error / separation_slope(alone.auc))
    assert statistic.noise_share == pytest.approx(held.noise_factor - 1)


def test_the_estimate_is_near_the_truth_for_normal_scores():
    """Scores by one model have variance 1 + noise^2 in a class."""
    estimates = [statistic_of_refits(drawn(seed, 300, 300, shift=1.5)) for seed in range(5)]
    held = drawn(0, 300, 300, shift=1.5)
    truth = 1.5 / np.sqrt(1.25)
    assert np.mean([s.estimate for s in estimates]) == pytest.approx(held.growth * truth, abs=0.1)
    assert np.mean([s.pair_auc for s in estimates]) == pytest.approx(ndtr(truth / np.sqrt(2)), abs=0.02)


def test_growth_runs_from_one_to_the_root_of_five_fourths():
    assert drawn(noise=0.0).growth == pytest.approx(1.0)
    assert drawn(noise=50.0).growth == pytest.approx(np.sqrt(1.25))


def test_very_many_rows_all_count():
    """Beyond some million pairs of a model they are counted by a sort: the same answer."""
    held = drawn(3, 6000, 6000)
    assert ModelPairs.of(held).models[0][0].complete is None
    assert statistic_of_refits(held).pair_auc == pytest.approx(exact_auc(held), abs=1e-12)


def exact_auc(held):
    total, count = 0.0, 0
    for k in range(held.fits):
        z, inside = held.scores[k // 5], held.fold[k // 5] == k
        one, zero = z[inside & held.positive], np.sort(z[inside & ~held.positive])
        total += np.searchsorted(zero, one).sum()
        count += one.size * zero.size
    return total / count


def test_scores_that_never_vary_are_chance():
    held = HeldOut(np.ones((4, 40)), drawn(0, 20, 20).fold, np.arange(40) < 20, 0.8)
    statistic = statistic_of_refits(held)
    assert statistic.estimate == 0
    assert np.isfinite(statistic.trials)


def test_models_without_a_column_count_in_the_estimate_but_do_not_narrow_it():
    """Half of the models tie all rows: the answer is as wide as that of the others, at the mean of both."""
    held = drawn(0, 40, 40, shift=1.5)
    idle = held.fold % 2 == 1
    half = dataclasses.replace(held, scores=np.where(idle, 0.0, held.scores))
    assert half.idle == 10
    pairs = ModelPairs.of(half)
    assert len(pairs.ranking().models) == 10
    of_ranking, of_all = pairs.ranking().ranks().mean, pairs.ranks().mean
    assert of_all == pytest.approx((of_ranking + 0.5) / 2, abs=1e-3)  # folds differ by a row or two
    statistic, told = statistic_of_refits(half), statistic_of_placements(Placements.of(pairs.ranks()), of_all, 0.0)
    assert statistic.pair_auc == pytest.approx(of_all, abs=1e-12)
    assert statistic.trials < 0.5 * told.trials


@pytest.mark.parametrize("noise", [0.0, 1.0, 30.0])
def test_rows_spread_as_by_one_model_however_little_the_models_agree(noise):
    """At chance the placements of one model are uniform, with 1/3 of the variance of a coin."""
    held = drawn(1, 400, 400, noise=noise, shift=0.0)
    ranks = ModelPairs.of(held).ranks()
    for own in (ranks.by_row1, ranks.by_row0):
        assert np.var(own) / 0.25 == pytest.approx(1 / 3, abs=0.02)


def test_the_answer_says_that_refits_use_no_column_and_no_row_is_an_outlier_for_it():
    X, y = alternating(60, 20, seed=4)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, **l1(), solver="liblinear"))
    found = fl.diagnose(model.fit(X, y), X, y)
    agreement = found.find("agreement")
    assert agreement.severity == "caution"
    assert "refits gave every row the same score" in agreement.note
    assert "Penalise less" in str(agreement)
    assert found.find("outliers") is None
    assert found.find("few rows") is None  # not fewer for the rows that no refit ranks


def test_groups_widen_the_variance():
    """Five copies of every row are worth the rows, not the copies."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    positive = groups < 20
    own = np.repeat(rng.normal(size=40), 5) + positive
    fold = np.array([r * 5 + np.repeat(rng.permutation(np.arange(40) % 5), 5) for r in range(4)])
    held = HeldOut(own + 0.2 * rng.normal(size=(4, 200)), fold, positive, 0.8)
    alone, together = statistic_of_refits(held), statistic_of_refits(held, groups)
    assert alone.trials > 3 * together.trials
    assert (together.units0, together.units1) == (20, 20)


# ---- everything in the pipeline is honest


def test_selection_on_noise_is_at_chance():
    """Five of 300 columns chosen with y: the fit orders its own rows well, and the refits order none.

    One AUC has a standard deviation of about 0.1, so the mean of 20 is within 0.07 of chance.
    """
    model = make_pipeline(SelectKBest(k=5), RidgeClassifier())
    refits = [refitted(model, *alternating(60, 300, seed=seed)) for seed in range(20)]
    assert np.mean([r.statistic.pair_auc for r in refits]) == pytest.approx(0.5, abs=0.07)
    intervals = [auc_of(r).interval(0.95) for r in refits]
    assert sum(low <= 0.5 <= high for low, high in intervals) >= 17


def test_a_target_encoder_on_noise_is_at_chance():
    """Encoding 30 names by the mean of y gives the label away unless it is refitted."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": rng.integers(0, 30, 80).astype(str), "x": rng.normal(size=80)})
    y = np.arange(80) % 2
    refits = refitted(make_pipeline(TargetEncoder(random_state=0), LogisticRegression()), X, y)
    low, high = auc_of(refits).interval(0.95)
    assert low < 0.5 < high
    assert refits.statistic.pair_auc < 0.65


def test_a_real_signal_is_found_by_any_classifier():
    X, y = alternating(100, 5, shift=[1.5, 0, 0, 0, 0], seed=9)
    for model in (RandomForestClassifier(30, random_state=0), SVC(), KNeighborsClassifier(9)):
        low, high = auc_of(refitted(model, X, y)).interval(0.95)
        assert 0.5 < low < ndtr(1.5 / np.sqrt(2)) < high + 0.05


def test_error_rates_agree_with_the_counts_of_the_refits():
    X, y = alternating(200, 3, shift=0.8, seed=10)
    refits = refitted(LogisticRegression(), X, y)
    negative, positive = refits.class_effects(0.0)
    for effect, half in ((negative, y == 0), (positive, y == 1)):
        counted = np.mean(refits.held.scores[:, half] > 0)
        assert effect.mean_probability(1.0) == pytest.approx(counted, abs=0.03)


def test_details_report_the_fits_and_their_agreement():
    X, y = alternating(40, 4, shift=0.5, seed=11)
    refits = refitted(RidgeClassifier(), X, y)
    assert refits.method == "refit"
    assert refits.details()["fits"] == 20
    assert refits.details()["agreement"] == refits.held.agreement
    assert "refitted 20 times" in refits.notes[0]


# ---- what cannot be refitted


@pytest.mark.parametrize(("rows", "folds"), [(4, 2), (7, 3), (9, 4), (10, 5)])
def test_small_classes_have_fewer_folds(rows, folds):
    X, y = ones_first(rows, 30, 3, seed=12)
    t = training(RidgeClassifier(), X, y)
    assert t.folds == folds
    held = hold_out(t)
    assert held.fits == REPEATS * folds
    assert np.isfinite(statistic_of_refits(held).estimate)


def test_three_rows_of_a_class_are_too_few():
    X, y = ones_first(3, 30, 3, seed=13)
    with pytest.raises(InputError, match=r"at least 4 rows of each class.*got 3"):
        hold_out(training(RidgeClassifier(), X, y))


def test_groups_of_one_class_must_be_several():
    X, y = ones_first(15, 30, 3, seed=14)
    with pytest.raises(InputError, match="at least 4 groups, got 3"):
        training(RidgeClassifier(), X, y, groups=np.r_[np.repeat(np.arange(3), 5), np.arange(3, 33)])


class Stubborn(ClassifierMixin, BaseEstimator):
    """Its constructor changes what it is given, so scikit-learn refuses to clone it."""

    def __init__(self, values=()):
        self.values = [*values, 1]

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]


class NoScores(Stubborn):
    decision_function = None

    def __init__(self):
        pass

    def __getattribute__(self, name):
        if name == "decision_function":
            raise AttributeError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Stubborn(), "cannot be cloned.*auc_posterior_from_scores"),
        (NoScores(), "neither decision_function nor predict_proba"),
        (FrozenEstimator(LogisticRegression()), "stays as it was fitted"),
        (
            make_pipeline(SelectFromModel(DecisionTreeClassifier(), prefit=True), SVC()),
            "prefit.*stays as it was fitted",
        ),
        (make_pipeline(StandardScaler(), CalibratedClassifierCV(FrozenEstimator(SVC()))), "stays as it was fitted"),
    ],
    ids=["clone", "scores", "frozen", "prefit", "calibrated"],
)
def test_what_cannot_be_refitted_is_refused(model, message):
    X, y = alternating(40, 4, shift=1.0, seed=15)
    for part in ("estimator", "selectfrommodel__estimator", "calibratedclassifiercv__estimator__estimator"):
        inner = model.get_params().get(part)
        if inner is not None:
            inner.fit(X, y)
    with pytest.raises(EstimatorError, match=message):
        training(model, X, y)


def test_unfitted_classes_and_several_classes_are_refused():
    X, y = alternating(40, 4, seed=16)
    with pytest.raises(EstimatorError, match="is not fitted: call fit"):
        Training.of(SVC(), X, y, None, None, None)
    with pytest.raises(EstimatorError, match="got SVC"):
        Training.of(SVC, X, y, None, None, None)
    with pytest.raises(EstimatorError, match="got ndarray"):
        Training.of(np.ones(4), X, y, None, None, None)
    three = np.arange(40) % 3
    with pytest.raises(EstimatorError, match="two classes, and this SVC has 3"):
        Training.of(SVC().fit(X, three), X, three, None, None, None)
    with pytest.raises(EstimatorError, match="cannot score X"):
        Training.of(SVC().fit(X, y), X[:, :3], y, None, None, None)


class Fussy(RidgeClassifier):
    """Takes 40 rows and no fewer."""

    def fit(self, X, y):
        if len(y) < 40:
            raise RuntimeError("too few rows for me")
        return super().fit(X, y)


def test_a_fit_that_fails_says_why():
    X, y = alternating(40, 4, seed=17)
    with pytest.raises(EstimatorError, match="could not be fitted again, on 32 of the 40 rows: too few rows for me"):
        refitted(Fussy(), X, y)


def test_a_type_that_cannot_be_scored_is_refused_in_words():
    X, y = alternating(20, 3)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(fl.EstimatorError, match=r"LogisticRegression cannot score X .*: pass X as given to fit"):
        fl.auc_posterior(model, (1e6 * X).astype("timedelta64[s]"), y, method="refit")


def test_a_number_in_place_of_a_table_is_refused_in_words():
    X, y = alternating(20, 3)
    with pytest.raises(fl.InputError, match="X must be a table of rows"):
        fl.auc_posterior(LogisticRegression().fit(X, y), np.array(1.0), y, method="refit")
