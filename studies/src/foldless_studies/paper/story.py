"""The pages: one for each item, with what was done, the picture and what the figures say, and the index of all."""

from __future__ import annotations

from typing import Any

from foldless_studies.estimators import ESTIMATORS
from foldless_studies.pages import Block, Heading, Image, Page, Points, Table, Text, number
from foldless_studies.paper import findings
from foldless_studies.paper.figure import title as title_of_figure
from foldless_studies.paper.findings import is_stand_in
from foldless_studies.paper.items import ITEMS, Item
from foldless_studies.paper.summary import average, by_panel, pooled_coverage

COMMON = (
    "The classifier is L2 logistic regression with C = 1 (LIBLINEAR, with an intercept), fitted once per sample; all "
    "estimators see the same sample and fit. The truth is the exact AUC of that classifier on the population."
)
ABOUT = {
    "table1": (
        "Mean true AUC of the fitted classifiers. The paper states classes N(0, I) and N(1, I). Next to that stand the "
        "settings that were tried to find where the printed numbers come from: except for the stated ones, each has "
        "the distance between the classes that the printed Bayes row implies. They are a choice from about sixty that "
        "were tried with fewer iterations, so that a close match is less of a proof than it seems."
    ),
    "fig1": f"Classes N(0, I) and N(1, I) in P columns, n = N/2 rows of each. {COMMON}",
    "fig2": (
        f"Two columns, classes N(0, sigma I) and N(1, sigma I), sigma set by the AUC of the best classifier. The paper "
        f"does not say how many rows it used; 20 and 100 are shown. {COMMON}"
    ),
    "fig3": (
        f"Four columns, N(0, I) against mean (-1.5, -0.75, 0.75, 1.5) with variances (0.25, 0.75, 1.25, 1.75). {COMMON}"
    ),
    "fig4": (
        f"As figure 1, with N = 10 or 100 rows in all and a share of class 1 from 0.1 to 0.9. With N = 10 a class may "
        f"have one row: estimators that need more have no value there and are counted as missing. {COMMON}"
    ),
    "fig5": (
        "216 spectra of 4000 columns, a share of them for training, the AUC on the others as truth. **published** "
        "follows the authors' script: LIBLINEAR, C = 1, no intercept, tolerance 0.01, columns standardised on the "
        "training part. **standard** has an intercept and a converged fit."
    ),
    "fig6": (
        "Two days: the training set is nearly all of the first, with a few rows of the second; the test set is of the "
        "second. Features are two per channel, the level and the spread about a fitted line: our reading of the "
        "winning entry. The truth is the AUC on the test set (left), or on the rest of the training set (right). What "
        "happens on another day cannot be read off a training set that hardly has any of it: on the left every "
        "estimator answers another question than the one that is asked."
    ),
    "fig7": (
        f"Four columns, class means 0 and 1: Student's t with 3 degrees of freedom; exponential columns; and a class 1 "
        f"of which 40 % look like class 0. The paper says that its estimator fails on such data, without a figure. "
        f"{COMMON}"
    ),
    "shuffled": (
        "The rows of figures 1 and 5 with shuffled labels: nothing can be learnt, every classifier has AUC 0.5. Not in "
        "the paper."
    ),
}
STAND_IN = (
    "**SIMULATED**: the recording is not in the data folder and no longer offered for download. These are normal rows "
    "with its sizes (677 + 50 training rows, 653 test rows, 408 columns) and its mechanism: on the second day "
    "everything is moved, and half of what told the classes apart is gone. The figures are about the mechanism, "
    "not about the recording."
)


def page(item: Item, summary: dict[str, Any]) -> Page:
    """The Markdown page of an item."""
    blocks: list[Block] = [*opening(item, summary), *findings.of(item, summary)]
    if item.estimators:
        blocks += [Heading("Pooled over the points of a panel"), pooled(item, summary), Text(LEGEND)]
        blocks += [Heading("Seconds per estimate"), seconds(summary), Text(SECONDS)]
        blocks += missing(summary)
    blocks += [Heading("How to get this"), Text(f"`{summary['command']}`"), Text(provenance(summary))]
    return Page(title_of_figure(item, summary), blocks)


