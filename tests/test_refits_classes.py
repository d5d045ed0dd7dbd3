"""Refits of any classifier of more than two classes: scores against scikit-learn's own, answers, refusals."""

from __future__ import annotations

import json
import pickle
import warnings
from itertools import permutations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import foldless as fl
from cli_files import run
from foldless.computation import Options
from foldless.honest.refits import FOLDS, REPEATS, SEED
from foldless.search.paths import Study
from sklearn_versions import l1

FOREST = RandomForestClassifier(8, random_state=0)
SPARSE = make_pipeline(StandardScaler(), LogisticRegression(**l1(), C=0.5, solver="saga", max_iter=2000))


def three(n=60, seed=0, shift=1.2):
    """Rows of three classes with names, the second and third moved along a column of their own."""
    codes = np.arange(n) % 3
    X = np.random.default_rng(seed).standard_normal((n, 4))
    X[:, 0] += shift * (codes == 1)
    X[:, 1] += shift * (codes == 2)
    return X, np.array(["ash", "elm", "oak"])[codes]


def by_folds(model, X, y, response):
    """Scores (R, N, K) of scikit-learn's own refits, and the folds (R, N)."""
    dealt = [StratifiedKFold(FOLDS, shuffle=True, random_state=SEED + r) for r in range(REPEATS)]
    fold = np.empty((REPEATS, y.size), dtype=int)
    for r, splitter in enumerate(dealt):
        for k, (_, test) in enumerate(splitter.split(X, y)):
            fold[r, test] = k
    return np.array([cross_val_predict(model, X, y, cv=each, method=response) for each in dealt]), fold


@pytest.mark.parametrize(
    ("model", "response"), [(FOREST, "predict_proba"), (SVC(), "decision_function")], ids=["forest", "rbf"]
)
def test_answers_are_those_of_refits_by_scikit_learn(model, response):
    X, y = three()
    a = fl.analyse(model.fit(X, y), X, y, method="refit")
    scores, fold = by_folds(model, X, y, response)
    np.testing.assert_allclose(a.scores.scores, scores.mean(axis=0), atol=1e-12)
    aucs = []
    for one, other in permutations(range(3), 2):
        ordered = pairs = 0.0
        for r in range(REPEATS):
            for k in range(FOLDS):
                rows = (fold[r] == k) & np.isin(y, model.classes_[[one, other]])
                count = np.prod(np.unique(y[rows], return_counts=True)[1])
                ordered += count * roc_auc_score(y[rows] == model.classes_[one], scores[r, rows, one])
                pairs += count
        aucs.append(ordered / pairs)
    assert a.auc.details["pair_auc"] == pytest.approx(np.mean(aucs), abs=1e-12)
    called = model.classes_[scores.argmax(axis=2)]
    right = np.mean([accuracy_score(y, each) for each in called])
    assert a.accuracy.mean == pytest.approx(right, abs=0.02)  # the prior of the Beta law is worth one row
    counts = np.sum([confusion_matrix(y, each) for each in called], axis=0)
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(a.error().summary()["confusion"]["mean"], expected, atol=0.05)


def spread_as_the_fit(model, X, y):
    """Probabilities (R, N, K) of refits whose decisions spread about the rows they saw as those of the fit do."""
    chances = np.empty((REPEATS, y.size, 3))
    for r in range(REPEATS):
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED + r).split(X, y):
            refit = clone(model).fit(X[train], y[train])
            ratio = np.sqrt(np.divide(*(m.decision_function(X[train]).var(axis=0).sum() for m in (model, refit))))
            chances[r, test] = softmax(ratio * refit.decision_function(X[test]), axis=1)
    return chances


TIGHT = make_pipeline(
    StandardScaler(), LogisticRegression(**l1(), C=0.5, solver="saga", tol=1e-8, max_iter=20000, random_state=0)
)


