"""What is measured by itself: CBAUC against a pass over X and against X @ W, growth with the sizes, memory, imports."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.sampling import source
from foldless_studies.speed.measurement import (
    SIGNAL,
    Call,
    Clock,
    Effort,
    Subject,
    classifier,
    gaussian,
    in_turns,
    labels,
    shape,
    timed,
)

CBAUC, POSTERIOR = "cbauc", "posterior"
VECTOR_PRODUCT, PRODUCT, SUM = "X @ w", "X @ W", "X.sum()"

# ---- CBAUC of one classifier against one pass over X: a product with a vector, and a plain sum, the limit of memory.


def measure_one_pass(case: tuple[int, int, str], effort: Effort) -> dict[str, Any]:
    """Times, and CBAUC relative to both."""
    N, P, dtype = case
    X, y = gaussian(N, P)
    X, w = X.astype(dtype, copy=False), X[0].astype(dtype)
    timings = in_turns({VECTOR_PRODUCT: lambda: X @ w, SUM: X.sum, CBAUC: lambda: fl.cbauc(w, X, y)}, effort)
    ours = timings[CBAUC].seconds
    ratios = {"ratio_product": ours / timings[VECTOR_PRODUCT].seconds, "ratio_sum": ours / timings[SUM].seconds}
    return {"N": N, "P": P, "dtype": dtype, **ratios, **timed(timings)}


ONE_PASS = Subject(
    "one pass",
    lambda case: f"{shape(*case[:2])}, {case[2]}",
    measure_one_pass,
    Effort(7, 25, 3.0),
    full=(
        (20_000, 1_000, "float64"),
        (2_000, 10_000, "float64"),
        (200_000, 100, "float64"),
        (1_000_000, 20, "float64"),
        (20_000, 1_000, "float32"),
        (1_000, 100, "float64"),
    ),
    quick=((400, 50, "float64"), (400, 50, "float32")),
)

# ---- CBAUC of K classifiers at once against the product of X with their weights.


def measure_many(case: tuple[int, int, int], effort: Effort) -> dict[str, Any]:
    """Times, and CBAUC relative to the product alone."""
    N, P, K = case
    X, y = gaussian(N, P)
    W = source(0, "speed", "weights", P, K).standard_normal((P, K))
    timings = in_turns({PRODUCT: lambda: X @ W, CBAUC: lambda: fl.cbauc(W, X, y)}, effort)
    ratio = timings[CBAUC].seconds / timings[PRODUCT].seconds
    return {"N": N, "P": P, "K": K, "ratio_product": ratio, **timed(timings)}


MANY = Subject(
    "many classifiers",
    lambda case: f"{shape(*case[:2])}, K = {case[2]:,}",
    measure_many,
    Effort(5, 15, 10.0),
    full=tuple((20_000, 1_000, K) for K in (64, 256, 1_000)),
    quick=tuple((400, 50, K) for K in (8, 16)),
)

# ---- How the cost grows with N, P and K: the exponent of a power law, fitted to the times of several sizes.


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


# The smallest X of the first two has 80 MB: beyond most caches, and far beyond the fixed cost of a call.
LADDERS = (
    Ladder(CBAUC, "N", (20_000, 40_000, 80_000, 160_000, 320_000), P=500),
    Ladder(CBAUC, "P", (500, 1_000, 2_000, 4_000, 8_000), N=20_000),
    Ladder(CBAUC, "K", (64, 128, 256, 512, 1_000), N=20_000, P=1_000),
)
QUICK_LADDERS = (
    Ladder(CBAUC, "N", (500, 1_000, 2_000, 4_000, 8_000), P=20),
    Ladder(CBAUC, "P", (20, 40, 80, 160, 320), N=500),
    Ladder(CBAUC, "K", (64, 80, 100, 120, 140), N=500, P=20),
)


def measure_growth(ladder: Ladder, effort: Effort) -> dict[str, Any]:
    """Times of all sizes, and the exponent."""
    timings = in_turns(_cbauc_calls(ladder), effort)
    seconds = [timings[str(size)].seconds for size in ladder.sizes]
    slope, deviation = exponent(ladder.sizes, seconds)
    about = {"what": ladder.what, "axis": ladder.axis, "fixed": ladder.fixed, "sizes": ladder.sizes}
    return {**about, "exponent": slope, "largest_deviation": deviation, **timed(timings)}


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


GROWTH = Subject(
    "growth",
    lambda ladder: f"{ladder.what} with {ladder.axis}",
    measure_growth,
    Effort(5, 15, 10.0),
    full=LADDERS,
    quick=QUICK_LADDERS,
)

# ---- The most memory that a call holds at a time, beyond its input, relative to X.


def title_of_memory(case: tuple[str, int, int, int, str]) -> str:
    """The case in words."""
    what, N, P, K, dtype = case
    return f"{what}, {shape(N, P)}{f', K = {K:,}' if K else ''}, {dtype}"


def measure_memory(case: tuple[str, int, int, int, str], effort: Effort) -> dict[str, Any]:
    """Peak, as NumPy and Python report it to tracemalloc; the small buffers inside of BLAS are not seen.

    It is the same in every call, so there is nothing to repeat.
    """
    what, N, P, K, dtype = case
    call, size = _prepared(what, N, P, K, dtype)
    peak = peak_bytes(call)
    return {"what": what, "N": N, "P": P, "K": K, "dtype": dtype, "peak": peak, "ratio_X": peak / size}


def peak_bytes(call: Call) -> int:
    """New memory at its highest, during the second call: the first one imports."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _prepared(what: str, N: int, P: int, K: int, dtype: str) -> tuple[Call, int]:
    """The call, and the bytes of X."""
    X, y = gaussian(N, P, signal=SIGNAL)
    X = X.astype(dtype, copy=False)
    if what == POSTERIOR:
        return partial(fl.auc_posterior, classifier().fit(X, y), X, y), X.nbytes
    weights = source(0, "speed", "weights", P, K).standard_normal((P, K) if K else P)
    return partial(fl.cbauc, weights, X, y), X.nbytes


