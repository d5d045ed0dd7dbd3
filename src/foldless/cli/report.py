"""``foldless report FILE``: all results about a classifier and its table, as one page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import console
from foldless.cli.models import method_option, model_file_option
from foldless.cli.options import FILE, CommandOptions, data_options, refuse_wrong_strength
from foldless.cli.request import Request, read
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
    """A name that a browser recognises."""
    if value is not None and value.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"{value}: expected a name that ends in .html.")
    return value


@click.command(epilog=EXAMPLES)
@data_options()
@model_file_option
@method_option
@click.option("-o", "--out", **FILE, callback=as_page, help="The page (.html).")
@click.option("--title", help="Title of the page.")
@click.option("--no-search", is_flag=True, help="Leave out the search over the penalty, the slowest part.")
@click.pass_context
def report(
    ctx: click.Context,
    /,
    options: CommandOptions,
    model_file: Path | None,
    method: str,
    out: Path | None,
    title: str | None,
    no_search: bool,
) -> None:
    """Write a report on a classifier and its data: one HTML file.

    The page needs neither network nor JavaScript. With --json the same content is printed as JSON; then -o may be left
    out.
    """
    if out is None and not options.as_json:
        raise click.UsageError("Missing option '-o': the page to write, such as report.html; or use --json.")
    refuse_wrong_strength(ctx, options)
    if out is not None:
        refuse_unwritable(out)
    request = read(ctx, options, model_file)
    with console.gathered_warnings() as warned:
        model = request.fitted()
    prepared = [f"The table was prepared: {request.prepared}."] * bool(request.prepared)
    page = fl.report(
        request.judged(model, method),
        path=out,
        level=options.level,
        feature_names=request.features,
        title=title,
        data_name=options.file.name,
        command=shlex.join(["foldless", *sys.argv[1:]]),
        notes=[f"The file was read as: {request.read_as}.", *prepared, *request.notes, *warned],
        seed=options.seed,
        search=not no_search,
        progress=_progress,
    )
    _show(page, request, out)


def _progress(what: str) -> None:
    """One line that is written over on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{visible(what)} ...", err=True, nl=False)


def _show(page: Any, request: Request, out: Path | None) -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    if request.options.as_json:
        console.say_json({**page.summary(), "page": None if out is None else str(out)})
        return
    console.say(str(page.summary()["sentence"]) + request.positive_words, style="bold")
    if page.verdict is not None:
        console.say(f"Verdict: {page.verdict}.")
    if request.prepared:
        console.say(f"Prepared: {request.prepared}.")
    console.say(str(out))
