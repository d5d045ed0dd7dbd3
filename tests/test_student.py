"""The law of loc R + spread Z against mpmath: cdf, density, quantiles, limits."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from foldless.laws.effect import StudentEffect, t_cdf

DFS = (1, 1.5, 2, 3, 10, 100, 1e4, 1e6)
LOCS = (0.0, 1e-3, 0.5, 2.0, 30.0, 1e3, 1e8)
SPREADS = (1e-3, 0.05, 0.4, 1.5)
GRID = [(loc, spread, df) for df in DFS for loc in LOCS for spread in SPREADS]


def panel_ends(df, ratio, width):
    """Ends of the panels of the integral over log R: around the mode, and around R = ratio, where Z takes over."""
    left, right = -(60 / df + np.sqrt(60 / df)), 0.5 * np.log1p(120 / df + 3 * np.sqrt(60 / df))
    step = ratio + np.arange(-14, 14.1, 0.5) * width
    ends = np.r_[np.arange(-12, 12.1, 0.5) / np.sqrt(2 * df), np.linspace(left, right, 40), np.log(step[step > 0])]
    return np.unique(np.clip(ends, left, right))


def reference(loc, spread, df, x, kernel=ndtr):
    """E[kernel((x - loc R) / spread)]: 24-point Gauss-Legendre on about 150 panels in log R."""
    if loc == 0:
        return float(kernel(x / spread))
    t, weights = np.polynomial.legendre.leggauss(24)
    ends = panel_ends(df, x / loc, spread / abs(loc))
    half = np.diff(ends)[:, None] / 2
    u = ends[:-1, None] + half * (t + 1)
    density = half * weights * np.exp(df * (u - np.expm1(2 * u) / 2))
    return float((density * kernel((x - loc * np.exp(u)) / spread)).sum() / density.sum())


def mp_cdf(loc, spread, df, x):
    """The same by mpmath with 25 digits; the density of log R carries its own constant."""
    with mp.workdps(25):
        ends = [mp.mpf(float(e)) for e in panel_ends(df, x / loc, spread / abs(loc))[::4]]
        ends = [*ends, mp.mpf(float(panel_ends(df, x / loc, spread / abs(loc))[-1]))]
        loc, spread, df, x = (mp.mpf(v) for v in (loc, spread, df, x))
        constant = mp.log(2) + df / 2 * mp.log(df / 2) - mp.loggamma(df / 2)

        def integrand(u):
            return mp.exp(constant + df * (u - mp.exp(2 * u) / 2)) * mp.ncdf((x - loc * mp.exp(u)) / spread)

        return mp.quad(integrand, ends, method="gauss-legendre", maxdegree=3)


def places(loc, spread, df):
    """Arguments from far below to far above the bulk."""
    return loc + np.array([-6.0, -2.5, -0.6, 0.3, 1.7, 5.0]) * np.hypot(loc / np.sqrt(2 * df), spread)


def test_t_cdf_against_mpmath():
    """Student's t to 1e-12 absolute for df from 1 to 1e6 and |t| up to 1e8, both signs."""
    worst = 0.0
    for df in DFS:
        for t in (1e-9, 0.01, 0.7, 3.0, 40.0, 1e4, 1e8):
            with mp.workdps(30):
                tail = mp.betainc(mp.mpf(df) / 2, 0.5, 0, df / (df + mp.mpf(t) ** 2), regularized=True) / 2
                worst = max(worst, abs(t_cdf(t, df) - (1 - tail)), abs(t_cdf(-t, df) - tail))
    assert worst < 1e-12
    assert t_cdf(0.0, 3) == 0.5


def test_t_cdf_keeps_relative_precision_in_the_lower_tail():
    """A chance of 1e-30 is reported as that, not as zero or as rounding noise."""
    with mp.workdps(30):
        tail = mp.betainc(5, 0.5, 0, 10 / (10 + mp.mpf(2000) ** 2), regularized=True) / 2
    assert t_cdf(-2000.0, 10) == pytest.approx(float(tail), rel=1e-10, abs=0)


def test_t_cdf_at_the_edges():
    """Infinite df is the normal, infinite t is 0 or 1, arrays broadcast; nothing warns."""
    np.testing.assert_allclose(t_cdf([-1.0, 0, 2], np.inf), ndtr([-1.0, 0, 2]), atol=1e-15)
    np.testing.assert_array_equal(t_cdf([-np.inf, np.inf, -1e308, 1e308], 2.0), [0, 1, 0, 1])
    assert t_cdf(np.zeros((2, 3)), 4).shape == (2, 3)


