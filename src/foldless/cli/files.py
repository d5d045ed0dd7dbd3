"""Tables in, pictures out: reading text tables with polars, and writing files that are whole or absent."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import foldless as fl
from foldless.cli.console import listed, one_line

SEPARATORS = ",;\t|"
TAB_SUFFIXES = (".tsv", ".tab")
# A byte that no text file holds; a file with a byte order mark is decoded before this is looked for.
BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
DECIMAL_COMMA = re.compile(r"(?<![\d.])-?\d+,\d+(?![\d,])")
DECIMAL_POINT = re.compile(r"\d\.\d")


def read_table(path: Path) -> Any:
    """A CSV or TSV file as a polars frame of stripped text; the meaning of a column is decided later."""
    text = _decoded(path).lstrip("\r\n")
    if not text.strip():
        raise fl.InputError(f"{path} is empty: expected a header line and one line per row.")
    separator = _separator(path, text)
    header = [name.strip() for name in next(csv.reader(io.StringIO(text), delimiter=separator))]
    _refuse_duplicates(path, header)
    frame = _parsed(path, text, separator)
    frame.columns = header
    if frame.height == 0:
        raise fl.InputError(f"{path} has a header but no rows.")
    return _with_decimal_points(frame) if separator == ";" and _has_decimal_commas(text) else frame


def _decoded(path: Path) -> str:
    if path.is_dir():
        raise fl.InputError(f"{path} is a directory: expected a CSV or TSV file.")
    data = path.read_bytes()
    text = _text(data)
    if text is None or BINARY.search(text):
        raise fl.InputError(f"{path} is not a text file: expected a table as CSV or TSV.")
    return text


def _text(data: bytes) -> str | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None if b"\x00" in data else _guessed(data)


def _guessed(data: bytes) -> str | None:
    """Text in an older encoding, as spreadsheets still write it."""
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    return None if best is None else str(best)


def _separator(path: Path, text: str) -> str:
    if path.suffix.lower() in TAB_SUFFIXES:
        return "\t"
    counts = Counter(re.sub(r'"[^"]*"', "", text.splitlines()[0]))
    # Most frequent in the header line; a file of one column has none, and any will do.
    return max(SEPARATORS, key=lambda mark: counts[mark])


def _refuse_duplicates(path: Path, header: list[str]) -> None:
    twice = [name for name, n in Counter(header).items() if n > 1]
    if twice:
        raise fl.InputError(f"{path} has more than one column named {listed(twice)}: give every column its own name.")


def _parsed(path: Path, text: str, separator: str) -> Any:
    import polars as pl

    try:
        frame = pl.read_csv(io.BytesIO(text.encode()), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as err:
        reason = one_line(str(err).strip().split("\n")[0])
        raise fl.InputError(f"{path} cannot be read as a table separated by {separator!r}: {reason}.") from err
    return frame.select(pl.all().str.strip_chars())


def _has_decimal_commas(text: str) -> bool:
    return bool(DECIMAL_COMMA.search(text)) and not DECIMAL_POINT.search(text)


def _with_decimal_points(frame: Any) -> Any:
    import polars as pl

    return frame.select(pl.all().str.replace(r"^([-+]?\d+),(\d+(?:[eE][-+]?\d+)?)$", "${1}.${2}"))


def refuse_unwritable(path: Path) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise fl.InputError(f"{path} is not a file that could be replaced: choose another name.")
    if not path.parent.is_dir():
        raise fl.InputError(f"{path} cannot be written: there is no directory {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise fl.InputError(f"{path} cannot be written: no permission to write in {path.parent}.")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part."""
    path = path.resolve()  # replace what a link points to, not the link
    refuse_unwritable(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
