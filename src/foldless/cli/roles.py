"""Which column is the target, which names rows or groups, which are left out, and which are features."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import click

import foldless as fl
from foldless.cli.ask import Ask
from foldless.cli.console import both_ends, listed
from foldless.cli.tables import Sheet
from foldless.cli.tables.values import is_number


@dataclass(frozen=True)
class Roles:
    """Names of columns."""

    target: str
    groups: str | None
    id: str | None
    features: tuple[str, ...]
    unnamed: bool


def roles_of(source: Sheet, ask: Ask) -> Roles:
    """Look every name up that the user gave; what is left are the features."""
    target = ask.target or source.default_target
    if target is None:
        raise click.UsageError(
            f"Missing option '--target': the column with the classes. {ask.file} has {both_ends(source.names)}."
        )
    special = {"--target": target, "--groups": ask.groups, "--id": ask.id}
    for name in (*special.values(), *ask.drop):
        if name is not None:
            _known(name, source, ask.file)
    _refuse_two_roles(special, ask.drop)
    taken = {*special.values(), *ask.drop, ""}
    features = tuple(name for name in source.names if name not in taken)
    if not features:
        raise fl.InputError(f"{ask.file} has no column left to predict '{target}' from.")
    return Roles(target, ask.groups, ask.id, features, "" in source.names)


def _refuse_two_roles(special: dict[str, str | None], drop: tuple[str, ...]) -> None:
    seen: dict[str, str] = {}
    for option, name in special.items():
        if name is None:
            continue
        if name in drop:
            what = "the target" if option == "--target" else f"given as {option}"
            raise fl.InputError(f"'{name}' is {what}: it cannot be dropped as well.")
        if name in seen and {seen[name], option} != {"--groups", "--id"}:
            raise fl.InputError(f"'{name}' is given as {seen[name]} and as {option}: a column has one part to play.")
        seen[name] = option


def _known(name: str, source: Sheet, path: Path) -> None:
    columns = (*source.names, *source.others)
    if name not in columns:
        raise fl.InputError(f"{path} has no column '{name}'{_hint(name, columns, source)}")


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
