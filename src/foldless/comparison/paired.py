"""How the errors of several estimates from the same rows vary together, and which model is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri

from foldless.checks import Floats, Ints
from foldless.errors import EstimatorError
from foldless.honest.class_statistic import Component, RefittedRows, TrainingRows, effects_of_rows
from foldless.honest.held_out import HeldOut, ModelPairs, agreement_of, factor_of
from foldless.honest.pairs import Pairs
from foldless.honest.posterior import HIGH, LOW
from foldless.honest.refits import Refits
from foldless.honest.rows import Removed
from foldless.honest.statistic import SeparationStatistic


def spread_out(count: int, dimensions: int) -> Floats:
    """Sobol points strictly inside the unit cube, shape (count, dimensions); count a power of two."""
    from scipy.stats import qmc

    points = qmc.Sobol(dimensions, scramble=False).random(count)
    # All coordinates are multiples of 1/count, from 0 on: move the points to the middle of their cells.
    return np.asarray(points + 0.5 / count)


# With I_ij the effect of training row j on the honest score of row i, in units of the spread of the scores, the errors
# of models a and b have the correlation (derived in docs/compare.md)
#
#     r = (R + T_ab) / sqrt((1 + T_aa)(1 + T_bb)),      R    from the placements of every row in both
#                                                       T_ab = sum over pairs of I^a_ij I^b_ji (made symmetric)

SAME = 1e-10  # one minus the correlation of scores, below which two models rank all rows alike


@dataclass(frozen=True, eq=False)
class PairedEvidence:
    """What the orders of K models on the same rows are worth, and how their errors vary together."""

    statistics: tuple[SeparationStatistic, ...]
    correlation: Floats  # (K, K) of the errors
    likeness: Floats  # (K, K) correlation of honest scores within the classes; 1 for models that rank all rows alike

    @property
    def df(self) -> float:
        """Degrees of freedom: those of the model whose worth is known least."""
        return min(s.df for s in self.statistics)

    def same(self, a: int, b: int) -> bool:
        """Whether two models rank all rows alike."""
        return bool(a == b or self.likeness[a, b] >= 1 - SAME)

    def among(self, kept: Sequence[int]) -> PairedEvidence:
        """The evidence of some of the models."""
        parts = (each[np.ix_(kept, kept)] for each in (self.correlation, self.likeness))
        return PairedEvidence(tuple(self.statistics[k] for k in kept), *parts)

    @property
    def covariance(self) -> Floats:
        """Of the estimated separations."""
        errors = np.array([s.separation_error for s in self.statistics])
        return np.asarray(self.correlation * np.multiply.outer(errors, errors))


@dataclass(frozen=True, eq=False)
class _Model:
    """One model's honest scores, as the pairing needs them."""

    removed: Removed
    statistic: SeparationStatistic

    @property
    def pairs(self) -> Pairs | ModelPairs:
        return self.removed.pairs

    @property
    def rows(self) -> tuple[Ints, Ints]:
        """Positive and negative rows that the pairs are made of."""
        return self.removed.rows1, self.removed.rows0

    @cached_property
    def deviations(self) -> tuple[Floats, Floats]:
        """Mean difference of every positive and of every negative row against the other class, about its mean."""
        margin1, margin0 = self.removed.pairs.margins
        return margin1 - margin1.mean(), margin0 - margin0.mean()

    @cached_property
    def effects(self) -> Floats:
        """What each independent unit (row or group) contributes to the share of ordered pairs."""
        ranks = self.pairs.ranks()
        each = (ranks.by_row1, ranks.by_row0)
        shares = [(v - v.mean()) / np.sqrt(v.size * max(v.size - 1, 1)) for v in each]
        if self.removed.groups is None:
            return np.concatenate(shares)
        codes = self.removed.groups[np.concatenate(self.rows)]
        return np.asarray(np.bincount(codes, weights=np.concatenate(shares)), dtype=np.float64)

    @cached_property
    def influence(self) -> tuple[Floats, Floats]:
        """I_ij and I_ji for all pairs of a positive row (or group) i and a negative one j, as parts of the estimate."""
        r = self.removed
        on1 = r.without_pair1 - r.loo[r.sampled1][:, None]
        on0 = r.without_pair0 - r.loo[r.sampled0]
        on1 = (on1 - on1.mean(axis=0)) / on1.shape[0]
        on0 = (on0.mean(axis=1, keepdims=True) - on0) / on0.shape[1]
        if r.groups is None:
            return on1, on0
        return _over_groups(on1, on0, r.groups[r.sampled1], r.groups[r.sampled0])

    def ranks_like(self, other: Any) -> bool:
        """Whether the fits have the same direction; their honest scores may still differ, as with a single column.

        Scores are compared within the classes: all fits that reproduce the labels exactly agree between the classes.
        """
        z = [(m.removed.z[m.removed.rows1], m.removed.z[m.removed.rows0]) for m in (self, other)]
        x, y = (np.concatenate([part - part.mean() for part in parts]) for parts in z)
        return np.array_equal(self.removed.loo, other.removed.loo) or _correlation(x, y) >= 1 - SAME

    def noise_shared_with(self, other: Any) -> tuple[float, float, float]:
        """T_ab, T_aa and T_bb: each model's noise share, times the agreement of I_ij with I_ji.

        Estimated from the pairs with one row of each class.
        """
        of_a, of_b = influences = _on_common_rows(self, other)
        both = float(np.vdot(of_a[0], of_b[1])) + float(np.vdot(of_b[0], of_a[1]))
        own = [2 * float(np.vdot(*each)) for each in influences]
        norms = [np.sqrt(sum(float(np.vdot(i, i)) for i in each)) for each in influences]
        return _noise_shared(both, own, norms, [m.statistic.noise_share for m in (self, other)])


