"""Options of the commands that hand out work: how many workers, and of which kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless_studies.workers import BACKENDS, Workers

OPTIONS = (
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


def worker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --jobs, --backend and --scheduler; the command gets them as `workers`."""

    @wraps(command)
    def called(*args: Any, jobs: int, backend: str, scheduler: str | None, **options: Any) -> Any:
        return command(*args, workers=Workers(jobs, backend, scheduler), **options)

    for option in reversed(OPTIONS):
        called = option(called)
    return called


def refuse_file(out: Path) -> None:
    """Find out before the work that the folder for the results is none."""
    if out.exists() and not out.is_dir():
        raise fl.InputError(f"{out} is not a folder: choose another name for --out.")
