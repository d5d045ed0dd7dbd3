"""``foldless plan``: the numbers of the API, a picture, and one line for every mistake."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless.cli.app import app


def run(*args):
    return CliRunner().invoke(app, ["plan", *(str(a) for a in args)], prog_name="foldless")


def answered(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout, parse_constant=pytest.fail)


LABELS = np.arange(70) % 2
DATA = np.random.default_rng(9).standard_normal((70, 6)) + 0.5 * LABELS[:, None], LABELS


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y = DATA
    lines = [
        "a,b,c,d,e,f,outcome",
        *(",".join([*map(repr, row.tolist()), f"c{k}"]) for row, k in zip(X, y, strict=True)),
    ]
    path = tmp_path_factory.mktemp("plan") / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_study_equals_the_api():
    found = answered("--auc", 0.8, "--half-width", 0.06, "--balance", 0.3, "--level", 0.9, "--features", 12)
    assert found == fl.plan_sample_size(0.8, 0.06, 0.9, 0.3, n_features=12).summary()
    found = answered("--auc", 0.8, "--above", 0.65, "--power", 0.7, "--noise-share", 0.2)
    assert found == fl.plan_sample_size(0.8, above=0.65, power=0.7, noise_share=0.2).summary()


def test_study_in_words():
    said = run("--auc", 0.8, "--half-width", 0.05).stdout
    plan = fl.plan_sample_size(0.8, 0.05)
    assert said.startswith(f"With {plan.n} rows ({plan.n1} positive, {plan.n0} negative), the 95 % interval")
    assert f"rows at worst    {plan.n_if_noisy}" in said
    said = run("--auc", 0.8, "--above", 0.7).stdout
    assert "will lie above 0.7 with probability 0.90" in said


def test_curve_equals_the_api(table):
    found = answered(table, "--target", "outcome", "--C", 0.1, "--factors", "1,3", "--level", 0.8, "--positive", "c0")
    X, y = DATA
    y = np.where(y, "c1", "c0")
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, tol=1e-7, max_iter=10_000)).fit(X, y)
    curve = fl.learning_curve(model, X, y, (1, 3), pos_label="c0")
    assert found["points"] == curve.summary(0.8)["points"]
    assert [p["rows"] for p in found["points"]] == [70, 210]
    assert found["picture"] is None


def test_curve_in_words_and_as_a_picture(table, tmp_path):
    out = tmp_path / "curve.png"
    result = run(table, "--target", "outcome", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Trained on 70 rows")
    assert "trained on 350 it can be expected" in result.stdout
    assert str(out) in result.stdout.replace("\n", "")
    with Image.open(out) as image:
        assert image.size == (900, 600)
        assert len(image.convert("L").getcolors(256)) > 10


MISTAKES = [
    ((), "give --auc"),
    (("--auc", 0.8), "either --half-width or --above"),
    (("--auc", 0.8, "--half-width", 0.1, "--above", 0.7), "either --half-width or --above"),
    (("--auc", 80, "--half-width", 0.1), "write 0.8 for 80 %"),
    (("--auc", 0.4, "--half-width", 0.1), "between 0.5 (chance) and 1"),
    (("--auc", 0.8, "--above", 0.9), "less than the expected auc"),
    (("--auc", 0.8, "--half-width", 0.7), "--half-width must lie"),
    (("--auc", 0.8, "--half-width", 1e-5), "more than 10,000,000 rows"),
    (("--auc", 0.8, "--half-width", 0.1, "--power", 2), "--power"),
    (("--auc", 0.8, "--half-width", 0.1, "--balance", 0), "--balance"),
    (("--auc", 0.8, "--half-width", 0.1, "--features", -1), "--features"),
    (("--auc", 0.8, "--half-width", 0.1, "--noise-share", 2), "noise_share must lie"),
    (("--auc", 0.8, "--half-width", 0.1, "--target", "y"), "--target needs a FILE"),
    (("--auc", 0.8, "--half-width", 0.1, "--out", "x.png"), "--out needs a FILE"),
    (("TABLE",), "--target"),
    (("TABLE", "--target", "outcome", "--auc", 0.8), "--auc does not go with a FILE"),
    (("TABLE", "--target", "nothing"), "has no column 'nothing'"),
    (("TABLE", "--target", "outcome", "--factors", "two"), "values separated by commas"),
    (("TABLE", "--target", "outcome", "--factors", "0.1,1"), "factors must be numbers from 1"),
    (("TABLE", "--target", "outcome", "--out", "x.gif"), "ends in .png"),
    (("TABLE", "--target", "outcome", "--out", "/nowhere/x.png"), "no directory /nowhere"),
    (("missing.csv", "--target", "outcome"), "no such file"),
]


@pytest.mark.parametrize(("words", "complaint"), MISTAKES)
def test_mistakes_end_in_one_line(table, words, complaint):
    result = run(*(table if word == "TABLE" else word for word in words))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert complaint in result.stderr


def test_help_has_examples():
    said = run("--help").stdout
    assert "foldless plan --auc 0.8 --half-width 0.05" in said
