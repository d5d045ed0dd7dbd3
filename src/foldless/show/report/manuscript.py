"""What a manuscript takes from a report: its figures as SVG and PDF, its tables as LaTeX and in a Word document."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from foldless import words
from foldless.errors import InputError
from foldless.files import refuse_unwritable, write_atomically
from foldless.show.report.page import Picture

INK, ACCENT, PAPER = "black", "#1f5fbf", "white"
KINDS = {"svg": "Date", "pdf": "CreationDate"}  # and what is left out: dates would make two equal files differ
DOCUMENT, CAPTIONS = "tables.docx", "captions.txt"
LONG, WIDE = 50, 85  # characters: of a cell that is broken into lines, of a table as wide as a page of text


def make_folders(figures: Any, tables: Any) -> None:
    """Make the folders where there are none, before the work begins; refuse what cannot be written."""
    if tables is not None and find_spec("docx") is None:
        raise InputError("tables for Word need docx (python-docx): pip install 'foldless[report]'.")
    for folder in (Path(each) for each in (figures, tables) if each is not None):
        if folder.is_file():
            raise InputError(f"{folder} is a file: name a folder.")
        refuse_unwritable(folder.resolve().parent / DOCUMENT)
        folder.mkdir(exist_ok=True)
        refuse_unwritable(folder / DOCUMENT)


def write_figures(folder: Path, pictures: dict[str, Picture], html: str) -> None:
    """Each figure twice, as SVG and as PDF, and the captions that the page has for them."""
    captions = (f"{name}\n{caption}\n" for name, caption in _read(html).legends.items())
    write_atomically(folder / CAPTIONS, "\n".join(captions).encode("utf-8"))
    for name, picture in pictures.items():
        for kind, date in KINDS.items():
            write_atomically(folder / f"{name}.{kind}", picture.file(kind, INK, ACCENT, PAPER, {date: None}))


def write_tables(folder: Path, html: str) -> None:
    """Each table of the page as LaTeX for \\input (booktabs, graphicx); all of them in one Word document."""
    from docx import Document

    document, content = Document(), io.BytesIO()
    for name, table in tables_of(html).items():
        caption = rf"\caption{{{table.caption.translate(words.LATEX)}}}"
        body = [r"\begin{table}", r"\centering", caption, _tabular(table.lines), r"\end{table}", ""]
        write_atomically(folder / f"{name}.tex", "\n".join(body).encode("utf-8"))
        document.add_paragraph(table.caption, style="Caption")
        grid = document.add_table(len(table.lines), len(table.lines[0]), style="Light List")
        for row, line in zip(grid.rows, table.lines, strict=True):
            for cell, text in zip(row.cells, line, strict=True):
                cell.text = text
        document.add_paragraph()
    document.save(content)
    write_atomically(folder / DOCUMENT, content.getvalue())


def _tabular(lines: list[list[str]]) -> str:
    """A table for LaTeX that fits a page: long cells in lines, and a wide table made smaller."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    kinds = "".join("l" if k == 0 else "r" if n <= LONG else r"p{0.5\linewidth}" for k, n in enumerate(widths))
    body = words.latex_table(lines, kinds)
    return body if sum(min(n, LONG) for n in widths) <= WIDE else f"\\resizebox{{\\linewidth}}{{!}}{{%\n{body}}}"


# ---- Tables and captions are read off the page, so that a manuscript cannot say anything else.


class Table(NamedTuple):
    """A caption, and lines of cells, the first one the head."""

    caption: str
    lines: list[list[str]]


def tables_of(html: str) -> dict[str, Table]:
    """The tables of a page, by the section that they are in; a second one of a section is numbered."""
    return _read(html).tables


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    return reader


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[str, Table] = {}
        self.legends: dict[str, str] = {}  # of figures
        self.section = self.figure = self.caption = ""
        self.text: list[str] = []
        self.lines: list[list[str]] = []
        self.hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.section = given.get("aria-labelledby") or self.section
        self.figure = given.get("data-name") or self.figure
        if tag in ("caption", "figcaption", "th", "td"):
            self.text, self.hidden = [], bool(given.keys() & {"aria-hidden", "data-aside"})  # bars; advice
        elif tag == "table":
            self.lines = []
        elif tag == "tr":
            self.lines.append([])
        elif tag == "tbody" and not self.lines:
            self.lines.append(["", ""])  # names and values have no head
        elif tag == "small":
            self.text.append(" (")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = " ".join("".join(self.text).split())
        if tag == "caption":
            self.caption = text
        elif tag == "figcaption":
            self.legends[self.figure] = text
        elif tag in ("th", "td") and not self.hidden:
            self.lines[-1].append(text)
        elif tag == "small":
            self.text.append(")")
        elif tag == "table":
            number = sum(name.partition("-")[0] == self.section for name in self.tables) + 1
            name = self.section if number == 1 else f"{self.section}-{number}"
            self.tables[name] = Table(self.caption, self.lines)
