"""The second Newton step of the removal: against refits without a row, a pair, a group; and where it is not needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from data import alternating
from foldless.honest import groups as by_groups
from foldless.honest import newton
from foldless.honest import rows as row_removal
from foldless.honest.leave_one_out import remove_rows
from foldless.model.view import take_apart

MODELS = {
    "logistic": LogisticRegression(C=10.0, tol=1e-8, max_iter=10_000),
    "squared hinge": LinearSVC(C=1.0, dual=False, tol=1e-8, max_iter=100_000),
}
SHAPES = {"wide": (40, 80), "tall": (40, 12)}


def one_step(z, model, loss, u, units):
    return np.zeros((units.max() + 1, units.size))


def data(shape):
    n, P = SHAPES[shape]
    return alternating(n, P, shift=0.4, seed=3)


def refitted(model, X, y, left_out):
    """Scores of the rows of each set under a refit without them."""
    found = []
    for rows in left_out:
        rest = np.setdiff1d(np.arange(len(y)), rows)
        found.append(clone(model).fit(X[rest], y[rest]).decision_function(X[rows]))
    return found


def honest(model, X, y, groups=None):
    return remove_rows(take_apart(clone(model).fit(X, y), X, y), groups=groups)


def pair_gaps(model, X, y, pairs):
    """Our differences of scores less those of refits, for some pairs."""
    removed = honest(model, X, y)
    ours = removed.without_pair1 - removed.without_pair0
    theirs = refitted(model, X, y, [[removed.rows1[i], removed.rows0[j]] for i, j in pairs])
    return np.array([ours[i, j] - (z[0] - z[1]) for (i, j), z in zip(pairs, theirs, strict=True)])


PAIRS = [(i, (7 * i + 3) % 20) for i in range(20)]
# The share of the root mean square error that the second step has to remove.
REMOVED = {"single": 0.6, "group": 0.5}


def rms(gaps):
    return float(np.sqrt(np.mean(np.square(gaps))))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MODELS)
def test_single_rows_come_closer_to_refits(name, shape, monkeypatch):
    model, (X, y) = MODELS[name], data(shape)
    truth = np.concatenate(refitted(model, X, y, [[i] for i in range(len(y))]))
    two = rms(honest(model, X, y).loo - truth)
    monkeypatch.setattr(row_removal, "second_steps", one_step)
    one = rms(honest(model, X, y).loo - truth)
    assert two < (1 - REMOVED["single"]) * one


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MODELS)
def test_pairs_come_closer_to_refits(name, shape, monkeypatch):
    """Most pairs: where either row changes what the other's removal does, the sum of both additions is not enough."""
    model, (X, y) = MODELS[name], data(shape)
    two = pair_gaps(model, X, y, PAIRS)
    monkeypatch.setattr(row_removal, "second_steps", one_step)
    one = pair_gaps(model, X, y, PAIRS)
    assert np.median(np.abs(two)) < 0.5 * np.median(np.abs(one)) + 1e-5
    assert rms(two) < 0.9 * rms(one)


@pytest.mark.parametrize("name", MODELS)
def test_groups_come_closer_to_refits(name, monkeypatch):
    model, (X, y) = MODELS[name], data("wide")
    groups = np.arange(40) // 4
    truth = np.concatenate(refitted(model, X, y, [np.flatnonzero(groups == k) for k in range(10)]))
    two = rms(honest(model, X, y, groups).loo - truth)
    monkeypatch.setattr(by_groups, "second_steps", one_step)
    one = rms(honest(model, X, y, groups).loo - truth)
    assert two < (1 - REMOVED["group"]) * one


def test_a_quadratic_loss_takes_no_second_step(monkeypatch):
    X, y = data("wide")
    two = honest(RidgeClassifier(), X, y).loo
    monkeypatch.setattr(row_removal, "second_steps", one_step)
    assert np.array_equal(honest(RidgeClassifier(), X, y).loo, two)
    monkeypatch.setattr(row_removal, "second_steps", lambda *args: pytest.fail("one step is exact"))
    assert np.array_equal(honest(RidgeClassifier(), X, y).loo, two)


def test_the_least_settled_rows_come_first(monkeypatch):
    """With work for one row only, the row that most needs it is corrected, and by as much as with work for all."""
    (X, y), model = data("wide"), MODELS["logistic"]
    with_all = honest(model, X, y).loo
    monkeypatch.setattr(newton, "MOST_WORK", 0.0)
    with_one = honest(model, X, y).loo
    monkeypatch.setattr(row_removal, "second_steps", one_step)
    with_none = honest(model, X, y).loo
    changed = np.flatnonzero(with_one != with_none)
    assert changed.size == 1
    assert with_one[changed] == pytest.approx(with_all[changed])


