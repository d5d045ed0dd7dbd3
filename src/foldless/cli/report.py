"""``foldless report FILE``: everything that can be said about a classifier and its table, as one page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import console, saved
from foldless.cli.auc import read, refuse_wrong_strength
from foldless.cli.options import Ask, data_options
from foldless.files import refuse_unwritable
from foldless.words import visible

SUFFIXES = (".html", ".htm")
EXAMPLES = """\b
Examples:
  foldless report patients.csv --target outcome -o report.html
  foldless report genes.tsv --target subtype --log --C 0.01 -o genes.html
  foldless report patients.parquet --target outcome --groups patient --json
"""


def as_page(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """A name that a browser will know what to do with."""
    if value is not None and value.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"{value}: expected a name that ends in .html.")
    return value


@click.command(epilog=EXAMPLES)
@data_options()
@saved.model_file_option
@click.option("-o", "--out", type=click.Path(path_type=Path), callback=as_page, help="The page (.html).")
@click.option("--title", help="Title of the page.")
@click.option("--no-search", is_flag=True, help="Leave out the search over the penalty, the slowest part.")
@click.pass_context
def report(
    ctx: click.Context,
    /,
    ask: Ask,
    model_file: Path | None,
    out: Path | None,
    title: str | None,
    no_search: bool,
) -> None:
    """Write a report on a classifier and its data: one HTML file that needs neither network nor JavaScript.

    With --json the same content is printed as JSON; then -o may be left out.
    """
    if out is None and not ask.as_json:
        raise click.UsageError("Missing option '-o': the page to write, such as report.html; or use --json.")
    refuse_wrong_strength(ctx, ask)
    if out is not None:
        refuse_unwritable(out)
    problem = read(ctx, ask, model_file)
    with console.gathered_warnings() as warned:
        model = problem.fitted()
    found = fl.report(
        model,
        problem.X,
        problem.y,
        out,
        groups=problem.groups,
        pos_label=problem.positive,
        level=ask.level,
        feature_names=problem.features,
        title=title,
        data_name=ask.file.name,
        command=_command(),
        notes=[f"The file was read as: {problem.read_as}.", *problem.notes, *warned],
        seed=ask.seed,
        search=not no_search,
        progress=_told,
    )
    _show(found, ask, out)


def _told(what: str) -> None:
    """One line that is written over on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{visible(what)} ...", err=True, nl=False)


def _command() -> str:
    """What was typed."""
    return shlex.join(["foldless", *sys.argv[1:]])


def _show(found: Any, ask: Ask, out: Path | None) -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    if ask.as_json:
        console.say_json({**found.summary(), "page": None if out is None else str(out)})
        return
    console.say(str(found.summary()["sentence"]), style="bold")
    if found.verdict is not None:
        console.say(f"Verdict: {found.verdict}.")
    console.say(str(out))
