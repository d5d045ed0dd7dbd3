"""Files for people: a page as a list of blocks, rendered as Markdown or HTML, and CSV that a spreadsheet may open."""

from __future__ import annotations

import csv
import html
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from foldless.words import visible

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #1c2126; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { margin-top: 2.6rem; font-size: 1.25rem; }
img { max-width: 100%; height: auto; } code { background: #f2f4f6; padding: 0 .25em; font-size: .92em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #e3e6e9; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { border-bottom-color: #8a9099; vertical-align: bottom; white-space: normal; }
""".strip()


@dataclass(frozen=True)
class Heading:
    """A section."""

    text: str

    def markdown(self) -> str:
        return f"## {self.text}"

    def html(self) -> str:
        return f"<h2>{_inline(self.text)}</h2>"


@dataclass(frozen=True)
class Text:
    """A paragraph; `code`, **bold** and [links](address) as in Markdown."""

    text: str

    def markdown(self) -> str:
        return self.text

    def html(self) -> str:
        return f"<p>{_inline(self.text)}</p>"


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    points: Sequence[str]

    def markdown(self) -> str:
        return "\n".join(f"- {point}" for point in self.points)

    def html(self) -> str:
        return f"<ul>{''.join(f'<li>{_inline(point)}</li>' for point in self.points)}</ul>"


@dataclass(frozen=True)
class Table:
    """Cells of text: the first column (or the first `left` columns) left, the others right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def markdown(self) -> str:
        rule = ["---"] * self.left + ["--:"] * (len(self.header) - self.left)
        return "\n".join(f"| {' | '.join(line)} |" for line in (self.header, rule, *self.rows))

    def html(self) -> str:
        head = "".join(f"<th>{_inline(cell)}</th>" for cell in self.header)
        body = "".join(f"<tr>{''.join(f'<td>{_inline(c)}</td>' for c in row)}</tr>" for row in self.rows)
        return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


@dataclass(frozen=True)
class Image:
    """A picture next to the page."""

    source: str
    text: str

    def markdown(self) -> str:
        return f"![{self.text}]({self.source})"

    def html(self) -> str:
        return f'<p><img src="{html.escape(self.source)}" alt="{html.escape(self.text)}"></p>'


Block = Heading | Text | Points | Table | Image


@dataclass(frozen=True)
class Page:
    """A title and its blocks."""

    title: str
    blocks: Sequence[Block]

    def markdown(self) -> str:
        return "\n\n".join([f"# {self.title}", *(block.markdown() for block in self.blocks)]) + "\n"

    def html(self) -> str:
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        body = "\n".join([f"<h1>{_inline(self.title)}</h1>", *(block.html() for block in self.blocks)])
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head>{head}<title>{html.escape(self.title)}</title>\n'
            f"<style>\n{STYLE}\n</style></head>\n<body>\n{body}\n</body></html>\n"
        )


def _inline(text: str) -> str:
    safe = html.escape(text, quote=False)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', safe)


def number(value: float | None, digits: int = 3) -> str:
    """A table cell; a dash for nothing."""
    return "-" if value is None else f"{value:.{digits}f}"


def cell_text(value: Any) -> str:
    """A table cell: three decimals, a dash for nothing."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if value == round(value, 2) else f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.4f}"


def escaped(cell: str) -> str:
    """A cell whose content, which may be the name of a data set, is text and no markup."""
    return re.sub(r"([|\\`\[\]])", r"\\\1", html.escape(visible(" ".join(cell.split())), quote=False))


# ---- CSV in which names from data are never formulas.

# What makes Excel and LibreOffice compute a cell; they skip white space before it.
ACTIVE = ("=", "+", "-", "@")


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; numbers as they are, text that would be a formula behind an apostrophe.

    >>> csv_text([["name", "bias"], ["=1+1", -0.5]])
    "name,bias\\n'=1+1,-0.5\\n"
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([inert(cell) for cell in row] for row in rows)
    return text.getvalue()


def inert(cell: Any) -> Any:
    """The cell, or, where it is text that a spreadsheet would compute, the same with an apostrophe before it.

    Text stays on its line: a bare carriage return would begin a new one, with a new first cell. Control characters are
    written out, for those who print the file on a terminal.
    """
    if not isinstance(cell, str):
        return cell
    line = "\t".join(visible(part) for part in re.sub(r"[\r\n]+", " ", cell).split("\t"))
    # Spreadsheets also take the wide forms of East Asian keyboards, which this normalisation narrows.
    first = unicodedata.normalize("NFKC", line.lstrip()[:1])
    return f"'{line}" if first in ACTIVE or line.startswith("\t") else line
