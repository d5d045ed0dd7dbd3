"""CSV and TSV: columns that look like numbers are parsed as numbers, straight from the file."""

from __future__ import annotations

import csv
from collections import deque
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from foldless.errors import InputError
from foldless.tables.files import sheet
from foldless.tables.files.sheet import NO_NUMBER_SPELLED, Hints, Loaded, Sheet, as_numbers, numeric_columns, stripped
from foldless.tables.files.writing import Layout, Text, as_utf8, familiar_name, layout_of
from foldless.words import one_line

SAMPLE_ROWS = 200
TEXT_AT_ONCE = 2**28  # bytes of the file whose columns are held as text at one time


def read(path: Path, hints: Hints, scratch: Path, packed: bool = False) -> TextSheet:
    """Find out how a file, packed with gzip or not, is written; only its first lines are kept."""
    plain = sheet.unpack_gzip(path, scratch / "unpacked") if packed else path
    text = as_utf8(plain, hints.encoding, scratch, path)
    layout = layout_of(text.path, hints, path)
    read_as = f"{layout.words}, {familiar_name(text.encoding)}"  # such as 'semicolon, decimal comma, Latin-1'
    remedy = f"it was read as {read_as}; --sep, --decimal, --thousands and --encoding change that"
    return TextSheet(path=path, names=layout.header, read_as=read_as, remedy=remedy, text=text, layout=layout)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSheet(Sheet):
    """A CSV or TSV file."""

    text: Text
    layout: Layout

    def __post_init__(self) -> None:
        if len(self._columns) != len(self.layout.header):
            self._fail("its header cannot be understood")
        if self._rows == 0:
            raise InputError(f"{self.path} has a header but no rows.")

    @cached_property
    def _columns(self) -> list[str]:
        """The names that polars gives: it does not strip, and renames what it has seen."""
        return list(self._tried(lambda: self._scan().collect_schema().names()))

    @cached_property
    def _name_for_polars(self) -> dict[str, str]:
        return dict(zip(self.layout.header, self._columns, strict=True))

    @cached_property
    def _rows(self) -> int:
        import polars as pl

        return int(self._tried(lambda: self._scan().select(pl.len()).collect().item()))

    def column(self, name: str) -> Any:
        return stripped(self._texts([name])[name]).alias(name)

    def load(self, names: tuple[str, ...]) -> Loaded:
        """Numbers at once where the first rows promise them; the rest by way of text."""
        X = sheet.new_matrix(self._rows, len(names))
        places = {name: k for k, name in enumerate(names)}
        self._refuse_doubtful(names)
        promising = self._promising(names)
        if not promising or not self._filled(X, promising, [places[n] for n in promising]):
            promising = []  # a word further down: every column is looked at
            self._refuse_ragged()
        taken = set(promising)
        rest = [name for name in names if name not in taken]
        texts: dict[str, Any] = {}
        for block in self._blocks(rest):
            for name, column in zip(block, self._texts(block).get_columns(), strict=True):
                numbers = as_numbers(column, self.layout.marks)
                X[:, places[name]] = np.nan if numbers is None else numbers.to_numpy()
                if numbers is None:
                    texts[name] = stripped(column).alias(name)
        return Loaded(X, texts, {}, self.layout.marks)

    def _promising(self, names: tuple[str, ...]) -> list[str]:
        written = self.layout.marks
        # polars knows no thousands, and parses decimal commas only where the comma does not separate.
        if written.thousands is not None or (written.decimal, self.layout.separator) == (",", ","):
            return []
        sample = self._tried(lambda: self._scan().head(SAMPLE_ROWS).collect())
        numeric = dict(zip(self.layout.header, numeric_columns(sample, written), strict=True))
        promising = [name for name in names if numeric[name]]
        if promising and written.decimal == "," and self._holds("."):
            return self._without_points(promising)
        return promising

    def _without_points(self, names: list[str]) -> list[str]:
        """Columns without a point in any cell: under a decimal comma polars would take '1.020' for 1.02."""
        import polars as pl

        cells = pl.col([self._of(name) for name in names])
        return self._where(names, ~cells.str.contains(".", literal=True).any())

    def _refuse_doubtful(self, names: tuple[str, ...]) -> None:
        """Refuse '1.020' beside '985' where nothing tells what the point is for."""
        import polars as pl

        written = self.layout.marks
        if written.certain or not self._holds(written.decimal):
            return
        wanted = pl.col([self._of(name) for name in names]).str.strip_chars()
        known = pl.when(~wanted.is_in(pl.Series(NO_NUMBER_SPELLED).implode())).then(wanted)
        for name in self._where(list(names), written.doubtful(known)):
            cells = self.column(name).drop_nulls()
            marked = cells.str.contains(written.decimal, literal=True)
            raise sheet.in_doubt(self.path, name, cells.filter(marked)[0], cells.filter(~marked)[0], written.decimal)

    def _where(self, names: list[str], test: Any) -> list[str]:
        """The names of columns for which an expression is true."""
        row = self._tried(lambda: self._scan().select(test).collect(engine="streaming")).row(0)
        return [name for name, true in zip(names, row, strict=True) if true]

    def _holds(self, mark: str) -> bool:
        """Whether a mark is anywhere in the file: a quick look before one that is not."""
        with self.text.path.open("rb") as stream:
            return any(mark.encode() in block for block in iter(partial(stream.read, 2**20), b""))

    def _refuse_ragged(self) -> None:
        """Read every row in full; polars overlooks cells without a name where it is asked for some columns only."""
        self._tried(lambda: deque(self._scan().collect_batches(), maxlen=0))

    def _filled(self, X: Any, names: list[str], places: list[int]) -> bool:
        """False when a cell of these columns is no number, or a row is not as it should be."""
        import polars as pl

        wanted = [self._of(name) for name in names]
        typed = self._scan(
            schema_overrides=dict.fromkeys(wanted, pl.Float64),
            null_values=NO_NUMBER_SPELLED,
            decimal_comma=self.layout.marks.decimal == ",",
        )
        start, columns = 0, slice(None) if places == list(range(X.shape[1])) else places
        try:
            for batch in typed.collect_batches(maintain_order=True):  # the table is in memory once
                X[start : start + batch.height, columns] = batch.select(wanted).to_numpy()
                start += batch.height
        except pl.exceptions.ComputeError:
            return False
        return True

    def _blocks(self, names: list[str]) -> list[list[str]]:
        """As many columns at once as make a moderate amount of text."""
        share = self.text.path.stat().st_size / len(self.layout.header)
        size = max(1, int(TEXT_AT_ONCE / max(1.0, share)))
        return [names[k : k + size] for k in range(0, len(names), size)]

    def _texts(self, names: list[str]) -> Any:
        wanted = [self._of(name) for name in names]
        frame = self._tried(lambda: self._scan().select(wanted).collect())
        frame.columns = names
        return frame

    def _of(self, name: str) -> str:
        return self._name_for_polars[name]

    def _scan(self, **how: Any) -> Any:
        import polars as pl

        return pl.scan_csv(
            self.text.path,
            separator=self.layout.separator,
            infer_schema=False,
            glob=False,
            skip_lines=self.layout.skipped,
            **how,
        )

    def _tried(self, call: Any) -> Any:
        import polars as pl

        try:
            return call()
        except pl.exceptions.PolarsError as err:
            self._fail(one_line(str(err).strip().split("\n")[0]), err)

    def _fail(self, reason: str, err: Exception | None = None) -> NoReturn:
        unclosed = "a quotation mark is opened and never closed" if 'could not parse `"' in reason else None
        why = self._ragged() or unclosed or reason.rstrip(".")
        raise InputError(f"{self.path} cannot be read as a table: {why}; {self.remedy}.") from err

    def _ragged(self) -> str | None:
        """Where the first row is that has more cells than the header."""
        width = len(self.layout.header)
        with self.text.path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.reader(stream, delimiter=self.layout.separator)
            for row in rows:
                if len(row) > width and rows.line_num > self.layout.skipped:
                    return f"line {rows.line_num} has {len(row)} cells, and the header {width}"
        return None