# Cases are (what, N, P, K, type of X); K = 0: one weight vector.
MEMORY = Subject(
    "memory",
    title_of_memory,
    measure_memory,
    Effort(),
    full=(
        (CBAUC, 20_000, 1_000, 0, "float64"),
        (CBAUC, 20_000, 1_000, 0, "float32"),
        (CBAUC, 20_000, 1_000, 64, "float64"),
        (CBAUC, 20_000, 1_000, 1_000, "float64"),
        (POSTERIOR, 4_000, 200, 0, "float64"),
        (POSTERIOR, 1_000, 50, 0, "float64"),
        (POSTERIOR, 200, 4_000, 0, "float64"),
    ),
    quick=((CBAUC, 400, 50, 0, "float64"), (POSTERIOR, 40, 10, 0, "float64")),
)

# ---- What an import costs: a fresh interpreter that imports, less one that does not.

NOTHING, NUMPY = "nothing", "import numpy"
CODES = {
    NOTHING: "",
    NUMPY: NUMPY,
    "import foldless": "import foldless",
    "foldless.cbauc": "import foldless; foldless.cbauc",
    "foldless.auc_posterior": "import foldless; foldless.auc_posterior",
    "import sklearn.linear_model": "import sklearn.linear_model",
}


def measure_imports(names: Sequence[str], effort: Effort) -> dict[str, Any]:
    """Time of each, and relative to NumPy."""
    kind, clock = childrens_clock()
    timings = in_turns({name: partial(start, CODES[name]) for name in names}, effort, clock)
    bare = timings[NOTHING].seconds
    cost = {name: t.seconds - bare for name, t in timings.items() if name != NOTHING}
    return {
        "clock": kind,
        "seconds": cost,
        "ratio_numpy": {name: s / cost[NUMPY] for name, s in cost.items()},
        **timed(timings),
    }


def childrens_clock() -> tuple[str, Clock]:
    """Processor time of finished child processes; where the system does not count it, the clock on the wall."""
    try:
        from resource import RUSAGE_CHILDREN, getrusage
    except ImportError:
        return "wall time", perf_counter

    def used() -> float:
        usage = getrusage(RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    return "processor time", used


def start(code: str) -> None:
    """Run a line of Python in an interpreter of its own."""
    subprocess.run([sys.executable, "-c", code], check=True)


IMPORTS = Subject(
    "imports",
    lambda names: "a fresh interpreter",
    measure_imports,
    Effort(5, 15, 8.0),
    full=(tuple(CODES),),
    quick=((NOTHING, NUMPY, "import foldless"),),
)