@pytest.mark.parametrize(
    ("loc", "spread", "df"),
    [(0.5, 0.4, 1), (30.0, 0.05, 1), (1e8, 1.5, 1.5), (2.0, 1.5, 3), (2.0, 0.05, 10), (1e3, 0.4, 100), (3.0, 0.2, 1e4)],
)
def test_cdf_against_mpmath(loc, spread, df):
    """The noncentral-t probability equals mpmath's to 1e-10, and so does the reference used below."""
    for x in places(loc, spread, df)[[1, 3]]:
        expected = mp_cdf(loc, spread, df, x)
        assert abs(StudentEffect(loc, spread, df).cdf(x) - expected) < 1e-10
        assert abs(reference(loc, spread, df, x) - expected) < 1e-11


def test_cdf_over_the_whole_grid():
    """cdf within 1e-10 of the reference for df 1..1e6, loc 0..1e8, spread 1e-3..1.5, both signs of loc."""
    worst = 0.0
    for loc, spread, df in GRID:
        x = places(loc, spread, df)
        expected = np.array([reference(loc, spread, df, v) for v in x])
        worst = max(worst, np.abs(StudentEffect(loc, spread, df).cdf(x) - expected).max())
        worst = max(worst, np.abs(StudentEffect(-loc, spread, df).cdf(-x) - (1 - expected)).max())
    assert worst < 1e-10


