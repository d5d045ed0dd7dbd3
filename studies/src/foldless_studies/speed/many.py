"""CBAUC of K classifiers at once against the product of X with their weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import foldless as fl
from foldless_studies.seeds import source
from foldless_studies.speed.clock import Effort, in_turns
from foldless_studies.speed.measurement import Measurement, gaussian, shape, timed

SUBJECT = "many classifiers"
SHAPE, COUNTS = (20_000, 1_000), (64, 256, 1_000)
QUICK_SHAPE, QUICK_COUNTS = (400, 50), (8, 16)
OURS, PRODUCT = "cbauc", "X @ W"


def measurements(*, quick: bool, effort: Effort) -> list[Measurement]:
    """One for each number of classifiers."""
    (N, P), counts = (QUICK_SHAPE, QUICK_COUNTS) if quick else (SHAPE, COUNTS)
    return [Measurement(SUBJECT, f"{shape(N, P)}, K = {K:,}", partial(measure, N, P, K, effort)) for K in counts]


def measure(N: int, P: int, K: int, effort: Effort) -> dict[str, Any]:
    """Times, and CBAUC relative to the product alone."""
    X, y = gaussian(N, P)
    W = source(0, "speed", "weights", P, K).standard_normal((P, K))
    timings = in_turns({PRODUCT: lambda: X @ W, OURS: lambda: fl.cbauc(W, X, y)}, effort)
    ratio = timings[OURS].seconds / timings[PRODUCT].seconds
    return {"N": N, "P": P, "K": K, "ratio_product": ratio, **timed(timings)}
