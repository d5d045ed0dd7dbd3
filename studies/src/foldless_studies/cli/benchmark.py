"""``foldless benchmark``: how far off are the estimates, ours and others, and what do they cost?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foldless.cli import console
from foldless_studies.choices import CLASSIFIERS, DEFAULT_METHODS, METHODS
from foldless_studies.cli import (
    Reporter,
    comma_separated,
    data_option,
    json_option,
    out_options,
    refuse_file,
    resumable,
    say_table,
    worker_options,
)

if TYPE_CHECKING:
    from foldless_studies.accuracy.run import AccuracySettings
    from foldless_studies.runs import Workers

EXAMPLES = """\b
Examples:
  foldless benchmark accuracy --quick
  foldless benchmark accuracy --data datasets/ --no-simulations --sizes 40,80 --C 0.01,1,100 --jobs 4
  foldless benchmark speed --quick
  foldless benchmark truth --situations 100
"""


@click.group(epilog=EXAMPLES)
def benchmark() -> None:
    """Measure foldless against other methods."""


# ---- foldless benchmark accuracy

ACCURACY_EXAMPLES = """\b
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


@benchmark.command(epilog=ACCURACY_EXAMPLES)
@data_option
@click.option("--simulations/--no-simulations", default=True, show_default=True, help="Include the simulated cells.")
@click.option("--replicates", type=click.IntRange(1), help="Samples of each simulated cell.  [default: 100]")
@click.option("--splits", type=click.IntRange(1), help="Random splits of each data set.  [default: 8]")
@click.option("--sizes", metavar="30,40", callback=comma_separated(int), help="Training rows.  [default: 30,40,80,120]")
@click.option("--C", "Cs", metavar="0.01,1", callback=comma_separated(float), help="Inverse penalties.  [default: 1]")
@click.option("--classifier", type=click.Choice(CLASSIFIERS), default="logistic", show_default=True)
@click.option(
    "--methods",
    metavar="loo,cv5",
    callback=comma_separated(str),
    help=f"Of {', '.join(METHODS)}.  [default: {','.join(DEFAULT_METHODS)}]",
)
@click.option(
    "--rotate/--no-rotate", default=True, show_default=True, help="Turn wide tables into the space of their rows."
)
@worker_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@out_options("foldless-accuracy")
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
    from foldless_studies.accuracy.run import run

    settings = chosen(None if data is None else str(data), quick, options)
    refuse_file(out)
    with resumable(out), workers.ready() as team:
        summary = run(settings, out, team=team, resume=resume, progress=Reporter())
    if as_json:
        console.say_json({**summary, "out": str(out)})
    else:
        _show_accuracy(summary, out)


def chosen(data: str | None, quick: bool, options: dict[str, Any]) -> AccuracySettings:
    """Settings from the options that were given; --quick changes the defaults of the others."""
    from foldless_studies.accuracy.run import AccuracySettings

    given = {name: value for name, value in options.items() if value is not None}
    return AccuracySettings(data=data, quick=quick, **{**(QUICK if quick else {}), **given})


def _show_accuracy(summary: dict[str, Any], out: Path) -> None:
    """The widest pools as tables; everything else is in the files."""
    for kind in ("data", "simulation"):
        rows = [row for row in summary["table"] if row["scope"] == "all" and row["kind"] == kind]
        if rows:
            console.say(kind, style="bold")
            say_table(_accuracy_lines(rows), left=2)
            console.say("")
    for line in summary["skipped"]:
        console.say(f"left out: {line}")
    console.say(str(out))


def _accuracy_lines(rows: list[dict[str, Any]]) -> list[list[str]]:
    from foldless_studies.pages import cell_text

    lines = [[row["labels"], row["method"], *(cell_text(row[name]) for name in COLUMNS)] for row in rows]
    return [["labels", "method", *COLUMNS.values()], *lines]


# ---- foldless benchmark truth

TRUTH_EXAMPLES = """\b
Examples:
  foldless benchmark truth --situations 100
  foldless benchmark truth --situations 20000 --jobs 4 --out results/truth --resume
"""


@benchmark.command(epilog=TRUTH_EXAMPLES)
@click.option("--situations", type=click.IntRange(10), default=2_000, show_default=True, help="How many to draw.")
@worker_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@out_options("foldless-truth")
@json_option
def truth(situations: int, workers: Workers, seed: int, out: Path, resume: bool, as_json: bool) -> None:
    """Draw situations whose truth is known, and find where the answers miss it.

    A situation is a table of some kind, a pipeline and a question. Half of them are drawn where the answers looked
    worst so far; sequential tests decide. The report, summary.md, ranks the worst regions, each with an example.
    """
    from foldless_studies.truth.run import TruthSettings, page, run

    settings = TruthSettings(situations, seed)
    refuse_file(out)
    with resumable(out), workers.ready() as team:
        summary = run(settings, out, team=team, resume=resume, progress=Reporter("situations"))
    if as_json:
        console.say_json({**summary, "out": str(out)})
    else:
        console.say(page(summary).markdown())
        console.say(str(out / "summary.md"))


# ---- foldless benchmark speed

SPEED_EXAMPLES = """\b
Examples:
  foldless benchmark speed --quick
  foldless benchmark speed --data datasets/ --out results/speed
  foldless benchmark speed --data datasets/ --sets wdbc,sonar --out results/speed --resume
"""


@benchmark.command(epilog=SPEED_EXAMPLES)
@data_option
@click.option(
    "--sets",
    metavar="wdbc,sonar",
    callback=comma_separated(str),
    help="Names of files there.  [default: the first five with more columns than rows, the first five without]",
)
@out_options("foldless-speed")
@click.option("--quick", is_flag=True, help="Small sizes, to see that it works.")
@json_option
def speed(data: Path | None, sets: tuple[str, ...] | None, out: Path, resume: bool, quick: bool, as_json: bool) -> None:
    """Measure time and memory against a pass over X, against X @ W, cross-validation, the bootstrap and others.

    All figures are ratios: calls are timed in turns with one thread of linear algebra, so that a busy machine meets
    all of them alike. It takes about five minutes and 1.5 GB of memory. Every finished measurement is kept in
    --out/runs at once, so a run can be stopped and resumed. At the end --out holds speed.md and speed.json.
    """
    from foldless_studies.speed.run import SpeedSettings, run

    settings = SpeedSettings(None if data is None else str(data), sets, quick)
    refuse_file(out)
    with resumable(out):
        summary = run(settings, out, resume=resume, progress=Reporter("measurements"))
    if as_json:
        console.say_json({**summary, "out": str(out)})
    else:
        _show_speed(summary, out)


def _show_speed(summary: dict[str, Any], out: Path) -> None:
    """The tables; what their columns mean is in the file."""
    from foldless_studies.pages import Heading, Table
    from foldless_studies.speed.page import of

    for block in of(summary).blocks:
        if isinstance(block, Heading):
            console.say(block.text, style="bold")
        elif isinstance(block, Table):
            say_table([list(map(_unmarked, line)) for line in (block.header, *block.rows)])
            console.say("")
    console.say(str(out / "speed.md"))


def _unmarked(cell: str) -> str:
    return cell.replace("**", "").replace("`", "")
