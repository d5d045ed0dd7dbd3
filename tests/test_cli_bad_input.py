"""Mistakes on the command line: exit code 2, one line on stderr, no traceback, nothing half-written."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import foldless as fl
from cli_files import N, X, Y, assert_one_line, files_in, gzipped, lines, run, with_cell
from data import alternating
from foldless.cli.app import app
from foldless.tables import files
from foldless.tables.files import sheet

THREE = lines(labels=np.arange(N) % 3)
CITIES = np.where(Y, "Oslo", "Rome")
GAP = ["", *[1] * (N - 1)]
ACCENTS = lines(labels=np.where(Y, "père", "mère")).encode("latin-1")
COMMAS = lines(separator=";").replace(".", ",")


AGES = [74, *(30 + np.arange(N - 1) % 21)]
DAYS = [f"2020-01-{k % 28 + 1:02}" for k in range(N)]
DOUBTFUL = "a;y\n" + "1.073;0\n870;1\n1.000;1\n42;0\n" * 15


def grouped(cell):
    """Decimal commas, and one cell of a further column that is written in another way."""
    return lines(separator=";", z=[7] * 58 + ["HERE", 8]).replace(".", ",").replace("HERE", cell)


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path.read_bytes()


# ---- what is wrong with the file: name, content, further options, what the line says

FILES = {
    "empty": ("x.csv", b"", [], "is empty"),
    "empty parquet": ("x.parquet", b"", [], "is empty"),
    "empty npz": ("x.npz", b"", [], "is empty"),
    "blank": ("x.csv", b"\n \n\n", [], "is empty"),
    "header only": ("x.csv", b"a,b,y\n", [], "has a header but no rows"),
    "header and blank lines": ("x.csv", b"a,b,y\n\n\n", [], "has a header but no rows"),
    "numbers for a header": ("x.csv", b"1.5,0\n2.5,1\n", [], "first line holds numbers only"),
    "duplicated names": ("x.csv", b"a,a,y\n1,2,0\n3,4,1\n", [], "more than one column named 'a'"),
    "names equal but for padding": ("x.csv", b"a, a,y\n1,2,0\n3,4,1\n", [], "more than one column named 'a'"),
    "row too long": ("x.csv", lines() + "1,2,3,0,9\n", [], "line 62 has 5 cells, and the header 4"),
    "row too long in the middle": ("x.csv", with_cell(30, 1, "1,2"), [], "line 31 has 5 cells"),
    "row too long, all text": ("x.csv", b"a,y\nu,0\nv,1,9\nw,0\nx,1\n", ["--one-hot"], "line 3 has 3 cells"),
    "row too short": ("x.csv", lines() + "1,2\n", [], "the target column 'y' is empty in 1 of 61 rows"),
    "quote never closed": ("x.csv", with_cell(9, 0, '"1.5'), [], "a quotation mark is opened and never closed"),
    "binary junk": ("x.csv", bytes(range(256)) * 8, [], "not a text file"),
    "junk after a header": ("x.csv", b"a,y\n" + b"\x00\x01\x02" * 99, [], "not a text file"),
    "picture": ("x.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", [], "it is a picture"),
    "PDF": ("x.csv", b"%PDF-1.7\n1 0 obj\n", [], "it is a PDF"),
    "spreadsheet": ("x.xlsx", b"PK\x03\x04 and so on", [], "is damaged and cannot be unpacked"),
    "old spreadsheet": ("x.xls", b"\xd0\xcf\x11\xe0 and so on", [], "cannot be read as a .xls file"),
    "spreadsheet in name only": ("x.xlsx", lines(), [], "is not a .xlsx file"),
    "SPSS": ("x.sav", b"$FL2@(#) and so on", [], "cannot be read as a .sav file"),
    "Stata": ("x.dta", b"<stata_dta> and so on", [], "cannot be read as a .dta file"),
    "a sheet of a text": ("x.csv", lines(), ["--sheet", "Data"], "--sheet is for Excel files"),
    "zip archive": ("x.csv", b"PK\x03\x04 and so on", [], "unpack it first"),
    "one array": ("x.npy", b"\x93NUMPY\x01\x00", [], "numpy.savez(file, X=X, y=y)"),
    "parquet in name only": ("x.parquet", lines(), [], "is not a .parquet file"),
    "gz in name only": ("x.csv.gz", lines(), [], "is not a .gz file"),
    "damaged parquet": ("x.parquet", b"PAR1" + b"\x00" * 64 + b"PAR1", [], "damaged or not a Parquet file"),
    "parquet cut off": ("x.parquet", b"PAR1\x15\x04", [], "damaged or not a Parquet file"),
    "damaged gz": ("x.csv.gz", gzipped(lines())[:-20], [], "is damaged and cannot be unpacked"),
    "junk in gz": ("x.csv.gz", b"\x1f\x8b\x08" + b"\x55" * 50, [], "is damaged and cannot be unpacked"),
    "damaged npz": ("x.npz", b"PK\x03\x04 and so on", [], "is damaged and cannot be unpacked"),
    "one class": ("x.csv", lines(labels=np.ones(N, int)), [], "one class only (1)"),
    "constant text as target": ("x.csv", lines(labels=["yes"] * N), [], "one class only ('yes')"),
    "a measurement as target": ("x.csv", lines(labels=np.arange(N) / 7), [], "60 different values"),
    "one row of a class": ("x.csv", lines(labels=[1] + [0] * (N - 1)), [], "class '1' of the target column 'y' has 1"),
    "missing label": ("x.csv", with_cell(5, 3, ""), [], "is empty in 1 of 60 rows"),
    "NA as label": ("x.csv", with_cell(5, 3, "NA"), [], "is empty in 1 of 60 rows"),
    "no feature": ("x.csv", b"y\n0\n1\n0\n1\n", [], "no column left"),
    "missing value": ("x.csv", with_cell(5, 1, ""), [], "missing values in 'b' (1 row): use --impute median"),
    "NaN": ("x.csv", with_cell(5, 1, "NaN"), [], "missing values in 'b' (1 row)"),
    "question mark": ("x.csv", with_cell(5, 1, "?"), [], "missing values in 'b' (1 row)"),
    "no value at all": ("x.csv", lines(gap=[""] * N), ["--impute", "median"], "no value at all in 'gap'"),
    "infinity": ("x.csv", with_cell(5, 0, "inf"), [], "infinite values in 'a' (1 row)"),
    "minus infinity": ("x.csv", with_cell(5, 0, "-Infinity"), ["--impute", "median"], "infinite values in 'a'"),
    "text": ("x.csv", lines(city=CITIES), [], "text in 'city' (60 rows, such as 'Rome'): use --one-hot"),
    "a word far down": ("x.csv", with_cell(N, 2, "high"), [], "words among numbers in 'c' (1 row, such as 'high')"),
    "text and gaps": ("x.csv", lines(city=CITIES, gap=GAP), [], "--one-hot and --impute median"),
    "negative under a logarithm": ("x.csv", lines(), ["--log"], "values below 0 in 'a'"),
    "three classes, --positive": ("x.csv", THREE, ["--positive", "7"], "--positive '7' is not in the target column"),
    "three classes, --threshold": ("x.csv", THREE, ["--threshold", "0.5"], "all others, such as --positive 0, or"),
    "three classes, pls": ("x.csv", THREE, ["--model", "pls"], "all others, such as --positive 0, or"),
    "three classes, --prevalence": ("x.csv", THREE, ["--prevalence", "0.1"], "--prevalence is for two classes"),
    "few groups": ("x.csv", lines(g=Y), ["--groups", "g"], "got 1: add subjects, or --drop the column that names"),
    "three classes, --groups": ("x.csv", lines(labels=np.arange(N) % 3, g=Y), ["--groups", "g"], "at least 4 groups"),
    "group without a name": ("x.csv", lines(g=GAP), ["--groups", "g"], "the groups column 'g' is empty"),
    "one group": ("x.csv", lines(g=[1] * N), ["--groups", "g"], "group"),
    "wrong encoding": ("x.csv", ACCENTS, ["--encoding", "utf-8"], "is not in the encoding UTF-8"),
    "wrong separator": ("x.csv", lines(), ["--sep", ";"], "its only column is 'a,b,c,y'; it was read as semicolon"),
    "wrong decimal mark": ("x.csv", COMMAS, ["--decimal", "."], "another decimal mark in 'a' (60 rows, such as '0,"),
    "text that is no number by mark": ("x.csv", lines(z=["1_000"] * N), [], "text in 'z' (60 rows, such as '1_000')"),
    "thousands, decimal comma": ("x.csv", grouped("3.220,25"), [], "such as '3.220,25'): use --thousands '.', or"),
    "thousands of points alone": ("x.csv", grouped("1.020"), [], "such as '1.020'): use --thousands '.', or leave out"),
    "a point under a comma": ("x.csv", grouped("1.5"), [], "another decimal mark in 'z' (1 row, such as '1.5'): leave"),
    "thousands, thin space": ("x.csv", grouped("3\u202f220,25"), [], "use --thousands space, or leave out"),
    "thousands, apostrophe": ("x.csv", grouped("3'220,25"), [], "use --thousands \"'\", or leave out"),
    "thousands, decimal point": ("x.csv", with_cell(5, 0, '"3,220.25"'), [], "use --thousands ',', or leave out"),
    "thousands or decimals": ("x.csv", with_cell(5, 0, '"3,220"'), [], "(or --decimal ',', if the comma is the"),
    "a space and a comma": ("x.csv", with_cell(5, 0, '"3 220,25"'), [], "use --thousands space --decimal ','"),
    "no telling": ("x.csv", DOUBTFUL, [], "has '1.073' beside '870' in column 'a', and nothing tells whether"),
    "no telling, commas": ("x.csv", DOUBTFUL.replace(".", ","), [], "use --thousands ',' or --decimal ','"),
    "one mark for both": ("x.csv", COMMAS, ["--decimal", ",", "--thousands", ","], "one mark cannot be both"),
    "below a limit": ("x.csv", with_cell(5, 0, "<100"), [], "(1 row, such as '<100'): use --censored half or"),
    "dates": ("x.csv", lines(d=DAYS), [], "such as '2020-01-01'): leave out with --drop d, or turn dates into numbers"),
    "German dates": ("x.csv", lines(d=["24.12.2020"] * N), [], "dates or times in 'd'"),
    "percent": ("x.csv", lines(p=["70%"] * N), [], "remove those signs"),
    "n.a.": ("x.csv", with_cell(5, 1, "n.a."), [], "missing values in 'b' (1 row)"),
    "<NA>": ("x.csv", with_cell(5, 1, "<NA>"), [], "missing values in 'b' (1 row)"),
    "#N/A as label": ("x.csv", with_cell(5, 3, "#N/A"), [], "is empty in 1 of 60 rows"),
    "ages as target": ("x.csv", lines(labels=AGES), [], "looks like a measurement: 22 different numbers, 1 of them"),
    "decimal commas as target": ("x.csv", lines(separator=";", labels=["1,5", "2,5"] + ["0,5"] * 58), [], "looks like"),
    "nothing but a separator": ("x.csv", b"sep=;\n", [], "is empty"),
    "no number fits": ("x.csv", with_cell(5, 0, "1e400"), [], "infinite values in 'a'"),
    "numbers too large": ("x.csv", with_cell(5, 0, "1e308"), ["--no-standardize"], ""),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "expected"), FILES.values(), ids=FILES.keys())
def test_bad_files(tmp_path, name, content, options, expected):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_one_line(run("auc", path, "--target", "y", "--strict", *options), expected)
    assert files_in(tmp_path) == [name]


ARCHIVES = {
    "no X": ({"Z": X, "y": Y}, [], "has no array 'X' (it has 'Z', 'y')"),
    "no y": ({"X": X}, [], "has no column 'y'"),
    "objects as X": ({"X": X.astype(object), "y": Y}, [], "never unpickled"),
    "objects as y": ({"X": X, "y": np.array([*"ab"] * 30, dtype=object)}, [], "never unpickled"),
    "text as X": ({"X": X.astype(str), "y": Y}, [], "expected numbers"),
    "complex X": ({"X": X + 0j, "y": Y}, [], "expected numbers"),
    "X of one dimension": ({"X": X[:, 0], "y": Y}, [], "has the shape (60,)"),
    "X without rows": ({"X": X[:0], "y": Y[:0]}, [], "has the shape (0, 3)"),
    "y too short": ({"X": X, "y": Y[1:]}, [], "expected one value for each of the 60 rows"),
    "too few names": ({"X": X, "y": Y, "feature_names": ["a", "b"]}, [], "2 names for the 3 columns"),
    "names twice": ({"X": X, "y": Y, "feature_names": ["a", "b", "a"]}, [], "more than one column named 'a'"),
    "NaN": ({"X": np.where(X > 1.5, np.nan, X), "y": Y}, [], "missing values in 'x0'"),
    "a hint for text": ({"X": X, "y": Y}, ["--sep", ","], "--sep is for text files"),
}


@pytest.mark.parametrize(("arrays", "options", "expected"), ARCHIVES.values(), ids=ARCHIVES.keys())
def test_bad_archives(tmp_path, arrays, options, expected):
    np.savez(tmp_path / "x.npz", **arrays)
    assert_one_line(run("auc", tmp_path / "x.npz", "--strict", *options), expected)


FRAMES = {
    "dates": (pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 29), eager=True), "dates or times in 'z': leave out"),
    "lists": (pl.Series([[1, 2]] * N), "lists or structures in 'z'"),
    "text": (pl.Series(CITIES), "text in 'z' (60 rows, such as 'Rome')"),
    "nulls": (pl.Series([None, *range(N - 1)]), "missing values in 'z' (1 row)"),
}


@pytest.mark.parametrize(("column", "expected"), FRAMES.values(), ids=FRAMES.keys())
def test_bad_parquet(tmp_path, column, expected):
    pl.DataFrame({"a": X[:, 0], "z": column, "y": Y}).write_parquet(tmp_path / "x.parquet")
    assert_one_line(run("auc", tmp_path / "x.parquet", "--target", "y", "--strict"), expected)


def test_parquet_without_rows(tmp_path):
    pl.DataFrame({"a": [1.0], "y": [1]}).clear().write_parquet(tmp_path / "x.parquet")
    assert_one_line(run("auc", tmp_path / "x.parquet", "--target", "y"), "has columns but no rows")


def test_bombs_are_refused_before_they_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(sheet, "HARMLESS", 2**20)
    (tmp_path / "x.csv.gz").write_bytes(gzipped(b"a,y\n" + b"1,0\n" * 10**6))
    assert_one_line(run("auc", tmp_path / "x.csv.gz", "--target", "y"), "unpacks to more than 200 times its size")
    np.savez_compressed(tmp_path / "x.npz", X=np.zeros((10**5, 9)), y=np.zeros(10**5))
    assert_one_line(run("auc", tmp_path / "x.npz"), "unpacks to more than 200 times its size")


def test_bad_places(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert_one_line(run("auc", tmp_path / "pipe.csv", "--target", "y"), "is not a regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read(tmp_path):
    (tmp_path / "x.csv").write_text(lines())
    (tmp_path / "x.csv").chmod(0)
    assert_one_line(run("auc", tmp_path / "x.csv", "--target", "y"), "permission denied")


# ---- what is wrong with the options, on a good file

OPTIONS = {
    "no target": (["auc"], "Missing option '--target'", "'a', 'b', 'c', 'g', 'y'"),
    "close target": (["auc", "--target", "Y"], "did you mean 'y'?"),
    "other target": (["auc", "--target", "outcome"], "its columns are 'a', 'b', 'c', 'g', 'y'"),
    "unknown drop": (["auc", "--target", "y", "--drop", "zzz"], "no column 'zzz'"),
    "unknown id": (["auc", "--target", "y", "--id", "zzz"], "no column 'zzz'"),
    "unknown groups": (["auc", "--target", "y", "--groups", "G"], "no column 'G': did you mean 'g'?"),
    "target dropped": (["auc", "--target", "y", "--drop", "y"], "cannot be dropped as well"),
    "groups dropped": (["auc", "--target", "y", "--groups", "g", "--drop", "g"], "cannot be dropped as well"),
    "target as id": (["auc", "--target", "y", "--id", "y"], "use a column for one purpose only"),
    "everything dropped": (["auc", "--target", "y", *(w for c in "abcg" for w in ("--drop", c))], "no column left"),
    "positive": (["auc", "--target", "y", "--positive", "maybe"], "choose one of 0, 1"),
    "level in percent": (["auc", "--target", "y", "--level", "95"], "write 0.95 for 95 %"),
    "level text": (["auc", "--target", "y", "--level", "high"], "--level"),
    "prevalence": (["auc", "--target", "y", "--prevalence", "20"], "write 0.2 for 20 %"),
    "threshold": (["auc", "--target", "y", "--threshold", "nan"], "must be a finite number"),
    "C": (["auc", "--target", "y", "--C", "0"], "must be a number above 0"),
    "C of lda": (["auc", "--target", "y", "--model", "lda", "--C", "2"], "--C is not for lda: use --shrinkage"),
    "shrinkage of ridge": (["auc", "--target", "y", "--model", "ridge", "--shrinkage", "auto"], "is for lda"),
    "shrinkage": (["auc", "--target", "y", "--model", "lda", "--shrinkage", "2"], "above 0 and below 1, or auto"),
    "model": (["auc", "--target", "y", "--model", "tree"], "'logistic', 'ridge', 'lda', 'svm'"),
    "impute": (["auc", "--target", "y", "--impute", "mean"], "'median'"),
    "seed": (["auc", "--target", "y", "--seed", "-1"], "--seed"),
    "long separator": (["auc", "--target", "y", "--sep", "::"], "must be one mark"),
    "separator of letters": (["auc", "--target", "y", "--sep", "a"], "must be one mark"),
    "encoding": (["auc", "--target", "y", "--encoding", "klingon"], "such as utf-8, latin-1 or cp1252"),
    "no text encoding": (["auc", "--target", "y", "--encoding", "base64"], "such as utf-8, latin-1 or cp1252"),
    "decimal": (["auc", "--target", "y", "--decimal", ";"], "--decimal"),
    "unknown option": (["auc", "--target", "y", "--jsno"], "--json"),
    "unknown command": (["acu"], "Did you mean 'auc'?"),
    "picture format": (["auc", "--target", "y", "--out", "x.gif"], "ends in .png"),
    "picture folder": (["auc", "--target", "y", "--out", "no/where.png"], "there is no directory no"),
    "model file missing": (["auc", "--target", "y", "--model-file", "m.skops"], "m.skops: no such file"),
    "search with C": (["search", "--target", "y", "--C", "1"], "use --Cs"),
    "search, bad Cs": (["search", "--target", "y", "--Cs", "1,two"], "values separated by commas"),
    "search, negative C": (["search", "--target", "y", "--Cs", "-1,1"], "'--Cs': must be numbers above 0"),
    "search, lda": (["search", "--target", "y", "--model", "lda", "--Cs", "0.5,2"], "numbers above 0 and below 1"),
    "search, no target": (["search"], "Missing option '--target'"),
    "compare, one model": (["compare", "--target", "y", "--models", "lda"], "needs two classifiers or more"),
    "compare, no models": (["compare", "--target", "y"], "--models"),
    "compare with --model": (["compare", "--target", "y", "--models", "lda,svm", "--model", "lda"], "name them all in"),
    "plan, no target": (["plan"], "Missing option '--target'"),
    "report, not html": (["report", "--target", "y", "-o", "x.pdf"], "ends in .html"),
    "report, no folder": (["report", "--target", "y", "-o", "no/x.html"], "there is no directory no"),
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS.values(), ids=OPTIONS.keys())
def test_bad_options(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    (command, *options), *expected = case
    Path("x.csv").write_text(lines(g=np.arange(N) // 4))
    assert_one_line(run(command, "x.csv", *options), *expected)
    assert files_in(tmp_path) == ["x.csv"]


def test_three_classes_where_two_are_needed(tmp_path):
    (tmp_path / "x.csv").write_text(THREE)
    result = run("permute", tmp_path / "x.csv", "--target", "y")
    assert_one_line(result, "permute is for two classes", "has 3 (0, 1, 2)")


# ---- saved models


class Homemade(ClassifierMixin, BaseEstimator):
    """A class that no reader can know."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def saved_models(folder):
    fitted = LogisticRegression().fit(X, Y)
    skops.io.dump(fitted, folder / "good.skops")
    skops.io.dump(LogisticRegression().fit(X[:, :2], Y), folder / "narrow.skops")
    skops.io.dump(LogisticRegression().fit(pl.DataFrame(X, schema=["a", "b", "q"]), Y), folder / "named.skops")
    skops.io.dump(LogisticRegression().fit(X, np.where(Y, "ill", "well")), folder / "classes.skops")
    skops.io.dump(LogisticRegression(), folder / "unfitted.skops")
    skops.io.dump({"a": 1}, folder / "dict.skops")
    skops.io.dump(Homemade().fit(X, Y), folder / "homemade.skops")
    (folder / "m.pkl").write_bytes(pickle.dumps(fitted))
    (folder / "renamed.skops").write_bytes(pickle.dumps(fitted))
    joblib.dump(fitted, folder / "m.joblib")
    (folder / "junk.skops").write_bytes(b"PK\x03\x04junk")
    (folder / "text.skops").write_text("a,b\n")


