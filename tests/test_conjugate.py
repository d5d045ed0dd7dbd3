"""The conjugate update and `cbauc` against the paper's formula with the explicit P x P matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betainc, ndtr

import foldless as fl
from foldless.laws.conjugate import update
from foldless.laws.moments import ScoreStats

SHAPES = [
    (1, 6, 5), (1, 1, 9), (2, 3, 3), (3, 40, 2), (5, 1, 20), (8, 20, 1), (10, 300, 17),
    (30, 12, 9), (60, 25, 40), (100, 10, 10), (200, 150, 1), (300, 5, 60), (500, 20, 30), (500, 1, 1),
]  # fmt: skip


def naive(w, X, y, *, mean0=0.0, mean1=0.0, nu0=0.5, nu1=0.5, scale=1.0, kappa=None):
    """Proposition 1 word for word: S*, kappa*, nu*, m*, A* in P dimensions, then the incomplete beta function."""
    P = X.shape[1]
    S = np.asarray(scale, float)
    S = S * np.eye(P) if S.ndim == 0 else np.diag(S) if S.ndim == 1 else S.copy()
    stars = []
    for c, m, nu in ((0, mean0, nu0), (1, mean1, nu1)):
        Xc = X[y == c]
        n, m, xbar = len(Xc), np.broadcast_to(np.asarray(m, float), (P,)), Xc.mean(axis=0)
        S += (Xc - xbar).T @ (Xc - xbar) + n * nu / (n + nu) * np.outer(xbar - m, xbar - m)
        stars.append(((n * xbar + nu * m) / (n + nu), n + nu))
    (m0, nu0), (m1, nu1) = stars
    kappa_star = (P + 2 if kappa is None else kappa) + len(y)
    A = w @ (m1 - m0) * np.sqrt(nu0 * nu1) / np.sqrt(nu0 + nu1 + 2 * nu0 * nu1)
    return S, A, kappa_star, (m0, m1, nu0, nu1)


def proposition1(w, X, y, **hyper):
    """1/2 + sgn(A)/2 I(A^2 / (A^2 + w'S*w); 1/2, (kappa* - P + 1)/2)."""
    S, A, kappa, _ = naive(w, X, y, **hyper)
    s, b = w @ S @ w, (kappa - X.shape[1] + 1) / 2
    return 0.5 + np.sign(A) / 2 * betainc(0.5, b, A**2 / (A**2 + s))


def hyperparameters(kind, P, rng):
    """Random hyperparameters for `Prior.niw` of one kind of scale matrix."""
    root = rng.normal(size=(P, P))
    return {
        "paper": {},
        "scalar": {"scale": 3.0, "nu0": 1.5, "nu1": 0.2, "kappa": P + 5.5},
        "diagonal": {"scale": rng.uniform(0.1, 5, P), "mean0": rng.normal(size=P), "kappa": P - 0.5},
        "full": {"scale": root @ root.T / P, "mean0": -0.7, "mean1": rng.normal(size=P), "nu0": 4.0, "nu1": 0.0},
    }[kind]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["paper", "scalar", "diagonal", "full"])
def test_cbauc_is_proposition_1(make_data, shape, kind):
    """cbauc equals the paper's incomplete-beta formula to 1e-12 at every shape and scale matrix, both signs of w."""
    P, n0, n1 = shape
    X, y, w = make_data(P + n0, n0, n1, P)
    hyper = hyperparameters(kind, P, np.random.default_rng(P))
    prior = fl.Prior.paper() if kind == "paper" else fl.Prior.niw(**hyper)
    for v in (w, -w, 1e-3 * w):
        assert fl.cbauc(v, X, y, prior=prior) == pytest.approx(proposition1(v, X, y, **hyper), abs=1e-12, rel=0)


def test_cbauc_does_not_depend_on_the_length_of_w(make_data):
    """The AUC of w and of c w is the same: also for c so small or large that squares leave the range of doubles."""
    X, y, w = make_data(3, 20, 15, 4)
    expected = fl.cbauc(w, X, y)
    for c in (1e-100, 1e100, 1e-170, 1e170):
        assert fl.cbauc(c * w, X, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 5, 6), (3, 8, 4), (40, 10, 15), (200, 30, 20)], ids=str)
def test_scaled_identity(make_data, shape):
    """Scaled identity: the same formula with k = (kappa* + P + 1) P - 2 and s = tr(S*) |w|^2 (the supplement)."""
    P, n0, n1 = shape
    X, y, w = make_data(P, n0, n1, P)
    for kind in ("paper", "scalar", "diagonal", "full"):
        hyper = hyperparameters(kind, P, np.random.default_rng(P))
        S, A, kappa, _ = naive(w, X, y, **hyper)
        s, b = np.trace(S) * (w @ w), ((kappa + P + 1) * P - 2) / 2
        expected = 0.5 + np.sign(A) / 2 * betainc(0.5, b, A**2 / (A**2 + s))
        got = fl.cbauc(w, X, y, prior=fl.Prior.scaled_identity(**hyper))
        assert got == pytest.approx(expected, abs=1e-12, rel=0)


