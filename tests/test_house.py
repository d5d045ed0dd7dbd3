"""The house rules: short functions, files that are read in one sitting, and an ARCHITECTURE.md that is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from statistics import median

import pytest

from foldless_studies.tools import house

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "foldless"
# Functions that may be longer than 40 body lines: "file:name" and the reason.
EXCUSED: dict[str, str] = {}

FUNCTIONS = house.functions()


def test_the_median_function_has_at_most_eight_body_lines():
    """Half of the functions are read at a glance."""
    assert median(f.length for f in FUNCTIONS) <= house.SHORT


def test_nine_in_ten_functions_stay_below_thirty_body_lines():
    """Long functions are the exception."""
    long = [str(f) for f in FUNCTIONS if f.length >= house.LONG]
    assert house.share_under(FUNCTIONS) >= 0.9, "\n".join(long)


def test_no_function_is_above_forty_body_lines_without_a_reason():
    """Every function above the limit is named here with its reason, and every excuse is still needed."""
    above = {f"{f.file}:{f.name}" for f in FUNCTIONS if f.length > house.LONGEST}
    assert above == set(EXCUSED)
    assert all(len(reason.split()) > 3 for reason in EXCUSED.values())


def test_no_file_is_above_four_hundred_lines():
    """A file is one idea and is read in one sitting."""
    assert [name for lines, name in house.file_lengths() if lines > house.LIMIT] == []


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("def f():\n    return 1\n", 1),
        ('def f():\n    """Text."""\n', 0),
        ('def f():\n    """Text.\n\n    More.\n    """\n    a = 1\n\n    # why\n    return a\n', 4),
        ("async def f():\n    x = (\n        1,\n    )\n    return x\n", 4),
    ],
)
def test_the_ruler_counts_body_lines_without_the_docstring(code, lines):
    """The measure itself: docstrings do not count; blank lines, comments and continued lines do."""
    assert house.body_lines(ast.parse(code).body[0]) == lines


def test_the_script_prints_the_figures(capsys):
    """`python -m foldless_studies.tools.house` shows median, share and the longest functions."""
    house.main()
    printed = capsys.readouterr().out
    assert "median function: " in printed
    assert str(FUNCTIONS[0]) in printed


def rows_of_the_page() -> list[list[str]]:
    """The modules of every row of the table in ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| \d+ \| (.*?) \|", text, re.MULTILINE)
    return [re.findall(r"`(\w+)/?`", cell) for cell in cells]


def modules_of_the_tree() -> set[str]:
    """Modules and packages directly below src/foldless."""
    found = {p.stem for p in PACKAGE.glob("*.py")} | {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    return found - {"__init__"}


def test_architecture_lists_the_modules_of_the_tree():
    """Every module stands in exactly one row of ARCHITECTURE.md, and nothing else does."""
    names = [name for row in rows_of_the_page() for name in row]
    assert len(names) == len(set(names)), "a module stands in two rows"
    assert set(names) == modules_of_the_tree()


def test_architecture_has_the_rows_that_the_import_test_enforces():
    """The table that people read and the rows that tests/test_layers.py checks are the same."""
    tree = ast.parse((ROOT / "tests" / "test_layers.py").read_text(encoding="utf-8"))
    rows = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "ROWS"
    )
    assert [set(row) for row in rows_of_the_page()] == [set(row) for row in rows]
