"""Pictures that commands write with --out, and what ``foldless demo`` draws."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from foldless.errors import InputError
from foldless.files import refuse_unwritable, write_atomically

DEFAULT = Path("foldless-demo.png")
SUFFIXES = (".png", ".svg", ".pdf")

OURS, OTHERS, TRUTH, FAINT, INK = "#1f5fbf", "#7d8590", "#c2410c", "#e4e7eb", "#24292f"
STABLE: dict[str, Any] = {"svg.hashsalt": "foldless"}  # else the names inside an SVG are random
STYLE: dict[str, Any] = STABLE | {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.edgecolor": "#c5cad1",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.08,
}
# Dates would make two equal pictures differ.
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def writable_path(out: Path | None, wanted: bool = True) -> Path | None:
    """The path, if a picture can be drawn and written there, checked before the work; None if there is to be none.

    A picture that nobody asked for (`wanted` is False) is left out where matplotlib is missing.
    """
    if out is None:
        return None
    if find_spec("matplotlib") is None:
        if not wanted:
            return None
        raise InputError("a picture needs matplotlib: pip install 'foldless[plot]'.")
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"--out {out}: expected a name that ends in {', '.join(SUFFIXES)}.")
    refuse_unwritable(out)
    return out


def write(
    path: Path | None,
    draw: Callable[[Any], object],
    width: float = 6.0,
    height: float = 4.0,
    dpi: int = 150,
    style: dict[str, Any] = STABLE,
) -> str | None:
    """Let `draw` put something on a new figure and write it, whole or not at all; the name of the file, if any."""
    if path is None:
        return None
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kind, content = path.suffix[1:].lower(), io.BytesIO()
    with mpl.rc_context(style):
        # A figure of its own, outside pyplot: no window system, no state left behind.
        figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        draw(figure)
        figure.savefig(content, format=kind, dpi=dpi, metadata=METADATA.get(kind))
    write_atomically(path, content.getvalue())
    return str(path)


# ---- The picture of ``foldless demo``.

HIGHLIGHTED = "foldless"  # the estimator that stands out


def draw_demo(figure: Any, result: dict[str, Any], roc: Any, held_out: Any) -> None:
    """Three panels: the estimates, the same on shuffled labels (if there are any), the ROC curve."""
    estimates, curve = figure.subfigures(1, 2, width_ratios=(6.6, 4.4), wspace=0.02)
    right = curve.subplots()
    if result["shuffles"]:
        left, middle = estimates.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        _draw_estimates(left, result)
        _draw_noise(middle, result)
    else:
        _draw_estimates(estimates.subplots(), result)
    _draw_curve(right, result, roc, held_out)


def _titled(axes: Any, title: str, subtitle: str) -> None:
    axes.set_title(f"{title}\n", loc="left", fontsize=11, fontweight="bold")
    axes.text(0, 1.02, subtitle, transform=axes.transAxes, fontsize=9, color=OTHERS, va="bottom")


def _rows_from_top(axes: Any, result: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    rows = result["estimators"]
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("AUC")
    return [(len(rows) - 1 - k, row) for k, row in enumerate(rows)]


def _draw_estimates(axes: Any, result: dict[str, Any]) -> None:
    placed, truth = _rows_from_top(axes, result), result["held_out"]
    axes.axvspan(truth["low"], truth["high"], color=TRUTH, alpha=0.12, linewidth=0)
    axes.axvline(truth["auc"], color=TRUTH, linewidth=1.4)
    for height, row in placed:
        _draw_row(axes, height, row["name"], row["low"], row["high"], row["auc"])
    axes.set_yticks([height for height, _ in placed], [row["name"] for _, row in placed])
    for label in axes.get_yticklabels():
        if label.get_text() == HIGHLIGHTED:
            label.set(color=OURS, fontweight="bold")
    axes.set_xlim(right=1.0 + 0.06 * (1.0 - axes.get_xlim()[0]))
    _titled(axes, "Estimates of the AUC", f"line: {result['n_test']} held-out rows, {truth['auc']:.3f}")


def _draw_row(axes: Any, height: float, name: str, low: float | None, high: float | None, value: float) -> None:
    """A point with a line behind it."""
    ours = name == HIGHLIGHTED
    colour = OURS if ours else OTHERS
    if low is not None:
        width = 3.5 if ours else 2
        axes.plot([low, high], [height] * 2, color=colour, linewidth=width, alpha=0.55, solid_capstyle="butt")
    axes.plot(value, height, "o", color=colour, markersize=8 if ours else 6, markeredgecolor="white")


def _draw_noise(axes: Any, result: dict[str, Any]) -> None:
    axes.axvline(0.5, color=TRUTH, linewidth=1.4)
    for height, row in _rows_from_top(axes, result):
        _draw_row(axes, height, row["name"], 0.5, row["on_shuffled_labels"], row["on_shuffled_labels"])
    axes.tick_params(labelleft=False)
    axes.set_xlim(min(0.4, *(row["on_shuffled_labels"] - 0.02 for row in result["estimators"])), 1.02)
    _titled(axes, "On shuffled labels", f"line: truth, 0.5 (mean of {result['shuffles']})")


def _draw_curve(axes: Any, result: dict[str, Any], roc: Any, held_out: Any) -> None:
    corner = axes.inset_axes((0.36, 0.36, 0.6, 0.46), xlim=(0, 0.25), ylim=(0.75, 1.0))
    for part in (axes, corner):
        _plot_curves(part, result, roc, held_out)
    corner.tick_params(labelsize=8, colors=OTHERS)
    corner.set(xticks=(0, 0.1, 0.2), yticks=(0.8, 0.9, 1.0))
    axes.indicate_inset_zoom(corner, edgecolor=OTHERS)
    axes.set(xlim=(-0.015, 1.0), ylim=(0, 1.015), xlabel="false positive rate", ylabel="true positive rate")
    axes.set_aspect("equal")
    axes.legend(loc="lower right", frameon=False)
    _titled(axes, "ROC curve", "posterior mean and band, one fit")


def _plot_curves(axes: Any, result: dict[str, Any], roc: Any, held_out: Any) -> None:
    grid = np.linspace(0.0, 1.0, 401)
    axes.fill_between(grid, *roc.band(grid), color=OURS, alpha=0.18, linewidth=0, label="95 % band")
    axes.plot(grid, roc.mean(grid), color=OURS, linewidth=2.2, label=f"foldless, {result['n_train']} training rows")
    axes.step(*held_out, where="post", color=TRUTH, linewidth=1.4, label=f"{result['n_test']} held-out rows")
