"""The roles of columns: the target and its classes, names of rows and groups, features, and what is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from glob import has_magic
from pathlib import Path
from typing import Any

import click
import numpy as np

from foldless.cli.options import CommandOptions, matching
from foldless.errors import InputError
from foldless.tables.files.sheet import Sheet, is_number
from foldless.words import both_ends, counted, listed, shell_quoted

# ---- Which column is the target, which names rows or groups, which are left out, and which are features.


@dataclass(frozen=True)
class Roles:
    """Names of columns: the target, groups and row names where given, the features, and those that are left out."""

    target: str
    groups: str | None
    id: str | None
    features: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """What was left out without being asked: pandas and R write row names into a column without a header."""
        return ["the column without a name was left out; give it a name if it is a measurement."] * ("" in self.unused)


def roles_of(source: Sheet, options: CommandOptions) -> Roles:
    """Look up every column that the user named; the other columns are the features."""
    target = options.target or source.default_target
    if target is None:
        raise click.UsageError(
            f"Missing option '--target': the column with the classes. {options.file} has {both_ends(source.names)}."
        )
    special = {"--target": target, "--groups": options.groups, "--id": options.id}
    dropped = tuple(name for word in options.drop for name in _dropped(word, source.names))
    for name in (*special.values(), *dropped, *options.keep):
        if name is not None:
            _known(name, source, options.file)
    _refuse_two_roles(special, dropped)
    taken = {*special.values(), *dropped, ""}
    features = tuple(name for name in source.names if name not in taken)
    if not features:
        raise InputError(f"{options.file} has no column left to predict '{target}' from.")
    if options.sets is not None:
        for name in (name for name in (*options.sets.first, *options.sets.added) if not has_magic(name)):
            _known(name, source, options.file)
        options.sets.refuse_useless(features, source.names)
    unused = tuple(name for name in source.names if name not in (target, *features))
    return Roles(target, options.groups, options.id, features, unused)


def _dropped(word: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that a word of --drop means: a name, or names and patterns between commas; as it is if unknown."""
    if word in names:
        return (word,)
    parts = [part.strip() for part in word.split(",")]
    return tuple(name for part in parts for name in matching((part,), names) or (part,))


def _refuse_two_roles(special: dict[str, str | None], drop: tuple[str, ...]) -> None:
    seen: dict[str, str] = {}
    for option, name in special.items():
        if name is None:
            continue
        if name in drop:
            what = "the target" if option == "--target" else f"given as {option}"
            raise InputError(f"'{name}' is {what}: it cannot be dropped as well.")
        if name in seen and {seen[name], option} != {"--groups", "--id"}:
            raise InputError(f"'{name}' is given as {seen[name]} and as {option}: use a column for one purpose only.")
        seen[name] = option


def _known(name: str, source: Sheet, path: Path) -> None:
    columns = (*source.names, *source.others)
    if name not in columns:
        raise InputError(f"{path} has no column '{name}'{_hint(name, columns, source)}")


def _hint(name: str, columns: tuple[str, ...], source: Sheet) -> str:
    lowered = {c.lower(): c for c in columns}
    close = get_close_matches(name.lower(), list(lowered), n=1)
    if close:
        return f": did you mean '{lowered[close[0]]}'?"
    if all(is_number(c) for c in columns):
        return ": its first line holds numbers only, expected the names of the columns."
    if len(columns) == 1 and source.remedy:
        return f": its only column is {listed(columns)}; {source.remedy}."
    return f": its columns are {both_ends(columns)}."


# ---- The target column as labels: numbers where all of them are, else text; and the label that the user typed.

MOST_CLASSES = 50
MOST_NUMBERS = 10  # different whole numbers that may be classes though some are rare


def labels_of(column: Any, name: str) -> Any:
    """Labels of two classes or more."""
    refuse_empty_target(column.null_count(), len(column), name)
    y = as_numbers(column.to_list())
    sizes = Counter(y.tolist())
    if len(sizes) == 1:
        raise InputError(
            f"the target column '{name}' has one class only ({listed(sizes)}): expected two. Add rows of another class."
        )
    if len(sizes) > MOST_CLASSES:
        raise InputError(
            f"the target column '{name}' has {len(sizes)} different values ({listed(sizes)}): expected two "
            f"classes, or a few. If it is a measurement, turn it into classes first."
        )
    refuse_rare(sizes, name)
    return y


def refuse_empty_target(missing: int, rows: int, name: str) -> None:
    """Refuse rows without a class."""
    if missing:
        raise InputError(f"the target column '{name}' is empty in {missing} of {rows} rows: remove those rows.")


