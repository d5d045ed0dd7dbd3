"""A class of few rows: no signal in noise, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from data import noise

FAMILIES = {"logistic": LogisticRegression(), "ridge": RidgeClassifier(), "lda": LinearDiscriminantAnalysis()}


@pytest.mark.slow
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
