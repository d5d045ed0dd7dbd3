"""Tables that are read a block of rows at a time: one file per kind of input.

    block     some rows, their labels, and where they belong; statistics of blocks add up with ``+``
    labels    statistics per label: which two classes there are is found on the way
    arrays    NumPy arrays, memory maps, SciPy sparse matrices
    chunks    iterables of (X, y) pairs
    parquet   Parquet files, one row group after the other
    lazy      Dask arrays: statistics are computed where the data lie and merged as a tree
    device    arrays on another device (GPU), reduced there; `torch_sums` for PyTorch
    sums      what is summed up over blocks: moments (`running`) of scores and columns
    matrix    the rows after the steps of a pipeline, with the products that methods need

To add a kind: a file with a class that satisfies `Source`, and a line in `KINDS`.
"""

from __future__ import annotations

from typing import Any

from foldless.sources import chunks, lazy, parquet
from foldless.sources.arrays import ArraySource
from foldless.sources.block import Source

__all__ = ["ArraySource", "Source", "as_source"]

# Each knows its kind of input (`recognises`) and opens it (`open_source`).
KINDS = (lazy, parquet, chunks)


def as_source(X: Any, y: Any) -> Source | None:
    """The source behind X, or None when X is an ordinary table in memory."""
    if isinstance(X, Source):
        return X
    for kind in KINDS:
        if kind.recognises(X, y):
            found: Source = kind.open_source(X, y)
            return found
    return None
