"""The checks one by one: against brute force, other software, exact identities and data made for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import skewtest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import foldless as fl
from data import one_hot, shuffled
from foldless.findings import columns, families, rows, scores
from foldless.findings.columns import DIRECTIONS, Sketch, column_spread
from foldless.findings.finding import Finding
from foldless.findings.rows import category_starts, find_copies
from foldless.honest.leave_one_out import LeaveOneOut
from foldless.honest.posterior import EffectPrior
from foldless.model.view import take_apart


def data(seed=0, N=60, P=6, shift=1.0):
    return shuffled(np.arange(N) % 2, P, shift=shift * np.eye(P)[0], seed=seed)


def analysed(X, y, model=None):
    view = take_apart((model or RidgeClassifier()).fit(X, y), X, y)
    return view, LeaveOneOut.of(view, EffectPrior.default(), None, None)


# ---- scores


def test_variance_ratio():
    """In one dimension, the ratio of the sample variances; calibrated for normal rows; correlation is allowed for."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((30, 1)), 2 * rng.standard_normal((20, 1))
    assert scores.variance_ratio(a, b)[0] == pytest.approx(a.var(ddof=1) / b.var(ddof=1), rel=1e-12)
    mixing = np.array([[1.0, 0.99], [0.0, 0.1]])
    errors = [scores.variance_ratio(*(rng.standard_normal((60, 2)) @ mixing for _ in range(2)))[1] for _ in range(2000)]
    assert 0.03 < np.mean(np.array(errors) > 1.96) < 0.09
    assert np.mean(np.array(errors) > scores.RATIO_ERRORS) < 0.01
    assert scores.variance_ratio(np.ones((5, 2)), a[:5] @ np.ones((1, 2))) == (1.0, 0.0)


@pytest.mark.parametrize("unit", [1e-113, 1e-60, 1e140])
def test_variance_ratio_in_any_unit(unit):
    """Probabilities of naive Bayes can be as small: the square of a variance is then 0."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((30, 1)), 2 * rng.standard_normal((20, 1))
    assert scores.variance_ratio(unit * a, unit * b) == pytest.approx(scores.variance_ratio(a, b))
    ratio, _ = scores.variance_ratio(1e-113 * a, 1e140 * b)
    assert 0 < ratio < 1 / ratio < np.inf


def test_an_outlier_that_moves_the_answer_is_named():
    """Planted rows far on the wrong side; the figure is the AUC of the remaining pairs."""
    X, y = data(0, N=40, shift=5.0)
    wrong = np.flatnonzero(y == 1)[:3]
    X[wrong, 0] -= 30.0
    w = np.eye(6)[0]
    found = fl.diagnose(w, X, y)
    finding = found.find("outliers")
    assert finding.severity == "info"  # intervals hold the truth as often as without such rows
    assert all(str(row) in finding.text for row in wrong)
    keep = np.setdiff1d(np.arange(40), wrong)
    assert finding.value > 0.05
    assert roc_auc_score(y[keep], X[keep, 0]) > roc_auc_score(y, X[:, 0]) + 0.05


def test_outliers_are_rare_among_normal_scores():
    """Once in a hundred samples at most, also small ones."""
    rng = np.random.default_rng(0)
    for n in (10, 30, 300):
        assert np.mean([scores.far_off(rng.standard_normal(n)).any() for _ in range(1000)]) <= 0.01


def test_perfect_order():
    """Said, with what it does show; no reason for distrust by itself."""
    X, y = data(0, shift=20.0)
    found = fl.diagnose(RidgeClassifier().fit(X, y), X, y)
    assert found.find("separation").severity == "info"
    assert f"above {found.auc.interval()[0]:.3f}" in found.find("separation").text


# ---- columns


def figures_of(view):
    return columns.column_figures(view.X, view.labels.positive, view.w)


def test_column_figures_against_other_software():
    """AUC by scikit-learn, skewness by scipy, t by hand."""
    X, y = data(3, N=50, P=4)
    X[:, 2] = np.exp(X[:, 2])
    X[:, 3] = np.round(X[:, 3])
    figures = figures_of(take_apart(np.ones(4), X, y))
    assert figures.auc == pytest.approx([roc_auc_score(y, c) for c in X.T])
    within = X - np.where(y[:, None] == 1, X[y == 1].mean(axis=0), X[y == 0].mean(axis=0))
    assert figures.deviate == pytest.approx(skewtest(within).statistic, rel=1e-9)
    assert figures.carried == pytest.approx(X.std(axis=0) / X.std(axis=0).sum())
    sparse_figures = figures_of(take_apart(np.ones(4), sparse.csr_matrix(X), y))
    assert sparse_figures.deviate == pytest.approx(figures.deviate)


def test_figures_do_not_depend_on_blocks(monkeypatch):
    """Column by column or all at once; a subset of columns is the one that weighs most."""
    X, y = data(1, P=9)
    view = take_apart(np.arange(1.0, 10.0), X, y)
    whole = figures_of(view)
    monkeypatch.setattr(columns, "BLOCK", 1)
    assert np.array_equal(figures_of(view).auc, whole.auc)
    monkeypatch.setattr(columns, "MAX_COLUMNS", 2)
    heavy = np.argsort(-np.abs(view.w) * X.std(axis=0))[:2]
    assert np.array_equal(figures_of(view).index, np.sort(heavy))


def test_two_valued_columns_have_no_tails():
    """A rare 0/1 column is skewed, and no log would help."""
    X, y = data(0)
    rare = (np.arange(60) % 12 == 0).astype(float)
    figures = figures_of(take_apart(np.ones(7), np.column_stack([X, rare]), y))
    assert figures.two_valued.tolist() == [False] * 6 + [True]
    assert figures.skewness[-1] == 0


@pytest.mark.parametrize("n", [1, 10, 500, 10_000])
def test_luck_with_many_columns(n):
    """The Poisson bound, against the binomial tail it stands for."""
    from scipy.stats import poisson

    k = columns._more_than_luck(n)
    assert poisson.sf(k - 1, 1e-3 * n) <= columns.CHANCE
    assert k == 1 or poisson.sf(k - 2, 1e-3 * n) > columns.CHANCE


# ---- copies


def test_equal_rows_against_numpy():
    """The same classes of rows as np.unique, for dense and sparse; -0.0 is 0.0."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(80, 4)).astype(float)
    X[X == 0] *= rng.choice([-1.0, 1.0], size=int((X == 0).sum()))
    expected = np.unique(X + 0.0, axis=0, return_inverse=True)[1].ravel()
    for table in (X, sparse.csr_matrix(X), X.astype(np.float32)):
        found = rows.equal_rows(table)
        assert np.array_equal(found[:, None] == found, expected[:, None] == expected)


