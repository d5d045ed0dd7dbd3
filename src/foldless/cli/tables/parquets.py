"""Several Parquet files as one table: they must agree on their columns, and are asked one after the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import foldless as fl
from foldless.cli.console import listed
from foldless.cli.tables import kinds
from foldless.cli.tables.parquet import ParquetSource

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
        if kinds.kind_of(path) != "parquet":
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
                f"{one.path} has {listed(more)} and {other.path} has not: files that make one table need the same "
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
