"""A limit on memory (``ulimit -v``), looked at before a file is read: where memory ends polars ends the process."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import foldless as fl

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
        raise fl.InputError(
            f"there is not enough memory for {path}: it needs about {_mebibytes(needed)}, and the limit of this "
            f"process leaves {_mebibytes(free)}: raise it (ulimit -v)."
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


def _mebibytes(size: int) -> str:
    return f"{size // 2**20} MiB"
