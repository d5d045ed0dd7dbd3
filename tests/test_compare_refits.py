"""Comparisons of classifiers without a closed form: all refitted on the same splits."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import foldless as fl
from cli_files import X as CELLS
from cli_files import Y as LABELS
from cli_files import lines, run
from data import alternating, normal_rows
from foldless.comparison.paired import refitted_evidence
from foldless.errors import EstimatorError, InputError
from foldless.honest.held_out import HeldOut, ModelPairs
from sklearn_versions import l1

L1 = LogisticRegression(**l1(), solver="liblinear", C=0.5, random_state=0)
KNN = KNeighborsClassifier(9)


@pytest.fixture(scope="module")
def rows():
    return alternating(80, 6, shift=[1.2, 0.8, 0, 0, 0, 0], seed=1)


def on(columns, model):
    """The model on some of the columns."""
    return make_pipeline(make_column_transformer(("passthrough", columns)), clone(model))


def refits(model, X, y, **options):
    return fl.analyse(clone(model).fit(X, y), X, y, method="refit", **options).refits


# ---- which method


def test_one_without_a_closed_form_has_all_refitted(rows):
    X, y = rows
    sparse, ridge = clone(L1).fit(X, y), RidgeClassifier().fit(X, y)
    result = fl.compare(sparse, ridge, X, y)
    assert result.method == result.a.method == result.b.method == "refit"
    assert sum("refitted 20 times" in note for note in result.notes) == 2
    by_name = fl.compare(sparse, ridge, X, y, method="refit", n_jobs=1)
    assert {**by_name.summary(), "notes": None} == {**result.summary(), "notes": None}
    assert result.notes[:-1] == by_name.notes  # and what the ridge regression has alone
    analysed = fl.compare(fl.analyse(ridge, X, y), fl.analyse(sparse, X, y, method="refit"), names=("b", "a"))
    assert analysed.difference.mean == pytest.approx(-result.difference.mean, rel=1e-12)
    assert fl.compare(sparse, ridge, X, y, method="loo").method == "loo-surrogate"
    assert fl.compare(RidgeClassifier(9.0).fit(X, y), ridge, X, y).method == "loo"


def test_a_closed_form_asked_for_by_name_is_not_mixed_with_refits(rows):
    X, y = rows
    one = fl.analyse(clone(KNN).fit(X, y), X, y, method="refit")
    with pytest.raises(InputError, match="differ in their method"):
        fl.compare(one, fl.analyse(RidgeClassifier().fit(X, y), X, y, method="loo"))
    with pytest.raises(EstimatorError, match="method='refit'"):
        fl.compare(clone(KNN).fit(X, y), RidgeClassifier().fit(X, y), X, y)
    with pytest.raises(EstimatorError, match="needs a fitted scikit-learn classifier"):
        fl.compare(one, np.ones(6), X, y)


# ---- identities


def test_a_model_and_itself_differ_by_exactly_nothing(rows):
    X, y = rows
    for model in (clone(KNN).fit(X, y), RandomForestClassifier(5).fit(X, y)):
        result = fl.compare(model, model, X, y, method="refit", rope=0.01)
        assert result.difference.interval() == (0.0, 0.0)
        assert (result.prob_rope, result.correlation) == (1.0, 1.0)
    ranking = fl.compare_many({"a": clone(KNN).fit(X, y), "b": clone(KNN).fit(X, y)}, X, y, method="refit")
    assert ranking.prob_best == {"a": 0.5, "b": 0.5}


def test_fits_that_only_chance_tells_apart_need_a_seed(rows):
    X, y = rows
    with pytest.raises(EstimatorError, match="give each its own random_state"):
        fl.compare(*(RandomForestClassifier(5).fit(X, y) for _ in "ab"), X, y, method="refit")


def test_swapping_mirrors(rows):
    X, y = rows
    a, b = clone(KNN).fit(X, y), DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    first, second = fl.compare(a, b, X, y, method="refit"), fl.compare(b, a, X, y, method="refit")
    assert first.difference.mean == pytest.approx(-second.difference.mean, rel=1e-12)
    assert first.prob_a_better == pytest.approx(second.prob_b_better, abs=1e-12)


def test_the_covariance_follows_the_formula(rows):
    """r = (R + T_ab) / sqrt(r_a r_b), every term from its definition."""
    X, y = rows
    both = [refits(KNN, X, y), refits(on([0, 1], KNN), X, y)]
    found = refitted_evidence(both)
    assert np.array_equal(both[0].held.fold, both[1].held.fold)

    def standard(held):
        off = held.scores.copy()
        for half in (y == 1, y == 0):
            off[:, half] -= off[:, half].mean(axis=1, keepdims=True)
        return off / np.sqrt(np.mean(off**2))

    def factor(off):
        pairs = [np.mean(off[i] * off[j]) for i in range(4) for j in range(i)]
        q = max(np.mean(pairs) / np.mean(off**2), np.exp(-1) / 0.8)
        return max(q * (1 + np.log(q) / np.log(0.8)), 1.0)

    def effects(held, f):
        pairs = f(ModelPairs.of(held))
        return np.concatenate([each - each.mean() for each in (pairs.by_row1, pairs.by_row0)])

    a, b = (standard(each.held) for each in both)
    c, ra, rb, apart = np.mean(a * b), factor(a), factor(b), factor(a - b)
    shared = (ra + rb - 2 * (1 - c) * apart) / 2 - c
    R = np.corrcoef(*(effects(each.held, ModelPairs.ranks) for each in both))[0, 1]
    upper = min((R + shared) / np.sqrt(ra * rb), 1 - (1 - R) / np.sqrt(ra * rb))
    assert found.correlation[0, 1] == pytest.approx(upper, abs=1e-9)
    assert found.likeness[0, 1] == pytest.approx(c, abs=0.02)


def test_models_that_err_alike_up_to_noise_of_their_own():
    """Known truth: one signal, and training noise that the two share to a known degree."""
    rng = np.random.default_rng(0)
    X, y = alternating(4000, 1, seed=2)
    base = refits(DecisionTreeClassifier(max_depth=1), X, y)
    signal, noise = rng.normal(size=4000) + y, rng.normal(size=(4, 4000))

    def model(own):
        scores = signal + 0.5 * (noise if own is None else rng.normal(size=(4, 4000)))
        held = HeldOut(scores, base.held.fold, y == 1, 0.8)
        return replace(base, held=held, removed=replace(base.removed, loo=scores.mean(axis=0), z=scores[0]))

    shared, apart = (refitted_evidence([model(None), model(own)]) for own in (None, 1))
    assert shared.likeness[0, 1] == 1.0
    assert apart.likeness[0, 1] == pytest.approx(1 / 1.25, abs=0.02)
    assert apart.correlation[0, 1] < 0.95


def test_groups_stay_together_and_count_once(rows):
    X, y = (np.repeat(each, 3, axis=0) for each in rows)
    groups = np.repeat(np.arange(80), 3)
    a, b = clone(KNN).fit(X, y), RidgeClassifier().fit(X, y)
    together, alone = (fl.compare(a, b, X, y, method="refit", groups=each) for each in (groups, None))
    assert together.a.details["groups"] == 80
    assert (
        together.difference.sd
        > 0.8 * fl.compare(clone(KNN).fit(*rows), b.fit(*rows), *rows, method="refit").difference.sd
    )
    assert together.a.mean < alone.a.mean  # copies of a row vote for its label


# ---- known truth


def test_forests_of_different_seeds_do_not_differ(rows):
    X, y = rows
    forests = [RandomForestClassifier(15, max_depth=3, random_state=seed).fit(X, y) for seed in (0, 1)]
    result = fl.compare(*forests, X, y, method="refit")
    low, high = result.difference.interval()
    assert low < 0 < high
    assert 0.2 < result.prob_a_better < 0.8
    assert result.correlation > 0.7


def test_signal_beats_noise():
    X, y = alternating(120, 6, shift=[1.5, 1.0, 0, 0, 0, 0], seed=3)
    models = {"signal": on([0, 1], KNN), "noise": on([2, 3, 4, 5], KNN)}
    ranking = fl.compare_many({k: m.fit(X, y) for k, m in models.items()}, X, y, method="refit")
    assert ranking.best == "signal"
    assert ranking.prob_best["signal"] > 0.97
    assert ranking.between("signal", "noise").difference.interval()[0] > 0


@pytest.mark.slow
def test_statements_about_noise_are_rare():
    """Labels without signal, 40 samples: 90 % intervals hold the true difference, strong claims stay rare."""
    inside, claims = 0, 0
    for seed in range(40):
        X, y = alternating(50, 4, seed=[seed, 11])
        a, b = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), KNeighborsClassifier(7).fit(X, y)
        result = fl.compare(a, b, X, y, method="refit")
        low, high = result.difference.interval(0.9)
        inside += low <= 0 <= high  # both AUCs are exactly 1/2 on labels drawn at random
        claims += max(result.prob_a_better, result.prob_b_better) > 0.95
    assert inside >= 33
    assert claims <= 5


SIGNAL = [1.0, 0.7, 0.4, 0, 0, 0, 0, 0]
RANDOM_TREE = DecisionTreeClassifier(max_depth=4, max_features=2, random_state=0)
PAIRS = {
    "5 - 15 neighbours": (KNeighborsClassifier(5), KNeighborsClassifier(15)),
    "tree - 9 neighbours": (DecisionTreeClassifier(max_depth=3, random_state=0), KNN),
    "2 - 6 columns": (make_pipeline(SelectKBest(k=2), GaussianNB()), make_pipeline(SelectKBest(k=6), GaussianNB())),
    "unrelated columns": (on([0, 2, 4, 6], KNN), on([1, 3, 5, 7], KNN)),
    "two seeds": (RANDOM_TREE, clone(RANDOM_TREE).set_params(random_state=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shift"), [*((name, SIGNAL) for name in PAIRS), *((name, 0.0) for name in list(PAIRS)[:3])]
)
def test_intervals_of_differences_hold_the_truth(name, shift):
    """60 samples: coverage of 90 % intervals, and the correlation of the errors; the table of docs/compare.md."""
    found = []
    for seed in range(60):
        X, y = alternating(60, 8, shift=shift, seed=[seed, 5])
        new, labels = alternating(4000, 8, shift=shift, seed=[seed, 6])
        a, b = (clone(model).fit(X, y) for model in PAIRS[name])
        result = fl.compare(a, b, X, y, method="refit")
        truth = [roc_auc_score(labels, model.predict_proba(new)[:, 1]) for model in (a, b)]
        low, high = result.difference.interval(0.9)
        off = [post.details["pair_auc"] - true for post, true in zip((result.a, result.b), truth, strict=True)]
        found.append((low <= truth[0] - truth[1] <= high, *off, result.correlation))
    inside, off_a, off_b, stated = np.array(found, dtype=float).T
    observed = np.corrcoef(off_a, off_b)[0, 1]
    print(f"{name}, {shift}: observed {observed:.2f}, stated {stated.mean():.2f}, coverage {inside.mean():.2f}")
    assert inside.mean() >= 0.85
    assert stated.mean() < observed + 0.15
    assert shift == 0.0 or stated.mean() > observed - 0.15


# ---- the command line


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(lines())
    return path


def test_commands_refit_what_is_not_linear(table):
    done = run("compare", table, "--target", "y", "--models", "l1,forest=5,logistic", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["method"] == "refit"
    names = {row["name"] for row in found["models"]}
    assert names == {"l1, C = 1", "forest, n_estimators = 5", "logistic, C = 1"}
    for command in ("auc", "report"):
        done = run(command, table, "--target", "y", "--model", "boosting", "--json")
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["auc"]["method"] if command == "report" else found["method"]) == "refit"


def test_the_wrong_strength_and_the_search_are_refused(table):
    done = run("auc", table, "--target", "y", "--model", "forest", "--C", "2")
    assert done.exit_code == 2
    assert "--C is not for forest, which has no penalty" in done.stderr
    done = run("search", table, "--target", "y", "--model", "forest")
    assert done.exit_code == 2
    assert "choose from logistic, ridge, lda, svm" in done.stderr


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(5, random_state=0), GradientBoostingClassifier(n_estimators=5)]
)
def test_a_saved_forest_is_refitted(table, tmp_path, model):
    io = pytest.importorskip("skops.io")
    io.dump(model.fit(CELLS, LABELS), tmp_path / "m.skops")
    done = run("auc", table, "--target", "y", "--model-file", tmp_path / "m.skops", "--json")
    assert done.exit_code == 0, done.stderr
    expected = fl.auc_posterior(model, CELLS, LABELS, method="refit")
    found = json.loads(done.stdout)
    assert (found["auc"], found["method"]) == (pytest.approx(expected.mean, abs=1e-12), "refit")


@pytest.mark.parametrize(
    ("part", "number"),
    [("left_child", 10_000), ("right_child", -7), ("left_child", 0), ("feature", 3), ("feature", -9)],
)
def test_a_saved_tree_that_points_outside_is_refused(table, tmp_path, part, number):
    """scikit-learn follows the numbers in a tree unchecked, into memory that is not its own."""
    io = pytest.importorskip("skops.io")
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(CELLS, LABELS)
    tree = model.estimators_[1, 0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][part][0] = number
    tree.__setstate__(state)
    io.dump(model, tmp_path / "m.skops")
    done = run("auc", table, "--target", "y", "--model-file", tmp_path / "m.skops")
    assert done.exit_code == 2
    assert "holds a tree whose nodes lead nowhere" in done.stderr


def test_a_model_that_is_refitted_for_the_others_says_what_it_has_alone():
    """Its AUC in a comparison is not that of `auc_posterior`; a note has both, and the others have none."""
    y = np.repeat([0, 1], [30, 40])
    X = normal_rows(y, 4, shift=[0.9, 0.5, 0.0, 0.0], seed=5)
    linear = LogisticRegression().fit(X, y)
    sparse = clone(L1).fit(X, y)
    result, alone = fl.compare(linear, sparse, X, y, names=("linear", "sparse")), fl.auc_posterior(linear, X, y)
    assert (result.a.method, alone.method) == ("refit", "loo")
    (note,) = [note for note in result.notes if "alone" in note]
    assert note.startswith("linear: refitted here")
    assert f"{alone.mean:.3f} ({alone.interval()[0]:.3f} to {alone.interval()[1]:.3f})" in note
    assert not any("alone" in note for note in fl.compare(linear, linear, X, y).notes)
