"""All fits of a pipeline to parts of the same rows, made at once.

    sums of the columns -> columns as each fit scales and selects them -> one stack of small problems -> scores (M, N)

StandardScaler, VarianceThreshold and univariate selection read nothing but sums over rows, and one product with the
indicator (M, N) of the training rows gives those of all M fits. What remains is a small problem per fit: an L2 penalty,
an L1 penalty on the columns that the fit uses, PLS, or the hinge, left to its own solver on inner products of the rows.
Where rounding could decide a choice (two columns equally good, a constant column), or scikit-learn would raise, the fit
is `doubtful` and left to scikit-learn itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, expit, fdtrc

from foldless.checks import LARGEST as SQUARED
from foldless.checks import Floats, Labels, largest_size
from foldless.errors import EstimatorError
from foldless.honest.design import Bools, Ints
from foldless.honest.families import describe, l1_share
from foldless.honest.objective import Loss, Objective
from foldless.model.steps import flattened
from foldless.model.view import LinearView, codes_of

CANCELLED = 1e-11  # variance over mean square, below which a variance from sums is mostly rounding
NEAR, NEAR_TAIL = 1e-12, 1e-9  # relative distances, of scores and of p-values, that rounding may cross
ITERATIONS, SOLVED = 40, 1e-10  # of Newton's method, and the relative change of scores that ends it
NEARLY = 1e-6  # the same under an L1 penalty, and the share of the penalty by which a slope may exceed it
TINY = 1e-10  # of a diagonal
SWEEPS = 2  # over the weights under an L1 penalty, before all of them move together
CLOSE = 0.02  # of a score's sd: how near the fit to all rows has to be to the user's own
LARGEST = 1 << 25  # entries of a table
WORTH = 1 << 21  # rows x columns^2 of one fit: beyond it, scikit-learn's solvers are as fast
PATIENCE = 100_000  # iterations of a fit by libsvm: beyond them, refits one by one can show progress, and use n_jobs


# ---- The columns of all fits


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of the columns over the training rows of M fits.

    `X` (N, P) is the table about its means, for accurate differences of squares; `inside` (M, N) is 1 for training
    rows; `counts` (2, M, 1) and `totals` (2, M, P) are by class, `n` is (M, 1), all others (M, P). `unsafe` columns are
    (nearly) constant and not zero: their variance, here or in scikit-learn, is mostly rounding.
    """

    X: Floats
    positive: Bools
    inside: Floats
    counts: Floats
    n: Floats
    totals: Floats
    mean: Floats
    variance: Floats
    constant: Bools
    unsafe: Bools

    @classmethod
    def of(cls, table: Floats, centre: Floats, positive: Bools, inside: Floats) -> Sums:
        """All sums, by a few products of matrices; `centre` is the means of the table."""
        X, halves = table - centre, (~positive, positive)
        counts = np.stack([inside @ half for half in halves])[:, :, None]
        totals, n = np.stack([inside[:, half] @ X[half] for half in halves]), counts.sum(axis=0)
        mean, squares = totals.sum(axis=0) / n, inside @ np.square(X) / n
        variance = squares - mean**2
        nearly = variance <= CANCELLED * squares
        constant, unsafe = nearly.copy(), nearly
        for m in np.flatnonzero(nearly.any(axis=1)):
            constant[m, nearly[m]] = np.ptp(table[inside[m] > 0][:, nearly[m]], axis=0) == 0
        if nearly.any():
            unsafe, variance = nearly & (inside @ (table != 0) > 0), np.where(constant, 0.0, np.maximum(variance, 0.0))
        return cls(X, positive, inside, counts, n, totals, mean, variance, constant, unsafe)


