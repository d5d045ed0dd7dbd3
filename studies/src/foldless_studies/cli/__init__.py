"""The commands that the studies add to ``foldless``, and the options and the line of progress that they share.

`foldless --help` imports these modules: whatever needs scipy, scikit-learn, joblib or matplotlib is imported inside the
functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import Any

import click

import foldless as fl
from foldless.cli import console
from foldless_studies.choices import BACKENDS

WORKERS = (
    click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Workers at a time."),
    click.option(
        "--backend",
        type=click.Choice(BACKENDS),
        default=BACKENDS[0],
        show_default=True,
        help="Processes (loky), threads, or a Dask cluster: one of --jobs processes here, unless --scheduler is given.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a Dask cluster that is running, such as tcp://host:8786; its size decides, not --jobs.",
    ),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, and nothing else.")
data_option = click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="Folder of .npz files with X and y."
)


def worker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --jobs, --backend and --scheduler; the command gets them as `workers`."""

    @wraps(command)
    def called(*args: Any, jobs: int, backend: str, scheduler: str | None, **options: Any) -> Any:
        from foldless_studies.runs import Workers

        return command(*args, workers=Workers(jobs, backend, scheduler), **options)

    for option in reversed(WORKERS):
        called = option(called)
    return called


def out_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --out and --resume."""

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option("--resume", is_flag=True, help="Finish the run that is in the --out folder.")(command)
        out = click.option("--out", type=click.Path(path_type=Path), default=Path(default), show_default=True)
        return out(command)

    return added


def comma_separated(kind: type) -> Callable[..., Any]:
    """Callback of an option that takes values separated by commas; numbers must be finite."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
        from foldless.cli import options

        return options.comma_separated(options.finite if kind is float else kind)(ctx, param, value)

    return convert


def refuse_file(out: Path) -> None:
    """An error, before the work, where --out is a file and not a folder."""
    if out.exists() and not out.is_dir():
        raise fl.InputError(f"{out} is not a folder: choose another name for --out.")


def say_table(lines: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table, the first `left` columns left and the others right.

    Not a rich table, which would cut the numbers on a narrow terminal.
    """
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for line in lines:
        before = map(str.ljust, line[:left], widths)
        console.say("  ".join([*before, *map(str.rjust, line[left:], widths[left:])]))


# On a terminal the line of progress is renewed this often (seconds); in a log file a line is kept, so more rarely.
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
    """A time in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """A run whose finished pieces stay in a folder: say so when it is interrupted."""
    try:
        yield
    except KeyboardInterrupt as err:
        way_on = f"what is finished is kept in {out}: run the same command with --resume to go on."
        raise console.Interrupted(f"interrupted; {way_on}") from err
