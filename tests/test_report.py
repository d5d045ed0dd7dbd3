"""The report says what the API says: its plain content, for every kind of classifier and data."""

from __future__ import annotations

import importlib.util
import json
import os
import pydoc
from email.message import Message

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import foldless as fl
from data import alternating
from foldless.show.report import data, manuscript, methods, page, risks
from foldless.show.report.compared import comparison_part, grid_around, search_part
from foldless.show.report.data import MOST_ODDS, data_part, features_part, odds_part
from foldless.show.report.methods import written
from foldless.show.report.parts import Case, rates_part, roc_part
from foldless.show.validation import DecisionCurveDisplay
from foldless.words import cleaned, plain, times_in_100
from sklearn_versions import VERSION, l1


def sample(n=60, p=8, seed=3):
    """X and y with some signal in the first column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.geomspace(1, 50, p)
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, "ill", "well")


X, Y = sample()
NAMES = [f"gene {k}" for k in range(X.shape[1])]
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)


@pytest.fixture(scope="module")
def found():
    """One report with every part."""
    return fl.report(MODEL, X, Y, pos_label="ill", level=0.9, feature_names=NAMES, data_name="study.csv", seed=5)


@pytest.fixture(scope="module")
def summary(found):
    return found.summary()


def brief(*args, **kwargs):
    """A report without its slowest part, as a dict."""
    return fl.report(*args, search=False, **kwargs).summary()


def part(make, model, A, b, **options):
    """The content of one part alone."""
    usual = {"level": 0.95, "feature_names": None, "seed": 0, "search": True}
    return plain(make(Case.of(fl.analyse(model, A, b), **{**usual, **options})).content)


# ---- the numbers are those of the API


def test_auc_is_that_of_auc_posterior(summary):
    """Mean, interval, sd and the probability of beating chance."""
    post = fl.auc_posterior(MODEL, X, Y, pos_label="ill")
    expected = post.summary(0.9)
    assert {k: summary["auc"][k] for k in ("auc", "low", "high", "sd", "median", "prob_above_chance", "method")} == {
        k: expected[k] for k in ("auc", "low", "high", "sd", "median", "prob_above_chance", "method")
    }


def test_roc_is_that_of_roc_posterior(summary):
    """The points of the table and the whole curve."""
    roc = fl.roc_posterior(MODEL, X, Y, pos_label="ill")
    for point in summary["roc"]["points"]:
        assert (point["mean"], point["low"], point["high"]) == tuple(roc.tpr_at(point["fpr"], 0.9))
    curve = summary["roc"]["curve"]
    np.testing.assert_allclose(curve["tpr"], roc.mean(np.array(curve["fpr"])))


def test_rates_are_those_of_error_posterior(summary):
    """Sensitivity, specificity, PPV and NPV at the classifier's threshold and the prevalence of the data."""
    post = fl.error_posterior(MODEL, X, Y, pos_label="ill")
    counts = {name: count._asdict() for name, count in post.confusion(100, 0.9).items()}
    assert summary["rates"] == plain({**post.summary(0.9), "per_100": counts})
    assert summary["rates"]["prevalence"] == np.mean(Y == "ill")


def test_rivals_are_those_of_the_api(summary):
    """Cross-validation with the seed of the report, and the paper's number on the columns that the weights act on."""
    cv = fl.baselines.cv_auc(MODEL, X, Y, folds=5, random_state=5, pos_label="ill")
    own = summary["comparison"]["cross_validation"]
    assert (own["auc"], own["low"], own["high"]) == (float(cv), *cv.interval(0.9))
    Z = MODEL[:-1].transform(X)
    assert summary["comparison"]["paper"]["auc"] == pytest.approx(
        fl.cbauc(MODEL[-1].coef_.ravel(), Z, Y), rel=1e-9
    )  # turning both the labels and the weights round changes nothing
    assert summary["comparison"]["paper"]["optimistic"]
    assert "ptimistic" in summary["comparison"]["paper"]["text"]


def test_search_is_that_of_foldless_search(summary):
    """Means along C, the best one, and the present one among them."""
    C = [row["value"] for row in summary["search"]["candidates"]]
    search = fl.FoldlessSearch(MODEL, {"logisticregression__C": C}, level=0.9).fit(X, Y)
    np.testing.assert_allclose([row["auc"] for row in summary["search"]["candidates"]], search.results_["mean"])
    assert summary["search"]["best"]["value"] == search.best_params_["logisticregression__C"]
    assert summary["search"]["optimism"] == pytest.approx(search.optimism_)
    # At the present C the search sees the very classifier that is reported on.
    assert summary["search"]["present"]["auc"] == pytest.approx(summary["auc"]["auc"], abs=1e-4)


def test_diagnosis_and_learning_curve_are_those_of_the_api(summary):
    """All findings with verdict, and the AUC at 1, 2 and 5 times the rows."""
    diagnosis = fl.diagnose(MODEL, X, Y, pos_label="ill").summary()
    assert summary["verdict"] == diagnosis["verdict"]
    assert summary["diagnosis"]["findings"] == plain(diagnosis["findings"])
    curve = fl.learning_curve(MODEL, X, Y, (1, 2, 5), pos_label="ill").summary(0.9)
    assert summary["learning_curve"]["points"] == plain(curve["points"])


def test_features_are_the_weights_of_the_classifier(summary):
    """In standardised units they are coef_ itself, turned towards the positive class, the largest first."""
    weights = dict(zip(NAMES, -MODEL[-1].coef_.ravel(), strict=True))
    top = summary["features"]["top"]
    assert [f["name"] for f in top] == sorted(weights, key=lambda name: -abs(weights[name]))
    assert [f["weight"] for f in top] == pytest.approx([weights[f["name"]] for f in top])
    assert summary["features"]["scaler"] == "StandardScaler"
    assert "StandardScaler" in summary["features"]["unit"]


