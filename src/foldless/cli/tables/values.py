"""Which words are numbers, and which mean that there is none."""

from __future__ import annotations

from typing import Any

# Words for 'nothing' among texts and labels, in lower case. 'none' is not one of them: it may be a class.
NOTHING = ("", "na", "n/a", "nan", "null", "?")
# ... and among numbers.
NO_NUMBER = (*NOTHING, "none", "#n/a", "nil", ".", "-")
# As polars compares them: every word in the ways that programs write it.
NO_NUMBER_SPELLED = sorted({f(w) for w in NO_NUMBER for f in (str.lower, str.upper, str.title)} | {"NaN"})
COMMA_NUMBER = r"^([-+]?\d*),(\d+(?:[eE][-+]?\d+)?)$"


def stripped(column: Any) -> Any:
    """A column of text without padding; null where it says nothing."""
    return _without(column.str.strip_chars(), NOTHING)


def _without(column: Any, words: tuple[str, ...]) -> Any:
    import polars as pl

    empty = column.str.to_lowercase().is_in(pl.Series(words).implode())
    return column.set(empty.fill_null(False), None)


def as_numbers(column: Any, decimal: str) -> Any | None:
    """A column of text as Float64, true and false as 1 and 0; None if a word in it is no number."""
    import polars as pl

    words = _without(column.str.strip_chars(), NO_NUMBER)
    if decimal == ",":
        words = words.str.replace(COMMA_NUMBER, "${1}.${2}")
    flags = words.str.to_lowercase().replace({"true": "1", "false": "0"})
    numbers = flags.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == words.null_count() else None


def numeric_columns(sample: Any, decimal: str) -> list[bool]:
    """For each column of text, whether a parser of numbers can be expected to read it as it stands."""
    import polars as pl

    known = pl.all().is_in(pl.Series(NO_NUMBER_SPELLED).implode())
    words = sample.select(pl.when(~known).then(pl.all()))
    dotted = words.select(pl.all().str.replace(COMMA_NUMBER, "${1}.${2}")) if decimal == "," else words
    numbers = dotted.select(pl.all().cast(pl.Float64, strict=False))
    lost = zip(words.null_count().row(0), numbers.null_count().row(0), strict=True)
    return [before == after for before, after in lost]


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
