"""`compare` and `compare_many`: exact identities, the questions they answer, and what they refuse."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from data import noise, normal_rows

LOO = pytest.param("loo", id="loo")
IN_SAMPLE = pytest.param(
    "in-sample", id="in-sample", marks=pytest.mark.filterwarnings("ignore::foldless.OptimismWarning")
)


def logistic(C):
    return LogisticRegression(C=C, tol=1e-8, max_iter=5000)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [34, 26])
    X = normal_rows(y, 8, shift=[0.7, 0.7, 0.4, 0.4, 0, 0, 0, 0], seed=rng)
    order = rng.permutation(60)
    return X[order], y[order]


@pytest.fixture(scope="module")
def models(data):
    X, y = data
    return {
        "weak": logistic(0.01).fit(X, y),
        "strong": logistic(10.0).fit(X, y),
        "ridge": make_pipeline(StandardScaler(), RidgeClassifier(alpha=3.0)).fit(X, y),
        "lda": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3).fit(X, y),
    }


def figures(found):
    d = found.difference
    return np.array([d.mean, d.median, *d.interval(0.9), *d.interval(0.5), found.prob_a_better, found.prob_b_better])


# ---- identities


@pytest.mark.parametrize("method", [LOO, IN_SAMPLE])
@pytest.mark.parametrize("pair", [("weak", "strong"), ("ridge", "lda"), ("lda", "weak")])
def test_swapping_mirrors(data, models, method, pair):
    a, b = (models[name] for name in pair)
    one, two = (fl.compare(*order, *data, rope=0.02, method=method) for order in ((a, b), (b, a)))
    mirrored = figures(two)[[0, 1, 3, 2, 5, 4, 7, 6]] * np.array([-1, -1, -1, -1, -1, -1, 1, 1])
    np.testing.assert_allclose(figures(one), mirrored, rtol=0, atol=1e-12)
    assert one.prob_rope == pytest.approx(two.prob_rope, abs=1e-12)
    assert one.difference.sd == pytest.approx(two.difference.sd, abs=1e-12)
    assert one.difference.sd > 0.001


@pytest.mark.parametrize("method", [LOO, IN_SAMPLE])
@pytest.mark.parametrize("rope", [0.0, 0.05])
def test_a_model_against_itself_is_exactly_equal(data, models, method, rope):
    found = fl.compare(models["strong"], models["strong"], *data, rope=rope, method=method)
    assert (found.prob_a_better, found.prob_rope, found.prob_b_better) == (0.0, 1.0, 0.0)
    assert found.difference.mean == found.difference.sd == found.difference.median == 0.0
    assert found.difference.interval(0.999) == (0.0, 0.0)
    assert found.difference.cdf([-1e-9, 0.0, 1e-9]).tolist() == [0.0, 1.0, 1.0]
    assert found.difference.pdf([-0.1, 0.0]).tolist() == [0.0, np.inf]
    assert found.difference.sample(3, 0).tolist() == [0.0] * 3
    assert "exactly 0" in repr(found)


@pytest.mark.parametrize("method", [LOO, IN_SAMPLE])
def test_the_same_direction_at_another_length_is_the_same_model(data, models, method):
    w = models["strong"].coef_.ravel()
    found = fl.compare(w, 3.7 * w, *data, method=method)
    assert found.prob_rope == 1.0
    assert found.correlation == 1.0


def test_the_same_fit_in_two_costumes(data, models):
    """A fit, and the same fit inside a Pipeline that leaves X as it is."""
    X, y = data
    inside = make_pipeline("passthrough", logistic(10.0)).fit(X, y)
    assert fl.compare(models["strong"], inside, X, y).difference.interval() == (0.0, 0.0)


@pytest.mark.parametrize("method", [LOO, IN_SAMPLE])
def test_three_probabilities_and_the_cdf_agree(data, models, method):
    found = fl.compare(models["weak"], models["lda"], *data, rope=0.015, method=method)
    d = found.difference
    assert found.prob_a_better + found.prob_rope + found.prob_b_better == pytest.approx(1, abs=1e-12)
    assert found.prob_b_better == pytest.approx(float(d.cdf(-0.015)), abs=1e-12)
    assert found.prob_a_better == pytest.approx(1 - float(d.cdf(0.015)), abs=1e-12)
    q = np.linspace(0.001, 0.999, 57)
    np.testing.assert_allclose(d.cdf(d.ppf(q)), q, atol=1e-9)
    x = np.linspace(d.points[0], d.points[-1], 200_001)
    assert np.sum(d.pdf(x)) * (x[1] - x[0]) == pytest.approx(1, abs=1e-3)
    assert found.with_rope(0.0).prob_rope == 0.0
    assert found.with_rope(0.5).prob_rope == pytest.approx(1, abs=1e-6)


def test_turning_the_labels_leaves_the_comparison(data, models):
    X, y = data
    one = fl.compare(models["weak"], models["ridge"], X, y)
    two = fl.compare(models["weak"], models["ridge"], X, y, pos_label=0)
    np.testing.assert_allclose(figures(one), figures(two), atol=1e-9)


def test_the_order_of_the_rows_does_not_matter(data, models):
    X, y = data
    order = np.random.default_rng(0).permutation(y.size)
    one = fl.compare(models["weak"], models["lda"], X, y)
    two = fl.compare(models["weak"], models["lda"], X[order], y[order])
    np.testing.assert_allclose(figures(one), figures(two), atol=1e-8)


# ---- what the answer holds


def test_each_model_keeps_its_own_posterior(data, models):
    found = fl.compare(models["weak"], models["ridge"], *data)
    assert found.a.interval() == fl.auc_posterior(models["weak"], *data).interval()
    assert found.b.interval() == fl.auc_posterior(models["ridge"], *data).interval()
    assert found.method == "loo"


def test_a_good_model_beats_weights_of_noise(data, models):
    noise = np.random.default_rng(1).normal(size=8)
    found = fl.compare(models["weak"], noise, *data, rope=0.01)
    assert found.prob_a_better > 0.8
    assert found.difference.mean > 0.08
    assert found.method == "loo-surrogate"
    assert any(note.startswith("b: leaving rows out has no closed form") for note in found.notes)


def test_pairing_helps_where_models_are_alike(data, models):
    """The interval of the difference is far narrower than if the two errors were unrelated."""
    found = fl.compare(models["ridge"], models["lda"], *data)
    assert found.correlation > 0.9
    assert found.difference.sd < 0.5 * np.hypot(found.a.sd, found.b.sd)


def test_selection_that_saw_y_may_be_compared(data, models):
    X, y = data
    chosen = make_pipeline(SelectKBest(k=3), logistic(1.0)).fit(X, y)
    found = fl.compare(chosen, models["weak"], X, y)
    assert 0 < found.prob_a_better < 1
    assert found.method == "refit"


def test_groups_widen_the_answer():
    """Six nearly equal rows per subject are worth little more than one."""
    rng = np.random.default_rng(5)
    subjects = np.repeat(np.arange(30), 6)
    y = np.repeat(np.arange(30) % 2, 6)
    X = np.outer(y, [0.8, 0.8, 0, 0]) + rng.normal(size=(30, 4))[subjects] + 0.1 * rng.normal(size=(180, 4))
    a, b = np.array([1.0, 0.0, 0.2, 0.0]), np.array([0.0, 1.0, 0.0, 0.2])
    rows, groups = fl.compare(a, b, X, y), fl.compare(a, b, X, y, groups=subjects)
    assert groups.difference.sd > 1.3 * rows.difference.sd
    assert groups.a.details["groups"] == 30
    assert fl.compare(b, b, X, y, groups=subjects).prob_rope == 1.0
    other = fl.compare(b, a, X, y, groups=subjects)
    np.testing.assert_allclose(groups.difference.mean, -other.difference.mean, atol=1e-12)


def test_sample_weight_reaches_both_models(data):
    X, y = data
    weight = np.where(np.arange(y.size) % 3 == 0, 2.0, 0.5)
    a, b = (logistic(C).fit(X, y, sample_weight=weight) for C in (0.01, 1.0))
    found = fl.compare(a, b, X, y, sample_weight=weight)
    assert found.a.details["residual"] < 1e-4
    with pytest.warns(fl.TrustWarning, match=r"^[ab]: the weights are not at the optimum") as warned:
        fl.compare(a, b, X, y, sample_weight=1 / weight)
    assert all(w.filename == __file__ for w in warned), "a warning points at the line that asked"


def test_models_that_order_every_pair():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 12)
    X = rng.normal(size=(24, 4)) + np.outer(y, [9.0, 9.0, 0, 0])
    a, b = RidgeClassifier(alpha=1.0).fit(X, y), RidgeClassifier(alpha=50.0).fit(X, y)
    found = fl.compare(a, b, X, y, rope=0.05)
    assert found.a.details["pair_auc"] == found.b.details["pair_auc"] == 1.0
    assert found.prob_rope > 0.9
    assert 0.2 < found.with_rope(0.0).prob_a_better < 0.8
    assert any("less certain" in note for note in found.notes)
    np.testing.assert_allclose(found.difference.mean, -fl.compare(b, a, X, y).difference.mean, atol=1e-12)


def test_scores_without_spread():
    """Two constants per class: only their order is known, and the answer stays finite."""
    y = np.repeat([0, 1], 10)
    X = np.column_stack([y * 2.0 - 1.0, np.random.default_rng(0).normal(size=20)])
    found = fl.compare(np.array([1.0, 0.0]), np.array([0.0, 1.0]), X, y)
    assert np.isfinite(found.difference.mean)
    assert found.prob_a_better > 0.9


def test_summary_is_plain_and_repr_reads(data, models):
    found = fl.compare(models["weak"], models["lda"], *data, rope=0.01, names=("C = 0.01", "LDA"))
    summary = found.summary(0.9)
    assert json.loads(json.dumps(summary)) == summary
    assert (summary["low"], summary["high"]) == found.difference.interval(0.9)
    assert repr(found).startswith("Comparison(C = 0.01 - LDA: ")
    assert "P(within 0.01)=" in repr(found)
    assert "P(within" not in repr(found.with_rope(0))
    page = fl.compare(models["weak"], models["lda"], *data, names=("<b>", "LDA"))._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.replace("<b>Note:</b>", "")


def test_results_survive_pickling(data, models):
    found = fl.compare(models["weak"], models["lda"], *data)
    again = pickle.loads(pickle.dumps(found))
    assert figures(again).tolist() == figures(found).tolist()


# ---- many models


@pytest.mark.parametrize("method", [LOO, IN_SAMPLE])
def test_ranking(data, models, method):
    ranking = fl.compare_many(models, *data, method=method)
    chances = [model.prob_best for model in ranking.models]
    assert sum(chances) == pytest.approx(1, abs=1e-9)
    assert chances == sorted(chances, reverse=True)
    assert ranking.best == ranking.models[0].name == next(iter(ranking.prob_best))
    assert [row["rank"] for row in ranking.summary()] == [1, 2, 3, 4]
    assert len(repr(ranking).splitlines()) == 5
    assert ranking.best in ranking._repr_html_()
    pair = ranking.between("weak", "lda", rope=0.01)
    alone = fl.compare(models["weak"], models["lda"], *data, rope=0.01, method=method)
    tolerance = 1e-12 if method == "loo" else 0.004  # the draws of four models are not those of two
    np.testing.assert_allclose(figures(pair), figures(alone), atol=tolerance)


@pytest.mark.parametrize("method", [LOO, IN_SAMPLE])
@pytest.mark.parametrize("pair", [("weak", "strong"), ("weak", "ridge"), ("strong", "lda")])
def test_best_of_two_is_the_better_one(data, models, method, pair):
    """Two roads to one number: draws with the covariance at the estimates, and the grid."""
    chance = fl.compare_many({name: models[name] for name in pair}, *data, method=method).prob_best[pair[0]]
    better = fl.compare(models[pair[0]], models[pair[1]], *data, method=method).prob_a_better
    assert chance == pytest.approx(better, abs=0.03)


def test_equal_models_share_the_chance(data, models):
    twice = {"weak": models["weak"], "again": models["weak"], "strong": models["strong"]}
    chances = fl.compare_many(twice, *data).prob_best
    once = fl.compare_many({"weak": models["weak"], "strong": models["strong"]}, *data).prob_best
    assert chances["weak"] == chances["again"] == pytest.approx(once["weak"] / 2, abs=1e-12)
    assert fl.compare_many({"x": models["weak"], "y": models["weak"]}, *data).prob_best == {"x": 0.5, "y": 0.5}


# ---- what is refused


@pytest.mark.parametrize("rope", [-0.1, 1.0, np.nan, "wide", None])
def test_bad_rope(data, models, rope):
    with pytest.raises(fl.InputError, match="rope must be"):
        fl.compare(models["weak"], models["lda"], *data, rope=rope)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"method": "cv"}, "method must be 'auto', 'loo', 'refit' or 'in-sample', got 'cv'"),
        ({"prior": fl.Prior.paper()}, "prior must be an EffectPrior"),
        ({"names": ("a", "a")}, "two different names"),
        ({"names": "ab"}, "two different names"),
        ({"method": "in-sample", "prior": fl.EffectPrior.flat()}, "takes a Prior"),
        ({"method": "in-sample", "groups": np.zeros(60)}, "has no groups"),
    ],
)
def test_bad_parameters(data, models, kwargs, words):
    with pytest.raises(fl.FoldlessError, match=words):
        fl.compare(models["weak"], models["lda"], *data, **kwargs)


@pytest.mark.filterwarnings("ignore::foldless.OptimismWarning")
def test_adaptive_prior_has_no_joint_posterior(data, models):
    with pytest.raises(fl.PriorError, match=r"use Prior.paper\(\)"):
        fl.compare(models["weak"], models["lda"], *data, method="in-sample", prior=fl.Prior.adaptive())


@pytest.mark.filterwarnings("ignore::foldless.OptimismWarning")
def test_different_columns_need_a_prior_that_fits_both(data, models):
    X, y = data
    few = make_pipeline(StandardScaler(), logistic(1.0)).fit(X, y)
    with pytest.raises(fl.PriorError, match="see different columns"):
        fl.compare(few, models["weak"], X, y, method="in-sample", prior=fl.Prior.improper())


@pytest.mark.parametrize("models", [[1, 2], {}, {"one": np.ones(8)}])
def test_too_few_models(data, models):
    with pytest.raises(fl.InputError, match="two or more fitted classifiers by name"):
        fl.compare_many(models, *data)


def test_names_of_a_ranking(data, models):
    with pytest.raises(fl.InputError, match="the same name"):
        fl.compare_many({1: models["weak"], "1": models["lda"]}, *data)
    ranking = fl.compare_many({"a": models["weak"], "b": models["lda"]}, *data)
    with pytest.raises(fl.InputError, match="no model 'c': choose from a, b"):
        ranking.between("a", "c")
    with pytest.raises(fl.InputError, match="not compared with itself"):
        ranking.between("a", "a")


def test_an_unfitted_model_is_refused(data, models):
    with pytest.raises(fl.EstimatorError):
        fl.compare(LogisticRegression(), models["weak"], *data)


# ---- models that hardly differ


@pytest.mark.parametrize("grouped", [False, True])
def test_models_of_one_column_do_not_differ(grouped):
    """They rank any rows alike; P was 1.000, from honest scores that differ."""
    X, y = (np.random.default_rng(11).random((60, 1)) < 0.5).astype(float), np.arange(60) % 2
    groups = np.arange(60) // 3 if grouped else None
    pair = fl.compare(LogisticRegression().fit(X, y), RidgeClassifier().fit(X, y), X, y, groups=groups)
    assert pair.difference.exactly_zero
    assert pair.summary()["alike"]


@pytest.mark.parametrize("columns", [2, 3])
def test_noise_in_columns_of_two_values_is_no_difference(columns):
    """Ranks jump where smooth scores hardly move: P was above 0.97 in 9 of 59 samples, where the truth is 0."""
    sure, asked = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = (rng.random((60, columns)) < 0.5).astype(float), np.arange(60) % 2
        if np.all(X[y == 1].sum(axis=0) == X[y == 0].sum(axis=0)):
            continue  # no column knows anything: all weights are 0
        pair = fl.compare(
            LogisticRegression(tol=1e-8).fit(X, y),
            LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(X, y),
            X, y,
        )  # fmt: skip
        sure, asked = sure + (max(pair.prob_a_better, pair.prob_b_better) > 0.97), asked + 1
    assert sure <= 0.05 * asked


def test_two_models_have_one_probability():
    """The ranking of two and their comparison answer one question."""
    X, y = noise(25, 30, 4, 3)
    X += 0.4 * y[:, None]
    models = {"a": LogisticRegression(C=0.01).fit(X, y), "b": LogisticRegression(C=10.0).fit(X, y)}
    ranking = fl.compare_many(models, X, y)
    assert ranking.prob_best["a"] == pytest.approx(ranking.between("a", "b").prob_a_better, abs=1e-12)
    assert sum(ranking.prob_best.values()) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.1])
def test_fits_that_interpolate_their_labels_are_not_one_model(alpha):
    """Both score +1 and -1 in training, on columns of signal and on columns of noise."""
    X, y = noise(20, 20, 400, 0)
    X[:, :20] += 0.7 * y[:, None]
    parts = [make_pipeline(make_column_transformer(("passthrough", list(c))), RidgeClassifier(alpha=alpha)).fit(X, y)
             for c in (range(200), range(200, 400))]  # fmt: skip
    pair = fl.compare(*parts, X, y)
    assert not pair.difference.exactly_zero
    assert pair.prob_a_better > 0.75


def test_models_that_order_every_pair_share_their_evidence():
    """Ranks that do not vary know nothing about what two nearly equal models have in common."""
    X, y = noise(20, 20, 3, 0)
    X += 5 * y[:, None]
    pair = fl.compare(LogisticRegression(C=0.1).fit(X, y), LogisticRegression(C=0.11).fit(X, y), X, y)
    assert pair.correlation > 0.999
