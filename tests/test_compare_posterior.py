"""The posterior of a difference: against direct integration and against draws of the full model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import invwishart
from sklearn.linear_model import RidgeClassifier

import foldless as fl
from foldless.comparison.difference import Difference
from foldless.comparison.joint import LooJoint
from foldless.comparison.paired import TAIL_DF, PairedEvidence, typical_gap, wins
from foldless.honest.posterior import EffectPrior
from foldless.honest.statistic import SeparationStatistic


def statistic(estimate: float, trials: float = 40.0) -> SeparationStatistic:
    auc = float(ndtr(estimate / np.sqrt(2)))
    return SeparationStatistic(auc, trials, 58.0, 0.3, 30, 30, auc)


def evidence(estimates: list[float], r: float, likeness: float, trials: list[float] | None = None) -> PairedEvidence:
    K = len(estimates)
    found = [statistic(e, m) for e, m in zip(estimates, trials or [40.0] * K, strict=True)]
    off = 1 - np.eye(K)
    return PairedEvidence(tuple(found), np.eye(K) + r * off, np.eye(K) + likeness * off)


def root_of_deviance(s: SeparationStatistic, delta: np.ndarray) -> np.ndarray:
    A = ndtr(delta / np.sqrt(2))
    D = 2 * s.trials * (s.auc * np.log(s.auc / A) + (1 - s.auc) * np.log((1 - s.auc) / (1 - A)))
    return np.sign(s.auc - A) * np.sqrt(np.maximum(D, 0))


def by_brute_force(found: PairedEvidence, prior: EffectPrior) -> tuple[float, float, float]:
    """Mean, sd and P(> 0) of the difference of the AUCs on a plain fine grid of (delta_a, delta_b)."""
    x = np.linspace(-2, 6, 1601)
    a, b = x[:, None], x[None, :]
    za, zb = (root_of_deviance(s, d) for s, d in zip(found.statistics, (a, b), strict=True))
    r = found.correlation[0, 1]
    Q = (za**2 - 2 * r * za * zb + zb**2) / (1 - r**2)
    log = -(58 + 2) / 2 * np.log1p(Q / 58)
    log = log + 0.5 * (prior.log_density(a) + prior.log_density(b))
    width = typical_gap((a + b) / 2) * np.sqrt(2 * (1 - found.likeness[0, 1]))
    log = log - (TAIL_DF + 1) / 2 * np.log1p(((a - b) / width) ** 2 / TAIL_DF) - np.log(width)
    p = np.exp(log - log.max())
    p /= p.sum()
    gap = ndtr(a / np.sqrt(2)) - ndtr(b / np.sqrt(2))
    mean = float(np.sum(p * gap))
    ties = 0.5 * float(np.trace(p))
    return mean, float(np.sqrt(np.sum(p * (gap - mean) ** 2))), float(p[a > b].sum()) + ties


@pytest.mark.parametrize(
    ("estimates", "r", "likeness", "trials"),
    [
        ([1.0, 1.4], 0.0, 0.0, None),
        ([1.4, 1.0], 0.6, 0.7, None),
        ([0.1, 0.3], 0.8, 0.85, [60.0, 30.0]),
        ([2.4, 2.0], 0.9, 0.9, [25.0, 40.0]),
    ],
)
@pytest.mark.parametrize("prior", [EffectPrior.default(), EffectPrior.flat()], ids=["default", "flat"])
def test_grid_against_plain_integration(estimates, r, likeness, trials, prior):
    found = evidence(estimates, r, likeness, trials)
    law = LooJoint(found, prior).difference(0, 1)
    mean, sd, better = by_brute_force(found, prior)
    assert law.mean == pytest.approx(mean, abs=2e-4)
    assert law.sd == pytest.approx(sd, rel=0.01)
    assert law.beyond(0.0)[0] == pytest.approx(better, abs=2e-3)


def test_nearly_equal_models_hardly_differ_whatever_the_estimates_do():
    """The prior must not inflate the difference of two models that rank nearly alike."""
    sds = []
    for distance in (1e-2, 1e-4, 1e-6):
        joint = LooJoint(evidence([1.0, 1.0], 1 - distance, 1 - distance), EffectPrior.default())
        sds.append(joint.difference(0, 1).sd)
    np.testing.assert_allclose(sds[1:], np.array(sds[:-1]) / 10, rtol=0.05)


def test_stronger_correlation_makes_the_same_gap_more_certain():
    chances = [
        LooJoint(evidence([1.4, 1.1], r, 0.5), EffectPrior.default()).difference(0, 1).beyond(0)[0]
        for r in (0.0, 0.4, 0.8)
    ]
    assert 0.6 < chances[0] < chances[1] < chances[2] < 0.99


@pytest.mark.parametrize(("estimates", "r"), [([1.0, 1.4], 0.2), ([0.8, 0.9], 0.8), ([1.9, 1.2], 0.5)])
def test_draws_for_many_agree_with_the_grid_for_two(estimates, r):
    found = evidence(estimates, r, r)
    better = LooJoint(found, EffectPrior.flat()).difference(0, 1).beyond(0)[0]
    assert wins(found)[0] == pytest.approx(better, abs=0.02)


def test_equal_evidence_gives_equal_chances():
    np.testing.assert_allclose(wins(evidence([1.0] * 4, 0.3, 0.3)), 0.25, atol=0.01)


def test_law_of_draws():
    draws = np.random.default_rng(0).normal(0.02, 0.03, 40_000)
    law = Difference.of_draws(draws)
    assert law.mean == pytest.approx(draws.mean(), abs=1e-4)
    assert law.sd == pytest.approx(draws.std(), rel=0.01)
    assert law.interval(0.9) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])), abs=1e-3)
    assert law.mirrored().mirrored().interval() == pytest.approx(law.interval(), abs=1e-15)
    assert law.points.flags.writeable is False


@pytest.mark.parametrize("bad", [(lambda d: d.interval(1.2)), (lambda d: d.ppf(2)), (lambda d: d.sample("x"))])
def test_bad_questions(bad):
    with pytest.raises(fl.InputError):
        bad(Difference.none())


@pytest.mark.filterwarnings("ignore::foldless.OptimismWarning")
def test_in_sample_against_draws_of_the_full_posterior(make_data):
    """60,000 draws of Sigma (3 x 3) and of both means under the paper's prior, seen along two weight vectors."""
    X, y, w = make_data(11, 14, 9, 3, shift=0.8)
    v = w * np.array([1.0, 0.2, -0.4])
    rng, P = np.random.default_rng(1), 3
    S, nu, m, n = np.eye(P), [], [], len(y)
    for k in (0, 1):
        rows = X[y == k]
        mean = rows.mean(axis=0)
        S = S + (rows - mean).T @ (rows - mean) + len(rows) * 0.5 / (len(rows) + 0.5) * np.outer(mean, mean)
        nu.append(len(rows) + 0.5)
        m.append(len(rows) * mean / nu[-1])
    sigma = invwishart.rvs(df=P + 2 + n, scale=S, size=60_000, random_state=rng)
    root = np.linalg.cholesky(sigma)
    gap = m[1] - m[0] + (root @ rng.normal(size=(60_000, P, 1)))[..., 0] * np.sqrt(1 / nu[0] + 1 / nu[1])
    auc = [ndtr(gap @ u / np.sqrt(np.einsum("i,nij,j->n", u, sigma, u)) / np.sqrt(2)) for u in (w, v)]
    found = fl.compare(w, v, X, y, method="in-sample", rope=0.01)
    draws = auc[0] - auc[1]
    assert found.difference.mean == pytest.approx(draws.mean(), abs=5e-4)
    assert found.difference.sd == pytest.approx(draws.std(), rel=0.02)
    assert found.difference.interval(0.9) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])), abs=4e-3)
    assert found.prob_a_better == pytest.approx(np.mean(draws > 0.01), abs=0.008)
    assert found.difference.mean == pytest.approx(found.a.mean - found.b.mean, abs=3e-4)


@pytest.mark.filterwarnings("ignore::foldless.OptimismWarning")
@pytest.mark.parametrize(
    "prior",
    [fl.Prior.paper(), fl.Prior.improper(), fl.Prior.scaled_identity(), fl.Prior.known_covariance(1.0, nu0=1, nu1=1)],
)
def test_in_sample_means_are_those_of_each_classifier(make_data, prior):
    """E[AUC_a - AUC_b] = E[AUC_a] - E[AUC_b], the latter in closed form."""
    X, y, w = make_data(4, 30, 25, 4, shift=0.6)
    found = fl.compare(w, RidgeClassifier().fit(X, y), X, y, method="in-sample", prior=prior)
    assert found.difference.mean == pytest.approx(found.a.mean - found.b.mean, abs=3e-4)
    assert found.difference.sd > 1e-3
