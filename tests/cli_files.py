"""Files for the tests of the command line: one small table, written in many ways."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

from foldless.cli.app import app

N = 60
Y = np.arange(N) % 2
X = np.random.default_rng(7).normal(size=(N, 3)).round(6) + 0.9 * Y[:, None]
NAMES = ("a", "b", "c")


def run(*args: Any) -> Result:
    """The command in this process."""
    return CliRunner().invoke(app, [str(a) for a in args], prog_name="foldless")


def assert_one_line(result: Result, *expected: str) -> None:
    """The command refused, in one line with these words."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("foldless: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    for words in expected:
        assert words in result.stderr


def lines(labels: Any = Y, rows: Any = X, names: Any = NAMES, separator: str = ",", **more: Any) -> str:
    """The table as text; further columns by name come before the target."""
    extra = list(more.values())
    out = [separator.join([*names, *more, "y"])]
    for k, (row, label) in enumerate(zip(rows, labels, strict=True)):
        out.append(separator.join([*(repr(float(v)) for v in row), *(str(c[k]) for c in extra), str(label)]))
    return "\n".join(out) + "\n"


def with_cell(row: int, column: int, cell: str) -> str:
    """The table with one cell replaced."""
    rows = [line.split(",") for line in lines().splitlines()]
    rows[row][column] = cell
    return "\n".join(",".join(r) for r in rows) + "\n"


def gzipped(text: str | bytes) -> bytes:
    """Packed, and the same bytes each time."""
    return gzip.compress(text if isinstance(text, bytes) else text.encode(), mtime=0)


def files_in(folder: Path) -> list[str]:
    """Everything in a folder, hidden files included."""
    return sorted(p.name for p in folder.rglob("*"))
