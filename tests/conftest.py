"""Shared by the tests of the conjugate core: data of a given shape, and exact draws of the posterior."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partialmethod
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import invwishart

from data import correlated
from sklearn_versions import NEW

# Before version 8.2 the test runner of click mixed stderr into stdout unless told not to.
if "mix_stderr" in inspect.signature(CliRunner).parameters:
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)

# Tests that compare printed text with pages, which show what current versions of click and scikit-learn print.
PRINTED = ("test_the_command_line_page_is_the_real_help", "test_the_code_of_a_page_prints_what_the_page_shows")
N_DRAWS = 200_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out, by name and with the reason, what cannot be the same with old versions."""
    for item in items if not NEW else ():
        if getattr(item, "originalname", None) in PRINTED:
            item.add_marker(pytest.mark.skip(reason="the pages show what current versions print"))


@pytest.fixture(scope="session")
def make_data() -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The maker `data.correlated`."""
    return correlated


def niw_update(X: np.ndarray, S: Any, nu: float, m: Any, kappa: float) -> tuple[np.ndarray, float, np.ndarray, float]:
    """(S*, nu*, m*, kappa*) of one class, with the explicit P x P matrix: Eq. (5) of the paper."""
    n, P = X.shape
    m = np.broadcast_to(np.asarray(m, float), (P,))
    mean = X.mean(axis=0)
    centred = X - mean
    S = S + centred.T @ centred + n * nu / (n + nu) * np.outer(mean - m, mean - m)
    return S, nu + n, (n * mean + nu * m) / (n + nu), kappa + n


def draw_sigma(rng: np.random.Generator, S: np.ndarray, kappa: float, size: int = N_DRAWS) -> np.ndarray:
    """Sigma ~ InverseWishart(S, kappa) by scipy.stats."""
    return np.asarray(invwishart.rvs(df=kappa, scale=S, size=size, random_state=rng))


def draw_mean(rng: np.random.Generator, m: np.ndarray, nu: float, sigma: np.ndarray) -> np.ndarray:
    """mu | Sigma ~ N(m, Sigma / nu), one for each Sigma."""
    root = np.linalg.cholesky(sigma)
    z = rng.standard_normal((len(sigma), m.size, 1))
    return m + (root @ z)[..., 0] / np.sqrt(nu)


class FullPosterior:
    """200,000 draws of (Sigma_0, Sigma_1, mu_0, mu_1) in P dimensions under the paper's prior, seen along w."""

    def __init__(self, X: np.ndarray, y: np.ndarray, w: np.ndarray, *, per_class: bool, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        P = X.shape[1]
        prior = np.eye(P)
        S0, nu0, m0, k0 = niw_update(X[y == 0], prior, 0.5, 0.0, P + 2.0)
        S1, nu1, m1, k1 = niw_update(X[y == 1], prior, 0.5, 0.0, P + 2.0)
        if per_class:
            sigma0, sigma1 = draw_sigma(rng, S0, k0), draw_sigma(rng, S1, k1)
        else:
            sigma0 = sigma1 = draw_sigma(rng, S0 + S1 - prior, k0 + k1 - P - 2)
        self.mean0 = draw_mean(rng, m0, nu0, sigma0) @ w
        self.mean1 = draw_mean(rng, m1, nu1, sigma1) @ w
        self.sd0 = np.sqrt(np.einsum("i,nij,j->n", w, sigma0, w))
        self.sd1 = np.sqrt(np.einsum("i,nij,j->n", w, sigma1, w))
        self.w, self.X, self.y = w, X, y

    @property
    def delta(self) -> np.ndarray:
        """Separation of the classes in each draw (common covariance)."""
        return (self.mean1 - self.mean0) / self.sd0


@pytest.fixture(scope="session")
def common() -> FullPosterior:
    """Draws for 3 features, 14 + 9 rows, one covariance."""
    X, y, w = correlated(11, 14, 9, 3, shift=0.8)
    return FullPosterior(X, y, w, per_class=False)


@pytest.fixture(scope="session")
def per_class() -> FullPosterior:
    """Draws for the same data, one covariance for each class."""
    X, y, w = correlated(11, 14, 9, 3, shift=0.8)
    return FullPosterior(X, y, w, per_class=True)


def assert_matches_draws(rate: Any, draws: np.ndarray, level: float = 0.9) -> None:
    """Mean, sd and both interval ends agree with draws within 4.5 Monte Carlo standard errors.

    Errors: sd/sqrt(n) of the mean; sqrt((m4/sd^4 - 1)/(4n)) sd of the sd; for an end at probability q the share of
    draws below it has standard error sqrt(q(1-q)/n).
    """
    n, sd = draws.size, draws.std()
    kurtosis = np.mean((draws - draws.mean()) ** 4) / sd**4
    assert abs(rate.mean - draws.mean()) < 4.5 * sd / np.sqrt(n)
    assert abs(rate.sd - sd) < 4.5 * sd * np.sqrt((kurtosis - 1) / (4 * n))
    tail = (1 - level) / 2
    for end, q in zip(rate.interval(level), (tail, 1 - tail), strict=True):
        assert abs(np.mean(draws <= end) - q) < 4.5 * np.sqrt(q * (1 - q) / n)


@pytest.fixture(scope="session")
def matches_draws() -> Callable[..., None]:
    """The comparison `assert_matches_draws`."""
    return assert_matches_draws
