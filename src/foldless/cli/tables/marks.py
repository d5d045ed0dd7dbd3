"""How numbers are written: the decimal mark, the mark between thousands, and what the first rows suggest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import foldless as fl

# What may stand between thousands, by the name that the user gives it; people and programs write several spaces.
THOUSANDS = {".": ".", ",": ",", "space": " \u00a0\u202f\u2009", "'": "'\u2019"}
NAMES = {".": "point", ",": "comma", "space": "space", "'": "apostrophe"}
DECIMALS = {mark: rf"[-+]?\d*[{mark}]\d+(?:[eE][-+]?\d+)?" for mark in ".,"}
GROUPS = {mark: rf"[-+]?[1-9]\d{{0,2}}(?:[{mark}]\d{{3}})+" for mark in ".,"}
SHORT_WHOLE = r"[-+]?\d{1,3}"
COMMA_NUMBER = r"^([-+]?\d*),(\d+(?:[eE][-+]?\d+)?)$"


@dataclass(frozen=True)
class Marks:
    """'.' or ',' for decimals; the name of the mark between thousands, None where there is none.

    `certain` is False where no cell was seen that tells whether a mark is for decimals: '1.020' may be either.
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
        """An expression of text with each number as Python writes it; under a decimal comma '1.5' becomes no number."""
        import polars as pl

        if self.thousands is not None:
            bare = words.str.replace_all(f"[{THOUSANDS[self.thousands]}]", "")
            words = pl.when(words.str.contains(self._grouped)).then(bare).otherwise(words)
        if self.decimal == ",":
            unreadable = words.str.replace_all(".", "?", literal=True)
            pointed = words.str.contains(".", literal=True)
            words = pl.when(pointed).then(unreadable).otherwise(words.str.replace(COMMA_NUMBER, "${1}.${2}"))
        return words

    @property
    def _grouped(self) -> str:
        between = f"[{THOUSANDS[str(self.thousands)]}]"
        return rf"^[-+]?\d{{1,3}}(?:{between}\d{{3}})+(?:[{self.decimal}]\d*)?$"

    def doubtful(self, words: Any) -> Any:
        """An expression: whether a column has cells such as '1.020' and '985', and no others."""
        grouped, whole = words.str.contains(f"^{GROUPS[self.decimal]}$"), words.str.contains(f"^{SHORT_WHOLE}$")
        return grouped.any() & whole.any() & (grouped | whole).all()


def chosen(decimal: str | None, thousands: str | None, cells: list[str]) -> Marks:
    """What the user said, and for the rest what the cells suggest."""
    if decimal is not None and decimal == thousands:
        raise fl.InputError(f"--decimal and --thousands are both {decimal!r}: one mark cannot be both.")
    if decimal is not None:
        return Marks(decimal, thousands)
    if thousands in (".", ","):
        return Marks("," if thousands == "." else ".", thousands)
    return _guessed([cell.strip() for cell in cells], thousands)


def _guessed(cells: list[str], thousands: str | None) -> Marks:
    """Points decide before commas, and either before cells with three digits behind the mark."""
    found = {mark: [cell for cell in cells if re.fullmatch(DECIMALS[mark], cell)] for mark in ".,"}
    clear = [mark for mark in ".," if any(not re.fullmatch(GROUPS[mark], cell) for cell in found[mark])]
    if clear:
        return Marks(clear[0], thousands)
    return Marks("," if found[","] and not found["."] else ".", thousands, certain=False)


def in_doubt(path: Any, name: str, marked: str, whole: str, decimal: str) -> fl.InputError:
    """Nothing tells what the mark in a column is for."""
    return fl.InputError(
        f"{path} has '{marked}' beside '{whole}' in column '{name}', and nothing tells whether the "
        f"{NAMES[decimal]} marks thousands or decimals: use --thousands '{decimal}' or --decimal '{decimal}'."
    )