def test_data_and_origin(summary):
    """Rows, classes, positive class, versions, seed, and the call, as nobody gave a command."""
    data = summary["data"]
    assert data["rows"] == 60
    assert data["features"] == 8
    assert data["positive"] == "ill"
    assert {c["label"]: c["rows"] for c in data["classes"]} == dict(zip(*np.unique(Y, return_counts=True), strict=True))
    assert summary["title"] == "LogisticRegression on study.csv"
    assert summary["versions"]["foldless"] == fl.__version__
    assert set(summary["versions"]) == {"foldless", "numpy", "scipy", "scikit-learn", "Python"}
    assert summary["command"]["made_by"] == "python"
    assert summary["command"]["text"] == "foldless.report(estimator, X, y, pos_label='ill', level=0.9, seed=5)"


def test_methods_and_results_have_the_numbers_and_their_references(summary):
    """Every figure is the report's, and every mark has its work; methods have no results."""
    text, works = f"{summary['methods']['text']} {summary['methods']['results']}", summary["methods"]["references"]
    assert f"{summary['auc']['auc']:.3f}" not in summary["methods"]["text"]
    for value in (summary["auc"]["auc"], summary["auc"]["low"], summary["rates"]["ppv"]["mean"]):
        assert f"{value:.3f}" in text
    assert f"{summary['comparison']['cross_validation']['auc']:.3f}" in text
    assert "trained with scikit-learn [1] on 60 rows (" in text
    assert ") with 8 features: L2-penalised" in text
    assert [f"[{k + 1}]" in text for k in range(len(works))] == [True] * len(works)
    assert f"[{len(works) + 1}]" not in text
    assert any("1908.08771" in work for work in works)


def test_methods_follow_the_items_of_tripod(summary):
    """Events per feature, how optimism was corrected, each kind of measure with its interval, and what was not done."""
    text, results = summary["methods"]["text"], summary["methods"]["results"]
    fewest = min(c["rows"] for c in summary["data"]["classes"])
    assert f"The smaller class had {fewest / 8:.1f} rows per candidate feature" in text
    assert "TRIPOD+AI" in text
    assert "was not validated externally" in text
    brier = next(f["apparent"] for f in summary["validation"]["figures"] if f["measure"] == "Brier score")
    for measure in ("calibration slope", "Brier score", "average precision"):
        line = next(f for f in summary["validation"]["figures"] if f["measure"] == measure)
        assert f"{line['honest']:.3f} ({line['low']:.3f} to {line['high']:.3f}" in results
    assert f"; apparent {brier:.3f})" in results
    assert ") (" not in text + results


def test_methods_say_how_rows_were_removed():
    """Closed form for ridge and LDA, a Newton step for the others; groups whole, in our removal and in the folds."""
    for model, words in (
        (RidgeClassifier(), "from the fitted model in closed form"),
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2), "from the fitted model in closed form"),
        (LogisticRegression(max_iter=1000), "from the fitted model by one Newton step or a few"),
    ):
        s = brief(model.fit(X, Y), X, Y, groups=np.repeat(np.arange(20), 3))
        text = s["methods"]["text"]
        assert words in text
        assert "removed together with its whole group" in text
        assert "groups were kept together" in text
        assert "estimated from smoothed ranks" in text
        assert "ROC curve was modelled as binormal" in text
        assert "too narrow" not in text + s["comparison"]["cross_validation"]["text"]


def test_the_reference_has_the_address_of_the_project_if_there_is_one(summary, monkeypatch):
    """As the installed package says; nothing is made up where it is silent."""
    own = {**summary, "home": "https://example.org/foldless"}
    work = f"Version {fl.__version__}. https://example.org/foldless."
    assert any(work in reference for reference in methods.paragraphs(own)["references"])
    assert not any("http" in reference for reference in methods.paragraphs({**own, "home": None})["references"])
    message = Message()
    message["Project-URL"] = "Issues, https://example.org/issues"
    message["Project-URL"] = "Repository, https://example.org/foldless"
    monkeypatch.setattr(page, "metadata", lambda name: message)
    assert page.home() == "https://example.org/foldless"


def test_a_mean_that_would_read_like_a_bound_gets_a_digit_more():
    """'about 95 times in 100 (94 to 95)' says less than is known."""
    two = {"classes": [{"label": "a"}, {"label": "b"}], "positive": "a"}
    told = methods.sentence({"auc": 0.9463, "low": 0.9412, "high": 0.9514, "level": 0.95}, two)
    assert "about 94.6 times in 100 (95 % interval: 94.1 to 95.1 times)" in told
    told = methods.sentence({"auc": 0.9463, "low": 0.9413, "high": 0.9488, "level": 0.95}, two)
    assert "about 94.6 times in 100 (95 % interval: 94.1 to 94.9 times)" in told
    told = methods.sentence({"auc": 0.9971, "low": 0.99, "high": 0.9999, "level": 0.95}, two)
    assert "about 99.7 times in 100 (95 % interval: 99.0 to more than 99.9 times)" in told
    told = methods.sentence({"auc": 0.87, "low": 0.8, "high": 0.93, "level": 0.95}, two)
    assert "about 87 times in 100 (95 % interval: 80 to 93 times)" in told


def test_sentence_is_in_plain_words(summary):
    """How often it is right about two rows, with the interval."""
    auc = summary["auc"]
    assert summary["sentence"].startswith("Given two new rows, one of class “ill” and one of class “well”")
    assert f"about {100 * auc['auc']:.0f} times in 100 (90 % interval: {100 * auc['low']:.0f} to" in summary["sentence"]


