"""The leave-one-out method from streamed P x P sums, and the streamed fit: the answers of the methods in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from foldless.honest.design import Design
from foldless.honest.leave_one_out import remove_rows
from foldless.model.streamed import stream_view
from foldless.model.view import take_apart
from foldless.streaming import fit_logistic, in_blocks

N, P = 4600, 7


@pytest.fixture(scope="module")
def data():
    """Many more rows than those of which all pairs are evaluated; columns in different units, far from zero."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, P)) @ rng.normal(size=(P, P)) * np.array([1, 20, 0.1, 1, 5, 1, 1]) + np.arange(P)
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=P)
    return X, np.where(z + 2 * rng.normal(size=N) > 1, "b", "a")


def chunked(X, y, size=501):
    return lambda: ((X[i : i + size], y[i : i + size]) for i in range(0, len(y), size))


MODELS = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)),
    "logistic, balanced": lambda: LogisticRegression(class_weight="balanced", max_iter=5000, tol=1e-8),
    "logistic, penalised intercept": lambda: LogisticRegression(solver="liblinear", intercept_scaling=3.0, tol=1e-8),
    "logistic, no intercept": lambda: make_pipeline(StandardScaler(), LogisticRegression(fit_intercept=False)),
    "ridge": lambda: RidgeClassifier(alpha=3.0),
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "LDA with shrinkage and priors": lambda: LinearDiscriminantAnalysis("lsqr", shrinkage=0.2, priors=[0.3, 0.7]),
    "squared-hinge SVM": lambda: make_pipeline(StandardScaler(), LinearSVC(C=0.1, tol=1e-8, max_iter=10_000)),
}


@pytest.mark.parametrize("rows", [900, N])
@pytest.mark.parametrize("name", MODELS)
def test_the_streamed_answer_is_the_answer_in_memory(data, name, rows):
    """Posterior, honest scores and notes, with most pairs (900 rows) and with a sample of them (4,600), to 1e-8."""
    X, y = data[0][:rows], data[1][:rows]
    model = MODELS[name]().fit(X, y)
    got, expected = fl.auc_posterior(model, chunked(X, y)), fl.auc_posterior(model, X, y)
    assert (got.mean, got.sd, *got.interval()) == pytest.approx(
        (expected.mean, expected.sd, *expected.interval()), abs=1e-8
    )
    assert (got.method, got.n0, got.n1, got.notes) == ("loo", expected.n0, expected.n1, expected.notes)
    streamed, whole = fl.honest_scores(model, chunked(X, y)), fl.honest_scores(model, X, y)
    np.testing.assert_allclose(streamed.scores, whole.scores, atol=1e-8 * np.std(whole.scores))


def test_a_search_on_a_stream_is_not_followed(data):
    """Its candidates are not fitted again block by block: the answer is that of the fit in use, and says so."""
    X, y = data[0][:200], data[1][:200]
    search = RidgeClassifierCV(alphas=[0.1, 10.0]).fit(X, y)
    post = fl.auc_posterior(search, chunked(X, y))
    assert post.mean == pytest.approx(fl.auc_posterior(RidgeClassifier(alpha=search.alpha_).fit(X, y), X, y).mean)
    assert any("not accounted for" in note for note in post.notes)


def outlying(N=700, P=7):
    """X, y: columns that few rows hold up, some of them in one branch of a pipeline."""
    rng = np.random.default_rng(5)
    y = np.arange(N) % 2
    X = rng.poisson(0.01, size=(N, P)) * rng.exponential(5.0, size=(N, P)) + 0.05 * rng.normal(size=(N, P))
    return X + 0.03 * y[:, None], y


BRANCHES = ColumnTransformer(
    [("a", StandardScaler(), [0, 1, 2]), ("b", MinMaxScaler(), [3, 4]), ("c", MaxAbsScaler(), [5, 6])]
)
OUTLYING = {
    "standard": (StandardScaler(), LogisticRegression(tol=1e-8)),
    "uncentred": (StandardScaler(with_mean=False), RidgeClassifier()),
    "range": (MinMaxScaler(), LogisticRegression(tol=1e-8)),
    "size": (MaxAbsScaler(), RidgeClassifier(0.1)),
    "branches": (BRANCHES, RidgeClassifier(0.1)),
    "penalised intercept": (StandardScaler(), LinearSVC(C=0.1, tol=1e-8, max_iter=10_000)),
    "LDA": (StandardScaler(), LinearDiscriminantAnalysis("lsqr", shrinkage=0.2)),
}


