"""The picture of ``foldless demo``: every estimate against the truth, and the ROC curve with its band."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless.cli.study import GRID, Row, Study
from foldless.files import refuse_unwritable

DEFAULT = Path("foldless-demo.png")
SUFFIXES = (".png", ".svg", ".pdf")

OURS, OTHERS, TRUTH, FAINT, INK = "#1f5fbf", "#7d8590", "#c2410c", "#e4e7eb", "#24292f"
STYLE = {
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
    "svg.hashsalt": "foldless",
}
# Dates would make two equal pictures differ.
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def writable_path(out: Path | None) -> Path | None:
    """Where the picture goes, checked before the work; None when nobody asked and matplotlib is absent."""
    path = DEFAULT if out is None else out
    if find_spec("matplotlib") is None:
        if out is None:
            return None
        raise fl.InputError("a picture needs matplotlib: pip install 'foldless[plot]'.")
    if path.suffix.lower() not in SUFFIXES:
        raise fl.InputError(f"--out {path}: expected a name that ends in {', '.join(SUFFIXES)}.")
    refuse_unwritable(path)
    return path


def draw(study: Study, kind: str) -> bytes:
    """The picture in the given format."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, outside pyplot: no window system, no state left behind.
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.7), dpi=110, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        left, middle, right = _axes(figure, bool(study.shuffles))
        _draw_estimates(left, study)
        if middle is not None:
            _draw_noise(middle, study)
        _draw_curve(right, study)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind.lower(), metadata=METADATA.get(kind.lower()))
    return buffer.getvalue()


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


def _rows_from_top(axes: Any, study: Study) -> list[tuple[float, Row]]:
    n = len(study.rows)
    axes.set_ylim(-0.7, n - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    return [(n - 1 - k, row) for k, row in enumerate(study.rows)]


def _colour(row: Row) -> str:
    return OURS if row.rival.ours else OTHERS


def _draw_estimates(axes: Any, study: Study) -> None:
    placed = _rows_from_top(axes, study)
    low, high = study.truth.interval(0.95)
    axes.axvspan(low, high, color=TRUTH, alpha=0.12, linewidth=0)
    axes.axvline(float(study.truth), color=TRUTH, linewidth=1.4)
    for height, row in placed:
        _draw_interval(axes, height, row)
    axes.set_yticks([h for h, _ in placed], [row.rival.name for _, row in placed])
    for label, (_, row) in zip(axes.get_yticklabels(), placed, strict=True):
        label.set(color=_colour(row) if row.rival.ours else INK, fontweight="bold" if row.rival.ours else "normal")
    axes.set_xlim(right=1.0 + 0.06 * (1.0 - axes.get_xlim()[0]))
    axes.set_xlabel("AUC")
    _titled(axes, "Estimates of the AUC", f"line: {study.n_test} held-out rows, {float(study.truth):.3f}")


def _draw_interval(axes: Any, height: float, row: Row) -> None:
    real, colour = row.real, _colour(row)
    if real.low is not None:
        axes.plot(
            [real.low, real.high],
            [height] * 2,
            color=colour,
            linewidth=3.5 if row.rival.ours else 2,
            alpha=0.55,
            solid_capstyle="butt",
        )
    axes.plot(real.auc, height, "o", color=colour, markersize=8 if row.rival.ours else 6, markeredgecolor="white")


def _noise(row: Row) -> float:
    return 0.5 if row.shuffled is None else row.shuffled


def _draw_noise(axes: Any, study: Study) -> None:
    placed = _rows_from_top(axes, study)
    axes.axvline(0.5, color=TRUTH, linewidth=1.4)
    for height, row in placed:
        value, colour = _noise(row), _colour(row)
        axes.plot(
            [0.5, value],
            [height] * 2,
            color=colour,
            linewidth=3.5 if row.rival.ours else 2,
            alpha=0.55,
            solid_capstyle="butt",
        )
        axes.plot(value, height, "o", color=colour, markersize=8 if row.rival.ours else 6, markeredgecolor="white")
    axes.tick_params(labelleft=False)
    axes.set_xlim(min(0.4, *(_noise(row) - 0.02 for row in study.rows)), 1.02)
    axes.set_xlabel("AUC")
    _titled(axes, "On shuffled labels", f"line: truth, 0.5 (mean of {study.shuffles})")


def _plot_curves(axes: Any, study: Study) -> None:
    curve = study.curve
    axes.fill_between(GRID, curve.low, curve.high, color=OURS, alpha=0.18, linewidth=0, label="95 % band")
    axes.plot(GRID, curve.mean, color=OURS, linewidth=2.2, label=f"foldless, {study.n_train} training rows")
    axes.step(curve.fpr, curve.tpr, where="post", color=TRUTH, linewidth=1.4, label=f"{study.n_test} held-out rows")


def _draw_curve(axes: Any, study: Study) -> None:
    axes.plot([0, 1], [0, 1], color="#c5cad1", linewidth=1, linestyle=(0, (4, 4)))
    _plot_curves(axes, study)
    corner = axes.inset_axes((0.36, 0.36, 0.6, 0.46), xlim=(0, 0.25), ylim=(0.75, 1.0))
    _plot_curves(corner, study)
    corner.tick_params(labelsize=8, colors=OTHERS)
    corner.set(xticks=(0, 0.1, 0.2), yticks=(0.8, 0.9, 1.0))
    axes.indicate_inset_zoom(corner, edgecolor=OTHERS)
    axes.set(xlim=(-0.015, 1.0), ylim=(0, 1.015), xlabel="false positive rate", ylabel="true positive rate")
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.set_aspect("equal")
    axes.legend(loc="lower right", frameon=False)
    _titled(axes, "ROC curve", "posterior mean and band, one fit")
