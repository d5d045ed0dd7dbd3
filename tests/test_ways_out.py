"""What people bring beside a plain linear classifier of two classes: answered, or refused with a way out that works."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from cli_files import run
from data import normal_rows

Y = np.repeat([0, 1], [30, 40])
X = normal_rows(Y, 4, shift=[0.9, 0.5, 0.0, 0.0], seed=5)
NOT_LINEAR = {
    "forest": RandomForestClassifier(10, random_state=0),
    "calibrated": CalibratedClassifierCV(LogisticRegression(), cv=3),
    "voting": VotingClassifier([("a", LogisticRegression()), ("b", RidgeClassifier())], voting="hard"),
    "soft voting": VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))], voting="soft"),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_compare_says_which_model_is_not_linear_and_its_way_out_works(name):
    """The error begins with the name of the model, and method='refit' answers where the classifier ranks rows."""
    linear, other = LogisticRegression().fit(X, Y), NOT_LINEAR[name].fit(X, Y)
    with pytest.raises(fl.EstimatorError, match=f"^model '{name}': .*got {type(other).__name__}.*method='refit'"):
        fl.compare(linear, other, X, Y, names=("linear", name))
    if name == "voting":
        with pytest.raises(fl.EstimatorError, match=f"model '{name}': .*ranks no row.*voting='soft'"):
            fl.compare(linear, other, X, Y, names=("linear", name), method="refit")
    else:
        assert fl.compare(linear, other, X, Y, method="refit").method == "refit"


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_learning_curve_does_not_send_people_to_an_argument_that_it_lacks(name):
    """It has no argument `method`; scikit-learn's function of that name refits any classifier."""
    with pytest.raises(fl.EstimatorError, match=r"closed form.*sklearn\.model_selection\.learning_curve") as caught:
        fl.learning_curve(NOT_LINEAR[name].fit(X, Y), X, Y)
    assert "method='refit'" not in str(caught.value)


