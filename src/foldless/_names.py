"""Names from data as text: without the characters that a terminal would obey."""

from __future__ import annotations

import unicodedata

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, formatting, surrogates, line and paragraph separators


def is_unseen(character: str) -> bool:
    """Whether a terminal could obey a character rather than show it."""
    return unicodedata.category(character) in UNSEEN


def visible(text: str) -> str:
    """Control characters written out: a name must not move the cursor, turn the text around or begin a line.

    >>> visible("red \\x1b[31m")
    'red \\\\x1b[31m'
    """
    return "".join(c.encode("unicode_escape").decode("ascii") if is_unseen(c) else c for c in text)
