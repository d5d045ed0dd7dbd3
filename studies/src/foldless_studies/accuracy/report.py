"""The accuracy results for people: the summary as a page, and its pools as a picture."""

from __future__ import annotations

import io
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from foldless_studies.estimators import CV5, OURS, PAPER, TITLES
from foldless_studies.pages import Block, Heading, Page, Table, Text, cell_text, escaped

Rows = list[dict[str, Any]]

WHERE = {"all": ("labels",), "pooled": ("group", "labels", "n", "C"), "cell": ("cell", "C")}
SHOWN = {
    "units": "units",
    "mae": "MAE",
    "ratio_cv5": "/ CV5",
    "ratio_cv5x5": "/ 5xCV5",
    "ratio_second": "/ second sample",
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
    "MAE: mean absolute error; / CV5: pooled MAE over that of 5-fold CV; / second sample: over that of the AUC of as "
    "many new labelled rows, the best that rows can tell about a given classifier; cover: share of central intervals "
    "that hold the measured AUC; adj.: the same for posterior + test noise; false alarms: 5 % quantile above 0.5 "
    "without signal."
)


def page(table: Rows) -> Page:
    """The pooled figures and the simulated cells; single data sets are in the JSON file only."""
    wanted = [(kind, scope) for kind in ("data", "simulation") for scope in WHERE]
    sections = [_section([r for r in table if (r["kind"], r["scope"]) == w], *w) for w in wanted]
    return Page("How far off the estimates are", [Text(LEGEND), *(block for part in sections for block in part)])


def _section(rows: Rows, kind: str, scope: str) -> list[Block]:
    if not rows:
        return []
    where = [*(k for k in WHERE[scope] if k in rows[0]), "method"]
    lines = [[escaped(cell_text(row[k])) for k in (*where, *SHOWN)] for row in rows]
    return [Heading(f"{kind}: {scope}"), Table([*where, *SHOWN.values()], lines, left=len(where))]


# ---- The picture: every pool of the table as a dot, method by method.

COLOURS = {OURS: "#1f5fbf", CV5: "#57606a", PAPER: "#c2410c"}
OTHERS, INK, FAINT = "#8c959f", "#24292f", "#d0d7de"
STYLE = {"font.size": 10, "font.family": "DejaVu Sans", "axes.spines.top": False, "axes.spines.right": False}
LARGEST = 3.2  # error relative to a second sample: what is beyond is drawn at the edge
HEIGHT = 0.3  # of the dots of a method, one row each
SHAPES = "os^D"  # of the classifiers, in order


@dataclass(frozen=True)
class Panel:
    """A figure of the table, the labels it is about, and where it would be were all well."""

    figure: str
    real: bool
    title: str
    well: float


PANELS = (
    Panel("ratio_second", True, "error, relative to a second\nlabelled sample of that size", 1.0),
    Panel("adjusted90", True, "90 % intervals that\nhold the truth", 0.9),
    Panel("false_alarms", False, "shuffled labels: signal found\nwhere there is none", 0.05),
)


def draw(table: Rows) -> bytes | None:
    """A PNG; None without matplotlib, or where the run has nothing to draw.

    Rows of several runs may have a "classifier". A method that was not asked everywhere is left out.
    """
    pools = [row for row in table if row["scope"] == "pooled" and row["kind"] == "data"]
    pools = pools or [row for row in table if row["scope"] == "pooled"]
    asked = {m: sum(row["units"] for row in pools if row["method"] == m) for m in TITLES}
    methods = [m for m in TITLES if asked[m] and asked[m] == max(asked.values())]
    if find_spec("matplotlib") is None or not methods:
        return None
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, outside pyplot: no window system, no state left behind.
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 1.6 + 0.42 * len(methods)), dpi=120, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        for axes, panel in zip(figure.subplots(1, len(PANELS), sharey=True), PANELS, strict=True):
            _fill(axes, panel, pools, methods)
        _explain(figure, pools)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _fill(axes: Any, panel: Panel, pools: Rows, methods: list[str]) -> None:
    axes.axvline(panel.well, color=FAINT, linewidth=2, zorder=0)
    axes.set_xlim(0.8 if panel.figure == "ratio_second" else -0.02, LARGEST if panel.well == 1 else 1.02)
    for height, method in enumerate(methods):
        mine = [row for row in pools if row["method"] == method and (row["labels"] == "real") == panel.real]
        _dots(axes, height, mine, panel.figure, COLOURS.get(method, OTHERS), _looks(pools))
    axes.set_title(panel.title, loc="left", fontsize=10, color=INK)
    axes.set_yticks(range(len(methods)), [TITLES[m] for m in methods])
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _looks(pools: Rows) -> dict[str, tuple[str, bool]]:
    """A shape for each classifier, filled but for the smallest samples; by what the legend says of them."""
    sizes, names = ([*dict.fromkeys(row.get(key) for row in pools)] for key in ("n", "classifier"))
    smallest = min((n for n in sizes if n is not None), default=None) if len(sizes) > 1 else None
    kinds = {(row.get("classifier"), row.get("n")): names.index(row.get("classifier")) for row in pools}
    return {_said(*kind): (SHAPES[k % len(SHAPES)], kind[1] != smallest) for kind, k in kinds.items()}


def _said(classifier: str | None, n: int | None) -> str:
    return ", ".join(part for part in (classifier, f"{n} rows" if n else None) if part)


def _explain(figure: Any, pools: Rows) -> None:
    """A legend below, where there is anything to tell apart."""
    from matplotlib.lines import Line2D

    looks = _looks(pools)
    if len(looks) > 1:
        style: dict[str, Any] = {"linestyle": "", "color": OTHERS, "markersize": 5}
        keys = [Line2D([], [], marker=m, fillstyle="full" if full else "none", **style) for m, full in looks.values()]
        figure.legend(keys, list(looks), loc="outside lower center", ncols=len(looks), fontsize=9, frameon=False)


def _dots(axes: Any, height: int, rows: Rows, name: str, colour: str, looks: dict[str, tuple[str, bool]]) -> None:
    """One dot per pool, and their mean as a line and a number."""
    known = [row for row in rows if row[name] is not None]
    if not known:
        axes.text(0.5, height, "none given", fontsize=9, color=OTHERS, va="center")
        return
    for k, row in enumerate(known):
        shape, full = looks[_said(row.get("classifier"), row.get("n"))]
        at = height + HEIGHT * (k / max(len(known) - 1, 1) - 0.5)
        inside = colour if full else "white"
        axes.plot(min(row[name], LARGEST), at, shape, color=colour, markerfacecolor=inside, markersize=4.5, alpha=0.8)
    mean = float(np.mean([row[name] for row in known]))
    axes.plot([min(mean, LARGEST)] * 2, [height - 0.3, height + 0.3], color=colour, linewidth=2)
    axes.annotate(f"{mean:.2f}", (min(mean, LARGEST), height - 0.3), fontsize=8, color=colour, ha="center", va="bottom")