@dataclass(frozen=True, eq=False)
class _OfClasses:
    """One model's honest scores of more than two classes."""

    rows: Any  # TrainingRows, or RefittedRows
    parts: Sequence[Component]  # the AUCs whose mean is compared
    statistic: SeparationStatistic

    @cached_property
    def deviations(self) -> tuple[Floats, ...]:
        """Honest scores of all classes, each about its mean over the rows of a class."""
        return self._within_classes(self.rows.honest.tensor.alone)

    @cached_property
    def effects(self) -> Floats:
        """What each row contributes to the average AUC."""
        return effects_of_rows(self.rows.codes, self.parts)

    def ranks_like(self, other: Any) -> bool:
        """Whether the fits have the same directions."""
        x, y = (np.concatenate(m._within_classes(m.rows.honest.tensor.level)) for m in (self, other))
        return _correlation(x, y) >= 1 - SAME

    def noise_shared_with(self, other: Any) -> tuple[float, float, float]:
        """T_ab, T_aa and T_bb, from all pairs of rows that both samples hold."""
        first, second = (m.rows.honest.drawn.rows for m in (self, other))
        places = np.intersect1d(first, second, return_indices=True)[1:]
        of_a, of_b = (m.rows.influence(m.parts)[np.ix_(p, p)] for m, p in zip((self, other), places, strict=True))
        own, norms = zip(*((float(np.vdot(m, m.T)), float(np.linalg.norm(m))) for m in (of_a, of_b)), strict=True)
        shares = [m.statistic.noise_share for m in (self, other)]
        return _noise_shared(float(np.vdot(of_a, of_b.T)), own, norms, shares)

    def _within_classes(self, scores: Floats) -> tuple[Floats, ...]:
        classes = (np.flatnonzero(self.rows.codes == k) for k in range(len(scores)))
        return tuple((part - part.mean(axis=1, keepdims=True)).ravel() for part in (scores[:, r] for r in classes))


@dataclass(frozen=True, eq=False)
class _RefittedClasses(_OfClasses):
    """The same by refits, which leave out rows or whole groups."""

    @cached_property
    def deviations(self) -> tuple[Floats, ...]:
        """Scores of all repeats about their class means."""
        return (self.rows.deviations.ravel(),)

    @cached_property
    def effects(self) -> Floats:
        """What each row, or group, contributes to the average AUC."""
        effects = effects_of_rows(self.rows.codes, self.parts)
        if self.rows.groups is None:
            return effects
        return np.asarray(np.bincount(self.rows.groups, effects), dtype=np.float64)

    def noise_shared_with(self, other: Any) -> tuple[float, float, float]:
        """T_ab, T_aa and T_bb."""
        return _noise_of_refits(self.rows, other.rows)


