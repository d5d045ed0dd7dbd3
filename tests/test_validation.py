"""Probabilities without each row, and what is read off them: against refits, through identities, with known truth."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from dataclasses import replace

import matplotlib.pyplot
import numpy as np
import pytest
import sklearn
from scipy.special import expit, logit, ndtr, ndtri
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import foldless as fl
from cli_files import run
from data import ones_first
from foldless.errors import EstimatorError, InputError
from foldless.honest.calibration import regression
from foldless.honest.probabilities import Estimate, ProbableRows, Unseen, brier, log_loss
from foldless.laws.effect import GridEffect, StudentEffect
from foldless.model.probabilities import link_of
from foldless.results.measure import Measure
from foldless.results.roc import BinormalCurves, PrecisionRecall, average_precision

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def drawn(N=80, P=5, distance=1.5, events=0.4, seed=0):
    """Two normal classes."""
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < events).astype(int)
    X = rng.standard_normal((N, P))
    X[:, 0] += distance * y
    return X, y


def analysed(model=None, **options):
    X, y = drawn()
    model = LogisticRegression(**TIGHT) if model is None else model
    return fl.analyse(model.fit(X, y), X, y, **options)


def beside_unseen(value, unseen, loss):
    """The mean of a loss over rows and unseen rows."""
    return value + unseen.share * (unseen.weights @ loss(unseen.values, unseen.positive) - value)


def without_each(model, X, y):
    """Probability of each row under a refit of the whole pipeline without it."""
    each = np.arange(len(y))
    return np.array([clone(model).fit(X[each != i], y[each != i]).predict_proba(X[[i]])[0, 1] for i in each])


# ---- against refits


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(**TIGHT),
        LogisticRegression(C=0.01, **TIGHT),
        LinearDiscriminantAnalysis(),
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1, **TIGHT)),
    ],
    ids=["logistic", "strong penalty", "LDA", "scaled"],
)
def test_probabilities_and_losses_are_those_of_refits_without_each_row(model):
    X, y = drawn()
    a = fl.analyse(clone(model).fit(X, y), X, y)
    truth, own = without_each(model, X, y), a.estimator.predict_proba(X)[:, 1]
    np.testing.assert_allclose(a.probabilities, truth, atol=0.02)
    assert np.abs(own - truth).max() > 3 * np.abs(a.probabilities - truth).max()
    for measure, loss, score in ((a.brier, brier, metrics.brier_score_loss), (a.log_loss, log_loss, metrics.log_loss)):
        assert a.measures().rows.average(loss).value == pytest.approx(score(y, truth), rel=0.01)
        assert measure.apparent == pytest.approx(score(y, own), rel=1e-9)
        assert measure.optimism < 0
    share = y.mean()
    assert a.scaled_brier.mean == pytest.approx(1 - a.brier.mean / (share * (1 - share)))
    assert a.average_precision.apparent == pytest.approx(metrics.average_precision_score(y, own))


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_losses_are_those_of_refits_without_each_pair(C):
    X, y = drawn(40)
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10)
    a = fl.analyse(clone(model).fit(X, y), X, y)
    odds = np.full((40, 40), np.nan)
    for i, j in itertools.product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)):
        kept = np.delete(np.arange(40), [i, j])
        odds[i, j], odds[j, i] = model.fit(X[kept], y[kept]).decision_function(X[[i, j]])
    p = 1 / (1 + np.exp(-np.nanmean(odds, axis=1)))
    rows = a.measures().rows.balanced
    assert rows.average(brier).value == pytest.approx(metrics.brier_score_loss(y, p), rel=0.01)
    assert a.log_loss.mean == pytest.approx(metrics.log_loss(y, p), rel=0.01)


def test_a_constant_probability_is_judged_as_it_is():
    """Without one of ten rows, five of a class, everybody else's share is 4/9 or 5/9; the fit says one half."""
    X, y = ones_first(5, 5, 2, seed=0)
    a = fl.analyse(LogisticRegression(C=1e-6, **TIGHT).fit(X, y), X, y)
    assert a.brier.mean == pytest.approx(0.25, abs=1e-3)
    assert a.log_loss.mean == pytest.approx(np.log(2), abs=1e-3)


def test_a_positive_label_turns_probabilities_round():
    X, y = drawn()
    model = LogisticRegression(**TIGHT).fit(X, y)
    one, other = (fl.analyse(model, X, y, pos_label=k) for k in (1, 0))
    np.testing.assert_allclose(one.probabilities, 1 - other.probabilities)
    assert one.brier.mean == pytest.approx(other.brier.mean)
    assert one.calibration.slope.mean == pytest.approx(other.calibration.slope.mean, rel=1e-3)
    assert one.calibration.intercept.mean == pytest.approx(-other.calibration.intercept.mean)


def test_refits_give_the_probabilities_of_the_fold_models():
    """Four repeats: the Brier score is the mean of scikit-learn's over them, and each repeat has its own models."""
    X, y = drawn()
    a = fl.analyse(RandomForestClassifier(30, random_state=0).fit(X, y), X, y, method="refit")
    held = a.leave_one_out.held.probabilities
    of_rows = np.mean([metrics.brier_score_loss(y, p) for p in held])
    assert a.brier.mean == pytest.approx(beside_unseen(of_rows, a.measures().unseen, brier))
    assert a.brier.apparent == pytest.approx(metrics.brier_score_loss(y, a.estimator.predict_proba(X)[:, 1]))
    assert a.brier.apparent < 0.5 * a.brier.mean
    assert a.at(probability=0.3).sensitivity.mean > a.at(probability=0.6).sensitivity.mean


def test_refits_of_a_linear_classifier_agree_with_the_closed_form():
    X, y = drawn(200)
    model = LogisticRegression().fit(X, y)
    closed, refitted = (fl.analyse(model, X, y, method=m) for m in ("loo", "refit"))
    for name in ("brier", "log_loss", "average_precision"):
        first, second = getattr(closed, name), getattr(refitted, name)
        assert abs(first.mean - second.mean) < 0.5 * first.sd
    first, second = closed.at(probability=0.3), refitted.at(probability=0.3)
    assert abs(first.sensitivity.mean - second.sensitivity.mean) < 0.04


# ---- identities


def test_what_the_curve_lends_to_few_rows_wanes_with_their_number():
    """Chances of the rows lead to expect a Brier score; the gap to that of the labels counts as far as it is chance."""
    X, y = drawn(60)
    moved = []
    for k in (1, 10, 60):
        many, labels = np.tile(X, (k, 1)), np.tile(y, k)
        a = fl.analyse(LogisticRegression(C=1 / k, **TIGHT).fit(many, labels), many, labels)
        rows, q = a.measures().rows, a.calibration.law.said
        p = rows.in_pairs
        of_rows, of_curve = np.mean((p - labels) ** 2), np.mean(q * (1 - p) ** 2 + (1 - q) * p**2)
        gap, chance = of_rows - of_curve, np.sum(q * (1 - q) * (1 - 2 * p) ** 2) / labels.size**2
        expected = of_curve + max(gap**2 - chance, 0.0) / gap
        assert a.brier.mean == pytest.approx(beside_unseen(expected, a.measures().unseen, brier))
        assert q.mean() == pytest.approx(labels.mean(), abs=0.01)
        moved.append(abs(expected - of_rows))
        assert 0 < moved[-1] <= np.sqrt(chance) * (1 + 1e-9)
    assert moved[2] < moved[0]


