"""The density of a rate as a curve that can be drawn, also where it is a spike or grows without bound.

The height over a bin is the probability of the bin divided by its width. It is finite for every
law, also for one whose mass is all at 1, and the area under the curve is the probability in view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TAIL = 5e-4  # probability left out of view at each end
NARROWEST = 0.02  # a window narrower than this would make certainty look like a spread
MARGIN = 0.05
BINS = 240


class Law(Protocol):
    """What a curve is drawn from: `RatePosterior` and its like."""

    @property
    def mean(self) -> float:
        """Mean of the rate."""

    def cdf(self, a: Any, /) -> Any:
        """Distribution function."""

    def ppf(self, q: Any, /) -> Any:
        """Quantiles."""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central credible interval."""


@dataclass(frozen=True, eq=False)
class DensityCurve:
    """A density over `edges`, one height per bin, with the mean and the interval of the law."""

    edges: Floats
    heights: Floats
    mean: float
    low: float
    high: float
    level: float

    @property
    def outline(self) -> tuple[Floats, Floats]:
        """x and y of the line: through the middle of each bin, and level to both ends of the window."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        x = np.concatenate([self.edges[:1], middles, self.edges[-1:]])
        return x, np.concatenate([self.heights[:1], self.heights, self.heights[-1:]])

    @property
    def shaded(self) -> tuple[Floats, Floats]:
        """The part of the outline inside the interval, cut exactly at its ends."""
        x, y = self.outline
        inside = (x > self.low) & (x < self.high)
        ends = np.array([self.low, self.high])
        at = np.interp(ends, x, y)
        return np.concatenate([ends[:1], x[inside], ends[1:]]), np.concatenate([at[:1], y[inside], at[1:]])


def window(laws: Sequence[Law]) -> tuple[float, float]:
    """The range of rates that shows every law, within [0, 1]."""
    ends = np.array([law.ppf(np.array([TAIL, 1 - TAIL])) for law in laws])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    half = max((high - low) * (1 + 2 * MARGIN), NARROWEST) / 2
    middle = min(max((low + high) / 2, half), 1 - half) if half < 0.5 else 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def density_curve(
    law: Law, level: float = 0.95, within: tuple[float, float] | None = None, bins: int = BINS
) -> DensityCurve:
    """The curve of a law over a window, by default its own.

    Examples
    --------
    >>> from foldless.rate import RatePosterior
    >>> from foldless.student import StudentEffect
    >>> curve = density_curve(RatePosterior(StudentEffect(1.8, 0.3, 40), 1.4))
    >>> bool(0.998 < curve.heights @ (curve.edges[1:] - curve.edges[:-1]) < 1)
    True
    """
    low, high = window([law]) if within is None else within
    edges = np.linspace(low, high, bins + 1)
    below = np.asarray(law.cdf(edges), dtype=np.float64)
    # A rate of exactly 0 belongs to the first bin; one of exactly 1 is in the last one already.
    below[0] = 0.0 if low == 0 else below[0]
    heights = np.maximum(np.diff(below), 0.0) / np.diff(edges)
    return DensityCurve(edges, heights, law.mean, *law.interval(level), level)
