"""Every page of `results/` anew: `make evidence`, or `python -m foldless_studies.evidence [PAGE ...]`.

A page whose stamp is of today's answers is left alone (`--all` makes it again), so that a run which was stopped goes on
where it was; the long studies among them keep every finished sample. `--check` only says which pages are out of date.
Most pages are made two at a time; those that need the machine for themselves come last, one by one. Two are made only
if they are named: the fuzzer for truth, which takes as long as all others together (`make truth`), and the comparison
with R's rms, which needs R.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import foldless as fl
from foldless.files import write_atomically
from foldless_studies.accuracy.report import draw
from foldless_studies.data import VARIABLE
from foldless_studies.evidence.stamps import changed, code, stamp
from foldless_studies.sampling import WIDE

FOLDLESS = (sys.executable, "-m", "foldless")
DATA = ("--data", f"${VARIABLE}", "--no-simulations", "--no-rotate")
SIZES = ("--sizes", "40,80")


@dataclass(frozen=True)
class Page(ABC):
    """A page of `results/`, and the questions that it rests on.

    `alone`: made while nothing else runs, as it measures time or keeps all cores busy. `named`: only if named.
    `drawn`: made of drawn rows alone, without the data sets.
    """

    name: str
    rests_on: tuple[str, ...]
    alone: bool = field(default=False, kw_only=True)
    named: bool = field(default=False, kw_only=True)
    drawn: bool = field(default=False, kw_only=True)

    @property
    def path(self) -> str:
        return f"{self.name}.md"

    @abstractmethod
    def text(self, file: Path, kept: Path) -> str: ...


@dataclass(frozen=True)
class Printed(Page):
    """A page that a module of this package prints."""

    arguments: tuple[str, ...] = ()

    def text(self, file: Path, kept: Path) -> str:
        return _output(sys.executable, "-m", f"foldless_studies.evidence.{self.name}", *self.arguments)


@dataclass(frozen=True)
class Study(Page):
    """A page that `foldless benchmark` writes, once for each of `variants`, below a title and an introduction."""

    title: str
    introduction: str
    arguments: tuple[str, ...]
    variants: tuple[tuple[str, ...], ...] = ((),)
    picture: bool = False
    summary: str = "summary.md"  # what the command writes
    options: tuple[str, ...] = ()  # without effect on the figures

    def text(self, file: Path, kept: Path) -> str:
        commands = [(*self.arguments, *variant) for variant in self.variants]
        shown = "\n".join(f"    foldless benchmark {' '.join(command)}" for command in commands)
        folders = {variant: kept / self.name / "-".join(variant) for variant in self.variants}
        parts = [self._part(variant, folder) for variant, folder in folders.items()]
        if self.picture:
            write_atomically(file.with_suffix(".png"), _picture(folders))
        return "\n\n".join(filter(None, [f"# {self.title}", shown, self.introduction, *parts])) + "\n"

    def _part(self, variant: tuple[str, ...], folder: Path) -> str:
        words = [os.path.expandvars(word) for word in (*self.arguments, *variant)]
        _output(*FOLDLESS, "benchmark", *words, *self.options, "--out", str(folder), "--resume")
        body = (folder / self.summary).read_text(encoding="utf-8").split("\n", 1)[1].strip()
        return f"## {' '.join(variant)}\n\n{body.replace(chr(10) + '## ', chr(10) + '### ')}" if variant else body


@dataclass(frozen=True)
class Paper(Page):
    """The page on the experiments of the paper; their own pages and pictures are beside it."""

    iterations: Mapping[str, int]

    def text(self, file: Path, kept: Path) -> str:
        folder, commands = kept / "paper", []
        for item, count in self.iterations.items():
            commands.append(f"reproduce {item} --iterations {count}")
            _output(*FOLDLESS, *commands[-1].split(), "--out", str(folder), "--resume")
        for made in (made for made in folder.iterdir() if made.is_file()):
            write_atomically(file.parent / made.name, made.read_bytes())
        shown = "\n".join(f"    foldless {command} --out results/paper" for command in commands)
        return (
            "# The paper's experiments, finished runs\n[index.md](index.md) (or index.html, in a browser) shows every "
            f"item beside the published numbers. The paper has 1000 iterations. Commands:\n\n{shown}\n"
        )


FOLDER = (
    "The folder holds 35 public two-class data sets (72 to 18,905 rows, 8 to 12,625 columns) without dependent rows. "
    "The truth is the AUC of the held-out rows, or 0.5 for shuffled labels. Columns are standardised on the training "
    "rows; foldless notices it and lets the scaler leave with the rows."
)
CLASSIFIERS = tuple(("--classifier", name) for name in ("ridge", "svm", "hinge"))
RIVALS = "loo,in-sample,adaptive,cv5,cv5x5,632+"
PAGES: tuple[Page, ...] = (
    Study(
        "accuracy/development",
        ("auc", "in-sample"),
        "Accuracy on real data sets",
        f"{FOLDER} Logistic regression with scikit-learn's default tolerance.",
        ("accuracy", *DATA, "--splits", "12", *SIZES, "--C", "0.01,1,100", "--methods", "loo,in-sample,cv5"),
        picture=True,
    ),
    Study(
        "accuracy/rivals",
        ("auc", "in-sample"),
        "Against repeated folds, the bootstrap and the paper",
        f"{FOLDER} C = 1 (ridge: alpha = 1; hinge: SVC with a linear kernel, by refits). .632+ has 50 bootstrap "
        f"samples and no interval; adaptive is asked up to {WIDE} columns, and is not in the picture. There each mark "
        "is a classifier and a number of rows, and a line with its number is the mean of the marks.",
        ("accuracy", *DATA, "--splits", "4", *SIZES, "--methods", RIVALS),
        variants=tuple(("--classifier", name) for name in ("logistic", "ridge", "hinge")),
        picture=True,
    ),
    Study(
        "accuracy/classifiers",
        ("auc", "refit"),
        "Other classifiers on real data sets",
        f"{FOLDER} ridge: RidgeClassifier, alpha = 1; svm: LinearSVC with the squared hinge, C = 1; hinge: SVC with a "
        "linear kernel, C = 1, by refits. With their 12,000 columns as they are, LDA and L1 take hours.",
        ("accuracy", *DATA, "--splits", "8", *SIZES, "--methods", "loo,cv5"),
        variants=CLASSIFIERS,
    ),
    Study(
        "accuracy/simulations",
        ("auc",),
        "Accuracy on simulations",
        "Logistic regression with C = 1, the AUC of the trained classifier known exactly. Names: law, rows, columns, "
        "AUC of the best classifier.",
        ("accuracy", "--replicates", "200", "--methods", "loo"),
    ),
    Study(
        "truth",
        ("auc", "refit", "compare", "classes", "search", "measures", "permutation", "findings"),
        "Where the answers miss the truth",
        "The fuzzer for truth.",
        ("truth", "--situations", "20000", "--seed", "6"),
        options=("--jobs", "2"),
        alone=True,
        named=True,
        drawn=True,
    ),
    Paper(
        "paper/README",
        ("auc", "in-sample"),
        {"table1": 300, "fig1": 60, "fig4": 100, "fig5": 40, "fig6": 20, "fig7": 60}
        | dict.fromkeys(("fig2", "fig3", "shuffled"), 100),
    ),
    Printed("compare", ("compare",)),
    Printed("few_rows", ("auc",)),
    Printed("sparse", ("refit",), alone=True),
    Printed("given_scores", ("scores",)),
    Printed("validation", ("measures",)),
    Printed("rms", ("auc", "measures"), named=True, drawn=True),
    Printed("multiclass", ("classes",)),
    Printed("plan", ("auc", "plan")),
    Printed("diagnose", ("findings",), ("50",)),
    Printed("optimism", ("in-sample",)),
    Printed("search", ("search",)),
    Printed("tuning", ("search",)),
    Printed("permutation", ("permutation",)),
    Printed("shapes", ("auc",), alone=True),
    Printed("memory", ("auc", "in-sample"), alone=True),
    Study(
        "speed/speed",
        ("auc", "in-sample", "compare"),
        "What an answer costs",
        "",
        ("speed", "--data", f"${VARIABLE}"),
        summary="speed.md",
        alone=True,
    ),
)
BY_NAME = {page.name: page for page in PAGES}


def _picture(folders: Mapping[tuple[str, ...], Path]) -> bytes:
    """All variants in one picture; the last word of each says what it is."""
    rows = []
    for variant, folder in folders.items():
        table = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["table"]
        rows += [row | ({"classifier": variant[-1]} if variant else {}) for row in table]
    drawn = draw(rows)
    if drawn is None:
        raise fl.InputError("the picture needs matplotlib: pip install 'foldless[plot]'.")
    return drawn


def _output(*command: str) -> str:
    """What a command prints; what it says of its progress is shown."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise fl.InputError(f"{' '.join(command)} ended with exit code {done.returncode}.")
    return done.stdout


