"""``foldless compare FILE``: which classifier is the better one on this table?"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless import words
from foldless.cli import console, picture
from foldless.cli.models import CLASSIFIERS, load_model, model_file_option
from foldless.cli.options import (
    CommandOptions,
    as_words,
    data_options,
    picture_option,
    refuse_given,
    refuse_wrong_strength,
)
from foldless.cli.request import Request, read_file

Models = list[tuple[str, float | None]]
SAME_RANKING = (
    "Both rank all rows alike, so their AUCs on new rows are the same; the two estimates differ by estimation noise "
    "only."
)
EXPLAINED_ABOVE = 0.01  # a larger gap between the stated difference and that of the two AUCs is explained
EXAMPLES = """\b
Examples:
  foldless compare patients.csv --target outcome --models logistic,lda,ridge
  foldless compare patients.csv --target outcome --models logistic=0.01,logistic=1 --rope 0.01
  foldless compare genes.tsv --target subtype --log --models ridge=100,lda=0.5,svm --json
  foldless compare patients.csv --target outcome --models logistic,forest,boosting
  foldless compare patients.csv --target outcome --models logistic --model-file theirs.skops --out compare.png
  foldless compare patients.csv --target outcome --columns clinical.txt --and-columns 'bio_*' --rope 0.01
"""


def parsed_models(ctx: click.Context, param: click.Parameter, value: str | None) -> Models | None:
    """'logistic=0.01,lda' -> [('logistic', 0.01), ('lda', None)]."""
    if value is None:
        return None
    models = [_parsed(part.strip()) for part in value.split(",") if part.strip()]
    if len(set(models)) < len(models):
        raise click.BadParameter(f"names the same classifier twice: {value!r}.")
    return models


def _parsed(text: str) -> tuple[str, float | None]:
    name, equals, number = (part.strip() for part in text.partition("="))
    kind = CLASSIFIERS.get(name.lower())
    if kind is None:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(CLASSIFIERS)}.")
    if not equals:
        return name.lower(), None
    try:
        strength = float(number)
    except ValueError:
        strength = math.nan
    if not kind.accepts(strength):
        raise click.BadParameter(f"{kind.parameter} of {name} must be a number {kind.legal}, got {number!r}.")
    return name.lower(), strength


def difference(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A difference of two AUCs, from 0 to 1."""
    if not 0 <= value < 1:
        raise click.BadParameter(f"must be a difference of AUCs from 0 to 1, such as 0.01, got {value:g}.")
    return value


@click.command(epilog=EXAMPLES)
@data_options()
@click.option(
    "--models",
    metavar="LIST",
    callback=parsed_models,
    help="Classifiers, separated by commas: logistic, ridge, svm, lda, l1, elasticnet, pls, forest, boosting; a "
    "strength may follow, as in logistic=0.01 (C), ridge=100 (alpha), svm=0.1 (C), lda=0.5 (shrinkage), l1=0.1 (C), "
    "pls=3 (components), forest=500 (trees).",
)
@click.option(
    "--and-columns",
    metavar="LIST",
    callback=as_words,
    help="Columns that a second model has in addition to --columns: does it get better by them?",
)
@click.option(
    "--rope", type=float, default=0.0, show_default=True, callback=difference, help="AUCs this close count as equal."
)
@model_file_option
@picture_option("A picture of the difference of the first two")
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    options: CommandOptions,
    models: Models | None,
    and_columns: tuple[str, ...] | None,
    rope: float,
    model_file: Path | None,
    out: Path | None,
) -> None:
    """Fit several classifiers to FILE and say which will be the best on new rows.

    Every classifier is fitted once, to all rows; that all estimates come from the same rows is taken into account. With
    l1, elasticnet, pls, forest or boosting among them, all are fitted 20 more times, on the same parts of the rows. --C
    and --shrinkage are for classifiers whose strength is not given in --models.

    With --columns and --and-columns one classifier, that of --model, is fitted twice: without the added columns and
    with them.
    """
    path = picture.writable_path(out)
    if and_columns is None:
        _refuse_too_few(ctx, models, model_file)
    else:
        _refuse_others(ctx, options)
    request = read_file(replace(options, added=and_columns or ()), load_model(model_file))
    result, pair = answer(request, models or [], rope)

    def draw(figure: Any) -> None:
        fl.ComparisonDisplay.from_comparison(pair, level=options.level, ax=figure.subplots())

    result["picture"] = picture.write(path, draw, width=10.0)  # the names of two classifiers are long
    console.say_result(result, options.as_json, partial(show, request=request))


