"""``foldless benchmark accuracy``: a small run, and one line for every mistake."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from foldless.cli.app import app
from foldless_studies.cli import duration
from foldless_studies.cli.benchmark import chosen


def accuracy(*args):
    words = ["benchmark", "accuracy", *(str(a) for a in args)]
    return CliRunner().invoke(app, words, prog_name="foldless")


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "one.npz", X=rng.normal(size=(80, 4)) + y[:, None], y=y)
    return folder


def test_a_small_run(data, tmp_path):
    out = tmp_path / "out"
    options = ("--data", data, "--no-simulations", "--quick", "--methods", "loo,cv5", "--out", out)
    result = accuracy(*options)
    assert result.exit_code == 0, result.output
    assert "4 of 4 samples" in result.stderr
    assert "shuffled" in result.stdout
    assert sorted(p.name for p in out.iterdir()) == [
        "accuracy.png", "results.csv", "settings.json", "summary.json", "summary.md", "tasks.jsonl",
    ]  # fmt: skip
    again = accuracy(*options, "--resume", "--json")
    assert again.exit_code == 0
    answer = json.loads(again.stdout, parse_constant=pytest.fail)
    assert answer["table"] == json.loads((out / "summary.json").read_text())["table"]
    assert answer["settings"]["sizes"] == [40]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--data", "nowhere"), "nowhere is not a folder"),
        (("--sizes", "40,many"), "expected values separated by commas"),
        (("--C", "nan"), "expected values separated by commas"),
        (("--C", "0"), "C must be above 0"),
        (("--methods", "loo,magic"), "unknown method 'magic'"),
        (("--no-simulations",), "nothing to do"),
        (("--classifier", "tree"), "tree"),
        (("--jobs", "0"), "--jobs"),
    ],
)
def test_mistakes_are_one_line(options, words, tmp_path):
    result = accuracy(*options, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_a_finished_folder_is_not_overwritten(data, tmp_path):
    options = (
        "--data",
        data,
        "--no-simulations",
        "--quick",
        "--methods",
        "loo",
        "--splits",
        "1",
        "--out",
        tmp_path / "o",
    )
    assert accuracy(*options).exit_code == 0
    second, other = accuracy(*options), accuracy(*options, "--resume", "--seed", "1")
    assert (second.exit_code, other.exit_code) == (2, 2)
    assert "--resume" in second.stderr
    assert "seed (0 then, 1 now)" in other.stderr
    file = tmp_path / "file"
    file.touch()
    assert "not a folder" in accuracy(*options, "--out", file).stderr


def test_quick_only_changes_defaults():
    assert chosen(None, True, {"replicates": 3, "sizes": None}).replicates == 3
    assert chosen(None, True, {}).sizes == (40,)


def test_durations_read_well():
    assert [duration(s) for s in (5.2, 300, 7200)] == ["5 s", "5 min", "2.0 h"]


def test_the_names_in_the_help_are_those_that_exist():
    """`choices` repeats them, so that `foldless --help` need not import the studies themselves."""
    from foldless_studies import choices
    from foldless_studies.classifiers import CLASSIFIERS
    from foldless_studies.estimators import METHODS
    from foldless_studies.paper.items import ITEMS

    assert list(choices.CLASSIFIERS) == list(CLASSIFIERS)
    assert list(choices.METHODS) == list(METHODS)
    assert list(choices.PAPER_ITEMS) == list(ITEMS)
    assert set(choices.PAPER_CLASSIFIERS) <= set(CLASSIFIERS)


def test_help_loads_no_heavy_library():
    """Not even with the commands of the studies in the list, nor for their own help."""
    code = "import sys; from foldless.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    for words in (["--help"], ["reproduce", "--help"], ["benchmark", "accuracy", "--help"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        assert "reproduce" in done.stdout or "benchmark" in done.stdout
        assert not {"scipy", "sklearn", "joblib", "matplotlib", "polars"} & set(done.stderr.split())