def test_the_brier_score_follows_the_labels_where_the_curve_is_wrong():
    """Chances of one half for rows whose labels are known: twenty labels overrule them, one group of rows does not."""
    y = np.arange(20) % 2 == 0
    p = np.where(y, 0.9, 0.1)
    rows, half = ProbableRows(y, p[None, :], p, 0.0), np.full(20, 0.5)
    found, chance = 0.01, 0.25 * 0.8**2 / 20
    expected = 0.41 + ((found - 0.41) ** 2 - chance) / (found - 0.41)
    assert rows.average(brier, said=half).value == pytest.approx(expected)
    assert rows.average(brier).value == pytest.approx(found)
    together = ProbableRows(y, p[None, :], p, 0.0, groups=np.zeros(20, dtype=int))
    assert together.average(brier, said=half).value == pytest.approx(0.41)


@pytest.mark.parametrize("apart", [0.0, 1.3, 6.0])
def test_unseen_rows_vary_as_much_as_those_there_are_and_lie_as_far_apart_as_the_posterior_says(apart):
    """Normal log odds: their variance over both classes is that of the sample, their separation that of the effect."""
    rng = np.random.default_rng(4)
    y = np.arange(24) % 3 == 0
    p = expit(0.4 + 0.9 * y + rng.standard_normal(24))
    rows = ProbableRows(y, p[None, :], p, 0.0)
    law = rows.unseen(StudentEffect(apart, 1e-9, np.inf))
    s, w = logit(law.values), [law.weights * (law.positive == k) for k in (False, True)]
    assert [each.sum() for each in w] == pytest.approx([2 / 3, 1 / 3])
    low, high = (each @ s / each.sum() for each in w)
    sd, other = (np.sqrt(each @ (s - mean) ** 2 / each.sum()) for each, mean in zip(w, (low, high), strict=True))
    assert sd == pytest.approx(other, rel=1e-6)
    assert (high - low) / sd == pytest.approx(apart, rel=0.01, abs=1e-6)
    of_class = [logit(p[y == k]) for k in (False, True)]
    within = sum(np.sum((each - each.mean()) ** 2) for each in of_class) / 22
    middle, gap = (of_class[1].mean() + of_class[0].mean()) / 2, of_class[1].mean() - of_class[0].mean()
    assert (low + high) / 2 == pytest.approx(middle)
    assert sd**2 + (high - low) ** 2 / 4 == pytest.approx(within + gap**2 / 4, rel=0.01)
    assert law.share == pytest.approx(5 / 29)


@pytest.mark.parametrize("prevalence", [None, 0.2])
def test_unseen_rows_like_those_seen_change_nothing(prevalence):
    """The same rows as a law: neither the mean of a loss nor its error moves, whatever share they have."""
    rng = np.random.default_rng(5)
    y, p = np.arange(30) % 3 == 0, rng.uniform(0.02, 0.98, 30)
    rows = ProbableRows(y, p[None, :], p, 0.6, prevalence=prevalence)
    seen = rows.average(brier)
    for share in (0.1, 0.9):
        both = rows.average(brier, Unseen(y, p, rows.weights, share))
        assert both.value == pytest.approx(seen.value)
        if prevalence is None:  # a stated share weighs the rows, a law has its weights already
            assert both.error == pytest.approx(seen.error)


@pytest.mark.parametrize("columns", [3, 300])
def test_few_rows_that_a_model_gets_right_with_certainty_do_not_prove_it_perfect(columns):
    """Sixteen rows, hardly a penalty, one row in thirty on the wrong side: an interval from 0 to 0 would miss that."""
    rng, held, seen_right = np.random.default_rng(6), [], 0
    axis = rng.standard_normal(columns)
    axis *= 4.0 * (1 + (columns > 100)) / np.linalg.norm(axis)
    for _ in range(60):
        y, fresh = np.arange(16) % 2, np.arange(4000) % 2
        X, new = (rng.standard_normal((k.size, columns)) + np.outer(k - 0.5, axis) for k in (y, fresh))
        model = LogisticRegression(C=100, tol=1e-8, max_iter=10_000).fit(X, y)
        a = fl.analyse(model, X, y)
        truth = metrics.brier_score_loss(fresh, model.predict_proba(new)[:, 1])
        low, high = a.brier.interval(0.9)
        held.append(low <= truth <= high)
        seen_right += np.mean((a.probabilities > 0.5) == y) == 1
    assert seen_right >= 15
    assert np.mean(held) >= 0.85


