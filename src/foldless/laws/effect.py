"""The standardised effect delta, and the two laws it can have: a scaled Student law, and a density on a grid.

With normal scores AUC = Phi(delta / sqrt 2) and TPR(fpr) = Phi(delta + Phi^-1(fpr)); error rates are Phi of a
standardised distance to the threshold. Every result of foldless is therefore the posterior of such an effect x, mapped
through Phi. `conjugate` supplies a `StudentEffect`, `honest` a `GridEffect`; both have

    mean_probability, sd_probability    mean and standard deviation of Phi(x / scale)
    mean_tpr                            E[Phi(x + q)], the mean ROC curve at fpr = Phi(q)
    cdf, sf, ppf, logpdf, sample        the law of x itself; sf is accurate where it is small
    tail_sd                             standard deviations of its Gaussian lower and upper tails
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import betainc, gammainc, gammaln, ndtr, ndtri, owens_t

from foldless.checks import Floats

SQRT2 = float(np.sqrt(2.0))


def probability(x: Any, scale: float) -> Any:
    """Phi(x / scale)."""
    return ndtr(np.asarray(x, dtype=np.float64) / scale)


def effect_of(p: Any, scale: float) -> Any:
    """The effect whose probability is p: scale * Phi^-1(p)."""
    return scale * ndtri(p)


def log_jacobian(x: Any, scale: float) -> Any:
    """log of d effect / d probability at effect x."""
    return np.log(scale * np.sqrt(2 * np.pi)) + 0.5 * (x / scale) ** 2


def bisected(is_below: Callable[[Floats], Any], low: Any, high: Any, halvings: int = 60) -> Floats:
    """The point between `low` and `high` at which each entry stops being below its target."""
    for _ in range(halvings):
        middle = low + (high - low) / 2
        below = is_below(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(low + (high - low) / 2)


HALVINGS = 90
NEWTON_STEPS, SETTLED, ROUNDING = 12, 1e-7, 4e-15  # the error of a settled step is its square


def solved(excess: Callable[[Floats], tuple[Floats, Floats]], start: Floats, low: Floats, high: Floats) -> Floats:
    """Roots of increasing functions, given with their slopes: Newton steps, and bisection where they do not settle."""
    x = np.clip(start, low, high)
    for _ in range(NEWTON_STEPS):
        off, slope = excess(x)
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            step = off / slope
            kept = (x - step >= low) & (x - step <= high)
        x = np.where(kept, x - step, low + (high - low) / 2)
        if np.all((np.abs(off) <= ROUNDING) | kept & (np.abs(step) <= SETTLED * (1 + np.abs(x)))):
            return np.asarray(x)
    return bisected(lambda x: excess(x)[0] < 0, low, high, HALVINGS)


# ---- The law of ``x = loc * R + spread * Z``, R = sqrt(chi2_df / df), Z standard normal.
#
# This is the posterior of a standardised distance under a conjugate normal model: loc is the
# distance in units of the posterior scale, R the uncertainty of that scale, Z that of the means.
# ``P(x <= u)`` is the survival function of a noncentral t at ``loc/spread`` with noncentrality
# ``u/spread``. It is evaluated here by quadrature rather than by ``scipy.special.nctdtr``, which
# returns nan far in the tails.

NEGLIGIBLE = 40.0  # terms beyond this exponent are dropped: exp(-40) is far below the rounding error of the sums
REACH = 9.0  # standard normal deviates beyond this are negligible too


def t_cdf(t: Any, df: Any) -> Any:
    """Cdf of Student's t, the paper's incomplete-beta form (Proposition 1); df may be infinite.

    Absolute error below 1e-13 for df from 0.1 to 1e9 and any t.
    """
    if isinstance(t, float) and isinstance(df, float) and df < np.inf:
        return _t_cdf_at(float(t), df)
    t = np.asarray(t, dtype=np.float64)
    if np.all(np.isinf(df)):
        return ndtr(t)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = np.square(t / np.sqrt(df))
        near = ratio <= 1
        # Each form is accurate where its argument is small; an infinite ratio belongs to the tail.
        share = np.where(near, ratio / (1 + ratio), 1 / (1 + ratio))
        part = 0.5 * betainc(np.where(near, 0.5, df / 2), np.where(near, df / 2, 0.5), share)
    upper = np.where(near, 0.5 - part, part)
    return np.where(t > 0, 1 - upper, upper)


def _t_cdf_at(t: float, df: float) -> float:
    """The same for one number, for which NumPy takes ten times as long."""
    ratio = t * t / df
    if ratio <= 1:
        upper = 0.5 - 0.5 * float(betainc(0.5, df / 2, ratio / (1 + ratio)))
    else:
        upper = 0.5 * float(betainc(df / 2, 0.5, 1 / (1 + ratio)))
    return 1 - upper if t > 0 else upper


@lru_cache(maxsize=256)
def chi_nodes(df: float, refine: int = 1) -> tuple[Floats, Floats]:
    """Nodes r and weights of the expectation over R: trapezoid rule in log r, `refine` times as dense.

    In x = log r the density is exp(df (x - exp(2x)/2)). It is analytic and decays rapidly, so the trapezoid rule
    converges exponentially.
    """
    reach = NEGLIGIBLE / df
    left = -(reach + np.sqrt(reach))
    right = 0.5 * np.log1p(2 * reach + 2.4 * np.sqrt(reach))
    step = min(0.3 / np.sqrt(2 * df), 0.1) / refine
    x = np.arange(left, right + step, step)
    weights = np.exp(df * (x - np.expm1(2 * x) / 2))
    nodes = np.exp(x)
    weights /= weights.sum()
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


@lru_cache(maxsize=1)
def _unit_rule() -> tuple[Floats, Floats]:
    """Gauss-Legendre on (0, 1) with its nodes pushed towards 0 by squaring.

    The integrands behave like a power of the distance to that end; squaring makes them smooth.
    """
    t, weights = np.polynomial.legendre.leggauss(160)
    s = (t + 1) / 2
    return s**2, weights * s


@dataclass(frozen=True)
class StudentEffect:
    """Posterior of an effect under the conjugate model; `df` may be infinite (known covariance)."""

    loc: float
    spread: float
    df: float

    def mean_probability(self, scale: float) -> float:
        """E[Phi(x / scale)] = t_df.cdf(loc / sqrt(scale^2 + spread^2))."""
        return float(t_cdf(self.loc / np.hypot(scale, self.spread), self.df))

    def sd_probability(self, scale: float) -> float:
        """Standard deviation of Phi(x / scale), by the law of total variance over R.

        Given R, E[Phi^2] is a bivariate normal probability, which Owen's T gives in closed form.
        """
        width2 = scale**2 + self.spread**2
        r, weights = self.scale_nodes()
        h = self.loc / np.sqrt(width2) * r
        given = ndtr(h)
        within = given * ndtr(-h) - 2 * owens_t(h, scale / np.sqrt(width2 + self.spread**2))
        return float(np.sqrt(weights @ (np.maximum(within, 0.0) + np.square(given - weights @ given))))

    def cdf(self, x: Any) -> Floats:
        x = np.asarray(x, dtype=np.float64)
        if np.isinf(self.df):
            return np.asarray(ndtr((x - self.loc) / self.spread))
        if self._scale_dominates():
            return self._cdf_over_z(x)
        r, weights = self.scale_nodes()
        return np.asarray(np.minimum(ndtr((x[..., None] - self.loc * r) / self.spread) @ weights, 1.0))

    def sf(self, x: Any) -> Floats:
        return self.mirrored.cdf(-np.asarray(x, dtype=np.float64))

    def ppf(self, q: Any) -> Floats:
        """Quantiles, all at once, starting from those of a law with this mean, variance and skewness."""
        q = np.asarray(q, dtype=np.float64)
        if np.isinf(self.df):
            return np.asarray(self.loc + self.spread * ndtri(q))
        inside = np.where((q > 0) & (q < 1), q, 0.5)
        low, high = (np.full(q.shape, end) for end in self.bounds())
        z, own = ndtri(inside), self.loc / np.sqrt(2 * self.df)
        sd, skewed = np.hypot(self.spread, own), own / np.sqrt(2 * self.df) * (z**2 - 1) / 6
        start = self.loc * (1 - 1 / (4 * self.df)) + sd * z + skewed * (own / sd) ** 2

        def excess(x: Floats) -> tuple[Floats, Floats]:
            if self._scale_dominates():
                return self.cdf(x) - inside, np.exp(self.logpdf(x))
            r, weights = self.scale_nodes()
            u = (x[..., None] - self.loc * r) / self.spread  # for the cdf and for the density
            return ndtr(u) @ weights - inside, np.exp(_log_phi(u)) @ weights / self.spread

        return np.where(q <= 0, -np.inf, np.where(q >= 1, np.inf, solved(excess, start, low, high)))

    def logpdf(self, x: Any) -> Floats:
        x = np.asarray(x, dtype=np.float64)
        if np.isinf(self.df):
            return np.asarray(_log_phi((x - self.loc) / self.spread) - np.log(self.spread))
        if self._scale_dominates():
            return self._logpdf_over_z(x)
        r, weights = self.scale_nodes()
        return _log_mean(_log_phi((x[..., None] - self.loc * r) / self.spread) - np.log(self.spread), weights)

    def tail_sd(self) -> tuple[float, float]:
        """R widens one tail only, because it is bounded below; Z widens both."""
        wide = float(np.hypot(self.loc / np.sqrt(self.df), self.spread))
        return (self.spread, wide) if self.loc > 0 else (wide, self.spread)

    def mean_tpr(self, q: Any) -> Floats:
        """E[Phi(x + q)]: x plus a standard normal has a law of the same kind."""
        return replace(self, spread=float(np.hypot(1.0, self.spread))).sf(-np.asarray(q))

    def sample(self, size: Any, rng: np.random.Generator) -> Floats:
        r = 1.0 if np.isinf(self.df) else np.sqrt(rng.chisquare(self.df, size) / self.df)
        return np.asarray(self.loc * r + self.spread * rng.standard_normal(size))

    @property
    def mirrored(self) -> StudentEffect:
        """The law of -x."""
        return replace(self, loc=-self.loc)

    def scale_nodes(self) -> tuple[Floats, Floats]:
        """Nodes and weights of the expectation over R."""
        return (np.ones(1), np.ones(1)) if np.isinf(self.df) else chi_nodes(self.df)

    def bounds(self) -> tuple[float, float]:
        """Two values with all but a negligible part of the law between them."""
        r = self.loc * self.scale_nodes()[0][[0, -1]]
        return float(r.min() - REACH * self.spread), float(r.max() + REACH * self.spread)

    def _scale_dominates(self) -> bool:
        # Integrate over the narrower of R and Z: the other is then smooth on its scale.
        return bool(abs(self.loc) > self.spread * np.sqrt(2 * self.df))

    def _z_nodes(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Gauss-Legendre nodes z, weights, and the value of R at which loc R + spread z = x (loc > 0)."""
        t, weights = _unit_rule()
        top = np.clip(x / self.spread, -REACH, REACH)[..., None]
        length = top + REACH
        z = top - length * t
        return z, length * weights, np.maximum((x[..., None] - self.spread * z) / self.loc, 0.0)

    def _cdf_over_z(self, x: Floats) -> Floats:
        if self.loc < 0:
            return np.asarray(1 - self.mirrored._cdf_over_z(-x))
        z, weights, r = self._z_nodes(x)
        with np.errstate(over="ignore"):
            given = gammainc(self.df / 2, self.df / 2 * r**2)
        return np.asarray(np.clip((weights * np.exp(_log_phi(z)) * given).sum(axis=-1), 0.0, 1.0))

    def _logpdf_over_z(self, x: Floats) -> Floats:
        if self.loc < 0:
            return self.mirrored._logpdf_over_z(-x)
        z, weights, r = self._z_nodes(x)
        return _log_mean(_log_phi(z) + _log_chi(r, self.df) - np.log(self.loc), weights)