SAVED = {
    "m.pkl": ("is a pickle", "skops.io.dump(model, 'model.skops')"),
    "m.joblib": ("is a pickle",),
    "renamed.skops": ("is a pickle",),
    "junk.skops": ("damaged",),
    "text.skops": ("is not a skops file",),
    "dict.skops": ("holds a dict, expected a fitted classifier",),
    "homemade.skops": ("not known to be harmless", "Homemade"),
    "narrow.skops": ("was fitted on 2 columns", "offers 3"),
    "named.skops": ("does not offer: 'q'",),
    "classes.skops": ("was fitted to the classes 'ill', 'well'", "has 0, 1"),
    "unfitted.skops": ("not fitted",),
}


@pytest.mark.parametrize("name", SAVED)
def test_bad_models(tmp_path, name):
    saved_models(tmp_path)
    (tmp_path / "x.csv").write_text(lines())
    assert_one_line(run("auc", tmp_path / "x.csv", "--target", "y", "--model-file", tmp_path / name), *SAVED[name])


def test_a_saved_model_brings_its_own_steps(tmp_path):
    saved_models(tmp_path)
    (tmp_path / "x.csv").write_text(lines())
    options = ["--target", "y", "--model-file", tmp_path / "good.skops"]
    assert_one_line(run("auc", tmp_path / "x.csv", *options, "--C", "2"), "--C does not go with --model-file")


