"""`Sheet`, the interface of every kind of file, and what readers share: numbers written as text, unpacking."""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from foldless.errors import InputError

READABLE = "a table as CSV, TSV, Excel, SPSS, Stata, Parquet or .npz"

# ---- How numbers are written: the decimal mark and the mark between thousands, chosen or guessed from the first rows.

# Marks between thousands, by the name that the user gives them; there are several kinds of spaces and apostrophes.
THOUSANDS = {".": ".", ",": ",", "space": " \u00a0\u202f\u2009", "'": "'\u2019"}
NAMES = {".": "point", ",": "comma", "space": "space", "'": "apostrophe"}
DECIMALS = {mark: rf"[-+]?\d*[{mark}]\d+(?:[eE][-+]?\d+)?" for mark in ".,"}
GROUPS = {mark: rf"[-+]?[1-9]\d{{0,2}}(?:[{mark}]\d{{3}})+" for mark in ".,"}
SHORT_WHOLE = r"[-+]?\d{1,3}"
COMMA_NUMBER = r"^([-+]?\d*),(\d+(?:[eE][-+]?\d+)?)$"


@dataclass(frozen=True)
class Marks:
    """'.' or ',' for decimals, and the name of the mark between thousands, if any.

    `certain` is False if no cell shows what the mark is for: in '1.020' it may be for decimals or for thousands.
    """

    decimal: str = "."
    thousands: str | None = None
    certain: bool = True

    @property
    def words(self) -> str:
        """The marks in words."""
        between = "" if self.thousands is None else f", thousands {NAMES[self.thousands]}"
        return f"decimal {NAMES[self.decimal]}{between}"

    def plain(self, words: Any) -> Any:
        """A polars expression of text with numbers as Python writes them; '1.5' is not one under a decimal comma."""
        import polars as pl

        if self.thousands is not None:
            between = f"[{THOUSANDS[self.thousands]}]"
            grouped = rf"^[-+]?\d{{1,3}}(?:{between}\d{{3}})+(?:[{self.decimal}]\d*)?$"
            words = pl.when(words.str.contains(grouped)).then(words.str.replace_all(between, "")).otherwise(words)
        if self.decimal == ",":
            unreadable = words.str.replace_all(".", "?", literal=True)
            pointed = words.str.contains(".", literal=True)
            words = pl.when(pointed).then(unreadable).otherwise(words.str.replace(COMMA_NUMBER, "${1}.${2}"))
        return words

    def doubtful(self, words: Any) -> Any:
        """A polars expression: whether a column has cells such as '1.020' and '985', and no others."""
        grouped, whole = words.str.contains(f"^{GROUPS[self.decimal]}$"), words.str.contains(f"^{SHORT_WHOLE}$")
        return grouped.any() & whole.any() & (grouped | whole).all()


def chosen(decimal: str | None, thousands: str | None, cells: list[str]) -> Marks:
    """What the user chose; the rest is guessed from the cells."""
    if decimal is not None and decimal == thousands:
        raise InputError(f"--decimal and --thousands are both {decimal!r}: one mark cannot be both.")
    if decimal is not None:
        return Marks(decimal, thousands)
    if thousands in (".", ","):
        return Marks("," if thousands == "." else ".", thousands)
    return _guessed([cell.strip() for cell in cells], thousands)


def _guessed(cells: list[str], thousands: str | None) -> Marks:
    """The mark of clear decimals such as '1.5' or '1,5' (points first), else of cells such as '1.020' or '1,020'."""
    marked = {mark: [cell for cell in cells if re.fullmatch(DECIMALS[mark], cell)] for mark in ".,"}
    clear = [mark for mark in ".," if any(not re.fullmatch(GROUPS[mark], cell) for cell in marked[mark])]
    if clear:
        return Marks(clear[0], thousands)
    return Marks("," if marked[","] and not marked["."] else ".", thousands, certain=False)


# ---- Which words are numbers, and which stand for missing values.

# Words for missing values in columns of text and labels, in lower case. 'none' is not one of them: it may be a class.
NOTHING = ("", "na", "n/a", "n.a.", "<na>", "#n/a", "nan", "null", "?")
# ... and in columns of numbers.
NO_NUMBER = (*NOTHING, "none", "nil", ".", "-")
# For polars, which compares exactly: each word in the spellings that programs use.
NO_NUMBER_SPELLED = sorted({f(w) for w in NO_NUMBER for f in (str.lower, str.upper, str.title)} | {"NaN"})


def stripped(column: Any) -> Any:
    """A column of text without padding; null where the value is missing."""
    return _without(column.str.strip_chars(), NOTHING)


def _without(column: Any, words: tuple[str, ...]) -> Any:
    import polars as pl

    return column.set(column.str.to_lowercase().is_in(pl.Series(words).implode()).fill_null(False), None)


def as_numbers(column: Any, marks: Marks) -> Any | None:
    """A column of text as Float64, true and false as 1 and 0; None if a word in it is not a number."""
    words = _without(column.str.strip_chars(), NO_NUMBER)
    numbers = parsed(words, marks)
    return numbers if numbers.null_count() == words.null_count() else None


