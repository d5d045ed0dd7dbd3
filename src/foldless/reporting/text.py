"""Names and values as a page or JSON may hold them: no control characters, no objects, no NaN."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

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
