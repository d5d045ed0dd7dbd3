"""Filling a matrix from a lazy polars frame, batch by batch, so that the table is in memory once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from foldless.cli.tables.sheet import Loaded


def new_matrix(rows: int, columns: int, dtype: Any = np.float64) -> Any:
    """A matrix of NaN-to-be; its pages are taken from the system as they are filled."""
    return np.empty((rows, columns), dtype=dtype)


def fill(X: Any, lazy: Any, names: list[str], places: list[int]) -> None:
    """Columns of numbers (or truth values) into their places in X; null becomes NaN.

    `lazy` may have further columns; they are read and let go.
    """
    import polars as pl

    start = 0
    kind = pl.Float32 if X.dtype == np.float32 else pl.Float64
    every = places == list(range(X.shape[1]))
    for batch in lazy.collect_batches(maintain_order=True):
        block = slice(start, start + batch.height)
        numbers = batch.select(pl.col(names).cast(kind)).to_numpy()
        if every:
            X[block] = numbers
        else:
            X[block, places] = numbers
        start += batch.height


def fill_from_text(
    X: Any, texts: Callable[[list[str]], Any], names: list[str], places: list[int], convert: Callable[[Any], Any]
) -> Loaded:
    """Columns of text into X where `convert` makes numbers of them; the others are handed back."""
    from foldless.cli.tables.values import stripped

    left = {}
    for name, place, column in zip(names, places, texts(names).get_columns(), strict=True):
        numbers = convert(column)
        X[:, place] = np.nan if numbers is None else numbers.to_numpy()
        if numbers is None:
            left[name] = stripped(column).alias(name)
    return Loaded(X, left, {})