def _noise_shared(
    both: float, own: Sequence[float], norms: Sequence[float], shares: Sequence[float]
) -> tuple[float, float, float]:
    """T_ab, T_aa and T_bb from the products and lengths of the influences, and the noise shares."""
    if min(norms) == 0:
        return 0.0, 0.0, 0.0
    shared = both / (norms[0] * norms[1]) * float(np.sqrt(shares[0] * shares[1]))
    of_a, of_b = (max(o, 0.0) * s / n**2 for o, s, n in zip(own, shares, norms, strict=True))
    return shared, of_a, of_b


@dataclass(frozen=True, eq=False)
class _Refitted(_Model):
    """One model's scores by refits; those of the other model come from the same splits."""

    held: HeldOut

    @property
    def pairs(self) -> Pairs | ModelPairs:
        return self.held.pairs  # only scores by one and the same fit are compared

    @property
    def rows(self) -> tuple[Ints, Ints]:
        return self.held.pairs.rows

    @cached_property
    def deviations(self) -> tuple[Floats, Floats]:
        """Scores of all repeats about their class means."""
        off, positive = self.held.deviations, self.held.positive
        return off[:, positive].ravel(), -off[:, ~positive].ravel()

    def noise_shared_with(self, other: Any) -> tuple[float, float, float]:
        """T_ab, T_aa and T_bb."""
        return _noise_of_refits(self.held, other.held)


def _noise_of_refits(first: HeldOut | RefittedRows, second: HeldOut | RefittedRows) -> tuple[float, float, float]:
    """T_ab, T_aa and T_bb, from the noise factor of each model and from that of their difference.

    In units of the spread of the scores the difference has the variance 2 (1 - c) for scores with correlation c, and,
    like any score, r times that in the mean. What it is less than r_a + r_b is twice the covariance.
    """
    if not (np.any(first.deviations) and np.any(second.deviations)):  # every refit ignores its columns
        return 0.0, 0.0, 0.0
    a, b = (each.deviations / np.sqrt(np.mean(each.deviations**2)) for each in (first, second))
    distance = float(np.mean((a - b) ** 2))
    ra, rb, apart = (factor_of(agreement_of(each), first.share) for each in (a, b, a - b))
    return (ra + rb - distance * apart) / 2 - (1 - distance / 2), ra - 1, rb - 1


def paired_evidence(removed: Sequence[Removed], statistics: Sequence[SeparationStatistic]) -> PairedEvidence:
    """Evidence of K models from their honest scores on the same rows."""
    return _evidence([_Model(r, s) for r, s in zip(removed, statistics, strict=True)])


def refitted_evidence(refits: Sequence[Refits]) -> PairedEvidence:
    """The same from refits on the same splits."""
    _refuse_chance([(each.held.scores, each.removed.z) for each in refits])
    return _evidence([_Refitted(each.removed, each.statistic, each.held) for each in refits])


def class_evidence(
    models: Sequence[tuple[TrainingRows | RefittedRows, Sequence[Component], SeparationStatistic]],
) -> PairedEvidence:
    """The same from honest scores of more than two classes."""
    refitted = isinstance(models[0][0], RefittedRows)
    if refitted:
        _refuse_chance([(each.honest.repeats, each.honest.level) for each, _, _ in models])
    return _evidence([(_RefittedClasses if refitted else _OfClasses)(*each) for each in models])


def _refuse_chance(models: Sequence[tuple[Any, Floats]]) -> None:
    """Refuse models with the same scores of refits, but other scores of their own fits."""
    for (a, own), (b, other) in combinations(models, 2):
        if np.array_equal(a, b) and not np.allclose(own, other):
            raise EstimatorError(
                "two of the classifiers differ only by the random numbers of their fits, and without a random_state "
                "their refits are the same: give each its own random_state and fit again, or compare one of them."
            )


def _evidence(models: Sequence[_Model | _OfClasses]) -> PairedEvidence:
    K = len(models)
    correlation, likeness = np.ones((K, K)), np.ones((K, K))
    for (a, first), (b, second) in combinations(enumerate(models), 2):
        correlation[a, b], likeness[a, b] = correlation[b, a], likeness[b, a] = _agreement(first, second)
    return PairedEvidence(tuple(m.statistic for m in models), correlation, likeness)


def _agreement(a: _Model | _OfClasses, b: _Model | _OfClasses) -> tuple[float, float]:
    """Correlation of the errors of two models, and likeness of their scores."""
    if a.ranks_like(b):
        return 1.0, 1.0
    alike = _correlation(*(np.concatenate(m.deviations) for m in (a, b)))  # of the scores within the classes
    # A model that orders all pairs has no placements that vary: its scores tell how alike the errors are.
    vary = all(float(m.effects @ m.effects) > 0 for m in (a, b))
    shared = _correlation(a.effects, b.effects) if vary else alike
    return _with_noise(shared, *a.noise_shared_with(b)), alike


