"""``foldless auc FILE``: how good is a linear classifier on this table?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless import words
from foldless.cli import console, saved, streamed
from foldless.cli.options import Ask, data_options, given, maybe_share, picture_option
from foldless.cli.problem import Problem, class_counts, group_facts, problem_of
from foldless.words import visible

# ---- ``foldless auc FILE``: how good is a linear classifier on this table?

RATES = ("sensitivity", "specificity", "ppv", "npv", "error")
EXAMPLES = """\b
Examples:
  foldless auc patients.csv --target outcome
  foldless auc patients.csv --target outcome --positive died --id patient --impute median --one-hot
  foldless auc genes.tsv --target subtype --log --model ridge --C 0.01 --level 0.9 --json
  foldless auc visits.parquet --target relapse --groups patient --prevalence 0.05 --out auc.png
  foldless auc patients.csv --target outcome --model-file model.skops
  foldless auc "big/*.parquet" --target outcome --scheduler tcp://host:8786
"""


def finite_or_none(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A finite number, if given."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"must be a finite number, got {value:g}.")
    return value


@click.command(epilog=EXAMPLES)
@data_options(several=True)
@click.option("--prevalence", type=float, callback=maybe_share, help="Share of positives in practice; else as in FILE.")
@click.option(
    "--threshold",
    type=float,
    callback=finite_or_none,
    help="Scores above it count as positive; by default the classifier's own, mostly 0.",
)
@saved.model_file_option
@streamed.stream_option
@streamed.scheduler_option
@picture_option("A picture of the posterior and of the ROC curve")
@click.pass_context
def auc(
    ctx: click.Context,
    /,
    ask: Ask,
    files: tuple[Path, ...],
    prevalence: float | None,
    threshold: float | None,
    model_file: Path | None,
    stream: bool,
    scheduler: str | None,
    out: Path | None,
) -> None:
    """Fit a linear classifier to FILE and say how good it will be on new rows.

    FILE is a table with a header line: CSV, TSV (also packed, .gz), Parquet, or a NumPy archive .npz with X and y. One
    column holds the classes, the others numbers. Every row is used for the fit, and the answer comes from that one
    fit. With three classes or more the AUC is the average over pairs of classes.

    Several Parquet files with the same columns, or a pattern, are one table. It is read in blocks, also with --stream
    or --scheduler, and may be larger than memory: logistic regression, two classes, columns of numbers without gaps.
    """
    refuse_wrong_strength(ctx, ask)
    path = console.checked(out)
    in_blocks = stream or scheduler is not None or len(files) > 1
    with streamed.opened(ctx, ask, files, scheduler) if in_blocks else _whole(ctx, ask, model_file) as problem:
        result = told(problem, prevalence, threshold, path)
    if ask.as_json:
        console.say_json(result)
    else:
        show(result, problem)


@contextmanager
def _whole(ctx: click.Context, ask: Ask, model_file: Path | None) -> Iterator[Problem]:
    yield read(ctx, ask, model_file)


def told(problem: Problem, prevalence: float | None, threshold: float | None, path: Path | None) -> dict[str, Any]:
    """The answer, and the picture if there is to be one."""
    if prevalence is not None or threshold is not None:
        problem.two_classes_only("--prevalence" if prevalence is not None else "--threshold")
    result, posterior, model = answer(problem, prevalence, threshold)
    if path is not None:
        console.write(path, lambda figure: _draw(figure, problem, posterior, model), width=10.0 if model else 6.0)
    result["picture"] = None if path is None else str(path)
    return result


def read(ctx: click.Context, ask: Ask, model_file: Path | None) -> Problem:
    """The problem, with a saved model where one was named."""
    if model_file is None:
        return problem_of(ask)
    saved.refuse_own_steps(ctx)
    return problem_of(ask, saved.load(model_file))


def refuse_wrong_strength(ctx: click.Context, ask: Ask) -> None:
    """C is not a parameter of lda, nor shrinkage one of the others."""
    if ask.model == "lda" and given(ctx, "C"):
        raise click.UsageError("--C is not for lda: use --shrinkage.")
    if ask.model != "lda" and given(ctx, "shrinkage"):
        raise click.UsageError(f"--shrinkage is for lda, and the model is {ask.model}: use --C, or --model lda.")


def answer(problem: Problem, prevalence: float | None, threshold: float | None) -> tuple[dict[str, Any], Any, Any]:
    """Everything that is printed, as a plain dict; the posterior; the model where the ROC curve can be drawn."""
    level, two = problem.ask.level, len(problem.classes) == 2
    with console.gathered_warnings() as warned:
        model = problem.fitted()
        how = {"pos_label": problem.positive, "groups": problem.groups}
        area = fl.auc_posterior(model, problem.X, problem.y, **how)
        more, notes = _two_classes(problem, area, model, prevalence, threshold) if two else _several(area, level)
    low, high = area.interval(level)
    result = {
        **problem.facts(),
        **more,
        "n_features": len(problem.features),
        "classifier": problem.classifier,
        "method": area.method,
        "level": level,
        "auc": area.mean,
        "low": low,
        "high": high,
        "sd": area.sd,
        "prob_above_chance": area.prob_above(0.5),
        "notes": problem.all_notes(warned, area.notes, notes),
    }
    return result, area, model if two else None


def _two_classes(
    problem: Problem, area: Any, model: Any, prevalence: float | None, threshold: float | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What there is for two classes only: rates at a threshold and a prevalence."""
    rates = fl.error_posterior(
        model,
        problem.X,
        problem.y,
        pos_label=problem.positive,
        groups=problem.groups,
        threshold=threshold,
        prevalence=prevalence,
    )
    negative, positive = problem.classes
    counts = {"positive": positive, "negative": negative, "n_positive": area.n1, "n_negative": area.n0}
    where = {"threshold": rates.threshold, "prevalence": rates.prevalence}
    return {**counts, **where, **{name: _rate(getattr(rates, name), problem.ask.level) for name in RATES}}, rates.notes