@pytest.mark.parametrize("model", [FOREST, TIGHT], ids=["forest", "l1"])
def test_probabilities_are_judged_as_those_of_refits_by_scikit_learn(model):
    """Ranked by them, or by decision values from which they follow."""
    X, y = three(90, seed=11)
    a = fl.analyse(model.fit(X, y), X, y, method="refit")
    chances = by_folds(model, X, y, "predict_proba")[0] if model is FOREST else spread_as_the_fit(model, X, y)
    np.testing.assert_allclose(a.probabilities, chances.mean(axis=0), atol=1e-6)
    true = y[:, None] == model.classes_
    unseen, others = a.class_measures.unseen, np.where(true, 0.0, chances)
    split = np.mean(np.sum(others**2, axis=2) / np.maximum(np.sum(others, axis=2), 1e-12) ** 2)
    for measure, of_rows, loss in (
        (a.brier, np.mean(np.sum((chances - true) ** 2, axis=2)), lambda p: (1 + split) * (1 - p) ** 2),
        (a.log_loss, np.mean([log_loss(y, each) for each in chances]), lambda p: -np.log(p)),
    ):
        mean = of_rows + unseen.share * (unseen.weights @ loss(unseen.values) - of_rows)
        assert measure.mean == pytest.approx(mean, rel=0.03)  # its law is skewed
    expected = chances.mean(axis=(0, 1))
    for k, label in enumerate(model.classes_):
        assert a.calibration[label].oe.ppf(0.5) == pytest.approx(np.mean(y == label) / expected[k], rel=0.005)


def test_fits_that_noise_separates_are_as_sure_of_themselves_as_their_refits_are_said_to_be():
    """Refits to four fifths of the rows are milder: they would halve this log loss."""
    said, true = [], []
    for seed in range(2):
        r = np.random.default_rng(seed)
        X, y, fresh, labels = (
            r.standard_normal((90, 40)),
            np.arange(90) % 3,
            r.standard_normal((3000, 40)),
            np.arange(3000) % 3,
        )
        model = make_pipeline(StandardScaler(), LogisticRegression(C=1000, max_iter=1000)).fit(X, y)
        said.append(fl.analyse(model, X, y, method="refit").log_loss.mean)
        true.append(log_loss(labels, model.predict_proba(fresh)))
    assert np.mean(said) == pytest.approx(np.mean(true), rel=0.15)


def test_what_predict_says_decides_where_probabilities_say_otherwise():
    """The largest probability of SVC(probability=True) is often that of another class than the one it predicts."""
    X, y = three(45, seed=13)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn is to drop the option
        model = SVC(C=0.1, probability=True, random_state=0).fit(X, y)
        a = fl.analyse(model, X, y, method="refit")
        plain = fl.analyse(SVC(C=0.1).fit(X, y), X, y, method="refit")
        assert a.accuracy.apparent == pytest.approx(model.score(X, y))
        assert a.accuracy.mean == pytest.approx(plain.accuracy.mean)


def test_groups_widen_the_rates_of_classes_as_they_widen_the_accuracy():
    X, y = three(60, seed=12)
    X, y, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(60), 3)
    a = fl.analyse(LogisticRegression().fit(X, y), X, y, groups=groups)
    assert a.judged_rows.dependence > 1.5
    assert a.error().counts.sum() == pytest.approx(a.accuracy.a + a.accuracy.b - 1)  # the prior counts as one row


def test_groups_of_several_classes_widen_what_is_known_of_probabilities():
    X, y = three(60, seed=12)
    X, y, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(60), 3)
    model = LogisticRegression().fit(X, y)
    alone, together = fl.analyse(model, X, y).brier, fl.analyse(model, X, y, groups=groups).brier
    assert together.mean > alone.mean  # copies of a row do not tell its class any more
    assert together.sd > 1.5 * alone.sd
    assert "Brier score" in str(fl.validate(model, X, y, groups=groups))


def test_every_question_has_an_answer_or_a_way_out():
    X, y = three(seed=1)
    a = fl.analyse(FOREST.fit(X, y), X, y, method="refit")
    assert a.method == "refit"
    assert a.auc.details["fits"] == FOLDS * REPEATS
    assert 0 < a.top_k(2).mean <= 1
    assert a.verdict in ("trust", "caution")
    assert "RandomForestClassifier" in repr(a)
    assert a.brier.mean > a.brier.apparent
    with pytest.raises(fl.EstimatorError, match="no probabilities"):
        _ = fl.analyse(SVC().fit(X, y), X, y, method="refit").brier
    with pytest.raises(fl.EstimatorError, match="use method='refit'"):
        fl.auc_posterior(FOREST, X, y)


