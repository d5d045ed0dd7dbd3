"""How far a fit is from the optimum of its objective, and the damped Newton steps that lead there.

scikit-learn's default tolerances stop early at weak penalties; the removal formulas hold only at the optimum.
Newton steps in the coordinates of the design use the same matrices as removal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from foldless.checks import Floats
from foldless.errors import EstimatorError
from foldless.honest.design import Curvature, Design, build_design, curvature_at
from foldless.honest.newton import Factor, Fit, Point, approach, bisected, descended, ratio_of_lengths
from foldless.honest.objective import Objective
from foldless.tables.matrix import project

CONVERGED = 1e-3  # a residual below this changes no figure that anyone reads
TIGHT = 1e-8
TRUSTED = 1e-6  # above this residual rounding stopped the descent
MAX_STEPS = 200
CHEAP = 1e6  # up to this many multiplications, the Hessian is recomputed for every Newton step
# Newton steps with a fixed Hessian: most steps, longest step, step that ends them, and largest change of curvatures.
KEPT_STEPS, SHORT, NEGLIGIBLE, CHANGED = 4, 0.1, 1e-3, 0.01
MIN_PENALTY = 1e-9  # relative to the mean squared length of a row
# Standard deviations between the thresholds, and ratio of spreads, that no early stop reached in 181 fits of 20 sets.
# With a strong penalty scores hardly spread at all; but then their slopes are in balance, which no weighted fit's are.
SHIFTED, WIDER, UNBALANCED = 0.1, 1.3, 0.01
ROUNDING = 1e-17  # a descent below this share of the objective is lost in rounding


# ---- The optimum next to the user's fit.


@dataclass(frozen=True)
class Optimum:
    """The point at which rows are removed."""

    point: Point  # the user's fit, or the polished one
    curvature: Curvature  # second derivatives there
    residual_before: float  # optimality residual of the user's fit
    direction_cosine: float  # their `agreement`
    penalty_factor: float = 1.0  # how much stronger the penalty is at `point` than in the user's objective
    fitted: Floats | None = None  # scores of the user's fit where that is not `point`

    @property
    def polished(self) -> bool:
        return self.residual_before > CONVERGED


def lies_elsewhere(objective: Objective, solution: Optimum) -> bool:
    """Whether the user's scores lie elsewhere than those of `point`, out of balance, or spread wider."""
    if solution.fitted is None:
        return False
    z, fitted, gradient = solution.point.scores, solution.fitted, objective.loss.gradient
    about, g = z - z.mean(), gradient(z)
    slope = float(about @ fitted) / max(float(about @ about), np.finfo(float).tiny)
    level, spread = float(fitted.mean() - slope * z.mean()), float(fitted.std())
    unbalanced = abs(float((gradient(fitted) - g).sum())) > UNBALANCED * float(np.abs(g).sum())
    return (abs(level) > SHIFTED * spread and unbalanced) or spread > WIDER * float(about.std())


def optimum(objective: Objective, design: Design | None = None) -> tuple[Design, Optimum]:
    """The optimum next to the user's fit: the fit itself when its residual is below `CONVERGED`."""
    if design is None:
        design = build_design(objective.X, constant=objective.constant, free_intercept=objective.free_intercept)
    objective = tempered(objective, design)
    start = fitted_point(objective, design)
    design.foresee(objective.loss.gradient, objective.loss.curvature, at=start.scores)
    outside = _outside(objective, start)
    curvature = curvature_of(objective, design, start)
    with np.errstate(over="ignore", invalid="ignore"):  # a saturated fit may have no curvature left to divide by
        before = float(np.hypot(residual(objective, design, start, curvature), outside))
    if before <= CONVERGED:
        return design, Optimum(start, curvature, before, 1.0)
    if is_dear(design):
        near = _with_kept_curvature(objective, design, start, curvature)
        if near is not None:
            return design, Optimum(*near, before, match_of_fit(objective, start, near[0]), fitted=start.scores)
    point, curvature = _descended(objective, design, start, curvature)
    if objective.lam == 0 and not residual(objective, design, point, curvature) <= CONVERGED:
        raise EstimatorError(
            f"{objective.name} has no finite optimum on these rows (they are separable, or nearly): "
            f"fit with a penalty, or drop columns."
        )
    return design, Optimum(point, curvature, before, match_of_fit(objective, start, point), fitted=start.scores)


