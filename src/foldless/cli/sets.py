"""Sets of columns by name, by pattern or from a file: those of a first model, and those that a second one adds."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from os.path import isfile
from pathlib import Path

import click

from foldless.errors import InputError
from foldless.words import both_ends


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
