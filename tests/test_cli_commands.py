"""The commands on good files: the numbers of the API, for every option."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import skops.io
from PIL import Image
from sklearn.compose import ColumnTransformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from cli_files import NAMES, N, X, Y, files_in, lines, run
from foldless.cli.app import app
from foldless.cli.models import CLASSIFIERS
from sklearn_versions import l1

pytestmark = pytest.mark.filterwarnings("ignore::foldless.FoldlessWarning")
LOGISTIC = {"tol": 1e-7, "max_iter": 10_000, "random_state": 0}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(lines())
    return path


def answered(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=pytest.fail)


# ---- foldless auc

MODELS = {
    "logistic": (["--C", "0.3"], LogisticRegression(C=0.3, **LOGISTIC)),
    "ridge": (["--C", "0.5"], RidgeClassifier(alpha=2.0)),
    "lda": (["--shrinkage", "0.4"], LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.4)),
    "svm": (["--C", "0.2"], LinearSVC(C=0.2, dual=False, tol=1e-7, max_iter=10_000, random_state=0)),
    "l1": (["--C", "0.4"], LogisticRegression(C=0.4, **l1(), solver="saga", max_iter=10_000, random_state=0)),
    "elasticnet": ([], LogisticRegression(**l1(0.5), solver="saga", max_iter=10_000, random_state=0)),
    "pls": ([], PLSRegression(n_components=2)),
    "forest": ([], RandomForestClassifier(random_state=0)),
    "boosting": ([], GradientBoostingClassifier(random_state=0)),
}
REFITTED = ("forest", "boosting")  # these take long
BY_NAME = [pytest.param(name, marks=pytest.mark.slow) if name in REFITTED else name for name in CLASSIFIERS]


@pytest.mark.parametrize("name", BY_NAME)
def test_every_model_is_that_of_scikit_learn(csv, name):
    options, model = MODELS[name]
    found = answered("auc", csv, "--target", "y", "--model", name, *options)
    method = "loo" if CLASSIFIERS[name].closed_form else "refit"
    post = fl.auc_posterior(make_pipeline(StandardScaler(), model).fit(X, Y), X, Y, method=method)
    assert (found["auc"], found["method"]) == (pytest.approx(post.mean, abs=1e-12), method)
    assert found["classifier"]["name"] == type(model).__name__


def test_several_columns_are_dropped_at_once(csv):
    columns = csv.read_text().splitlines()[0].split(",")[:2]
    at_once, again = ",".join(columns), [word for name in columns for word in ("--drop", name)]
    assert answered("auc", csv, "--target", "y", "--drop", at_once) == answered("auc", csv, "--target", "y", *again)
    pattern = f"[{columns[0]}{columns[1]}]"
    assert answered("auc", csv, "--target", "y", "--drop", pattern) == answered("auc", csv, "--target", "y", *again)
    result = run("auc", csv, "--target", "y", "--drop", f"{columns[0]},nothing")
    assert (result.exit_code, "'nothing'" in result.stderr) == (2, True)


def test_ledoit_and_wolf(csv):
    found = answered("auc", csv, "--target", "y", "--model", "lda", "--shrinkage", "auto")
    assert found["classifier"]["shrinkage"] == "auto"


def messy(tmp_path):
    """Numbers with gaps, a column of words with a gap, an identifier."""
    gaps = [*map(repr, np.abs(X[:, 0]).tolist())]
    gaps[4] = ""
    words = np.where(np.arange(N) % 3 == 0, "north", "south").tolist()
    words[7] = ""
    path = tmp_path / "messy.csv"
    path.write_text(lines(rows=np.abs(X[:, 1:]), names=("b", "c"), gaps=gaps, place=words, who=np.arange(N) // 2))
    return path


def test_steps_are_inside_the_pipeline(tmp_path):
    """--impute, --one-hot and --log give the answer of the same pipeline in Python."""
    path = messy(tmp_path)
    found = answered("auc", path, "--target", "y", "--id", "who", "--impute", "median", "--one-hot", "--log")
    frame = pl.read_csv(path).drop("y", "who").with_columns(pl.col("place").fill_null("(missing)"))
    numbers = make_pipeline(SimpleImputer(strategy="median"), FunctionTransformer(np.log1p), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer([("n", numbers, ["b", "c", "gaps"]), ("w", words, ["place"])])
    model = make_pipeline(columns, LogisticRegression(**LOGISTIC)).fit(frame, Y)
    who = pl.read_csv(path)["who"].to_numpy()  # it repeats: these are subjects
    assert found["auc"] == pytest.approx(fl.auc_posterior(model, frame, Y, groups=who).mean, rel=1e-9)
    assert found["classifier"]["one_hot"] == ["place"]
    assert "1 gap in 1 column filled with the median: 'gaps'" in found["prepared"]
    assert "rows with the same 'who' taken for one subject" in found["prepared"]
    assert any("no text in 'place' (1 row): that is a category" in note for note in found["notes"])


def test_a_stray_word_is_told(tmp_path):
    cells = [*map(str, range(N - 1)), "high"]
    (tmp_path / "x.csv").write_text(lines(z=cells))
    prepared = answered("auc", tmp_path / "x.csv", "--target", "y")["prepared"]
    assert prepared.startswith("words among numbers taken for gaps: 'z' (1 row, such as 'high'); 1 gap in 1 column")
    strict = ("auc", tmp_path / "x.csv", "--target", "y", "--strict", "--one-hot")
    assert "words among numbers in 'z' (1 row, such as 'high'): use --na high" in run(*strict).stderr
    notes = answered(*strict, "--keep", "z")["notes"]
    assert any("'z' holds words among numbers (1 row, such as 'high')" in note for note in notes)


def test_numbers_and_dates_are_told_under_one_hot(tmp_path):
    """The user asked for these columns; that they hardly hold words is said."""
    (tmp_path / "x.csv").write_text(lines(z=["2020-01-01", "2020-01-02"] * (N // 2), w=["<5", "7"] * (N // 2)))
    notes = answered("auc", tmp_path / "x.csv", "--target", "y", "--keep", "z", "--keep", "w")["notes"]
    assert any("'z' holds dates or times" in note and "turn dates into numbers" in note for note in notes)
    assert any("'w' holds limits instead of values" in note for note in notes)


def test_an_identifier_without_duplicates_is_silent(tmp_path):
    (tmp_path / "x.csv").write_text(lines(who=np.arange(N)))
    found = answered("auc", tmp_path / "x.csv", "--target", "y", "--id", "who")
    assert found["n_features"] == 3
    assert not any("who" in note for note in found["notes"])


def test_groups_reach_the_estimate(tmp_path):
    groups = np.arange(N) // 4
    (tmp_path / "x.csv").write_text(lines(g=groups))
    found = answered("auc", tmp_path / "x.csv", "--target", "y", "--groups", "g")
    model = make_pipeline(StandardScaler(), LogisticRegression(**LOGISTIC)).fit(X, Y)
    assert found["auc"] == pytest.approx(fl.auc_posterior(model, X, Y, groups=groups).mean, rel=1e-14)
    np.savez(tmp_path / "x.npz", X=X, y=Y, groups=groups)
    assert answered("auc", tmp_path / "x.npz", "--groups", "groups")["auc"] == found["auc"]
    assert any("--groups groups" in note for note in answered("auc", tmp_path / "x.npz")["notes"])


def test_rates_at_a_threshold_and_a_prevalence(csv):
    found = answered("auc", csv, "--target", "y", "--decision-value", "0.4", "--prevalence", "0.05", "--level", "0.9")
    model = make_pipeline(StandardScaler(), LogisticRegression(**LOGISTIC)).fit(X, Y)
    rates = fl.error_posterior(model, X, Y, threshold=0.4, prevalence=0.05)
    assert found["probability"] == pytest.approx(1 / (1 + np.exp(-0.4)))
    for name in ("sensitivity", "specificity", "ppv", "npv", "error"):
        rate = getattr(rates, name)
        assert tuple(found[name].values()) == (rate.mean, rate.sd, *rate.interval(0.9))
    said = run("auc", csv, "--target", "y", "--prevalence", "0.05").stdout
    assert "at a predicted probability of 0.5, where 5 % are positive" in said


def test_a_threshold_is_a_probability(csv):
    """Not a log odds of 0.3: the answer says so."""
    found = answered("auc", csv, "--target", "y", "--threshold", "0.3")
    model = make_pipeline(StandardScaler(), LogisticRegression(**LOGISTIC)).fit(X, Y)
    rates = fl.analyse(model, X, Y).at(probability=0.3)
    assert found["sensitivity"]["mean"] == rates.sensitivity.mean
    assert found["sensitivity"]["mean"] != fl.error_posterior(model, X, Y, threshold=0.3).sensitivity.mean
    assert (found["probability"], found["threshold"]) == (0.3, rates.threshold)
    assert "at a predicted probability of 0.3" in run("auc", csv, "--target", "y", "--threshold", "0.3").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "1.5"], "use --decision-value 1.5"),
        (["--threshold", "0.3", "--decision-value", "0"], "do not go together"),
        (["--threshold", "0.3", "--model", "ridge"], "RidgeClassifier has no probabilities"),
    ],
)
def test_thresholds_without_an_answer_are_refused(csv, options, message):
    said = run("auc", csv, "--target", "y", *options)
    assert said.exit_code == 2
    assert message in " ".join(said.stderr.split())


@pytest.fixture
def three(tmp_path):
    path = tmp_path / "three.csv"
    labels = np.array(["ash", "birch", "cedar"])[np.arange(N) % 3]
    path.write_text(lines(labels=labels, rows=X + (np.arange(N) % 3)[:, None] * [0.8, 0.0, 1.2]))
    return path


def test_more_than_two_classes(three):
    found = answered("auc", three, "--target", "y")
    frame = pl.read_csv(three)
    features, labels = frame.drop("y").to_numpy(), frame["y"].to_numpy().astype(str)
    post = fl.auc_posterior(
        make_pipeline(StandardScaler(), LogisticRegression(**LOGISTIC)).fit(features, labels), features, labels
    )
    assert (found["auc"], found["low"]) == (pytest.approx(post.mean, abs=1e-12), pytest.approx(post.interval()[0]))
    assert (found["classes"], found["counts"]) == (["ash", "birch", "cedar"], [20, 20, 20])
    assert [pair["classes"] for pair in found["pairwise"]] == [["ash", "birch"], ["ash", "cedar"], ["birch", "cedar"]]
    said = run("auc", three, "--target", "y").stdout
    assert "tells two of its 3 classes apart" in said
    assert f"{post.pairwise['ash', 'cedar'].mean:.3f}" in said
    assert "sensitivity" not in said


@pytest.mark.parametrize("words", [["auc"], ["search"], ["compare", "--models", "lda,svm"], ["plan"]])
def test_pictures(csv, tmp_path, words):
    out = tmp_path / "picture.png"
    command, *options = words
    found = answered(command, csv, "--target", "y", *options, "--out", out)
    assert found["picture"] == str(out)
    with Image.open(out) as image:
        assert image.width >= 900
        assert len(image.convert("L").getcolors(256)) > 10
    assert files_in(tmp_path) == ["data.csv", "picture.png"]


def test_picture_of_several_classes(three, tmp_path):
    assert run("auc", three, "--target", "y", "--out", tmp_path / "p.svg").exit_code == 0
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")


# ---- saved models


def test_a_saved_model_is_judged_as_it_is(csv, tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.05)).fit(X, Y)
    skops.io.dump(model, tmp_path / "m.skops")
    found = answered("auc", csv, "--target", "y", "--model-file", tmp_path / "m.skops")
    assert found["auc"] == fl.auc_posterior(model, X, Y).mean
    assert found["classifier"] == {"name": "LogisticRegression", "model_file": str(tmp_path / "m.skops")}


def test_columns_of_a_saved_model_go_by_name(tmp_path):
    """Fitted on c and a, in that order, with truth values for labels: found again in a file of a, b, c and 0, 1."""
    frame = pl.DataFrame({"c": X[:, 2], "a": X[:, 0]})
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(frame, Y == 1)
    skops.io.dump(model, tmp_path / "m.skops")
    (tmp_path / "x.csv").write_text(lines())
    found = answered("auc", tmp_path / "x.csv", "--target", "y", "--model-file", tmp_path / "m.skops")
    assert found["auc"] == fl.auc_posterior(model, frame, Y == 1).mean
    assert "columns that m.skops was not fitted on were left out: 'b'." in found["notes"]


def test_a_saved_model_fills_its_own_gaps(tmp_path):
    gaps = X.copy()
    gaps[3, 1] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(gaps, Y)
    skops.io.dump(model, tmp_path / "m.skops")
    (tmp_path / "x.csv").write_text(lines(rows=gaps))
    found = answered("auc", tmp_path / "x.csv", "--target", "y", "--model-file", tmp_path / "m.skops")
    assert found["auc"] == fl.auc_posterior(model, gaps, Y).mean


def test_a_saved_model_against_a_new_one(csv, tmp_path):
    skops.io.dump(LogisticRegression(C=0.001).fit(X[:, ::1], Y), tmp_path / "m.skops")
    found = answered("compare", csv, "--target", "y", "--models", "lda", "--model-file", tmp_path / "m.skops")
    names = {model["name"] for model in found["models"]}
    assert names == {"lda, shrinkage = 0.1", "LogisticRegression from m.skops"}


# ---- foldless permute


@pytest.mark.parametrize("model", ["logistic", "ridge", "lda"])
def test_permute_is_the_api(csv, model, tmp_path):
    out = tmp_path / "null.png"
    found = answered("permute", csv, "--target", "y", "--model", model, "--permutations", "50", "--out", out)
    kind = CLASSIFIERS[model]
    pipeline = make_pipeline(StandardScaler(), kind.make(kind.strength(1.0, 0.1), 0)).fit(X, Y)
    test = fl.permutation_test(pipeline, X, Y, 50)
    assert (found["p_value"], found["auc"]) == (test.p_value, pytest.approx(test.statistic, abs=1e-12))
    assert found["permuted"] == "rows"
    with Image.open(out) as drawn:
        assert min(drawn.size) > 100


def test_permute_in_words(csv):
    said = run("permute", csv, "--target", "y", "--model", "ridge", "--permutations", "99").stdout
    assert said.startswith("Trained on permuted labels, the classifier reaches the AUC of the true ones,")
    assert "random 99, of rows" in said
    assert "never refits" in run("permute", csv, "--target", "y", "--model", "forest").stderr


def test_permute_with_groups(tmp_path):
    """Whole groups exchange labels that are constant within them."""
    path, groups = tmp_path / "g.csv", np.arange(40) // 4
    y = groups % 2
    values = np.random.default_rng(0).normal(size=(40, 2)) + y[:, None]
    pl.DataFrame({"a": values[:, 0], "b": values[:, 1], "who": groups, "y": y}).write_csv(path)
    found = answered("permute", path, "--target", "y", "--groups", "who", "--model", "ridge")
    assert (found["permuted"], found["left_out"], found["n_permutations"]) == ("whole groups", "groups", 251)
    assert found["exhaustive"]


def test_permute_counts_the_class_that_it_calls_positive(tmp_path):
    """The classes of the file go by its own order, in which 'case' comes before 'control'."""
    path, y = tmp_path / "cases.csv", np.repeat(["case", "control"], [15, 35])
    pl.DataFrame({"a": np.random.default_rng(0).normal(size=50), "y": y}).write_csv(path)
    found = answered("permute", path, "--target", "y", "--permutations", "9")
    assert (found["classes"], found["n_negative"], found["n_positive"]) == (["control", "case"], 35, 15)


# ---- foldless search


@pytest.mark.parametrize(
    ("model", "parameter", "grid"),
    [("logistic", "C", [0.01, 1.0]), ("ridge", "alpha", [100.0, 1.0]), ("lda", "shrinkage", [0.01, 0.5])],
)
def test_search_is_the_api(csv, model, parameter, grid):
    words = "0.01,1" if model != "lda" else "0.5,0.01"
    found = answered("search", csv, "--target", "y", "--model", model, "--Cs", words, "--level", "0.8")
    final = CLASSIFIERS[model].make(grid[0], 0)
    pipeline = make_pipeline(StandardScaler(), final)
    name = f"{pipeline.steps[-1][0]}__{parameter}"
    search = fl.FoldlessSearch(pipeline, {name: grid}, level=0.8).fit(X, Y)
    assert [row["value"] for row in found["candidates"]] == grid
    assert [row["auc"] for row in found["candidates"]] == search.results_["mean"].tolist()
    assert [row["low"] for row in found["candidates"]] == search.results_["lower"].tolist()
    assert (found["chosen"], found["auc"]) == (search.best_params_[name], search.best_score_)
    assert (found["optimism"], found["parameter"]) == (search.optimism_, parameter)


def test_search_in_words(csv):
    said = run("search", csv, "--target", "y", "--rule", "simplest").stdout
    assert said.startswith("Of 8 values of C,")
    assert sum(line.rstrip().endswith("chosen") for line in said.splitlines()) == 1
    assert "optimism of the choice" in said


def test_search_promises_what_is_left_without_the_luck_of_the_choice(csv):
    words = ("search", csv, "--target", "y", "--Cs", "0.001,0.1,10")
    found = answered(*words)
    assert found["auc_without_optimism"] == found["auc"] - found["optimism"] < found["auc"]
    expected = f"an AUC of about {found['auc_without_optimism']:.3f} on new rows: {found['auc']:.3f} (95 % interval "
    assert expected in run(*words).stdout
    assert f", less {found['optimism']:.3f} for the luck of the choice." in run(*words).stdout


def test_search_of_one_value(csv):
    assert run("search", csv, "--target", "y", "--Cs", "1").stdout.startswith("One value of C was tried, 1, so")


def test_search_of_three_classes(three):
    assert "an average AUC of about" in run("search", three, "--target", "y", "--Cs", "0.1,1").stdout


# ---- foldless report


def test_report_writes_the_page_and_tells_the_answer(csv, tmp_path, monkeypatch):
    out = tmp_path / "report.html"
    monkeypatch.setattr(sys, "argv", ["foldless", "report", "data.csv", "--target", "the outcome"])
    result = run("report", csv, "--target", "y", "-o", out, "--no-search")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.rstrip().endswith(str(out))
    page = out.read_text(encoding="utf-8")
    assert "data.csv" in page
    assert "&#39;the outcome&#39;" in page or "'the outcome'" in page  # the command as it was typed
    assert files_in(tmp_path) == ["data.csv", "report.html"]


def test_report_as_json_needs_no_page(csv):
    found = answered("report", csv, "--target", "y", "--no-search")
    model = make_pipeline(StandardScaler(), LogisticRegression(**LOGISTIC)).fit(X, Y)
    assert found["auc"]["auc"] == fl.auc_posterior(model, X, Y).mean
    assert found["page"] is None
    assert any("The file was read as: comma" in note for note in found["notes"])


# ---- the rest


def test_commands_of_the_transcript_have_the_options_shown():
    text = (Path(__file__).parents[1] / "docs" / "cli-transcript.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ foldless (\w+) (.*)$", text, re.MULTILINE)
    assert len(commands) > 30
    for name, words in commands:
        if name in app.commands:
            known = {option for p in app.commands[name].params for option in (*p.opts, *p.secondary_opts)}
            assert {w for w in words.split() if w.startswith("-")} <= known, words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_FOLDLESS_COMPLETE" in result.stdout


def test_compare_and_plan_take_the_same_steps(tmp_path):
    path = messy(tmp_path)
    options = ["--target", "y", "--id", "who", "--impute", "median", "--one-hot"]
    assert answered("compare", path, *options, "--models", "lda,ridge")["n_features"] == 4
    assert len(answered("plan", path, *options)["points"]) == 3
    assert len(answered("search", path, *options, "--Cs", "0.1,1")["candidates"]) == 2


@pytest.mark.parametrize("command", ["auc", "search", "compare", "report", "plan"])
def test_every_command_has_the_common_options(command):
    said = run(command, "--help").stdout
    wanted = "target positive drop id model C standardize log groups level seed json out impute one-hot sep encoding"
    for option in wanted.split():
        assert f"--{option}" in said, option


def test_names_of_features_survive(tmp_path):
    """Names with brackets, quotes and commas are printed as they are."""
    names = ('"a [red]"', '"b, c"', "d'e")
    (tmp_path / "x.csv").write_text(lines(names=names))
    assert names != NAMES
    result = run("auc", tmp_path / "x.csv", "--target", "a [red]")
    assert "'a [red]'" in result.stderr
    assert answered("auc", tmp_path / "x.csv", "--target", "y", "--drop", "b, c")["n_features"] == 2
