"""The columns of a file: their roles, the classes of the target, and what cannot be used, by name and count."""

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
from foldless.tables.block import ColumnLook, look_at_columns
from foldless.tables.files.sheet import NAMES, THOUSANDS, Loaded, Marks, Sheet, is_number, no_numbers
from foldless.tables.matrix import ArraySource, block_height
from foldless.words import both_ends, counted, first_few, listed, shell_quoted

# ---- Columns of text that were meant as something else: numbers with marks, limits of detection, dates.

TEXT, STORED = "text", "numbers stored as text"
GROUPED = "numbers with a mark for thousands"
DECIMAL = "numbers with another decimal mark"
SIGNED = "numbers with % or a currency sign"
LIMIT, DATE = "limits instead of values", "dates or times"
WORDS, MANY = "words among numbers", "too many different texts for categories"
EMPTY, MISSING = "no value at all", "missing values"
INFINITE, NEGATIVE = "infinite values", "values below 0"
MARKS = "".join(THOUSANDS.values())
CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}"
# In this order: '1.020' may mark thousands before it is a decimal number in a file of decimal commas.
SHAPES = {
    GROUPED: rf"^[-+]?\d{{1,3}}(?:[{MARKS}]\d{{3}})+(?:[.,]\d+)?$",
    DECIMAL: r"^[-+]?\d*[.,]\d+(?:[eE][-+]?\d+)?$",
    SIGNED: r"^(?:[€$£]\s*[-+]?\d[\d.,]*|[-+]?\d[\d.,]*\s*[%€$£])$",
    LIMIT: r"^[<>≤≥]\s*=?\s*[-+]?\d[\d.,]*$",
    DATE: rf"^(?:(?:{DAY})(?:[T ].*)?|{CLOCK})$",
}
# What people write where a number is not known. With other words, such as '3a', few levels are categories.
UNKNOWN = {"unknown", "unk", "missing", "refused", "pending", "invalid", "error", "nd", "n.d.", "nk", "n/k", "x", "--"}
UNKNOWN |= {f"not {word}" for word in ("known", "done", "available", "measured", "tested", "applicable", "recorded")}
MOST_LEVELS = 20  # a column of text with more levels holds names, codes or free text

REMEDIES = {
    STORED: "store them as numbers in the file",
    DECIMAL: "write decimals with the same mark in all columns",
    SIGNED: "remove those signs in the file",
    LIMIT: "use --censored half or --censored limit (half of the limit, or the limit itself)",
    WORDS: "use --na if they mean missing",
    DATE: "turn dates into numbers, such as days since the first",
    NEGATIVE: "do without --log",
    INFINITE: "correct or remove those rows",
}


@dataclass(frozen=True)
class Look:
    """What those cells of a column are that are not numbers, their number, and a few of them."""

    kind: str
    rows: int
    examples: tuple[str, ...]

    @property
    def words(self) -> str:
        """The remark after the name of the column."""
        several = self.examples if self.kind in (LIMIT, WORDS) else self.examples[:1]
        shown = ", ".join(f"'{cell[:20]}'" for cell in several)
        return f"{counted(self.rows, 'row')}, such as {shown}"


def _look(kind: str, rows: int, cells: Any) -> Look:
    return Look(kind, rows, tuple(map(str, cells.unique(maintain_order=True).head(3))))


def look_at(column: Any, marks: Marks) -> tuple[Look, ...]:
    """Find out what a column of text holds: a look at each kind of odd cells among numbers, or one at all cells."""
    others = no_numbers(column, marks)
    if others.is_empty():
        known = column.drop_nulls()
        return (_look(STORED, len(known), known),)
    match = {kind: others.str.contains(pattern) for kind, pattern in SHAPES.items()}
    marked = match[GROUPED] | match[DECIMAL]
    between = GROUPED if 2 * match[GROUPED].sum() > marked.sum() else DECIMAL  # clear decimals speak for all
    parts = {between: marked, SIGNED: match[SIGNED], LIMIT: match[LIMIT]}
    words = ~(marked | match[SIGNED] | match[LIMIT])
    if not _are_numbers(column, others.filter(words), measured=not words.all()):
        kind = DATE if 2 * match[DATE].sum() > len(others) else TEXT
        return (_look(kind, len(others), others.filter(match[DATE]) if kind == DATE else others),)
    found = {kind: others.filter(these) for kind, these in {**parts, WORDS: words}.items()}
    return tuple(_look(kind, len(cells), cells) for kind, cells in found.items() if len(cells))


def _are_numbers(column: Any, words: Any, measured: bool) -> bool:
    """Whether a column is one of numbers, in spite of some words; `measured` if it has limits or marks as well."""
    if 2 * len(words) >= len(column) - column.null_count():
        return False
    if measured or set(words.str.to_lowercase().unique()) <= UNKNOWN:
        return True
    # Few levels, such as 1, 2, 3a and 3b, are categories; numbers among very many words are codes.
    return bool(column.n_unique() > MOST_LEVELS >= words.n_unique())


