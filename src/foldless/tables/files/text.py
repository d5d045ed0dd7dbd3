"""CSV and TSV, and Excel, SPSS and Stata as text: columns that look like numbers are parsed, straight from the file."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from foldless.errors import InputError
from foldless.tables.files import sheet
from foldless.tables.files.sheet import NO_NUMBER_SPELLED, Hints, Loaded, Marks, Sheet, as_numbers, stripped
from foldless.tables.files.writing import Layout, as_utf8, familiar_name, layout_of
from foldless.words import counted, listed, one_line

SAMPLE_ROWS = 200
TEXT_AT_ONCE = 2**28  # bytes of the file whose columns are held as text at one time


def read(path: Path, hints: Hints, scratch: Path, copy: Path | None = None) -> TextSheet:
    """Find out how a file, or its copy as text, is written; only its first lines are kept."""
    text, encoding = as_utf8(copy or path, hints.encoding, scratch, path)
    layout = layout_of(text, hints, path)
    read_as = f"{layout.words}, {familiar_name(encoding)}"  # such as 'semicolon, decimal comma, Latin-1'
    remedy = f"it was read as {read_as}; --sep, --decimal, --thousands and --encoding change that"
    return TextSheet(path=path, names=layout.header, read_as=read_as, remedy=remedy, text=text, layout=layout)


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSheet(Sheet):
    """A CSV or TSV file."""

    text: Path  # the file, or a copy of it, as UTF-8
    layout: Layout

    def __post_init__(self) -> None:
        if len(self._columns) != len(self.layout.header):
            self._fail("its header cannot be understood")
        if self._rows == 0:
            raise InputError(f"{self.path} has a header but no rows.")

    @cached_property
    def _columns(self) -> list[str]:
        return list(self._tried(lambda: self._scan().collect_schema().names()))

    @cached_property
    def _in_polars(self) -> dict[str, str]:
        """The name that polars gives each column: it does not strip names, and renames repeated ones."""
        return dict(zip(self.layout.header, self._columns, strict=True))

    @cached_property
    def _rows(self) -> int:
        return int(self._tried(lambda: self._scan().select(pl.len()).collect().item()))

    def column(self, name: str) -> Any:
        return stripped(self._texts([name])[name]).alias(name)

    def load(self, names: tuple[str, ...]) -> Loaded:
        """Columns whose first rows are numbers are parsed directly; the others are read as text first."""
        X = sheet.new_matrix(self._rows, len(names))
        places = {name: k for k, name in enumerate(names)}
        self._refuse_doubtful(names)
        promising = self._promising(names)
        if not promising or not self._filled(X, promising, [places[n] for n in promising]):
            promising = []  # text further down: every column is read as text
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
        # polars has no option for thousands, and parses decimal commas only if the separator is not a comma.
        if written.thousands is not None or (written.decimal, self.layout.separator) == (",", ","):
            return []
        sample = self._tried(lambda: self._scan().head(SAMPLE_ROWS).collect())
        numeric = dict(zip(self.layout.header, _numeric_columns(sample, written), strict=True))
        promising = [name for name in names if numeric[name]]
        if promising and written.decimal == "," and self._holds("."):
            return self._without_points(promising)
        return promising

    def _without_points(self, names: list[str]) -> list[str]:
        """Columns without a point in any cell: under a decimal comma polars would take '1.020' for 1.02."""
        cells = pl.col([self._in_polars[name] for name in names])
        return self._where(names, ~cells.str.contains(".", literal=True).any())

    def _refuse_doubtful(self, names: tuple[str, ...]) -> None:
        """Refuse a column with '1.020' and '985' if nothing tells what the point stands for."""
        written, mark = self.layout.marks, self.layout.marks.decimal
        if written.certain or not self._holds(mark):
            return
        wanted = pl.col([self._in_polars[name] for name in names]).str.strip_chars()
        known = pl.when(~wanted.is_in(pl.Series(NO_NUMBER_SPELLED).implode())).then(wanted)
        for name in self._where(list(names), written.doubtful(known)):
            cells = self.column(name).drop_nulls()
            marked = cells.str.contains(mark, literal=True)
            raise InputError(
                f"{self.path} has '{cells.filter(marked)[0]}' beside '{cells.filter(~marked)[0]}' in column '{name}', "
                f"and nothing tells whether the {sheet.NAMES[mark]} marks thousands or decimals: use "
                f"--thousands '{mark}' or --decimal '{mark}'."
            )

    def _where(self, names: list[str], test: Any) -> list[str]:
        """The names of columns for which an expression is true."""
        row = self._tried(lambda: self._scan().select(test).collect(engine="streaming")).row(0)
        return [name for name, true in zip(names, row, strict=True) if true]

    def _holds(self, mark: str) -> bool:
        """Whether a mark occurs anywhere in the file: a quick check before a slow one."""
        with self.text.open("rb") as stream:
            return any(mark.encode() in block for block in iter(partial(stream.read, 2**20), b""))

    def _refuse_ragged(self) -> None:
        """Read every row in full: polars ignores surplus cells when only some columns are selected."""
        self._tried(lambda: deque(self._scan().collect_batches(), maxlen=0))

    def _filled(self, X: Any, names: list[str], places: list[int]) -> bool:
        """Fill columns of X; False if a cell is not a number, or a row cannot be parsed."""
        wanted = [self._in_polars[name] for name in names]
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
        """The columns in groups that hold a moderate amount of text."""
        share = self.text.stat().st_size / len(self.layout.header)
        size = max(1, int(TEXT_AT_ONCE / max(1.0, share)))
        return [names[k : k + size] for k in range(0, len(names), size)]

    def _texts(self, names: list[str]) -> Any:
        wanted = [self._in_polars[name] for name in names]
        frame = self._tried(lambda: self._scan().select(wanted).collect())
        frame.columns = names
        return frame

    def _scan(self, **how: Any) -> Any:
        return pl.scan_csv(
            self.text,
            separator=self.layout.separator,
            infer_schema=False,
            glob=False,
            skip_lines=self.layout.skipped,
            **how,
        )

    def _tried(self, call: Any) -> Any:
        try:
            return call()
        except pl.exceptions.PolarsError as err:
            self._fail(one_line(str(err).strip().split("\n")[0]), err)

    def _fail(self, reason: str, err: Exception | None = None) -> NoReturn:
        open_quote = 'could not parse `"' in reason or "CSV malformed" in reason  # polars' words for rows that ran on
        unclosed = "a quotation mark is opened and never closed" if open_quote else None
        why = self._ragged() or unclosed or reason.rstrip(".")
        raise InputError(f"{self.path} cannot be read as a table: {why}; {self.remedy}.") from err

    def _ragged(self) -> str | None:
        """The first row with more cells than the header, in words."""
        width = len(self.layout.header)
        with self.text.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.reader(stream, delimiter=self.layout.separator)
            for row in rows:
                if len(row) > width and rows.line_num > self.layout.skipped:
                    return f"line {rows.line_num} has {len(row)} cells, and the header {width}"
        return None


def _numeric_columns(sample: Any, marks: Marks) -> list[bool]:
    """For each column of text, whether polars can be expected to parse it as numbers."""
    known = pl.all().is_in(pl.Series(NO_NUMBER_SPELLED).implode())
    words = sample.select(pl.when(~known).then(pl.all()))
    numbers = words.select(marks.plain(pl.all())).select(pl.all().cast(pl.Float64, strict=False))
    lost = zip(words.null_count().row(0), numbers.null_count().row(0), strict=True)
    return [before == after for before, after in lost]


# ---- Excel, SPSS and Stata: read with the libraries of the extra `files`, written as CSV, and from then on text.


def read_office(path: Path, hints: Hints, scratch: Path) -> Sheet:
    """An SPSS or Stata file, with the labels of its values and without what it declares missing; or an Excel sheet."""
    suffix = path.suffix.lower()
    if function := {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta"}.get(suffix):
        how = {"apply_value_formats": True, "formats_as_category": False, "output_format": "polars"}
        cells = _read("pyreadstat", path, lambda library: getattr(library, function)(str(path), **how)[0])
        kind = "Stata" if suffix == ".dta" else "SPSS"
        return _as_csv(path, hints, scratch, [cells.columns, *cells.iter_rows()], kind)
    if suffix != ".xls":  # the only one that is not a zip archive
        sheet.refuse_zip_bomb(path)
    name, cells = _read("fastexcel", path, partial(_chosen, path, hints.sheet))
    rows = cells[[column.name for column in cells if column.null_count() < len(column)]].iter_rows()
    return _as_csv(path, hints, scratch, rows, f"Excel, sheet '{name}'")


def _chosen(path: Path, wanted: str | None, library: Any) -> tuple[str, Any]:
    """The sheet of a workbook that was named, or the only one: its name and cells."""
    book = library.read_excel(str(path))
    names = book.sheet_names
    name = wanted or (names[0] if len(names) == 1 else "")
    if name not in names:
        raise InputError(f"{path} has {counted(len(names), 'sheet')} ({listed(names)}): choose one with --sheet.")
    return name, book.load_sheet(name, header_row=None, dtypes="string").to_polars()


def _read(library: str, path: Path, call: Callable[[Any], Any]) -> Any:
    try:
        return call(import_module(library))
    except InputError:
        raise
    except ImportError as err:
        raise InputError(f"{path.suffix} files need {library}: pip install 'foldless[files]'.") from err
    except Exception as err:  # whatever the library raises on a damaged file
        raise InputError(f"{path} cannot be read as a {path.suffix} file: {one_line(str(err))}") from err


def _as_csv(path: Path, hints: Hints, scratch: Path, rows: Iterable[Any], kind: str) -> Sheet:
    copy = scratch / "table.csv"
    with copy.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
    table = read(path, replace(hints, sep=",", decimal=hints.decimal or "."), scratch, copy)
    return replace(table, read_as=", ".join(filter(None, (kind, table.layout.title))), remedy="")