@pytest.mark.parametrize("columns", [5, 120])
def test_systems_of_all_units_are_solved_each(columns):
    """Against the matrices; also where a row counts thousands of times what it did, which steps would not reach."""
    rng = np.random.default_rng(0)
    B, D, bend = rng.normal(size=(60, columns)) / 20, np.full(60, 0.2), rng.uniform(0.0, 0.7, size=(4, 60))
    bend[1, :9] = 4000.0
    right = rng.normal(size=(4, columns))
    matrices = [np.eye(columns) + B.T * (b - D) @ B for b in bend]
    truth = np.array([np.linalg.solve(H, r) for H, r in zip(matrices, right, strict=True)])
    np.testing.assert_allclose(newton._solved_each(B, D, bend, right), truth, rtol=1e-9, atol=1e-12)


def test_a_unit_without_a_solution_takes_no_step():
    """Rows that determine a direction alone, and do not count any more, leave nothing to divide by."""
    right = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = newton._solved_each(np.eye(2), np.ones(2), np.array([[0.0, 1.0], [1.0, 2.0]]), right)
    np.testing.assert_allclose(found, [[0.0, 0.0], [3.0, 2.0]])


@pytest.mark.parametrize(("n", "p"), [(40, 20), (80, 40)])
def test_a_fit_that_single_rows_change_too_much_is_refitted(n, p):
    """With hardly a penalty and half as many columns as rows, two steps do not reach the fit without a row.

    Noise looked like signal in a quarter of such samples. A usual penalty is reached, and costs no refit.
    """
    found, loud = set(), 0
    for seed in range(8):
        rng = np.random.default_rng([seed, n, p])
        X, y = rng.normal(size=(n, p)), np.arange(n) % 2
        weak = LogisticRegression(C=1e4, solver="newton-cholesky", tol=1e-8).fit(X, y)
        post = fl.auc_posterior(weak, X, y)
        found, loud = found | {post.method}, loud + (post.interval(0.9)[0] > 0.5)
        if post.method == "refit":
            told = fl.diagnose(weak, X, y, method="loo")
            assert told.verdict == "caution"
            assert "removal" in told.flagged
        assert fl.auc_posterior(LogisticRegression().fit(X, y), X, y).method == "loo"
    assert "refit" in found
    assert loud <= 1


# ---- Among many rows: those of great impact.


def spikes(n, n1, p, seed):
    """Columns that few rows hold, in sizes that differ: some positive rows hold one nearly alone in their class."""
    rng = np.random.default_rng([seed, n, p])
    return np.expm1(np.maximum(rng.normal(size=(n, p)) - 1.6, 0.0)), np.arange(n) < n1


def bare(C):
    return LogisticRegression(C=C, tol=1e-8, max_iter=50_000)


def scaled(C):
    return make_pipeline(StandardScaler(), bare(C))


def far_positives(model, X, y, monkeypatch, count=6):
    """Our scores with more steps and with one, and those of refits, of the positive rows that more steps move most."""
    more = honest(model, X, y)
    monkeypatch.setattr(row_removal, "WORK", -1e300)
    one = honest(model, X, y)
    mine = more.rows1[np.argsort(-np.abs(more.loo - one.loo)[more.rows1])[:count]]
    truth = np.concatenate(refitted(model, X, y, mine[:, None]))
    return more.loo[mine] - truth, one.loo[mine] - truth, more


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize(("n", "n1", "p"), [(420, 40, 15), (900, 45, 40), (2500, 60, 40)])
def test_rows_that_hold_a_column_among_many_reach_the_refit(n, n1, p, C, monkeypatch):
    X, y = spikes(n, n1, p, seed=1)
    more, one, removed = far_positives(bare(C), X, y, monkeypatch)
    spread = removed.loo.std()
    assert rms(one) > 0.3 * spread
    assert rms(more) < 0.02 * spread
    assert removed.provenance.reached


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("n", [420, 900, 2500])
def test_with_a_scaler_such_rows_come_close(n, C, monkeypatch):
    """What the scaler adds is cut like the step: it falls short where a row makes most of the scale of a column."""
    X, y = spikes(n, 45, 30, seed=1)
    more, one, removed = far_positives(scaled(C), X, y, monkeypatch)
    assert np.median(np.abs(more)) < 0.1 * np.median(np.abs(one))
    assert np.all(np.abs(more) < np.maximum(0.5 * np.abs(one), 0.02 * removed.loo.std()))


def rare(n, p, seed):
    """Columns of 0 and 1 that about three rows hold, beside five others."""
    rng = np.random.default_rng(seed)
    y, X = rng.random(n) < 0.1, rng.normal(size=(n, 5))
    X[:, 0] += y
    return np.c_[X, rng.random((n, p)) < 3 / n], y


def test_a_scaler_adds_to_a_score_no_more_than_the_steps_leave(monkeypatch):
    """Rare columns and a squared hinge: curvature that the fit with the row lacks holds most of the change back."""
    (X, y), model = rare(500, 25, seed=12), make_pipeline(StandardScaler(), MODELS["squared hinge"])
    removed = honest(model, X, y)
    far = np.argsort(-np.abs(removed.loo - removed.z))[:20]
    truth = np.concatenate(refitted(model, X, y, far[:, None]))
    monkeypatch.setattr(row_removal.MoreSteps, "beside_scaler", lambda self, alone: self)
    assert rms(removed.loo[far] - truth) < 0.5 * rms(honest(model, X, y).loo[far] - truth)


