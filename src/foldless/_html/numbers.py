"""How rates, intervals and levels are written for people."""

from __future__ import annotations

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