def test_the_commands_take_a_forest_of_three_classes(tmp_path):
    X, y = three(seed=7)
    file = tmp_path / "trees.csv"
    file.write_text(
        "a,b,c,d,kind\n" + "".join(f"{','.join(map(str, row))},{kind}\n" for row, kind in zip(X, y, strict=True))
    )
    how = [file, "--target", "kind"]
    found = json.loads(run("auc", *how, "--model", "forest", "--json").output)
    assert (found["method"], len(found["pairwise"])) == ("refit", 3)
    assert "method                   refit" in run("search", *how, "--model", "l1", "--Cs", "0.3,1").output
    page = tmp_path / "report.html"
    assert run("report", *how, "--model", "l1", "-o", page).exit_code == 0
    assert "refitted 20 times" in page.read_text()


def test_auto_refits_a_linear_classifier_without_a_closed_form():
    X, y = three(seed=2)
    a = fl.analyse(SPARSE.fit(X, y), X, y)
    assert (a.method, a.by_refits) == ("refit", True)
    assert fl.auc_posterior(SPARSE, X, y, method="loo").method == "loo-surrogate"
    ridge = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert fl.auc_posterior(ridge, X, y).method == "loo"
    assert fl.compare(SPARSE, ridge, X, y).method == "refit"  # both on the same splits
    assert fl.compare(SPARSE, SPARSE, X, y).difference.mean == pytest.approx(0, abs=1e-9)


def test_noise_is_at_chance_and_labels_only_name_the_classes():
    X, y = three(seed=3, shift=0.0)
    low, high = fl.auc_posterior(FOREST.fit(X, y), X, y, method="refit").interval(0.95)
    assert low < 0.5 < high
    X, y = three(seed=4)
    named = fl.auc_posterior(SVC().fit(X, y), X, y, method="refit")
    codes = np.searchsorted(np.unique(y), y)
    assert fl.auc_posterior(SVC().fit(X, codes), X, codes, method="refit").mean == pytest.approx(named.mean)


@pytest.mark.parametrize(
    "model", [SVC(decision_function_shape="ovo"), BaggingClassifier(SVC(decision_function_shape="ovo"), 2)]
)
def test_what_gives_no_score_per_class_is_refused(model):
    X, y = three(seed=5)
    with pytest.raises(fl.EstimatorError, match="set decision_function_shape='ovr'"):
        fl.auc_posterior(model.fit(X, y), X, y, method="refit")


def test_log_likelihoods_are_not_compared_between_rows():
    """Boosting and quadratic discriminants decide by values that have a part of their own for each row."""
    X, y = three(seed=8)
    for model in (QuadraticDiscriminantAnalysis(), GradientBoostingClassifier(n_estimators=3, random_state=0)):
        a = fl.analyse(model.fit(X, y), X, y, method="refit")
        np.testing.assert_allclose(a.class_scores.level, model.predict_proba(X).T)
        assert a.auc.details["score"] == "the class's column of predict_proba"
    ridge = fl.analyse(RidgeClassifier().fit(X, y), X, y, method="refit")
    np.testing.assert_allclose(ridge.class_scores.level, ridge.estimator.decision_function(X).T)


def test_scores_that_never_vary_win_no_comparison_and_are_no_trust():
    X, y = three(80, seed=9)
    constant = DummyClassifier(strategy="uniform", random_state=0).fit(X, y)
    found = fl.compare_many(
        {"none": constant, "svm": SVC().fit(X, y), "forest": FOREST.fit(X, y)}, X, y, method="refit"
    )
    assert found.prob_best["none"] < 0.05
    assert fl.compare(FOREST, constant, X, y, method="refit").prob_a_better > 0.9
    assert fl.diagnose(constant, X, y, method="refit").verdict == "caution"


