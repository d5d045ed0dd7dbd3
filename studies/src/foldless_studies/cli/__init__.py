"""The commands that the studies add to ``foldless``, and the options they share.

`foldless --help` imports these modules: whatever needs scipy, scikit-learn, joblib or matplotlib is imported inside the
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
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
