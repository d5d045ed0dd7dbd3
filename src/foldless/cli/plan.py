"""``foldless plan``: how many rows a study needs, or what more rows of this file would bring."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import columns, console, files, picture
from foldless.cli.auc import fitted
from foldless.cli.options import json_option, level_option, positive, share

EXAMPLES = """\b
Examples:
  foldless plan --auc 0.8 --half-width 0.05
  foldless plan --auc 0.8 --half-width 0.05 --balance 0.2 --features 30
  foldless plan --auc 0.8 --above 0.7 --power 0.9
  foldless plan patients.csv --target outcome --out curve.png
  foldless plan patients.csv --target outcome --factors 1,3,10 --json
"""
OF_A_STUDY = ("auc", "half_width", "above", "power", "balance", "features", "noise_share")
OF_A_FILE = ("target", "positive_text", "drop", "C", "no_standardize", "factors", "out")


def maybe_share(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number strictly between 0 and 1, if given."""
    return None if value is None else share(ctx, param, value)


def maybe_positive(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number above 0, if given."""
    return None if value is None else float(positive(ctx, param, value))


def parsed_factors(ctx: click.Context, param: click.Parameter, value: str) -> tuple[float, ...]:
    """'1,2,5' -> (1.0, 2.0, 5.0)."""
    try:
        return tuple(float(word) for word in value.split(","))
    except ValueError:
        raise click.BadParameter(f"must be numbers separated by commas, such as 1,2,5, got {value!r}.") from None


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path), required=False)
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
@click.option("--target", metavar="COLUMN", help="With FILE: the column with the two classes.")
@click.option("--positive", "positive_text", metavar="LABEL", help="With FILE: the positive class.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="With FILE: a column to leave out; may be repeated.")
@click.option(
    "--C", "C", type=float, default=1.0, show_default=True, callback=positive, help="With FILE: inverse penalty."
)
@click.option("--no-standardize", is_flag=True, help="With FILE: use the columns as they are.")
@click.option(
    "--factors", default="1,2,5", show_default=True, callback=parsed_factors, help="With FILE: multiples of its rows."
)
@click.option("--out", type=click.Path(path_type=Path), help="With FILE: a picture of the curve (.png, .svg, .pdf).")
@level_option
@json_option
@click.pass_context
def plan(ctx: click.Context, /, file: Path | None, level: float, as_json: bool, **given: Any) -> None:
    """Say how many rows a study needs, or what more rows of FILE would bring.

    Without FILE, give the AUC that you expect and what you want to be able to say about it. With FILE, a CSV or TSV
    table with a header line, a logistic regression is fitted and its AUC with 2 and 5 times the rows is foretold.
    """
    _refuse_mixture(ctx, file)
    if file is None:
        result, show = study(level, given), show_study
    else:
        result, show = curve(file, level, given), show_curve
    if as_json:
        console.say_json(result)
    else:
        show(result)


def _refuse_mixture(ctx: click.Context, file: Path | None) -> None:
    strangers = OF_A_FILE if file is None else OF_A_STUDY
    given = ctx.get_parameter_source
    for option in ctx.command.params:
        if option.name in strangers and given(str(option.name)) is not click.core.ParameterSource.DEFAULT:
            wrong = (
                "needs a FILE: name one, or leave it out." if file is None else "does not go with a FILE: leave it out."
            )
            raise click.UsageError(f"{option.opts[0]} {wrong}")
    if file is None and given("auc") is click.core.ParameterSource.DEFAULT:
        raise click.UsageError("give --auc and --half-width or --above, or a FILE with --target.")
    if file is not None and given("target") is click.core.ParameterSource.DEFAULT:
        raise click.UsageError("Missing option '--target': the column with the two classes.")


# ---- a study not yet begun


def study(level: float, given: dict[str, Any]) -> dict[str, Any]:
    """The plan as a plain dict."""
    if (given["half_width"] is None) == (given["above"] is None):
        raise click.UsageError("give either --half-width or --above.")
    return fl.plan_sample_size(
        given["auc"],
        given["half_width"],
        level,
        given["balance"],
        above=given["above"],
        power=given["power"],
        n_features=given["features"],
        noise_share=given["noise_share"],
    ).summary()


def show_study(result: dict[str, Any]) -> None:
    """One sentence, the figures behind it, and every note."""
    console.say(_study_sentence(result), style="bold")
    console.say("")
    console.say_facts(_study_facts(result))
    _say_notes(result)


def _study_sentence(result: dict[str, Any]) -> str:
    interval = f"the {console.percent(result['level'])} interval"
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


def curve(file: Path, level: float, given: dict[str, Any]) -> dict[str, Any]:
    """The learning curve as a plain dict; the picture is written on the way."""
    path = None if given["out"] is None else picture.writable_path(given["out"])
    data = columns.split(files.read_table(file), given["target"], given["drop"], file)
    label = None if given["positive_text"] is None else columns.chosen_label(data.y, given["positive_text"])
    with console.gathered_warnings() as warned:
        model = fitted(data, given["C"], not given["no_standardize"])
        found = fl.learning_curve(model, data.X, data.y, given["factors"], pos_label=label)
    if path is not None:
        files.write_atomically(path, _drawn(found, level, path.suffix[1:].lower()))
    answer = found.summary(level)
    return {
        "file": str(file),
        "target": given["target"],
        **answer,
        "notes": list(dict.fromkeys([*data.notes, *warned, *answer["notes"]])),
        "picture": None if path is None else str(path),
    }


def _drawn(found: Any, level: float, kind: str) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, outside pyplot: no window system, no state left behind.
    figure = Figure(figsize=(6.0, 4.0), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    fl.LearningCurveDisplay.from_curve(found, level=level, ax=figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=150, metadata=picture.METADATA.get(kind))
    return content.getvalue()


def show_curve(result: dict[str, Any]) -> None:
    """One sentence, the table, and every note."""
    console.say(_curve_sentence(result), style="bold")
    interval = f"{console.percent(result['level'])} interval"
    table = console.new_table("rows", "times", "AUC", f"{interval}, today", "95 % half width then")
    for point in result["points"]:
        table.add_row(
            str(point["rows"]),
            f"{point['factor']:g}",
            f"{point['auc']:.3f}",
            console.span(point["low"], point["high"]),
            f"± {point['half_width_then']:.3f}",
        )
    console.stdout().print(table)
    console.say_facts({"training noise": f"{result['noise_share']:.2f} of the variance of the scores"})
    _say_notes(result)
    if result["picture"] is not None:
        console.say(result["picture"])


def _curve_sentence(result: dict[str, Any]) -> str:
    first, last = result["points"][0], result["points"][-1]
    now = f"Trained on {first['rows']} rows this classifier has an AUC of about {first['auc']:.3f} on new rows"
    if last is first:
        return f"{now}."
    return (
        f"{now}; trained on {last['rows']} it can be expected to have {last['auc']:.3f} "
        f"({console.percent(result['level'])} interval {last['low']:.3f} to {last['high']:.3f})."
    )


def _say_notes(result: dict[str, Any]) -> None:
    if result["notes"]:
        console.say("")
        console.say_notes(result["notes"])
