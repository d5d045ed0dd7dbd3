"""Text for people: numbers, intervals, lists and names as messages, pages and pictures show them."""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

# ---- Names from data as text: without the characters that a terminal would obey.

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


# ---- Lists of names in messages.

MAX_NAMES = 5


def listed(items: Any) -> str:
    """The first few items as text, with a count of the rest."""
    items = list(items)
    shown = ", ".join(repr(i) if isinstance(i, str) else str(i) for i in items[:MAX_NAMES])
    rest = len(items) - MAX_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown


# ---- How rates, intervals and levels are written for people.

DIGITS = 3
SMALLEST = 0.5 * 10.0**-DIGITS


def rate(p: float) -> str:
    """A rate with three digits; what is merely close to 0 or 1 does not read as if it were exactly that.

    Examples
    --------
    >>> rate(0.91249), rate(0.99996), rate(0.0001)
    ('0.912', '> 0.999', '< 0.001')
    """
    if p >= 1 - SMALLEST:
        return "> 0.999"
    return "< 0.001" if p < SMALLEST else f"{p:.{DIGITS}f}"


def share(p: float) -> str:
    """A rate that was counted, where 0 and 1 mean none and all.

    Examples
    --------
    >>> share(1.0), share(0.9999), share(0.25)
    ('1', '> 0.999', '0.250')
    """
    return f"{p:.0f}" if p in (0.0, 1.0) else rate(p)


def span(low: float, high: float) -> str:
    """An interval of rates.

    Examples
    --------
    >>> span(0.8512, 0.99999)
    '0.851 to > 0.999'
    >>> span(0.99981, 0.99999)
    '> 0.999'
    """
    return rate(low) if low >= 1 - SMALLEST or high < SMALLEST else f"{rate(low)} to {rate(high)}"


def estimate(mean: float, low: float, high: float) -> str:
    """A rate with its interval, which is left out where it would say the same again.

    Examples
    --------
    >>> estimate(0.874, 0.764, 0.962), estimate(0.99999, 0.9998, 1.0)
    ('0.874 (0.764 to 0.962)', '> 0.999')
    """
    return rate(mean) if span(low, high) == rate(mean) else f"{rate(mean)} ({span(low, high)})"


def percent(level: float) -> str:
    """A level as a percentage.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:.10g} %"


# ---- Names and values as a page or JSON may hold them: no control characters, no objects, no NaN.

BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
# Control characters, marks that turn the direction of writing, and halves of characters. A name that holds one could
# hide text, reverse it, or make the page unreadable.
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
LONGEST = 80


def cleaned(text: str) -> str:
    """Text on one line, unsafe characters replaced by the sign for such.

    Examples
    --------
    >>> cleaned("age\\x00 in\\nyears")
    'age� in years'
    """
    return UNSAFE.sub("\ufffd", BREAKS.sub(" ", text))


def shortened(name: Any, longest: int = LONGEST) -> str:
    """A name of a column or class, cut where it is very long.

    Examples
    --------
    >>> shortened("x" * 100, 5)
    'xxxx…'
    """
    text = cleaned(str(name))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def plain(value: Any) -> Any:
    """A value as JSON knows them: numbers, text, lists and dicts; what is not finite becomes None.

    Examples
    --------
    >>> plain({"a": np.float64("nan"), 2: (np.int64(3), "b\\n")})
    {'a': None, '2': [3, 'b ']}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {cleaned(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return cleaned(str(value))


def times_in_100(rate: float, digits: int = 0) -> str:
    """A probability as people say it.

    Examples
    --------
    >>> times_in_100(0.874), times_in_100(0.9999), times_in_100(0.001), times_in_100(0.9463, 1)
    ('87', 'more than 99', 'fewer than 1', '94.6')
    """
    step = 10.0**-digits
    if 100 * rate > 100 - step / 2:
        return f"more than {100 - step:.{digits}f}"
    return f"fewer than {step:.{digits}f}" if 100 * rate < step / 2 else f"{100 * rate:.{digits}f}"


def quoted(label: Any) -> str:
    """A class label in a sentence."""
    return f"“{shortened(label)}”"


def counted(n: int, what: str, plural: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


# ---- What the command line says: one line each, names as they are typed.

MAX_LENGTH = 60


def one_line(text: str) -> str:
    """The text with every run of white space, line breaks included, as one space."""
    return visible(" ".join(text.split()))


def shell_quoted(name: str) -> str:
    """A name as it has to be typed in a shell."""
    return name if name.replace("_", "").replace("-", "").isalnum() else shlex.quote(name)


def quoted_list(items: Iterable[Any]) -> str:
    """The first few items, quoted, with a count of the rest."""
    found = [f"'{clipped(str(i))}'" for i in items]
    rest = len(found) - MAX_NAMES
    return ", ".join(found[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def both_ends(items: Iterable[Any]) -> str:
    """The first items and the last ones: what is looked for is often at the end."""
    found = [f"'{clipped(str(i))}'" for i in items]
    if len(found) <= 2 * MAX_NAMES:
        return ", ".join(found)
    return f"{', '.join(found[:MAX_NAMES])}, ... {', '.join(found[-2:])} ({len(found)} in all)"


def clipped(text: str) -> str:
    """A text that may be long, cut."""
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 3]}..."
