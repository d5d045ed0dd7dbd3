"""`Finding`, the outcome of a check, and `Diagnosis`, all findings with the verdict that follows from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from textwrap import fill
from typing import Any, Literal

from foldless.results.auc import AUCPosterior, ShownAsCard

Severity = Literal["info", "caution", "severe"]
SEVERITIES: tuple[Severity, ...] = ("info", "caution", "severe")


@dataclass(frozen=True)
class Finding:
    """The outcome of a check.

    Attributes
    ----------
    name : str
        What it is about, such as "copies" or "leak".
    severity : {"info", "caution", "severe"}
        "info" is good to know; "caution" means that an assumption behind the answer is doubtful; "severe" that the
        answer does not belong to the question that was asked.
    text, advice : str
        The finding with its number, and what to do.
    value : float
        The number behind it; nan if there is none.

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
        """The finding as a note on an answer; with the advice, if the answer should not be used."""
        return f"{self.text} {self.advice}" if self.severity == "severe" else self.text

    @property
    def level(self) -> int:
        """0 for info, 1 for caution, 2 for severe."""
        return SEVERITIES.index(self.severity)

    def summary(self) -> dict[str, Any]:
        """The finding as a plain dict."""
        return {**asdict(self), "value": None if isnan(self.value) else self.value}


def present(*findings: Finding | None) -> tuple[Finding, ...]:
    """The findings, without the None of checks that found nothing."""
    return tuple(f for f in findings if f is not None)


Verdict = Literal["trust", "caution", "do not use"]
VERDICTS: tuple[Verdict, ...] = ("trust", "caution", "do not use")


@dataclass(frozen=True, repr=False, eq=False)
class Diagnosis(ShownAsCard):
    """Reasons to trust or doubt the answer of `auc_posterior`; made by `diagnose`, which has an example.

    Attributes
    ----------
    findings : tuple of Finding
        The worst first.
    auc : AUCPosterior or None
        The answer that was diagnosed; None if it was refused.
    n_rows, n_columns : int
    copies : tuple of int
        One code per row, the same for a row and its copies, to be passed as `groups`. Empty without copies.
    """

    findings: tuple[Finding, ...]
    auc: AUCPosterior | None
    n_rows: int
    n_columns: int
    copies: tuple[int, ...] = ()
    _card = "diagnosis"

    @property
    def verdict(self) -> Verdict:
        """ "trust", "caution" or "do not use": the worst finding decides."""
        return VERDICTS[max((f.level for f in self.findings), default=0)]

    @property
    def alternative(self) -> str | None:
        """What to do instead, from the worst finding; None when the answer may be trusted."""
        return None if self.verdict == "trust" else self.findings[0].advice

    @property
    def flagged(self) -> tuple[str, ...]:
        """Names of the findings with severity "caution" or "severe"."""
        return tuple(f.name for f in self.findings if f.level > 0)

    def find(self, name: str) -> Finding | None:
        """The finding of that name, the worst if there are several; None if there is none."""
        return next((f for f in self.findings if f.name == name), None)

    def summary(self) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        return {
            "verdict": self.verdict,
            "alternative": self.alternative,
            "flagged": list(self.flagged),
            "findings": [f.summary() for f in self.findings],
            "rows": self.n_rows,
            "columns": self.n_columns,
            "auc": None if self.auc is None else self.auc.summary(),
        }

    def __repr__(self) -> str:
        counts = [(s, sum(f.severity == s for f in self.findings)) for s in reversed(SEVERITIES)]
        listing = ", ".join(f"{n} {s}" for s, n in counts if n) or "nothing found"
        return f"Diagnosis({self.verdict!r}: {listing})"

    def __str__(self) -> str:
        lines = [f"Verdict: {self.verdict}"]
        lines += ["Nothing was found."] * (not self.findings)
        for f in self.findings:
            lines += [
                fill(f"{f.severity}: {f.name}", 100),
                fill(f.text, 100, initial_indent="  ", subsequent_indent="  "),
                fill(f"-> {f.advice}", 100, initial_indent="  ", subsequent_indent="     "),
            ]
        return "\n".join(lines)