def opening(item: Item, summary: dict[str, Any]) -> list[Block]:
    """What was done, and the picture."""
    about: list[Block] = [Text(STAND_IN)] if is_stand_in(summary) else []
    iterations = summary["settings"]["iterations"]
    about.append(Text(f"{ABOUT[item.name]} {iterations} iterations per point."))
    if summary["settings"]["classifier"] != "logistic":
        about.append(Text(f"**Here the classifier is {summary['settings']['classifier']}, not the paper's.**"))
    return [*about, Image(f"{item.name}.svg", title_of_figure(item, summary))]


LEGEND = (
    "MAE: mean absolute error; SD: standard deviation of the error; both, and the bias, averaged over the points of "
    "the panel. cover 90: share of central 90 % intervals that hold the truth (CV: Student's t over the folds). "
    "points: where the estimator has a value at all."
)
SECONDS = "Processor time, the median over all trials; the fit itself is shared and comes on top of each."


def pooled(item: Item, summary: dict[str, Any]) -> Table:
    """One line per panel and estimator."""
    lines = []
    for where, panel in by_panel(item, summary):
        for name in item.estimators:
            rows = [row for row in panel if row["estimator"] == name]
            known = [row for row in rows if row["units"]]
            figures = [number(average(known, q), 4) for q in ("mae", "sd", "bias")]
            points = f"{len(known)} of {len(rows)}"
            titles = *map(str, where.values()), ESTIMATORS[name].title
            lines.append([*titles, *figures, number(pooled_coverage(known), 2), points])
    keys = [key for key in (item.down, item.across) if key]
    return Table([*keys, "estimator", "MAE", "SD", "bias", "cover 90", "points"], lines)


def seconds(summary: dict[str, Any]) -> Table:
    """Milliseconds of every estimator."""
    rows = [[("one fit" if n == "fit" else ESTIMATORS[n].title), number(None if s is None else 1000 * s, 2)]
            for n, s in summary["seconds"].items()]  # fmt: skip
    return Table(["", "milliseconds"], rows)


def missing(summary: dict[str, Any]) -> list[Block]:
    """How often an estimator had no value."""
    counts = {name: n for name, n in summary["missing"].items() if n}
    points = [f"{ESTIMATORS[name].title}: no value in {n} of {summary['trials']} trials" for name, n in counts.items()]
    return [Heading("Missing"), Points(points)] if points else []


def provenance(summary: dict[str, Any]) -> str:
    """Versions, seed, and the notes of the summary."""
    versions = ", ".join(f"{name} {v}" for name, v in summary["versions"].items())
    notes = "".join(f" Note: {note}." for note in summary["notes"])
    return f"Seed {summary['settings']['seed']}; {versions}.{notes}"


# ---- The index: all items on one page, beside what was published, and where they differ.

OPENING = (
    "Every table and figure of S. S. Hassan, H. Huttunen, J. Niemi and J. Tohka, *Bayesian receiver operating "
    "characteristic metric for linear classifiers* (Pattern Recognition Letters, 2019), run again. Solid lines in the "
    "paper's colours are its estimators as published: CV-AUC red, EBAUC blue, CBAUC green, sample-binormal pink. "
    "Dashed lines are the same as usually computed. Black is foldless."
).replace("*", "")


def index(summaries: list[dict[str, Any]], left_out: dict[str, str]) -> Page:
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
        blocks += [Heading(title_of_figure(item, summary)), *opening(item, summary), *findings.of(item, summary)]
        blocks += [Text(f"[All figures of {item.name}]({item.name}.md) - [summary]({item.name}.json) - "
                        f"`{summary['command']}`")]  # fmt: skip
    return Page("The paper, reproduced", blocks)


RATIOS = (
    "Mean absolute errors relative to standard 5-fold cross-validation (below 1: more accurate), and coverage of 90 % "
    "intervals, on the points of a panel at which all of them have a value."
)
