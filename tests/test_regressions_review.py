"""Defects that a review by fresh eyes found, each with the smallest case that showed it."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import ndtr
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline

import foldless as fl
import foldless_studies.accuracy.run
import foldless_studies.paper.run
import foldless_studies.speed.run
from foldless.cli.app import app
from foldless.findings.rows import category_starts, exact_copies
from foldless.honest.statistic import degrees_of_freedom, noise_in_mean, statistic_of_scores

FAMILIES = {"logistic": LogisticRegression(), "ridge": RidgeClassifier(), "lda": LinearDiscriminantAnalysis()}


def noise(n1, n0, p, seed):
    return np.random.default_rng([seed, n1]).normal(size=(n1 + n0, p)), (np.arange(n1 + n0) < n1).astype(int)


# ---- a class of few rows


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("few", [2, 3, 5])
def test_few_rows_of_a_class_find_no_signal_in_noise(name, few):
    """Two rows train each other and agree by accident: 38 of 60 intervals lay above 0.5."""
    above = 0
    for seed in range(40):
        X, y = noise(few, 60, 5, seed)
        above += fl.auc_posterior(FAMILIES[name].fit(X, y), X, y).interval(0.95)[0] > 0.5
    assert above <= 4  # 1 is due


def test_few_rows_with_signal_are_covered():
    covered = []
    for seed in range(60):
        X, y = noise(4, 60, 5, seed)
        X += 0.9 * y[:, None]
        w = (model := LogisticRegression().fit(X, y)).coef_[0]
        low, high = fl.auc_posterior(model, X, y).interval(0.9)
        covered.append(low <= ndtr(0.9 * w.sum() / np.sqrt(2 * w @ w)) <= high)
    assert np.mean(covered) > 0.85


def test_few_groups_of_a_class_find_no_signal_in_noise():
    above = 0
    for seed in range(40):
        X, y = noise(9, 60, 5, seed)
        groups = np.r_[np.arange(9) // 3, 3 + np.arange(60) // 3]
        above += fl.auc_posterior(RidgeClassifier().fit(X, y), X, y, groups=groups).interval(0.95)[0] > 0.5
    assert above <= 4


def test_three_classes_one_of_them_small():
    above = 0
    for seed in range(40):
        y = np.repeat([0, 1, 2], (30, 30, 3))
        X = np.random.default_rng(seed).normal(size=(y.size, 6))
        post = fl.auc_posterior(LogisticRegression().fit(X, y), X, y)
        above += post.interval(0.95)[0] > 0.5
    assert above <= 4
    assert "the smallest class has 3 rows: the spread of its scores is a guess, and so is the interval." in post.notes


def test_classes_of_equal_size_are_as_before():
    """The corrections for unequal classes vanish for equal ones: 1 + 4 r/N and N - 2."""
    assert noise_in_mean(0.3, 20, 20) == pytest.approx((1 + 4 * 1.3 / 40) * 1.3)
    assert degrees_of_freedom(20, 20) == pytest.approx(38)
    assert degrees_of_freedom(2, 10**6) == pytest.approx(1, abs=1e-3)


def test_the_spread_of_a_small_class_is_believed_from_ten_rows_on():
    """Up to five rows it is at least that of the other class, in between part of it."""
    rng = np.random.default_rng(0)
    ratios = []
    for few in (5, 7, 10):
        z = np.r_[1 + 0.01 * rng.normal(size=few), rng.normal(size=40)]
        found = statistic_of_scores(z, np.arange(few + 40) < few)
        ratios.append(found.mean_variance / noise_in_mean(0.0, 40, few) * few)
    assert ratios[0] > 1
    assert 0.5 < ratios[1] < 1
    assert ratios[2] < 0.6


FEW = "the smaller class has 4 rows: the spread of its scores is a guess, and so is the interval."


@pytest.mark.parametrize(
    "ask",
    [
        fl.auc_posterior,
        fl.roc_posterior,
        fl.error_posterior,
        fl.honest_scores,
        fl.learning_curve,
        lambda model, X, y: fl.auc_posterior_from_scores(y, X[:, 0]),
        lambda model, X, y: fl.compare(model, LogisticRegression().fit(X, y), X, y).a,
        lambda model, X, y: fl.compare(model, LogisticRegression().fit(X, y), X, y),
        lambda model, X, y: fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0, 10.0]}).fit(X, y).best_posterior_,
        lambda model, X, y: fl.FoldlessSearch(model, {"fit_intercept": [True]}).fit(X, y).best_posterior_,
    ],
)
def test_every_answer_says_that_a_class_has_few_rows(ask):
    X, y = noise(4, 30, 3, 0)
    assert FEW in ask(RidgeClassifier().fit(X, y), X, y).notes


@pytest.mark.parametrize("ask", [fl.roc_posterior, fl.error_posterior, fl.honest_scores, fl.learning_curve])
def test_every_answer_tells_copies_and_the_label_among_the_columns(ask):
    X, y = noise(20, 20, 3, 0)
    twice, labels = np.vstack([X, X]), np.r_[y, y]
    notes = ask(RidgeClassifier().fit(twice, labels), twice, labels).notes
    assert any("equal to another in every column" in note for note in notes)
    leaked = np.column_stack([X, y])
    notes = ask(RidgeClassifier().fit(leaked, y), leaked, y).notes
    assert any("is the label, written another way" in note for note in notes)


def test_search_and_compare_have_the_notes_of_auc_posterior():
    X, y = noise(6, 40, 4, 1)
    X = X**5 + 3 * y[:, None]
    model = RidgeClassifier(alpha=2.0).fit(X, y)
    alone = fl.auc_posterior(model, X, y)
    assert len(alone.notes) > 1
    assert fl.compare(model, LogisticRegression().fit(X, y), X, y).a.notes == alone.notes
    assert fl.FoldlessSearch(RidgeClassifier(), {"alpha": [2.0]}).fit(X, y).best_posterior_.notes == alone.notes


def test_rows_without_weight_do_not_count():
    """20 positive rows, one of which took part in the training: without it there is nothing to train on."""
    X, y = noise(20, 20, 3, 0)
    weight = np.where((y == 0) | (np.arange(40) == 0), 1.0, 0.0)
    model = LogisticRegression().fit(X, y, sample_weight=weight)
    with pytest.raises(fl.InputError, match="at least two rows with a sample_weight above 0"):
        fl.auc_posterior(model, X, y, sample_weight=weight)


# ---- differences that are none


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


# ---- equal rows of categories are no copies


def one_hot(rng, levels, n):
    return np.eye(levels)[rng.integers(0, levels, n)]


CATEGORIES = {
    "one column of yes and no": lambda rng: (rng.random((100, 1)) < 0.5).astype(float),
    "three levels": lambda rng: one_hot(rng, 3, 100),
    "two and three levels": lambda rng: np.hstack([one_hot(rng, 2, 100), one_hot(rng, 3, 100)]),
    "three of five levels": lambda rng: np.hstack([one_hot(rng, 5, 100) for _ in range(3)]),
    "forty levels, scaled": lambda rng: 3 * one_hot(rng, 40, 100) - 1,
    "x and its square": lambda rng: np.power.outer(rng.integers(1, 6, 100), [1.0, 2.0]),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_equal_rows_of_categories_are_no_copies(name):
    for seed in range(5):
        X = CATEGORIES[name](np.random.default_rng(seed))
        assert np.unique(exact_copies(X)).size == len(X)


REPEATED = {
    "all five times": lambda A: np.repeat(A[:30], 5, axis=0),
    "a tenth twice": lambda A: np.vstack([A, A[:10]]),
    "a few oversampled": lambda A: np.vstack([A, A[np.arange(80) % 10]]),
    "fingerprints": lambda A: np.vstack([A > 1.9, (A > 1.9)[:10]]).astype(float),
    "categories twice": lambda A: np.repeat(np.hstack([np.eye(9)[levels] for levels in nine_levels(A[:30, :6])]), 2, 0),
}


def nine_levels(A):
    return (7 * np.abs(A.T)).astype(int) % 9


@pytest.mark.parametrize("name", REPEATED)
def test_copies_are_found_all_the_same(name):
    X = REPEATED[name](np.random.default_rng(0).normal(size=(100, 300)))
    assert np.unique(exact_copies(X)).size == np.unique(X, axis=0).shape[0]


def test_indicators_of_a_category_begin_once():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(50, 2)), one_hot(rng, 4, 50), np.zeros((50, 1)), one_hot(rng, 2, 50)])
    assert category_starts(X).tolist() == [0, 1, 2, 6]  # a constant column goes with what follows


# ---- the command line


def said(tmp_path, text, *options):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return CliRunner().invoke(app, ["auc", str(path), "--target", "y", *options])


def table(labels, marks=lambda k: None, ids=False):
    rng = np.random.default_rng(0)
    rows = [("id," if ids else "") + "a,b,y"]
    for k in range(40):
        b = marks(k) or f"{rng.normal():.3f}"
        rows.append((f"P{k:03d}," if ids else "") + f"{rng.normal():.3f},{b},{labels[k % len(labels)]}")
    return "\n".join(rows)


def test_classes_that_differ_in_capitals_only_are_told(tmp_path):
    result = said(tmp_path, table(["Yes", "no", "yes", "no"]))
    assert result.exit_code == 0, result.output
    assert "classes 'Yes', 'yes' of the target column 'y' differ in capitals or blanks only" in result.stdout
    assert "capitals" not in said(tmp_path, table(["yes", "no"])).stdout


def test_a_number_that_stands_for_nothing_is_told(tmp_path):
    result = said(tmp_path, table([0, 1], lambda k: "-999" if k % 9 == 0 else None))
    assert "'b' (-999 in 5 rows): if that stands for a missing value" in result.stdout
    assert "stands for" not in said(tmp_path, table([0, 1], lambda k: "-9" if k == 3 else None)).stdout


def test_a_column_that_names_the_rows_is_offered_as_such(tmp_path):
    result = said(tmp_path, table([0, 1], ids=True))
    assert result.exit_code == 2
    assert "leave out with --id id" in result.stderr


def test_an_interrupted_run_says_how_to_go_on(tmp_path, monkeypatch):
    """Ctrl-C in the middle of a benchmark: where the finished pieces are, and that --resume goes on."""

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    for study in (foldless_studies.accuracy, foldless_studies.speed, foldless_studies.paper):
        monkeypatch.setattr(study.run, "run", interrupted)
    for command in (["benchmark", "accuracy"], ["benchmark", "speed"], ["reproduce", "fig1"]):
        result = CliRunner().invoke(app, [*command, "--quick", "--out", str(tmp_path / "out")])
        assert result.exit_code == 130
        assert f"is kept in {tmp_path / 'out'}: run the same command with --resume to go on." in result.stderr


# ---- found in these mendings by the next pair of eyes


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.1])
def test_fits_that_meet_their_labels_are_not_one_model(alpha):
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


@pytest.mark.parametrize("few", [10, 20])
def test_a_few_measurements_many_times_are_copies(few):
    """Twenty rows five times, labels at random: an AUC of 1.000 without a word."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(few, 6)), 5, axis=0), np.repeat(rng.permutation(few) % 2, 5)
    post = fl.auc_posterior(LogisticRegression(C=100.0).fit(X, y), X, y)
    assert any("equal to another in every column" in note for note in post.notes)