def _on_common_rows(a: _Model, b: _Model) -> list[tuple[Floats, Floats]]:
    """The influences of both among the rows that both samples hold: each adds the rows that are influential in it."""
    if a.removed.groups is not None:  # groups are drawn alike
        return [a.influence, b.influence]
    parts = [(m.removed.sampled1, m.removed.sampled0) for m in (a, b)]
    common = [np.intersect1d(x, y, return_indices=True)[1:] for x, y in zip(*parts, strict=True)]
    return [
        (m.influence[0][np.ix_(*places)], m.influence[1][np.ix_(*places)])
        for m, places in zip((a, b), zip(*common, strict=True), strict=True)
    ]


def _with_noise(R: float, shared: float, own_a: float, own_b: float) -> float:
    """r = (R + T_ab) / sqrt((1 + T_aa)(1 + T_bb)).

    Capped so that the difference of the two varies at least as much as the rows alone make it vary.
    """
    inflation = np.sqrt((1 + own_a) * (1 + own_b))
    return float(np.clip((R + shared) / inflation, -1.0, 1 - max(1 - R, 0.0) / inflation))


def _correlation(x: Floats, y: Floats) -> float:
    length = np.sqrt(float(x @ x) * float(y @ y))
    return float(np.clip(x @ y / length, -1.0, 1.0)) if length > 0 else 0.0


def _over_groups(on1: Floats, on0: Floats, groups1: Ints, groups0: Ints) -> tuple[Floats, Floats]:
    """Influence of each group on every other group: the sum over its rows."""
    _, first1, code1 = np.unique(groups1, return_index=True, return_inverse=True)
    _, first0, code0 = np.unique(groups0, return_index=True, return_inverse=True)
    member1 = (code1 == np.arange(first1.size)[:, None]).astype(np.float64)
    member0 = (code0 == np.arange(first0.size)[:, None]).astype(np.float64)
    return member1 @ on1[:, first0], on0[first1] @ member0.T


# The separation along the difference of two classifiers' directions is typically LEAST if both are at chance, and grows
# to SHARE of their own separation; its law has Cauchy tails (docs/compare.md).
LEAST, SHARE, TAIL_DF = 0.1, 0.4, 1.0
DRAWS = 1 << 13


def center(statistic: SeparationStatistic) -> float:
    """The estimate, within the range of the prior."""
    return float(np.clip(statistic.estimate, LOW, HIGH))


def typical_gap(separation: Any) -> Any:
    """Typical separation along the difference of the directions of two classifiers whose own is `separation`."""
    return np.hypot(LEAST, SHARE * separation)


def wins(evidence: PairedEvidence) -> Floats:
    """How often each of the models, all different, is best, from draws of all their differences at once.

    For any two of them the law is that of `foldless.comparison.joint`, but with the covariance taken at the estimates,
    so that K models cost little more than two.
    """
    K = len(evidence.statistics)
    if K == 1:
        return np.ones(1)
    estimate = np.array([center(s) for s in evidence.statistics])
    V = evidence.covariance * evidence.df / max(evidence.df - 2, 1.0)  # variance of the t law that `difference` uses
    contrasts = np.linalg.qr(np.column_stack([np.ones(K), np.eye(K)[:, 1:]]))[0][:, 1:]
    V = contrasts.T @ V @ contrasts
    P = typical_gap(estimate.mean()) ** 2 * contrasts.T @ evidence.likeness @ contrasts
    draws = _draws_of_contrasts(contrasts.T @ estimate, _positive(V), _positive(P)) @ contrasts.T
    return np.asarray(np.bincount(draws.argmax(axis=1), minlength=K) / len(draws))


def _draws_of_contrasts(x: Floats, V: Floats, P: Floats) -> Floats:
    """Draws (n, K - 1) from the posterior of x_true given x ~ N(x_true, V) and a t prior with scale matrix P.

    The t prior is a mixture of N(0, u P) over u; each u is weighted by the evidence of x under it.
    """
    u = TAIL_DF / 2 / gammaincinv(TAIL_DF / 2, (np.arange(24) + 0.5) / 24)
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