def test_the_error_of_a_mean_is_that_of_its_units():
    """Groups count as one row each: the error is that of their sums, the same if every row is a group of its own."""
    rng = np.random.default_rng(3)
    y, p = np.arange(60) % 3 == 0, rng.uniform(0.05, 0.95, 60)
    alone, single, paired = (
        ProbableRows(y, p[None, :], p, 0.2, groups=g) for g in (None, np.arange(60), np.arange(60) // 2)
    )
    assert single.average(brier).error == pytest.approx(alone.average(brier).error, rel=1e-12)
    sums = np.add.reduceat(paired.effects((p - y) ** 2), np.arange(0, 60, 2))
    df = max(2 * 30 / max(30 * np.sum(sums**4) / np.sum(sums**2) ** 2 - 1, 1.0), 4.0)
    effects = paired.effects((p - y) ** 2)
    within = effects - np.where(y, effects[y].mean(), effects[~y].mean())
    inner = np.add.reduceat(within, np.arange(0, 60, 2))
    by_hand = np.sqrt((np.sum(sums**2) + 0.2 * np.sum(inner**2)) * 30 / 29 * df / (df - 2))
    assert paired.average(brier).error == pytest.approx(by_hand)


def test_what_fits_share_does_not_widen_the_doubt_about_the_prevalence():
    """One probability for all rows: the error of the Brier score is that of the share of positive rows alone."""
    y, p = np.arange(100) < 20, np.full(100, 0.2)
    plain, shared = (ProbableRows(y, p[None, :], p, rho).average(brier).error for rho in (0.0, 1.5))
    assert plain == pytest.approx(shared, rel=1e-12)
    binomial = abs(1 - 2 * 0.2) * np.sqrt(0.2 * 0.8 / 99)
    assert plain == pytest.approx(binomial, rel=0.05)
    spread = np.where(np.arange(100) % 2, 0.1, 0.3)
    plain, shared = (ProbableRows(y, spread[None, :], spread, rho).average(brier).error for rho in (0.0, 1.5))
    assert plain * 1.05 < shared < plain * np.sqrt(2.5)


@pytest.mark.parametrize("C", [1e-10, 1e-3])
def test_a_curve_that_leaving_rows_out_has_blurred_lends_nothing(C):
    """A penalty so strong that scores differ less than rows shift when they are left out: all are treated at 0.3."""
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    a = fl.analyse(LogisticRegression(C=C, **TIGHT).fit(X, y), X, y)
    assert a.calibration.law.said is None
    assert a.net_benefit(0.3).mean[0] == pytest.approx(a.net_benefit(0.3).treat_all[0], abs=0.03)


def test_net_benefit_follows_from_the_rates_at_the_same_threshold():
    """Of refits, to which the calibration curve lends nothing."""
    a = analysed(method="refit")
    share, curve = a.y.mean(), a.net_benefit([0.1, 0.3])
    for t, mean in zip(curve.thresholds, curve.mean, strict=True):
        rates = a.at(probability=t)
        expected = share * rates.sensitivity.mean - (1 - share) * (1 - rates.specificity.mean) * t / (1 - t)
        assert mean == pytest.approx(expected, abs=2e-4)
    flagged = a.estimator.predict_proba(a.X)[:, 1] >= 0.3
    counted = np.mean(flagged * a.y) - np.mean(flagged * (1 - a.y)) * 0.3 / 0.7
    assert curve.apparent[1] == pytest.approx(counted)
    np.testing.assert_allclose(curve.treat_all, share - (1 - share) * curve.thresholds / (1 - curve.thresholds))
    low, high = curve.interval(0.9)
    assert np.all(low < curve.mean)
    assert np.all(curve.mean < high)


def test_net_benefit_leaves_out_what_the_curve_explains_as_chance():
    """Rates at a threshold, less the part of their gap to the curve that is chance; nothing where tails bend it."""
    a = analysed()
    law, rows, t = a.calibration.law, a.measures().rows, 0.3
    rates, share, cost = a.at(probability=t), a.y.mean(), t / (1 - t)
    plain = share * rates.sensitivity.mean - (1 - share) * cost * (1 - rates.specificity.mean)
    q, flagged = law.said, rows.honest[0] >= t
    gap = plain - np.mean(flagged * (q - (1 - q) * cost))
    chance = np.sum(flagged * q * (1 - q)) * (1 + cost) ** 2 / q.size**2
    assert gap != 0
    assert a.net_benefit([t]).mean[0] == pytest.approx(plain - min(gap**2, chance) / gap, abs=2e-4)
    X, y = drawn(200)
    X[::40] *= 12
    tailed = fl.analyse(LogisticRegression(**TIGHT).fit(X, y), X, y)
    assert tailed.calibration.law._spread[1] > 4
    assert tailed.calibration.law.said is None


def test_a_threshold_beyond_all_rows_is_treating_all_or_none():
    a = analysed(LogisticRegression(C=0.001, **TIGHT))
    assert 0.1 < a.probabilities.min() < a.probabilities.max() < 0.6
    net = a.net_benefit([0.1, 0.6])
    assert net.mean == pytest.approx([net.treat_all[0], 0.0], abs=2e-3)
    assert np.all(net.sd > 0)


def test_the_intercept_puts_the_mean_probability_right():
    """Over the rows, and 80 more whose log odds are normal with the same means and spreads; of refits over the rows."""
    a = analysed(LogisticRegression(C=0.01, **TIGHT))
    s, shift, one = logit(a.probabilities), a.calibration.intercept.mean, a.y == 1
    z = np.random.default_rng(0).standard_normal(200_000)
    normal = [expit(s[k].mean() + s[k].std() * z + shift).mean() for k in (one, ~one)]
    smooth = one.mean() * normal[0] + (~one).mean() * normal[1]
    assert (80 * expit(s + shift).mean() + 80 * smooth) / 160 == pytest.approx(a.y.mean(), abs=1e-4)
    assert a.calibration.oe.ppf(0.5) == pytest.approx(a.y.mean() / a.probabilities.mean(), rel=1e-3)
    assert a.calibration.intercept.apparent == pytest.approx(0.0, abs=1e-6)  # the training puts it there
    refitted = analysed(LogisticRegression(C=0.01, **TIGHT), method="refit")
    shifted = expit(logit(refitted.leave_one_out.held.probabilities) + refitted.calibration.intercept.mean)
    assert shifted.mean() == pytest.approx(a.y.mean(), abs=1e-6)


def test_what_normal_log_odds_lend_to_the_intercept_wanes_with_the_rows():
    """Scores far from normal, 40 rows again and again: the intercept comes nearer to that of the rows alone."""
    rng = np.random.default_rng(5)
    y, s = np.arange(40) % 4 == 0, rng.exponential(3, 40) - 4
    off = []
    for k in (1, 10, 100):
        rows = ProbableRows(np.tile(y, k), np.tile(expit(s), k)[None, :], np.tile(expit(s), k), 0.0)
        off.append(abs(rows.intercept.value - float(rows.level(np.ones(1))[0])))
    assert off[0] > 2 * off[1] > 10 * off[2] > 0


def test_a_stated_prevalence_weighs_the_classes():
    a = analysed()
    losses = (a.probabilities - a.y) ** 2
    stated = a.measures(prevalence=0.1)
    by_hand = 0.1 * losses[a.y == 1].mean() + 0.9 * losses[a.y == 0].mean()
    assert stated.rows.average(brier).value == pytest.approx(by_hand)
    assert abs(stated.brier.mean - by_hand) < 0.2 * stated.brier.sd
    as_sampled = a.measures(prevalence=float(a.y.mean()))
    assert as_sampled.brier.mean == pytest.approx(a.brier.mean, rel=0.01)
    assert as_sampled.brier.sd < a.brier.sd  # the prevalence is no longer uncertain
    assert as_sampled.calibration.intercept.sd < 0.6 * a.calibration.intercept.sd


def test_groups_widen_the_intervals():
    X, y = drawn()
    X, y, groups = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(np.arange(len(y)), 2)
    model = LogisticRegression(**TIGHT).fit(X, y)
    together, alone = (fl.analyse(model, X, y, groups=g) for g in (groups, None))
    assert together.brier.sd > 1.3 * alone.brier.sd
    assert together.calibration.intercept.sd > 1.3 * alone.calibration.intercept.sd


def test_rates_at_a_probability_are_those_at_its_log_odds():
    a = analysed()
    at = a.at(probability=0.3)
    assert at.probability == 0.3
    assert at.sensitivity.mean == a.error(float(logit(0.3))).sensitivity.mean
    assert a.at(specificity=0.9).specificity.mean >= 0.9
    assert a.at(sensitivity=0.9).sensitivity.mean >= 0.9
    counts = at.confusion(1000)
    assert counts["tp"].mean + counts["fn"].mean == pytest.approx(1000 * a.y.mean())
    assert sum(each.mean for each in counts.values()) == pytest.approx(1000)
    assert at.alarms.mean == pytest.approx((counts["tp"].mean + counts["fp"].mean) / 1000, abs=1e-4)


def test_f1_and_mcc_are_those_of_drawn_rates():
    at = analysed().at(probability=0.3)
    rng = np.random.default_rng(0)
    fpr, tpr = (ndtr(effect.sample(200_000, rng)) for effect in (at.rates.fpr, at.rates.tpr))
    p = rng.choice(*np.array(at.shares).T[:1], fpr.size, p=np.array(at.shares)[:, 1])  # uncertain, too
    tp, fp, fn, tn = p * tpr, (1 - p) * fpr, p * (1 - tpr), (1 - p) * (1 - fpr)
    f1 = 2 * tp / (2 * tp + fp + fn)
    mcc = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    for law, draws in ((at.f1, f1), (at.mcc, mcc), (at.alarms, tp + fp)):
        assert law.mean == pytest.approx(draws.mean(), abs=2e-3)
        assert law.sd == pytest.approx(draws.std(), abs=2e-3)
        np.testing.assert_allclose(law.interval(0.9), np.quantile(draws, [0.05, 0.95]), atol=4e-3)
        assert law.cdf(law.ppf(0.3)) == pytest.approx(0.3, abs=1e-3)


# ---- the curves, against large samples


def certain(delta, ratio):
    """Curves that are known: one separation and one ratio of spreads."""
    points = delta + 1e-6 * np.linspace(-1, 1, 5)
    return BinormalCurves(GridEffect(points, np.zeros(5)), np.array([ratio]), np.ones(1))


@pytest.mark.parametrize(("delta", "ratio", "share"), [(1.0, 1.0, 0.5), (1.5, 0.7, 0.1), (0.0, 1.0, 0.3)])
def test_average_precision_is_that_of_a_large_sample(delta, ratio, share):
    rng = np.random.default_rng(1)
    y = rng.random(400_000) < share
    shift, spread = delta * np.sqrt((1 + ratio**2) / 2) / ratio, 1 / ratio
    scores = np.where(y, shift + spread * rng.standard_normal(y.size), rng.standard_normal(y.size))
    curves = certain(delta, ratio)
    found = average_precision(curves, (np.array([share]), np.ones(1)), (y, scores, np.ones(y.size)), 0.0)
    assert found.apparent == pytest.approx(metrics.average_precision_score(y, scores))
    assert found.mean == pytest.approx(found.apparent, abs=4e-3)
    precision, recall, _ = metrics.precision_recall_curve(y, scores)
    at = np.array([0.3, 0.6, 0.9])
    expected = np.interp(at, recall[::-1], precision[::-1])
    curve = PrecisionRecall(curves, share)
    np.testing.assert_allclose(curve.mean(at), expected, atol=0.01)
    np.testing.assert_allclose(curve.band(at)[0], curve.mean(at), atol=1e-4)


def test_precision_is_that_of_a_separation_around_the_one_of_the_mean_auc():
    """Few positive rows: the law of the separation is skewed, and its own mean would flatter the precision."""
    X, y = drawn(60, events=0.15)
    a = fl.analyse(LogisticRegression(**TIGHT).fit(X, y), X, y)
    effect, curves, known = a.auc.effect, a.measures().curves, (np.array([0.1]), np.ones(1))
    moved = curves.effect
    assert moved.expect(moved.points) == pytest.approx(np.sqrt(2) * ndtri(a.auc.mean))
    assert effect.expect(effect.points) > moved.expect(moved.points) + 0.02
    np.testing.assert_allclose(moved.density, effect.density)
    rows = a.measures().rows
    sample = rows.positive, rows.own, rows.weights
    flattered = average_precision(replace(curves, effect=effect), known, sample, 0.0).mean
    assert average_precision(curves, known, sample, 0.0).mean < flattered - 0.005


@pytest.mark.parametrize("digits", [0, 9])
def test_average_precision_follows_the_shape_of_the_scores_and_their_ties(digits):
    """Where the curve has the sample's AUC and the sample is trusted, it is the sample's own, weighted or not."""
    rng = np.random.default_rng(2)
    y = np.arange(500) % 5 == 0
    scores, weights = np.round(np.exp(rng.normal(size=y.size) + y), digits), np.where(y, 3.0, 1.0)
    curves = certain(np.sqrt(2) * ndtri(metrics.roc_auc_score(y, scores)), 1.0)
    share = weights[y].sum() / weights.sum()
    found = average_precision(curves, (np.array([share]), np.ones(1)), (y, scores, weights), 1.0)
    wanted = metrics.average_precision_score(y, scores, sample_weight=weights)
    assert found.mean == pytest.approx(wanted, abs=1e-6)
    assert (
        abs(average_precision(curves, (np.array([share]), np.ones(1)), (y, scores, weights), 0.0).mean - wanted) > 0.01
    )


def test_without_separation_the_average_precision_is_the_share_of_positive_rows():
    """Whatever the shape of the scores: that of an overfitted sample is not that of new rows."""
    rng = np.random.default_rng(3)
    y = np.arange(400) % 10 == 0
    scores = np.exp(rng.normal(size=y.size) + 2 * y)
    nothing = average_precision(certain(0.0, 1.0), (np.array([0.1]), np.ones(1)), (y, scores, np.ones(y.size)), 1.0)
    assert nothing.mean == pytest.approx(0.1, abs=1e-3)


def test_average_precision_of_counts():
    """Most rows share their score with others: without a correction the intervals hold none of these truths."""
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = np.arange(104_000) % 4 == 0
        X = np.floor(np.exp(0.8 * rng.normal(size=(y.size, 1)) + y[:, None] - 0.2))
        model = LogisticRegression().fit(X[:4000], y[:4000])
        low, high = fl.analyse(model, X[:4000], y[:4000]).average_precision.interval(0.9)
        held.append(low <= metrics.average_precision_score(y[4000:], X[4000:, 0]) <= high)
    assert np.mean(held) >= 0.75


def test_distances_from_the_curve_have_the_quantiles_of_numpy():
    a = analysed().calibration
    (gaps, weights), (level, slope), rows = a.law.gaps(), regression(a.law.rows.apparent), a.law.rows.apparent
    own = np.abs(expit(level + slope * rows.log_odds[0]) - rows.own)
    for found, q in ((a.e50, 0.5), (a.e90, 0.9)):
        assert found.apparent == pytest.approx(np.quantile(own, q))
        assert found.mean == pytest.approx(weights @ np.quantile(gaps, q, axis=1))
    assert (a.ici.apparent, a.ici.mean) == pytest.approx((own.mean(), weights @ gaps.mean(axis=1)))


def test_precision_and_recall_agree_with_the_roc_curve():
    """The precision at the mean TPR of a false positive rate, and bands that hold the mean."""
    a = analysed()
    recall = np.array([0.4, 0.7, 0.95])
    low, high = a.precision_recall.band(recall, 0.9)
    mean = a.precision_recall.mean(recall)
    assert np.all((low < mean) & (mean < high))
    share, tpr = a.y.mean(), float(a.roc.mean(0.2))
    by_roc = share * tpr / (share * tpr + (1 - share) * 0.2)
    assert float(a.precision_recall.mean(tpr)) == pytest.approx(by_roc, abs=0.03)


def test_the_slope_is_that_of_a_regression_on_new_rows():
    for C, seed in ((0.001, 1), (1.0, 2)):
        X, y = drawn(3000, 5, seed=seed)
        new, truth = drawn(100_000, 5, seed=seed + 10)
        model = LogisticRegression(C=C, **TIGHT).fit(X, y)
        rows = ProbableRows(truth == 1, model.predict_proba(new)[None, :, 1], model.predict_proba(new)[:, 1], 0.0)
        expected, post = regression(rows)[1], fl.analyse(model, X, y).calibration
        assert post.slope.mean == pytest.approx(expected, abs=2 * post.slope.sd)
        assert post.slope.sd < 0.08 * expected
        p = np.array([0.2, 0.5, 0.8])
        near = [np.mean(truth[np.abs(rows.own - q) < 0.02]) for q in p]
        np.testing.assert_allclose(post.curve.mean(p), near, atol=0.04)
        low, high = post.curve.band(p)
        assert np.all((low < post.curve.mean(p)) & (post.curve.mean(p) < high))


def test_the_regression_is_that_of_scikit_learn():
    a = analysed()
    rows = a._measures.rows.apparent
    fitted = LogisticRegression(C=np.inf, **TIGHT).fit(rows.log_odds.T, a.y)
    np.testing.assert_allclose(regression(rows), (fitted.intercept_[0], fitted.coef_[0, 0]), rtol=1e-5)


def test_extreme_probabilities_have_figures_all_the_same():
    """Nearly equal probabilities, and classes far apart: each mean lies in its interval, which may be a point."""
    X, y = drawn()
    apart = X + 12 * y[:, None]
    for Z, C, method in ((X, 1e-9, "loo"), (apart, 1.0, "loo"), (apart, 1.0, "refit")):
        v = fl.validate(LogisticRegression(C=C, **TIGHT).fit(Z, y), Z, y, method=method)
        assert all(line["low"] - 1e-6 <= line["honest"] <= line["high"] + 1e-6 for line in v.lines)
    slope = fl.analyse(LogisticRegression(C=1e-9, **TIGHT).fit(X, y), X, y).calibration.slope
    assert slope.apparent == pytest.approx(slope.mean, rel=0.5)  # some 10^7 either way


def test_a_tree_that_is_always_certain_has_no_slope_and_no_intercept():
    """Its log odds are infinite: the table has dashes and says why."""
    X, y = drawn()
    v = fl.validate(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, method="refit")
    lines = {line["measure"]: line["honest"] for line in v.lines}
    assert lines["calibration slope"] is None
    assert lines["calibration intercept"] is None
    assert lines["observed/expected"] > 0
    assert any("exactly 0 or 1" in note for note in v.notes)
    assert "exactly 0 or 1" in v._repr_html_()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert not fl.analyse(model, X, y, method="refit").calibration.certain


def test_a_measure_is_the_law_that_it_was_given():
    law = Measure.normal("x", Estimate(1.0, 0.5), 0.0)
    assert (law.mean, law.sd) == pytest.approx((1.0, 0.5), rel=2e-3)
    np.testing.assert_allclose(law.interval(0.9), 1 + 0.5 * 1.6449 * np.array([-1, 1]), atol=2e-3)
    ratio = Measure.positive("x", Estimate(1.0, 0.5), 0.0)
    assert ratio.mean == pytest.approx(1.0, rel=2e-3)
    assert ratio.ppf(0.01) > 0
    assert ratio.cdf(ratio.median) == pytest.approx(0.5, abs=1e-6)


def test_the_less_is_known_of_a_positive_figure_the_higher_the_end_of_its_interval():
    """A law whose logarithm spreads as widely as error and mean differ would end below its own mean."""
    laws = [Measure.positive("x", Estimate(1.0, error), 0.0) for error in (0.3, 1.0, 1.9, 3.0, 10.0)]
    ends = [law.interval(0.95)[1] for law in laws]
    assert np.all(np.diff(ends) > -1e-9)
    assert ends[-1] > 5.0
    assert [law.mean for law in laws] == pytest.approx([1.0] * 5)


# ---- one table


@pytest.mark.parametrize("options", [{}, {"pos_label": 0}, {"method": "refit"}, {"method": "in-sample"}], ids=str)
def test_accuracies_have_their_apparent_values(options):
    X, y = drawn()
    a = analysed(**options)
    assert a.accuracy.apparent == pytest.approx(a.estimator.score(X, y))
    assert a.balanced_accuracy.apparent == pytest.approx(metrics.balanced_accuracy_score(y, a.estimator.predict(X)))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("method", ["loo", "refit"])
def test_several_classes_have_their_apparent_values(multi_class, method):
    X, _ = drawn(150)
    y = np.digitize(X[:, 0], [-0.2, 1.0])
    a = fl.analyse(LogisticRegression(C=0.1, **TIGHT).fit(X, y), X, y, multi_class=multi_class, method=method)
    own, called = a.estimator.predict_proba(X), a.estimator.predict(X)
    assert a.accuracy.apparent == pytest.approx(metrics.accuracy_score(y, called))
    assert a.error().error.apparent == pytest.approx(1 - metrics.accuracy_score(y, called))
    assert a.balanced_accuracy.apparent == pytest.approx(metrics.balanced_accuracy_score(y, called))
    assert a.top_k(2).apparent == pytest.approx(metrics.top_k_accuracy_score(y, own, k=2))


def test_apparent_figures_are_those_of_scikit_learn():
    a = analysed()
    v, own = fl.validate(a, threshold=0.4), a.estimator.predict_proba(a.X)[:, 1]
    decided = own >= 0.4
    expected = {
        "AUC": metrics.roc_auc_score(a.y, own),
        "average precision": metrics.average_precision_score(a.y, own),
        "Brier score": metrics.brier_score_loss(a.y, own),
        "log loss": metrics.log_loss(a.y, own),
        "sensitivity at 0.4": metrics.recall_score(a.y, decided),
        "specificity at 0.4": metrics.recall_score(1 - a.y, ~decided),
        "PPV at 0.4": metrics.precision_score(a.y, decided),
        "NPV at 0.4": metrics.precision_score(1 - a.y, ~decided),
        "accuracy at 0.4": metrics.accuracy_score(a.y, decided),
        "balanced accuracy at 0.4": metrics.balanced_accuracy_score(a.y, decided),
        "F1 at 0.4": metrics.f1_score(a.y, decided),
        "MCC at 0.4": metrics.matthews_corrcoef(a.y, decided),
    }
    for name, value in expected.items():
        assert v[name].apparent == pytest.approx(value), name
    assert v["AUC"].law.mean == a.auc.mean
    assert v["Brier score"].law.mean == a.brier.mean
    assert v["sensitivity at 0.4"].law.mean == a.at(probability=0.4).sensitivity.mean


def test_all_forms_of_the_table_have_the_same_numbers():
    v = fl.validate(analysed(), level=0.9)
    lines = json.loads(v.to_json())["figures"]
    frame = v.to_frame()
    texts = (str(v).splitlines()[2:], v.to_markdown().splitlines()[2:], v.to_latex().splitlines()[4:])
    for k, line in enumerate(lines):
        figures = [line[c] for c in ("apparent", "honest", "optimism", "low", "high")]
        assert line["optimism"] == line["apparent"] - line["honest"]
        assert frame.loc[line["measure"]].tolist() == figures
        for text in texts:
            assert re.findall(r"-?\d+\.\d{3}", text[k]) == [f"{value:.3f}" for value in figures]
    assert "90 % interval" in str(v)
    assert "80 % interval" in str(fl.validate(analysed(), level=0.8))
    assert "slope" in fl.analyse(LogisticRegression().fit(*drawn()), *drawn()).calibration._repr_html_()
    assert "Brier" in v._repr_html_()


def test_few_events_call_for_caution():
    X, y = drawn(60)
    y = (np.arange(60) < 7).astype(int)
    v = fl.validate(LogisticRegression().fit(X, y), X, y)
    assert "caution: the smaller class has 7 rows only" in v.notes[0]
    assert v.calls_for_caution
    assert not fl.validate(analysed()).calls_for_caution
    assert not any("caution" in note for note in fl.validate(analysed()).notes)


def test_the_command_prints_the_table_of_its_json(tmp_path):
    X, y = drawn(120, 3)
    path = tmp_path / "t.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    call = ["validate", path, "--target", "y", "--threshold", "0.3", "--level", "0.9"]
    said, found = run(*call).stdout, json.loads(run(*call, "--json").stdout)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)).fit(X, y)
    expected = fl.validate(model, X, y, threshold=0.3, level=0.9)
    assert [line["measure"] for line in found["figures"]] == [figure.name for figure in expected.figures]
    for line, figure in zip(found["figures"], expected.figures, strict=True):
        assert line["honest"] == pytest.approx(figure.law.mean, abs=1e-3)
        (printed,) = [row for row in said.splitlines() if row.strip().startswith(line["measure"] + "  ")]
        figures = [line[c] for c in ("apparent", "honest", "optimism", "low", "high")]
        assert re.findall(r"-?\d+\.\d{3}", printed) == [f"{value:z.3f}" for value in figures]
    assert run(*call, "--table", "markdown").stdout.startswith("| measure | apparent")
    assert run(*call, "--table", "latex").stdout.startswith(r"\begin{tabular}")
    refused = run(*call, "--model", "ridge")
    assert refused.exit_code == 2
    assert "RidgeClassifier has no probabilities" in refused.stderr


