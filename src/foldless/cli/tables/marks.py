"""How numbers are written: the decimal mark, the mark between thousands, and what the first rows suggest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import foldless as fl

# What may stand between thousands, by the name that the user gives it; people and programs write several spaces.
THOUSANDS = {".": ".", ",": ",", "space": " \u00a0\u202f\u2009", "'": "'\u2019"}
COMMA_DECIMAL = r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?"
POINT_DECIMAL = r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?"
POINT_THOUSANDS = r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+"
COMMA_THOUSANDS = r"[-+]?[1-9]\d{0,2}(?:,\d{3})+"
SHORT_WHOLE = r"[-+]?\d{1,3}"


@dataclass(frozen=True)
class Marks:
    """'.' or ',' for decimals; the name of the mark between thousands, None where there is none.

    `certain` is False where nothing but cells such as '1.020' spoke for the decimal mark.
    """

    decimal: str = "."
    thousands: str | None = None
    certain: bool = True

    @property
    def words(self) -> str:
        """As it is told to the user."""
        between = "" if self.thousands is None else f", thousands {NAMES[self.thousands]}"
        return f"decimal {NAMES[self.decimal]}{between}"

    def plain(self, words: Any) -> Any:
        """Cells with these marks as Python would write the number; a point that is no decimal mark makes no number."""
        if self.thousands is not None:
            grouped = words.str.contains(self._grouped)
            bare = words.str.replace_all(f"[{THOUSANDS[self.thousands]}]", "")
            words = words.zip_with(~grouped.fill_null(False), bare)
        if self.decimal == ",":
            pointed = words.str.contains(".", literal=True).fill_null(False)
            words = words.set(pointed, "no number").str.replace(f"^{COMMA_DECIMAL}$", _with_point(words))
        return words

    @property
    def _grouped(self) -> str:
        between = f"[{THOUSANDS[self.thousands or '.']}]"
        return rf"^[-+]?\d{{1,3}}(?:{between}\d{{3}})+(?:[{self.decimal}]\d*)?$"


NAMES = {".": "point", ",": "comma", "space": "space", "'": "apostrophe"}


def chosen(decimal: str | None, thousands: str | None, rows: list[list[str]]) -> Marks:
    """What the user said, and for the rest what the cells suggest."""
    if decimal is not None and decimal == thousands:
        raise fl.InputError(f"--decimal and --thousands are both {decimal!r}: one mark cannot be both.")
    if decimal is not None:
        return Marks(decimal, thousands)
    if thousands in (".", ","):
        return Marks("," if thousands == "." else ".", thousands)
    return _guessed([cell.strip() for row in rows for cell in row], thousands)


def _guessed(cells: list[str], thousands: str | None) -> Marks:
    commas, points = (
        {cell for cell in cells if re.fullmatch(pattern, cell)} for pattern in (COMMA_DECIMAL, POINT_DECIMAL)
    )
    # '1.020' may be either: it counts only where nothing else speaks.
    clear_commas = any(not re.fullmatch(COMMA_THOUSANDS, cell) for cell in commas)
    clear_points = any(not re.fullmatch(POINT_THOUSANDS, cell) for cell in points)
    if clear_commas or clear_points:
        return Marks("." if clear_points else ",", thousands)
    return Marks("," if commas and not points else ".", thousands, certain=False)


def could_be_thousands(column: Any, decimal: str) -> str | None:
    """A cell such as '1.020' of a column that has nothing else but whole numbers such as '985', or None."""
    import polars as pl

    grouped = POINT_THOUSANDS if decimal == "." else COMMA_THOUSANDS
    words = column.drop_nulls()
    marked = words.str.contains(f"^(?:{grouped})$")
    whole = words.str.contains(f"^(?:{SHORT_WHOLE})$")
    mixed = bool(marked.any()) and bool(whole.any()) and bool((marked | whole).all())
    return str(words.filter(marked)[0]) if mixed and isinstance(words, pl.Series) else None
