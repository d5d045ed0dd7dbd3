"""``foldless benchmark speed``: what does an answer cost, relative to other ways?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from foldless.cli import console
from foldless.cli.console import Reporter, resumable
from foldless.cli.options import comma_separated, json_option
from foldless_studies.cli.workers import refuse_file
from foldless_studies.paper.page import Heading, Table
from foldless_studies.speed.page import of as page_of
from foldless_studies.speed.run import Settings, run

EXAMPLES = """\b
Examples:
  foldless benchmark speed --quick
  foldless benchmark speed --data datasets/ --out results/speed
  foldless benchmark speed --data datasets/ --sets wdbc,sonar --out results/speed --resume
"""


@click.command(epilog=EXAMPLES)
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Folder of .npz files with X and y.")
@click.option(
    "--sets",
    metavar="wdbc,sonar",
    callback=comma_separated(str),
    help="Names of files there.  [default: the first five with more columns than rows, the first five without]",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("foldless-speed"), show_default=True)
@click.option("--resume", is_flag=True, help="Finish the run that is in the --out folder.")
@click.option("--quick", is_flag=True, help="Small sizes, to see that it works.")
@json_option
def speed(data: Path | None, sets: tuple[str, ...] | None, out: Path, resume: bool, quick: bool, as_json: bool) -> None:
    """Measure time and memory against a pass over X, against X @ W, cross-validation, the bootstrap and others.

    All figures are ratios: calls are timed in turns with one thread of linear algebra, so that a busy machine meets
    all of them alike. It takes about five minutes and 1.5 GB of memory. Every finished measurement is kept in
    --out/runs at once, so a run can be stopped and resumed. At the end --out holds speed.md and speed.json.
    """
    settings = Settings(None if data is None else str(data), sets, quick)
    refuse_file(out)
    with resumable(out):
        summary = run(settings, out, resume=resume, progress=Reporter("measurements"))
    if as_json:
        console.say_json({**summary, "out": str(out)})
    else:
        show(summary, out)


def show(summary: dict[str, Any], out: Path) -> None:
    """The tables; what their columns mean is in the file."""
    for block in page_of(summary).blocks:
        if isinstance(block, Heading):
            console.say(block.text, style="bold")
        elif isinstance(block, Table):
            _say_table(block)
    console.say(str(out / "speed.md"))


def _say_table(table: Table) -> None:
    # Not a rich table, which would cut the numbers on a narrow terminal.
    lines = [list(map(_unmarked, line)) for line in (table.header, *table.rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for line in lines:
        console.say("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]))
    console.say("")


def _unmarked(cell: str) -> str:
    return cell.replace("**", "").replace("`", "")
