"""Which encoding a text file is in, from all of its bytes; and the same text as UTF-8 where it is not."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

import foldless as fl

BLOCK = 2**20
SAMPLE = 2**16  # bytes that the guess of an encoding is made from
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Bytes that no text file holds.
BINARY = bytes([*range(0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20)])
PADDED_BLANK_LINE = re.compile(rb"\n[ \t]+\r?\n")
HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
# Letters, then signs of units and prices, dashes and quotation marks.
WESTERN = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüýßœ°µ²³±§€«»½\u2013\u2019\u201c\u201d\u00d7")
FAMILIAR = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1", "utf-8-sig": "UTF-8"}


@dataclass(frozen=True)
class Text:
    """A file that polars can read as it is: UTF-8, no blank lines; and the encoding that it was in."""

    path: Path
    encoding: str


def as_utf8(path: Path, wanted: str | None, scratch: Path, shown: Path) -> Text:
    """The file itself where it is plain UTF-8, else a copy that is; `shown` is its name in messages."""
    found = _looked_through(path)
    if found.binary and wanted is None and not found.marked:
        raise fl.InputError(f"{shown} is not a text file: expected a table as CSV, TSV, Parquet or .npz.")
    encoding = wanted or found.encoding
    if encoding is None:
        raise fl.InputError(f"{shown} is in no encoding that could be recognised: name it with --encoding.")
    if found.plain and codecs.lookup(encoding).name in ("utf-8", "ascii", "utf-8-sig"):
        return Text(path, "utf-8")
    return Text(_rewritten(path, encoding, scratch / "text.csv", shown), encoding)


def named(encoding: str) -> str:
    """An encoding as people know it."""
    name = codecs.lookup(encoding).name
    return FAMILIAR.get(name, name.upper() if name.startswith("utf") else name)


@dataclass(frozen=True)
class _Look:
    encoding: str | None
    plain: bool
    binary: bool
    marked: bool


def _looked_through(path: Path) -> _Look:
    """One pass over the bytes: valid UTF-8 to the end? blank lines? anything that is not text?"""
    decoder = codecs.getincrementaldecoder("utf-8")()
    clean, binary, strange, tail = True, False, b"", b""
    with path.open("rb") as stream:
        start = stream.read(4)
        mark = next((name for bom, name in MARKS.items() if start.startswith(bom)), None)
        stream.seek(0)
        while block := stream.read(BLOCK):
            binary = binary or len(block.translate(None, BINARY)) < len(block)
            clean = clean and not _blank_lines(tail + block) and not _old_line_ends(block)
            tail = block[-64:]
            if len(strange) < SAMPLE and not _decodes(decoder, block):
                strange += _lines_with_accents(block)
            if binary:
                break
    if not strange and not binary and not _decodes(decoder, b"", final=True):
        strange = _lines_with_accents(tail)  # a letter that is cut off by the end of the file
    if mark is not None:
        return _Look(mark, mark == "utf-8-sig" and clean and not strange, binary and mark == "utf-8-sig", True)
    if not strange:
        return _Look("utf-8", clean, binary, False)
    return _Look(None if binary else _guessed(strange[:SAMPLE]), False, binary, False)


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        decoder.reset()
        return False
    return True


def _blank_lines(block: bytes) -> bool:
    # A regular expression over all bytes would take longer than reading the table.
    if b"\n\n" in block or b"\n\r\n" in block:
        return True
    return (b"\n " in block or b"\n\t" in block) and PADDED_BLANK_LINE.search(block) is not None


def _old_line_ends(block: bytes) -> bool:
    return b"\r" in block and b"\n" not in block


def _lines_with_accents(block: bytes) -> bytes:
    # Numbers say nothing about the encoding, and the words are what the guess has to rest on.
    return b"\n".join(line for line in block.splitlines() if not line.isascii())


def _guessed(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    if (western := _western(data)) is not None:
        return western
    best = from_bytes(data).best()
    if best is None:
        return None
    # Where several encodings give the same text, the name that people know.
    same = (str(name) for name in best.could_be_from_charset)
    return next((name for name in same if name in ("cp1252", "latin_1")), str(best.encoding))


def _western(data: bytes) -> str | None:
    """Single accents of western Europe among plain letters; a few words are too little for a guess by statistics."""
    runs = HIGH_BYTES.findall(data)
    if max(map(len, runs)) > 2:
        return None
    accents = b"".join(runs).decode("cp1252", errors="replace")
    if not set(accents.lower()) <= WESTERN:
        return None
    return "latin-1" if all(ord(c) < 0x100 for c in accents) else "cp1252"


def _rewritten(path: Path, encoding: str, target: Path, shown: Path) -> Path:
    """The same text as UTF-8 with plain line ends and without blank lines."""
    try:
        with path.open(encoding=encoding) as text, target.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(line for line in text if line.strip())
    except UnicodeError as err:
        where = f" ({err.reason} at byte {err.start})" if isinstance(err, UnicodeDecodeError) else ""
        raise fl.InputError(
            f"{shown} is not in the encoding {named(encoding)}{where}: choose another with --encoding."
        ) from err
    return target