# ---- pictures


@pytest.mark.parametrize("kind", ["CalibrationDisplay", "DecisionCurveDisplay", "PrecisionRecallPosteriorDisplay"])
def test_pictures_show_the_numbers_of_the_analysis(kind):
    a = analysed()
    display = getattr(fl, kind).from_estimator(a, level=0.8, color="black")
    x, y = display.line_.get_data()
    expected = {
        "CalibrationDisplay": lambda: a.calibration.curve.mean(x),
        "DecisionCurveDisplay": lambda: a.net_benefit(x).mean,
        "PrecisionRecallPosteriorDisplay": lambda: a.precision_recall.mean(x),
    }[kind]()
    np.testing.assert_allclose(y, expected)
    assert display.line_.get_color() == "black"
    assert "80 % band" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert np.all((display.low <= display.mean) & (display.mean <= display.high))
    assert display.references_
    with pytest.raises(InputError, match="draws one model"):
        getattr(fl, kind).from_estimator({"one": a, "two": a})
    matplotlib.pyplot.close(display.figure_)


# ---- more than two classes


def of_classes(rng, N=75, P=4):
    """Three normal classes, the first in the middle."""
    y = np.array(list("abc"))[rng.choice(3, N, p=[0.45, 0.3, 0.25])]
    X = rng.standard_normal((N, P))
    X[:, 0] += 1.5 * (y == "b")
    X[:, 1] += 1.5 * (y == "c")
    return X, y


