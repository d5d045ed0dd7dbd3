"""The law of an effect given by its log density on a grid: deterministic one-dimensional quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from foldless._check import Floats


@dataclass(frozen=True, eq=False)
class GridEffect:
    """Posterior of an effect on sorted `points` with unnormalised log density; zero outside.

    Between the points the density is taken as linear, so cdf and quantiles are exact for that
    interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> from foldless.grid import GridEffect
    >>> x = np.linspace(-9, 9, 2001)
    >>> normal = GridEffect(x, -0.5 * x**2)
    >>> round(float(normal.ppf(0.975)), 4)
    1.96
    """

    points: Floats
    log_density: Floats

    @cached_property
    def density(self) -> Floats:
        """Normalised density at the points."""
        p = np.exp(self.log_density - self.log_density.max())
        return np.asarray(p / np.sum((p[1:] + p[:-1]) * np.diff(self.points) / 2))

    @cached_property
    def _weights(self) -> Floats:
        gaps = np.diff(self.points)
        weights = np.zeros_like(self.points)
        weights[:-1] += gaps / 2
        weights[1:] += gaps / 2
        return weights * self.density

    @cached_property
    def _cumulative(self) -> Floats:
        steps = np.diff(self.points) * (self.density[1:] + self.density[:-1]) / 2
        total = np.concatenate([[0.0], np.cumsum(steps)])
        return np.asarray(total / total[-1])

    def mean_probability(self, scale: float) -> float:
        """E[Phi(x / scale)]."""
        return float(self._weights @ ndtr(self.points / scale))

    def sd_probability(self, scale: float) -> float:
        """Standard deviation of Phi(x / scale)."""
        values = ndtr(self.points / scale)
        return float(np.sqrt(self._weights @ np.square(values - self._weights @ values)))

    def cdf(self, x: Any) -> Floats:
        """P(effect <= x)."""
        x = np.asarray(x, dtype=np.float64)
        left = np.clip(np.searchsorted(self.points, x, side="right") - 1, 0, self.points.size - 2)
        step = np.clip(x, self.points[0], self.points[-1]) - self.points[left]
        slope = self._slope[left]
        below = self._cumulative[left] + step * (self.density[left] + slope * step / 2)
        return np.asarray(np.clip(below, 0.0, 1.0))

    def sf(self, x: Any) -> Floats:
        """P(effect > x)."""
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
        """The law is bounded: it has no Gaussian tail."""
        return 0.0, 0.0

    def mean_tpr(self, q: Any) -> Floats:
        """E[Phi(x + q)]."""
        return np.asarray(ndtr(np.asarray(q, dtype=np.float64)[..., None] + self.points) @ self._weights)

    def expect(self, values: Floats) -> Any:
        """Expectation of values given at the points, along the last axis."""
        return values @ self._weights

    def sample(self, size: Any, rng: np.random.Generator) -> Floats:
        """Random draws by inversion."""
        return self.ppf(rng.random(size))

    @cached_property
    def _slope(self) -> Floats:
        return np.asarray(np.diff(self.density) / np.diff(self.points))
