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
