"""Arrays on a device: any Array-API array is reduced where it lies, and gives NumPy's answer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import foldless as fl

strict = pytest.importorskip("array_api_strict")
torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")

N, P, K = 5000, 9, 4
PRIORS = [fl.Prior.paper(), fl.Prior.improper(), fl.Prior.scaled_identity(), fl.Prior.known_covariance(1.0)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    y = (rng.random(N) < 0.3).astype(int) + 4
    X = rng.normal(size=(N, P)) * np.arange(1, P + 1) + 0.3 * y[:, None]
    return X, y, rng.normal(size=P), rng.normal(size=(P, K))


def moved(library, X, y, w):
    """X, y and w as arrays of a library."""
    if library == "numpy labels and weights":
        return torch.asarray(X), y, w
    make = strict.asarray if library == "array-api-strict" else torch.asarray
    return make(X), make(y), make(w)


LIBRARIES = ["array-api-strict", "torch", "numpy labels and weights"]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("library", LIBRARIES)
def test_answers_equal_those_of_numpy(data, library, prior):
    """One and several classifiers, every conjugate prior, double precision: to 1e-12."""
    X, y, w, W = data
    for weights in (w, W, W[:, :1]):
        expected = fl.cbauc(weights, X, y, prior=prior)
        table, labels, on_device = moved(library, X, y, weights)
        np.testing.assert_allclose(fl.cbauc(on_device, table, labels, prior=prior), expected, rtol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_statistics_and_posteriors(data, library):
    """ScoreStats, auc_posterior of weights and auc_posterior_many, with the labels and the orientation kept."""
    X, y, w, W = data
    table, labels, on_device = moved(library, X, y, w)
    got, expected = fl.ScoreStats.from_data(table, labels, on_device), fl.ScoreStats.from_data(X, y, w)
    for name in ("n0", "n1", "mean0", "mean1", "scatter0", "scatter1"):
        assert getattr(got, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    turned = fl.auc_posterior(on_device, table, labels, method="in-sample", pos_label=4)
    assert turned.interval() == pytest.approx(
        fl.auc_posterior(w, X, y, method="in-sample", pos_label=4).interval(), abs=1e-10
    )
    many = fl.auc_posterior_many(moved(library, X, y, W)[2], table, labels)
    np.testing.assert_allclose(many.mean, fl.cbauc(W, X, y), rtol=1e-12)


def test_single_precision_is_accumulated_in_double():
    """float32 rows: the answer of the same numbers in float64 to 1e-6, also with scores far from zero."""
    rng = np.random.default_rng(0)
    n = 200_000
    y = (rng.random(n) < 0.5).astype(int)
    X = (rng.normal(size=(n, 4)) + 20 + 0.5 * y[:, None]).astype(np.float32)
    W = rng.random((4, 3)).astype(np.float32)
    expected = fl.cbauc(W.astype(float), X.astype(float), y)
    for k, weights in ((slice(None), W), (0, W[:, 0])):
        got = fl.cbauc(torch.asarray(weights), torch.asarray(X), torch.asarray(y))
        np.testing.assert_allclose(got, expected[k], atol=1e-6)


def test_nothing_of_the_size_of_x_comes_to_the_host(data, monkeypatch):
    """What is brought over is a few numbers per classifier."""
    X, y, w, W = data
    sizes = []
    original = torch.Tensor.cpu

    def counted(tensor, *args, **options):
        sizes.append(tensor.numel())
        return original(tensor, *args, **options)

    monkeypatch.setattr(torch.Tensor, "cpu", counted)
    for weights in (w, W):
        fl.cbauc(torch.asarray(weights), torch.asarray(X), torch.asarray(y))
    assert 0 < max(sizes) <= max(P * K, 8 * K + 8)


def test_gradients_are_left_alone(data):
    """A tensor that is being differentiated is read, not tracked."""
    X, y, w, _ = data
    table = torch.asarray(X).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fl.cbauc(w, table, y) == pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
    assert table.grad is None


def changed(X, value):
    bad = X.copy()
    bad[17, 3] = value
    return bad


@pytest.mark.parametrize("make", [torch.asarray, strict.asarray], ids=["torch", "array-api-strict"])
def test_complaints_say_what_is_wrong(data, make):
    """Each mistake is a FoldlessError whose message names it."""
    X, y, w, W = data
    table, labels = make(X), make(y)
    cases = [
        (lambda: fl.cbauc(w, make(changed(X, np.nan)), labels), "row 17, column 3"),
        (lambda: fl.cbauc(W, make(changed(X, np.inf)), labels), "row 17, column 3"),
        (lambda: fl.cbauc(w, make(X.astype(int)), labels), "floating point"),
        (lambda: fl.cbauc(w, make(X[0]), labels), "two dimensions"),
        (lambda: fl.cbauc(w, table, make(y[:-1])), "5000 rows but y has 4999"),
        (lambda: fl.cbauc(w, table, make(np.zeros(N))), "one class only"),
        (lambda: fl.cbauc(w, table, make(np.arange(N) % 3)), r"3 classes.*0, 1, 2"),
        (lambda: fl.cbauc(W, table, make(np.arange(N) % 3)), r"3 classes.*0, 1, 2"),
        (lambda: fl.cbauc(w, table, make(np.where(np.arange(N) == 5, np.nan, y))), "missing"),
        (lambda: fl.cbauc(w, table, np.where(y == 4, "a", "b")), "encode the labels"),
        (lambda: fl.cbauc(w[:3], table, labels), "3 weights but X has 9 columns"),
        (lambda: fl.cbauc(0 * w, table, labels), "all zeros"),
        (lambda: fl.auc_posterior(w, table, labels), "other device|another device"),
        (lambda: fl.cbauc(w, table, labels, prior=fl.Prior.adaptive()), "not in memory"),
    ]
    for call, expected in cases:
        with pytest.raises(fl.FoldlessError, match=expected):
            call()