@pytest.mark.parametrize(
    ("model", "within"),
    [
        (LogisticRegression(**TIGHT), 0.01),
        (make_pipeline(StandardScaler(), LogisticRegression(C=0.3, **TIGHT)), 0.01),
        (OneVsRestClassifier(LogisticRegression(**TIGHT)), 0.015),
        (LinearDiscriminantAnalysis(), 1e-12),
    ],
)
def test_probabilities_of_classes_are_those_of_refits_without_each_row(model, within):
    """One column per class; log loss and Brier score are scikit-learn's; decision values up to a constant per row.

    In the refits for probabilities the class of the row keeps its mass, without which it is the least likely.
    """
    X, y = of_classes(np.random.default_rng(0), 60)
    a, each = fl.analyse(model.fit(X, y), X, y), np.arange(len(y))
    P = np.array([refitted_with_the_mass(model, X, y, i).predict_proba(X[[i]])[0] for i in each])
    np.testing.assert_allclose(a.probabilities, P, atol=within)
    refitted = [clone(model).fit(X[each != i], y[each != i]) for i in each]
    unseen = a.class_measures.unseen
    expected = beside_unseen(metrics.log_loss(y, P), unseen, lambda p, _: -np.log(p))
    assert a.log_loss.mean == pytest.approx(expected, abs=2 * within)
    own = model.predict_proba(X)
    assert a.log_loss.apparent == pytest.approx(metrics.log_loss(y, own), rel=1e-6)
    true = y[:, None] == model.classes_
    split = split_of_the_rest(P, true)
    expected = beside_unseen(np.mean(np.sum((P - true) ** 2, axis=1)), unseen, lambda p, _: (1 + split) * (1 - p) ** 2)
    assert a.brier.mean == pytest.approx(expected, abs=2 * within)
    decisions = np.array([m.decision_function(X[[i]])[0] for i, m in enumerate(refitted)])
    apart = [z - z.mean(axis=1, keepdims=True) for z in (fl.honest_scores(model, X, y).scores, decisions)]
    np.testing.assert_allclose(*apart, rtol=5 * within, atol=10 * within)


