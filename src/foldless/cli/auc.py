"""``foldless auc FILE``: how good is a classifier on this table?"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless import words
from foldless.cli import console, picture, streamed
from foldless.cli.models import method_option, model_file_option
from foldless.cli.options import (
    SHARE,
    CommandOptions,
    as_finite,
    as_percent,
    data_options,
    picture_option,
    refuse_wrong_strength,
)
from foldless.cli.outputs import Outputs, output_options
from foldless.cli.request import Request, read
from foldless.results.auc import stated
from foldless.tables import is_out_of_core

RATES = ("sensitivity", "specificity", "ppv", "npv", "error")
EXAMPLES = """\b
Examples:
  foldless auc patients.csv --target outcome
  foldless auc patients.csv --target outcome --positive died --groups patient --strict
  foldless auc genes.tsv --target subtype --log --model ridge --C 0.01 --level 0.9 --json
  foldless auc visits.parquet --target relapse --groups patient --prevalence 0.05 --out auc.png
  foldless auc patients.csv --target outcome --scores scores.csv --save-model model.skops
  foldless auc patients.csv --target outcome --model-file model.skops
  foldless auc "big/*.parquet" --target outcome --scheduler tcp://host:8786
"""


@click.command(epilog=EXAMPLES)
@data_options(several=True)
@click.option("--prevalence", **SHARE, help="Share of positives in practice; by default as in FILE.")
@click.option(
    "--threshold",
    type=float,
    callback=as_finite,
    help="Rows with a higher probability count as positive; by default the classifier's own threshold.",
)
@click.option(
    "--decision-value",
    type=float,
    callback=as_finite,
    help="The threshold in units of decision_function, in place of a probability.",
)
@model_file_option
@method_option
@streamed.stream_option
@streamed.scheduler_option
@picture_option("A picture of the posterior and of the ROC curve")
@output_options
@click.pass_context
def auc(
    ctx: click.Context,
    /,
    options: CommandOptions,
    files: tuple[Path, ...],
    prevalence: float | None,
    threshold: float | None,
    decision_value: float | None,
    model_file: Path | None,
    method: str,
    stream: bool,
    scheduler: str | None,
    out: Path | None,
    scores: Path | None,
    save_model: Path | None,
) -> None:
    """Fit a classifier to FILE and say how good it will be on new rows.

    FILE is a table with a header line: CSV, TSV (also packed, .gz), Excel, SPSS, Stata, Parquet, or a NumPy archive
    .npz with X and y. One column holds the classes; of the others, text becomes categories and gaps are filled. Every
    row is used for the fit, and the answer comes from that one fit; l1, elasticnet, pls, forest and boosting are fitted
    20 more times, on parts of the rows. With three classes or more the AUC is the average over pairs of classes.

    Several Parquet files with the same columns, or a pattern that matches them, form one table. It is read in blocks
    and may be larger than memory; --stream and --scheduler read a single file this way. Tables read in blocks need two
    classes, columns of numbers without gaps, and logistic regression.
    """
    refuse_wrong_strength(ctx, options)
    path, outputs = picture.writable_path(out), Outputs(scores, save_model)
    in_blocks = stream or scheduler is not None or len(files) > 1
    with (
        streamed.opened(ctx, options, files, scheduler) if in_blocks else nullcontext(read(ctx, options, model_file))
    ) as request:
        result = answer(request, prevalence, Cut(threshold, decision_value), path, method, outputs)
    console.say_result(result, options.as_json, partial(show, request=request))


@dataclass(frozen=True)
class Cut:
    """The threshold that was asked for: a probability, a decision value, or none."""

    probability: float | None = None
    decision_value: float | None = None

    def __post_init__(self) -> None:
        if self.probability is not None and self.decision_value is not None:
            raise click.UsageError("--threshold and --decision-value do not go together: give one of them.")
        if self.probability is not None and not 0 < self.probability < 1:
            raise click.UsageError(
                f"--threshold is a probability, between 0 and 1, got {self.probability:g}"
                f"{as_percent(self.probability)}; for a threshold in units of decision_function use --decision-value "
                f"{self.probability:g}."
            )

    def rates(self, analysis: fl.Analysis, prevalence: float | None) -> fl.ErrorPosterior:
        """The rates there; a classifier without probabilities is told to take decision values."""
        if self.probability is None:
            return analysis.rates(self.decision_value, prevalence)
        try:
            return analysis.at(probability=self.probability, prevalence=prevalence)
        except fl.EstimatorError as err:
            way_out = f"use --decision-value for a threshold in units of decision_function. {err}"
            raise fl.InputError(f"--threshold is a probability: {way_out}") from err


def answer(
    request: Request,
    prevalence: float | None,
    cut: Cut,
    path: Path | None,
    method: str = "auto",
    outputs: Outputs = Outputs(),  # noqa: B008  # frozen
) -> dict[str, Any]:
    """Everything that is printed, as a plain dict; the picture and other files are written on the way."""
    given = {"--prevalence": prevalence, "--threshold": cut.probability, "--decision-value": cut.decision_value}
    for option in (name for name, value in given.items() if value is not None):
        request.two_classes_only(option)
    level, two = request.options.level, len(request.classes) == 2
    with console.gathered_warnings() as warned:
        analysis = request.judged(method=method)
        area = fl.auc_posterior(analysis)  # which emits the warnings of the analysis
        more, notes = _two_classes(request, analysis, prevalence, cut) if two else (_several_classes(area, level), ())
    low, high = area.interval(level)
    return {
        **request.facts(),
        **more,
        "n_features": len(request.features),
        # Columns that the classifier sees, once text has become categories; unknown where it was refitted.
        "n_encoded": None if analysis.by_refits else int(analysis.view.X.shape[1]),
        "classifier": request.classifier,
        "method": area.method,
        "level": level,
        "auc": area.mean,
        "low": low,
        "high": high,
        "sd": area.sd,
        "prob_above_chance": area.prob_above(0.5),
        **request.doubts(analysis, warned, area.notes, notes),
        "picture": picture.write(path, partial(_draw, analysis=analysis, level=level), width=10.0 if two else 6.0),
        **outputs.write(request, analysis),
    }


def _two_classes(
    request: Request, analysis: fl.Analysis, prevalence: float | None, cut: Cut
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What there is for two classes only: rates at a threshold and a prevalence."""
    rates = cut.rates(analysis, prevalence)
    negative, positive = request.classes
    return {
        "positive": positive,
        "negative": negative,
        "n_positive": rates.n1,
        "n_negative": rates.n0,
        "threshold": rates.threshold,
        "probability": rates.probability,
        "prevalence": rates.prevalence,
        **{name: stated(getattr(rates, name), request.options.level) for name in RATES},
    }, rates.notes + _on_risks(analysis, request.options.level)


