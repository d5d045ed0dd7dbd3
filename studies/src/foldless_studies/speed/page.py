"""The summary as tables, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foldless_studies.pages import Block, Heading, Page, Table, Text, escaped
from foldless_studies.speed import rivals, subjects

Result = dict[str, Any]
Show = Callable[[Result], str]

OPENING = (
    "Every figure is a ratio within one measurement: its calls are timed in turns, in one process, and the shortest "
    "time of each counts. The clock is processor time, with one thread of linear algebra. Noise: by how much the "
    "median round exceeds the shortest, at worst; figures with more than about 0.2 were taken on a busy machine."
)
QUICK = "**A quick run with small sizes: it shows that the benchmark works, and nothing about the cost.**"


def of(summary: dict[str, Any]) -> Page:
    """The page of a run."""
    where = summary["machine"]
    blocks: list[Block] = [Text(f"Command: `{summary['command']}`"), Text(OPENING)]
    blocks += [Text(QUICK)] if summary["settings"]["quick"] else []
    software = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    blas = "; ".join(where["blas"])
    blocks.append(Text(f"{where['processor']}, {where['cores']} cores, {where['system']}; {software}; {blas}."))
    blocks += _goals(summary["goals"])
    for subject, section in SECTIONS.items():
        rows = [result for result in summary["results"] if result["subject"] == subject]
        blocks += section(rows) if rows else []
    return Page("What an answer costs", blocks)


def _goals(goals: list[dict[str, Any]]) -> list[Block]:
    rows = [[g["goal"], _bounds(g), f"{g['measured']:.2f}", "yes" if g["holds"] else "**no**"] for g in goals]
    return [Heading("Goals"), Table(["figure", "goal", "measured", "kept"], rows)] if rows else []


def _bounds(goal: dict[str, Any]) -> str:
    return f"at most {goal['most']:g}" if goal["least"] is None else f"{goal['least']:g} to {goal['most']:g}"


# ---- How figures are shown.


def span(seconds: float) -> str:
    """A time with three digits, in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def times(ratio: float) -> str:
    """A ratio with two or three digits."""
    return f"{ratio:,.0f}" if ratio >= 99.5 else f"{ratio:.3g}" if ratio >= 10 else f"{ratio:.2f}"


def _time_of(name: str) -> Show:
    return lambda result: span(result["times"][name]["seconds"])


def _ratio(key: str) -> Show:
    return lambda result: times(result[key])


def _name(result: Result) -> str:
    return escaped(result["name"])


def _noise(result: Result) -> str:
    return f"{result['noise']:.2f}"


# ---- The sections: a table with a line for each measurement.


@dataclass(frozen=True)
class Section:
    """A heading, what is to be said, and the columns: a title, and what it shows of a result."""

    title: str
    about: str
    columns: Mapping[str, Show]

    def __call__(self, results: list[Result]) -> list[Block]:
        rows = [[show(result) for show in self.columns.values()] for result in results]
        about = [Text(self.about)] if self.about else []
        return [Heading(self.title), *about, Table(list(self.columns), rows)]


ONE_PASS = Section(
    "CBAUC against one pass over X",
    "CBAUC of one classifier, relative to one pass over X. The last shape shows the fixed cost of a call.",
    {
        "X": _name,
        "cbauc": _time_of(subjects.CBAUC),
        "/ X @ w": _ratio("ratio_product"),
        "/ X.sum()": _ratio("ratio_sum"),
        "noise": _noise,
    },
)
MANY = Section(
    "Many classifiers at once",
    "",
    {
        "X, classifiers": _name,
        "cbauc": _time_of(subjects.CBAUC),
        "X @ W": _time_of(subjects.PRODUCT),
        "cbauc / X @ W": _ratio("ratio_product"),
        "noise": _noise,
    },
)
GROWTH = Section(
    "Growth of the cost",
    "The exponent is the slope of log time against log size, by least squares; deviations are from that line.",
    {
        "cost of": lambda r: r["what"],
        "with": lambda r: r["axis"],
        "range": lambda r: f"{r['sizes'][0]:,} to {r['sizes'][-1]:,}, {len(r['sizes'])} sizes",
        "fixed": lambda r: ", ".join(f"{name} = {value:,}" for name, value in r["fixed"].items()),
        "times": lambda r: " to ".join(_time_of(str(r["sizes"][k]))(r) for k in (0, -1)),
        "exponent": lambda r: f"{r['exponent']:.2f}",
        "largest deviation": lambda r: f"{100 * r['largest_deviation']:.0f} %",
        "noise": _noise,
    },
)
MEMORY = Section(
    "Peak memory",
    "New memory at its highest during a call, as reported to tracemalloc; X itself, and small buffers inside of BLAS, "
    "are not counted.",
    {"call": _name, "peak": lambda r: f"{r['peak'] / 1e6:.2f} MB", "/ X": _ratio("ratio_X")},
)
DATA_SETS = Section(
    "Data sets",
    "Standardised columns and logistic regression with C = 1, as one pipeline. foldless: fit and posterior; 5-fold CV "
    "as scikit-learn does it. Unless they were named, the sets are the first five with more columns than rows and the "
    "first five without, by name, of two classes and with independent rows.",
    {
        "set": _name,
        "N x P": lambda r: f"{r['N']:,} x {r['P']:,}",
        "foldless": _time_of(rivals.WITH_FIT),
        "5-fold CV": _time_of(rivals.CV5),
        "CV / foldless": _ratio("ratio_cv5"),
        "AUC foldless (95 %)": lambda r: f"{r['auc']:.3f} ({r['interval'][0]:.3f} to {r['interval'][1]:.3f})",
        "AUC CV": lambda r: f"{r['auc_cv5']:.3f}",
        "noise": _noise,
    },
)


def _rivals(results: list[Result]) -> list[Block]:
    about = (
        "Logistic regression on Gaussian data. The posterior includes its 95 % interval. The .632+ bootstrap has "
        f"{results[0]['bootstraps']} replicates; DeLong judges the training scores. Entries of the rivals: how many "
        "times as long they take as fit + posterior, and, in brackets, as the posterior alone."
    )
    ours = {name: _time_of(name) for name in (rivals.POSTERIOR, rivals.WITH_FIT)}
    theirs = {name: _both_ratios(name) for name in results[0]["ratio_with_fit"]}
    columns = {"N x P": _name, **ours, **theirs, "noise": _noise}
    return Section("The calibrated posterior against other ways", about, columns)(results)


def _both_ratios(name: str) -> Show:
    return lambda r: f"{times(r['ratio_with_fit'][name])} ({times(r['ratio_without_fit'][name])})"


def _imports(results: list[Result]) -> list[Block]:
    (r,) = results
    rows = [[f"`{name}`", span(s), times(r["ratio_numpy"][name])] for name, s in r["seconds"].items()]
    about = f"A fresh interpreter that imports, less one that does nothing; {r['clock']}. Noise {_noise(r)}."
    return [Heading("Import"), Text(about), Table(["", "seconds", "/ import numpy"], rows)]


SECTIONS: dict[str, Callable[[list[Result]], list[Block]]] = {
    subjects.ONE_PASS.name: ONE_PASS,
    subjects.MANY.name: MANY,
    subjects.GROWTH.name: GROWTH,
    rivals.RIVALS.name: _rivals,
    subjects.MEMORY.name: MEMORY,
    subjects.IMPORTS.name: _imports,
    rivals.DATA_SETS.name: DATA_SETS,
}
