"""The honest method on PyTorch tensors: the answer of the same rows as a NumPy array, computed where they lie."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl

torch = pytest.importorskip("torch")


def table(n, p, seed=0, shift=0.3):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    X = rng.standard_t(6, size=(n, p)) * rng.uniform(0.5, 2, p) + rng.normal(size=p)
    return X + shift * y[:, None] * rng.normal(size=p), y


def assert_same(model, tensor, X, y, tolerance, **options):
    """Posterior, honest scores and notes of the tensor are those of the array, which may not be refitted either."""
    with np.errstate(all="raise", under="ignore"):
        got = fl.analyse(model, tensor, y, **options)
        expected = fl.analyse(model, X, y, method="loo", **options)
        assert got.method == expected.method
        np.testing.assert_allclose(got.auc.interval(), expected.auc.interval(), rtol=0, atol=tolerance)
        assert got.auc.mean == pytest.approx(expected.auc.mean, abs=tolerance)
    spread = expected.scores.scores.std()
    np.testing.assert_allclose(got.scores.scores, expected.scores.scores, rtol=0, atol=tolerance * spread)
    assert got.scores.pair_auc == pytest.approx(expected.scores.pair_auc, abs=tolerance)
    assert got.scores.noise_share == pytest.approx(expected.scores.noise_share, abs=tolerance)


MODELS = {
    "logistic": LogisticRegression(C=0.1),
    "logistic, stopped early": LogisticRegression(max_iter=3),
    "logistic without penalty": LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000),
    "no intercept": LogisticRegression(fit_intercept=False),
    "liblinear": LogisticRegression(solver="liblinear"),
    "balanced": LogisticRegression(class_weight="balanced"),
    "ridge": RidgeClassifier(alpha=10.0),
    "squared hinge": LinearSVC(),
    "lda": LinearDiscriminantAnalysis(),
    "lda, shrunk": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(1500, 12), (120, 30), (50, 80)], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_double_precision_is_the_answer_of_numpy(name, shape, monkeypatch):
    """In blocks of unequal size, with vectors on the device and pairs sampled, and on the host: all pairs, P > N."""
    from foldless.tables import tensors

    if "lda" in name and shape[1] >= shape[0]:
        pytest.skip("no closed form")
    if "without" in name and shape[0] < 1000:
        pytest.skip("no finite solution")
    monkeypatch.setattr(tensors, "SHORT", 64)
    monkeypatch.setattr(tensors, "FEW_ROWS", 1000)
    monkeypatch.setattr(tensors, "BLOCK_ENTRIES", 64 * 7 * shape[1])
    X, y = table(*shape)
    model = MODELS[name].fit(X, y)
    assert_same(model, torch.asarray(X), X, y, 1e-9)


@pytest.mark.parametrize("few", [100, 10_000], ids=["on the device", "on the host"])
def test_weights_of_rows_and_labels_on_the_device(few, monkeypatch):
    """sample_weight, labels as a tensor, pos_label, a tensor that is being differentiated."""
    monkeypatch.setattr("foldless.tables.tensors.FEW_ROWS", few)
    X, y = table(900, 8)
    weight = np.random.default_rng(1).uniform(0.5, 2, y.size)
    model = LogisticRegression().fit(X, y, sample_weight=weight)
    tensor = torch.asarray(X).requires_grad_()
    got = fl.auc_posterior(model, tensor, torch.asarray(y), sample_weight=weight, pos_label=0)
    expected = fl.auc_posterior(model, X, y, sample_weight=weight, pos_label=0)
    assert got.interval() == pytest.approx(expected.interval(), abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(25_000, 70), (800, 10), (40, 90)], ids=str)
def test_single_and_half_precision(shape, dtype):
    """To 1e-4 of the same numbers in float64, also where the products are in float32."""
    X, y = table(*shape)
    tensor = torch.asarray(X + 3.0).to(dtype)
    X = tensor.double().numpy()
    assert_same(LogisticRegression(max_iter=1000).fit(X, y), tensor, X, y, 1e-4)


def test_a_hessian_that_single_precision_cannot_hold():
    """Nearly equal columns: the products are repeated in float64."""
    X, y = table(25_000, 70)
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    X = X.astype(np.float32)
    model = RidgeClassifier(alpha=1e-3).fit(X.astype(float), y)
    assert_same(model, torch.asarray(X), X.astype(float), y, 1e-7)


def test_factors_are_not_rounded_where_pytorch_is_told_to():
    """With TF32 allowed, products that may be in float32 are in float64."""
    from foldless.tables.tensors import TorchMatrix

    X, _ = table(5000, 70)
    matrix, weight = TorchMatrix(torch.asarray(X)), np.full(5000, 0.3)
    exact, before = 0.3 * X.T @ X, torch.get_float32_matmul_precision()
    errors = {}
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        errors[precision] = np.abs(matrix.gram(weight, None, np.float32) / exact - 1).max()
    torch.set_float32_matmul_precision(before)
    assert errors["high"] < 1e-9 < errors["highest"] < 1e-2


@pytest.mark.parametrize("few", [100, 10_000], ids=["on the device", "on the host"])
def test_bare_weights_have_the_same_stand_in(few, monkeypatch):
    """The weights of a torch.nn.Linear, whose training is unknown."""
    monkeypatch.setattr("foldless.tables.tensors.FEW_ROWS", few)
    X, y = table(1200, 9)
    w = RidgeClassifier(alpha=30.0).fit(X, y).coef_.ravel()
    assert_same(w, torch.asarray(X), X, y, 1e-9)
    layer = torch.nn.Linear(9, 1, dtype=torch.float64)
    layer.weight.data[:] = torch.asarray(w)
    got = fl.auc_posterior(layer.weight, torch.asarray(X), y)
    assert got.interval() == pytest.approx(fl.auc_posterior(w, X, y).interval(), abs=1e-9)


def test_a_row_is_judged_as_if_it_had_not_been_there():
    """Ridge: the honest score of a row is that of a refit without it."""
    X, y = table(400, 7)
    model = RidgeClassifier(alpha=2.0)
    scores = fl.honest_scores(model.fit(X, y), torch.asarray(X), y).scores
    for row in (0, 17, 399):
        rest = np.arange(y.size) != row
        refit = RidgeClassifier(alpha=2.0).fit(X[rest], y[rest])
        assert scores[row] == pytest.approx(refit.decision_function(X[[row]])[0], abs=1e-10)


def test_nothing_of_the_size_of_x_comes_to_the_host(monkeypatch):
    """Not even a number per row: P x P sums, and a sample of rows."""
    X, y = table(40_000, 30)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    sizes, original = [], torch.Tensor.cpu

    def counted(tensor, *args, **options):
        sizes.append(tensor.numel())
        return original(tensor, *args, **options)

    monkeypatch.setattr(torch.Tensor, "cpu", counted)
    fl.auc_posterior(model, torch.asarray(X), torch.asarray(y))
    assert 0 < max(sizes) < y.size


NUMPY = {
    "ufuncs": lambda x: np.float64(2) * np.exp(-np.abs(x)) + np.maximum(x, 0.0) @ np.ones(x.size),
    "into an array": lambda x: np.subtract(1.0, x, out=1.0 * x),
    "unknown to PyTorch": lambda x: np.cbrt(x) + np.roll(x, 1),
    "where": lambda x: np.where(x > 0, x, -1.0),
    "order": lambda x: np.stack([x[np.argsort(x)], np.sort(x)]),
    "places": lambda x: np.searchsorted(np.sort(x), x, side="right"),
    "steps": lambda x: np.diff(np.concatenate([x, x]), prepend=0.0),
    "counts": lambda x: np.append(np.flatnonzero(x > 0), np.count_nonzero(x > 0) / 3 + np.cumsum(x > 0)),
    "shares": lambda x: (x > 0) / 3,
    "moments": lambda x: np.array([x.mean(), x.var(), x.var(ddof=1), x.std(), x.max(), np.ptp(x), np.sum(x)]),
    "quartiles": lambda x: np.percentile(x, [25, 50, 75]),
    "average": lambda x: np.average(x, weights=x**2) + np.linalg.norm(x),
    "chosen rows": lambda x: np.append(x[np.array([3, 1])], x[x > 0]) + x[np.array([0, 2]), None][1, 0],
    "columns": lambda x: np.hstack([x[:, None], np.full_like(x[:, None], 2.0)]).max(axis=1),
    "single precision": lambda x: x.astype(np.float32)[None] @ x,
    "assigned": lambda x: assigned(1.0 * x),
}


def assigned(x):
    x[np.array([4, 2])] = np.arange(2)
    x[x > 1] = 0.5
    return x


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_acts_on_vectors_as_on_arrays(name):
    """On the device or, for functions that PyTorch lacks, on the host."""
    from foldless.tables.tensors import Vector

    x = np.random.default_rng(0).standard_t(3, size=31)
    got = NUMPY[name](torch.asarray(x).as_subclass(Vector))
    np.testing.assert_allclose(np.asarray(got), NUMPY[name](x), rtol=1e-6 if "precision" in name else 1e-12)


def test_other_questions_and_the_in_sample_method(monkeypatch):
    """ROC curve, errors, a comparison, the diagnosis (which says that X was not checked), and the paper's number."""
    monkeypatch.setattr("foldless.tables.tensors.FEW_ROWS", 1000)
    X, y = table(1500, 12)
    model, tensor = LogisticRegression().fit(X, y), torch.asarray(X)
    got, expected = fl.analyse(model, tensor, y), fl.analyse(model, X, y)
    assert got.roc.tpr_at(0.1).mean == pytest.approx(expected.roc.tpr_at(0.1).mean, abs=1e-9)
    assert got.error().sensitivity.mean == pytest.approx(expected.error().sensitivity.mean, abs=1e-9)
    assert got.brier.mean == pytest.approx(expected.brier.mean, abs=1e-9)
    assert "not checked" in [finding.name for finding in got.findings]
    other = RidgeClassifier().fit(X, y)
    pair, usual = fl.compare(model, other, tensor, y), fl.compare(model, other, X, y)
    assert pair.prob_a_better == pytest.approx(usual.prob_a_better, abs=1e-7)
    paper = [fl.auc_posterior(model, table, y, method="in-sample").mean for table in (tensor, X)]
    assert paper[0] == pytest.approx(paper[1], abs=1e-12)


