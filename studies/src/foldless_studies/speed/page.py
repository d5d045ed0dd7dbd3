"""The summary as tables, for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldless_studies.pages import Block, Heading, Page, Table, Text, escaped
from foldless_studies.speed import rivals, subjects

Result = dict[str, Any]

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
    blocks.append(Text(f"{where['processor']}, {where['cores']} cores, {where['system']}; {software}; {_blas(where)}."))
    blocks += _goals(summary["goals"])
    for subject, section in SECTIONS.items():
        rows = [result for result in summary["results"] if result["subject"] == subject]
        blocks += section(rows) if rows else []
    return Page("What an answer costs", blocks)


def _blas(where: dict[str, Any]) -> str:
    return "; ".join(where["blas"])


def _goals(goals: list[dict[str, Any]]) -> list[Block]:
    rows = [[g["goal"], _bounds(g), f"{g['measured']:.2f}", "yes" if g["holds"] else "**no**"] for g in goals]
    return [Heading("Goals"), Table(["figure", "goal", "measured", "kept"], rows)] if rows else []


def _bounds(goal: dict[str, Any]) -> str:
    return f"at most {goal['most']:g}" if goal["least"] is None else f"{goal['least']:g} to {goal['most']:g}"


def _one_pass(results: list[Result]) -> list[Block]:
    header = ["X", "cbauc", "/ X @ w", "/ X.sum()", "noise"]
    rows = [
        [r["name"], span(_seconds(r, subjects.CBAUC)), times(r["ratio_product"]), times(r["ratio_sum"]), _noise(r)]
        for r in results
    ]
    about = "CBAUC of one classifier, relative to one pass over X. The last shape shows the fixed cost of a call."
    return [Heading("CBAUC against one pass over X"), Text(about), Table(header, rows)]


def _many(results: list[Result]) -> list[Block]:
    header = ["X, classifiers", "cbauc", "X @ W", "cbauc / X @ W", "noise"]
    rows = [
        [
            r["name"],
            span(_seconds(r, subjects.CBAUC)),
            span(_seconds(r, subjects.PRODUCT)),
            times(r["ratio_product"]),
            _noise(r),
        ]
        for r in results
    ]
    return [Heading("Many classifiers at once"), Table(header, rows)]


def _growth(results: list[Result]) -> list[Block]:
    header = ["cost of", "with", "range", "fixed", "times", "exponent", "largest deviation", "noise"]
    rows = [
        [
            r["what"],
            r["axis"],
            f"{r['sizes'][0]:,} to {r['sizes'][-1]:,}, {len(r['sizes'])} sizes",
            ", ".join(f"{name} = {value:,}" for name, value in r["fixed"].items()),
            f"{span(_seconds(r, str(r['sizes'][0])))} to {span(_seconds(r, str(r['sizes'][-1])))}",
            f"{r['exponent']:.2f}",
            f"{100 * r['largest_deviation']:.0f} %",
            _noise(r),
        ]
        for r in results
    ]
    about = "The exponent is the slope of log time against log size, by least squares; deviations are from that line."
    return [Heading("Growth of the cost"), Text(about), Table(header, rows)]


def _rivals(results: list[Result]) -> list[Block]:
    names = list(results[0]["ratio_with_fit"])
    blocks: list[Block] = [
        Heading("The calibrated posterior against other ways"),
        Text(
            "Logistic regression on Gaussian data. The posterior includes its 95 % interval. The .632+ bootstrap has "
            f"{results[0]['bootstraps']} replicates; DeLong judges the training scores; naive CBAUC forms the P x P "
            "posterior matrix. Entries of the rivals: how many times as long they take as fit + posterior, and, in "
            "brackets, as the posterior alone, for users who have the fit. The last column is naive CBAUC / cbauc."
        ),
    ]
    header = ["N x P", rivals.POSTERIOR, rivals.WITH_FIT, *names, "naive / cbauc", "noise"]
    rows = [
        [
            r["name"],
            span(_seconds(r, rivals.POSTERIOR)),
            span(_seconds(r, rivals.WITH_FIT)),
            *(f"{times(r['ratio_with_fit'][n])} ({times(r['ratio_without_fit'][n])})" for n in names),
            times(r["naive_to_cbauc"]),
            _noise(r),
        ]
        for r in results
    ]
    return [*blocks, Table(header, rows)]


def _memory(results: list[Result]) -> list[Block]:
    about = (
        "New memory at its highest during a call, as reported to tracemalloc; X itself, and small buffers inside of "
        "BLAS, are not counted."
    )
    rows = [[r["name"], f"{r['peak'] / 1e6:.2f} MB", times(r["ratio_X"])] for r in results]
    return [Heading("Peak memory"), Text(about), Table(["call", "peak", "/ X"], rows)]


def _imports(results: list[Result]) -> list[Block]:
    (r,) = results
    rows = [[f"`{name}`", span(s), times(r["ratio_numpy"][name])] for name, s in r["seconds"].items()]
    about = f"A fresh interpreter that imports, less one that does nothing; {r['clock']}. Noise {_noise(r)}."
    return [Heading("Import"), Text(about), Table(["", "seconds", "/ import numpy"], rows)]


def _datasets(results: list[Result]) -> list[Block]:
    about = (
        "Standardised columns and logistic regression with C = 1, as one pipeline. foldless: fit and posterior; 5-fold "
        "CV as scikit-learn does it. Unless they were named, the sets are the first five with more columns than rows "
        "and the first five without, by name, of two classes and with independent rows."
    )
    header = ["set", "N x P", "foldless", "5-fold CV", "CV / foldless", "AUC foldless (95 %)", "AUC CV", "noise"]
    rows = [
        [
            escaped(r["name"]),
            f"{r['N']:,} x {r['P']:,}",
            span(_seconds(r, rivals.WITH_FIT)),
            span(_seconds(r, rivals.CV5)),
            times(r["ratio_cv5"]),
            f"{r['auc']:.3f} ({r['interval'][0]:.3f} to {r['interval'][1]:.3f})",
            f"{r['auc_cv5']:.3f}",
            _noise(r),
        ]
        for r in results
    ]
    return [Heading("Data sets"), Text(about), Table(header, rows)]


SECTIONS: dict[str, Callable[[list[Result]], list[Block]]] = {
    subjects.ONE_PASS.name: _one_pass,
    subjects.MANY.name: _many,
    subjects.GROWTH.name: _growth,
    rivals.RIVALS.name: _rivals,
    subjects.MEMORY.name: _memory,
    subjects.IMPORTS.name: _imports,
    rivals.DATA_SETS.name: _datasets,
}


def _seconds(result: Result, name: str) -> float:
    return float(result["times"][name]["seconds"])


def _noise(result: Result) -> str:
    return f"{result['noise']:.2f}"


def span(seconds: float) -> str:
    """A time with three digits, in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def times(ratio: float) -> str:
    """A ratio with two or three digits."""
    return f"{ratio:,.0f}" if ratio >= 99.5 else f"{ratio:.3g}" if ratio >= 10 else f"{ratio:.2f}"