def _on_risks(analysis: fl.Analysis, level: float) -> tuple[str, ...]:
    """Whether predicted probabilities are wrong, of which the verdict, on the AUC, says nothing."""
    try:
        return () if is_out_of_core(analysis.X, analysis.y) else analysis.calibration.doubts(level)
    except (fl.EstimatorError, fl.InputError):  # it has none
        return ()


def _several_classes(area: Any, level: float) -> dict[str, Any]:
    """What there is for more than two classes: every pair, and each class against the rest."""
    kept = ("classes", "counts", "multi_class", "pairwise", "against_rest")
    return {key: value for key, value in area.summary(level).items() if key in kept}


def _draw(figure: Any, analysis: fl.Analysis, level: float) -> None:
    if isinstance(analysis.auc, fl.MulticlassAUCPosterior):
        fl.PairwiseAUCDisplay.from_posterior(analysis.auc, level=level, ax=figure.subplots())
        return
    left, right = figure.subplots(1, 2)
    fl.AUCPosteriorDisplay.from_posterior(analysis.auc, level=level, ax=left)
    fl.ROCPosteriorDisplay.from_posterior(analysis.roc, level=level, ax=right)


MOST_CLASSES = 8  # classes whose matrix fits a terminal
METHODS = {
    "refit": "every row judged by refits that lack it",
    "loo": "every row judged as if it had not been in the fit",
    "loo-surrogate": "every row judged as if it had not been in the fit, by the nearest ridge regression",
}


