"""The simulated classes of the paper: their exact AUC against draws, formulas and other code."""

from __future__ import annotations

import numpy as np
import pytest

import foldless as fl
from foldless_studies.paper import published
from foldless_studies.paper.cells import ATTEMPTS, PopulationCell, candidate, ones
from foldless_studies.paper.items import UNEQUAL, target_population
from foldless_studies.populations import LAWS, Population

DRAWS = 200_000
WEIGHTS = (np.ones(4), np.array([1.0, 0.2, -0.3, 0.8]), np.array([0.0, 0.0, 1.0, 0.0]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("w", WEIGHTS, ids=["equal", "mixed", "single"])
def test_truth_agrees_with_draws(law, w):
    population = Population("p", (1.0, 0.5, 0.8, 1.2), law=law)
    y = np.repeat([0, 1], DRAWS)
    z = population.rows(y, np.random.default_rng(0)) @ w
    share = np.mean(z[DRAWS:] > z[:DRAWS])
    (known,) = population.truth(w[:, None])
    assert abs(known.auc - share) < 4.5 * np.sqrt(share * (1 - share) / DRAWS)
    assert known.se == 0


def test_skewed_truth_agrees_with_partial_fractions():
    """The sum of Laplace variables of different scales is a mixture of them, with signed weights."""
    w, shift = np.array([1.0, 0.5, 0.25]), 0.7
    population = Population("p", (shift / w.sum(),) * 3, law="skew")
    squares = w**2
    parts = [np.prod([s / (s - other) for other in squares if other != s]) for s in squares]
    above = 1 - sum(part * 0.5 * np.exp(-shift / scale) for part, scale in zip(parts, w, strict=True))
    assert population.truth(w[:, None])[0].auc == pytest.approx(above, abs=1e-7)


@pytest.mark.parametrize("population", [UNEQUAL, ones(4), candidate("negative", 4), candidate("positive", 4)])
def test_normal_truth_is_that_of_the_baselines(population):
    w = np.array([0.3, -1.0, 2.0, 0.7])
    covariances = population.covariance(0), population.covariance(1)
    (known,) = population.truth(w[:, None])
    assert known.auc == pytest.approx(
        fl.baselines.true_auc(w, 0.0, np.array(population.shift), *covariances), abs=1e-12
    )
    best = fl.baselines.bayes_auc(0.0, np.array(population.shift), *covariances)
    assert population.bayes == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_weights_that_rank_nothing_have_one_half(law):
    assert Population("p", (1.0, 1.0), law=law).truth(np.zeros((2, 1)))[0].auc == pytest.approx(0.5)


@pytest.mark.parametrize("target", [0.55, 0.8, 0.99])
def test_figure_2_has_the_target_auc(target):
    assert target_population(target).bayes == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize("P", [4, 10])
def test_attempts_at_table_1_have_its_bayes_row_and_the_stated_one_has_not(P):
    for title, attempt in ATTEMPTS.items():
        bayes = candidate(attempt.kind, P).bayes
        if attempt.kind == "stated":
            assert abs(bayes - published.TABLE1_BAYES[P]) > 0.005
        else:
            assert bayes == pytest.approx(published.TABLE1_BAYES[P], abs=1e-9), title


def test_covariances_are_those_of_the_rows():
    X = UNEQUAL.rows(np.ones(DRAWS, dtype=np.int64), np.random.default_rng(1))
    np.testing.assert_allclose(X.mean(axis=0), UNEQUAL.shift, atol=0.02)
    np.testing.assert_allclose(np.cov(X.T), np.diag([0.25, 0.75, 1.25, 1.75]), atol=0.02)


def test_cells_share_rows_and_a_standardised_one_has_the_truth_of_its_columns():
    plain = PopulationCell((("N", 20),), UNEQUAL, 10, 10).draw(3, 5)
    shuffled = PopulationCell((("N", 20),), UNEQUAL, 10, 10, shuffled=True).draw(3, 5)
    scaled = PopulationCell((("N", 20),), UNEQUAL, 10, 10, standardised=True).draw(3, 5)
    np.testing.assert_array_equal(plain.X, shuffled.X)
    assert not np.array_equal(plain.y, shuffled.y)
    assert shuffled.y.sum() == plain.y.sum()
    assert shuffled.truth(np.ones((4, 1)))[0].auc == 0.5
    np.testing.assert_allclose(scaled.X.std(axis=0), 1.0)
    w = np.array([[1.0], [0.5], [-2.0], [0.3]])
    assert scaled.truth(w)[0].auc == pytest.approx(plain.truth(w / plain.X.std(axis=0)[:, None])[0].auc, abs=1e-12)