@dataclass(frozen=True, eq=False)
class Seen:
    """The columns as each of M fits sees them: (X - shift) * factor, of those that are kept."""

    sums: Sums
    shift: Floats
    factor: Floats
    kept: Bools
    doubtful: Bools

    def keep(self, chosen: Bools, doubtful: Bools) -> Seen:
        """Only the chosen columns; a fit without any is left to scikit-learn, which refuses it."""
        kept = self.kept & chosen
        return replace(self, kept=kept, doubtful=self.doubtful | doubtful | ~kept.any(axis=1))

    def scaled(self, ddof: int) -> Seen:
        """Columns of standard deviation 1; constant ones stay as they are."""
        variance = self.sums.variance * (self.sums.n / (self.sums.n - ddof))
        factor = np.where(self.sums.constant, self.factor, 1 / np.sqrt(_nonzero(variance)))
        return replace(self, factor=factor, doubtful=self.doubtful | np.any(self.sums.unsafe & self.kept, axis=1))

    @property
    def width(self) -> int:
        """The largest number of columns of a fit."""
        return int(self.kept.sum(axis=1).max())

    @property
    def places(self) -> Ints:
        """Where the kept columns of every fit are, (M, K); others follow as padding."""
        return np.argsort(~self.kept, axis=1, kind="stable")[:, : self.width]

    def values(self) -> Floats:
        """The kept columns of every fit, (M, K, N), padded by columns of zeros."""
        places = self.places
        factor = np.take_along_axis(np.where(self.kept, self.factor, 0.0), places, axis=1)
        shift = np.take_along_axis(self.shift, places, axis=1)
        return np.asarray((self.sums.X.T[places] - shift[:, :, None]) * factor[:, :, None])


def _nonzero(scale: Floats) -> Floats:
    return np.where(scale > 0, scale, 1.0)


# ---- Steps that scale and select columns


def _standardised(seen: Seen, step: Any) -> Seen:
    shifted = replace(seen, shift=seen.sums.mean if step.with_mean else seen.shift)
    return shifted.scaled(ddof=0) if step.with_std else shifted


def _varied(seen: Seen, step: Any) -> Seen:
    variance = seen.sums.variance * seen.factor**2
    near = np.abs(variance - step.threshold) < NEAR_TAIL * step.threshold
    return seen.keep(variance > step.threshold, np.any(near & seen.kept, axis=1))


Ranking = tuple[Floats, Floats, Callable[[], Floats]]  # scores (M, P), their possible errors, and p-values
Choice = tuple[Bools, Bools]  # the chosen columns (M, P), and the fits whose choice rounding may decide


def _by_f(seen: Seen) -> Ranking:
    """F of the analysis of variance of two classes; neither shift nor factor matters, except to rounding."""
    s = seen.sums
    (n0, n1), (mean0, mean1) = s.counts, s.totals / s.counts
    between = n0 * n1 / s.n * (mean1 - mean0) ** 2
    within = np.maximum(s.n * s.variance - between, 0.0)
    with np.errstate(all="ignore"):  # 0 / 0 of constant columns, which rank last
        F = np.where(s.constant, -1.0, between / within * (s.n - 2))
        error = np.where(s.constant, NEAR, NEAR * F * s.n * (s.variance + (s.mean - seen.shift) ** 2) / within)
    return F, error, lambda: np.where(s.constant, np.inf, fdtrc(1, s.n - 2, F))


def _by_chi2(seen: Seen) -> Ranking:
    """Chi-squared between the classes and the sums of the columns."""
    s, observed = seen.sums, (seen.sums.totals - seen.sums.counts * seen.shift) * seen.factor
    total = observed.sum(axis=0)
    empty = ~(total > NEAR * s.n * seen.factor)
    expected = s.counts / s.n * np.where(empty, 1.0, total)
    scores = np.where(empty, -1.0, np.sum((observed - expected) ** 2 / expected, axis=0))
    if np.any((s.X.min(axis=0) - seen.shift) * seen.factor < -NEAR):  # scikit-learn refuses negative numbers
        scores = np.full_like(scores, np.nan)
    return scores, NEAR * np.abs(scores), lambda: np.where(empty, np.inf, chdtrc(1, scores))


def _best(seen: Seen, ranking: Ranking, k: Ints) -> Choice:
    """The k columns (M,) with the largest scores."""
    scores, error, _ = ranking
    order, width = np.argsort(np.where(seen.kept, scores, -np.inf), axis=1, kind="stable"), scores.shape[1]
    chosen = np.empty(scores.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(width) >= width - k[:, None], axis=1)
    with np.errstate(invalid="ignore"):  # infinite scores with infinite errors are doubtful
        worst = np.min(np.where(chosen, scores - error, np.inf), axis=1)
        next_best = np.max(np.where(seen.kept & ~chosen, scores + error, -np.inf), axis=1)
    return chosen, ~(worst > next_best)


