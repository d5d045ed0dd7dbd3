"""A real table made ready: text as categories, gaps filled, columns left out by name, subjects found and named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foldless.cli.columns import DATE, EMPTY, LIMIT, MANY, MOST_LEVELS, SHAPES, TEXT, WORDS, enumerated, look_at, unfit
from foldless.cli.options import CommandOptions
from foldless.errors import InputError
from foldless.tables.files.sheet import NOTHING, Loaded, Marks, as_numbers, is_number, parsed
from foldless.words import counted, listed, shell_quoted

FREQUENT_GAPS = 0.05  # share of the rows from which on "was missing" is a column of its own


@dataclass(frozen=True, eq=False)
class Prepared:
    """What was done to the columns, and what is left of them."""

    loaded: Loaded
    features: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)  # by name, with the reason
    gaps: dict[str, int] = field(default_factory=dict)  # numbers that are filled in, by column
    indicated: tuple[str, ...] = ()  # columns with a second one that says "was missing"
    strays: dict[str, str] = field(default_factory=dict)  # words among numbers, taken for gaps

    @property
    def words(self) -> str:
        """One line; empty where nothing had to be done."""
        done: list[str] = []
        if texts := self.loaded.texts:
            done.append(f"{counted(len(texts), 'column')} of text became categories: {listed(texts)}")
        if self.strays:
            done.append(f"words among numbers taken for gaps: {enumerated(self.strays)}")
        if self.gaps:
            total = counted(sum(self.gaps.values()), "gap")
            line = f"{total} in {counted(len(self.gaps), 'column')} filled with the median: {listed(self.gaps)}"
            done.append(line + f" (with a column 'was missing' for {listed(self.indicated)})" * bool(self.indicated))
        if self.left_out:
            done.append(f"left out: {enumerated(self.left_out)}")
        return "; ".join(done)


def prepared(loaded: Loaded, features: tuple[str, ...], options: CommandOptions, subjects: Subjects) -> Prepared:
    """Leave out what cannot be used, and find the gaps; with --strict everything stays, to be refused."""
    loaded, strays = (loaded, {}) if options.strict else _strays_as_gaps(loaded, features, options.keep)
    left_out = dict.fromkeys(subjects.rows, "names the rows")
    left_out |= {} if options.strict else _useless(loaded, features, options.keep)
    asked = features if options.sets is None else {name for names in options.sets.split(features) for name in names}
    left_out = {name: why for name, why in left_out.items() if name in asked and name != subjects.groups}
    gone = {*left_out, *(set(features) - set(asked)), subjects.groups}
    kept = [(k, name) for k, name in enumerate(features) if name not in gone]
    if not kept:
        raise InputError(f"{options.file} has no column left to predict from; left out: {enumerated(left_out)}.")
    places, names = zip(*kept, strict=True)
    if len(names) < len(features):
        texts = {name: column for name, column in loaded.texts.items() if name in names}
        strange = {name: kind for name, kind in loaded.strange.items() if name in names}
        loaded = replace(loaded, X=loaded.X[:, list(places)], texts=texts, strange=strange)
    if options.strict and options.impute is None:
        return Prepared(loaded, names)
    missing = np.isnan(loaded.X).sum(axis=0).tolist()
    gaps = {name: n for name, n in zip(names, missing, strict=True) if n and name not in loaded.texts}
    often = () if options.strict else tuple(name for name, n in gaps.items() if n >= FREQUENT_GAPS * len(loaded.X))
    return Prepared(loaded, names, left_out, gaps, often, strays)


def _strays_as_gaps(loaded: Loaded, features: tuple[str, ...], keep: tuple[str, ...]) -> tuple[Loaded, dict[str, str]]:
    """Columns of numbers with a few words, such as 'unknown', as numbers; and the words, by column."""
    strays: dict[str, str] = {}
    X, texts = loaded.X, dict(loaded.texts)
    for k, name in enumerate(features):
        looks = look_at(texts[name], loaded.marks) if name in texts and name not in keep else ()
        if [look.kind for look in looks] == [WORDS]:
            X[:, k] = parsed(texts.pop(name), loaded.marks).to_numpy()
            strays[name] = looks[0].words
    return replace(loaded, texts=texts), strays


def _useless(loaded: Loaded, features: tuple[str, ...], keep: tuple[str, ...]) -> dict[str, str]:
    """Columns without a value, and columns of text with too many levels to be categories."""
    empty = np.isnan(loaded.X).all(axis=0)
    useless = dict(loaded.strange)
    for name, nothing in zip(features, empty, strict=True):
        if name not in loaded.texts:
            useless |= {name: EMPTY} if nothing and name not in useless else {}
        elif name not in keep:
            levels = loaded.texts[name].drop_nulls().n_unique()
            kind = next((look.kind for look in unfit(loaded.texts[name], loaded.marks)), "") if levels else EMPTY
            if kind in (DATE, EMPTY, MANY):  # others are misread numbers
                useless[name] = f"{levels} different texts" if kind == MANY else kind
    return useless


# ---- What the user said about cells: which stand for missing values, and what a limit counts as.


def as_told(loaded: Loaded, features: tuple[str, ...], options: CommandOptions) -> tuple[Loaded, tuple[str, ...]]:
    """The columns after --na and --censored, and what was done, in words."""
    if not options.na and options.censored is None:
        return loaded, ()
    X, texts, rows, limits = loaded.X.copy(), dict(loaded.texts), dict.fromkeys(features, 0), {}
    for k, name in enumerate(features):
        if name not in texts:
            gone = np.isin(X[:, k], _numbers(options.na))
            X[gone, k] = np.nan
            rows[name] = int(gone.sum())
            continue
        column = emptied(texts[name], options.na, loaded.marks)
        rows[name] = column.null_count() - texts[name].null_count()
        found = [look for look in look_at(column, loaded.marks) if look.kind == LIMIT and name not in options.keep]
        if found and options.censored:
            limits[name] = found[0].words
            column = _uncensored(column, loaded.marks, options.censored)
        texts[name] = column
        numbers = as_numbers(column, loaded.marks) if name in limits or rows[name] else None
        if numbers is not None:
            X[:, k] = numbers.to_numpy()
            del texts[name]
    return replace(loaded, X=X, texts=texts), (*_told(rows, limits, options),)


def _told(rows: dict[str, int], limits: dict[str, str], options: CommandOptions) -> Iterator[str]:
    if any(rows.values()):
        shown = {name: counted(n, "row") for name, n in rows.items() if n}
        yield f"taken for missing, as --na says: {enumerated(shown)}"
    if limits:
        what = "half of it" if options.censored == "half" else "its number"
        yield f"each limit replaced by {what}: {enumerated(limits)}"


def refuse_absent(na: tuple[str, ...], loaded: Loaded, target: Any) -> None:
    """Refuse a value of --na that occurs nowhere: it would do nothing, and the user thinks that it does."""
    for value in (value for value in na if value.strip().lower() not in NOTHING):  # which means missing anyway
        texts = (target, *loaded.texts.values())
        held = any(emptied(t, (value,), loaded.marks).null_count() > t.null_count() for t in texts)
        if not held and not np.isin(loaded.X, _numbers((value,))).any():
            raise InputError(f"--na: no cell holds '{value}'.")


def _numbers(values: tuple[str, ...]) -> list[float]:
    return [float(value) for value in values if is_number(value)]


def emptied(column: Any, na: tuple[str, ...], marks: Marks = Marks()) -> Any:  # noqa: B008  # frozen
    """A column of text without the cells that stand for missing values, as texts or as numbers."""
    if not na:
        return column
    words = column.str.to_lowercase().is_in([value.strip().lower() for value in na])
    return column.set((words | parsed(column, marks).is_in(_numbers(na))).fill_null(False), None)


def _uncensored(column: Any, marks: Marks, how: str) -> Any:
    """A column of text with a number in place of each limit; half of a limit below 0 would lie above it."""
    import polars as pl

    cells = column.filter(column.str.contains(SHAPES[LIMIT])).unique()
    limits = parsed(cells.str.strip_chars("<>≤≥= "), marks)
    halved = cells.str.contains("^[<≤]") & (limits > 0) & (how == "half")
    numbers = (limits / (1 + halved.cast(pl.Int8))).cast(pl.String).str.replace(".", marks.decimal, literal=True)
    return column.replace(cells, numbers.zip_with(numbers.is_not_null(), cells))


# ---- Columns that name subjects: rows with the same value belong together.

SUBJECTS = {"patient", "patients", "pat", "subject", "subj", "person", "participant", "proband", "individual", "animal"}
SUBJECTS |= {"pid", "ptid", "mrn", "randid"}
NUMBERS = {"id", "no", "nr", "num", "number", "code", "key", "identifier"}
ROWS = {"id", "index", "row", "rowid", "rownames", "no", "nr", "number", "observation", "obs"}
MOST_OFTEN = 50  # rows of a subject, on average
ALIKE = 0.99  # share of rows of a subject that agree in its sex, for example
BY_CHANCE = 1e-9  # probability that they do so by chance
WITNESSES = 50  # columns that are asked whether they agree


def _words_of(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def says_subject(name: str) -> bool:
    """Whether a column is called 'patient', 'Subject ID', 'person_no', 'id' ..., and nothing more than that."""
    words = set(_words_of(name))
    return bool(words) and words <= SUBJECTS | NUMBERS and bool(words & SUBJECTS or "id" in words)


def says_row(name: str) -> bool:
    """Whether a column is called as row numbers are."""
    words = set(_words_of(name))
    return bool(words) and words <= ROWS | SUBJECTS | NUMBERS


def _coded(loaded: Loaded, name: str, k: int) -> Any:
    """A column of text or of whole numbers as codes 0, 1, ... in sorted order, -1 if missing; None for any other."""
    if name in loaded.texts:
        return loaded.texts[name].rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    values = loaded.X[:, k]
    start = values[:200]  # most measurements show here that they have decimals
    known = np.isfinite(values) if not np.any(start[np.isfinite(start)] % 1) else np.zeros(0, dtype=bool)
    if not known.any() or np.any(values[known] % 1):
        return None
    codes = np.full(len(values), -1)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


@dataclass(frozen=True)
class Subjects:
    """The column that names the subjects, if any, and columns that number the rows."""

    groups: str | None = None
    rows: tuple[str, ...] = ()


def find_subjects(loaded: Loaded, features: tuple[str, ...], y: Any, options: CommandOptions) -> Subjects:
    """The column that names the subjects, if its name says so; one that only behaves so is refused."""
    levels: dict[str, int] = {}
    few = [np.unique(y, return_inverse=True)[1]]  # columns that subjects may have once and for all, such as sex
    for k, name in enumerate(features):
        dated = name in loaded.texts and look_at(loaded.texts[name], loaded.marks)[0].kind != TEXT  # or misread numbers
        codes = None if dated or name in options.keep else _coded(loaded, name, k)
        if codes is None:
            continue
        if 1 < codes.max() + 1 <= MOST_LEVELS and len(few) < WITNESSES:
            few.append(codes.astype(np.int8))
        levels[name] = int(codes.max()) + 1
    rows = tuple(name for name, n in levels.items() if n == len(y) and says_row(name) and not options.strict)
    if options.groups is not None or options.id is not None:
        return Subjects(None, rows)
    named = [name for name, n in levels.items() if 2 < n < len(y) and says_subject(name)]
    if named and not options.strict:
        return Subjects(max(named, key=levels.__getitem__), rows)
    witnesses = np.column_stack(few)
    for k, name in enumerate(features):
        if MOST_LEVELS < levels.get(name, 0) < len(y) and repeats_as_subjects(_coded(loaded, name, k), witnesses):
            named.append(name)
    if named:
        raise InputError(_ask(named[0], levels[named[0]], len(y)))
    return Subjects(None, rows)


def _ask(name: str, levels: int, rows: int) -> str:
    groups, row_names, drop, keep = (f"--{option} {shell_quoted(name)}" for option in ("groups", "id", "drop", "keep"))
    return (
        f"column '{name}' looks like the number of a subject: {levels} values in {rows} rows, and rows that share one "
        f"agree in other columns. Use {groups} if so, {row_names} if it names rows, {drop} to leave it out, or {keep} "
        f"if it is a measurement."
    )


def repeats_as_subjects(codes: Any, witnesses: Any) -> bool:
    """Whether rows with the same value agree in another column, as those of a patient do in sex.

    An age group also agrees within an age. But it changes seldom from one age to the next, and sex changes from patient
    to patient as if drawn at random.
    """
    known = np.flatnonzero(codes >= 0)
    levels = int(codes.max()) + 1
    if levels <= MOST_LEVELS or not levels * 1.1 < known.size <= levels * MOST_OFTEN:
        return False
    order = known[np.argsort(codes[known], kind="stable")]
    same = np.diff(codes[order]) == 0
    equal = witnesses[order[1:]] == witnesses[order[:-1]]
    chance = np.array([np.sum((np.unique(c, return_counts=True)[1] / c.size) ** 2) for c in witnesses.T])
    within, between = equal[same].mean(axis=0), equal[~same].mean(axis=0)
    certain = same.sum() * np.log(np.maximum(chance, 1e-9)) < np.log(BY_CHANCE)
    return bool(np.any((within >= ALIKE) & (between < (1 + chance) / 2) & certain))
