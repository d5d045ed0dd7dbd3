"""`foldless compare`: the numbers of the API, and one line for every mistake."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless.cli.app import app
from foldless.cli.compare import disagreement

RNG = np.random.default_rng(7)
Y = np.arange(60) % 2
X = RNG.normal(size=(60, 3)).round(6) + 0.9 * Y[:, None]


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "data.csv"
    lines = ["a,b,c,y", *(",".join([*(repr(float(v)) for v in row), str(k)]) for row, k in zip(X, Y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*args):
    return CliRunner().invoke(app, ["compare", *(str(a) for a in args)], prog_name="foldless")


def test_json_is_the_answer_of_the_api(csv):
    result = run(csv, "--target", "y", "--models", "logistic,lda=0.5,ridge", "--C", 0.1, "--rope", 0.01, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    fits = {
        "logistic, C = 0.1": LogisticRegression(C=0.1, tol=1e-7, max_iter=10_000),
        "lda, shrinkage = 0.5": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5),
        "ridge, alpha = 10": RidgeClassifier(alpha=10.0),
    }
    fits = {name: make_pipeline(StandardScaler(), m).fit(X, Y) for name, m in fits.items()}
    ranking = fl.compare_many(fits, X, Y)
    assert found["models"] == ranking.summary()
    first, second = (m.name for m in ranking.models[:2])
    pair = ranking.between(first, second, rope=0.01)
    assert found["first_two"]["prob_a_better"] == pair.prob_a_better
    assert found["first_two"]["prob_rope"] == pair.prob_rope
    assert (found["n_positive"], found["n_features"], found["method"]) == (30, 3, "loo")


def test_text_says_who_is_ahead(csv):
    result = run(csv, "--target", "y", "--models", "svm, ridge=100", "--rope", 0.02)
    assert result.exit_code == 0, result.output
    assert "has the largest AUC with probability" in result.stdout
    assert "svm, C = 1" in result.stdout
    assert "equal within 0.02" in result.stdout


def test_two_strengths_of_one_family(csv):
    result = run(csv, "--target", "y", "--models", "logistic=0.01,logistic=1", "--no-standardize")
    assert result.exit_code == 0, result.output
    assert "logistic, C = 0.01" in result.stdout
    assert "3 columns, as they are" in result.stdout


def stated(first, second, difference):
    return {"models": [{"auc": first}, {"auc": second}], "first_two": {"difference": difference, "alike": False}}


def test_a_difference_that_is_not_that_of_the_aucs_is_explained():
    """Another sign, or more than 0.01 apart; else not a word."""
    assert "differ by -0.003, and the difference is put at +0.001" in disagreement(stated(0.752, 0.755, 0.001))
    assert "estimated from ranks" in disagreement(stated(0.80, 0.75, 0.03))
    assert disagreement(stated(0.80, 0.75, 0.042)) is None
    assert disagreement(stated(0.80, 0.80, 0.004)) is None


def test_the_positive_class_is_marked(csv):
    said = run(csv, "--target", "y", "--models", "lda,ridge", "--positive", "0").stdout
    assert "30 '0' (positive), 30 '1' (negative)" in said


def test_models_of_one_column_are_the_same(tmp_path):
    """They rank any rows alike, whatever their honest scores are: no certainty about a difference of noise."""
    rng = np.random.default_rng(11)
    table = [f"{int(x)},{'ill' if k % 2 else 'ok'}" for k, x in enumerate(rng.random(60) < 0.5)]
    path = tmp_path / "one.csv"
    path.write_text("x,y\n" + "\n".join(table))
    result = run(path, "--target", "y", "--models", "logistic,ridge")
    assert result.exit_code == 0, result.output
    assert "rank all rows alike: their AUCs on new rows are the same" in result.stdout
    assert "better with probability" not in result.stdout
    assert "The positive class is 'ill' (by its name)." in result.stdout


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ("logistic", "needs two classifiers or more"),
        ("logistic,tree", "'tree' is not one of logistic, ridge, lda, svm"),
        ("forest=2.5,lda", "n_estimators of forest must be a number from 1 to 100000 without decimals, got '2.5'"),
        ("lda,lda", "names the same classifier twice"),
        ("logistic,logistic=1", "names the same classifier twice"),
        ("lda=2,ridge", "shrinkage of lda must be a number above 0 and below 1, got '2'"),
        ("ridge=x,lda", "alpha of ridge must be a number above 0, got 'x'"),
        ("logistic=inf,lda", "C of logistic must be a number above 0, got 'inf'"),
    ],
)
def test_bad_models(csv, models, words):
    result = run(csv, "--target", "y", "--models", models)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("option", "value"), [("--rope", 1.5), ("--rope", -0.1), ("--C", 0), ("--level", 2)])
def test_bad_numbers(csv, option, value):
    result = run(csv, "--target", "y", "--models", "lda,ridge", option, value)
    assert result.exit_code == 2
    assert f"'{option}'" in result.stderr
    assert len(result.stderr.splitlines()) == 1


# ---- What columns add to a model


def gains(path, *options):
    result = run(path, "--target", "y", "--json", *options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout, parse_constant=pytest.fail)


def test_added_columns_are_judged_as_two_models_of_their_columns(csv, tmp_path):
    """Each AUC is that of the same pipeline on a table that has no other columns; a list may come from a file."""
    (tmp_path / "first.txt").write_text('\ufeffb\n\n"a"\n', encoding="utf-8")
    found = gains(csv, "--columns", tmp_path / "first.txt", "--and-columns", "c*", "--rope", 0.01)
    assert (found["columns"], found["added_columns"]) == (["a", "b"], ["c"])
    with_more, without = found["models"]
    for row, kept in ((without, X[:, :2]), (with_more, X)):
        model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-7, max_iter=10_000)).fit(kept, Y)
        post = fl.auc_posterior(model, kept, Y)
        np.testing.assert_allclose([row["auc"], row["low"], row["high"]], [post.mean, *post.interval()], atol=1e-9)
    pair = found["first_two"]
    assert pair["prob_a_better"] + pair["prob_rope"] + pair["prob_b_better"] == pytest.approx(1)
    assert with_more["name"] == pair["a"] == "with 1 more column"


def table_with(tmp_path, n=400, **columns):
    """A weak column, and others."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 2
    made = {"weak": (rng.normal(size=n) + 0.5 * y).round(4), **{k: f(rng, y) for k, f in columns.items()}, "y": y}
    path = tmp_path / "gain.csv"
    rows = (",".join(map(str, row)) for row in zip(*made.values(), strict=True))
    path.write_text("\n".join([",".join(made), *rows]))
    return path


