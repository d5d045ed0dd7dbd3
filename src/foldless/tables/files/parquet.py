"""Parquet files on the command line: one, or several as one table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless.tables.files import sheet
from foldless.tables.files.sheet import Hints, Loaded, stripped
from foldless.words import one_line, quoted_list

# ---- Parquet: the file says what is a number.


def read(path: Path, hints: Hints, scratch: Path) -> ParquetSource:
    """Read what the file says about itself; its columns stay where they are."""
    source = ParquetSource(path)
    if source.rows == 0:
        raise fl.InputError(f"{path} has columns but no rows.")
    return source


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file; see `Sheet`."""

    path: Path
    others: tuple[str, ...] = ()
    default_target: str | None = None
    read_as: str = "Parquet"
    remedy: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self._schema)

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        import polars as pl

        return int(self._tried(lambda: self._scan().select(pl.len()).collect().item()))

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return dict(self._tried(lambda: self._scan().collect_schema()))

    def column(self, name: str) -> Any:
        """One column as text; numbers and dates are written out."""
        import polars as pl

        self._refuse_no_labels(name)
        return stripped(self._tried(lambda: self._scan().select(name).collect())[name].cast(pl.String))

    def sizes(self, name: str) -> Any:
        """The different values of a column ('value'), as text ('text'), and in how many rows each is ('rows')."""
        import polars as pl

        self._refuse_no_labels(name)
        lazy = self._scan().group_by(pl.col(name).alias("value")).agg(pl.len().alias("rows"))
        frame = self._tried(lambda: lazy.collect(engine="streaming"))
        return frame.with_columns(stripped(frame["value"].cast(pl.String)).alias("text"))

    def texts(self, name: str) -> Any:
        """One column as text, as a lazy frame."""
        import polars as pl

        self._refuse_no_labels(name)
        return self._scan().select(pl.col(name).cast(pl.String).str.strip_chars())

    def unfit(self, names: tuple[str, ...]) -> dict[str, str]:
        """Columns that do not hold numbers, by name, with what they hold."""
        kinds = {name: self._schema[name] for name in names}
        apart = {name: kind for name, kind in kinds.items() if not (kind.is_numeric() or kind == _boolean())}
        return {name: "text" if _is_text(kind) else _strange(kind) for name, kind in apart.items()}

    def kind(self, name: str) -> str:
        """What a column of labels holds, in a word."""
        return self.unfit((name,)).get(name, "truth values" if self._schema[name] == _boolean() else "numbers")

    def _refuse_no_labels(self, name: str) -> None:
        import polars as pl

        kind = self._schema[name]
        if kind.is_nested() or kind in (pl.Binary, pl.Object):
            raise fl.InputError(f"column '{name}' of {self.path} holds {_strange(kind)}: expected labels.")

    def load(self, names: tuple[str, ...]) -> Loaded:
        """Numbers as float64, or as float32 where all of them are; words, dates and lists apart."""
        kinds = {name: self._schema[name] for name in names}
        numbers = [name for name, kind in kinds.items() if kind.is_numeric() or kind == _boolean()]
        words = [name for name, kind in kinds.items() if _is_text(kind)]
        X = sheet.new_matrix(self.rows, len(names), _width(list(kinds.values())))
        places = {name: k for k, name in enumerate(names)}
        if numbers:
            self._tried(lambda: sheet.fill(X, self._scan().select(numbers), numbers, [places[n] for n in numbers]))
        apart = [name for name in names if name not in set(numbers)]
        X[:, [places[n] for n in apart]] = np.nan
        strange = {name: _strange(kinds[name]) for name in apart if name not in words}
        return Loaded(X, {name: self.column(name) for name in words}, strange)

    def _scan(self) -> Any:
        import polars as pl

        return pl.scan_parquet(self.path, glob=False)

    def _tried(self, call: Any) -> Any:
        try:
            return call()
        except (KeyboardInterrupt, MemoryError, SystemExit):
            raise
        except BaseException as err:  # a damaged file may also end in a panic of polars, which is no Exception
            reason = one_line(str(err).strip().split("\n")[0]).rstrip(".")
            raise fl.InputError(f"{self.path} is damaged or no Parquet file: {reason}.") from err


def _boolean() -> Any:
    import polars as pl

    return pl.Boolean