def unfit(column: Any, marks: Marks) -> tuple[Look, ...]:
    """What keeps a column of text from being categories: misread numbers, dates, or too many levels."""
    looks = look_at(column, marks)
    if looks[0].kind != TEXT:
        return looks
    return (replace(looks[0], kind=MANY),) * bool(column.drop_nulls().n_unique() > MOST_LEVELS)


def advice(name: str, look: Look, marks: Marks) -> str:
    """What to do about a column of this kind; empty for plain text, which has an option."""
    if look.kind == GROUPED:
        return _thousands(look.examples[0], marks)
    if look.kind == DECIMAL and marks.decimal == ".":
        return "use --decimal ',' if all columns use it, else write them all with a point"
    if look.kind == MANY:
        return f"use --keep {shell_quoted(name)}"
    return REMEDIES.get(look.kind, "")


def _thousands(example: str, marks: Marks) -> str:
    """The options for a cell such as '3.220,25'."""
    written = re.findall(r"[^\d+-]", example)
    between = next(name for name, spellings in THOUSANDS.items() if written[0] in spellings)
    decimal = written[-1] if written[-1] != written[0] and written[-1] in ".," else None
    quoted = {"'": '"\'"', "space": "space"}.get(between, f"'{between}'")
    # A point or a comma between thousands already determines the decimal mark.
    more = f" --decimal '{decimal}'" if between not in ".," and decimal not in (None, marks.decimal) else ""
    either = decimal is None and between == "," and marks.decimal == "." and example.count(",") == 1
    other = f" (or --decimal ',', if the {NAMES[between]} is the decimal mark)" if either else ""
    return f"use --thousands {quoted}{more}{other}"


# ---- Columns that cannot be used as they are: text, missing, infinite, negative under a logarithm. By name and count.

CELLS = 2**22  # cells that are looked at in one go
MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0)
FEW_TEXTS = 0.5  # a column of text with a smaller share of cells that are not numbers gets a note


def look_at_numbers(X: Any, y: Any) -> ColumnLook:
    """What is missing, infinite or negative in each column of a table in memory, and which columns count the rows."""
    look: ColumnLook = ArraySource(X, y, block_height(X, CELLS)).total(look_at_columns)
    return look


def refuse_unusable(
    loaded: Loaded, look: ColumnLook, names: tuple[str, ...], options: CommandOptions, saved: bool, remedy: str
) -> None:
    """One message about everything that is wrong, with the options that help.

    A saved model deals with missing values and with text in its own way.
    """
    rows = len(loaded.X)
    unready = options.strict and not saved
    as_text = unready and not options.one_hot
    texts = {} if saved else {name: t for name, t in loaded.texts.items() if as_text or name not in options.keep}
    looks = [(name, each) for name, t in texts.items() for each in (look_at if as_text else unfit)(t, loaded.marks)]
    looks = [(name, each) for name, each in looks if unready or each.kind != WORDS]  # which are gaps otherwise
    numeric = np.array([name not in loaded.texts and name not in loaded.strange for name in names])
    empty = numeric & (look.missing == rows)
    partly = numeric & ~empty
    problems: dict[str, dict[str, str]] = {}
    for name, each in looks:
        problems.setdefault(each.kind, {})[name] = each.words
    for name, kind in loaded.strange.items():
        problems.setdefault(kind, {})[name] = ""
    problems[EMPTY] = {name: "" for name, bad in zip(names, empty, strict=True) if bad}
    problems[MISSING] = rows_by_column(look.missing * partly, names) if unready and not options.impute else {}
    problems[INFINITE] = rows_by_column(look.infinite * partly, names)
    problems[NEGATIVE] = rows_by_column(look.negative * partly, names) if options.log else {}
    problems = {kind: columns for kind, columns in problems.items() if columns}
    if problems:
        ways = {advice(name, each, loaded.marks) for name, each in looks if each.kind != WORDS}
        ways |= {REMEDIES[kind] for kind in (DATE, NEGATIVE, INFINITE) if kind in problems}
        words = dict.fromkeys(shell_quoted(cell) for _, each in looks if each.kind == WORDS for cell in each.examples)
        ways |= {f"use {' '.join(f'--na {word}' for word in words)} if that means missing"} if words else set()
        plain = problems.get(TEXT, {}) if options.id is None else {}
        row_names = next((name for name in plain if loaded.texts[name].n_unique() == rows), None)
        raise InputError(_message(problems, ways, options.file, remedy, row_names))


def rows_by_column(counts: Any, names: tuple[str, ...]) -> dict[str, str]:
    """Columns with a count above 0, by name, with the count as text."""
    return {name: counted(int(n), "row") for name, n in zip(names, counts, strict=True) if n}