def test_equal_rows_of_a_coarse_table_are_no_copies():
    """With 8 yes/no columns equal rows are bound to occur; with a single column of many values they are not."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 2, size=(200, 8)).astype(float)
    assert not rows.unusual(coarse, rows.equal_rows(coarse))
    fine = np.vstack([rng.standard_normal((50, 3)), np.zeros((10, 3))])
    fine[-10:] = fine[:10]
    assert rows.unusual(fine, rows.equal_rows(fine))
    mixed = np.column_stack([coarse[:60], np.r_[np.arange(50.0), np.arange(10.0)]])
    mixed[50:, :8] = mixed[:10, :8]
    assert rows.unusual(mixed, rows.equal_rows(mixed))
    y = np.arange(200) % 2
    assert fl.diagnose(RidgeClassifier().fit(coarse, y), coarse, y).find("copies") is None


@pytest.mark.parametrize(("N", "d"), [(40, 1), (100, 2), (100, 12), (1500, 5)])
def test_near_pairs_are_rare_among_independent_rows(N, d):
    """Normal, uniform and heavy-tailed rows: a pair is found in few of the samples."""
    rng = np.random.default_rng([N, d])
    draws = (rng.standard_normal, rng.random, lambda size: rng.standard_t(4, size=size))
    repeats = 30 if N < 1000 else 5
    hits = [len(rows.near_pairs(draw((N, d)))) > 0 for draw in draws for _ in range(repeats)]
    assert np.mean(hits) <= 0.07


@pytest.mark.parametrize("N", [60, 1500])
def test_near_pairs_are_found(N):
    """Rows measured twice, in any unit, whatever the size of the table."""
    rng = np.random.default_rng(N)
    Z = rng.standard_normal((N, 8))
    Z[:10] = Z[10:20] + 1e-3 * rng.standard_normal((10, 8))
    for unit in (1.0, 1e-30, 1e30):
        pairs = rows.near_pairs(unit * Z)
        assert {tuple(sorted(p)) for p in pairs.tolist()} == {(i, i + 10) for i in range(10)}


def test_radii_against_all_distances():
    """The k-th neighbour, itself not counted."""
    Z = np.random.default_rng(0).standard_normal((30, 3))
    distances = np.sort(np.linalg.norm(Z[:, None] - Z, axis=2), axis=1)
    half, far = rows._radii(Z, np.arange(30)[::-1], 6)
    assert half == pytest.approx(distances[:, 3], rel=1e-6)
    assert far == pytest.approx(distances[:, 6], rel=1e-6)


# ---- order


def test_neighbours_in_the_file():
    """Series of alike rows are seen, the same rows shuffled are not, and neither are rows sorted by class."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 20)) + np.repeat(rng.standard_normal((20, 20)), 6, axis=0)
    y = np.repeat(np.arange(20) % 2, 6)
    model = LogisticRegression()
    found = fl.diagnose(model.fit(X, y), X, y)
    assert "neighbours" in found.flagged
    assert found.find("neighbours").value == pytest.approx(0.5 * 5 / 6, abs=0.15)
    assert fl.diagnose(model, X, y, groups=np.repeat(np.arange(20), 6)).find("neighbours") is None
    mixed = rng.permutation(120)
    assert "neighbours" not in fl.diagnose(model.fit(X[mixed], y[mixed]), X[mixed], y[mixed]).flagged
    X, y = data(0, N=100, shift=3.0)
    by_class = np.argsort(y)
    assert "neighbours" not in fl.diagnose(model.fit(X, y), X[by_class], y[by_class]).flagged


