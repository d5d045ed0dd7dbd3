"""Pictures that commands write with --out, and what ``foldless demo`` draws."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foldless.errors import InputError
from foldless.files import refuse_unwritable, write_atomically

if TYPE_CHECKING:
    from foldless.cli.demo import Demonstration, Result

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


def draw_demo(figure: Any, demo: Demonstration) -> None:
    """Three panels: the estimates, the same on shuffled labels, the ROC curve."""
    left, middle, right = _axes(figure, bool(demo.shuffles))
    _draw_estimates(left, demo)
    if middle is not None:
        _draw_noise(middle, demo)
    _draw_curve(right, demo)


def _axes(figure: Any, with_noise: bool) -> tuple[Any, Any, Any]:
    estimates, roc = figure.subfigures(1, 2, width_ratios=(6.6, 4.4), wspace=0.02)
    right = roc.subplots()
    if not with_noise:
        return estimates.subplots(), None, right
    left, middle = estimates.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    return left, middle, right


def _titled(axes: Any, title: str, subtitle: str) -> None:
    axes.set_title(f"{title}\n", loc="left", fontsize=11, fontweight="bold")
    axes.text(0, 1.02, subtitle, transform=axes.transAxes, fontsize=9, color=OTHERS, va="bottom")


def _rows_from_top(axes: Any, demo: Demonstration) -> list[tuple[float, Result]]:
    n = len(demo.rows)
    axes.set_ylim(-0.7, n - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    return [(n - 1 - k, row) for k, row in enumerate(demo.rows)]


def _colour(row: Result) -> str:
    return OURS if row.rival.ours else OTHERS


def _draw_estimates(axes: Any, demo: Demonstration) -> None:
    placed = _rows_from_top(axes, demo)
    low, high = demo.truth.interval(0.95)
    axes.axvspan(low, high, color=TRUTH, alpha=0.12, linewidth=0)
    axes.axvline(float(demo.truth), color=TRUTH, linewidth=1.4)
    for height, row in placed:
        _draw_row(axes, height, row, row.real.low, row.real.high, row.real.auc)
    axes.set_yticks([h for h, _ in placed], [row.rival.name for _, row in placed])
    for label, (_, row) in zip(axes.get_yticklabels(), placed, strict=True):
        label.set(color=_colour(row) if row.rival.ours else INK, fontweight="bold" if row.rival.ours else "normal")
    axes.set_xlim(right=1.0 + 0.06 * (1.0 - axes.get_xlim()[0]))
    axes.set_xlabel("AUC")
    _titled(axes, "Estimates of the AUC", f"line: {demo.n_test} held-out rows, {float(demo.truth):.3f}")


def _draw_row(axes: Any, height: float, row: Result, low: float | None, high: float | None, value: float) -> None:
    """A point with a line behind it."""
    colour, ours = _colour(row), row.rival.ours
    if low is not None:
        width = 3.5 if ours else 2
        axes.plot([low, high], [height] * 2, color=colour, linewidth=width, alpha=0.55, solid_capstyle="butt")
    axes.plot(value, height, "o", color=colour, markersize=8 if ours else 6, markeredgecolor="white")


def _noise(row: Result) -> float:
    return 0.5 if row.shuffled is None else row.shuffled


def _draw_noise(axes: Any, demo: Demonstration) -> None:
    placed = _rows_from_top(axes, demo)
    axes.axvline(0.5, color=TRUTH, linewidth=1.4)
    for height, row in placed:
        _draw_row(axes, height, row, 0.5, _noise(row), _noise(row))
    axes.tick_params(labelleft=False)
    axes.set_xlim(min(0.4, *(_noise(row) - 0.02 for row in demo.rows)), 1.02)
    axes.set_xlabel("AUC")
    _titled(axes, "On shuffled labels", f"line: truth, 0.5 (mean of {demo.shuffles})")


def _draw_curve(axes: Any, demo: Demonstration) -> None:
    _plot_curves(axes, demo)
    corner = axes.inset_axes((0.36, 0.36, 0.6, 0.46), xlim=(0, 0.25), ylim=(0.75, 1.0))
    _plot_curves(corner, demo)
    corner.tick_params(labelsize=8, colors=OTHERS)
    corner.set(xticks=(0, 0.1, 0.2), yticks=(0.8, 0.9, 1.0))
    axes.indicate_inset_zoom(corner, edgecolor=OTHERS)
    axes.set(xlim=(-0.015, 1.0), ylim=(0, 1.015), xlabel="false positive rate", ylabel="true positive rate")
    axes.set_aspect("equal")
    axes.legend(loc="lower right", frameon=False)
    _titled(axes, "ROC curve", "posterior mean and band, one fit")


def _plot_curves(axes: Any, demo: Demonstration) -> None:
    grid = np.linspace(0.0, 1.0, 401)
    axes.fill_between(grid, *demo.roc.band(grid), color=OURS, alpha=0.18, linewidth=0, label="95 % band")
    axes.plot(grid, demo.roc.mean(grid), color=OURS, linewidth=2.2, label=f"foldless, {demo.n_train} training rows")
    axes.step(*demo.held_out_roc, where="post", color=TRUTH, linewidth=1.4, label=f"{demo.n_test} held-out rows")
