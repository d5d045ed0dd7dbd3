"""Packed files are unpacked into a scratch file, and bombs refused before they fill the disk."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

import foldless as fl

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
                    raise fl.InputError(_bomb(path))
                out.write(block)
    except (EOFError, gzip.BadGzipFile, zlib.error) as err:
        raise fl.InputError(f"{path} is damaged and cannot be unpacked: {err}") from err
    return target


def refuse_zip_bomb(path: Path) -> None:
    """Refuse an archive that would unpack to far more than it holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as err:
        raise fl.InputError(f"{path} is damaged and cannot be unpacked: {err}") from err
    if size > max(HARMLESS, MOST_TIMES * path.stat().st_size):
        raise fl.InputError(_bomb(path))


def _bomb(path: Path) -> str:
    return (
        f"{path} unpacks to more than {MOST_TIMES} times its size, as no table of measurements does: if you trust it, "
        "unpack it yourself first."
    )
