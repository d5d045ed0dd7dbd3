"""Names from data in the files that experiments write: no formulas, no markup, no paths."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from foldless_studies.accuracy.report import SHOWN, page
from foldless_studies.accuracy.run import AccuracySettings, run
from foldless_studies.pages import csv_text, escaped, inert
from foldless_studies.speed import page as speed_page
from foldless_studies.speed import rivals

# Names that a file can have; the first is the classic of formula injection.
HOSTILE = ("=cmd('calc')!A0", "+1+1", "-2+3", "@SUM(A1)", "..%2F..%2Fetc", "a|b<script>x<b>[l](u)`c`")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\ttext", " =1", "\r=1", "\n=1", "a\r=1", "a\n=1"])
def test_text_that_a_spreadsheet_would_compute_gets_an_apostrophe(text):
    """And stays one cell, wherever it has line breaks."""
    line = text.replace("\r", " ").replace("\n", " ")
    expected = line if text.startswith("a") else f"'{line}"
    (row,) = csv.reader(io.StringIO(csv_text([[text, "plain"]]), newline=""))
    assert row == [expected, "plain"]


@pytest.mark.parametrize("value", [-0.5, -3, 1e-9, "", "plain", "a=b", None, True])
def test_numbers_and_harmless_text_stay(value):
    """A negative number is a number."""
    assert inert(value) == value
    assert type(inert(value)) is type(value)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A run on data sets whose names are hostile."""
    data, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("out") / "run"
    y = np.arange(80) % 2
    X = np.random.default_rng(0).normal(size=(80, 3)) + y[:, None]
    for name in HOSTILE:
        # Arrays beside X and y, named like paths: nobody asks for them.
        np.savez(data / f"{name}.npz", X=X, y=y, **{"../../escaped": y})
    run(AccuracySettings(data=str(data), simulations=False, sizes=(40,), splits=1, methods=("loo",)), out)
    return out


def test_only_the_known_files_are_made(out):
    """No name from data decides where something is written."""
    assert sorted(p.name for p in out.iterdir()) == [
        "accuracy.png", "results.csv", "settings.json", "summary.json", "summary.md", "tasks.jsonl",
    ]  # fmt: skip
    assert [p.name for p in out.parent.iterdir()] == ["run"]


def test_no_cell_of_the_table_is_a_formula(out):
    """Cells that begin like one are numbers; the names are all there."""
    rows = list(csv.DictReader(io.StringIO((out / "results.csv").read_text())))
    for cell in (cell for row in rows for cell in row.values()):
        if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
            float(cell)
    assert {row["group"] for row in rows} == {inert(name) for name in HOSTILE}


def test_json_keeps_the_names_as_they_are(out):
    """JSON is for programs: nothing is escaped there beyond what JSON itself does."""
    table = json.loads((out / "summary.json").read_text())["table"]
    assert {row["group"] for row in table if "group" in row} == set(HOSTILE)


def test_markdown_shows_a_name_and_does_not_obey_it():
    """Pipes, tags, links, code and line breaks are text; the number of columns stays."""
    row = {"kind": "simulation", "scope": "cell", "cell": "a|b<script>\n[l](u)`c`\\", "C": 1.0, "method": "loo"}
    plain = {**row, "cell": "plain"}
    hostile, harmless = (page([{**r, **dict.fromkeys(SHOWN)}]).markdown() for r in (row, plain))
    assert "| a\\|b&lt;script&gt; \\[l\\](u)\\`c\\`\\\\ | 1 | loo |" in hostile
    assert "<script>" not in hostile
    assert hostile.count("\n") == harmless.count("\n")
    assert hostile.count("|") - hostile.count("\\|") == harmless.count("|")


def test_tables_of_experiments_hold_no_character_that_a_terminal_obeys():
    """CSV and Markdown are read with cat, too."""
    assert inert("red\x1b[31m\u202e") == "red\\x1b[31m\\u202e"
    assert escaped("red\x1b[31m") == "red\\\\x1b\\[31m"


@pytest.mark.parametrize("text", ["\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", " \uff1d1"])
def test_wide_signs_begin_formulas_too(text):
    """As East Asian keyboards write them."""
    assert inert(text) == f"'{text}"


def test_names_of_data_sets_are_text_in_the_speed_tables():
    """File names of a folder that somebody sent."""
    timings = {name: {"seconds": 0.1, "noise": 0.0} for name in (rivals.WITH_FIT, rivals.CV5)}
    result = {"name": "a|b<script>[l](u)", "N": 9, "P": 2, "ratio_cv5": 2.0, "auc": 0.5, "interval": [0.4, 0.6]}
    *_, table = speed_page.DATA_SETS([{**result, "auc_cv5": 0.5, "times": timings, "noise": 0.0}])
    assert "<script>" not in table.markdown()
    assert "| a\\|b&lt;script&gt;\\[l\\](u) |" in table.markdown()
