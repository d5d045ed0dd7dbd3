"""Extreme numbers: the answer is the right one, by an exact invariance, refits or mpmath, or it is refused by name."""

from __future__ import annotations

from contextlib import nullcontext
from copy import deepcopy

import mpmath
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

import foldless as fl
from foldless.baselines.resampling import leave_pair_out_auc

SCALES = [2.0**k for k in (-200, -100, -30, 30, 100, 200)]
TOO_FAR = [1e-150, 1e-100, 1e100, 1e150]


def sample(n=40, p=4, seed=0, shift=0.7):
    """Two classes of normal rows, a mean apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, p)) + shift * y[:, None] * rng.normal(size=p), y


X, Y = sample()


def figures(post):
    return np.array([post.mean, post.sd, *post.interval(), float(post.cdf(0.7))])


def rescaled(model, s):
    """The same classifier for X * s: weights / s, penalty * s^2."""
    strength = {"alpha": lambda a: a * s**2, "C": lambda c: c / s**2}
    other = deepcopy(model)  # RidgeClassifier finds its classes in the fit, and they cannot be set
    other.set_params(**{k: strength[k](v) for k, v in model.get_params().items() if k in strength})
    other.coef_ = model.coef_ / s
    return other


MODELS = {
    "logistic": LogisticRegression(tol=1e-10),
    "ridge": RidgeClassifier(),
    "svm": LinearSVC(tol=1e-12, max_iter=100_000, intercept_scaling=1.0, fit_intercept=False),
    "lda": LinearDiscriminantAnalysis(),
    "lda shrunk": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3),
}


@pytest.mark.parametrize("s", SCALES)
@pytest.mark.parametrize("name", MODELS)
def test_units_of_x_do_not_matter(name, s):
    """X * s with a penalty * s^2 is the same fit in other units: the posterior is the same."""
    model = MODELS[name].fit(X, Y)
    expected = figures(fl.auc_posterior(model, X, Y))
    assert figures(fl.auc_posterior(rescaled(model, s), X * s, Y)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("s", TOO_FAR)
def test_units_that_lose_the_squares_are_refused(s):
    """Beyond what can be squared there is no answer, and the message says what to do."""
    ridge = RidgeClassifier(alpha=s).fit(X * s, Y)
    for call in (fl.auc_posterior, fl.honest_scores, fl.diagnose):
        for model in (ridge, np.ones(4)):
            with pytest.raises(fl.InputError, match="rescale"):
                call(model, X * s, Y)


@pytest.mark.parametrize("s", SCALES)
def test_units_of_bare_weights_do_not_matter(s):
    """The length of w and the units of X cancel, whichever way they are split."""
    w = np.array([1.0, 0.5, -0.2, 0.1])
    expected = figures(fl.auc_posterior(w, X, Y))
    assert figures(fl.auc_posterior(w / s, X * s, Y)) == pytest.approx(expected, rel=1e-7)
    assert figures(fl.auc_posterior(w * s, X, Y)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("s", [2.0**k for k in (-1000, -500, 500, 1000)])
@pytest.mark.parametrize("groups", [None, np.arange(40) // 2])
def test_scores_of_any_size(s, groups):
    """Held-out scores have no scale: powers of two change no bit, as far as floating point goes."""
    post, scaled = (fl.auc_posterior_from_scores(Y, X[:, 0] * f, groups=groups) for f in (1.0, s))
    assert np.array_equal(figures(post), figures(scaled))


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("name", ["ridge", "lda"])
def test_offset_of_the_columns_does_not_matter(name, offset):
    """Columns far from zero: the same as the same numbers less the offset, which is exact, up to the rounding of X."""
    far = X + offset
    near = far - offset
    expected = figures(fl.auc_posterior(clone(MODELS[name]).fit(near, Y), near, Y))
    found = figures(fl.auc_posterior(clone(MODELS[name]).fit(far, Y), far, Y))
    assert found == pytest.approx(expected, abs=max(1e-8, 1e-14 * offset))


def exact_cbauc(w, X, y):
    """The closed form under Prior.improper(), in 60 digits."""
    with mpmath.workdps(60):
        rows = [[mpmath.mpf(float(v)) for v in row] for row in X]
        scores = [mpmath.fsum(a * mpmath.mpf(float(b)) for a, b in zip(row, w, strict=True)) for row in rows]
        z = [[s for s, label in zip(scores, y, strict=True) if label == c] for c in (0, 1)]
        means = [mpmath.fsum(v) / len(v) for v in z]
        scatter = mpmath.fsum((s - m) ** 2 for v, m in zip(z, means, strict=True) for s in v)
        df = len(y) - len(w) + 1
        t = (means[1] - means[0]) * mpmath.sqrt(df / scatter) / mpmath.sqrt(2 + sum(mpmath.mpf(1) / len(v) for v in z))
        tail = mpmath.betainc(mpmath.mpf(df) / 2, 0.5, 0, df / (df + t**2), regularized=True) / 2
        return float(1 - tail if t > 0 else tail)


@pytest.mark.parametrize("s", [1e-140, 1e-60, 1.0, 1e60, 1e140])
@pytest.mark.parametrize("length", [1e-150, 1.0, 1e150])
def test_cbauc_against_sixty_digits(s, length):
    """The paper's number is right for any units of X and any length of w, or refused."""
    w = np.array([1.0, 0.5, -0.2, 0.1])
    assert fl.cbauc(w * length, X * s, Y, prior=fl.Prior.improper()) == pytest.approx(exact_cbauc(w, X, Y), abs=1e-12)


