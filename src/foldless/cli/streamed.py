"""Parquet files that are read in blocks, here or by a Dask cluster, as a `Problem` that asks for two classes only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

import foldless as fl
from foldless.cli import columns
from foldless.cli.columns import Roles, as_numbers, chosen_label, roles_of
from foldless.cli.console import counted, plural
from foldless.cli.models import Preparation
from foldless.cli.options import Ask, given
from foldless.cli.problem import Problem
from foldless.tables import schedulers
from foldless.tables.block import ColumnLook, look_at_columns
from foldless.tables.files import parquet
from foldless.tables.parquet import unreadable
from foldless.words import quoted_list, shell_quoted

# What a stream cannot do, and what to do about it.
IN_MEMORY = {
    "groups": "put the rows into one file that fits into memory, or leave it out",
    "model": "logistic regression is the one classifier that is fitted in blocks",
    "shrinkage": "logistic regression is the one classifier that is fitted in blocks",
    "model_file": "leave it out, and a logistic regression is fitted",
    "log": "store log(1 + x) in the files instead",
    "impute": "fill the gaps in the files first",
    "one_hot": "turn words into numbers in the files first, or leave them out with --drop",
}

stream_option = click.option(
    "--stream", is_flag=True, help="Read one Parquet file in blocks, as several are: for more than memory holds."
)
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let a Dask cluster, such as tcp://host:8786, do the reading of Parquet files. Its workers must see them.",
)


@dataclass(frozen=True, eq=False)
class Streamed(Problem):
    """A problem whose X is a source of blocks, with the labels in it.

    Attributes
    ----------
    labels : the two classes, sorted
    files : as the user named them
    scheduler : address of the cluster that reads them, or None
    """

    labels: tuple[Any, ...] = ()
    files: tuple[Path, ...] = ()
    scheduler: str | None = None

    @cached_property
    def classes(self) -> list[Any]:
        """Labels, the positive one last."""
        return list(self.labels[::-1] if self.positive == self.labels[0] else self.labels)

    @cached_property
    def positive(self) -> Any:
        """The positive label if the user named one."""
        return None if self.ask.positive is None else chosen_label(np.array(self.labels), self.ask.positive)

    def two_classes_only(self, what: str) -> None:
        """There never are more."""

    def fitted(self, model: Any = None) -> Any:
        """The one fit, by Newton steps of one pass each."""
        return fl.streaming.fit_logistic(self.X, C=self.ask.C, standardize=self.ask.standardize)

    def facts(self) -> dict[str, Any]:
        """As of a file in memory, with a list of files."""
        files = [str(path) for path in self.files]
        return {"files": files, "target": self.target, "read_as": self.read_as, "scheduler": self.scheduler}


@contextmanager
def opened(ctx: click.Context, ask: Ask, files: tuple[Path, ...], scheduler: str | None) -> Iterator[Problem]:
    """The problem, while the cluster that reads its files is at hand."""
    why = _why(files, scheduler)
    _refuse_options(ctx, why)
    sources = parquet.opened(files, why)
    ask.hints.refuse(ask.file)
    roles = roles_of(sources[0], ask)
    _refuse_columns(parquet.unfit(sources, roles.features), files)
    with _reading(files, scheduler) as by_whom:
        meaning = _meaning(parquet.values(sources, roles.target), roles.target)
        notes = [*_notes(roles), *_id_notes(sources, roles)]
        read_as = f"{plural(len(files), 'Parquet file')}, streamed{by_whom}"
        yield _problem(ask, roles, meaning, notes, files, scheduler, read_as)


@contextmanager
def _reading(files: tuple[Path, ...], scheduler: str | None) -> Iterator[str]:
    """Whoever reads the blocks, in words; a cluster is asked before anything is read here."""
    if scheduler is None:
        yield ""
        return
    with schedulers.joined(scheduler) as client:
        yield f" by {plural(_reading_workers(client, files), 'worker')} of {scheduler}"


def _problem(
    ask: Ask,
    roles: Roles,
    meaning: dict[Any, Any],
    notes: list[str],
    files: tuple[Path, ...],
    scheduler: str | None,
    read_as: str,
) -> Streamed:
    drop = tuple(dict.fromkeys([*ask.drop, *([roles.id] if roles.id else []), *([""] if roles.unnamed else [])]))
    rows = fl.streaming.open_files(
        _absolute(files), roles.target, drop=drop, meaning=meaning, spread=scheduler is not None
    )
    look = rows.total(look_at_columns)
    _refuse_columns(_gaps(look, roles.features), files)
    steps = Preparation(ask.standardize, numbers=roles.features)
    told = (*notes, *_counting_notes(look, roles.features))
    labels, names = tuple(sorted(set(meaning.values()))), roles.features
    return Streamed(
        ask, roles.target, rows, None, None, names, steps, read_as, told,
        labels=labels, files=files, scheduler=scheduler,
    )  # fmt: skip


def _absolute(files: tuple[Path, ...]) -> list[str]:
    """Workers need not run in the same folder."""
    return [str(path.absolute()) for path in files]


def _why(files: tuple[Path, ...], scheduler: str | None) -> str:
    if len(files) > 1:
        return "several files are read in blocks"
    return f"{'--stream' if scheduler is None else '--scheduler'} reads in blocks"


def _refuse_options(ctx: click.Context, why: str) -> None:
    for option in ctx.command.params:
        asked = given(ctx, str(option.name)) and ctx.params[str(option.name)] not in ("logistic", False)
        if option.name in IN_MEMORY and asked:
            raise click.UsageError(
                f"{option.opts[0]} needs the whole table in memory, and {why}: {IN_MEMORY[option.name]}."
            )


def _refuse_columns(found: dict[str, dict[str, str]], files: tuple[Path, ...]) -> None:
    if not found:
        return
    names = list(dict.fromkeys(name for named in found.values() for name in named))
    parts = "; ".join(f"{what} in {columns.enumerated(named)}" for what, named in found.items())
    drops = " ".join(f"--drop {shell_quoted(name)}" for name in names[:3]) + (" and so on" if len(names) > 3 else "")
    where = files[0] if len(files) == 1 else f"the table in {files[0]} and {len(files) - 1} more"
    raise fl.InputError(f"{where} has {parts}: leave out with {drops}, or change the files first.")


def _gaps(look: ColumnLook, names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    bad = {"missing values": look.missing, "infinite values": look.infinite}
    named = {
        what: {name: counted(int(n)) for name, n in zip(names, counts, strict=True) if n}
        for what, counts in bad.items()
    }
    return {what: columns for what, columns in named.items() if columns}


def _counting_notes(look: ColumnLook, names: tuple[str, ...]) -> list[str]:
    enough = look.last - look.first >= 2
    return [
        f"column '{name}' numbers the rows; if it is not a measurement, use --id {shell_quoted(name)}."
        for name, counting in zip(names, look.counting & enough, strict=True)
        if counting
    ]


def _meaning(found: parquet.Found, target: str) -> dict[Any, Any]:
    """The label of each value of the target, the same as for a file in memory; refused unless there are two."""
    rows = sum(found.rows.values()) + found.missing
    if found.missing:
        raise fl.InputError(
            f"the target column '{target}' is empty in {found.missing} of {rows} rows: remove those rows."
        )
    texts = list(found.rows)
    labels = dict(zip(texts, as_numbers(texts).tolist(), strict=True))
    sizes: dict[Any, int] = {}
    for text, label in labels.items():
        sizes[label] = sizes.get(label, 0) + found.rows[text]
    _refuse_sizes(sizes, target)
    return {value: labels[text] for value, text in found.texts.items()}


def _refuse_sizes(sizes: dict[Any, int], target: str) -> None:
    if len(sizes) != 2:
        raise fl.InputError(
            f"the target column '{target}' has {len(sizes)} different {'value' if len(sizes) == 1 else 'values'} "
            f"({quoted_list(sizes)}), and a table that is read in blocks needs two: keep the rows of two classes, or "
            f"join some of them."
        )
    label, rows = min(sizes.items(), key=lambda item: item[1])
    if rows < 2:
        raise fl.InputError(
            f"class '{label}' of the target column '{target}' has {counted(rows)}: each class needs at least two, and "
            f"an answer worth having many more."
        )


def _notes(roles: Roles) -> list[str]:
    return ["the column without a name was left out; give it a name if it is a measurement."] * roles.unnamed


def _id_notes(sources: tuple[Any, ...], roles: Roles) -> list[str]:
    if roles.id is None:
        return []
    rows, values, example = parquet.repeated(sources, roles.id)
    if not rows:
        return []
    return [
        f"{counted(rows)} share {values} values of '{roles.id}' (such as '{example}'): if they are the same subjects, "
        f"the intervals are too narrow; --groups knows them, for one file that fits into memory."
    ]


def _reading_workers(client: Any, files: tuple[Path, ...]) -> int:
    """How many workers there are; refused unless each can read the files."""
    found = client.run(unreadable, tuple(_absolute(files)), on_error="return")
    for where, reason in found.items():
        if reason is not None:
            raise fl.InputError(
                f"the Dask worker at {where} cannot read the files ({reason}): it must see them under the same paths."
            )
    return len(found)