def test_models_without_a_column_do_not_narrow_the_answer():
    X, y = three(seed=2, shift=0.8)
    model = LogisticRegression(**l1(), C=0.08, solver="saga", max_iter=2000)
    a = fl.analyse(model.fit(X, y), X, y, method="refit")
    assert 0 < a.class_rows.idle < a.class_rows.fits
    low, high = a.auc.interval(0.95)
    assert high - low > 0.3
    assert "Penalise less" in str(a.diagnosis.find("agreement"))


def test_comparisons_that_cannot_be_made_are_refused():
    X, y = three(seed=10)
    by_refits = fl.analyse(SVC().fit(X, y), X, y, method="refit")
    closed = fl.analyse(RidgeClassifier().fit(X, y), X, y, method="loo")
    with pytest.raises(fl.InputError, match="differ in their method"):
        fl.compare(by_refits, closed)
    unseeded = [RandomForestClassifier(3).fit(X, y) for _ in range(2)]
    with pytest.raises(fl.EstimatorError, match="only by the random numbers"):
        fl.compare(*unseeded, X, y, method="refit")


def test_an_analysis_can_be_pickled_and_refuses_other_columns_before_any_fit():
    X, y = three(seed=11)
    a = fl.analyse(SVC().fit(X, y), X, y, method="refit")
    assert pickle.loads(pickle.dumps(a)).auc.mean == a.auc.mean
    with pytest.raises(fl.EstimatorError, match="pass X as given to fit"):
        fl.analyse(SVC().fit(X, y), X[:, :2], y, method="refit")


def test_a_search_over_trees_scores_new_rows_and_loses_no_argument_of_fit():
    X, y = three(seed=12)
    search = fl.FoldlessSearch(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, method="refit")
    with pytest.raises(AttributeError, match="no results_: call fit"):
        _ = search.results_
    new, labels = three(300, seed=13)
    expected = roc_auc_score(labels, search.fit(X, y).predict_proba(new), multi_class="ovo")
    assert search.score(new, labels) == pytest.approx(expected, abs=1e-12)
    scaled = fl.FoldlessSearch(make_pipeline(StandardScaler(), SVC()), {}, method="refit", error_score="raise")
    with pytest.raises(fl.InputError, match="do not reach refits, got 'standardscaler__sample_weight'"):
        scaled.fit(X, y, standardscaler__sample_weight=np.ones(60))


def test_a_class_of_few_rows_is_named_before_any_fit():
    X, y = three(12, seed=6)
    keep = np.r_[np.flatnonzero(y != "oak"), np.flatnonzero(y == "oak")[:3]]
    with pytest.raises(fl.InputError, match="refitting needs at least 4 rows of each class"):
        fl.auc_posterior(FOREST.fit(X[keep], y[keep]), X[keep], y[keep], method="refit")


# ---- Multinomial logistic regression whose Hessian is a large square.


def wide_noise(n, n_columns, n_classes):
    return np.random.default_rng(0).normal(size=(n, n_columns)) / n_columns**0.5, np.arange(n) % n_classes


def test_a_hessian_that_is_too_large_makes_way_for_refits():
    """The nearest ridge regressions, which stood in before, find less than half of what chance finds."""
    X, y = wide_noise(205, 210, 20)
    model = LogisticRegression(C=1000.0, max_iter=500).fit(X, y)
    by_refits, stand_in = (fl.analyse(model, X, y, method=method).accuracy for method in ("auto", "loo"))
    assert (by_refits.method, stand_in.method) == ("refit", "loo-surrogate")
    assert by_refits.interval()[0] < 1 / 20 < by_refits.interval()[1]
    assert stand_in.mean < 0.5 / 20


def test_so_does_one_that_would_have_to_be_computed_again_and_again():
    """At weak penalties scikit-learn stops long before the optimum; a search judges all penalties alike."""
    X, y = wide_noise(120, 130, 10)
    early = LogisticRegression(C=1000.0, max_iter=500).fit(X, y)
    assert fl.analyse(LogisticRegression(C=0.1, tol=1e-8).fit(X, y), X, y).method == "loo"
    assert fl.analyse(early, X, y).method == "refit"
    assert Study(early, X, y, {}, Options()).analysed(early).options.method == "loo"
