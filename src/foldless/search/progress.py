"""How far a search is, on stderr, once it has lasted longer than two seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import Any

from foldless.errors import InputError

Progress = Callable[[int, int, float | None], None]
PATIENCE = 2.0


class Counter:
    """Counts candidates and tells `progress` (done, total, seconds to go) after each."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.progress = total, progress
        self.done, self.start = 0, monotonic()

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            left = (monotonic() - self.start) / self.done * (self.total - self.done)
            self.progress(self.done, self.total, left)


def as_progress(progress: Any) -> Progress | None:
    """None for False, a bar for True, a callable as it is."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if not callable(progress):
        raise InputError(
            f"progress must be True, False or a callable that takes (done, total, seconds to go), got {progress!r}."
        )
    return progress  # type: ignore[no-any-return]


class Bar:
    """A bar of rich where that is installed, a line now and then otherwise; nothing for short searches."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.start = self.last = monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, done: int, total: int, remaining: float | None) -> None:
        now = monotonic()
        if self.bar is None and (now - self.start < self.patience or done == total):
            return
        if self.bar is None:
            self.bar = _rich_bar() or "plain"
            if self.bar != "plain":
                self.task = self.bar.add_task("candidates", total=total)
                self.bar.start()
        self._show(done, total, remaining, now)

    def _show(self, done: int, total: int, remaining: float | None, now: float) -> None:
        if self.bar != "plain":
            self.bar.update(self.task, completed=done)
        elif done == total or now - self.last >= self.patience:
            self.last = now
            left = "" if remaining is None or done == total else f", {remaining:.0f} s to go"
            print(f"{done} of {total} candidates{left}", file=sys.stderr)

    def close(self) -> None:
        """Take the bar away, also when the search was broken off."""
        if self.bar not in (None, "plain"):
            self.bar.stop()


def _rich_bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    return RichProgress(console=Console(stderr=True), transient=True)
