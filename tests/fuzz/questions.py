"""Each command with legal options, on a table that makes sense to somebody."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzz import spoken
from fuzz.outcome import Outcome, judged
from fuzz.pages import well_formed
from fuzz.sheets import LABELS, Sheet, sheets, write

Words = tuple[str, ...]
LEVELS = ("0.5", "0.9", "0.999999", "1e-9", "0.999999999999")
STRENGTHS = ("1e-10", "0.01", "1", "100", "1e10", "1e-300", "1e300", "1e-320")
# "@1" stands for the name of that column, "@label" for a label of the table.
SHARED: tuple[Words, ...] = (
    ("--json",), ("--json",), ("--positive", "@label"), ("--drop", "@0"), ("--drop", "@1"), ("--id", "@0"),
    ("--groups", "@1"), ("--groups", "@0"), ("--no-standardize",), ("--log",), ("--impute", "median"), ("--one-hot",),
    ("--seed", "7"), *(("--level", level) for level in LEVELS),
)  # fmt: skip
READING: tuple[Words, ...] = (
    ("--sep", "comma"), ("--sep", "|"), ("--encoding", "latin-1"), ("--decimal", ","), ("--thousands", "."),
    ("--encoding", "utf-16"),
)  # fmt: skip
MODEL: tuple[Words, ...] = (
    ("--model", "ridge"), ("--model", "lda"), ("--model", "svm"), ("--model", "lda", "--shrinkage", "auto"),
    ("--model", "lda", "--shrinkage", "0.999999"), *(("--C", value) for value in STRENGTHS),
    *(("--model", "ridge", "--C", value) for value in STRENGTHS),
    *(("--model", "svm", "--C", value) for value in STRENGTHS[:3]),
)  # fmt: skip
OWN: dict[str, tuple[Words, ...]] = {
    "auc": (("--prevalence", "0.01"), ("--prevalence", "1e-12"), ("--decision-value", "-1e300"), ("--threshold", "0.3"),
            ("--stream",), ("--stream",), ("--out", "picture.png"), *MODEL),
    "compare": (("--rope", "0.01"), ("--rope", "0.999"), ("--C", "1e-300"), ("--out", "picture.svg")),
    "search": (("--Cs", "0.1"), ("--Cs", "1e-300,1,1e300"), ("--Cs", "0.2,0.3"), ("--rule", "simplest"),
               ("--model", "ridge"), ("--model", "svm"), ("--model", "lda"), ("--out", "picture.png")),
    "plan": (("--factors", "1"), ("--factors", "1,1000000"), ("--factors", "5,2"), ("--factors", "0.5"),
             ("--out", "picture.png"), *MODEL),
    "validate": (("--threshold", "0.2"), ("--prevalence", "1e-12"), ("--prevalence", "0.05"), ("--table", "latex"),
                 ("--table", "markdown"), *MODEL),
    "permute": (("--permutations", "9"), ("--out", "picture.png"), *MODEL),
    "report": (("--no-search",), ("--no-search",), ("--no-search",), ("--title", "<b>$&"), *MODEL),
}  # fmt: skip
MODELS = ("logistic,ridge", "logistic=1e-300,logistic", "lda,svm,ridge", "lda=0.5,lda=0.01", "ridge=1e300,ridge=1e-300",
          "logistic, LDA", "svm=1e-6,svm=1")  # fmt: skip


@dataclass(frozen=True)
class Question:
    """What is typed, and the table that it is about."""

    command: str
    sheet: Sheet
    options: tuple[Words, ...] = ()


def questions(command: str) -> st.SearchStrategy[Question]:
    """One command with up to three options."""
    known = SHARED + OWN[command] + OWN[command] + READING
    options = st.lists(st.sampled_from(known), max_size=3).map(tuple)
    if command == "compare":
        options = st.tuples(st.sampled_from(MODELS), options).map(lambda both: (("--models", both[0]), *both[1]))
    return st.builds(Question, st.just(command), sheets(), options)


def arguments(question: Question, path: Path) -> list[str]:
    """What is typed after ``foldless``."""
    sheet, words = question.sheet, [word for option in question.options for word in option]
    if question.command == "report":
        words += ["-o", str(path.parent / "page.html")]
    return [question.command, str(path), "--target", sheet.target, *(_meant(word, sheet, path) for word in words)]


def _meant(word: str, sheet: Sheet, path: Path) -> str:
    if word == "@label":
        return LABELS[sheet.label][sheet.seed % 2]
    if word.startswith("@"):
        return sheet.names[int(word[1:]) % len(sheet.names)]
    return str(path.parent / word) if word.startswith("picture") else word


def run(question: Question) -> Any:
    """The finished command, and the page or picture that it wrote."""
    from click.testing import CliRunner

    from foldless.cli.app import app

    with tempfile.TemporaryDirectory() as folder:
        path = write(question.sheet, Path(folder))
        result = CliRunner().invoke(app, arguments(question, path), prog_name="foldless")
        left = sorted(file for file in Path(folder).iterdir() if file != path)
        return result, {file.name: file.read_bytes() for file in left}


def check(found: Any, question: Question) -> None:
    """What was said, and what was written: nothing after a refusal, all that was asked for after an answer."""
    result, files = found
    spoken.proper(result)
    wanted = {word for option in question.options for word in option if word.startswith("picture")}
    wanted |= {"page.html"} if question.command == "report" else set()
    spoken.must(set(files) == (wanted if result.exit_code == 0 else set()), f"files: {sorted(files)}")
    for name, content in files.items():
        spoken.must(len(content) > 500, f"{name} has {len(content)} bytes")
        if name == "page.html":
            well_formed(content.decode("utf-8"))


@dataclass(frozen=True)
class QuestionProperty:
    """One command on drawn tables."""

    draw: st.SearchStrategy[Question]
    share: int

    def outcome(self, question: Question) -> Outcome:
        """The judged command; code 2 is a refusal."""
        codes: list[int] = []

        def kept(found: Any) -> None:
            codes.append(found[0].exit_code)
            check(found, question)

        found = judged(lambda: run(question), kept)
        return Outcome("refusal") if found.kind == "answer" and codes == [2] else found


SHARES = {"auc": 20, "compare": 25, "search": 25, "plan": 25, "validate": 20, "permute": 10, "report": 2}
QUESTIONS = {f"foldless {command}": QuestionProperty(questions(command), share) for command, share in SHARES.items()}
