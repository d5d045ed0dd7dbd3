"""The statistic from ranks alone: its formula written out anew, what it is worth, and that no scale matters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import foldless as fl
from data import alternating
from foldless.honest import normal_scale, rates
from foldless.honest.class_statistic import HeldOutRows, average
from foldless.honest.normal_scale import NormalScale
from foldless.honest.pairs import Pairs
from foldless.honest.statistic import (
    Placements,
    SeparationStatistic,
    normal_clumpiness,
    statistic_of_placements,
    statistic_of_scores,
)

INCREASING = {
    "exp": np.exp,
    "cube": lambda z: z**3,
    "arctan": np.arctan,
    "units": lambda z: 1e9 * z - 3e9,
    "ranks": lambda z: np.unique(z, return_inverse=True)[1].astype(float),
}


def scores(n1=25, n0=15, shift=1.0, seed=3):
    rng = np.random.default_rng(seed)
    positive = np.arange(n1 + n0) < n1
    return rng.standard_t(3, n1 + n0) + shift * positive, positive


# ---- no scale


@pytest.mark.parametrize("name", INCREASING)
@pytest.mark.parametrize("shift", [0.0, 1.0, 12.0], ids=["chance", "some", "in order"])
def test_an_increasing_function_of_the_scores_changes_nothing(name, shift):
    z, positive = scores(shift=shift)
    one, other = (fl.auc_posterior_from_scores(positive, f(z)) for f in (lambda z: z, INCREASING[name]))
    assert one.mean == pytest.approx(other.mean, abs=1e-12)
    assert one.interval() == pytest.approx(other.interval(), abs=1e-12)


@pytest.mark.parametrize("model", [LogisticRegression(), LinearDiscriminantAnalysis()], ids=lambda m: type(m).__name__)
def test_probabilities_and_decision_values_have_one_answer(model):
    X, y = alternating(120, 5, shift=0.6, seed=1)
    model.fit(X[:60], y[:60])
    by_value = fl.auc_posterior_from_scores(y[60:], model.decision_function(X[60:]))
    by_share = fl.auc_posterior_from_scores(y[60:], model.predict_proba(X[60:])[:, 1])
    assert by_value.mean == pytest.approx(by_share.mean, abs=1e-12)
    assert by_value.interval() == pytest.approx(by_share.interval(), abs=1e-12)


def test_several_classes_have_no_scale_either():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    z = rng.normal(size=(90, 3)) + np.eye(3)[y]
    one, other = fl.auc_posterior_from_scores(y, z), fl.auc_posterior_from_scores(y, np.exp(3 * z))
    assert one.mean == pytest.approx(other.mean, abs=1e-12)


@pytest.mark.parametrize("name", INCREASING)
@pytest.mark.parametrize("threshold", [-40.0, 0.3, 40.0])
def test_error_rates_follow_scores_and_threshold(name, threshold):
    if name == "ranks":
        pytest.skip("ranks of the scores say nothing about a threshold between them")
    z, positive = scores()
    one, other = (
        rates.effects_at(NormalScale.of(f(z[~positive]), f(z[positive])), (None, None), 0.2, float(f(threshold)))
        for f in (lambda z: z, INCREASING[name])
    )
    assert one == other


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.5])
def test_the_normal_scale_finds_the_ratio_of_spreads(ratio):
    """Skewed by exp, as normal scores had them: means as the AUC says, and the spread of the positive class."""
    rng = np.random.default_rng(0)
    negative, positive = rng.normal(size=3000), 1.5 + ratio * rng.normal(size=3000)
    found = NormalScale.of(np.exp(negative), np.exp(positive)).classes
    assert found[0].mean() == pytest.approx(0, abs=0.08)
    assert found[0].std() == pytest.approx(1, abs=0.08)
    assert found[1].mean() == pytest.approx(1.5, abs=0.12)
    assert found[1].std() == pytest.approx(ratio, rel=0.1)


def test_ties_count_half():
    z = np.tile([0.0, 1.0], 10)
    statistic = statistic_of_scores(z, np.arange(20) < 10)
    assert statistic.auc == statistic.pair_auc == 0.5
    assert statistic.estimate == pytest.approx(0.0, abs=1e-12)


# ---- the formula


def clumpiness_by_quadrature(auc, part=0.5):
    """Var(Phi(s Z + d)) / (A (1 - A)) for the placement of a positive row with normal score s Z + d."""
    s = np.sqrt(part / (1 - part))
    d = np.sqrt(1 + s**2) * ndtri(auc)
    second = quad(lambda z: norm.cdf(s * z + d) ** 2 * norm.pdf(z), -9, 9)[0]
    return (second - auc**2) / (auc * (1 - auc))


@pytest.mark.parametrize("auc", [0.5, 0.7, 0.95, 0.998])
@pytest.mark.parametrize("part", [0.5, 0.2, 0.8])
def test_clumpiness_of_normal_classes(auc, part):
    assert normal_clumpiness(auc, part) == pytest.approx(clumpiness_by_quadrature(auc, part), abs=1e-6)


def test_the_spreads_of_the_classes_show_in_their_ranks():
    """Positive rows with twice the spread of the negative ones carry four fifths of the variance."""
    rng = np.random.default_rng(1)
    found = NormalScale.of(np.exp(rng.normal(size=3000)), np.exp(1.0 + 2.0 * rng.normal(size=3000))).spreads
    assert found == pytest.approx((0.8, 0.2), abs=0.02)


def test_clumpiness_at_chance_is_a_third():
    assert normal_clumpiness(0.5) == pytest.approx(1 / 3)


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_the_number_of_comparisons_written_out(rho):
    z, positive = scores()
    n1, n0 = 25, 15
    wins = (z[positive][:, None] > z[~positive]).astype(float)
    v1, v0, A = wins.mean(axis=1), wins.mean(axis=0), wins.mean()
    r = 1 + rho
    rows = 2 / (1 / n1 + 1 / n0) / r
    guess = 0.75 * clumpiness_by_quadrature((A * rows + 0.5) / (rows + 1)) + 0.25 / 3
    K = [np.sum(1 - v) ** 2 / np.sum((1 - v) ** 2) for v in (v1, v0)]
    seen = [v.var(ddof=1) / (A * (1 - A)) for v in (v1, v0)]
    expected = [guess + (1 - 2 * guess) / n for n in (n0, n1)]
    k = [(a * b + 10 * c) / (a + 10) for a, b, c in zip(K, seen, expected, strict=True)]
    total = k[0] / n1 + k[1] / n0
    rest = (1 - k[0] - k[1]) / (1 - 1 / n1 - 1 / n0)
    inverse = (total - rest / (n1 * n0)) * r * (1 + rho * r * (1 / n1 + 1 / n0))
    df = total**2 / sum((a / n) ** 2 / (9 + b / r) for a, b, n in zip(k, K, (n1, n0), strict=True))
    found = statistic_of_placements(Placements((v1, v0), (1.0, 1.0)), A, rho)
    assert found.trials == pytest.approx(1 / inverse, rel=1e-6)
    assert found.df == pytest.approx(df, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("distance", [0.0, 1.2, 2.3])
def test_the_comparisons_are_worth_what_repeated_samples_show(distance):
    """Over many samples of 40 + 40 normal scores, the share of ordered pairs varies as A (1 - A) / m."""
    rng = np.random.default_rng(4)
    positive = np.arange(80) < 40
    found = [statistic_of_scores(rng.standard_normal(80) + distance * positive, positive) for _ in range(600)]
    claimed = np.mean([s.auc * (1 - s.auc) / s.trials for s in found])
    assert np.var([s.auc for s in found]) == pytest.approx(claimed, rel=0.2)


def test_deviance_is_that_of_a_proportion():
    """2 m KL, its signed root, and A^m where all pairs are in order."""
    statistic = SeparationStatistic(0.8, 50.0, 20.0, 0.0, 30, 30, 0.8)
    A = ndtr(1.3 / np.sqrt(2))
    wanted = 100 * (0.8 * np.log(0.8 / A) + 0.2 * np.log(0.2 / (1 - A)))
    assert statistic.deviance(np.array(1.3)) == pytest.approx(wanted, rel=1e-12)
    distance = statistic.distance(np.array([0.5, statistic.estimate, 2.0]))
    assert distance[0] > 0 > distance[2]
    assert distance[1] == pytest.approx(0, abs=1e-6)
    perfect = SeparationStatistic(1.0, 50.0, 20.0, 0.0, 30, 30, 1.0)
    assert perfect.deviance(np.array(1.3)) == pytest.approx(-100 * np.log(A), rel=1e-12)


def test_two_rows_that_agree_by_chance_are_not_believed():
    """Two positive rows with the same placement: what they do not show is supplied by the guess."""
    few = statistic_of_scores(np.r_[2.0, 2.1, np.linspace(-2, 2.2, 98)], np.arange(100) < 2)
    many = statistic_of_scores(np.r_[np.linspace(1.9, 2.1, 50), np.linspace(-2, 2.2, 98)], np.arange(148) < 50)
    assert few.trials < many.trials / 5


# ---- smoothing


def smoothed_and_counted(draw, auc, samples=400):
    """Errors of both estimates over repeated samples."""
    found = np.empty((samples, 2))
    for k in range(samples):
        positive, negative = draw(np.random.default_rng(k))
        ranks = Pairs(positive, negative).ranks()
        found[k] = normal_scale.smoothed_auc(NormalScale.of(negative, positive), ranks), ranks.mean
    return found - auc


@pytest.mark.slow
@pytest.mark.parametrize(("distance", "share"), [(0.0, 0.99), (2.0, 1.02)], ids=["chance", "well apart"])
def test_smoothing_lowers_the_error_at_chance_and_hardly_raises_it_elsewhere(distance, share):
    auc = ndtr(distance / np.sqrt(2))
    draw = lambda rng: (np.exp(distance + rng.normal(size=40)), np.exp(rng.normal(size=70)))  # noqa: E731
    errors = smoothed_and_counted(draw, auc)
    smoothed, counted = np.square(errors).mean(axis=0)
    assert smoothed < share * counted
    assert abs(errors[:, 0].mean() - errors[:, 1].mean()) < 0.002


def test_where_no_scale_is_normal_pairs_are_counted():
    """Half of the positive rows lie below all negative ones, half above: the AUC is 1/2, and no normal law says so."""

    def draw(rng):
        side = np.where(np.arange(300) % 2, 4.0, -4.0)
        return side + rng.uniform(-1, 1, 300), np.where(np.arange(900) % 3 > 0, 2.0, -6.0) + rng.uniform(-1, 1, 900)

    errors = smoothed_and_counted(draw, (0.5 * 1 / 3 + 0.5 * 1), samples=20)
    assert np.abs(errors[:, 0] - errors[:, 1]).max() < 0.005


def test_effects_of_scores_are_derivatives():
    """One score, given a little more weight than the others, moves the AUC of normal classes by its effect."""
    first, second = 1.3 + 0.7 * np.random.default_rng(0).normal(size=30), np.random.default_rng(1).normal(size=20)
    auc, *effects = normal_scale._normal_auc(second, first)
    spread = first.var(ddof=1) + second.var(ddof=1)
    assert auc == pytest.approx(ndtr((first.mean() - second.mean()) / np.sqrt(spread)))
    eps = 1e-6
    for k, (scores, effect) in enumerate(zip((first, second), effects[::-1], strict=True)):
        off = scores[3] - scores.mean()
        mean, variance = scores.mean() + eps * off, scores.var(ddof=1) * (1 - eps) + eps * off**2
        m, v = [first.mean(), second.mean()], [first.var(ddof=1), second.var(ddof=1)]
        m[k], v[k] = mean, variance
        assert (ndtr((m[0] - m[1]) / np.sqrt(sum(v))) - auc) / eps == pytest.approx(effect[3], rel=1e-4)


# ---- groups and several classes


def test_copies_in_groups_are_worth_the_rows():
    z, positive = scores(60, 60)
    alone = statistic_of_scores(z, positive)
    groups = np.repeat(np.arange(120), 4)
    together = statistic_of_scores(np.repeat(z, 4), np.repeat(positive, 4), groups)
    copied = statistic_of_scores(np.repeat(z, 4), np.repeat(positive, 4))
    assert together.trials == pytest.approx(alone.trials, rel=0.1)
    assert copied.trials > 3 * together.trials
    assert (together.units1, together.units0) == (60, 60)


def test_groups_of_independent_rows_cost_little():
    z, positive = scores(200, 200)
    groups = np.random.default_rng(0).permutation(400) // 4
    ratio = statistic_of_scores(z, positive, groups).trials / statistic_of_scores(z, positive).trials
    assert 0.7 < ratio < 1.3


def test_groups_in_perfect_order_count_as_one_row_each():
    z, positive = scores(40, 40, shift=30.0)
    alone = statistic_of_scores(z[::4], positive[::4])
    together = statistic_of_scores(z, positive, np.arange(80) // 4)
    assert together.trials == pytest.approx(alone.trials, rel=0.35)


def test_two_classes_as_several_are_two_classes():
    """Both AUCs of two classes with opposite scores are the same AUC, and so is their average."""
    z, positive = scores(30, 30)
    source = HeldOutRows(np.column_stack([-z, z]), positive.astype(np.intp))
    both = average(source, [source.component(1, (1,), (0,)), source.component(0, (0,), (1,))])
    ranks = Pairs(z[positive], z[~positive]).ranks()
    one = statistic_of_placements(Placements.of(ranks), ranks.mean, 0.0)
    assert both.auc == pytest.approx(one.auc, abs=1e-12)
    assert both.trials == pytest.approx(one.trials, rel=1e-9)
    assert both.df == pytest.approx(one.df, rel=1e-9)


@pytest.mark.slow
def test_average_of_three_classes_is_worth_what_repeated_samples_show():
    rng, y = np.random.default_rng(1), np.repeat([0, 1, 2], 30)
    found = []
    for _ in range(300):
        source = HeldOutRows(rng.normal(size=(90, 3)) + 1.2 * np.eye(3)[y], y)
        found.append(average(source, [source.component(a, (a,), (b,)) for a in range(3) for b in range(3) if a != b]))
    claimed = np.mean([s.auc * (1 - s.auc) / s.trials for s in found])
    assert np.var([s.auc for s in found]) == pytest.approx(claimed, rel=0.3)


# ---- coverage


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["lognormal", "forest"])
def test_scores_of_other_shapes_are_covered(shape):
    """Skewed scores, and the steps of a small forest on fresh rows: 90 % intervals of 40 rows."""
    hits, rng, y = [], np.random.default_rng(5), np.arange(40) % 2
    if shape == "forest":
        X, t = alternating(4000, 4, shift=0.5, seed=1)
        forest = RandomForestClassifier(20, random_state=0).fit(X[:80], t[:80])
        pool, labels = forest.predict_proba(X[80:])[:, 1], t[80:]
        truth = float(fl.baselines.delong(labels, pool))
    for _ in range(300):
        if shape == "forest":
            at = np.concatenate([rng.choice(np.flatnonzero(labels == k), 20) for k in (0, 1)])
            z, which = pool[at], labels[at]
        else:
            z, which, truth = np.exp(rng.standard_normal(40) + 1.2 * y), y, ndtr(1.2 / np.sqrt(2))
        low, high = fl.auc_posterior_from_scores(which, z).interval(0.9)
        hits.append(low <= truth <= high)
    assert 0.85 < np.mean(hits) < 0.96
