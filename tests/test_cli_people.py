"""Tables as people have them: they are answered, and no number comes with a calm face that it does not deserve."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from cli_files import run
from foldless.cli.columns import positive_of
from foldless.cli.preparing import says_subject

RNG = np.random.default_rng(5)
RAW = Path(os.environ.get("FOLDLESS_DATA", "/nonexistent")) / "csv"
TABLES = {
    "indo_rct": ("outcome", "1_yes", None),
    "oasis_long": ("Group", "Demented", "Subject ID"),
    "credit_data": ("Status", "bad", None),
    "support2": ("hospdead", 1, None),
    "framingham": ("DEATH", 1, "RANDID"),
    "covid_testing": ("result", "positive", "subject_id"),
}


def written(folder, **columns):
    """A table with these columns."""
    path = folder / "table.csv"
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def answer(path, *options, command="auc"):
    result = run(command, path, "--target", "y", "--json", *options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def visits(**more):
    """Three visits of 60 patients: the outcome and the sex belong to the patient, the measurements to neither."""
    number = np.repeat(RNG.permutation(60) + 1000, 3)
    y, sex = (np.repeat(RNG.integers(0, 2, 60), 3) for _ in range(2))
    lasting = np.repeat(RNG.normal(size=(60, 4)), 3, axis=0) + 0.1 * RNG.normal(size=(180, 4))
    return {"number": number, **{f"m{k}": lasting[:, k].round(3) for k in range(4)}, "sex": sex, **more, "y": y}


# ---- The plain command answers


@pytest.mark.skipif(not RAW.is_dir(), reason="the raw tables are not here")
@pytest.mark.parametrize("name", ["indo_rct", "oasis_long", "credit_data"])
def test_raw_tables_are_answered(name):
    target, positive, groups = TABLES[name]
    result = run("auc", RAW / f"{name}.csv", "--target", target, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["positive"], found["groups"]) == (positive, groups)
    assert found["prepared"]


def test_text_and_gaps_are_prepared_in_one_line(tmp_path):
    y = np.arange(80) % 2
    town = np.where(np.arange(80) % 3, "Oslo", "Rome")
    gaps = [("" if k % 8 == 0 else f"{v:.2f}") for k, v in enumerate(RNG.normal(size=80) + y)]
    one_gap = ["NA" if k == 3 else f"{k % 7 + 0.5}" for k in range(80)]
    name = [f"P. {k}" for k in range(80)]
    path = written(tmp_path, name=name, town=town, a=gaps, b=one_gap, nothing=[""] * 80, y=y)
    found = answer(path)
    assert found["prepared"] == (
        "1 column of text became categories: 'town'; 11 gaps in 2 columns filled with the median: 'a', 'b' (with a "
        "column 'was missing' for 'a'); left out: 'name' (80 different texts), 'nothing' (no value at all)"
    )
    assert found["n_features"] == 3
    assert found["prepared"] in run("auc", path, "--target", "y").stdout
    for command, more in {"search": [], "plan": [], "compare": ["--models", "logistic,lda"]}.items():
        assert answer(path, *more, command=command)["prepared"] == found["prepared"]
    strict = run("auc", path, "--target", "y", "--strict")
    assert strict.exit_code == 2
    assert "text in 'name' (80 rows, such as 'P. 0'), 'town'" in strict.stderr
    assert "missing values in 'a' (10 rows), 'b' (1 row)" in strict.stderr
    assert answer(path, "--keep", "name")["n_features"] == 4


def test_numbers_that_were_misread_are_neither_categories_nor_left_out(tmp_path):
    """Limits of detection in four cells, and a mark for thousands: the user is asked, as before."""
    y = np.arange(80) % 2
    limit = ["<1.0" if k < 4 else f"{k / 7:.3f}" for k in range(80)]
    result = run("auc", written(tmp_path, a=RNG.normal(size=80).round(3), crp=limit, y=y), "--target", "y", "--one-hot")
    assert result.exit_code == 2
    assert "limits instead of values in 'crp' (4 rows, such as '<1.0')" in result.stderr


# ---- Subjects


def test_subjects_are_taken_for_groups_by_their_name(tmp_path):
    table = visits()
    table = {"patient" if name == "number" else name: column for name, column in table.items()}
    path = written(tmp_path, **table)
    plain, named, as_rows = answer(path), answer(path, "--groups", "patient"), answer(path, "--id", "patient")
    assert plain["auc"] == named["auc"] == as_rows["auc"]
    assert plain["groups"] == as_rows["groups"] == "patient"
    assert "rows with the same 'patient' taken for one subject" in run("auc", path, "--target", "y").stdout
    independent = answer(path, "--drop", "patient")
    assert independent["high"] - independent["low"] < named["high"] - named["low"]


@pytest.mark.parametrize("command", ["auc", "search", "plan"])
def test_subjects_under_another_name_are_asked_for(tmp_path, command):
    path = written(tmp_path, **visits())
    result = run(command, path, "--target", "y")
    assert result.exit_code == 2
    assert "column 'number' looks like the number of a subject: 60 values in 180 rows" in result.stderr
    for option in ("--groups", "--id", "--drop", "--keep"):
        assert f"{option} number" in result.stderr
        assert run(command, path, "--target", "y", option, "number").exit_code == 0


def test_measurements_that_repeat_are_not_subjects(tmp_path):
    """Ages of 200 people, with the age group and a dose per kilogram that follow from them."""
    age = RNG.integers(20, 80, 200)
    y = (RNG.normal(size=200) + age / 30 > 2).astype(int)
    table = {"age": age, "old": (age > 65).astype(int), "dose": 3 * age, "sex": RNG.integers(0, 2, 200), "y": y}
    assert answer(written(tmp_path, **table))["groups"] is None


@pytest.mark.parametrize(
    ("name", "subject"),
    {"patient": True, "Subject ID": True, "patientId": True, "id": True, "patient_class": False, "covid": False,
     "test_id": False, "number": False, "uric acid": False}.items(),
)  # fmt: skip
def test_names_of_subjects(name, subject):
    assert says_subject(name) is subject


def test_three_groups_decide_nothing(tmp_path):
    y = np.arange(90) % 2
    path = written(tmp_path, site=np.arange(90) // 30, a=(RNG.normal(size=90) + y).round(3), y=y)
    found = answer(path, "--groups", "site")
    assert found["verdict"] == "do not use"
    assert any("there are 3 groups: so few decide nothing" in note for note in found["notes"])
    assert "Verdict: do not use" in run("auc", path, "--target", "y", "--groups", "site").stdout.splitlines()[1]


# ---- The verdict beside the number


def test_every_command_shows_the_verdict_of_the_report(tmp_path):
    """A column that gives the label away, in rows that come in order."""
    y = np.arange(120) % 2
    walk = np.cumsum(RNG.normal(size=(120, 2)), axis=0).round(3)
    path = written(tmp_path, known_later=(y + 0.1 * RNG.normal(size=120)).round(3), u=walk[:, 0], v=walk[:, 1], y=y)
    verdict = answer(path, command="report")["diagnosis"]["verdict"]
    assert verdict == "caution"
    for command, more in {"auc": [], "search": [], "plan": [], "compare": ["--models", "logistic,lda"]}.items():
        found = answer(path, *more, command=command)
        assert found["verdict"] == verdict
        assert {"leak", "neighbours"} <= {finding["name"] for finding in found["findings"]}
        assert any("alone orders nearly all pairs" in note for note in found["notes"])
        assert "Verdict: caution" in run(command, path, "--target", "y", *more).stdout.splitlines()[1]


# ---- The positive class


@pytest.mark.parametrize(
    ("negative", "positive"),
    [("control", "case"), ("0_no", "1_yes"), ("Nondemented", "Demented"), ("benign", "Malignant"), (0, 1), (-1, 1)],
)
def test_the_positive_class_is_known_by_its_name(negative, positive):
    for sizes in ({negative: 10, positive: 90}, {negative: 90, positive: 10}):
        assert positive_of(sizes) == (positive, "by its name")


def test_else_the_positive_class_is_the_rarer_one():
    assert positive_of({"good": 10, "bad": 90})[0] == "good"
    assert positive_of({1: 10, 2: 90})[0] == 1
    assert positive_of({"u": 5, "v": 5})[0] == "v"


def test_the_first_line_says_which_class_is_positive(tmp_path):
    y = np.where(np.arange(90) % 3, "case", "control")
    path = written(tmp_path, a=(RNG.normal(size=90) + (y == "case")).round(3), b=RNG.normal(size=90).round(3), y=y)
    page = tmp_path / "page.html"
    more = {"auc": [], "search": [], "plan": [], "compare": ["--models", "logistic,lda"], "report": ["-o", page]}
    for command, options in more.items():
        first = run(command, path, "--target", "y", *options).stdout.splitlines()[0]
        assert first.endswith("The positive class is 'case' (by its name).")
    assert answer(path)["positive"] == "case"
    assert answer(path, "--positive", "control")["positive"] == "control"
