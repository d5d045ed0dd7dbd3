"""`Diagnosis`: the findings about one classifier and its data, and the verdict that follows from the worst of them."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any, Literal

from foldless.auc import AUCPosterior
from foldless.findings.finding import SEVERITIES, Finding

Verdict = Literal["trust", "caution", "do not use"]
VERDICTS: tuple[Verdict, ...] = ("trust", "caution", "do not use")
WIDTH = 100


@dataclass(frozen=True, repr=False, eq=False)
class Diagnosis:
    """What speaks for and against the answer of `auc_posterior`.

    Attributes
    ----------
    findings : tuple of Finding
        The worst first. Each has a name, a severity, a text with its number, advice, and the number as `value`.
    auc : AUCPosterior or None
        The answer that was diagnosed; None where there is none to be had.
    n_rows, n_columns : int
    copies : tuple of int
        One code per row, the same for a row and its copies: fit to be passed as `groups`. Empty without copies.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:80, :5], y[:80]
    >>> found = fl.diagnose(RidgeClassifier().fit(X, y), X, y)
    >>> found.verdict in ("trust", "caution", "do not use")
    True
    """

    findings: tuple[Finding, ...]
    auc: AUCPosterior | None
    n_rows: int
    n_columns: int
    copies: tuple[int, ...] = ()

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
        """Names of the findings that are more than information."""
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
        told = ", ".join(f"{n} {s}" for s, n in counts if n) or "nothing found"
        return f"Diagnosis({self.verdict!r}: {told})"

    def __str__(self) -> str:
        lines = [f"Verdict: {self.verdict}"]
        lines += ["Nothing was found."] * (not self.findings)
        for f in self.findings:
            lines += [
                fill(f"{f.severity}: {f.name}", WIDTH),
                fill(f.text, WIDTH, initial_indent="  ", subsequent_indent="  "),
                fill(f"-> {f.advice}", WIDTH, initial_indent="  ", subsequent_indent="     "),
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from foldless._html import findings

        return findings.diagnosis(self)
