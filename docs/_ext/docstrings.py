"""Docstrings as they are written in the code: `name` links to a public name, indented lines are formulas."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

import foldless

UNDERLINE = re.compile(r"^\s*-{3,}\s*$")


def role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = ()) -> Any:
    """A public name becomes a link to its page, everything else is shown as code."""
    shown = nodes.literal(rawtext, text)
    bare = text.removeprefix("foldless.").removeprefix("fl.").removesuffix("()")
    if bare not in foldless.__all__ or bare in foldless._SUBPACKAGES:
        return [shown], []
    target = addnodes.pending_xref(
        rawtext, shown, refdomain="py", reftype="obj", reftarget=f"foldless.{bare}", refexplicit=True, refwarn=True
    )
    return [target], []


def formulas(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Indented lines before the first section are formulas: shown as they stand, not as a quotation."""
    end = next((i - 1 for i, line in enumerate(lines) if UNDERLINE.match(line)), len(lines))
    marks = [i for i in range(2, end) if _opens_formula(lines, i)]
    for i in reversed(marks):
        lines[i - 1 : i] = ["", "::", ""]


def _opens_formula(lines: list[str], i: int) -> bool:
    """A line that is indented after a blank one, where the line before that is not."""
    before = next((line for line in reversed(lines[: i - 1]) if line.strip()), "")
    blank = not lines[i - 1].strip()
    return blank and lines[i].startswith("    ") and not before.startswith(" ") and not before.endswith("::")


def setup(app: Sphinx) -> dict[str, bool]:
    """Formulas are marked before napoleon rewrites the sections."""
    app.add_role("foldless", role)
    app.connect("autodoc-process-docstring", formulas, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