def _k_best(seen: Seen, step: Any, ranking: Ranking) -> Choice:
    width = seen.kept.sum(axis=1)
    return _best(seen, ranking, width if step.k == "all" else np.minimum(step.k, width))


def _percentile(seen: Seen, step: Any, ranking: Ranking) -> Choice:
    """As many columns as lie above the percentile, which is interpolated between scores."""
    width = seen.kept.sum(axis=1)
    place = (width - 1) * ((100 - step.percentile) / 100)
    above, on_a_score = width - 1 - np.floor(place).astype(np.intp), place == np.floor(place)
    tied = on_a_score & ((width * step.percentile / 100).astype(np.intp) > above)
    chosen, doubtful = _best(seen, ranking, above + tied)
    return chosen, doubtful | (~on_a_score & (np.abs(place - np.round(place)) < NEAR_TAIL))


def _fpr(seen: Seen, step: Any, ranking: Ranking) -> Choice:
    tail = ranking[2]()
    return tail < step.alpha, np.any((np.abs(tail - step.alpha) <= NEAR_TAIL * step.alpha) & seen.kept, axis=1)


def _fdr(seen: Seen, step: Any, ranking: Ranking) -> Choice:
    """Benjamini and Hochberg: all columns up to the last whose p-value is below its share of alpha."""
    tail = np.where(seen.kept, ranking[2](), np.inf)
    ordered = np.sort(tail, axis=1)
    limit = step.alpha / seen.kept.sum(axis=1, keepdims=True) * np.arange(1, tail.shape[1] + 1)
    last = np.max(np.where(ordered <= limit, ordered, -np.inf), axis=1, keepdims=True)
    return tail <= last, np.any(np.abs(ordered - limit) <= NEAR_TAIL * limit, axis=1)


CHOICES = {"SelectKBest": _k_best, "SelectPercentile": _percentile, "SelectFpr": _fpr, "SelectFdr": _fdr}
RANKINGS = {"f_classif": _by_f, "chi2": _by_chi2}


def _selected(seen: Seen, step: Any) -> Seen | None:
    rank = RANKINGS.get(step.score_func.__name__) if _from_sklearn(step.score_func) else None
    if rank is None:
        return None
    chosen, doubtful = CHOICES[type(step).__name__](seen, step, rank(seen))
    return seen.keep(chosen, doubtful | np.any(seen.sums.unsafe & seen.kept, axis=1))


Step = Callable[[Seen, Any], Seen | None]
OTHERS: dict[str, Step] = {"StandardScaler": _standardised, "VarianceThreshold": _varied}
STEPS = OTHERS | dict.fromkeys(CHOICES, _selected)


# ---- The last step: an L2 problem, an L1 problem, the hinge, or PLS

Scored = tuple[Floats, Bools]  # scores of all rows in every fit (M, N), and which fits are doubtful


def l2_scores(seen: Seen, objective: Objective) -> Scored | None:
    """Scores at the optimum of  lam/2 |w|^2 + sum over the training rows of the loss."""
    if not objective.lam > 0 or _too_wide(seen):
        return None
    J, penalised = _stacked(seen, objective)
    scores, solved = minimised(J, _inside(objective.loss, seen), objective.lam * penalised)
    return scores, seen.doubtful | ~solved


def _too_wide(seen: Seen) -> bool:
    return seen.sums.positive.size * seen.width**2 > WORTH


def _inside(loss: Loss, seen: Seen) -> Loss:
    return type(loss)(loss.target, loss.weight * seen.sums.inside)


def _stacked(seen: Seen, objective: Objective) -> tuple[Floats, Floats]:
    """The columns of every fit and one for the intercept, (M, K + 1, N), and 1 for those that are penalised."""
    J, free = seen.values(), objective.free_intercept
    constant = np.full((len(J), 1, J.shape[2]), 1.0 if free else objective.constant)
    return np.concatenate([J, constant], axis=1), np.append(np.ones(J.shape[1]), 0.0 if free else 1.0)


