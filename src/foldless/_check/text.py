"""Lists of names in messages."""

from __future__ import annotations

from typing import Any

MAX_NAMES = 5


def listed(items: Any) -> str:
    """The first few items as text, with a count of the rest."""
    items = list(items)
    shown = ", ".join(repr(i) if isinstance(i, str) else str(i) for i in items[:MAX_NAMES])
    rest = len(items) - MAX_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown
