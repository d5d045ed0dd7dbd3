"""CBAUC of one classifier against one pass over X: a product with a vector, and a plain sum, the limit of memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import foldless as fl
from foldless_studies.speed.clock import Effort, in_turns
from foldless_studies.speed.measurement import Measurement, gaussian, shape, timed

SUBJECT = "one pass"
SHAPES = (
    (20_000, 1_000, "float64"),
    (2_000, 10_000, "float64"),
    (200_000, 100, "float64"),
    (1_000_000, 20, "float64"),
    (20_000, 1_000, "float32"),
    (1_000, 100, "float64"),
)
QUICK = ((400, 50, "float64"), (400, 50, "float32"))
OURS, PRODUCT, SUM = "cbauc", "X @ w", "X.sum()"


def measurements(*, quick: bool, effort: Effort) -> list[Measurement]:
    """One for each shape and type."""
    cases = QUICK if quick else SHAPES
    return [Measurement(SUBJECT, f"{shape(N, P)}, {t}", partial(measure, N, P, t, effort)) for N, P, t in cases]


def measure(N: int, P: int, dtype: str, effort: Effort) -> dict[str, Any]:
    """Times, and CBAUC relative to both."""
    X, y = gaussian(N, P)
    X, w = X.astype(dtype, copy=False), X[0].astype(dtype)
    timings = in_turns({PRODUCT: lambda: X @ w, SUM: X.sum, OURS: lambda: fl.cbauc(w, X, y)}, effort)
    ours = timings[OURS].seconds
    ratios = {"ratio_product": ours / timings[PRODUCT].seconds, "ratio_sum": ours / timings[SUM].seconds}
    return {"N": N, "P": P, "dtype": dtype, **ratios, **timed(timings)}