def test_cdf_where_the_method_changes():
    """No loss of digits where the quadrature switches from R to Z (loc near spread sqrt(2 df)), df >= 1."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(600):
        df, spread = 10 ** rng.uniform(0, 4), 10 ** rng.uniform(-3, 0.2)
        loc = spread * np.sqrt(2 * df) * 10 ** rng.uniform(-0.1, 0.1)
        x = places(loc, spread, df)[rng.integers(6)]
        worst = max(worst, abs(StudentEffect(loc, spread, df).cdf(x) - reference(loc, spread, df, x)))
    assert worst < 1e-10


def test_ppf_inverts_cdf():
    """cdf(ppf(q)) = q to 1e-11 over the grid; the ends are infinite; quantiles increase."""
    q = np.array([1e-9, 1e-4, 0.025, 0.5, 0.8, 0.975, 1 - 1e-6])
    for loc, spread, df in GRID[::5]:
        effect = StudentEffect(loc, spread, df)
        x = effect.ppf(q)
        assert np.all(np.diff(x) > 0)
        np.testing.assert_allclose(effect.cdf(x), q, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(StudentEffect(1.0, 0.2, 5).ppf([0.0, 1.0]), [-np.inf, np.inf])


def test_logpdf_is_the_density():
    """exp(logpdf) equals the reference density to 1e-8 relative wherever it is not negligible (df >= 2)."""

    def phi(u):
        return np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)

    for loc, spread, df in GRID:
        if df < 2 or loc > 1e3:
            continue
        effect = StudentEffect(loc, spread, df)
        x = places(loc, spread, df)
        width = np.hypot(loc / np.sqrt(2 * df), spread)
        expected = np.array([reference(loc, spread, df, v, phi) / spread for v in x])
        bulk = expected * width > 1e-9
        np.testing.assert_allclose(np.exp(effect.logpdf(x[bulk])), expected[bulk], rtol=1e-8)


@pytest.mark.parametrize("df", [1, 1.5, 4, 50, 1e4, np.inf])
@pytest.mark.parametrize(("loc", "spread"), [(0.0, 0.3), (1.0, 0.8), (2.0, 0.1), (-40.0, 0.5), (1e6, 1.0)])
def test_logpdf_is_the_derivative_of_cdf_and_integrates_to_one(loc, spread, df):
    """Central differences of the cdf give the density to 1e-5; its integral is 1 to 1e-8."""
    effect = StudentEffect(loc, spread, df)
    width = np.hypot(loc / np.sqrt(2 * df), spread)
    x = effect.ppf([0.05, 0.3, 0.5, 0.9])
    h = 1e-4 * width
    slope = (effect.cdf(x + h) - effect.cdf(x - h)) / (2 * h)
    np.testing.assert_allclose(np.exp(effect.logpdf(x)), slope, rtol=1e-5)
    ends = effect.ppf([1e-13, 1e-6, 0.01, 0.3, 0.7, 0.99, 1 - 1e-6, 1 - 1e-13])
    near_zero = spread * np.array([-12.0, -6, -3, -1, 0, 1, 3, 6, 12])
    ends = np.unique(np.r_[ends, near_zero[(near_zero > ends[0]) & (near_zero < ends[-1])]])
    area = sum(quad(lambda v: np.exp(effect.logpdf(v)), a, b, epsabs=1e-11)[0] for a, b in itertools.pairwise(ends))
    assert area == pytest.approx(1, abs=1e-8)


def test_mirror_symmetry():
    """Turning the sign of loc mirrors everything: cdf, sf, ppf, logpdf, mean and sd."""
    for loc, spread, df in GRID[::9]:
        one, other = StudentEffect(loc, spread, df), StudentEffect(-loc, spread, df)
        x, q = places(loc, spread, df), np.array([0.01, 0.4, 0.7])
        np.testing.assert_allclose(one.cdf(x), other.sf(-x), rtol=0, atol=1e-13)
        np.testing.assert_allclose(one.ppf(q), -other.ppf(1 - q), rtol=1e-7, atol=1e-11)
        np.testing.assert_allclose(one.logpdf(x), other.logpdf(-x), rtol=1e-9, atol=1e-9)
        assert one.mean_probability(1.4) + other.mean_probability(1.4) == pytest.approx(1, abs=1e-14)
        assert one.sd_probability(1.4) == pytest.approx(other.sd_probability(1.4), abs=1e-12)


def test_infinite_df_is_the_limit():
    """df = inf (known covariance) is what df = 1e9 tends to, in every method."""
    near, limit = StudentEffect(1.3, 0.4, 1e9), StudentEffect(1.3, 0.4, np.inf)
    x, q = np.linspace(-1, 3, 9), np.array([0.01, 0.5, 0.99])
    np.testing.assert_allclose(near.cdf(x), limit.cdf(x), atol=1e-8)
    np.testing.assert_allclose(near.ppf(q), limit.ppf(q), atol=1e-7)
    np.testing.assert_allclose(near.logpdf(x), limit.logpdf(x), atol=1e-6)
    np.testing.assert_allclose(near.mean_tpr(x), limit.mean_tpr(x), atol=1e-8)
    assert near.mean_probability(1.4) == pytest.approx(limit.mean_probability(1.4), abs=1e-8)
    assert near.sd_probability(1.4) == pytest.approx(limit.sd_probability(1.4), abs=1e-8)


def test_sd_probability_is_the_second_moment():
    """sd of Phi(x / scale) equals sqrt(E[Phi^2] - E[Phi]^2), both integrated directly."""
    for loc, spread, df in [(0.0, 0.3, 5), (1.0, 0.5, 3), (2.0, 0.1, 40), (-1.5, 1.2, 2), (0.5, 1e-3, 500)]:
        effect = StudentEffect(loc, spread, df)
        first, second = (
            reference(loc, 1e-3, df, 0.0, lambda u, p=p, s=spread: _given(-u * 1e-3, s, p)) for p in (1, 2)
        )
        assert effect.mean_probability(1.4) == pytest.approx(first, abs=1e-10)
        assert effect.sd_probability(1.4) == pytest.approx(np.sqrt(second - first**2), abs=1e-7)


def _given(center, spread, power):
    """E[Phi((center + spread Z) / 1.4)^power] by 60 Gauss-Hermite nodes."""
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    values = ndtr((np.asarray(center)[..., None] + spread * z) / 1.4) ** power
    return values @ (weights / weights.sum())


def test_nothing_is_nan_and_nothing_warns():
    """Every method is finite (or an honest infinity of logpdf) over the grid, df = inf included; no warning."""
    q = np.array([0.0, 1e-12, 0.5, 1 - 1e-12, 1.0])
    for loc, spread, df in [*GRID[::2], *[(loc, s, np.inf) for loc in LOCS for s in SPREADS]]:
        effect = StudentEffect(loc, spread, df)
        x = np.r_[-1e100, -1e9, -40, places(loc, spread, min(df, 1e9)), 0, 40, 1e9, 1e100]
        p = effect.cdf(np.r_[x, -1e300, 1e300])
        assert p.min() >= 0
        assert p.max() <= 1, f"cdf exceeds 1 by {p.max() - 1} for {effect}"
        assert not np.isnan(effect.ppf(q)).any()
        assert not np.isnan(effect.logpdf(x)).any()
        tpr = effect.mean_tpr(np.array([-30.0, -1, 0, 1, 30]))
        assert np.all((tpr >= 0) & (tpr <= 1))
        assert 0 <= effect.mean_probability(1.4) <= 1
        assert 0 <= effect.sd_probability(1.4) <= 0.5 + 1e-12


@pytest.mark.parametrize(("loc", "spread", "df"), [(0.5, 1e-3, 10), (1e3, 0.4, 3), (1.0, 0.3, np.inf)])
def test_logpdf_far_out_does_not_warn(loc, spread, df):
    """At the ends of the range of doubles the log density is -inf or hugely negative, without a warning."""
    values = StudentEffect(loc, spread, df).logpdf(np.array([-1e300, 1e300]))
    assert np.all(values < -1e100)
