"""The page: the filled-in template, pictures as inline SVG, and the versions of the software behind the numbers."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib.metadata import PackageNotFoundError, metadata, version
from importlib.util import find_spec
from typing import Any

from foldless import words
from foldless.errors import InputError
from foldless.show import style
from foldless.words import UNSAFE

# ---- The filled-in template, with every name escaped.

TEMPLATE = "page.html.j2"
EXTRAS = ("jinja2", "matplotlib")
MOST_CLASSES = 10  # with more, the matrix of pairs does not fit the page


def require_extras() -> None:
    """Raise an error that says what to install, before the work begins."""
    absent = [name for name in EXTRAS if find_spec(name) is None]
    if absent:
        raise InputError(f"a report needs {' and '.join(absent)}: pip install 'foldless[report]'.")


def rendered(summary: dict[str, Any], pictures: dict[str, str]) -> str:
    """The page from its content; everything but the pictures is escaped by the template engine."""
    from markupsafe import Markup

    drawn = {name: Markup(markup) for name, markup in pictures.items()}
    matrix = _matrix(summary["auc"]) if "pairwise" in summary["auc"] else None
    template = _environment(escaped=True).get_template(TEMPLATE)
    return str(template.render(s=summary, pictures=drawn, matrix=matrix))


def filled_in_text(template: str, **values: Any) -> str:
    """A template of plain text filled in, as one paragraph: its line breaks become spaces."""
    environment = _environment(escaped=False)
    source, _, _ = environment.loader.get_source(environment, template)
    return str(environment.from_string(" ".join(source.split())).render(**values)).strip()


def _environment(*, escaped: bool) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("foldless.show.report", "."),
        autoescape=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals.update(counted=words.counted, estimate=words.estimate, quoted=words.quoted)
    return environment


def _signed(weight: float) -> str:
    """A weight with its sign; very small and very large ones in scientific notation."""
    size = abs(weight)
    digits = f"{size:.3f}" if 0.001 <= size < 1000 else f"{size:.2e}"
    return ("+" if weight >= 0 else "\N{MINUS SIGN}") + digits


def _decimal(value: float | None, digits: int = words.DIGITS) -> str:
    """Any number, a dash where there is none, and no sign before zero."""
    return "-" if value is None else f"{value:z.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _matrix(auc: dict[str, Any]) -> dict[str, Any]:
    """The pairs of classes as a lower triangle, or with too many classes as a list, the weakest first."""
    classes = [str(label) for label in auc["classes"]]
    pairs = sorted(auc["pairwise"], key=lambda pair: pair["auc"])
    if len(classes) > MOST_CLASSES:
        return {"pairs": pairs[: 2 * MOST_CLASSES], "rest": len(pairs) - 2 * MOST_CLASSES, "rows": []}
    place = {label: k for k, label in enumerate(classes)}
    cells: list[list[Any]] = [[None] * (len(classes) - 1) for _ in classes[1:]]
    for pair in pairs:
        first, second = (place[str(label)] for label in pair["classes"])
        cells[second - 1][first] = {**pair, "strength": round(100 * max(0.0, min(1.0, 2 * pair["auc"] - 1)))}
    rows = [{"label": label, "cells": row} for label, row in zip(classes[1:], cells, strict=True)]
    return {"columns": classes[:-1], "rows": rows, "pairs": [], "rest": 0}


FILTERS: dict[str, Callable[..., str]] = {
    "rate": words.rate,
    "percent": words.percent,
    "span": lambda row: words.span(row["low"], row["high"]),
    "signed": _signed,
    "decimal": _decimal,
    "number": lambda value: f"{value:,}",
    "capital": style.capital,
}


# ---- Matplotlib pictures as inline SVG that takes its colours and fonts from the page.

WIDE = 4.6  # inches: about as wide as a phone shows without scaling down
# Placeholders for variables of the style sheet: colours that nothing else in a picture has.
INK, ACCENT, PAPER = "#010203", "#040506", "#ffffff"
COLOURS = {INK: "currentColor", ACCENT: "var(--accent)", PAPER: "var(--paper)", style.FAINT: "var(--faint)"}
RC: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, and in the font of the page
    "svg.hashsalt": "foldless",
    "font.family": "DejaVu Sans",
    "pdf.fonttype": 42,  # TrueType, as publishers ask for
    "font.size": 9.5,
    "axes.linewidth": 0.6,
    "legend.facecolor": PAPER,
    "legend.fontsize": "small",
    "axes.unicode_minus": False,
    "path.simplify": True,
}
INKED = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
PAPERED = ("axes.facecolor", "figure.facecolor", "savefig.facecolor")
NO_METADATA = {"Date": None, "Creator": None, "Type": None, "Format": None}


@dataclass(frozen=True)
class Picture:
    """What `draw` draws on axes, and a description for screen readers."""

    description: str
    draw: Callable[[Any], object]
    height: float  # inches
    width: float = WIDE

    def markup(self, name: str) -> str:
        """As inline SVG; ids start with `name`, as several pictures share a page."""
        content = self.file("svg", INK, ACCENT, "none", NO_METADATA)
        return _for_page(content.decode("utf-8"), name, self.description)

    def file(self, kind: str, ink: str, accent: str, paper: str, metadata: dict[str, Any]) -> bytes:
        """As SVG or PDF. The user's own matplotlib settings have no effect."""
        import matplotlib.style
        from cycler import cycler

        colours = {
            **dict.fromkeys(INKED, ink),
            **dict.fromkeys(PAPERED, paper),
            "axes.prop_cycle": cycler(color=[accent]),
        }
        with matplotlib.style.context(["default", {**RC, **colours}]):
            return style.drawn(lambda figure: self.draw(figure.subplots()), (self.width, self.height), kind, metadata)


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
    """The size of a font without its family; older versions of matplotlib write the two together."""
    return f"font-size: {font[1]}" if font[1] else ""


# ---- The software behind the numbers.

PACKAGES = ("foldless", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages behind the numbers."""
    return {**{name: _version(name) for name in PACKAGES}, "Python": platform.python_version()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a copy of the source that was never installed
        return "(not installed)"


def home() -> str | None:
    """The address of the project in the metadata of the installed package, or None."""
    try:
        places = metadata("foldless").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    urls = {label.strip().lower(): url.strip() for label, _, url in (place.partition(",") for place in places)}
    return next((urls[label] for label in ("repository", "source", "homepage") if label in urls), None)