def test_summary_is_json_and_a_copy(found):
    """Nothing but plain values, none of them NaN; who changes the dict does not change the report."""
    first = found.summary()
    assert json.loads(json.dumps(first, allow_nan=False)) == first
    first["auc"]["auc"] = 0
    assert found.summary()["auc"]["auc"] > 0.5


def test_all_content_is_on_the_page(found, summary):
    """Every number of the tables, every sentence and every finding is in the text of the page."""
    html = found.html
    for value in (summary["auc"]["auc"], summary["rates"]["npv"]["low"], summary["learning_curve"]["points"][2]["auc"]):
        assert f"{value:.3f}" in html
    for name in ("density", "roc", "calibration", "decision", "precision", "comparison", "search", "learning"):
        assert f'id="{name}-figure_1"' in html
    assert summary["search"]["text"] in html
    assert all(feature["name"] in html for feature in summary["features"]["top"])


# ---- predicted risks


def test_risks_are_those_of_the_api(summary):
    """Rates at thresholds, calibration, net benefit, precision, and the table of `validate`."""
    a = fl.analyse(MODEL, X, Y, pos_label="ill")
    for row in summary["thresholds"]["rows"]:
        post = a.at(probability=row["probability"])
        for name in ("sensitivity", "specificity", "ppv", "npv", "alarms"):
            rate = getattr(post, name)
            low, high = rate.interval(0.9)
            assert row[name] == {"mean": rate.mean, "sd": rate.sd, "low": low, "high": high}
    assert 0.5 in [row["probability"] for row in summary["thresholds"]["rows"]]
    assert summary["validation"] == plain(fl.validate(a, level=0.9).summary())
    low, high = a.calibration.slope.interval(0.9)
    slope = a.calibration.slope
    assert summary["calibration"]["slope"] == {"mean": slope.mean, "sd": slope.sd, "low": low, "high": high}
    at = [row["probability"] for row in summary["decision"]["rows"]]
    assert [row["mean"] for row in summary["decision"]["rows"]] == a.net_benefit(at).mean.tolist()
    assert summary["precision"]["rows"][1]["mean"] == pytest.approx(a.precision_recall.mean(0.8), rel=1e-12)


def test_groups_of_the_calibration_picture_hold_all_rows(summary):
    """Their rows add up, and so do their positive rows."""
    groups = summary["calibration"]["groups"]
    assert sum(g["rows"] for g in groups) == 60
    assert sum(g["rows"] * g["observed"] for g in groups) == pytest.approx(np.count_nonzero(Y == "ill"))
    assert np.all(np.diff([g["predicted"] for g in groups]) >= 0)


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ((0.8, 0.5, 0.9), "too extreme: high risks are too high"),
        ((1.3, 1.1, 1.5), "not extreme enough: high risks are too low"),
        ((1.0, 0.9, 1.1), "do not show that they are too extreme"),
    ],
)
def test_words_for_a_slope(figures, text):
    """Where its interval lies, beside 1."""
    slope = dict(zip(("mean", "low", "high"), figures, strict=True))
    assert text in risks._calibration_words({"oe": {"mean": 1.0, "low": 0.9, "high": 1.1}, "slope": slope})


def test_a_decision_curve_in_words():
    """Where the mean and where the whole interval is above both rivals."""
    t = np.array([0.1, 0.2, 0.3, 0.4])  # treating all at a prevalence of 0.3: 0.22, 0.125, 0, below 0
    mean = np.array([0.2, 0.2, 0.1, -0.1])
    words = risks._decision_words(DecisionCurveDisplay(t, mean, mean - 0.09, mean + 0.1, 0.95, 0.3))
    assert "between 20 and 30\N{NO-BREAK SPACE}%" in words
    assert "the whole 95 % interval is better at a threshold of 30" in words
    useless = DecisionCurveDisplay(t, mean - 1, mean - 1, mean - 1, 0.95, 0.3)
    assert risks._decision_words(useless).startswith("At no threshold")


def test_without_probabilities_the_page_says_once_what_is_missing_and_why():
    """A ridge classifier has none."""
    found = fl.report(RidgeClassifier().fit(X, Y), X, Y, search=False)
    s = found.summary()
    for name in ("thresholds", "calibration", "decision", "precision", "validation"):
        assert "RidgeClassifier has no probabilities" in s[name]["skipped"]
    assert found.html.count("RidgeClassifier has no probabilities") == 1
    assert "TRIPOD" not in s["methods"]["text"]


def test_a_dot_outside_the_band_is_explained(summary):
    """Nearly half of the positive rows far off and the others not at all: no smooth curve follows that."""
    assert summary["roc"]["point"]["agrees"]
    rng = np.random.default_rng(1)
    b = (rng.random(1500) < 0.08).astype(int)
    A = rng.normal(size=(1500, 6))
    A[:, 0] += b * (5 * (rng.random(1500) < 0.45) + 0.2)
    point = part(roc_part, LogisticRegression().fit(A, b), A, b)["point"]
    assert not point["agrees"]
    assert point["tpr"] > point["curve"]["high"]
    assert "above the band of the curve there" in point["text"]


# ---- odds ratios


def by_hand(A, b, level, C=np.inf):
    """Odds ratios of a logistic regression with their intervals, from the inverse of its information matrix."""
    fit = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(A, b)
    Z, q = np.column_stack([A, np.ones(len(A))]), fit.predict_proba(A)[:, 1]
    penalty = np.diag([*np.full(A.shape[1], 1 / C), 0.0])
    V = np.linalg.inv((Z * (q * (1 - q))[:, None]).T @ Z + penalty)
    reach = ndtri((1 + level) / 2) * np.sqrt(np.diag(V))[:-1]
    return fit.coef_.ravel(), reach, V


