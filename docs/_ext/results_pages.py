"""The measured tables: the pages under results/ are copied in as they are, so that the site cannot differ from them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

KINDS = (".md", ".png", ".svg", ".json")
LINK = re.compile(r"\]\(((?:\.\./)*)\.\./results/")


def copy_results(app: Sphinx, config: Any) -> None:
    """results/ of the repository becomes the folder results/ of these pages."""
    docs = Path(app.srcdir)
    source, target = docs.parent / "results", docs / "results"
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(p for p in source.rglob("*") if p.suffix in KINDS and "runs" not in p.parts):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(one_title(path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(path, copy)


def one_title(text: str) -> str:
    """A page has one title: further headings of the first level, and what is below them, move down by one."""
    out: list[str] = []
    titles, fenced = 0, False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        is_heading = not fenced and re.match(r"#+ ", line) is not None
        titles += is_heading and line.startswith("# ")
        out.append("#" + line if is_heading and titles > 1 else line)
    return "\n".join(out) + "\n"


def links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to results/, right as seen from the repository, lead to the copies."""
    source[0] = LINK.sub(r"](\1results/", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy before the pages are read."""
    app.connect("config-inited", copy_results)
    app.connect("source-read", links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
