"""``foldless report FILE``: all results about a classifier and its table, as one page."""

from __future__ import annotations

import shlex
import sys
from itertools import count
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import console
from foldless.cli.models import method_option, model_file_option
from foldless.cli.options import FILE, CommandOptions, data_options, refuse_wrong_strength
from foldless.cli.outputs import Outputs, output_options
from foldless.cli.request import Request, read
from foldless.files import refuse_unwritable
from foldless.words import visible

SUFFIXES = (".html", ".htm")
EXAMPLES = """\b
Examples:
  foldless report patients.csv --target outcome
  foldless report genes.tsv --target subtype --log --C 0.01 -o genes.html
  foldless report patients.csv --target outcome -o report.html --scores scores.csv --save-model model.skops
  foldless report patients.csv --target outcome -o report.html --figures figures --tables tables
  foldless report patients.parquet --target outcome --groups patient --json
"""


PAGE = "The page (.html); by default a new one, FILE-report.html, in the current folder."
WRITTEN = {"page": "Report, to open in a browser", "saved_model": "Model"}  # others go by their names


def as_page(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """A name that a browser recognises."""
    if value is not None and value.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"{value}: expected a name that ends in .html.")
    return value


@click.command(epilog=EXAMPLES)
@data_options()
@model_file_option
@method_option
@click.option("-o", "--out", **FILE, callback=as_page, help=PAGE)
@click.option("--title", help="Title of the page.")
@click.option("--figures", **FILE, metavar="FOLDER", help="A folder for all figures, as SVG and as PDF.")
@click.option("--tables", **FILE, metavar="FOLDER", help="A folder for all tables, as LaTeX and as one Word document.")
@click.option("--no-search", is_flag=True, help="Leave out the search over the penalty, the slowest part.")
@output_options
@click.pass_context
def report(
    ctx: click.Context,
    /,
    options: CommandOptions,
    model_file: Path | None,
    method: str,
    out: Path | None,
    title: str | None,
    figures: Path | None,
    tables: Path | None,
    no_search: bool,
    scores: Path | None,
    save_model: Path | None,
) -> None:
    """Write a report on a classifier and its data: one HTML file.

    The page needs neither network nor JavaScript. With --json the same content is printed as JSON, and a page is
    written only with -o.
    """
    refuse_wrong_strength(ctx, options)
    if out is None and not options.as_json:
        out = free_name(options.file)
    if out is not None:
        refuse_unwritable(out)
    outputs, page_is_new = Outputs(scores, save_model), out is None or not out.exists()
    request = read(ctx, options, model_file)
    command = shlex.join(["foldless", *sys.argv[1:]])
    shown = {"title": title, "search": not no_search, "figures": figures, "tables": tables}
    page, analysis = made(request, method, command=command, path=out, progress=_progress, **shown)
    paths = {"page": out, "figures": figures, "tables": tables}
    written = {name: None if path is None else str(path) for name, path in paths.items()}
    _show(page, analysis, request, {**written, **outputs.write(request, analysis)}, page_is_new)


def free_name(file: Path) -> Path:
    """The page on a file where none was named: in the current folder, and never over what is there."""
    stem = Path(file.stem).stem if file.suffix == ".gz" else file.stem
    names = (Path(f"{stem}-report{'' if k == 1 else f'-{k}'}.html") for k in count(1))
    return next(name for name in names if not name.exists())


def made(request: Request, method: str = "auto", **how: Any) -> tuple[fl.Report, fl.Analysis]:
    """The report on a request and the analysis behind it; `how` has the further arguments of `foldless.report`."""
    (how.get("progress") or str)("fit, and each row judged without it")
    with console.gathered_warnings() as warned:
        model = request.fitted()
    prepared = [f"The table was prepared: {request.prepared}."] * bool(request.prepared)
    analysis = request.judged(model, method)
    if analysis.options.pos_label != request.positive:  # PLS regression
        prepared.append(f"The classes are numbers here: 1 is “{request.classes[1]}”, 0 is “{request.classes[0]}”.")
    numbering = request.numbering(analysis.findings)
    page = fl.report(
        analysis,
        level=request.options.level,
        feature_names=request.features,
        data_name=request.options.file.name,
        notes=[f"The file was read as: {request.read_as}.", *prepared, *request.notes, *warned, *numbering],
        seed=request.options.seed,
        **how,
    )
    return page, analysis


def _progress(what: str) -> None:
    """One line that is written over on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{visible(what)} ...", err=True, nl=False)


def reasons(page: Any, analysis: fl.Analysis, request: Request) -> list[str]:
    """What speaks against the AUC, how its rows are numbered, and what is wrong with predicted risks."""
    found = [finding for finding in analysis.findings if finding.level > 0]
    on_risks = page.summary()["calibration"].get("doubts", ())
    return [*(finding.text for finding in found), *request.numbering(found), *on_risks]


def _show(
    page: Any, analysis: fl.Analysis, request: Request, written: dict[str, str | None], page_is_new: bool
) -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    if request.options.as_json:
        console.say_json({**page.summary(), **written})
        return
    console.say(str(page.summary()["sentence"]) + request.positive_words, style="bold")
    if page.verdict is not None:
        console.say(f"Verdict: {page.verdict}.")
        console.say_notes(reasons(page, analysis, request))
    if request.prepared:
        console.say(f"Prepared: {request.prepared}.")
    for what, path in ((what, path) for what, path in written.items() if path is not None):
        over = "" if page_is_new or what != "page" else " (in place of the old one)"
        console.say(f"{WRITTEN.get(what, what.capitalize())}: {path}{over}")