@pytest.mark.parametrize("name", OUTLYING)
def test_the_scaler_of_a_stream_leaves_with_the_row(name, monkeypatch):
    """Chunks of a few rows, outlying rows in and outside the sample of pairs: as in memory, not as with it kept.

    Rows of great impact take more steps where the rows are in memory, so both take one.
    """
    monkeypatch.setattr(Design, "at_hand", False)
    X, y = outlying()
    model = make_pipeline(*OUTLYING[name]).fit(X, y)
    streamed, whole = (
        remove_rows(view) for view in (stream_view(model, chunked(X, y, 31), None), take_apart(model, X, y))
    )
    np.testing.assert_allclose(streamed.loo, whole.loo, atol=1e-8 * np.std(whole.loo))
    np.testing.assert_allclose(streamed.without_pair1, whole.without_pair1, atol=1e-8 * np.std(whole.loo))
    kept = remove_rows(replace(take_apart(model, X, y), scaled=()))
    assert np.abs(kept.loo - whole.loo).max() > 0.02 * np.std(whole.loo)


@pytest.mark.parametrize("both", [True, False])
def test_weights_in_the_scaler_of_a_stream(both):
    X, y = outlying()
    weight = np.random.default_rng(1).uniform(0.1, 4.0, len(y))
    named = {"ridgeclassifier__sample_weight": weight} | ({"standardscaler__sample_weight": weight} if both else {})
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, y, **named)
    views = stream_view(model, chunked(X, y, 100), None), take_apart(model, X, y)
    streamed, whole = (remove_rows(view, sample_weight=weight) for view in views)
    np.testing.assert_allclose(streamed.loo, whole.loo, atol=1e-8 * np.std(whole.loo))


def test_a_stream_that_came_standardised_is_recognised():
    X, y = outlying()
    Z = StandardScaler().fit_transform(X)
    model = RidgeClassifier().fit(Z, y)
    views = stream_view(model, chunked(Z, y, 100), None), take_apart(model, Z, y)
    streamed, whole = (remove_rows(view) for view in views)
    np.testing.assert_allclose(streamed.loo, whole.loo, atol=1e-8 * np.std(whole.loo))
    assert streamed.provenance.notes == whole.provenance.notes
    assert "standardised on these very rows" in streamed.provenance.notes[0]


def test_roc_and_error_on_a_stream(data):
    """The other results take the same tables."""
    X, y = data
    model = RidgeClassifier().fit(X, y)
    stream = chunked(X, y)
    fpr = np.array([0.1, 0.5])
    curves = fl.roc_posterior(model, stream).mean(fpr), fl.roc_posterior(model, X, y).mean(fpr)
    assert curves[0] == pytest.approx(curves[1], abs=1e-9)
    got, expected = fl.error_posterior(model, stream), fl.error_posterior(model, X, y)
    assert got.error.mean == pytest.approx(expected.error.mean, abs=1e-9)
    in_sample = fl.auc_posterior(model, stream, method="in-sample")
    assert in_sample.mean == pytest.approx(fl.auc_posterior(model, X, y, method="in-sample").mean, abs=1e-10)


def test_a_fit_that_stopped_early_is_polished_in_the_same_way(data):
    """Newton steps, one product at a time, and the search along the path of penalties: the same notes and numbers."""
    X, y = data
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100, max_iter=1))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    with pytest.warns(fl.TrustWarning, match="which point elsewhere"):
        got, expected = fl.auc_posterior(model, chunked(X, y)), fl.auc_posterior(model, X, y, method="loo")
    assert got.details["polished"]
    assert got.notes == expected.notes
    assert got.mean == pytest.approx(expected.mean, abs=1e-8)


def test_two_passes_over_the_rows(data):
    """At the optimum, X is read twice; for chunks the labels take a pass of their own."""
    X, y = data
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(X, y)
    read = []

    def counted():
        for chunk in chunked(X, y)():
            read.append(len(chunk[1]))
            yield chunk

    fl.auc_posterior(model, counted)
    assert sum(read) == 3 * N + 501  # labels, two passes, and a look at the first chunk


def test_sparse_chunks_and_sample_weights(data):
    """CSR blocks and weights of rows, as in memory."""
    X, y = data
    filled = (np.arange(N)[:, None] + np.arange(P)) % 3 > 0  # no two rows alike: ties would be broken by rounding
    S = sp.csr_array(np.where(filled, X, 0.0))
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    model = RidgeClassifier().fit(S, y, sample_weight=weight)
    got = fl.auc_posterior(model, chunked(S, y), sample_weight=weight)
    assert got.mean == pytest.approx(fl.auc_posterior(model, S, y, sample_weight=weight).mean, abs=1e-9)


