"""Rows left out of a whole search: a penalty is chosen again without the rows that the chosen fit is to score.

For left-out rows S the quadratic model of every candidate at its optimum (see `foldless.honest.removal`) becomes that
of the fit without S,

    z' = z + G_.S u,    g' = g + D G_.S u,    G' = G + G_.S (I - D_S G_SS)^-1 D_S G_S.,    (I - D_S G_SS) u = g_S,

and the removal formula, applied to it once more, gives what a search that never saw S would have chosen by. For few
pairs S that is exact for ridge without a scaler, four rows at a time; for many, what leaving out either row changes is
added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

from foldless.checks import Floats
from foldless.errors import InputError
from foldless.honest.design import MAX_LEVERAGE, Bools, Ints, blocks
from foldless.honest.families import describe, strength, with_balance
from foldless.honest.leave_one_out import LeaveOneOut, checked_weight, evaluated_rows, provenance_at
from foldless.honest.optimum import nearest_on_path, optimum
from foldless.honest.pairs import ROUNDING, Pairs
from foldless.honest.penalties import PenaltyPath, Visit, is_strength, l2_strength
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.removal import LocalModel, Problem, pair_shifts, problem_at
from foldless.honest.rows import Removed, by_row
from foldless.honest.scaling import MIN_DETERMINANT
from foldless.honest.stand_ins import determined
from foldless.honest.statistic import Placements, SeparationStatistic, noise_share_of, statistic_of_placements
from foldless.model.steps import sklearn_names
from foldless.model.view import LinearView, note_on_search
from foldless.tables.matrix import Unloaded

EXACT_PAIRS = 100  # up to so many pairs, the choice is made again without each of them
MOST_INNER = 30  # rows of each class whose order shows what a left-out row changes
IN_CACHE = 1 << 15  # pairs worked on at a time
DECIMALS = 10  # criteria that agree so far are equal, and the first candidate is taken
LIKE_SPREAD = 2.0  # scores whose spreads differ by a larger factor say other probabilities


# ---- What a search chooses by.

# Larger is better; each is a mean over rows of a function of +-score, positive where the row is classified rightly.
MERITS: dict[str, Callable[[Floats], Any]] = {
    "accuracy": lambda margin: (margin > 0).astype(np.float64),
    "balanced_accuracy": lambda margin: (margin > 0).astype(np.float64),
    "neg_log_loss": lambda margin: -np.logaddexp(0.0, -margin),
    "neg_brier_score": lambda margin: -(expit(-margin) ** 2),
    "squared error": lambda margin: -((1.0 - margin) ** 2),
}
AUC = "roc_auc"
IN_WORDS = {
    AUC: "AUC",
    "balanced_accuracy": "balanced accuracy",
    "neg_log_loss": "log loss",
    "neg_brier_score": "Brier",
}


@dataclass(frozen=True)
class Choice:
    """The values of a penalty that a search chose among, in its order, and by which scoring."""

    strength: str  # "C" or "alpha"
    values: tuple[float, ...]
    scoring: Any

    @property
    def criterion(self) -> str:
        """The scoring itself, or the AUC in place of one that is not known here."""
        return self.scoring if isinstance(self.scoring, str) and self.scoring in MERITS else AUC

    @property
    def note(self) -> str:
        instead = "" if self.criterion == self.scoring else " in place of the search's own scoring"
        return (
            f"the choice among {len(self.values)} values of {self.strength} is accounted for: it is made again without "
            f"every pair of rows, by leave-one-out {IN_WORDS.get(self.criterion, self.criterion)}{instead}."
        )


def choice_of(search: Any) -> Choice | None:
    """What a fitted search over one L2 penalty chose among; None for any other."""
    names, scoring = sklearn_names(search), getattr(search, "scoring", None)
    if "LogisticRegressionCV" in names:
        ratios = np.ravel(np.asarray(getattr(search, "l1_ratios_", None), dtype=object))
        known = strength(search) is not None and len(ratios) == 1
        return _choice("C", search.Cs_, "accuracy" if scoring in (None, "warn") else scoring) if known else None
    if "RidgeClassifierCV" in names:
        own = "squared error" if search.cv is None else "accuracy"  # with folds, that of `score`
        return _choice("alpha", np.atleast_1d(search.alphas), own if scoring is None else scoring)
    if not hasattr(search, "best_estimator_") or callable(search.refit) or getattr(search, "rule", "best") != "best":
        return None
    name = l2_strength(search.best_estimator_)
    tried = search.cv_results_["params"]
    others = {repr([(k, v) for k, v in params.items() if k != name]) for params in tried}
    if name is None or len(others) > 1 or not all(name in params for params in tried):
        return None
    if isinstance(scoring, dict) and isinstance(search.refit, str):
        scoring = scoring[search.refit]
    by = {None: "accuracy", "auc": AUC}.get(scoring, scoring) if isinstance(scoring, str | None) else scoring
    return _choice(name.split("__")[-1], [params[name] for params in tried], by)


def _choice(name: str, values: Any, scoring: Any) -> Choice | None:
    return Choice(name, tuple(map(float, values)), scoring) if all(map(is_strength, values)) else None


# ---- The criterion of a candidate without some of its rows.


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate at its optimum, and its scores of all rows and pairs without them."""

    problem: Problem
    removed: Removed

    @classmethod
    def of(cls, view: LinearView, weight: Floats | None) -> Candidate:
        """Rows removed from a fitted candidate; InputError where that is not possible for all pairs."""
        objective = None if view.estimator is None else describe(view, weight)
        if objective is None:
            raise InputError("it needs candidates whose rows can be left out in closed form")
        objective, positive = with_balance(objective, view, weight), view.labels.positive
        rows = evaluated_rows(positive, None, view.X.shape[1])
        if rows.size < positive.size:
            raise InputError(f"it looks at every pair of rows, and {positive.size} rows are too many")
        design, plain = optimum(objective)
        best = nearest_on_path(objective, design, plain)
        problem = problem_at(positive, objective, design, best)
        if objective.lam == 0:
            problem = determined(problem, objective, best, rows, None)
        return cls(problem, by_row(problem, rows, provenance_at(objective.name, best)))

    @classmethod
    def of_visit(cls, visit: Visit) -> Candidate | None:
        """The same on the path of a penalty; None if not every pair of rows was looked at."""
        whole = visit.removed.groups is None and visit.removed.pairs.complete is not None
        return cls(visit.problem, visit.removed) if whole else None

    @property
    def model(self) -> LocalModel:
        return self.problem.whole

    def criteria(self, criterion: str) -> Floats:
        """What a search would choose by without each pair (n1, n0)."""
        rows1, rows0 = self.removed.rows1, self.removed.rows0
        if criterion == AUC and rows1.size * rows0.size <= EXACT_PAIRS:
            pairs = np.array(list(product(rows1, rows0)), dtype=np.intp)
            return self.criterion(pairs, rows1, rows0).reshape(rows1.size, rows0.size)
        whole, without = self._order_without_each() if criterion == AUC else self._merit_without_each(criterion)
        return np.asarray(without[rows1, None] + without[rows0] - whole)

    def _alone(self, rows: Ints) -> tuple[Floats, Floats]:
        """Each of some rows left out: with all others there, and (N, rows) without each of the N rows, less that."""
        model, D, reach = self.model, self.model.D[rows], self.model.B @ self.model.B[rows].T
        moved, single = reach * model.slope_alone[:, None], model.diagonal[rows] * model.slope_alone[rows]
        diagonal = model.diagonal[rows] + reach**2 * model.curvature_alone[:, None]
        slope = (model.g[rows] + D * moved) / (1.0 - np.minimum(diagonal * D, MAX_LEVERAGE))
        return self.problem.base[rows] + single, moved + diagonal * slope - single

    @cached_property
    def differences(self) -> Floats:
        """Of the scores of every pair without it (n1, n0), in the quadratic model alone; 0 for rows with equal columns.

        A second step (see `foldless.honest.newton`) would be made anew without the rows that are left out of a search.
        To choose by pairs which keep theirs is optimistic: with 40 rows of noise, 20 columns and 20 penalties, the
        nested AUC was .528 on average (100 samples), and .506 without.
        """
        known, z = _complete(self.removed), self.problem.base
        if self.problem.loss is None:
            return known
        rows1, rows0 = self.removed.rows1, self.removed.rows0
        shift1, shift0 = pair_shifts(self.model, rows1, rows0)
        return np.where(known == 0, 0.0, z[rows1, None] + shift1 - z[rows0] - shift0)

    def _order_without_each(self) -> tuple[float, Floats]:
        """Share of ordered pairs among all rows, and without each.

        With many rows, the changes are those in the order of `MOST_INNER` rows of each class.
        """
        inner1, inner0 = _spread(self.removed.rows1.size), _spread(self.removed.rows0.size)
        rows1, rows0 = self.removed.rows1[inner1], self.removed.rows0[inner0]
        diff = self.differences[inner1[:, None], inner0]
        tied, moved = diff == 0, self._alone(np.concatenate([rows1, rows0]))[1].T
        there1, there0 = (np.arange(moved.shape[1]) != rows[:, None] for rows in (rows1, rows0))
        right = (((0.5 * tied) @ there0) * there1).sum(axis=0) if tied.any() else np.zeros(moved.shape[1])
        # In single precision one comparison in ten million turns out otherwise, of the 900 in a share.
        untied, moved = np.where(tied, -np.inf, diff).astype(np.float32)[:, :, None], moved.astype(np.float32)
        first, second = np.where(there1, moved[: rows1.size], -np.inf), np.where(there0, moved[rows1.size :], np.inf)
        for part in blocks(rows1.size, second.size, 2 * IN_CACHE):
            above = untied[part] + first[part, None] > second
            right += above.view(np.uint8).sum(axis=0, dtype=np.uint8).sum(axis=0, dtype=np.uint16)  # MOST_INNER^2 fit
        whole, inner = (float(0.5 + np.sign(d).sum() / (2 * d.size)) for d in (self.differences, diff))
        return whole, np.asarray(whole - inner + right / (there1.sum(axis=0) * there0.sum(axis=0)))

    def _merit_without_each(self, criterion: str) -> tuple[float, Floats]:
        """The mean merit of all rows, and without each."""
        positive = self.problem.positive
        sign, merit = np.where(positive, 1.0, -1.0), MERITS[criterion]
        alone, moved = self._alone(np.arange(sign.size))
        each = merit(sign * np.vstack([alone, alone + moved]))
        there = np.ones(each.shape)
        np.fill_diagonal(there[1:], 0.0)
        classes = [positive, ~positive] if criterion == "balanced_accuracy" else [np.ones_like(positive)]
        means = np.mean([np.average(each[:, c], axis=1, weights=there[:, c]) for c in classes], axis=0)
        own = merit(sign * self.removed.loo)
        whole = float(np.mean([own[c].mean() for c in classes]))
        return whole, np.asarray(whole + means[1:] - means[0])

    def criterion(self, gone: Ints, rows1: Ints, rows0: Ints) -> Floats:
        """Share of ordered pairs among `rows1` and `rows0`, each pair left out together with a set of `gone` (M, s)."""
        parts = blocks(len(gone), rows1.size * rows0.size, IN_CACHE)
        return np.concatenate([self._criterion(gone[part], rows1, rows0) for part in parts])

    def _criterion(self, gone: Ints, rows1: Ints, rows0: Ints) -> Floats:
        g, D, reach = self.model.g, self.model.D, self.model.G[gone]
        block = np.take_along_axis(reach, gone[:, None, :], axis=2)
        inverse = np.linalg.inv(np.eye(gone.shape[1]) - D[gone][:, :, None] * block)
        moved = np.matmul(np.matmul(inverse, g[gone][:, :, None]).transpose(0, 2, 1), reach)[:, 0]
        more = np.matmul(reach.transpose(0, 2, 1), inverse * D[gone][:, None, :])
        diagonal = self.model.diagonal + np.einsum("mns,msn->mn", more, reach)
        G = self.model.G[np.ix_(rows1, rows0)] + np.matmul(more[:, rows1], reach[:, :, rows0])
        slack = 1.0 - np.minimum(diagonal * D, MAX_LEVERAGE)
        fits = np.stack([self.problem.base + moved, (g + D * moved) / slack, D / slack, diagonal])
        keep = np.ones(moved.shape, dtype=np.bool_)
        np.put_along_axis(keep, gone, False, axis=1)
        return _share_in_order(fits[:, :, rows1, None], fits[:, :, None, rows0], G, keep[:, rows1], keep[:, rows0])