def no_numbers(column: Any, marks: Marks) -> Any:
    """The words of a column that are neither numbers nor stand for missing values."""
    words = _without(column.str.strip_chars(), NO_NUMBER)
    return words.filter(words.is_not_null() & parsed(words, marks).is_null())


def parsed(words: Any, marks: Marks) -> Any:
    """Text as Float64, null where it is not a number."""
    import polars as pl

    plain = words.to_frame("").select(marks.plain(pl.col("")).alias(""))[""]
    return plain.str.to_lowercase().replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number; '1_000' is a number only in programs."""
    if "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- `Sheet`: what every kind of file provides.


@dataclass(frozen=True)
class Hints:
    """What the user chose for a file; None stands for a guess."""

    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    def refuse(self, path: Path, taken: tuple[str, ...] = ()) -> None:
        """Refuse hints that do not concern this kind of file."""
        for hint in fields(self):
            if getattr(self, hint.name) is not None and hint.name not in taken:
                kind = "Excel" if hint.name == "sheet" else "text"
                raise InputError(f"--{hint.name} is for {kind} files, and {path} is not one: leave it out.")


@dataclass(frozen=True, eq=False)
class Loaded:
    """Columns of a file, in the order asked for."""

    X: Any  # floats; NaN for missing values and throughout columns that do not hold numbers
    texts: dict[str, Any]  # text columns by name, as polars series
    strange: dict[str, str]  # other columns by name, with what they hold: 'dates', 'lists'
    marks: Marks = field(default_factory=Marks)  # how numbers are written, in a text file


@dataclass(frozen=True, eq=False, kw_only=True)
class Sheet(ABC):
    """An opened file; each kind of file has its own `column` and `load`."""

    path: Path
    names: tuple[str, ...]  # columns that are features unless the user says otherwise
    read_as: str  # how the file was read, in words
    others: tuple[str, ...] = ()  # further columns, used only when asked for by name
    default_target: str | None = None  # the target where the user names none
    remedy: str = ""  # options to try if the file was read wrongly

    @abstractmethod
    def column(self, name: str) -> Any:
        """One column as a polars series of stripped text, null where a value is missing."""

    @abstractmethod
    def load(self, names: tuple[str, ...]) -> Loaded:
        """Several columns, as numbers where they hold numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Excerpt(Sheet):
    """Some rows of a sheet."""

    whole: Sheet
    kept: Any  # a polars series of booleans, one per row

    @classmethod
    def of(cls, whole: Sheet, kept: Any) -> Excerpt:
        """The rows of the sheet for which `kept` is true."""
        return cls(**{item.name: getattr(whole, item.name) for item in fields(Sheet)}, whole=whole, kept=kept)

    def column(self, name: str) -> Any:
        return self.whole.column(name).filter(self.kept)

    def load(self, names: tuple[str, ...]) -> Loaded:
        loaded = self.whole.load(names)
        texts = {name: column.filter(self.kept) for name, column in loaded.texts.items()}
        return replace(loaded, X=loaded.X[self.kept.to_numpy()], texts=texts)


def new_matrix(rows: int, columns: int, dtype: Any = np.float64) -> Any:
    """A matrix to be filled; the system provides its memory as it is filled."""
    return np.empty((rows, columns), dtype=dtype)


# ---- Packed files are unpacked into a scratch file; zip bombs are refused before they fill the disk.

BLOCK = 2**20
HARMLESS = 256 * 2**20  # below this many bytes nothing is refused
MOST_TIMES = 200  # tables of numbers shrink by a factor of 2 to 20, word counts by 100


def unpack_gzip(path: Path, target: Path) -> Path:
    """The content of a .gz file, written to `target`."""
    limit = max(HARMLESS, MOST_TIMES * path.stat().st_size)
    try:
        with gzip.open(path, "rb") as packed, target.open("wb") as out:
            written = 0
            while block := packed.read(BLOCK):
                written += len(block)
                if written > limit:
                    raise InputError(_bomb(path))
                out.write(block)
    except (EOFError, gzip.BadGzipFile, zlib.error) as err:
        raise InputError(f"{path} is damaged and cannot be unpacked: {err}") from err
    return target


def refuse_zip_bomb(path: Path) -> None:
    """Refuse an archive that would unpack to far more than its own size."""
    if unpacked_size(path) > max(HARMLESS, MOST_TIMES * path.stat().st_size):
        raise InputError(_bomb(path))


def unpacked_size(path: Path) -> int:
    """Bytes in a zip archive once unpacked, as its directory says."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as err:
        raise InputError(f"{path} is damaged and cannot be unpacked: {err}") from err


def _bomb(path: Path) -> str:
    return (
        f"{path} unpacks to more than {MOST_TIMES} times its size, which tables of measurements never do: if you "
        f"trust the file, unpack it yourself first."
    )