def _with_kept_curvature(
    objective: Objective, design: Design, start: Point, curvature: Curvature
) -> tuple[Point, Curvature] | None:
    """The optimum by short Newton steps with one curvature, or two if the first is outdated; None if a step is long.

    Scikit-learn's tolerances leave a fit so close to its optimum that curvatures hardly change on the way.
    """
    D, point = objective.loss.curvature(start.scores), start
    for _ in range(KEPT_STEPS):
        moved = full_step(objective, design, point, curvature)
        size = _relative_step(point.scores, moved.scores, D)
        if not size <= SHORT:
            return None
        point = moved
        if size <= NEGLIGIBLE:
            break
    now = objective.loss.curvature(point.scores)
    if np.mean(np.abs(now - D) / np.maximum(now + D, np.finfo(float).tiny)) < CHANGED:
        return point, curvature
    curvature = curvature_of(objective, design, point)
    moved = full_step(objective, design, point, curvature)
    # A Newton step squares the distance.
    return (moved, curvature) if _relative_step(point.scores, moved.scores, now) ** 2 <= NEGLIGIBLE else None


def is_dear(design: Design) -> bool:
    """Whether a Hessian costs so much that steps with an old one are worth their trouble."""
    return bool(design.n_rows * design.matrix.shape[1] ** 2 > CHEAP)


def tolerance_of(design: Design) -> float:
    """The residual to which an optimum is found: large designs are in single precision in part."""
    return TRUSTED if design.is_large else TIGHT


def _descended(objective: Objective, design: Design, start: Point, curvature: Curvature) -> tuple[Point, Curvature]:
    """The optimum, with a Hessian for every Newton step only where it is cheap or one does not do."""
    near = Factor(design, curvature, objective.lam)
    point = _by_factor(objective, design, start, near, tolerance_of(design))
    if point is not None:
        return point, curvature_of(objective, design, point)
    return descend(objective, design, start, curvature)[:2]


def _by_factor(objective: Objective, design: Design, start: Point, near: Factor, tolerance: float) -> Point | None:
    """The optimum by Newton steps with a similar Hessian; None if they fail or would save nothing."""
    if not is_dear(design) or not isinstance(design.matrix, np.ndarray) or objective.lam == 0:
        return None
    intercept = float(np.mean(start.scores - design.scores(start.coef))) if objective.free_intercept else 0.0
    fit = approach(objective, design, Fit(start.coef, intercept, start.scores), near, tolerance)
    return Point(fit.coef, fit.scores) if fit.residual <= tolerance else None


def _relative_step(before: Floats, after: Floats, D: Floats) -> float:
    """Length of a change of the scores relative to their spread, in the metric of the curvature."""
    spread = before - np.average(before, weights=D + np.finfo(float).tiny)
    return float(np.sqrt(D @ (after - before) ** 2 / max(float(D @ spread**2), np.finfo(float).tiny)))


def tempered(objective: Objective, design: Design) -> Objective:
    """In the row space, raise a penalty far below the scale of the rows to where the arithmetic is reliable.

    With so small a penalty the fit interpolates its rows and honest scores have reached their limit; but
    1 - leverage, of the order penalty / scale, would be lost in rounding, and with it every correction.
    """
    if design.pivots is None or objective.lam <= 0:
        return objective
    lengths = design.kept("lengths", lambda: np.einsum("ij,ij->i", design.matrix, design.matrix))
    scale = float(np.mean(objective.loss.stiffness() * lengths))
    return replace(objective, lam=max(objective.lam, MIN_PENALTY * scale))


def fitted_point(objective: Objective, design: Design) -> Point:
    """The user's fit in the coordinates of the design."""
    known = objective.scores
    scores = project(objective.X, objective.weights) + objective.intercept if known is None else known
    own = scores - scores.mean() if objective.free_intercept else scores
    return Point(design.coefficients(_augmented(objective), own), scores)


def residual(objective: Objective, design: Design, point: Point, curvature: Curvature) -> float:
    """Optimality residual: the larger of |lam w + A'g| / |lam w| and, for a free intercept, |sum g| / sum |g|.

    Without a penalty: the length of a Newton step relative to the scores, both in the metric of the curvature.
    """
    g = objective.loss.gradient(point.scores)
    slope = _slope(objective, design, point, g, curvature)
    balance = abs(g.sum()) / max(float(np.abs(g).sum()), np.finfo(float).tiny) if objective.free_intercept else 0.0
    if objective.lam > 0:
        return max(ratio_of_lengths(slope, objective.lam * point.coef), balance)
    D = objective.loss.curvature(point.scores)
    spread = np.sqrt(D) * (point.scores - np.average(point.scores, weights=D + np.finfo(float).tiny))
    return max(ratio_of_lengths(curvature.root.T @ slope, spread), balance)


