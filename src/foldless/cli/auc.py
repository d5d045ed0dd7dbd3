"""``foldless auc FILE``: how good is a logistic regression on this table?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import columns, console, files
from foldless.cli.options import json_option, level_option, positive

MAX_ITER = 10_000
TOLERANCE = 1e-7  # the default stops early on wide tables, and the answer would carry a note about it

EXAMPLES = """\b
Examples:
  foldless auc patients.csv --target outcome
  foldless auc patients.csv --target outcome --positive died --drop patient_id
  foldless auc genes.tsv --target subtype --C 0.01 --level 0.9 --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", required=True, metavar="COLUMN", help="The column with the two classes.")
@click.option(
    "--positive", "positive_text", metavar="LABEL", help="The positive class; else the later in sorted order."
)
@click.option("--drop", multiple=True, metavar="COLUMN", help="A column to leave out; may be given several times.")
@click.option("--C", "C", type=float, default=1.0, show_default=True, callback=positive, help="Inverse L2 penalty.")
@click.option("--no-standardize", is_flag=True, help="Use the columns as they are; by default each gets unit variance.")
@level_option
@json_option
def auc(
    file: Path,
    target: str,
    positive_text: str | None,
    drop: tuple[str, ...],
    C: float,
    no_standardize: bool,
    level: float,
    as_json: bool,
) -> None:
    """Fit a logistic regression to FILE and say how good it will be on new rows.

    FILE is a CSV or TSV table with a header line: one column with two classes, the others numbers.
    Every row is used for the fit, and the answer comes from that one fit.
    """
    data = columns.split(files.read_table(file), target, drop, file)
    label = None if positive_text is None else columns.chosen_label(data.y, positive_text)
    result = answer(data, label, C, not no_standardize, level)
    if as_json:
        console.say_json({"file": str(file), "target": target, **result})
    else:
        show(result)


def answer(data: columns.Data, label: Any, C: float, standardize: bool, level: float) -> dict[str, Any]:
    """Everything that is printed, as a plain dict."""
    with console.gathered_warnings() as warned:
        model = fitted(data, C, standardize)
        area = fl.auc_posterior(model, data.X, data.y, pos_label=label)
        rates = fl.error_posterior(model, data.X, data.y, pos_label=label)
    low, high = area.interval(level)
    negative_label, positive_label = _class_names(data.y, label)
    return {
        "positive": positive_label,
        "negative": negative_label,
        "n_positive": area.n1,
        "n_negative": area.n0,
        "n_features": len(data.features),
        "classifier": {"name": "LogisticRegression", "C": C, "standardized": standardize},
        "method": area.method,
        "level": level,
        "auc": area.mean,
        "low": low,
        "high": high,
        "sd": area.sd,
        "prob_above_chance": area.prob_above(0.5),
        "sensitivity": _rate(rates.sensitivity, level),
        "specificity": _rate(rates.specificity, level),
        "error": _rate(rates.error, level),
        "notes": list(dict.fromkeys([*data.notes, *warned, *area.notes, *rates.notes])),
    }


def fitted(data: columns.Data, C: float, standardize: bool) -> Any:
    """The one fit."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scale = [StandardScaler()] if standardize else []
    try:
        return make_pipeline(*scale, LogisticRegression(C=C, tol=TOLERANCE, max_iter=MAX_ITER)).fit(data.X, data.y)
    except ValueError as err:  # numbers too large for the scaler or the solver
        raise fl.InputError(f"the classifier could not be fitted: {err}") from err


def _class_names(y: Any, label: Any) -> tuple[Any, Any]:
    first, second = sorted(set(y.tolist()))
    return (second, first) if label == first else (first, second)


def _rate(rate: Any, level: float) -> dict[str, float]:
    low, high = rate.interval(level)
    return {"mean": rate.mean, "low": low, "high": high}


def show(result: dict[str, Any]) -> None:
    """One sentence, the figures behind it, and every note."""
    console.say(_sentence(result), style="bold")
    console.say("")
    console.say_facts(_facts(result))
    if result["notes"]:
        console.say("")
        console.say_notes(result["notes"])


def _sentence(result: dict[str, Any]) -> str:
    level, low, high = console.percent(result["level"]), result["low"], result["high"]
    size = result["n_positive"] + result["n_negative"]
    return (
        f"On new rows this classifier, trained on all {size} rows, tells '{result['positive']}' from "
        f"'{result['negative']}' with an AUC of about {result['auc']:.3f} ({level} interval {low:.3f} to {high:.3f})"
        f"{_verdict(low, high)}"
    )


def _verdict(low: float, high: float) -> str:
    if low > 0.5:
        return "."
    return "; that may be no better than guessing." if high > 0.5 else "; that is worse than guessing."


def _facts(result: dict[str, Any]) -> dict[str, str]:
    classes = (("positive", "n_positive"), ("negative", "n_negative"))
    rows = ", ".join(f"{result[n]} '{result[name]}' ({name})" for name, n in classes)
    model = result["classifier"]
    scaled = "standardized columns" if model["standardized"] else "columns as they are"
    return {
        "AUC": f"{result['auc']:.3f}",
        f"{console.percent(result['level'])} interval": console.span(result["low"], result["high"]),
        "probability that AUC > 0.5": _probability(result["prob_above_chance"]),
        "sensitivity": _described(result["sensitivity"]),
        "specificity": _described(result["specificity"]),
        "rows": rows,
        "classifier": f"logistic regression, C = {model['C']:g}, {result['n_features']} {scaled}",
        "method": result["method"],
    }


def _probability(p: float) -> str:
    return "> 0.999" if p > 0.999 else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _described(rate: dict[str, float]) -> str:
    return f"{rate['mean']:.3f}   ({console.span(rate['low'], rate['high'])})"
