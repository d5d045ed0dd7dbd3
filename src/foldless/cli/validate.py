"""``foldless validate FILE``: the internal validation of a classifier, as one table."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import console
from foldless.cli.models import method_option, model_file_option
from foldless.cli.options import SHARE, CommandOptions, data_options, refuse_wrong_strength
from foldless.cli.request import Request, read

EXAMPLES = """\b
Examples:
  foldless validate patients.csv --target outcome
  foldless validate patients.csv --target outcome --threshold 0.2 --prevalence 0.05
  foldless validate patients.csv --target outcome --model lda --level 0.9 --json
  foldless validate patients.csv --target outcome --table markdown
"""
RIGHT = "Right would be a calibration slope of 1, an intercept of 0 and observed/expected of 1."
DISTANCES = (
    "ICI, E50 and E90: mean, median and ninth decile of how far predicted risks are off. MCC: correlation of decisions "
    "and classes. The share of positives is --prevalence, or that of FILE, give or take what chance does to a sample; "
    "the net benefit takes it as known."
)


@click.command(epilog=EXAMPLES)
@data_options()
@click.option("--threshold", **SHARE, help="Rows with a higher probability count as positive; by default 0.5.")
@click.option("--prevalence", **SHARE, help="Share of positives in practice; by default as in FILE.")
@click.option("--table", type=click.Choice(["markdown", "latex"]), help="Print the table alone, in this form.")
@model_file_option
@method_option
@click.pass_context
def validate(
    ctx: click.Context,
    /,
    options: CommandOptions,
    threshold: float | None,
    prevalence: float | None,
    table: str | None,
    model_file: Path | None,
    method: str,
) -> None:
    """Fit a classifier to FILE and validate its probabilities: one table.

    Discrimination, calibration, Brier score and the rates at a probability: each as the training rows show it
    (apparent), as it is to be expected on new rows (honest), the difference (optimism), and an interval. Every row is
    used for the fit, and judged as if it had not been.
    """
    refuse_wrong_strength(ctx, options)
    if table is not None and options.as_json:
        raise click.UsageError("--table and --json do not go together: give one of them.")
    request = read(ctx, options, model_file)
    for option in (name for name, value in {"--threshold": threshold, "--prevalence": prevalence}.items() if value):
        request.two_classes_only(option)
    with console.gathered_warnings() as warned:
        analysis = request.judged(method=method)
        found = fl.validate(analysis, threshold=threshold, prevalence=prevalence, level=options.level)
    if table is not None:
        click.echo(found.to_markdown() if table == "markdown" else found.to_latex())
        return
    result = answer(request, analysis, found, warned)
    console.say_result(result, options.as_json, partial(show, request=request, found=found))


def answer(request: Request, analysis: fl.Analysis, found: fl.Validation, warned: list[str]) -> dict[str, Any]:
    """Everything that is printed, as a plain dict."""
    classes: dict[str, Any] = {"counts": request.sizes}
    if not found.classes:
        negative, positive = request.classes
        classes = {"positive": positive, "negative": negative, "n_positive": found.n1, "n_negative": found.n0}
    summary = {key: value for key, value in found.summary().items() if key not in ("n0", "n1")}
    doubts = request.doubts(analysis, warned, found.notes)
    if found.calls_for_caution and doubts["verdict"] == "trust":
        doubts["verdict"] = "caution"
    return {**request.facts(), **classes, "classifier": request.classifier, **summary, **doubts}


def show(result: dict[str, Any], request: Request, found: fl.Validation) -> None:
    """One sentence, the table, and every note."""
    rows = f"{found.n1} rows of {len(found.classes)} classes"
    if not found.classes:
        rows = f"{result['n_positive']} '{result['positive']}' and {result['n_negative']} '{result['negative']}' rows"
    console.say(f"Internal validation on {rows}.{request.positive_words}", style="bold")
    console.say_verdict(result["verdict"])
    head, *lines = found.cells()
    console.say_table(head, lines)
    console.say(RIGHT if found.classes else f"{RIGHT} {DISTANCES}")
    console.say("")
    console.say_facts({"classifier": request.classifier_words, **request.table_facts()})
    console.say_ending(result["notes"])
