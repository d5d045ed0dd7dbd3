"""Columns of text that were meant as something else: numbers with marks, limits of detection, dates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from foldless.cli.console import counted
from foldless.cli.tables.marks import NAMES, THOUSANDS, Marks
from foldless.cli.tables.values import no_numbers

TEXT, STORED = "text", "numbers stored as text"
GROUPED, DECIMAL, SIGNED = (
    "numbers with a mark for thousands",
    "numbers with another decimal mark",
    "numbers with % or a currency sign",
)
LIMIT, DATE = "limits instead of values", "dates or times"
MARKS = "".join(THOUSANDS.values())
CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}"
# In this order: '1.020' may mark thousands before it is a decimal number in a file of decimal commas.
PATTERNS = {
    GROUPED: rf"^[-+]?\d{{1,3}}(?:[{MARKS}]\d{{3}})+(?:[.,]\d+)?$",
    DECIMAL: r"^[-+]?\d*[.,]\d+(?:[eE][-+]?\d+)?$",
    SIGNED: r"^(?:[€$£]\s*[-+]?\d[\d.,]*|[-+]?\d[\d.,]*\s*[%€$£])$",
    LIMIT: r"^[<>≤≥]\s*=?\s*[-+]?\d[\d.,]*$",
    DATE: rf"^(?:(?:{DAY})(?:[T ].*)?|{CLOCK})$",
}


@dataclass(frozen=True)
class Look:
    """What most of the words of a column are, how many rows are no numbers, and one of them."""

    kind: str
    rows: int
    example: str

    @property
    def words(self) -> str:
        """As it stands behind the name of the column."""
        return f"{counted(self.rows)}, such as '{self.example[:20]}'"


def look_at(column: Any, marks: Marks) -> Look:
    """A column of text, looked at closely."""
    strangers = no_numbers(column, marks)
    if strangers.is_empty():
        known = column.drop_nulls()
        return Look(STORED, len(known), str(known[0]) if len(known) else "")
    for kind, pattern in PATTERNS.items():
        alike = strangers.str.contains(pattern)
        if 2 * alike.sum() > len(strangers):
            return Look(kind, len(strangers), str(strangers.filter(alike)[0]))
    return Look(TEXT, len(strangers), str(strangers[0]))


def advice(look: Look, marks: Marks) -> str:
    """What to do about a column of this kind; empty for plain text, which has an option."""
    if look.kind == GROUPED:
        return _thousands(look.example, marks)
    if look.kind == DECIMAL and marks.decimal == ".":
        return "use --decimal ',' if all columns are written so, else write them all with a point"
    return OTHER.get(look.kind, "").format(example=look.example[:20])


OTHER = {
    DECIMAL: "write decimals with the same mark in all columns",
    STORED: "store them as numbers in the file",
    SIGNED: "remove those signs in the file",
    LIMIT: "replace cells such as '{example}', which are text, by numbers",
    DATE: "turn dates into numbers, such as days since the first",
}


def _thousands(example: str, marks: Marks) -> str:
    """The options for a cell such as '3.220,25'."""
    found = re.findall(r"[^\d+-]", example)
    between = next(name for name, spellings in THOUSANDS.items() if found[0] in spellings)
    decimal = found[-1] if found[-1] != found[0] and found[-1] in ".," else None
    quoted = {"'": '"\'"', "space": "space"}.get(between, f"'{between}'")
    # Of a point or a comma between thousands the decimal mark follows.
    more = f" --decimal '{decimal}'" if between not in ".," and decimal not in (None, marks.decimal) else ""
    either = decimal is None and between == "," and marks.decimal == "." and example.count(",") == 1
    other = f" (or --decimal ',', if the {NAMES[between]} is the decimal mark)" if either else ""
    return f"use --thousands {quoted}{more}{other}"
