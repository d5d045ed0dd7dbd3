"""`ROCPosterior` against full-dimensional draws, and its identities with the AUC."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.special import ndtr, ndtri

import foldless as fl
from foldless.laws.effect import StudentEffect
from foldless.results.roc import BinormalCurves, ROCPosterior, SeparationCurves, counted_steps

EFFECTS = [
    StudentEffect(0.0, 0.3, 20),
    StudentEffect(1.8, 0.4, 30),
    StudentEffect(-1.0, 0.9, 3),
    StudentEffect(5.0, 0.2, 8),
]
FPR = np.array([0.001, 0.05, 0.2, 0.5, 0.9])


def curve(effect):
    return ROCPosterior(SeparationCurves(effect), "in-sample", 20, 22)


@pytest.fixture(scope="module")
def roc(common):
    with pytest.warns(fl.OptimismWarning):
        return fl.roc_posterior(common.w, common.X, common.y, method="in-sample")


def test_mean_curve_and_band_agree_with_the_full_posterior(common, roc):
    """E[TPR] and the 90 % band at five FPRs agree with 200,000 draws in 3 dimensions within 4.5 standard errors."""
    tpr = ndtr(common.delta[:, None] + ndtri(FPR))
    n = len(tpr)
    assert np.all(np.abs(roc.mean(FPR) - tpr.mean(axis=0)) < 4.5 * tpr.std(axis=0) / np.sqrt(n))
    low, high = roc.band(FPR, 0.9)
    for end, q in ((low, 0.05), (high, 0.95)):
        assert np.all(np.abs(np.mean(tpr <= end, axis=0) - q) < 4.5 * np.sqrt(q * (1 - q) / n))
    assert roc.tpr_at(0.2, 0.9) == pytest.approx((roc.mean(0.2), low[2], high[2]))


def test_band_is_simultaneous(common, roc):
    """The whole curve lies inside the band with the band's probability: all five points at once."""
    low, high = roc.band(FPR, 0.9)
    tpr = ndtr(common.delta[:, None] + ndtri(FPR))
    inside = np.mean(np.all((tpr >= low) & (tpr <= high), axis=1))
    assert inside == pytest.approx(0.9, abs=4.5 * np.sqrt(0.09 / len(tpr)))


@pytest.mark.parametrize("max_fpr", [0.05, 0.3, 1.0])
def test_partial_auc_agrees_with_the_full_posterior(common, roc, max_fpr):
    """Mean and 90 % interval of the area up to max_fpr agree with draws whose curves are integrated one by one.

    The ends are compared as probabilities: 4.5 standard errors of 200,000 draws, plus nothing for the rule itself.
    """
    t, weights = np.polynomial.legendre.leggauss(200)
    # fpr = max_fpr u^4 takes the infinite slope at 0 away.
    u = (t + 1) / 2
    q, weights = ndtri(max_fpr * u**4), weights / 2 * max_fpr * 4 * u**3
    grid = np.linspace(common.delta.min(), common.delta.max(), 4001)
    areas = np.interp(common.delta, grid, ndtr(grid[:, None] + q) @ weights)
    got = roc.partial_auc(max_fpr, level=0.9)
    n = areas.size
    assert got.mean == pytest.approx(areas.mean(), abs=4.5 * areas.std() / np.sqrt(n))
    for end, p in ((got.low, 0.05), (got.high, 0.95)):
        assert np.mean(areas <= end) == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / n))


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_area_under_the_mean_curve_is_the_mean_auc(effect):
    """Integrating the mean ROC curve over fpr gives the mean AUC to 1e-8; partial_auc(1) agrees to 1e-10."""
    roc, auc = curve(effect), fl.AUCPosterior.from_effect(effect, "in-sample", 20, 22)
    # over q = Phi^-1(fpr), where the integrand is smooth; in fpr the curve has an infinite slope at 0
    area = quad(lambda q: roc.mean(ndtr(q)) * np.exp(-0.5 * q**2) / np.sqrt(2 * np.pi), -9, 9, epsabs=1e-10, limit=100)[
        0
    ]
    assert area == pytest.approx(auc.mean, abs=1e-8)
    assert roc.partial_auc().mean == pytest.approx(auc.mean, abs=1e-10)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("effect", EFFECTS[:2], ids=str)
def test_partial_auc_up_to_one_has_the_interval_of_the_auc(effect, level):
    """The area up to fpr = 1 is the AUC, so both intervals are the same, to 1e-3 in probability."""
    auc = fl.AUCPosterior.from_effect(effect, "in-sample", 20, 22)
    got = curve(effect).partial_auc(1.0, level)
    tail = (1 - level) / 2
    assert auc.cdf(got.low) == pytest.approx(tail, abs=1e-3 * min(1, 40 * tail))
    assert auc.cdf(got.high) == pytest.approx(1 - tail, abs=1e-3 * min(1, 40 * tail))


