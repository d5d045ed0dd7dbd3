"""``foldless reproduce``: the tables and figures of the paper, and what they look like done the usual way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import foldless as fl
from foldless.cli import console
from foldless_studies.choices import PAPER_CLASSIFIERS, PAPER_ITEMS
from foldless_studies.cli import (
    Reporter,
    comma_separated,
    json_option,
    out_options,
    refuse_file,
    resumable,
    say_table,
    worker_options,
)

if TYPE_CHECKING:
    from foldless_studies.paper.run import PaperSettings
    from foldless_studies.runs import Workers

EXAMPLES = """\b
Examples:
  foldless reproduce all --quick --out out/
  foldless reproduce fig1 --P 10 --jobs 2
  foldless reproduce fig5 --iterations 200 --out results/ --resume
  foldless reproduce all --backend dask --scheduler tcp://host:8786 --out results/
"""
ALL = "all"
SHOWN = {"mae": "MAE", "sd": "SD", "bias": "bias", "coverage90": "cover 90", "missing": "missing"}


@click.command(epilog=EXAMPLES)
@click.argument("item", type=click.Choice([ALL, *PAPER_ITEMS]))
@click.option("--iterations", type=click.IntRange(1), help="Per point.  [default: 1000, as in the paper]")
@click.option("--P", "columns", metavar="4,10", callback=comma_separated(int), help="Only these numbers of columns.")
@click.option("--classifier", type=click.Choice(PAPER_CLASSIFIERS), default=PAPER_CLASSIFIERS[0], show_default=True)
@worker_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@out_options("foldless-paper")
@click.option("--quick", is_flag=True, help="A few points and iterations, to see that it works.")
@json_option
def reproduce(item: str, workers: Workers, out: Path, resume: bool, as_json: bool, **options: Any) -> None:
    """Run an experiment of the paper again: table1, fig1 .. fig6, fig7 (non-Gaussian data), shuffled, or all.

    The paper's estimators, the same as usually computed, and foldless, on identical data. Every finished trial is kept
    in --out/runs at once, so a run can be stopped and resumed. For each item the folder gets a summary (.json), a
    picture (.png, .svg) and a page (.md); index.html and index.md show all of them beside the published numbers.
    The ovarian cancer data of fig5 and shuffled are read from the folder named by FOLDLESS_DATA, or downloaded.
    """
    from foldless_studies.paper.items import ITEMS
    from foldless_studies.paper.run import publish, run

    refuse_file(out)
    left_out: dict[str, str] = {}
    names = _available(left_out) if item == ALL else [item]
    chosen = [_settings(name, options, alone=item != ALL) for name in names]
    summaries = []
    with resumable(out), workers.ready() as team:
        for settings in chosen:
            click.echo(f"{settings.item}: {ITEMS[settings.item].title}", err=True)
            summaries.append(run(settings, out, team=team, resume=resume, progress=Reporter()))
    pages = publish(out, left_out)
    if as_json:
        console.say_json({"items": summaries, "left_out": left_out, "out": str(out)})
    else:
        show(summaries, left_out, pages)


def _available(left_out: dict[str, str]) -> list[str]:
    """All items whose data are here; the others are named, with the reason."""
    from foldless_studies.paper.items import ITEMS

    names = []
    for name, item in ITEMS.items():
        try:
            if item.needs is not None:
                item.needs()
            names.append(name)
        except fl.InputError as err:
            left_out[name] = str(err)
            click.echo(f"{name} is left out: {err}", err=True)
    return names


def _settings(name: str, options: dict[str, Any], *, alone: bool) -> PaperSettings:
    """Settings of an item; --P limits, among all of them, those that have the choice."""
    from foldless_studies.paper.items import ITEMS
    from foldless_studies.paper.run import PaperSettings

    columns = options["columns"]
    if not alone and columns is not None:
        columns = tuple(P for P in columns if P in ITEMS[name].columns) or None
    return PaperSettings(name, **{**options, "columns": columns})


def show(summaries: list[dict[str, Any]], left_out: dict[str, str], pages: list[Path]) -> None:
    """The widest averages; everything else is in the files."""
    lines = [["item", "estimator", *SHOWN.values()]]
    for summary in summaries:
        for name in summary["missing"]:
            rows = [row for row in summary["table"] if row["estimator"] == name]
            lines.append([summary["item"], name, *(_pooled(rows, key) for key in SHOWN)])
    if len(lines) > 1:
        say_table(lines, left=2)
    for name, why in left_out.items():
        console.say(f"left out: {name}: {why}")
    console.say(str(pages[-1]))


def _pooled(rows: list[dict[str, Any]], key: str) -> str:
    from foldless_studies.pages import cell_text

    values = [row[key] for row in rows if row[key] is not None]
    if key == "missing":
        return str(sum(values))
    return cell_text(float(sum(values) / len(values))) if values else "-"
