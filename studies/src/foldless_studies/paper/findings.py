"""What the numbers of an item say, computed from its summary: nothing here is written down by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtr

from foldless_studies.pages import Block, Points, Table, Text, number
from foldless_studies.paper import meg, published
from foldless_studies.paper.cells import ATTEMPTS, printed_distance
from foldless_studies.paper.items import ITEMS, Item
from foldless_studies.paper.summary import average, by_panel, pooled_coverage

Rows = list[dict[str, Any]]
WITHIN = 0.03  # of the authors' ovarian means


def of(item: Item, summary: dict[str, Any]) -> list[Block]:
    """Findings of an item."""
    if item.name == "table1":
        return table1_blocks(summary)
    if item.name == "shuffled":
        return [Points(_shuffled(summary))]
    blocks: list[Block] = [Points([*map(_sentence, panels(item, summary))])]
    if item.name == "fig6":
        blocks += [Points(said)] if (said := meg_points(summary)) else []
    return blocks + (ovarian_blocks(summary) if item.name == "fig5" else [])


def panels(item: Item, summary: dict[str, Any]) -> list[dict[str, Any]]:
    """For each panel, on the points that all the named estimators share: mean absolute errors and coverage."""
    return [_panel(item, where, rows) for where, rows in by_panel(item, summary)]


NAMED = ("cv-published", "cv5", "ebauc-published", "cbauc", "foldless")


def _panel(item: Item, where: dict[str, Any], rows: Rows) -> dict[str, Any]:
    by = {name: {r[item.x]: r for r in rows if r["estimator"] == name and r["units"]} for name in NAMED}
    shared = [x for x in by["cbauc"] if all(x in by[name] for name in NAMED)]
    mae = {name: float(np.mean([by[name][x]["mae"] for x in shared])) for name in NAMED} if shared else {}
    cover = {name: pooled_coverage([by[name][x] for x in shared]) for name in ("cv5", "cbauc", "foldless")}
    return {"where": where, "points": len(shared), "mae": mae, "coverage": cover}


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
        rows = [r for r in summary["table"] if r["data"] == data]
        means = {name: average([r for r in rows if r["estimator"] == name], "mean") for name in NAMED}
        said.append(
            f"{data}: where the truth is 0.5, CBAUC says {number(means['cbauc'])} on average, EBAUC as published "
            f"{number(means['ebauc-published'])}, CV as published {number(means['cv-published'])}, 5-fold CV "
            f"{number(means['cv5'])}, foldless {number(means['foldless'])}."
        )
    return said


def in_short(summaries: dict[str, dict[str, Any]]) -> list[str]:
    """Where the paper's numbers do not come back, or mean something else: for the top of the index."""
    said: list[str] = []
    if "table1" in summaries:
        said += [f"Table 1: {point}" for point in table1_points(summaries["table1"])]
    if "fig5" in summaries and any(r.get("variant") == "published" for r in summaries["fig5"]["table"]):
        said += [f"Figure 5: {point}" for point in ovarian_points(summaries["fig5"])]
    if "fig6" in summaries:
        said += [f"Figure 6{', SIMULATED' if is_stand_in(summaries['fig6']) else ''}: {point}"
                 for point in meg_points(summaries["fig6"])]  # fmt: skip
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


# ---- Table 1: what it can and cannot come from.


def table1_blocks(summary: dict[str, Any]) -> list[Block]:
    """Findings and tables of the item."""
    truths: Rows = summary["truths"]
    return [Points(table1_points(summary)), _entries(truths), _settings(truths), Text(OFF_BY)]


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


def table1_points(summary: dict[str, Any]) -> list[str]:
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


# ---- The ovarian figure beside the authors' own results, and why its cross-validation is so low.


def ovarian_blocks(summary: dict[str, Any]) -> list[Block]:
    """Findings and tables of the published variant; nothing without it."""
    rows = [r for r in summary["table"] if r["variant"] == "published"]
    if not rows:
        return []
    return [Text("The published variant beside the authors' own results (means over the splits):"), _beside(rows),
            Points(ovarian_points(summary))]  # fmt: skip


THREE = {"cv-published": "CV-AUC", "ebauc-published": "EBAUC", "cbauc": "CBAUC"}