def test_memory_maps_in_blocks(data, tmp_path):
    """in_blocks keeps a pipeline from copying a memory map; the answer stays."""
    X, y = data
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(X, y)
    expected = fl.auc_posterior(model, X, y).mean
    assert fl.auc_posterior(model, in_blocks(mapped, y, elements=5000)).mean == pytest.approx(expected, abs=1e-7)
    assert fl.auc_posterior(model, mapped, y).mean == expected


def test_what_a_stream_cannot_do_is_told(data):
    """Groups, unknown training, wide tables, several classes: errors that say what to do."""
    X, y = data
    ridge = RidgeClassifier().fit(X, y)
    selected = make_pipeline(SelectKBest(k=3), LogisticRegression(max_iter=5000)).fit(X, y)
    wide = RidgeClassifier().fit(X[:8], y[:8])
    several = LogisticRegression(max_iter=5000).fit(X, np.arange(N) % 3)
    cases = [
        (lambda: fl.auc_posterior(ridge, chunked(X, y), groups=np.arange(N) // 2), "groups need X in memory"),
        (lambda: fl.auc_posterior(Perceptron().fit(X, y), chunked(X, y)), "no closed form for this Perceptron"),
        (lambda: fl.auc_posterior(selected, chunked(X, y)), "no closed form for bare or mapped-back weights"),
        (lambda: fl.auc_posterior(wide, chunked(X[:8], y[:8])), "more rows than columns, got 8 x 7"),
        (lambda: fl.auc_posterior(several, chunked(X, y)), "more than two classes need X in memory"),
        (lambda: fl.auc_posterior(ridge, chunked(X[:, :3], y)), "3 columns.*fitted on 7"),
        (lambda: fl.auc_posterior(ridge, chunked(X, np.where(y == "a", "c", y))), "unknown labels"),
        (lambda: fit_logistic(iter(())), "an iterator once"),
        (lambda: fit_logistic(chunked(X, y), C=0), "C must lie strictly between"),
        (lambda: fit_logistic(chunked(np.where(X > 3, np.nan, X), y)), "X has NaN"),
    ]
    for call, expected in cases:
        with pytest.raises(fl.FoldlessError, match=expected):
            call()


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_streamed_fit_is_that_of_scikit_learn(data, C, standardize):
    """fit_logistic finds the optimum that LogisticRegression finds, and predicts like it."""
    X, y = data
    X = (X - X.mean(axis=0)) / X.std(axis=0) + 0.5
    model = fit_logistic(chunked(X, y), C=C, standardize=standardize)
    steps = [StandardScaler()] if standardize else []
    expected = make_pipeline(*steps, LogisticRegression(C=C, tol=1e-12, max_iter=10_000)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(model[-1].coef_, expected[-1].coef_, atol=1e-5)
    assert model.predict(X[:50]).tolist() == expected.predict(X[:50]).tolist()
    assert fl.auc_posterior(model, X, y).details["residual"] < 1e-5


def test_the_streamed_fit_copes_with_constant_and_separable_columns():
    """A constant column gets weight zero; classes that are perfectly separable have a finite penalised fit."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.column_stack([rng.normal(size=300) + 8 * y, np.full(300, 3.0)])
    model = fit_logistic(in_blocks(X, y, elements=100))
    expected = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10)).fit(X, y)
    np.testing.assert_allclose(model[-1].coef_, expected[-1].coef_, atol=1e-4)
    assert model[-1].coef_[0, 1] == pytest.approx(0, abs=1e-9)


def test_rows_with_equal_columns_tie_in_memory_and_in_blocks():
    """Three binary columns: rounding decided between such rows, so memory and blocks gave 0.545 and 0.521."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(40, 3)).astype(float), np.arange(40) % 2
    model = RidgeClassifier().fit(X, y)
    whole, blocks = fl.auc_posterior(model, X, y), fl.auc_posterior(model, in_blocks(X, y, elements=30))
    assert whole.details["pair_auc"] == blocks.details["pair_auc"]
    assert whole.mean == pytest.approx(blocks.mean, abs=1e-9)


def test_a_fit_of_columns_whose_means_have_no_squares():
    """A mean of 1e160 was squared, with a warning of NumPy's."""
    rng = np.random.default_rng(0)
    far, y = 1e160 + 1e150 * rng.normal(size=(40, 2)), np.arange(40) % 2
    assert np.all(np.isfinite(fit_logistic(in_blocks(far, y, elements=20))[-1].coef_))
