"""Defects that fuzzing found, each as small as it could be made. What is wanted is said in the name."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless.baselines import folds, given
from foldless.cli.app import app
from foldless.honest.stand_ins import nearest_ridge
from foldless.honest.statistic import separation
from foldless.laws.effect import StudentEffect
from foldless.model.pullback import agrees
from foldless.results.error import SharedScale
from sklearn_versions import VERSION

rng = np.random.default_rng(0)
Y = np.arange(40) % 2
X = rng.normal(size=(40, 3)) + 0.7 * Y[:, None]
HUGE = np.where(np.arange(40)[:, None] == 0, 1e308, X)


def test_labels_that_are_tuples_are_refused():
    """They broadcast against the vector of labels, and NumPy's own error came out."""
    y = np.empty(40, dtype=object)
    y[:] = [(0, 1) if v else (1, 0) for v in Y]
    with pytest.raises(fl.InputError, match="one label per row"):
        fl.auc_posterior_from_scores(y, X[:, 0])


def test_classes_that_are_one_number_are_refused():
    """`classes=7` ended in a TypeError."""
    with pytest.raises(fl.InputError, match="two classes, got 1"):
        fl.ScoreStats.from_scores(Y, X[:, 0], classes=7)


@pytest.mark.parametrize("threshold", [-1e300, 1e9, 1e300])
@pytest.mark.parametrize("method", ["loo", "in-sample"])
def test_thresholds_far_from_all_scores(threshold, method):
    """The square of the distance overflowed; with "loo" the error was nan."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fl.OptimismWarning)
        post = fl.error_posterior(RidgeClassifier().fit(X, Y), X, Y, method=method, threshold=threshold)
    # Twenty rows of a class on one side say no more than that hardly one in twenty is on the other.
    assert post.sensitivity.mean == pytest.approx(float(threshold < 0), abs=0.1)
    assert post.error.mean == pytest.approx(0.5, abs=0.1)
    assert 0 <= post.ppv.interval()[0] <= 1


def test_conditional_spread_of_a_distant_class():
    """The same, at its source."""
    pair = SharedScale(StudentEffect(1e200, 0.2, 30), StudentEffect(-1e200, 0.2, 30))
    assert pair.probability(0.5, -0.5, 0.0) == pytest.approx(0.0, abs=1e-12)


def test_numbers_whose_squares_overflow_are_refused_by_name():
    """SciPy complained about infinities in a matrix that the user never saw."""
    for call in (fl.honest_scores, fl.auc_posterior, fl.diagnose):
        with pytest.raises(fl.InputError, match=r"size 1e.150.*rescale X"):
            call(np.ones(3), np.sign(X) * 1e150, Y)


def test_rows_that_do_not_differ_are_refused():
    """The match of the stand-in was nan, and a note said so."""
    with pytest.raises(fl.InputError, match="all rows have the same score"):
        fl.auc_posterior(np.array([1.3]), np.full((40, 1), 7.0), Y)


def test_scores_of_any_size_have_a_posterior():
    """Fourth powers of held-out scores overflowed from 1e77 on; the smallest and largest floats are fine now."""
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


@pytest.mark.parametrize("call", [
    lambda: fl.ScoreStats.from_scores(Y, HUGE[:, 0]),
    lambda: fl.ScoreStats.from_data(HUGE, Y, np.ones(3)),
    lambda: fl.ScoreStats.from_scores(Y, X[:, 0] * 1e153) + fl.ScoreStats.from_scores(Y, 1e154 * (1 + X[:, 0])),
])  # fmt: skip
def test_statistics_of_scores_hold_no_nan(call):
    """Mean and scatter were nan or infinite, without a word."""
    with pytest.raises(fl.InputError, match=r"overflow.*rescale"):
        call()


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_sample_weights_that_lose_their_squares_are_refused(size):
    """NumPy warned of an overflow, and the answer was none."""
    with pytest.raises(fl.InputError, match="sample_weight is of size"):
        fl.honest_scores(RidgeClassifier().fit(X, Y), X, Y, sample_weight=np.full(40, size))


def test_binormal_auc_of_huge_scores():
    """Variances overflowed, and the estimate was 0.5."""
    plain, huge = (given.binormal_auc([1.0, 0, 0], X * s, Y) for s in (1.0, 2.0**600))
    assert float(plain) == float(huge)


def test_cbauc_of_huge_weights_is_right_or_refused():
    """Means and scale were multiplied back to infinity."""
    expected = fl.cbauc(np.ones(3), X, Y, prior=fl.Prior.improper())
    assert fl.cbauc(np.full(3, 1e300), X, Y, prior=fl.Prior.improper()) == pytest.approx(expected, rel=1e-12)


def test_adaptive_prior_of_any_length_of_w():
    """Squares of the difference of the means overflowed; the answer does not depend on the length of w."""
    prior = fl.Prior.adaptive()
    expected = fl.cbauc(np.ones(3), X, Y, prior=prior)
    for s in (1e-250, 1e-90, 1e90, 1e250):
        assert fl.cbauc(np.full(3, s), X, Y, prior=prior) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(fl.InputError, match="rescale"):
        fl.cbauc(np.ones(3), X * 1e150, Y, prior=prior)


def test_adaptive_prior_of_classes_far_apart():
    """The separation lay beyond the grid, all densities vanished, and the mean was nan."""
    far = rng.normal(size=(400, 1)) + 60 * (np.arange(400) % 2)[:, None]
    assert fl.cbauc([1.0], far, np.arange(400) % 2, prior=fl.Prior.adaptive()) > 0.999


@pytest.mark.parametrize("p", [3, 60])
@pytest.mark.parametrize("offset", [1e3, 1e5, 1e7])
def test_sparse_columns_far_from_zero(p, offset):
    """Centred sums of squares were differences of huge numbers: wrong without a word, and negative at times."""
    A = np.random.default_rng(p).normal(size=(40, p)) + 0.4 * Y[:, None]
    A[:, [0, -1]] += offset
    model = RidgeClassifier(alpha=10.0).fit(A, Y)
    dense, sparse = (fl.auc_posterior(model, table, Y) for table in (A, sp.csr_matrix(A)))
    assert sparse.mean == pytest.approx(dense.mean, abs=1e-5)
    assert sparse.sd == pytest.approx(dense.sd, abs=1e-5)


def test_scaled_identity_prior_of_sparse_columns_far_from_zero():
    """The same for the moments of the columns."""
    A = X + 1e7
    dense, sparse = (
        fl.cbauc(np.ones(3), table, Y, prior=fl.Prior.scaled_identity(mean0=1e7, mean1=1e7))
        for table in (A, sp.csr_matrix(A))
    )
    assert sparse == pytest.approx(dense, abs=1e-7)


def test_scores_that_hardly_vary_within_the_classes():
    """A label among the columns: differences over a vanishing spread overflowed in a check of outliers."""
    diff = np.random.default_rng(0).uniform(1.0, 1.0 + 1e-9, size=(20, 20))
    assert separation(diff, np.finfo(float).tiny) > 7


def test_complex_columns_of_a_frame_are_refused():
    """The imaginary parts were dropped, and the AUC was that of the real ones."""
    for frame in (pd.DataFrame(X * 1j), pd.DataFrame(X).assign(z=1j * Y)):
        with pytest.raises(fl.InputError, match="complex"):
            fl.cbauc(np.ones(frame.shape[1]), frame, Y)


def test_table_without_dimensions_is_refused():
    """The length of an array of shape () was asked for."""
    with pytest.raises(fl.InputError, match="X must be a table"):
        fl.auc_posterior(RidgeClassifier().fit(X, Y), np.array(1.0), Y)


def test_message_of_an_estimator_is_one_line():
    """Whatever an estimator says about X is passed on in one line."""

    class Talkative(RidgeClassifier):
        def decision_function(self, X):
            raise TypeError("feature names\nare not unique")

    with pytest.raises(fl.EstimatorError, match=r"cannot score X .feature names are not unique") as caught:
        fl.auc_posterior(Talkative().fit(X, Y), X, Y)
    assert "\n" not in str(caught.value)


def test_errors_of_refits_name_the_estimator():
    """An IndexError of scikit-learn's discriminant analysis on a few rows came out as it was."""

    class Stubborn(RidgeClassifier):
        def fit(self, X, y):
            raise IndexError

    with pytest.raises(fl.InputError, match=r"Stubborn could not be fitted on .* of the rows: IndexError"):
        folds.cv_auc(Stubborn(), X, Y)


