"""How a text table is laid out: what separates its columns, what they are called, how decimals are written."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import foldless as fl
from foldless.cli.console import listed
from foldless.cli.tables.source import Hints

SEPARATORS = ",;\t|"
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
TAB_SUFFIXES = (".tsv", ".tab")
LINES = 40  # lines that the guess is made from
CELLS = 10_000  # ... and cells, where lines are long
SNIFFED = 2**14  # characters that csv.Sniffer is asked about; it is slow on wide tables
COMMA_DECIMAL = re.compile(r"\s*[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*")
POINT_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Layout:
    """Separator, names of the columns, and '.' or ',' for decimals."""

    separator: str
    header: tuple[str, ...]
    decimal: str

    @property
    def words(self) -> str:
        """As it is told to the user."""
        name = NAMES.get(self.separator, repr(self.separator))
        return f"{name}, decimal {'comma' if self.decimal == ',' else 'point'}"


def layout_of(text: Path, hints: Hints, shown: Path) -> Layout:
    """What the user said, and for the rest what the first lines suggest; `shown` is the file's name in messages."""
    lines = _first_lines(text)
    if not lines:
        raise fl.InputError(f"{shown} is empty: expected a header line and one line per row.")
    suffix = Path(shown.stem if shown.suffix.lower() == ".gz" else shown).suffix.lower()
    separator = hints.sep or ("\t" if suffix in TAB_SUFFIXES else _guessed_separator(lines))
    rows = list(_cells(lines, separator))
    header = tuple(name.strip() for name in rows[0])
    _refuse_duplicates(header, shown)
    return Layout(separator, header, hints.decimal or _guessed_decimal(rows[1:]))


def _first_lines(text: Path) -> list[str]:
    with text.open(encoding="utf-8-sig", newline="") as stream:
        lines = [line for _, line in zip(range(LINES), stream, strict=False)]
    while lines and not lines[0].strip():
        del lines[0]
    return lines


def _cells(lines: list[str], separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(2**31 - 1)  # an unclosed quote is reported later, in our own words
    return (row for row in csv.reader(lines, delimiter=separator) if row)


def _guessed_separator(lines: list[str]) -> str:
    """csv.Sniffer's word if it fits the first lines; else the mark that the header has most often."""
    counts = Counter(re.sub(r'"[^"]*"', "", lines[0]))
    frequent = sorted(SEPARATORS, key=lambda mark: -counts[mark])
    candidates = [*_sniffed(lines), *frequent]
    return next((mark for mark in candidates if _fits(lines, mark)), frequent[0])


def _sniffed(lines: list[str]) -> list[str]:
    text = "".join(lines)
    if len(text) > SNIFFED:
        return []
    try:
        return [csv.Sniffer().sniff(text, delimiters=SEPARATORS).delimiter]
    except csv.Error:
        return []


def _fits(lines: list[str], separator: str) -> bool:
    """True when the separator gives every line as many cells as the header has, and more than one."""
    # The last line that was read may be one half of a cell with a line break in it.
    widths = {len(row) for row in list(_cells(lines, separator))[: max(2, LINES - 1)]}
    return len(widths) == 1 and widths != {1}


def _refuse_duplicates(header: tuple[str, ...], shown: Path) -> None:
    twice = [name for name, n in Counter(header).items() if n > 1]
    if twice:
        raise fl.InputError(f"{shown} has more than one column named {listed(twice)}: give every column its own name.")


def _guessed_decimal(rows: list[list[str]]) -> str:
    cells = list(islice((cell for row in rows for cell in row), CELLS))
    commas = any(COMMA_DECIMAL.fullmatch(cell) for cell in cells)
    return "," if commas and not any(POINT_DECIMAL.fullmatch(cell) for cell in cells) else "."