def _how(method: str, request: Request) -> str:
    """What was done to judge a row, in words; rows of a group are judged together."""
    words = METHODS[method]
    return words if request.groups is None else words.replace("every row", "every group of rows", 1)


def show(result: dict[str, Any], request: Request) -> None:
    """One sentence, the figures behind it, and every note."""
    several = "classes" in result
    console.say(_sentence(result, several) + request.positive_words, style="bold")
    console.say_verdict(result["verdict"])
    _say_pairs(result) if several else console.say("")
    console.say_facts(_facts(result, request, several))
    console.say_ending(result["notes"], result["picture"], result.get("scores"), result.get("saved_model"))


def _sentence(result: dict[str, Any], several: bool) -> str:
    size = sum(result["counts"]) if several else result["n_positive"] + result["n_negative"]
    what = f"'{result.get('positive')}' from '{result.get('negative')}'"
    if several:
        what = f"two of its {len(result['classes'])} classes apart"
    average = " on average" if several else ""
    return (
        f"On new rows this classifier, trained on all {size} rows, tells {what} with an AUC of about "
        f"{words.rate(result['auc'])} ({words.interval(result)}){average}{_against_guessing(result)}"
    )


def _against_guessing(result: dict[str, Any]) -> str:
    if result["low"] > 0.5:
        return "."
    return "; that may be no better than guessing." if result["high"] > 0.5 else "; that is worse than guessing."


def _facts(result: dict[str, Any], request: Request, several: bool) -> dict[str, str]:
    if several:
        area = {"average AUC": f"{words.rate(result['auc'])}   (over pairs of classes, Hand and Till)"}
    else:
        area = {"AUC": words.rate(result["auc"])}
    return {
        **area,
        f"{words.percent(result['level'])} interval": words.span(result["low"], result["high"]),
        "probability that AUC > 0.5": words.rate(result["prob_above_chance"]),
        **({} if several else _rate_facts(result)),
        "rows": request.class_counts,
        "classifier": request.classifier_words + _encoding(result),
        "method": f"{result['method']}   ({_how(result['method'], request)})",
        **request.table_facts(),
    }


def _encoding(result: dict[str, Any]) -> str:
    more = result["n_encoded"] not in (None, result["n_features"])
    return f" ({result['n_encoded']} columns after encoding)" if more else ""


def _rate_facts(result: dict[str, Any]) -> dict[str, str]:
    at = result["probability"]
    where = f"at decision value {result['threshold']:g}" if at is None else f"at a predicted probability of {at:.4g}"
    among = f"{where}, where {words.percent(round(result['prevalence'], 4))} are positive"
    places = {"sensitivity": where, "specificity": where, "PPV": among, "NPV": among}
    return {name: f"{_described(result[name.lower()])}   {place}" for name, place in places.items()}


def _say_pairs(result: dict[str, Any]) -> None:
    """The AUC of each two classes as a matrix; the worst pairs as a list where there are many classes."""
    classes, pairs = result["classes"], result["pairwise"]
    if len(classes) > MOST_CLASSES:
        worst = sorted(pairs, key=lambda pair: float(pair["auc"]))[: MOST_CLASSES + 2]
        console.say_table(
            ("hardest to tell apart", "AUC", f"{words.percent(result['level'])} interval"),
            [(_named(pair), words.rate(pair["auc"]), words.span(pair["low"], pair["high"])) for pair in worst],
        )
        return
    aucs = {frozenset(map(str, pair["classes"])): words.rate(pair["auc"]) for pair in pairs}
    names = [str(label) for label in classes]
    console.say_table(
        ("AUC", *names), [(row, *(aucs.get(frozenset((row, column)), "") for column in names)) for row in names]
    )


def _named(pair: dict[str, Any]) -> str:
    return " and ".join(f"'{label}'" for label in pair["classes"])


def _described(rate: dict[str, float]) -> str:
    return f"{words.rate(rate['mean'])}   ({words.span(rate['low'], rate['high'])})"