def _log_phi(u: Any) -> Any:
    with np.errstate(over="ignore"):
        return -0.5 * np.square(u) - 0.5 * np.log(2 * np.pi)


def _log_chi(r: Floats, df: float) -> Floats:
    """Log density of R = sqrt(chi2_df / df)."""
    half = df / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        power = np.where(r > 0, (df - 1) * np.log(r), -np.inf if df > 1 else 0.0)
        return np.asarray(np.log(2) + half * np.log(half) - gammaln(half) + power - half * r**2)


def _log_mean(log_values: Floats, weights: Floats) -> Floats:
    """log of the weighted sum of exp(log_values) over the last axis, safe where all underflow."""
    top = np.max(log_values, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log((np.exp(log_values - top) * weights).sum(axis=-1)) + top[..., 0])


@dataclass(frozen=True, eq=False)
class GridEffect:
    """Posterior of an effect on sorted `points` with unnormalised log density; zero outside.

    The density is linear between the points; cdf and quantiles are exact for that interpolation.
    """

    points: Floats
    log_density: Floats

    @cached_property
    def density(self) -> Floats:
        """Normalised density at the points."""
        p = np.exp(self.log_density - self.log_density.max())
        return np.asarray(p / np.sum((p[1:] + p[:-1]) * self._gaps / 2))

    @cached_property
    def _gaps(self) -> Floats:
        return np.diff(self.points)

    @cached_property
    def _weights(self) -> Floats:
        """Weights of the trapezoid rule, times the density."""
        return np.asarray(np.convolve(self._gaps / 2, (1.0, 1.0)) * self.density)

    @cached_property
    def _cumulative(self) -> Floats:
        steps = self._gaps * (self.density[1:] + self.density[:-1]) / 2
        total = np.concatenate([[0.0], np.cumsum(steps)])
        return np.asarray(total / total[-1])

    def mean_probability(self, scale: float) -> float:
        return float(self._weights @ ndtr(self.points / scale))

    def sd_probability(self, scale: float) -> float:
        values = ndtr(self.points / scale)
        return float(np.sqrt(self._weights @ np.square(values - self._weights @ values)))

    def cdf(self, x: Any) -> Floats:
        x = np.asarray(x, dtype=np.float64)
        left = np.clip(np.searchsorted(self.points, x, side="right") - 1, 0, self.points.size - 2)
        step = np.clip(x, self.points[0], self.points[-1]) - self.points[left]
        slope = self._slope[left]
        below = self._cumulative[left] + step * (self.density[left] + slope * step / 2)
        return np.asarray(np.clip(below, 0.0, 1.0))

    def sf(self, x: Any) -> Floats:
        return np.asarray(1.0 - self.cdf(x))

    def ppf(self, q: Any) -> Floats:
        """Quantiles: inside an interval the cdf is a parabola, solved in its stable form."""
        q = np.asarray(q, dtype=np.float64)
        left = np.clip(np.searchsorted(self._cumulative, q, side="right") - 1, 0, self.points.size - 2)
        rest = np.maximum(q - self._cumulative[left], 0.0)
        start, slope = self.density[left], self._slope[left]
        root = np.sqrt(np.maximum(start**2 + 2 * slope * rest, 0.0))
        step = np.where(rest > 0, 2 * rest / np.maximum(start + root, np.finfo(float).tiny), 0.0)
        return np.asarray(np.minimum(self.points[left] + step, self.points[left + 1]))

    def logpdf(self, x: Any) -> Floats:
        """Log density, minus infinity outside the grid."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.interp(x, self.points, self.density, left=0.0, right=0.0)))

    def tail_sd(self) -> tuple[float, float]:
        """The law is bounded, so it has no tails."""
        return 0.0, 0.0

    def mean_tpr(self, q: Any) -> Floats:
        return np.asarray(ndtr(np.asarray(q, dtype=np.float64)[..., None] + self.points) @ self._weights)

    def expect(self, values: Floats) -> Any:
        """Expectation of values given at the points, along the last axis."""
        return values @ self._weights

    def sample(self, size: Any, rng: np.random.Generator) -> Floats:
        """Random draws by inversion."""
        return self.ppf(rng.random(size))

    @cached_property
    def _slope(self) -> Floats:
        return np.asarray(np.diff(self.density) / self._gaps)


Effect = StudentEffect | GridEffect
