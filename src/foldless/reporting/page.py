"""The page: the template filled in, with every name escaped."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from foldless._html import numbers
from foldless.errors import InputError

TEMPLATE = "page.html.j2"
EXTRAS = ("jinja2", "matplotlib")
WRITTEN = 10  # classes up to which the matrix of pairs fits a page


def require_extras() -> None:
    """Say what to install, before the work."""
    absent = [name for name in EXTRAS if find_spec(name) is None]
    if absent:
        raise InputError(f"a report needs {' and '.join(absent)}: pip install 'foldless[report]'.")


def rendered(summary: dict[str, Any], pictures: dict[str, str]) -> str:
    """The page from its content; everything but the pictures is escaped by the template engine."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("foldless.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    drawn = {name: Markup(markup) for name, markup in pictures.items()}
    matrix = _matrix(summary["auc"]) if "pairwise" in summary["auc"] else None
    return environment.get_template(TEMPLATE).render(s=summary, pictures=drawn, matrix=matrix)


def _span(row: dict[str, float]) -> str:
    return numbers.span(row["low"], row["high"])


def _signed(weight: float) -> str:
    """A weight with its sign; very small and very large ones with a power of ten."""
    size = abs(weight)
    digits = f"{size:.3f}" if 0.001 <= size < 1000 else f"{size:.2e}"
    return ("+" if weight >= 0 else "\N{MINUS SIGN}") + digits


def _matrix(auc: dict[str, Any]) -> dict[str, Any]:
    """The pairs of classes as a lower triangle, or where there are too many classes as a list, the weakest first."""
    classes = [str(label) for label in auc["classes"]]
    pairs = sorted(auc["pairwise"], key=lambda pair: pair["auc"])
    if len(classes) > WRITTEN:
        return {"pairs": pairs[: 2 * WRITTEN], "rest": len(pairs) - 2 * WRITTEN, "rows": []}
    place = {label: k for k, label in enumerate(classes)}
    cells: list[list[Any]] = [[None] * (len(classes) - 1) for _ in classes[1:]]
    for pair in pairs:
        first, second = (place[str(label)] for label in pair["classes"])
        cells[second - 1][first] = {**pair, "strength": round(100 * max(0.0, min(1.0, 2 * pair["auc"] - 1)))}
    rows = [{"label": label, "cells": row} for label, row in zip(classes[1:], cells, strict=True)]
    return {"columns": classes[:-1], "rows": rows, "pairs": [], "rest": 0}


FILTERS: dict[str, Callable[[Any], str]] = {
    "rate": numbers.rate,
    "percent": numbers.percent,
    "span": _span,
    "signed": _signed,
    "number": lambda value: f"{value:,}",
    "capital": lambda text: text[:1].upper() + text[1:],
}
