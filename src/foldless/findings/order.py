"""Rows that resemble their neighbours in the file: sessions, subjects, time series; or a file that was sorted.

In each projection of the rows, ranks within the class are correlated with those of the next row of that class.
Independent rows give 0 on average whatever their law; how far they stray is seen by shuffling them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from foldless._check import Floats
from foldless.findings.finding import Finding
from foldless.findings.sketch import SEED, Sketch

SHUFFLES = 99
CLEAR = 5.0  # standard deviations under shuffling
STRONG = 0.1
MAX_ROWS = 5000  # per class; neighbours are what matters, so the first ones do


def neighbours_alike(sketch: Sketch) -> Finding | None:
    """A finding where rows next to each other are alike. Ask only when no groups were given."""
    classes = [_normal_ranks(rows[:MAX_ROWS]) for rows in sketch.by_class() if len(rows) > 4]
    if not classes:
        return None
    rng = np.random.default_rng(SEED)
    observed = _lag_one(classes)
    shuffled = np.array([_lag_one([rng.permutation(c) for c in classes]) for _ in range(SHUFFLES)])
    excess = observed - float(shuffled.mean())
    if excess < STRONG or excess < CLEAR * float(shuffled.std()):
        return None
    return Finding(
        "neighbours",
        "caution",
        f"rows of a class that follow each other in the file are alike (rank correlation {excess:.2f}, about 0 for "
        f"independent rows).",
        "If they come from the same subject, session or recording, say so (groups= in Python, --groups on the command "
        "line): else the answer is too good and its interval too narrow. If the file is merely sorted, all is well.",
        excess,
    )


def _lag_one(classes: list[Floats]) -> float:
    """Mean over directions of the correlation of a row with the next one, classes pooled."""
    products = sum(float(np.sum(c[1:] * c[:-1])) for c in classes)
    squares = sum(float(np.sum(c**2)) for c in classes)
    return products / squares if squares > 0 else 0.0


def _normal_ranks(rows: Floats) -> Floats:
    """Each column as normal scores: ties in the order of the file would pretend to a trend, so they share a rank."""
    n = len(rows)
    out = np.empty_like(rows)
    for j, column in enumerate(rows.T):
        _, code, counts = np.unique(column, return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - (counts - 1) / 2
        out[:, j] = ndtri((middle[code] - 0.5) / n)
    return out
