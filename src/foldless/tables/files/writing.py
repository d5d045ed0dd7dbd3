"""How a text table is written: its encoding, separator, names of columns and decimal mark."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from foldless.checks import refuse_repeated
from foldless.errors import InputError
from foldless.tables.files import sheet
from foldless.tables.files.sheet import READABLE, Hints
from foldless.words import cut

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


def as_utf8(path: Path, wanted: str | None, scratch: Path, shown: Path) -> tuple[Path, str]:
    """The file itself if polars can read it (UTF-8, no blank lines), else a copy that it can read; and the encoding.

    `shown` is the name of the file in messages.
    """
    content = _inspected(path)
    if content.binary and wanted is None:
        raise InputError(f"{shown} is not a text file: expected {READABLE}.")
    encoding = wanted or content.encoding
    if encoding is None:
        raise InputError(f"the encoding of {shown} could not be recognised: name it with --encoding.")
    if content.plain and codecs.lookup(encoding).name in ("utf-8", "ascii", "utf-8-sig"):
        return path, "utf-8"
    return _rewritten(path, encoding, scratch / "text.csv", shown), encoding


def familiar_name(encoding: str) -> str:
    """The common name of an encoding."""
    name = codecs.lookup(encoding).name
    return FAMILIAR.get(name, name.upper() if name.startswith("utf") else name)


@dataclass(frozen=True)
class _Bytes:
    """What the bytes of a file say about its encoding."""

    encoding: str | None
    plain: bool  # UTF-8 that polars can read as it is
    binary: bool  # not a text file


def _inspected(path: Path) -> _Bytes:
    """One pass over the bytes: whether they are valid UTF-8, have blank lines, or are not text at all."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    clean, binary, undecoded, tail = True, False, b"", b""
    with path.open("rb") as stream:
        start = stream.read(4)
        mark = next((name for bom, name in MARKS.items() if start.startswith(bom)), None)
        stream.seek(0)
        while block := stream.read(BLOCK):
            binary = binary or len(block.translate(None, BINARY)) < len(block)
            old_line_ends = b"\r" in block and b"\n" not in block
            clean = clean and not _blank_lines(tail + block) and not old_line_ends
            tail = block[-64:]
            if len(undecoded) < SAMPLE and not _decodes(decoder, block):
                undecoded += _lines_with_accents(block)
            if binary:
                break
    if not undecoded and not binary and not _decodes(decoder, b"", final=True):
        undecoded = _lines_with_accents(tail)  # the file ends in the middle of a letter
    if mark is not None:
        return _Bytes(mark, mark == "utf-8-sig" and clean and not undecoded, binary=False)
    if not undecoded:
        return _Bytes("utf-8", clean, binary)
    return _Bytes(None if binary else _guessed(undecoded[:SAMPLE]), False, binary)


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        decoder.reset()
        return False
    return True


def _blank_lines(block: bytes) -> bool:
    # First without a regular expression, which would take longer than reading the table.
    if b"\n\n" in block or b"\n\r\n" in block:
        return True
    return (b"\n " in block or b"\n\t" in block) and PADDED_BLANK_LINE.search(block) is not None


def _lines_with_accents(block: bytes) -> bytes:
    # Only lines with accents say anything about the encoding.
    return b"\n".join(line for line in block.splitlines() if not line.isascii())


