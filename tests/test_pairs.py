"""Means over all pairs: sorted and binned sums against every pair, and samples against complete answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

import foldless as fl
from foldless.honest import pairs as pairs_module
from foldless.honest.pairs import Pairs, PairSample, Sample, in_doubt, influential, ordered


def scores_of(seed, n1=300, n0=500, levels=None):
    """Scores of two classes, on a few levels if asked for."""
    rng = np.random.default_rng(seed)
    s1, s0 = rng.standard_t(3, n1) + 0.8, rng.exponential(size=n0) - 0.5
    return (s1, s0) if levels is None else (np.round(s1 * levels) / levels, np.round(s0 * levels) / levels)


@pytest.mark.parametrize("levels", [None, 2])
def test_sorted_ranks_are_those_of_every_pair(levels):
    """Sorting gives the shares of ordered pairs exactly, ties counted half."""
    s1, s0 = scores_of(0, levels=levels)
    whole, quick = Pairs(s1, s0, s1[:, None] - s0).ranks(), Pairs(s1, s0).ranks()
    np.testing.assert_allclose(quick.by_row1, whole.by_row1, atol=1e-14)
    np.testing.assert_allclose(quick.by_row0, whole.by_row0, atol=1e-14)
    assert quick.mean == pytest.approx(whole.mean, abs=1e-14)


def coupled(seed, n1=60, n0=80):
    """Scores and differences with a part that only the pair knows."""
    rng = np.random.default_rng(seed)
    s1, s0 = rng.normal(size=n1) + 0.5, rng.normal(size=n0)
    return s1, s0, s1[:, None] - s0 + 0.1 * np.outer(rng.normal(size=n1), rng.normal(size=n0))


def test_a_sample_of_all_rows_corrects_everything():
    """With every row in the sample the control variate gives the mean over all pairs back, and all margins."""
    s1, s0, diff = coupled(2)
    shares = np.full(s1.size, 1 / s1.size), np.full(s0.size, 1 / s0.size)
    sample = PairSample(diff, np.arange(s1.size), np.arange(s0.size), *shares, s1, s0)
    pairs = Pairs(s1, s0, sample=sample)
    assert pairs.ranks().mean == pytest.approx(ordered(diff).mean(), abs=1e-12)
    np.testing.assert_allclose(pairs.margins[0], diff.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(pairs.margins[1], diff.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("out1", [1.5, 9.0], ids=["both classes", "one class"])
def test_the_share_without_some_rows_is_that_of_the_others(out1):
    """Leaving rows out of the pairs is the same as never having had them; all but so where pairs were sampled."""
    s1, s0, diff = coupled(3)
    keep1, keep0 = s1 < out1, s0 > -1.5
    left = ordered(diff[np.ix_(keep1, keep0)]).mean()
    assert Pairs.of_differences(diff).share_without(~keep1, ~keep0) == pytest.approx(left, abs=1e-14)
    additive = ordered(s1[keep1, None] - s0[keep0]).mean()
    assert Pairs(s1, s0).share_without(~keep1, ~keep0) == pytest.approx(additive, abs=1e-14)
    whole = PairSample(diff, np.arange(60), np.arange(80), np.full(60, 1 / 60), np.full(80, 1 / 80), s1, s0)
    assert Pairs(s1, s0, sample=whole).share_without(~keep1, ~keep0) == pytest.approx(left, abs=1e-3)


# ---- The sample


def test_shares_of_a_class_sum_to_one_and_certain_rows_stand_for_themselves():
    positive = np.arange(1000) % 4 == 0
    sample = Sample.of(positive, pairs_module.random_rows(positive, 50), np.array([0, 1, 2, 4]))
    for members, count in zip(sample.members, (250, 750), strict=True):
        assert members.share.sum() == pytest.approx(1.0)
        certain = sample.certain[members.rows]
        np.testing.assert_allclose(members.share[certain], 1 / count)
    place1, place0 = sample.places(positive)
    np.testing.assert_array_equal(np.flatnonzero(positive)[place1], sample.rows[sample.positive])
    np.testing.assert_array_equal(np.flatnonzero(~positive)[place0], sample.rows[~sample.positive])


def test_sums_that_are_products_are_scaled_up_exactly():
    """Where squared influences are exposure times impact, the ratio estimator has no error."""
    rng = np.random.default_rng(0)
    positive, exposure, impact = np.arange(400) % 2 == 0, rng.exponential(size=400), rng.exponential(size=400)
    sample = Sample.of(positive, pairs_module.random_rows(positive, 40), np.array([3, 8]))
    ratios = sample.ratios(positive, exposure, impact)
    first, second = sample.members
    i, j = sample.rows[first.rows], sample.rows[second.rows]
    estimate = (first.count * first.share @ exposure[i]) * (second.count * second.share @ impact[j])
    assert ratios[0, 1] * estimate == pytest.approx(exposure[positive].sum() * impact[~positive].sum())


def test_rows_of_great_influence_and_rows_in_doubt_are_found():
    weight = np.ones(2000)
    weight[[7, 90]] = 500.0
    weight[5] = 15.0  # less than one in a hundred of the whole
    assert set(influential(weight, np.ones(2000))) == {7, 90}
    positive = np.arange(100) < 50
    scores = np.where(positive, 10.0, 0.0) + np.linspace(0, 1, 100)
    scores[[3, 70]] = 0.95, 9.0
    assert {3, 70} <= set(in_doubt(scores, positive, 10))
    assert in_doubt(np.zeros(100) + np.arange(100) % 7, positive, 5).size == 0


# ---- The answers


def data(n, p, positives=0.5, kind="normal", seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positives).astype(int)
    if kind == "binary":
        return (rng.random((n, p)) < 0.3 + 0.2 * y[:, None]).astype(float), y
    X = rng.standard_t(1.5, size=(n, p)) if kind == "heavy" else rng.normal(size=(n, p))
    X[:, 0] += {"separable": 4.6}.get(kind, 1.0) * y
    return X, y


MODELS = {
    "logistic": LogisticRegression(),
    "weak": LogisticRegression(C=100, max_iter=1000),
    "ridge": RidgeClassifier(),
    "squared hinge": LinearSVC(C=0.01),
    "discriminant": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
}
CASES = [(name, "normal", 0.5, 8) for name in MODELS]
CASES += [("logistic", kind, 0.5, 8) for kind in ("binary", "heavy", "separable")]
CASES += [("logistic", "normal", 0.04, 8), ("ridge", "heavy", 0.3, 8), ("logistic", "normal", 0.5, 300)]


@pytest.mark.parametrize(("name", "kind", "positives", "columns"), CASES)
def test_a_sample_of_pairs_gives_the_answer_of_all_pairs(monkeypatch, name, kind, positives, columns):
    """Mean and both ends within a tenth of the posterior's sd: the sample says no more than a control variate may."""
    X, y = data(900, columns, positives, kind)
    model = MODELS[name].fit(X, y)
    monkeypatch.setattr(pairs_module, "LEAST", 10_000)
    monkeypatch.setattr(pairs_module, "MOST", 10_000)
    whole, rates = fl.auc_posterior(model, X, y), fl.error_posterior(model, X, y)
    monkeypatch.setattr(pairs_module, "LEAST", 150)
    monkeypatch.setattr(pairs_module, "MOST", 150)
    sampled, sampled_rates = fl.auc_posterior(model, X, y), fl.error_posterior(model, X, y)
    assert abs(sampled.mean - whole.mean) < 0.1 * whole.sd
    np.testing.assert_allclose(sampled.interval(), whole.interval(), atol=0.1 * whole.sd)
    for name in ("sensitivity", "specificity"):
        rate, exact = getattr(sampled_rates, name), getattr(rates, name)
        assert rate.mean == pytest.approx(exact.mean, abs=0.1 * exact.sd)


def test_every_row_counts():
    """The width of the interval falls with the root of the number of rows, through what used to be a limit."""
    scaled = []
    for n in (1000, 4500, 20_000):
        X, y = data(n, 10)
        low, high = fl.auc_posterior(LogisticRegression().fit(X, y), X, y).interval(0.9)
        scaled.append((high - low) * np.sqrt(n))
    assert max(scaled) / min(scaled) < 1.1