def refitted_with_the_mass(model, X, y, i):
    """Without row i, the other rows of its class weighing as much as with it; the prior of discriminant analysis."""
    rest, n = np.arange(len(y)) != i, np.count_nonzero(y == y[i])
    if isinstance(model, LinearDiscriminantAnalysis):
        return LinearDiscriminantAnalysis(priors=np.unique(y, return_counts=True)[1] / len(y)).fit(X[rest], y[rest])
    weight = np.where(y == y[i], n / (n - 1), 1.0)[rest]
    if isinstance(model, OneVsRestClassifier):
        with sklearn.config_context(enable_metadata_routing=True):
            inner = clone(model.estimator).set_fit_request(sample_weight=True)
            return OneVsRestClassifier(inner).fit(X[rest], y[rest], sample_weight=weight)
    name = f"{model.steps[-1][0]}__sample_weight" if isinstance(model, Pipeline) else "sample_weight"
    return clone(model).fit(X[rest], y[rest], **{name: weight})


def split_of_the_rest(P, true):
    """Sum of the squared shares that the other classes have of what the true one does not get."""
    others = np.where(true, 0.0, P)
    return np.mean(np.sum(others**2, axis=-1) / np.sum(others, axis=-1) ** 2)


@pytest.mark.parametrize(
    "model", [LogisticRegression(C=1e-5, **TIGHT), OneVsRestClassifier(LogisticRegression(C=1e-5, **TIGHT))]
)
def test_classes_that_nothing_tells_apart_have_equal_chances(model):
    """Ten classes of four rows, noise: the log loss of 1/10 each, its Brier score and calibration, to little."""
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.repeat(np.arange(10), 4)
    a = fl.analyse(model.fit(X, y), X, y)
    assert a.log_loss.mean == pytest.approx(np.log(10), abs=1e-3)
    assert a.brier.mean == pytest.approx(0.9, abs=1e-3)
    assert all(each.oe.ppf(0.5) == pytest.approx(1.0, abs=0.02) for each in a.calibration.values())


def test_each_class_is_calibrated_as_it_is_against_the_rest():
    """One class against the rest of OneVsRestClassifier: the same figures as a model of two classes has."""
    X, y = of_classes(np.random.default_rng(1), 150)
    a = fl.analyse(LogisticRegression(**TIGHT).fit(X, y), X, y)
    for k, label in enumerate("abc"):
        found, p = a.calibration[label], a.probabilities[:, k]
        assert found.oe.mean == pytest.approx(np.mean(y == label) / p.mean(), rel=0.02)
        assert found.slope.apparent == pytest.approx(regression(found.law.rows.apparent)[1])
        assert found.slope.interval(0.99)[0] < regression(found.law.rows)[1] < found.slope.interval(0.99)[1]


def test_the_confusion_matrix_is_a_dirichlet_law_of_the_counts():
    """Means add up to 1 in each line, ends are Beta quantiles, error and accuracy complete each other."""
    X, y = of_classes(np.random.default_rng(2), 90)
    a = fl.analyse(LogisticRegression(**TIGHT).fit(X, y), X, y)
    post = a.error()
    np.testing.assert_allclose(post.confusion_mean.sum(axis=1), 1.0)
    shown = post.counts * (1 + a.judged_rows.noise_share)
    np.testing.assert_allclose(shown.sum(axis=1), np.unique(y, return_counts=True)[1])
    assert np.trace(shown) == pytest.approx(np.count_nonzero(a.judged_rows.right))
    assert post.error.mean == pytest.approx(1 - a.accuracy.mean)
    line = post.counts[1] + 1 / 3
    draws = np.random.default_rng(0).dirichlet(line, 100_000)
    low, high = (ends[1] for ends in post.confusion_interval(0.9))
    assert np.mean(draws < low, axis=0) == pytest.approx(0.05, abs=0.004)
    assert np.mean(draws > high, axis=0) == pytest.approx(0.05, abs=0.004)
    assert post.sensitivity["b"].mean == pytest.approx(post.confusion_mean[1, 1])
    assert json.loads(json.dumps(post.summary()))["confusion"]["mean"][1][1] == post.confusion_mean[1, 1]
    assert "Share of the rows of each class" in post._repr_html_()