def odds_of(model, A, b, level=0.9):
    found = part(odds_part, model.fit(A, b), A, b, level=level)
    return found, {row["name"]: (row["odds"], row["low"], row["high"]) for row in found["rows"]}


@pytest.mark.parametrize("scaled", [False, True])
def test_odds_ratios_without_penalty_are_those_of_the_information_matrix(scaled):
    """Per unit of the columns of X, whether or not a scaler comes first."""
    A, b = X[:, :3], (Y == "ill").astype(int)
    w, reach, _ = by_hand(A, b, 0.9)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    found, odds = odds_of(make_pipeline(StandardScaler(), model) if scaled else model, A, b)
    assert not found["penalised"]
    for k, name in enumerate(("column 1", "column 2", "column 3")):
        assert odds[name] == pytest.approx(np.exp([w[k], w[k] - reach[k], w[k] + reach[k]]), rel=1e-5)


def test_a_constant_column_has_no_odds_ratio():
    A, b = X.copy(), Y
    A[:, 1] = 3.0
    odds = odds_of(make_pipeline(StandardScaler(), LogisticRegression()), A, b)[1]
    assert {"column 1", "column 3"} == set(odds) & {"column 1", "column 2", "column 3"}


def test_odds_ratios_of_long_floats_are_those_of_floats():
    """NumPy's linear algebra takes no float128."""
    A, b = X[:, :3], (Y == "ill").astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    long, plain = (odds_of(model, table, b)[1]["column 2"] for table in (A.astype(np.longdouble), A))
    assert all(type(value) is float for value in long)  # JSON and the page know no other
    np.testing.assert_allclose(long, plain)


@pytest.mark.parametrize("digits", [0, 9])
def test_a_precision_recall_curve_that_misses_equal_scores_says_so(digits):
    """Counts: the average precision counts equal scores as one step, and the smooth curve knows of none."""
    b = np.arange(1000) % 4 == 0
    A = np.round(np.exp(0.8 * np.random.default_rng(0).normal(size=(b.size, 1)) + b[:, None] - 0.7), digits)
    found = part(risks.precision_recall_part, LogisticRegression().fit(A, b), A, b)
    assert ("does not follow equal scores" in found["text"]) == (digits == 0)