def test_equal_scores_of_a_small_class_are_believed_to_vary_in_groups_too():
    z, positive = np.r_[np.full(4, 1.0), np.random.default_rng(0).normal(size=30)], np.arange(34) < 4
    alone, each = statistic_of_scores(z, positive), statistic_of_scores(z, positive, np.arange(34))
    assert each.mean_variance == pytest.approx(alone.mean_variance, rel=0.25)


def test_rows_without_weight_do_not_count_in_a_search_or_among_three_classes():
    X, y = noise(20, 20, 3, 0)
    weight = np.where((y == 0) | (np.arange(40) == 0), 1.0, 0.0)
    with pytest.raises(fl.InputError, match="at least two rows with a sample_weight above 0"):
        fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0, 10.0]}).fit(X, y, sample_weight=weight)
    three = np.arange(40) % 3
    weight = np.where((three > 0) | (np.arange(40) < 4), 1.0, 0.0)
    with pytest.raises(fl.InputError, match="at least 3 rows with a sample_weight above 0"):
        fl.auc_posterior(LogisticRegression().fit(X, three, weight), X, three, sample_weight=weight)


def test_the_other_class_has_a_threshold_of_plain_zero():
    X, y = noise(20, 20, 3, 0)
    post = fl.error_posterior(RidgeClassifier().fit(X, y), X, y, pos_label=0)
    assert "threshold=0," in repr(post)


def test_many_rare_columns_are_looked_through_at_once():
    """No run of indicators is tried row by row unless its sums fit: the rows were read once for each column."""
    rare = np.zeros((60, 3000))
    rare[np.arange(3000) % 60, np.arange(3000)] = 1.0
    assert category_starts(rare).tolist() == list(range(0, 3000, 60))
    rare[:, ::2] = rare[:, ::2][::-1]
    assert len(category_starts(rare)) > 2900


def test_two_columns_that_name_the_rows(tmp_path):
    """--id takes one; the other is left out."""
    text = table([0, 1], ids=True).replace("id,", "id,name,", 1).replace("\nP", "\nQ", 1)
    text = "\n".join([text.splitlines()[0], *(f"{line.split(',')[0]},N{line}" for line in text.splitlines()[1:])])
    assert "leave out with --id id --drop name" in said(tmp_path, text).stderr
    assert "leave out with --drop name" in said(tmp_path, text, "--id", "id").stderr
