"""`AUCPosterior`: the law of the AUC against full-dimensional draws, and what the object promises."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import pickle

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import kstest

import foldless as fl
from foldless.laws.effect import SQRT2, StudentEffect

EFFECTS = [
    StudentEffect(0.0, 0.3, 20), StudentEffect(1.2, 0.5, 4), StudentEffect(-2.0, 0.2, 60), StudentEffect(4.0, 0.7, 1),
    StudentEffect(0.8, 1e-3, 5000), StudentEffect(-9.0, 0.1, 3), StudentEffect(1.0, 0.3, np.inf),
]  # fmt: skip


def posterior(effect, **more):
    return fl.AUCPosterior.from_effect(effect, "in-sample", 20, 22, **more)


@pytest.fixture(scope="module")
def post(common):
    with pytest.warns(fl.OptimismWarning):
        return fl.auc_posterior(common.w, common.X, common.y, method="in-sample")


def test_law_agrees_with_the_full_posterior(common, post, matches_draws):
    """Mean, sd, interval, cdf and quantiles agree with 200,000 draws of (Sigma, mu0, mu1) in 3 dimensions."""
    draws = ndtr(common.delta / SQRT2)
    matches_draws(post, draws)
    matches_draws(post, draws, level=0.99)
    q = np.array([0.01, 0.1, 0.5, 0.8, 0.99])
    error = 4.5 * np.sqrt(q * (1 - q) / draws.size)
    assert np.all(np.abs([np.mean(draws <= a) for a in post.ppf(q)] - q) < error)
    assert np.all(np.abs(post.cdf(np.quantile(draws, q)) - q) < error)
    assert post.prob_above(0.6) == pytest.approx(np.mean(draws > 0.6), abs=4.5 * 0.5 / np.sqrt(draws.size))


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_cdf_is_a_cdf(effect):
    """0 at and below 0, 1 at and above 1, never decreasing, within [0, 1]; prob_above is its complement."""
    p = posterior(effect)
    a = np.r_[-1.0, 0.0, np.geomspace(1e-300, 1e-3, 50), np.linspace(0.001, 0.999, 500), 1 - 1e-16, 1.0, 7.0]
    values = p.cdf(a)
    assert values[0] == values[1] == 0
    assert values[-1] == values[-2] == 1
    assert values.min() >= 0
    assert values.max() <= 1, f"cdf exceeds 1 by {values.max() - 1}"
    assert np.diff(values).min() > -1e-14
    assert p.prob_above(0.5) == pytest.approx(1 - p.cdf(0.5), abs=1e-14)
    assert all(0 <= p.prob_above(v) <= 1 for v in a)


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_pdf_is_the_derivative_of_cdf(effect):
    """Between any two representable quantiles the density integrates to the probability between them, to 1e-8."""
    p = posterior(effect)
    a = p.ppf([0.001, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999])
    a = a[(a > 1e-9) & (a < 1 - 1e-9)]
    for low, high in itertools.pairwise(a):
        assert quad(p.pdf, low, high, epsabs=1e-11)[0] == pytest.approx(p.cdf(high) - p.cdf(low), abs=1e-8)


@pytest.mark.parametrize("effect", [EFFECTS[i] for i in (0, 1, 4, 6)], ids=str)
def test_pdf_integrates_to_one_and_gives_the_mean(effect):
    """The density integrates to 1, and a pdf(a) to the closed-form mean, to 1e-7."""
    p = posterior(effect)
    ends = [0.0, *p.ppf([1e-9, 1e-4, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-4, 1 - 1e-9])]
    pairs = list(itertools.pairwise(ends))
    assert sum(quad(p.pdf, a, b, epsabs=1e-11)[0] for a, b in pairs) == pytest.approx(1, abs=1e-7)
    assert sum(quad(lambda a: a * p.pdf(a), a, b, epsabs=1e-11)[0] for a, b in pairs) == pytest.approx(p.mean, abs=1e-7)


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_sample_follows_the_cdf(effect):
    """20,000 draws pass a Kolmogorov-Smirnov test against the cdf (p > 1e-4; the seed is fixed)."""
    p = posterior(effect)
    draws = p.sample(20_000, 5)
    assert kstest(draws, p.cdf).pvalue > 1e-4
    assert p.sample((2, 3), np.random.default_rng(0)).shape == (2, 3)
    assert np.isscalar(p.sample(rng=1))
    np.testing.assert_array_equal(p.sample(5, 9), p.sample(5, 9))


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_ppf_inverts_cdf(effect):
    """cdf(ppf(q)) = q wherever the AUC is representable, and the ends are 0 and 1."""
    p = posterior(effect)
    q = np.array([0.01, 0.3, 0.5, 0.9, 0.99])
    a = p.ppf(q)
    inside = (a > 1e-12) & (a < 1 - 1e-6)
    np.testing.assert_allclose(p.cdf(a)[inside], q[inside], atol=1e-7)
    np.testing.assert_array_equal(p.ppf([0, 1]), [0, 1])
    low, high = p.interval(0.8)
    assert low <= p.median <= high


def test_extreme_auc():
    """AUC near 0 and near 1 (loc from -1e8 to 1e8): numbers in [0, 1], interval around the median, no warning."""
    for loc in (-1e8, -50.0, -6.0, 6.0, 50.0, 1e8):
        p = posterior(StudentEffect(loc, 0.4, 8))
        values = [p.mean, p.sd, *p.interval(), p.median, p.prob_above(0.5), float(p.pdf(0.5))]
        assert np.all(np.isfinite(values))
        assert (p.mean > 0.97) if loc > 0 else (p.mean < 0.03)
        json.dumps(p.summary(), allow_nan=False)
        repr(p)


def test_small_probabilities_keep_their_digits():
    """prob_above far in the upper tail is a small positive number, as exact as the cdf of the mirrored classifier."""
    p, mirrored = posterior(StudentEffect(-6.0, 0.5, 400)), posterior(StudentEffect(6.0, 0.5, 400))
    expected = float(mirrored.cdf(0.5))
    assert 0 < expected < 1e-20
    assert p.prob_above(0.5) == pytest.approx(expected, rel=1e-3, abs=0)


def test_pdf_at_the_ends():
    """At 0 and 1 the density is its limit: 0 for a concentrated law, infinite where the tail is wider than Phi's."""
    assert posterior(StudentEffect(1.0, 0.3, 30)).pdf([0, 1]).tolist() == [0, 0]
    assert posterior(StudentEffect(8.0, 0.3, 4)).pdf([0, 1]).tolist() == [0, np.inf]
    assert posterior(StudentEffect(-8.0, 0.3, 4)).pdf([0, 1]).tolist() == [np.inf, 0]