@pytest.mark.parametrize("C", [0.1, 5.0])
def test_penalised_odds_ratios_are_labelled_and_have_the_curvature_of_the_penalised_objective(C):
    """Of the fit on the same columns; levels of a category are compared with the first one."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(60, 10, 150), "site": rng.choice(list("abc"), 150)})
    b = (0.1 * (table.age - 60) + (table.site == "c") + rng.normal(size=150) > 0).astype(int)
    before = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["site"]))
    w, _, V = by_hand(before.fit_transform(table), b, 0.9, C)
    model = make_pipeline(before, LogisticRegression(C=C, tol=1e-10))
    found, odds = odds_of(model, table, b)
    assert found["penalised"]
    age, *levels = (np.log(odds[name][0]) for name in ("age", "site_b against site_a", "site_c against site_a"))
    by_table = (
        found["intercept"] + age * table.age + sum((table.site == x) * w for x, w in zip("bc", levels, strict=True))
    )
    np.testing.assert_allclose(by_table, model.decision_function(table), atol=1e-6)  # the model can be used by hand
    assert set(odds) == {"age", "site_b against site_a", "site_c against site_a"}
    sd = table.age.std(ddof=0)
    reach = ndtri(0.95) * np.sqrt(V[0, 0])
    assert odds["age"] == pytest.approx(np.exp(np.array([w[0], w[0] - reach, w[0] + reach]) / sd), rel=1e-4)
    apart, reach = w[3] - w[1], ndtri(0.95) * np.sqrt(V[3, 3] + V[1, 1] - 2 * V[1, 3])
    assert odds["site_c against site_a"] == pytest.approx(np.exp([apart, apart - reach, apart + reach]), rel=1e-4)


@pytest.mark.skipif(VERSION < (1, 7), reason="its ColumnTransformer does not pass columns of polars through")
def test_levels_are_compared_with_a_known_one_and_missing_ones_are_explained():
    rng = np.random.default_rng(3)
    b = np.arange(90) % 2
    table = pl.DataFrame({"site": rng.choice(["(missing)", "a", "b"], 90), "age": rng.normal(size=90) + b})
    before = make_column_transformer((OneHotEncoder(), ["site"]), remainder="passthrough")
    model = make_pipeline(before, LogisticRegression()).fit(table, b)
    report = fl.report(model, table, b, search=False)
    names = [row["name"] for row in report.summary()["odds"]["rows"]]
    assert names == ["site_(missing) against site_a", "site_b against site_a", "age"]
    assert "“(missing)” stands for rows without a value" in report.html


def test_a_page_without_odds_ratios_says_why():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(80, MOST_ODDS + 1)), np.arange(80) % 2
    html = fl.report(LogisticRegression().fit(A, b), A, b, search=False).html
    assert "Odds ratios are shown for at most 60 columns and unweighted rows; here are 61, categories" in html


def test_only_a_logistic_regression_has_odds_ratios(found):
    """The page labels the penalised ones; ridge, LDA and class weights have none."""
    assert "Penalised: the penalty of this classifier draws them towards 1" in found.html
    others = (RidgeClassifier(), LinearDiscriminantAnalysis(), LogisticRegression(class_weight="balanced"))
    for model in others:
        assert "skipped" in part(odds_part, model.fit(X, Y), X, Y)


# ---- one analysis


@pytest.fixture
def calls(monkeypatch):
    """Names of the expensive steps, one entry per call."""
    names = []
    for place in ("foldless.computation.take_apart", "foldless.honest.leave_one_out.remove_rows"):
        step = pydoc.locate(place)
        monkeypatch.setattr(place, lambda *a, f=step, **k: names.append(f.__name__) or f(*a, **k))
    return names


def test_a_report_is_read_off_one_analysis(calls):
    """The classifier is taken apart once and its rows are removed once, whatever the number of parts."""
    fl.report(MODEL, X, Y, search=False)
    assert sorted(calls) == ["remove_rows", "take_apart"]


def test_a_report_takes_an_analysis(summary, calls):
    """Nothing is computed again, and the content is that of the classifier; data and options are left out."""
    analysis = fl.analyse(MODEL, X, Y, pos_label="ill")
    expected = {"auc": analysis.auc.mean, "verdict": analysis.verdict}
    del calls[:]
    options = {"level": 0.9, "feature_names": NAMES, "data_name": "study.csv", "seed": 5}
    s = brief(analysis, **options)
    assert calls == []
    assert (s["auc"]["auc"], s["verdict"]) == (expected["auc"], expected["verdict"])
    same = [name for name in s if name not in ("search", "command")]
    assert {name: s[name] for name in same} == {name: summary[name] for name in same}
    with pytest.raises(fl.InputError, match="leave 'X', 'y', 'groups' out"):
        fl.report(analysis, X, Y, groups=np.arange(60))
    with pytest.raises(fl.InputError, match="in-sample"):
        fl.report(fl.analyse(MODEL, X, Y, method="in-sample"))


def test_options_that_only_an_analysis_has_are_told():
    """The prior and the average over classes are in the methods and in the call."""
    s = brief(fl.analyse(MODEL, X, Y, prior=fl.EffectPrior.flat()))
    assert f"with the prior {fl.EffectPrior.flat()!r} on that difference" in s["methods"]["text"]
    assert s["command"]["text"].startswith("foldless.report(foldless.analyse(estimator, X, y, prior=EffectPrior")
    A, b = load_iris(return_X_y=True)
    s = brief(fl.analyse(RidgeClassifier().fit(A[::3], b[::3]), A[::3], b[::3], multi_class="ovr"))
    assert "average area under the ROC curve (AUC) of each class against the rest" in s["methods"]["text"]
    assert not any("Hand" in work for work in s["methods"]["references"])


# ---- other classifiers and data


def test_bare_weights():
    """No threshold, no refits, no penalty: each part says so, the others are there."""
    s = brief(MODEL[-1].coef_.ravel(), MODEL[:-1].transform(X), Y)
    assert "draw no line" in s["rates"]["skipped"]
    assert "cannot be fitted again" in s["comparison"]["cross_validation"]["skipped"]
    assert s["auc"]["method"] == "loo-surrogate"
    assert s["model"] == "given weights"
    assert "closest to the classifier" in s["methods"]["text"]


def test_a_selection_in_the_pipeline_keeps_names_and_counts_zeros():
    """Weights are mapped back to all columns; the selected ones keep their names."""
    model = make_pipeline(StandardScaler(), SelectKBest(k=3), LogisticRegression()).fit(X, Y)
    found = part(features_part, model, X, Y, feature_names=NAMES)
    chosen = [name for name, kept in zip(NAMES, model[1].get_support(), strict=True) if kept]
    assert sorted(f["name"] for f in found["top"]) == chosen
    assert (found["nonzero"], found["features"]) == (3, 8)


def test_without_a_scaler_weights_are_made_comparable():
    """Weight times standard deviation, and the page says that there is no scaler."""
    model = RidgeClassifier().fit(X, Y)
    found = part(features_part, model, X, Y)
    expected = np.sort(np.abs(model.coef_.ravel() * X.std(axis=0)))[::-1]
    assert [abs(f["weight"]) for f in found["top"]] == pytest.approx(expected)
    assert "No scaler" in found["unit"]
    assert found["top"][0]["name"].startswith("column ")


def test_a_scaler_behind_a_selection_is_not_denied():
    """The weights act on the columns before the selection, in other units than the scaler's."""
    model = make_pipeline(SelectKBest(k=3), MinMaxScaler(), LogisticRegression()).fit(X, Y)
    assert "(MinMaxScaler) is allowed for" in part(features_part, model, X, Y)["unit"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_with_text_and_missing_values(kind):
    """Columns are told apart and named; those that the pipeline makes of them are named by it."""
    frame = pd.DataFrame({"age": X[:, 0], "bmi": X[:, 1], "sex": np.where(X[:, 2] > 0, "m", "f"), "unit": 1.0})
    frame.loc[3:9, "bmi"] = np.nan
    numeric = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((numeric, ["age", "bmi"]), (OneHotEncoder(sparse_output=False), ["sex"]))
    table = frame if kind == "pandas" else pl.from_pandas(frame)
    model = make_pipeline(columns, LogisticRegression()).fit(table, Y)
    seen, top = part(data_part, model, table, Y), part(features_part, model, table, Y)
    assert (seen["constant"]["names"], seen["missing"]["names"], seen["text"]["names"]) == (["unit"], ["bmi"], ["sex"])
    assert seen["missing_values"] == 7
    assert {"pipeline__age", "onehotencoder__sex_f"} <= {f["name"] for f in top["top"]}
    assert "(StandardScaler) is allowed for" in top["unit"]
    assert "SimpleImputer() → StandardScaler()" in written(model)


def test_arrays_with_missing_and_constant_columns():
    """Found in blocks of numbers as well; a column of nothing but NaN and one value is constant."""
    A = X.copy()
    A[:, 1], A[2, 2], A[5:, 3], A[:5, 3] = 7.0, np.nan, np.nan, 1.0
    found = data.column_kinds(A, None)
    assert found["constant"]["names"] == ["column 2", "column 4"]
    assert found["missing"]["names"] == ["column 3", "column 4"]
    assert found["missing_values"] == 56


def test_sparse_data():
    """Zeros that are not stored count as values."""
    A = sp.csr_matrix(np.maximum(X, 0))
    found = part(data_part, LogisticRegression(max_iter=1000).fit(A, Y), A, Y)
    assert found["sparse"]
    assert found["constant"]["count"] == 0


def test_documents():
    """Texts that the pipeline turns into columns: the words are the features."""
    words = np.random.default_rng(0).choice(["good", "bad", "so"], size=(60, 4))
    extra = np.where((Y == "ill") & (np.arange(60) % 3 > 0), "fever", "")
    texts = [" ".join([*row, more]) for row, more in zip(words, extra, strict=True)]
    s = brief(make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, Y), texts, Y)
    assert s["data"]["features"] is None
    assert s["features"]["top"][0]["name"] == "fever"


