"""``method="refit"`` through the public functions, and what "auto" makes of classifiers without a closed form."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC

import foldless as fl
from cli_files import lines, run
from data import alternating, ones_first, several_classes
from foldless.errors import EstimatorError, InputError
from foldless.honest.design import build_design
from sklearn_versions import l1

FOREST = RandomForestClassifier(20, random_state=0)
L1 = LogisticRegression(**l1(), solver="liblinear", C=0.5, random_state=0)


@pytest.fixture(scope="module")
def rows():
    return alternating(80, 5, shift=[1.2, 0, 0, 0, 0], seed=1)


@pytest.fixture(scope="module")
def forest(rows):
    X, y = rows
    return fl.analyse(FOREST.fit(X, y), X, y, method="refit")


def test_every_answer_comes_from_the_refits(rows, forest):
    y = rows[1]
    held = forest.leave_one_out.held
    assert forest.method == forest.auc.method == forest.roc.method == forest.error().method == "refit"
    assert 0.6 < forest.auc.mean < 0.95
    assert forest.roc.partial_auc(1.0).mean == pytest.approx(forest.auc.mean, abs=0.01)
    assert forest.error().threshold == 0.5  # of probabilities
    wrong = np.mean((held.scores > 0.5) != (y == 1))
    assert forest.error().error.mean == pytest.approx(wrong, abs=0.03)
    np.testing.assert_allclose(forest.scores.scores, held.scores.mean(axis=0))
    assert forest.auc.details["fits"] == 20
    assert "refitted 20 times" in forest.notes[0]
    assert forest.warnings == ()
    assert forest.auc.n0 == forest.auc.n1 == 40


@pytest.mark.parametrize("model", [FOREST, SGDClassifier("modified_huber", random_state=0), LogisticRegression()])
def test_an_analysis_that_was_asked_for_probabilities_can_be_pickled(rows, model):
    """The function from scores to probabilities travels with the analysis."""
    X, y = rows
    asked = fl.analyse(clone(model).fit(X, y), X, y, method="refit" if model is FOREST else "auto")
    brier = asked.brier.mean
    assert pickle.loads(pickle.dumps(asked)).brier.mean == brier


def test_single_questions_agree_with_the_analysis(rows, forest):
    X, y = rows
    model, how = forest.estimator, {"method": "refit", "n_jobs": 1}
    assert fl.auc_posterior(model, X, y, **how).mean == forest.auc.mean
    assert fl.roc_posterior(model, X, y, **how).mean(0.2) == forest.roc.mean(0.2)
    assert fl.error_posterior(model, X, y, **how).error.mean == forest.error().error.mean
    assert fl.honest_scores(model, X, y, **how).pair_auc == forest.scores.pair_auc
    assert fl.diagnose(model, X, y, **how).verdict == forest.verdict


def test_the_positive_class_may_be_the_first(rows, forest):
    X, y = rows
    other = fl.analyse(forest.estimator, X, y, method="refit", pos_label=0)
    assert other.auc.mean == pytest.approx(forest.auc.mean)
    assert other.error().sensitivity.mean == pytest.approx(forest.error().specificity.mean, abs=0.03)


def test_auto_refits_a_step_that_learned_from_y_and_cannot_be_mapped_back():
    """Shuffled labels and 40 categories of 2 rows: kept as fitted, the encoder would show signal."""
    rng = np.random.default_rng(0)
    y, X = rng.permutation(np.arange(80) % 2), np.repeat(np.arange(40), 2)[rng.permutation(80)][:, None]
    model = make_pipeline(TargetEncoder(random_state=0), LogisticRegression()).fit(X, y)
    a = fl.analyse(model, X, y)
    assert a.method == a.roc.method == "refit"
    assert a.auc.interval()[0] < 0.5 < a.auc.interval()[1]
    # Close, not equal: the encoder draws folds of its own.
    assert a.auc.mean == pytest.approx(fl.auc_posterior(model, X, y, method="refit").mean, abs=0.03)
    assert fl.diagnose(model, X, y).verdict in ("caution", "trust")
    with pytest.raises(EstimatorError, match=r"saw y and cannot be mapped back.*method='refit'"):
        fl.auc_posterior(model, X, y, method="loo")


@pytest.mark.parametrize(("model", "threshold"), [(SVC(), 0.0), (KNeighborsClassifier(), 0.5)])
def test_the_threshold_is_on_the_scale_of_the_scores(rows, model, threshold):
    X, y = rows
    assert fl.error_posterior(model.fit(X, y), X, y, method="refit").threshold == threshold
    fixed = FixedThresholdClassifier(KNeighborsClassifier(), threshold=0.3).fit(X, y)
    a = fl.analyse(fixed, X, y, method="refit")
    assert a.error().threshold == pytest.approx(0.3)
    assert fl.analyse(fixed, X, y, method="refit", pos_label=0).error().threshold == pytest.approx(0.7)


def test_progress_is_called_and_stops_the_refits(rows):
    X, y = rows
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    a = fl.analyse(RidgeClassifier().fit(X, y), X, y, method="refit", progress=stop)
    assert seen == []  # nothing is fitted before it is asked for
    with pytest.raises(KeyboardInterrupt):
        a.auc  # noqa: B018
    assert seen == [(1, 20), (2, 20), (3, 20)]


# ---- "auto"


@pytest.mark.parametrize(
    "model",
    [L1, make_pipeline(SelectKBest(k=2), LogisticRegression()), SVC(kernel="linear"), SGDClassifier(random_state=0)],
    ids=["l1", "kbest", "hinge", "sgd"],
)
def test_auto_refits_linear_classifiers_without_a_closed_form(rows, model):
    X, y = rows
    a = fl.analyse(model.fit(X, y), X, y)
    assert a.method == a.roc.method == a.error().method == a.scores.method == "refit"
    assert a.auc.mean == fl.auc_posterior(model, X, y, method="refit").mean
    assert not any("saw y" in note or "stands in" in note for note in a.notes)


def test_auto_keeps_the_closed_form_and_bare_weights(rows):
    X, y = rows
    ridge = RidgeClassifier().fit(X, y)
    assert fl.auc_posterior(ridge, X, y).method == "loo"
    assert fl.auc_posterior(ridge.coef_.ravel(), X, y).method == "loo-surrogate"
    assert fl.auc_posterior(L1.fit(X, y), X, y, method="loo").method == "loo-surrogate"


def test_a_fit_that_stopped_before_its_optimum_is_refitted():
    """Scikit-learn's tolerance where the classes are far apart: the optimum makes a third as many errors."""
    X, y = alternating(4200, 100, shift=0.5, seed=3)
    rows, new = np.arange(y.size) < 200, np.arange(y.size) >= 200
    model = LogisticRegression(C=100).fit(X[rows], y[rows])
    error = np.mean(model.predict(X[new]) != y[new])
    refits, optimum = (fl.analyse(model, X[rows], y[rows], method=method) for method in ("auto", "loo"))
    (low, high), (_, too_low) = (a.error().error.interval(0.9) for a in (refits, optimum))
    assert (refits.method, refits.verdict, optimum.verdict) == ("refit", "trust", "caution")
    assert too_low < error
    assert low < error < high


