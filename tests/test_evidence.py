"""`Prior.adaptive()`: its evidence and its components against brute-force integration in one dimension."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, ndtr

import foldless as fl
from data import alternating
from foldless.laws.prior import WithinSpectrum, _component, _log_multigamma_ratio, log_evidence, spectrum

RNG = np.random.default_rng(0)
Y = np.arange(13) >= 8
X = RNG.standard_normal((13, 1)) * 1.7 + 1.1 * Y[:, None]


def brute_force(nu: float, d: float, s: float) -> tuple[float, float]:
    """(log evidence, E[AUC] of w = 1) by quadrature over sigma^2 and Delta; the flat grand mean is integrated out."""
    n0, n1 = int((~Y).sum()), int(Y.sum())
    c, N = n0 * n1 / (n0 + n1), n0 + n1
    gap = X[Y].mean() - X[~Y].mean()
    W = np.sum((X[Y] - X[Y].mean()) ** 2) + np.sum((X[~Y] - X[~Y].mean()) ** 2)
    log_v, delta = np.linspace(-6, 8, 1401)[:, None], np.linspace(-12, 12, 2401)[None, :]
    v = np.exp(log_v)
    log_prior = d / 2 * np.log(s * d / 2) - gammaln(d / 2) - (d / 2 + 1) * log_v - s * d / (2 * v)
    log_delta = 0.5 * np.log(nu / (2 * np.pi * v)) - nu * delta**2 / (2 * v)
    log_rows = -(N - 1) / 2 * np.log(2 * np.pi * v) - (W + c * (gap - delta) ** 2) / (2 * v)
    density = np.exp(log_prior + log_delta + log_rows + log_v)  # log_v: integration over log sigma^2
    cell = (log_v[1, 0] - log_v[0, 0]) * (delta[0, 1] - delta[0, 0])
    total = density.sum()
    return float(np.log(total * cell)), float(np.sum(density * ndtr(delta / np.sqrt(2 * v))) / total)


SETTINGS = [(0.5, 3.0, 1.0), (4.0, 10.0, 0.5), (0.1, 1.5, 3.0)]


def test_evidence_equals_integration():
    """Differences of the log evidence between settings equal those of direct quadrature."""
    data = spectrum(X, Y)
    ours = [float(log_evidence(data, *(np.array(v) for v in setting))) for setting in SETTINGS]
    exact = [brute_force(*setting)[0] for setting in SETTINGS]
    np.testing.assert_allclose(np.diff(ours), np.diff(exact), atol=1e-6)


@pytest.mark.parametrize("setting", SETTINGS)
def test_component_equals_integration(setting):
    """Given the hyperparameters, the mean AUC is that of direct quadrature."""
    data = spectrum(X, Y)
    gap = float(X[Y].mean() - X[~Y].mean())
    effect = _component(data, gap, float(data.eigenvalues.sum()), *setting)
    assert effect.mean_probability(np.sqrt(2)) == pytest.approx(brute_force(*setting)[1], abs=1e-6)


def test_both_gram_matrices_give_the_same_spectrum():
    """P > N goes through the N x N matrix: eigenvalues and distances agree with the P x P one."""
    Z, y = np.random.default_rng(1).standard_normal((12, 40)), np.arange(12) % 2 == 1
    small = spectrum(Z, y)
    means = np.stack([Z[~y].mean(axis=0), Z[y].mean(axis=0)])
    centred = Z - means[y.astype(int)]
    values, axes = np.linalg.eigh(centred.T @ centred)
    keep = values > 1e-9
    gap = means[1] - means[0]
    np.testing.assert_allclose(small.eigenvalues, values[keep], rtol=1e-9)
    np.testing.assert_allclose(small.squares, (axes.T @ gap)[keep] ** 2, rtol=1e-7)
    assert small.outside == pytest.approx(gap @ gap - np.sum((axes.T @ gap)[keep] ** 2), rel=1e-9)
    assert isinstance(small, WithinSpectrum)


def test_multigamma_ratio_telescopes():
    """The product over rows equals the one over features."""
    from scipy.special import multigammaln

    kappa = np.array([7.3, 12.0])
    for rows in (3, 9):
        expected = [multigammaln((k + rows) / 2, 5) - multigammaln(k / 2, 5) for k in kappa]
        np.testing.assert_allclose(_log_multigamma_ratio(kappa, rows, 5), expected, rtol=1e-12)


def test_adaptive_prior_of_any_length_of_w():
    """Squares of the difference of the means overflowed; the answer does not depend on the length of w."""
    X, Y = alternating(40, 3, shift=0.7)
    prior = fl.Prior.adaptive()
    expected = fl.cbauc(np.ones(3), X, Y, prior=prior)
    for s in (1e-250, 1e-90, 1e90, 1e250):
        assert fl.cbauc(np.full(3, s), X, Y, prior=prior) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(fl.InputError, match="rescale"):
        fl.cbauc(np.ones(3), X * 1e150, Y, prior=prior)


def test_adaptive_prior_of_classes_far_apart():
    """The separation lay beyond the grid, all densities vanished, and the mean was nan."""
    far = np.random.default_rng(0).normal(size=(400, 1)) + 60 * (np.arange(400) % 2)[:, None]
    assert fl.cbauc([1.0], far, np.arange(400) % 2, prior=fl.Prior.adaptive()) > 0.999