@pytest.mark.parametrize("container", ["float32", "csr", "csr float32", "frame"])
def test_scaled_identity_of_other_containers(make_data, container):
    """tr(S*) is as exact for float32 and sparse columns as for the same values in float64."""
    import pandas as pd
    import scipy.sparse as sp

    X, y, w = make_data(5, 400, 300, 6)
    X = np.asarray((X + 5) * (np.abs(X) > 0.3), dtype=np.float32)
    given = {
        "float32": X, "csr": sp.csr_array(X.astype(float)), "csr float32": sp.csr_array(X), "frame": pd.DataFrame(X)
    }[container]  # fmt: skip
    prior = fl.Prior.scaled_identity()
    expected = fl.cbauc(w, X.astype(float), y, prior=prior)
    assert fl.cbauc(w, given, y, prior=prior) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("P", [1, 4, 60])
def test_known_covariance_is_lemma_1(make_data, P):
    """With Sigma known the mean is Lemma 1's normal probability, also with prior means and a full Sigma."""
    X, y, w = make_data(P, 9, 14, P)
    rng = np.random.default_rng(P)
    root = rng.normal(size=(P, P + 2))
    for sigma, m1, nu in ((root @ root.T, 0.0, 0.0), (rng.uniform(0.5, 2, P), rng.normal(size=P), 2.5), (1.7, 0.3, 1)):
        _, _, _, (m0s, m1s, nu0, nu1) = naive(w, X, y, mean1=m1, nu0=nu, nu1=nu)
        full = np.asarray(sigma) * np.eye(P) if np.ndim(sigma) < 2 else sigma
        h = w @ (m1s - m0s) / np.sqrt(2 * w @ full @ w)
        expected = ndtr(h * np.sqrt(2 * nu0 * nu1 / (nu0 + nu1 + 2 * nu0 * nu1)))
        prior = fl.Prior.known_covariance(sigma, mean1=m1, nu0=nu, nu1=nu)
        assert fl.cbauc(w, X, y, prior=prior) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 1, 2), (1, 20, 3), (7, 4, 4), (8, 4, 4), (39, 20, 20), (40, 20, 20)], ids=str)
def test_improper_up_to_as_many_features_as_rows(make_data, shape):
    """The improper prior (S = 0, nu = kappa = 0) gives Proposition 1 as long as P <= N."""
    P, n0, n1 = shape
    X, y, w = make_data(P, n0, n1, P)
    expected = proposition1(w, X, y, scale=0.0, nu0=0.0, nu1=0.0, kappa=0)
    assert fl.cbauc(w, X, y, prior=fl.Prior.improper()) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [(3, 1, 1), (9, 4, 4), (200, 20, 20)], ids=str)
def test_improper_is_refused_beyond(make_data, shape):
    """With more features than rows the improper posterior does not exist and is refused, with the numbers."""
    P, n0, n1 = shape
    X, y, w = make_data(P, n0, n1, P)
    with pytest.raises(fl.PriorError, match=rf"not proper.*N {n0 + n1}, P {P}"):
        fl.cbauc(w, X, y, prior=fl.Prior.improper())


@pytest.mark.parametrize(
    "prior", [fl.Prior.paper(), fl.Prior.scaled_identity(), fl.Prior.known_covariance(2.0)], ids=repr
)
def test_matrix_of_weights_is_single_calls(make_data, prior):
    """A P x K matrix gives K numbers, each that of its column alone."""
    X, y, _ = make_data(2, 20, 25, 30)
    W = np.random.default_rng(0).normal(size=(30, 7))
    together = fl.cbauc(W, X, y, prior=prior)
    assert together.shape == (7,)
    np.testing.assert_allclose(together, [fl.cbauc(v, X, y, prior=prior) for v in W.T], rtol=0, atol=1e-13)
    assert fl.cbauc(W[:, :1], X, y, prior=prior).shape == (1,)
    assert isinstance(fl.cbauc(W[:, 0], X, y, prior=prior), float)


def test_pos_label_turns_the_number(make_data):
    """Naming the other class positive gives the AUC of -w's complement: one minus the number."""
    X, y, w = make_data(4, 30, 20, 3)
    assert fl.cbauc(w, X, y, pos_label=0) == pytest.approx(1 - fl.cbauc(w, X, y), abs=1e-12)
    names = np.where(y == 1, "sick", "healthy")
    assert fl.cbauc(w, X, names) == fl.cbauc(w, X, y)


def test_constant_scores_are_refused_not_divided_by_zero():
    """Scores without any spread and no prior scale: PriorError, never inf or nan."""
    with pytest.raises(fl.PriorError, match="do not vary"):
        fl.cbauc([1.0], [[0.1], [0.1], [0.3], [0.3]], [0, 0, 1, 1], prior=fl.Prior.improper())


def test_level_of_the_scores_does_not_matter_without_a_prior():
    """Improper prior: adding 1e8 to every score moves mean, sd and quantiles by less than 1e-6."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    z = rng.normal(size=60) + 0.9 * y
    prior = fl.Prior.improper()
    q = [0.001, 0.025, 0.5, 0.975, 0.999]

    def through_stats(scores):
        post = update(ScoreStats.from_scores(y, scores), prior.along(np.ones(1))).separation()
        return fl.AUCPosterior.from_effect(post, "in-sample", 30, 30)

    def through_weights(scores):
        return fl.auc_posterior(np.ones(1), scores[:, None], y, method="in-sample", prior=prior)

    for build in (through_stats, through_weights):
        here, there = build(z), build(z + 1e8)
        assert there.mean == pytest.approx(here.mean, abs=1e-6)
        assert there.sd == pytest.approx(here.sd, abs=1e-6)
        np.testing.assert_allclose(there.ppf(q), here.ppf(q), rtol=0, atol=1e-6)
