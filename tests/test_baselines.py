"""Baselines that look at given scores or populations only: no refits here."""

import copy
import json
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from scipy.special import ndtr
from scipy.stats import t as student
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
import foldless.baselines as fb
from data import alternating, normal_rows
from foldless.baselines import folds, given
from foldless.baselines.given import newcombe
from foldless.errors import EstimatorError, InputError
from sklearn_versions import l1


@pytest.fixture
def data():
    y = (np.arange(30) % 3 == 0).astype(int)
    return normal_rows(y, 4, shift=0.8, seed=7), y


W = np.array([0.5, -1.0, 2.0, 0.3])


# --- the result type -----------------------------------------------------------------------------


def test_estimate_is_a_number_with_memory():
    auc = fb.delong([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    assert auc == 0.75
    assert auc + 1 == 1.75
    assert str(auc) == f"{auc}" == "0.75"
    assert json.dumps(auc) == "0.75"
    assert repr(auc) == "AUCEstimate(0.75, method='delong', se=0.3536)"


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_estimate_survives_copy_and_pickle(clone, data):
    auc = fb.cv_auc(RidgeClassifier(), *data)
    again = clone(auc)
    assert (again, again.method, again.se, again.details) == (auc, auc.method, auc.se, auc.details)
    assert again.interval(0.9) == auc.interval(0.9)
    with pytest.raises(InputError, match=r"no interval: training scores"):
        clone(fb.resubstitution_auc(W, *data)).interval()


def test_estimate_cannot_be_changed(data):
    auc = fb.loo_auc(RidgeClassifier(), *data)
    with pytest.raises(AttributeError, match="read-only"):
        auc.se = 0.1
    with pytest.raises(AttributeError, match="read-only"):
        del auc.se
    with pytest.raises(TypeError):
        auc.details["scores"] = None
    with pytest.raises(ValueError, match="read-only"):
        auc.details["scores"][0] = 0.0


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, "x"])
def test_interval_level_is_checked(level):
    with pytest.raises(InputError, match="level"):
        fb.delong([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).interval(level)


def test_import_is_light():
    code = (
        "import sys, foldless.baselines\n"
        "heavy = [m for m in ('sklearn', 'joblib', 'scipy.stats', 'pandas', 'scipy.optimize') if m in sys.modules]\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- DeLong --------------------------------------------------------------------------------------


def brute_delong(y, z):
    """The definition, pair by pair."""
    psi = np.array([[1.0 if a > b else 0.5 if a == b else 0.0 for b in z[y == 0]] for a in z[y == 1]])
    v1, v0 = psi.mean(axis=1), psi.mean(axis=0)
    return psi.mean(), np.sqrt(v1.var(ddof=1) / len(v1) + v0.var(ddof=1) / len(v0))


@pytest.mark.parametrize("decimals", [0, 1, 8])
@pytest.mark.parametrize("seed", range(5))
def test_delong_is_its_definition(seed, decimals):
    rng = np.random.default_rng(seed)
    y = rng.permutation([0] * 9 + [1] * 14)
    z = np.round(rng.normal(size=23) + y, decimals)
    auc = fb.delong(y, z)
    np.testing.assert_allclose((auc, auc.se), brute_delong(y, z), rtol=1e-12)
    assert auc == pytest.approx(roc_auc_score(y, z), abs=1e-14)


def test_delong_logit_interval():
    y, z = np.repeat([0, 1], 20), np.r_[np.arange(20), np.arange(20) + 7.5]
    auc = fb.delong(y, z)
    low, high = auc.interval(0.95)

    def logit(p):
        return np.log(p / (1 - p))

    assert logit(high) + logit(low) == pytest.approx(2 * logit(auc))
    assert logit(high) - logit(auc) == pytest.approx(1.959963984540054 * auc.se / (auc * (1 - auc)))


@pytest.mark.parametrize(
    ("y", "z"),
    [
        ([0, 0, 1, 1], [1, 2, 3, 4]),
        ([0, 0, 1, 1], [3, 4, 1, 2]),
        ([0, 0, 1, 1], [1, 1, 1, 1]),
        ([0, 1], [0, 1]),
        ([0, 1], [1, 0]),
        ([0, 0, 0, 1], [1, 2, 4, 3]),
        ([0, 1, 1, 1], [2, 1, 3, 4]),
    ],
)
def test_delong_interval_is_never_a_point(y, z):
    auc = fb.delong(y, z)
    assert auc.se is None
    low, high = auc.interval()
    assert 0 <= low <= auc <= high <= 1
    assert high - low > 0.3
    narrow = auc.interval(0.5)
    assert low <= narrow[0] <= narrow[1] <= high


@pytest.mark.parametrize(("auc", "n0", "n1"), [(1.0, 2, 2), (1.0, 30, 5), (0.0, 4, 4), (0.7, 10, 12), (0.5, 1, 9)])
def test_newcombe_ends_solve_the_score_equation(auc, n0, n1):
    def variance(v):  # Hanley and McNeil with Q1, Q2, both class sizes replaced by their mean
        q1, q2, mean = v / (2 - v), 2 * v**2 / (1 + v), (n0 + n1) / 2
        return (v * (1 - v) + (mean - 1) * (q1 - v**2 + q2 - v**2)) / (n0 * n1)

    for end in newcombe(0.95, auc=auc, n0=n0, n1=n1):
        assert (end - auc) ** 2 == pytest.approx(1.959963984540054**2 * variance(end), abs=1e-12)
    low, high = newcombe(0.95, auc=auc, n0=n0, n1=n1)
    mirror = newcombe(0.95, auc=1 - auc, n0=n1, n1=n0)
    assert mirror == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_delong_test_is_its_definition():
    """Variances and covariance of both AUCs from the placements of all rows, written out."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    a = rng.normal(size=40) + y
    b = a + rng.normal(size=40)
    place = {}
    for name, z in (("a", a), ("b", b)):
        wins = (z[y == 1][:, None] > z[y == 0]).astype(float)
        place[name] = wins.mean(axis=1), wins.mean(axis=0)
    S = sum(np.cov(place["a"][k], place["b"][k]) / 20 for k in (0, 1))
    found = fb.delong_test(y, a, b)
    assert found.difference == pytest.approx(float(fb.delong(y, a)) - float(fb.delong(y, b)), abs=1e-12)
    assert found.z == pytest.approx(found.difference / np.sqrt(S[0, 0] + S[1, 1] - 2 * S[0, 1]), rel=1e-12)
    assert found.p_value == pytest.approx(2 * ndtr(-abs(found.z)), rel=1e-12)
    for bad in (np.exp(a), a[:-1]):
        with pytest.raises(fl.InputError):
            fb.delong_test(y, a, bad)


def test_delong_labels_and_bad_input():
    y, z = ["ill", "ill", "well", "well"], [0.1, 0.4, 0.35, 0.8]
    assert fb.delong(y, z) == 0.75
    assert fb.delong(y, z, pos_label="ill") == 0.25
    assert fb.delong(pd.Series(y), pl.Series(z)) == 0.75
    for bad in ([0.1, np.nan, 0.3, 0.4], [[0.1], [0.2], [0.3], [0.4]], ["a", "b", "c", "d"]):
        with pytest.raises(InputError, match=r"scores (must be|hold 1 NaN)"):
            fb.delong(y, bad)
    with pytest.raises(InputError, match="must match"):
        fb.delong(y, z[:3])
    with pytest.raises(InputError, match="one class only"):
        fb.delong([1, 1], [0.1, 0.2])


# --- training scores -----------------------------------------------------------------------------


def test_resubstitution_of_weights_and_estimators(data):
    X, y = data
    assert fb.resubstitution_auc(W, X, y) == pytest.approx(roc_auc_score(y, X @ W))
    assert fb.resubstitution_auc(W, X, y, pos_label=0) == pytest.approx(1 - roc_auc_score(y, X @ W))
    model = LogisticRegression().fit(X, y)
    assert fb.resubstitution_auc(model, X, y) == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    neighbours = KNeighborsClassifier(3).fit(X, y)
    assert fb.resubstitution_auc(neighbours, X, y) == pytest.approx(roc_auc_score(y, neighbours.predict_proba(X)[:, 1]))


@pytest.mark.parametrize("method", [fb.resubstitution_auc, fb.binormal_auc, fb.ebauc])
def test_an_estimator_scores_towards_the_positive_class(method, data):
    X, y = data
    names = np.where(y == 1, "yes", "no")
    model = LogisticRegression().fit(X, names)
    expected = method(LogisticRegression().fit(X, y), X, y)
    assert method(model, X, names) == pytest.approx(expected)
    assert method(model, X, names, pos_label="no") == pytest.approx(expected)


@pytest.mark.parametrize("method", [fb.resubstitution_auc, fb.binormal_auc, fb.ebauc])
def test_containers_make_no_difference(method, data):
    X, y = data
    expected = method(W, X, y)
    for other in (X.tolist(), csr_matrix(X), pd.DataFrame(X), pl.DataFrame(X, schema=list("abcd"))):
        assert method(W[:, None], other, pd.Series(y)) == pytest.approx(expected)
    # A weight vector has no labels of its own: the AUC of the other class is the complement.
    assert method(W, X, y, pos_label=0) == pytest.approx(1 - expected)


@pytest.mark.parametrize("method", [fb.resubstitution_auc, fb.binormal_auc, fb.ebauc])
def test_scores_bad_input(method, data):
    X, y = data
    broken = X.copy()
    broken[4, 2] = np.nan
    cases = [
        (InputError, "first at row 4, column 2", (W, broken, y)),
        (InputError, "must match", (W[:3], X, y)),
        (InputError, "must match", (W, X[:-1], y)),
        (InputError, "one at a time", (np.ones((4, 2)), X, y)),
        (InputError, "all zeros", (np.zeros(4), X, y)),
        (InputError, "3 classes", (W, X, np.arange(30) % 3)),
        (EstimatorError, r"unfitted LogisticRegression: call fit", (LogisticRegression(), X, y)),
        (EstimatorError, "got the class itself", (LogisticRegression, X, y)),
        (EstimatorError, "fitted on two classes", (LogisticRegression().fit(X, np.arange(30) % 3), X, y)),
        (InputError, "labels", (LogisticRegression().fit(X, y), X, y + 1)),
    ]
    for error, message, arguments in cases:
        with pytest.raises(error, match=message):
            method(*arguments)
    with pytest.raises(InputError, match="pos_label"):
        method(W, X, y, pos_label=2)


def test_binormal_formula(data):
    X, y = data
    z = X @ W
    a, b = z[y == 1], z[y == 0]
    expected = ndtr((a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) + b.var(ddof=1)))
    assert fb.binormal_auc(W, X, y) == pytest.approx(expected)
    assert fb.binormal_auc([1.0], [[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]) == 1.0
    assert fb.binormal_auc([1.0], [[1.0]] * 4, [0, 0, 1, 1]) == 0.5
    with pytest.raises(InputError, match="two rows of each class"):
        fb.binormal_auc([1.0], [[0.0], [1.0], [2.0]], [0, 0, 1])


# --- EBAUC ---------------------------------------------------------------------------------------


def naive_ebauc(w, X, y, covariance, anchored):
    """Section 4 of the mathematics word for word, P x P matrices and all."""
    P, nu, kappa = X.shape[1], 0.5, X.shape[1] + 2
    S, m, n = {}, {}, {}
    for c in (0, 1):
        Z = X[y == c]
        n[c], xbar = len(Z), Z.mean(axis=0)
        S[c] = (Z - xbar).T @ (Z - xbar) + n[c] * nu / (n[c] + nu) * np.outer(xbar, xbar)
        m[c] = n[c] * xbar / (n[c] + nu)
    rates = []
    for b in -np.sort(X @ w)[::-1]:
        point = []
        for c in (0, 1):
            scatter = np.eye(P) + (S[c] if covariance == "per-class" else S[0] + S[1])
            k = kappa + (n[c] if covariance == "per-class" else n[0] + n[1]) - P + 1
            nus = nu + n[c]
            point.append(student.cdf((w @ m[c] + b) * np.sqrt(nus / (nus + 1)) * np.sqrt(k / (w @ scatter @ w)), k))
        rates.append(point)
    if anchored:
        rates = [[0.0, 0.0], *rates, [1.0, 1.0]]
    return sum((q[0] - p[0]) * (q[1] + p[1]) / 2 for p, q in pairwise(rates))


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("covariance", ["per-class", "common"])
def test_ebauc_is_the_naive_one(data, covariance, anchored):
    X, y = data
    expected = naive_ebauc(W, X, y, covariance, anchored)
    assert fb.ebauc(W, X, y, covariance=covariance, anchored=anchored) == pytest.approx(expected, rel=1e-12)
    model = LogisticRegression().fit(X, y)
    expected = naive_ebauc(model.coef_[0], X, y, covariance, anchored)
    assert fb.ebauc(model, X, y, covariance=covariance, anchored=anchored) == pytest.approx(expected, rel=1e-12)


def test_ebauc_looks_through_pipelines_and_searches(data):
    X, y = data
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    expected = fb.ebauc(pipe[-1].coef_[0], pipe[:-1].transform(X), y)
    assert fb.ebauc(pipe, X, y) == pytest.approx(expected)
    search = GridSearchCV(pipe, {"logisticregression__C": [1.0]}).fit(X, y)
    assert fb.ebauc(search, X, y) == pytest.approx(expected)
    assert fb.ebauc(make_pipeline(LinearDiscriminantAnalysis()).fit(X, y), X, y) > 0.5


def test_ebauc_bad_input(data):
    X, y = data
    with pytest.raises(InputError, match="'per-class' or 'common', got 'shared'"):
        fb.ebauc(W, X, y, covariance="shared")
    with pytest.raises(EstimatorError, match=r"linear classifier with coef_, got a GaussianNB"):
        fb.ebauc(GaussianNB().fit(X, y), X, y)
    with pytest.raises(InputError, match="all zeros"):
        fb.ebauc(LogisticRegression(**l1(), solver="liblinear", C=1e-6).fit(X, y), X, y)


# --- populations ---------------------------------------------------------------------------------


def test_true_auc_against_draws():
    rng = np.random.default_rng(3)
    root0, root1 = rng.normal(size=(2, 3, 3))
    m0, m1, w = rng.normal(size=(3, 3))
    z0 = (rng.normal(size=(400_000, 3)) @ root0.T + m0) @ w
    z1 = (rng.normal(size=(400_000, 3)) @ root1.T + m1) @ w
    exact = fb.true_auc(w, m0, m1, root0 @ root0.T, root1 @ root1.T)
    assert type(exact) is float
    assert np.mean(z1 > z0) == pytest.approx(exact, abs=0.004)


def test_population_identities():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(5, 5))
    cov0, cov1 = root @ root.T + np.eye(5), np.diag(rng.uniform(1, 2, 5))
    m0, m1 = rng.normal(size=(2, 5))
    best = fb.bayes_auc(m0, m1, cov0, cov1)
    assert fb.true_auc(np.linalg.solve(cov0 + cov1, m1 - m0), m0, m1, cov0, cov1) == pytest.approx(best, abs=1e-14)
    assert all(fb.true_auc(w, m0, m1, cov0, cov1) < best for w in rng.normal(size=(50, 5)))
    assert fb.true_auc(W, 0.0, np.ones(4), 2.0) == pytest.approx(fb.true_auc(W, np.zeros(4), 1.0, 2 * np.eye(4)))
    assert fb.bayes_auc(0.0, np.ones(4), [1.0, 2.0, 3.0, 4.0]) == pytest.approx(
        fb.bayes_auc(np.zeros(4), np.ones(4), np.diag([1.0, 2.0, 3.0, 4.0]))
    )
    # The printed table's Bayes row would be this under its stated distribution.
    assert [round(fb.bayes_auc(0.0, np.ones(p), 1.0), 4) for p in (4, 10, 100)] == [0.9214, 0.9873, 1.0]


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("mean1 must be a number or have shape", (W, 0.0, np.ones(3), 1.0)),
        ("cov0 must be a number or have shape", (W, 0.0, 1.0, np.eye(3))),
        ("cov1 must be symmetric", (W, 0.0, 1.0, 1.0, np.triu(np.ones((4, 4))))),
        ("no negative variance", (W, 0.0, 1.0, -1.0)),
        ("variance of w'x must be positive", (W, 0.0, 1.0, 0.0)),
        ("mean0 must be finite", (W, np.nan, 1.0, 1.0)),
        ("mean0 must hold numbers", (W, "a", 1.0, 1.0)),
        ("all zeros", (np.zeros(4), 0.0, 1.0, 1.0)),
    ],
)
def test_population_bad_input(message, arguments):
    with pytest.raises(InputError, match=message):
        fb.true_auc(*arguments)


def test_bayes_auc_singular():
    with pytest.raises(InputError, match="positive definite"):
        fb.bayes_auc(np.zeros(2), np.ones(2), np.ones((2, 2)))


def test_baselines_stay_independent():
    """The point of a baseline is lost when it shares code with what it checks."""
    import ast
    from pathlib import Path

    # cards only draws what it is given, model.steps only knows scikit-learn's classes.
    allowed = ("foldless.baselines", "foldless.checks", "foldless.cards", "foldless.model.steps", "foldless.errors")
    for path in Path(folds.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            assert all(n.startswith(allowed) for n in names if n.startswith("foldless")), path


def test_binormal_auc_of_huge_scores():
    """Variances overflowed, and the estimate was 0.5."""
    X, Y = alternating(40, 3, shift=0.7)
    plain, huge = (given.binormal_auc([1.0, 0, 0], X * s, Y) for s in (1.0, 2.0**600))
    assert float(plain) == float(huge)


def test_ebauc_of_numbers_whose_squares_overflow_is_refused():
    """Python's own OverflowError came out."""
    X, Y = alternating(40, 3, shift=0.7)
    with pytest.raises(fl.InputError, match=r"overflow.*rescale X"):
        given.ebauc(np.ones(3), X * 1e200, Y)