def minimised(J: Floats, loss: Loss, lam: Floats) -> tuple[Floats, Bools]:
    """Scores (M, N) of M problems with columns J (M, K, N) by Newton's method, and which of them were solved."""
    coef, z = np.zeros(J.shape[:2]), np.zeros((J.shape[0], J.shape[2]))
    solved = np.zeros(len(J), dtype=bool)
    with np.errstate(all="ignore"):  # a problem that diverges is not solved
        for _ in range(ITERATIONS):
            slope = np.matmul(J, loss.gradient(z)[:, :, None])[:, :, 0] + lam * coef
            coef = coef - np.linalg.solve(_hessian(J, loss, z, lam), slope[:, :, None])[:, :, 0]
            before, z = z, np.matmul(coef[:, None, :], J)[:, 0]
            solved = _settled(z, before, SOLVED)
            if solved.all():
                break
    return z, solved


def _hessian(J: Floats, loss: Loss, z: Floats, lam: Floats) -> Floats:
    H, diagonal = np.matmul(J * loss.curvature(z)[:, None, :], J.transpose(0, 2, 1)), np.arange(J.shape[1])
    H[:, diagonal, diagonal] += lam + np.finfo(float).tiny
    return np.asarray(H)


def _settled(z: Floats, before: Floats, change: float) -> Bools:
    return np.asarray(np.max(np.abs(z - before), axis=1) <= change * (1 + np.max(np.abs(z), axis=1)))


# ---- The same with an L1 penalty, from the fit to all rows


def l1_scores(seen: Seen, objective: Objective, l1: float) -> Scored | None:
    """Scores at the optimum of  l1 |w|_1 + lam/2 |w|^2 + sum over the training rows of the loss.

    The fits start from the weights of the fit to all rows. Every step moves the weights that are not 0, or should not
    stay 0.
    """
    loss, coef = _inside(objective.loss, seen), np.zeros(seen.kept.shape)
    coef[:, seen.kept[-1]] = objective.weights
    coef *= seen.kept
    constant = 1.0 if objective.free_intercept else objective.constant
    last, w = np.full((len(coef), 1), objective.intercept / (constant or 1.0)), coef * seen.factor
    z = w @ seen.sums.X.T - np.sum(w * seen.shift, axis=1, keepdims=True) + constant * last
    start, wanted, solved = z[-1], seen.kept, np.zeros(len(coef), dtype=bool)
    with np.errstate(all="ignore"):  # a problem that diverges is not solved
        for _ in range(ITERATIONS):
            slope = loss.gradient(z)
            by_column = (slope @ seen.sums.X - slope.sum(axis=1, keepdims=True) * seen.shift) * seen.factor
            wanted = seen.kept & (coef == 0) & (np.abs(by_column) > l1 * (1 + NEARLY))
            if solved.all() and not wanted.any():
                break
            used = replace(seen, kept=wanted | (coef != 0))
            if _too_wide(used) or used.width > 3 * z.shape[1]:
                return None
            (J, penalised), places = _stacked(used, objective), used.places
            now, lam = np.hstack([np.take_along_axis(coef, places, axis=1), last]), objective.lam * penalised
            slopes = np.matmul(J, slope[:, :, None])[:, :, 0] + lam * now
            now = _shrunk(_hessian(J, loss, z, lam), slopes, now, l1 * penalised, SWEEPS if wanted.any() else 0)
            np.put_along_axis(coef, places, now[:, :-1], axis=1)
            last, before, z = now[:, -1:], z, np.matmul(now[:, None, :], J)[:, 0]
            solved = _settled(z, before, NEARLY)
            if np.max(np.abs(z[-1] - start)) > CLOSE * np.std(start):  # the user's fit was not at its optimum
                return None
    return z, seen.doubtful | ~solved | wanted.any(axis=1)


