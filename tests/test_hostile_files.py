"""Files made to do harm: each is refused in one line or handled as plain data, and nothing of it runs or escapes.

Handled means: exit code 0, and no control character, markup or path of the file acts in what is printed or written.
"""

import gzip
import io
import json
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from cli_files import N, X, Y, files_in, gzipped, lines, run
from foldless.cli.app import app

MARK = "foldless-was-here"
# What a terminal would act on: all control characters but the ends of lines and tabs.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Payload:
    """Writes a file when it is unpickled."""

    def __reduce__(self):
        return os.system, (f"touch {MARK}",)


def as_csv(name):
    """The table with a column and a label of that name, all quoted."""
    quoted = ['"' + text.replace('"', '""') + '"' for text in (name, "b", "c", "no")]
    return lines(names=quoted[:3], labels=[quoted[0] if k else quoted[3] for k in Y]).encode()


def as_parquet(name):
    """The same as Parquet."""
    out = io.BytesIO()
    columns = dict(zip((name, "b", "c"), X.T, strict=True))
    pl.DataFrame({**columns, "y": [name if k else "no" for k in Y]}).write_parquet(out)
    return out.getvalue()


def packed(**members):
    """A zip archive of raw members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def saved(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def member(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def parquet(**columns):
    out = io.BytesIO()
    pl.DataFrame({**{k: X[:, i] for i, k in enumerate("ab")}, **columns, "y": Y}).write_parquet(out)
    return out.getvalue()


def huge_array():
    """An .npy header that promises 8 exabytes."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }"
    head += b" " * (118 - 1 - len(head)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + b"\x00" * 64


NESTED = '"' + '""' * 20_000 + '"'
REFUSED = {
    "gz bomb": ("x.csv.gz", lambda: gzip.compress(bytes(300_000_000), compresslevel=1), "unpacks to more than"),
    "a row of two million cells": ("x.csv.gz", gzipped(b"a,b,y\n" + b"0," * 2_000_000), "x.csv"),
    "gz within gz": ("x.csv.gz", gzipped(gzipped(lines())), "x.csv"),
    "npz bomb": ("x.npz", lambda: packed(**{"X.npy": bytes(300_000_000), "y.npy": member(Y)}), "unpacks to more than"),
    "npz with bytes for X": ("x.npz", packed(**{"X.npy": b"\0" * 900, "y.npy": member(Y)}), "not an array"),
    "npz that promises exabytes": ("x.npz", packed(**{"X.npy": huge_array(), "y.npy": member(Y)}), "x.npz"),
    "npz with a pickle for X": ("x.npz", saved(X=np.array([[Payload()]] * N, dtype=object), y=Y), "unpickled"),
    "npz with a pickle for y": ("x.npz", saved(X=X, y=np.array([Payload()] * N, dtype=object)), "unpickled"),
    "npz that is a bare pickle": ("x.npz", pickle.dumps(Payload()), "x.npz"),
    "npz with a path for a name": ("x.npz", packed(**{"../../X.npy": member(X), "y.npy": member(Y)}), "X"),
    "pickle named csv": ("x.csv", pickle.dumps(Payload()), "not a text file"),
    "pickle named parquet": ("x.parquet", pickle.dumps(Payload()), "not a .parquet file"),
    "parquet footer of 2 GB": ("x.parquet", b"PAR1" + b"\0" * 40 + b"\xff\xff\xff\x7fPAR1", "damaged"),
    "parquet cut in the middle": ("x.parquet", parquet()[:-200], "damaged"),
    "nested column": ("x.parquet", parquet(deep=[[1.0, 2.0]] * N), "deep"),
    "quote never closed": ("x.csv", lines().replace("1.", '"1.', 1), "quotation mark"),
    "zero bytes in a cell": ("x.csv", lines().replace(".", "\x00", 1), "not a text file"),
    "escape codes as a label": ("x.csv", lines(labels=[f"\x1b[2J{k}" for k in range(N)]), "different values"),
    "a program": ("x.csv", Path(os.path.realpath("/bin/ls")).read_bytes()[:4096], "not a text file"),
    "a million columns, two of one name": ("x.csv", ",".join(["a"] * 1_000_000) + "\n", "more than one column"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(case, tmp_path, monkeypatch):
    """Exit code 2, one printable line on stderr, nothing left behind, and no payload has run."""
    monkeypatch.chdir(tmp_path)
    name, content, expected = REFUSED[case]
    content = content() if callable(content) else content
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("auc", name, "--target", "y", "--strict")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("foldless: ")
    assert result.stderr.count("\n") == 1
    assert expected in result.stderr
    assert len(result.stderr) < 2000
    assert not CONTROL.search(result.stderr)
    assert files_in(tmp_path) == [name]


# Names that a terminal, a browser, a spreadsheet or a shell would act on.
NAMES = {
    "escape codes": "\x1b[31mred\x1b[0m\x07",
    "a title for the terminal": "\x1b]0;owned\x07",
    "carriage return": "harmless\rfoldless",
    "backspaces": "abc\b\b\bxyz",
    "text turned round": "\u202egnp.exe",
    "markup of the terminal": "[bold red]x[/] [link=http://x]",
    "script": "<script>alert(1)</script>",
    "picture": '"><img src=x onerror=alert(1)>',
    "end of the style": "</style></svg><script>alert(1)</script>",
    "template": "{{ 7*7 }}{% include '/etc/passwd' %}",
    "formula": "=cmd|'/c calc'!A0",
    "formula with at": "@SUM(1+1)*cmd",
    "path": "../../../../etc/passwd",
    "command": "$(touch foldless-was-here)`touch foldless-was-here`",
    "quotes": NESTED[:200],
    "longest": "n" * 20_000,
    "mathematics of a picture": r"$\frac{1}{2$ \input{/etc/passwd}",
    "percent": "%s%n%(x)s{0}",
}


QUICK = ("formula", "command", "longest")  # all others are tried in `make slow`


@pytest.mark.parametrize(
    "case", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_names_stay_names(case, tmp_path, monkeypatch):
    """As a column and as a label: printed without control characters, whole in the JSON, text in the report."""
    monkeypatch.chdir(tmp_path)
    bad = NAMES[case]
    # As CSV, text with control characters is refused; Parquet holds any text.
    name, content = ("x.parquet", as_parquet(bad)) if CONTROL.search(bad) else ("x.csv", as_csv(bad))
    Path(name).write_bytes(content)
    shown = run("auc", name, "--target", "y")
    assert shown.exit_code == 0, shown.output
    assert not CONTROL.search(shown.output)
    found = json.loads(run("auc", name, "--target", "y", "--json").stdout)
    assert {found["positive"], found["negative"]} == {bad, "no"}
    told = run("auc", name, "--target", "z")
    assert told.exit_code == 2
    assert not CONTROL.search(told.stderr)
    assert told.stderr.count("\n") == 1
    made = run("report", name, "--target", "y", "-o", "r.html", "--no-search")
    assert made.exit_code == 0, made.output
    page = Path("r.html").read_text()
    assert not CONTROL.search(page)
    assert not re.search(r"<(script|img|iframe|object)\b", page)
    assert case != "template" or "{{ 7*7 }}" in page
    assert files_in(tmp_path) == sorted(["r.html", name])


MODELS = {
    "pickle": ("m.pkl", lambda: pickle.dumps(Payload()), "is a pickle"),
    "pickle named skops": ("m.skops", lambda: pickle.dumps(Payload()), "is a pickle"),
    "old pickle named skops": ("m.skops", lambda: pickle.dumps(Payload(), protocol=0), "not a skops file"),
    "joblib": ("m.joblib", lambda: pickle.dumps(LogisticRegression()), "is a pickle"),
    "a function of the system": ("m.skops", lambda: skops.io.dumps(FunctionTransformer(os.system)), "system"),
    "schema that names os.system": ("m.skops", lambda: forged("posix", "system"), "system"),
    "schema that names eval": ("m.skops", lambda: forged("builtins", "eval"), "eval"),
    "bomb": ("m.skops", lambda: packed(**{"schema.json": b" " * 300_000_000}), "m.skops"),
    "schema nested too deep": ("m.skops", lambda: packed(**{"schema.json": b'{"content":' * 60_000}), "m.skops"),
    "path for a member": ("m.skops", lambda: packed(**{"../../m.py": b"print(1)", "schema.json": b"{}"}), "m.skops"),
}


def forged(module, name):
    """A skops archive whose schema asks for a function by name."""
    schema = json.loads(zipfile.ZipFile(io.BytesIO(skops.io.dumps(FunctionTransformer(np.sqrt)))).read("schema.json"))

    def poisoned(node):
        if isinstance(node, dict):
            changed = {k: poisoned(v) for k, v in node.items()}
            if changed.get("__class__") == "sqrt" or changed.get("__module__") == "numpy":
                changed.update(__module__=module, __class__=name)
            return changed
        return [poisoned(v) for v in node] if isinstance(node, list) else node

    return packed(**{"schema.json": json.dumps(poisoned(schema)).encode()})


@pytest.mark.parametrize("case", MODELS)
def test_models_that_would_run_something(case, tmp_path, monkeypatch):
    """Refused by name before anything of the file is built."""
    monkeypatch.chdir(tmp_path)
    name, content, expected = MODELS[case]
    Path("x.csv").write_text(lines())
    Path(name).write_bytes(content())
    result = run("auc", "x.csv", "--target", "y", "--model-file", name)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert expected in result.stderr
    assert not CONTROL.search(result.stderr)
    assert files_in(tmp_path) == sorted([name, "x.csv"])


# ---- names of classes


FORGED = "died\nAUC                          0.999"


@pytest.fixture
def forged_labels(tmp_path):
    """A table whose class label holds a line of an answer, and characters that a terminal obeys."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + y[:, None]
    pl = pytest.importorskip("polars")
    labels = np.where(y == 1, FORGED, "well\x9b2J\u202e")
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": labels}).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("words", [["auc"], ["search"], ["compare", "--models", "logistic,ridge"], ["plan"]])
def test_a_label_cannot_add_a_line_to_an_answer(forged_labels, words):
    """A line break in a name is written out, as every other character that a terminal would obey."""
    result = CliRunner().invoke(app, [words[0], str(forged_labels), "--target", "y", *words[1:]])
    assert result.exit_code == 0, result.output
    assert not any(line.startswith("AUC    ") and "0.999" in line for line in result.output.splitlines())
    assert not {"\x9b", "\u202e", "\x1b"} & set(result.output)


def test_json_of_an_answer_holds_no_character_that_a_terminal_obeys(forged_labels):
    """JSON keeps the name, as an escape."""
    result = CliRunner().invoke(app, ["auc", str(forged_labels), "--target", "y", "--positive", FORGED, "--json"])
    assert json.loads(result.output)["negative"] == "well\x9b2J\u202e"
    assert not {"\x9b", "\u202e"} & set(result.output)
