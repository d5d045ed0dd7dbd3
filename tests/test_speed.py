"""``foldless benchmark speed``: a quick run has every table, ratios follow from times, and it can be resumed."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import foldless as fl
from foldless.cli.app import app
from foldless_studies.speed import page
from foldless_studies.speed.measurement import Effort, Timing, in_turns, noise, rounded
from foldless_studies.speed.rivals import DATA_SETS, chosen
from foldless_studies.speed.run import GOALS, SpeedSettings, judge, plan, run
from foldless_studies.speed.subjects import (
    GROWTH,
    LADDERS,
    MANY,
    ONE_PASS,
    QUICK_LADDERS,
    exponent,
    peak_bytes,
    start,
)

SUBJECTS = ["one pass", "many classifiers", "growth", "rivals", "memory", "imports", "data sets"]


def speed(*words):
    return CliRunner().invoke(app, ["benchmark", "speed", *(str(w) for w in words)], prog_name="foldless")


def write_set(folder: Path, name: str, N: int, P: int, **more: np.ndarray) -> None:
    y = np.arange(N) % 2
    np.savez(folder / f"{name}.npz", X=np.random.default_rng(N).normal(size=(N, P)) + 0.8 * y[:, None], y=y, **more)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_set(folder, "b_tall", 60, 4)
    write_set(folder, "c_wide", 30, 50)
    write_set(folder, "a_grouped", 40, 5, groups=np.arange(40) // 2)
    np.savez(folder / "d_three.npz", X=np.eye(9), y=np.arange(9) % 3)
    return folder


@pytest.fixture(scope="module")
def out(data, tmp_path_factory) -> Path:
    """The folder of a quick run."""
    folder = tmp_path_factory.mktemp("speed") / "out"
    result = speed("--quick", "--data", data, "--out", folder)
    assert result.exit_code == 0, result.output
    assert "13 of 13 measurements" in result.stderr
    assert "CBAUC against one pass over X" in result.stdout
    assert "**" not in result.stdout
    return folder


@pytest.fixture(scope="module")
def summary(out):
    return json.loads((out / "speed.json").read_text(), parse_constant=pytest.fail)


def of(summary, subject):
    return [result for result in summary["results"] if result["subject"] == subject]


def ratios_in(value):
    """Every number under a key that names a ratio."""
    for key, item in value.items():
        if key.startswith("ratio_"):
            yield from item.values() if isinstance(item, dict) else [item]


def test_every_subject_is_there_with_positive_ratios(summary):
    assert list(dict.fromkeys(r["subject"] for r in summary["results"])) == SUBJECTS
    for result in summary["results"]:
        found = list(ratios_in(result))
        assert found or result["subject"] == GROWTH.name
        assert all(map(math.isfinite, found)), result["task"]
        # An import is a difference of two times, which noise can turn around; all others are quotients.
        assert result["subject"] == "imports" or min(found, default=1) > 0, result["task"]
        assert all(t["seconds"] > 0 and t["rounds"] == 2 for t in result.get("times", {}).values())


def test_ratios_follow_from_the_times(summary):
    for result in of(summary, MANY.name):
        times = result["times"]
        assert result["ratio_product"] == pytest.approx(times["cbauc"]["seconds"] / times["X @ W"]["seconds"], rel=1e-3)
    (result,) = of(summary, "rivals")
    for name, ratio in result["ratio_with_fit"].items():
        expected = result["times"][name]["seconds"] / result["times"]["fit + posterior"]["seconds"]
        assert ratio == pytest.approx(expected, rel=1e-3)


def test_exponents_are_finite_and_come_from_five_sizes_or_more(summary):
    found = of(summary, GROWTH.name)
    assert [(r["what"], r["axis"]) for r in found] == [("cbauc", "N"), ("cbauc", "P"), ("cbauc", "K")]
    for result in found:
        assert len(result["sizes"]) == len(result["times"]) >= 5
        seconds = [result["times"][str(size)]["seconds"] for size in result["sizes"]]
        assert result["exponent"] == pytest.approx(exponent(result["sizes"], seconds)[0], abs=1e-3)
        assert math.isfinite(result["exponent"])


def test_data_sets_show_both_answers(summary, data):
    found = of(summary, DATA_SETS.name)
    assert [r["name"] for r in found] == ["c_wide", "b_tall"]
    tall = found[1]
    with np.load(data / "b_tall.npz") as arrays:
        X, y = arrays["X"], arrays["y"]
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)).fit(X, y)
    assert tall["auc"] == pytest.approx(fl.auc_posterior(model, X, y).mean, abs=1e-4)
    assert tall["auc_cv5"] == pytest.approx(float(fl.baselines.cv_auc(model, X, y)), abs=0.05)
    assert tall["interval"][0] < tall["auc"] < tall["interval"][1]


def test_one_thread_is_set_and_stated(summary):
    assert summary["machine"]["blas"]
    assert all(library.endswith(", 1 thread") for library in summary["machine"]["blas"])


def test_the_page_has_the_command_and_every_table(out, data, summary):
    text = (out / "speed.md").read_text(encoding="utf-8")
    assert "`foldless benchmark speed --quick --data FOLDER`" in text
    assert text.count("\n## ") == len(SUBJECTS)  # no goals: the sizes of a quick run are not theirs
    assert "nothing about the cost" in text
    assert str(data) not in text + (out / "speed.json").read_text()
    for result in summary["results"]:
        assert result["name"] in text or result["subject"] in ("growth", "imports")
    for block in text.split("\n\n"):
        if block.startswith("| "):
            assert len({line.count(" | ") for line in block.splitlines()}) == 1, block


def test_a_run_that_was_cut_is_finished(out, data, tmp_path):
    """What was measured is kept as it is; the rest is measured."""
    runs = tmp_path / "runs"
    runs.mkdir()
    text = (out / "runs" / "tasks.jsonl").read_bytes()
    kept = text.splitlines(keepends=True)
    some = b"".join(kept[:4] + kept[6:12])  # without two of the growth, the imports and the data sets
    (runs / "tasks.jsonl").write_bytes(some + kept[12][:20])
    (runs / "settings.json").write_bytes((out / "runs" / "settings.json").read_bytes())
    options = ("--quick", "--data", data, "--out", tmp_path)
    assert "--resume" in speed(*options).stderr
    assert "quick (True then, False now)" in speed(*options[1:], "--resume").stderr
    result = speed(*options, "--resume", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout, parse_constant=pytest.fail)
    assert (runs / "tasks.jsonl").read_bytes().startswith(some)
    before = [json.loads(line) for line in kept]
    assert [r["task"] for r in answer["results"]] == [r["task"] for r in before]
    assert answer["results"][:4] == before[:4]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--data", "nowhere"), "nowhere is not a folder"),
        (("--sets", "wdbc"), "give the folder with --data"),
        (("--jobs", "2"), "--jobs"),
    ],
)
def test_mistakes_are_one_line(words, expected, tmp_path):
    result = speed("--quick", *words, "--out", tmp_path / "o")
    assert (result.exit_code, result.stdout) == (2, "")
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_data_sets_are_chosen_by_kind_or_by_name(data, tmp_path):
    assert [p.stem for p in chosen(data, None)] == ["c_wide", "b_tall"]
    assert [p.stem for p in chosen(data, ["b_tall"])] == ["b_tall"]
    with pytest.raises(fl.InputError, match=r"there is no e\.npz"):
        chosen(data, ["e"])
    with pytest.raises(fl.InputError, match="not independent"):
        chosen(data, ["a_grouped"])
    with pytest.raises(fl.InputError, match="no usable"):
        chosen(tmp_path, None)
    with pytest.raises(fl.InputError, match="named once"):
        SpeedSettings(str(data), ("b_tall", "b_tall"))
    for k in range(7):
        write_set(tmp_path, f"wide{k}", 8, 9)
        write_set(tmp_path, f"tall{k}", 8, 2)
    expected = [f"{kind}{k}" for kind in ("wide", "tall") for k in range(5)]
    assert [p.stem for p in chosen(tmp_path, None)] == expected


def test_calls_are_timed_in_turns():
    """With a clock that a call moves on by itself: order, repetitions, minimum and median are known."""
    now, order = [0.0], []

    def call(name, durations):
        steps = iter(durations)

        def made():
            order.append(name)
            now[0] += next(steps)

        return made

    calls = {"a": call("a", [9.0, 3.0, 1.0, 2.0]), "b": call("b", [9.0, 5.0, 5.0, 8.0])}
    timings = in_turns(calls, Effort(3, 3, 0.0), clock=lambda: now[0])
    assert "".join(order) == "ab" + "ab" * 3
    assert timings == {"a": Timing(1.0, 2.0, 3, 1), "b": Timing(5.0, 5.0, 3, 1)}
    assert noise(timings) == 1.0


def test_short_calls_are_repeated_within_a_turn():
    now = [0.0]

    def call():
        now[0] += 0.003

    timing = in_turns({"x": call}, Effort(2, 2, 0.0), clock=lambda: now[0])["x"]
    assert timing.calls == 7
    assert timing.seconds == pytest.approx(0.003)


def test_effort_ends_at_its_limits():
    assert not Effort(3, 9, 1e9).enough(8, 0.0)
    assert Effort(3, 9, 1e9).enough(9, 0.0)
    assert Effort(3, 9, -math.inf).enough(3, 0.0)
    assert not Effort(3, 9, -math.inf).enough(2, 0.0)


def test_peak_memory_is_that_of_the_call():
    assert 8e6 <= peak_bytes(lambda: np.ones(1_000_000)) < 8.1e6


def test_exponent_of_a_known_law():
    slope, deviation = exponent([1, 10, 100], [2.0, 2e2, 2e4])
    assert slope == pytest.approx(2)
    assert deviation == pytest.approx(0, abs=1e-9)
    assert exponent([1, 2, 4], [1.0, 2.2, 4.0])[1] > 0.05


def test_goals_name_measurements_of_the_full_run():
    """And they are judged by both of their bounds."""
    keys = {m.key for m in plan(SpeedSettings())}
    assert {goal.measurement for goal in GOALS} <= keys
    results = {g.measurement: {g.figure: 1.15} for g in GOALS}
    assert [g["holds"] for g in judge(results)] == [True, False, False, False]
    results = {g.measurement: {g.figure: 0.8} for g in GOALS}
    judged = judge(results)
    assert [g["holds"] for g in judged] == [True, False, False, True]
    text = "\n".join(block.markdown() for block in page._goals(judged))
    assert "| exponent of CBAUC in N | 0.9 to 1.1 | 0.80 | **no** |" in text


def test_figures_of_the_full_run_are_those_that_are_promised():
    """The sizes in the goals, in the help text and in the documents are the ones that are measured."""
    assert MANY.full[-1] == (20_000, 1_000, 1_000)
    assert all(len(ladder.sizes) >= 5 for ladder in (*LADDERS, *QUICK_LADDERS))
    (by_K,) = (ladder for ladder in LADDERS if ladder.axis == "K")
    assert by_K.sizes[0] == 64
    assert max(N * P * 8 for ladder in LADDERS for N, P, _ in map(ladder.at, ladder.sizes)) < 1.5e9


def test_an_import_that_fails_is_no_time():
    with pytest.raises(Exception, match="non-zero exit status"):
        start("import sys; sys.exit(3)")


def test_few_digits_are_kept():
    assert rounded({"a": [1.23456789, 3], "b": "x"}) == {"a": [1.2346, 3], "b": "x"}
    assert [page.times(r) for r in (0.1234, 12.345, 123.4)] == ["0.12", "12.3", "123"]
    assert [page.span(s) for s in (2.0, 0.00321, 4.5e-6)] == ["2 s", "3.21 ms", "4.5 µs"]


def test_run_from_python(tmp_path, monkeypatch):
    """The function behind the command: a subject without measurements is left out of the page."""
    calls: list[tuple[int, int]] = []
    some = ONE_PASS.measurements(quick=True)
    monkeypatch.setattr(sys.modules["foldless_studies.speed.run"], "plan", lambda settings: some)
    summary = run(SpeedSettings(quick=True), tmp_path, progress=lambda done, total, left: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]
    assert summary["command"] == "foldless benchmark speed --quick"
    text = (tmp_path / "speed.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## CBAUC against one pass over X"]
