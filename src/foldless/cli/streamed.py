"""Parquet files that are read in blocks, here or by a Dask cluster, as a `Request` with two classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli import columns
from foldless.cli.models import Preparation
from foldless.cli.options import CommandOptions, refuse_given
from foldless.cli.request import Request
from foldless.cli.roles import Roles, as_numbers, refuse_empty_target, refuse_rare, roles_of
from foldless.errors import InputError
from foldless.tables import clusters
from foldless.tables.block import look_at_columns
from foldless.tables.files import binary, open_parquet
from foldless.tables.parquet import unreadable
from foldless.words import counted, listed

# What a stream cannot do, and what to do about it.
IN_MEMORY = {
    "groups": "put the rows into one file that fits into memory, or leave it out",
    "model": "logistic regression is the one classifier that is fitted in blocks",
    "method": "the fit in blocks has a closed form, and needs no refits",
    "model_file": "leave it out, and a logistic regression is fitted",
    "scores": "it has a line for every row",
    "save_model": "put the rows into one file that fits into memory",
    "log": "store log(1 + x) in the files instead",
    "impute": "fill the gaps in the files first",
    "na": "empty those cells in the files first",
    "censored": "turn limits into numbers in the files first",
    "strict": "blocks are always read so",
    "columns": "leave the others out with --drop",
    "keep": "every column is kept that is not dropped",
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
class StreamedRequest(Request):
    """A request whose X is a source of blocks, with the labels in it."""

    label_sizes: tuple[tuple[Any, int], ...] = ()  # rows of each of the two classes, sorted by class
    files: tuple[Path, ...] = ()
    scheduler: str | None = None  # address of the cluster that reads the files

    @property
    def labels(self) -> list[Any]:
        """The two classes, sorted."""
        return [label for label, _ in self.label_sizes]

    @property
    def sizes(self) -> dict[Any, int]:
        """Rows of each class."""
        return dict(self.label_sizes)

    def fitted(self, model: Any = None) -> Any:
        """The one fit, by Newton steps of one pass each."""
        return fl.streaming.fit_logistic(self.X, C=self.options.C, standardize=self.options.standardize)

    def facts(self) -> dict[str, Any]:
        """As for a file in memory, but with a list of files."""
        shared = {key: value for key, value in super().facts().items() if key != "file"}
        return {"files": [str(path) for path in self.files], **shared, "scheduler": self.scheduler}


@contextmanager
def opened(
    ctx: click.Context, options: CommandOptions, files: tuple[Path, ...], scheduler: str | None
) -> Iterator[StreamedRequest]:
    """The request, while the cluster that reads its files is connected."""
    why = "several files are read in blocks"
    if len(files) == 1:
        why = f"{'--stream' if scheduler is None else '--scheduler'} reads in blocks"
    for name, way_out in IN_MEMORY.items():
        if ctx.params.get(name) not in ("logistic", "auto"):
            refuse_given(ctx, [name], f"needs the whole table in memory, and {why}: {way_out}.")
    sheets = open_parquet(files, why)
    options.hints.refuse(options.file)
    roles = roles_of(sheets[0], options)
    unfit = {name: kind for one in reversed(sheets) for name, kind in one.unfit(roles.features).items()}
    _refuse_columns({kind: {name: "" for name, k in unfit.items() if k == kind} for kind in unfit.values()}, files)
    with _reading(files, scheduler) as readers:
        meaning, sizes = _meaning(binary.count_values(sheets, roles.target), roles.target)
        rows = fl.streaming.open_files(
            _absolute(files), roles.target, drop=roles.unused, meaning=meaning, spread=scheduler is not None
        )
        look = rows.total(look_at_columns)
        gaps = {columns.MISSING: look.missing, columns.INFINITE: look.infinite}
        _refuse_columns({kind: columns.rows_by_column(n, roles.features) for kind, n in gaps.items()}, files)
        yield StreamedRequest(
            options, roles.target, X=rows, y=None, groups=None, features=roles.features,
            preparation=Preparation(options.standardize, numbers=roles.features),
            read_as=f"{counted(len(files), 'Parquet file')}, streamed{readers}",
            notes=(*roles.notes, *_id_notes(sheets, roles), *columns.notes_on_numbering(look, roles.features)),
            label_sizes=tuple(sorted(sizes.items())), files=files, scheduler=scheduler,
        )  # fmt: skip


@contextmanager
def _reading(files: tuple[Path, ...], scheduler: str | None) -> Iterator[str]:
    """Say who reads the blocks; a cluster is checked before anything is read here."""
    if scheduler is None:
        yield ""
        return
    with clusters.joined(scheduler) as client:
        reasons = client.run(unreadable, tuple(_absolute(files)), on_error="return")
        for where, reason in reasons.items():
            if reason is not None:
                raise InputError(
                    f"the Dask worker at {where} cannot read the files ({reason}): it must see them under the same "
                    f"paths."
                )
        yield f" by {counted(len(reasons), 'worker')} of {scheduler}"


def _absolute(files: tuple[Path, ...]) -> list[str]:
    """Workers need not run in the same folder."""
    return [str(path.absolute()) for path in files]


def _refuse_columns(problems: dict[str, dict[str, str]], files: tuple[Path, ...]) -> None:
    problems = {kind: named for kind, named in problems.items() if named}
    if not problems:
        return
    names = list(dict.fromkeys(name for named in problems.values() for name in named))
    where = files[0] if len(files) == 1 else f"the table in {files[0]} and {len(files) - 1} more"
    raise InputError(
        f"{where} has {columns.described(problems)}: leave out with {columns.leaving_out(names)}, or change the files "
        f"first."
    )


def _meaning(values: binary.Values, target: str) -> tuple[dict[Any, Any], Counter[Any]]:
    """The label of each value of the target, as for a file in memory, and its rows; refused unless there are two."""
    refuse_empty_target(values.missing, sum(values.rows.values()) + values.missing, target)
    texts = list(values.rows)
    labels = dict(zip(texts, as_numbers(texts).tolist(), strict=True))
    sizes: Counter[Any] = Counter()
    for text, label in labels.items():
        sizes[label] += values.rows[text]
    if len(sizes) != 2:
        raise InputError(
            f"the target column '{target}' has {counted(len(sizes), 'different value')} ({listed(sizes)}), and a table "
            f"that is read in blocks needs two: keep the rows of two classes, or join some of them."
        )
    refuse_rare(sizes, target)
    return {value: labels[text] for value, text in values.texts.items()}, sizes


def _id_notes(sheets: tuple[binary.ParquetSheet, ...], roles: Roles) -> list[str]:
    if roles.id is None:
        return []
    import polars as pl

    column = pl.concat([one.column(roles.id) for one in sheets])
    advice = "the intervals are too narrow; --groups accounts for them, in one file that fits into memory"
    return columns.notes_on_repeats(column, roles.id, advice)