def test_ties_share_a_rank():
    """A constant column has no order."""
    assert np.array_equal(rows._normal_ranks(np.zeros((6, 1))), np.zeros((6, 1)))
    column = np.array([[3.0], [1.0], [2.0]])
    assert np.argsort(rows._normal_ranks(column).ravel()).tolist() == [1, 2, 0]


# ---- families


def scans(subjects=24, each=6, noise=0.5, seed=0):
    """Rows of subjects without signal, in no order: a pattern of each subject, noise, a label per subject."""
    rng = np.random.default_rng(seed)
    subject = rng.permutation(np.repeat(np.arange(subjects), each))
    X = rng.normal(size=(subjects, 40))[subject] + noise * rng.normal(size=(subject.size, 40))
    return X, subject % 2, subject


@pytest.mark.parametrize(("each", "noise"), [(3, 0.5), (6, 0.5), (6, 1.0)])
def test_families_are_found_wherever_their_rows_stand(each, noise):
    """The answer is far too good there; the way out that the advice names leads to one that may be trusted."""
    X, y, subject = scans(144 // each, each, noise)
    model = LogisticRegression(C=0.1).fit(X, y)
    found = fl.diagnose(model, X, y)
    assert found.flagged == ("families",)
    assert "groups=" in found.alternative
    assert "--groups COLUMN" in found.alternative
    assert fl.diagnose(model, X, y, groups=subject).find("families") is None
    for forest_or_three in (
        fl.diagnose(RandomForestClassifier(5, random_state=0).fit(X, y), X, y, method="refit"),
        fl.diagnose(LogisticRegression(C=0.1).fit(X, subject % 3), X, subject % 3),
    ):
        assert "families" in forest_or_three.flagged
    sparsely = families.families(sparse.csr_array(X), y, np.arange(y.size))
    assert sparsely.value == pytest.approx(found.find("families").value)


def independent(kind, n, seed):
    """Rows that are close to others, or tie with them, though nothing but the classes connects them."""
    rng = np.random.default_rng([seed, n])
    angle, X, y = rng.uniform(0, 2 * np.pi, n), rng.standard_normal((n, 20)), rng.permutation(n) % 2
    waves = np.column_stack([wave(k * angle) for k in (1, 2, 3) for wave in (np.sin, np.cos)])
    return {
        "noise": lambda: (X, y),
        "far apart": lambda: (X + 6 * y[:, None] * (np.arange(20) < 2), y),
        "a cloud of three dimensions": lambda: (X[:, :3] @ rng.standard_normal((3, 50)), (X[:, 0] > X[:, 4]) + 0),
        "a closed curve": lambda: (waves @ rng.standard_normal((6, 30)), (np.sin(angle) > 0).astype(int)),
        "categories": lambda: (np.hstack([one_hot(rng, 4, n) for _ in range(6)]), y),
        "counts": lambda: ((counts := rng.poisson(0.3, (n, 20)).astype(float)), (counts[:, 0] >= X[:, 0]).astype(int)),
        "heavy tails": lambda: (np.exp(1.5 * X), (X[:, 0] > X[:, 1]).astype(int)),
        "coarse": lambda: (np.round(X + 0.7 * y[:, None]), y),
        "six kinds of rows": lambda: ((X + 6 * np.eye(6, 20)[angle.astype(int) % 6]), angle.astype(int) % 2),
    }[kind]()


KINDS = ("noise", "far apart", "a cloud of three dimensions", "a closed curve", "categories", "counts", "heavy tails")


@pytest.mark.parametrize("kind", [*KINDS, "coarse", "six kinds of rows"])
def test_independent_rows_are_no_families(kind):
    """Smooth clouds, ties, curves, classes far apart, and kinds of many rows each."""
    for n, seed in ((60, 0), (120, 1), (250, 2), (250, 3)):
        X, y = independent(kind, n, seed)
        assert families.families(X, y, np.arange(n)) is None


def test_rows_without_their_cluster_against_refits():
    """Errors without a cluster are those of a kernel ridge regression that never saw it."""
    X, y, _ = scans(8)
    K = families._products(X, np.random.default_rng(0))
    codes, t = families._clusters(K), y[:, None] - y.mean()
    inverse = np.linalg.inv(K + 0.1 * np.eye(y.size))
    errors = families._errors(inverse, inverse @ t, codes)
    for code in np.unique(codes):
        out, rest = codes == code, codes != code
        fit = np.linalg.solve(K[np.ix_(rest, rest)] + 0.1 * np.eye(rest.sum()), t[rest])
        assert errors[out] == pytest.approx(t[out] - K[np.ix_(out, rest)] @ fit)


def test_too_few_rows_or_one_class_have_no_families():
    """What is drawn from a long table may lack a rare class; a table may have no column that varies."""
    X, y, _ = scans()
    assert families.families(X, y, np.flatnonzero(y == 0)) is None
    assert families.families(X, y, np.arange(16)) is None
    assert families.families(np.ones_like(X), y, np.arange(y.size)) is None


# ---- sketch, finding


def sketch(view):
    return Sketch.of(view.X, view.labels.positive)


def test_the_sketch_has_no_units():
    """Columns in other units, and shifted, give the same sketch; constant ones are left out."""
    X, y = data(0, P=20)
    view = take_apart(np.ones(20), X, y)
    other = take_apart(np.ones(20), X * np.geomspace(1e-6, 1e6, 20) + np.arange(20), y)
    assert sketch(view).Z.shape == (60, DIRECTIONS)
    assert np.allclose(sketch(other).Z, sketch(view).Z, rtol=0, atol=1e-6)
    few = np.column_stack([X[:, :3], np.full(60, 7.3)])
    assert sketch(take_apart(np.ones(4), few, y)).Z.shape == (60, 3)
    mean, sd = column_spread(X, y == 1)
    within = X - np.where(y[:, None] == 1, X[y == 1].mean(axis=0), X[y == 0].mean(axis=0))
    assert mean == pytest.approx(X.mean(axis=0))
    assert sd == pytest.approx(within.std(axis=0))


def test_finding_reads_as_a_line():
    """Severity, text, advice."""
    finding = Finding("rows", "severe", "there are 3 rows.", "Collect more.", 3.0)
    assert str(finding) == "severe: there are 3 rows. Collect more."
    assert finding.level == 2
    assert finding.summary()["value"] == 3.0


# ---- what every answer carries


def test_answers_tell_exact_copies_and_a_label_among_the_columns():
    """auc_posterior, compare and the search say it with what to do; a table of few distinct values is left alone."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 2
    twice, labels = np.vstack([X, X]), np.r_[y, y]
    model = LogisticRegression().fit(twice, labels)
    other = LogisticRegression(C=0.01).fit(twice, labels)
    search = fl.FoldlessSearch(LogisticRegression(), {"C": [0.1, 1.0]}).fit(twice, labels)
    for notes in (
        fl.auc_posterior(model, twice, labels).notes,
        fl.compare(model, other, twice, labels).notes,
        search.best_posterior_.notes,
    ):
        assert any("60 repeat an earlier one" in note and "Drop the copies" in note for note in notes)
    told = np.column_stack([X, 3.0 - 2.0 * y])
    notes = fl.auc_posterior(LogisticRegression().fit(told, y), told, y).notes
    assert any("column 8 is the label" in note for note in notes)
    assert fl.auc_posterior(LogisticRegression().fit(X, y), X, y).notes == ()


@pytest.mark.parametrize(("rows", "columns"), [(400, 8), (200, 6), (300, 12), (100, 16)])
def test_equal_rows_of_yes_and_no_answers_are_no_copies(rows, columns):
    """Independent binary columns: equal and nearly equal rows are chance, whatever their number."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = (rng.random((rows, columns)) < 0.5).astype(float)
        y = (rng.random(rows) < 0.3 + 0.4 * X[:, 0]).astype(int)
        model = LogisticRegression().fit(X, y)
        assert "copies" not in fl.diagnose(model, X, y).flagged
        assert not any("equal to another" in note for note in fl.auc_posterior(model, X, y).notes)


# ---- copies, and equal rows of categories


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
        assert np.unique(find_copies(X).codes).size == len(X)


def nine_levels(A):
    return (7 * np.abs(A.T)).astype(int) % 9


REPEATED = {
    "all five times": lambda A: np.repeat(A[:30], 5, axis=0),
    "a tenth twice": lambda A: np.vstack([A, A[:10]]),
    "a few oversampled": lambda A: np.vstack([A, A[np.arange(80) % 10]]),
    "fingerprints": lambda A: np.vstack([A > 1.9, (A > 1.9)[:10]]).astype(float),
    "categories twice": lambda A: np.repeat(np.hstack([np.eye(9)[levels] for levels in nine_levels(A[:30, :6])]), 2, 0),
}


@pytest.mark.parametrize("name", REPEATED)
def test_copies_are_found_all_the_same(name):
    X = REPEATED[name](np.random.default_rng(0).normal(size=(100, 300)))
    assert np.unique(find_copies(X).codes).size == np.unique(X, axis=0).shape[0]


MOSTLY_ZERO = {
    "one column": lambda A: np.maximum(A[:, :1] - 1, 0),
    "spikes": lambda A: np.maximum(A[:, :8] - 1.6, 0),
    "rare yes": lambda A: (A[:, :12] > 1.7).astype(float),
    "rare yes, in blocks": lambda A: (0.6 * A[:, :10] + 0.8 * np.repeat(A[:, 20:22], 5, axis=1) > 1.7).astype(float),
}


@pytest.mark.parametrize("name", MOSTLY_ZERO)
def test_rows_of_zeros_are_no_copies(name):
    """Where most cells are 0, some rows are 0 throughout; copies of other rows are found all the same."""
    X = MOSTLY_ZERO[name](np.random.default_rng(0).normal(size=(200, 30)))
    assert np.unique(X, axis=0).shape[0] < len(X)
    assert np.unique(find_copies(X).codes).size == len(X)
    measured = np.random.default_rng(1).normal(size=(200, 3))
    assert np.unique(find_copies(np.vstack([np.hstack([X, measured])] * 2)).codes).size == len(X)


def test_values_count_as_in_the_table_given():
    """Equal rows of a coarse table are equal after PCA too, where no value is common; true copies are found there."""
    rng = np.random.default_rng(0)
    coarse, fine, y = rng.integers(0, 2, size=(200, 8)).astype(float), rng.standard_normal((200, 8)), np.arange(200) % 2
    fine[150:] = fine[:50]
    model = make_pipeline(PCA(4), LogisticRegression())
    assert fl.diagnose(model.fit(coarse, y), coarse, y).find("copies") is None
    assert fl.diagnose(model.fit(fine, y), fine, y).find("copies").severity == "severe"
    frame = pd.DataFrame(coarse, columns=list("abcdefgh"))
    assert fl.diagnose(model.fit(frame, y), frame, y).find("copies") is None


@pytest.mark.parametrize("few", [10, 20])
def test_a_few_measurements_many_times_are_copies(few):
    """Twenty rows five times, labels at random: an AUC of 1.000 without a word."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(few, 6)), 5, axis=0), np.repeat(rng.permutation(few) % 2, 5)
    post = fl.auc_posterior(LogisticRegression(C=100.0).fit(X, y), X, y)
    assert any("an earlier one in every column" in note for note in post.notes)


def test_indicators_of_a_category_begin_once():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(50, 2)), one_hot(rng, 4, 50), np.zeros((50, 1)), one_hot(rng, 2, 50)])
    assert category_starts(X).tolist() == [0, 1, 2, 6]  # a constant column goes with what follows


def test_many_rare_columns_are_looked_through_at_once():
    """No run of indicators is tried row by row unless its sums fit: the rows were read once for each column."""
    rare = np.zeros((60, 3000))
    rare[np.arange(3000) % 60, np.arange(3000)] = 1.0
    assert category_starts(rare).tolist() == list(range(0, 3000, 60))
    rare[:, ::2] = rare[:, ::2][::-1]
    assert len(category_starts(rare)) > 2900
