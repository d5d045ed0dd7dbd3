"""What a command may say: an answer with proper figures and exit code 0, or one line and exit code 2."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from fuzz.answers import must, ordered, within

# A residual relative to a penalty of nothing is infinite, and may say so.
NO_NUMBER = re.compile(r"(?<![\w'-])(?<!residual )(nan|[+-]?inf)(?![\w'-])", re.IGNORECASE)
RATES = ("auc", "low", "high", "mean", "prob_above_chance", "prob_best", "prob_a_better", "prob_b_better", "prob_rope")
OTHERS = ("confusion", "figures")  # counts of rows, and measures of any kind
# What is no rate: differences of AUCs, correlations, counts of a hundred rows, odds, benefits less harms.
BOUNDS = {"first_two": (-1.0, 1.0), "mcc": (-1.0, 1.0), "per_100": (0.0, 100.0), "odds": (0.0, math.inf)}
BOUNDS |= dict.fromkeys(("slope", "intercept", "decision"), (-math.inf, math.inf)) | {"oe": (0.0, math.inf)}
MAYBE = ("candidates",)  # those that could not be judged have no figures


def proper(result: Any) -> None:
    """Raise what the command raised, or say what is wrong with what it printed."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    must(result.exit_code in (0, 2), f"exit code {result.exit_code}: {result.stderr}")
    must("Traceback" not in result.output, result.output)
    if result.exit_code == 2:
        refusal(result)
    else:
        answer(result)


def refusal(result: Any) -> None:
    """One line that can be used, and no answer besides."""
    lines = result.stderr.strip().splitlines()
    must(len(lines) == 1, f"{len(lines)} lines on stderr: {result.stderr!r}")
    must(len(lines[0]) > 15, f"a line that nobody can use: {lines[0]!r}")
    must(not any(ord(c) < 32 for c in lines[0]), f"control characters on stderr: {lines[0]!r}")
    must(not result.stdout.strip(), f"an answer and an error: {result.stdout!r}")


def answer(result: Any) -> None:
    """Something on stdout; where it is JSON, figures that are proper; where it is text, no nan among them."""
    must(result.stdout.strip(), "no answer")
    if result.stdout.startswith("{"):
        figures(json.loads(result.stdout))
    else:
        must(not NO_NUMBER.search(result.stdout), f"no number: {result.stdout}")


def figures(found: Any, bounds: tuple[float, float] = (0.0, 1.0), maybe: bool = False, where: str = "") -> None:
    """Rates inside their bounds and intervals in order, wherever they are in the answer."""
    if isinstance(found, list):
        for item in found:
            figures(item, bounds, maybe, where)
    if not isinstance(found, dict):
        return
    for name in RATES:
        if name in found and not isinstance(found[name], dict | list):
            must(found[name] is not None or maybe, f"{where}{name} is null")
            if found[name] is not None:
                within(found[name], *bounds, f"{where}{name}")
    if None not in (found.get("low"), found.get("high")):
        ordered([found["low"], found["high"]], f"interval {where}")
    for name, item in found.items():
        if name in OTHERS:
            continue
        figures(item, BOUNDS.get(name, bounds), maybe or name in MAYBE, f"{where}{name}.")
