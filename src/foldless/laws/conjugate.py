"""The conjugate update: prior x statistics -> a handful of scalars (math of the paper, section 2).

Along w the posterior of Sigma and the means leaves

    w' Sigma w = s / chi2_k        and        w' mu_c = w' m_c* + sqrt(w' Sigma w / nu_c*) Z

so s, k, the two posterior means and nu_c* determine everything about the classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.errors import InputError, PriorError
from foldless.laws.effect import StudentEffect, t_cdf
from foldless.laws.moments import ScoreStats
from foldless.laws.prior import Prior, ProjectedPrior
from foldless.tables.block import Moments

# Scatter below this share of the squared score level is rounding noise, not information.
ROUNDING = 1e-26


@dataclass(frozen=True)
class ScorePosterior:
    """Posterior of the score distribution: means m_c*, their weights nu_c*, and the variance s / chi2_df.

    `unit` is sqrt(s / df), the posterior scale of the scores. Scalars, or arrays with one entry per classifier.
    """

    mean0: Any
    mean1: Any
    nu0: float
    nu1: float
    unit: Any
    df: float

    @property
    def spread(self) -> float:
        """Standard deviation of the standardised difference of the means."""
        return float(np.sqrt(1 / self.nu0 + 1 / self.nu1))

    @property
    def location(self) -> Any:
        """Standardised difference of the posterior means: a sqrt(k / s)."""
        with np.errstate(over="ignore"):  # means may be so far apart that the difference is infinite
            return (self.mean1 - self.mean0) / self.unit

    def scaled(self, factor: Any) -> ScorePosterior:
        """The same with all scores multiplied by a factor."""
        with np.errstate(over="ignore"):
            mean0, mean1, unit = self.mean0 * factor, self.mean1 * factor, self.unit * factor
        if not np.all(np.isfinite([mean0, mean1, unit])):
            raise InputError("the scores overflow: rescale w, or X before the fit.")
        return replace(self, mean0=mean0, mean1=mean1, unit=unit)

    def mean_auc(self) -> Any:
        """E[AUC] = t_k.cdf(a sqrt(k/s) / sqrt(2 + c^2)): the paper's CBAUC."""
        return t_cdf(self.location / np.sqrt(2 + self.spread**2), self.df)

    def separation(self) -> StudentEffect:
        """Posterior of delta = w'(mu1 - mu0) / sqrt(w' Sigma w)."""
        return StudentEffect(float(self.location), self.spread, self.df)


def update(stats: ScoreStats, prior: ProjectedPrior, *, trace: float | None = None) -> ScorePosterior:
    """Posterior of the scores from their statistics and the prior along w.

    `trace` is tr(S*), needed by the scaled-identity family only (`posterior_trace`).
    """
    nu0, nu1 = prior.nu0 + stats.n0, prior.nu1 + stats.n1
    _need(nu0 > 0 and nu1 > 0, f"nu* must be positive in both classes, got {nu0:g} and {nu1:g}", "add rows")
    df, s = _scale(stats, prior, trace)
    return ScorePosterior(
        mean0=_posterior_mean(stats.negative, prior.nu0, prior.mean0),
        mean1=_posterior_mean(stats.positive, prior.nu1, prior.mean1),
        nu0=nu0,
        nu1=nu1,
        unit=np.sqrt(s) if np.isinf(df) else np.sqrt(s / df),
        df=df,
    )


def posterior_trace(prior: Prior, negative: Moments, positive: Moments) -> float:
    """tr(S*) from column means and scatters, in O(P): no matrix is formed."""
    P = len(negative.mean)
    mean0, mean1 = prior.mean_vectors(P)
    with np.errstate(over="ignore", invalid="ignore"):
        scatter = _posterior_scatter(negative, prior.nu0, mean0) + _posterior_scatter(positive, prior.nu1, mean1)
        total = prior.scale_trace(P) + float(np.sum(scatter))
    if not np.isfinite(total):
        raise InputError("the squares of the columns overflow: rescale X, for example with StandardScaler.")
    return total


