"""The leave-one-out analysis of two classes: an objective at its optimum, rows removed, one statistic, the prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Bools, Floats, Ints, is_sparse
from foldless.errors import EstimatorError, InputError
from foldless.honest import rates
from foldless.honest.families import describe, with_balance
from foldless.honest.groups import by_group
from foldless.honest.normal_scale import NormalScale
from foldless.honest.objective import Objective
from foldless.honest.optimum import Optimum, lies_elsewhere, nearest_on_path, optimum
from foldless.honest.pairs import SEED, random_rows, rows_per_class
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.removal import Problem, problem_at
from foldless.honest.rows import MATERIAL, Provenance, Removed, by_row
from foldless.honest.stand_ins import determined, surrogate_problem
from foldless.honest.statistic import SeparationStatistic, statistic_of_removed
from foldless.honest.streamed import refuse_surrogate, refuse_unloaded, streamed_design
from foldless.laws.effect import GridEffect, StudentEffect
from foldless.model.view import LinearView
from foldless.tables.matrix import DeviceMatrix, LazyMatrix, Unloaded


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Honest scores, their statistic, and the posterior of the separation."""

    removed: Removed
    statistic: SeparationStatistic
    effect: GridEffect
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, view: LinearView, prior: EffectPrior, groups: Any, sample_weight: Any, stand_in: bool = True
    ) -> LeaveOneOut:
        """Remove rows, compute the statistic, apply the prior."""
        removed = remove_rows(view, groups=groups, sample_weight=sample_weight, stand_in=stand_in)
        return cls.from_removed(removed, prior, view.notes)

    @classmethod
    def from_removed(cls, removed: Removed, prior: EffectPrior, notes: tuple[str, ...]) -> LeaveOneOut:
        """The same from honest scores; `notes` are those of the view."""
        statistic = statistic_of_removed(removed)
        return cls(removed, statistic, separation_posterior(statistic, prior), notes + removed.provenance.notes)

    @property
    def method(self) -> str:
        """ "loo", or "loo-surrogate" where a ridge regression stands in."""
        return self.removed.provenance.method

    def details(self) -> dict[str, Any]:
        """Further figures for the summary of a result."""
        return {
            **self.removed.provenance.details(),
            "pair_auc": self.statistic.pair_auc,
            "noise_share": self.statistic.noise_share,
            "groups": None if self.removed.groups is None else int(self.removed.groups.max()) + 1,
        }

    @cached_property
    def _scale(self) -> NormalScale:
        return NormalScale.of(*self.removed.by_class)

    def class_variances(self) -> tuple[float, float, float, float]:
        """(v0, v1, df0, df1) of the honest scores on the normal scale of their ranks."""
        return rates.shape(self._scale, self.statistic)

    def class_effects(self, threshold: float) -> tuple[StudentEffect, StudentEffect]:
        """Standardised distances of both classes from the threshold."""
        codes, rows = self.removed.groups, (self.removed.rows0, self.removed.rows1)
        groups = (None, None) if codes is None else (codes[rows[0]], codes[rows[1]])
        return rates.effects_at(self._scale, groups, self.statistic.noise_share, threshold)


# ---- From a view to honest scores.


class NoClosedForm(EstimatorError):
    """There is no formula for the scores without a row, or refits are sooner done, and refits will do."""


class StoppedEarly(NoClosedForm):
    """The fit is not at the optimum of its objective, which the closed form judges in its place."""


# Multiplications of a Hessian and its inverse, over 10 s; fits to the rows of sparse columns take far fewer.
MOST_WORK = 1e11


def is_sooner_refitted(view: LinearView) -> bool:
    """Whether 20 refits to sparse rows take less time and memory than the closed form, which has dense matrices."""
    (rows, columns), K = view.X.shape, len(view.classes)
    return is_sparse(view.X) and rows * min(rows, columns) ** 2 * (K if K > 2 else 1) > MOST_WORK


def remove_rows(view: LinearView, *, sample_weight: Any = None, groups: Any = None, stand_in: bool = True) -> Removed:
    """Scores of all rows, and of all pairs of one positive and one negative row, under fits without them.

    Nothing is refitted: the shifts follow in closed form from the optimum of the training objective. `sample_weight`
    are the weights given to fit, and `groups` labels of dependent rows, which are removed whole. Where nothing is known
    about the training, the nearest ridge regression stands in for it, or `NoClosedForm` is raised unless `stand_in`;
    so it is where refits are sooner done, and where an optimum would stand in for a fit that stopped short of it.
    """
    streamed = isinstance(view.X, LazyMatrix)
    if not streamed:  # a stream is checked in its first pass
        checks.sane_size(view.X.extremes() if isinstance(view.X, DeviceMatrix) else view.X)
        checks.unequal_scores(view.scores())
    weight, codes = checked_weight(sample_weight, view.labels.positive), _checked_groups(groups, view)
    rows = evaluated_rows(view.labels.positive, codes, view.X.shape[1])
    if not stand_in and is_sooner_refitted(view):
        raise NoClosedForm(f"rows are sooner left out of {_named(view)} by refits.")
    if isinstance(view.X, Unloaded):
        refuse_unloaded(view, codes)
    objective = describe(view, weight)
    if objective is not None:
        return _with_objective(view, with_balance(objective, view, weight), rows, codes, weight, stand_in)
    if streamed:
        raise refuse_surrogate(_named(view))
    if not stand_in:
        raise NoClosedForm(f"the training of {_named(view)} has no closed form.")
    problem, match = surrogate_problem(view, weight)
    return removed_from(problem, rows, codes, surrogate_provenance(view, match, _stand_in(view, match)))