def test_pickle_and_copy(post):
    """Pickled and deep-copied posteriors answer the same and compare equal, details included."""
    rich = posterior(StudentEffect(1.0, 0.3, 9), notes=("note",), details={"noise_share": 0.1})
    for p in (post, rich):
        for q in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p), copy.copy(p)):
            assert q == p
            assert q.summary() == p.summary()


def test_frozen_and_hashable():
    """Nothing can be set, details cannot be changed, and equal posteriors hash alike."""
    p = posterior(StudentEffect(1.0, 0.3, 9), details={"a": 1})
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.method = "loo"
    with pytest.raises(TypeError):
        p.details["a"] = 2
    assert hash(p) == hash(posterior(StudentEffect(1.0, 0.3, 9), details={"a": 1}))


def test_summary_is_plain(post):
    """summary() is a dict of plain Python types that JSON takes without NaN, and holds the numbers of the methods."""
    summary = post.summary(0.8)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert (summary["low"], summary["high"]) == post.interval(0.8)
    assert summary["auc"] == post.mean
    assert summary["prob_above_chance"] == post.prob_above(0.5)
    assert all(type(v) in (float, int, str, list) for v in summary.values())


def test_repr(post):
    """repr shows mean, interval, method and class sizes in one line."""
    low, high = post.interval()
    assert repr(post) == (
        f"AUCPosterior(mean={post.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], method='in-sample', n0=14, n1=9)"
    )
