"""Columns that cannot be used as they are: text, missing, infinite, negative under a logarithm. By name and count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless.cli.console import counted, plural, quoted
from foldless.cli.tables import Loaded
from foldless.cli.tables.values import is_number

CELLS = 2**22  # cells that are looked at in one go
SHOWN = 5
HELP = {"text": "--one-hot", "missing values": "--impute median"}
MOSTLY = 0.5  # a column of text with fewer words than this share of its cells deserves a note
DIFFERENT = 0.5  # a column of text with more different words than this share of the rows deserves a note


@dataclass(frozen=True)
class Handled:
    """What the user asked to have handled."""

    impute: bool
    one_hot: bool
    log: bool


def refuse(loaded: Loaded, names: tuple[str, ...], handled: Handled, path: Path, remedy: str) -> None:
    """One message about everything that is wrong, with the options that help."""
    counts = _counts(loaded.X)
    numeric = [k for k, name in enumerate(names) if name not in loaded.texts and name not in loaded.strange]
    rows = len(loaded.X)
    empty = {names[k]: "" for k in numeric if counts["missing"][k] == rows}
    bad = {
        "text": {} if handled.one_hot else {name: _example(column) for name, column in loaded.texts.items()},
        **_by_kind(loaded.strange),
        "no value at all": empty,
        "missing values": {} if handled.impute else _named(counts["missing"], names, numeric, empty),
        "infinite values": _named(counts["infinite"], names, numeric, empty),
        "values below 0": _named(counts["negative"], names, numeric, empty) if handled.log else {},
    }
    found = {what: columns for what, columns in bad.items() if columns}
    if found:
        raise fl.InputError(_message(found, path, remedy))


def notes_on_texts(texts: dict[str, Any]) -> list[str]:
    """What the reader should know about columns of text that become one column per word."""
    notes = []
    for name, column in texts.items():
        words = column.n_unique()
        if words > max(20, DIFFERENT * len(column)):
            notes.append(f"column '{name}' has {words} different texts; if it names the rows, use --id {quoted(name)}.")
        strangers = _no_numbers(column)
        if len(strangers) < MOSTLY * (len(column) - column.null_count()):
            notes.append(
                f"column '{name}' is text only because of '{strangers[0][:20]}' ({counted(len(strangers))}); each of "
                f"its numbers became a word of its own."
            )
        if column.null_count():
            notes.append(f"column '{name}' has no text in {counted(column.null_count())}: that is a word of its own.")
    return notes


def notes_on_numbers(loaded: Loaded, names: tuple[str, ...], imputed: bool) -> list[str]:
    """Columns that count the rows, and how much was filled in."""
    notes, X = [], loaded.X
    for k in np.flatnonzero(np.all(np.diff(X[:3], axis=0) == 1, axis=0)) if len(X) > 2 else ():
        if np.all(np.diff(X[:, k]) == 1):
            notes.append(
                f"column '{names[k]}' numbers the rows; if it is not a measurement, use --id {quoted(names[k])}."
            )
    numeric = np.array([name not in loaded.texts for name in names])
    missing = _counts(X)["missing"] * numeric if imputed else np.zeros(1)
    if missing.any():
        worst = int(missing.argmax())
        notes.append(
            f"missing values were filled with the median of their column: {int(missing.sum())} in "
            f"{plural(int(np.count_nonzero(missing)), 'column')}, most in '{names[worst]}' "
            f"({counted(int(missing[worst]))})."
        )
    return notes


def _counts(X: Any) -> dict[str, Any]:
    """Missing, infinite and negative values of each column, counted block by block."""
    totals = {what: np.zeros(X.shape[1], dtype=np.int64) for what in ("missing", "infinite", "negative")}
    step = max(1, CELLS // X.shape[1])
    for start in range(0, len(X), step):
        block = X[start : start + step]
        totals["missing"] += np.isnan(block).sum(axis=0)
        totals["infinite"] += np.isinf(block).sum(axis=0)
        totals["negative"] += (block < 0).sum(axis=0)
    return totals


def _named(counts: Any, names: tuple[str, ...], among: list[int], apart: dict[str, str]) -> dict[str, str]:
    return {names[k]: counted(int(counts[k])) for k in among if counts[k] and names[k] not in apart}


def _example(column: Any) -> str:
    words = _no_numbers(column)
    return f"{counted(len(words))}, such as '{words[0][:20]}'"


def _no_numbers(column: Any) -> list[str]:
    return [word for word in column.drop_nulls().to_list() if not is_number(word)]


def _by_kind(strange: dict[str, str]) -> dict[str, dict[str, str]]:
    return {what: {name: "" for name, w in strange.items() if w == what} for what in dict.fromkeys(strange.values())}


def _message(found: dict[str, dict[str, str]], path: Path, remedy: str) -> str:
    parts = [f"{what} in {enumerated(columns)}" for what, columns in found.items()]
    names = [name for columns in found.values() for name in columns]
    drops = " ".join(f"--drop {quoted(name)}" for name in names[:3]) + (" and so on" if len(names) > 3 else "")
    options = [option for what, option in HELP.items() if what in found]
    ways = [f"use {' and '.join(options)}"] * bool(options)
    ways += ["do without --log"] * ("values below 0" in found) + [f"leave out with {drops}"]
    ways += ["correct or remove those rows"] * ("infinite values" in found)
    advice = remedy if remedy and _looks_misread(found) else ", or ".join(ways)
    return f"{path} has {'; '.join(parts)}: {advice}."


def _looks_misread(found: dict[str, dict[str, str]]) -> bool:
    """Whether a text looks like a number with a decimal comma, or with dots for thousands."""
    examples = [words.rpartition("such as '")[2].strip("'") for words in found.get("text", {}).values()]
    digits = [word.removeprefix("-").replace(",", "").replace(".", "") for word in examples]
    return any(word.isdigit() for word in digits)


def enumerated(columns: dict[str, str]) -> str:
    """Names of columns, each with what was found there; the first few and a count of the rest."""
    words = [f"'{name}' ({words})" if words else f"'{name}'" for name, words in columns.items()]
    rest = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