def _refuse_too_few(ctx: click.Context, models: Models | None, model_file: Path | None) -> None:
    refuse_given(ctx, ["model"], "is for one classifier: name them all in --models.")
    if model_file is not None:
        refuse_given(ctx, ["columns"], "does not go with --model-file, which has its own columns.")
    if models is None:
        raise click.UsageError("Missing option '--models', or --columns and --and-columns.")
    if len(models) + (model_file is not None) < 2:
        what = "needs two classifiers or more, separated by commas, such as logistic,lda."
        raise click.BadParameter(what, param_hint="'--models'")


def _refuse_others(ctx: click.Context, options: CommandOptions) -> None:
    refuse_given(ctx, ["models", "model_file"], "does not go with --and-columns: name one classifier with --model.")
    refuse_wrong_strength(ctx, options)
    if options.columns is None:
        raise click.UsageError("--and-columns needs --columns: what a first model has, and what a second adds.")


def answer(request: Request, models: Models, rope: float) -> tuple[dict[str, Any], Any]:
    """Everything that is printed, as a plain dict; and the comparison of the first two."""
    level, sets = request.options.level, request.columns_of_sets
    with console.gathered_warnings() as warned:
        fits = _on_sets(request, *sets) if sets else {n: request.fitted(m) for n, m in _named(models, request).items()}
        if request.saved is not None:
            fits[f"{request.saved.name} from {request.saved.path.name}"] = request.saved.model
        analyses = {name: request.judged(fit) for name, fit in fits.items()}
        ranking = fl.compare_many(analyses)
    rows = ranking.summary(level)
    if sets:  # the larger model first, whichever is better
        rows.sort(key=lambda row: list(fits).index(row["name"]))
    first_two = ranking.between(rows[0]["name"], rows[1]["name"], rope=rope)
    pair, two = first_two.summary(level), len(request.labels) == 2
    result = {
        **request.facts(),
        **({"n_positive": pair["n1"], "n_negative": pair["n0"]} if two else {"counts": request.sizes}),
        "n_features": len(request.features),
        "standardized": request.preparation.standardize,
        "method": ranking.method,
        "level": level,
        "models": rows,
        "first_two": {k: v for k, v in pair.items() if k not in ("notes", "level", "n0", "n1", "method")},
        **({"columns": sets[0], "added_columns": sets[1], "gain": gain(first_two)} if sets else {}),
        **request.doubts(analyses[rows[0]["name"]], _new_warnings(warned, ranking.notes), ranking.notes),
    }
    return result, first_two


def _on_sets(request: Request, first: tuple[str, ...], added: tuple[str, ...]) -> dict[str, Any]:
    """One classifier, fitted to all columns and to the first ones."""
    columns = {f"with {words.counted(len(added), 'more column')}": (*first, *added), "without": first}
    steps = {name: request.preparation.among(chosen) for name, chosen in columns.items()}
    return {name: replace(request, preparation=each).fitted() for name, each in steps.items()}


SURE = 0.95  # probability from which on the answer says that a gain matters, or that it does not


def gain(pair: fl.Comparison) -> str:
    """Whether the columns help, in one word: "yes", "no" (an equal or smaller AUC) or "undecided"."""
    if pair.difference.exactly_zero or pair.prob_rope + pair.prob_b_better >= SURE:
        return "no"
    return "yes" if pair.prob_a_better >= SURE else "undecided"


def _new_warnings(warned: list[str], notes: tuple[str, ...]) -> list[str]:
    """Warnings that say something the notes do not."""
    return [w for w in warned if not any(w.endswith(note) or note.endswith(w) for note in notes)]


def _named(models: Models, request: Request) -> dict[str, Any]:
    """Unfitted pipelines, each under a name that gives the setting of its classifier."""
    named, options = {}, request.options
    for name, given_value in models:
        kind = CLASSIFIERS[name]
        value = kind.strength(options.C, options.shrinkage) if given_value is None else given_value
        named[f"{name}, {kind.setting(value)}"] = request.unfitted(name, value)
    if len(named) < len(models):
        raise fl.InputError("--models names the same classifier twice: give each another strength.")
    return named


