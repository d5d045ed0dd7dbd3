"""The options that commands share, and `CommandOptions`: what the user asked for about a file and a classifier."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import wraps
from glob import glob, has_magic
from os.path import exists, isfile
from pathlib import Path
from typing import Any

import click

from foldless.cli.models import CLASSIFIERS, PARTS, TREES
from foldless.errors import InputError
from foldless.tables.files.sheet import Hints
from foldless.words import both_ends

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", r"\t": "\t"}

# ---- Values of options: each callback returns the value, or says what was expected. None, not given, is returned.


def as_share(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number strictly between 0 and 1."""
    if value is not None and not 0 < value < 1:
        raise click.BadParameter(f"must lie strictly between 0 and 1, got {value:g}{as_percent(value)}.")
    return value


def as_percent(value: float) -> str:
    """The hint for somebody who gave a percentage."""
    return f": write {value / 100:g} for {value:g} %" if 1 < value < 100 else ""


def as_positive(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A finite number above 0."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"must be a number above 0, got {value:g}.")
    return value


def as_finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A finite number."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"must be a finite number, got {value:g}.")
    return value


def comma_separated(kind: Callable[[str], Any]) -> Callable[..., Any]:
    """Callback of an option that takes values separated by commas."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Any, ...] | None:
        if value is None:
            return None
        try:
            return tuple(kind(part.strip()) for part in value.split(","))
        except ValueError as err:
            raise click.BadParameter(
                f"expected values separated by commas, such as {param.metavar}, got {value!r}."
            ) from err

    return convert


def finite(word: str) -> float:
    """A number, for `comma_separated`; neither infinite nor NaN."""
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(word)
    return number


def as_separator(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A mark, or its name."""
    mark = None if value is None else SEPARATORS.get(value.lower(), value)
    if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n' or mark.isalnum()):
        raise click.BadParameter(f"must be one mark, or {', '.join(list(SEPARATORS)[:5])}, got {value!r}.")
    return mark


def as_encoding(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The name of an encoding that Python knows."""
    try:
        known = value is None or codecs.lookup(value)._is_text_encoding
    except (LookupError, ValueError):
        known = False
    if not known:
        raise click.BadParameter(f"must be an encoding such as utf-8, latin-1 or cp1252, got {value!r}.")
    return value


def as_shrinkage(ctx: click.Context, param: click.Parameter, value: str) -> float | str:
    """A number between 0 and 1, or 'auto'."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if value != "auto" and not 0 < number < 1:
        raise click.BadParameter(f"must be a number above 0 and below 1, or auto, got {value!r}.")
    return "auto" if value == "auto" else number


def as_words(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names of columns and patterns: one on each line of a file, or separated by commas."""
    if value is None:
        return None
    if not isfile(value) and Path(value).suffix.lower() == ".txt":
        raise click.BadParameter(f"there is no file '{value}'.")
    try:
        words = Path(value).read_text(encoding="utf-8-sig").splitlines() if isfile(value) else value.split(",")
    except UnicodeDecodeError as err:
        raise click.BadParameter(f"{value} is not a text file in UTF-8: expected one name on each line.") from err
    names = tuple(dict.fromkeys(word.strip().strip('"') for word in words if word.strip()))
    if not names:
        raise click.BadParameter(f"'{value}' names no column: write one on each line, or separate them by commas.")
    return names


# ---- Sets of columns: those of a first model, and those that a second one adds.


@dataclass(frozen=True)
class ColumnSets:
    """Names and patterns of the columns of a first model, and of those that a second one has in addition."""

    first: tuple[str, ...]
    added: tuple[str, ...] = ()

    def split(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns of the first set and those that the second adds to it, in the order of `names`.

        >>> ColumnSets(("age", "sex"), ("bio_*", "sex")).split(("age", "bio_1", "bio_2", "id", "sex"))
        (('age', 'sex'), ('bio_1', 'bio_2'))
        """
        first = matching(self.first, names)
        return first, tuple(name for name in matching(self.added, names) if name not in set(first))

    def refuse_useless(self, features: tuple[str, ...], columns: tuple[str, ...]) -> None:
        """Refuse patterns without a match, columns with another role, and an addition that adds nothing."""
        for option, words in (("--columns", self.first), ("--and-columns", self.added)):
            for word in words:
                if word in columns and word not in features:
                    raise InputError(f"{option}: '{word}' is the target, names rows or groups, or was dropped.")
                if not matching((word,), features):
                    known = f"the columns are {both_ends(features)}"
                    raise InputError(f"{option}: no column to predict from matches '{word}'; {known}.")
        if self.added and not self.split(features)[1]:
            raise InputError("--and-columns adds nothing: all of its columns are among --columns already.")


def matching(words: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that are among the words or match a pattern; a name that contains '*' or '[' is found as it is."""
    patterns = [word for word in words if word not in names]
    return tuple(name for name in names if name in words or any(fnmatchcase(name, each) for each in patterns))


# ---- The options about the file and the classifier.

FILE: dict[str, Any] = {"type": click.Path(path_type=Path)}
SHARE: dict[str, Any] = {"type": float, "callback": as_share}
COLUMN: dict[str, Any] = {"metavar": "COLUMN"}
JSON: dict[str, Any] = {"is_flag": True, "help": "Print JSON on stdout, and nothing else."}


def picture_option(help_text: str) -> Callable[[Any], Any]:
    """--out for a picture."""
    return click.option("--out", **FILE, help=f"{help_text} (.png, .svg, .pdf).")


def option(help: str, flag: str | None = None, **settings: Any) -> Any:
    """A field of `CommandOptions` that declares its command-line option; by default the flag has the field's name."""

    def declared(name: str) -> Callable[[Any], Any]:
        return click.option(flag or f"--{name.replace('_', '-')}", name, help=help, show_default=True, **settings)

    return field(metadata={"option": declared})


@dataclass(frozen=True)
class CommandOptions:
    """What the user asked for about a file and a classifier."""

    file: Path
    target: str | None = option("The column with the classes; in an .npz file an array, y by default.", **COLUMN)
    positive: str | None = option(
        "The positive class; by default by name (case, yes, 1), else the rarer. Of more than two, one against all.",
        metavar="LABEL",
    )
    columns: tuple[str, ...] | None = option(
        "The only columns to use: names or patterns with commas, or a text file.", metavar="LIST", callback=as_words
    )
    drop: tuple[str, ...] = option(
        "Columns to leave out: names or patterns, with commas between them, or given again.", multiple=True, **COLUMN
    )
    id: str | None = option("A column that names the rows: left out, and searched for duplicates.", **COLUMN)
    groups: str | None = option("Rows with the same value here belong together: patients, sites, runs.", **COLUMN)
    model: str = option("The classifier.", type=click.Choice(list(CLASSIFIERS)), default="logistic")
    C: float = option(
        "Inverse penalty: C of all but lda and trees; 1/alpha of ridge.", type=float, default=1.0, callback=as_positive
    )
    shrinkage: float | str = option(
        "Shrinkage of lda: above 0 and below 1, or auto (Ledoit and Wolf).",
        metavar="SHARE",
        default="0.1",
        callback=as_shrinkage,
    )
    standardize: bool = option("Scale columns to unit variance.", flag="--standardize/--no-standardize", default=True)
    log: bool = option("Use log(1 + x) of the columns, as for counts and intensities.", is_flag=True)
    na: tuple[str, ...] = option("A value that means missing; may be given again.", multiple=True, metavar="VALUE")
    censored: str | None = option("Take '<1.0' for half of 1.0, or for 1.0.", type=click.Choice(["half", "limit"]))
    strict: bool = option("Refuse text and missing values instead of preparing them.", is_flag=True)
    keep: tuple[str, ...] = option(
        "A column to use although it has many texts, or looks like a subject's number.", multiple=True, **COLUMN
    )
    impute: str | None = option("With --strict: fill missing numbers with medians.", type=click.Choice(["median"]))
    one_hot: bool = option("With --strict: turn columns of text into one column per value.", is_flag=True)
    sep: str | None = option("Separator, if the guess is wrong: , ; tab |", metavar="MARK", callback=as_separator)
    encoding: str | None = option("Encoding, if the guess is wrong.", metavar="NAME", callback=as_encoding)
    decimal: str | None = option("Decimal mark, if the guess is wrong.", type=click.Choice([".", ","]))
    thousands: str | None = option("Mark between thousands, if any.", type=click.Choice([".", ",", "space", "'"]))
    sheet: str | None = option("The sheet of an Excel file that has several.", metavar="NAME")
    seed: int = option("Random seed of solvers and folds.", type=click.IntRange(0, 2**32 - 1), default=0)
    level: float = option("Level of the intervals.", default=0.95, **SHARE)
    as_json: bool = option(flag="--json", **JSON)
    added: tuple[str, ...] = ()  # further columns that a second model has, where a command compares the two

    @property
    def sets(self) -> ColumnSets | None:
        """The only columns to predict from, where they were named."""
        return None if self.columns is None else ColumnSets(self.columns, self.added)

    @property
    def hints(self) -> Hints:
        """How the file is to be read."""
        return Hints(self.sep, self.encoding, self.decimal, self.thousands, self.sheet)


OPTIONS = {item.name: item.metadata["option"](item.name) for item in fields(CommandOptions) if item.metadata}


def as_files(ctx: click.Context, param: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    """Names of files; a pattern that the shell did not expand stands for the files that it matches."""
    return tuple(path for word in value for path in _files(word))


def _files(word: Path) -> list[Path]:
    # A file whose name contains brackets is found by its name.
    if exists(word) or not has_magic(str(word)):
        return [word]
    matches = sorted(glob(str(word), recursive=True))
    if not matches:
        raise click.BadParameter(f"no file matches {str(word)!r}: check the pattern.")
    return [Path(path) for path in matches]


def data_options(
    file_required: bool = True, several: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: FILE and all options about it, passed to the command as one `CommandOptions`.

    With `file_required=False` there may be no file: `options.file` is None then. With `several` there may be more than
    one: the command gets all of them as `files`, and the first as `options.file`.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def gathered(*args: Any, **values: Any) -> Any:
            if several:
                values["file"] = values["files"][0]
            options = CommandOptions(values.pop("file"), **{name: values.pop(name) for name in OPTIONS})
            return command(*args, options=options, **values)

        decorated: Any = gathered
        for declare in reversed(OPTIONS.values()):
            decorated = declare(decorated)
        many: dict[str, Any] = {"nargs": -1, "metavar": "FILE...", "callback": as_files} if several else {}
        argument = click.argument("files" if several else "file", **FILE, required=file_required, **many)
        return argument(decorated)  # type: ignore[no-any-return]

    return decorate


def given(ctx: click.Context, name: str) -> bool:
    """Whether the user wrote this option, rather than its default."""
    return ctx.get_parameter_source(name) not in (click.core.ParameterSource.DEFAULT, None)


def refuse_given(ctx: click.Context, names: Iterable[str], why: str) -> None:
    """Refuse the first of these options that the user wrote."""
    wrong = {param.name: param.opts[0] for param in ctx.command.params if given(ctx, str(param.name))}
    for name in names:
        if name in wrong:
            raise click.UsageError(f"{wrong[name]} {why}")


def refuse_wrong_strength(ctx: click.Context, options: CommandOptions) -> None:
    """C is not a parameter of lda or of trees, nor shrinkage one of the others."""
    if options.model == "lda":
        refuse_given(ctx, ["C"], "is not for lda: use --shrinkage.")
    elif CLASSIFIERS[options.model].parameter in (TREES, PARTS):
        refuse_given(ctx, ["C", "shrinkage"], f"is not for {options.model}, which has no penalty.")
    else:
        refuse_given(ctx, ["shrinkage"], f"is for lda, and the model is {options.model}: use --C, or --model lda.")
