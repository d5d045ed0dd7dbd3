"""Calls timed in turns: first each once, then each once more, and so on; the shortest time of each counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import monotonic, process_time
from typing import Any

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
