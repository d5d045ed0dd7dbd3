"""The accuracy results for people: the summary as a page, and estimates against the truth as a picture."""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import Any

import numpy as np

from foldless_studies.accuracy.results import Results
from foldless_studies.estimators import CV5, OURS, PAPER, TITLES
from foldless_studies.pages import Block, Heading, Page, Table, Text, cell_text, escaped
from foldless_studies.sampling import Floats

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


# ---- The picture: estimate against truth, method by method, and the estimates where there is nothing to find.

COLOURS = {OURS: "#1f5fbf", CV5: "#7d8590", PAPER: "#c2410c"}
INK, FAINT = "#24292f", "#c5cad1"
STYLE = {"font.size": 10, "font.family": "DejaVu Sans", "axes.spines.top": False, "axes.spines.right": False}
# Beyond this many points a panel is a blot; a fixed, even choice of units is drawn.
MOST = 3000


def draw(results: Results) -> bytes | None:
    """A PNG; None without matplotlib, or where no drawn method was run."""
    methods = [m for m in COLOURS if m in results.methods]
    if find_spec("matplotlib") is None or not methods:
        return None
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, outside pyplot: no window system, no state left behind.
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.3 * (len(methods) + 1), 3.9), dpi=120, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        _fill(figure, results, methods)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _fill(figure: Any, results: Results, methods: list[str]) -> None:
    panels = figure.subplots(1, len(methods) + 1, sharey=True)
    real = _thinned(results.where(results.units["labels"] == "real"))
    none = _thinned(results.where(results.units["labels"] != "real"))
    low = _lowest(results, methods)
    left = float(np.floor(10 * real.units["truth"].min(initial=0.5)) / 10)
    for axes, method in zip(panels, methods, strict=False):
        _draw_real(axes, real, method, left)
        axes.set_ylim(low, 1.01)
    _draw_chance(panels[-1], none, methods)
    panels[0].set_ylabel("estimated AUC")


def _thinned(part: Results) -> Results:
    step = -(-len(part) // MOST) or 1
    return part.where(np.arange(len(part)) % step == 0)


def _lowest(results: Results, methods: list[str]) -> float:
    columns = [results.methods.index(m) for m in methods]
    smallest = np.nanmin(np.append(results.values["estimate"][:, columns], results.units["truth"]))
    return float(np.floor(10 * smallest) / 10)


def _estimates(part: Results, method: str) -> Floats:
    return part.values["estimate"][:, part.methods.index(method)]


def _draw_real(axes: Any, part: Results, method: str, left: float) -> None:
    estimates, truth = _estimates(part, method), part.units["truth"]
    axes.plot([left, 1], [left, 1], color=FAINT, linewidth=1)
    axes.plot(truth, estimates, "o", color=COLOURS[method], alpha=0.35, markersize=3, markeredgewidth=0)
    axes.set(xlim=(left - 0.01, 1.01), xlabel="true AUC")
    _titled(axes, TITLES[method], estimates, truth)


def _titled(axes: Any, title: str, estimates: Floats, truth: Any) -> None:
    axes.set_title(f"{title}\n", loc="left", fontsize=11, fontweight="bold", color=INK)
    if estimates.size and not np.all(np.isnan(estimates)):
        error = f"mean absolute error {np.nanmean(np.abs(estimates - truth)):.3f}"
        axes.text(0, 1.02, error, transform=axes.transAxes, fontsize=9, color="#7d8590", va="bottom")


def _draw_chance(axes: Any, part: Results, methods: list[str]) -> None:
    axes.axhline(0.5, color=FAINT, linewidth=1)
    # The golden ratio spreads points evenly whatever their number, and needs no random numbers.
    jitter = 0.6 * ((np.arange(len(part)) * 0.6180339887) % 1 - 0.5)
    for k, method in enumerate(methods):
        axes.plot(k + jitter, _estimates(part, method), "o", color=COLOURS[method], alpha=0.35, markersize=3, mew=0)
    axes.set_xticks(range(len(methods)), [TITLES[m].replace(", ", "\n") for m in methods])
    axes.set_title("Labels without meaning\n", loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.text(0, 1.02, "truth: 0.5", transform=axes.transAxes, fontsize=9, color="#7d8590", va="bottom")
