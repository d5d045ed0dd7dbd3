"""Runs of the paper's items: killed and resumed, on one process and on two, with every file at the end."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

import foldless as fl
from foldless.cli.app import app
from foldless_studies.cli import reproduce as command
from foldless_studies.data import VARIABLE
from foldless_studies.paper import ovarian, published, story
from foldless_studies.paper.findings import meg_points
from foldless_studies.paper.items import ITEMS, Scope
from foldless_studies.paper.run import PaperSettings, run
from foldless_studies.runs import Workers

MAIN = "from foldless.cli import main; main()"


def reproduce(*words):
    return CliRunner().invoke(app, ["reproduce", *(str(w) for w in words)], prog_name="foldless")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data folder with something of the shape of the ovarian data."""
    folder = tmp_path_factory.mktemp("data")
    y = np.repeat([1, 2], ovarian.COUNTS)
    X = np.random.default_rng(0).normal(size=ovarian.SHAPE).astype(np.float32)
    X[:, :30] += (y == 2)[:, None]
    np.savez(folder / ovarian.ARRAYS, X=X, y=y)
    return folder


@pytest.fixture(scope="module")
def everything(data, tmp_path_factory):
    """The folder of ``reproduce all --quick``, with two iterations."""
    out = tmp_path_factory.mktemp("all") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(data))
        result = reproduce("all", "--quick", "--iterations", 2, "--out", out)
    assert result.exit_code == 0, result.output
    return out


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_table(tmp_path):
    words = ["reproduce", "fig3", "--quick", "--iterations", "15", "--out"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    tasks = cut / "runs" / "fig3" / "tasks.jsonl"
    process = subprocess.Popen([sys.executable, "-c", MAIN, *words, str(cut)], stderr=subprocess.DEVNULL)
    while process.poll() is None and (not tasks.exists() or tasks.read_bytes().count(b"\n") < 15):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run was over before it could be killed"
    done = tasks.read_bytes().count(b"\n")
    assert 15 <= done < 60
    # What a kill in the middle of a write leaves.
    with tasks.open("ab") as file:
        file.write(b'{"task":"N=20#')
    assert "--resume" in reproduce(*words[1:], cut).stderr
    assert reproduce(*words[1:], cut, "--resume").exit_code == 0
    assert reproduce(*words[1:], whole).exit_code == 0
    name = "runs/fig3/results.csv"
    assert (cut / name).read_bytes() == (whole / name).read_bytes()
    assert len((whole / name).read_text().splitlines()) == 1 + 60 * len(ITEMS["fig3"].estimators)


@pytest.mark.slow
def test_the_number_of_processes_does_not_matter(tmp_path):
    settings = PaperSettings("fig2", iterations=3, quick=True)
    for jobs in (1, 2):
        with Workers(jobs).ready() as team:
            run(settings, tmp_path / str(jobs), team=team)
    one, two = ((tmp_path / str(jobs) / "runs" / "fig2" / "results.csv").read_bytes() for jobs in (1, 2))
    assert one == two


@pytest.mark.slow
def test_all_makes_every_file(everything):
    for name in ITEMS:
        for kind in ("json", "png", "svg", "md"):
            assert (everything / f"{name}.{kind}").stat().st_size > 500, f"{name}.{kind}"
        assert (everything / "runs" / name / "results.csv").exists()
    assert {"index.md", "index.html"} <= {p.name for p in everything.iterdir()}


@pytest.mark.slow
def test_the_table_is_tidy_and_the_summary_follows_from_it(everything):
    text = (everything / "runs" / "fig4" / "results.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    summary = json.loads((everything / "fig4.json").read_text())
    assert set(rows[0]) == {
        "item", "P", "N", "share", "iteration", "n0", "n1", "truth", "truth_se", "estimator", "estimate", "rank",
        "failed",
    }  # fmt: skip
    for row in summary["table"]:
        mine = [r for r in rows if (int(r["P"]), int(r["N"]), float(r["share"]), r["estimator"])
                == (row["P"], row["N"], row["share"], row["estimator"])]  # fmt: skip
        errors = [abs(float(r["estimate"]) - float(r["truth"])) for r in mine if not r["failed"]]
        assert row["units"] + row["missing"] == len(mine) == 2
        assert len(errors) == row["units"]
        if errors:
            assert row["mae"] == pytest.approx(np.mean(errors), abs=1e-6)
    # With ten rows cross-validation in five folds needs five of each class.
    missing = {(r["N"], r["share"]): r["missing"] for r in summary["table"] if r["estimator"] == "cv5" and r["P"] == 4}
    assert missing == {(N, s): 2 * (N == 10 and s != 0.5) for N, s in missing}
    assert summary["missing"]["cv5"] == sum(missing.values()) * 3
    assert min(summary["seconds"]["cbauc"], summary["seconds"]["cv5"]) > 0


@pytest.mark.slow
def test_the_simulated_recording_says_so_everywhere(everything):
    assert "SIMULATED" in (everything / "runs" / "fig6" / "results.csv").read_text().splitlines()[1]
    for name in ("fig6.json", "fig6.md", "fig6.svg", "index.md", "index.html"):
        assert "SIMULATED" in (everything / name).read_text(), name
    assert "SIMULATED" not in (everything / "fig5.md").read_text()


def test_the_dip_of_figure_6_is_explained_where_there_is_one():
    def row(name, share, bias, mae):
        return {"split": "day 2", "estimator": name, "share": share, "bias": bias, "mae": mae, "units": 3}

    rows = [row("cv-published", s, b, abs(b)) for s, b in ((10, -0.1), (20, 0.01), (90, 0.2))]
    rows += [row("cv5", s, b, abs(b)) for s, b in ((10, 0.05), (20, 0.1), (90, 0.2))]
    truths = [{"split": "day 2", "share": s, "n0": 4 * s, "n1": 3 * s, "data": "SIMULATED"} for s in (10, 20, 90)]
    (said,) = meg_points({"table": rows, "truths": truths})
    assert "published is best at 140 rows, standard CV at 70" in said
    assert "from -0.100 at 70 rows to +0.200 at 630" in said
    rows[0]["bias"] = 0.1
    assert meg_points({"table": rows, "truths": truths}) == []


class Links(HTMLParser):
    """Tags that are open, and everything that the page points to."""

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.links += [value for key, value in attributes if key in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_index_is_whole_and_its_links_exist(everything):
    page = Links()
    page.feed((everything / "index.html").read_text())
    assert page.open == []
    assert len(page.links) >= 3 * len(ITEMS)
    assert all((everything / link).exists() for link in page.links)
    text = (everything / "index.md").read_text()
    assert all((everything / link).exists() for link in re.findall(r"\]\(([^)]+)\)", text))
    assert "Why the published CV-AUC is low" in text
    assert "the paper prints 0.9725" in text


@pytest.mark.slow
def test_pages_print_the_published_numbers_beside_ours(everything):
    summary = json.loads((everything / "fig5.json").read_text())
    ours = next(r["mean"] for r in summary["table"] if r["variant"] == "published" and r["share"] == 10
                and r["estimator"] == "cv-published")  # fmt: skip
    assert f"{ours:.3f} / {published.OVARIAN_MEAN['cv-published'][0]:.3f}" in (everything / "fig5.md").read_text()
    table = (everything / "table1.md").read_text()
    ours = next(r["truth"] for r in json.loads((everything / "table1.json").read_text())["truths"]
                if (r["setting"], r["P"], r["N"]) == ("as stated", 4, 20))  # fmt: skip
    assert f"| P = 4, 20 rows | 0.9528 | {ours:.4f} |" in table


@pytest.mark.slow
def test_summaries_name_command_seed_and_versions(everything):
    summary = json.loads((everything / "fig1.json").read_text(), parse_constant=pytest.fail)
    assert summary["command"] == "foldless reproduce fig1 --iterations 2 --quick"
    assert summary["settings"]["seed"] == 0
    assert {"foldless", "numpy", "sklearn"} <= set(summary["versions"])
    text = "".join((everything / f"{name}.json").read_text() for name in ITEMS)
    assert str(everything) not in text  # where it was run is nobody's business


def test_an_item_with_some_columns_only(tmp_path):
    result = reproduce("fig1", "--quick", "--P", 10, "--iterations", 1, "--out", tmp_path / "o", "--json")
    assert result.exit_code == 0, result.output
    (summary,) = json.loads(result.stdout)["items"]
    assert {row["P"] for row in summary["table"]} == {10}
    assert summary["command"] == "foldless reproduce fig1 --iterations 1 --quick --P 10"


def test_published_settings_are_the_default():
    assert PaperSettings("fig1").resolved().iterations == 1000
    cells = ITEMS["fig1"].cells(Scope())
    assert len(cells) == 3 * 19
    assert dict(cells[0].where) == {"P": 4, "N": 20}
    assert {dict(c.where)["N"] for c in cells} == set(range(20, 201, 10))


def test_every_item_has_its_text():
    """An item without a sentence in `story.ABOUT` would fail after all of its trials."""
    assert set(story.ABOUT) == set(ITEMS)


def test_other_classifiers_have_no_published_variant(data, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(data))
    cells = ITEMS["fig5"].cells(Scope(classifier="svm"))
    assert {dict(cell.where)["variant"] for cell in cells} == {"standard"}
    assert [dict(c.where)["share"] for c in cells] == list(range(10, 100, 5))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("fig9",), "'fig9' is not one of"),
        (("fig1", "--P", "7"), "fig1 has no choice P = 7: fig1 has P = 4, 10, 100"),
        (("fig3", "--P", "4"), "fig3 has no choice P = 4: it has none"),
        (("fig1", "--P", "many"), "expected values separated by commas"),
        (("fig1", "--classifier", "tree"), "tree"),
        (("fig1", "--iterations", "0"), "--iterations"),
    ],
)
def test_mistakes_are_one_line(words, expected, tmp_path):
    result = reproduce(*words, "--out", tmp_path / "o")
    assert result.exit_code == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_without_data_a_figure_stops_and_all_goes_on_without_it(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(ovarian, "find_spec", lambda name: None)
    result = reproduce("fig5", "--out", tmp_path / "o")
    assert result.exit_code == 2
    assert "put ovarian_cancer_ex.mat" in result.stderr
    assert not (tmp_path / "o").exists()
    left_out: dict[str, str] = {}
    assert command._available(left_out) == [n for n in ITEMS if n not in ("fig5", "shuffled")]
    assert set(left_out) == {"fig5", "shuffled"}


def test_without_matplotlib_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["foldless_studies.paper.run"], "find_spec", lambda name: None)
    result = reproduce("fig3", "--quick", "--out", tmp_path / "o")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "pip install 'foldless[plot]'" in result.stderr
    assert not (tmp_path / "o").exists()


def test_bad_settings():
    with pytest.raises(fl.InputError, match="unknown item 'fig9'"):
        PaperSettings("fig9")
    with pytest.raises(fl.InputError, match="unknown classifier"):
        PaperSettings("fig1", classifier="tree")
    with pytest.raises(fl.InputError, match="at least 1"):
        PaperSettings("fig1", iterations=0)
