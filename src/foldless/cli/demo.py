"""``foldless demo``: nine ways to estimate one AUC, against the truth, in a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from foldless.cli import console, picture
from foldless.cli.options import json_option
from foldless.cli.study import Row, Study, run
from foldless.files import write_atomically

SHUFFLES = 10

EXAMPLES = """\b
Examples:
  foldless demo
  foldless demo --out comparison.svg
  foldless demo --shuffles 0 --json
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--out", type=click.Path(path_type=Path), help="The picture (.png, .svg, .pdf).  [default: foldless-demo.png]"
)
@click.option(
    "--shuffles", type=click.IntRange(0, 1000), default=SHUFFLES, show_default=True, help="Shuffled label sets."
)
@json_option
def demo(out: Path | None, shuffles: int, as_json: bool) -> None:
    """Compare estimators of the AUC on scikit-learn's breast-cancer data.

    A logistic regression is trained on 60 rows. Each estimator sees those 60 rows only; the other
    509 rows tell the truth. The last column repeats it all on shuffled labels, where the truth is 0.5.
    """
    path = picture.writable_path(out)
    study = _run_quietly(shuffles)
    if path is not None:
        write_atomically(path, picture.draw(study, path.suffix[1:]))
    if as_json:
        console.say_json(as_dict(study, path))
    else:
        _show(study, path)


def _run_quietly(shuffles: int) -> Study:
    # The notes that matter are carried by the results; ten shuffles would repeat each warning ten times.
    with console.gathered_warnings(), Console(stderr=True).status("comparing") as status:
        return run(shuffles, lambda name: status.update(f"comparing: {name}"))


def as_dict(study: Study, path: Path | None) -> dict[str, Any]:
    """The demo as plain data."""
    low, high = study.truth.interval(0.95)
    return {
        "n_train": study.n_train,
        "n_test": study.n_test,
        "n_features": study.n_features,
        "method": study.method,
        "level": 0.95,
        "held_out": {"auc": float(study.truth), "low": low, "high": high},
        "shuffles": study.shuffles,
        "estimators": [_row_dict(row, float(study.truth)) for row in study.rows],
        "notes": study.notes,
        "picture": None if path is None else str(path),
    }


def _row_dict(row: Row, truth: float) -> dict[str, Any]:
    return {
        "name": row.rival.name,
        "auc": row.real.auc,
        "low": row.real.low,
        "high": row.real.high,
        "error": row.real.auc - truth,
        "on_shuffled_labels": row.shuffled,
        "milliseconds": row.real.milliseconds,
    }


def _show(study: Study, path: Path | None) -> None:
    low, high = study.truth.interval(0.95)
    console.say(
        f"Logistic regression on {study.n_train} rows and {study.n_features} columns of the breast-cancer data. "
        f"On {study.n_test} held-out rows its AUC is {study.truth:.3f} (DeLong {console.span(low, high)})."
    )
    console.stdout().print(_table(study))
    if study.shuffles:
        console.say(f"Shuffled labels: mean of {study.shuffles} shuffles; nothing can be learned, so the truth is 0.5.")
    console.say_notes(study.notes)
    console.say("no picture: pip install 'foldless[plot]'" if path is None else str(path))


def _table(study: Study) -> Any:
    columns = ("estimator", "AUC", "95 % interval", "error", "shuffled", "ms")
    table = console.new_table(*columns)
    for row in study.rows:
        real, noise = row.real, "-" if row.shuffled is None else f"{row.shuffled:.3f}"
        cells = f"{real.auc:.3f}", console.span(real.low, real.high), f"{real.auc - float(study.truth):+.3f}", noise
        table.add_row(row.rival.name, *cells, _ms(real.milliseconds), style="bold" if row.rival.ours else None)
    return table


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.1f}" if milliseconds < 10 else f"{milliseconds:.0f}"
