"""What removal gives: honest scores and where they come from; here of rows that are removed one by one, or in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from foldless.checks import Bools, Floats, Ints
from foldless.errors import EstimatorError
from foldless.honest.design import BLOCK_ENTRIES, MAX_LEVERAGE, blocks
from foldless.honest.newton import LEFT, MOST_ROWS, TINY, UNSETTLED, Factor, second_steps, unsettled, without_row
from foldless.honest.objective import Loss
from foldless.honest.pairs import FOR_NOISE, Pairs, PairSample, Sample, in_doubt, influential
from foldless.honest.pairs import pair_differences as differences
from foldless.honest.removal import LocalModel, Problem, between_influence, cross_shifts, pair_slopes, within_influence
from foldless.honest.scaling import Corrections

OfPairs = tuple[Floats, Floats]  # of positive and of negative rows, each (n1, n0)
MATERIAL = 0.99  # a cosine below this: the results are not those of the user's weights
TOO_MANY = 0.15  # rows without which the fit is not reached: hardly any sample of a data set with C = 100 had more


@dataclass(frozen=True)
class Provenance:
    """How honest scores were obtained."""

    method: str  # "loo", "loo-surrogate" or "refit"
    family: str  # the classifier, in words
    residual: float = float("nan")  # optimality residual of the user's fit, the largest of several; nan for a surrogate
    polished: bool = False  # whether Newton steps were taken from the user's fit
    direction_cosine: float = 1.0  # agreement of the user's direction with the polished one; 1 if not polished
    match: float = 1.0  # agreement of the user's direction with the surrogate's; 1 where the objective is known
    notes: tuple[str, ...] = ()  # what a reader of the result has to know
    off_scale: bool = False  # whether the user's scores lie elsewhere, though they point nearly the same way
    unsettled: float = 0.0  # share of rows without which the Newton steps do not reach the fit

    @property
    def reached(self) -> bool:
        """Whether the Newton steps reach the fits without single rows, but for a few."""
        return self.unsettled <= TOO_MANY

    @property
    def strain(self) -> str | None:
        """The note that deserves a warning: the results are those of a classifier other than the user's."""
        return self.notes[0] if self.off_scale or self.direction_cosine < MATERIAL else None

    def details(self) -> dict[str, Any]:
        """Figures for the summary of a result."""
        known = self.method == "loo"
        return {
            "family": self.family,
            "residual": self.residual if known else None,
            "polished": self.polished,
            "match": self.match if self.method == "loo-surrogate" else None,
        }


@dataclass(frozen=True, eq=False)
class Removed:
    """Scores of training rows under fits without them, on the scale of decision_function.

    Positive rows score higher. "Without" a row means without its whole group where groups were given.

    `drift` tells how far removal moves the scores of the remaining rows on average: the part of an honest score that
    is a change of the intercept and not of the row's own rank. It cancels in differences of scores.

    With I_ij = z_i(-ij) - z_i(-i) the effect of row (or group) j on the honest score of i, centred per class and
    column, and estimated from the sampled rows,

        influence_sq = (1/N) sum_k n_k/(n_k - 1) sum_{i in k, j != i} I_ij^2,

    which divided by the pooled within-class variance of the scores is the share of training noise, and

        cluster_influence_sq = sum over ordered pairs of different groups a, h of (sum_{i in a} +-I_ih / n_k)^2

    is the part of the clustered variance of the difference of class means that is training noise; without groups every
    row is its own.
    """

    rows1: Ints  # (n1,) positive rows
    rows0: Ints  # (n0,) negative rows
    sampled1: Ints  # (m1,) those on which pairs were evaluated: all unless there are many
    sampled0: Ints  # (m0,)
    z: Floats  # (N,) in-sample scores at the optimum
    loo: Floats  # (N,) score of each row without it
    without_pair1: Floats  # (m1, m0) scores of positive row i from the fit without i and j
    without_pair0: Floats  # (m1, m0) scores of negative row j from the same fit
    partnered: Floats  # (N,) score of each row without it and a row of the other class, averaged over such partners
    pairs: Pairs  # differences of scores over all pairs, both without the pair
    drift: float
    influence_sq: float
    cluster_influence_sq: float
    groups: Ints | None  # (N,) group of each row, as codes 0, 1, ...
    provenance: Provenance

    @property
    def undrifted(self) -> Floats:
        """`partnered` with the drift of the intercept undone: the classifier in use was trained on all rows."""
        return self.partnered - self.drift

    @property
    def by_class(self) -> tuple[Floats, Floats]:
        """The undrifted scores of the negative and the positive rows."""
        return self.undrifted[self.rows0], self.undrifted[self.rows1]


