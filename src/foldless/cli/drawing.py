"""Pictures that a command writes with --out: checked before the work, written whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldless._files import write_atomically
from foldless.cli import picture


def checked(out: Path | None) -> Path | None:
    """The path, if a picture can be drawn and written there; None if none was asked for."""
    return None if out is None else picture.writable_path(out)


def write(path: Path, draw: Callable[[Any], object], width: float = 6.0, height: float = 4.0) -> None:
    """Let `draw` put something on a new figure, and write it."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own, outside pyplot: no window system, no state left behind.
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    draw(figure)
    kind = path.suffix[1:].lower()
    content = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": picture.STYLE["svg.hashsalt"]}):  # else the names in an SVG are drawn by lot
        figure.savefig(content, format=kind, dpi=150, metadata=picture.METADATA.get(kind))
    write_atomically(path, content.getvalue())
