"""CSV that a spreadsheet may open: names from data are never formulas there."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from foldless.words import visible

# What makes Excel and LibreOffice compute a cell; they skip white space before it.
ACTIVE = ("=", "+", "-", "@")


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; numbers as they are, text that would be a formula behind an apostrophe.

    >>> csv_text([["name", "bias"], ["=1+1", -0.5]])
    "name,bias\\n'=1+1,-0.5\\n"
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([inert(cell) for cell in row] for row in rows)
    return text.getvalue()


def inert(cell: Any) -> Any:
    """The cell, or, where it is text that a spreadsheet would compute, the same with an apostrophe before it.

    Text stays on its line: a bare carriage return would begin a new one, with a new first cell. Control characters are
    written out, for those who print the file on a terminal.
    """
    if not isinstance(cell, str):
        return cell
    line = "\t".join(visible(part) for part in re.sub(r"[\r\n]+", " ", cell).split("\t"))
    # Spreadsheets also take the wide forms of East Asian keyboards, which this normalisation narrows.
    first = unicodedata.normalize("NFKC", line.lstrip()[:1])
    return f"'{line}" if first in ACTIVE or line.startswith("\t") else line
