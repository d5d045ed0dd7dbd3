"""From a table of text to X and y: which column is the target, which are numbers, and which are neither."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless.cli.console import counted, listed

MISSING = ("", "na", "n/a", "nan", "null", "none", "?")


@dataclass(frozen=True)
class Data:
    """Features and labels of a file, with what the user should know about how they were read."""

    X: Any
    y: Any
    features: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass
class _Faults:
    """Columns that cannot be used, each with the words that describe it."""

    text: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    infinite: dict[str, str] = field(default_factory=dict)


def split(frame: Any, target: str, drop: tuple[str, ...], path: Path) -> Data:
    """Take the target and the features out of a frame of text."""
    _known(frame, (target, *drop), path)
    if target in drop:
        raise fl.InputError(f"'{target}' is the target: it cannot be dropped as well.")
    y = _labels(frame[target], target)
    names = [c for c in frame.columns if c not in (target, "", *drop)]
    if not names:
        raise fl.InputError(f"{path} has no column left to predict '{target}' from.")
    X = _matrix(frame.select(names), path)
    return Data(X, y, tuple(names), _notes(X, names, unnamed="" in frame.columns))


def chosen_label(y: Any, text: str) -> Any:
    """The label that the user typed, in the type that the column has."""
    found = np.unique(y).tolist()
    same = [v for v in found if str(v) == text or (_is_number(text) and v == float(text))]
    alike = [v for v in found if str(v).lower() == text.strip().lower()]
    if same or len(alike) == 1:
        return (same or alike)[0]
    raise fl.InputError(f"--positive {text!r} is not in the target column: choose one of {listed(found)}.")


def _known(frame: Any, names: tuple[str, ...], path: Path) -> None:
    for name in names:
        if name not in frame.columns:
            raise fl.InputError(f"{path} has no column '{name}'{_hint(name, frame.columns)}")


def _hint(name: str, columns: list[str]) -> str:
    lowered = {c.lower(): c for c in columns}
    close = get_close_matches(name.lower(), list(lowered), n=1)
    if close:
        return f": did you mean '{lowered[close[0]]}'?"
    if all(_is_number(c) for c in columns):
        return ": its first line holds numbers only, expected the names of the columns."
    return f": its columns are {listed(columns)}."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _without_missing(column: Any) -> Any:
    """The values that are there; nulls and the usual words for 'nothing' are not."""
    import polars as pl

    kept = column.fill_null("")
    return kept.filter(~kept.str.to_lowercase().is_in(pl.Series(MISSING).implode()))


def _labels(column: Any, name: str) -> Any:
    """Labels as numbers where all of them are, else as text."""
    values = _without_missing(column)
    gone = len(column) - len(values)
    if gone:
        raise fl.InputError(f"the target column '{name}' is empty in {gone} of {len(column)} rows: remove those rows.")
    y = _as_numbers(values.to_list())
    found = np.unique(y).tolist()
    if len(found) == 2:
        return y
    what = f"{len(found)} classes ({listed(found)})" if len(found) > 1 else f"one class only ({listed(found)})"
    raise fl.InputError(f"the target column '{name}' has {what}: expected two. Keep the rows of two classes.")


def _as_numbers(labels: list[str]) -> Any:
    if not all(_is_number(v) for v in set(labels)):
        return np.array(labels)
    y = np.array(labels, dtype=np.float64)
    # "1.0" was meant as 1, and is to be printed so.
    return y.astype(np.int64) if np.all(y == np.trunc(y)) and np.all(np.abs(y) < 2**53) else y


def _matrix(frame: Any, path: Path) -> Any:
    """All columns as float64, or an error that names those that are not numbers."""
    import polars as pl

    X = np.array(frame.select(pl.all().cast(pl.Float64, strict=False)).to_numpy(), dtype=np.float64, order="C")
    faults = _Faults()
    # Only columns in which a cell did not convert need a closer look.
    for j in np.flatnonzero(~np.isfinite(X).all(axis=0)):
        X[:, j] = _examined(frame[:, int(j)], faults)
    _refuse(faults, path)
    return X


def _examined(column: Any, faults: _Faults) -> Any:
    """True and false as 1 and 0; anything else goes into `faults`."""
    import polars as pl

    present = _without_missing(column)
    values = present.str.to_lowercase().replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)
    strangers = present.filter(values.is_null())
    if len(strangers):
        faults.text[column.name] = f"'{column.name}' ({counted(len(strangers))}, such as '{strangers[0][:20]}')"
    elif len(present) < len(column):
        faults.missing[column.name] = f"'{column.name}' ({counted(len(column) - len(present))})"
    elif values.is_infinite().any():
        faults.infinite[column.name] = f"'{column.name}' ({counted(values.is_infinite().sum())})"
    else:
        return values.to_numpy()
    return np.nan


def _refuse(faults: _Faults, path: Path) -> None:
    kinds = {"text": faults.text, "missing values": faults.missing, "infinite values": faults.infinite}
    bad = {what: columns for what, columns in kinds.items() if columns}
    if not bad:
        return
    parts = [f"{what} in {_enumerated(list(columns.values()))}" for what, columns in bad.items()]
    names = [name for columns in bad.values() for name in columns]
    options = " ".join(f"--drop {_quoted(name)}" for name in names[:3]) + (" ..." if len(names) > 3 else "")
    advice = "turn the text into numbers first" if faults.text else "fill in or remove those rows first"
    raise fl.InputError(f"{path} has {'; '.join(parts)}: leave out with {options}, or {advice}.")


def _enumerated(words: list[str]) -> str:
    rest = len(words) - 5
    return ", ".join(words[:5]) + (f" and {rest} more" if rest > 0 else "")


def _quoted(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'


def _notes(X: Any, names: list[str], unnamed: bool) -> tuple[str, ...]:
    """What the reader should know about columns that look like an index rather than a measurement."""
    # pandas and R write row names into a column without a header.
    notes = ["the column without a name was left out; give it a name if it is a measurement."] if unnamed else []
    counting = np.flatnonzero((np.diff(X, axis=0) == 1).all(axis=0) & (len(X) > 2))
    for name in (names[j] for j in counting):
        notes.append(f"column '{name}' numbers the rows; if it is not a measurement, use --drop {_quoted(name)}.")
    return tuple(notes)
