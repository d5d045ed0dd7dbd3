"""Timing shared by the benchmarks: ratios within one run, each the minimum of several repetitions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def seconds(call: Callable[[], Any], repeats: int = 7) -> float:
    """Shortest wall time of several calls; the first, unmeasured one warms caches and lazy imports."""
    call()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best
