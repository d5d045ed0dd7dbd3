"""Tables that are read a block of rows at a time.

    block     `Block`, some rows with their labels, and `Source`, which provides them; statistics add with ``+``
    matrix    arrays and memory maps in blocks: scores, sums by class; rows after the steps of a pipeline
    chunks    iterables of (X, y) pairs
    parquet   Parquet files, one row group at a time
    clusters  Dask arrays and clusters: statistics are computed where the data are and merged as a tree
    device    arrays on another device (GPU), reduced there; `tensors` for PyTorch
    files     tables for the command line: CSV, TSV, Excel, SPSS, Stata, Parquet, .npz

To add a kind of table: a module with a subclass of `Source`, `recognises` and `open_source`, listed in `KINDS`.
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
    """Whether X is a stream or on another device, and must not be loaded into host memory as a whole."""
    return not isinstance(X, np.ndarray) and (is_device_array(X) or as_source(X, y) is not None)


def refuse_stream(X: Any, y: Any, who: str, *, on_host: bool = False) -> None:
    """Refuse a table that is read in parts and, with `on_host`, one on another device; other arrays pass."""
    if on_host and "cpu" not in str(getattr(X, "device", "cpu")).lower():
        raise InputError(f"{who} runs on the host, and X is on another device: pass X.cpu().numpy().")
    if hasattr(X, "__array__"):
        return
    if isinstance(X, Source) or any(kind.recognises(X, y) for kind in KINDS):
        raise InputError(
            f"{who} needs the table in memory, got {type(X).__name__}, which is read in parts: "
            f"load X and y as arrays or data frames."
        )