def class_update(moments: Moments, nu: float, mean: Any, scale: Any, df: float) -> tuple[Any, float, Any]:
    """(m*, nu*, unit) of one class with its own covariance (Dalton and Dougherty's version)."""
    with np.errstate(over="ignore", invalid="ignore"):  # `_need_spread` refuses what overflows
        s = scale + _posterior_scatter(moments, nu, mean)
        level = np.square(moments.mean)
    _need_spread(s, level)
    return _posterior_mean(moments, nu, mean), nu + moments.n, np.sqrt(s / df)


def degrees_of_freedom(prior: ProjectedPrior, n_rows: int) -> float:
    """k = kappa + rows - P + 1, refused unless positive."""
    df = prior.kappa + n_rows - prior.n_features + 1
    _need(
        df > 0,
        f"k = kappa + N - P + 1 must be positive, got {df:g} (kappa {prior.kappa:g}, N {n_rows}, P {prior.n_features})",
        "choose Prior.paper() or a larger kappa, or use fewer features than rows",
    )
    return float(df)


def _scale(stats: ScoreStats, prior: ProjectedPrior, trace: float | None) -> tuple[float, Any]:
    if prior.family == "known":
        if not np.all(np.isfinite(stats.mean0) & np.isfinite(stats.mean1)):
            raise InputError("the scores overflow: rescale X, for example with StandardScaler.")
        _need(np.all(prior.scale > 0), "the covariance along w is zero", "check the covariance")
        return float("inf"), prior.scale
    if prior.family == "scaled-identity":
        return _identity_scale(stats, prior, trace)
    df = degrees_of_freedom(prior, stats.n0 + stats.n1)
    with np.errstate(over="ignore", invalid="ignore"):
        s = prior.scale + _posterior_scatter(stats.negative, prior.nu0, prior.mean0)
        s = s + _posterior_scatter(stats.positive, prior.nu1, prior.mean1)
        level = np.square(stats.mean0) + np.square(stats.mean1)
    _need_spread(s, level)
    return df, s


def _need_spread(s: Any, level: Any) -> None:
    if np.all((s > ROUNDING * level) & (s > 0) & (s < np.inf)):
        return
    if not np.all(np.isfinite(s)):
        raise InputError("the squares of the scores overflow: rescale X, for example with StandardScaler.")
    _need(
        False,
        "the scores do not vary within the classes (s = 0), so the data say nothing about their spread",
        "use a prior with scale > 0 such as Prior.paper(), or more rows than features",
    )


def _identity_scale(stats: ScoreStats, prior: ProjectedPrior, trace: float | None) -> tuple[float, Any]:
    if trace is None:
        raise TypeError("the scaled-identity family needs tr(S*)")
    P = prior.n_features
    df = (prior.kappa + stats.n0 + stats.n1 + P + 1) * P - 2
    _need(df > 0, f"2 alpha must be positive, got {df:g}", "choose a larger kappa")
    _need(trace > 0, "tr(S*) must be positive", "choose a prior with scale > 0")
    return float(df), trace * prior.norm2


def _posterior_mean(moments: Moments, nu: float, mean: Any) -> Any:
    # Written as a step from the sample mean: exact for nu = 0 whatever the level of the scores.
    return moments.mean + (mean - moments.mean) * (nu / (nu + moments.n))


def _posterior_scatter(moments: Moments, nu: float, mean: Any) -> Any:
    """What a class adds to S*: its scatter, and the pull of the prior mean."""
    shrinkage = moments.n * nu / (moments.n + nu) if moments.n + nu > 0 else 0.0
    return moments.scatter + shrinkage * np.square(moments.mean - mean)


def _need(condition: Any, reason: str, remedy: str) -> None:
    if not condition:
        raise PriorError(f"the posterior is not proper: {reason}; {remedy}.")