def test_groups_and_sample_weights():
    """Both reach the answer and the search, and the page tells what the rivals do with them."""
    groups, w = np.repeat(np.arange(20), 3), np.random.default_rng(1).uniform(0.5, 2, 60)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y, logisticregression__sample_weight=w)
    s = fl.report(model, X, Y, groups=groups, sample_weight=w).summary()
    assert s["auc"]["auc"] == fl.auc_posterior(model, X, Y, groups=groups, sample_weight=w).mean
    assert s["data"]["groups"] == {"count": 20, "smallest": 3, "largest": 3}
    assert s["data"]["weighted"]
    assert "stayed together" in s["comparison"]["cross_validation"]["text"]
    assert "weights were not used" in s["comparison"]["cross_validation"]["text"]
    assert s["search"]["present"]["auc"] == pytest.approx(s["auc"]["auc"], abs=1e-4)
    assert "groups=groups, sample_weight=sample_weight" in s["command"]["text"]
    assert "; 20 groups of dependent rows)" in s["methods"]["text"]


def test_more_than_two_classes():
    """The average, the matrix, each class against the rest; what exists for two classes only says so."""
    A, b = load_iris(return_X_y=True)
    A, b = A[::3, :2], b[::3]
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(A, b)
    found = fl.report(model, A, b)
    s = found.summary()
    post = fl.auc_posterior(model, A, b)
    diagnosis = fl.diagnose(model, A, b)
    assert (s["auc"]["auc"], s["verdict"]) == (post.mean, diagnosis.verdict)
    assert s["diagnosis"]["findings"] == plain(diagnosis.summary()["findings"])
    assert s["auc"]["weakest"] == list(post.pairwise.weakest())
    assert all("two classes only" in s[name]["skipped"] for name in ("roc", "rates", "comparison"))
    assert s["learning_curve"]["points"][0]["auc"] == pytest.approx(s["auc"]["auc"])
    assert s["search"]["brief"] == "alpha"
    assert {f["class"] for f in s["features"]["top"]} <= {0, 1, 2}
    for first, second in post.pairwise:
        assert f"{post.pairwise[first, second].mean:.3f}" in found.html
    assert any("Hand" in work for work in s["methods"]["references"])
    assert f"verdict {diagnosis.verdict!r}" in repr(found)
    for heading in ("roc", "rates", "comparison"):
        assert f'<h2 id="{heading}">' not in found.html
    assert '<h2 id="diagnosis">' in found.html
    assert found.html.count("for two classes only") == 1  # once of all parts together


def test_several_classes_with_probabilities_have_the_table_of_the_validation():
    """Each class against the rest; without probabilities there is no table."""
    A, b = load_iris(return_X_y=True)
    A, b = A[::3, :2], b[::3]
    model = LogisticRegression().fit(A, b)
    found = fl.report(model, A, b, search=False)
    assert found.summary()["validation"] == plain(fl.validate(model, A, b).summary())
    assert '<h2 id="validation">' in found.html
    assert "Calibration slope of 2" in found.html
    assert '<h2 id="validation">' not in fl.report(RidgeClassifier().fit(A, b), A, b, search=False).html


def test_a_search_that_does_not_apply_to_several_classes_has_no_heading():
    """Its reason joins the sentence about the other parts."""
    A, b = load_iris(return_X_y=True)
    html = fl.report(LinearDiscriminantAnalysis().fit(A[::3, :2], b[::3]), A[::3, :2], b[::3]).html
    assert '<h2 id="search">' not in html
    assert "The search over the penalty was left out. LinearDiscriminantAnalysis, as it was fitted, has no" in html


def test_rows_without_names_are_numbered_from_0():
    A, b = np.vstack([X, X]), np.r_[Y, Y]
    html = fl.report(LogisticRegression(max_iter=1000).fit(A, b), A, b, search=False).html
    assert "numbered from 0)" in html


def test_many_classes_are_listed_instead_of_drawn():
    """Above ten classes the matrix gives way to the weakest pairs."""
    rng = np.random.default_rng(0)
    b = np.repeat(np.arange(12), 6)
    A = rng.normal(size=(72, 4)) + 2 * rng.normal(size=(12, 4))[b]
    html = fl.report(LinearDiscriminantAnalysis().fit(A, b), A, b, search=False).html
    assert "46 other pairs have a higher one" in html


@pytest.mark.parametrize("solver", ["saga", "liblinear"])
def test_the_search_goes_on_where_an_l1_penalty_leaves_no_weight(solver):
    """Strengths that cannot be judged are left out; those that can are there."""
    Z = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=0.1, **l1(), solver=solver, max_iter=5000).fit(Z, Y)
    with pytest.warns(fl.TrustWarning, match="could not be judged"):
        judged = [row["auc"] for row in part(search_part, model, Z, Y)["candidates"]]
    assert judged[0] is None
    assert judged[-1] > 0.5


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression(C=np.inf, max_iter=5000)])
def test_no_penalty_to_search_over(model):
    """A sentence instead of the search."""
    assert "no penalty" in part(search_part, model.fit(X, Y), X, Y)["skipped"]


