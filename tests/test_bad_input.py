"""One table of what users get wrong, and what they are told: each case names the error and part of its message."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier

import foldless as fl
from data import alternating, noise
from foldless import EstimatorError, InputError, Prior, PriorError

N = 120
X, Y = alternating(N, 3, shift=0.5)
W = np.array([1.0, 0.5, -0.2])
MODEL = RidgeClassifier().fit(X, Y)
FRAME = pd.DataFrame(X, columns=["age", "dose", "time"])
NAMED = RidgeClassifier().fit(FRAME, Y)
POST = fl.auc_posterior(MODEL, X, Y, method="in-sample")
ROC = fl.roc_posterior(MODEL, X, Y, method="in-sample")
ERR = fl.error_posterior(MODEL, X, Y, method="in-sample")


def changed(array, index, value, dtype=None):
    """A copy with one entry replaced."""
    copy = np.array(array, dtype=dtype)
    copy[index] = value
    return copy


def auc(estimator=W, table=X, y=Y, **options):
    return fl.auc_posterior(estimator, table, y, **{"method": "in-sample", **options})


def err(**options):
    return fl.error_posterior(MODEL, X, Y, **{"method": "in-sample", **options})


def stats(y, scores, **options):
    return fl.ScoreStats.from_scores(y, scores, **options)


CASES = {
    # --- X
    "X one-dimensional": (lambda: fl.cbauc(W, X[:, 0], Y), InputError, r"X must have two dimensions.*reshape"),
    "X three-dimensional": (lambda: fl.cbauc(W, X[None], Y), InputError, "X must have two dimensions"),
    "X without rows": (lambda: fl.cbauc(W, X[:0], Y[:0]), InputError, "X is empty"),
    "X without columns": (lambda: fl.cbauc([], X[:, :0], Y), InputError, "X is empty"),
    "X sparse without rows": (lambda: fl.cbauc(W, sp.csr_matrix((0, 3)), []), InputError, "X is empty"),
    "X sparse without columns": (lambda: fl.cbauc([], sp.csr_matrix((N, 0)), Y), InputError, "X is empty"),
    "X ragged": (lambda: fl.cbauc([1.0, 1], [[1.0, 2], [3.0]], [0, 1]), InputError, "unequal length"),
    "X None": (lambda: fl.cbauc(W, None, Y), InputError, "None"),
    "X text": (lambda: fl.cbauc(W, "data.csv", Y), InputError, "str|text|data.csv"),
    "X complex": (lambda: fl.cbauc(W, X * 1j, Y), InputError, "complex"),
    "X text column": (lambda: fl.cbauc(W, changed(X, (0, 1), "a", object), Y), InputError, "column 1.*encode"),
    "X frame text column": (lambda: fl.cbauc(W, FRAME.assign(dose="hi"), Y), InputError, "column 'dose'.*encode"),
    "X frame date column": (
        lambda: fl.cbauc(W, FRAME.assign(time=pd.Timestamp("2020-01-01")), Y), InputError, "'time'",
    ),
    "X datetimes": (lambda: fl.cbauc(W, np.full((N, 3), np.datetime64("2020-01-01")), Y), InputError, "date"),
    "X NaN": (lambda: fl.cbauc(W, changed(X, (7, 2), np.nan), Y), InputError, "row 7, column 2.*impute"),
    "X infinite": (lambda: fl.cbauc(W, changed(X, (3, 0), -np.inf), Y), InputError, "row 3, column 0"),
    "X NaN sparse": (lambda: fl.cbauc(W, sp.csr_matrix(changed(X, (7, 2), np.nan)), Y), InputError, "row 7, column 2"),
    "X NaN, several w": (lambda: fl.cbauc(np.eye(3), changed(X, (7, 2), np.nan), Y), InputError, "row 7, column 2"),
    "X NaN under weight zero": (lambda: fl.cbauc([1.0, 0, 0], changed(X, (7, 2), np.nan), Y), InputError, "column 2"),
    "X NaN, estimator": (lambda: auc(MODEL, changed(X, (7, 2), np.nan)), InputError, "row 7, column 2"),
    "X so large that scores overflow": (lambda: fl.cbauc(W * 1e300, X * 1e300, Y), InputError, "overflow.*rescale"),
    "X so large that squares overflow": (lambda: fl.cbauc(W, X * 1e200, Y), InputError, "rescale"),
    "X and y of unequal length": (lambda: fl.cbauc(W, X[:-1], Y), InputError, "119 rows but y has 120"),
    "X of other width, estimator": (lambda: auc(MODEL, X[:, :2]), EstimatorError, "2 columns.*fitted on 3"),
    "X columns reordered": (lambda: auc(NAMED, FRAME[["dose", "age", "time"]]), EstimatorError, "another order"),
    "X columns renamed": (lambda: auc(NAMED, FRAME.rename(columns={"age": "a"})), EstimatorError, "missing 'age'"),
    # --- y
    "y one class": (lambda: fl.cbauc(W, X, np.zeros(N)), InputError, "one class only"),
    "y three classes": (lambda: fl.cbauc(W, X, np.arange(N) % 3), InputError, r"3 classes.*0, 1, 2.*expected two"),
    "y continuous": (lambda: fl.cbauc(W, X, X[:, 0]), InputError, "looks continuous"),
    "y two-dimensional": (lambda: fl.cbauc(W, X, np.eye(N)), InputError, "one label per row"),
    "y None": (lambda: fl.cbauc(W, X, None), InputError, "y .*None"),
    "y a number": (lambda: fl.cbauc(W, X, 1), InputError, "one label per row"),
    "y missing": (lambda: fl.cbauc(W, X, changed(Y, 0, np.nan, float)), InputError, "1 missing label"),
    "y None inside": (lambda: fl.cbauc(W, X, changed(Y, 0, None, object)), InputError, "1 missing label"),
    "y NaN among text": (lambda: fl.cbauc(W, X, ["a"] * (N - 1) + [float("nan")]), InputError, "missing label"),
    "y NaT": (lambda: fl.cbauc(W, X, np.array(["2020"] * (N - 1) + ["NaT"], "M8[D]")), InputError, "missing label"),
    "y of mixed kinds": (lambda: fl.cbauc(W, X, changed(Y, 0, "a", object)), InputError, "mixes labels"),
    "y unknown to the estimator": (lambda: auc(MODEL, y=Y + 5), InputError, "unknown labels: 5, 6"),
    "pos_label unknown": (lambda: fl.cbauc(W, X, Y, pos_label="x"), InputError, "pos_label 'x'.*choose 0 or 1"),
    "pos_label unknown, estimator": (lambda: auc(MODEL, pos_label=7), InputError, "pos_label 7"),
    # --- w and estimator
    "w too short": (lambda: fl.cbauc(W[:2], X, Y), InputError, "2 weights but X has 3 columns"),
    "w transposed": (lambda: fl.cbauc(np.ones((2, 3)), X, Y), InputError, "transposed"),
    "w None": (lambda: fl.cbauc(None, X, Y), InputError, "w must"),
    "w text": (lambda: fl.cbauc(["a", "b", "c"], X, Y), InputError, "w must hold numbers"),
    "w three-dimensional": (lambda: fl.cbauc(np.ones((3, 1, 1)), X, Y), InputError, "w must be a vector"),
    "w without classifiers": (lambda: fl.cbauc(np.ones((3, 0)), X, Y), InputError, "w has no column"),
    "w NaN": (lambda: fl.cbauc([1.0, np.nan, 0], X, Y), InputError, "w holds NaN"),
    "w zero": (lambda: fl.cbauc(np.zeros(3), X, Y), InputError, "all zeros"),
    "w one zero column": (lambda: fl.cbauc(np.eye(3) * [1, 0, 1], X, Y), InputError, "all zeros"),
    "bare w too short": (lambda: auc(W[:2]), InputError, "2 weights but X has 3"),
    "bare w a matrix": (lambda: auc(np.ones((3, 2))), EstimatorError, "shape.*one weight per column"),
    "bare w zero": (lambda: auc(np.zeros(3)), InputError, "all zeros"),
    "estimator None": (lambda: auc(None), EstimatorError, "got None"),
    "estimator text": (lambda: auc("model"), EstimatorError, "got the text 'model'"),
    "estimator a class": (lambda: auc(RidgeClassifier), EstimatorError, r"pass RidgeClassifier\(\)\.fit"),
    "estimator not fitted": (lambda: auc(LogisticRegression()), EstimatorError, "not fitted.*call fit"),
    "estimator a regressor": (lambda: auc(LinearRegression().fit(X, Y)), EstimatorError, "regressor"),
    "estimator not linear": (
        lambda: auc(RandomForestClassifier(2).fit(X, Y)), EstimatorError, "RandomForestClassifier.*from_scores",
    ),
    "estimator of three classes": (
        lambda: auc(RidgeClassifier().fit(X, np.arange(N) % 3)), EstimatorError, "two classes",
    ),
    # --- options
    "method unknown": (lambda: auc(method="cv"), InputError, "method must be.*got 'cv'"),
    "groups in-sample": (lambda: auc(groups=Y), InputError, "groups.*loo"),
    "groups of wrong length": (lambda: auc(MODEL, method="loo", groups=[1, 2]), InputError, r"groups.*120"),
    "sample_weight in-sample": (lambda: auc(sample_weight=np.ones(N)), InputError, "sample_weight"),
    "prior text": (lambda: auc(prior="paper"), PriorError, r"Prior\.paper\(\), got str"),
    "prior of the other kind": (lambda: auc(prior=fl.EffectPrior.flat()), PriorError, "got EffectPrior"),
    "prior of the other kind, loo": (lambda: auc(MODEL, method="loo", prior=Prior.paper()), PriorError, "got Prior"),
    "prior text, cbauc": (lambda: fl.cbauc(W, X, Y, prior="paper"), PriorError, "got str"),
    "threshold NaN": (lambda: err(threshold=np.nan), InputError, "threshold must be finite"),
    "threshold text": (lambda: err(threshold="high"), InputError, "threshold must be a number, got 'high'"),
    "prevalence 0": (lambda: err(prevalence=0), InputError, "prevalence must lie strictly between 0 and 1, got 0"),
    "prevalence in percent": (lambda: err(prevalence=30), InputError, "prevalence must lie strictly between"),
    "covariance unknown": (lambda: err(covariance="full"), InputError, "'common' or 'per-class', got 'full'"),
    # --- priors
    "nu negative": (lambda: Prior.niw(nu0=-1), PriorError, "nu0 must not be negative"),
    "nu NaN": (lambda: Prior.niw(nu1=np.nan), PriorError, "nu1 must be finite"),
    "kappa text": (lambda: Prior.niw(kappa="big"), PriorError, "kappa must be a number, got 'big'"),
    "scale negative": (lambda: Prior.niw(scale=-1.0), PriorError, "scale must be positive semi-definite"),
    "scale not square": (lambda: Prior.niw(scale=np.ones((2, 3))), PriorError, "square matrix"),
    "scale not symmetric": (lambda: Prior.niw(scale=[[1.0, 2], [0, 1]]), PriorError, r"symmetric.*S \+ S\.T"),
    "scale indefinite": (lambda: Prior.niw(scale=[[1.0, 2], [2, 1]]), PriorError, "negative eigenvalue"),
    "covariance indefinite": (lambda: Prior.known_covariance([[1.0, 2], [2, 1]]), PriorError, "^covariance must"),
    "scale NaN": (lambda: Prior.scaled_identity(scale=np.nan), PriorError, "scale must be finite"),
    "mean a matrix": (lambda: Prior.niw(mean0=np.eye(2)), PriorError, "mean0 must be a number or a vector"),
    "mean of other width": (
        lambda: fl.cbauc(W, X, Y, prior=Prior.niw(mean1=[1.0, 2])), PriorError, "mean1.*2 features",
    ),
    "scale of other width": (
        lambda: fl.cbauc(W, X, Y, prior=Prior.niw(scale=np.eye(2))), PriorError, "scale.*2 features",
    ),
    "known covariance zero": (
        lambda: fl.cbauc(W, X, Y, prior=Prior.known_covariance(0.0)), PriorError, "the covariance along w is zero",
    ),
    "improper beyond N": (
        lambda: fl.cbauc(np.ones(9), np.ones((4, 9)), [0, 1, 0, 1], prior=Prior.improper()), PriorError, "N 4, P 9",
    ),
    # --- ScoreStats
    "scores of wrong length": (lambda: stats([0, 1], [1.0]), InputError, "1 .*2"),
    "scores NaN": (lambda: stats([0, 1], [1.0, np.nan]), InputError, "scores hold 1 NaN"),
    "scores text": (lambda: stats([0, 1], ["a", "b"]), InputError, "scores must"),
    "scores complex": (lambda: stats([0, 1], [1j, 2]), InputError, "scores"),
    "scores ragged": (lambda: stats([0, 1], [[1.0], [1.0, 2]]), InputError, "scores"),
    "scores three-dimensional": (lambda: stats([0, 1], np.ones((2, 1, 1))), InputError, "scores must be an array .N,."),
    "stats of one class": (lambda: stats([1, 1], [1.0, 2]), InputError, "one class only.*classes="),
    "stats of an unknown class": (lambda: stats([1, 2], [1.0, 2], classes=(0, 1)), InputError, "unknown labels: 2"),
    "stats with three classes": (lambda: stats([1, 2], [1.0, 2], classes=(0, 1, 2)), InputError, "name two classes"),
    "stats of other widths": (
        lambda: stats([0, 1], np.eye(2)) + stats([0, 1], np.ones((2, 3))), InputError, "classifiers",
    ),
    # --- questions to results
    "level above 1": (lambda: POST.interval(level=1.5), InputError, "level must lie strictly between 0 and 1, got 1.5"),
    "level in percent": (lambda: POST.interval(95), InputError, "level must lie"),
    "level None": (lambda: POST.interval(None), InputError, "level must be a number, got None"),
    "level of summary": (lambda: POST.summary(0), InputError, "level must lie"),
    "ppf above 1": (lambda: POST.ppf(2), InputError, "q must lie between 0 and 1, got 2"),
    "ppf NaN": (lambda: POST.ppf([0.1, np.nan]), InputError, "q must lie between 0 and 1"),
    "pdf outside": (lambda: POST.pdf(-0.1), InputError, "a must lie between 0 and 1"),
    "cdf NaN": (lambda: POST.cdf(np.nan), InputError, "a must"),
    "cdf text": (lambda: POST.cdf("x"), InputError, "a must"),
    "prob_above NaN": (lambda: POST.prob_above(np.nan), InputError, "a must"),
    "prob_above text": (lambda: POST.prob_above("high"), InputError, "a must"),
    "prob_above of several": (lambda: POST.prob_above([0.5, 0.6]), InputError, "a must be a number"),
    "roc mean outside": (lambda: ROC.mean(-1), InputError, "fpr must lie between 0 and 1, got -1"),
    "roc mean text": (lambda: ROC.mean("x"), InputError, "fpr must hold numbers"),
    "roc band level": (lambda: ROC.band(0.1, level=0), InputError, "level must lie"),
    "tpr_at several": (lambda: ROC.tpr_at([0.1, 0.2]), InputError, "fpr must be a number"),
    "partial_auc 0": (lambda: ROC.partial_auc(0), InputError, "max_fpr must be above 0"),
    "partial_auc 2": (lambda: ROC.partial_auc(2), InputError, "max_fpr must be above 0 and at most 1, got 2"),
    "partial_auc of several": (lambda: ROC.partial_auc([0.1, 0.2]), InputError, "max_fpr must be a number"),
    "error ppf": (lambda: ERR.error.ppf(-1), InputError, "q must lie between 0 and 1"),
    "error interval": (lambda: ERR.ppv.interval(1), InputError, "level must lie"),
    "error cdf NaN": (lambda: ERR.error.cdf(np.nan), InputError, "v must"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_told(case):
    """The right kind of error, with a message that names the problem; never numpy's or scikit-learn's own."""
    call, kind, message = CASES[case]
    with pytest.raises(kind, match=message) as caught:
        call()
    text = str(caught.value)
    assert isinstance(caught.value, fl.FoldlessError)
    assert "\n" not in text
    assert len(text) < 320
    assert text.endswith((".", "]", ")"))


def test_labels_that_are_tuples_are_refused():
    """They broadcast against the vector of labels, and NumPy's own error came out."""
    X, Y = alternating(40, 3, shift=0.7)
    y = np.empty(40, dtype=object)
    y[:] = [(0, 1) if v else (1, 0) for v in Y]
    with pytest.raises(fl.InputError, match="one label per row"):
        fl.auc_posterior_from_scores(y, X[:, 0])


