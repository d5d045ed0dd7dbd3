"""``foldless compare FILE``: which classifier is the better one on this table?"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import columns, console, files
from foldless.cli.auc import MAX_ITER, TOLERANCE
from foldless.cli.options import json_option, level_option, positive

DEFAULT_SHRINKAGE = 0.1
EXAMPLES = """\b
Examples:
  foldless compare patients.csv --target outcome --models logistic,lda,ridge
  foldless compare patients.csv --target outcome --models logistic=0.01,logistic=1 --rope 0.01
  foldless compare genes.tsv --target subtype --models ridge=100,lda=0.5,svm --json
"""


def _logistic(C: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, tol=TOLERANCE, max_iter=MAX_ITER)


def _ridge(alpha: float) -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(alpha=alpha)


def _svm(C: float) -> Any:
    from sklearn.svm import LinearSVC

    # The dual solver, the default for wide tables, is seldom at its optimum after 1000 rounds.
    return LinearSVC(C=C, dual=False, tol=TOLERANCE, max_iter=MAX_ITER)


def _lda(shrinkage: float) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)


# name -> the parameter that `=` sets, and the classifier with it
FAMILIES: dict[str, tuple[str, Callable[[float], Any]]] = {
    "logistic": ("C", _logistic),
    "ridge": ("alpha", _ridge),
    "svm": ("C", _svm),
    "lda": ("shrinkage", _lda),
}


def parsed_models(ctx: click.Context, param: click.Parameter, value: str) -> list[tuple[str, float | None]]:
    """'logistic=0.01,lda' -> [('logistic', 0.01), ('lda', None)]."""
    words = [word.strip() for word in value.split(",") if word.strip()]
    found = [_parsed(word) for word in words]
    if len(found) < 2:
        raise click.BadParameter(f"needs two classifiers or more, separated by commas, got {value!r}.")
    if len(set(found)) < len(found):
        raise click.BadParameter(f"names the same classifier twice: {value!r}.")
    return found


def _parsed(word: str) -> tuple[str, float | None]:
    name, equals, text = (part.strip() for part in word.partition("="))
    if name.lower() not in FAMILIES:
        raise click.BadParameter(f"{name!r} is none of {', '.join(FAMILIES)}.")
    if not equals:
        return name.lower(), None
    parameter = FAMILIES[name.lower()][0]
    top = 1.0 if parameter == "shrinkage" else math.inf  # at 1 nothing is left of the covariance
    try:
        strength = float(text)
    except ValueError:
        strength = math.nan
    if not 0 < strength < top:
        wanted = "a number above 0 and below 1" if top == 1 else "a number above 0"
        raise click.BadParameter(f"{parameter} of {name} must be {wanted}, got {text!r}.")
    return name.lower(), strength


def share(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A difference of two AUCs, from 0 to 1."""
    if not 0 <= value < 1:
        raise click.BadParameter(f"must be a difference of AUCs from 0 to 1, such as 0.01, got {value:g}.")
    return value


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", required=True, metavar="COLUMN", help="The column with the two classes.")
@click.option(
    "--models",
    required=True,
    metavar="LIST",
    callback=parsed_models,
    help="Classifiers, separated by commas: logistic, ridge, svm, lda; a strength may follow, as in logistic=0.01 "
    "(C), ridge=100 (alpha), svm=0.1 (C), lda=0.5 (shrinkage).",
)
@click.option(
    "--positive", "positive_text", metavar="LABEL", help="The positive class; else the later in sorted order."
)
@click.option("--drop", multiple=True, metavar="COLUMN", help="A column to leave out; may be given several times.")
@click.option(
    "--C",
    "C",
    type=float,
    default=1.0,
    show_default=True,
    callback=positive,
    help="Inverse penalty where none is named: C of logistic and svm, 1/alpha of ridge; lda takes shrinkage 0.1.",
)
@click.option(
    "--rope", type=float, default=0.0, show_default=True, callback=share, help="AUCs this close count as equal."
)
@click.option("--no-standardize", is_flag=True, help="Use the columns as they are; by default each gets unit variance.")
@level_option
@json_option
def compare(
    file: Path,
    target: str,
    models: list[tuple[str, float | None]],
    positive_text: str | None,
    drop: tuple[str, ...],
    C: float,
    rope: float,
    no_standardize: bool,
    level: float,
    as_json: bool,
) -> None:
    """Fit several classifiers to FILE and say which will be the best on new rows.

    FILE is a CSV or TSV table with a header line: one column with two classes, the others numbers. Every classifier is
    fitted once, to all rows; what their estimates have in common is taken into account.
    """
    data = columns.split(files.read_table(file), target, drop, file)
    label = None if positive_text is None else columns.chosen_label(data.y, positive_text)
    result = answer(data, label, models, C, rope, not no_standardize, level)
    if as_json:
        console.say_json({"file": str(file), "target": target, **result})
    else:
        show(result)


