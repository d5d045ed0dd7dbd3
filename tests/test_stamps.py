"""The pages of results/: each says what it was made with, and none is older than the answers that it rests on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from foldless_studies.evidence import stamps
from foldless_studies.evidence.__main__ import BY_NAME, PAGES, Printed, main, state

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"


# Pages which `make evidence` has still to make: a page that is made leaves this list.
NOT_YET = {"truth"}


def made_or_awaited(page):
    return pytest.param(page, id=page.name, marks=[pytest.mark.xfail(strict=True)] * (page.name in NOT_YET))


@pytest.mark.parametrize("page", [made_or_awaited(page) for page in PAGES])
def test_no_page_is_older_than_the_answers_it_rests_on(page):
    """If this fails, the method has changed and the page has not: run `make evidence`."""
    assert state(page, RESULTS) == "up to date"


@pytest.fixture
def answers(monkeypatch):
    """Questions whose answers are at hand, and can be changed."""
    known = {"auc": (0.8, 0.9), "plan": (120.0,)}
    monkeypatch.setattr(stamps, "QUESTIONS", known)
    monkeypatch.setattr(stamps, "answer", lambda name: known[name])
    return known


def test_a_stamp_tells_which_answers_have_changed(answers):
    page = f"# Title\n\ntext\n\n{stamps.stamp(['auc', 'plan'], ROOT)}"
    assert stamps.changed(page) == []
    assert stamps.changed(page, ["auc", "classes"]) == ["classes"]
    answers["auc"] = (0.8, 0.90001)  # rounding
    assert stamps.changed(page) == []
    answers["auc"] = (0.8, 0.91)
    assert stamps.changed(page) == ["auc"]
    del answers["plan"]
    assert stamps.changed(page) == ["auc", "plan"]
    assert stamps.changed("# Title\n") is None


def test_a_page_is_made_once_and_again_when_an_answer_changes(answers, tmp_path, monkeypatch, capsys):
    made = []
    monkeypatch.setattr(Printed, "text", lambda self, file, kept: made.append(self.name) or "# Title\n")
    monkeypatch.setenv("FOLDLESS_DATA", str(tmp_path))
    page = Printed("example", ("auc",))
    monkeypatch.setitem(BY_NAME, "example", page)
    options = ["example", "--results", str(tmp_path)]
    assert main([*options, "--check"]) == 1
    assert main(options) == main(options) == main([*options, "--check"]) == 0
    assert made == ["example"]
    answers["auc"] = (0.7, 0.9)
    assert main([*options, "--check"]) == 1
    assert "other answers now: auc" in capsys.readouterr().out
    assert main(options) == 0
    assert made == ["example", "example"]


def test_a_stamp_tells_whether_the_code_was_edited(tmp_path):
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    (tmp_path / "results").mkdir()
    (tmp_path / "studies").mkdir()
    assert not stamps.commit(tmp_path / "results").endswith("+")
    (tmp_path / "studies" / "new.py").write_text("")
    assert stamps.commit(tmp_path / "results").endswith("+")


def test_what_stops_a_page_leaves_the_old_one(answers, tmp_path, monkeypatch):
    (tmp_path / "example.md").write_text("old\n")
    monkeypatch.setenv("FOLDLESS_DATA", str(tmp_path))
    monkeypatch.setitem(BY_NAME, "example", Printed("nowhere", ("auc",)))
    with pytest.raises(Exception, match=r"foldless_studies\.evidence\.nowhere ended with exit code 1"):
        main(["example", "--results", str(tmp_path)])
    assert (tmp_path / "example.md").read_text() == "old\n"


def test_an_unknown_page_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "unknown page 'nothing': choose from accuracy/development" in capsys.readouterr().err