def test_so_is_one_of_several_classes():
    X, y, _ = several_classes(4, 60, 40)
    early, late = (LogisticRegression(C=100, tol=tol, max_iter=1000).fit(X, y) for tol in (0.1, 1e-6))
    assert [fl.analyse(each, X, y).method for each in (early, late)] == ["refit", "loo"]


def test_a_fit_with_other_weights_than_stated_is_not_refitted():
    """Refits without them would judge another classifier: the result says so instead."""
    X, y = alternating(60, 5, shift=0.4, seed=3)
    model = LogisticRegression().fit(X, y, sample_weight=np.where(X[:, 0] > 0, 20.0, 0.1))
    a = fl.analyse(model, X, y)
    assert a.method == "loo"
    assert "fit" in [finding.name for finding in a.findings]


def test_no_stand_in_is_trusted(rows):
    """However well it matches: the weights of a ridge regression are matched exactly."""
    X, y = rows
    ridge = RidgeClassifier().fit(X, y)
    a = fl.analyse(ridge.coef_.ravel(), X, y)
    assert a.scores.match > 0.99
    assert a.verdict != "trust"
    for model in (L1, make_pipeline(SelectKBest(k=2), RidgeClassifier()), SVC(kernel="linear"), SGDClassifier()):
        for options in ({}, {"groups": np.arange(80) // 2}):
            a = fl.analyse(model.fit(X, y), X, y, method="loo", **options)
            assert (a.method, a.verdict == "trust") == ("loo-surrogate", False)
    three = (X[:, 0] > 0.5) + (X[:, 1] > 0).astype(int)
    a = fl.analyse(SGDClassifier(random_state=0).fit(X, three), X, three, method="loo")
    assert (a.method, a.verdict == "trust") == ("loo-surrogate", False)


def test_other_classifiers_are_told_of_refits(rows):
    X, y = rows
    for model in (FOREST.fit(X, y), SVC().fit(X, y)):
        with pytest.raises(EstimatorError, match="method='refit'"):
            fl.auc_posterior(model, X, y)


def test_what_rests_on_the_closed_form_refuses_refits(forest):
    with pytest.raises(InputError, match="learning_curve needs rows left out in closed form"):
        fl.learning_curve(forest)


def test_a_search_refits_what_has_no_closed_form(rows):
    """Each candidate has the answer of its own fit, and the posterior of the whole search names its way out."""
    X, y = rows
    pick = make_pipeline(StandardScaler(), SelectKBest(), LogisticRegression(tol=1e-8))
    searches = {
        "auto": (pick, {"selectkbest__k": [1, 4]}),
        "refit": (KNeighborsClassifier(), {"n_neighbors": [3, 15]}),
    }
    for method, (model, grid) in searches.items():
        for scoring in ("auc", "accuracy"):
            search = fl.FoldlessSearch(model, grid, method=method, scoring=scoring).fit(X, y)
            assert [post.method for post in search.posteriors_] == ["refit", "refit"]
        search = fl.FoldlessSearch(model, grid, method=method).fit(X, y)
        for params, post in zip(search.results_["params"], search.posteriors_, strict=True):
            alone = fl.auc_posterior(clone(model).set_params(**params).fit(X, y), X, y, method="refit")
            assert post.mean == pytest.approx(alone.mean, abs=1e-9)
        with pytest.raises(AttributeError, match="a GridSearchCV with method='refit' is tuned again"):
            _ = search.posterior_
    assert (
        fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0]}, method="refit").fit(X, y).posteriors_[0].method
        == "refit"
    )