def answer(
    data: columns.Data,
    label: Any,
    models: list[tuple[str, float | None]],
    C: float,
    rope: float,
    standardize: bool,
    level: float,
) -> dict[str, Any]:
    """Everything that is printed, as a plain dict."""
    with console.gathered_warnings() as warned:
        fits = {name: _fitted(model, data, standardize) for name, model in _named(models, C).items()}
        ranking = fl.compare_many(fits, data.X, data.y, pos_label=label)
    rows = ranking.summary(level)
    pair = ranking.between(rows[0]["name"], rows[1]["name"], rope=rope).summary(level)
    return {
        "n_positive": pair["n1"],
        "n_negative": pair["n0"],
        "n_features": len(data.features),
        "standardized": standardize,
        "method": ranking.method,
        "level": level,
        "models": rows,
        "first_two": {k: v for k, v in pair.items() if k not in ("notes", "level", "n0", "n1", "method")},
        "notes": list(dict.fromkeys([*data.notes, *_unsaid(warned, ranking.notes), *ranking.notes])),
    }


def _unsaid(warned: list[str], notes: tuple[str, ...]) -> list[str]:
    """Warnings that are not among the notes anyway."""
    return [w for w in warned if not any(w.endswith(note) or note.endswith(w) for note in notes)]


def _named(models: list[tuple[str, float | None]], C: float) -> dict[str, Any]:
    """Unfitted classifiers by a name that tells their setting."""
    found = {}
    for family, strength in models:
        parameter, make = FAMILIES[family]
        default = {"C": C, "alpha": 1 / C, "shrinkage": DEFAULT_SHRINKAGE}[parameter]
        value = default if strength is None else strength
        found[f"{family}, {parameter} = {value:g}"] = make(value)
    if len(found) < len(models):
        raise fl.InputError("--models names the same classifier twice: give each another strength.")
    return found


def _fitted(model: Any, data: columns.Data, standardize: bool) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scale = [StandardScaler()] if standardize else []
    try:
        return make_pipeline(*scale, model).fit(data.X, data.y)
    except ValueError as err:  # numbers too large for the scaler or the solver
        raise fl.InputError(f"{type(model).__name__} could not be fitted: {err}") from err


def show(result: dict[str, Any]) -> None:
    """One sentence, the table, the difference of the first two, and every note."""
    console.say(_sentence(result), style="bold")
    console.say("")
    table = console.new_table("model", "P(best)", "AUC", f"{console.percent(result['level'])} interval")
    for row in result["models"]:
        table.add_row(
            row["name"], f"{row['prob_best']:.3f}", f"{row['auc']:.3f}", console.span(row["low"], row["high"])
        )
    console.stdout().print(table)
    console.say_facts(_facts(result))
    if result["notes"]:
        console.say("")
        console.say_notes(result["notes"])


def _sentence(result: dict[str, Any]) -> str:
    pair, best = result["first_two"], result["models"][0]
    size = result["n_positive"] + result["n_negative"]
    return (
        f"On new rows, of {len(result['models'])} classifiers trained on all {size} rows, '{best['name']}' has the "
        f"largest AUC with probability {best['prob_best']:.2f}; it is ahead of '{pair['b']}' by "
        f"{pair['difference']:+.3f} ({console.percent(result['level'])} interval {pair['low']:+.3f} to "
        f"{pair['high']:+.3f})."
    )


def _facts(result: dict[str, Any]) -> dict[str, str]:
    pair = result["first_two"]
    facts = {"first against second": f"better with probability {pair['prob_a_better']:.3f}"}
    if pair["rope"]:
        facts["first against second"] = (
            f"better by more than {pair['rope']:g} with probability {pair['prob_a_better']:.3f}"
        )
        facts[f"equal within {pair['rope']:g}"] = f"{pair['prob_rope']:.3f}"
    scaled = "standardized columns" if result["standardized"] else "columns as they are"
    return {
        **facts,
        "rows": f"{result['n_positive']} positive, {result['n_negative']} negative; {result['n_features']} {scaled}",
        "method": result["method"],
    }