@pytest.mark.slow
def test_intervals_of_several_classes_cover_the_truth():
    """40 samples: 90 % intervals of log loss, Brier score, error and the confusion matrix, at least 0.8 of them."""
    rng = np.random.default_rng(3)
    T, t = of_classes(rng, 10_000)
    true, hits, cells = t[:, None] == np.array(list("abc")), [], []
    for _ in range(40):
        X, y = of_classes(rng)
        model = LinearDiscriminantAnalysis().fit(X, y)
        a, Q = fl.analyse(model, X, y), model.predict_proba(T)
        decided = model.classes_[Q.argmax(axis=1)]
        truth = metrics.log_loss(t, Q), np.mean(np.sum((Q - true) ** 2, axis=1)), np.mean(decided != t)
        ends = [law.interval(0.9) for law in (a.log_loss, a.brier, a.error().error)]
        hits.append([low <= value <= high for (low, high), value in zip(ends, truth, strict=True)])
        matrix = metrics.confusion_matrix(t, decided, normalize="true")
        low, high = a.error().confusion_interval(0.9)
        cells.append(np.mean((low <= matrix) & (matrix <= high)))
    assert np.all(np.mean(hits, axis=0) >= 0.8)
    assert 0.85 < np.mean(cells) < 0.99


def test_several_classes_are_validated_in_one_table(tmp_path):
    """Apparent figures are scikit-learn's; the command prints the same; names of classes are escaped in LaTeX."""
    X, y = of_classes(np.random.default_rng(4), 90)
    y = np.where(y == "a", "a_1", y)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)).fit(X, y)
    v = fl.validate(model, X, y, level=0.9)
    own = model.predict_proba(X)
    assert v["average AUC"].apparent == pytest.approx(metrics.roc_auc_score(y, own, multi_class="ovo"))
    assert v["accuracy"].apparent == pytest.approx(metrics.accuracy_score(y, model.predict(X)))
    assert v["top-2 accuracy"].apparent == pytest.approx(metrics.top_k_accuracy_score(y, own, k=2))
    assert v["AUC of b"].law.mean == fl.auc_posterior(model, X, y).against_rest["b"].mean
    assert r"a\_1" in v.to_latex()
    path = tmp_path / "t.csv"
    lines = [f"{','.join(map(str, row))},{label}" for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(["p,q,r,s,y", *lines]))
    found = json.loads(run("validate", path, "--target", "y", "--level", "0.9", "--json").stdout)
    assert [line["measure"] for line in found["figures"]] == [figure.name for figure in v.figures]
    assert found["figures"][4]["honest"] == pytest.approx(v["Brier score"].law.mean, abs=1e-3)
    assert "Internal validation on 90 rows of 3 classes." in run("validate", path, "--target", "y").stdout
    assert "for two classes" in run("validate", path, "--target", "y", "--threshold", "0.2").stderr
    with pytest.raises(InputError, match="for two classes"):
        fl.validate(model, X, y, threshold=0.3)
    with pytest.raises(EstimatorError, match="RidgeClassifier has no probabilities"):
        fl.validate(RidgeClassifier().fit(X, y), X, y)


# ---- what is refused


def test_questions_without_an_answer_are_refused():
    X, y = drawn()
    with pytest.raises(EstimatorError, match="RidgeClassifier has no probabilities"):
        fl.analyse(RidgeClassifier().fit(X, y), X, y).brier  # noqa: B018
    with pytest.raises(InputError, match="weights have no probabilities"):
        fl.analyse(np.ones(5), X, y, method="loo").brier  # noqa: B018
    with pytest.raises(InputError, match="in-sample"):
        analysed(method="in-sample").brier  # noqa: B018
    with pytest.raises(EstimatorError, match="two classes"):
        fl.analyse(LogisticRegression().fit(X, np.arange(80) % 3), X, np.arange(80) % 3).scaled_brier  # noqa: B018
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        analysed().net_benefit([0.0, 0.5])
    with pytest.raises(InputError, match="name one of"):
        analysed().at(probability=0.3, specificity=0.9)


def test_links_are_recognised_from_the_probabilities():
    X, y = drawn(200)
    for loss, expected in (("modified_huber", 0.6), ("log_loss", expit(0.2))):
        model = SGDClassifier(loss=loss, random_state=0, max_iter=5000, tol=1e-6).fit(X, y)
        link = link_of(model, X, model.decision_function(X), 1)
        assert link.probability(0.2) == pytest.approx(expected)
        assert link.decision(expected) == pytest.approx(0.2)
    svm = SVC(kernel="linear", probability=True, random_state=0).fit(X, y)
    with pytest.raises(EstimatorError, match="not a known function"):
        link_of(svm, X, svm.decision_function(X), 1)


def test_rates_at_a_specificity_lie_on_the_roc_curve():
    X, y = drawn(1000)
    a = fl.analyse(LogisticRegression().fit(X, y), X, y)
    assert a.at(specificity=0.9).sensitivity.mean == pytest.approx(float(a.roc.mean(0.1)), abs=0.03)
    assert a.at(sensitivity=0.8).ppv.mean == pytest.approx(float(a.precision_recall.mean(0.8)), abs=0.03)


# ---- with known truth


def test_shuffled_labels_have_no_slope_and_no_benefit():
    held, scaled, better = [], [], []
    for seed in range(20):
        X, y = drawn(100, 10, distance=0.0, events=0.3, seed=seed)
        a = fl.analyse(LogisticRegression().fit(X, y), X, y)
        low, high = a.calibration.slope.interval(0.95)
        held.append(low <= 0 <= high)
        scaled.append(a.scaled_brier.mean)
        better.append(a.net_benefit([0.4]).interval(0.9)[0][0] > 0)
    assert np.mean(held) >= 0.85
    assert np.mean(scaled) <= 0.02
    assert np.mean(better) <= 0.2


DESIGNS = [(60, 5, 0.5, 1.0), (100, 20, 0.3, 1.0), (100, 100, 0.5, 0.01), (300, 20, 0.1, 100.0)]


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """90 % intervals over four designs, 25 samples each: the truth is that of the fit itself on 20,000 new rows."""
    inside: dict[str, list[bool]] = {}
    for design, (N, P, events, C) in enumerate(DESIGNS):
        for seed in range(25):
            X, y = drawn(N, P, 1.5, events, seed=1000 * design + seed)
            new, truth = drawn(20_000, P, 1.5, events, seed=10**6 + seed)
            a = fl.analyse(LogisticRegression(C=C, max_iter=2000).fit(X, y), X, y)
            for name, (measure, value) in _compared(a, new, truth).items():
                low, high = measure.interval(0.9)
                inside.setdefault(name, []).append(low <= value <= high)
    shares = {name: float(np.mean(values)) for name, values in inside.items()}
    # Three standard errors of a share of 100 samples.
    assert all(0.81 <= share <= 0.99 for share in shares.values()), shares


