"""What Table 1 can and cannot come from, computed from the summary."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtr

from foldless_studies.paper import published
from foldless_studies.paper.attempts import ATTEMPTS, printed_distance
from foldless_studies.paper.page import Block, Points, Table, Text, number

Rows = list[dict[str, Any]]


def blocks(summary: dict[str, Any]) -> list[Block]:
    """Findings and tables of the item."""
    truths: Rows = summary["truths"]
    return [Points(points(summary)), _entries(truths), _settings(truths), Text(OFF_BY)]


def _entries(truths: Rows) -> Table:
    """The table itself: as printed, as stated, and by the setting that comes closest."""
    shown = list(dict.fromkeys(["as stated", "means further apart", _closest(truths)]))
    value = {(r["setting"], r["P"], r["N"]): r for r in truths}
    lines = []
    for P, N in dict.fromkeys((r["P"], r["N"]) for r in truths):
        lines.append(
            [f"P = {P}, {N} rows", number(printed(P, N), 4), *(number(value[s, P, N]["truth"], 4) for s in shown)]
        )
    for P, N in {r["P"]: (r["P"], r["N"]) for r in truths}.values():
        bayes = [number(value[s, P, N]["bayes"], 4) for s in shown]
        lines.append([f"P = {P}, Bayes", number(published.TABLE1_BAYES[P], 4), *bayes])
    return Table(["", "printed", *shown], lines)


def _settings(truths: Rows) -> Table:
    """How far every setting is off."""
    Ps = list(dict.fromkeys(r["P"] for r in truths))
    lines = []
    for setting in dict.fromkeys(r["setting"] for r in truths):
        off = [_off([r for r in truths if r["P"] == P and r["setting"] == setting]) for P in Ps]
        lines.append([setting, *(number(_rms(o), 4) for o in off), number(_rms([x for o in off for x in o]), 4)])
    return Table(["off by", *(f"P = {P}" for P in Ps), "all"], lines)


def _off(rows: Rows) -> list[float]:
    return [r["truth"] - printed(r["P"], r["N"]) for r in rows]


def _closest(truths: Rows) -> str:
    settings: list[str] = list(dict.fromkeys(r["setting"] for r in truths))
    return min(settings, key=lambda s: _rms(_off([r for r in truths if r["setting"] == s])))


OFF_BY = "off by: root mean square difference from the printed numbers, the Bayes row left aside."


def points(summary: dict[str, Any]) -> list[str]:
    """What Table 1 can and cannot come from."""
    truths: Rows = summary["truths"]
    Ps = list(dict.fromkeys(row["P"] for row in truths))
    said = [_against_stated([r for r in truths if r["P"] == P and r["setting"] == "as stated"], P) for P in Ps]
    best = _closest(truths)
    off = {s: _off([r for r in truths if r["setting"] == s]) for s in ("as stated", best)}
    worst = max((r for r in truths if r["setting"] == best), key=lambda r: abs(r["truth"] - printed(r["P"], r["N"])))
    shown, se = len({r["setting"] for r in truths}), number(worst["truth_se"], 4)
    closest = (
        f"Of the {shown} settings shown, **{best}** comes closest to the whole table: off by {_rms(off[best]):.4f} "
        f"(root mean square), as stated by {_rms(off['as stated']):.4f}. It is not exact: P = {worst['P']} with "
        f"{worst['N']} rows gives {worst['truth']:.4f} (standard error {se}) for "
        f"{printed(worst['P'], worst['N']):.4f}."
    )
    attempt = ATTEMPTS[best]
    return [*said, " ".join([closest, *([SCRIPT] if attempt.standardised else []), BAYES,
                             *([_drawn(Ps)] if attempt.kind == "random" else [])])]  # fmt: skip


SCRIPT = "Standardising without an intercept is what the authors' script does with the ovarian data."
BAYES = (
    "This is about the rows: except for the stated settings, the distance between the classes is taken from the "
    "printed Bayes row."
)


def _drawn(Ps: list[int]) -> str:
    """If both means are N(0, I), half the squared distance is chi-squared with P degrees of freedom."""
    ranks = [f"{chdtr(P, printed_distance(P) / 2):.2f} for P = {P}" for P in Ps if published.TABLE1_BAYES[P] < 1]
    return (
        f"Had both class means been drawn from N(0, I), a distance as small as the printed one or smaller would have "
        f"probability {', '.join(ranks)}: nothing unusual. That is a guess, which nothing but the table supports."
    )


def _against_stated(rows: Rows, P: int) -> str:
    first = rows[0]
    bayes, in_paper = first["bayes"], published.TABLE1_BAYES[P]
    means = (
        f"at {first['N']} rows its classifiers reach {first['truth']:.4f} on average, the paper prints "
        f"{printed(P, first['N']):.4f}"
    )
    if abs(bayes - in_paper) < 5e-5:
        return f"P = {P}: the Bayes row agrees ({in_paper:.4f}), the others do not: {means}."
    return (
        f"P = {P}: the best classifier for the stated distribution has AUC {bayes:.4f}; the paper prints "
        f"{in_paper:.4f}, which needs {printed_distance(P) / P:.2f} times the stated squared distance; {means}."
    )


def printed(P: int, N: int) -> float:
    """An entry of the published table."""
    return published.TABLE1[P][published.TABLE1_ROWS.index(N)]


def _rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
