"""`Prior`: what is left of it along w, and which hyperparameters are refused."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import foldless as fl

PRIORS = [
    fl.Prior.paper(), fl.Prior.improper(), fl.Prior.niw(scale=2.0), fl.Prior.scaled_identity(),
    fl.Prior.known_covariance(1.0), fl.Prior.adaptive(),
]  # fmt: skip


def test_paper_is_niw_with_its_defaults():
    """The defaults of niw are the paper's: m = 0, S = I, nu = 0.5, kappa = P + 2."""
    w = np.array([1.0, -2.0, 0.5])
    paper, niw = fl.Prior.paper().along(w), fl.Prior.niw().along(w)
    assert paper == niw
    assert (paper.mean0, paper.nu0, paper.kappa) == (0, 0.5, 5)
    assert paper.scale == pytest.approx(w @ w)


def test_scale_and_means_along_w():
    """w'Sw and w'm agree for a scalar, a diagonal and a full matrix that say the same, for (P,) and (P, K)."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(4, 3))
    for w in (W[:, 0], W):
        same = [fl.Prior.niw(scale=s, mean0=m).along(w) for s, m in ((2.0, 3.0), (np.full(4, 2.0), np.full(4, 3.0)))]
        same.append(fl.Prior.niw(scale=2 * np.eye(4), mean0=[3.0] * 4).along(w))
        for other in same[1:]:
            np.testing.assert_allclose(other.scale, same[0].scale, rtol=1e-14)
            np.testing.assert_allclose(other.mean0, same[0].mean0, rtol=1e-14)
        np.testing.assert_allclose(same[0].norm2, np.sum(w**2, axis=0), rtol=1e-14)


def test_scale_trace():
    """tr S for all three forms of S."""
    for scale in (2.0, np.full(4, 2.0), 2 * np.eye(4)):
        assert fl.Prior.niw(scale=scale).scale_trace(4) == pytest.approx(8)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_a_prior_is_a_frozen_value(prior):
    """It cannot be changed, it pickles, and its repr is the constructor."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.nu0 = 3.0
    assert repr(pickle.loads(pickle.dumps(prior))) == repr(prior)
    assert repr(prior).startswith("Prior.")


def test_a_prior_does_not_share_memory_with_its_arguments():
    """Changing the array that it was made from later does not change it; its own arrays are read-only."""
    scale = np.ones(3)
    prior = fl.Prior.niw(scale=scale)
    scale[:] = 9
    assert prior.scale.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        prior.scale[0] = 5


def test_strong_prior_takes_over(make_data):
    """With nu and kappa huge the answer is the prior's: Phi(distance of the prior means / sqrt 2)."""
    X, y, w = make_data(0, 20, 20, 1)
    prior = fl.Prior.niw(mean0=0.0, mean1=1.0, nu0=1e9, nu1=1e9, scale=1e9, kappa=1e9)
    expected = fl.cbauc(np.sign(w), X, y, prior=fl.Prior.known_covariance(1.0, mean1=1.0, nu0=1e9, nu1=1e9))
    assert fl.cbauc(np.sign(w), X, y, prior=prior) == pytest.approx(expected, abs=1e-6)


def test_adaptive_prior_works_in_cbauc(make_data):
    """Prior.adaptive() gives a probability in cbauc and in auc_posterior, and does not claim 1 on pure noise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), np.arange(200) % 2
    w = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    value = fl.cbauc(w, X, y, prior=fl.Prior.adaptive())
    assert 0.4 < value < 0.65
    assert fl.auc_posterior(w, X, y, method="in-sample", prior=fl.Prior.adaptive()).mean == pytest.approx(
        value, abs=1e-9
    )
