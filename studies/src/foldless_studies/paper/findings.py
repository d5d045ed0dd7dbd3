"""What the numbers of an item say, computed from its summary: nothing here is written down by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless_studies.paper import about_meg, about_ovarian, about_table1
from foldless_studies.paper.items import ITEMS, Item
from foldless_studies.paper.page import Block, Points, Table, number

Rows = list[dict[str, Any]]


def of(item: Item, summary: dict[str, Any]) -> list[Block]:
    """Findings of an item."""
    if item.name == "table1":
        return about_table1.blocks(summary)
    if item.name == "shuffled":
        return [Points(_shuffled(summary))]
    blocks: list[Block] = [Points([*map(_sentence, panels(item, summary))])]
    if item.name == "fig6":
        blocks += [Points(said)] if (said := about_meg.points(summary)) else []
    return blocks + (about_ovarian.blocks(summary) if item.name == "fig5" else [])


def panels(item: Item, summary: dict[str, Any]) -> list[dict[str, Any]]:
    """For each panel, on the points that all the named estimators share: mean absolute errors and coverage."""
    keys = [key for key in (item.down, item.across) if key]
    found: dict[tuple[Any, ...], Rows] = {}
    for row in summary["table"]:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return [_panel(item, dict(zip(keys, where, strict=True)), rows) for where, rows in found.items()]


NAMED = ("cv-published", "cv5", "ebauc-published", "cbauc", "foldless")


def _panel(item: Item, where: dict[str, Any], rows: Rows) -> dict[str, Any]:
    by = {name: {r[item.x]: r for r in rows if r["estimator"] == name and r["units"]} for name in NAMED}
    shared = [x for x in by["cbauc"] if all(x in by[name] for name in NAMED)]
    mae = {name: float(np.mean([by[name][x]["mae"] for x in shared])) for name in NAMED} if shared else {}
    cover = {name: _coverage([by[name][x] for x in shared]) for name in ("cv5", "cbauc", "foldless")}
    return {"where": where, "points": len(shared), "mae": mae, "coverage": cover}


def _coverage(rows: Rows) -> float | None:
    pairs = [(r["coverage90"], r["coverage_units"]) for r in rows if r["coverage90"] is not None]
    total = sum(units for _, units in pairs)
    return sum(value * units for value, units in pairs) / total if total else None


def _sentence(panel: dict[str, Any]) -> str:
    where = ", ".join(v if isinstance(v, str) else f"{k} = {v}" for k, v in panel["where"].items())
    before = f"{where}: " if where else ""
    mae, cover = panel["mae"], panel["coverage"]
    if not mae:
        return f"{before}no point at which all estimators have a value."
    errors = (
        f"mean absolute error {mae['foldless']:.4f} (foldless), {mae['cv5']:.4f} (5-fold CV), {mae['cbauc']:.4f} "
        f"(CBAUC), {mae['ebauc-published']:.4f} (EBAUC as published), {mae['cv-published']:.4f} (CV as published)"
    )
    held = ", ".join(
        f"{number(cover[n], 2)} ({t})" for n, t in (("foldless", "foldless"), ("cbauc", "CBAUC"), ("cv5", "CV"))
    )
    return f"{before}{errors}. 90 % intervals hold the truth: {held}."


def _shuffled(summary: dict[str, Any]) -> list[str]:
    said = []
    for data in dict.fromkeys(row["data"] for row in summary["table"]):
        means = {n: _mean([r["mean"] for r in summary["table"] if r["data"] == data and r["estimator"] == n])
                 for n in ("foldless", "cv5", "cbauc", "ebauc-published", "cv-published")}  # fmt: skip
        said.append(
            f"{data}: where the truth is 0.5, CBAUC says {number(means['cbauc'])} on average, EBAUC as published "
            f"{number(means['ebauc-published'])}, CV as published {number(means['cv-published'])}, 5-fold CV "
            f"{number(means['cv5'])}, foldless {number(means['foldless'])}."
        )
    return said


def _mean(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else None


def in_short(summaries: dict[str, dict[str, Any]]) -> list[str]:
    """Where the paper's numbers do not come back, or mean something else: for the top of the index."""
    said: list[str] = []
    if "table1" in summaries:
        said += [f"Table 1: {point}" for point in about_table1.points(summaries["table1"])]
    if "fig5" in summaries and any(r.get("variant") == "published" for r in summaries["fig5"]["table"]):
        said += [f"Figure 5: {point}" for point in about_ovarian.points(summaries["fig5"])]
    if "fig6" in summaries:
        said += [f"Figure 6{', SIMULATED' if about_meg.is_stand_in(summaries['fig6']) else ''}: {point}"
                 for point in about_meg.points(summaries["fig6"])]  # fmt: skip
    if "shuffled" in summaries:
        said += [f"Shuffled labels: {point}" for point in _shuffled(summaries["shuffled"])]
    return said


def all_panels(summaries: dict[str, dict[str, Any]]) -> list[Block]:
    """Every panel in a line: errors relative to standard cross-validation, and coverage; nothing without panels."""
    found = [(name, panel) for name, s in summaries.items() if s["table"] for panel in panels(ITEMS[name], s)]
    found = [(name, panel) for name, panel in found if panel["mae"]]
    if not found:
        return []
    header = ["panel", "MAE of CV", "foldless / CV", "CBAUC / CV", "published EBAUC / CV", "published CV / CV"]
    header += ["cover 90: foldless", "CBAUC", "CV"]
    return [Table(header, [_ratio_line(name, panel) for name, panel in found]), Points(_counted(found))]


def _counted(found: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """How often each is more accurate than cross-validation, and between which values its coverage lies."""
    said = []
    for name, title in (("foldless", "foldless"), ("cbauc", "CBAUC")):
        better = sum(panel["mae"][name] < panel["mae"]["cv5"] for _, panel in found)
        said.append(f"{title} has a smaller error than 5-fold cross-validation in {better} of {len(found)} panels.")
        cover = [panel["coverage"][name] for _, panel in found if panel["coverage"][name] is not None]
        if cover:
            said[-1] += (
                f" Its 90 % intervals hold the truth in {min(cover):.2f} to {max(cover):.2f} of a panel's trials."
            )
    return said


def seconds(summaries: dict[str, dict[str, Any]]) -> str | None:
    """What an estimate costs, from the first item that has any."""
    timed = next((s for s in summaries.values() if s["table"]), None)
    if timed is None:
        return None
    ms = {name: 1000 * s for name, s in timed["seconds"].items() if s is not None}
    return (
        f"Processor time of one estimate in {timed['item']} (median, milliseconds): CBAUC {ms['cbauc']:.2f}, EBAUC "
        f"{ms['ebauc-published']:.2f}, foldless {ms['foldless']:.1f}, 5-fold CV {ms['cv5']:.1f}, CV as published "
        f"{ms['cv-published']:.1f}; the one fit that all of them need takes {ms['fit']:.1f}."
    )


def _ratio_line(name: str, panel: dict[str, Any]) -> list[str]:
    mae, cover = panel["mae"], panel["coverage"]
    where = ", ".join(v if isinstance(v, str) else f"{k} = {v}" for k, v in panel["where"].items())
    others = ("foldless", "cbauc", "ebauc-published", "cv-published")
    relative = [number(mae[n] / mae["cv5"], 2) if mae["cv5"] > 0 else "-" for n in others]
    return [f"{name}{': ' if where else ''}{where}", number(mae["cv5"], 4), *relative,
            *(number(cover[n], 2) for n in ("foldless", "cbauc", "cv5"))]  # fmt: skip
