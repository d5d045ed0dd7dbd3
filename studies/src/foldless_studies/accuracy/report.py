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
    """A PNG; None without matplotlib, or where the run has nothing to draw."""
    pools = [row for row in table if row["scope"] == "pooled" and row["kind"] == "data"]
    pools = pools or [row for row in table if row["scope"] == "pooled"]
    methods = [m for m in TITLES if any(row["method"] == m for row in pools)]
    if find_spec("matplotlib") is None or not methods:
        return None
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, outside pyplot: no window system, no state left behind.
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 1.3 + 0.42 * len(methods)), dpi=120, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        for axes, panel in zip(figure.subplots(1, len(PANELS), sharey=True), PANELS, strict=True):
            _fill(axes, panel, pools, methods)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _fill(axes: Any, panel: Panel, pools: Rows, methods: list[str]) -> None:
    axes.axvline(panel.well, color=FAINT, linewidth=2, zorder=0)
    for height, method in enumerate(methods):
        mine = [row for row in pools if row["method"] == method and (row["labels"] == "real") == panel.real]
        _dots(axes, height, [row[panel.figure] for row in mine], COLOURS.get(method, OTHERS))
    axes.set_title(panel.title, loc="left", fontsize=10, color=INK)
    axes.set_yticks(range(len(methods)), [TITLES[m] for m in methods])
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.set_xlim(0.8 if panel.figure == "ratio_second" else -0.02, LARGEST if panel.well == 1 else 1.02)
    axes.tick_params(axis="y", length=0)


def _dots(axes: Any, height: int, values: list[float | None], colour: str) -> None:
    """One dot per pool, and their mean as a line and a number."""
    known = np.array([v for v in values if v is not None], dtype=np.float64)
    if not known.size:
        axes.text(axes.get_xlim()[0], height, "none given", fontsize=9, color=OTHERS, va="center")
        return
    spread = height + HEIGHT * (np.arange(known.size) / max(known.size - 1, 1) - 0.5)
    axes.plot(np.minimum(known, LARGEST), spread, "o", color=colour, markersize=4, alpha=0.75, markeredgewidth=0)
    mean = known.mean()
    axes.plot([min(mean, LARGEST)] * 2, [height - 0.3, height + 0.3], color=colour, linewidth=2)
    axes.annotate(f"{mean:.2f}", (min(mean, LARGEST), height - 0.3), fontsize=8, color=colour, ha="center", va="bottom")
