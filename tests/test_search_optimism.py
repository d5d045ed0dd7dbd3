"""How much the best of many candidates is flattered: formulas where there are some, and shuffled labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from foldless.search.candidates import JointAUC

INDEPENDENT = np.eye(5)


def test_optimism_of_equal_independent_candidates_is_the_mean_of_the_largest_normal():
    """E max of 5 standard normals is 1.16296 (tables of normal order statistics)."""
    joint = JointAUC(np.full(5, 0.7), np.full(5, 0.02), INDEPENDENT)
    assert joint.optimism() == pytest.approx(0.02 * 1.16296, rel=0.03)


def test_optimism_vanishes_without_choice_or_without_doubt():
    """One candidate, one clear winner, or candidates that err alike."""
    sd = np.full(5, 0.02)
    assert JointAUC(np.array([0.7]), sd[:1], np.ones((1, 5))).optimism() == 0.0
    assert JointAUC(np.linspace(0.1, 0.9, 5), sd, INDEPENDENT).optimism() == pytest.approx(0.0, abs=1e-9)
    assert JointAUC(np.full(5, 0.7), sd, np.ones((5, 5))).optimism() == pytest.approx(0.0, abs=1e-9)


def test_probability_of_being_better():
    """Two independent candidates: Phi(gap / sqrt(2) sd); correlation sharpens the comparison."""
    joint = JointAUC(np.array([0.8, 0.78]), np.full(2, 0.02), np.eye(2))
    assert joint.prob_better(0) == pytest.approx([0.5, 0.76025], abs=1e-5)
    together = JointAUC(joint.mean, joint.sd, np.array([[1.0, 0.0], [0.8, 0.6]]))
    assert together.prob_better(0)[1] == pytest.approx(0.94308, abs=1e-5)
    same = JointAUC(joint.mean, joint.sd, np.ones((2, 3)))
    assert same.prob_better(0)[1] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "grid", "rows", "columns"),
    [
        (LogisticRegression(), {"C": np.logspace(-3, 3, 10)}, 60, 20),
        (LogisticRegression(), {"C": np.logspace(-3, 3, 10)}, 50, 300),
        (RidgeClassifier(), {"alpha": np.logspace(-2, 5, 10)}, 60, 60),
    ],
    ids=["tall", "wide", "square"],
)
def test_optimism_on_shuffled_labels(estimator, grid, rows, columns):
    """No candidate is any good: the largest mean exceeds that of a candidate fixed beforehand by about optimism_."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((rows, columns))
    largest, fixed, claimed = [], [], []
    for _ in range(60):
        search = fl.FoldlessSearch(estimator, grid).fit(X, rng.permutation(np.arange(rows) % 2))
        assert search.path_ == "shared"
        largest.append(search.best_score_)
        fixed.append(search.results_["mean"])
        claimed.append(search.optimism_)
    real = np.mean(largest) - np.mean(fixed)
    assert real > 0.005
    assert 0.75 * real < np.mean(claimed) < 2.0 * real
