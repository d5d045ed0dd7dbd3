"""The most memory that a call holds at a time, beyond its input, relative to X."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import foldless as fl
from foldless_studies.seeds import source
from foldless_studies.speed.clock import Call
from foldless_studies.speed.measurement import Measurement, gaussian, shape
from foldless_studies.speed.rivals import SIGNAL, classifier

SUBJECT = "memory"
CBAUC, POSTERIOR = "cbauc", "posterior"
# (what, N, P, K, type of X); K = 0: one weight vector.
CASES = (
    (CBAUC, 20_000, 1_000, 0, "float64"),
    (CBAUC, 20_000, 1_000, 0, "float32"),
    (CBAUC, 20_000, 1_000, 64, "float64"),
    (CBAUC, 20_000, 1_000, 1_000, "float64"),
    (POSTERIOR, 4_000, 200, 0, "float64"),
    (POSTERIOR, 1_000, 50, 0, "float64"),
    (POSTERIOR, 200, 4_000, 0, "float64"),
)
QUICK = ((CBAUC, 400, 50, 0, "float64"), (POSTERIOR, 40, 10, 0, "float64"))


def measurements(*, quick: bool) -> list[Measurement]:
    """One for each case."""
    return [Measurement(SUBJECT, title(*case), partial(measure, *case)) for case in (QUICK if quick else CASES)]


def title(what: str, N: int, P: int, K: int, dtype: str) -> str:
    """The case in words."""
    return f"{what}, {shape(N, P)}{f', K = {K:,}' if K else ''}, {dtype}"


def measure(what: str, N: int, P: int, K: int, dtype: str) -> dict[str, Any]:
    """Peak, as NumPy and Python report it to tracemalloc; the small buffers inside of BLAS are not seen."""
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
