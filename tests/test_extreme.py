"""Extreme numbers: the answer is the right one, by an exact invariance, refits or mpmath, or it is refused by name."""

from __future__ import annotations

import warnings
from copy import deepcopy

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import foldless as fl
from data import alternating, random_direction
from foldless.baselines.resampling import leave_pair_out_auc
from foldless.comparison.in_sample import InSampleJoint
from foldless.model.pullback import agrees

SCALES = [2.0**k for k in (-200, -100, -30, 30, 100, 200)]
TOO_FAR = [1e-150, 1e-100, 1e100, 1e150]


X, Y = random_direction(40, 4)


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
    A, y = random_direction(40, p, seed=p)
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
    A, y = random_direction(24, p, seed=3, shift=0.5)
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8, max_iter=1000).fit(A, y)
    # Separable rows and hardly a penalty: scikit-learn's fit stops early, and is refitted.
    assert fl.analyse(model, A, y).method == ("refit" if p > 24 and C > 1e9 else "loo")
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
    A, y = random_direction(n, p, seed=9, shift=0.5 / np.sqrt(p))
    model = RidgeClassifier(alpha=1.0 if p < n else float(p)).fit(A, y)
    rows = [0, 1, n - 1]
    found = fl.honest_scores(model, A, y).scores[rows]
    assert found == pytest.approx(refitted(model, A, y, rows), rel=1e-7, abs=1e-9)


# ---- numbers near the ends of the floats


@pytest.mark.parametrize("threshold", [-1e300, 1e9, 1e300])
@pytest.mark.parametrize("method", ["loo", "in-sample"])
def test_thresholds_far_from_all_scores(threshold, method):
    """The square of the distance overflowed; with "loo" the error was nan."""
    X, Y = alternating(40, 3, shift=0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fl.OptimismWarning)
        post = fl.error_posterior(RidgeClassifier().fit(X, Y), X, Y, method=method, threshold=threshold)
    # Twenty rows of a class on one side say no more than that hardly one in twenty is on the other.
    assert post.sensitivity.mean == pytest.approx(float(threshold < 0), abs=0.1)
    assert post.error.mean == pytest.approx(0.5, abs=0.1)
    assert 0 <= post.ppv.interval()[0] <= 1


def test_numbers_whose_squares_overflow_are_refused_by_name():
    """SciPy complained about infinities in a matrix that the user never saw."""
    X, Y = alternating(40, 3, shift=0.7)
    for call in (fl.honest_scores, fl.auc_posterior, fl.diagnose):
        with pytest.raises(fl.InputError, match=r"size 1e.150.*rescale X"):
            call(np.ones(3), np.sign(X) * 1e150, Y)


def test_scores_of_any_size_have_a_posterior():
    """Fourth powers of held-out scores overflowed from 1e77 on; the smallest and largest floats are fine now."""
    X, Y = alternating(40, 3, shift=0.7)
    expected = fl.auc_posterior_from_scores(Y, X[:, 0]).mean
    for s in (2.0**-1000, 2.0**1000):
        assert fl.auc_posterior_from_scores(Y, X[:, 0] * s).mean == expected
    ends = np.where(Y == 1, 1.7e308, -1.7e308)
    ends[:2] = ends[1::-1]
    assert 0.5 < fl.auc_posterior_from_scores(Y, ends).mean < 1


def test_three_classes_of_huge_scores():
    """The same for several classes."""
    y = np.arange(39) % 3
    scores = np.random.default_rng(1).normal(size=(39, 3)) + 2 * np.eye(3)[y]
    expected = fl.auc_posterior_from_scores(y, scores).mean
    assert fl.auc_posterior_from_scores(y, scores * 2.0**900).mean == expected


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_sample_weights_that_lose_their_squares_are_refused(size):
    """NumPy warned of an overflow, and the answer was none."""
    X, Y = alternating(40, 3, shift=0.7)
    with pytest.raises(fl.InputError, match="sample_weight is of size"):
        fl.honest_scores(RidgeClassifier().fit(X, Y), X, Y, sample_weight=np.full(40, size))