@pytest.mark.parametrize(("offset", "within"), [(1e4, 1e-9), (1e8, 1e-6), (1e12, 1e-3)])
def test_cbauc_far_from_zero_against_sixty_digits(offset, within):
    """As many digits as the scores X @ w still have."""
    w = np.array([1.0, 0.5, -0.2, 0.1])
    far = X + offset
    assert fl.cbauc(w, far, Y, prior=fl.Prior.improper()) == pytest.approx(exact_cbauc(w, far, Y), abs=within)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", ">f8", "longdouble"])
def test_type_of_x_does_not_matter(dtype):
    """The same numbers in another type give the same answer to the last digits."""
    short = (2 * X).round().clip(-9, 9).astype(dtype) if dtype in ("int8", "bool") else X.astype(dtype)
    same = short.astype(np.float64)
    model = RidgeClassifier().fit(same, Y)
    expected = figures(fl.auc_posterior(model, same, Y))
    # scikit-learn scores in the type of X, and the check against its decision_function allows for that.
    assert figures(fl.auc_posterior(model, short, Y)) == pytest.approx(expected, rel=1e-12)


def padded(kind):
    """X with columns that change nothing for a ridge classifier, given the penalty."""
    zeros, ones = np.zeros((40, 1)), np.ones((40, 1))
    return {
        "zero column": np.hstack([X, zeros]),
        "constant column": np.hstack([X, 5 * ones]),
        "column twice": np.hstack([X / np.sqrt(2), X / np.sqrt(2)]),
        "fifty times": np.hstack([X / np.sqrt(50)] * 50),
        "turned": X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0],
        "zeros beyond N": np.hstack([X, np.zeros((40, 200))]),
    }[kind]


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    "kind", ["zero column", "constant column", "column twice", "fifty times", "turned", "zeros beyond N"]
)
def test_rank_deficient_columns(kind, alpha):
    """Copied, constant, zero and turned columns leave a ridge fit, and so its posterior, as it was."""
    expected = figures(fl.auc_posterior(RidgeClassifier(alpha=alpha).fit(X, Y), X, Y))
    wide = padded(kind)
    found = figures(fl.auc_posterior(RidgeClassifier(alpha=alpha).fit(wide, Y), wide, Y))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("once", "twice"),
    [(RidgeClassifier(alpha=2.0), RidgeClassifier(alpha=4.0)),
     (LogisticRegression(C=1.0, tol=1e-10), LogisticRegression(C=0.5, tol=1e-10))],
)  # fmt: skip
def test_copied_rows_in_groups_are_one_row(once, twice):
    """Every row twice, left out together, with twice the penalty: the honest scores of the rows taken once."""
    expected = fl.honest_scores(once.fit(X, Y), X, Y).scores
    XX, YY, groups = np.repeat(X, 2, axis=0), np.repeat(Y, 2), np.repeat(np.arange(40), 2)
    found = fl.honest_scores(twice.fit(XX, YY), XX, YY, groups=groups).scores
    assert found == pytest.approx(np.repeat(expected, 2), rel=1e-6, abs=1e-8)