def _several(area: Any, level: float) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What there is for more than two classes: every pair, and each class against the rest."""
    kept = ("classes", "counts", "multi_class", "pairwise", "against_rest")
    return {key: value for key, value in area.summary(level).items() if key in kept}, ()


def _rate(rate: Any, level: float) -> dict[str, float]:
    low, high = rate.interval(level)
    return {"mean": rate.mean, "low": low, "high": high}


def _draw(figure: Any, problem: Problem, posterior: Any, model: Any) -> None:
    level = problem.ask.level
    if model is None:
        fl.PairwiseAUCDisplay.from_posterior(posterior, level=level, ax=figure.subplots())
        return
    left, right = figure.subplots(1, 2)
    fl.AUCPosteriorDisplay.from_posterior(posterior, level=level, ax=left)
    with console.gathered_warnings():  # said once already
        curve = fl.roc_posterior(model, problem.X, problem.y, pos_label=problem.positive, groups=problem.groups)
        fl.ROCPosteriorDisplay.from_posterior(curve, level=level, ax=right)


# ---- The answer of ``foldless auc`` in words.

METHODS = {
    "loo": "every row judged as if it had not been in the fit",
    "loo-surrogate": "every row judged as if it had not been in the fit, by the nearest ridge regression",
}
MOST_CLASSES = 8  # classes whose matrix fits a terminal


def show(result: dict[str, Any], problem: Problem) -> None:
    """One sentence, the figures behind it, and every note."""
    several = "classes" in result
    console.say(_average_sentence(result) if several else _sentence(result), style="bold")
    if several:
        _say_pairs(result)
    else:
        console.say("")
    console.say_facts(
        {**(_average_facts(result) if several else _facts(result, problem)), **_common_facts(result, problem)}
    )
    if result["notes"]:
        console.say("")
        console.say_notes(result["notes"])
    if result["picture"] is not None:
        console.say(result["picture"])


def _sentence(result: dict[str, Any]) -> str:
    size = result["n_positive"] + result["n_negative"]
    return (
        f"On new rows this classifier, trained on all {size} rows, tells '{result['positive']}' from "
        f"'{result['negative']}' with an AUC of about {_figure(result)}{_verdict(result)}"
    )


def _average_sentence(result: dict[str, Any]) -> str:
    return (
        f"On new rows this classifier, trained on all {sum(result['counts'])} rows, tells two of its "
        f"{len(result['classes'])} classes apart with an AUC of about {_figure(result)} on average{_verdict(result)}"
    )


def _figure(result: dict[str, Any]) -> str:
    interval = f"{words.percent(result['level'])} interval {result['low']:.3f} to {result['high']:.3f}"
    return f"{result['auc']:.3f} ({interval})"


def _verdict(result: dict[str, Any]) -> str:
    if result["low"] > 0.5:
        return "."
    return "; that may be no better than guessing." if result["high"] > 0.5 else "; that is worse than guessing."


def _common_facts(result: dict[str, Any], problem: Problem) -> dict[str, str]:
    method = f"{result['method']}   ({METHODS[result['method']]})"
    facts = {"classifier": problem.classifier_words, "method": method, "read as": result["read_as"]}
    return {**group_facts(problem), **facts}


def _facts(result: dict[str, Any], problem: Problem) -> dict[str, str]:
    positive, negative = (result["positive"], result["n_positive"]), (result["negative"], result["n_negative"])
    where = f"at threshold {result['threshold']:g}"
    share = f"where {words.percent(round(result['prevalence'], 4))} are positive"
    return {
        "AUC": f"{result['auc']:.3f}",
        f"{words.percent(result['level'])} interval": console.span(result["low"], result["high"]),
        "probability that AUC > 0.5": _probability(result["prob_above_chance"]),
        "sensitivity": f"{_described(result['sensitivity'])}   {where}",
        "specificity": f"{_described(result['specificity'])}   {where}",
        "PPV": f"{_described(result['ppv'])}   {where}, {share}",
        "NPV": f"{_described(result['npv'])}   {where}, {share}",
        "rows": class_counts(problem, positive, negative),
    }


def _average_facts(result: dict[str, Any]) -> dict[str, str]:
    rows = (f"{n} '{label}'" for label, n in zip(result["classes"], result["counts"], strict=True))
    return {
        "average AUC": f"{result['auc']:.3f}   (over pairs of classes, Hand and Till)",
        f"{words.percent(result['level'])} interval": console.span(result["low"], result["high"]),
        "probability that AUC > 0.5": _probability(result["prob_above_chance"]),
        "rows": ", ".join(rows),
    }


def _say_pairs(result: dict[str, Any]) -> None:
    """The AUC of each two classes as a matrix; the worst pairs as a list where there are many classes."""
    classes, pairs = result["classes"], result["pairwise"]
    if len(classes) > MOST_CLASSES:
        worst = sorted(pairs, key=lambda pair: float(pair["auc"]))[: MOST_CLASSES + 2]
        table = console.new_table("hardest to tell apart", "AUC", f"{words.percent(result['level'])} interval")
        for pair in worst:
            name = " and ".join(f"'{label}'" for label in pair["classes"])
            console.add_row(table, name, f"{pair['auc']:.3f}", console.span(pair["low"], pair["high"]))
    else:
        found = {frozenset(map(str, pair["classes"])): f"{pair['auc']:.3f}" for pair in pairs}
        table = console.new_table("AUC", *(visible(str(label)) for label in classes))
        for row in classes:
            cells = [found.get(frozenset((str(row), str(column))), "") for column in classes]
            console.add_row(table, str(row), *cells)
    console.stdout().print(table)


def _probability(p: float) -> str:
    return "> 0.999" if p > 0.999 else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _described(rate: dict[str, float]) -> str:
    return f"{rate['mean']:.3f}   ({console.span(rate['low'], rate['high'])})"