def test_a_search_over_components_of_pls(rows):
    X, y = rows
    search = fl.FoldlessSearch(PLSRegression(), {"n_components": [1, 2, 3]}).fit(X, y)
    assert all(post.details["fits"] == 20 for post in search.posteriors_)
    assert search.best_estimator_.n_components == search.best_params_["n_components"]


# ---- columns that were standardised beforehand


def spiky(n, classes=2, seed=0):
    """Columns that single rows hold nearly alone, so that it matters whether the scaler has seen a row."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return np.expm1(np.maximum(rng.normal(size=(n, 12)) + 0.8 * np.eye(classes, 12)[y] - 1.2, 0)), y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", [SVC(kernel="linear"), make_pipeline(SelectKBest(k=4), KNeighborsClassifier())])
def test_a_scaler_outside_is_refitted_like_one_inside(model, classes):
    X, y = spiky(60, classes)
    inside = fl.analyse(make_pipeline(StandardScaler(), clone(model)).fit(X, y), X, y, method="refit")
    Z = StandardScaler().fit_transform(X)
    weight = np.ones(len(y)) if classes == 2 and isinstance(model, SVC) else None
    outside = fl.analyse(clone(model).fit(Z, y), Z, y, method="refit", sample_weight=weight)
    assert outside.auc.mean == pytest.approx(inside.auc.mean, abs=1e-6)
    assert outside.auc.sd == pytest.approx(inside.auc.sd, abs=1e-6)
    told = ["mean 0 and standard deviation 1" in " ".join(a.auc.notes) for a in (inside, outside)]
    assert told == [False, True]


def test_a_frame_that_came_standardised_keeps_its_names():
    X, y = spiky(60)
    frame = pd.DataFrame(StandardScaler().fit_transform(X), columns=[f"c{j}" for j in range(12)])
    model = make_pipeline(make_column_transformer(("passthrough", ["c0", "c1", "c2"])), SVC(kernel="linear"))
    named = fl.auc_posterior(model.fit(frame, y), frame, y, method="refit")
    plain = fl.auc_posterior(SVC(kernel="linear").fit(frame.to_numpy()[:, :3], y), frame.to_numpy()[:, :3], y)
    assert named.mean == pytest.approx(plain.mean, abs=1e-6)


# ---- the verdict


def flagged(model, X, y, **options):
    diagnosis = fl.diagnose(model.fit(X, y), X, y, method="refit", **options)
    return diagnosis.verdict, diagnosis.flagged


def test_refits_that_agree_may_be_trusted(rows):
    assert flagged(make_pipeline(StandardScaler(), LogisticRegression()), *rows) == ("trust", ())


@pytest.mark.parametrize("n1", [8, 30])
def test_refits_that_do_not_agree_are_said_and_are_no_caution_by_themselves(n1):
    X, y = ones_first(n1, 60 - n1, 300, seed=0)
    model = make_pipeline(SelectKBest(k=5), LogisticRegression())
    assert flagged(model, X, y) == ("trust", ())
    post = fl.auc_posterior(model, X, y, method="refit")
    assert post.details["agreement"] < 0.46
    assert any("training noise" in note for note in post.notes)


@pytest.mark.parametrize(("n1", "told"), [(8, True), (12, True), (20, False)])
def test_few_rows_to_split_are_said(n1, told):
    X, y = ones_first(n1, 40, 3, shift=1.0, seed=2)
    found = fl.analyse(RidgeClassifier().fit(X, y), X, y, method="refit").findings
    assert any(f.name == "few rows" and f.severity == "info" for f in found) == told


def test_copies_and_labels_in_the_table_are_found(rows):
    X, y = rows
    assert "copies" in flagged(FOREST, np.vstack([X, X]), np.r_[y, y])[1]
    leaky = np.column_stack([X, 3.0 * y])
    verdict, names = flagged(KNeighborsClassifier(), leaky, y)
    assert (verdict, names[0]) == ("do not use", "leak")


def test_a_table_with_text_and_gaps_is_judged_but_not_checked():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = pd.DataFrame({"a": rng.normal(size=60) + y, "b": rng.choice(["x", "y", "z"], 60)})
    X.loc[3, "a"] = np.nan
    steps = make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough")
    model = make_pipeline(steps, RandomForestClassifier(10, random_state=0)).fit(X, y)
    a = fl.analyse(model, X, y, method="refit")
    assert a.auc.mean > 0.55
    assert [f.name for f in a.findings if f.level > 0][:1] == ["not checked"]


# ---- groups, reports, commands


def test_copies_in_groups_are_held_out_together(rows):
    """Two copies of noise give each other away, unless they are one group."""
    X, y = alternating(40, 30, seed=5)
    X, y, groups = np.vstack([X, X]), np.r_[y, y], np.r_[np.arange(40), np.arange(40)]
    model = KNeighborsClassifier(1).fit(X, y)
    alone, together = (fl.analyse(model, X, y, method="refit", groups=g) for g in (None, groups))
    assert alone.auc.interval()[0] > 0.7
    low, high = together.auc.interval()
    assert low < 0.5 < high
    assert together.auc.details["groups"] == 40


def test_a_report_on_a_forest(forest):
    report = fl.report(forest)
    s = report.summary()
    assert s["auc"]["method"] == "refit"
    assert "skipped" in s["features"]
    assert "skipped" in s["learning_curve"]
    assert s["comparison"]["paper"] == {"skipped": "Not possible here: it is for linear classifiers."}
    assert "auc" in s["comparison"]["cross_validation"]
    assert "was refitted 20 times to four fifths" in s["methods"]["text"]
    assert "linear" not in s["methods"]["text"].partition("foldless")[0]
    assert "This classifier is not linear" in report.html


def test_the_commands_refit(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(lines())
    for command in ("auc", "report"):
        done = run(command, path, "--target", "y", "--method", "refit", "--json")
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["auc"]["method"] if command == "report" else found["method"]) == "refit"


def test_streams_and_weights_are_refused(rows, tmp_path):
    X, y = rows
    model = RidgeClassifier().fit(X, y)
    with pytest.raises(InputError, match="needs the table in memory"):
        fl.analyse(model, lambda: iter([(X, y)]), method="refit")
    with pytest.raises(EstimatorError, match="needs a fitted scikit-learn classifier"):
        fl.analyse(model.coef_.ravel(), X, y, method="refit")
    with pytest.raises(InputError, match="method must be 'auto', 'loo', 'refit' or 'in-sample'"):
        fl.auc_posterior(model, X, y, method="cv")


# ---- Sparse rows, of which there are so many that a closed form would take minutes and gigabytes.


def sparse_rows(n, n_columns, n_classes=2):
    columns = np.random.default_rng(0).integers(0, n_columns, size=10 * n)
    X = csr_array((np.ones(10 * n), (np.repeat(np.arange(n), 10), columns)), shape=(n, n_columns))
    beta = np.random.default_rng(1).normal(size=(n_columns, n_classes))
    return X, np.argmax(X @ beta + 0.3 * np.random.default_rng(2).gumbel(size=(n, n_classes)), axis=1)


def test_many_sparse_rows_are_refitted():
    X, y = sparse_rows(9000, 5000)
    train, test = np.arange(4700), np.arange(4700, 9000)
    model = LogisticRegression().fit(X[train], y[train])
    a = fl.analyse(model, X[train], y[train])
    assert a.method == "refit"
    truth = roc_auc_score(y[test], model.decision_function(X[test]))
    assert abs(a.auc.mean - truth) < 2 * a.auc.sd
    assert fl.analyse(model, X[:1000], y[:1000]).method == "loo"  # few rows have a small Hessian


def test_so_are_those_of_several_classes():
    X, y = sparse_rows(3400, 3500, n_classes=3)
    assert fl.analyse(RidgeClassifier().fit(X, y), X, y).method == "refit"


def test_so_are_the_candidates_of_a_search():
    X, y = sparse_rows(4700, 5000)
    search = fl.FoldlessSearch(LogisticRegression(), {"C": [0.1, 1.0]}).fit(X, y)
    assert search.best_posterior_.method == "refit"


def test_a_hessian_of_gigabytes_is_refused():
    with pytest.raises(EstimatorError, match=r"31,000 x 31,000 numbers \(8 GB each\): use method='refit'"):
        build_design(csr_array((31_000, 31_000)), constant=0.0, free_intercept=True)
