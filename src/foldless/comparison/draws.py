"""Points that fill a cube evenly: the same every time, and better than random ones."""

from __future__ import annotations

import numpy as np

from foldless._check import Floats


def spread_out(count: int, dimensions: int) -> Floats:
    """Sobol points strictly inside the unit cube, shape (count, dimensions); count a power of two."""
    from scipy.stats import qmc

    points = qmc.Sobol(dimensions, scramble=False).random(count)
    # The first point is the corner 0 and the others are multiples of 1/count: move them to the middle of their cells.
    return np.asarray(points + 0.5 / count)
