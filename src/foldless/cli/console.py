"""What the commands print: sentences, tables, notes, JSON and one-line complaints."""

from __future__ import annotations

import json
import math
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import foldless as fl
from foldless._names import is_unseen, visible

MAX_NAMES = 5
MAX_LENGTH = 60


def one_line(text: str) -> str:
    """The text with every run of white space, line breaks included, as one space."""
    return visible(" ".join(text.split()))


def quoted(name: str) -> str:
    """A name as it has to be typed in a shell."""
    return name if name.replace("_", "").replace("-", "").isalnum() else shlex.quote(name)


def complain(message: str, code: int) -> int:
    """Print one line on stderr and hand back the exit code."""
    click.echo(f"foldless: {one_line(message)}", err=True)
    return code


def stdout() -> Console:
    """A console on the present stdout; long lines are left to the terminal to wrap."""
    return Console(highlight=False, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """Print a plain line; brackets in it are text, not markup."""
    stdout().print(escape(visible(text)), style=style or None)


def say_notes(notes: Iterable[str]) -> None:
    """Each note as a visible warning line."""
    for note in notes:
        stdout().print(f"[bold yellow]warning:[/] {escape(one_line(note))}")


def say_ending(notes: list[str], picture: str | None = None) -> None:
    """What every answer ends with: the reasons for doubt, and where the picture is."""
    if notes:
        say("")
        say_notes(notes)
    if picture is not None:
        say(picture)


def say_json(answer: Mapping[str, Any]) -> None:
    """The answer as JSON on stdout, and nothing else; characters that a terminal would obey as escapes of JSON."""
    text = json.dumps(plain(answer), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo("".join(_in_json(c) if is_unseen(c) and c != "\n" else c for c in text))


def _in_json(character: str) -> str:
    return json.dumps(character)[1:-1]


def plain(value: Any) -> Any:
    """Mappings, sequences and NumPy scalars as what JSON knows; NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def new_table(*columns: str, title: str | None = None) -> Table:
    """A light table: first column left, the others right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for k, name in enumerate(columns):
        table.add_column(escape(name), justify="left" if k == 0 else "right", no_wrap=True)
    return table


def add_row(table: Table, *cells: str) -> None:
    """A row of plain text; brackets and control characters in it are shown."""
    table.add_row(*(escape(visible(cell)) for cell in cells))


def say_facts(facts: Mapping[str, str]) -> None:
    """Two columns: what, and how much; not a rich table, which would cut long values in a pipe."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        say(f"{name:<{width}}   {value}")


def listed(items: Iterable[Any]) -> str:
    """The first few items, quoted, with a count of the rest."""
    found = [f"'{shortened(str(i))}'" for i in items]
    rest = len(found) - MAX_NAMES
    return ", ".join(found[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def both_ends(items: Iterable[Any]) -> str:
    """The first items and the last ones: what is looked for is often at the end."""
    found = [f"'{shortened(str(i))}'" for i in items]
    if len(found) <= 2 * MAX_NAMES:
        return ", ".join(found)
    return f"{', '.join(found[:MAX_NAMES])}, ... {', '.join(found[-2:])} ({len(found)} in all)"


def shortened(text: str) -> str:
    """A text that may be long, cut."""
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 3]}..."


def counted(rows: int) -> str:
    """'1 row', '2 rows'."""
    return plural(rows, "row")


def plural(number: int, noun: str) -> str:
    """'1 column', '2 columns'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def percent(level: float) -> str:
    """0.95 -> '95 %'."""
    return f"{100 * level:.10g} %"


def span(low: float | None, high: float | None) -> str:
    """An interval as text; a dash where there is none."""
    return "-" if low is None or high is None else f"{low:.3f} to {high:.3f}"


@contextmanager
def gathered_warnings() -> Iterator[list[str]]:
    """Collect Python warnings as sentences, each once, instead of letting them print with file and line."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes.extend(dict.fromkeys(_sentence(w) for w in caught if _concerns_the_user(w)))


def _concerns_the_user(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, fl.FoldlessWarning) or warning.category.__name__ == "ConvergenceWarning"


def _sentence(warning: warnings.WarningMessage) -> str:
    if warning.category.__name__ == "ConvergenceWarning":
        return "the fit did not converge: the classifier is not at its optimum; a smaller --C helps."
    return one_line(str(warning.message))
