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
from foldless.tables.files import sheet
from foldless.tables.files.sheet import Hints
from foldless.words import clipped, quoted_list

SEPARATORS = ",;\t|"
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
TAB_SUFFIXES = (".tsv", ".tab")
LINES = 40  # lines that the guess is made from
CELLS = 10_000  # ... and cells, where lines are long
SNIFFED = 2**14  # characters that csv.Sniffer is asked about; it is slow on wide tables
# What Excel understands in the first line of a file.
NAMED_SEPARATOR = re.compile(r'"?sep=([^\w\s"]|\t| )"?\s*', re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """Separator, names of the columns, how numbers are written, and the lines before the header.

    `told` is the separator that the first line names ('sep=;'), None where it is the header already.
    """

    separator: str
    header: tuple[str, ...]
    marks: sheet.Marks
    skipped: int = 0
    told: str | None = None

    @property
    def words(self) -> str:
        """As it is told to the user."""
        name = NAMES.get(self.separator, repr(self.separator))
        if self.told is not None:
            name += " (named in the first line)" if self.told == self.separator else " (not as the first line says)"
        return f"{name}, {self.marks.words}"


def layout_of(text: Path, hints: Hints, shown: Path) -> Layout:
    """What the user said, and for the rest what the first lines suggest; `shown` is the file's name in messages."""
    blank, lines = _first_lines(text)
    named = NAMED_SEPARATOR.fullmatch(lines[0]) if lines else None
    told, lines = (None, lines) if named is None else (named[1], lines[1:])
    if not lines:
        raise fl.InputError(f"{shown} is empty: expected a header line and one line per row.")
    suffix = Path(shown.stem if shown.suffix.lower() == ".gz" else shown).suffix.lower()
    separator = hints.sep or told or ("\t" if suffix in TAB_SUFFIXES else _guessed_separator(lines))
    rows = list(_cells(lines, separator))
    _refuse_comments(lines, rows, shown)
    header = tuple(name.strip() for name in rows[0])
    _refuse_duplicates(header, shown)
    cells = list(islice((cell for row in rows[1:] for cell in row), CELLS))
    written = sheet.chosen(hints.decimal, hints.thousands, cells)
    return Layout(separator, header, written, 0 if told is None else blank + 1, told)


def _first_lines(text: Path) -> tuple[int, list[str]]:
    """The number of blank lines at the start, and some lines after them."""
    with text.open(encoding="utf-8-sig", newline="") as stream:
        lines = [line for _, line in zip(range(LINES), stream, strict=False)]
    blank = next((k for k, line in enumerate(lines) if line.strip()), len(lines))
    return blank, lines[blank:]


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
        raise fl.InputError(
            f"{shown} has more than one column named {quoted_list(twice)}: give every column its own name."
        )


def _refuse_comments(lines: list[str], rows: list[list[str]], shown: Path) -> None:
    """A first line with '#' may name the columns ('#id,age'); with other cells than the next it is a comment."""
    if lines[0].startswith("#") and len(rows) > 1 and (lines[1].startswith("#") or len(rows[0]) != len(rows[1])):
        raise fl.InputError(
            f"{shown} begins with a comment ('{clipped(lines[0].strip())}'): remove the lines that start with '#', "
            f"so that the first line names the columns."
        )
