"""How a cost is measured: calls timed in turns, what they are asked on, and on which machine.

Calls are timed first each once, then each once more, and so on; the shortest time of each counts.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Any

import numpy as np

from foldless_studies.runs import quietly
from foldless_studies.sampling import Floats, Labels, source

Call = Callable[[], object]
Clock = Callable[[], float]

# A turn lasts at least this long (seconds): short calls are repeated within it, and their mean is the time.
TURN = 0.02


@dataclass(frozen=True)
class Effort:
    """How many rounds: at least `least`, then more while the time (seconds) lasts, up to `most`."""

    least: int = 5
    most: int = 15
    seconds: float = 5.0

    def enough(self, rounds: int, since: float) -> bool:
        return rounds >= self.most or (rounds >= self.least and monotonic() - since > self.seconds)


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the shortest and the median round, and how many calls and rounds there were."""

    seconds: float
    median: float
    rounds: int
    calls: int

    def as_dict(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "median": self.median, "rounds": self.rounds, "calls": self.calls}


def in_turns(calls: Mapping[str, Call], effort: Effort, clock: Clock = process_time) -> dict[str, Timing]:
    """Time every call, interleaved.

    The clock is the time of the processor: on a busy machine the clock on the wall measures the others too. The first
    call of each, which pays for lazy imports and cold caches, is not counted.
    """
    repeats = {name: _repeats(call, clock) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    start, rounds = monotonic(), 0
    while not effort.enough(rounds, start):
        for name, call in calls.items():
            times[name].append(_turn(call, repeats[name], clock))
        rounds += 1
    return {name: Timing(min(t), median(t), rounds, repeats[name]) for name, t in times.items()}


def _repeats(call: Call, clock: Clock) -> int:
    first = _turn(call, 1, clock)
    if first > 2 * TURN:
        return 1
    return max(1, math.ceil(TURN / max(_turn(call, 1, clock), 1e-6)))


def _turn(call: Call, repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def noise(timings: Mapping[str, Timing]) -> float:
    """By how much the median exceeds the shortest time, at worst: near 0 on a machine that is left alone."""
    return max(t.median / t.seconds - 1 for t in timings.values())


# ---- One line of a table: what is measured, and how it is asked for.

DIGITS = 5
SIGNAL = 0.3
QUICK_EFFORT = Effort(2, 2, 0.0)


@dataclass(frozen=True)
class Measurement:
    """A name within a subject, and the function that measures it."""

    subject: str
    name: str
    measure: Callable[[], dict[str, Any]]

    @property
    def key(self) -> str:
        return f"{self.subject}: {self.name}"


@dataclass(frozen=True)
class Subject:
    """Measurements of one kind: a title and a measurement for each case, and how often each is repeated.

    `quick` are small cases, which only show that the measurement works.
    """

    name: str
    title: Callable[[Any], str]
    measure: Callable[[Any, Effort], dict[str, Any]]
    effort: Effort
    full: Sequence[Any] = ()
    quick: Sequence[Any] = ()

    def measurements(self, *, quick: bool, cases: Sequence[Any] | None = None) -> list[Measurement]:
        """One for each of these cases, or for each of its own."""
        own, effort = (self.quick, QUICK_EFFORT) if quick else (self.full, self.effort)
        cases = own if cases is None else cases
        return [Measurement(self.name, self.title(case), partial(self.measure, case, effort)) for case in cases]


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


# ---- What is measured on.


def classifier() -> Any:
    """The classifier under judgement, not fitted."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=10_000)


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


# ---- The machine: processor, and the libraries of linear algebra with their threads.

CPUINFO = Path("/proc/cpuinfo")


def machine() -> dict[str, Any]:
    """Plain data; threads are counted under the limit that the measurements set."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system(), "blas": _blas()}


def _processor() -> str:
    if CPUINFO.exists():
        for line in CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _blas() -> list[str]:
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    with quietly():
        found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return sorted({f"{b['internal_api']} {b['version']}, {_threads(b['num_threads'])}" for b in found})


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"