def _compared(a, new, y):
    """Each measure, and its true value."""
    p = a.estimator.predict_proba(new)[:, 1]
    rows = ProbableRows(y == 1, p[None], p, 0.0)
    flagged = p >= 0.2
    return {
        "slope": (a.calibration.slope, regression(rows)[1]),
        "intercept": (a.calibration.intercept, rows.intercept.value),
        "observed/expected": (a.calibration.oe, y.mean() / p.mean()),
        "Brier": (a.brier, metrics.brier_score_loss(y, p)),
        "log loss": (a.log_loss, metrics.log_loss(y, p)),
        "average precision": (a.average_precision, metrics.average_precision_score(y, p)),
        "net benefit": (a.net_benefit([0.2]).measures[0], np.mean(flagged * y) - np.mean(flagged * (1 - y)) * 0.25),
    }


def test_probabilities_without_any_error_in_the_sample():
    """Apparent losses of 1e-200, whose powers vanish: an error of 0, not a division by it."""
    X, y = np.linspace(-1, 1, 24)[:, None] * 100, np.arange(24) >= 12
    a = fl.analyse(LinearDiscriminantAnalysis().fit(X + 300 * y[:, None], y), X + 300 * y[:, None], y)
    assert a.brier.apparent == pytest.approx(0.0, abs=1e-12)
    assert 0 <= a.brier.mean < 0.1


@pytest.mark.parametrize("law", [Measure.normal, Measure.positive])
@pytest.mark.parametrize("value", [0.2, 0.45, 0.9])
def test_laws_stay_inside_the_range_of_their_measure(law, value):
    """No quantile lies above the largest value there is, and the mean is still the estimate."""
    post = law("Brier score", Estimate(value, 0.3), 0.0, most=1.0)
    assert post.interval(0.999)[1] <= 1.0 < law("Brier score", Estimate(value, 0.3), 0.0).interval(0.999)[1]
    assert post.mean == pytest.approx(value, abs=1e-9)
    assert law("Brier score", Estimate(0.2, 0.01), 0.0, most=1.0).sd == pytest.approx(0.01, rel=0.01)


def test_the_brier_score_of_ten_rows_is_at_most_one():
    rng = np.random.default_rng(1)
    y = np.arange(10) % 2
    for _ in range(20):
        X = rng.normal(size=(10, 3))
        a = fl.analyse(make_pipeline(StandardScaler(), LogisticRegression(C=100)).fit(X, y), X, y)
        for measure in (a.brier, a.scaled_brier):
            assert measure.interval(0.99)[1] <= 1.0


# ---- The verdict is on the AUC: probabilities that are wrong are named beside it


@pytest.fixture(scope="module")
def miscalibrated():
    """30 columns of noise beside the one that counts: too many without a penalty."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], [90, 60])
    X = rng.normal(size=(150, 31))
    X[:, 0] += 1.2 * y
    order = rng.permutation(150)
    return X[order], y[order]


@pytest.mark.parametrize(
    ("weights", "said"),
    [(None, "are too extreme"), ({0: 1, 1: 5}, r"are too high on average \(observed/expected 0.*too extreme")],
    ids=["extreme", "too high"],
)
def test_wrong_probabilities_are_named_in_one_sentence(miscalibrated, weights, said):
    X, y = miscalibrated
    model = LogisticRegression(C=1e3, tol=1e-8, max_iter=10_000, class_weight=weights).fit(X, y)
    calibration = fl.analyse(model, X, y).calibration
    (sentence,) = calibration.doubts()
    assert re.search(said, sentence)
    low, high = calibration.slope.interval()
    assert high < 1
    assert f"calibration slope {calibration.slope.mean:.2f}, {low:.2f} to {high:.2f}" in sentence
    assert sentence in fl.validate(model, X, y).notes
    page = fl.report(model, X, y, search=False)
    assert (page.verdict, page.summary()["verdict_sentence"].endswith(f"But {sentence}")) == ("trust", True)


def test_the_command_names_wrong_probabilities_beside_the_verdict(miscalibrated, tmp_path):
    X, y = miscalibrated
    path, names = tmp_path / "rows.csv", ",".join([*(f"v{k}" for k in range(31)), "y"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=names, comments="")
    said = run("auc", path, "--target", "y", "--C", "1000").stdout
    assert "Verdict: trust (no check speaks against this AUC)." in said
    assert "note: the predicted probabilities are too extreme (calibration slope 0." in said
    assert "probabilities are" not in run("auc", path, "--target", "y", "--model", "ridge").stdout


@pytest.mark.slow
def test_right_probabilities_are_not_accused_more_often_than_the_level_says():
    """Of 60 samples in which the model is right, an interval of 95 % excludes 1 in a few."""
    accused = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 2))
        y = rng.random(200) < 1 / (1 + np.exp(-X @ [1.0, -0.5]))
        accused += bool(fl.analyse(LogisticRegression(C=1e4).fit(X, y), X, y).calibration.doubts())
    assert accused <= 6


def test_a_slope_that_is_certain_but_near_1_does_no_harm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 90))
    y = rng.random(3000) < 1 / (1 + np.exp(-1.5 * X[:, 0]))
    calibration = fl.analyse(LogisticRegression(C=1e4).fit(X, y), X, y).calibration
    assert 0.85 < calibration.slope.mean < calibration.slope.interval()[1] < 1
    assert calibration.doubts() == ()


def test_classes_with_parts_far_from_the_border_have_the_slope_of_the_regression():
    """Virginica against the rest of iris: setosa is far away, which says nothing of the border; refits say 2.8."""
    X, y = load_iris(return_X_y=True)
    slope = fl.analyse(LogisticRegression(**TIGHT).fit(X, y == 2), X, y == 2).calibration.slope
    near = fl.analyse(LogisticRegression(**TIGHT).fit(X[50:], y[50:] == 2), X[50:], y[50:] == 2).calibration.slope
    assert slope.mean == pytest.approx(near.mean, rel=0.15)
    assert slope.interval(0.95)[0] < 2.8 < slope.interval(0.95)[1]


def test_classes_without_spread_have_a_slope_that_can_be_read():
    """A column that is the label: the spread within the classes is rounding, and the slope was 10^16."""
    y = np.arange(20) % 2
    slope = fl.analyse(LogisticRegression().fit(y[:, None], y), y[:, None], y).calibration.slope
    low, high = slope.interval(0.9)
    assert 1 < low < slope.mean < high < 100


def test_constant_probabilities_have_finite_figures():
    """One half for everybody, but for rounding: the slope is anything, and says so in numbers."""
    X, y = drawn()
    a = fl.analyse(LogisticRegression(C=1e-300).fit(X, y), X, y, method="refit")
    low, high = a.calibration.slope.interval(0.9)
    assert np.all(np.isfinite([a.calibration.slope.mean, low, high, *a.calibration.ici.interval(0.9)]))
    assert low < 1 < high


def test_nobody_expected_has_no_ratio():
    """Probabilities of 0 throughout: observed over expected is infinite in the sample, and the table has a dash."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 1)), np.arange(40) % 2
    model = LogisticRegression().fit(X, y)
    model.intercept_ -= 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        v = fl.validate(model, X, y, method="refit")
    assert v["observed/expected"].apparent == np.inf
    assert "observed/expected                - " in str(v)
