"""Pictures by matplotlib as inline SVG that takes its colours and its letters from the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

from foldless.reporting.text import UNSAFE

WIDE = 4.6  # inches: about as wide as a phone shows without scaling down
# Placeholders that become variables of the style sheet; colours that nothing else in a picture has.
INK, ACCENT, PAPER = "#010203", "#040506", "#ffffff"
COLOURS = {INK: "currentColor", ACCENT: "var(--accent)", PAPER: "var(--paper)", "#8b949e": "var(--faint)"}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # letters stay letters: small, sharp, and in the font of the page
    "svg.hashsalt": "foldless",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": PAPER,
    "legend.fontsize": "small",
    "axes.unicode_minus": False,
    "path.simplify": True,
}
NO_METADATA = {"Date": None, "Creator": None, "Type": None, "Format": None}


def svg(name: str, description: str, draw: Callable[[Any], None], height: float, width: float = WIDE) -> str:
    """What `draw` puts on axes, as markup with a description for those who cannot see it.

    The user's own matplotlib settings do not matter, and identifiers carry `name`, as pictures share a page.
    """
    import matplotlib.style
    from cycler import cycler
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.style.context(["default", {**STYLE, "axes.prop_cycle": cycler(color=[ACCENT])}]):
        # A figure of its own, outside pyplot: no window system, no state left behind.
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.subplots())
        content = io.StringIO()
        figure.savefig(content, format="svg", metadata=NO_METADATA)
    return _for_page(content.getvalue(), name, description)


def _for_page(markup: str, name: str, description: str) -> str:
    body = markup[markup.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*|<style[^>]*>.*?</style>\s*|<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    for placeholder, colour in COLOURS.items():
        body = body.replace(placeholder, colour)
    body = re.sub(r"font: (?:[a-z]+ )*([\d.]+px)[^;\"]*|font-family: [^;\"]*;? ?", _size_alone, body)
    body = UNSAFE.sub("", body.replace("\n", " "))
    head = f'<svg role="img" aria-label="{escape(description)}" class="picture"'
    return re.sub(r'^<svg (.*?)width="[^"]*" height="[^"]*"|^<svg', lambda m: f"{head} {m[1] or ''}", body, count=1)


def _size_alone(font: re.Match[str]) -> str:
    """Of a font only its size; older versions of matplotlib write size and family together."""
    return f"font-size: {font[1]}" if font[1] else ""
