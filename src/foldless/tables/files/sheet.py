"""`Sheet`, what every kind of file provides, and what reading one takes: numbers, kinds, unpacking, memory."""

from __future__ import annotations

import gzip
import os
import re
import sys
import zipfile
import zlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from foldless.errors import InputError

# ---- How numbers are written: the decimal mark, the mark between thousands, and what the first rows suggest.

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
        """The marks as the user reads them."""
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
    """What the user chose; the rest is guessed from the cells."""
    if decimal is not None and decimal == thousands:
        raise InputError(f"--decimal and --thousands are both {decimal!r}: one mark cannot be both.")
    if decimal is not None:
        return Marks(decimal, thousands)
    if thousands in (".", ","):
        return Marks("," if thousands == "." else ".", thousands)
    return _guessed([cell.strip() for cell in cells], thousands)


def _guessed(cells: list[str], thousands: str | None) -> Marks:
    """Points decide before commas, and either before cells with three digits behind the mark."""
    marked = {mark: [cell for cell in cells if re.fullmatch(DECIMALS[mark], cell)] for mark in ".,"}
    clear = [mark for mark in ".," if any(not re.fullmatch(GROUPS[mark], cell) for cell in marked[mark])]
    if clear:
        return Marks(clear[0], thousands)
    return Marks("," if marked[","] and not marked["."] else ".", thousands, certain=False)


def in_doubt(path: Any, name: str, marked: str, whole: str, decimal: str) -> InputError:
    """Nothing tells what the mark in a column is for."""
    return InputError(
        f"{path} has '{marked}' beside '{whole}' in column '{name}', and nothing tells whether the "
        f"{NAMES[decimal]} marks thousands or decimals: use --thousands '{decimal}' or --decimal '{decimal}'."
    )


# ---- Which words are numbers, and which mean that there is none.

# Words for 'nothing' among texts and labels, in lower case. 'none' is not one of them: it may be a class.
NOTHING = ("", "na", "n/a", "n.a.", "<na>", "#n/a", "nan", "null", "?")
# ... and among numbers.
NO_NUMBER = (*NOTHING, "none", "nil", ".", "-")
# As polars compares them: every word in the ways that programs write it.
NO_NUMBER_SPELLED = sorted({f(w) for w in NO_NUMBER for f in (str.lower, str.upper, str.title)} | {"NaN"})


def stripped(column: Any) -> Any:
    """A column of text without padding; null where it says nothing."""
    return _without(column.str.strip_chars(), NOTHING)


def _without(column: Any, words: tuple[str, ...]) -> Any:
    import polars as pl

    empty = column.str.to_lowercase().is_in(pl.Series(words).implode())
    return column.set(empty.fill_null(False), None)


def as_numbers(column: Any, marks: Marks) -> Any | None:
    """A column of text as Float64, true and false as 1 and 0; None if a word in it is no number."""
    words = _without(column.str.strip_chars(), NO_NUMBER)
    numbers = _parsed(words, marks)
    return numbers if numbers.null_count() == words.null_count() else None


def no_numbers(column: Any, marks: Marks) -> Any:
    """The words of a column that are neither numbers nor mean that there is none."""
    words = _without(column.str.strip_chars(), NO_NUMBER)
    return words.filter(words.is_not_null() & _parsed(words, marks).is_null())


def _parsed(words: Any, marks: Marks) -> Any:
    import polars as pl

    plain = words.to_frame("").select(marks.plain(pl.col("")).alias(""))[""]
    flags = plain.str.to_lowercase().replace({"true": "1", "false": "0"})
    return flags.cast(pl.Float64, strict=False)


