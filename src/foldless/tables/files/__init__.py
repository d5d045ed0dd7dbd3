"""Files as tables: CSV, TSV, Excel, SPSS, Stata, Parquet and NumPy archives, each opened as a `Sheet`.

sheet      `Sheet`, what every kind of file provides; numbers written as text; unpacking
text       CSV and TSV; Excel, SPSS and Stata, read as text
writing    how text is written: encoding, separator, decimal mark
binary     Parquet and NumPy's .npz

To add a kind: a subclass of `Sheet`, and a `Kind` in `KINDS`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import gettempdir

from foldless.errors import InputError
from foldless.tables import parquet
from foldless.tables.files import binary, sheet
from foldless.tables.files.sheet import READABLE, Hints, Loaded, Sheet

__all__ = ["Hints", "Loaded", "Sheet", "open_parquet", "opened"]

# ---- The kinds of files. The first bytes of a file decide; its name must not contradict them.


@dataclass(frozen=True)
class Kind:
    """How to recognise and read a kind of file; one that cannot be read has advice instead of a reader."""

    magic: tuple[bytes, ...] = ()  # first bytes
    suffixes: tuple[str, ...] = ()  # endings that only this kind may have
    read: Callable[[Path, Hints, Path], Sheet] | None = None  # of the file, the user's hints and a scratch directory
    hints: tuple[str, ...] = ()  # which of the user's hints concern it
    growth: int = 1  # roughly, bytes in memory per byte of the file
    advice: str = ""


def _read_text(path: Path, hints: Hints, scratch: Path, packed: bool = False) -> Sheet:
    from foldless.tables.files import text  # loads polars: only once the memory limit has been checked

    return text.read(path, hints, scratch, sheet.unpack_gzip(path, scratch / "unpacked") if packed else None)


def _read_office(path: Path, hints: Hints, scratch: Path) -> Sheet:
    from foldless.tables.files import text

    return text.read_office(path, hints, scratch)


MARKS = ("decimal", "thousands")
TEXT = Kind(read=_read_text, hints=("sep", "encoding", *MARKS))
GZIP = Kind((b"\x1f\x8b",), (".gz",), partial(_read_text, packed=True), TEXT.hints, growth=4)
PARQUET = Kind((b"PAR1",), parquet.SUFFIXES, binary.read_parquet, growth=3)
ARCHIVE = Kind(suffixes=(".npz",), read=binary.read_archive)  # a zip file, distinguished from others by its suffix
ZIP = Kind((b"PK\x03\x04", b"PK\x05\x06"), advice="unpack it first, or save its table as CSV")
PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
PICTURE = Kind(PICTURES, advice="it is a picture; name the file with the numbers, one line per row")
PDF = Kind((b"%PDF",), advice="it is a PDF; save the table behind it as CSV or Excel")
ARRAY = Kind((b"\x93NUMPY",), advice="it holds one array without labels: save both with numpy.savez(file, X=X, y=y)")
OLD_EXCEL, OLD_STATA = (b"\xd0\xcf\x11\xe0",), tuple(bytes(v) for v in product((0x71, 0x72, 0x73), (1, 2)))
EXCEL = Kind(OLD_EXCEL, (".xlsx", ".xls", ".xlsm", ".ods"), _read_office, ("sheet", *MARKS), growth=10)
SPSS = Kind((b"$FL2", b"$FL3"), (".sav", ".zsav"), _read_office, MARKS, growth=10)
STATA = Kind((b"<stata_d", *OLD_STATA), (".dta",), _read_office, MARKS, growth=10)
KINDS = (GZIP, PARQUET, ARCHIVE, ZIP, ARRAY, EXCEL, SPSS, STATA, PICTURE, PDF)


@contextmanager
def opened(path: Path, hints: Hints) -> Iterator[Sheet]:
    """A file as a `Sheet`; temporary copies, unpacked or in another encoding, are removed afterwards."""
    kind = kind_of(path)
    hints.refuse(path, kind.hints)
    refuse_beyond_limit(path, kind)
    with scratch_folder() as scratch:
        yield kind.read(path, hints, scratch)  # type: ignore[misc]


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder, removed afterwards even if an interruption arrives while it is being made.

    `tempfile.TemporaryDirectory` chooses the name and makes the folder in one call, and an interruption between that
    call and the next leaves the folder behind. Here the name is known before the folder exists.
    """
    folder = Path(gettempdir(), f"foldless-{secrets.token_hex(8)}")
    try:
        folder.mkdir(mode=0o700)  # an error if it exists
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def open_parquet(paths: tuple[Path, ...], why: str) -> tuple[binary.ParquetSheet, ...]:
    """Files that make one table, refused unless all are Parquet, different, and have the same columns."""
    for path in paths:
        if kind_of(path) is not PARQUET:
            raise InputError(f"{path} is not a Parquet file, and {why}: write it as Parquet first.")
    return binary.as_one_table(paths)


def kind_of(path: Path) -> Kind:
    """The kind of a file that can be read; any other is refused with advice."""
    if path.is_dir():
        raise InputError(f"{path} is a directory: expected {READABLE}.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file: copy its content into one and name that.")
    with path.open("rb") as stream:
        start = stream.read(8)
    suffix = path.suffix.lower()
    content = next((kind for kind in KINDS if start.startswith(kind.magic)), TEXT)
    named = next((kind for kind in KINDS if suffix in kind.suffixes), content)
    if content is ZIP and named in (ARCHIVE, EXCEL):
        return named
    if advice := named.advice or content.advice:
        raise InputError(f"{path} is not {READABLE}: {advice}.")
    if named is not content:
        reason = f"is not a {suffix} file, despite its name" if start else "is empty"
        raise InputError(f"{path} {reason}: write it again, or name it after what it holds.")
    return content


# ---- The memory limit of the process (``ulimit -v``), checked before a file is read: beyond it polars aborts.

# A table is held up to three times: as it is read, as a matrix, and standardised. The rest is address space for the
# libraries that are not loaded yet, and for their threads; with less of it polars aborts instead of raising an error.
COPIES, REST = 3, 1200 * 2**20


def refuse_beyond_limit(path: Path, kind: Kind) -> None:
    """Refuse a table that needs more memory than the limit of this process leaves."""
    free = _free_memory()
    size = sheet.unpacked_size(path) if kind is ARCHIVE else kind.growth * path.stat().st_size
    needed = COPIES * size + REST
    if free is not None and needed > free:
        raise InputError(
            f"there is not enough memory for {path}: it needs about {needed // 2**20} MiB, and the limit of this "
            f"process leaves {free // 2**20} MiB: raise it (ulimit -v)."
        )


def _free_memory() -> int | None:
    """Bytes of address space that this process may still take; None without a limit, or if it is unknown."""
    if sys.platform != "linux":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return max(0, limit - taken)
