"""What a notebook shows of a diagnosis: the verdict, then the findings, the worst first."""

from __future__ import annotations

from html import escape
from typing import Any

from foldless._html import numbers
from foldless._html.card import FRAME, RULE

COLOURS = {"info": RULE, "caution": "#d97706", "severe": "#dc2626"}
VERDICTS = {"trust": "#16a34a", "caution": "#d97706", "do not use": "#dc2626"}
ITEM = "border-left:3px solid {colour};padding:1px 0 1px 9px;margin-top:8px;overflow-wrap:anywhere"


def diagnosis(found: Any) -> str:
    """A `Diagnosis` as HTML; every text is escaped here."""
    dot = f'<span aria-hidden="true" style="color:{VERDICTS[found.verdict]}">&#9679;</span>'
    parts = [
        '<div style="font-weight:600">May the answer be trusted?</div>',
        f'<div style="font-size:17px;margin:2px 0 6px">{dot} {escape(found.verdict)}</div>',
        f'<div style="opacity:0.75">{escape(_answer(found))}</div>',
        *(_item(f) for f in found.findings),
    ]
    if not found.findings:
        parts.append('<div style="margin-top:6px">Nothing was found that speaks against it.</div>')
    return f'<div class="foldless" style="{FRAME}">{"".join(parts)}</div>'


def _answer(found: Any) -> str:
    shape = f"{found.n_rows} rows, {found.n_columns} columns"
    if found.auc is None:
        return f"no AUC; {shape}"
    low, high = found.auc.interval(0.95)
    return f"AUC {numbers.estimate(found.auc.mean, low, high)}; {shape}"


def _item(finding: Any) -> str:
    style = ITEM.format(colour=COLOURS[finding.severity])
    head = f"<b>{escape(finding.severity)}: {escape(finding.name)}</b>"
    advice = f'<div style="opacity:0.75">{escape(finding.advice)}</div>'
    return f'<div style="{style}">{head}<div>{escape(finding.text)}</div>{advice}</div>'