@cache
def _spread(rows: int) -> Ints:
    """At most MOST_INNER of so many rows, evenly spread."""
    return np.linspace(0, rows - 1, min(rows, MOST_INNER)).astype(np.intp)


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


# ---- The whole search.


@dataclass(frozen=True, eq=False)
class Tuned(LeaveOneOut):
    """Every row, and every pair, scored by the candidate that is chosen without it."""

    chosen: tuple[float, ...]  # share of the pairs for which each candidate is chosen

    def details(self) -> dict[str, Any]:
        """Further figures for the summary of a result."""
        return {**super().details(), "chosen": self.chosen}


def tuned(
    own: LeaveOneOut, candidates: Sequence[Candidate], prior: EffectPrior, criterion: str, notes: tuple[str, ...]
) -> Tuned:
    """The procedure that fits the candidates and takes the best; `own` is the analysis of the fit that it took."""
    pair = np.round(np.stack([each.criteria(criterion) for each in candidates]), DECIMALS).argmax(axis=0)
    chosen = np.bincount(pair.ravel(), minlength=len(candidates)) / pair.size
    row = _of_rows(own.removed, pair, len(candidates))
    used, place = np.unique(np.concatenate([row, pair.ravel()]), return_inverse=True)
    row, pair = place[: row.size], place[row.size :].reshape(pair.shape)
    removed = _as_chosen(own.removed, [candidates[k].removed for k in used], row, pair)
    shares = [noise_share_of(each.removed.pairs, each.removed.influence_sq) for each in candidates]
    noise, ranks = float(chosen @ shares), removed.pairs.ranks()
    unchosen = float(chosen @ [each.removed.pairs.ranks().mean for each in candidates])
    found = statistic_of_placements(Placements.of(ranks), ranks.mean, noise)
    statistic = _bounded(replace(found, trials=min(found.trials, own.statistic.trials)), unchosen)
    return Tuned(removed, statistic, separation_posterior(statistic, prior), notes, tuple(chosen.tolist()))


