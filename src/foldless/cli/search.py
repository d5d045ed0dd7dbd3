"""``foldless search FILE``: how strongly should this classifier be penalised?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

import foldless as fl
from foldless import words
from foldless.cli import console, picture
from foldless.cli.models import CLASSIFIERS, PARTS, TREES
from foldless.cli.options import CommandOptions, comma_separated, data_options, finite, picture_option, refuse_given
from foldless.cli.request import Request, fitted_or_refused, read_file

CS = tuple(float(f"{10.0**k:g}") for k in range(-4, 4))
SPARSE = tuple(float(f"{10.0 ** (k / 2):.1g}") for k in range(-3, 4))  # smaller ones leave no column
USUAL = {
    "lda": (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
    "pls": (1.0, 2.0, 3.0, 4.0, 5.0),
    **dict.fromkeys(("l1", "elasticnet"), SPARSE),
}
EXAMPLES = """\b
Examples:
  foldless search patients.csv --target outcome
  foldless search genes.tsv --target subtype --model ridge --Cs 1e-4,1e-3,1e-2 --rule simplest
  foldless search patients.parquet --target outcome --groups patient --out search.png --json
"""


@click.command(epilog=EXAMPLES)
@data_options()
@click.option(
    "--Cs",
    "Cs",
    metavar="0.01,0.1,1",
    callback=comma_separated(finite),
    help="Values to try: C of logistic, svm, l1 and elasticnet, 1/alpha of ridge; of lda, shrinkages; of pls, numbers "
    "of components.  [default: 0.0001 to 1000; l1, elasticnet: 0.03 to 30; pls: 1 to 5]",
)
@click.option(
    "--rule",
    type=click.Choice(["best", "simplest"]),
    default="best",
    show_default=True,
    help="Choose the largest AUC, or the strongest penalty whose AUC is not credibly lower.",
)
@picture_option("A picture of the candidates")
@click.pass_context
def search(
    ctx: click.Context, /, options: CommandOptions, Cs: tuple[float, ...] | None, rule: str, out: Path | None
) -> None:
    """Fit one classifier to FILE for each strength of the penalty, and choose.

    Every candidate is fitted once, to all rows, and judged by its AUC on new rows (l1, elasticnet and pls: fitted 20
    more times). The best of several looks better than it is: the answer says by how much.
    """
    refuse_given(ctx, ("C", "shrinkage"), "is one value, and search tries several: use --Cs.")
    path = picture.writable_path(out)
    values = _checked(Cs or USUAL.get(options.model, CS), options.model)
    request = read_file(options)
    request.independent_rows_only("search")
    if options.model == "pls" and not Cs:  # no more components than columns
        values = [v for v in values if v <= len(request.features)]
    result, fitted = answer(request, values, rule)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        fl.SearchDisplay.from_estimator(fitted, ax=axes)
        axes.set_xlabel(result["parameter"])

    result["picture"] = picture.write(path, draw)
    console.say_result(result, options.as_json, partial(show, request=request))


def _checked(values: tuple[float, ...], model: str) -> list[float]:
    kind = CLASSIFIERS[model]
    if kind.parameter == TREES:
        known = ", ".join(name for name, each in CLASSIFIERS.items() if each.parameter != TREES)
        raise click.BadParameter(f"more trees are not a choice to search: choose from {known}.", param_hint="'--model'")
    if not all(kind.accepts(v) for v in values):
        shown = ", ".join(f"{v:g}" for v in values)
        what = f"numbers {kind.legal}" + (f", for {model}" if model in USUAL else "")
        raise click.BadParameter(f"must be {what}, got {shown}.", param_hint="'--Cs'")
    return sorted(set(values))


def answer(request: Request, values: list[float], rule: str) -> tuple[dict[str, Any], Any]:
    """Everything that is printed, as a plain dict; and the search itself."""
    parameter = CLASSIFIERS[request.options.model].parameter
    grid = sorted((1 / v for v in values), reverse=True) if parameter == "alpha" else values
    grid = [int(v) for v in grid] if parameter == PARTS else grid
    candidates = [request.unfitted(request.options.model, value) for value in grid]
    model = candidates[0]
    name = f"{model.steps[-1][0]}__{parameter}"
    search = fl.FoldlessSearch(model, {name: grid}, rule=rule, level=request.options.level, progress=True)
    with console.gathered_warnings() as warned:
        fitted_or_refused(
            lambda: search.fit(request.X, request.targets(model)[0], groups=request.groups), "classifiers"
        )
        analysis = request.judged(search.best_estimator_)
    best = search.best_posterior_
    low, high = best.interval(request.options.level)
    result = {
        **request.facts(),
        "classes": request.classes,
        "n_rows": len(request.y),
        "n_features": len(request.features),
        "classifier": type(model.steps[-1][1]).__name__,
        "parameter": parameter,
        "rule": rule,
        "level": request.options.level,
        "candidates": _candidates(search, name),
        "chosen": search.best_params_[name],
        "auc": best.mean,
        "low": low,
        "high": high,
        "optimism": search.optimism_,
        "auc_without_optimism": best.mean - (search.optimism_ if rule == "best" else 0.0),  # of the largest mean
        "method": best.method,
        **request.doubts(analysis, warned, best.notes),
    }
    return result, search


def _candidates(search: Any, name: str) -> list[dict[str, Any]]:
    columns = zip(*(search.results_[key] for key in ("params", "mean", "lower", "upper", "rank")), strict=True)
    return [
        {"value": params[name], "auc": float(mean), "low": float(low), "high": float(high), "rank": int(rank)}
        for params, mean, low, high, rank in columns
    ]


def show(result: dict[str, Any], request: Request) -> None:
    """One sentence, the candidates, and every note."""
    console.say(_sentence(result) + request.positive_words, style="bold")
    console.say_verdict(result["verdict"])
    parameter, interval = result["parameter"], f"{words.percent(result['level'])} interval"
    console.say_table((parameter, "AUC", interval, ""), [_cells(row, result["chosen"]) for row in result["candidates"]])
    console.say_facts(_facts(result, request))
    console.say_ending(result["notes"], result["picture"])


def _cells(row: dict[str, Any], chosen: Any) -> tuple[str, ...]:
    judged = np.isfinite(row["auc"])
    area = (words.rate(row["auc"]), words.span(row["low"], row["high"])) if judged else ("-", "-")
    return f"{row['value']:g}", *area, "chosen" if row["value"] == chosen else ""


def _sentence(result: dict[str, Any]) -> str:
    what = "an AUC" if len(result["classes"]) == 2 else "an average AUC"
    count, parameter, chosen = len(result["candidates"]), result["parameter"], f"{result['chosen']:g}"
    tried = f"Of {count} values of {parameter}, {chosen} is chosen" if count > 1 else (
        f"One value of {parameter} was tried, {chosen}, so there was nothing to choose"
    )  # fmt: skip
    area, expected = (words.rate(result[name]) for name in ("auc", "auc_without_optimism"))
    luck = "" if area == expected else f", less {result['optimism']:.3f} for the luck of the choice"
    return (
        f"{tried}: trained on all {result['n_rows']} rows, it can be expected to have {what} of about {expected} on "
        f"new rows{luck and f': {area}'} ({words.interval(result)}){luck}."
    )


def _facts(result: dict[str, Any], request: Request) -> dict[str, str]:
    return {
        "optimism of the choice": f"{result['optimism']:.3f}",
        "rows": request.class_counts,
        "classifier": f"{CLASSIFIERS[request.options.model].title}; {request.columns_words}",
        "method": result["method"],
        **request.table_facts(),
    }
