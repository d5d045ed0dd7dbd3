"""What a file is: its first bytes say so, its name only helps with the advice."""

from __future__ import annotations

from pathlib import Path

import foldless as fl

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
        raise fl.InputError(f"{path} is a directory: expected {READABLE}.")
    if path.exists() and not path.is_file():
        raise fl.InputError(f"{path} is not a regular file: write its content into one, then name that.")
    with path.open("rb") as stream:
        start = stream.read(8)
    kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "text")
    if kind == "zip" and path.suffix.lower() == ".npz":
        return "npz"
    if path.suffix.lower() in SPREADSHEETS:
        kind = "spreadsheet"
    if kind in ADVICE:
        raise fl.InputError(f"{path} is not {READABLE}: {ADVICE[kind]}.")
    _refuse_misnamed(path, kind, start)
    return kind


def _refuse_misnamed(path: Path, kind: str, start: bytes) -> None:
    suffix = path.suffix.lower()
    claimed = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".gz": "gzip"}.get(suffix)
    if claimed is not None and claimed != kind:
        reason = "is empty" if not start else f"is not a {suffix} file, whatever its name says"
        raise fl.InputError(f"{path} {reason}: write it again, or name it after what it holds.")
