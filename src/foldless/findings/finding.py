"""`Finding`: one thing that a check has found, with the number behind it and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any, Literal

Severity = Literal["info", "caution", "severe"]
SEVERITIES: tuple[Severity, ...] = ("info", "caution", "severe")


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    name : str
        What it is about, such as "copies" or "leak".
    severity : {"info", "caution", "severe"}
        "info" is good to know; "caution" strains an assumption of the answer or of its reading; with "severe" the
        answer is not that to the question asked.
    text : str
        The finding, with its number.
    advice : str
        What to do.
    value : float
        The number behind it; nan where there is none.

    Examples
    --------
    >>> finding = Finding("rows", "caution", "the smaller class has 6 rows.", "Collect more.", 6.0)
    >>> print(finding)
    caution: the smaller class has 6 rows. Collect more.
    """

    name: str
    severity: Severity
    text: str
    advice: str
    value: float

    def __str__(self) -> str:
        return f"{self.severity}: {self.text} {self.advice}".rstrip()

    @property
    def note(self) -> str:
        """The finding for the notes of an answer; with what to do, where the answer should not be used."""
        return f"{self.text} {self.advice}" if self.severity == "severe" else self.text

    @property
    def level(self) -> int:
        """0 for info, 1 for caution, 2 for severe."""
        return SEVERITIES.index(self.severity)

    def summary(self) -> dict[str, Any]:
        """The finding as a plain dict."""
        return {
            "name": self.name,
            "severity": self.severity,
            "text": self.text,
            "advice": self.advice,
            "value": None if isnan(self.value) else self.value,
        }


def found(*findings: Finding | None) -> tuple[Finding, ...]:
    """Those that are not None."""
    return tuple(f for f in findings if f is not None)
