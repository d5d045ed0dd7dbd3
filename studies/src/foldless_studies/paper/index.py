"""The index: all items on one page, beside what was published, and where they differ."""

from __future__ import annotations

from typing import Any

from foldless_studies.paper import findings, story
from foldless_studies.paper.figure import title
from foldless_studies.paper.items import ITEMS
from foldless_studies.paper.page import Block, Heading, Page, Points, Text

OPENING = (
    "Every table and figure of S. S. Hassan, H. Huttunen, J. Niemi and J. Tohka, *Bayesian receiver operating "
    "characteristic metric for linear classifiers* (Pattern Recognition Letters, 2019), run again. Solid lines in the "
    "paper's colours are its estimators as published: CV-AUC red, EBAUC blue, CBAUC green, sample-binormal pink. "
    "Dashed lines are the same as usually computed. Black is foldless."
).replace("*", "")


def page(summaries: list[dict[str, Any]], left_out: dict[str, str]) -> Page:
    """The index of these items."""
    by_name = {summary["item"]: summary for summary in summaries}
    blocks: list[Block] = [Text(OPENING)]
    blocks += [Points([f"**{name} is missing here**: {why}" for name, why in left_out.items()])] if left_out else []
    short = findings.in_short(by_name)
    if short:
        blocks += [Heading("Where the paper's numbers do not come back, or mean something else"), Points(short)]
    panels, cost = findings.all_panels(by_name), findings.seconds(by_name)
    blocks += [Heading("All panels"), Text(RATIOS), *panels] if panels else []
    blocks += [Text(cost)] if cost else []
    for summary in summaries:
        item = ITEMS[summary["item"]]
        blocks += [Heading(title(item, summary)), *story.opening(item, summary), *findings.of(item, summary)]
        blocks += [Text(f"[All figures of {item.name}]({item.name}.md) - [summary]({item.name}.json) - "
                        f"`{summary['command']}`")]  # fmt: skip
    return Page("The paper, reproduced", blocks)


RATIOS = (
    "Mean absolute errors relative to standard 5-fold cross-validation (below 1: more accurate), and coverage of 90 % "
    "intervals, on the points of a panel at which all of them have a value."
)
