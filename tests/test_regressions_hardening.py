"""Defects that a review of the hardening found, each with the smallest case that showed it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from foldless_studies import markdown
from foldless_studies.speed import page, rivals
from foldless_studies.spreadsheet import inert
from foldless_studies.store import Store
from foldless_studies.workers import Workers
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from foldless.cli.app import app
from foldless.honest.classes import remove_rows_of_classes
from foldless.honest.scores import remove_rows
from foldless.model.view import take_apart

# ---- fits without a penalty, and rows that hold up a weight alone


UNPENALISED = {
    "lda": LinearDiscriminantAnalysis(),
    "lda lsqr": LinearDiscriminantAnalysis(solver="lsqr"),
    "ridge": RidgeClassifier(alpha=0.0, solver="svd"),
}


def with_rare_column(rows, *, n=30, seed=0, scale=1.0):
    """Two classes, and a column in which only `rows` differ from zero."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < n // 2).astype(int)
    rare = np.zeros((n, 1))
    rare[rows] = scale
    return np.hstack([rng.normal(size=(n, 4)) + 0.6 * y[:, None], rare]), y


def scores_without(model, X, y, gone):
    """Scores of the rows `gone` under a refit that lacks them."""
    keep = np.setdiff1d(np.arange(len(y)), gone)
    return clone(model).fit(X[keep], y[keep]).decision_function(X[gone])


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("name", UNPENALISED)
def test_row_with_a_column_of_its_own(name, scale):
    """Its leverage is 1, and its score in the sample is its label; the honest score is that of a refit."""
    X, y = with_rare_column([5], scale=scale)
    found = fl.honest_scores(clone(UNPENALISED[name]).fit(X, y), X, y).scores
    exact = [scores_without(UNPENALISED[name], X, y, [i])[0] for i in range(30)]
    assert found == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("name", UNPENALISED)
def test_pair_of_rows_with_a_column_of_their_own(name):
    """Neither has leverage 1, but both together leave the weight of the column open."""
    X, y = with_rare_column([5, 20])
    found = remove_rows(take_apart(clone(UNPENALISED[name]).fit(X, y), X, y))
    i, j = list(found.rows1).index(5), list(found.rows0).index(20)
    exact = scores_without(UNPENALISED[name], X, y, [5, 20])
    assert [found.without_pair1[i, j], found.without_pair0[i, j]] == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("name", UNPENALISED)
def test_group_with_a_column_of_its_own(name):
    """A hospital with one patient: rows that are left out together."""
    X, y = with_rare_column([5, 14, 20])
    groups = np.arange(30)
    groups[[5, 14, 20]] = 5
    found = fl.honest_scores(clone(UNPENALISED[name]).fit(X, y), X, y, groups=groups).scores
    assert found[[5, 14, 20]] == pytest.approx(scores_without(UNPENALISED[name], X, y, [5, 14, 20]), abs=1e-3)


def test_logistic_regression_and_a_row_with_a_column_of_its_own():
    """Without a penalty the weight of the column grows without end, and one row must not spoil all the others."""
    X, y = with_rare_column([5])
    model = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-8)
    found = fl.honest_scores(clone(model).fit(X, y), X, y).scores
    assert found[5] == pytest.approx(scores_without(model, X, y, [5])[0], abs=0.01)
    others = np.delete(np.arange(30), 5)
    plain = fl.honest_scores(clone(model).fit(X[others], y[others]), X[others], y[others]).scores
    assert np.corrcoef(found[others], plain)[0, 1] > 0.999


@pytest.mark.parametrize("name", ["lda", "ridge"])
def test_streamed_rows_with_a_column_of_their_own(name):
    """A table that is read in blocks: the answer of the table in memory, which is that of a refit."""
    X, y = with_rare_column([5])
    model = clone(UNPENALISED[name]).fit(X, y)
    blocks = lambda: ((X[i : i + 7], y[i : i + 7]) for i in range(0, 30, 7))  # noqa: E731
    found = fl.honest_scores(model, blocks).scores
    assert found == pytest.approx(fl.honest_scores(model, X, y).scores, abs=1e-3)
    assert found[5] == pytest.approx(scores_without(model, X, y, [5])[0], abs=1e-3)