def test_a_forest_of_three_classes_is_refused_with_a_way_out_that_works():
    """Refits are asked for by name; what needs two classes tells one against the rest, which works."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    with pytest.raises(fl.EstimatorError, match="use method='refit'"):
        fl.auc_posterior(forest, X, y)
    assert fl.auc_posterior(forest, X, y, method="refit").mean > 0.9
    with pytest.raises(fl.EstimatorError, match="and pass y == 2"):
        fl.roc_posterior(forest, X, y, method="refit")
    assert fl.roc_posterior(forest.fit(X, y == 2), X, y == 2, method="refit").partial_auc().mean > 0.9


@pytest.mark.parametrize("weights", [None, "balanced", {0: 1.0, 1: 3.0}], ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_one_class_against_the_other_is_the_classifier_inside(weights, scaled):
    """A OneVsRestClassifier of two classes answers as its only member does, whatever the classes are called."""
    labels = np.array(["ill", "well"])[Y]
    by_label = {"ill": 1.0, "well": 3.0} if isinstance(weights, dict) else weights
    alone, inside = (LogisticRegression(C=0.5, tol=1e-9, class_weight=w) for w in (by_label, weights))
    if scaled:
        alone, inside = (make_pipeline(StandardScaler(), each) for each in (alone, inside))
    expected = fl.analyse(alone.fit(X, labels), X, labels, pos_label="ill")
    a = fl.analyse(OneVsRestClassifier(inside).fit(X, labels), X, labels, pos_label="ill")
    assert (a.method, a.auc.mean) == ("loo", pytest.approx(expected.auc.mean, abs=1e-9))
    assert a.brier.mean == pytest.approx(expected.brier.mean, abs=1e-9)
    assert a.error().sensitivity.mean == pytest.approx(expected.error().sensitivity.mean, abs=1e-9)


# ---- A file as people have it: the same numbers in every answer, and names that lead back to the rows


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Two visits of each of 40 patients, a text column of three levels, and one level that only cases have."""
    path, rng = tmp_path_factory.mktemp("visits") / "visits.csv", np.random.default_rng(8)
    cases = rng.permutation(40) < 18
    lines = ["patient,ward,marker,outcome"]
    for k in np.repeat(np.arange(40), 2):
        ward = rng.choice(["a", "b", "c"])
        lines.append(f"P{k},{ward},{rng.normal() + cases[k]:.4f},{'case' if cases[k] else 'control'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_columns_are_counted_the_same_way_by_every_command(visits):
    """Two columns in the file, four after encoding: `auc` and the page name both."""
    found = json.loads(run("auc", visits, "--target", "outcome", "--groups", "patient", "--json").stdout)
    assert (found["n_features"], found["n_encoded"]) == (2, 4)
    said = run("auc", visits, "--target", "outcome", "--groups", "patient").stdout
    assert "2 columns, standardized, one-hot text (4 columns after encoding)" in said
    page = visits.with_name("page.html")
    assert run("report", visits, "--target", "outcome", "--groups", "patient", "--no-search", "-o", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "80 rows, 2 columns, 4 after encoding" in text
    assert "with 2 features (4 columns after encoding)" in text
    assert "The smaller class had 18.0 rows per candidate feature (9.0 per column after encoding)" in text


def test_scores_lead_back_to_the_patients(visits):
    out = visits.with_name("scores.csv")
    assert run("auc", visits, "--target", "outcome", "--groups", "patient", "--scores", out).exit_code == 0
    head, first, second, *_ = out.read_text(encoding="utf-8").splitlines()
    assert head == "id,group,class,honest_score,honest_probability"
    assert (first[:5], second[:5]) == ("1,P0,", "2,P0,")


def test_a_pattern_without_a_match_lists_the_columns(visits):
    said = run(
        "compare", visits, "--target", "outcome", "--id", "patient", "--columns", "ward", "--and-columns", "bio_*"
    )
    assert "no column to predict from matches 'bio_*'; the columns are 'ward', 'marker'." in said.stderr


def test_three_classes_have_their_confusion_matrix_and_probabilities(tmp_path):
    """The matrix of the page is that of `error_posterior`, per 100 rows; the file has a probability for each class."""
    rows, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(rows[:, :2], y)
    page = fl.report(model, rows[:, :2], y, search=False)
    lines, post = page.summary()["auc"]["confusion"], fl.error_posterior(model, rows[:, :2], y)
    for name, expected in zip(("mean", "low", "high"), (post.confusion_mean, *post.confusion_interval()), strict=True):
        shown = [[cell[name] for cell in line["cells"]] for line in lines]
        np.testing.assert_allclose(shown, 100 * expected, rtol=1e-12)
    assert "expected decisions among 100 new rows of each class" in page.html
    path, out = tmp_path / "iris.csv", tmp_path / "scores.csv"
    np.savetxt(path, np.column_stack([rows[:, :2], y]), delimiter=",", header="a,b,y", comments="")
    assert run("auc", path, "--target", "y", "--scores", out).exit_code == 0
    head, *cells = (line.split(",") for line in out.read_text(encoding="utf-8").splitlines())
    assert head[-3:] == [f"honest_probability_{k}" for k in range(3)]
    np.testing.assert_allclose([sum(map(float, row[-3:])) for row in cells], 1, atol=1e-9)


def test_an_odds_ratio_that_the_data_do_not_determine_says_so():
    """A level that no case has, without a penalty: the ratio goes to 0, and its interval has no ends."""
    rare = np.zeros(70)
    rare[:4] = 1  # rows of class 0
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(np.column_stack([X[:, 0], rare]), Y)
    page = fl.report(model, np.column_stack([X[:, 0], rare]), Y, search=False, feature_names=["marker", "rare"])
    row = next(row for row in page.summary()["odds"]["rows"] if row["name"] == "rare")
    assert row["low"] < 0.001
    assert row["high"] > 1000
    assert page.html.count("not determined by these data") == 1


def test_announcements_of_scikit_learn_are_not_doubts_about_the_fit():
    """A deprecation or a change to come, warned of by a refit, concerns no number of the page."""

    class Announcing(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            warnings.warn("the default will change in 2.0", FutureWarning, stacklevel=2)
            warnings.warn("use another name", DeprecationWarning, stacklevel=2)
            return super().fit(X, y, sample_weight)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Announcing().fit(X, Y)
        page = fl.report(model, X, Y, search=False, method="refit")
    assert "default will change" not in page.html
    assert "use another name" not in page.html
