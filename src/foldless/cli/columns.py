"""What the columns of a file hold, and what of it cannot be used as it is: by name and count."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foldless.cli.options import CommandOptions
from foldless.errors import InputError
from foldless.tables.block import ColumnLook, look_at_columns
from foldless.tables.files.sheet import NAMES, THOUSANDS, Loaded, Marks, no_numbers
from foldless.tables.matrix import ArraySource, block_height
from foldless.words import counted, first_few, shell_quoted

# ---- Columns of text that were meant as something else: numbers with marks, limits of detection, dates.

TEXT, STORED = "text", "numbers stored as text"
GROUPED = "numbers with a mark for thousands"
DECIMAL = "numbers with another decimal mark"
SIGNED = "numbers with % or a currency sign"
LIMIT, DATE, UNIT = "limits instead of values", "dates or times", "numbers with a unit"
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
UNKNOWN = {"unknown", "unk", "missing", "refused", "pending", "invalid", "error", "nd", "n.d.", "nk", "n/k", "--"}
UNKNOWN |= {f"not {word}" for word in ("known", "done", "available", "measured", "tested", "applicable", "recorded")}
CROSSED = "x"  # the same of a cell, where a class may be called so
MOST_LEVELS = 20  # a column of text with more levels holds names, codes or free text

REMEDIES = {
    STORED: "store them as numbers in the file",
    DECIMAL: "write decimals with the same mark in all columns",
    SIGNED: "remove those signs in the file",
    UNIT: "remove the unit in the file",
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
        return f"{counted(self.rows, 'row')}, such as " + ", ".join(f"'{cell[:20]}'" for cell in several)


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
    if measured or set(words.str.to_lowercase().unique()) <= UNKNOWN | {CROSSED}:
        return True
    # Few levels, such as 1, 2, 3a and 3b, are categories; numbers among very many words are codes.
    return bool(column.n_unique() > MOST_LEVELS >= words.n_unique())


def unfit(column: Any, marks: Marks) -> tuple[Look, ...]:
    """What keeps a column of text from being categories: misread numbers, dates, or too many levels."""
    looks = look_at(column, marks)
    if looks[0].kind != TEXT:
        return looks
    if (known := column.drop_nulls()).n_unique() <= MOST_LEVELS:
        return ()
    unit = known.str.extract(r"^[-+]?\d+(?:[.,]\d+)?\s*([^\d\s.,;:_+-]+)$")
    return (replace(looks[0], kind=UNIT if unit.null_count() == 0 and unit.n_unique() == 1 else MANY),)


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
