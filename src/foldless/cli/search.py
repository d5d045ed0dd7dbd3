"""``foldless search FILE``: how strongly should this classifier be penalised?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import foldless as fl
from foldless import words
from foldless.cli import console
from foldless.cli.models import FAMILIES
from foldless.cli.options import Ask, comma_separated, data_options, finite, given, picture_option
from foldless.cli.problem import Problem, problem_of

CS = tuple(float(f"{10.0**k:g}") for k in range(-4, 4))
SHRINKAGES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
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
    help="Values to try: C of logistic and svm, 1/alpha of ridge; of lda, shrinkages.  [default: 0.0001 to 1000]",
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
def search(ctx: click.Context, /, ask: Ask, Cs: tuple[float, ...] | None, rule: str, out: Path | None) -> None:
    """Fit one classifier to FILE for each strength of the penalty, and choose.

    Every candidate is fitted once, to all rows, and judged by the AUC that it will have on new ones. Being the best of
    several flatters: the table says by how much.
    """
    for name, option in (("C", "--C"), ("shrinkage", "--shrinkage")):
        if given(ctx, name):
            raise click.UsageError(f"{option} is one value, and search tries several: use --Cs.")
    path = console.checked(out)
    values = _checked(Cs or (SHRINKAGES if ask.model == "lda" else CS), ask.model)
    problem = problem_of(ask)
    result, found = answer(problem, values, rule)
    if path is not None:
        console.write(path, lambda figure: _draw(figure, found, result["parameter"]))
    result["picture"] = None if path is None else str(path)
    if ask.as_json:
        console.say_json(result)
    else:
        show(result, problem)


def _draw(figure: Any, found: Any, parameter: str) -> None:
    axes = figure.subplots()
    fl.SearchDisplay.from_estimator(found, ax=axes)
    axes.set_xlabel(parameter)


def _checked(values: tuple[float, ...], model: str) -> list[float]:
    wanted = "numbers above 0 and below 1, for lda" if model == "lda" else "numbers above 0"
    if any(not 0 < v < (1 if model == "lda" else np.inf) for v in values):
        raise click.BadParameter(f"must be {wanted}, got {', '.join(f'{v:g}' for v in values)}.", param_hint="'--Cs'")
    return sorted(set(values))


def answer(problem: Problem, values: list[float], rule: str) -> tuple[dict[str, Any], Any]:
    """Everything that is printed, as a plain dict; and the search itself."""
    family = FAMILIES[problem.ask.model]
    grid = sorted((1 / v for v in values), reverse=True) if family.parameter == "alpha" else values
    models = [problem.unfitted(problem.ask.model, value) for value in grid]
    model = models[0]
    name = f"{model.steps[-1][0]}__{family.parameter}"
    found = fl.FoldlessSearch(model, {name: grid}, rule=rule, level=problem.ask.level, progress=True)
    with console.gathered_warnings() as warned:
        _fit(found, problem)
    best = found.best_posterior_
    low, high = best.interval(problem.ask.level)
    result = {
        **problem.facts(),
        "classes": problem.classes,
        "n_rows": len(problem.y),
        "n_features": len(problem.features),
        "classifier": type(model.steps[-1][1]).__name__,
        "parameter": family.parameter,
        "rule": rule,
        "level": problem.ask.level,
        "candidates": _candidates(found, name),
        "chosen": found.best_params_[name],
        "auc": best.mean,
        "low": low,
        "high": high,
        "optimism": found.optimism_,
        "method": best.method,
        "notes": problem.all_notes(warned, best.notes),
    }
    return result, found


def _fit(found: Any, problem: Problem) -> None:
    try:
        found.fit(problem.X, problem.y, groups=problem.groups)
    except fl.FoldlessError:
        raise
    except (ValueError, np.linalg.LinAlgError) as err:
        raise fl.InputError(f"the classifiers could not be fitted: {words.one_line(str(err))}") from err


def _candidates(found: Any, name: str) -> list[dict[str, Any]]:
    rows = found.results_
    columns = zip(rows["params"], rows["mean"], rows["lower"], rows["upper"], rows["rank"], strict=True)
    return [
        {"value": params[name], "auc": float(mean), "low": float(low), "high": float(high), "rank": int(rank)}
        for params, mean, low, high, rank in columns
    ]


def show(result: dict[str, Any], problem: Problem) -> None:
    """One sentence, the candidates, and every note."""
    console.say(_sentence(result), style="bold")
    parameter, interval = result["parameter"], f"{words.percent(result['level'])} interval"
    table = console.new_table(parameter, "AUC", interval, "")
    for row in result["candidates"]:
        mark = "chosen" if row["value"] == result["chosen"] else ""
        judged = np.isfinite(row["auc"])
        cells = (f"{row['auc']:.3f}", console.span(row["low"], row["high"])) if judged else ("-", "-")
        console.add_row(table, f"{row['value']:g}", *cells, mark)
    console.stdout().print(table)
    console.say_facts(_facts(result, problem))
    console.say_ending(result["notes"], result["picture"])


def _sentence(result: dict[str, Any]) -> str:
    what = "an AUC" if len(result["classes"]) == 2 else "an average AUC"
    count, parameter, chosen = len(result["candidates"]), result["parameter"], f"{result['chosen']:g}"
    tried = f"Of {count} values of {parameter}, {chosen} is chosen" if count > 1 else (
        f"One value of {parameter} was tried, {chosen}, so there was nothing to choose"
    )  # fmt: skip
    return (
        f"{tried}: trained on all {result['n_rows']} rows, it "
        f"can be expected to have {what} of about {result['auc']:.3f} on new rows "
        f"({words.percent(result['level'])} interval {result['low']:.3f} to {result['high']:.3f})."
    )


def _facts(result: dict[str, Any], problem: Problem) -> dict[str, str]:
    sober = result["auc"] - result["optimism"]
    rows = ", ".join(f"{int(np.sum(problem.y == label))} '{label}'" for label in problem.classes)
    columns = f"{console.plural(len(problem.features), 'column')}, {problem.preparation.words}"
    return {
        "optimism of the choice": f"{result['optimism']:.3f}   (the sober figure is {sober:.3f})",
        "rows": rows,
        "classifier": f"{FAMILIES[problem.ask.model].title}; {columns}",
        "method": result["method"],
        "read as": result["read_as"],
    }
