"""What commands print and write: sentences, tables, JSON, progress, pictures."""

from __future__ import annotations

import io
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import foldless as fl
from foldless.cli import picture
from foldless.files import write_atomically
from foldless.words import is_unseen, one_line, visible

# ---- What the commands print: sentences, tables, notes, JSON and one-line complaints.


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


def counted(rows: int) -> str:
    """'1 row', '2 rows'."""
    return plural(rows, "row")


def plural(number: int, noun: str) -> str:
    """'1 column', '2 columns'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


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


# ---- How far a long command has come: a line on stderr.

# On a terminal the line is renewed this often (seconds); in a log file a line is kept, so more rarely.
TERMINAL, LOG = 0.5, 30.0


class Reporter:
    """Progress on stderr: one line that is renewed, or now and then a line in a log."""

    def __init__(self, what: str = "samples") -> None:
        self.what = what
        self.live = sys.stderr.isatty()
        self.last = monotonic()

    def __call__(self, done: int, total: int, remaining: float | None) -> None:
        now = monotonic()
        if done < total and now - self.last < (TERMINAL if self.live else LOG):
            return
        self.last = now
        left = "" if remaining is None else f", {duration(remaining)} to go"
        end = "\n" if done == total or not self.live else ""
        click.echo(f"{chr(13) if self.live else ''}{done} of {total} {self.what}{left}   {end}", err=True, nl=False)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# ---- Pictures that a command writes with --out: checked before the work, written whole or not at all.


def checked(out: Path | None) -> Path | None:
    """The path, if a picture can be drawn and written there; None if none was asked for."""
    return None if out is None else picture.writable_path(out)


def write(path: Path, draw: Callable[[Any], object], width: float = 6.0, height: float = 4.0) -> None:
    """Let `draw` put something on a new figure, and write it."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, outside pyplot: no window system, no state left behind.
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    draw(figure)
    kind = path.suffix[1:].lower()
    content = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": picture.STYLE["svg.hashsalt"]}):  # else the names in an SVG are drawn by lot
        figure.savefig(content, format=kind, dpi=150, metadata=picture.METADATA.get(kind))
    write_atomically(path, content.getvalue())


# ---- Ctrl-C, and what is left of the work.


class Interrupted(Exception):
    """Ctrl-C. click would print an empty line of its own before handing it on."""


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """A run whose finished pieces stay in a folder: say so when it is interrupted."""
    try:
        yield
    except KeyboardInterrupt as err:
        way_on = f"what is finished is kept in {out}: run the same command with --resume to go on."
        raise Interrupted(f"interrupted; {way_on}") from err
