"""Excel, SPSS and Stata: read with the libraries of the extra `files`, written as CSV, and from then on text."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from foldless.errors import InputError
from foldless.tables.files import sheet, text
from foldless.tables.files.sheet import Hints, Sheet
from foldless.words import counted, listed, one_line


def read(path: Path, hints: Hints, scratch: Path) -> Sheet:
    """An SPSS or Stata file, with the labels of its values and without what it declares missing; or an Excel sheet."""
    suffix = path.suffix.lower()
    if function := {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta"}.get(suffix):
        how = {"apply_value_formats": True, "formats_as_category": False, "output_format": "polars"}
        cells = _read("pyreadstat", path, lambda library: getattr(library, function)(str(path), **how)[0])
        kind = "Stata" if suffix == ".dta" else "SPSS"
        return _as_text(path, hints, scratch, [cells.columns, *cells.iter_rows()], kind)
    if suffix != ".xls":  # the only one that is not a zip archive
        sheet.refuse_zip_bomb(path)
    name, cells = _read("fastexcel", path, partial(_chosen, path, hints.sheet))
    rows = cells[[column.name for column in cells if column.null_count() < len(column)]].iter_rows()
    return _as_text(path, hints, scratch, rows, f"Excel, sheet '{name}'")


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


def _as_text(path: Path, hints: Hints, scratch: Path, rows: Iterable[Any], kind: str) -> Sheet:
    copy = scratch / "table.csv"
    with copy.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
    read = text.read(path, replace(hints, sep=",", decimal=hints.decimal or "."), scratch, copy)
    return replace(read, read_as=", ".join(filter(None, (kind, read.layout.title))), remedy="")
