"""Tables that are read a block of rows at a time.

    block     `Block`, some rows with their labels, and `Source`, which provides them; statistics add with ``+``
    matrix    arrays and memory maps in blocks; the rows after the steps of a pipeline, with the products methods need
    chunks    iterables of (X, y) pairs
    parquet   Parquet files, one row group after the other
    clusters  Dask arrays and clusters: statistics are computed where the data are and merged as a tree
    device    arrays on another device (GPU), reduced there; `torch_sums` for PyTorch
    sums      what is summed up over blocks: moments of scores and columns
    files     tables for the command line: CSV, TSV, Parquet, .npz

To add a kind: a file with a subclass of `Source`, and a line in `KINDS`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless.errors import InputError
from foldless.tables import chunks, clusters, parquet
from foldless.tables.block import Source
from foldless.tables.device import is_device_array
from foldless.tables.matrix import ArraySource

__all__ = ["ArraySource", "Source", "as_source", "is_out_of_core", "refuse_stream"]

# Each knows its kind of input (`recognises`) and opens it (`open_source`).
KINDS = (clusters, parquet, chunks)


def as_source(X: Any, y: Any) -> Source | None:
    """The source behind X, or None when X is an ordinary table in memory."""
    if isinstance(X, Source):
        return X
    for kind in KINDS:
        if kind.recognises(X, y):
            source: Source = kind.open_source(X, y)
            return source
    return None


def is_out_of_core(X: Any, y: Any) -> bool:
    """Whether X is a stream or on another device, and so must not be held whole in host memory."""
    return not isinstance(X, np.ndarray) and (is_device_array(X) or as_source(X, y) is not None)


def refuse_stream(X: Any, y: Any, who: str) -> None:
    """For what needs the table in memory; arrays of any kind are loaded there by whoever uses them."""
    if hasattr(X, "__array__"):
        return
    if isinstance(X, Source) or any(kind.recognises(X, y) for kind in KINDS):
        raise InputError(
            f"{who} needs the table in memory, got {type(X).__name__}, which is read piece by piece: "
            f"load X and y as arrays or data frames."
        )
