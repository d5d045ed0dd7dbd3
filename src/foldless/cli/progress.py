"""How far a long command has come: a line on stderr."""

from __future__ import annotations

import sys
from time import monotonic

import click

# On a terminal the line is renewed this often (seconds); in a log file a line is kept, so more rarely.
TERMINAL, LOG = 0.5, 30.0


class Reporter:
    """Progress on stderr: one line that is renewed, or now and then a line in a log."""

    def __init__(self, what: str = "samples") -> None:
        self.what = what
        self.live = sys.stderr.isatty()
        self.last = monotonic()

    def __call__(self, done: int, total: int, remaining: float | None) -> None:
        now = monotonic()
        if done < total and now - self.last < (TERMINAL if self.live else LOG):
            return
        self.last = now
        left = "" if remaining is None else f", {duration(remaining)} to go"
        end = "\n" if done == total or not self.live else ""
        click.echo(f"{chr(13) if self.live else ''}{done} of {total} {self.what}{left}   {end}", err=True, nl=False)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
