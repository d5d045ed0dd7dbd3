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
        (lambda: fl.auc_posterior(w, strict.asarray(X), labels), "another device"),
        (lambda: fl.cbauc(w, table, labels, prior=fl.Prior.adaptive()), "not in memory"),
    ]
    for call, expected in cases:
        with pytest.raises(fl.FoldlessError, match=expected):
            call()


@pytest.mark.parametrize("weights", [np.ones(1), np.ones((1, 3))], ids=["one", "many"])
@pytest.mark.parametrize("kind", ["outlying first row", "sorted by level"])
def test_an_unusual_first_row_does_not_spoil_the_scatter(weights, kind):
    """The scatter of scores with mean 1e8 and spread 1 is that of NumPy, whatever comes first."""
    rng = np.random.default_rng(3)
    n = 20_000
    y = (rng.random(n) < 0.47).astype(int)
    X = rng.normal(size=(n, 1)) + 1e8
    y[:20] = 0
    X[: 1 if kind == "outlying first row" else 20] = 0
    got = fl.ScoreStats.from_data(torch.asarray(X), torch.asarray(y), weights)
    expected = fl.ScoreStats.from_data(X, y, weights)
    np.testing.assert_allclose(got.scatter1, expected.scatter1, rtol=1e-8)
    np.testing.assert_allclose(got.scatter0, expected.scatter0, rtol=1e-12)


def test_the_shift_is_taken_from_all_over_the_table():
    """Many classifiers: 10,000 rows of another level at the start leave the rest its digits."""
    rng = np.random.default_rng(3)
    n = 100_000
    y = np.r_[np.zeros(10_000, int), 1 + np.zeros(n - 10_000, int)]
    X = rng.normal(size=(n, 1)) + np.where(y, 1e8, 0.0)[:, None]
    got = fl.ScoreStats.from_data(torch.asarray(X), torch.asarray(y), np.ones((1, 2)))
    np.testing.assert_allclose(got.scatter1, fl.ScoreStats.from_data(X, y, np.ones((1, 2))).scatter1, rtol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_neither_overflows_nor_rounds_the_scores(data, dtype, monkeypatch):
    """Scores far beyond 65504, in several blocks: the answer of the same numbers in float64."""
    from foldless.tables import tensors

    monkeypatch.setattr(tensors, "WIDENED", 1000 * P)
    X, y, w, W = data
    table = torch.asarray(X * 1000).to(dtype)
    for weights in (40 * w, 40 * W):
        got = fl.cbauc(weights, table, y)
        np.testing.assert_allclose(got, fl.cbauc(weights, table.double().numpy(), y), atol=1e-6)


def test_weights_keep_their_digits(data):
    """A list beside float64 tensors is float64, too; bfloat16 weights are read on the device and on the host."""
    X, y, w, W = data
    for weights in (w, W):
        got = fl.ScoreStats.from_data(torch.asarray(X), torch.asarray(y), weights.tolist())
        np.testing.assert_allclose(got.mean1, fl.ScoreStats.from_data(X, y, weights).mean1, rtol=1e-13)
    coarse = torch.asarray(w).bfloat16()
    expected = fl.cbauc(coarse.double().numpy(), X, y)
    assert fl.cbauc(coarse, torch.asarray(X), y) == pytest.approx(expected, rel=1e-12)
    assert fl.cbauc(coarse, X, y) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(fl.InputError, match="w must hold numbers"):
        fl.cbauc([["a"], [1.0, 2.0]], torch.asarray(X), y)


def test_labels_and_weights_of_any_layout_are_read_without_a_word(data):
    """From a memory map that may not be written to, backwards, or in the byte order of another machine."""
    X, y, w, _ = data
    fixed = [np.array(a) for a in (y, w)]
    for array in fixed:
        array.flags.writeable = False
    table, expected = torch.asarray(X), pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
    assert fl.cbauc(fixed[1], table, fixed[0]) == expected
    assert fl.cbauc(w[::-1].copy()[::-1], table, y[::-1].copy()[::-1]) == expected
    assert fl.cbauc(w.astype(">f8"), table, y.astype(">i8")) == expected


def test_missing_labels_are_counted(data):
    """As in memory, the number of them is told, not a list of NaN."""
    X, y, w, _ = data
    with pytest.raises(fl.InputError, match=r"y has 4994 missing label\(s\): drop"):
        fl.cbauc(w, torch.asarray(X), np.where(np.arange(N) > 5, np.nan, y))


def test_a_data_loader_is_an_iterable_of_pairs(data):
    """PyTorch's loader yields lists [X, y] of tensors; one that shuffles is refused where order matters."""
    from sklearn.linear_model import LogisticRegression
    from torch.utils.data import DataLoader, TensorDataset

    X, y, w, _ = data
    table = TensorDataset(torch.asarray(X), torch.asarray(y))
    assert fl.cbauc(w, DataLoader(table, batch_size=700)) == pytest.approx(fl.cbauc(w, X, y), rel=1e-12)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    got = fl.auc_posterior(model, DataLoader(table, batch_size=700))
    assert got.mean == pytest.approx(fl.auc_posterior(model, X, y).mean, abs=1e-8)
    torch.manual_seed(0)
    with pytest.raises(fl.InputError, match="do not shuffle"):
        fl.auc_posterior(model, DataLoader(table, batch_size=700, shuffle=True))
