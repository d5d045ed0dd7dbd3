"""A few random projections of all rows: enough to see copies, order and spread at the cost of one pass over X.

Columns are brought to unit spread within the classes first, so that no unit of measurement matters.
Rows that are near each other stay near; rows that are not stay apart in most of a dozen directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless._check import Floats
from foldless.anatomy import LinearView
from foldless.honest.design import Bools
from foldless.moments import feature_moments, project

DIRECTIONS = 12
SEED = 20240301  # fixed: the same data give the same findings
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Sketch:
    """Projected rows Z (N, at most `DIRECTIONS`) and which of them are positive."""

    Z: Floats
    positive: Bools

    @classmethod
    def of(cls, view: LinearView) -> Sketch:
        """Sketch of the rows that the classifier was judged on."""
        mean, sd = column_spread(view.X, view.labels.positive)
        used = np.flatnonzero(sd > 0)
        directions = _directions(used.size)
        weights = np.zeros((sd.size, directions.shape[1]))
        weights[used] = directions / sd[used, None]
        return cls(project(view.X, weights) - mean @ weights, view.labels.positive)

    def by_class(self) -> tuple[Floats, Floats]:
        """Rows of the positive class, and of the negative class."""
        return self.Z[self.positive], self.Z[~self.positive]


def column_spread(X: Any, positive: Bools) -> tuple[Floats, Floats]:
    """Mean of each column, and its standard deviation within the classes; 0 for what is rounding noise."""
    negative, other = feature_moments(X, positive)
    mean = (negative.n * negative.mean + other.n * other.mean) / positive.size
    sd = np.sqrt((negative.scatter + other.scatter) / positive.size)
    return mean, np.where(sd > ROUNDING * np.abs(mean), sd, 0.0)


def _directions(n_columns: int) -> Floats:
    if n_columns <= DIRECTIONS:
        return np.eye(n_columns)
    draws = np.random.default_rng(SEED).standard_normal((n_columns, DIRECTIONS))
    return np.asarray(draws / np.sqrt(n_columns))
