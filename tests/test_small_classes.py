"""A class of few rows: no signal in noise, intervals that cover, and a spread that is not believed too early."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from data import noise
from foldless.honest.statistic import degrees_of_freedom, noise_in_mean, statistic_of_scores

FAMILIES = {"logistic": LogisticRegression(), "ridge": RidgeClassifier(), "lda": LinearDiscriminantAnalysis()}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("few", [2, 3, 5])
def test_few_rows_of_a_class_find_no_signal_in_noise(name, few):
    """Two rows train each other and agree by accident: 38 of 60 intervals lay above 0.5."""
    above = 0
    for seed in range(40):
        X, y = noise(few, 60, 5, seed)
        above += fl.auc_posterior(FAMILIES[name].fit(X, y), X, y).interval(0.95)[0] > 0.5
    assert above <= 4  # 1 is due


def test_few_rows_with_signal_are_covered():
    covered = []
    for seed in range(60):
        X, y = noise(4, 60, 5, seed)
        X += 0.9 * y[:, None]
        w = (model := LogisticRegression().fit(X, y)).coef_[0]
        low, high = fl.auc_posterior(model, X, y).interval(0.9)
        covered.append(low <= ndtr(0.9 * w.sum() / np.sqrt(2 * w @ w)) <= high)
    assert np.mean(covered) > 0.85


def test_few_groups_of_a_class_find_no_signal_in_noise():
    above = 0
    for seed in range(40):
        X, y = noise(9, 60, 5, seed)
        groups = np.r_[np.arange(9) // 3, 3 + np.arange(60) // 3]
        above += fl.auc_posterior(RidgeClassifier().fit(X, y), X, y, groups=groups).interval(0.95)[0] > 0.5
    assert above <= 4


def test_three_classes_one_of_them_small():
    above = 0
    for seed in range(40):
        y = np.repeat([0, 1, 2], (30, 30, 3))
        X = np.random.default_rng(seed).normal(size=(y.size, 6))
        post = fl.auc_posterior(LogisticRegression().fit(X, y), X, y)
        above += post.interval(0.95)[0] > 0.5
    assert above <= 4
    assert "the smallest class has 3 rows: the spread of its scores is a guess, and so is the interval." in post.notes


def test_classes_of_equal_size_are_as_before():
    """The corrections for unequal classes vanish for equal ones: 1 + 4 r/N and N - 2."""
    assert noise_in_mean(0.3, 20, 20) == pytest.approx((1 + 4 * 1.3 / 40) * 1.3)
    assert degrees_of_freedom(20, 20) == pytest.approx(38)
    assert degrees_of_freedom(2, 10**6) == pytest.approx(1, abs=1e-3)


def test_the_spread_of_a_small_class_is_believed_from_ten_rows_on():
    """Up to five rows it is at least that of the other class, in between part of it."""
    rng = np.random.default_rng(0)
    ratios = []
    for few in (5, 7, 10):
        z = np.r_[1 + 0.01 * rng.normal(size=few), rng.normal(size=40)]
        found = statistic_of_scores(z, np.arange(few + 40) < few)
        ratios.append(found.mean_variance / noise_in_mean(0.0, 40, few) * few)
    assert ratios[0] > 1
    assert 0.5 < ratios[1] < 1
    assert ratios[2] < 0.6


def test_equal_scores_of_a_small_class_are_believed_to_vary_in_groups_too():
    z, positive = np.r_[np.full(4, 1.0), np.random.default_rng(0).normal(size=30)], np.arange(34) < 4
    alone, each = statistic_of_scores(z, positive), statistic_of_scores(z, positive, np.arange(34))
    assert each.mean_variance == pytest.approx(alone.mean_variance, rel=0.25)
