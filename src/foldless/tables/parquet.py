"""Parquet files: one row group after the other, and only the columns that are needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np

from foldless import words
from foldless.checks import Array
from foldless.errors import InputError
from foldless.tables.block import Block, Statistic, folded, joined_labels, same_rows

BATCH_CELLS = 1 << 21  # numbers held at once: 16 MB
READ_AHEAD = 1 << 20  # bytes of a column read from the file at a time
SUFFIXES = (".parquet", ".pq")


def recognises(X: Any, y: Any) -> bool:
    """A path, or a list of paths, that ends in .parquet or names a folder or a pattern of such files."""
    paths = X if isinstance(X, list | tuple) and X else [X]
    return all(isinstance(p, str | os.PathLike) and _looks_like_parquet(os.fspath(p)) for p in paths)


def open_source(X: Any, y: Any) -> ParquetSource:
    """Open files for reading; `y` is the name of the column that holds the labels."""
    if not isinstance(y, str):
        raise InputError(f"with Parquet files, y must be the name of the label column, got {type(y).__name__}.")
    return ParquetSource.of(X, y)


@dataclass(frozen=True)
class Piece:
    """One row group of one file."""

    file: str
    group: int
    n_rows: int


@dataclass(frozen=True)
class ParquetSource:
    """Row groups of files with the same columns; `target` holds the labels, `features` are read as numbers."""

    pieces: tuple[Piece, ...]
    target: str
    features: tuple[str, ...]
    start: int = 0  # place of the first row in the whole table
    meaning: Mapping[Any, Any] | None = None  # of the values of the target; None: they are the labels

    @classmethod
    def of(
        cls, paths: Any, target: str, *, drop: tuple[str, ...] = (), meaning: Mapping[Any, Any] | None = None
    ) -> ParquetSource:
        """Every column but the target and those in `drop` is a feature."""
        files = _listed_files(paths)
        names = _column_names(files[0])
        for name in (target, *drop):
            if name not in names:
                raise InputError(f"{files[0]} has no column {name!r}: it has {words.listed(names)}.")
        features = tuple(n for n in names if n != target and n not in drop)
        if not features:
            raise InputError(f"{files[0]} has no column besides {target!r}: expected at least one feature.")
        return cls(tuple(piece for file in files for piece in _pieces(file)), target, features, meaning=meaning)

    def with_features(self, names: list[str]) -> ParquetSource:
        """The same rows with these columns, in this order; the others are not read."""
        missing = [n for n in names if n not in self.features]
        if missing:
            raise InputError(f"the files lack column {words.listed(missing)}, which the classifier was fitted on.")
        return replace(self, features=tuple(names))

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def repeatable(self) -> bool:
        return True

    def blocks(self) -> Iterator[Block]:
        start = self.start
        for table in self._batches([*self.features, self.target]):
            y = self._labels(table)
            yield Block(self._numbers(table), same_rows(table.num_rows, y), start)
            start += table.num_rows

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        return folded(self.blocks(), statistic, vectors)

    def labels(self) -> Array:
        return joined_labels(self._labels(table) for table in self._batches([self.target]))

    def parts(self) -> Iterator[tuple[ParquetSource, int]]:
        """One source per row group, and its number of rows: what a cluster works on."""
        start = self.start
        for piece in self.pieces:
            yield replace(self, pieces=(piece,), start=start), piece.n_rows
            start += piece.n_rows

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        size = max(1, BATCH_CELLS // len(columns))
        for piece in self.pieces:
            with _opened(piece.file) as parquet:
                missing = [c for c in columns if c not in parquet.schema_arrow.names]
                if missing:
                    raise InputError(
                        f"{piece.file} lacks column {words.listed(missing)}: all files need the same columns."
                    )
                _refuse_other_kinds(piece.file, parquet.schema_arrow, [c for c in columns if c != self.target])
                yield from parquet.iter_batches(batch_size=size, row_groups=[piece.group], columns=columns)

    def _labels(self, table: Any) -> Array:
        values = _labels(table.column(self.target))
        if self.meaning is None:
            return values
        try:
            return np.array([self.meaning[value] for value in values.tolist()])
        except KeyError as err:
            raise InputError(
                f"column {self.target!r} holds {err.args[0]!r}, expected one of {words.listed(list(self.meaning))}."
            ) from err

    def _numbers(self, table: Any) -> Array:
        out = np.empty((table.num_rows, len(self.features)), order="F")
        for j, name in enumerate(self.features):
            out[:, j] = _as_numbers(table.column(name)).to_numpy(zero_copy_only=False)
        return out


def _refuse_other_kinds(file: str, schema: Any, names: list[str]) -> None:
    """Dates and text that looks like numbers could be converted, and would mean nothing."""
    unfit = [f"{name!r} holds {schema.field(name).type}" for name in names if not _is_number(schema.field(name).type)]
    if unfit:
        shown = ", ".join(unfit[:5]) + (f" and {len(unfit) - 5} more" if len(unfit) > 5 else "")
        raise InputError(f"{file}: column {shown}, expected numbers: encode it or leave it out (drop= of open_files).")


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return any(test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))


def _as_numbers(column: Any) -> Any:
    """Truth values and decimals as floats: their missing values have no place in an array otherwise."""
    return column.cast("float64") if str(column.type).startswith(("bool", "decimal")) else column


def _labels(column: Any) -> Array:
    if column.null_count:
        raise InputError(f"the label column has {column.null_count} missing label(s): drop those rows.")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _looks_like_parquet(path: str) -> bool:
    return path.endswith(SUFFIXES) or (Path(path).is_dir() and bool(_in_folder(path)))


def _in_folder(path: str) -> list[str]:
    return sorted(str(p) for suffix in SUFFIXES for p in Path(path).glob(f"*{suffix}"))


def _listed_files(paths: Any) -> tuple[str, ...]:
    found: list[str] = []
    for path in [os.fspath(p) for p in (paths if isinstance(paths, list | tuple) else [paths])]:
        here = _expanded(path)
        if not here:
            raise InputError(f"no Parquet file at {path}: check the path.")
        found += here
    return tuple(found)


def _expanded(path: str) -> list[str]:
    if Path(path).is_dir():
        return _in_folder(path)
    if Path(path).is_file():  # a name with brackets in it is a name first
        return [path]
    return sorted(glob(path)) if has_magic(path) else []


def unreadable(files: tuple[str, ...]) -> str | None:
    """Why this process cannot read these files, for a worker that is asked before the work; None if it can."""
    for file in files:
        if not Path(file).is_file():
            return f"{file} is not there"
    try:
        _column_names(files[0])
    except InputError as err:
        return str(err).rstrip(".")
    return None


def _column_names(file: str) -> list[str]:
    with _opened(file) as parquet:
        return list(parquet.schema_arrow.names)


def _pieces(file: str) -> Iterator[Piece]:
    with _opened(file) as parquet:
        for group in range(parquet.num_row_groups):
            n_rows = int(parquet.metadata.row_group(group).num_rows)
            if n_rows:
                yield Piece(file, group, n_rows)


def _opened(file: str) -> Any:
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as err:
        raise InputError("Parquet files need pyarrow: pip install 'foldless[parquet]'.") from err
    try:
        return ParquetFile(file, buffer_size=READ_AHEAD, pre_buffer=False)
    except (ArrowInvalid, OSError) as err:
        raise InputError(f"{file} is not a readable Parquet file ({str(err).splitlines()[0]}).") from err
