"""Text for people: numbers, intervals, lists and names as messages, pages and pictures show them."""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# ---- Text on one line, without characters that a terminal would act on.

CONTROL = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, formatting, surrogates, line and paragraph separators
BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
# Control characters, marks that turn the direction of writing, and halves of characters. A name that holds one could
# hide text, reverse it, or make the page unreadable.
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")


def is_control(character: str) -> bool:
    """Whether a terminal could act on a character instead of showing it."""
    return unicodedata.category(character) in CONTROL


def visible(text: str) -> str:
    """Control characters written out: a name must not move the cursor, reverse the text or start a new line.

    >>> visible("red \\x1b[31m")
    'red \\\\x1b[31m'
    """
    return "".join(c.encode("unicode_escape").decode("ascii") if is_control(c) else c for c in text)


def one_line(text: str) -> str:
    """The text with every run of white space, line breaks included, as one space; control characters written out."""
    return visible(" ".join(text.split()))


def reason(err: Exception) -> str:
    """What an exception of other code says, on one line; a search lists the traceback of every fit, hence the cut."""
    return cut(one_line(str(err)), 400) or type(err).__name__


def cleaned(text: str) -> str:
    """Text on one line for a page, unsafe characters replaced by U+FFFD.

    >>> cleaned("age\\x00 in\\nyears")
    'age� in years'
    """
    return UNSAFE.sub("\ufffd", BREAKS.sub(" ", text))


# ---- Names, alone and in lists.

LONGEST = 80
LONGEST_LISTED = 60
MAX_NAMES = 5


def cut(text: str, longest: int = LONGEST_LISTED) -> str:
    """A text, cut where it is too long.

    >>> cut("x" * 100, 5)
    'xxxx…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def shortened(name: Any) -> str:
    """A name of a column or class as a page shows it, cut where it is very long."""
    return cut(cleaned(str(name)), LONGEST)


def quoted(label: Any) -> str:
    """A class label in a sentence of a page."""
    return f"“{shortened(label)}”"


def shell_quoted(name: str) -> str:
    """A name as it has to be typed in a shell."""
    return name if name.replace("_", "").replace("-", "").isalnum() else shlex.quote(name)


def listed(items: Iterable[Any]) -> str:
    """The first few items of a list, text in quotes, with a count of the rest.

    >>> listed(["a", 2]), listed(range(7))
    ("'a', 2", '0, 1, 2, 3, 4 and 2 more')
    """
    return first_few([_item(item) for item in items])


def first_few(texts: list[str]) -> str:
    """The first few texts, with a count of the rest."""
    rest = len(texts) - MAX_NAMES
    return ", ".join(texts[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def both_ends(items: Iterable[Any]) -> str:
    """The first items of a list and the last ones: the one the user wants is often near the end."""
    texts = [_item(item) for item in items]
    if len(texts) <= 2 * MAX_NAMES:
        return ", ".join(texts)
    return f"{', '.join(texts[:MAX_NAMES])}, ... {', '.join(texts[-2:])} ({len(texts)} in all)"


def _item(item: Any) -> str:
    return f"'{cut(visible(item))}'" if isinstance(item, str) else cut(visible(str(item)))


def counted(n: int, what: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def merged_notes(notes: Mapping[str, Iterable[str]]) -> list[str]:
    """Each note of several models once; one that does not concern all of them names its models."""
    owners: dict[str, list[str]] = {}
    for name, own in notes.items():
        for note in dict.fromkeys(own):
            owners.setdefault(note, []).append(name)
    return [note if len(who) == len(notes) else f"{', '.join(who)}: {note}" for note, who in owners.items()]


# ---- Rates, intervals and levels.

DIGITS = 3
SMALLEST = 0.5 * 10.0**-DIGITS


def rate(p: float) -> str:
    """A rate with three digits; values close to 0 or 1 are not rounded to them.

    >>> rate(0.91249), rate(0.99996), rate(0.0001)
    ('0.912', '> 0.999', '< 0.001')
    """
    if p >= 1 - SMALLEST:
        return "> 0.999"
    return "< 0.001" if p < SMALLEST else f"{p:.{DIGITS}f}"


def share(p: float) -> str:
    """A rate that was counted, where 0 and 1 mean none and all.

    >>> share(1.0), share(0.9999), share(0.25)
    ('1', '> 0.999', '0.250')
    """
    return f"{p:.0f}" if p in (0.0, 1.0) else rate(p)


def span(low: float | None, high: float | None) -> str:
    """An interval of rates; a dash where there is none.

    >>> span(0.8512, 0.99999), span(0.99981, 0.99999), span(None, None)
    ('0.851 to > 0.999', '> 0.999', '-')
    """
    if low is None or high is None:
        return "-"
    return rate(low) if low >= 1 - SMALLEST or high < SMALLEST else f"{rate(low)} to {rate(high)}"


def estimate(mean: float, low: float, high: float) -> str:
    """A rate with its interval, which is left out where it adds nothing.

    >>> estimate(0.874, 0.764, 0.962), estimate(0.99999, 0.9998, 1.0)
    ('0.874 (0.764 to 0.962)', '> 0.999')
    """
    return rate(mean) if span(low, high) == rate(mean) else f"{rate(mean)} ({span(low, high)})"


def percent(level: float) -> str:
    """A level as a percentage.

    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:.10g} %"


def interval(result: Mapping[str, Any]) -> str:
    """The interval of an answer, which has its `level`, `low` and `high`, in a sentence.

    >>> interval({"level": 0.95, "low": 0.8512, "high": 0.93})
    '95 % interval 0.851 to 0.930'
    """
    return f"{percent(result['level'])} interval {span(result['low'], result['high'])}"


def times_in_100(rate: float, digits: int = 0) -> str:
    """A probability as a count out of 100.

    >>> times_in_100(0.874), times_in_100(0.9999), times_in_100(0.001), times_in_100(0.9463, 1)
    ('87', 'more than 99', 'fewer than 1', '94.6')
    """
    step = 10.0**-digits
    if 100 * rate > 100 - step / 2:
        return f"more than {100 - step:.{digits}f}"
    return f"fewer than {step:.{digits}f}" if 100 * rate < step / 2 else f"{100 * rate:.{digits}f}"


# ---- Tables for LaTeX.

_MARKS = {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}", "<": "$<$", ">": "$>$", "\N{MINUS SIGN}": "$-$"}
LATEX = str.maketrans({c: rf"\{c}" for c in "%&$#_{}"} | _MARKS)


def latex_table(lines: Sequence[Sequence[str]], kinds: str = "") -> str:
    """Lines of cells, the first one the head, with the rules of booktabs; `kinds` has the alignment of the columns."""
    head, *rows = (" & ".join(cell.translate(LATEX) for cell in line) + r" \\" for line in lines)
    kinds = kinds or "l" + "r" * (len(lines[0]) - 1)
    start = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule"]
    return "\n".join([*start, *rows, r"\bottomrule", r"\end{tabular}"])


# ---- Values for JSON.


def plain(value: Any, text: Callable[[str], str] = cleaned) -> Any:
    """A value as JSON knows it: numbers, text, lists and dicts; what is not finite becomes None.

    `text` says how text is written: for a page, by default.

    >>> plain({"a": float("nan"), 2: (3, "b\\n")})
    {'a': None, '2': [3, 'b ']}
    """
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {text(str(key)): plain(item, text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, text) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else text(str(value))
