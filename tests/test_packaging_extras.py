"""What needs an extra that is not installed says which, in one line: each package is hidden in turn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import foldless as fl
from foldless.cli.app import app
from foldless_studies.data import VARIABLE
from foldless_studies.paper import ovarian

Y = np.arange(40) % 2
X = np.random.default_rng(0).normal(size=(40, 2)) + Y[:, None]
MODEL = LogisticRegression().fit(X, Y)
ACCURACY = ("benchmark", "accuracy", "--quick", "--replicates", "1", "--methods", "loo")


@pytest.fixture
def hide(monkeypatch):
    """Make the import of a package fail, as if it were not installed."""

    def hidden(name):
        for loaded in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)

    return hidden


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a table in it."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{a:.3f},{b:.3f},{c}\n" for (a, b), c in zip(X, Y, strict=True))
    (tmp_path / "table.csv").write_text("a,b,y\n" + rows)
    return tmp_path


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("matplotlib", "plot", lambda: fl.AUCPosteriorDisplay.from_estimator(MODEL, X, Y).plot()),
        ("matplotlib", "report", lambda: fl.report(MODEL, X, Y, "report.html")),
        ("jinja2", "report", lambda: fl.report(MODEL, X, Y, "report.html")),
    ],
)
def test_functions_name_the_extra(hide, folder, package, extra, call):
    """A function that draws or writes says what to install, and writes nothing."""
    hide(package)
    with pytest.raises((fl.InputError, ImportError), match=rf"{package}.*pip install 'foldless\[{extra}\]'"):
        call()
    assert [p.name for p in folder.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    ("package", "extra", "words"),
    [
        ("matplotlib", "plot", ("demo", "--out", "demo.png")),
        ("matplotlib", "plot", ("reproduce", "fig3", "--quick", "--iterations", "1")),
        ("matplotlib", "report", ("report", "table.csv", "--target", "y", "-o", "report.html")),
        ("jinja2", "report", ("report", "table.csv", "--target", "y", "-o", "report.html")),
        ("docx", "report", ("report", "table.csv", "--target", "y", "-o", "report.html", "--tables", "tables")),
        ("distributed", "dask", (*ACCURACY, "--backend", "dask")),
        ("dask", "dask", (*ACCURACY, "--backend", "dask")),
        ("fastexcel", "files", ("auc", "table.xls", "--target", "y")),
        ("pyreadstat", "files", ("auc", "table.sav", "--target", "y")),
        ("skops", "models", ("auc", "table.csv", "--target", "y", "--model-file", "model.skops")),
        ("skops", "models", ("auc", "table.csv", "--target", "y", "--save-model", "new.skops")),
        ("starlette", "app", ("app", "--no-browser")),
        ("uvicorn", "app", ("app", "--no-browser")),
    ],
)
def test_commands_name_the_extra(hide, folder, package, extra, words):
    """A command says it in one line with exit code 2, before any work, and leaves nothing behind."""
    (folder / "model.skops").write_bytes(b"PK\x05\x06" + b"\0" * 18)
    (folder / "table.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    (folder / "table.sav").write_bytes(b"$FL2")
    hide(package)
    result = CliRunner().invoke(app, words, prog_name="foldless")
    assert result.exit_code == 2, result.output
    line = result.stderr.splitlines()[-1]
    assert f"pip install 'foldless[{extra}]'" in line
    assert package in line
    assert sorted(p.name for p in folder.iterdir()) == ["model.skops", "table.csv", "table.sav", "table.xls"]


def test_a_download_names_the_package(hide, monkeypatch):
    """Without pooch the data of Figure 5 must be fetched by hand, and the message says from where."""
    monkeypatch.delenv(VARIABLE, raising=False)
    hide("pooch")
    with pytest.raises(fl.InputError, match=r"pooch.*https://.*install pooch"):
        ovarian.find()


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("click", ("--help",)),
        ("rich", ("auc", "table.csv", "--target", "y")),
        ("polars", ("auc", "table.csv", "--target", "y")),
        ("charset_normalizer", ("auc", "old.csv", "--target", "y")),
    ],
)
def test_the_command_itself_names_the_extra(folder, package, words):
    """Whatever of [cli] is missing, one line and exit code 2."""
    text = (folder / "table.csv").read_text()
    (folder / "old.csv").write_bytes(text.replace("a,b,y", "größe,b,y").encode("latin-1"))
    code = f"import sys; sys.modules['{package}'] = None; from foldless.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr == f"foldless: the command line needs {package}: pip install 'foldless[cli]'\n"
