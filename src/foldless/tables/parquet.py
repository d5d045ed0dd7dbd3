"""Parquet files, read with pyarrow: one row group after the other, and only the columns that are needed.

pyarrow reads a part of a row group at a time. polars, which reads the text files of the command line, either holds a
whole row group in memory (882 MB for one of 800 MB, a million rows as pandas writes them; pyarrow needs 375 MB) or
takes six times as long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.checks import Array
from foldless.errors import InputError
from foldless.tables import clusters
from foldless.tables.block import Block, Source, Statistic, joined_labels

BATCH_CELLS = 1 << 21  # numbers held at once: 16 MB
READ_AHEAD = 1 << 20  # bytes of a column read from the file at a time
SUFFIXES = (".parquet", ".pq")
# What a column may hold, as messages name it.
NUMBERS, TRUTH, TEXT, DATES = "numbers", "truth values", "text", "dates or times"
NESTED, OTHER = "lists or structures", "values that are not numbers"


# ---- One file.


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file: its columns, its row groups, and its rows a batch at a time."""

    path: str

    @cached_property
    def _schema(self) -> Any:
        with self._opened() as parquet:
            schema = parquet.schema_arrow
        checks.refuse_repeated(schema.names, self.path)
        return schema

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The columns by name, with what each holds."""
        return {field.name: _kind(field.type) for field in self._schema}

    @cached_property
    def types(self) -> dict[str, str]:
        """The columns by name, with Arrow's names of their types."""
        return {field.name: str(field.type) for field in self._schema}

    @cached_property
    def row_groups(self) -> tuple[int, ...]:
        """The number of rows of each row group."""
        with self._opened() as parquet:
            return tuple(int(parquet.metadata.row_group(k).num_rows) for k in range(parquet.num_row_groups))

    def batches(self, columns: list[str], row_group: int | None = None) -> Iterator[Any]:
        """Some columns as Arrow record batches of a bounded size, of one row group or of all."""
        size = max(1, BATCH_CELLS // len(columns))
        groups = {} if row_group is None else {"row_groups": [row_group]}
        with self._opened() as parquet:
            yield from parquet.iter_batches(batch_size=size, columns=columns, **groups)

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers or truth values."""
        return self.kinds[name] in (NUMBERS, TRUTH)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile as Reader
        except ModuleNotFoundError as err:
            raise InputError("Parquet files need pyarrow: pip install 'foldless[parquet]'.") from err
        try:
            with Reader(self.path, buffer_size=READ_AHEAD, pre_buffer=False) as file:
                yield file
        except MemoryError:
            raise
        except (ArrowException, OSError, UnicodeDecodeError) as err:
            reason = words.one_line(str(err).split("\n")[0]).rstrip(".")
            raise InputError(f"{self.path} is damaged or not a Parquet file: {reason}.") from err


def _kind(arrow: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(arrow):
        return _kind(arrow.value_type)
    tests = {
        TRUTH: (types.is_boolean,),
        NUMBERS: (types.is_integer, types.is_floating, types.is_decimal),
        TEXT: (types.is_string, types.is_large_string, getattr(types, "is_string_view", types.is_string)),
        DATES: (types.is_temporal,),
        NESTED: (types.is_nested,),
    }
    return next((kind for kind, matches in tests.items() if any(test(arrow) for test in matches)), OTHER)


def decoded(column: Any) -> Any:
    """An Arrow column without dictionary encoding."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def as_numbers(column: Any) -> Array:
    """An Arrow column of numbers or truth values as an array; NaN where a value is missing."""
    column = decoded(column)
    # Otherwise missing truth values and decimals would make an array of objects.
    converted = column.cast("float64") if str(column.type).startswith(("bool", "decimal")) else column
    return np.asarray(converted.to_numpy(zero_copy_only=False))


def recognises(X: Any, y: Any) -> bool:
    """A path, or a list of paths, that ends in .parquet or names a folder or a pattern of such files."""
    paths = X if isinstance(X, list | tuple) and X else [X]
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        return False
    return all(path.endswith(SUFFIXES) or (os.path.isdir(path) and _in_folder(path)) for path in map(os.fspath, paths))


def open_source(X: Any, y: Any) -> ParquetSource:
    """Open files for reading; `y` is the name of the column that holds the labels."""
    if not isinstance(y, str):
        raise InputError(f"with Parquet files, y must be the name of the label column, got {type(y).__name__}.")
    return ParquetSource.of(X, y)


@dataclass(frozen=True)
class RowGroup:
    """One row group of one file."""

    file: ParquetFile
    number: int
    n_rows: int


@dataclass(frozen=True)
class ParquetSource(Source):
    """Row groups of files with the same columns; `target` holds the labels, `features` are read as numbers."""

    groups: tuple[RowGroup, ...]
    target: str
    features: tuple[str, ...]
    start: int = 0  # place of the first row in the whole table
    meaning: Mapping[Any, Any] | None = None  # the label of each value of the target; None if the values are labels
    spread: bool = False  # whether Dask computes the statistics, row group by row group

    @classmethod
    def of(cls, paths: Any, target: str, *, drop: tuple[str, ...] = (), **options: Any) -> ParquetSource:
        """Every column but the target and those in `drop` is a feature; `options` are fields."""
        files = [ParquetFile(path) for path in _listed_files(paths)]
        names = list(files[0].kinds)
        for name in (target, *drop):
            if name not in names:
                raise InputError(f"{files[0].path} has no column {name!r}: it has {words.listed(names)}.")
        features = tuple(n for n in names if n != target and n not in drop)
        if not features:
            raise InputError(f"{files[0].path} has no column besides {target!r}: expected at least one feature.")
        groups = (RowGroup(file, k, n) for file in files for k, n in enumerate(file.row_groups) if n)
        return cls(tuple(groups), target, features, **options)

    def with_features(self, names: list[str]) -> ParquetSource:
        """The same rows with these columns, in this order; the others are not read."""
        missing = [n for n in names if n not in self.features]
        if missing:
            raise InputError(f"the files lack column {words.listed(missing)}, which the classifier was fitted on.")
        return replace(self, features=tuple(names))

    @property
    def n_features(self) -> int:
        return len(self.features)

    def blocks(self) -> Iterator[Block]:
        start = self.start
        for batch in self._batches(self.features):
            X = np.empty((batch.num_rows, len(self.features)), order="F")
            for j, name in enumerate(self.features):
                X[:, j] = as_numbers(batch.column(name))
            yield Block.of(X, self._labels(batch), start)
            start += batch.num_rows

    def labels(self) -> Array:
        return joined_labels(self._labels(batch) for batch in self._batches(()))

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        if not self.spread:
            return super().total(statistic, *vectors)
        return clusters.total_of_parts(self._parts(), statistic, *vectors)

    def _parts(self) -> Iterator[tuple[ParquetSource, int]]:
        """One source per row group, and its number of rows."""
        start = self.start
        for group in self.groups:
            yield replace(self, groups=(group,), start=start, spread=False), group.n_rows
            start += group.n_rows

    def _batches(self, features: tuple[str, ...]) -> Iterator[Any]:
        columns = [*features, self.target]
        for group in self.groups:
            _refuse_other_columns(group.file, columns, features)
            yield from group.file.batches(columns, group.number)

    def _labels(self, batch: Any) -> Array:
        column = decoded(batch.column(self.target))
        if column.null_count:
            raise InputError(f"the label column has {column.null_count} missing label(s): drop those rows.")
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        if self.meaning is None:
            return values
        try:
            return np.array([self.meaning[value] for value in values.tolist()])
        except KeyError as err:
            raise InputError(
                f"column {self.target!r} holds {err.args[0]!r}, expected one of {words.listed(self.meaning)}."
            ) from err


def _refuse_other_columns(file: ParquetFile, columns: list[str], features: tuple[str, ...]) -> None:
    missing = [name for name in columns if name not in file.kinds]
    if missing:
        raise InputError(f"{file.path} lacks column {words.listed(missing)}: all files need the same columns.")
    # Dates, and text that looks like numbers, could be converted, but the numbers would mean nothing.
    unfit = [f"{name!r} holds {file.kinds[name]}" for name in features if not file.is_numeric(name)]
    if unfit:
        raise InputError(
            f"{file.path}: column {words.first_few(unfit)}, expected numbers: encode it or leave it out "
            f"(drop= of open_files)."
        )


def unreadable(files: tuple[str, ...]) -> str | None:
    """Why this process, such as a worker of a cluster, cannot read these files; None if it can."""
    for file in files:
        if not Path(file).is_file():
            return f"{file} does not exist"
    try:
        _ = ParquetFile(files[0]).kinds
    except InputError as err:
        return str(err).rstrip(".")
    return None


def _in_folder(path: str) -> list[str]:
    return sorted(str(p) for suffix in SUFFIXES for p in Path(path).glob(f"*{suffix}"))


def _listed_files(paths: Any) -> list[str]:
    several = paths if isinstance(paths, list | tuple) else [paths]
    return [file for path in several for file in _expanded(os.fspath(path))]


def _expanded(path: str) -> list[str]:
    if Path(path).is_file():  # before patterns: a file name may have brackets in it
        return [path]
    matches = sorted(glob(path)) if has_magic(path) else []
    files = _in_folder(path) if Path(path).is_dir() else matches
    if not files:
        raise InputError(f"no Parquet file at {path}: check the path.")
    return files