def test_classes_that_are_one_number_are_refused():
    """`classes=7` ended in a TypeError."""
    X, Y = alternating(40, 3, shift=0.7)
    with pytest.raises(fl.InputError, match="two classes, got 1"):
        fl.ScoreStats.from_scores(Y, X[:, 0], classes=7)


def test_rows_that_do_not_differ_are_refused():
    """The match of the stand-in was nan, and a note said so."""
    Y = np.arange(40) % 2
    with pytest.raises(fl.InputError, match="all rows have the same score"):
        fl.auc_posterior(np.array([1.3]), np.full((40, 1), 7.0), Y)


def test_complex_columns_of_a_frame_are_refused():
    """The imaginary parts were dropped, and the AUC was that of the real ones."""
    X, Y = alternating(40, 3, shift=0.7)
    for frame in (pd.DataFrame(X * 1j), pd.DataFrame(X).assign(z=1j * Y)):
        with pytest.raises(fl.InputError, match="complex"):
            fl.cbauc(np.ones(frame.shape[1]), frame, Y)


def test_table_without_dimensions_is_refused():
    """The length of an array of shape () was asked for."""
    X, Y = alternating(40, 3, shift=0.7)
    with pytest.raises(fl.InputError, match="X must be a table"):
        fl.auc_posterior(RidgeClassifier().fit(X, Y), np.array(1.0), Y)


