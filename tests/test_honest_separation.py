"""The estimated separation: binormal for normal scores, ranks for others, and the variance of both."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kurtosis

from foldless.honest.pairs import Pairs
from foldless.honest.statistic import separation, statistic_of_scores


def differences(positive, negative):
    return positive[:, None] - negative


def spread(positive, negative):
    return float(np.sqrt((positive.var(ddof=1) + negative.var(ddof=1)) / 2))


def auc(dhat):
    return float(ndtr(dhat / np.sqrt(2)))


@pytest.mark.parametrize("distance", [0.0, 0.8, 2.3])
def test_normal_scores_give_the_normal_separation(distance):
    """No bias beyond that of any ratio of a mean to a spread, and less noise than ranks have."""
    rng = np.random.default_rng(0)
    smooth, ranks = [], []
    for _ in range(400):
        a, b = rng.standard_normal(40) + distance, rng.standard_normal(40)
        diff = differences(a, b)
        smooth.append(auc(separation(Pairs.of_differences(diff), spread(a, b))))
        ranks.append(np.mean(diff > 0))
    truth = ndtr(distance / np.sqrt(2))
    assert abs(np.mean(smooth) - truth) < 0.012
    assert np.mean(np.abs(np.array(smooth) - truth)) < np.mean(np.abs(np.array(ranks) - truth)) + 1e-3


@pytest.mark.parametrize("n", [500, 1500])
def test_many_scores_of_another_shape_give_their_ranks(n):
    """Two-point mixtures: a normal curve through them is wrong by 0.03 and more, the answer is not."""
    rng = np.random.default_rng(1)
    a = np.where(rng.random(n) < 0.8, 1.0, -6.0) + 0.3 * rng.standard_normal(n)
    b = 0.3 * rng.standard_normal(n)
    diff = differences(a, b)
    binormal = ndtr(diff.mean() / (np.sqrt(2) * spread(a, b)))
    assert abs(binormal - np.mean(diff > 0)) > 0.03
    assert auc(separation(Pairs.of_differences(diff), spread(a, b))) == pytest.approx(
        float(np.mean(diff > 0)), abs=0.01
    )


def test_units_and_sign():
    """Other units change nothing; swapping the classes changes the sign."""
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal(12) ** 3 + 1, rng.standard_normal(20)
    dhat = separation(Pairs.of_differences(differences(a, b)), spread(a, b))
    assert separation(Pairs.of_differences(1e6 * differences(a, b)), 1e6 * spread(a, b)) == pytest.approx(
        dhat, rel=1e-9
    )
    assert separation(Pairs.of_differences(differences(b, a)), spread(b, a)) == pytest.approx(-dhat, rel=1e-9)


def test_ties_count_half():
    """All scores of one class among those of the other, evenly: 0."""
    a = b = np.repeat([0.0, 1.0], 10)
    assert separation(Pairs.of_differences(differences(a, b)), spread(a, b)) == pytest.approx(0.0, abs=1e-12)


def test_variance_written_out():
    """V(delta) of held-out scores, from its formula with scipy's kurtosis."""
    rng = np.random.default_rng(3)
    z = np.r_[rng.standard_t(2, 25) + 1.0, rng.standard_normal(15)]
    positive = np.arange(40) < 25
    statistic = statistic_of_scores(z, positive)
    v1, v0 = z[positive].var(ddof=1), z[~positive].var(ddof=1)
    s1, s0 = 2 * v1 / (v1 + v0), 2 * v0 / (v1 + v0)
    shape = (kurtosis(z[positive], fisher=False) + kurtosis(z[~positive], fisher=False)) / 2
    k = np.clip((shape - 1) / 2, 1, 3)
    assert k > 1
    wanted = (1 + 1 / 25 + 1 / 15) * (s1 / 25 + s0 / 15) + k * 1.7**2 / 8 * (s1**2 / 24 + s0**2 / 14)
    assert statistic.variance(np.array(1.7)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("distance", [0.0, 1.2, 2.3])
def test_variance_is_the_spread_of_the_estimate(distance):
    """Over many samples of 40 + 40 normal scores, the estimate varies as V says."""
    rng = np.random.default_rng(4)
    positive = np.arange(80) < 40
    found = [statistic_of_scores(rng.standard_normal(80) + distance * positive, positive) for _ in range(600)]
    claimed = np.mean([s.variance(np.array(distance)) for s in found])
    assert np.var([s.estimate for s in found]) == pytest.approx(claimed, rel=0.2)


def test_scores_that_hardly_vary_within_the_classes():
    """A label among the columns: differences over a vanishing spread overflowed in a check of outliers."""
    diff = np.random.default_rng(0).uniform(1.0, 1.0 + 1e-9, size=(20, 20))
    assert separation(Pairs.of_differences(diff), np.finfo(float).tiny) > 7
