"""The AUC of a whole search, tuning included: candidates are chosen again without the rows that they are to score.

For a left-out pair S the quadratic model of every candidate at its optimum (see `foldless.honest.removal`) becomes that
of the fit without S,

    z' = z + G_.S u,    g' = g + D G_.S u,    G' = G + G_.S (I - D_S G_SS)^-1 D_S G_S.,    (I - D_S G_SS) u = g_S,

and the removal formula, applied to it once more, gives the share of ordered pairs among the other rows: what a search
that never saw S would have chosen by. That is exact for ridge without a scaler, four rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from foldless.checks import Floats
from foldless.honest.design import MAX_LEVERAGE, Bools, Ints
from foldless.honest.families import describe, with_balance
from foldless.honest.optimum import nearest_on_path, optimum
from foldless.honest.pairs import ROUNDING, Pairs
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.removal import LocalModel, Removed, by_row, problem_at
from foldless.honest.scaling import MIN_DETERMINANT
from foldless.honest.scores import evaluated_rows, provenance_at
from foldless.honest.stand_ins import determined
from foldless.honest.statistic import Placements, statistic_of_pairs, statistic_of_placements
from foldless.model.view import take_apart
from foldless.results.auc import AUCPosterior
from foldless.search.paths import Outcome, Study

EXACT_PAIRS = 400  # up to so many pairs, the choice is made again without each of them
MOST_INNER = 60  # rows of each class whose order shows what a left-out row changes
IN_CACHE = 1 << 15  # pairs worked on at a time
DECIMALS = 10  # shares of pairs that agree so far are equal, and the first candidate is taken


@dataclass(frozen=True, eq=False)
class Candidate:
    """The quadratic model of a candidate on all rows, its scores, and its differences of pairs, both left out."""

    model: LocalModel
    z: Floats
    removed: Removed

    @classmethod
    def of(cls, estimator: Any, study: Study) -> Candidate:
        """Rows removed from a fitted candidate; AttributeError where that is not possible for all pairs."""
        view, weight = take_apart(estimator, study.X, study.y), study.weight(estimator)
        objective = None if view.estimator is None else describe(view, weight)
        if objective is None:
            raise AttributeError("posterior_ needs candidates whose rows can be left out in closed form.")
        objective, positive = with_balance(objective, view, weight), view.labels.positive
        rows = evaluated_rows(positive, None, view.X.shape[1])
        if rows.size < positive.size:
            raise AttributeError(
                f"posterior_ looks at every pair of rows, and {positive.size} rows are too many: with so many, see "
                f"best_posterior_ and optimism_."
            )
        design, plain = optimum(objective)
        best = nearest_on_path(objective, design, plain)
        problem = problem_at(positive, objective, design, best)
        if objective.lam == 0:
            problem = determined(problem, objective, best, rows, None)
        return cls(problem.local_model(rows), problem.base, by_row(problem, rows, provenance_at(objective.name, best)))

    @property
    def differences(self) -> Floats:
        """Score of every positive row less that of every negative one, both without the two."""
        assert self.removed.pairs.complete is not None
        return self.removed.pairs.complete

    @property
    def noise_share(self) -> float:
        return statistic_of_pairs(self.removed.pairs, self.removed.influence_sq).noise_share

    @cached_property
    def G(self) -> Floats:
        """Influence of all rows on each other's scores."""
        return np.asarray(self.model.B @ self.model.B.T)

    def criterion(self, gone: Ints, rows1: Ints, rows0: Ints) -> Floats:
        """Share of ordered pairs among `rows1` and `rows0`, each pair left out together with a set of `gone` (M, s)."""
        size = max(1, IN_CACHE // (rows1.size * rows0.size))
        parts = [gone[start : start + size] for start in range(0, len(gone), size)]
        return np.concatenate([self._criterion(part, rows1, rows0) for part in parts])

    def _criterion(self, gone: Ints, rows1: Ints, rows0: Ints) -> Floats:
        g, D, reach = self.model.g, self.model.D, self.G[gone]
        block = np.take_along_axis(reach, gone[:, None, :], axis=2)
        inverse = np.linalg.inv(np.eye(gone.shape[1]) - D[gone][:, :, None] * block)
        moved = np.matmul(np.matmul(inverse, g[gone][:, :, None]).transpose(0, 2, 1), reach)[:, 0]
        more = np.matmul(reach.transpose(0, 2, 1), inverse * D[gone][:, None, :])
        diagonal = self.model.diagonal + np.einsum("mns,msn->mn", more, reach)
        G = self.G[np.ix_(rows1, rows0)] + np.matmul(more[:, rows1], reach[:, :, rows0])
        slack = 1.0 - np.minimum(diagonal * D, MAX_LEVERAGE)
        fits = np.stack([self.z + moved, (g + D * moved) / slack, D / slack, diagonal])
        keep = np.ones(moved.shape, dtype=np.bool_)
        np.put_along_axis(keep, gone, False, axis=1)
        return _share_in_order(fits[:, :, rows1, None], fits[:, :, None, rows0], G, keep[:, rows1], keep[:, rows0])


def _share_in_order(first: Floats, second: Floats, G: Floats, keep1: Bools, keep0: Bools) -> Floats:
    """Of the pairs that are kept; both rows come with scores, slopes and curvatures over 1 - h, and the diagonal of G.

    The difference of their scores without the pair is that of `pair_shifts`.
    """
    (zi, gi, di, hi), (zj, gj, dj, hj) = first, second
    di, dj = di * G, dj * G
    diff = (hi - G) * (gi + di * gj) - (hj - G) * (gj + dj * gi)
    diff /= np.maximum(1.0 - di * dj, MIN_DETERMINANT)
    diff += zi - zj
    diff *= keep1[:, :, None] & keep0[:, None, :]
    near = ROUNDING * np.abs(diff).max(axis=(1, 2), keepdims=True)
    order = 0.5 * (diff > near) + 0.5 * (diff >= -near)
    ordered = np.matmul(np.matmul(keep1[:, None, :], order), keep0[:, :, None].astype(np.float64))[:, 0, 0]
    return np.asarray(ordered / (keep1.sum(axis=1) * keep0.sum(axis=1)))


def posterior_of_search(settings: Any, study: Study | None, outcomes: Sequence[Outcome]) -> AUCPosterior:
    """`FoldlessSearch.posterior_`; AttributeError, with the reason, where there is none."""
    reasons = {
        "call fit first (training rows are not pickled)": study is None,
        "it is for two classes": study is not None and study.several_classes,
        "it is for scoring='auc'": settings.scoring != "auc",
        "it is for rule='best', with refit True or False": settings.rule != "best" or callable(settings.refit),
        "groups are not supported": study is not None and study.options.groups is not None,
        "it needs method='loo'": study is not None and study.options.in_sample,
    }
    why = next((reason for reason, holds in reasons.items() if holds), None)
    if why is not None or study is None:
        raise AttributeError(f"FoldlessSearch has no posterior_: {why}.")
    return tuned_posterior([o.estimator for o in outcomes if o.estimator is not None], study, settings.prior)


def tuned_posterior(fitted: Sequence[Callable[[], Any]], study: Study, prior: Any) -> AUCPosterior:
    """Posterior of the AUC of the procedure that fits the candidates and takes the one with the most ordered pairs."""
    candidates = [Candidate.of(each(), study) for each in fitted]
    rows1, rows0 = candidates[0].removed.rows1, candidates[0].removed.rows0
    exact = rows1.size * rows0.size <= EXACT_PAIRS
    criteria = np.stack([(pair_criteria if exact else row_criteria)(each, rows1, rows0) for each in candidates])
    best = np.round(criteria, DECIMALS).argmax(axis=0)
    differences = np.stack([each.differences for each in candidates])
    ranks = Pairs.of_differences(np.take_along_axis(differences, best[None], axis=0)[0]).ranks()
    chosen = np.bincount(best.ravel(), minlength=len(candidates)) / best.size
    noise = float(chosen @ [each.noise_share for each in candidates])
    statistic = statistic_of_placements(Placements.of(ranks), ranks.mean, noise)
    effect = separation_posterior(statistic, EffectPrior.checked(prior))
    details = {"pair_auc": statistic.pair_auc, "noise_share": noise, "chosen": tuple(chosen.tolist())}
    note = f"tuning is accounted for: of {len(candidates)} candidates, one was chosen again without each pair."
    return AUCPosterior.from_effect(effect, "loo", rows0.size, rows1.size, (note,), details)


def pair_criteria(candidate: Candidate, rows1: Ints, rows0: Ints) -> Floats:
    """Share of ordered pairs among the rows other than i and j, for every pair (n1, n0)."""
    gone = np.array(list(product(rows1, rows0)), dtype=np.intp)
    return candidate.criterion(gone, rows1, rows0).reshape(rows1.size, rows0.size)


def row_criteria(candidate: Candidate, rows1: Ints, rows0: Ints) -> Floats:
    """The same to first order: what leaving out i changes, plus what leaving out j changes.

    With many rows the changes are those in the order of `MOST_INNER` rows of each class.
    """
    nothing, inner = np.empty((1, 0), dtype=np.intp), (_spread(rows1), _spread(rows0))
    whole, base = candidate.criterion(nothing, rows1, rows0), candidate.criterion(nothing, *inner)
    change1, change0 = (candidate.criterion(rows[:, None], *inner) - base for rows in (rows1, rows0))
    return np.asarray(whole + change1[:, None] + change0)


def _spread(rows: Ints) -> Ints:
    """At most MOST_INNER rows, evenly spread."""
    return rows[np.linspace(0, rows.size - 1, min(rows.size, MOST_INNER)).astype(np.intp)]