class Platt(RidgeClassifier):
    """Probabilities of a making of its own."""

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-3 * self.decision_function(X) + 0.5))
        return np.column_stack([1 - p, p])


def test_a_threshold_of_its_own_is_not_passed_over():
    """Rates at a decision of 0 would not be those of this classifier; where its own is unknown, there are none."""
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.3, pos_label="well").fit(X[:, :3], Y)
    assert part(rates_part, model, X[:, :3], Y)["threshold"] == pytest.approx(np.log(0.3 / 0.7))
    platt = FixedThresholdClassifier(Platt(), threshold=0.3, pos_label="well").fit(X[:, :3], Y)
    assert "not a known function of its decision_function" in part(rates_part, platt, X[:, :3], Y)["skipped"]


def test_too_few_rows_for_five_folds():
    """The comparison says why cross-validation is not there; our own number and the paper's are."""
    y = np.array(["a"] * 9 + ["b"] * 3)
    found = part(comparison_part, RidgeClassifier().fit(X[:12, :2], y), X[:12, :2], y)
    assert "at least 5 rows" in found["cross_validation"]["skipped"]
    assert found["foldless"]["auc"] > 0
    assert found["paper"]["auc"] > 0


def test_a_number_that_must_not_be_used_comes_after_the_warning():
    """With copies of rows the page opens with the verdict, not with the AUC."""
    A, b = np.vstack([X, X]), np.r_[Y, Y]
    found = fl.report(LogisticRegression(max_iter=1000).fit(A, b), A, b, search=False)
    assert found.verdict == "do not use"
    assert found.html.index("Do not use this number") < found.html.index("Given two new rows")


def test_warnings_are_on_the_page_and_not_given():
    """The warnings of refits and of folds are noted; none reaches the caller."""
    with pytest.warns(Warning, match="failed to converge"):
        model = LogisticRegression(max_iter=2).fit(X, Y)
    notes = brief(model, X, Y)["notes"]
    assert any(note.startswith("20 of the 20 refits gave a warning") for note in notes)
    assert any(note.startswith("5-fold cross-validation") and "failed to converge" in note for note in notes)


# ---- what is refused, and when


class Untouchable:
    """An estimator that complains when anybody looks at it."""

    def __getattr__(self, name):
        raise AssertionError("the work began")


@pytest.mark.parametrize("path", ["nowhere/report.html", "."])
def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch, path):
    """No folder, or a folder in place of a file."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fl.InputError, match=r"cannot be written|can be replaced"):
        fl.report(Untouchable(), X, Y, path)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to the superuser")
def test_a_folder_without_permission_is_refused_before_the_work(tmp_path):
    """A folder that may not be written to."""
    tmp_path.chmod(0o500)
    with pytest.raises(fl.InputError, match="no permission"):
        fl.report(Untouchable(), X, Y, tmp_path / "report.html")


def test_the_page_is_written_whole(tmp_path, found, monkeypatch):
    """save writes the page; where that fails the old file is left as it was and nothing lies about."""
    path = tmp_path / "report.html"
    assert found.save(path) == path
    assert path.read_text(encoding="utf-8") == found.html
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    path.write_text("old")
    with pytest.raises(fl.InputError, match="No space left"):
        found.save(path)
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["report.html"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 95}, "level must lie"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "a"}, "seed must be"),
        ({"feature_names": ["a", "b"]}, "2 names but X has 8 columns"),
        ({"feature_names": "abcdefgh"}, "list of names"),
        ({"notes": "one"}, "list of sentences"),
        ({"notes": [1]}, "list of sentences"),
        ({"path": 3}, "name of a file"),
        ({"pos_label": "nobody"}, "not a class"),
    ],
)
def test_bad_options(options, message):
    """Each is refused with a sentence."""
    with pytest.raises(fl.InputError, match=message):
        fl.report(MODEL, X, Y, **options)


def test_groups_of_several_classes_are_told():
    """They are refitted: the methods say so, and parts that need a closed form say why they are missing."""
    A, b = load_iris(return_X_y=True)
    s = brief(RidgeClassifier().fit(A, b), A, b, groups=np.arange(150) // 2)
    assert "was refitted 20 times" in s["methods"]["text"]
    assert "removed together with its whole group" in s["methods"]["text"]
    assert "closed form only" in s["learning_curve"]["skipped"]
    assert s["data"]["groups"]["count"] == 75


@pytest.mark.parametrize("absent", ["jinja2", "matplotlib"])
def test_missing_extras_are_named(monkeypatch, absent):
    """One error that says what to install, before anything is computed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(page, "find_spec", lambda name: None if name == absent else real(name))
    with pytest.raises(fl.InputError, match=rf"{absent}: pip install 'foldless\[report\]'"):
        fl.report(Untouchable(), X, Y)


def test_progress_names_every_part():
    """A callable is told what is being made."""
    told = []
    fl.report(MODEL, X, Y, search=False, progress=told.append)
    assert len(told) == 16
    assert (told[0], told[-1]) == ("AUC and its posterior", "pictures and page")


# ---- small pieces


def test_the_grid_holds_the_present_value_and_three_decades_each_way():
    """Round values, the present one exactly."""
    grid = grid_around(0.7, 4)
    assert 0.7 in grid
    assert (len(grid), grid[0], grid[-1]) == (13, 0.0007, 700.0)


def test_settings_are_written_without_addresses():
    """Objects among the settings are named by their class, so that two runs give the same page."""
    model = LogisticRegression(C=0.5, random_state=np.random.RandomState(0), class_weight={"ill": 2.0})
    assert written(model) == "LogisticRegression(C=0.5, class_weight=dict, random_state=RandomState)"
    assert written(MinMaxScaler(feature_range=(0, 2))) == "MinMaxScaler(feature_range=[0, 2])"


