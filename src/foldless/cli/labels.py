"""The target column as labels: numbers where all of them are, else text; and the label that the user typed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import foldless as fl
from foldless.cli.console import counted, listed
from foldless.cli.tables.values import is_number

MOST_CLASSES = 50
MOST_NUMBERS = 10  # different whole numbers that may be classes though some are rare


def labels_of(column: Any, name: str) -> Any:
    """Labels of two classes or more."""
    gone = column.null_count()
    if gone:
        raise fl.InputError(f"the target column '{name}' is empty in {gone} of {len(column)} rows: remove those rows.")
    y = as_numbers(column.to_list())
    sizes = Counter(y.tolist())
    if len(sizes) == 1:
        raise fl.InputError(
            f"the target column '{name}' has one class only ({listed(sizes)}): expected two. Add rows of another class."
        )
    if len(sizes) > MOST_CLASSES:
        raise fl.InputError(
            f"the target column '{name}' has {len(sizes)} different values ({listed(sizes)}): expected two classes, or "
            f"a few. Is it a measurement? Then make classes of it first."
        )
    _refuse_rare(sizes, name)
    return y


def notes_on_labels(y: Any, name: str) -> list[str]:
    """Classes that look like one class, written differently."""
    written: dict[str, list[str]] = {}
    for label in np.unique(y).tolist():
        written.setdefault(" ".join(str(label).casefold().split()), []).append(str(label))
    return [
        f"classes {listed(alike)} of the target column '{name}' differ in capitals or blanks only: if they are one "
        f"class, write them alike."
        for alike in written.values()
        if len(alike) > 1
    ]


def _refuse_rare(sizes: Counter[Any], name: str) -> None:
    rare = {label: n for label, n in sizes.items() if n < 2}
    if rare and _looks_measured(sizes):
        raise fl.InputError(
            f"the target column '{name}' looks like a measurement: {len(sizes)} different numbers, "
            f"{len(rare)} of them in one row only. Expected two classes, or a few: name another "
            f"column, or make classes of it first."
        )
    if rare:
        label, n = next(iter(rare.items()))
        raise fl.InputError(
            f"class '{label}' of the target column '{name}' has {counted(n)}: each class needs at least two, and an "
            f"answer worth having many more."
        )


def _looks_measured(sizes: Counter[Any]) -> bool:
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
    # "1.0" was meant as 1, and is to be printed so.
    return y.astype(np.int64) if np.all(y == np.trunc(y)) and np.all(np.abs(y) < 2**53) else y


def chosen_label(y: Any, text: str) -> Any:
    """The label that the user typed, in the type that the column has."""
    found = np.unique(y).tolist()
    same = [v for v in found if str(v) == text or (is_number(text) and v == float(text))]
    alike = [v for v in found if str(v).lower() == text.strip().lower()]
    if same or len(alike) == 1:
        return (same or alike)[0]
    raise fl.InputError(f"--positive {text!r} is not in the target column: choose one of {listed(found)}.")
