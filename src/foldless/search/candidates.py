"""The candidates of a search: the grid, the families that differ only in the strength of an L2 penalty, the choice.

All candidates are judged on the same rows, so that their errors go together: that decides which of them to take.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from foldless.analysis import Analysis
from foldless.checks import Floats, Ints
from foldless.errors import InputError
from foldless.honest.class_statistic import Component, effects_of_rows
from foldless.honest.leave_one_out import LeaveOneOut
from foldless.honest.penalties import is_strength, l2_strength
from foldless.honest.refits import Refits

Params = dict[str, Any]

# +1: a larger value penalises less; -1: a larger value penalises more.
STRENGTHS = {"C": 1, "alpha": -1, "shrinkage": -1}


@dataclass(frozen=True)
class Family:
    """Candidates that are worked on together."""

    indices: tuple[int, ...]  # in the grid
    params: tuple[Params, ...]
    strength: str | None = None  # the one parameter in which they differ; None for a candidate on its own


def expand(param_grid: Any) -> list[Params]:
    """All combinations of a grid, or of a list of grids, in scikit-learn's order."""
    from sklearn.model_selection import ParameterGrid

    try:
        candidates = list(ParameterGrid(param_grid))
    except (TypeError, ValueError) as err:
        raise InputError(
            f"param_grid must be a dict of lists such as {{'C': [0.1, 1, 10]}}, or a list of such dicts: {err}"
        ) from err
    if not candidates:
        raise InputError("param_grid is an empty list: name at least one candidate, such as {'C': [0.1, 1, 10]}.")
    return candidates


def param_columns(candidates: list[Params]) -> dict[str, Any]:
    """One masked array per parameter, masked where a candidate does not set it; as in ``cv_results_``."""
    names = sorted({name for params in candidates for name in params})
    return {f"param_{name}": _column([params.get(name, np.ma.masked) for params in candidates]) for name in names}


def _column(values: list[Any]) -> Any:
    present = [v for v in values if v is not np.ma.masked]
    numeric = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in present)
    dtype = np.result_type(*map(np.asarray, present)) if numeric else np.dtype(object)
    column: Any = np.ma.MaskedArray(np.empty(len(values), dtype=dtype), mask=True)
    for k, value in enumerate(values):
        if value is not np.ma.masked:
            column[k] = value
    return column


def families(estimator: Any, candidates: list[Params]) -> list[Family]:
    """Sort candidates into families with a shared path, and candidates on their own.

    Members of a family end in the same L2 classifier and differ in its strength alone. Whether the classifier really
    has a closed form (penalty, loss, supervised steps) is known only once it is fitted.
    """
    from sklearn.base import clone

    groups: dict[Any, list[int]] = {}
    for k, params in enumerate(candidates):
        names = _strengths(params, ("C", "alpha"))
        # Alone in its group unless exactly one parameter can be the strength.
        key = (names[0], other_settings(params, names[0])) if len(names) == 1 else (None, k)
        groups.setdefault(key, []).append(k)
    result = []
    for (name, _), members in groups.items():
        first = clone(estimator).set_params(**clone(candidates[members[0]], safe=False))
        shared = name if len(members) > 1 and name == l2_strength(first) else None
        parts = [members] if shared else [[k] for k in members]
        result += [Family(tuple(part), tuple(candidates[k] for k in part), shared) for part in parts]
    return result


def other_settings(params: Params, strength: str) -> tuple[Any, ...]:
    """All parameters of a candidate but its strength, in a form that can be compared."""
    return tuple((name, _comparable(params[name])) for name in sorted(params) if name != strength)


def strength_of(params: Params) -> str | None:
    """Name of the parameter that sets the strength of regularisation; None if there is not exactly one."""
    names = _strengths(params, STRENGTHS)
    return names[0] if len(names) == 1 else None


def weakness(name: str, value: float) -> float:
    """A number that is larger for weaker regularisation."""
    return STRENGTHS[name.split("__")[-1]] * float(value)


def _strengths(params: Params, kinds: Collection[str]) -> list[str]:
    """Parameters of these kinds that are positive, finite numbers."""
    return [name for name, value in params.items() if name.split("__")[-1] in kinds and is_strength(value)]


