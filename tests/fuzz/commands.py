"""The command line on files of any content: exit code 0, or 2 with one line on stderr; never a traceback."""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzz.outcome import Outcome, judged
from fuzz.spoken import proper
from fuzz.tables import mostly

CELLS = (
    "1", "0", "-3.5", "1e308", "1e-320", "nan", "inf", "NA", "", " ", "yes", "=1+1", '"', '""', "a,b", "1,5", "\x00",
    "ü", "\u202e", "2020-01-01", "1_000", "0x10", "9" * 40, "#", "'", "\\", "true", "None", "\x1b[31m", "-", "+1",
)  # fmt: skip
NAMES = ("y", "a", "b", "", "y", " y", "id", "1", "a", "=cmd", "naïve", "x" * 300)
ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".npz", ".json", "", ".CSV", ".zip", ".gz")
ENCODINGS = ("utf-8", "utf-16", "utf-8-sig", "latin-1", "utf-32")
OPTIONS = (
    (), ("--json",), ("--model", "ridge"), ("--model", "lda"), ("--C", "0"), ("--C", "1e10"), ("--level", "2"),
    ("--level", "0.5"), ("--positive", "1"), ("--positive", "zebra"), ("--drop", "a"), ("--drop", "nothing"),
    ("--id", "a"), ("--groups", "a"), ("--one-hot",), ("--impute", "median"), ("--log",), ("--sep", ";"),
    ("--sep", "é"),    ("--encoding", "utf-8"), ("--encoding", "klingon"), ("--decimal", ","), ("--prevalence", "0.2"),
    ("--threshold", "nan"), ("--no-standardize",), ("--bogus",), ("--model", "svm"), ("--seed", "-1"),
)  # fmt: skip


@dataclass(frozen=True)
class FileSpec:
    """A file and the options of the command that reads it."""

    content: str = "table"
    seed: int = 0
    rows: int = 12
    columns: int = 3
    oddities: int = 0
    mark: str = ","
    ending: str = ".csv"
    encoding: str = "utf-8"
    raw: bytes = b""
    target: str | None = "y"
    options: tuple[tuple[str, ...], ...] = ()
    command: str = "auc"


def files() -> st.SearchStrategy[FileSpec]:
    """Mostly tables with a few odd cells."""
    return st.builds(
        FileSpec,
        content=mostly("table", ("bytes", "cut table", "wild table"), 2),
        seed=st.integers(0, 10**6),
        rows=st.one_of(st.integers(6, 20), st.integers(0, 6)),
        columns=st.one_of(st.integers(1, 4), st.integers(0, 8)),
        oddities=mostly(0, (1, 2, 9), 1),
        mark=mostly(",", (";", "\t", "|", " "), 2),
        ending=mostly(".csv", ENDINGS, 2),
        encoding=mostly("utf-8", ENCODINGS, 2),
        raw=st.binary(max_size=80),
        target=mostly("y", (None, "a", "nothing", "", "-x"), 4),
        options=st.lists(st.sampled_from(OPTIONS), max_size=2).map(tuple),
        command=mostly("auc", ("plan", "compare"), 6),
    )


def content_of(spec: FileSpec) -> bytes:
    """The bytes of the file."""
    if spec.content == "bytes":
        return spec.raw
    data = _text(spec).encode(spec.encoding, errors="replace")
    if spec.content == "cut table":
        data = data[: spec.seed % (len(data) + 1)] + spec.raw
    return gzip.compress(data) if spec.ending.endswith(".gz") and spec.seed % 3 else data


def _text(spec: FileSpec) -> str:
    rng = np.random.default_rng(spec.seed)
    labels = np.arange(spec.rows) % 2
    cells = [[f"{v:.4g}" for v in row] for row in rng.normal(size=(spec.rows, spec.columns)) + labels[:, None]]
    rows = [["y", *(f"{chr(97 + j)}" for j in range(spec.columns))]]
    rows += [[str(label), *row] for label, row in zip(labels, cells, strict=True)]
    if spec.content == "wild table":
        rows = [[str(rng.choice(NAMES)) for _ in row] if i == 0 else [str(rng.choice(CELLS)) for _ in row]
                for i, row in enumerate(rows)]  # fmt: skip
    for _ in range(spec.oddities):
        row = rows[rng.integers(len(rows))]
        row[rng.integers(len(row))] = str(rng.choice(CELLS))
    ends = ("\n", "\r\n", "\r", "\n\n")[spec.seed % 4 if spec.oddities else 0]
    return ends.join(spec.mark.join(row) for row in rows) + ends


def arguments(spec: FileSpec, path: Path) -> list[str]:
    """What is typed after ``foldless``."""
    models = ("--models", "logistic,ridge") if spec.command == "compare" else ()
    target = () if spec.target is None else ("--target", spec.target)
    return [spec.command, str(path), *target, *models, *(word for option in spec.options for word in option)]


def run(spec: FileSpec) -> Any:
    """The finished command."""
    from click.testing import CliRunner

    from foldless.cli.app import app

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{spec.ending}"
        path.write_bytes(content_of(spec))
        return CliRunner().invoke(app, arguments(spec, path), prog_name="foldless")


@dataclass(frozen=True)
class CommandProperty:
    """The command line on one file."""

    draw: st.SearchStrategy[FileSpec]
    share: int

    def outcome(self, spec: FileSpec) -> Outcome:
        """The judged command; code 2 is a refusal."""
        codes: list[int] = []

        def kept(result: Any) -> None:
            codes.append(result.exit_code)
            proper(result)

        found = judged(lambda: run(spec), kept)
        return Outcome("refusal") if found.kind == "answer" and codes == [2] else found


COMMAND = CommandProperty(files(), 40)
