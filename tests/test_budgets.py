"""The size of the code: lines, files, the length of functions, and the files that one answer walks through."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from data import alternating

# Budgets are raised only on purpose: whoever raises one says in the commit what the extra size buys.
BUDGETS = {
    # 23,045 after the redesign; then all rows, refits of any classifier, the scaler that leaves, tables as they are:
    # limits and words among numbers, names in findings, kinds of files; accuracies of any number of classes; tensors;
    # the internal validation of probabilities; permutation tests without refits; tuning that is accounted for;
    # decoding over times and sets of columns; the report on predicted risks; measures of more than two classes; a page
    # for people without a terminal; what columns add to a model; files for a manuscript; refits in batches; groups,
    # comparisons and learning curves of more than two classes; PLS-DA on the command line; vectors that stay on a GPU;
    # L1, elastic net and the hinge among the refits in batches; a slope for classes with parts far from the border;
    # the width of refits that disagree, or use no column; refits of any classifier of several classes, and in searches;
    # refits of tables that came standardised, and of fits that change too much with single rows; ties and shapes in the
    # average precision; families of rows wherever they stand in the file; columns that single rows nearly hold alone,
    # for all penalties of a path at once; steps without rows of great impact, among rows of any number;
    # four crashes that the fuzzer found, and refits that separate the classes; losses that few rows have not shown;
    # weights that change no score; a full disk, or a reader gone, that shows at the end; penalties of ridge classifiers
    # of several classes on a GPU; an unseen row of the class in the place of a row; copies in permutation tests;
    # steps along the row; refits where the closed form takes gigabytes, or many large Hessians; intercepts that their
    # penalty holds while the means of a scaler move; error rates at every share of positives that a sample may have.
    "package lines": 35_400,
    "package files": 163,
    # + the error of a second sample; the fuzzer for truth; every page by one command, stamped; the paper's figures;
    # given scores of any law; the measures of probabilities against refits, on data sets, without signal; their cost;
    # permutation tests and tuning against folds; refits of any classifier against folds; the validation as a picture;
    # the paper's experiments, memory and speed among the pages of one command; categories, forests, four measures of
    # probabilities and more among the situations that the fuzzer for truth draws, and a search for where it looks;
    # clusters on one machine, which lived in the package; rivals of several kinds; noise looked at first; wider
    # questions of stamps, a picture by classifier and rows; bias, weights and mixed columns in the fuzzer for truth;
    # rms::validate of R on the same samples; the search over penalties on a GPU; the accuracy of classes among
    # what the fuzzer for truth asks
    "studies lines": 10_138,
    # An analysis is two of them, its steps and its questions, and a scaler two: scales, and what they do to scores.
    "files entered by auc_posterior": 28,
    "median function": 8,  # body lines
    "functions of 30 lines and more, in percent": 10,
}
LONG, LONGEST = 30, 40  # body lines
# Functions that may have more than LONGEST body lines: "file:name" and the reason.
EXCUSED: dict[str, str] = {}

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "foldless"
STUDIES = ROOT / "studies"


# ---- The ruler


@dataclass(frozen=True)
class Function:
    """A function or method, and the number of lines in its body."""

    file: str
    name: str
    length: int


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last; 0 for a body that is only a docstring."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def functions_of(path: Path) -> list[Function]:
    """The functions of a file, nested ones and methods included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [Function(path.relative_to(ROOT).as_posix(), node.name, body_lines(node)) for node in nodes]


def lines_of(paths: Iterable[Path]) -> int:
    """Lines of these files together; blank lines, comments and docstrings count."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


PACKAGE_FILES = sorted(PACKAGE.rglob("*.py"))
STUDIES_FILES = sorted(STUDIES.rglob("*.py"))
FUNCTIONS = [f for path in PACKAGE_FILES + STUDIES_FILES for f in functions_of(path)]


# ---- The walk


def files_entered(call: Callable[[], Any]) -> set[str]:
    """Files of the package in which a function is entered during a call."""
    entered = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            entered.add(frame.f_code.co_filename)

    call()  # imports and caches are not part of the walk
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    inside = Path(fl.__file__).resolve().parent
    return {path.relative_to(inside).as_posix() for path in map(Path, entered) if path.is_relative_to(inside)}


def walk_of_auc_posterior() -> set[str]:
    """Files that the first example of the README enters: a fitted pipeline and a plain array."""
    X, y = alternating(60, 5, shift=0.5)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    return files_entered(lambda: fl.auc_posterior(model, X, y))


# ---- The budgets


def longest(n: int = 8) -> list[str]:
    """The longest functions, for the message of a failed test."""
    return [f"{f.length} {f.file}:{f.name}" for f in sorted(FUNCTIONS, key=lambda f: -f.length)[:n]]


def largest(paths: list[Path], n: int = 8) -> list[str]:
    """The largest files, for the message of a failed test."""
    sizes = sorted(((lines_of([path]), path.relative_to(ROOT).as_posix()) for path in paths), reverse=True)
    return [f"{size} {name}" for size, name in sizes[:n]]


# What is measured, and where to look when it is too much.
MEASURES: dict[str, Callable[[], tuple[float, Iterable[str]]]] = {
    "package lines": lambda: (lines_of(PACKAGE_FILES), largest(PACKAGE_FILES)),
    "package files": lambda: (len(PACKAGE_FILES), ()),
    "studies lines": lambda: (lines_of(STUDIES_FILES), largest(STUDIES_FILES)),
    "files entered by auc_posterior": lambda: (len(walk := walk_of_auc_posterior()), sorted(walk)),
    "median function": lambda: (median(f.length for f in FUNCTIONS), longest()),
    "functions of 30 lines and more, in percent": lambda: (
        100 * sum(f.length >= LONG for f in FUNCTIONS) / len(FUNCTIONS),
        longest(),
    ),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_the_code_keeps_within_its_budget(name):
    """A library that can be held in the head: it grows only where somebody decided that it should."""
    measured, where = MEASURES[name]()
    assert measured <= BUDGETS[name], "\n".join([f"{name}: {measured:g}, budget {BUDGETS[name]}", *where])


def test_no_function_is_above_forty_body_lines_without_a_reason():
    """Every function above the limit is named here with its reason, and every excuse is still needed."""
    above = {f"{f.file}:{f.name}" for f in FUNCTIONS if f.length > LONGEST}
    assert above == set(EXCUSED)
    assert all(len(reason.split()) > 3 for reason in EXCUSED.values())


def test_architecture_draws_the_walk():
    """The files in the picture of ARCHITECTURE.md are those that a call enters."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = text.partition("## The walk of X")[2].partition("\n## ")[0].partition("\n\n")[2]
    drawn = re.findall(r"[\w/]+\.py", picture)
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == walk_of_auc_posterior()


# ---- The measures themselves


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("def f():\n    return 1\n", 1),
        ('def f():\n    """Text."""\n', 0),
        ('def f():\n    """Text.\n\n    More.\n    """\n    a = 1\n\n    # why\n    return a\n', 4),
        ("async def f():\n    x = (\n        1,\n    )\n    return x\n", 4),
    ],
)
def test_the_ruler_counts_body_lines_without_the_docstring(code, lines):
    """The measure itself: docstrings do not count; blank lines, comments and continued lines do."""
    assert body_lines(ast.parse(code).body[0]) == lines


def test_the_walk_sees_the_files_that_are_entered():
    """The measure itself: a call inside the package is seen, one outside is not."""
    assert files_entered(lambda: None) == set()
    assert "checks.py" in files_entered(lambda: fl.auc_posterior_from_scores([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0]))
