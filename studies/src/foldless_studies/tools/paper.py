"""The paper: its figures taken from `results/`, its pages made into PDF.

    python -m foldless_studies.tools.paper            figures that are not those of results/; exit code 1 if any
    python -m foldless_studies.tools.paper --write    put those of results/ in their place
    python -m foldless_studies.tools.paper --pdf      paper/paper.pdf, paper/methods.pdf; needs pypandoc_binary, typst

A figure in paper/*.md is followed by where it stands, as a comment:
`0.87<!-- accuracy/development: real, loo: / CV5 -->` is the cell in the column "/ CV5" of the first row that has the
cells "real" and "loo", in results/accuracy/development.md; `page#word` begins at the first heading with that word.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import foldless as fl
from foldless.files import write_atomically

QUOTED = re.compile(r"(?P<shown>\d[\d.]*)<!-- (?P<page>[\w/#.-]+): (?P<cells>[^:]*): (?P<column>[^:]*?) -->")


def figure(results: Path, page: str, cells: str, column: str) -> float:
    """The number at a place of results/."""
    name, _, word = page.partition("#")
    text = (results / f"{name}.md").read_text(encoding="utf-8")
    wanted = {cell.strip() for cell in cells.split(", ")}
    for header, row in _rows(text[_heading(text, word) :]):
        if column in header and wanted <= set(row):
            return float(re.sub(r"[^\d.eE+-].*", "", row[header.index(column)]))
    raise fl.InputError(f"results/{name}.md has no row with {cells} and a column {column!r}.")


def _heading(text: str, word: str) -> int:
    found = re.search(rf"^#+ .*\b{re.escape(word)}\b.*$", text, re.MULTILINE) if word else None
    if word and found is None:
        raise fl.InputError(f"no heading has the word {word!r}.")
    return found.start() if found else 0


def _rows(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """The rows of all tables, each with the header of its table."""
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            header = []
        elif not header:
            header = cells
        elif not set("".join(cells)) <= set("-: "):
            yield header, cells


def filled(text: str, results: Path) -> str:
    """The text with the figures of results/, to the digits that it has."""

    def put(found: re.Match[str]) -> str:
        digits = len(found["shown"].partition(".")[2])
        value = figure(results, found["page"], found["cells"], found["column"])
        return f"{value:.{digits}f}{found[0][len(found['shown']) :]}"

    return QUOTED.sub(put, text)


def make_pdf(page: Path) -> Path:
    """The page as a PDF beside it."""
    import pypandoc  # type: ignore[import-not-found]
    import typst  # type: ignore[import-not-found]

    file = page.with_suffix(".pdf")
    draft = page.with_suffix(".typ")
    options = [
        "--standalone",
        "--citeproc",
        "--resource-path",
        str(page.parent),
        "-V",
        "papersize=a4",
        "-V",
        "fontsize=10pt",
    ]
    pypandoc.convert_file(str(page), "typst", outputfile=str(draft), extra_args=options)
    try:
        write_atomically(file, typst.compile(str(draft), root=str(page.parent.parent)))
    finally:
        draft.unlink()
    return file


def main(arguments: list[str] | None = None) -> int:
    """Compare, write, or make the PDFs."""
    parser = argparse.ArgumentParser(prog="python -m foldless_studies.tools.paper", description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--pdf", action="store_true")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout")
    chosen = parser.parse_args(arguments)
    old = []
    for page in sorted((chosen.root / "paper").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = filled(text, chosen.root / "results")
        if new != text:
            old.append(page.name)
            if chosen.write:
                write_atomically(page, new.encode())
        if chosen.pdf:
            print(make_pdf(page))
    for name in old:
        print(f"{name}: figures {'renewed' if chosen.write else 'other than in results/'}")
    return int(bool(old) and not chosen.write)


if __name__ == "__main__":
    sys.exit(main())
