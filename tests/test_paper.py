"""The paper: its figures are those of results/, and it keeps to the length that is asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import foldless as fl
from foldless_studies.tools.paper import QUOTED, figure, filled, main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "paper").glob("*.md"))
TABLES = """# Title

| labels | n | error |
|---|--:|--:|
| real | 40 | 0.0542 |
| real | 80 | 0.91 (60) |

## --classifier ridge

| labels | n | error |
|---|--:|--:|
| real | 40 | 0.2 |
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_figure_is_that_of_results(page):
    """If this fails, results/ was made anew: run python -m foldless_studies.tools.paper --write, and read the text."""
    text = page.read_text(encoding="utf-8")
    assert filled(text, ROOT / "results") == text
    assert QUOTED.search(text)


def test_the_paper_has_at_most_a_thousand_words():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8").split("---", 2)[2]
    assert len(re.sub(r"<!--.*?-->|```.*?```", "", text, flags=re.DOTALL).split()) <= 1000


def test_a_figure_is_found_by_its_cells_and_column(tmp_path):
    (tmp_path / "page.md").write_text(TABLES)
    assert figure(tmp_path, "page", "real, 40", "error") == 0.0542
    assert figure(tmp_path, "page", "80", "error") == 0.91
    assert figure(tmp_path, "page#ridge", "40", "error") == 0.2
    text = "error 9.99<!-- page: real, 40: error -->, 7<!-- page: 40: n -->."
    assert filled(text, tmp_path) == "error 0.05<!-- page: real, 40: error -->, 40<!-- page: 40: n -->."
    for cells, column in (("real, 50", "error"), ("real, 40", "width")):
        with pytest.raises(fl.InputError, match="has no row with"):
            figure(tmp_path, "page", cells, column)
    with pytest.raises(fl.InputError, match="no heading has the word 'lda'"):
        figure(tmp_path, "page#lda", "40", "error")


def test_old_figures_are_named_and_renewed(tmp_path, capsys):
    for folder in ("paper", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "results" / "page.md").write_text(TABLES)
    (tmp_path / "paper" / "paper.md").write_text("error 0.06<!-- page: real, 40: error -->\n")
    root = ["--root", str(tmp_path)]
    assert main(root) == 1
    assert "paper.md: figures other than in results/" in capsys.readouterr().out
    assert main([*root, "--write"]) == main(root) == 0
    assert (tmp_path / "paper" / "paper.md").read_text() == "error 0.05<!-- page: real, 40: error -->\n"