def _is_text(kind: Any) -> bool:
    import polars as pl

    return any(kind == text for text in (pl.String, pl.Categorical, pl.Enum))


def _width(kinds: list[Any]) -> Any:
    import polars as pl

    narrow = (pl.Float32, pl.Boolean, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)
    small = all(any(kind == n for n in narrow) for kind in kinds) and any(kind == pl.Float32 for kind in kinds)
    return np.float32 if small else np.float64


def _strange(kind: Any) -> str:
    if kind.is_temporal():
        return "dates or times"
    return "lists or structures" if kind.is_nested() else "values that are no numbers"


# ---- Several Parquet files as one table: they must agree on their columns, and are asked one after the other.

MANY = 1000  # different values: no column of classes


@dataclass(frozen=True)
class Found:
    """Values of a column over all files: what each is as text, the rows of each text, and the rows without one."""

    texts: dict[Any, str] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    missing: int = 0


def opened(paths: tuple[Path, ...], why: str) -> tuple[ParquetSource, ...]:
    """The files, refused unless all are Parquet, different, and have the same columns."""
    for path in paths:
        if sheet.kind_of(path) != "parquet":
            raise fl.InputError(f"{path} is not a Parquet file, and {why}: write it as Parquet first.")
    _refuse_twice(paths)
    sources = tuple(ParquetSource(path) for path in paths)
    for source in sources[1:]:
        _refuse_other_columns(source, sources[0])
    if not sum(source.rows for source in sources):
        raise fl.InputError(f"{paths[0]} has columns but no rows{', nor have the others' * (len(paths) > 1)}.")
    return sources


def _refuse_twice(paths: tuple[Path, ...]) -> None:
    seen: dict[Path, Path] = {}
    for path in paths:
        before = seen.setdefault(path.resolve(), path)
        if before is not path:
            raise fl.InputError(f"{path} is named twice: its rows would count twice. Name every file once.")


def _refuse_other_columns(source: ParquetSource, first: ParquetSource) -> None:
    for one, other in ((source, first), (first, source)):
        more = [name for name in one.names if name not in set(other.names)]
        if more:
            raise fl.InputError(
                f"{one.path} has {quoted_list(more)} and {other.path} has not: files that make one table need the same "
                f"columns."
            )


def unfit(sources: tuple[ParquetSource, ...], names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Columns that hold no numbers in some file, by what they hold."""
    found: dict[str, dict[str, str]] = {}
    for source in sources:
        for name, what in source.unfit(names).items():
            found.setdefault(what, {}).setdefault(name, "")
    return found


def values(sources: tuple[ParquetSource, ...], name: str) -> Found:
    """The values of a column, over all files."""
    _refuse_other_kind(sources, name)
    texts: dict[Any, str] = {}
    rows: Counter[str] = Counter()
    missing = 0
    for source in sources:
        frame = source.sizes(name)
        if len(frame) > MANY:
            raise fl.InputError(
                f"the target column '{name}' has {len(frame)} different values in {source.path}: expected two classes. "
                f"Is it a measurement? Then make classes of it first."
            )
        for value, count, text in zip(*(frame[part].to_list() for part in ("value", "rows", "text")), strict=True):
            if text is None:
                missing += count
            else:
                texts[value] = text
                rows[text] += count
    return Found(texts, rows, missing)


def _refuse_other_kind(sources: tuple[ParquetSource, ...], name: str) -> None:
    first = sources[0]
    for source in sources:
        kind, expected = source.kind(name), first.kind(name)
        if kind == "dates or times":
            raise fl.InputError(f"the target column '{name}' of {source.path} holds {kind}: expected classes.")
        if kind != expected:
            raise fl.InputError(
                f"the target column '{name}' holds {expected} in {first.path} and {kind} in {source.path}: write it "
                f"the same way in all files."
            )


def repeated(sources: tuple[ParquetSource, ...], name: str) -> tuple[int, int, str]:
    """Rows whose value of a column is not theirs alone, the number of such values, and one of them."""
    import polars as pl

    texts = [source.texts(name) for source in sources]
    lazy = pl.concat(texts).drop_nulls().group_by(name, maintain_order=True).agg(pl.len().alias("\0rows"))
    twice = lazy.filter(pl.col("\0rows") > 1).collect(engine="streaming")
    return int(twice["\0rows"].sum()), len(twice), str(twice[name][0]) if len(twice) else ""
