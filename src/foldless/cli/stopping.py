"""Ctrl-C, and what is left of the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Interrupted(Exception):
    """Ctrl-C. click would print an empty line of its own before handing it on."""


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """A run whose finished pieces stay in a folder: say so when it is interrupted."""
    try:
        yield
    except KeyboardInterrupt as err:
        way_on = f"what is finished is kept in {out}: run the same command with --resume to go on."
        raise Interrupted(f"interrupted; {way_on}") from err
