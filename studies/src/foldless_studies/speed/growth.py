"""How the cost grows with N, P and K: the exponent of a power law, fitted to the times of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.seeds import source
from foldless_studies.speed.clock import Call, Effort, in_turns
from foldless_studies.speed.measurement import Measurement, gaussian, labels, timed
from foldless_studies.speed.rivals import SIGNAL, classifier

SUBJECT = "growth"
CBAUC, POSTERIOR = "cbauc", "posterior"


@dataclass(frozen=True)
class Ladder:
    """Sizes along one axis, the others fixed. `K` 0 stands for one weight vector, not a matrix of one column."""

    what: str
    axis: str
    sizes: tuple[int, ...]
    N: int = 0
    P: int = 0
    K: int = 0

    @property
    def fixed(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in "NPK" if name != self.axis and getattr(self, name)}

    def at(self, size: int) -> tuple[int, int, int]:
        """(N, P, K) of one size."""
        dims = {"N": self.N, "P": self.P, "K": self.K, self.axis: size}
        return dims["N"], dims["P"], dims["K"]


# The smallest X of the first two has 80 MB, so that all are beyond most caches, and far beyond the fixed cost of a
# call. Above 4,000 rows the posterior compares pairs on a subset.
LADDERS = (
    Ladder(CBAUC, "N", (20_000, 40_000, 80_000, 160_000, 320_000), P=500),
    Ladder(CBAUC, "P", (500, 1_000, 2_000, 4_000, 8_000), N=20_000),
    Ladder(CBAUC, "K", (64, 128, 256, 512, 1_000), N=20_000, P=1_000),
    Ladder(POSTERIOR, "N", (500, 840, 1_410, 2_380, 4_000), P=50),
    Ladder(POSTERIOR, "P", (4_000, 8_000, 16_000, 32_000, 64_000), N=200),
)
QUICK = (
    Ladder(CBAUC, "N", (500, 1_000, 2_000, 4_000, 8_000), P=20),
    Ladder(CBAUC, "P", (20, 40, 80, 160, 320), N=500),
    Ladder(CBAUC, "K", (64, 80, 100, 120, 140), N=500, P=20),
    Ladder(POSTERIOR, "N", (40, 60, 80, 100, 120), P=5),
    Ladder(POSTERIOR, "P", (20, 40, 80, 160, 320), N=40),
)


def measurements(*, quick: bool, effort: Effort) -> list[Measurement]:
    """One for each ladder: all of its sizes are timed in turns."""
    return [
        Measurement(SUBJECT, f"{ladder.what} with {ladder.axis}", partial(measure, ladder, effort))
        for ladder in (QUICK if quick else LADDERS)
    ]


def measure(ladder: Ladder, effort: Effort) -> dict[str, Any]:
    """Times of all sizes, and the exponent."""
    timings = in_turns(CALLS[ladder.what](ladder), effort)
    seconds = [timings[str(size)].seconds for size in ladder.sizes]
    slope, deviation = exponent(ladder.sizes, seconds)
    return {
        "what": ladder.what,
        "axis": ladder.axis,
        "fixed": ladder.fixed,
        "sizes": ladder.sizes,
        "exponent": slope,
        "largest_deviation": deviation,
        **timed(timings),
    }


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Slope of log time against log size by least squares, and the largest relative deviation from that law.

    Examples
    --------
    >>> slope, deviation = exponent([1, 2, 4], [3.0, 6.0, 12.0])
    >>> round(slope, 6), round(deviation, 6)
    (1.0, 0.0)
    """
    x, t = np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(seconds, dtype=np.float64))
    slope, level = np.polyfit(x, t, 1)
    return float(slope), float(np.expm1(np.max(np.abs(t - level - slope * x))))


def _cbauc_calls(ladder: Ladder) -> dict[str, Call]:
    """Every X is a part of one buffer, so that the memory is that of the largest."""
    shapes = {size: ladder.at(size) for size in ladder.sizes}
    rng = source(0, "speed", "growth", ladder.axis)
    buffer = rng.standard_normal(max(N * P for N, P, _ in shapes.values()))
    calls: dict[str, Call] = {}
    for size, (N, P, K) in shapes.items():
        weights = rng.standard_normal((P, K) if K else P)
        calls[str(size)] = partial(fl.cbauc, weights, buffer[: N * P].reshape(N, P), labels(N))
    return calls


def _posterior_calls(ladder: Ladder) -> dict[str, Call]:
    calls: dict[str, Call] = {}
    for size in ladder.sizes:
        N, P, _ = ladder.at(size)
        X, y = gaussian(N, P, signal=SIGNAL)
        calls[str(size)] = partial(fl.auc_posterior, classifier().fit(X, y), X, y)
    return calls


CALLS: dict[str, Callable[[Ladder], dict[str, Call]]] = {CBAUC: _cbauc_calls, POSTERIOR: _posterior_calls}
