"""Runs the Python blocks of the Markdown pages and compares what they print with what the pages show.

    python docs/_tools/run_pages.py             all pages: say which outputs differ
    python docs/_tools/run_pages.py --write     put the real output into the pages
    python docs/_tools/run_pages.py PAGE ...    only these

The blocks of a page share their names, from top to bottom. The output of a block is the ``text`` block that follows it.
A line ``<!-- needs: PACKAGE -->`` above a block says that it is run only where that package is installed.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MADE = ("_build", "gallery", "results", "reference/generated")
BLOCK = re.compile(
    r"(?P<mark>^<!-- needs: (?P<needs>[\w, ]+) -->\n+)?^```python\n(?P<code>.*?)^```\n"
    r"(?P<output>\n?^```text\n(?P<shown>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One Python block of a page, the output shown under it, and the packages it needs beyond our own."""

    code: str
    shown: str
    needs: tuple[str, ...]
    line: int

    @property
    def missing(self) -> tuple[str, ...]:
        """The packages that are not installed here."""
        return tuple(name for name in self.needs if find_spec(name) is None)


def pages() -> list[Path]:
    """README.md and every page that is written by hand."""
    docs = ROOT / "docs"
    made = tuple(str(docs / folder) for folder in MADE)
    return [ROOT / "README.md", *(p for p in sorted(docs.rglob("*.md")) if not str(p).startswith(made))]


def blocks(text: str) -> list[Block]:
    """The Python blocks of a page, in order."""
    return [_block(match, text) for match in BLOCK.finditer(text)]


def _block(match: re.Match[str], text: str) -> Block:
    needs = tuple(name.strip() for name in (match["needs"] or "").split(",") if name.strip())
    return Block(match["code"], match["shown"] or "", needs, text[: match.start("code")].count("\n") + 1)


def outputs(text: str, name: str) -> Iterator[tuple[Block, str | None]]:
    """(block, what it prints) down the page; None for a block whose packages are missing."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(text):
        yield block, None if block.missing else _printed(block, names, name)


def _printed(block: Block, names: dict[str, Any], page: str) -> str:
    out = io.StringIO()
    code = "\n" * (block.line - 1) + block.code  # so that a traceback names the line of the page
    with contextlib.redirect_stdout(out):
        exec(compile(code, page, "exec"), names)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().lstrip("\n").splitlines())


def differences(path: Path) -> list[str]:
    """What a page shows wrongly, in words."""
    name = path.relative_to(ROOT).as_posix()
    return [
        f"{name}:{block.line} should show:\n{printed}"
        for block, printed in outputs(path.read_text(encoding="utf-8"), name)
        if printed is not None and printed != block.shown
    ]


def rewritten(text: str, name: str) -> str:
    """The page with the output that its blocks really print."""
    printed = [out for _, out in outputs(text, name)]

    def put(match: re.Match[str]) -> str:
        found = printed.pop(0)
        if found is None:
            return match[0]
        return f"{match['mark'] or ''}```python\n{match['code']}```\n" + (f"```text\n{found}```\n" if found else "")

    return BLOCK.sub(put, text)


def main(arguments: list[str]) -> int:
    """Check or rewrite pages."""
    chosen = [Path(a).resolve() for a in arguments if not a.startswith("--")] or pages()
    if "--write" in arguments:
        for path in chosen:
            text = path.read_text(encoding="utf-8")
            path.write_text(rewritten(text, path.name), encoding="utf-8")
        return 0
    wrong = [line for path in chosen for line in differences(path)]
    print("\n".join(wrong) or f"{len(chosen)} pages show what their code prints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