def _of_rows(own: Removed, pair: Ints, candidates: int) -> Ints:
    """The candidate of every row: the one that is chosen most often without it and a row of the other class.

    Without one row alone the other class is the larger one, and a strong penalty calls all rows by its name.
    """
    votes = np.stack([pair == k for k in range(candidates)])
    row = np.empty(own.loo.size, dtype=np.intp)
    row[own.rows1], row[own.rows0] = votes.sum(axis=2).argmax(axis=0), votes.sum(axis=1).argmax(axis=0)
    return row


def _bounded(statistic: SeparationStatistic, unchosen: float) -> SeparationStatistic:
    """The statistic, at most a standard error away from what the candidates have where the choice is not made by rows.

    Of candidates that are equally good without a pair, those that order it wrongly are better among the others: with
    ties, the choice can order most pairs wrongly by chance, or rightly. Estimates that err together are flattered by
    the choice of the largest by no more than a standard error.
    """
    error = replace(statistic, auc=unchosen).error
    return replace(statistic, auc=float(np.clip(statistic.auc, unchosen - error, unchosen + error)))


def _as_chosen(own: Removed, each: Sequence[Removed], row: Ints, pair: Ints) -> Removed:
    """Scores of every row by the candidate chosen without it, differences of pairs by that chosen without the pair.

    A weak penalty makes for large scores: all but `loo` are brought to the spread that those of the fit in use have.
    """
    shape, rows1, rows0 = pair.shape, own.rows1, own.rows0
    spread = float(_complete(own).std())
    scale = [spread / (float(_complete(r).std()) or 1.0) for r in each]
    scaled = list(zip(scale, each, strict=True))
    loo = _taken([r.loo for r in each], row)
    moved1 = [s * (r.without_pair1 - r.loo[rows1, None]) for s, r in scaled]
    moved0 = [s * (r.without_pair0 - r.loo[rows0]) for s, r in scaled]
    return replace(
        own,
        loo=loo,
        partnered=_taken([s * r.undrifted for s, r in scaled], row) + own.drift,
        without_pair1=loo[rows1, None] + _taken(moved1, np.broadcast_to(row[rows1, None], shape)),
        without_pair0=loo[rows0] + _taken(moved0, np.broadcast_to(row[rows0], shape)),
        pairs=Pairs.of_differences(_taken([s * _complete(r) for s, r in scaled], pair)),
    )