def _beside(rows: Rows) -> Table:
    lines = []
    for share in dict.fromkeys(r["share"] for r in rows):
        at = published.OVARIAN_SHARES.index(share)
        cells = []
        for name in THREE:
            row = next(r for r in rows if r["share"] == share and r["estimator"] == name)
            mean, mae = published.OVARIAN_MEAN[name][at], published.OVARIAN_MAE[name][at]
            cells += [f"{number(row['mean'])} / {mean:.3f}", f"{number(row['mae'])} / {mae:.3f}"]
        lines.append([f"{share} %", *cells])
    return Table(["ours / authors'", *(f"{title} {q}" for title in THREE.values() for q in ("mean", "MAE"))], lines)


def ovarian_points(summary: dict[str, Any]) -> list[str]:
    """Agreement with the authors' results, and what the published CV-AUC is made of."""
    rows = [r for r in summary["table"] if r["variant"] == "published"]
    at = {(r["share"], r["estimator"]): r for r in rows}
    shares = list(dict.fromkeys(r["share"] for r in rows))
    off = {(s, n): at[s, n]["mean"] - published.OVARIAN_MEAN[n][published.OVARIAN_SHARES.index(s)]
           for s in shares for n in THREE}  # fmt: skip
    outside = [f"{THREE[n]} at {s} % ({d:+.3f})" for (s, n), d in off.items() if abs(d) > WITHIN]
    agree = f"Largest difference from the authors' means: {max(map(abs, off.values())):.3f}."
    agree += f" Outside {WITHIN}: {', '.join(outside)}." if outside else f" All within {WITHIN}."
    few = shares[0]
    parts = {n: at[few, n]["mean"] for n in ("cv-published", "cv-corners", "cv-own-thresholds", "cv5")}
    return [
        agree,
        f"Why the published CV-AUC is low, at {few} % training rows: {parts['cv-published']:.3f} as published, "
        f"{parts['cv-corners']:.3f} with the corners (0, 0) and (1, 1) added, {parts['cv-own-thresholds']:.3f} with "
        f"each fold thresholded at its own scores, {parts['cv5']:.3f} by the textbook. The curve is evaluated at the "
        f"training scores of the full model; these leave a gap between the classes, and most held-out scores fall into "
        f"it, where there is no threshold. The thresholds cost the area, not the missing corners.",
        f"The mean of CBAUC is at least {min(at[s, 'cbauc']['mean'] for s in shares):.4f} at every size: with 4000 "
        f"columns the training scores are separated whatever the labels. Its error is small because the truth is near "
        f"1; on shuffled labels it says the same.",
    ]


# ---- The MEG figure: whether its data are the recording, and what its dip comes from.


def is_stand_in(summary: dict[str, Any]) -> bool:
    """True when a simulation stands in for the recording."""
    return any(row.get("data") == meg.SIMULATED for row in summary["truths"])


def meg_points(summary: dict[str, Any]) -> list[str]:
    """Where published and standard cross-validation are best on the second day; nothing without such a dip."""
    day2 = summary["table"][0]["split"]
    rows = {r["share"]: r["n0"] + r["n1"] for r in summary["truths"] if r["split"] == day2}
    published, standard = (
        [r for r in summary["table"] if r["split"] == day2 and r["estimator"] == name and r["units"]]
        for name in ("cv-published", "cv5")
    )
    if not (published and standard and published[0]["bias"] < 0 < published[-1]["bias"]):
        return []
    best = [min(found, key=lambda r: r["mae"])["share"] for found in (published, standard)]
    return [
        f"The paper's CV-AUC is most accurate at about 150 rows and gets worse with more. Here, on the {day2}, CV as "
        f"published is best at {rows[best[0]]} rows, standard CV at {rows[best[1]]}. The published one's bias goes "
        f"from {published[0]['bias']:+.3f} at {rows[published[0]['share']]} rows to {published[-1]['bias']:+.3f} at "
        f"{rows[published[-1]['share']]}, that of the standard one from {standard[0]['bias']:+.3f} to "
        f"{standard[-1]['bias']:+.3f}: what starts too low and ends too high is right in between, for no good reason."
    ]
