"""Which of many models is best: draws of all their differences at once.

The law is that of `foldless.comparison.loo` for every two of them, with the covariance of the estimates taken at the
estimates: so K models cost little more than two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri

from foldless._check import Floats
from foldless.comparison.draws import spread_out
from foldless.comparison.paired import PairedEvidence
from foldless.honest.posterior import HIGH, LOW
from foldless.honest.statistics import SeparationStatistic

# The separation along the difference of two classifiers' directions is typically LEAST where both are at chance, and
# grows to SHARE of their own separation; its law has Cauchy tails. See docs/compare.md.
LEAST, SHARE, TAIL_DF = 0.1, 0.4, 1.0
DRAWS = 1 << 13
MIXTURE = (np.arange(24) + 0.5) / 24  # quantiles of the scale that turns a normal law into a t


def center(statistic: SeparationStatistic) -> Floats:
    """The estimate, within the range of the prior."""
    return np.asarray(np.clip(statistic.estimate, LOW, HIGH))


def typical_gap(separation: Any) -> Any:
    """Typical separation along the difference of the directions of two classifiers whose own is `separation`."""
    return np.hypot(LEAST, SHARE * separation)


def wins(evidence: PairedEvidence) -> Floats:
    """How often each of the models, all different, comes out best."""
    K = len(evidence.statistics)
    if K == 1:
        return np.ones(1)
    estimate = np.array([float(center(s)) for s in evidence.statistics])
    V = evidence.mean_covariance + evidence.scale_covariance * np.multiply.outer(estimate, estimate)
    V = V * evidence.df / max(evidence.df - 2, 1.0)  # variance of the t law that `difference` uses
    contrasts = np.linalg.qr(np.column_stack([np.ones(K), np.eye(K)[:, 1:]]))[0][:, 1:]
    V = contrasts.T @ V @ contrasts
    P = typical_gap(estimate.mean()) ** 2 * contrasts.T @ evidence.likeness @ contrasts
    draws = _draws_of_contrasts(contrasts.T @ estimate, _positive(V), _positive(P)) @ contrasts.T
    return np.asarray(np.bincount(draws.argmax(axis=1), minlength=K) / len(draws))


def _draws_of_contrasts(x: Floats, V: Floats, P: Floats) -> Floats:
    """Draws (n, K - 1) from the posterior of x_true given x ~ N(x_true, V) and a t prior with scale matrix P.

    The t prior is a mixture of N(0, u P) over u; each u is weighted by the evidence of x under it.
    """
    u = TAIL_DF / 2 / gammaincinv(TAIL_DF / 2, MIXTURE)
    solved = [np.linalg.solve(V + each * P, np.column_stack([x, V])) for each in u]
    evidence = np.array(
        [-0.5 * (np.linalg.slogdet(V + e * P)[1] + x @ s[:, 0]) for e, s in zip(u, solved, strict=True)]
    )
    share = np.exp(evidence - evidence.max())
    numbers = spread_out(DRAWS, x.size + 1)
    which = np.minimum(np.searchsorted(np.cumsum(share) / share.sum(), numbers[:, 0]), u.size - 1)
    normal = np.asarray(ndtri(numbers[:, 1:]), dtype=np.float64)
    out = np.empty_like(normal)
    for k in np.unique(which):
        mean = x - V @ solved[k][:, 0]
        covariance = V - V @ solved[k][:, 1:]
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        out[which == k] = mean + normal[which == k] @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return out


def _positive(matrix: Floats) -> Floats:
    """The nearest matrix whose eigenvalues are all positive."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    floor = 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)