def notes_on_texts(texts: dict[str, Any], marks: Marks) -> list[str]:
    """What the user should know about columns of text that become one column per category."""
    notes = []
    for name, column in texts.items():
        looks = look_at(column, marks)
        notes += [
            f"column '{name}' holds {look.kind} ({look.words}), and each became a category of its own: "
            f"{advice(name, look, marks)}, unless that is intended."
            for look in looks
            if look.kind != TEXT
        ]
        if looks[0].kind == TEXT and looks[0].rows < FEW_TEXTS * (len(column) - column.null_count()):
            notes.append(
                f"column '{name}' is text only because of '{looks[0].examples[0][:20]}' "
                f"({counted(looks[0].rows, 'row')}); each of its numbers became a category of its own."
            )
    empty = {name: counted(column.null_count(), "row") for name, column in texts.items() if column.null_count()}
    return notes + [f"no text in {enumerated(empty)}: that is a category of its own."] * bool(empty)


def notes_on_numbers(loaded: Loaded, look: ColumnLook, names: tuple[str, ...]) -> list[str]:
    """Columns that count the rows, and numbers that may stand for missing values."""
    return notes_on_numbering(look, names) + _notes_on_codes(loaded.X, names)


def notes_on_numbering(look: ColumnLook, names: tuple[str, ...]) -> list[str]:
    """Columns of at least three rows that count them: 1, 2, 3, ..."""
    counts = look.counting & (look.last - look.first >= 2)
    return [
        f"column '{name}' numbers the rows; if it is not a measurement, use --id {shell_quoted(name)}."
        for name, numbers_rows in zip(names, counts, strict=True)
        if numbers_rows
    ]


def notes_on_repeats(column: Any, name: str, advice: str) -> list[str]:
    """Rows that share their value in the column that names the rows."""
    repeated = column.filter(column.is_duplicated() & column.is_not_null())
    if repeated.is_empty():
        return []
    return [
        f"{counted(len(repeated), 'row')} share {repeated.n_unique()} values of '{name}' (such as '{repeated[0]}'): if "
        f"they are the same subjects, {advice}."
    ]


def _notes_on_codes(X: Any, names: tuple[str, ...]) -> list[str]:
    """Columns with a common code for missing values several times: below 0 as no other number, or far from them all."""
    marked: dict[str, str] = {}
    codes = set()
    for end in (np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)):
        for k in np.flatnonzero(np.isin(end, MISSING_CODES)):
            times = int(np.count_nonzero(X[:, k] == end[k]))
            rest = X[np.isfinite(X[:, k]) & (X[:, k] != end[k]), k]
            apart = rest.size and (end[k] < 0 <= rest.min() or np.abs(rest - end[k]).min() > np.ptp(rest))
            if times > 1 and apart:
                marked[names[k]] = f"{end[k]:g} in {counted(times, 'row')}"
                codes.add(f"--na {end[k]:g}")
    return [f"{enumerated(marked)}: if that stands for a missing value, use {' '.join(sorted(codes))}."] * bool(marked)


def _message(
    problems: dict[str, dict[str, str]], ways: set[str], path: Path, remedy: str, row_names: str | None
) -> str:
    names = list(dict.fromkeys(name for columns in problems.values() for name in columns))
    helpful = [flag for kind, flag in {TEXT: "--one-hot", MISSING: "--impute median"}.items() if kind in problems]
    options = [f"use {' and '.join(helpful)}"] * bool(helpful)
    options += sorted({*ways, f"leave out with {leaving_out(names, row_names)}"} - {""}, key=_easiest)
    misread = remedy and (GROUPED in problems or DECIMAL in problems)
    return f"{path} has {described(problems)}: {', or '.join(options)}{f'; {remedy}' if misread else ''}."


def _easiest(way: str) -> tuple[int, str]:
    """Options first, then dropping columns, then editing the file."""
    return (0 if way.startswith(("use ", "do ")) else 1 if way.startswith("leave out") else 2), way


def described(problems: dict[str, dict[str, str]]) -> str:
    """Kinds of problems, each with its columns."""
    return "; ".join(f"{what} in {enumerated(columns)}" for what, columns in problems.items())


def leaving_out(names: list[str], id_: str | None = None) -> str:
    """The options that leave columns out; `id_` names the rows."""
    options = " ".join(f"{'--id' if name == id_ else '--drop'} {shell_quoted(name)}" for name in names[:3])
    return options + (" and so on" if len(names) > 3 else "")


def enumerated(columns: dict[str, str]) -> str:
    """Names of columns, each with a remark; the first few and a count of the rest."""
    return first_few([f"'{name}' ({remark})" if remark else f"'{name}'" for name, remark in columns.items()])


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
            f"and many more for a useful answer."
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
