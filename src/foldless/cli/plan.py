"""``foldless plan``: how many rows a study needs, or what more rows of this file would bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless import words
from foldless.cli import console
from foldless.cli.auc import refuse_wrong_strength
from foldless.cli.options import (
    FIELDS,
    Ask,
    comma_separated,
    data_options,
    finite,
    given,
    maybe_positive,
    maybe_share,
    picture_option,
    share,
)
from foldless.cli.problem import problem_of

EXAMPLES = """\b
Examples:
  foldless plan --auc 0.8 --half-width 0.05
  foldless plan --auc 0.8 --half-width 0.05 --balance 0.2 --features 30
  foldless plan --auc 0.8 --above 0.7 --power 0.9
  foldless plan patients.csv --target outcome --out curve.png
  foldless plan patients.csv --target outcome --factors 1,3,10 --json
"""
OF_A_STUDY = ("auc", "half_width", "above", "power", "balance", "features", "noise_share")
OF_A_FILE = (*(name for name in FIELDS if name not in ("file", "level", "as_json")), "factors", "out")


@click.command(epilog=EXAMPLES)
@click.option("--auc", type=float, callback=maybe_share, help="The AUC that the classifier is expected to have.")
@click.option("--half-width", type=float, callback=maybe_share, help="Half the length of the interval you can accept.")
@click.option("--above", type=float, callback=maybe_share, help="Instead: a bound that the interval shall lie above,")
@click.option(
    "--power", type=float, default=0.9, show_default=True, callback=share, help="... with at least this probability."
)
@click.option(
    "--balance", type=float, default=0.5, show_default=True, callback=share, help="Share of the positive class."
)
@click.option("--features", type=float, callback=maybe_positive, help="Number of features the classifier will use.")
@click.option("--noise-share", type=float, help="Instead: share of training noise in the scores, from 0 to 1.")
@click.option(
    "--factors",
    metavar="1,2,5",
    default="1,2,5",
    show_default=True,
    callback=comma_separated(finite),
    help="With FILE: multiples of its rows.",
)
@picture_option("With FILE: a picture of the curve")
@data_options(file_required=False)
@click.pass_context
def plan(ctx: click.Context, /, ask: Ask | None, level: float, as_json: bool, **asked: Any) -> None:
    """Say how many rows a study needs, or what more rows of FILE would bring.

    Without FILE, give the AUC that you expect and what you want to be able to say about it. With FILE (CSV, TSV,
    Parquet or .npz) a classifier is fitted, and its AUC with 2 and 5 times the rows is foretold; all options from
    --factors on are for that.
    """
    _refuse_mixture(ctx, ask)
    if ask is None:
        result, show = study(level, asked), show_study
    else:
        refuse_wrong_strength(ctx, ask)
        result, show = curve(ask, asked["factors"], asked["out"]), show_curve
    if as_json:
        console.say_json(result)
    else:
        show(result)


def _refuse_mixture(ctx: click.Context, ask: Ask | None) -> None:
    strangers = OF_A_FILE if ask is None else OF_A_STUDY
    for option in ctx.command.params:
        if option.name in strangers and given(ctx, str(option.name)):
            wrong = (
                "needs a FILE: name one, or leave it out." if ask is None else "does not go with a FILE: leave it out."
            )
            raise click.UsageError(f"{option.opts[0]} {wrong}")
    if ask is None and not given(ctx, "auc"):
        raise click.UsageError("give --auc and --half-width or --above, or a FILE with --target.")


# ---- a study not yet begun


def study(level: float, asked: dict[str, Any]) -> dict[str, Any]:
    """The plan as a plain dict."""
    if (asked["half_width"] is None) == (asked["above"] is None):
        raise click.UsageError("give either --half-width or --above.")
    return fl.plan_sample_size(
        asked["auc"],
        asked["half_width"],
        level,
        asked["balance"],
        above=asked["above"],
        power=asked["power"],
        n_features=asked["features"],
        noise_share=asked["noise_share"],
    ).summary()


def show_study(result: dict[str, Any]) -> None:
    """One sentence, the figures behind it, and every note."""
    console.say(_study_sentence(result), style="bold")
    console.say("")
    console.say_facts(_study_facts(result))
    console.say_ending(result["notes"])


def _study_sentence(result: dict[str, Any]) -> str:
    interval = f"the {words.percent(result['level'])} interval"
    rows = f"With {result['n']} rows ({result['n1']} positive, {result['n0']} negative)"
    if result["above"] is None:
        return f"{rows}, {interval} of an AUC of {result['auc']:g} will be about ± {result['half_width']:.3f}."
    return (
        f"{rows}, {interval} of an AUC of {result['auc']:g} will lie above {result['above']:g} "
        f"with probability {result['power']:.2f}."
    )


def _study_facts(result: dict[str, Any]) -> dict[str, str]:
    facts = {"rows": str(result["n"])}
    if result["n_if_noisy"] is not None:
        facts["rows at worst"] = f"{result['n_if_noisy']}   (scores full of training noise: many features)"
    facts["half width"] = f"{result['half_width']:.4f}"
    if result["power"] is not None:
        facts[f"power above {result['above']:g}"] = f"{result['power']:.3f}"
    facts["training noise"] = f"{result['noise_share']:.2f} of the variance of the scores"
    return facts


# ---- more rows of a file


def curve(ask: Ask, factors: tuple[float, ...], out: Path | None) -> dict[str, Any]:
    """The learning curve as a plain dict; the picture is written on the way."""
    path = console.checked(out)
    problem = problem_of(ask)
    problem.two_classes_only("plan")
    with console.gathered_warnings() as warned:
        model = problem.fitted()
        how = {"pos_label": problem.positive, "groups": problem.groups}
        found = fl.learning_curve(model, problem.X, problem.y, factors, **how)
    if path is not None:
        level = ask.level
        console.write(path, lambda f: fl.LearningCurveDisplay.from_curve(found, level=level, ax=f.subplots()))
    answer = found.summary(ask.level)
    return {
        **problem.facts(),
        **answer,
        "classifier": problem.classifier_words,
        "notes": problem.all_notes(warned, answer["notes"]),
        "picture": None if path is None else str(path),
    }


def show_curve(result: dict[str, Any]) -> None:
    """One sentence, the table, and every note."""
    console.say(_curve_sentence(result), style="bold")
    interval = f"{words.percent(result['level'])} interval"
    table = console.new_table("rows", "times", "AUC", f"{interval}, today", "95 % half width then")
    for point in result["points"]:
        console.add_row(
            table,
            str(point["rows"]),
            f"{point['factor']:g}",
            f"{point['auc']:.3f}",
            console.span(point["low"], point["high"]),
            f"± {point['half_width_then']:.3f}",
        )
    console.stdout().print(table)
    noise = f"{result['noise_share']:.2f} of the variance of the scores"
    console.say_facts({"training noise": noise, "classifier": result["classifier"], "read as": result["read_as"]})
    console.say_ending(result["notes"], result["picture"])


def _curve_sentence(result: dict[str, Any]) -> str:
    first, last = result["points"][0], result["points"][-1]
    now = f"Trained on {first['rows']} rows this classifier has an AUC of about {first['auc']:.3f} on new rows"
    if last is first:
        return f"{now}."
    return (
        f"{now}; trained on {last['rows']} it can be expected to have {last['auc']:.3f} "
        f"({words.percent(result['level'])} interval {last['low']:.3f} to {last['high']:.3f})."
    )
