"""The summary as Markdown, for people."""

from __future__ import annotations

import html
import re
from typing import Any

from foldless.words import visible

Table = list[dict[str, Any]]

WHERE = {"all": ("labels",), "pooled": ("group", "labels", "n", "C"), "cell": ("cell", "C")}
SHOWN = {
    "units": "units",
    "mae": "MAE",
    "ratio_cv5": "/ CV5",
    "ratio_cv5x5": "/ 5xCV5",
    "sets_below_cv5": "sets below CV5",
    "bias": "bias",
    "coverage90": "cover 90",
    "adjusted50": "adj. 50",
    "adjusted80": "adj. 80",
    "adjusted90": "adj. 90",
    "adjusted95": "adj. 95",
    "width90": "width 90",
    "false_alarms": "false alarms",
    "seconds": "seconds",
}
LEGEND = (
    "MAE: mean absolute error; / CV5: pooled MAE over that of 5-fold CV; cover: share of central intervals that hold "
    "the measured AUC; adj.: the same for posterior + test noise; false alarms: 5 % quantile above 0.5 without signal."
)


def markdown(table: Table) -> str:
    """The pooled figures and the simulated cells; single data sets are in the JSON file only."""
    wanted = [(kind, scope) for kind in ("data", "simulation") for scope in WHERE]
    parts = [_section([r for r in table if (r["kind"], r["scope"]) == w], *w) for w in wanted]
    return "\n".join([LEGEND, "", *(part for part in parts if part)])


def _section(rows: Table, kind: str, scope: str) -> str:
    if not rows:
        return ""
    where = [*(k for k in WHERE[scope] if k in rows[0]), "method"]
    lines = [_line([*where, *SHOWN.values()]), _line(["---"] * len(where) + ["--:"] * len(SHOWN))]
    lines += [_line([inert(text(row[k])) for k in (*where, *SHOWN)]) for row in rows]
    return "\n".join([f"## {kind}: {scope}", "", *lines, ""])


def inert(cell: str) -> str:
    """A cell whose content, which may be the name of a data set, is text and no markup."""
    return re.sub(r"([|\\`\[\]])", r"\\\1", html.escape(visible(" ".join(cell.split())), quote=False))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def text(value: Any) -> str:
    """A table cell: three decimals, a dash for nothing."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if value == round(value, 2) else f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.4f}"
