"""Files with typed columns: Parquet, one file or several as one table, and NumPy archives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
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
    """Read the schema; columns are read when they are needed."""
    (opened,) = as_one_table((path,))
    return opened


@dataclass(frozen=True, eq=False, kw_only=True)
class ParquetSheet(Sheet):
    """A Parquet file."""

    file: parquet.ParquetFile

    @classmethod
    def of(cls, path: Path) -> ParquetSheet:
        file = parquet.ParquetFile(str(path))
        return cls(path=path, names=tuple(file.kinds), read_as="Parquet", file=file)

    @property
    def rows(self) -> int:
        return sum(self.file.row_groups)

    def column(self, name: str) -> Any:
        import polars as pl

        parts = [_as_text(batch.column(name)) for batch in self.label_batches(name)]
        return pl.concat(parts) if parts else pl.Series(dtype=pl.String)

    def unfit(self, names: tuple[str, ...]) -> dict[str, str]:
        """Columns that do not hold numbers, by name, with what they hold."""
        return {name: self.file.kinds[name] for name in names if not self.file.is_numeric(name)}

    def load(self, names: tuple[str, ...]) -> Loaded:
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

    def label_batches(self, name: str) -> Iterator[Any]:
        """A column as Arrow record batches, refused unless its values can be labels."""
        kind = self.file.kinds[name]
        if kind in (parquet.NESTED, parquet.OTHER):
            raise InputError(f"column '{name}' of {self.path} holds {kind}: expected labels.")
        yield from self.file.batches([name])


def _as_text(column: Any) -> Any:
    """An Arrow column as a polars series of text; null where a value is missing."""
    import polars as pl

    return stripped(pl.Series(pl.from_arrow(parquet.decoded(column))).cast(pl.String))


def as_one_table(paths: tuple[Path, ...]) -> tuple[ParquetSheet, ...]:
    """Parquet files that make one table: different files with the same columns, and at least one row."""
    places = [path.resolve() for path in paths]
    for k, path in enumerate(paths):
        if places[k] in places[:k]:
            raise InputError(f"{path} is named twice: its rows would count twice. Name every file once.")
    sheets = tuple(ParquetSheet.of(path) for path in paths)
    for other in sheets[1:]:
        _refuse_other_columns(other, sheets[0])
    if not sum(one.rows for one in sheets):
        raise InputError(f"{paths[0]} has columns but no rows{', like the others' * (len(paths) > 1)}.")
    return sheets


def _refuse_other_columns(sheet: ParquetSheet, first: ParquetSheet) -> None:
    for one, other in ((sheet, first), (first, sheet)):
        more = [name for name in one.names if name not in set(other.names)]
        if more:
            raise InputError(
                f"{one.path} has {listed(more)} but {other.path} does not: files that make one table need the same "
                f"columns."
            )


MANY = 1000  # distinct values: too many for classes


@dataclass
class Values:
    """The distinct values of a column in several files."""

    texts: dict[Any, str] = field(default_factory=dict)  # each value as text
    rows: Counter[str] = field(default_factory=Counter)  # number of rows with each text
    missing: int = 0

    def add(self, column: Any) -> None:
        """Count the rows of an Arrow column."""
        counts = parquet.decoded(column).value_counts()
        values = counts.field("values")
        numbers = zip(values.to_pylist(), _as_text(values).to_list(), counts.field("counts").to_pylist(), strict=True)
        for value, text, count in numbers:
            if text is None:
                self.missing += count
            else:
                self.texts[value] = text
                self.rows[text] += count


def count_values(sheets: tuple[ParquetSheet, ...], name: str) -> Values:
    """The values of a target column, over all files."""
    expected, values = sheets[0].file.kinds[name], Values()
    for one in sheets:
        kind = one.file.kinds[name]
        if kind == parquet.DATES:
            raise InputError(f"the target column '{name}' of {one.path} holds {kind}: expected classes.")
        if kind != expected:
            raise InputError(
                f"the target column '{name}' holds {expected} in {sheets[0].path} and {kind} in {one.path}: write it "
                f"the same way in all files."
            )
        for batch in one.label_batches(name):
            values.add(batch.column(name))
            if len(values.texts) > MANY:
                raise InputError(
                    f"the target column '{name}' has more than {MANY} different values in {one.path}: expected two "
                    f"classes. Is it a measurement? Then make classes of it first."
                )
    return values


# ---- NumPy archives.

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
    return ArchiveSheet(
        path=path,
        names=_names(path, held, X.shape[1]),
        read_as="NumPy archive",
        others=tuple(name for name in held if name not in (MATRIX, *NAMES)),
        default_target=TARGET,
        X=X,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ArchiveSheet(Sheet):
    """A NumPy archive."""

    X: Any

    def column(self, name: str) -> Any:
        import polars as pl

        values = self.X[:, self.names.index(name)] if name not in self.others else _array(self.path, name)
        if values.ndim != 1 or len(values) != len(self.X):
            raise InputError(
                f"array '{name}' of {self.path} has the shape {values.shape}: expected one value for each of the "
                f"{len(self.X)} rows of X."
            )
        return stripped(pl.Series(name, [_as_word(v) for v in values.tolist()], dtype=pl.String))

    def load(self, names: tuple[str, ...]) -> Loaded:
        if names == self.names:
            return Loaded(self.X, {}, {})
        places = {name: k for k, name in enumerate(self.names)}
        return Loaded(self.X[:, [places[name] for name in names]], {}, {})


def _as_word(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _array(path: Path, name: str) -> Any:
    try:
        with np.load(path, allow_pickle=False) as archive:
            array = archive[name]
    except (OSError, ValueError, EOFError, KeyError) as err:
        why = "holds Python objects, which are never unpickled" if "pickle" in str(err) else "cannot be read"
        raise InputError(f"array '{name}' of {path} {why}: save it as numbers or as text.") from err
    except MemoryError as err:
        raise InputError(f"array '{name}' of {path} does not fit into memory.") from err
    if not isinstance(array, np.ndarray):  # members that are not arrays come as bytes
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
    names = tuple(_as_word(v).strip() for v in _array(path, given).ravel().tolist())
    if len(names) != width:
        raise InputError(f"array '{given}' of {path} has {len(names)} names for the {width} columns of X.")
    refuse_repeated(names, path)
    return names