def descend(
    objective: Objective, design: Design, start: Point, curvature: Curvature, tolerance: float = TIGHT
) -> tuple[Point, Curvature, float]:
    """Damped Newton steps until the residual is below the tolerance or rounding stops the descent."""

    def at(point: Point, curvature: Curvature) -> tuple[Point, Curvature, float]:
        return point, curvature, residual(objective, design, point, curvature)

    def step(now: tuple[Point, Curvature, float]) -> tuple[Point, Curvature, float] | None:
        point, curvature, left = now
        moved = None if left <= tolerance else _newton_step(objective, design, point, curvature)
        return None if moved is None else at(moved, curvature_of(objective, design, moved))

    point = _better_start(objective, design, start)
    curvature = curvature if point is start else curvature_of(objective, design, point)
    return descended(at(point, curvature), step, MAX_STEPS)


def match_of_fit(objective: Objective, start: Point, point: Point) -> float:
    """`agreement` of the user's fit `start`, which may lie in part outside the row space, with another point."""
    tiny, norm = np.finfo(float).tiny, float(np.linalg.norm(_augmented(objective)))
    weights = float(start.coef @ point.coef) / max(norm * float(np.linalg.norm(point.coef)), tiny)
    za, zb = start.scores - start.scores.mean(), point.scores - point.scores.mean()
    scores = float(za @ zb) / max(float(np.linalg.norm(za) * np.linalg.norm(zb)), tiny)
    return agreement(weights, scores, objective.X.shape[1] / len(za))


def agreement(weights: float, scores: float, columns_per_row: float) -> float:
    """How far two classifiers agree, from the cosines of their weights and of their scores on the rows.

    It is the mean of the two; but weights along columns that hardly vary, or that add up to a constant as one-hot
    columns do, change no score. Where rows are many the scores tell: on new rows two classifiers differ by no more than
    1 / (1 - sqrt(P / N))^2 times the mean square on N normal rows with P columns.
    """
    room = (1 - min(columns_per_row, 1.0) ** 0.5) ** 2
    at_least = 1 - (1 - scores) / room if room else -1.0
    return max((weights + scores) / 2, at_least)


def _newton_step(objective: Objective, design: Design, point: Point, curvature: Curvature) -> Point | None:
    """The next point, or None when no step along the Newton direction descends any further."""
    dc, dz = _newton_direction(objective, design, point, curvature)
    step = _step_length(objective, point, dc, dz)
    return None if step == 0.0 else Point(point.coef + step * dc, point.scores + step * dz)


def full_step(objective: Objective, design: Design, point: Point, curvature: Curvature) -> Point:
    """One full Newton step, which reaches the optimum from a point next to it."""
    dc, dz = _newton_direction(objective, design, point, curvature)
    return Point(point.coef + dc, point.scores + dz)


def _newton_direction(
    objective: Objective, design: Design, point: Point, curvature: Curvature
) -> tuple[Floats, Floats]:
    """Change of the coefficients and of the scores."""
    g = objective.loss.gradient(point.scores)
    dc = -curvature.root @ (curvature.root.T @ _slope(objective, design, point, g, curvature))
    dz = design.scores(dc)
    if curvature.centre is not None:
        dz = dz - curvature.centre @ dc - g.sum() / curvature.total
    return dc, dz


def _step_length(objective: Objective, point: Point, dc: Floats, dz: Floats) -> float:
    """Step along the Newton direction; 0 if none descends. A slope takes N operations, so the search is cheap."""
    initial = _line_derivative(objective, point, dc, dz, 0.0)
    if not initial < -ROUNDING * _value(objective, point):
        return 0.0
    return bisected(lambda step: _line_derivative(objective, point, dc, dz, step), initial)


def _line_derivative(objective: Objective, point: Point, dc: Floats, dz: Floats, step: float) -> float:
    penalty = objective.lam * float((point.coef + step * dc) @ dc)
    return penalty + float(objective.loss.gradient(point.scores + step * dz) @ dz)