def test_sparse_rows_with_a_column_of_their_own():
    """Sparse columns are scaled, not filled."""
    X, y = with_rare_column([5])
    model = clone(UNPENALISED["ridge"]).fit(X, y)
    assert fl.honest_scores(model, sp.csr_matrix(X), y).scores == pytest.approx(
        fl.honest_scores(model, X, y).scores, abs=1e-3
    )


@pytest.mark.parametrize("rows", [[5], [5, 20]])
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), RidgeClassifier(alpha=0.0, solver="svd")])
def test_three_classes_and_rows_with_a_column_of_their_own(model, rows):
    """The same for the formulas of several classes."""
    X, _ = with_rare_column(rows, n=45)
    y = np.arange(45) % 3
    found = remove_rows_of_classes(take_apart(clone(model).fit(X, y), X, y, several=True)).tensor.without
    keep = np.setdiff1d(np.arange(45), [5, 20])
    exact = clone(model).fit(X[keep], y[keep]).decision_function(X[[5, 20]])
    if isinstance(model, LinearDiscriminantAnalysis):
        exact = exact - np.log(np.exp(exact).sum(axis=1, keepdims=True) - np.exp(exact))
    assert found[:, 5, 20] == pytest.approx(exact[0], abs=1e-3)
    assert found[:, 20, 5] == pytest.approx(exact[1], abs=1e-3)


@pytest.mark.parametrize("P", [27, 28])
def test_discriminant_that_two_rows_less_make_singular(P):
    """30 rows less two leave a scatter of rank 26: more columns have no closed form, whatever rounding says."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, P)), np.arange(30) % 2
    found = remove_rows(take_apart(LinearDiscriminantAnalysis().fit(X, y), X, y))
    assert found.provenance.method == "loo-surrogate"
    assert np.ptp(found.without_pair1) < 1e4 * np.ptp(found.z)


def test_discriminant_that_two_groups_less_make_singular():
    """Large groups: without two of them there are fewer rows than columns, which is refused and not computed."""
    rng = np.random.default_rng(3)
    X, y, groups = rng.normal(size=(30, 20)), np.arange(30) % 2, np.arange(30) // 6
    with pytest.raises(fl.EstimatorError, match="fits the others exactly"):
        fl.auc_posterior(LinearDiscriminantAnalysis().fit(X, y), X, y, groups=groups)


def test_least_squares_that_two_rows_less_make_perfect():
    """As many weights as rows once two rows are gone: nothing can be said, and that is said."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 28)), np.arange(30) % 2
    with pytest.raises(fl.EstimatorError, match="fits any labels perfectly"):
        fl.auc_posterior(RidgeClassifier(alpha=0.0, solver="svd").fit(X, y), X, y)


# ---- names from data


FORGED = "died\nAUC                          0.999"


