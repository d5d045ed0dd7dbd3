"""The paper's model along several weight vectors at once.

With s_ab = w_a'S*w_b, the covariance of the K scores is W'Sigma W = s / Wishart, so that

    delta_k = (w_k'(m1* - m0*) + c (W'Sigma W)^(1/2) Z)_k / sqrt(w_k'Sigma w_k),     c^2 = 1/nu0* + 1/nu1*

and every delta_k alone has the law of `foldless.honest.in_sample.separation`. Sobol points replace random draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri

from foldless.checks import Floats, is_sparse
from foldless.comparison.difference import Difference
from foldless.comparison.paired import SAME, spread_out
from foldless.errors import PriorError
from foldless.honest.in_sample import score_posterior, view_posterior
from foldless.laws.conjugate import ScorePosterior
from foldless.laws.effect import SQRT2
from foldless.laws.prior import Prior
from foldless.model.view import LinearView

DRAWS = 1 << 14
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class InSampleJoint:
    """Joint posterior of the AUCs of K classifiers."""

    delta: Floats  # (DRAWS, K) draws of the separations
    first: tuple[int, ...]  # for each classifier, the one that represents all with its direction
    rank: tuple[int, ...]  # position of each classifier in an order that does not depend on that of the user

    def correlation(self, a: int, b: int) -> float:
        """Correlation of the two separations under the posterior; 0 where one of them is certain."""
        if self.first[a] == self.first[b]:
            return 1.0
        pair = self.delta[:, [a, b]].T
        pair = pair / np.maximum(np.abs(pair).max(axis=1, keepdims=True), TINY)  # squares of 1e306 overflow
        return float(np.corrcoef(pair)[0, 1]) if np.ptp(pair, axis=1).all() else 0.0

    def difference(self, a: int, b: int) -> Difference:
        """Posterior of AUC_a - AUC_b."""
        if self.first[a] == self.first[b]:
            return Difference.none()
        if self.rank[a] > self.rank[b]:
            return self.difference(b, a).mirrored()
        first, second = ndtr(self.delta[:, [a, b]] / SQRT2).T
        return Difference.of_draws(first - second)

    def prob_best(self) -> Floats:
        """For each classifier, the probability that it has the largest AUC; those with the same direction share it."""
        kept = sorted(set(self.first))
        wins = np.bincount(self.delta[:, kept].argmax(axis=1), minlength=len(kept)) / len(self.delta)
        share = dict(zip(kept, wins, strict=True))
        return np.array([share[k] / self.first.count(k) for k in self.first])


def in_sample_joint(views: Sequence[LinearView], prior: Prior) -> InSampleJoint:
    """Joint posterior of classifiers on their training rows; the draws do not depend on the order of `views`."""
    if prior.family == "adaptive":
        raise PriorError("Prior.adaptive() has no joint posterior: use Prior.paper(), or method='loo'.")
    given = [_Along.of(view, prior) for view in views]
    order = sorted(range(len(given)), key=lambda k: given[k].key)
    models = [given[k] for k in order]
    C = np.eye(len(models))
    for a, one in enumerate(models):
        for b, other in enumerate(models[:a]):
            C[a, b] = C[b, a] = _correlation(one, other, prior)
    first = [int(np.argmax(row[: k + 1] >= 1 - SAME)) for k, row in enumerate(C)]
    rank = [order.index(k) for k in range(len(order))]
    delta = _draws(models, C)[:, first]
    return InSampleJoint(delta[:, rank], tuple(order[first[k]] for k in rank), tuple(rank))


@dataclass(frozen=True, eq=False)
class _Along:
    """One classifier with the posterior along its weights, in units in which the posterior scale of the scores is 1."""

    view: LinearView
    posterior: ScorePosterior
    weights: Floats
    scores: Floats

    @classmethod
    def of(cls, view: LinearView, prior: Prior) -> _Along:
        posterior = view_posterior(view, prior)
        return cls(view, posterior, view.w / posterior.unit, (view.scores() - view.intercept) / posterior.unit)

    @property
    def key(self) -> tuple[float, ...]:
        return float(self.posterior.location), float(self.posterior.unit), *self.view.w.tolist()


def _correlation(a: _Along, b: _Along, prior: Prior) -> float:
    """Correlation s_ab / sqrt(s_aa s_bb) of the scores under S*, from the scale along w_a - w_b."""
    if _one_space(a.view, b.view):
        gap, X = a.weights - b.weights, a.view.X
        if np.max(np.abs(gap)) <= SAME * np.max(np.abs(a.weights)):
            return 1.0
    else:
        gap, X = np.concatenate([a.weights, -b.weights]), None
        _refuse_incomparable(a, b, prior)
    between = score_posterior(X, a.view.labels.positive, gap, a.scores - b.scores, prior)
    return float(np.clip(1 - between.unit**2 / 2, -1.0, 1.0))


def _refuse_incomparable(a: _Along, b: _Along, prior: Prior) -> None:
    """Classifiers on different columns need a prior that treats the joined columns as it treats each set alone."""
    scalar = all(np.ndim(part) == 0 for part in (prior.mean0, prior.mean1, prior.scale))
    scalar = scalar and (prior.kappa is None or prior.family == "known")
    if prior.family == "scaled-identity" or a.posterior.df != b.posterior.df or not scalar:
        raise PriorError(
            f"the classifiers see different columns (or differently scaled ones), for which {prior.name} has no joint "
            f"posterior: use Prior.paper(), fit both on the same columns, or use method='loo'."
        )


def _one_space(a: LinearView, b: LinearView) -> bool:
    if a.X is b.X:
        return True
    if a.X.shape != b.X.shape or is_sparse(a.X) != is_sparse(b.X):
        return False
    return (a.X != b.X).nnz == 0 if is_sparse(a.X) else bool(np.array_equal(a.X, b.X))


def _draws(models: list[_Along], C: Floats) -> Floats:
    """Separations (DRAWS, K); C is the correlation of the scores under S*."""
    K, df, spread = len(models), models[0].posterior.df, models[0].posterior.spread
    location = np.array([float(m.posterior.location) for m in models])
    values, vectors = np.linalg.eigh(C)
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    numbers = spread_out(DRAWS, K + K * (K + 1) // 2)
    z = ndtri(numbers[:, :K])
    if np.isinf(df):
        return np.asarray(location + spread * z @ L.T)
    root = L @ np.linalg.inv(_bartlett(numbers[:, K:], K, df + K - 1)).transpose(0, 2, 1) * np.sqrt(df)
    return np.asarray((location + spread * np.einsum("nij,nj->ni", root, z)) / np.sqrt(np.sum(root**2, axis=2)))


def _bartlett(numbers: Floats, K: int, df: float) -> Floats:
    """Lower triangular T (n, K, K) with T T' ~ Wishart(I, df): chi on the diagonal, normal below."""
    T = np.zeros((len(numbers), K, K))
    for i in range(K):
        T[:, i, i] = np.sqrt(2 * gammaincinv((df - i) / 2, numbers[:, i]))
    rows, columns = np.tril_indices(K, -1)
    T[:, rows, columns] = ndtri(numbers[:, K:])
    return T
