"""One line of a table: what is measured, and how it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless_studies.sample import Floats, Labels
from foldless_studies.seeds import source
from foldless_studies.speed.clock import Timing, noise
from foldless_studies.task import quietly

DIGITS = 5


@dataclass(frozen=True)
class Measurement:
    """A name within a subject, and the function that measures it."""

    subject: str
    name: str
    measure: Callable[[], dict[str, Any]]

    @property
    def key(self) -> str:
        return f"{self.subject}: {self.name}"


def perform(measurement: Measurement) -> dict[str, Any]:
    """Measure, with one thread of linear algebra; plain data."""
    with quietly():
        figures = rounded(measurement.measure())
    return {"task": measurement.key, "subject": measurement.subject, "name": measurement.name, **figures}


def timed(timings: Mapping[str, Timing]) -> dict[str, Any]:
    """What every race reports: the times, and how calm the machine was."""
    return {"times": {name: t.as_dict() for name, t in timings.items()}, "noise": noise(timings)}


def rounded(value: Any) -> Any:
    """Floats with a few significant digits, in nested plain data."""
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def labels(N: int) -> Labels:
    """Both classes in turn: equally many of each, to within one row."""
    return np.arange(N, dtype=np.int64) % 2


def gaussian(N: int, P: int, *, signal: float = 0.0) -> tuple[Floats, Labels]:
    """Standard normal columns, the first ten of which are moved by `signal` in the positive class."""
    y = labels(N)
    X = source(0, "speed", N, P).standard_normal((N, P))
    X[:, :10] += signal * y[:, None]
    return X, y


def shape(N: int, P: int) -> str:
    """'20,000 x 1,000'."""
    return f"{N:,} x {P:,}"