def refitted(model, X, y, rows):
    """Scores of some rows by models fitted without them."""
    return np.array([
        clone(model).fit(np.delete(X, i, axis=0), np.delete(y, i)).decision_function(X[[i]])[0] for i in rows
    ])  # fmt: skip


@pytest.mark.parametrize("alpha", [1e-10, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e10])
@pytest.mark.parametrize("p", [1, 5, 39, 100])
def test_ridge_of_any_strength_against_refits(p, alpha):
    """Leave-one-out scores equal those of refits for penalties over twenty orders of magnitude."""
    A, y = sample(40, p, seed=p)
    model = RidgeClassifier(alpha=alpha, solver="svd")
    rows = range(0, 40, 7)
    found = fl.honest_scores(model.fit(A, y), A, y).scores[list(rows)]
    exact = refitted(model, A, y, rows)
    # With one column less than rows and hardly a penalty, 1 - leverage is of the size of the penalty, and so rounded.
    # With more columns penalties below 1e-9 of the rows are raised to that: scores have reached their limit there.
    within = 1e-4 if p == 39 and alpha < 1e-6 else 1e-5
    assert found == pytest.approx(exact, rel=within, abs=within * np.abs(exact).max())


@pytest.mark.parametrize("C", [1e-10, 1e-5, 1e-2, 1.0, 1e2, 1e5, 1e10])
@pytest.mark.parametrize("p", [2, 60])
def test_logistic_of_any_strength_against_refits(p, C):
    """The leave-pair-out AUC is that of refits, to what one Newton step from the optimum can tell."""
    A, y = sample(24, p, seed=3, shift=0.5)
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8, max_iter=1000).fit(A, y)
    # Separable rows and hardly a penalty: scikit-learn's fit stops early, which is told.
    with pytest.warns(fl.TrustWarning, match="not at the optimum") if p > 24 and C > 1e9 else nullcontext():
        found = fl.honest_scores(model, A, y).pair_auc
    assert found == pytest.approx(float(leave_pair_out_auc(model, A, y)), abs=0.05)


@pytest.mark.parametrize("counts", [(2, 2), (2, 3), (2, 30), (3, 2)])
def test_fewest_rows(counts):
    """From four rows on there is an answer: wide, proper, and its honest scores are those of refits."""
    n0, n1 = counts
    y = np.repeat([0, 1], counts)
    A = np.random.default_rng(5).normal(size=(n0 + n1, 2)) + y[:, None]
    model = RidgeClassifier().fit(A, y)
    post = fl.auc_posterior(model, A, y)
    assert 0 < post.mean < 1
    assert post.interval()[1] - post.interval()[0] > 0.2
    assert fl.honest_scores(model, A, y).scores == pytest.approx(refitted(model, A, y, range(n0 + n1)), abs=1e-9)


@pytest.mark.parametrize("counts", [(1, 1), (1, 30), (30, 1)])
def test_too_few_rows_are_refused(counts):
    """A class of one row leaves nothing to train on."""
    y = np.repeat([0, 1], counts)
    A = np.random.default_rng(5).normal(size=(sum(counts), 2))
    with pytest.raises(fl.InputError, match="at least two rows"):
        fl.auc_posterior(RidgeClassifier().fit(A, y), A, y)


def test_all_rows_alike_are_refused():
    """No classifier ranks rows that do not differ."""
    alike = np.full((40, 3), 7.0)
    with pytest.raises(fl.InputError, match="same score"):
        fl.auc_posterior(np.ones(3), alike, Y)
    with pytest.raises(fl.EstimatorError, match="all zero"):
        fl.auc_posterior(RidgeClassifier().fit(alike, Y), alike, Y)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(50_000, 3), (30, 100_000)])
def test_large_tables_against_refits(n, p):
    """Very many rows, and very many columns: leave-one-out scores of some rows equal those of refits."""
    A, y = sample(n, p, seed=9, shift=0.5 / np.sqrt(p))
    model = RidgeClassifier(alpha=1.0 if p < n else float(p)).fit(A, y)
    rows = [0, 1, n - 1]
    found = fl.honest_scores(model, A, y).scores[rows]
    assert found == pytest.approx(refitted(model, A, y, rows), rel=1e-7, abs=1e-9)
