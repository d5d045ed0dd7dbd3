"""A look at columns before they are used: what is missing, what is infinite, and which ones number the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldless._check import Array
from foldless.sources.block import Block


@dataclass(frozen=True, eq=False)
class ColumnLook:
    """Of each column of some rows; the parts of neighbours add, in the order of the table.

    Attributes
    ----------
    missing, infinite : numbers of such values
    first, last : values of the first and of the last row
    counting : whether each value is the one before plus 1
    """

    missing: Array
    infinite: Array
    first: Array
    last: Array
    counting: Array

    def __add__(self, after: ColumnLook) -> ColumnLook:
        goes_on = after.first == self.last + 1
        return ColumnLook(
            self.missing + after.missing,
            self.infinite + after.infinite,
            self.first,
            after.last,
            self.counting & after.counting & goes_on,
        )


def look_at_columns(block: Block) -> ColumnLook:
    """The statistic of a dense block."""
    X = np.asarray(block.X)
    return ColumnLook(
        np.isnan(X).sum(axis=0),
        np.isinf(X).sum(axis=0),
        X[0].copy(),
        X[-1].copy(),
        np.all(X[1:] == X[:-1] + 1, axis=0),
    )