def _shrunk(H: Floats, slope: Floats, coef: Floats, l1: Floats, sweeps: int) -> Floats:
    """Lower the sum of l1 |w|_1 and a quadratic function with this Hessian, and this slope at `coef`.

    Weights one by one, then all that are not 0 together, as far as the first that becomes 0.
    """
    rows, w, g = np.ascontiguousarray(H.transpose(1, 2, 0)), coef.T.copy(), slope.T.copy()
    diagonal = np.einsum("kkm->km", rows)
    limit = l1[:, None] / diagonal
    for _ in range(sweeps):
        for k in np.flatnonzero(np.any((w != 0) | (np.abs(g) > l1[:, None]), axis=1)):
            at = w[k] - g[k] / diagonal[k]
            new = at - np.minimum(np.maximum(at, -limit[k]), limit[k])
            g += (new - w[k]) * rows[k]
            w[k] = new
    w, g = w.T, g.T
    sign, free = np.sign(w), (w != 0) | (l1 == 0)
    # Columns that repeat each other, or more of them than rows, leave the system singular: any solution will do.
    lifted = np.where(free, TINY * diagonal.T.max(axis=1, keepdims=True), 1.0)
    system = np.where(free[:, :, None] & free[:, None, :], H, 0.0) + np.eye(l1.size) * lifted[:, :, None]
    step = -np.linalg.solve(system, np.where(free, g + l1 * sign, 0.0)[:, :, None])[:, :, 0]
    reach = np.where((l1 > 0) & (step * sign < -np.abs(w)), -w / np.where(step, step, 1.0), 1.0)
    share = reach.min(axis=1, keepdims=True)
    return np.where((reach <= share) & (share < 1), 0.0, w + share * step)


# ---- The hinge: scikit-learn's solver, on tables with as many columns as rows


def hinge_scores(seen: Seen, final: Any, labels: Labels, weight: Floats | None) -> Scored | None:
    """Scores by the solver of SVC or LinearSVC, which sees inner products of rows only; doubtful where it warns."""
    from sklearn.base import clone

    s, by_products = seen.sums, type(final).__name__ == "SVC"
    y = np.where(labels.positive, labels.positive_label, labels.negative_label)
    if s.positive.size**2 > WORTH or np.max(final.n_iter_) > PATIENCE or hasattr(final, "predict_proba"):
        return None
    options = {"kernel": "precomputed"} if by_products else {"random_state": final.random_state or 0}
    model, scores, doubtful = clone(final).set_params(**options), np.empty(s.inside.shape), seen.doubtful.copy()
    for m, train in enumerate(s.inside > 0):
        table = (s.X - (s.mean if by_products else seen.shift)[m]) * (seen.factor[m] * seen.kept[m])
        table = (table @ table.T)[:, train] if by_products else _rotated(table)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.fit(table[train], y[train], None if weight is None else weight[train])
            except ValueError:  # no weight on a class, say: left to refits one by one, which tell why
                return None
        scores[m] = model.decision_function(table)
        doubtful[m] |= bool(caught)
    return scores * _towards(final, labels), doubtful


def _rotated(table: Floats) -> Floats:
    """No more columns than rows, and the same inner products."""
    if table.shape[1] <= table.shape[0]:
        return table
    values, vectors = np.linalg.eigh(table @ table.T)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _towards(final: Any, labels: Labels) -> float:
    """1 if the scores of a classifier point towards the positive class, else -1."""
    return 1.0 if final.classes_[1] == labels.positive_label else -1.0


def pls_scores(seen: Seen, components: int, scale: bool) -> Scored:
    """Predictions of PLSRegression on 0 and 1, less 1/2: X X' r of residuals r, which sum to 0, made orthogonal."""
    seen, s = seen.scaled(ddof=1) if scale else seen, seen.sums
    factor, share = np.where(seen.kept, seen.factor, 0.0), s.counts[1] / s.n
    residual = (s.positive - share) * s.inside
    enough, doubtful = NEAR * np.sum(residual**2, axis=1), seen.doubtful | (seen.kept.sum(axis=1) < components)
    scores, before = np.broadcast_to(share - 0.5, residual.shape), list[Floats]()
    for _ in range(components):
        doubtful = doubtful | ~(np.sum(residual**2, axis=1) > enough)
        w = (residual @ s.X if before else s.totals[1] - s.counts[1] * s.mean) * factor
        v = factor * (w / _nonzero(np.linalg.norm(w, axis=1, keepdims=True)))
        t = v @ s.X.T - np.einsum("mp,mp->m", v, s.mean)[:, None]
        for other in before * 2:  # the second time takes off what rounding left
            t = t - other * np.sum(other * t * s.inside, axis=1, keepdims=True)
        t = t / np.sqrt(_nonzero(np.sum(t**2 * s.inside, axis=1, keepdims=True)))
        before.append(t)
        part = t * np.sum(t * residual, axis=1, keepdims=True)
        scores, residual = scores + part, residual - part * s.inside
    return scores, doubtful


