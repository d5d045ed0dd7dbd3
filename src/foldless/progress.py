"""Progress of a long computation, reported as (done, total, seconds to go)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any, TypeVar

from foldless.errors import InputError

Progress = Callable[[int, int, float], None]
T = TypeVar("T")


def as_progress(progress: Any, what: str) -> Progress | None:
    """None for False, a bar for True, a callable unchanged; `what` is counted."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar(what)
    if not callable(progress):
        raise InputError(
            f"progress must be True, False or a callable that takes (done, total, seconds to go), got {progress!r}."
        )
    return progress  # type: ignore[no-any-return]


def told(
    parts: Iterable[T], total: int, progress: Progress | None, size: Callable[[T], int] = lambda _: 1
) -> Iterator[T]:
    """The parts as they are done; with each, `progress` learns how much of `total` that is so far."""
    done, start = 0, monotonic()
    try:
        for part in parts:
            done += size(part)
            if progress is not None:
                progress(done, total, (monotonic() - start) / done * (total - done))
            yield part
    finally:
        if isinstance(progress, Bar):
            progress.close()


class Bar:
    """A progress bar, or a line of text now and then where rich is not installed; nothing for short runs."""

    def __init__(self, what: str = "candidates", patience: float = 2.0) -> None:
        self.what, self.patience, self.shown = what, patience, False
        self.start = self.last = monotonic()
        self.bar: Any = None

    def __call__(self, done: int, total: int, remaining: float) -> None:
        now = monotonic()
        if not self.shown:
            if now - self.start < self.patience or done == total:
                return
            self.shown, self.bar = True, _rich_bar()
            if self.bar is not None:
                self.bar.add_task(self.what, total=total)
                self.bar.start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=done)
        elif done == total or now - self.last >= self.patience:
            self.last = now
            left = "" if done == total else f", {remaining:.0f} s to go"
            print(f"{done} of {total} {self.what}{left}", file=sys.stderr)

    def close(self) -> None:
        """Remove the bar, also when the run was interrupted."""
        if self.bar is not None:
            self.bar.stop()


def _rich_bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    console = Console(stderr=True)
    console.quiet = not (console.is_interactive or console.is_jupyter)  # a file gets no bar, nor its empty line
    return RichProgress(console=console, transient=True)
