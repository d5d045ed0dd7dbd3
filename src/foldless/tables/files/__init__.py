"""Tables in: CSV, TSV, Parquet and NumPy archives, each behind the same small interface.

kinds        what a file is, by its first bytes and its name
sheet        `Sheet`: the names of the columns, one column as text, many columns as one matrix
text         CSV and TSV; `unpacked`, `encodings` and `layout` find out how it is written
parquet      Parquet
archive      NumPy's .npz
memory       whether a table fits, where memory is limited
marks        how numbers are written: decimals and thousands
values       which words are numbers, and which mean that there is none
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from foldless.tables.files import archive, parquet, sheet, text
from foldless.tables.files.sheet import Hints, Loaded, Sheet, refuse_beyond_limit

__all__ = ["Hints", "Loaded", "Sheet", "opened"]

READERS: dict[str, Callable[[Path, Hints, Path], Sheet]] = {
    "parquet": parquet.read,
    "npz": archive.read,
    "text": text.read,
    "gzip": text.read_packed,
}


@contextmanager
def opened(path: Path, hints: Hints) -> Iterator[Sheet]:
    """A file as a `Sheet`; what had to be unpacked or written in another encoding is gone afterwards."""
    kind = sheet.kind_of(path)
    if kind in ("parquet", "npz"):
        hints.refuse(path)
    refuse_beyond_limit(path, kind)
    with TemporaryDirectory(prefix="foldless-") as scratch:
        yield READERS[kind](path, hints, Path(scratch))
