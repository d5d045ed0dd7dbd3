"""`Report`: a finished report, as a page and as a plain dict."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldless._files import write_atomically
from foldless._html import numbers
from foldless._html.card import card


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """What `report` made.

    Attributes
    ----------
    html : str
        The page: one file that needs nothing else.

    Examples
    --------
    >>> Report({"title": "A", "auc": {"auc": 0.9, "low": 0.8, "high": 0.95}, "verdict": "trust"}, "<!doctype html>")
    Report('A', AUC 0.900 (0.800 to 0.950), verdict 'trust')
    """

    _content: dict[str, Any]
    html: str = field(repr=False)

    def summary(self) -> dict[str, Any]:
        """The content of the page as a plain dict of numbers, texts and lists: fit for JSON."""
        return deepcopy(self._content)

    @property
    def title(self) -> str:
        """Title of the page."""
        return str(self._content["title"])

    @property
    def verdict(self) -> str | None:
        """That of `diagnose`; None with more than two classes, for which there is none."""
        found = self._content["verdict"]
        return None if found is None else str(found)

    def save(self, path: Any) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        target = Path(path)
        write_atomically(target, self.html.encode("utf-8"))
        return target

    def __repr__(self) -> str:
        verdict = "no verdict" if self.verdict is None else f"verdict {self.verdict!r}"
        return f"Report({self.title!r}, AUC {self._figure()}, {verdict})"

    def _repr_html_(self) -> str:
        facts = {
            "verdict": self.verdict or "none: for two classes only",
            "page": f"{len(self.html.encode('utf-8')) / 1000:.0f} kB of HTML: report.save('report.html')",
        }
        return card(self.title, f"AUC {self._figure()}", facts, remark=str(self._content.get("sentence", "")))

    def _figure(self) -> str:
        auc = self._content["auc"]
        return numbers.estimate(auc["auc"], auc["low"], auc["high"])