def test_a_strong_column_is_a_gain_and_noise_is_none(tmp_path):
    """Known truth: a column with a separation of 2 adds 0.25 to the AUC, a column of noise nothing."""
    path = table_with(
        tmp_path,
        strong=lambda rng, y: (rng.normal(size=y.size) + 2 * y).round(4),
        noise=lambda rng, y: rng.normal(size=y.size).round(4),
    )
    helps, idle = (gains(path, "--columns", "weak", "--and-columns", name, "--rope", 0.03) for name in ("s*", "noise"))
    assert (helps["gain"], idle["gain"]) == ("yes", "no")
    assert helps["first_two"]["low"] < 0.286 < helps["first_two"]["high"]
    said = run(path, "--target", "y", "--columns", "weak", "--and-columns", "strong", "--rope", 0.03).stdout
    assert "Adding 1 column to 1 makes this classifier better by more than 0.03" in said
    assert "equal within 0.03" in said
    assert "added                  'strong'" in said


def test_added_columns_of_text_with_gaps_are_prepared(tmp_path):
    """The text carries half of what the label says; names of rows are left out by name."""
    path = table_with(
        tmp_path,
        kind=lambda rng, y: np.where(rng.random(y.size) < 0.8, np.where(y, "high", "low"), "none"),
        gaps=lambda rng, y: np.where(rng.random(y.size) < 0.2, "", rng.normal(size=y.size).round(3).astype(str)),
        person=lambda rng, y: [f"person {k}" for k in rng.permutation(y.size)],
    )
    found = gains(path, "--columns", "weak,gaps", "--and-columns", "kind,person")
    assert (found["gain"], found["added_columns"]) == ("yes", ["kind"])
    assert "left out: 'person'" in found["prepared"]
    refused = run(path, "--target", "y", "--columns", "weak", "--and-columns", "person")
    assert refused.exit_code == 2
    assert "--and-columns: none of its columns can be used; left out: 'person'" in refused.stderr


def test_subjects_are_found_among_columns_that_were_not_asked_for(tmp_path):
    """Two rows of each patient, of one class."""
    path = table_with(
        tmp_path,
        other=lambda rng, y: rng.normal(size=y.size).round(3),
        patient=lambda rng, y: [f"P{k // 4}-{k % 2}" for k in range(y.size)],
    )
    assert gains(path, "--columns", "weak", "--and-columns", "other")["groups"] == "patient"


@pytest.mark.parametrize("model", ["l1", "elasticnet", "lda"])
def test_added_columns_with_other_classifiers(csv, model):
    found = gains(csv, "--columns", "a", "--and-columns", "b,c", "--model", model)
    assert found["models"][0]["auc"] > 0.5
    assert found["added_columns"] == ["b", "c"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--columns", "a"), "Missing option '--models', or --columns and --and-columns"),
        (("--and-columns", "a"), "--and-columns needs --columns"),
        ((), "Missing option '--models', or --columns and --and-columns"),
        (("--columns", "aa", "--and-columns", "b"), "has no column 'aa': did you mean 'a'?"),
        (("--columns", "a", "--and-columns", "bio_*"), "--and-columns: no column to predict from matches 'bio_*'"),
        (("--columns", "a,b", "--and-columns", "a"), "--and-columns adds nothing"),
        (("--columns", "a", "--and-columns", "y"), "--and-columns: 'y' is the target"),
        (("--columns", " ,", "--and-columns", "a"), "names no column"),
        (("--columns", "absent.txt", "--and-columns", "a"), "there is no file 'absent.txt'"),
        (("--columns", "a", "--and-columns", "b", "--models", "lda,ridge"), "does not go with --and-columns"),
        (("--columns", "a", "--and-columns", "b", "--shrinkage", "0.5"), "--shrinkage is for lda"),
    ],
)
def test_sets_that_cannot_be_compared(csv, options, words):
    result = run(csv, "--target", "y", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_list_of_columns_is_a_text_file(csv, tmp_path):
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe\x00")
    result = run(csv, "--target", "y", "--columns", tmp_path / "list.txt", "--and-columns", "a")
    assert result.exit_code == 2
    assert "is not a text file in UTF-8" in result.stderr
