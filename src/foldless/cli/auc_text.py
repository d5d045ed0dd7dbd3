"""The answer of ``foldless auc`` in words."""

from __future__ import annotations

from typing import Any

from foldless._names import visible
from foldless.cli import console
from foldless.cli.problem import Problem
from foldless.cli.words import class_counts, group_facts

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
    interval = f"{console.percent(result['level'])} interval {result['low']:.3f} to {result['high']:.3f}"
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
    share = f"where {console.percent(round(result['prevalence'], 4))} are positive"
    return {
        "AUC": f"{result['auc']:.3f}",
        f"{console.percent(result['level'])} interval": console.span(result["low"], result["high"]),
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
        f"{console.percent(result['level'])} interval": console.span(result["low"], result["high"]),
        "probability that AUC > 0.5": _probability(result["prob_above_chance"]),
        "rows": ", ".join(rows),
    }


def _say_pairs(result: dict[str, Any]) -> None:
    """The AUC of each two classes as a matrix; the worst pairs as a list where there are many classes."""
    classes, pairs = result["classes"], result["pairwise"]
    if len(classes) > MOST_CLASSES:
        worst = sorted(pairs, key=lambda pair: float(pair["auc"]))[: MOST_CLASSES + 2]
        table = console.new_table("hardest to tell apart", "AUC", f"{console.percent(result['level'])} interval")
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