def _with_objective(
    view: LinearView, objective: Objective, rows: Ints, codes: Ints | None, weight: Any, stand_in: bool
) -> Removed:
    design: Any = None
    kept = on_kept_balance(objective, codes)
    if kept:
        objective = replace(objective, balance=None)
    if isinstance(objective.X, LazyMatrix):
        objective, design = streamed_design(objective, rows, weight)
    design, plain = optimum(objective, design)
    best, off_scale = nearest_on_path(objective, design, plain), lies_elsewhere(objective, plain)
    notes = (*_on_fit(best, off_scale), *on_given_scales(objective), *kept)
    provenance = replace(provenance_at(objective.name, best, notes), off_scale=off_scale)
    if provenance.strain and not (stand_in or isinstance(view.X, Unloaded)):
        raise StoppedEarly(provenance.strain)
    problem = problem_at(view.labels.positive, objective, design, best)
    if objective.lam == 0:
        problem = determined(problem, objective, best, rows, codes)
    removed = removed_from(problem, rows, codes, provenance)
    if plain.fitted is None or (best.penalty_factor == 1 and not off_scale):
        return removed
    return on_scale_of(plain.fitted, removed)


def on_scale_of(fitted: Floats, removed: Removed) -> Removed:
    """Honest scores of another fit, on the scale of the user's: order and AUC stay, thresholds count there.

    The scores in the sample, which both fits have, tell the scale and the intercept.
    """
    off = removed.z - removed.z.mean()
    slope = float(off @ (fitted - fitted.mean())) / (float(off @ off) or 1.0)
    if not slope > 0:
        return removed
    level = fitted.mean() - slope * removed.z.mean()
    names = ("z", "loo", "without_pair1", "without_pair0", "partnered")
    return replace(removed, drift=slope * removed.drift, **{n: level + slope * getattr(removed, n) for n in names})


@np.errstate(over="ignore", invalid="ignore")  # scores that are not finite are refused
def removed_from(problem: Problem, rows: Ints, codes: Ints | None, provenance: Provenance) -> Removed:
    """Every row, or every group, removed from a problem; pairs among `rows` only."""
    return by_row(problem, rows, provenance) if codes is None else by_group(problem, rows, codes, provenance)


def provenance_at(family: str, solution: Optimum, notes: tuple[str, ...] = ()) -> Provenance:
    """Provenance of scores from a known objective at its optimum."""
    about = (solution.residual_before, solution.polished, solution.direction_cosine)
    return Provenance("loo", family, *about, match=1.0, notes=notes)


def surrogate_provenance(view: LinearView, match: float, note: str) -> Provenance:
    """Provenance of scores from a stand-in for the training."""
    family = "weights" if view.estimator is None else type(view.estimator).__name__
    if match < POOR_MATCH:
        note += " That is far from it: the answer is right if the weights owe little to these labels."
    return Provenance("loo-surrogate", family, match=match, notes=(note,))


def _named(view: LinearView) -> str:
    return "bare or mapped-back weights" if view.estimator is None else f"this {type(view.estimator).__name__}"


# ---- Notes: a fit that was not at its optimum, a stand-in, a subset of rows, a small class.

WORTH_SAYING = 0.9999  # a cosine above this leaves every figure unchanged
FEW_ROWS = 10  # in a class with fewer rows than this, the middle of the answer leans on the prior
TOO_FEW = 5  # and with fewer than this, the spread of the scores is a guess
POOR_MATCH = 0.5  # below this, the stand-in is far from the training that it replaces


def on_convergence(cosine: float, used: str) -> tuple[str, ...]:
    """Whether the weights are at the optimum of their objective; `used` names the optimum that was taken instead."""
    if cosine >= WORTH_SAYING:
        return ()
    figures = f"the figures are those of {used}"
    if cosine >= MATERIAL:
        return (
            f"the weights are a little off the optimum of their training objective on these rows: {figures}, which "
            f"points nearly the same way (cosine {cosine:.3f}). If X, y and sample_weight are those given to fit, the "
            f"solver stopped a little short, which is no cause for concern.",
        )
    return (
        f"the weights are not at the optimum of their training objective: {figures}, not of your weights, which point "
        f"elsewhere (cosine {cosine:.2f}). Either X, y or sample_weight are not those given to fit, or the fit stopped "
        f"early: then use a smaller tol and a larger max_iter, or a stronger penalty.",
    )


