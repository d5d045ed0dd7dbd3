"""The pictures, from a summary alone: the paper's colours and layout, dashes for corrections, black for ours."""

from __future__ import annotations

import io
from typing import Any

from foldless_studies.estimators import BLUE, ESTIMATORS, GREEN, RED, STANDARD
from foldless_studies.paper import meg, published
from foldless_studies.paper.findings import is_stand_in
from foldless_studies.paper.items import Item

QUANTITIES = {
    "mae": "mean absolute error",
    "sd": "SD of the error",
    "mean": "mean estimate",
    "truth": "mean true AUC",
    "off": "minus the printed one",
}
STYLE = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "foldless",
    "svg.fonttype": "none",
}
GREY = "#8a9099"
Rows = list[dict[str, Any]]


def draw(item: Item, summary: dict[str, Any]) -> dict[str, bytes]:
    """The figure as {"png": .., "svg": ..}."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, across, down = _grid(item, summary)
    # A figure of its own, outside pyplot: no window system, no state left behind.
    with mpl.rc_context(STYLE):
        size = (1.2 + 3.1 * max(len(across), 2), 1.3 + 2.5 * len(down))
        drawing = Figure(figsize=size, dpi=120, layout="constrained", facecolor="white")
        FigureCanvasAgg(drawing)
        panels = drawing.subplots(len(down), len(across), squeeze=False, sharex="col")
        for i, (level, quantity) in enumerate(down):
            for j, column in enumerate(across):
                _panel(
                    panels[i, j], item, _where(_where(rows, item.down, level), item.across, column), quantity, column
                )
                _labelled(panels[i, j], item, quantity, column, level, first=j == 0, top=i == 0)
        for axes in panels[-1]:
            axes.set_xlabel(item.x_label)
        _dressed(drawing, panels, title(item, summary))
        png = _saved(drawing, "png")
        # The layout is found while the first is drawn, and takes as long as drawing.
        drawing.set_layout_engine("none")
        return {"png": png, "svg": _saved(drawing, "svg")}


def title(item: Item, summary: dict[str, Any]) -> str:
    """The title, which says so when the data are not what the paper used."""
    return f"{item.title} - {meg.SIMULATED} recording" if is_stand_in(summary) else item.title


def _grid(item: Item, summary: dict[str, Any]) -> tuple[Rows, list[Any], list[tuple[Any, str]]]:
    rows: Rows = summary["table"] or summary["truths"]
    across = _values(rows, item.across)
    down = [(level, quantity) for level in _values(rows, item.down) for quantity in item.quantities]
    return rows, across, down


def _values(rows: Rows, key: str | None) -> list[Any]:
    return [None] if key is None else list(dict.fromkeys(row[key] for row in rows))


def _where(rows: Rows, key: str | None, value: Any) -> Rows:
    return rows if key is None else [row for row in rows if row[key] == value]


def _panel(axes: Any, item: Item, rows: Rows, quantity: str, column: Any) -> None:
    if quantity in ("truth", "off"):
        _truths(axes, rows, column, off=quantity == "off")
        return
    for name in _drawn(item):
        shown = ESTIMATORS[name]
        line = [r for r in rows if r["estimator"] == name and r[quantity] is not None]
        axes.plot(
            [r[item.x] for r in line],
            [r[quantity] for r in line],
            "--" if shown.dashed else "-",
            marker="o",
            markersize=2.4,
            color=shown.colour,
            linewidth=2.0 if name == "foldless" else 1.2,
            label=shown.title,
        )
    if item.name == "fig5" and column == "published" and quantity == "mae":
        _authors(axes)
    if quantity == "mean":
        axes.axhline(0.5, color=GREY, linewidth=0.8)
        axes.set_ylim(0, 1.03)
    else:
        axes.set_ylim(bottom=0)


def _drawn(item: Item) -> list[str]:
    """The sample-binormal AUC only where the paper has it: elsewhere it hides CBAUC."""
    return [n for n in STANDARD if n in item.estimators and (n != "binormal" or item.name == "fig2")]


def _authors(axes: Any) -> None:
    """The authors' own results as crosses."""
    for name, series in published.OVARIAN_MAE.items():
        colour, first = ESTIMATORS[name].colour, name == "cv-published"
        label = "the authors' results" if first else None
        axes.plot(published.OVARIAN_SHARES, series, "x", color=colour, markersize=4.5, label=label)


def _truths(axes: Any, rows: Rows, P: Any, *, off: bool) -> None:
    """Mean true AUC by setting, or (`off`) what it differs from the printed numbers by, close up."""
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    base = {N: value if off else 0.0 for N, value in zip(published.TABLE1_ROWS, published.TABLE1[P], strict=True)}
    for setting in settings:
        line = [r for r in rows if r["setting"] == setting]
        look = HIGHLIGHTED.get(setting, {"color": "#c5cad1", "linewidth": 0.9, "label": "the other settings tried"})
        look = {"label": setting, **look, "zorder": 3 if setting in HIGHLIGHTED else 2}
        axes.plot([r["N"] for r in line], [r["truth"] - base[r["N"]] for r in line], "o-", markersize=2.4, **look)
    printed = [0.0 if off else value for value in published.TABLE1[P]]
    axes.plot(published.TABLE1_ROWS, printed, "kx", markersize=6, label="printed in Table 1", zorder=4)
    if off:
        axes.set_ylim(-CLOSE, CLOSE)
        return
    axes.axhline(published.TABLE1_BAYES[P], color="black", linestyle=":", linewidth=0.9, label="printed Bayes row")
    stated = next(r["bayes"] for r in rows if r["setting"] == "as stated")
    axes.axhline(stated, color=RED, linestyle=":", linewidth=0.9, label="Bayes AUC of the stated distribution")


HIGHLIGHTED: dict[str, dict[str, Any]] = {
    "as stated": {"color": RED, "linewidth": 1.4},
    "means further apart": {"color": BLUE, "linewidth": 1.4},
    "random means, standardised, no intercept": {"color": GREEN, "linewidth": 1.4},
}
CLOSE = 0.012


def _labelled(axes: Any, item: Item, quantity: str, column: Any, level: Any, *, first: bool, top: bool) -> None:
    if first:
        axes.set_ylabel(QUANTITIES[quantity] if level is None else f"{item.down} = {level}\n{QUANTITIES[quantity]}")
    if top and column is not None:
        text = column if isinstance(column, str) else f"{item.across} = {column}"
        axes.set_title(text, loc="left", fontsize=9.5)
    axes.grid(axis="y", color="#e6e8eb", linewidth=0.6)
    axes.set_axisbelow(True)


def _dressed(drawing: Any, panels: Any, title: str) -> None:
    drawing.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    handles: dict[str, Any] = {}
    for axes in panels.ravel():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    # Room for the longest label, at about 0.075 inches a letter, and for its line.
    room = 0.6 + 0.075 * max(map(len, handles))
    columns = max(1, int(drawing.get_size_inches()[0] / room))
    drawing.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _saved(drawing: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    # No date and no program in the file: the same numbers give the same bytes.
    drawing.savefig(buffer, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return buffer.getvalue()
