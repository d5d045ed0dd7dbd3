"""The pages of `results/`, one module each: `python -m foldless_studies.evidence.compare > results/compare.md`.

A page is printed line by line, as soon as each line is known: some take an hour. Data sets are read from the folder
that FOLDLESS_DATA names; times are meant for OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping

from foldless_studies.pages import Table

ENVIRONMENT = "FOLDLESS_DATA=folder OPENBLAS_NUM_THREADS=1"


def begin(name: str, title: str, text: str, options: str = "") -> None:
    """Print the title, the command that makes the page, and what was measured."""
    command = f"{ENVIRONMENT} python -m foldless_studies.evidence.{name}{options} > results/{name}.md"
    print(f"# {title}\n\nCommand: `{command}`.\n\n{text}\n", flush=True)


def print_parts(name: str, title: str, text: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Print a page of several parts, or those that the command line names."""
    warnings.simplefilter("ignore")
    if len(sys.argv) == 1:
        begin(name, title, text)
    for part in sys.argv[1:] or parts:
        parts[part]()


def begin_table(header: str, left: int = 1) -> None:
    """Print the head of a table, given as 'a | b | c'; `print_row` adds the lines."""
    print(Table(header.split(" | "), [], left).markdown(), flush=True)


def print_row(*cells: object) -> None:
    """Print a line of a table, and where we are on stderr."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    print(*cells[:3], file=sys.stderr, flush=True)
