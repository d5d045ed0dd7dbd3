"""`Sheet`: what every kind of file can be asked, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import foldless as fl
from foldless.cli.tables.marks import Marks


@dataclass(frozen=True)
class Hints:
    """What the user said about a text file; None is to be found out."""

    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    def refuse(self, path: Path) -> None:
        """Refuse hints for a file that needs none."""
        for hint in fields(self):
            if getattr(self, hint.name) is not None:
                raise fl.InputError(f"--{hint.name} is for text files, and {path} is none: leave it out.")


@dataclass(frozen=True, eq=False)
class Loaded:
    """Columns of a file: numbers in one matrix, NaN where there is none; columns that are not numbers beside it.

    Attributes
    ----------
    X : float array of shape (rows, columns), in the order asked for
    texts : columns of words by name, as polars series; their place in X is NaN
    strange : columns that are neither, by name, with what they are: 'dates', 'lists'
    marks : how numbers are written, where they are text
    """

    X: Any
    texts: dict[str, Any]
    strange: dict[str, str]
    marks: Marks = field(default_factory=Marks)


class Sheet(Protocol):
    """An opened file."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are features unless the user says otherwise."""

    @property
    def others(self) -> tuple[str, ...]:
        """Further columns that may be asked for by name."""

    @property
    def default_target(self) -> str | None:
        """The target where the user names none."""

    @property
    def read_as(self) -> str:
        """How the file was read, in words."""

    @property
    def remedy(self) -> str:
        """What to try where the reading looks wrong; empty where nothing can be tried."""

    def column(self, name: str) -> Any:
        """One column as a polars series of stripped text, null where there is none."""

    def load(self, names: tuple[str, ...]) -> Loaded:
        """Many columns as numbers, as far as they are."""