def test_long_floats_in_groups():
    """NumPy's linear algebra takes no float128; groups were the first to ask it."""
    model, groups = RidgeClassifier().fit(X, Y), np.arange(40) // 2
    plain, long = (fl.auc_posterior(model, table, Y, groups=groups) for table in (X, X.astype(np.longdouble)))
    assert long.mean == pytest.approx(plain.mean, rel=1e-12)


def test_check_of_scores_near_the_largest_float():
    """NumPy warned of an overflow while the weights were compared with decision_function."""
    rows = np.array([[1e308], [-1e308]])
    assert agrees(rows, np.ones(1), 0.0, rows.ravel())


@pytest.mark.parametrize("content", [b"0\xe5", b"y,a\n0,1\n1,\xe2\x82"])
def test_file_that_ends_inside_a_letter(content, tmp_path):
    """Valid UTF-8 but for its last letter, which the end of the file cuts off: the command failed in its own name."""
    path = tmp_path / "cut.csv"
    path.write_bytes(content)
    result = CliRunner().invoke(app, ["auc", str(path), "--target", "y"], prog_name="foldless")
    assert result.exit_code == 2
    assert "internal error in foldless" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_rows_that_differ_by_rounding_alone_are_refused():
    """Constant columns, whose scores differ in their last bit: the match of the stand-in was nan."""
    noisy = np.full((40, 1), 7.0)
    noisy[::3] = np.nextafter(7.0, 8.0)
    with pytest.raises(fl.InputError, match="same score"):
        fl.honest_scores(np.array([1.3]), noisy, Y)
    model = SGDClassifier(loss="log_loss", random_state=0, max_iter=20, tol=None).fit(np.full((40, 7), 7.0), Y)
    with pytest.raises(fl.InputError, match=r"same score|rounding alone"):
        fl.honest_scores(model, np.full((40, 7), 7.0), Y)


