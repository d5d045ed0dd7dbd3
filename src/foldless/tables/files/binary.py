"""Files that say themselves what is a number: Parquet, alone or several as one table, and NumPy archives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from foldless.checks import refuse_repeated
from foldless.errors import InputError
from foldless.tables import parquet
from foldless.tables.files import sheet
from foldless.tables.files.sheet import Hints, Loaded, Sheet, stripped
from foldless.words import listed

# ---- Parquet.


def read_parquet(path: Path, hints: Hints, scratch: Path) -> ParquetSheet:
    """Read what the file says about itself; its columns stay where they are."""
    opened = ParquetSheet(path)
    if opened.rows == 0:
        raise InputError(f"{path} has columns but no rows.")
    return opened


@dataclass(frozen=True)
class ParquetSheet(Sheet):
    """A Parquet file."""

    path: Path

    @property
    def read_as(self) -> str:
        return "Parquet"

    @cached_property
    def file(self) -> parquet.ParquetFile:
        """The file itself."""
        return parquet.ParquetFile(str(self.path))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.file.kinds)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(self.file.row_groups)

    def column(self, name: str) -> Any:
        """One column as text; numbers and dates are written out."""
        import polars as pl

        self._refuse_no_labels(name)
        parts = [_as_text(batch.column(name)) for batch in self.file.batches([name])]
        return pl.concat(parts) if parts else pl.Series(dtype=pl.String)

    def unfit(self, names: tuple[str, ...]) -> dict[str, str]:
        """Columns that do not hold numbers, by name, with what they hold."""
        return {name: self.file.kinds[name] for name in names if not self.file.is_numeric(name)}

    def count_values(self, name: str, values: Values) -> Values:
        """The values of a column, added to those of other files."""
        self._refuse_no_labels(name)
        for batch in self.file.batches([name]):
            counts = parquet.decoded(batch.column(name)).value_counts()
            distinct = counts.field("values")
            values.add(distinct.to_pylist(), _as_text(distinct).to_list(), counts.field("counts").to_pylist())
            if len(values.texts) > MANY:
                raise InputError(
                    f"the target column '{name}' has more than {MANY} different values in {self.path}: expected two "
                    f"classes. Is it a measurement? Then make classes of it first."
                )
        return values

    def load(self, names: tuple[str, ...]) -> Loaded:
        """Numbers as float64, or as float32 where all of them are; words, dates and lists apart."""
        apart = self.unfit(names)
        numbers = [name for name in names if name not in apart]
        places = {name: k for k, name in enumerate(names)}
        X = sheet.new_matrix(self.rows, len(names), np.float32 if self._is_narrow(names) else np.float64)
        X[:, [places[name] for name in apart]] = np.nan
        start = 0
        for batch in self.file.batches(numbers) if numbers else ():
            for name in numbers:
                X[start : start + batch.num_rows, places[name]] = parquet.as_numbers(batch.column(name))
            start += batch.num_rows
        texts = {name: self.column(name) for name, kind in apart.items() if kind == parquet.TEXT}
        return Loaded(X, texts, {name: kind for name, kind in apart.items() if name not in texts})

    def _is_narrow(self, names: tuple[str, ...]) -> bool:
        """Whether float32 holds every number of these columns as it is, and one of them is in float32."""
        types = {self.file.types[name] for name in names}
        return "float" in types and types <= {"float", "bool", "int8", "int16", "uint8", "uint16"}

    def _refuse_no_labels(self, name: str) -> None:
        kind = self.file.kinds[name]
        if kind in (parquet.NESTED, parquet.OTHER):
            raise InputError(f"column '{name}' of {self.path} holds {kind}: expected labels.")


def _as_text(column: Any) -> Any:
    """An Arrow column as a polars series of text; null where it says nothing."""
    import polars as pl

    return stripped(pl.Series(pl.from_arrow(parquet.decoded(column))).cast(pl.String))


MANY = 1000  # different values: no column of classes


@dataclass
class Values:
    """Values of a column over all files: the text of each, the rows of each text, and the rows without one."""

    texts: dict[Any, str] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    def add(self, values: list[Any], texts: list[str | None], counts: list[int]) -> None:
        """Count some more rows."""
        for value, text, count in zip(values, texts, counts, strict=True):
            if text is None:
                self.missing += count
            else:
                self.texts[value] = text
                self.rows[text] += count


def open_parquet(paths: tuple[Path, ...], why: str) -> tuple[ParquetSheet, ...]:
    """The files, refused unless all are Parquet, different, and have the same columns."""
    for path in paths:
        if sheet.kind_of(path) != "parquet":
            raise InputError(f"{path} is not a Parquet file, and {why}: write it as Parquet first.")
    _refuse_twice(paths)
    sheets = tuple(ParquetSheet(path) for path in paths)
    for other in sheets[1:]:
        _refuse_other_columns(other, sheets[0])
    if not sum(one.rows for one in sheets):
        raise InputError(f"{paths[0]} has columns but no rows{', nor have the others' * (len(paths) > 1)}.")
    return sheets


def _refuse_twice(paths: tuple[Path, ...]) -> None:
    seen: dict[Path, Path] = {}
    for path in paths:
        before = seen.setdefault(path.resolve(), path)
        if before is not path:
            raise InputError(f"{path} is named twice: its rows would count twice. Name every file once.")


def _refuse_other_columns(sheet: ParquetSheet, first: ParquetSheet) -> None:
    for one, other in ((sheet, first), (first, sheet)):
        more = [name for name in one.names if name not in set(other.names)]
        if more:
            raise InputError(
                f"{one.path} has {listed(more)} and {other.path} has not: files that make one table need the same "
                f"columns."
            )


def count_values(sheets: tuple[ParquetSheet, ...], name: str) -> Values:
    """The values of a target column, over all files."""
    expected = sheets[0].file.kinds[name]
    values = Values()
    for one in sheets:
        kind = one.file.kinds[name]
        if kind == parquet.DATES:
            raise InputError(f"the target column '{name}' of {one.path} holds {kind}: expected classes.")
        if kind != expected:
            raise InputError(
                f"the target column '{name}' holds {expected} in {sheets[0].path} and {kind} in {one.path}: write it "
                f"the same way in all files."
            )
        one.count_values(name, values)
    return values


MATRIX, TARGET = "X", "y"
NAMES = ("feature_names", "features", "columns")
SAVED_BY = "expected an archive as numpy.savez(file, X=X, y=y) writes it"


def read_archive(path: Path, hints: Hints, scratch: Path) -> ArchiveSheet:
    """Open the archive without ever unpickling, and check its matrix."""
    sheet.refuse_zip_bomb(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            held = tuple(archive.files)
    except (OSError, ValueError, EOFError) as err:
        raise InputError(f"{path} is damaged or no .npz file: {SAVED_BY}.") from err
    if MATRIX not in held:
        raise InputError(f"{path} has no array 'X' (it has {listed(held) or 'none'}): {SAVED_BY}.")
    X = _checked(_array(path, MATRIX), path)
    return ArchiveSheet(path, X, _names(path, held, X.shape[1]), tuple(n for n in held if n not in (MATRIX, *NAMES)))


@dataclass(frozen=True, eq=False)
class ArchiveSheet:
    """A NumPy archive; a `Sheet` whose properties are fields."""

    path: Path
    X: Any
    names: tuple[str, ...]
    others: tuple[str, ...]
    default_target: str | None = TARGET
    read_as: str = "NumPy archive"
    remedy: str = ""

    def column(self, name: str) -> Any:
        """An array of the archive, or a column of X, as text."""
        import polars as pl

        values = self.X[:, self.names.index(name)] if name not in self.others else _array(self.path, name)
        if values.ndim != 1 or len(values) != len(self.X):
            raise InputError(
                f"array '{name}' of {self.path} has the shape {values.shape}: expected one value for each of the "
                f"{len(self.X)} rows of X."
            )
        return stripped(pl.Series(name, [_written(v) for v in values.tolist()], dtype=pl.String))

    def load(self, names: tuple[str, ...]) -> Loaded:
        """X itself where nothing is left out."""
        if names == self.names:
            return Loaded(self.X, {}, {})
        places = {name: k for k, name in enumerate(self.names)}
        return Loaded(self.X[:, [places[name] for name in names]], {}, {})


def _written(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _array(path: Path, name: str) -> Any:
    try:
        with np.load(path, allow_pickle=False) as archive:
            array = archive[name]
    except (OSError, ValueError, EOFError, KeyError) as err:
        why = "holds Python objects, which are never unpickled" if "pickle" in str(err) else "cannot be read"
        raise InputError(f"array '{name}' of {path} {why}: save it as numbers or as text.") from err
    except MemoryError as err:
        raise InputError(f"array '{name}' of {path} is larger than the memory there is.") from err
    if not isinstance(array, np.ndarray):  # a member that is no array comes as bytes
        raise InputError(f"'{name}' of {path} is not an array: {SAVED_BY}.")
    return array


def _checked(X: Any, path: Path) -> Any:
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"array 'X' of {path} has the shape {X.shape}: expected rows and columns.")
    if X.dtype.kind not in "fiub":
        raise InputError(f"array 'X' of {path} holds {X.dtype}: expected numbers.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _names(path: Path, held: tuple[str, ...], width: int) -> tuple[str, ...]:
    given = next((name for name in NAMES if name in held), None)
    if given is None:
        return tuple(f"x{k}" for k in range(width))
    names = tuple(_written(v).strip() for v in _array(path, given).ravel().tolist())
    if len(names) != width:
        raise InputError(f"array '{given}' of {path} has {len(names)} names for the {width} columns of X.")
    refuse_repeated(names, path)
    return names
