"""What commands print: sentences, tables, notes and JSON."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from foldless.errors import FoldlessWarning
from foldless.words import is_control, one_line, plain, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def stdout() -> Console:
    """A console on the present stdout; long lines are left to the terminal to wrap."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """Print a plain line; brackets in it are text, not markup."""
    stdout().print(visible(text), style=style or None, markup=False, emoji=False)


# The library speaks Python; what it says to do is said here in options of the commands.
OPTIONS = {
    "method='refit'": "--method refit",
    "say so (groups= in Python, --groups on the command line)": "say so (--groups)",
    "such as LogisticRegression or LinearDiscriminantAnalysis": "such as --model logistic or --model lda",
    "(threshold=...)": "(--decision-value)",
    "use finer groups, or none": "add subjects, or --drop the column that names them",
    **{f"{name} must ": f"--{name.replace('_', '-')} must " for name in ("half_width", "above", "factors", "auc")},
}


def in_options(text: str) -> str:
    """A message of the library in the words of the command line.

    >>> in_options("it has no closed form: use method='refit'.")
    'it has no closed form: use --method refit.'
    """
    for python, option in OPTIONS.items():
        text = text.replace(python, option)
    return text


VERDICTS = {"trust": "green", "caution": "yellow", "do not use": "red"}


def say_verdict(verdict: str) -> None:
    """The verdict, below the sentence that it is about; the notes at the end give the reasons."""
    reasons = "no check speaks against this AUC" if verdict == "trust" else "for the reasons at the end"
    say(f"Verdict: {verdict} ({reasons}).", style=f"bold {VERDICTS[verdict]}")


def say_notes(notes: Iterable[str]) -> None:
    """Each note on a line of its own."""
    from rich.markup import escape

    for note in notes:
        stdout().print(f"[bold yellow]note:[/] {escape(one_line(in_options(note)))}")


def say_ending(notes: list[str], *paths: str | None) -> None:
    """End an answer: its notes, and the paths of files that were written."""
    if notes:
        say("")
        say_notes(notes)
    for path in filter(None, paths):
        say(path)


def say_facts(facts: Mapping[str, str]) -> None:
    """Print names and values in two columns; a rich table would cut long values in a pipe."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        say(f"{name:<{width}}   {value}")


MIN_TABLE_WIDTH = 110


def say_table(columns: Iterable[str], rows: Iterable[Iterable[str]], bold: Iterable[int] = ()) -> None:
    """Print a table, the first column left-aligned and the others right-aligned; `bold` lists the rows to stress."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table: Table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, name in enumerate(columns):
        table.add_column(escape(visible(name)), justify="right" if k else "left", no_wrap=True)
    for k, row in enumerate(rows):
        table.add_row(*(escape(visible(cell)) for cell in row), style="bold" if k in bold else None)
    console = stdout()
    console.width = max(console.width, MIN_TABLE_WIDTH)  # figures are not cut to fit a narrow terminal or a pipe
    console.print(table)


def say_result(result: Mapping[str, Any], as_json: bool, show: Callable[[Any], None]) -> None:
    """Print the answer of a command: as JSON, or with `show`."""
    if as_json:
        say_json(result)
    else:
        show(result)


def say_json(answer: Mapping[str, Any]) -> None:
    """Print the answer as JSON and nothing else; control characters become JSON escapes."""
    text = json.dumps(plain(answer, text=str), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo("".join(json.dumps(c)[1:-1] if is_control(c) and c != "\n" else c for c in text))


@contextmanager
def gathered_warnings() -> Iterator[list[str]]:
    """Collect Python warnings as sentences, each once, instead of letting them print with file and line."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes.extend(dict.fromkeys(_sentence(w) for w in caught if _concerns_the_user(w)))


def _concerns_the_user(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, FoldlessWarning) or warning.category.__name__ == "ConvergenceWarning"


def _sentence(warning: warnings.WarningMessage) -> str:
    if warning.category.__name__ == "ConvergenceWarning":
        return "the fit did not converge: the classifier is not at its optimum; a smaller --C helps."
    return one_line(str(warning.message))


class Interrupted(Exception):
    """Ctrl-C was pressed; click's own handling would print an empty line first."""