def test_complaints():
    """What does not go with a tensor is refused with what to do instead."""
    X, y = table(300, 5)
    tensor, model = torch.asarray(X), LogisticRegression().fit(X, y)
    broken, alone = X.copy(), X.copy()
    broken[17, 3] = np.nan
    alone[:, 3] = np.arange(300) == 7
    unpenalised = RidgeClassifier(alpha=0.0, solver="svd").fit(alone, y)
    cases = [
        (lambda: fl.auc_posterior(model, torch.asarray(broken), y), "row 17, column 3"),
        (lambda: fl.auc_posterior(model, tensor, y, groups=np.arange(300) // 3), "groups need X in memory"),
        (lambda: fl.auc_posterior(make_pipeline(StandardScaler(), model).fit(X, y), tensor, y), "steps of a pipeline"),
        (lambda: fl.auc_posterior(model, tensor[:, :4], y), "4 .*features|features.* 4|5"),
        (lambda: fl.auc_posterior(model, tensor[:-1], y), "299 rows but y has 300"),
        (lambda: fl.auc_posterior(model, tensor.long(), y), "floating point"),
        (lambda: fl.auc_posterior(unpenalised, torch.asarray(alone), y), "single rows determine weights"),
        (lambda: fl.auc_posterior(model, 1e80 * tensor, y), "too large"),
        (lambda: fl.auc_posterior(model, tensor.to("meta"), y, method="refit"), "'refit' runs on the host"),
        (lambda: fl.report(model, tensor.to("meta"), y), "report runs on the host"),
    ]
    for call, expected in cases:
        with pytest.raises(fl.FoldlessError, match=expected):
            call()