@pytest.mark.parametrize("max_fpr", [1e-30, 1e-19, 1e-10, 1e-4])
def test_partial_auc_of_a_tiny_range_is_a_small_positive_area(max_fpr):
    """However small max_fpr is, the area lies between 0 and max_fpr and low <= mean <= high."""
    got = curve(StudentEffect(1.8, 0.3, 40)).partial_auc(max_fpr)
    assert 0 <= got.low <= got.mean <= got.high <= max_fpr


def test_partial_auc_of_a_small_range_is_the_integral():
    """partial_auc(1e-4) equals scipy's integral of the mean curve to 1e-6 relative."""
    roc = curve(StudentEffect(1.8, 0.3, 40))
    expected = sum(quad(roc.mean, a, b, epsabs=0, epsrel=1e-10)[0] for a, b in ((0, 1e-9), (1e-9, 1e-6), (1e-6, 1e-4)))
    assert roc.partial_auc(1e-4).mean == pytest.approx(expected, rel=1e-6, abs=0)


def test_curve_is_monotone_and_anchored():
    """The mean and the band start at (0, 0), end at (1, 1), rise in between, and are ordered."""
    fpr = np.r_[0, np.geomspace(1e-300, 1e-3, 40), np.linspace(0.002, 0.999, 60), 1]
    for effect in EFFECTS:
        mean, (low, high) = curve(effect).mean(fpr), curve(effect).band(fpr)
        for line in (mean, low, high):
            assert (line[0], line[-1]) == (0, 1)
            assert np.diff(line).min() > -1e-13
        assert np.all(low <= high)
        assert np.all(curve(effect).band(fpr, 0.5)[1] <= high)


def test_mean_shape_follows_the_input():
    """A number gives a number, a list an array of its shape."""
    roc = curve(EFFECTS[1])
    assert np.isscalar(roc.mean(0.1))
    assert roc.mean([[0.1, 0.2]]).shape == (1, 2)
    assert roc.band([0.1, 0.3, 0.4])[0].shape == (3,)


def test_pickle_and_repr(roc):
    """The result pickles, and says itself what it is."""
    again = pickle.loads(pickle.dumps(roc))
    np.testing.assert_array_equal(again.mean(FPR), roc.mean(FPR))
    assert repr(roc).startswith("ROCPosterior(TPR at FPR 0.1: ")
    assert "n0=14, n1=9" in repr(roc)


def test_counted_steps_are_those_of_scikit_learn():
    """Ties included; very many scores are thinned from corner to corner, and training scores are never counted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_curve

    rng = np.random.default_rng(0)
    negative, positive = rng.integers(0, 30, 80) / 10, rng.integers(5, 40, 50) / 10
    y, scores = np.repeat([0, 1], (80, 50)), np.concatenate([negative, positive])
    fpr, tpr, _ = roc_curve(y, scores, drop_intermediate=False)
    steps = counted_steps(negative, positive)
    np.testing.assert_allclose(steps, (fpr, tpr), atol=1e-12)
    many = counted_steps(rng.normal(size=9000), rng.normal(size=9000))
    assert [len(rates) for rates in many] == [2001, 2001]
    assert [(rates[0], rates[-1]) for rates in many] == [(0.0, 1.0)] * 2
    X = scores[:, None] + rng.normal(size=(130, 3))
    model = LogisticRegression().fit(X, y)
    analysis = fl.analyse(model, X, y)
    low, high = analysis.leave_one_out.removed.by_class
    fpr, tpr = analysis.roc.steps
    assert trapezoid(tpr, fpr) == pytest.approx(np.mean(high[:, None] > low), abs=1e-12)
    assert fl.roc_posterior(model, X, y, method="in-sample").steps is None


def test_a_wide_law_of_the_spreads_leaves_the_band_in_order():
    """With few rows the ratio of the spreads may be 10^10, which took the digits of the band."""
    effect = fl.auc_posterior_from_scores(np.arange(14) % 2, np.arange(14) % 2 + 0.1 * np.arange(14)).effect
    curves = BinormalCurves.from_variances(effect, 1.0, 1.0, 0.2, 0.2)
    assert curves.beta.max() > 1e9
    for edge in ROCPosterior(curves, "loo", 7, 7).band(np.linspace(0, 1, 41)):
        assert np.all(np.diff(edge) >= 0)