def test_discriminant_that_fits_the_other_rows_exactly_is_refused():
    """Without one pair of rows the scatter within the classes vanished: scores were infinite and the AUC was nan."""
    if VERSION < (1, 9):
        pytest.skip("the covariance was divided by N - 2 then, and rounding leaves something finite")
    A, y = np.eye(3)[[0, 2, 2, 1, 2, 1, 1]], np.arange(7) % 2
    model = LinearDiscriminantAnalysis(priors=[0.2, 0.8])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn: variables are collinear
        model.fit(A, y)
    with pytest.raises(fl.EstimatorError, match="no finite scores"):
        fl.auc_posterior(model, A, y)


def test_ebauc_of_numbers_whose_squares_overflow_is_refused():
    """Python's own OverflowError came out."""
    with pytest.raises(fl.InputError, match=r"overflow.*rescale X"):
        given.ebauc(np.ones(3), X * 1e200, Y)


def test_columns_whose_squares_overflow_are_refused_under_the_scaled_identity_prior():
    """1e308 in one column: the trace of the prior's scale overflowed with a warning of NumPy's."""
    X, y = np.random.default_rng(0).normal(size=(8, 2)), np.arange(8) % 2
    X[3, 1] = 1e308
    with pytest.raises(fl.InputError, match="overflow"):
        fl.cbauc([1.0, 0.0], X, y, prior=fl.Prior.scaled_identity())


def test_groups_whose_deviations_cancel_leave_a_variance():
    """Few rows, two scores: the clustered variance was 0 and the mean of the posterior nan."""
    post = fl.auc_posterior_from_scores([1, 1, 0, 0, 0, 1], [0.0, 0, 1, 0, 0, 1], groups=[1, 0, 1, 0, 1, 1])
    assert 0 < post.mean < 1
    assert post.sd > 0


def test_scores_that_overflow_are_refused_with_a_covariance_per_class():
    """Squares of 1e155 and more: an InputError, without a warning of NumPy's."""
    X, y = 1e160 * np.array([[1.0], [2.0], [4.0], [5.0]]), [0, 0, 1, 1]
    with pytest.raises(fl.InputError):
        fl.error_posterior([1.0], X, y, method="in-sample", covariance="per-class")


def test_scores_that_overflow_behind_a_step_are_refused():
    """A step that had seen the labels and enlarges: NumPy's warning about a product came out."""
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
    table = 1e308 * (1 + 0.1 * Y[:, None]) * np.ones(12)
    with pytest.raises(fl.InputError, match=r"rescale X"):
        ask(np.full(12, 1e-10), table, Y, method="in-sample", prior=prior)


def test_columns_whose_cubes_vanish_are_diagnosed():
    """A column of size 1e-110 beside others: its skewness was 0/0."""
    tiny = np.column_stack([X, 1e-110 * X[:, 0] ** 3])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(np.column_stack([X, X[:, 0] ** 3]), Y)
    model[0].mean_[-1], model[0].scale_[-1] = 0.0, 1.0
    assert fl.diagnose(model, tiny, Y).verdict in ("trust", "caution", "do not use")


def test_scores_that_overflow_are_refused_under_a_known_covariance():
    """No square is needed there, and the difference of two infinite means was nan."""
    huge = np.array([[1e308], [1e308], [1e308], [1e308]])
    with pytest.raises(fl.InputError, match="overflow"):
        fl.cbauc([1.0], huge, [0, 1, 0, 1], prior=fl.Prior.known_covariance(1.0))


def test_agreement_with_the_stand_in_is_at_most_one():
    """Weights read back from scores may come out longer than they are: a cosine of 1.0000049 was reported."""
    ridge = nearest_ridge(np.array([1.0, 4.0]), np.array([1.0, 2.0]), np.array([1.0, 0.5]), norm_sq=1.2)
    assert ridge.match <= 1


def test_scores_of_unequal_length_are_refused():
    """NumPy's words about an inhomogeneous shape came out."""
    with pytest.raises(fl.InputError, match="scores"):
        fl.auc_posterior_from_scores([0, 1, 0, 1], [[1.0], [2.0, 3.0], [1.0], [4.0]])


def test_means_at_both_ends_of_the_floats_are_far_apart():
    """Their difference overflows: NumPy's warning came out."""
    ends = np.array([[-1.5e308], [1.5e308]])
    assert fl.cbauc([1.0], ends, [0, 1], prior=fl.Prior.known_covariance(1.0)) == 1.0
