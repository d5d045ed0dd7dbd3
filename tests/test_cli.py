"""The command line: answers equal to the API's, and one line of complaint for every mistake."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from cli_files import assert_one_line, run
from foldless.cli import picture
from foldless.files import write_atomically
from foldless.tables import files
from foldless.words import plain

RNG = np.random.default_rng(7)
N, P = 60, 3
Y = np.arange(N) % 2
X = RNG.normal(size=(N, P)).round(6) + 0.9 * Y[:, None]


def table(labels=Y, rows=X, names=("a", "b", "c"), separator=","):
    lines = [separator.join([*names, "y"])]
    lines += [
        separator.join([*(repr(float(v)) for v in row), str(label)]) for row, label in zip(rows, labels, strict=True)
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(table())
    return path


def asked_api(y, **kwargs):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, tol=1e-7, max_iter=10_000)).fit(X, y)
    return fl.auc_posterior(model, X, y, **kwargs), fl.error_posterior(model, X, y, **kwargs)


def as_json(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=pytest.fail)


# ---- foldless auc


@pytest.mark.filterwarnings("ignore::foldless.FoldlessWarning")
def test_json_is_the_api(csv):
    answer = as_json("auc", csv, "--target", "y", "--level", "0.9")
    area, rates = asked_api(Y)
    assert (answer["auc"], answer["sd"], answer["method"]) == (area.mean, area.sd, area.method)
    assert (answer["low"], answer["high"]) == area.interval(0.9)
    assert answer["prob_above_chance"] == area.prob_above(0.5)
    assert answer["sensitivity"]["mean"] == rates.sensitivity.mean
    assert (answer["specificity"]["low"], answer["specificity"]["high"]) == rates.specificity.interval(0.9)
    assert (answer["n_positive"], answer["n_negative"], answer["n_features"]) == (30, 30, 3)
    assert answer["notes"] == list(dict.fromkeys([*area.notes, *rates.notes]))


@pytest.mark.filterwarnings("ignore::foldless.FoldlessWarning")
def test_positive_label_turns_sensitivity_and_specificity(tmp_path):
    path = tmp_path / "data.csv"
    words = np.where(Y, "sick", "healthy")
    path.write_text(table(words))
    default, turned = (as_json("auc", path, "--target", "y", *more) for more in ([], ["--positive", "healthy"]))
    assert (default["positive"], default["negative"]) == ("sick", "healthy")
    assert (turned["positive"], turned["negative"]) == ("healthy", "sick")
    assert turned["auc"] == pytest.approx(default["auc"], abs=1e-9)
    assert turned["sensitivity"]["mean"] == pytest.approx(default["specificity"]["mean"], abs=1e-9)
    area, rates = asked_api(words, pos_label="healthy")
    assert (turned["auc"], turned["sensitivity"]["mean"]) == (area.mean, rates.sensitivity.mean)


def padded(text):
    return "\n".join(f" {line} ".replace(",", " , ") for line in text.splitlines())


VARIANTS = {
    "tsv": ("data.tsv", table(separator="\t")),
    "tabs in a txt": ("data.txt", table(separator="\t")),
    "semicolons": ("data.csv", table(separator=";")),
    "decimal commas": ("data.csv", table(separator=";").replace(".", ",")),
    "byte order mark": ("data.csv", "\ufeff" + table()),
    "windows line ends": ("data.csv", table().replace("\n", "\r\n")),
    "padded cells": ("data.csv", padded(table())),
    "quoted header": ("data.csv", table(names=('"a"', '"b"', '"c,c"'))),
    "labels as decimals": ("data.csv", table(labels=[f"{v}.00" for v in Y])),
    "row names": ("data.csv", "\n".join(f"{f'case {k}' if k else ''},{v}" for k, v in enumerate(table().splitlines()))),
    "row numbers": ("data.csv", "\n".join(f"{k - 1 if k else ''},{v}" for k, v in enumerate(table().splitlines()))),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "data.csv"
    path.write_text(table())
    return as_json("auc", path, "--target", "y")


@pytest.mark.parametrize(("name", "text"), VARIANTS.values(), ids=VARIANTS.keys())
def test_dialects_give_the_same_answer(expected, tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode())
    answer = as_json("auc", path, "--target", "y")
    for given in (answer, expected := dict(expected)):
        given.pop("file")
        given.pop("notes")  # a column of row names is mentioned there
        given.pop("read_as")
    assert answer == expected


def test_truth_values_are_numbers(csv, tmp_path):
    path = tmp_path / "flags.csv"
    flags = X[:, :1] > 0.5
    path.write_text(table(rows=flags).replace("1.0,", "true,").replace("0.0,", "False,").replace("a,b,c,y", "a,y"))
    expected = tmp_path / "numbers.csv"
    expected.write_text(table(rows=flags).replace("a,b,c,y", "a,y"))
    assert as_json("auc", path, "--target", "y")["auc"] == as_json("auc", expected, "--target", "y")["auc"]


def test_old_encodings_are_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(table(np.where(Y, "père", "mère")).encode("latin-1"))
    assert as_json("auc", path, "--target", "y")["n_positive"] == 30


def test_text_answer(csv):
    result = run("auc", csv, "--target", "y")
    assert result.exit_code == 0
    for expected in ("with an AUC of about 0.", "95 % interval", "sensitivity", "30 '1' (positive)", "method"):
        assert expected in result.stdout
    assert "Warning" not in result.output  # never in Python's own form


def test_notes_are_visible_once(tmp_path):
    path = tmp_path / "data.csv"
    numbered = np.column_stack([np.arange(N), X])
    path.write_text(table(rows=numbered, names=("k", "a", "b", "c")))
    result = run("auc", path, "--target", "y")
    assert result.stdout.count("note: column 'k' numbers the rows") == 1
    assert "note: column" not in run("auc", path, "--target", "y", "--drop", "k").stdout


def test_chance_is_called_chance(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(table(rows=np.random.default_rng(3).normal(size=(N, 1)), names=("a",)))
    assert "no better than guessing" in run("auc", path, "--target", "y").stdout


def test_options_reach_the_classifier(csv):
    plainly, strongly = (
        as_json("auc", csv, "--target", "y", *more) for more in ([], ["--C", "0.001", "--no-standardize"])
    )
    classifier = strongly["classifier"]
    assert (classifier["name"], classifier["C"], classifier["standardized"]) == ("LogisticRegression", 0.001, False)
    assert strongly["auc"] != plainly["auc"]


def test_nan_never_reaches_json():
    assert plain({"a": [float("nan"), np.float64("inf"), np.int64(3)], "b": (np.float64(0.5),)}) == {
        "a": [None, None, 3],
        "b": [0.5],
    }


# ---- mistakes: exit code 2, one line on stderr, no traceback

WIDE = table(rows=np.column_stack([X, X, X]), names=tuple("abcdefghi"))
BAD_FILES = {
    "empty": (b"", "is empty"),
    "blank lines": (b"\n\n \n", "is empty"),
    "header only": (b"a,b,y\n", "has a header but no rows"),
    "binary": (bytes(range(256)) * 4, "not a text file"),
    "png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "it is a picture"),
    "ragged": (b"a,y\n1,0\n2,1,7\n", "cannot be read as a table"),
    "duplicate names": (b"a,a,y\n1,2,0\n3,4,1\n", "more than one column named 'a'"),
    "one class": (table(np.ones(N, int)).encode(), "one class only (1)"),
    "no feature": (b"y\n0\n1\n0\n1\n", "no column left"),
    "missing labels": (table(["" if k == 4 else v for k, v in enumerate(Y)]).encode(), "is empty in 1 of 60 rows"),
    "missing values": (
        b"a,b,y\n1,,0\n2,NA,1\n3,1,0\n3,1,1\n",
        "missing values in 'b' (2 rows): use --impute median, or leave out with --drop b",
    ),
    "text": (
        b"a,city,y\n1,Oslo,0\n2,Rome,1\n1,Oslo,0\n2,Rome,1\n",
        "text in 'city' (4 rows, such as 'Oslo'): use --one-hot",
    ),
    "infinite": (b"a,y\n1,0\ninf,1\n2,1\n3,0\n", "infinite values in 'a'"),
    "no header": (b"1.5,0\n2.5,1\n", "first line holds numbers only"),
    "other name": (b"age,outcom\n1,0\n2,1\n", "its columns are"),
}


@pytest.mark.parametrize(("content", "expected"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_files(tmp_path, content, expected):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    assert_one_line(run("auc", path, "--target", "y", "--strict"), expected)


BAD_OPTIONS = {
    "close target": (["--target", "Y "], "did you mean 'y'?"),
    "no target": ([], "--target"),
    "unknown drop": (["--target", "y", "--drop", "zz"], "no column 'zz'"),
    "drop the target": (["--target", "y", "--drop", "y"], "cannot be dropped"),
    "positive": (["--target", "y", "--positive", "maybe"], "choose one of 0, 1"),
    "level in percent": (["--target", "y", "--level", "95"], "write 0.95 for 95 %"),
    "level nan": (["--target", "y", "--level", "nan"], "strictly between 0 and 1"),
    "level text": (["--target", "y", "--level", "high"], "--level"),
    "C": (["--target", "y", "--C", "0"], "must be a number above 0"),
    "C nan": (["--target", "y", "--C", "nan"], "must be a number above 0"),
    "unknown option": (["--target", "y", "--jsno"], "--json"),
}


@pytest.mark.parametrize(("options", "expected"), BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options(csv, options, expected):
    assert_one_line(run("auc", csv, *options), expected)


def test_bad_places(tmp_path):
    assert_one_line(run("auc", tmp_path / "none.csv", "--target", "y"), "none.csv: no such file")
    assert_one_line(run("auc", tmp_path, "--target", "y"), "is a directory")
    assert_one_line(run("nonsense"), "nonsense")
    assert_one_line(run("demo", "--out", tmp_path / "no" / "where.png"), "there is no directory")
    assert_one_line(run("demo", "--out", tmp_path), "expected a name that ends in .png")
    assert_one_line(run("demo", "--out", tmp_path / "demo.xyz"), ".svg")
    (tmp_path / "folder.png").mkdir()
    assert_one_line(run("demo", "--out", tmp_path / "folder.png"), "choose another name")


def test_interruption(csv, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "TEXT", replace(files.TEXT, read=interrupted))
    result = run("auc", csv, "--target", "y")
    assert (result.exit_code, result.stderr) == (130, "foldless: interrupted\n")


def test_an_interruption_that_a_library_passes_on_as_its_own_error(csv, monkeypatch):
    """Ctrl-C while a compiled module loads arrives as an ImportError."""

    def interrupted(*args):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as err:
            raise RuntimeError("initialization failed") from err

    monkeypatch.setattr(files, "TEXT", replace(files.TEXT, read=interrupted))
    result = run("auc", csv, "--target", "y")
    assert (result.exit_code, result.stderr) == (130, "foldless: interrupted\n")


# ---- foldless demo

NAMES = ("foldless", "5-fold CV", "training rows", "CBAUC, the paper")


def test_demo(tmp_path):
    path = tmp_path / "demo.png"
    result = run("demo", "--studies", "3", "--out", path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == str(path)
    for name in NAMES:
        assert name in result.stdout
    with Image.open(path) as image:
        image.load()
        assert image.width > 1000
        assert len(set(image.convert("RGB").resize((200, 90)).get_flattened_data())) > 50
    assert path.stat().st_size < 150_000
    assert [p.name for p in tmp_path.iterdir()] == ["demo.png"]  # no draft left behind


def test_demo_json_is_deterministic(tmp_path):
    first, second = (as_json("demo", "--studies", "2", "--out", tmp_path / "demo.svg") for _ in range(2))
    assert set(first["estimators"][0]) == {"name", "real", "shuffled", "milliseconds"}
    for answer in (first, second):
        for row in answer["estimators"]:
            assert row.pop("milliseconds") > 0
    assert first == second
    assert (first["n_train"], first["n_test"]) == (60, 382)
    assert first["held_out"]["low"] < first["held_out"]["mean"] < first["held_out"]["high"]


def test_demo_figures_are_those_of_the_estimators():
    """One study by hand: its rows, its truth, and the error of 5-fold cross-validation."""
    answer = as_json("demo", "--studies", "2", "--seed", "3")
    DX, dy = load_diabetes(return_X_y=True, scaled=False)
    dy = (dy > np.median(dy)).astype(int)
    errors = []
    for k in range(2):
        train = np.random.default_rng([3, k]).permutation(442)[:60]
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(DX[train], dy[train])
        rest = np.setdiff1d(np.arange(442), train)
        truth = roc_auc_score(dy[rest], model.predict_proba(DX[rest])[:, 1])
        errors.append(fl.auc_posterior(model, DX[train], dy[train]).mean - truth)
    ours = answer["estimators"][0]["real"]
    assert (ours["error"], ours["bias"]) == pytest.approx((np.mean(np.abs(errors)), np.mean(errors)), abs=1e-9)


def test_demo_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    result = run("demo", "--studies", "2")
    assert result.exit_code == 0
    assert "pip install 'foldless[plot]'" in result.stdout.splitlines()[-1]
    assert_one_line(run("demo", "--out", "x.png"), "pip install 'foldless[plot]'")


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "kept.txt"
    path.write_bytes(b"old")

    def full_disk(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("foldless.files.os.replace", full_disk)
        with pytest.raises(fl.InputError, match="No space"):
            write_atomically(path, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]
    assert path.read_bytes() == b"old"
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


# ---- help, version, and the real command


@pytest.mark.parametrize("command", [[], ["auc"], ["demo"]])
def test_help_has_examples(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Examples:\n    foldless" in result.stdout


def test_no_command_prints_help():
    assert (run().exit_code, run().stdout) == (0, run("--help").stdout)


def shell(*code_or_args, code=None):
    command = [sys.executable, "-c", code or "from foldless.cli import main; main()", *map(str, code_or_args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_real_process(csv, tmp_path):
    done = shell("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"foldless {fl.__version__}\n", "")
    answered = shell("auc", csv, "--target", "y", "--json")
    assert json.loads(answered.stdout)["n_features"] == 3
    assert answered.stderr == ""
    failed = shell("auc", tmp_path / "none.csv", "--target", "y")
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("name", ["click", "rich", "polars"])
def test_missing_extra(csv, name):
    code = f"import sys; sys.modules[{name!r}] = None; from foldless.cli import main; main()"
    done = shell("auc", csv, "--target", "y", code=code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"foldless: the command line needs {name}: pip install 'foldless[cli]'\n"