def state(page: Page, results: Path) -> str:
    """Why a page has to be made, or "up to date"."""
    file = results / page.path
    if not file.is_file():
        return "missing"
    found = changed(file.read_text(encoding="utf-8"), page.rests_on)
    if found is None:
        return "without a stamp"
    return f"other answers now: {', '.join(found)}" if found else "up to date"


def make(page: Page, results: Path, kept: Path) -> None:
    """Make a page, and write it whole; the stamp is of the code as it was when the page was begun."""
    begun, seal = time.monotonic(), stamp(page.rests_on, results)
    file = results / page.path
    kept = kept / f"{code():08x}"  # samples of other code are not taken up again
    write_atomically(file, f"{page.text(file, kept).rstrip()}\n\n{seal}".encode())
    print(f"{page.path}: {(time.monotonic() - begun) / 60:.1f} min", flush=True)


def make_all(pages: Sequence[Page], results: Path, kept: Path, jobs: int) -> None:
    """Make these pages, those that need the machine for themselves after the others."""
    with ThreadPoolExecutor(jobs) as workers:
        list(workers.map(lambda page: make(page, results, kept), [page for page in pages if not page.alone]))
    for page in pages:
        if page.alone:
            make(page, results, kept)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is out of date, or say what is."""
    parser = argparse.ArgumentParser(prog="python -m foldless_studies.evidence", description=__doc__)
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help=f"of {', '.join(BY_NAME)}; default: all but truth and rms"
    )
    parser.add_argument("--check", action="store_true", help="say which pages are out of date; exit code 1 if any is")
    parser.add_argument("--all", action="store_true", help="also pages that are up to date")
    parser.add_argument("--jobs", type=int, default=2, help="pages made at a time (default 2)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the pages (default results)")
    parser.add_argument("--kept", type=Path, default=Path("out/evidence"), help="folder of finished samples")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.pages) - set(BY_NAME))
    if unknown:
        parser.error(f"unknown page {unknown[0]!r}: choose from {', '.join(BY_NAME)}")
    pages = [BY_NAME[name] for name in chosen.pages] or [page for page in PAGES if chosen.check or not page.named]
    states = {page.name: state(page, chosen.results) for page in pages}
    for name, why in states.items():
        print(f"{name}: {why}", flush=True)
    stale = [page for page in pages if states[page.name] != "up to date" or chosen.all]
    if chosen.check:
        return int(bool(stale))
    if not os.environ.get(VARIABLE) and not all(page.drawn for page in stale):
        parser.error(f"set {VARIABLE} to the folder that holds the data sets")
    make_all(stale, chosen.results, chosen.kept, chosen.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