def test_no_row_of_great_impact_is_left_when_a_block_of_rows_has_none(monkeypatch):
    """Rows come in the order of how far one step moves their own score."""
    X, y = rare(1000, 30, seed=3)
    found = honest(scaled(10.0), X, y)
    monkeypatch.setattr(row_removal, "AT_ONCE", 1000)
    np.testing.assert_allclose(found.loo, honest(scaled(10.0), X, y).loo, rtol=1e-9, atol=1e-9)


def test_pairs_of_rows_that_hold_columns_among_many_come_closer_to_refits(monkeypatch):
    """Sampled or not, and the partners of such a row as well, which follow it."""
    (X, y), model = spikes(900, 45, 20, seed=2), scaled(10.0)
    removed = honest(model, X, y)
    monkeypatch.setattr(row_removal, "WORK", -1e300)
    before = honest(model, X, y)
    gaps = np.abs(removed.without_pair1 - before.without_pair1).max(axis=1)
    pairs = [(i, 17 * k + 5) for k, i in enumerate(np.argsort(-gaps)[:8])]
    truth = refitted(model, X, y, [[removed.sampled1[i], removed.sampled0[j]] for i, j in pairs])
    for each, theirs in (("without_pair1", 0), ("without_pair0", 1)):
        ours = [getattr(removed, each)[pair] - z[theirs] for pair, z in zip(pairs, truth, strict=True)]
        first = [getattr(before, each)[pair] - z[theirs] for pair, z in zip(pairs, truth, strict=True)]
        assert rms(ours) < 0.3 * rms(first)


def test_where_one_step_settles_all_rows_no_more_are_taken(monkeypatch):
    X, y = alternating(900, 20, shift=0.3, seed=4)
    found = honest(scaled(1.0), X, y)
    monkeypatch.setattr(
        row_removal, "steps_of_the_few", lambda *args: row_removal.MoreSteps(*np.zeros((2, 0), int), 0.0)
    )
    assert np.array_equal(found.loo, honest(scaled(1.0), X, y).loo)
    assert found.provenance.unsettled == 0


FAMILIES = {
    "squared hinge": LinearSVC(dual=False, tol=1e-7, max_iter=100_000),
    "penalised intercept": LogisticRegression(C=10.0, solver="liblinear", tol=1e-8, max_iter=10_000),
    "balanced": LogisticRegression(C=10.0, class_weight="balanced", tol=1e-8, max_iter=50_000),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_other_fits_take_steps_among_many_rows(name, monkeypatch):
    X, y = spikes(900, 45, 30, seed=7)
    more, one, _ = far_positives(FAMILIES[name], X, y, monkeypatch)
    assert rms(more) < 0.1 * rms(one)


def test_sparse_rows_take_the_same_steps():
    (X, y), model = spikes(900, 45, 20, seed=3), LogisticRegression(C=10.0, tol=1e-8, max_iter=50_000)
    np.testing.assert_allclose(honest(model, csr_matrix(X), y).loo, honest(model, X, y).loo, rtol=1e-6, atol=1e-6)


def test_rows_that_are_left_when_the_work_is_done_are_counted(monkeypatch):
    """The row that most needs it is corrected; a class with many rows left calls for refits."""
    X, y = spikes(900, 20, 60, seed=5)
    model = scaled(100.0)
    assert honest(model, X, y).provenance.reached
    monkeypatch.setattr(row_removal, "WORK", 0.0)
    left = honest(model, X, y).provenance
    assert left.unsettled > 0
    fitted = model.fit(X, y)
    assert (fl.auc_posterior(fitted, X, y).method == "refit") == (not left.reached)


def test_the_squared_hinge_on_more_columns_than_rows_finds_nothing_in_noise():
    """Among more than 300 rows, leverages close to 1: steps along the row itself count most, and went unfinished."""
    X, y = np.random.default_rng(0).normal(size=(310, 400)), np.arange(310) % 2
    model = LinearSVC(C=1, max_iter=100_000, tol=1e-6, random_state=0).fit(X, y)
    a = fl.analyse(model, X, y, method="loo")
    assert a.auc.interval(0.99)[0] < 0.5 < a.auc.interval(0.99)[1]
    loo, z = a.scores.scores, a.leave_one_out.removed.z
    rows = np.flatnonzero(np.abs(loo - z) > 1e-6)[::25]
    rest = ~np.eye(310, dtype=bool)[rows]
    truth = [clone(model).fit(X[r], y[r]).decision_function(X[[i]])[0] for i, r in zip(rows, rest, strict=True)]
    assert np.abs(loo[rows] - truth).max() < 0.1 * loo.std()