def show(result: dict[str, Any], request: Request) -> None:
    """One sentence, the table, the difference of the first two, and every note."""
    sentence = _gain_sentence(result) if "gain" in result else _sentence(result)
    console.say(sentence + request.positive_words, style="bold")
    console.say_verdict(result["verdict"])
    console.say_table(
        ("model", "P(best)", "AUC", f"{words.percent(result['level'])} interval"),
        [
            (row["name"], words.share(row["prob_best"]), words.rate(row["auc"]), words.span(row["low"], row["high"]))
            for row in result["models"]
        ],
    )
    if (remark := disagreement(result)) is not None:
        console.say(remark)
        console.say("")
    console.say_facts(_facts(result, request))
    console.say_ending(result["notes"], result["picture"])


def _sentence(result: dict[str, Any]) -> str:
    pair, best = result["first_two"], result["models"][0]
    several = "counts" in result
    size = sum(result["counts"].values()) if several else result["n_positive"] + result["n_negative"]
    if pair["alike"] and len(result["models"]) == 2:
        return f"'{pair['a']}' and '{pair['b']}' rank all rows alike: their AUCs on new rows are the same."
    second = f"so has '{pair['b']}', which ranks all rows alike"
    if not pair["alike"]:
        second = (
            f"it is ahead of '{pair['b']}' by {pair['difference']:+.3f} ({words.percent(result['level'])} interval "
            f"{pair['low']:+.3f} to {pair['high']:+.3f})"
        )
    return (
        f"On new rows, of {len(result['models'])} classifiers trained on all {size} rows, '{best['name']}' has the "
        f"largest {'average AUC over pairs of classes' if several else 'AUC'} with probability "
        f"{best['prob_best']:.2f}; {second}."
    )


def _gain_sentence(result: dict[str, Any]) -> str:
    pair, rope = result["first_two"], result["first_two"]["rope"]
    added, first = words.counted(len(result["added_columns"]), "column"), len(result["columns"])
    makes = "makes" if pair["low"] > rope else "very likely makes"  # its interval has two ends, `SURE` has one
    answers = {"yes": makes, "no": "does not make", "undecided": "may make"}
    return (
        f"Adding {added} to {first} {answers[result['gain']]} this classifier better"
        f"{f' by more than {rope:g}' if rope else ''}{'; these rows do not decide' * (result['gain'] == 'undecided')}: "
        f"on new rows the {'average ' if 'counts' in result else ''}AUC changes by {pair['difference']:+.3f} "
        f"({words.percent(result['level'])} interval {pair['low']:+.3f} to {pair['high']:+.3f})."
    )


def disagreement(result: dict[str, Any]) -> str | None:
    """Why the difference is not that of the two AUCs, where a reader would notice."""
    first, second = result["models"][:2]
    if result["first_two"]["alike"]:
        return None if round(first["auc"], 3) == round(second["auc"], 3) else SAME_RANKING
    apart, stated = (round(value, 3) for value in (first["auc"] - second["auc"], result["first_two"]["difference"]))
    if apart * stated >= 0 and abs(apart - stated) <= EXPLAINED_ABOVE:
        return None
    return (
        f"The two AUCs differ by {apart:+.3f}, and the difference is put at {stated:+.3f}: it is estimated from ranks "
        f"on the same rows and pulled towards 0 where little is known, so it need not equal the difference of the two "
        f"AUCs (docs/compare.md)."
    )


def _facts(result: dict[str, Any], request: Request) -> dict[str, str]:
    pair = result["first_two"]
    versus = "with against without" if "gain" in result else "first against second"
    facts = {versus: f"better with probability {words.rate(pair['prob_a_better'])}"}
    if pair["alike"]:
        facts[versus] = "the same ranks"
    elif pair["rope"]:
        facts[versus] = f"better by more than {pair['rope']:g} with probability {words.rate(pair['prob_a_better'])}"
        facts[f"equal within {pair['rope']:g}"] = words.rate(pair["prob_rope"])
    more = {"columns": request.columns_words}
    if "gain" in result:
        more = {"columns": words.listed(result["columns"]), "added": words.listed(result["added_columns"])}
        more["classifier"] = request.classifier_words
    return {
        **facts,
        "rows": request.class_counts,
        **more,
        "method": result["method"],
        **request.table_facts(),
    }
