"""The parts of the accuracy experiment: samples with a known truth, rotation, classifiers, methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import foldless as fl
from foldless_studies.accuracy.cells import FAMILIES, SimulatedCell, data_cells, simulated_cells
from foldless_studies.choices import DEFAULT_METHODS
from foldless_studies.classifiers import CLASSIFIERS, ROTATABLE
from foldless_studies.estimators import METHODS, TITLES, Answer, holds
from foldless_studies.evidence import given_scores
from foldless_studies.sampling import AtChance, HeldOut, Known, Sample, narrowed, rotate, standardized

pytestmark = pytest.mark.filterwarnings("ignore::foldless.FoldlessWarning")


def wide_sample(n: int = 24, P: int = 300) -> Sample:
    rng = np.random.default_rng(3)
    y = np.arange(2 * n) % 2
    X = rng.normal(size=(2 * n, P)) + 0.25 * y[:, None]
    Z, scale = standardized(X[:n])
    # Not of unit variance: columns that look standardised would lose their scaler with the rows, rotated ones cannot.
    return Sample(1.5 * Z, y[:n], HeldOut(X[n:], y[n:], 1.5 * scale), P)


# ---- rotation


@pytest.mark.parametrize("name", sorted(ROTATABLE))
def test_rotation_changes_nothing(name):
    """In the space of the rows: the same scores, the same truth, the same answers of every method."""
    flat = wide_sample()
    turned = rotate(flat)
    assert turned.X.shape == (24, 24)
    models = [CLASSIFIERS[name](0.5, s) for s in (flat, turned)]
    for model, sample in zip(models, (flat, turned), strict=True):
        if name in ("logistic", "svm"):
            model.set_params(tol=1e-10, max_iter=100_000)
        model.fit(sample.X, sample.y)
    # lsqr leaves the scale of shrunken covariances to the shrinkage; only the direction is the classifier
    scores = [m.decision_function(s.X) - m.intercept_ for m, s in zip(models, (flat, turned), strict=True)]
    np.testing.assert_allclose(*(z / np.linalg.norm(z) for z in scores), atol=2e-5)
    truths = [s.truth(m.coef_.reshape(-1, 1))[0].auc for m, s in zip(models, (flat, turned), strict=True)]
    assert truths[0] == truths[1]
    for method in ("loo", "cv5"):
        answers = [METHODS[method](m, s, 0) for m, s in zip(models, (flat, turned), strict=True)]
        assert answers[0].estimate == pytest.approx(answers[1].estimate, abs=2e-4)
        assert answers[0].ends() == pytest.approx(answers[1].ends(), abs=5e-4)


def test_the_paper_number_does_not_see_the_rotation():
    """Its prior is centred and isotropic, and kappa counts from P."""
    flat = wide_sample()
    turned = rotate(flat)
    models = [CLASSIFIERS["ridge"](1.0, s).fit(s.X, s.y) for s in (flat, turned)]
    answers = [METHODS["in-sample"](m, s, 0).estimate for m, s in zip(models, (flat, turned), strict=True)]
    assert answers[0] == pytest.approx(answers[1], rel=1e-9)


def test_only_wide_samples_are_rotated():
    assert narrowed(wide_sample(P=300)).X.shape == (24, 24)
    assert narrowed(wide_sample(P=200)).X.shape == (24, 200)
    assert "l1" not in ROTATABLE


# ---- samples


@pytest.mark.parametrize("family", ["gaussian", "unequal", "correlated"])
def test_closed_form_is_the_public_one(family):
    cell = SimulatedCell(family, 40, 6, 0.85)
    population, w = cell.population, np.random.default_rng(1).normal(size=(6, 2))
    covariances = population.covariance(0), population.covariance(1)
    expected = [fl.baselines.true_auc(v, 0.0, np.array(population.shift), *covariances) for v in w.T]
    assert [k.auc for k in cell.draw(0, 0).truth(w)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("family", ["gaussian", "skew"])
def test_no_weights_rank_nothing(family):
    assert SimulatedCell(family, 40, 3, 0.85).draw(0, 0).truth(np.zeros((3, 1)))[0].auc == 0.5
    assert wide_sample().truth(np.zeros((300, 1)))[0].auc == 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_have_the_law_they_claim(family):
    """The closed form, or for other laws a second draw, gives the AUC that fresh rows have."""
    cell = SimulatedCell(family, 40, 4, 0.85)
    w = np.array([[1.0], [-0.5], [0.3], [0.2]])
    y = np.arange(60_000) % 2
    fresh = fl.baselines.delong(y, cell.population.rows(y, np.random.default_rng(5)) @ w[:, 0])
    (known,) = cell.draw(0, 1).truth(w)
    assert known.se == 0
    assert abs(known.auc - fresh) < 4.5 * np.hypot(
        fresh.se, 0 if cell.population.law == "normal" else fresh.se * 3**0.5
    )


def test_target_is_reached():
    """The distance is set for the difference of the class means, n = 40, P = 200."""
    cell, reached = SimulatedCell("gaussian", 40, 200, 0.85), []
    for r in range(40):
        sample = cell.draw(0, r)
        w = sample.X[sample.y == 1].mean(axis=0) - sample.X[sample.y == 0].mean(axis=0)
        reached.append(sample.truth(w[:, None])[0].auc)
    assert np.mean(reached) == pytest.approx(0.85, abs=0.02)


def test_catalogue_has_what_it_promises():
    cells = simulated_cells()
    assert len({c.name for c in cells}) == len(cells)
    ratios = [c.p / c.n for c in cells if c.family == "gaussian"]
    assert min(ratios) <= 0.05
    assert max(ratios) == 25
    assert {c.n for c in cells} == {20, 40, 80, 120}
    assert {c.family for c in cells if c.labels == "none"} == set(FAMILIES)


def test_imbalance_is_one_to_four():
    assert np.bincount(SimulatedCell("imbalance", 40, 8, 0.5).draw(0, 0).y).tolist() == [32, 8]


def test_split_is_stratified_and_shared_by_both_labels(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.normal(size=(100, 3)), y=np.repeat(["a", "b"], [75, 25]))
    cells, _ = data_cells(tmp_path, (40,))
    as_is, shuffled = (cell.draw(0, 0) for cell in cells)
    np.testing.assert_array_equal(as_is.X, shuffled.X)
    assert as_is.y.sum() == shuffled.y.sum() == 10
    assert not np.array_equal(as_is.y, shuffled.y)
    assert shuffled.truth(np.ones((3, 2))) == [Known(0.5, variances=(1 / 12, 1 / 12))] * 2
    assert isinstance(shuffled.truth, AtChance)
    assert as_is.truth.y.size == 60
    np.testing.assert_allclose(as_is.X.mean(axis=0), 0, atol=1e-12)


def test_constant_training_columns_become_zero():
    Z, scale = standardized(np.array([[1.0, 5.0], [2.0, 5.0]]))
    np.testing.assert_array_equal(Z, [[-1, 0], [1, 0]])
    np.testing.assert_array_equal(scale, [2, 0])


# ---- methods


def test_noise_of_the_test_set_widens_the_posterior():
    """A normal posterior plus normal noise is normal: the rank is that of N(m, s^2 + se^2)."""
    answer = Answer(0.7, 0.05, norm(0.7, 0.05).ppf, norm(0.7, 0.05).cdf)
    for auc in (0.62, 0.7, 0.83):
        expected = norm.cdf(auc, 0.7, np.hypot(0.05, 0.04))
        assert answer.rank(Known(auc, 0.04)) == pytest.approx(expected, abs=2e-3)
    assert answer.rank(Known(0.7)) is None
    assert Answer(0.7).rank(Known(0.7, 0.1)) is None
    assert Answer(0.7).ends([0.9]) == [None, None]


def test_an_interval_holds_what_lies_in_it_and_with_noise_what_lies_near_it():
    posterior = fl.auc_posterior_from_scores(np.arange(40) % 2, np.arange(40) * 7 % 40 + 9.0 * (np.arange(40) % 2))
    low, high = posterior.interval(0.9)
    inside = [low - 0.01, low + 0.01, high - 0.01, high + 0.01]
    assert [holds(posterior, Known(auc), 0.9) for auc in inside] == [False, True, True, False]
    assert all(holds(posterior, Known(auc, 0.1), 0.9) for auc in inside)


def test_fresh_rows_and_those_of_the_truth_were_not_trained_on(tmp_path, monkeypatch):
    """Labels without a law, and a classifier that knows them by heart: two thirds of the rows would give it away."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "noise.npz", X=rng.normal(size=(900, 3)), y=rng.permutation(np.arange(900) % 2))
    seen = []
    monkeypatch.setattr(given_scores, "holds", lambda post, known, level: seen.append((post.mean, known.auc)) or True)
    monkeypatch.setattr(given_scores, "TRAINED", 600)
    held = given_scores.held_on_fresh_rows(KNeighborsClassifier(1), tmp_path / "noise.npz", 0)
    np.testing.assert_array_equal(held, np.tile([1.0, 1.0, np.nan], (given_scores.DRAWS, 1)))
    np.testing.assert_allclose(np.mean(seen, axis=0), 0.5, atol=0.1)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_the_public_functions(name):
    sample = SimulatedCell("gaussian", 20, 3, 0.85).draw(0, 0)
    model = CLASSIFIERS["logistic"](1.0, sample).fit(sample.X, sample.y)
    args = (model, sample.X, sample.y)
    b = fl.baselines
    public = {
        "loo": lambda: fl.auc_posterior(*args),
        "in-sample": lambda: fl.auc_posterior(*args, method="in-sample"),
        "adaptive": lambda: fl.auc_posterior(*args, method="in-sample", prior=fl.Prior.adaptive()),
        "cv5": lambda: b.cv_auc(*args, random_state=7),
        "cv5x5": lambda: b.cv_auc(*args, repeats=5, random_state=7),
        "632+": lambda: b.bootstrap632plus_auc(*args, n_bootstraps=50, random_state=7),
        "pairs": lambda: b.leave_pair_out_auc(*args),
    }[name]()
    answer = METHODS[name](model, sample, 7)
    assert answer.estimate == getattr(public, "mean", public)
    if answer.quantiles is not None:
        for level in (0.5, 0.95):
            # Quantiles of Student's t have nine digits in SciPy 1.12.
            assert answer.ends([level]) == pytest.approx(public.interval(level), abs=1e-10)
    assert name in TITLES
    assert (name in DEFAULT_METHODS) == (name != "pairs")