def _comparable(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return type(value).__name__, value
    if isinstance(value, Mapping):
        return tuple((str(k), _comparable(v)) for k, v in value.items())
    return id(value)  # a grid uses the same object in every combination


# ---- Shares: what each row, or group of rows, contributes to the estimate of a candidate. Two candidates whose shares
# go up and down together also err together.


def shares_in(analysis: Analysis, scoring: str) -> Floats:
    """The share of each row, or of each group, in what a candidate is judged by."""
    if scoring == "auc":
        return shares_in_auc(analysis)
    if analysis.several_classes:
        return shares_of_right(analysis.judged_rows.right, None)
    if analysis.options.in_sample:
        return shares_of_right((analysis.view.scores() > 0) == analysis.view.labels.positive, None)
    removed = analysis.leave_one_out.removed
    if isinstance(analysis.leave_one_out, Refits):
        held, threshold = analysis.leave_one_out.held, analysis.training.threshold
        return shares_of_right(np.mean((held.scores > threshold) == held.positive, axis=0), removed.groups)
    return shares_of_right((removed.loo > 0) == analysis.view.labels.positive, removed.groups)


def shares_of_right(right: Any, groups: Ints | None) -> Floats:
    """Deviation of each row, right or wrong, from the share of right rows."""
    shares = (right - right.mean()) / right.size
    return shares if groups is None else np.asarray(np.bincount(groups, weights=shares))


def shares_in_auc(analysis: Analysis) -> Floats:
    """The share of each row, or of each group, in the estimated AUC of a candidate."""
    if analysis.several_classes:
        parts = analysis.averaged[0]
        return effects_of_rows(analysis.class_scores.codes, parts) if analysis.by_refits else shares_of(parts)
    if analysis.options.in_sample:
        z, positive = analysis.view.scores(), analysis.view.labels.positive
        return _shares((z[positive], -z[~positive]), np.flatnonzero(positive), np.flatnonzero(~positive))
    return shares_of_rows(analysis.leave_one_out)


def shares_of_rows(analysis: LeaveOneOut) -> Floats:
    """The same, from the honest scores of two classes."""
    removed = analysis.removed
    shares = _shares(removed.pairs.margins, removed.rows1, removed.rows0)
    return shares if removed.groups is None else np.asarray(np.bincount(removed.groups, weights=shares))


def _shares(margins: tuple[Floats, Floats], rows1: Ints, rows0: Ints) -> Floats:
    """Deviation of each row's mean difference to the other class, divided by the size of its own class."""
    shares = np.empty(rows1.size + rows0.size)
    for rows, means in zip((rows1, rows0), margins, strict=True):
        shares[rows] = (means - means.sum() / means.size) / means.size
    return shares


def shares_of(components: Sequence[Component]) -> Floats:
    """What each row contributes to the average AUC.

    Each AUC moves with the mean differences of all rows, as far as its slope there, divided by their number C.
    """
    n = 1 + max(int(rows.max()) for c in components for rows in c.rows)
    return np.asarray(np.mean([c.slope * c.contributions(n)[1] for c in components], axis=0))


# ---- The joint law of the AUCs, and the choice.

DRAWS = 2000  # in pairs of opposite sign
SEED = 20190822


@dataclass(frozen=True, eq=False)
class JointAUC:
    """Normal approximation of the AUCs of K candidates together."""

    mean: Floats  # (K,) of the posteriors
    sd: Floats
    shares: Floats  # (K, n) of each independent unit in each estimate; only their correlation is used

    @cached_property
    def covariance(self) -> Floats:
        """sd_k sd_l corr(shares_k, shares_l)."""
        length = np.linalg.norm(self.shares, axis=1, keepdims=True)
        unit = np.divide(self.shares, length, out=np.zeros_like(self.shares), where=length > 0)
        correlation = unit @ unit.T
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation * self.sd * self.sd[:, None])

    def prob_better(self, a: int) -> Floats:
        """For every candidate, the probability that candidate `a` has the larger AUC; 1/2 against itself."""
        S = self.covariance
        sd = np.sqrt(np.maximum(S[a, a] + np.diag(S) - 2 * S[a], 0.0))
        gap = self.mean[a] - self.mean
        with np.errstate(divide="ignore"):
            z = np.divide(gap, sd, out=np.copysign(np.inf, gap), where=sd > 0)
        return np.where(gap == 0, 0.5, ndtr(z))

    def optimism(self) -> float:
        """How far the largest of the K means is expected to exceed the AUC of its candidate.

            E[ e_k* ],    k* = argmax (truth + e),    e ~ N(0, covariance)

        The spread of the means is partly noise, so the truth is taken as the means shrunk towards their average by
        max(0, 1 - tr(S) / |means|^2), both centred (James and Stein). The draws are fixed, in pairs +-e: the answer is
        always the same, and never negative.
        """
        if self.mean.size < 2:
            return 0.0
        S, about = self.covariance, self.mean - self.mean.mean()
        noise, size = float(np.trace(S) - S.mean() * self.mean.size), float(about @ about)
        keep = max(0.0, 1.0 - noise / size) if size > 0 else 0.0
        truth = self.mean.mean() + keep * about
        values, vectors = np.linalg.eigh(S)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        errors = np.random.default_rng(SEED).standard_normal((DRAWS, self.mean.size)) @ root.T
        up, down = (truth + errors).argmax(axis=1), (truth - errors).argmax(axis=1)
        each = np.arange(DRAWS)
        return float(0.5 * np.mean(errors[each, up] - errors[each, down]))


def ranks(means: Floats) -> Any:
    """1 for the largest mean; equal means share a rank, candidates without one come last."""
    return rankdata(-np.where(np.isnan(means), np.nanmin(means) - 1.0, means), method="min").astype(np.int32)


def simplest(best: int, candidates: list[Params], joint: JointAUC, level: float) -> int:
    """Position, among the judged `candidates`, of the most regularised one that is not credibly worse than the best.

    Credibly worse: the best has the larger AUC with probability `level` or more. Only candidates that agree with the
    best in all other parameters are compared, as strengths of different models are not on one scale.
    """
    name = strength_of(candidates[best])
    if name is None:
        raise InputError(
            f"rule='simplest' needs one positive strength of regularisation (C, alpha or shrinkage) in param_grid, "
            f"got {', '.join(sorted(candidates[best])) or 'none'}: add one, or use rule='best'."
        )
    others, better = other_settings(candidates[best], name), joint.prob_better(best)
    close = [
        k
        for k, params in enumerate(candidates)
        if strength_of(params) == name and other_settings(params, name) == others and (better[k] < level or k == best)
    ]
    return min(close, key=lambda k: weakness(name, candidates[k][name]))
