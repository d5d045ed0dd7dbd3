"""Columns that cannot be used as they are: text, missing, infinite, negative under a logarithm. By name and count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless.cli.console import counted, plural, quoted
from foldless.cli.lookalikes import DECIMAL, GROUPED, TEXT, advice, look_at
from foldless.cli.tables import Loaded
from foldless.cli.tables.marks import Marks

CELLS = 2**22  # cells that are looked at in one go
SHOWN = 5
MARKS = (-9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0)
HELP = {TEXT: "--one-hot", "missing values": "--impute median"}
HELP_WITH = {
    "dates or times": "turn dates into numbers, such as days since the first",
    "values below 0": "do without --log",
    "infinite values": "correct or remove those rows",
}
MOSTLY = 0.5  # a column of text with fewer words than this share of its cells deserves a note
DIFFERENT = 0.5  # a column of text with more different words than this share of the rows deserves a note


@dataclass(frozen=True)
class Handled:
    """What the user asked to have handled."""

    impute: bool
    one_hot: bool
    log: bool


def refuse(
    loaded: Loaded, names: tuple[str, ...], handled: Handled, path: Path, remedy: str, id_: str | None = None
) -> None:
    """One message about everything that is wrong, with the options that help."""
    counts = _counts(loaded.X)
    numeric = [k for k, name in enumerate(names) if name not in loaded.texts and name not in loaded.strange]
    rows = len(loaded.X)
    empty = {names[k]: "" for k in numeric if counts["missing"][k] == rows}
    looks = {} if handled.one_hot else {name: look_at(t, loaded.marks) for name, t in loaded.texts.items()}
    bad = {
        **_by_kind({name: (look.kind, look.words) for name, look in looks.items()}, loaded.strange),
        "no value at all": empty,
        "missing values": {} if handled.impute else _named(counts["missing"], names, numeric, empty),
        "infinite values": _named(counts["infinite"], names, numeric, empty),
        "values below 0": _named(counts["negative"], names, numeric, empty) if handled.log else {},
    }
    found = {what: columns for what, columns in bad.items() if columns}
    if found:
        helps = [advice(look, loaded.marks) for look in looks.values()]
        helps += [way for what, way in HELP_WITH.items() if what in found]
        words = [name for name, look in looks.items() if look.kind == TEXT]
        naming = [name for name in words if id_ is None and loaded.texts[name].n_unique() == rows]
        raise fl.InputError(_message(found, helps, path, remedy, naming[0] if naming else None))


def notes_on_texts(texts: dict[str, Any], marks: Marks) -> list[str]:
    """What the reader should know about columns of text that become one column per word."""
    notes = []
    for name, column in texts.items():
        look = look_at(column, marks)
        words = column.n_unique()
        if words > max(20, DIFFERENT * len(column)):
            notes.append(f"column '{name}' has {words} different texts; if it names the rows, use --id {quoted(name)}.")
        if look.kind != TEXT:
            notes.append(
                f"column '{name}' holds {look.kind} ({look.words}), and each became a word of its own: "
                f"{advice(look, marks)}, unless that is meant."
            )
        elif look.rows < MOSTLY * (len(column) - column.null_count()):
            notes.append(
                f"column '{name}' is text only because of '{look.example[:20]}' ({counted(look.rows)}); each of "
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
    notes += _notes_on_marks(X, names)
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


def _notes_on_marks(X: Any, names: tuple[str, ...]) -> list[str]:
    """Columns with a number that often stands for a missing value, several times and far from all others."""
    found: dict[str, str] = {}
    for end in (np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)):
        for k in np.flatnonzero(np.isin(end, MARKS)):
            times = int(np.count_nonzero(X[:, k] == end[k]))
            rest = X[np.isfinite(X[:, k]) & (X[:, k] != end[k]), k]
            if times > 1 and rest.size and np.abs(rest - end[k]).min() > np.ptp(rest):
                found[names[k]] = f"{end[k]:g} in {counted(times)}"
    if not found:
        return []
    return [f"{enumerated(found)}: if that stands for a missing value, empty those cells and use --impute median."]


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


def _by_kind(looks: dict[str, tuple[str, str]], strange: dict[str, str]) -> dict[str, dict[str, str]]:
    found = {**looks, **{name: (what, "") for name, what in strange.items()}}
    kinds = dict.fromkeys(kind for kind, _ in found.values())
    return {kind: {name: words for name, (k, words) in found.items() if k == kind} for kind in kinds}


def _message(found: dict[str, dict[str, str]], helps: list[str], path: Path, remedy: str, id_: str | None) -> str:
    parts = [f"{what} in {enumerated(columns)}" for what, columns in found.items()]
    names = [name for columns in found.values() for name in columns]
    drops = " ".join(f"{'--id' if name == id_ else '--drop'} {quoted(name)}" for name in names[:3])
    drops += " and so on" if len(names) > 3 else ""
    helpful = [way for what, way in HELP.items() if what in found]
    ways = [f"use {' and '.join(helpful)}"] * bool(helpful)
    ways += sorted({*helps, f"leave out with {drops}"} - {""}, key=_easiest)
    misread = remedy and (GROUPED in found or DECIMAL in found)
    return f"{path} has {'; '.join(parts)}: {', or '.join(ways)}{f'; {remedy}' if misread else ''}."


def _easiest(way: str) -> tuple[int, str]:
    """Options first, then leaving out, then work on the file."""
    return (0 if way.startswith(("use ", "do ")) else 1 if way.startswith("leave out") else 2), way


def enumerated(columns: dict[str, str]) -> str:
    """Names of columns, each with what was found there; the first few and a count of the rest."""
    words = [f"'{name}' ({words})" if words else f"'{name}'" for name, words in columns.items()]
    rest = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
