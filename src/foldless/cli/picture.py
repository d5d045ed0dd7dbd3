"""Pictures that commands write with --out, and what ``foldless demo`` draws."""

from __future__ import annotations

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
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
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

    from foldless.show.style import drawn

    kind = path.suffix[1:].lower()
    with mpl.rc_context({**style, "figure.facecolor": "white", "savefig.dpi": dpi}):
        content = drawn(draw, (width, height), kind, METADATA.get(kind))
    write_atomically(path, content)
    return str(path)


# ---- The picture of ``foldless demo``.

HIGHLIGHTED = "foldless"  # the estimator that stands out
PANELS = {"real": "The outcome as it was", "shuffled": "Shuffled labels: nothing to find"}


def draw_demo(figure: Any, result: dict[str, Any], errors: dict[str, Any]) -> None:
    """Two panels: the errors of every estimator, one dot for each study, with real and with shuffled labels."""
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    reach = 1.08 * max(float(np.abs(part).max()) for part in errors.values())
    for axes, (labels, title) in zip(panels, PANELS.items(), strict=True):
        for m, row in enumerate(result["estimators"]):
            _draw_errors(axes, -m, row["name"], errors[labels][:, m], row[labels])
        axes.axvline(0.0, color=TRUTH, linewidth=1.4, zorder=0)
        axes.grid(axis="x", color=FAINT, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
        axes.set(xlim=(-reach, reach), ylim=(0.6 - len(result["estimators"]), 0.75), xlabel="estimated - true AUC")
        _titled(axes, title, f"{result['studies']} studies of {result['n_train']} patients, one dot each")
    names = [row["name"] for row in result["estimators"]]
    panels[0].set_yticks([-m for m in range(len(names))], names)
    for label in panels[0].get_yticklabels():
        if label.get_text() == HIGHLIGHTED:
            label.set(color=OURS, fontweight="bold")


def _titled(axes: Any, title: str, subtitle: str) -> None:
    axes.set_title(f"{title}\n", loc="left", fontsize=11, fontweight="bold")
    axes.text(0, 1.02, subtitle, transform=axes.transAxes, fontsize=9, color=OTHERS, va="bottom")


def _draw_errors(axes: Any, height: float, name: str, errors: Any, figures: dict[str, Any]) -> None:
    """A row of dots, the mean as a line, and in words how large the errors are and how often the interval is right."""
    colour = OURS if name == HIGHLIGHTED else OTHERS
    # The golden ratio spreads points evenly whatever their number, and needs no random numbers.
    jitter = 0.26 * ((np.arange(errors.size) * 0.6180339887) % 1 - 0.5)
    axes.plot(errors, height + jitter, "o", color=colour, alpha=0.5, markersize=4.5, markeredgewidth=0)
    axes.plot([figures["bias"]] * 2, [height - 0.2, height + 0.2], color=colour, linewidth=2.5)
    held = figures["held"]
    said = "" if held is None else f"; 90 % interval right in {100 * held:.0f} %"
    axes.text(
        0.99, height + 0.24, f"mean error {figures['error']:.3f}{said}", ha="right", va="bottom", fontsize=9,
        color=colour, transform=axes.get_yaxis_transform(),
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )  # fmt: skip
