"""Which words are numbers, and which mean that there is none."""

from __future__ import annotations

from typing import Any

from foldless.cli.tables.marks import Marks

# Words for 'nothing' among texts and labels, in lower case. 'none' is not one of them: it may be a class.
NOTHING = ("", "na", "n/a", "n.a.", "<na>", "#n/a", "nan", "null", "?")
# ... and among numbers.
NO_NUMBER = (*NOTHING, "none", "nil", ".", "-")
# As polars compares them: every word in the ways that programs write it.
NO_NUMBER_SPELLED = sorted({f(w) for w in NO_NUMBER for f in (str.lower, str.upper, str.title)} | {"NaN"})


def stripped(column: Any) -> Any:
    """A column of text without padding; null where it says nothing."""
    return _without(column.str.strip_chars(), NOTHING)


def _without(column: Any, words: tuple[str, ...]) -> Any:
    import polars as pl

    empty = column.str.to_lowercase().is_in(pl.Series(words).implode())
    return column.set(empty.fill_null(False), None)


def as_numbers(column: Any, marks: Marks) -> Any | None:
    """A column of text as Float64, true and false as 1 and 0; None if a word in it is no number."""
    words = _without(column.str.strip_chars(), NO_NUMBER)
    numbers = _parsed(words, marks)
    return numbers if numbers.null_count() == words.null_count() else None


def no_numbers(column: Any, marks: Marks) -> Any:
    """The words of a column that are neither numbers nor mean that there is none."""
    words = _without(column.str.strip_chars(), NO_NUMBER)
    return words.filter(words.is_not_null() & _parsed(words, marks).is_null())


def _parsed(words: Any, marks: Marks) -> Any:
    import polars as pl

    plain = words.to_frame("").select(marks.plain(pl.col("")).alias(""))[""]
    flags = plain.str.to_lowercase().replace({"true": "1", "false": "0"})
    return flags.cast(pl.Float64, strict=False)


def numeric_columns(sample: Any, marks: Marks) -> list[bool]:
    """For each column of text, whether a parser of numbers can be expected to read it as it stands."""
    import polars as pl

    known = pl.all().is_in(pl.Series(NO_NUMBER_SPELLED).implode())
    words = sample.select(pl.when(~known).then(pl.all()))
    numbers = words.select(marks.plain(pl.all())).select(pl.all().cast(pl.Float64, strict=False))
    lost = zip(words.null_count().row(0), numbers.null_count().row(0), strict=True)
    return [before == after for before, after in lost]


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number; '1_000' is one in programs only."""
    if "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
