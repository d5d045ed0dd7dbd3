"""The accuracy experiment: equal results whatever the jobs or interruptions, and figures that mean what they say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import foldless as fl
from foldless_studies.accuracy.results import Results, error_ratio, summarize
from foldless_studies.accuracy.run import AccuracySettings, Plan, perform, run
from foldless_studies.runs import Workers
from foldless_studies.sampling import Task
from foldless_studies.store import Store

FILES = ("results.csv", "summary.md", "accuracy.png")


def write_set(folder: Path, name: str, N: int = 80, P: int = 5, **more: np.ndarray) -> None:
    rng = np.random.default_rng(P)
    y = np.arange(N) % 2
    np.savez(folder / f"{name}.npz", X=(rng.normal(size=(N, P)) + 0.7 * y[:, None]).astype("f4"), y=y, **more)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_set(folder, "small")
    write_set(folder, "wide", P=260)
    write_set(folder, "grouped", groups=np.arange(80))
    np.savez(folder / "three.npz", X=np.eye(9), y=np.arange(9) % 3)
    return folder


@pytest.fixture(scope="module")
def settings(data) -> AccuracySettings:
    return AccuracySettings(
        data=str(data), quick=True, replicates=2, splits=2, sizes=(30, 70), Cs=(0.1, 1.0), methods=("loo", "cv5")
    )


@pytest.fixture(scope="module")
def done(settings, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("done")
    run(settings, folder)
    return folder


def without_times(text: str) -> list[list[str]]:
    return [line.split("|")[:-2] for line in text.splitlines()]


# ---- running, resuming


def test_jobs_do_not_change_results(settings, done, tmp_path):
    with Workers(2).ready() as team:
        run(settings, tmp_path, team=team)
    assert (tmp_path / "results.csv").read_bytes() == (done / "results.csv").read_bytes()
    assert (tmp_path / "accuracy.png").read_bytes() == (done / "accuracy.png").read_bytes()
    tables = [without_times((folder / "summary.md").read_text()) for folder in (tmp_path, done)]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("kept", [0.0, 0.35, 0.999])
def test_resume_after_a_kill(settings, done, tmp_path, kept):
    """A file cut anywhere, mostly within a line, is finished to the same bytes; whole lines are not done again."""
    text = (done / "tasks.jsonl").read_bytes()
    part = text[: int(kept * len(text))]
    (tmp_path / "tasks.jsonl").write_bytes(part)
    (tmp_path / "settings.json").write_bytes((done / "settings.json").read_bytes())
    calls = []
    run(settings, tmp_path, resume=True, progress=lambda *a: calls.append(a))
    assert len(calls) == text.count(b"\n") - part.count(b"\n")
    assert calls[-1][:2] == (text.count(b"\n"),) * 2
    assert (tmp_path / "results.csv").read_bytes() == (done / "results.csv").read_bytes()


def test_other_settings_are_refused(settings, done):
    with pytest.raises(fl.InputError, match=r"other settings: seed \(0 then, 1 now\)"):
        run(replace(settings, seed=1), done, resume=True)
    with pytest.raises(fl.InputError, match="--resume"):
        run(settings, done)


def test_files_of_a_run(settings, done):
    summary = json.loads((done / "summary.json").read_text(), parse_constant=pytest.fail)
    assert summary["settings"] == settings.published()
    assert summary["settings"]["data"] == Path(settings.data).name  # where the folder lies is nobody's business
    assert summary["versions"]["numpy"] == np.__version__
    assert {row["scope"] for row in summary["table"]} == {"all", "pooled", "set", "cell"}
    lines = (done / "results.csv").read_text().splitlines()
    # 4 simulated and 2 x 2 (labels) data cells, 2 replicates, 2 C, 2 methods
    assert len(lines) == 1 + 8 * 2 * 2 * 2
    assert (done / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert not list(done.glob(".*"))


def test_what_is_left_out_is_named(settings):
    plan = Plan.of(settings)
    assert len(plan.tasks) == 16
    assert [s.split(":")[0] for s in plan.skipped] == ["grouped", "small, n = 70", "three", "wide, n = 70"]


def test_a_task_depends_on_its_name_only(settings):
    """Neither the other cells nor their order matter; another seed does."""
    cell = Plan.of(settings).tasks[-1].cell
    first, again, other = (perform(Task(cell, 1), replace(settings, seed=s, Cs=(1.0,))) for s in (0, 0, 1))
    for result in (first, again, other):
        for answer in result["fits"][0]["methods"].values():
            answer.pop("seconds")
    assert first == again
    assert first != other


def test_a_method_that_cannot_answer_is_recorded(settings, data, tmp_path):
    chosen = replace(settings, simulations=False, sizes=(30,), methods=("adaptive", "632+"), splits=1)
    summary = run(chosen, tmp_path)
    wide = [row for row in summary["table"] if row.get("group") == "wide" and row["method"] == "adaptive"]
    assert {row["units"] for row in wide} == {0}
    assert {row["mae"] for row in wide} == {None}
    assert "only asked up to 200 columns" in (tmp_path / "results.csv").read_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": ("loo", "magic")}, "unknown method 'magic': choose from loo"),
        ({"classifier": "tree"}, "unknown classifier"),
        ({"Cs": (0.0,)}, "C must be above 0"),
        ({"methods": ()}, "methods must be given"),
        ({"sizes": (40, 40)}, "each once"),
        ({"data": None, "simulations": False}, "nothing to do"),
    ],
)
def test_settings_are_checked(settings, change, words):
    with pytest.raises(fl.InputError, match=words):
        replace(settings, **change)


def test_a_folder_without_data_is_refused(tmp_path):
    with pytest.raises(fl.InputError, match="no usable"):
        AccuracySettings(data=str(tmp_path)).cells()
    with pytest.raises(fl.InputError, match="not a folder"):
        AccuracySettings(data=str(tmp_path / "none")).cells()
    (tmp_path / "bad.npz").write_text("not a zip")
    with pytest.raises(fl.InputError, match=r"bad\.npz"):
        AccuracySettings(data=str(tmp_path)).cells()


# ---- the figures


def results_of(truth, estimate, *, se=0.0, half=None, rank=np.nan, labels="real", methods=("loo", "cv5"), group=None):
    """Results of given estimates (U, M), with an interval of a half width for every level."""
    estimate = np.asarray(estimate, float)
    U = len(estimate)
    columns = {"kind": "data", "cell": "c", "group": "g", "labels": labels, "n": 40, "p": 3, "C": 1.0, "replicate": 0}
    units = {name: np.full(U, value) for name, value in columns.items()}
    units |= {"truth": np.broadcast_to(truth, U).astype(float), "truth_se": np.full(U, se)}
    units["second_sample"] = np.full(U, np.nan)
    if group is not None:
        units["group"] = np.asarray(group)
    values = {name: np.full(estimate.shape, np.nan) for name in ("sd", "seconds")}
    for level in (50, 80, 90, 95):
        width = np.nan if half is None else half[level]
        values |= {f"low{level}": estimate - width, f"high{level}": estimate + width}
    return Results(methods, units, {"estimate": estimate, "rank": np.full(estimate.shape, rank), **values}, [])


def row_of(results, method, scope="pooled"):
    return next(r for r in summarize(results) if r["method"] == method and r["scope"] == scope)


def test_error_ratio_is_pooled_over_pooled():
    """Sum of absolute errors over sum of absolute errors, not the mean of ratios, on units that both have."""
    estimate = [[0.8, 0.9], [0.7, 0.71], [np.nan, 0.2]]
    results = results_of(0.7, estimate, group=["a", "b", "b"])
    assert error_ratio(results, 0, "cv5") == pytest.approx((0.1 + 0.0) / (0.2 + 0.01))
    assert error_ratio(results, 1, "cv5") == 1
    assert error_ratio(results, 0, "cv5x5") is None
    row = row_of(results, "loo")
    assert (row["units"], row["mae"], row["bias"]) == (2, pytest.approx(0.05), pytest.approx(0.05))
    assert row["sets_below_cv5"] == 1
    assert row["ratio_cv5x5"] is None


def test_share_of_sets_counts_sets_not_units():
    estimate = [[0.8, 0.9], [0.8, 0.9], [0.8, 0.75], [0.8, 0.7]]
    results = results_of(0.7, estimate, group=["a", "a", "b", "c"])
    assert row_of(results, "loo")["sets_below_cv5"] == pytest.approx(1 / 3)


def test_coverage_of_a_calibrated_posterior():
    """Estimates N(truth, s^2) with intervals estimate +- z s cover at their level."""
    s, U = 0.05, 20_000
    half = {level: s * norm.ppf(0.5 + level / 200) for level in (50, 80, 90, 95)}
    estimate = 0.7 + s * np.random.default_rng(0).normal(size=(U, 2))
    row = row_of(results_of(0.7, estimate, half=half), "loo")
    for level in (50, 80, 90, 95):
        p = level / 100
        assert abs(row[f"coverage{level}"] - p) < 4.5 * np.sqrt(p * (1 - p) / U)
        assert row[f"adjusted{level}"] == row[f"coverage{level}"]
    assert row["width90"] == pytest.approx(2 * half[90], abs=1e-6)
    assert row["false_alarms"] is None


def test_false_alarms_are_counted_without_signal():
    half = dict.fromkeys((50, 80, 90, 95), 0.1)
    results = results_of(0.5, [[0.65, 0.5], [0.55, 0.5], [0.61, 0.7], [0.5, 0.5]], half=half, labels="shuffled")
    assert [row_of(results, m)["false_alarms"] for m in ("loo", "cv5")] == [0.5, 0.25]


def test_without_interval_there_is_no_coverage():
    row = row_of(results_of(0.7, [[0.7, 0.7]]), "loo")
    assert (row["coverage90"], row["adjusted90"], row["width90"]) == (None, None, None)


def test_store_ignores_a_cut_line(tmp_path):
    (tmp_path / "tasks.jsonl").write_text('{"task":"a"}\n{"task":"b"}')
    assert [line["task"] for line in Store(tmp_path).finished()] == ["a"]
