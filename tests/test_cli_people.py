"""Tables as people have them: they are answered, and no number comes with a calm face that it does not deserve."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from cli_files import run
from foldless.cli.preparing import says_subject
from foldless.cli.roles import positive_of

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def the_same_draws():
    """Whichever tests ran before."""
    RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state


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


# ---- Cells and classes that want a word


def test_a_unit_is_not_a_category(tmp_path):
    """Numbers with one unit are refused, with the way out; categories that begin with digits are none."""
    table = {"age": [f"{40 + k % 45} y" for k in range(80)], "a": RNG.normal(size=80).round(3), "y": [0, 1] * 40}
    refused = run("auc", written(tmp_path, **table), "--target", "y")
    assert refused.exit_code == 2
    assert "numbers with a unit in 'age' (80 rows, such as '40 y')" in refused.stderr
    assert "remove the unit" in refused.stderr
    assert run("auc", written(tmp_path, **{**table, "age": ["3a", "3b"] * 40}), "--target", "y").exit_code == 0


def test_a_class_that_may_stand_for_a_missing_one_is_named(tmp_path):
    table = {"a": RNG.normal(size=90).round(3), "y": ["no", "yes", "unknown"] * 30}
    assert any("use --na unknown" in note for note in answer(written(tmp_path, **table))["notes"])
    without = answer(written(tmp_path, **table), "--na", "unknown")
    assert not any("--na" in note for note in without["notes"])
    rare = run("auc", written(tmp_path, a=table["a"], y=[9, *[0, 1] * 44, 0]), "--target", "y")
    assert "use --na 9" in rare.stderr


def test_too_few_rows_for_a_validation_are_no_verdict_of_trust(tmp_path):
    y = np.arange(80) < 8
    path = written(tmp_path, a=(RNG.normal(size=80) + y).round(3), b=RNG.normal(size=80).round(3), y=y.astype(int))
    found = answer(path, "--prevalence", "0.02", command="validate")
    assert found["verdict"] == "caution"
    assert any("2 % positives, where the rows have 10 %" in note for note in found["notes"])


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


def test_one_class_against_all_others(tmp_path):
    """The way out of every question for two classes; as with a column of two classes, with its subjects."""
    table = {"patient" if name == "number" else name: column for name, column in visits().items()}
    stage = np.repeat(np.arange(60) % 3, 3)
    path = written(tmp_path, **{**table, "y": stage})
    refused = run("search", path, "--target", "y")
    assert (refused.exit_code, "one class against all others, such as --positive 0" in refused.stderr) == (2, True)
    one = answer(path, "--positive", "2.0")
    assert "class '2' against all others, as --positive says" in one["prepared"]
    assert answer(path, "--positive", "2", command="validate")["n_positive"] == 60
    said = run("validate", path, "--target", "y", "--positive", "2").stdout
    assert "Right would be a calibration slope of 1" in said
    assert "ICI, E50 and E90: mean" in said
    (tmp_path / "two").mkdir()
    two = answer(written(tmp_path / "two", **{**table, "y": np.where(stage == 2, "2", "not 2")}), "--positive", "2")
    figures = ("auc", "low", "high", "positive", "negative", "groups", "n_positive", "sensitivity")
    assert {name: one[name] for name in figures} == {name: two[name] for name in figures}


@pytest.mark.parametrize(("command", "more"), [("auc", []), ("compare", ["--models", "logistic,lda"])])
def test_a_choice_of_columns_is_as_a_file_of_them_and_its_subjects(tmp_path, command, more):
    """The subjects are found, although their column is not among those that were asked for."""
    table = {"patient" if name == "number" else name: column for name, column in visits().items()}
    whole = answer(written(tmp_path, **table), "--columns", "m[01],sex", *more, command=command)
    fewer = {name: column for name, column in table.items() if name not in ("m2", "m3")}
    part = answer(written(tmp_path, **fewer), *more, command=command)
    assert whole == part
    assert whole["n_features"] == 3
    assert whole["groups"] == "patient"


def test_columns_that_a_command_cannot_use_are_refused(tmp_path):
    path = written(tmp_path, a=RNG.normal(size=40).round(3), b=RNG.normal(size=40).round(3), y=np.arange(40) % 2)
    assert "--columns: 'y' is the target" in run("auc", path, "--target", "y", "--columns", "a,y").stderr
    assert "did you mean 'a'?" in run("report", path, "--target", "y", "--columns", "aa").stderr
    model = tmp_path / "m.skops"
    answer(path, "--columns", "b", "--save-model", model)
    assert answer(path, "--model-file", model)["n_features"] == 1
    for command, more in {"auc": [], "compare": ["--models", "lda"]}.items():
        refused = run(command, path, "--target", "y", *more, "--model-file", model, "--columns", "a")
        assert (refused.exit_code, "--columns does not go with --model-file" in refused.stderr) == (2, True)


def test_subjects_are_found_beside_a_saved_model(tmp_path):
    """The model does not take their column, so it is not among those that are prepared; its rows still depend."""
    table = {"patient" if name == "number" else name: column for name, column in visits().items()}
    path, model = written(tmp_path, **table), str(tmp_path / "m.skops")
    fitted, loaded = answer(path, "--save-model", model), answer(path, "--model-file", model)
    assert (loaded["groups"], loaded["auc"]) == ("patient", pytest.approx(fitted["auc"], abs=1e-6))


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


def test_a_report_without_a_name_gets_a_free_one(tmp_path, monkeypatch):
    """Beside where the command is typed, and never over an older page; over a page that was named, with a word."""
    monkeypatch.chdir(tmp_path)
    y = np.arange(60) % 2
    path = written(tmp_path, a=(RNG.normal(size=60) + y).round(3), b=RNG.normal(size=60).round(3), y=y)
    for name in (f"{path.stem}-report.html", f"{path.stem}-report-2.html"):
        assert f"in a browser: {name}\n" in run("report", path, "--target", "y", "--no-search").stdout
        assert (tmp_path / name).read_text().startswith("<!doctype html>")
    said = run("report", path, "--target", "y", "--no-search", "-o", name).stdout
    assert f"in a browser: {name} (in place of the old one)\n" in said
    assert run("report", path, "--target", "y", "--no-search", "--json").exit_code == 0
    assert len(list(tmp_path.glob("*.html"))) == 2


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


# ---- Numbers with other cells among them


def laboratory(folder, **more):
    """Values of a laboratory with limits, words and codes among them, dates, a town and a grade."""
    y = np.arange(200) % 2
    crp = [f"{v:.2f}" for v in np.abs(RNG.normal(size=200) + y) + 1]
    crp[1:7], crp[20:22], crp[30:33] = ["<1.0"] * 6, [">90"] * 2, ["unknown", "n.d.", "unknown"]
    age = RNG.integers(20, 80, 200)
    age[:2] = -9
    glucose = RNG.normal(100, 15, 200).round(1)
    glucose[5:8] = 999
    day = [f"2020-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in RNG.permutation(200)]
    town = [f"T{k}" for k in RNG.integers(0, 30, 200)]
    grade = np.where(RNG.random(200) < 0.1, "unknown", RNG.integers(1, 4, 200).astype(str))
    return written(folder, crp=crp, age=age, glucose=glucose, day=day, town=town, grade=grade, **more, y=y)


@pytest.mark.parametrize("mode", [[], ["--one-hot"], ["--strict", "--one-hot", "--impute", "median"]])
def test_no_cell_turns_a_column_of_numbers_into_categories(tmp_path, mode):
    result = run("auc", laboratory(tmp_path), "--target", "y", *mode)
    assert result.exit_code == 2
    assert "limits instead of values in 'crp' (8 rows, such as '<1.0', '>90')" in result.stderr
    assert "use --censored half or --censored limit" in result.stderr
    if "--strict" in mode:
        assert "words among numbers in 'crp' (3 rows, such as 'unknown', 'n.d.'), 'grade'" in result.stderr
        assert "use --na unknown --na n.d. if that means missing" in result.stderr
        assert "dates or times in 'day' (200 rows" in result.stderr
        assert "too many different texts for categories in 'town'" in result.stderr
        assert "use --keep town" in result.stderr


def test_limits_words_and_codes_are_handled_as_the_user_says(tmp_path):
    path = laboratory(tmp_path)
    found = answer(path, "--censored", "half")
    assert found["prepared"].startswith("each limit replaced by half of it: 'crp' (8 rows, such as '<1.0', '>90'); ")
    assert "words among numbers taken for gaps: 'crp' (3 rows, such as 'unknown', 'n.d.'), 'grade'" in found["prepared"]
    assert "left out: 'day' (dates or times), 'town' (30 different texts)" in found["prepared"]
    assert found["classifier"]["one_hot"] == []
    codes = "'age' (-9 in 2 rows), 'glucose' (999 in 3 rows): if that stands for a missing value, use --na -9 --na 999."
    assert codes in found["notes"]
    told = ["--na", "-9", "--na", "999", "--na", "Unknown", "--na", "n.d."]
    found = answer(path, "--censored", "limit", *told)
    assert (
        "taken for missing, as --na says: 'crp' (3 rows), 'age' (2 rows), 'glucose' (3 rows), 'grade'"
        in found["prepared"]
    )
    assert "each limit replaced by its number" in found["prepared"]
    assert codes not in found["notes"]
    strict = [*told, "--strict", "--one-hot", "--impute", "median", "--censored", "half", "--drop", "day"]
    assert answer(path, *strict, "--keep", "town")["classifier"]["one_hot"] == ["town"]
    typo = run("auc", path, "--target", "y", "--na", "-99")
    assert (typo.exit_code, "no cell holds '-99'" in typo.stderr) == (2, True)


def test_limits_are_the_numbers_that_the_user_would_have_written(tmp_path):
    """The answer is that of the same table with numbers and empty cells in place of the odd ones."""
    path = laboratory(tmp_path, decided=np.arange(200) % 3)
    text = path.read_text().replace("unknown", "").replace("n.d.", "")
    for how, low in (("half", "0.5"), ("limit", "1.0")):
        clean = path.with_name("clean.csv")
        clean.write_text(text.replace("<1.0", low).replace(">90", "90"))
        assert answer(path, "--censored", how)["auc"] == answer(clean)["auc"]


def test_few_levels_with_words_of_their_own_stay_categories(tmp_path):
    y = np.arange(120) % 2
    stage = RNG.choice(["1", "2", "3", "3a"], 120)
    found = answer(written(tmp_path, a=RNG.normal(size=120).round(3), stage=stage, y=y))
    assert found["classifier"]["one_hot"] == ["stage"]


# ---- Rows without a class


def test_rows_without_a_class_are_left_out_and_counted(tmp_path):
    """The answer is that of the table without those rows, groups included; --strict refuses."""
    table = visits()
    y = np.array(table["y"], dtype=object)
    y[[3, 50, 51]], y[100] = "", "NA"
    patient = table.pop("number")
    path = written(tmp_path, patient=patient, **{**table, "y": y})
    found = answer(path)
    assert "4 rows without a class left out" in found["prepared"]
    kept = np.array([str(v) in "01" and v != "" for v in y])
    rest = {name: np.asarray(column)[kept] for name, column in {"patient": patient, **table, "y": y}.items()}
    (tmp_path / "rest").mkdir()
    assert answer(written(tmp_path / "rest", **rest))["auc"] == found["auc"]
    strict = run("auc", path, "--target", "y", "--strict")
    assert (strict.exit_code, "is empty in 4 of 180 rows" in strict.stderr) == (2, True)
    coded = written(tmp_path, patient=patient, **{**table, "y": np.where(y == "", "9", np.where(y == "NA", "9", y))})
    assert "4 rows without a class left out" in answer(coded, "--na", "9")["prepared"]


# ---- Names of columns and rows


def test_findings_name_columns_and_rows(tmp_path):
    """Copies of two rows, and one-hot columns and numbers that give the label away; on the page as well."""
    y = np.arange(120) % 2
    rows = {"id": [f"P{k:03d}" for k in range(120)], "a": RNG.normal(size=120).round(3)}
    rows |= {"b": RNG.normal(size=120).round(3), "c": RNG.normal(size=120).round(3), "y": y}
    told = {"told": np.where(y, "x", RNG.choice(["u", "v"], 120)), "known": (y + 0.01 * RNG.normal(size=120)).round(3)}
    page = tmp_path / "page.html"
    for name, column in told.items():
        table = {**rows, name: column}
        for values in (table["a"], table["b"], table["c"], column):
            values[50:52] = values[10:12]
        path = written(tmp_path, **table)
        expected = {"told": "column 'told_x' is the label", "known": "column 'known' alone orders"}[name]
        for command, more in {"auc": [], "search": [], "plan": [], "compare": ["--models", "logistic,lda"]}.items():
            notes = " ".join(answer(path, *more, command=command)["notes"])
            assert expected in notes
            assert "(for example 'P010', 'P050')" in notes
            assert notes.count("an earlier one in every column") == notes.count("(for example") == 1
        run("report", path, "--target", "y", "-o", page, "--no-search")
        text = page.read_text().replace("&#39;", "'")
        assert expected.capitalize()[:12] in text
        assert "(for example 'P010', 'P050')" in text
        assert "numbered from 0" not in text


def test_rows_without_names_are_counted_from_1_as_in_the_file(tmp_path):
    """Also where a row without a class is left out; in the terminal, on the page and in the table of scores."""
    y = (np.arange(80) % 2).astype(object)
    y[3] = ""
    rows = {name: RNG.normal(size=80).round(4) for name in "abcd"}
    for column in rows.values():
        column[50] = column[10]
    path, page, scores = written(tmp_path, **rows, y=y), tmp_path / "page.html", tmp_path / "scores.csv"
    notes = " ".join(answer(path, "--scores", scores)["notes"])
    assert "(for example 11, 51)" in notes
    assert "rows go by their number in the file, from 1; the header line is not counted" in notes
    assert scores.read_text().splitlines()[50].startswith("51,")
    said = run("report", path, "--target", "y", "-o", page, "--no-search").stdout
    assert "Verdict: caution.\nnote: of 79 rows 1 repeats an earlier one in every column (for example 11, 51)" in said
    assert "(for example 11, 51)" in page.read_text()
    assert "ows go by their number in the file, from 1" in page.read_text()