def test_message_of_an_estimator_is_one_line():
    """Whatever an estimator says about X is passed on in one line."""
    X, Y = alternating(40, 3, shift=0.7)

    class Talkative(RidgeClassifier):
        def decision_function(self, X):
            raise TypeError("feature names\nare not unique")

    with pytest.raises(fl.EstimatorError, match=r"cannot score X .feature names are not unique") as caught:
        fl.auc_posterior(Talkative().fit(X, Y), X, Y)
    assert "\n" not in str(caught.value)


def test_scores_of_unequal_length_are_refused():
    """NumPy's words about an inhomogeneous shape came out."""
    with pytest.raises(fl.InputError, match="scores"):
        fl.auc_posterior_from_scores([0, 1, 0, 1], [[1.0], [2.0, 3.0], [1.0], [4.0]])


def test_rows_without_weight_do_not_count():
    """20 positive rows, one of which took part in the training: without it there is nothing to train on."""
    X, y = noise(20, 20, 3, 0)
    weight = np.where((y == 0) | (np.arange(40) == 0), 1.0, 0.0)
    model = LogisticRegression().fit(X, y, sample_weight=weight)
    with pytest.raises(fl.InputError, match="at least 2 rows with a sample_weight above 0"):
        fl.auc_posterior(model, X, y, sample_weight=weight)


def test_rows_without_weight_do_not_count_in_a_search_or_among_three_classes():
    X, y = noise(20, 20, 3, 0)
    weight = np.where((y == 0) | (np.arange(40) == 0), 1.0, 0.0)
    with pytest.raises(fl.InputError, match="at least 2 rows with a sample_weight above 0"):
        fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0, 10.0]}).fit(X, y, sample_weight=weight)
    three = np.arange(40) % 3
    weight = np.where((three > 0) | (np.arange(40) < 4), 1.0, 0.0)
    with pytest.raises(fl.InputError, match="at least 3 rows with a sample_weight above 0"):
        fl.auc_posterior(LogisticRegression().fit(X, three, weight), X, three, sample_weight=weight)
