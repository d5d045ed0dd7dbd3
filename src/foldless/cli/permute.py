"""``foldless permute FILE``: does this file hold any signal at all?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless import words
from foldless.cli import console, picture
from foldless.cli.models import refuse_refitted
from foldless.cli.options import CommandOptions, data_options, picture_option, refuse_wrong_strength
from foldless.cli.request import Request, read_file
from foldless.permutation.relabelling import MOST

EXAMPLES = """\b
Examples:
  foldless permute patients.csv --target outcome
  foldless permute eeg.csv --target condition --groups subject --model ridge --permutations 100000
  foldless permute genes.tsv --target subtype --out null.png --json
"""


@click.command(epilog=EXAMPLES)
@data_options()
@click.option(
    "--permutations",
    type=click.IntRange(1, MOST),
    default=10_000,
    show_default=True,
    help="Random relabellings; where fewer exist, all of them.",
)
@picture_option("A picture of the permuted AUCs")
@click.pass_context
def permute(ctx: click.Context, /, options: CommandOptions, permutations: int, out: Path | None) -> None:
    """Say how often a classifier would do as well on FILE if its labels were exchanged at random.

    The AUC of rows left out of the fit is compared with that of the same training on permuted labels. With --groups,
    labels are exchanged between groups where they are constant within them, and inside of the groups otherwise.
    """
    refuse_wrong_strength(ctx, options)
    refuse_refitted(options.model, "permute")
    path = picture.writable_path(out)
    request = read_file(options)
    request.two_classes_only("permute")
    result, test = answer(request, permutations)
    result["picture"] = picture.write(path, lambda figure: fl.PermutationDisplay.from_test(test, ax=figure.subplots()))
    console.say_result(result, options.as_json, partial(show, request=request))


def answer(request: Request, permutations: int) -> tuple[dict[str, Any], fl.PermutationTest]:
    """Everything that is printed, as a plain dict; and the test itself."""
    with console.gathered_warnings() as warned:
        model = request.fitted()
        how = {"groups": request.groups, "random_state": request.options.seed, "progress": True}
        test = fl.permutation_test(model, request.X, request.y, permutations, **how)
        analysis = request.judged(model)
    figures = test.summary()
    notes, (negative, positive) = figures.pop("notes"), request.classes
    figures |= {"n_positive": request.sizes[positive], "n_negative": request.sizes[negative]}
    about = {"n_features": len(request.features), "classifier": request.classifier}
    doubts = request.doubts(analysis, warned, notes)
    return {**request.facts(), "classes": request.classes, **about, **figures, **doubts}, test


def show(result: dict[str, Any], request: Request) -> None:
    """One sentence, the figures, and every note."""
    console.say(_sentence(result), style="bold")
    console.say_verdict(result["verdict"])
    null = result["null"]
    kind = "all" if result["exhaustive"] else "random"
    console.say_facts(
        {
            "p": f"{result['p_value']:.3g}",
            "AUC": f"{words.rate(result['auc'])}   ({result['left_out']} left out of the fit)",
            "permuted labels": f"{words.rate(null['median'])}   ({words.span(null['low'], null['high'])})",
            "relabellings": f"{kind} {result['n_permutations']:,}, of {result['permuted']}",
            "rows": request.class_counts,
            "classifier": request.classifier_words,
            **request.table_facts(),
        }
    )
    console.say_ending(result["notes"], result["picture"])


def _sentence(result: dict[str, Any]) -> str:
    reached = round(result["p_value"] * (1 + result["n_permutations"])) - 1
    others = f"{reached:,} of {result['n_permutations']:,}"
    return (
        f"Trained on permuted labels, the classifier reaches the AUC of the true ones, {words.rate(result['auc'])}, in "
        f"{others} cases: p = {result['p_value']:.2g}."
    )
