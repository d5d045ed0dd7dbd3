"""``foldless benchmark accuracy``: how far off are the estimates, ours and others?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from foldless.cli import console
from foldless.cli.console import Reporter, resumable
from foldless.cli.options import comma_separated, finite, json_option
from foldless_studies.accuracy import run
from foldless_studies.classifiers import CLASSIFIERS
from foldless_studies.cli.workers import refuse_file, worker_options
from foldless_studies.markdown import text
from foldless_studies.methods import DEFAULT, METHODS
from foldless_studies.settings import Settings
from foldless_studies.workers import Workers

EXAMPLES = """\b
Examples:
  foldless benchmark accuracy --quick
  foldless benchmark accuracy --data datasets/ --no-simulations --sizes 40,80 --C 0.01,1,100 --jobs 4
  foldless benchmark accuracy --replicates 1000 --methods loo,cv5 --jobs 4 --out results/ --resume
"""
QUICK: dict[str, Any] = {"replicates": 5, "splits": 2, "sizes": (40,), "methods": ("loo", "in-sample", "cv5", "cv5x5")}
COLUMNS = {
    "mae": "MAE",
    "ratio_cv5": "/ CV5",
    "bias": "bias",
    "coverage90": "cover 90",
    "adjusted90": "adjusted",
    "false_alarms": "false alarms",
    "seconds": "seconds",
}


@click.command(epilog=EXAMPLES)
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Folder of .npz files with X and y.")
@click.option("--simulations/--no-simulations", default=True, show_default=True, help="Include the simulated cells.")
@click.option("--replicates", type=click.IntRange(1), help="Samples of each simulated cell.  [default: 100]")
@click.option("--splits", type=click.IntRange(1), help="Random splits of each data set.  [default: 8]")
@click.option("--sizes", metavar="30,40", callback=comma_separated(int), help="Training rows.  [default: 30,40,80,120]")
@click.option("--C", "Cs", metavar="0.01,1", callback=comma_separated(finite), help="Inverse penalties.  [default: 1]")
@click.option("--classifier", type=click.Choice(list(CLASSIFIERS)), default="logistic", show_default=True)
@click.option(
    "--methods",
    metavar="loo,cv5",
    callback=comma_separated(str),
    help=f"Of {', '.join(METHODS)}.  [default: {','.join(DEFAULT)}]",
)
@click.option(
    "--rotate/--no-rotate", default=True, show_default=True, help="Turn wide tables into the space of their rows."
)
@worker_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("foldless-accuracy"), show_default=True)
@click.option("--resume", is_flag=True, help="Finish the run that is in the --out folder.")
@click.option("--quick", is_flag=True, help="A small run, to see that it works.")
@json_option
def accuracy(
    data: Path | None, workers: Workers, out: Path, resume: bool, quick: bool, as_json: bool, **options: Any
) -> None:
    """Compare estimates of the AUC with the truth, on simulations and on data sets.

    Each data set is split at random into training rows and rows that tell the truth, with its own labels and with
    shuffled ones. Every finished sample is kept in the --out folder at once, so a run can be stopped and resumed. At
    the end the folder holds results.csv, summary.json, summary.md and accuracy.png.
    """
    settings = chosen(None if data is None else str(data), quick, options)
    refuse_file(out)
    with resumable(out), workers.ready() as team:
        summary = run(settings, out, team=team, resume=resume, progress=Reporter())
    if as_json:
        console.say_json({**summary, "out": str(out)})
    else:
        show(summary, out)


def chosen(data: str | None, quick: bool, options: dict[str, Any]) -> Settings:
    """Settings from the options that were given; --quick changes the defaults of the others."""
    given = {name: value for name, value in options.items() if value is not None}
    return Settings(data=data, quick=quick, **{**(QUICK if quick else {}), **given})


def show(summary: dict[str, Any], out: Path) -> None:
    """The widest pools as tables; everything else is in the files."""
    for kind in ("data", "simulation"):
        rows = [row for row in summary["table"] if row["scope"] == "all" and row["kind"] == kind]
        if rows:
            console.say(kind, style="bold")
            _say_table(rows)
    for line in summary["skipped"]:
        console.say(f"left out: {line}")
    console.say(str(out))


def _say_table(rows: list[dict[str, Any]]) -> None:
    # Not a rich table, which would cut the numbers on a narrow terminal.
    lines = [["labels", "method", *COLUMNS.values()]]
    lines += [[row["labels"], row["method"], *(text(row[name]) for name in COLUMNS)] for row in rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for line in lines:
        console.say("  ".join([*map(str.ljust, line[:2], widths), *map(str.rjust, line[2:], widths[2:])]))
    console.say("")
