"""How long are the functions and the files of src/? Prints the figures that CONTRIBUTING.md promises.

    python -m foldless_studies.tools.house

The length of a function is the number of lines of its body, without the docstring; blank lines and comments count.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from foldless_studies.tools import ROOT

SOURCE = ROOT / "src"
SHORT, LONG, LONGEST = 8, 30, 40
READABLE, LIMIT = 300, 400


@dataclass(frozen=True)
class Function:
    """One function or method: where it stands, and how many lines its body has."""

    file: str
    name: str
    line: int
    length: int

    def __str__(self) -> str:
        return f"{self.length:4d}  {self.file}:{self.line}  {self.name}"


def functions(source: Path = SOURCE) -> list[Function]:
    """All functions under a folder, nested ones and methods included, the longest first."""
    found = [f for path in sorted(source.rglob("*.py")) for f in functions_of(path, source)]
    return sorted(found, key=lambda f: (-f.length, f.file, f.line))


def functions_of(path: Path, source: Path) -> list[Function]:
    """The functions of one file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    file = path.relative_to(source).as_posix()
    return [Function(file, node.name, node.lineno, body_lines(node)) for node in nodes]


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last; 0 for a body that is a docstring alone."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def file_lengths(source: Path = SOURCE) -> list[tuple[int, str]]:
    """(lines, file) of every file, the longest first."""
    paths = sorted(source.rglob("*.py"))
    return sorted(((_lines(p), p.relative_to(source).as_posix()) for p in paths), key=lambda x: (-x[0], x[1]))


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def share_under(found: list[Function], limit: int = LONG) -> float:
    """Share of the functions with fewer body lines than `limit`."""
    return sum(f.length < limit for f in found) / len(found)


def main() -> None:
    """Print the figures."""
    found, files = functions(), file_lengths()
    print(f"{len(files)} files, {sum(n for n, _ in files)} lines, {len(found)} functions")
    print(f"median function: {median(f.length for f in found):g} body lines (at most {SHORT})")
    print(f"functions under {LONG} body lines: {share_under(found):.1%} (at least 90 %)")
    over = sum(f.length > LONGEST for f in found)
    print(f"functions above {LONGEST} body lines: {over}")
    print("\nthe longest functions")
    for function in found[:12]:
        print(function)
    for limit in (LIMIT, READABLE):
        print(f"\nfiles above {limit} lines")
        print("\n".join(f"{n:4d}  {name}" for n, name in files if n > limit) or "none")


if __name__ == "__main__":
    main()