def _guessed(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    if (western := _western(data)) is not None:
        return western
    best = from_bytes(data).best()
    if best is None:
        return None
    # If several encodings give the same text, use the one that people know.
    same = (str(name) for name in best.could_be_from_charset)
    return next((name for name in same if name in ("cp1252", "latin_1")), str(best.encoding))


def _western(data: bytes) -> str | None:
    """Latin-1 or Windows-1252, if the text has only accents of western Europe; statistics fail on a few words."""
    runs = HIGH_BYTES.findall(data)
    if max(map(len, runs)) > 2:
        return None
    accents = b"".join(runs).decode("cp1252", errors="replace")
    if not set(accents.lower()) <= WESTERN:
        return None
    return "latin-1" if all(ord(c) < 0x100 for c in accents) else "cp1252"


def _rewritten(path: Path, encoding: str, target: Path, shown: Path) -> Path:
    """A copy as UTF-8, with plain line ends and without blank lines."""
    try:
        with path.open(encoding=encoding) as text, target.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(line for line in text if line.strip())
    except UnicodeError as err:
        where = f" ({err.reason} at byte {err.start})" if isinstance(err, UnicodeDecodeError) else ""
        raise InputError(
            f"{shown} is not in the encoding {familiar_name(encoding)}{where}: choose another with --encoding."
        ) from err
    return target


# ---- The layout, from the first lines.

SEPARATORS = ",;\t|"
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
TAB_SUFFIXES = (".tsv", ".tab")
MOST_TITLES = 5  # lines above the header
LINES = 40  # lines that the guess is made from
CELLS = 10_000  # ... and cells, where lines are long
SNIFFED = 2**14  # characters that csv.Sniffer is asked about; it is slow on wide tables
# A first line such as 'sep=;', which Excel understands.
NAMED_SEPARATOR = re.compile(r'"?sep=([^\w\s"]|\t| )"?\s*', re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """Separator, names of the columns, how numbers are written, and the lines before the header.

    `named` is the separator that the first line names ('sep=;'), None where it is the header already.
    """

    separator: str
    header: tuple[str, ...]
    marks: sheet.Marks
    skipped: int = 0
    named: str | None = None
    title: str = ""  # what was skipped above the header, in words

    @property
    def words(self) -> str:
        """The layout as the user reads it."""
        name = NAMES.get(self.separator, repr(self.separator))
        if self.named is not None:
            name += " (named in the first line)" if self.named == self.separator else " (not as the first line says)"
        return ", ".join(filter(None, (name, self.marks.words, self.title)))


def layout_of(text: Path, hints: Hints, shown: Path) -> Layout:
    """What the user chose, and the rest as the first lines suggest; `shown` is the file's name in messages."""
    blank, lines = _first_lines(text)
    match = NAMED_SEPARATOR.fullmatch(lines[0]) if lines else None
    named, lines = (None, lines) if match is None else (match[1], lines[1:])
    if not lines:
        raise InputError(f"{shown} is empty: expected a header line and one line per row.")
    suffix = Path(shown.stem if shown.suffix.lower() == ".gz" else shown).suffix.lower()
    separator = hints.sep or named or ("\t" if suffix in TAB_SUFFIXES else _guessed_separator(lines))
    title = _lines_of_title(lines, separator)
    above = " ".join(line.strip(f'{separator}" \n\r') for line in lines[:title]).strip()
    lines = lines[title:]
    rows = list(_cells(lines, separator))
    header = tuple(name.strip() for name in rows[0])
    refuse_repeated(header, shown)
    cells = list(islice((cell for row in rows[1:] for cell in row), CELLS))
    written = sheet.chosen(hints.decimal, hints.thousands, cells)
    skipped = blank + title + (named is not None) if title or named is not None else 0
    return Layout(separator, header, written, skipped, named, above and f"without the title '{cut(above)}'")


def _first_lines(text: Path) -> tuple[int, list[str]]:
    """The number of blank lines at the start, and some lines after them."""
    with text.open(encoding="utf-8-sig", newline="") as stream:
        lines = [line for _, line in zip(range(LINES), stream, strict=False)]
    blank = next((k for k, line in enumerate(lines) if line.strip()), len(lines))
    return blank, lines[blank:]


def _cells(lines: list[str], separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(2**31 - 1)  # an unclosed quote is reported later, in our own words
    return (row for row in csv.reader(lines, delimiter=separator) if row)


def _lines_of_title(lines: list[str], separator: str) -> int:
    """How many lines stand above the header: a few with at most half as many cells filled, before names of columns."""
    rows = [[cell.strip() for cell in row] for row in _cells(lines, separator)]
    filled = [sum(map(bool, row)) for row in rows]
    k = next(k for k, n in enumerate(filled) if 2 * n > max(filled) or k == len(filled) - 1)
    names = not any(map(sheet.is_number, rows[k]))
    return k if names and max(filled) > 2 and k <= MOST_TITLES and len(rows) > k + 2 else 0


def _guessed_separator(lines: list[str]) -> str:
    """The guess of csv.Sniffer if it fits the first lines, else the most frequent mark in the header that does."""
    counts = Counter(re.sub(r'"[^"]*"', "", lines[0]))
    frequent = sorted(SEPARATORS, key=lambda mark: -counts[mark])
    candidates = [*_sniffed(lines), *frequent]
    starts = [0, *(k for k in range(1, MOST_TITLES + 1) if len(lines) > k + 2)]  # there may be a title
    return next((mark for k in starts for mark in candidates if _fits(lines[k:], mark)), frequent[0])


def _sniffed(lines: list[str]) -> list[str]:
    text = "".join(lines)
    if len(text) > SNIFFED:
        return []
    try:
        return [csv.Sniffer().sniff(text, delimiters=SEPARATORS).delimiter]
    except csv.Error:
        return []


def _fits(lines: list[str], separator: str) -> bool:
    """Whether the separator gives every line as many cells as the header, and more than one."""
    # The last line may end inside a cell that has a line break in it.
    widths = {len(row) for row in list(_cells(lines, separator))[: max(2, LINES - 1)]}
    return len(widths) == 1 and widths != {1}
