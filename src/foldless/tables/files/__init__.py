"""Files as tables: CSV, TSV, Parquet and NumPy archives, each behind the same small interface.

sheet      `Sheet`, what every kind of file provides; numbers as text, kinds of files, unpacking, limits of memory
text       CSV and TSV; `writing` finds out how they are written: encoding, separator, decimal mark
binary     Parquet and NumPy's .npz

To add a kind: its first bytes in `sheet.MAGIC`, and a function that opens it in `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from foldless.tables.files import binary, sheet, text
from foldless.tables.files.sheet import Hints, Loaded, Sheet

__all__ = ["Hints", "Loaded", "Sheet", "opened"]

READERS: dict[str, Callable[[Path, Hints, Path], Sheet]] = {
    "parquet": binary.read_parquet,
    "npz": binary.read_archive,
    "text": text.read,
    "gzip": text.read_packed,
}


@contextmanager
def opened(path: Path, hints: Hints) -> Iterator[Sheet]:
    """A file as a `Sheet`; what had to be unpacked or written in another encoding is gone afterwards."""
    kind = sheet.kind_of(path)
    if kind in ("parquet", "npz"):
        hints.refuse(path)
    sheet.refuse_beyond_limit(path, kind)
    with TemporaryDirectory(prefix="foldless-") as scratch:
        yield READERS[kind](path, hints, Path(scratch))