@pytest.mark.parametrize("bad", ["\x00", "\x1b", "\u202e", "\ud800", "\ufeff", "\x85"])
def test_unsafe_characters_are_replaced(bad):
    """Controls, turned writing, halves of characters."""
    assert bad not in cleaned(f"a{bad}b")
    assert cleaned(f"a{bad}b").encode("utf-8")


def test_words_for_probabilities():
    """What is merely close to certain does not read as if it were."""
    assert [times_in_100(p) for p in (0.0, 0.5, 0.994, 0.996, 1.0)] == [
        "fewer than 1", "50", "99", "more than 99", "more than 99",
    ]  # fmt: skip


def test_report_searches_with_labels_in_an_array_of_objects():
    """scikit-learn refuses to fit numbers in such an array, and its ValueError ended the whole report."""
    X, Y = alternating(24, 2, shift=1.0)
    pytest.importorskip("jinja2")
    found = fl.report(RidgeClassifier().fit(X, Y), X, Y.astype(object)).summary()
    assert len(found["search"]["candidates"]) > 3


# ---- For a manuscript


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([LogisticRegression()], "L2-penalised logistic regression (C = 1)"),
        (
            [StandardScaler(), LogisticRegression(C=0.3, class_weight="balanced")],
            "L2-penalised logistic regression (C = 0.3) on standardised columns, classes weighted equally",
        ),
        ([LogisticRegression(C=np.inf)], "logistic regression without penalty"),
        ([MinMaxScaler(), RidgeClassifier()], "ridge classifier (alpha = 1), MinMaxScaler()"),
        (
            [SelectKBest(k=3), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)],
            "linear discriminant analysis (shrinkage = 0.1), the 3 columns with the largest scores selected",
        ),
        (
            [
                make_column_transformer(
                    (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [0, 1]),
                    (OneHotEncoder(), [2]),
                    ("drop", [3]),
                ),
                LogisticRegression(),
            ],
            "L2-penalised logistic regression (C = 1) on standardised columns, missing values replaced by the median, "
            "categories one-hot encoded",
        ),
    ],
)
def test_the_model_is_named_in_words(steps, words):
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(60, 2)), np.arange(60) % 3, rng.normal(size=60)])
    y = np.arange(60) % 2
    case = Case.of(fl.analyse(make_pipeline(*steps).fit(table, y), table, y), 0.95, None, 0, False)
    assert methods.origin(case, None, None, None)["model"] == words


def test_figures_and_tables_for_a_manuscript(tmp_path):
    """Every figure of the page as SVG and PDF, every table as LaTeX and in one Word document, cell by cell."""
    from docx import Document

    figures, tables = tmp_path / "figures", tmp_path / "tables"
    made = fl.report(MODEL, X, Y, pos_label="ill", search=False, figures=figures, tables=tables)
    drawn = sorted(path.stem for path in figures.glob("*.svg"))
    assert drawn == sorted(path.stem for path in figures.glob("*.pdf"))
    assert len(drawn) == made.html.count("<figure")
    assert all(path.read_bytes().startswith(b"%PDF") for path in figures.glob("*.pdf"))
    assert "var(--" not in (figures / "roc.svg").read_text()
    assert page.ACCENT not in (figures / "comparison.svg").read_text()
    found = manuscript.tables_of(made.html)
    assert len(found) == made.html.count("<table")
    assert all(len({len(line) for line in table.lines}) == 1 for table in found.values())
    s = made.summary()
    assert found["rates"].lines[1][:2] == ["Sensitivity", f"{s['rates']['sensitivity']['mean']:.3f}"]
    counts = s["rates"]["per_100"]
    assert sum(counts[name]["mean"] for name in ("tp", "fn", "fp", "tn")) == pytest.approx(100)
    assert found["rates-2"].lines[1][1].startswith(f"{counts['tp']['mean']:.1f} (")
    in_word = Document(tables / "tables.docx").tables
    assert [[[c.text for c in row.cells] for row in t.rows] for t in in_word] == [t.lines for t in found.values()]
    assert {path.stem for path in tables.glob("*.tex")} == set(found)
    assert r"95 \% interval \\" in (tables / "rates.tex").read_text()
    # Captions stand alone: a sentence or more, none of the page's questions, none about what is not printed.
    captions = [table.caption for table in found.values()] + (figures / "captions.txt").read_text().split("\n")[1::3]
    assert len(captions) == len(found) + len(drawn)
    assert all(len(text.split()) >= 5 and text.endswith(".") for text in captions)
    assert not any("?" in text or "bars" in text for text in captions)
    assert found["comparison"].lines[0] == ["method", "AUC"]  # advice to the reader stays on the page
    assert (tables / "thresholds.tex").read_text().count(r"\resizebox{\linewidth}") == 1


def test_folders_are_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "no" / "where"):
        with pytest.raises(fl.InputError, match=r"is a file: name a folder|there is no directory"):
            fl.report(MODEL, X, Y, figures=folder)


def test_a_search_over_very_many_groups_is_left_out():
    """Groups leave one by one, for each value of the penalty: minutes on 4,000 of them."""
    rng = np.random.default_rng(2)
    for count, skipped in ((1100, True), (300, False)):
        table, y = rng.normal(size=(count, 2)), np.arange(count) % 2
        analysis = fl.analyse(RidgeClassifier().fit(table, y), table, y, groups=np.arange(count))
        part = search_part(Case.of(analysis, 0.95, None, 0, True))
        assert ("each value takes long with 1,100 groups" in part.content.get("skipped", "")) == skipped
