"""The options that commands share, and `CommandOptions`: what the user asked for about a file and a classifier."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from glob import glob, has_magic
from os.path import exists
from pathlib import Path
from typing import Any

import click

from foldless.cli.models import CLASSIFIERS
from foldless.tables.files.sheet import Hints

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", r"\t": "\t"}

# ---- Values of options: each callback returns the value, or says what was expected. None passes: not given.


def share(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number strictly between 0 and 1."""
    if value is not None and not 0 < value < 1:
        hint = f": write {value / 100:g} for {value:g} %" if 1 < value < 100 else ""
        raise click.BadParameter(f"must lie strictly between 0 and 1, got {value:g}{hint}.")
    return value


def positive(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A finite number above 0."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"must be a number above 0, got {value:g}.")
    return value


def finite_value(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
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


@dataclass(frozen=True)
class CommandOptions:
    """One field per option of `data_options`, as click hands them over."""

    file: Path
    target: str | None
    positive: str | None
    drop: tuple[str, ...]
    id: str | None
    groups: str | None
    model: str
    C: float
    shrinkage: float | str
    standardize: bool
    log: bool
    impute: str | None
    one_hot: bool
    seed: int
    sep: str | None
    encoding: str | None
    decimal: str | None
    thousands: str | None
    level: float
    as_json: bool

    @property
    def hints(self) -> Hints:
        """How the file is to be read."""
        return Hints(self.sep, self.encoding, self.decimal, self.thousands)


FIELDS = tuple(field.name for field in fields(CommandOptions))

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, and nothing else.")


def share_option(name: str, default: float, help_text: str) -> Callable[[Any], Any]:
    """An option whose value lies strictly between 0 and 1."""
    return click.option(name, type=float, default=default, show_default=True, callback=share, help=help_text)


def picture_option(help_text: str) -> Callable[[Any], Any]:
    """--out for a picture."""
    return click.option("--out", type=click.Path(path_type=Path), help=f"{help_text} (.png, .svg, .pdf).")


COLUMN: dict[str, Any] = {"metavar": "COLUMN"}
OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--target", **COLUMN, help="The column with the classes; in an .npz file an array, y by default."),
    click.option("--positive", metavar="LABEL", help="The positive class; else the later in sorted order."),
    click.option("--drop", multiple=True, **COLUMN, help="A column to leave out; may be given several times."),
    click.option("--id", **COLUMN, help="A column that names the rows: left out, and searched for duplicates."),
    click.option("--groups", **COLUMN, help="Rows with the same value here belong together: patients, sites, runs."),
    click.option(
        "--model", type=click.Choice(list(CLASSIFIERS)), default="logistic", show_default=True, help="The classifier."
    ),
    click.option(
        "--C",
        "C",
        type=float,
        default=1.0,
        show_default=True,
        callback=positive,
        help="Inverse penalty: C of logistic and svm, 1/alpha of ridge.",
    ),
    click.option(
        "--shrinkage",
        metavar="SHARE",
        default="0.1",
        show_default=True,
        callback=as_shrinkage,
        help="Of lda: above 0 and below 1, or auto (Ledoit and Wolf).",
    ),
    click.option(
        "--standardize/--no-standardize", default=True, show_default=True, help="Whether columns get unit variance."
    ),
    click.option("--log", is_flag=True, help="Use log(1 + x) of the columns, as for counts and intensities."),
    click.option("--impute", type=click.Choice(["median"]), help="Fill missing numbers with the column's median."),
    click.option("--one-hot", is_flag=True, help="Turn each column of text into one column per value."),
    click.option("--sep", metavar="MARK", callback=as_separator, help="Separator, if it is guessed wrongly: , ; tab |"),
    click.option("--encoding", metavar="NAME", callback=as_encoding, help="Encoding, if it is guessed wrongly."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark, if it is guessed wrongly."),
    click.option("--thousands", type=click.Choice([".", ",", "space", "'"]), help="Mark between thousands, if any."),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Of solvers and folds that draw random numbers.",
    ),
    share_option("--level", 0.95, "Level of the intervals."),
    json_option,
)


def as_files(ctx: click.Context, param: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    """Names of files; a pattern that the shell has left alone stands for the files that it matches."""
    return tuple(path for word in value for path in _matching(word))


def _matching(word: Path) -> list[Path]:
    # A name with brackets in it is a name first.
    if exists(word) or not has_magic(str(word)):
        return [word]
    matches = sorted(glob(str(word), recursive=True))
    if not matches:
        raise click.BadParameter(f"no file matches {str(word)!r}: check the pattern.")
    return [Path(path) for path in matches]


def data_options(
    file_required: bool = True, several: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: FILE and all options about it, passed to the command as one `CommandOptions`.

    With `file_required=False` there may be no file: `options.file` is None then. With `several` there may be more than
    one: the command gets all of them as `files`, and the first as `options.file`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def gathered(*args: Any, **values: Any) -> None:
            if several:
                values["file"] = values["files"][0]
            options = CommandOptions(**{name: values.pop(name) for name in FIELDS})
            command(*args, options=options, **values)

        decorated: Any = gathered
        for option in reversed(OPTIONS):
            decorated = option(decorated)
        kind = click.Path(path_type=Path)
        many: dict[str, Any] = {"nargs": -1, "metavar": "FILE...", "callback": as_files} if several else {}
        argument = click.argument("files" if several else "file", type=kind, required=file_required, **many)
        return argument(decorated)  # type: ignore[no-any-return]

    return decorate


def given(ctx: click.Context, name: str) -> bool:
    """Whether the user wrote this option, rather than its default."""
    return ctx.get_parameter_source(name) not in (click.core.ParameterSource.DEFAULT, None)


def first_given(ctx: click.Context, names: Iterable[str]) -> tuple[str, str] | None:
    """The first of these options that the user wrote: its name, and how it is spelled."""
    wanted = set(names)
    params = ((str(param.name), param.opts[0]) for param in ctx.command.params if param.name in wanted)
    return next(((name, spelled) for name, spelled in params if given(ctx, name)), None)


def refuse_wrong_strength(ctx: click.Context, options: CommandOptions) -> None:
    """C is not a parameter of lda, nor shrinkage one of the others."""
    if options.model == "lda" and given(ctx, "C"):
        raise click.UsageError("--C is not for lda: use --shrinkage.")
    if options.model != "lda" and given(ctx, "shrinkage"):
        raise click.UsageError(f"--shrinkage is for lda, and the model is {options.model}: use --C, or --model lda.")


def refuse_own_steps(ctx: click.Context) -> None:
    """A saved model brings its classifier and its steps."""
    wrong = first_given(ctx, ("model", "C", "shrinkage", "standardize", "log", "impute", "one_hot"))
    if wrong is not None:
        raise click.UsageError(f"{wrong[1]} does not go with --model-file: the model brings its own steps.")