def test_cbauc_of_huge_weights_is_right_or_refused():
    """Means and scale were multiplied back to infinity."""
    X, Y = alternating(40, 3, shift=0.7)
    expected = fl.cbauc(np.ones(3), X, Y, prior=fl.Prior.improper())
    assert fl.cbauc(np.full(3, 1e300), X, Y, prior=fl.Prior.improper()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("p", [3, 60])
@pytest.mark.parametrize("offset", [1e3, 1e5, 1e7])
def test_sparse_columns_far_from_zero(p, offset):
    """Centred sums of squares were differences of huge numbers: wrong without a word, and negative at times."""
    Y = np.arange(40) % 2
    A = np.random.default_rng(p).normal(size=(40, p)) + 0.4 * Y[:, None]
    A[:, [0, -1]] += offset
    model = RidgeClassifier(alpha=10.0).fit(A, Y)
    dense, sparse = (fl.auc_posterior(model, table, Y) for table in (A, sp.csr_matrix(A)))
    assert sparse.mean == pytest.approx(dense.mean, abs=1e-5)
    assert sparse.sd == pytest.approx(dense.sd, abs=1e-5)


def test_scaled_identity_prior_of_sparse_columns_far_from_zero():
    """The same for the moments of the columns."""
    X, Y = alternating(40, 3, shift=0.7)
    A = X + 1e7
    dense, sparse = (
        fl.cbauc(np.ones(3), table, Y, prior=fl.Prior.scaled_identity(mean0=1e7, mean1=1e7))
        for table in (A, sp.csr_matrix(A))
    )
    assert sparse == pytest.approx(dense, abs=1e-7)


def test_check_of_scores_near_the_largest_float():
    """NumPy warned of an overflow while the weights were compared with decision_function."""
    rows = np.array([[1e308], [-1e308]])
    assert agrees(rows, np.ones(1), 0.0, rows.ravel())


def test_rows_that_differ_by_rounding_alone_are_refused():
    """Constant columns, whose scores differ in their last bit: the match of the stand-in was nan."""
    Y = np.arange(40) % 2
    noisy = np.full((40, 1), 7.0)
    noisy[::3] = np.nextafter(7.0, 8.0)
    with pytest.raises(fl.InputError, match="same score"):
        fl.honest_scores(np.array([1.3]), noisy, Y)
    model = SGDClassifier(loss="log_loss", random_state=0, max_iter=20, tol=None).fit(np.full((40, 7), 7.0), Y)
    with pytest.raises(fl.InputError, match=r"same score|rounding alone"):
        fl.honest_scores(model, np.full((40, 7), 7.0), Y)


def test_columns_whose_squares_overflow_are_refused_under_the_scaled_identity_prior():
    """1e308 in one column: the trace of the prior's scale overflowed with a warning of NumPy's."""
    X, y = np.random.default_rng(0).normal(size=(8, 2)), np.arange(8) % 2
    X[3, 1] = 1e308
    with pytest.raises(fl.InputError, match="overflow"):
        fl.cbauc([1.0, 0.0], X, y, prior=fl.Prior.scaled_identity())


def test_scores_that_overflow_are_refused_with_a_covariance_per_class():
    """Squares of 1e155 and more: an InputError, without a warning of NumPy's."""
    X, y = 1e160 * np.array([[1.0], [2.0], [4.0], [5.0]]), [0, 0, 1, 1]
    with pytest.raises(fl.InputError):
        fl.error_posterior([1.0], X, y, method="in-sample", covariance="per-class")


def test_scores_that_overflow_behind_a_step_are_refused():
    """A step that had seen the labels and enlarges: NumPy's warning about a product came out."""
    X, Y = alternating(40, 3, shift=0.7)
    model = make_pipeline(LinearDiscriminantAnalysis(), LogisticRegression()).fit(X, Y)
    model[0].scalings_ = model[0].scalings_ * 1e300
    model[-1].coef_ = model[-1].coef_ * 1e20
    with pytest.raises(fl.InputError, match=r"scores overflow behind 'lineardiscriminantanalysis'.*rescale X"):
        fl.auc_posterior(model, X, Y)


@pytest.mark.parametrize(
    ("ask", "prior"),
    [(fl.auc_posterior, None), (fl.error_posterior, None), (fl.auc_posterior, fl.Prior.adaptive())],
)
def test_scores_that_overflow_for_weights_of_unit_length_are_refused(ask, prior):
    """Tiny weights on huge columns: the scores are finite, those of longer weights are not, and NumPy warned."""
    Y = np.arange(40) % 2
    table = 1e308 * (1 + 0.1 * Y[:, None]) * np.ones(12)
    with pytest.raises(fl.InputError, match=r"rescale X"):
        ask(np.full(12, 1e-10), table, Y, method="in-sample", prior=prior)


def test_scores_that_overflow_are_refused_under_a_known_covariance():
    """No square is needed there, and the difference of two infinite means was nan."""
    huge = np.array([[1e308], [1e308], [1e308], [1e308]])
    with pytest.raises(fl.InputError, match="overflow"):
        fl.cbauc([1.0], huge, [0, 1, 0, 1], prior=fl.Prior.known_covariance(1.0))


def test_means_at_both_ends_of_the_floats_are_far_apart():
    """Their difference overflows: NumPy's warning came out."""
    ends = np.array([[-1.5e308], [1.5e308]])
    assert fl.cbauc([1.0], ends, [0, 1], prior=fl.Prior.known_covariance(1.0)) == 1.0


def test_a_penalty_that_is_none_overflows_nothing():
    """C = 1e300 multiplies every gradient: the answer is that of a very weak penalty, without a word from NumPy."""
    y = (X[:, 0] + np.random.default_rng(3).normal(size=40) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        search = fl.FoldlessSearch(LogisticRegression(max_iter=1000), {"C": [1e9, 1e300]}).fit(X, y)
    weak, none = search.posteriors_
    assert figures(none) == pytest.approx(figures(weak), abs=1e-3)


@pytest.mark.parametrize("covariance", ["common", "per-class"])
def test_thresholds_beyond_all_scores(covariance):
    """Of a table of tiny numbers: everything is called positive, and the distance overflows."""
    model = RidgeClassifier().fit(X, Y)
    model.coef_, tiny = model.coef_ * 1e12, X * 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", fl.OptimismWarning)
        post = fl.error_posterior(model, tiny, Y, method="in-sample", threshold=-1e308, covariance=covariance)
    assert (post.sensitivity.mean, post.specificity.mean) == (1, 0)


def test_separations_whose_squares_overflow_have_a_correlation():
    z = np.random.default_rng(0).normal(size=(1000, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    for size in (1.0, 1e306):
        joint = InSampleJoint(size * z, (0, 1), (0, 1))
        assert joint.correlation(0, 1) == pytest.approx(np.corrcoef(z.T)[0, 1])
    certain = InSampleJoint(np.column_stack([np.full(1000, 1e306), z[:, 0]]), (0, 1), (0, 1))
    assert certain.correlation(0, 1) == 0.0


@pytest.mark.parametrize("size", [1.0, 1e9, 1e18])
def test_classes_without_any_spread_under_the_adaptive_prior(size):
    """All rows of a class are the same point: in any units the answer is as certain."""
    y = np.repeat([0, 1], 6)
    post = fl.auc_posterior(np.array([1.0, 0.0]), size * np.column_stack([y, np.zeros(12)]), y,
                            method="in-sample", prior=fl.Prior.adaptive())  # fmt: skip
    assert 0.95 < post.mean <= 1