# ---- The whole pipeline


def fit_at_once(
    estimator: Any, X: Any, labels: Labels, own: Floats, weight: Floats | None, held_out: list[Ints]
) -> Scored | None:
    """Scores and probabilities (NaN for none) without each of M sets of rows, (2, M, N), and the doubtful fits.

    None if the fits cannot be made at once. One more, to all rows, is compared with `own`, the scores of the user's
    fit: a pipeline that was not understood is found out.
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "iuf" or X.dtype.itemsize < 8 or X.size > LARGEST:
        return None
    *steps, (_, final) = flattened("", estimator)
    known = all(type(step).__name__ in STEPS and _from_sklearn(type(step)) for _, step in steps)
    if not known or not _from_sklearn(type(final)) or largest_size(X) > SQUARED:
        return None
    inside, shape = np.ones((len(held_out) + 1, len(X))), (len(held_out) + 1, X.shape[1])
    for m, rows in enumerate(held_out):
        inside[m, rows] = 0.0
    table, kept = X.astype(np.float64, copy=False), np.ones(shape, dtype=bool)
    sums = Sums.of(table, centre := table.mean(axis=0), labels.positive, inside)
    nothing = np.broadcast_to(-centre, shape), np.ones(shape)  # neither shifted nor scaled
    seen: Seen | None = Seen(sums, *nothing, kept, np.zeros(len(inside), dtype=bool))
    for _, step in steps:
        seen = None if seen is None else STEPS[type(step).__name__](seen, step)
    try:
        scored = None if seen is None else _scored(seen, final, labels, weight)
    except np.linalg.LinAlgError:
        return None
    if scored is None or scored[1][-1] or not np.max(np.abs(scored[0][-1] - own)) <= CLOSE * np.std(own):
        return None
    scores, doubtful = scored[0][:-1], scored[1][:-1]
    return np.stack([scores, expit(scores) if hasattr(final, "predict_proba") else np.nan * scores]), doubtful


def _scored(seen: Seen, final: Any, labels: Labels, weight: Floats | None) -> Scored | None:
    """Scores by the last step; None if it is not known, stopped early, or balances its classes."""
    if type(final).__name__ == "PLSRegression" and weight is None:
        return pls_scores(seen, final.n_components, final.scale)
    made, most = getattr(final, "n_iter_", None), getattr(final, "max_iter", None) or -1
    name, stopped = type(final).__name__, made is not None and 0 < most <= np.max(made)
    if stopped or name not in ("LogisticRegression", "RidgeClassifier", "LinearSVC", "SVC"):
        return None
    if name == "SVC" or getattr(final, "loss", None) == "hinge":
        return hinge_scores(seen, final, labels, weight) if getattr(final, "kernel", "linear") == "linear" else None
    if getattr(final, "class_weight", None) == "balanced":  # weights that change from fit to fit
        return None
    return _penalised_scores(seen, final, labels, weight)


def _penalised_scores(seen: Seen, final: Any, labels: Labels, weight: Floats | None) -> Scored | None:
    """Scores of the fits with an L2 or an L1 penalty, or both."""
    l1, plain, sign = l1_share(final), copy(final), _towards(final, labels)
    if l1:
        plain.penalty, plain.l1_ratio = "l2", None
    coef, shape = sign * np.atleast_2d(final.coef_), (labels.positive.size, np.size(final.coef_))
    view = LinearView(np.zeros(shape), *codes_of(labels), coef, sign * np.ravel(final.intercept_), plain)
    with suppress(EstimatorError):  # no penalty: left to scikit-learn
        objective = describe(view, weight)
        if objective is None or (l1 and np.count_nonzero(seen.kept[-1]) != coef.size):
            return None
        if objective.free_intercept:  # takes up any shift
            seen = replace(seen, shift=seen.sums.mean)
        return l1_scores(seen, replace(objective, lam=1.0 - l1), l1) if l1 else l2_scores(seen, objective)
    return None


def _from_sklearn(what: Any) -> bool:
    return str(what.__module__).startswith("sklearn.")