def numeric_columns(sample: Any, marks: Marks) -> list[bool]:
    """For each column of text, whether a parser of numbers can be expected to read it as it stands."""
    import polars as pl

    known = pl.all().is_in(pl.Series(NO_NUMBER_SPELLED).implode())
    words = sample.select(pl.when(~known).then(pl.all()))
    numbers = words.select(marks.plain(pl.all())).select(pl.all().cast(pl.Float64, strict=False))
    lost = zip(words.null_count().row(0), numbers.null_count().row(0), strict=True)
    return [before == after for before, after in lost]


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number; '1_000' is one in programs only."""
    if "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- `Sheet`: what every kind of file can be asked, and what comes back.


@dataclass(frozen=True)
class Hints:
    """What the user chose for a text file; None is guessed."""

    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    def refuse(self, path: Path) -> None:
        """Refuse hints for a file that needs none."""
        for hint in fields(self):
            if getattr(self, hint.name) is not None:
                raise InputError(f"--{hint.name} is for text files, and {path} is not one: leave it out.")


@dataclass(frozen=True, eq=False)
class Loaded:
    """Columns of a file: numbers in one matrix, NaN where there is none; columns that are not numbers beside it.

    Attributes
    ----------
    X : float array of shape (rows, columns), in the order asked for
    texts : columns of words by name, as polars series; their place in X is NaN
    strange : columns that are neither, by name, with what they are: 'dates', 'lists'
    marks : how numbers are written, where they are text
    """

    X: Any
    texts: dict[str, Any]
    strange: dict[str, str]
    marks: Marks = field(default_factory=Marks)


class Sheet(Protocol):
    """An opened file; a kind of file has to say `names`, `read_as`, `column` and `load`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are features unless the user says otherwise."""
        ...

    @property
    def read_as(self) -> str:
        """How the file was read, in words."""
        ...

    @property
    def others(self) -> tuple[str, ...]:
        """Further columns that may be asked for by name."""
        return ()

    @property
    def default_target(self) -> str | None:
        """The target where the user names none."""
        return None

    @property
    def remedy(self) -> str:
        """What to try where the reading looks wrong; empty where nothing can be tried."""
        return ""

    def column(self, name: str) -> Any:
        """One column as a polars series of stripped text, null where there is none."""
        ...

    def load(self, names: tuple[str, ...]) -> Loaded:
        """Many columns as numbers, as far as they are."""
        ...


def new_matrix(rows: int, columns: int, dtype: Any = np.float64) -> Any:
    """A matrix to be filled; its pages are taken from the system as they are filled."""
    return np.empty((rows, columns), dtype=dtype)


# ---- What a file is: its first bytes say so, its name only helps with the advice.

READABLE = "a table as CSV, TSV, Parquet or .npz"
MAGIC = {b"PAR1": "parquet", b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"PK\x05\x06": "zip", b"\x93NUMPY": "npy"}
ADVICE = {
    "npy": "it holds one array without labels: save both with numpy.savez(file, X=X, y=y)",
    "spreadsheet": "save the sheet as CSV first",
    "zip": "unpack it first",
}
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")


def kind_of(path: Path) -> str:
    """'text', 'gzip', 'parquet' or 'npz'; anything else is refused with the way out."""
    if path.is_dir():
        raise InputError(f"{path} is a directory: expected {READABLE}.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file: write its content into one, then name that.")
    with path.open("rb") as stream:
        start = stream.read(8)
    kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "text")
    if kind == "zip" and path.suffix.lower() == ".npz":
        return "npz"
    if path.suffix.lower() in SPREADSHEETS:
        kind = "spreadsheet"
    if kind in ADVICE:
        raise InputError(f"{path} is not {READABLE}: {ADVICE[kind]}.")
    _refuse_misnamed(path, kind, start)
    return kind


def _refuse_misnamed(path: Path, kind: str, start: bytes) -> None:
    suffix = path.suffix.lower()
    claimed = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".gz": "gzip"}.get(suffix)
    if claimed is not None and claimed != kind:
        reason = "is empty" if not start else f"is not a {suffix} file, despite its name"
        raise InputError(f"{path} {reason}: write it again, or name it after what it holds.")


# ---- A limit on memory (``ulimit -v``), looked at before a file is read: where memory ends polars ends the process.

# A table is held up to three times: as it is read, as a matrix, and standardised. The rest is address space for the
# libraries that are not loaded yet, and for their threads; with less of it polars aborts instead of raising an error.
COPIES, REST = 3, 1200 * 2**20
# How much more a table takes in memory than in a packed file, roughly.
UNPACKED = {"gzip": 4, "parquet": 3}


def refuse_beyond_limit(path: Path, kind: str) -> None:
    """Refuse a table that does not fit into what the limit of this process leaves."""
    free = left()
    needed = COPIES * _size(path, kind) + REST
    if free is not None and needed > free:
        raise InputError(
            f"there is not enough memory for {path}: it needs about {needed // 2**20} MiB, and the limit of this "
            f"process leaves {free // 2**20} MiB: raise it (ulimit -v)."
        )


def left() -> int | None:
    """Bytes of address space that this process may still take; None without a limit, or where it cannot be known."""
    if sys.platform != "linux":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return max(0, limit - taken)


def _size(path: Path, kind: str) -> int:
    if kind == "npz" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    return UNPACKED.get(kind, 1) * path.stat().st_size


# ---- Packed files are unpacked into a scratch file, and bombs refused before they fill the disk.

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
    """Refuse an archive that would unpack to far more than it holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as err:
        raise InputError(f"{path} is damaged and cannot be unpacked: {err}") from err
    if size > max(HARMLESS, MOST_TIMES * path.stat().st_size):
        raise InputError(_bomb(path))


def _bomb(path: Path) -> str:
    return (
        f"{path} unpacks to more than {MOST_TIMES} times its size, as no table of measurements does: if you trust it, "
        "unpack it yourself first."
    )