def _on_fit(solution: Optimum, off_scale: bool) -> tuple[str, ...]:
    factor, cosine = solution.penalty_factor, solution.direction_cosine
    used = "that optimum" if factor == 1 else f"the optimum at {factor:.2g} x the penalty"
    if off_scale and cosine >= MATERIAL:
        return (
            f"the weights point nearly the way of the optimum of their training objective (cosine {cosine:.3f}), but "
            f"the scores lie elsewhere: if fit was given sample_weight, pass it here as well. The figures are those of "
            f"{used}, on the scale of your scores.",
        )
    return on_convergence(cosine, used) if solution.polished else ()


GIVEN_SCALES = (
    "every column of X has mean 0 and standard deviation 1: they are taken to have been standardised on these very "
    "rows, and rows are left out of that step as well, as if it were part of a Pipeline."
)


def on_given_scales(objective: Objective) -> tuple[str, ...]:
    """A note that columns passed in standardised are taken to have been standardised on these very rows."""
    return (GIVEN_SCALES,) if any(scaled.given for scaled in objective.scaled) else ()


def on_kept_balance(objective: Objective, codes: Ints | None) -> tuple[str, ...]:
    """A note that balanced class weights stay those of all rows while groups are left out."""
    if objective.balance is None or codes is None:
        return ()
    return ("balanced class weights are kept as they were fitted while groups of rows are left out.",)


def _stand_in(view: LinearView, match: float) -> str:
    return (
        f"leaving rows out has no closed form for {_named(view)}: "
        f"the nearest ridge regression stands in for its training (they agree by {match:.2f}; 1 is the same direction)."
    )


def on_few_rows(fewest: int, what: str = "rows", which: str = "smaller") -> tuple[str, ...]:
    """A note that a class has so few independent rows, or groups, that the prior speaks as loud as they do."""
    if fewest >= FEW_ROWS:
        return ()
    guess = "the spread of its scores is a guess, and so is the interval"
    leaning = "the middle of the answer leans on the prior, so read the whole interval"
    return (f"the {which} class has {fewest} {what}: {guess if fewest < TOO_FEW else leaning}.",)


# ---- Which rows to evaluate pairs on: all of them, or a fixed random sample where there are many.

MOST_GROUPS = 600  # in 14 situations drawn at random, 1,500 said the same to 0.11 sd, and took twice as long
IN_GROUPS = 2  # times as many rows of each class if they come in groups, since fewer of them are independent


def evaluated_rows(positive: Bools, codes: Ints | None, n_columns: int) -> Ints:
    """Rows in increasing order; groups are drawn whole."""
    wanted = rows_per_class(positive.size, n_columns)
    if codes is None:
        return random_rows(positive, wanted)
    n1 = int(np.count_nonzero(positive))
    if max(n1, positive.size - n1) <= IN_GROUPS * wanted:
        return np.arange(positive.size)
    order = np.random.default_rng(SEED).permutation(int(codes.max()) + 1)
    return _whole_groups(positive, codes, order, IN_GROUPS * wanted)


def _whole_groups(positive: Bools, codes: Ints, order: Ints, wanted: int) -> Ints:
    """Rows of the first groups in `order` that together hold `wanted` rows of each class, or `MOST_GROUPS`."""
    have1 = np.cumsum(np.bincount(codes, weights=positive)[order])
    have0 = np.cumsum(np.bincount(codes, weights=~positive)[order])
    enough = (have1 >= min(wanted, have1[-1])) & (have0 >= min(wanted, have0[-1]))
    chosen = order[: max(3, min(int(np.argmax(enough)) + 1, MOST_GROUPS))]
    if not (have1[len(chosen) - 1] and have0[len(chosen) - 1]):  # a class so rare that chance left it out
        chosen = order[: int(np.argmax((have1 > 0) & (have0 > 0))) + 1]
    return np.flatnonzero(np.isin(codes, chosen))


# ---- Checks of the options.


def checked_weight(sample_weight: Any, codes: Ints | Bools, left_out: int = 1) -> Floats | None:
    """Weights of the rows, if given; a class must keep a row with a weight above 0 when so many are left out."""
    if sample_weight is None:
        return None
    weight = checks.as_row_weights(sample_weight, codes.size)
    if np.bincount(codes[weight > 0], minlength=codes.max() + 1).min() <= left_out:
        raise InputError(
            f"each class needs at least {left_out + 1} rows with a sample_weight above 0: with {left_out} left out, "
            f"none would be left to train on."
        )
    return weight


def _checked_groups(groups: Any, view: LinearView) -> Ints | None:
    if groups is not None:
        # Removing two groups must leave a third to train on.
        return checks.as_groups(groups, view.labels.positive, fewest=3)
    if min(view.labels.n1, view.labels.n0) < 2:
        raise InputError("each class needs at least two rows: with one removed, none would be left to train on.")
    return None