def with_one_spelling(column: Any, name: str, refuse: bool, saved: bool) -> tuple[Any, list[str]]:
    """Classes that differ in capitals or blanks only as one, unless a saved model knows both; and lines that say so."""
    written: dict[str, list[str]] = {}
    for label in column.drop_nulls().value_counts(sort=True).to_series(0).to_list():
        written.setdefault(" ".join(label.casefold().split()), []).append(label)
    several = [alike for alike in written.values() if len(alike) > 1 and not saved]
    if several and refuse:
        what = f"classes {listed(several[0])} of the target column '{name}'"
        raise InputError(f"{what} differ in capitals or blanks only: spell them the same way.")
    lines = [f"classes {listed(alike)} taken for one, as they differ in capitals or blanks only" for alike in several]
    return column.replace({label: alike[0] for alike in several for label in alike}), lines


def refuse_rare(sizes: Mapping[Any, int], name: str) -> None:
    """Refuse classes of one row, and measurements taken for classes."""
    rare = {label: n for label, n in sizes.items() if n < 2}
    if rare and _looks_measured(sizes):
        raise InputError(
            f"the target column '{name}' looks like a measurement: {len(sizes)} different numbers, "
            f"{len(rare)} of them in one row only. Expected two classes, or a few: name another "
            f"column, or turn this one into classes first."
        )
    if rare:
        label, n = next(iter(rare.items()))
        raise InputError(
            f"class '{label}' of the target column '{name}' has {counted(n, 'row')}: each class needs at least two, "
            f"and many more for a useful answer. If it stands for a missing class, use --na {shell_quoted(str(label))}."
        )


def _looks_measured(sizes: Mapping[Any, int]) -> bool:
    """Numbers only, with decimals or with many different values."""
    texts = [str(label).replace(",", ".") for label in sizes]
    if not all(is_number(text) for text in texts):
        return False
    return len(texts) > MOST_NUMBERS or any(float(text) % 1 for text in texts)


def as_numbers(labels: list[str]) -> Any:
    """Labels as an array: of numbers where all of them are, else of text."""
    if not all(is_number(v) for v in set(labels)):
        return np.array(labels)
    y = np.array(labels, dtype=np.float64)
    # "1.0" means 1, and is printed as 1.
    return y.astype(np.int64) if np.all(y == np.trunc(y)) and np.all(np.abs(y) < 2**53) else y


def chosen_label(y: Any, text: str) -> Any:
    """The label that the user typed, in the type that the column has."""
    labels = np.unique(y).tolist()
    same = [v for v in labels if str(v) == text or (is_number(text) and v == float(text))]
    alike = [v for v in labels if str(v).lower() == text.strip().lower()]
    if same or len(alike) == 1:
        return (same or alike)[0]
    raise InputError(f"--positive {text!r} is not in the target column: choose one of {listed(labels)}.")


def against_rest(y: Any, options: CommandOptions, saved: bool) -> tuple[Any, CommandOptions, list[str]]:
    """Of more than two classes the one that the user named, against all others, and a line that says so."""
    if options.positive is None or saved or np.unique(y).size == 2:
        return y, options, []
    label = chosen_label(y, options.positive)
    y = np.where(y == label, str(label), f"not {label}")
    return y, replace(options, positive=str(label)), [f"class '{label}' against all others, as --positive says"]


# What the positive class is often called, and the other one; between blanks.
POSITIVE_NAMES = (
    " 1 case cases yes y true t positive pos died dead death deceased disease diseased sick ill malignant cancer "
    "abnormal event relapse recurrence recurred progression failure failed default churn fraud spam demented patient "
    "affected responder mutant present "
)
NEGATIVE_NAMES = (
    " 0 -1 control controls ctrl no n false f negative neg alive survived survivor healthy benign normal none "
    "absent censored ham unaffected nonresponder wildtype "
)
NEGATIONS = ("non", "not", "no", "un", "without")


def positive_of(sizes: Mapping[Any, int]) -> tuple[Any, str]:
    """The positive one of two classes and the reason: a known word, else the rarer class, else the later one.

    >>> positive_of({"case": 50, "control": 20}), positive_of({"good": 70, "bad": 30})
    (('case', 'by its name'), ('bad', 'the rarer class'))
    """
    first, last = sorted(sizes)
    leaning = _leaning(first, last) - _leaning(last, first)
    if leaning:
        return (first if leaning > 0 else last), "by its name"
    if sizes[first] != sizes[last]:
        return min(first, last, key=lambda label: sizes[label]), "the rarer class"
    return last, "the later of two equally frequent classes"


def _leaning(label: Any, other: Any) -> int:
    """Above 0 for the name of a positive class, below 0 for that of a negative one; '0_no' is read as 'no'."""
    one, two = (re.sub(r"^\d+[\s_.:)-]+", "", str(v).strip().casefold()) for v in (label, other))
    if any(one == f"{word}{gap}{two}" for word in NEGATIONS for gap in ("", " ", "-", "_")):
        return -1
    # 1 is positive beside 0 and -1 only: beside 2 it may be either.
    return 0 if {one, two} == {"1", "2"} else (f" {one} " in POSITIVE_NAMES) - (f" {one} " in NEGATIVE_NAMES)