@pytest.fixture
def forged(tmp_path):
    """A table whose class label holds a line of an answer, and characters that a terminal obeys."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + y[:, None]
    pl = pytest.importorskip("polars")
    labels = np.where(y == 1, FORGED, "well\x9b2J\u202e")
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": labels}).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("words", [["auc"], ["search"], ["compare", "--models", "logistic,ridge"], ["plan"]])
def test_a_label_cannot_add_a_line_to_an_answer(forged, words):
    """A line break in a name is written out, as every other character that a terminal would obey."""
    result = CliRunner().invoke(app, [words[0], str(forged), "--target", "y", *words[1:]])
    assert result.exit_code == 0, result.output
    assert not any(line.startswith("AUC    ") and "0.999" in line for line in result.output.splitlines())
    assert not {"\x9b", "\u202e", "\x1b"} & set(result.output)


def test_json_of_an_answer_holds_no_character_that_a_terminal_obeys(forged):
    """JSON keeps the name, as an escape."""
    result = CliRunner().invoke(app, ["auc", str(forged), "--target", "y", "--positive", FORGED, "--json"])
    assert json.loads(result.output)["negative"] == "well\x9b2J\u202e"
    assert not {"\x9b", "\u202e"} & set(result.output)


def test_tables_of_experiments_hold_no_character_that_a_terminal_obeys():
    """CSV and Markdown are read with cat, too."""
    assert inert("red\x1b[31m\u202e") == "red\\x1b[31m\\u202e"
    assert markdown.inert("red\x1b[31m") == "red\\\\x1b\\[31m"


@pytest.mark.parametrize("text", ["\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", " \uff1d1"])
def test_wide_signs_begin_formulas_too(text):
    """As East Asian keyboards write them."""
    assert inert(text) == f"'{text}"


def test_names_of_data_sets_are_text_in_the_speed_tables():
    """File names of a folder that somebody sent."""
    timings = {name: {"seconds": 0.1, "noise": 0.0} for name in (rivals.WITH_FIT, rivals.CV5)}
    result = {"name": "a|b<script>[l](u)", "N": 9, "P": 2, "ratio_cv5": 2.0, "auc": 0.5, "interval": [0.4, 0.6]}
    *_, table = page._datasets([{**result, "auc_cv5": 0.5, "times": timings, "noise": 0.0}])
    assert "<script>" not in table.markdown()
    assert "| a\\|b&lt;script&gt;\\[l\\](u) |" in table.markdown()


# ---- faults


def interrupts_of(task):
    """What a worker does on Ctrl-C."""
    return {"task": task, "ignored": signal.getsignal(signal.SIGINT) == signal.SIG_IGN}


def test_workers_leave_an_interrupt_to_the_process_that_started_them():
    """Ctrl-C reaches the whole group; a worker that was just starting answered with a traceback of its own."""
    before = signal.getsignal(signal.SIGINT)
    get_reusable_executor().shutdown(wait=True)  # as in a command: no workers of an earlier test
    with Workers(jobs=2).ready() as team:
        assert all(result["ignored"] for result in team([1, 2, 3], interrupts_of))
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_told():
    """Not only the system's words: what could not be written, and what to do."""
    with open("/dev/full", "w") as full:
        words = [
            sys.executable,
            "-c",
            "from foldless.cli import main; main()",
            "plan",
            "--auc",
            "0.8",
            "--half-width",
            "0.05",
        ]
        found = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    assert (
        found.stderr
        == "foldless: the answer cannot be written (No space left on device): make room, or send it elsewhere.\n"
    )


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    """The option that helps is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(fl.InputError, match=r"nothing can be written in .* choose another folder with --out"):
        Store(tmp_path / "file" / "run").begin({}, resume=False)


# ---- determinism


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Two classes, numbers and a column of words."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "patients.csv"
    rows = [f"{a:.6f},{b:.6f},{'uvw'[k % 3]},{k % 2}" for k, (a, b) in enumerate(rng.normal(size=(60, 2)))]
    path.write_text("a,b,word,y\n" + "\n".join(rows) + "\n")
    return path


COMMANDS = {
    "auc": ["auc", "FILE", "--target", "y", "--one-hot", "--out", "p.svg"],
    "search": ["search", "FILE", "--target", "y", "--one-hot", "--out", "p.svg"],
    "compare": ["compare", "FILE", "--target", "y", "--one-hot", "--models", "logistic,ridge,lda", "--out", "p.svg"],
    "report": ["report", "FILE", "--target", "y", "--one-hot", "-o", "p.html"],
    "plan": ["plan", "FILE", "--target", "y", "--one-hot", "--out", "p.pdf"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_give_the_same_bytes_whatever_the_hash_seed(name, patients, tmp_path):
    """Two processes that order their sets differently print the same and write the same files, pictures included."""
    found = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        words = [str(patients) if word == "FILE" else word for word in COMMANDS[name]]
        call = [sys.executable, "-c", "from foldless.cli import main; main()", *words]
        done = subprocess.run(
            call, cwd=folder, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        )
        found.append((done.stdout, {path.name: path.read_bytes() for path in folder.iterdir()}))
    assert found[0] == found[1]
    assert len(found[0][1]) == 1


def test_a_discriminant_that_points_against_its_classes_is_judged():
    """Its scale is negative: that was taken for a fit that leaves no scatter, and ended in a division by zero."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    X[:, 0] += y
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5).fit(X, y)
    model.coef_ = -40 * model.coef_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fl.FoldlessWarning)
        post = fl.auc_posterior(model, X, y)
    assert 0 < post.mean < 0.5


def test_a_discriminant_that_fits_its_rows_exactly_is_refused():
    """Next to no shrinkage, as many columns as rows: a division by zero came out."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(13, 12)), np.arange(13) % 2
    X[:, 0] += 50 * y
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-11).fit(X, y)
    with pytest.raises(fl.EstimatorError, match=r"fits its rows exactly.*more shrinkage"):
        fl.auc_posterior(model, X, y)