@pytest.mark.parametrize("name", ["loo", "in-sample", "cv5"])
def test_rank_is_that_of_noisy_draws(name):
    """Draws of the posterior plus draws of the noise, 100,000 of each, give the same rank."""
    sample = SimulatedCell("gaussian", 40, 3, 0.85).draw(0, 0)
    model = CLASSIFIERS["logistic"](1.0, sample).fit(sample.X, sample.y)
    answer, rng = METHODS[name](model, sample, 0), np.random.default_rng(0)
    draws = answer.quantiles(np.linspace(0, 1, 2002)[1:-1])
    noisy = rng.choice(draws, 100_000) + 0.04 * rng.normal(size=100_000)
    for auc in (0.75, 0.85, 0.97):
        assert answer.rank(Known(auc, 0.04)) == pytest.approx(np.mean(noisy <= auc), abs=0.008)


def test_folds_that_agree_are_one_point():
    sample = SimulatedCell("gaussian", 20, 2, 0.85).draw(0, 0)
    apart = Sample(np.where(sample.y, 9.0, -9.0)[:, None] + 0.01 * sample.X, sample.y, sample.truth, 2)
    answer = METHODS["cv5"](CLASSIFIERS["ridge"](1.0, apart), apart, 0)
    assert answer.ends([0.9]) == [1.0, 1.0]
    assert answer.rank(Known(0.98, 0.01)) == pytest.approx(norm.cdf(-2), abs=0.005)


def test_l1_leaves_columns_out():
    sample = wide_sample()
    w = CLASSIFIERS["l1"](0.5, sample).fit(sample.X, sample.y).coef_
    assert 0 < np.count_nonzero(w) < 50


@pytest.mark.slow
def test_error_of_a_second_sample_is_that_of_samples_drawn():
    """The mean distance of the AUC of 20 and 30 new rows from that of the population, against 2,000 draws."""
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    x = rng.normal(size=y.size) + 1.2 * y
    (known,) = HeldOut(x[:, None], y, np.ones(1))(np.ones((1, 1)))
    labels = np.repeat([0, 1], [20, 30])
    drawn = [roc_auc_score(labels, rng.normal(size=50) + 1.2 * labels) for _ in range(2000)]
    assert known.second_sample(20, 30) == pytest.approx(np.mean(np.abs(np.array(drawn) - known.auc)), rel=0.05)
    chance = AtChance()(np.ones((1, 1)))[0]
    assert chance.second_sample(20, 30) == pytest.approx(np.sqrt(2 / np.pi * 51 / (12 * 600)), rel=0.02)
    assert Known(0.7).second_sample(20, 30) is None