# ---- Honest scores when rows are independent: remove one row, or one row of each class.


def by_row(problem: Problem, rows: Ints, provenance: Provenance) -> Removed:
    """Honest scores with rows removed one by one; pairs among `rows`, a random sample of each class or all rows."""
    model = problem.local_model(rows, exact=False)
    corrections = problem.corrections(model, rows)
    alone = without_each(problem, model, rows, corrections)
    sample = Sample.of(problem.positive, rows, alone.certain(problem.positive, rows))
    if sample.rows.size > rows.size:
        model = problem.local_model(sample.rows, exact=False)
        corrections = problem.corrections(model, sample.rows)
    first, second = sample.members
    sampled = sample.rows[first.rows], sample.rows[second.rows]
    shift1, shift0, bystanders = cross_shifts(model, first, second)
    kept, noise = (shift1, shift0), problem.slope**2
    sums = influence_sums(problem, model, alone, sample, *kept)
    if corrections is not None:
        more = corrections.pairs(first.rows, second.rows, partial(pair_slopes, model))
        noise *= growth(problem, sampled, kept, more)
        shift1, shift0 = shift1 + more[0], shift0 + more[1]
        level = _held_back(problem, model, sample, shift1, shift0)
        shift1, shift0, bystanders = shift1 + level, shift0 + level, bystanders + float(np.mean(level))
    alone, shift1, shift0 = settled(problem, model, alone, sample, shift1, shift0)
    score1, score0 = _read_pairs(problem, sampled, (shift1, shift0), kept)
    loo, partnered = _read_alone(problem, rows, alone), _read_partnered(problem, alone)
    refuse_infinite(provenance.family, loo, partnered, score1, score0)
    additive = partnered - problem.slope * alone.other
    pairs, partnered = pairs_of_sample(problem, sample, partnered, additive, score1, score0)
    n1, n0 = first.count, second.count
    per_row = n1 / (n1 - 1) * sums[0] + n0 / (n0 - 1) * sums[1]
    return Removed(
        rows1=np.flatnonzero(problem.positive), rows0=np.flatnonzero(~problem.positive),
        sampled1=sampled[0], sampled0=sampled[1],
        z=problem.in_sample(), loo=loo, without_pair1=score1, without_pair0=score0, partnered=partnered, pairs=pairs,
        drift=problem.drift(float(bystanders)),
        influence_sq=noise * per_row / problem.positive.size,
        cluster_influence_sq=noise * (sums[0] / n1**2 + sums[1] / n0**2),
        groups=None, provenance=replace(provenance, unsettled=alone.unsettled),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class WithoutEach:
    """Every row removed on its own, and the mean first-order effect of also removing a partner of the other class.

    `single` is the shift of each row with its scaler kept, `rescaled` with the scaler refitted. Removing a partner
    moves the row by a further `own`; removing the row moves its partner by `other`. `exposure` and `impact`, a_i^2 G_ii
    and (a_i g_i)^2 G_ii with a = 1/(1 - h), measure the effect of others on a row and of the row on others. What the
    penalty on the intercept adds to every score without the row is `held_back`, see `scaling.Intercept`.
    """

    single: Floats
    rescaled: Floats
    own: Floats
    other: Floats
    exposure: Floats
    impact: Floats
    additive: Floats
    held_back: Floats | float
    unsettled: float = 0.0  # see `Provenance`
    stepped: Floats | float = 0.0  # what of `rescaled` comes from further steps

    def certain(self, positive: Bools, rows: Ints) -> Ints:
        """Rows that every sample must contain: those of great influence, and those whose order is in doubt."""
        if rows.size == positive.size:
            return rows
        return np.union1d(influential(self.exposure, self.impact), in_doubt(self.additive, positive, rows.size // 4))


def without_each(problem: Problem, model: LocalModel, rows: Ints, corrections: Corrections | None) -> WithoutEach:
    """All rows in one pass; partners are averaged over `rows`, the rows of `model` and `corrections`."""
    positive = problem.positive
    shares = (mine / np.count_nonzero(mine) for mine in (positive[rows], ~positive[rows]))
    V = (np.stack([part * v for part in shares for v in (model.slope_alone, 1.0 / model.slack)]) @ model.B).T
    complete, intercept = rows.size == positive.size, problem.intercept
    if intercept is not None:
        V = np.column_stack([V, intercept.seen])
    diagonal, products, added = (model.diagonal, model.B @ V, 0.0) if complete else problem.seen(V)
    if complete and corrections is not None:
        added = corrections.single()
    a = 1.0 / (1.0 - np.minimum(diagonal * problem.D, MAX_LEVERAGE))
    own, other = (a * np.where(positive, products[:, 2 + k], products[:, k]) for k in (0, 1))
    single, other = diagonal * a * problem.g, other * problem.g
    held_back: Any = 0.0
    if intercept is not None:
        z = problem.base + single + added
        held_back = intercept.held_back(1, products[:, 4] * a * problem.g, z, problem.D)
        mean0, mean1 = (float(held_back[each].mean()) for each in (~positive, positive))
        own, other = own + np.where(positive, mean0, mean1), other + held_back
    rescaled, exposure, impact = single + added + held_back, a**2 * diagonal, (a * problem.g * np.sqrt(diagonal)) ** 2
    additive = problem.base + problem.gain * (rescaled + own - other)
    return WithoutEach(single, rescaled, own, other, exposure, impact, additive, held_back)


def _held_back(problem: Problem, model: LocalModel, sample: Sample, shift1: Floats, shift0: Floats) -> Floats | float:
    """What the penalty on the intercept adds to all scores without each of the sampled pairs."""
    intercept, (i, j) = problem.intercept, (each.rows for each in sample.members)
    if intercept is None:
        return 0.0
    seen, (_, ui, uj), rows = model.B @ intercept.seen, pair_slopes(model, i, j), sample.rows
    z = problem.base[rows[i], None] + shift1 + problem.base[rows[j]] + shift0
    moved = seen[i, None] * ui + seen[j] * uj
    return np.asarray(intercept.held_back(2, moved, z, model.D[i, None] + model.D[j]))


def settled(
    problem: Problem, model: LocalModel, alone: WithoutEach, sample: Sample, shift1: Floats, shift0: Floats
) -> tuple[WithoutEach, Floats, Floats]:
    """Shifts without each row, and of both rows of each pair, after more steps than one where it takes them."""
    few = sample.complete and sample.rows.size <= MOST_ROWS
    if problem.loss is None or not (few or problem.design.at_hand):
        return alone, shift1, shift0
    if few:
        added = second_steps(problem.base, model, problem.loss, model.slope_alone, sample.rows)
        more = MoreSteps(sample.rows, added, unsettled(problem.base, model, problem.loss, added))
    else:
        more = steps_of_the_few(problem, problem.loss, alone)
    if not more.rows.size:
        return alone, shift1, shift0
    more = more.beside_scaler(alone)
    return more.of_rows(alone, problem.positive), *more.of_pairs(sample, shift1, shift0)


@dataclass(frozen=True, eq=False)
class MoreSteps:
    """What further steps without each of `rows` add to the scores of all rows, (rows, N); see `Provenance`.

    Without a pair it is the sum of what they add without either.
    """

    rows: Ints
    added: Floats
    unsettled: float

    def beside_scaler(self, alone: WithoutEach) -> MoreSteps:
        """The same, and what the scaler adds to a row's score is cut as much as its shift is.

        Slopes that the first step misses, as where the squared hinge has no curvature, hold the score back from either.
        """
        added, own, first = self.added.copy(), (np.arange(self.rows.size), self.rows), alone.single[self.rows]
        grown = np.divide(added[own], first, out=np.zeros_like(first), where=first != 0.0)
        added[own] += np.clip(grown, -1.0, 0.0) * (alone.rescaled - alone.single - alone.held_back)[self.rows]
        return replace(self, added=added)

    def of_rows(self, alone: WithoutEach, positive: Bools) -> WithoutEach:
        """Shifts without each row, and the mean effect of a partner, with these steps."""
        own, other, mine = np.zeros(positive.size), np.zeros(positive.size), positive[self.rows]
        own[self.rows] = self.added[np.arange(self.rows.size), self.rows]
        on0, on1 = (self.added[:, each].mean(axis=1) for each in (~positive, positive))
        other[self.rows] = np.where(mine, on0, on1)
        by0, by1 = (self.added[mine == k].sum(axis=0) / np.count_nonzero(positive == k) for k in (False, True))
        return replace(
            alone, rescaled=alone.rescaled + own, own=alone.own + np.where(positive, by0, by1),
            other=alone.other + other, unsettled=self.unsettled, stepped=own,
        )  # fmt: skip

    def of_pairs(self, sample: Sample, shift1: Floats, shift0: Floats) -> OfPairs:
        """Shifts of both rows of the sampled pairs."""
        i, j = (sample.rows[each.rows] for each in sample.members)
        return self._both(i, j, shift1), self._both(j, i, shift0.T).T

    def _both(self, rows: Ints, partners: Ints, shifts: Floats) -> Floats:
        """Shifts (rows, partners) of the rows."""
        _, at, mine = np.intersect1d(rows, self.rows, return_indices=True)
        _, beside, theirs = np.intersect1d(partners, self.rows, return_indices=True)
        shifts = np.array(shifts)
        shifts[at] += self.added[mine, rows[at]][:, None]
        shifts[:, beside] += self.added[theirs][:, rows].T
        return shifts


# Chosen on 10 drawn tables of 1,000 to 4,500 rows with rare columns: the steps of a row took 9 to 45 products.
AT_ONCE = 16  # rows that are looked at together, at most: where none of them was far, hardly any after them was
WORK, PRODUCTS = 3e9, 40  # multiplications for all rows, and products with the design for one


def steps_of_the_few(problem: Problem, loss: Loss, alone: WithoutEach) -> MoreSteps:
    """Among many rows, steps without those of great impact, until each settles or the work is done."""
    near, spread = Factor(problem.design, problem.curvature, 1.0), float((problem.base + alone.single).std())
    most = int(WORK / (PRODUCTS * problem.g.size * max(len(problem.curvature.root), AT_ONCE))) + 1
    added: dict[int, Floats] = {}
    left = np.zeros(problem.g.size, dtype=bool)
    for row, first, moved in _far_without(problem, loss, alone, near, spread, PRODUCTS * most):
        if len(added) < most:
            reached, moved = without_row(problem.base, problem.g, loss, near, row, UNSETTLED * spread)
            added[row] = reached - first
        left[row] = moved > LEFT * spread
    share = max(float(left[mine].mean()) for mine in (problem.positive, ~problem.positive))
    return MoreSteps(np.array(list(added), dtype=np.intp), np.array(list(added.values())), share)


def _far_without(
    problem: Problem, loss: Loss, alone: WithoutEach, near: Factor, spread: float, most: int
) -> Iterator[tuple[int, Floats, float]]:
    """Rows without which one step falls short, the scores that it adds, and by how much it falls short of theirs.

    Where D' <= D, as for the logistic loss, the slopes that the step misses move the row's own score by at most
    impact x sqrt(exposure x largest exposure) / 2, so that most rows need not be looked at.
    """
    reach = 0.5 * alone.impact * np.sqrt(alone.exposure * alone.exposure.max())
    doubtful = np.flatnonzero(reach > UNSETTLED * spread)
    doubtful = doubtful[np.argsort(-np.abs(alone.single[doubtful]))][:most]  # what is far has moved far
    for part in blocks(doubtful.size, max(problem.g.size, BLOCK_ENTRIES // AT_ONCE)):
        rows = doubtful[part]
        model = problem.local_model(rows)
        first = near.scores(model.slope_alone * model.B.T).T
        missed = loss.gradient(problem.base + first) - loss.gradient(problem.base) - problem.D * first
        missed[np.arange(rows.size), rows] = 0.0
        moved = np.abs(np.einsum("ij,ij->i", missed, first) / (model.slope_alone * model.slack))
        far = np.flatnonzero(moved > UNSETTLED * spread)
        if not far.size:
            return
        yield from ((int(rows[k]), first[k], float(moved[k])) for k in far)


def influence_sums(
    problem: Problem, model: LocalModel, alone: WithoutEach, sample: Sample, shift1: Floats, shift0: Floats
) -> tuple[float, float]:
    """For each class, the sum over its rows and over all other rows of squared influences; see `Removed`."""
    few = sample.thinned(FOR_NOISE)
    single, (first, second) = np.asarray(alone.single[few.rows]), few.members
    if few is not sample:
        kept = np.isin(sample.rows, few.rows)
        both = np.ix_(kept[sample.positive], kept[~sample.positive])
        model, shift1, shift0 = model.at(np.flatnonzero(kept)), np.asarray(shift1[both]), np.asarray(shift0[both])
    scale = few.ratios(problem.positive, alone.exposure, alone.impact)
    return (
        scale[0, 0] * within_influence(model, first)
        + scale[0, 1] * between_influence(shift1 - single[first.rows, None], first, second),
        scale[1, 1] * within_influence(model, second)
        + scale[1, 0] * between_influence(shift0.T - single[second.rows, None], second, first),
    )


def refuse_infinite(family: str, *scores: Floats) -> None:
    """Refuse infinite scores: a fit that interpolates the remaining rows has no finite ones."""
    if not all(np.isfinite(each).all() for each in scores):
        raise EstimatorError(
            f"without some of the rows the {family} fits the others exactly and has no finite scores: "
            f"fit with a penalty or with shrinkage, drop columns, or add rows."
        )


def pairs_of_sample(
    problem: Problem, sample: Sample, partnered: Floats, additive: Floats, score1: Floats, score0: Floats
) -> tuple[Pairs, Floats]:
    """Pairs of all rows, and the score of each row averaged over partners; exact where rows were sampled.

    `partnered` and `additive` (N,) are first-order scores; `score1` and `score0` are those of the sampled pairs.
    """
    positive, (first, second), z = problem.positive, sample.members, problem.in_sample()
    exact1, exact0 = score1 @ second.share, first.share @ score0
    sampled1, sampled0 = sample.rows[first.rows], sample.rows[second.rows]
    diff = differences(score1, score0, z[sampled1], z[sampled0])
    level1, level0 = first.share @ (exact1 - partnered[sampled1]), second.share @ (exact0 - partnered[sampled0])
    partnered = partnered + np.where(positive, level1, level0)
    partnered[sampled1], partnered[sampled0] = exact1, exact0
    if sample.complete:
        return Pairs.of_differences(diff), partnered
    S1, S0 = additive[positive], additive[~positive]
    place1, place0 = sample.places(positive)
    # Only differences of scores matter: the sampled pairs determine the offset between the two classes.
    S0 = S0 + (first.share @ S1[place1] - S0[place0] @ second.share - first.share @ diff @ second.share)
    drawn = PairSample(diff, place1, place0, first.share, second.share, z[positive], z[~positive])
    return Pairs(S1, S0, sample=drawn), partnered


def growth(problem: Problem, rows: tuple[Ints, Ints], shifts: OfPairs, more: OfPairs) -> float:
    """Factor by which the scaler's part of the shifts increases the variance of the scores within the classes.

    The share of training noise stays as it is with the scaler kept: rows that change a scale have outlying scores,
    which would make that share look smaller.
    """
    before = problem.scores(rows[0], shifts[0]) - problem.scores(rows[1], shifts[1].T).T
    after = before + problem.gain * (more[0] - more[1])
    return _pooled_variance(after) / max(_pooled_variance(before), TINY)


def _pooled_variance(diff: Floats) -> float:
    """Of the scores within the classes, from the differences (n1, n0) of all pairs."""
    n1, n0 = diff.shape
    between1, between0 = diff.mean(axis=1).var(), diff.mean(axis=0).var()
    return float((n1 * between1 + n0 * between0) / (n1 + n0 - 2))


def _read_alone(problem: Problem, rows: Ints, alone: WithoutEach) -> Floats:
    """Scores of all rows, each without itself."""
    if problem.alone is None:
        return _read_single(problem, alone)
    negative, positive = (
        _read_single(each, without_each(each, model, rows, each.corrections(model, rows)), alone.stepped)
        for each in problem.alone
        for model in (each.local_model(rows),)
    )
    return np.where(problem.positive, positive, negative)


def _read_single(problem: Problem, alone: WithoutEach, stepped: Floats | float = 0.0) -> Floats:
    scores = problem.scores(slice(None), alone.rescaled + stepped)
    if not problem.readout.rescales:
        return scores
    return problem.readout.without(scores, problem.removal(*problem.mass, problem.lever(slice(None), alone.single)))


def _read_partnered(problem: Problem, alone: WithoutEach) -> Floats:
    """Scores without the row and an average partner."""
    rows, positive = slice(None), problem.positive
    scores = problem.scores(rows, alone.rescaled + alone.own)
    if not problem.readout.rescales:
        return scores
    lever = problem.lever(rows, alone.single + alone.own)
    mean = [float(lever[~positive].mean()), float(lever[positive].mean())]
    gone1, gone0 = (np.where(mass > 0, mass, mass.sum() / np.count_nonzero(mass)) for mass in problem.mass)
    return problem.readout.without(scores, problem.removal(gone1, gone0, lever + np.where(positive, *mean)))


def _read_pairs(problem: Problem, rows: tuple[Ints, Ints], shifts: OfPairs, kept: OfPairs) -> OfPairs:
    """Scores of both rows of each pair; `kept` are shifts with the scaler kept."""
    score1, score0 = problem.scores(rows[0], shifts[0]), problem.scores(rows[1], shifts[1].T).T
    if not problem.readout.rescales:
        return score1, score0
    lever = problem.lever(rows[0], kept[0]) + problem.lever(rows[1], kept[1].T).T
    removed = problem.removal(problem.D[rows[0], None], problem.D[rows[1]], lever)
    return problem.readout.without(score1, removed), problem.readout.without(score0, removed)
