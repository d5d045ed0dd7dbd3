"""``foldless plan``: how many rows a study needs, or what more rows of this file would bring."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless import words
from foldless.cli import console, picture
from foldless.cli.models import refuse_refitted
from foldless.cli.options import (
    OPTIONS,
    SHARE,
    CommandOptions,
    as_positive,
    comma_separated,
    data_options,
    finite,
    given,
    picture_option,
    refuse_given,
    refuse_wrong_strength,
)
from foldless.cli.request import Request, read_file

EXAMPLES = """\b
Examples:
  foldless plan --auc 0.8 --half-width 0.05
  foldless plan --auc 0.8 --half-width 0.05 --balance 0.2 --features 30
  foldless plan --auc 0.8 --above 0.7 --power 0.9
  foldless plan patients.csv --target outcome --out curve.png
  foldless plan patients.csv --target outcome --factors 1,3,10 --json
"""
OF_A_STUDY = ("auc", "half_width", "above", "power", "balance", "features", "noise_share")
OF_A_FILE = (*(name for name in OPTIONS if name not in ("level", "as_json")), "factors", "out")


@click.command(epilog=EXAMPLES)
@click.option("--auc", **SHARE, help="The AUC that the classifier is expected to have.")
@click.option("--half-width", **SHARE, help="Largest acceptable half width of the interval.")
@click.option("--above", **SHARE, help="Instead: a bound that the interval should lie above,")
@click.option("--power", **SHARE, default=0.9, show_default=True, help="... with at least this probability.")
@click.option("--balance", **SHARE, default=0.5, show_default=True, help="Share of the positive class.")
@click.option("--features", type=float, callback=as_positive, help="Number of features the classifier will use.")
@click.option("--noise-share", type=float, help="Instead: share of scores' variance that comes from the training set.")
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
def plan(
    ctx: click.Context, /, options: CommandOptions, factors: tuple[float, ...], out: Path | None, **wanted: Any
) -> None:
    """Say how many rows a study needs, or what more rows of FILE would bring.

    Without FILE, give the AUC that you expect and what you want to be able to say about it. With FILE, a table as for
    every other command, a classifier is fitted, and its AUC with 2 and 5 times the rows is predicted; all options from
    --factors on are for that.
    """
    _refuse_mixture(ctx, has_file=options.file is not None)
    if options.file is None:
        console.say_result(study(options.level, wanted), options.as_json, show_study)
        return
    refuse_wrong_strength(ctx, options)
    refuse_refitted(options.model, "plan")
    path = picture.writable_path(out)
    request = read_file(options)
    console.say_result(curve(request, factors, path), options.as_json, partial(show_curve, request=request))


def _refuse_mixture(ctx: click.Context, has_file: bool) -> None:
    if has_file:
        refuse_given(ctx, OF_A_STUDY, "does not go with a FILE: leave it out.")
        return
    refuse_given(ctx, OF_A_FILE, "needs a FILE: name one, or leave it out.")
    if not given(ctx, "auc"):
        raise click.UsageError("give --auc and --half-width or --above, or a FILE with --target.")


# ---- A study that is being planned.


def study(level: float, wanted: dict[str, Any]) -> dict[str, Any]:
    """The plan as a plain dict."""
    if (wanted["half_width"] is None) == (wanted["above"] is None):
        raise click.UsageError("give either --half-width or --above.")
    auc, half_width, balance, features = (wanted.pop(name) for name in ("auc", "half_width", "balance", "features"))
    return fl.plan_sample_size(auc, half_width, level, balance, n_features=features, **wanted).summary()


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
    facts["training noise"] = f"{result['noise_share']:.2f} of the variance of the scores comes from the training set"
    return facts


# ---- More rows of a file.


def curve(request: Request, factors: tuple[float, ...], path: Path | None) -> dict[str, Any]:
    """The learning curve as a plain dict; the picture is written on the way."""
    request.independent_rows_only("plan")
    level = request.options.level
    with console.gathered_warnings() as warned:
        analysis = request.judged()
        learning = fl.learning_curve(analysis, factors=factors)
    answer = learning.summary(level)

    def draw(figure: Any) -> None:
        fl.LearningCurveDisplay.from_curve(learning, level=level, ax=figure.subplots())

    return {
        **request.facts(),
        **answer,
        "classifier": request.classifier_words,
        **request.doubts(analysis, warned, answer["notes"]),
        "picture": picture.write(path, draw),
    }


def show_curve(result: dict[str, Any], request: Request) -> None:
    """One sentence, the table, and every note."""
    console.say(_curve_sentence(result) + request.positive_words, style="bold")
    console.say_verdict(result["verdict"])
    interval = f"{words.percent(result['level'])} interval"
    console.say_table(
        ("rows", "times", "AUC", f"{interval}, today", "95 % half width then"),
        [_cells(point) for point in result["points"]],
    )
    noise = f"{result['noise_share']:.2f} of the variance of the scores comes from the training set"
    console.say_facts({"training noise": noise, "classifier": result["classifier"], **request.table_facts()})
    console.say_ending(result["notes"], result["picture"])


def _cells(point: dict[str, Any]) -> tuple[str, ...]:
    size = str(point["rows"]), f"{point['factor']:g}"
    return *size, words.rate(point["auc"]), words.span(point["low"], point["high"]), f"± {point['half_width_then']:.3f}"


def _curve_sentence(result: dict[str, Any]) -> str:
    first, last = result["points"][0], result["points"][-1]
    now = f"Trained on {first['rows']} rows this classifier has an AUC of about {words.rate(first['auc'])} on new rows"
    if last is first:
        return f"{now}."
    return (
        f"{now}; trained on {last['rows']} it can be expected to have {words.rate(last['auc'])} "
        f"({words.interval({**last, 'level': result['level']})})."
    )
