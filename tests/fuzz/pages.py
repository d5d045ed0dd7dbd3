"""A page is proper when every tag that is opened is closed, each id is there once, and no figure reads nan."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

from hypothesis import strategies as st

import foldless as fl
from fuzz.answers import html, must
from fuzz.cases import Built, Case, cases, keywords
from fuzz.models import models
from fuzz.spoken import figures
from fuzz.tables import mostly

VOID = {"meta", "link", "br", "hr", "img", "input", "col", "wbr"}
NAN = re.compile(r"(?<![\w'-])nan(?![\w'-])", re.IGNORECASE)
TITLES = (None, "", "<b>&", "a" * 500, "two\nlines", "{{ 7 * 7 }}", "]]>", "\u202e", 3)
NAMES = (None, "short", ("<i>",) * 3, "generator")


class Page(HTMLParser):
    """What a page holds: tags in order, ids, and the text that a reader sees."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.text: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.ids.update(value for name, value in attrs if name == "id")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.ids.update(value for name, value in attrs if name == "id")

    def handle_endtag(self, tag: str) -> None:
        must(bool(self.open) and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]} at {self.getpos()}")
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.text.append(data)


def well_formed(markup: str) -> None:
    """A whole document, with figures that are numbers."""
    page = Page(markup)
    must(not page.open, f"left open: {page.open}")
    must(not [name for name, n in page.ids.items() if n > 1], f"ids twice: {page.ids.most_common(3)}")
    must(markup.lstrip().lower().startswith("<!doctype html>"), "no doctype")
    must("<script" not in markup.lower(), "a script")
    found = NAN.search(" ".join(page.text))
    must(found is None, f"the page reads nan: {found and found.string[max(found.start() - 60, 0) : found.end() + 20]}")


def report_cases() -> st.SearchStrategy[Case]:
    """Cases with what a report takes besides; one in three searches over the penalty."""
    return cases(
        model=models(odd=False) | models(odd=False) | models(),
        title=mostly(None, TITLES, 1),
        names=mostly(None, NAMES, 3),
        search=st.sampled_from((False, False, True)),
    )


def report(case: Case, built: Built) -> Any:
    """The report of a case."""
    width = case.table.columns
    names: Any = {"short": ["a"], "generator": (f"<{j}>" for j in range(width))}
    given = names.get(case.more["names"], case.more["names"]) if isinstance(case.more["names"], str) else None
    if isinstance(case.more["names"], tuple):
        given = list(case.more["names"][:1]) * width
    about = {"title": case.more["title"], "feature_names": given, "search": case.more["search"]}
    how = keywords(case, built, "groups", "sample_weight", "pos_label")
    return fl.report(built.model, built.X, built.y, level=case.option.level, **about, **how)


def check(found: Any, case: Case, built: Built) -> None:
    """The page, the same as a dict, and what a notebook shows."""
    well_formed(found.html)
    summary = found.summary()
    json.dumps(summary, allow_nan=False)
    figures(summary["auc"])
    must("nan" not in repr(found).lower().split("auc")[-1], repr(found))
    html(found)