def _complete(removed: Removed) -> Floats:
    """Score of every positive row less that of every negative one, both without the two."""
    assert removed.pairs.complete is not None
    return removed.pairs.complete


def _taken(values: Sequence[Floats], which: Ints) -> Floats:
    return np.asarray(np.take_along_axis(np.stack(values), which[None], axis=0)[0])


def of_search(own: LeaveOneOut, search: Any, view: LinearView, prior: EffectPrior, weight: Any) -> LeaveOneOut:
    """The whole of a fitted search over a penalty, whose best fit is the view; `own` where it cannot be followed.

    Nor is it followed where rows left out would mostly choose a value that makes for another classifier than the one
    that the folds of the search took: the answer would be about a classifier that the user does not have.
    """
    choice, unseen = choice_of(search), isinstance(view.X, Unloaded) or own.removed.pairs.complete is None
    if choice is None or own.method != "loo" or unseen:
        return own
    weakest_last = np.argsort(np.array(choice.values) * (1.0 if choice.strength == "C" else -1.0), kind="stable")
    path = PenaltyPath.of(view, choice.strength, checked_weight(weight, view.labels.positive), None)
    visits = [] if path is None else list(path.walk([choice.values[k] for k in weakest_last]))
    known = [Candidate.of_visit(visit) for visit in visits if visit is not None]
    candidates = [each for each in known if each is not None]
    if len(candidates) < len(choice.values):
        return own
    notes = (*(note for note in own.notes if note != note_on_search(search)), choice.note)
    in_order = [candidates[k] for k in np.argsort(weakest_last)]
    found = tuned(own, in_order, prior, choice.criterion, notes)
    return found if _alike(own, in_order[int(np.argmax(found.chosen))].removed) else own


def _alike(own: LeaveOneOut, other: Removed) -> bool:
    """Whether a candidate orders the rows as well as the fit in use, and has scores of its size, so probabilities."""
    ratio = float(_complete(other).std()) / (float(_complete(own.removed).std()) or 1.0)
    apart = abs(other.pairs.ranks().mean - own.statistic.pair_auc)
    return apart <= own.statistic.error / 2 and 1 / LIKE_SPREAD <= ratio <= LIKE_SPREAD