def _better_start(objective: Objective, design: Design, start: Point) -> Point:
    """The user's point, or the origin if its value is lower: saturated losses give Newton's method nothing to go by."""
    origin = Point(np.zeros(len(start.coef)), np.zeros(design.n_rows))
    return start if _value(objective, start) <= _value(objective, origin) else origin


def _value(objective: Objective, point: Point) -> float:
    return 0.5 * objective.lam * float(point.coef @ point.coef) + float(objective.loss.value(point.scores).sum())


def curvature_of(objective: Objective, design: Design, point: Point) -> Curvature:
    """Second derivatives of the objective at a point."""
    return curvature_at(design, objective.loss.curvature(point.scores), objective.lam, objective.free_intercept)


def _slope(objective: Objective, design: Design, point: Point, g: Floats, curvature: Curvature) -> Floats:
    return objective.lam * point.coef + design.back(g, curvature.centre)


def _outside(objective: Objective, start: Point) -> float:
    """Share of the weights outside the span of the rows: the penalty would have driven it to zero."""
    total = float(np.sum(_augmented(objective) ** 2))
    return float(np.sqrt(max(0.0, total - float(start.coef @ start.coef)) / total)) if objective.lam > 0 else 0.0


def _augmented(objective: Objective) -> Floats:
    if objective.constant == 0:
        return objective.weights
    return np.append(objective.weights, objective.intercept / objective.constant)


# ---- A fit that stopped early resembles the optimum at a stronger penalty: find the most similar one.
#
# Solvers start at zero and move towards the optimum much as the optimum itself moves when the penalty weakens. If the
# user's weights point away from the optimum of their objective, rows are removed at the nearest point of that path:
# it represents the user's classifier, whereas the optimum represents a classifier that nobody has.

ELSEWHERE = 0.999  # above this, the optimum itself represents the weights well enough
STEP = 10**0.25
PATH_STEPS = 12  # three decades
RESEMBLES = 0.9  # below this, the weights are no early stop on the path: they were not fitted to these rows
PAST = 3  # after this many consecutive optima further away than the best, the path only leads away


@dataclass(frozen=True)
class OnPath:
    """An optimum at a stronger penalty, and its agreement with the user's weights."""

    objective: Objective
    point: Point
    direction_cosine: float


def nearest_on_path(objective: Objective, design: Design, solution: Optimum) -> Optimum:
    """`solution`, or the optimum at a stronger penalty to which the user's weights are closer in direction."""
    if not solution.polished or solution.direction_cosine >= ELSEWHERE or objective.lam == 0:
        return solution
    own = OnPath(objective, solution.point, solution.direction_cosine)
    best = most_similar(own, _stronger(objective, design, solution))
    if best is own:
        return solution
    curvature = curvature_of(best.objective, design, best.point)
    factor = best.objective.lam / objective.lam
    return Optimum(best.point, curvature, solution.residual_before, best.direction_cosine, factor)


def _stronger(objective: Objective, design: Design, solution: Optimum) -> Iterator[OnPath]:
    """Optima at ever stronger penalties."""
    start, stronger = fitted_point(objective, design), tempered(objective, design)
    point, near = solution.point, Factor(design, solution.curvature, stronger.lam)
    for _ in range(PATH_STEPS):
        stronger = replace(stronger, lam=stronger.lam * STEP)
        moved = _by_factor(stronger, design, point, near, 0.1 * CONVERGED)
        if moved is None:
            at_start = curvature_of(stronger, design, point)
            moved, curvature, _ = descend(stronger, design, point, at_start, 0.1 * CONVERGED)
            near = Factor(design, curvature, stronger.lam)
        point = moved
        yield OnPath(stronger, point, match_of_fit(objective, start, point))


class HasDirection(Protocol):
    """An optimum that knows its agreement with the user's weights."""

    @property
    def direction_cosine(self) -> float: ...


D = TypeVar("D", bound=HasDirection)


def most_similar(solution: D, path: Iterable[D]) -> D:
    """The optimum whose direction is closest to that of the user's weights: `solution`, or a later one on the path."""
    best, worse = solution, 0
    for each in path:
        if each.direction_cosine > best.direction_cosine:
            best, worse = each, 0
        else:
            worse += 1
        if worse == PAST:
            break
    return best if best.direction_cosine >= RESEMBLES else solution