# ---- interrupted, or out of space


def test_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    (tmp_path / "x.csv").write_text(lines())
    monkeypatch.setattr(files, "TEXT", replace(files.TEXT, read=interrupted))
    result = run("auc", tmp_path / "x.csv", "--target", "y", "--out", tmp_path / "x.png")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "foldless: interrupted\n")
    assert files_in(tmp_path) == ["x.csv"]


def test_an_interruption_while_the_scratch_folder_is_made_leaves_nothing(tmp_path, monkeypatch):
    """The signal may arrive between the system call that makes the folder and the next line of Python."""
    make = Path.mkdir

    def made_then_interrupted(folder, *args, **options):
        make(folder, *args, **options)
        raise KeyboardInterrupt

    (tmp_path / "x.csv").write_text(lines())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr(Path, "mkdir", made_then_interrupted)
    result = run("auc", tmp_path / "x.csv", "--target", "y")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "foldless: interrupted\n")
    assert files_in(scratch) == []


@pytest.mark.slow
def test_a_real_interruption_leaves_nothing(tmp_path):
    """SIGINT in the middle of a long read: exit code 130, one line, and the scratch files are gone."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    rows = "\n".join(["a,y", *(f"{k}.5,{k % 2}é" for k in range(10**6))])
    (tmp_path / "x.csv").write_bytes(rows.encode("latin-1"))
    command = [sys.executable, "-c", "from foldless.cli import main; main()", "auc", str(tmp_path / "x.csv")]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen(
        [*command, "--target", "y"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    while process.poll() is None and not files_in(scratch):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err) == (130, "", "foldless: interrupted\n")
    assert files_in(scratch) == []


def test_full_disk(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    (tmp_path / "x.csv").write_text(lines())
    monkeypatch.setattr("foldless.files.os.replace", full)
    assert_one_line(run("auc", tmp_path / "x.csv", "--target", "y", "--out", tmp_path / "x.png"), "No space left")
    assert files_in(tmp_path) == ["x.csv"]


def test_not_enough_memory(tmp_path, monkeypatch):
    def greedy(*args, **kwargs):
        raise MemoryError

    (tmp_path / "x.csv").write_text(lines())
    monkeypatch.setattr(fl, "auc_posterior", greedy)
    assert_one_line(run("auc", tmp_path / "x.csv", "--target", "y"), "not enough memory")


def test_mistakes_of_foldless_itself(tmp_path, monkeypatch):
    """One line as well, with exit code 1, and the traceback for those who ask for it."""

    def wrong(*args, **kwargs):
        raise ZeroDivisionError("division\nby zero")

    (tmp_path / "x.csv").write_text(lines())
    monkeypatch.setattr(fl, "auc_posterior", wrong)
    result = run("auc", tmp_path / "x.csv", "--target", "y")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "internal error in foldless (ZeroDivisionError: division by zero)" in result.stderr
    monkeypatch.setenv("FOLDLESS_DEBUG", "1")
    assert isinstance(run("auc", tmp_path / "x.csv", "--target", "y").exception, ZeroDivisionError)


def test_names_cannot_write_to_the_terminal(tmp_path):
    """Escape sequences and right-to-left marks in names and labels are spelled out, in answers and in complaints."""
    evil = "\x1b[31mred\u202e"
    path = tmp_path / "x.csv"
    path.write_text(lines(names=("a", "b", "c"), labels=np.where(Y, "bad\u202e", "good")))
    said = run("auc", path, "--target", "y").stdout
    assert "bad\\u202e" in said
    assert "\u202e" not in said
    assert_one_line(run("auc", path, "--target", evil), "\\x1b[31mred\\u202e")


def test_json_of_a_mistake_is_nothing(tmp_path):
    (tmp_path / "x.csv").write_text("")
    assert_one_line(run("auc", tmp_path / "x.csv", "--target", "y", "--json"), "is empty")
    with pytest.raises(json.JSONDecodeError):
        json.loads(run("auc", tmp_path / "x.csv", "--target", "y", "--json").stdout)


@pytest.mark.parametrize("content", [b"0\xe5", b"y,a\n0,1\n1,\xe2\x82"])
def test_file_that_ends_inside_a_letter(content, tmp_path):
    """Valid UTF-8 but for its last letter, which the end of the file cuts off: the command failed in its own name."""
    path = tmp_path / "cut.csv"
    path.write_bytes(content)
    result = CliRunner().invoke(app, ["auc", str(path), "--target", "y"], prog_name="foldless")
    assert result.exit_code == 2
    assert "internal error in foldless" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


# ---- numbers at which the support vector machine never ends


def refusal(*words):
    """The one line of a command that ends with exit code 2."""
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="foldless")
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def table(tmp_path):
    """A function that writes an archive with this X, whose labels are 0, 1, 0, 1, ..."""

    def written(X):
        np.savez(tmp_path / "table.npz", X=X, y=np.arange(len(X)) % 2)
        return tmp_path / "table.npz"

    return written


@pytest.mark.parametrize("C", ["1e-300", "1e300"])
@pytest.mark.parametrize("command", [("auc", "--model", "svm", "--C"), ("compare", "--models", "lda,svm", "--C"),
                                     ("search", "--model", "svm", "--Cs")])  # fmt: skip
def test_strengths_at_which_the_support_vector_machine_never_ends_are_refused(table, command, C):
    """The solver squares C, which overflows or vanishes, and it went round forever."""
    X, _ = alternating(24, 2, shift=1.0)
    assert "C of svm must lie between 1e-30 and 1e+30" in refusal(command[0], table(X), *command[1:], C)


@pytest.mark.parametrize(("size", "how"), [(1e120, "--no-standardize"), (1e-220, "--standardize")])
def test_numbers_at_which_the_support_vector_machine_never_ends_are_refused(table, size, how):
    """The same for squares of the columns; those of 1e-220 vanish, so that standardizing leaves them as they are."""
    X, _ = alternating(24, 2, shift=1.0)
    line = refusal("auc", table(X * size), "--model", "svm", how)
    assert "the largest number that reaches the svm is" in line
    assert "rescale the columns" in line


PLAN = [sys.executable, "-c", "from foldless.cli import main; main()", "plan", "--auc", "0.8", "--half-width", "0.05"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_reported(unbuffered):
    """Not only the system's words: what could not be written, and what to do; also if it shows only at the end."""
    with open("/dev/full", "w") as full:
        env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        found = subprocess.run(PLAN, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=env)
    assert found.returncode == 2
    assert (
        found.stderr
        == "foldless: the answer cannot be written (No space left on device): make room, or send it elsewhere.\n"
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_is_no_error(unbuffered):
    """`foldless ... | head -0`: no word about it."""
    reading, writing = os.pipe()
    os.close(reading)
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    found = subprocess.run(PLAN, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, env=env)
    os.close(writing)
    assert (found.returncode, found.stderr) == (1, "")
