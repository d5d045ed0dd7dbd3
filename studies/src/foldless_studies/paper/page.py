"""A page as a list of blocks, rendered as Markdown or as one HTML file."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

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
    """Cells of text: the first column left, the others right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        rule = ["---"] + ["--:"] * (len(self.header) - 1)
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
