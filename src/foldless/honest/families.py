"""What a linear classifier minimised: one function per family.

A family is a function ``(view, sample_weight) -> Objective | None``, entered in the table `FAMILIES` at the end; None
means that this particular fit (L1 penalty, estimated shrinkage, ...) has no closed form, and a surrogate takes over.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from foldless.checks import Floats, Labels
from foldless.errors import EstimatorError, InputError
from foldless.honest.objective import Balance, LogisticLoss, Objective, Readout, Removal, SquaredHingeLoss, SquaredLoss
from foldless.honest.scales import measured
from foldless.laws.moments import feature_moments
from foldless.model.steps import sklearn_names
from foldless.model.view import LinearView
from foldless.tables.matrix import LazyMatrix

# ---- Targets and weights of the training rows, shared by the families.


def targets(labels: Labels) -> Floats:
    """t = +1 for the positive class, -1 for the other."""
    return np.where(labels.positive, 1.0, -1.0)


def _fitted(view: LinearView) -> dict[str, Any]:
    scores = None if isinstance(view.X, LazyMatrix) else view.scores()
    return {"X": view.X, "weights": view.w, "intercept": view.intercept, "scores": scores}


def row_weights(view: LinearView, class_weight: Any, sample_weight: Floats | None, *, counted: bool = False) -> Floats:
    """Sample weight x class weight of each row.

    `counted` says whether "balanced" counts sample weights instead of rows, as newer versions of scikit-learn do
    for some classifiers.
    """
    s = np.ones_like(view.codes, dtype=float) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if class_weight is None:
        return s
    return np.asarray(s * class_weights(view, class_weight, s if counted else None)[view.codes])


def class_weights(view: LinearView, class_weight: Any, mass: Floats | None) -> Floats:
    """Weight of each class; "balanced" is total / (K x total of the class), counting rows or their `mass`."""
    if isinstance(class_weight, Mapping):
        return np.array([float(class_weight.get(label, 1.0)) for label in view.classes])
    sums = np.bincount(view.codes, weights=mass, minlength=len(view.classes))
    return np.asarray(sums.sum() / (sums.size * sums))


def with_balance(objective: Objective, view: LinearView, sample_weight: Floats | None) -> Objective:
    """The objective with class weights that are recomputed as rows are removed, if they are balanced."""
    weighing = getattr(view.estimator, "class_weight", None)
    if not (isinstance(weighing, str) and weighing == "balanced"):
        return objective
    counted = "Ridge" not in type(view.estimator).__name__ and balanced_counts_sample_weights()
    mass = sample_weight if counted and sample_weight is not None else np.ones(view.codes.size)
    total = np.bincount(view.codes, weights=mass, minlength=2).astype(np.float64)
    return replace(objective, balance=Balance(total, total / np.bincount(view.codes[mass > 0], minlength=2)))


def balanced_counts_sample_weights() -> bool:
    """Whether this scikit-learn lets "balanced" see sample weights (the argument came with the behaviour)."""
    from sklearn.utils.class_weight import compute_class_weight

    return "sample_weight" in inspect.signature(compute_class_weight).parameters


# ---- Logistic regression with an L2 penalty or none:  1/2 |w|^2 + C sum_i s_i log(1 + exp(-t_i z_i)).

WAY_OUT = "fit LogisticRegression with a finite C (C=1.0 is the default), or drop columns"


def logistic(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of LogisticRegression and LogisticRegressionCV; None for L1, elastic net and averaged fits."""
    est: Any = view.estimator
    # Softmax over two classes penalises differently.
    C = None if getattr(est, "multi_class", "auto") == "multinomial" else strength(est)
    if C is None:
        return None
    s = row_weights(view, est.class_weight, sample_weight, counted=balanced_counts_sample_weights())
    t = targets(view.labels)
    liblinear = est.solver == "liblinear" and est.fit_intercept
    penalised = np.isfinite(C)
    if not penalised:
        _refuse_separable(view, t)
    return Objective(
        name="logistic regression" if penalised else "logistic regression without penalty",
        loss=LogisticLoss(t, C * s if penalised else s),
        lam=1.0 if penalised else 0.0,
        **_fitted(view),
        constant=float(est.intercept_scaling) if liblinear else 0.0,
        free_intercept=bool(est.fit_intercept and not liblinear),
    )


def strength(est: Any) -> float | None:
    """C of an L2 penalty, infinity for no penalty, None for anything else.

    scikit-learn 1.8 moved from `penalty` to `l1_ratio` and C = inf; both spellings are read, neither is changed.
    """
    penalty, cross_validated = getattr(est, "penalty", "deprecated"), hasattr(est, "C_")
    if cross_validated and not est.refit:  # the weights are an average over folds
        return None
    if penalty is None:
        return np.inf
    return None if l1_share(est) else _chosen(est.C_ if cross_validated else est.C)


def l1_share(est: Any) -> float:
    """Share of the L1 norm in the penalty; the rest is L2."""
    penalty, ratio = getattr(est, "penalty", "deprecated"), getattr(est, "l1_ratio_", getattr(est, "l1_ratio", None))
    if penalty == "l1":
        return 1.0
    return (_chosen(ratio) or 0.0) if penalty in ("elasticnet", "deprecated") else 0.0


def _chosen(value: Any) -> float | None:
    first = np.ravel(np.asarray(value, dtype=object))[0]
    return None if first is None else float(first)


def _refuse_separable(view: LinearView, t: Floats) -> None:
    N, P = view.X.shape
    if P + 1 >= N:
        raise EstimatorError(
            f"logistic regression without a penalty on {P} columns and {N} rows has no finite solution, so nothing "
            f"can be said about it: {WAY_OUT}."
        )
    if np.min(t * view.scores()) > 0:
        raise EstimatorError(
            "logistic regression without a penalty separates the classes perfectly, so its weights grow without end: "
            f"{WAY_OUT}."
        )


def is_one_against_rest(estimator: Any) -> bool:
    """True for logistic regression that older versions of scikit-learn fit one class at a time."""
    if not sklearn_names(estimator) & {"LogisticRegression", "LogisticRegressionCV"}:
        return False
    kind = getattr(estimator, "multi_class", "auto")
    return kind == "ovr" or (kind in ("auto", "deprecated", "warn") and estimator.solver == "liblinear")


# ---- Ridge classification:  alpha/2 |w|^2 + 1/2 sum_i s_i (z_i - t_i)^2.


def ridge(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of RidgeClassifier and RidgeClassifierCV; None under a sign constraint."""
    est: Any = view.estimator
    if getattr(est, "positive", False):
        return None
    alpha = float(np.ravel(est.alpha_ if hasattr(est, "alpha_") else est.alpha)[0])
    N, P = view.X.shape
    if alpha == 0 and P + 3 > N:  # without two rows there are as many weights as rows, or more
        raise EstimatorError(
            f"least squares without a penalty on {P} columns and {N} rows fits any labels perfectly, so nothing can be "
            f"said about it: set alpha above 0 (alpha=1.0 is the default), or drop columns."
        )
    return Objective(
        name="ridge classifier",
        loss=SquaredLoss(targets(view.labels), row_weights(view, est.class_weight, sample_weight)),
        lam=alpha,
        **_fitted(view),
        free_intercept=bool(est.fit_intercept),
    )


# ---- Linear support vector machine with the squared hinge:  1/2 |w|^2 + C sum_i s_i max(0, 1 - t_i z_i)^2.


def squared_hinge(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of LinearSVC; None for the plain hinge, an L1 penalty and the Crammer-Singer form."""
    est: Any = view.estimator
    if est.loss != "squared_hinge" or est.penalty != "l2" or est.multi_class != "ovr":
        return None
    s = row_weights(view, est.class_weight, sample_weight, counted=balanced_counts_sample_weights())
    return Objective(
        name="linear support vector machine",
        loss=SquaredHingeLoss(targets(view.labels), float(est.C) * s),
        lam=1.0,
        **_fitted(view),
        # liblinear penalises the intercept as the weight of a constant column.
        constant=float(est.intercept_scaling) if est.fit_intercept else 0.0,
        free_intercept=False,
    )


# ---- Linear discriminant analysis with fixed shrinkage, as ridge regression on t = +-1.
#
# With m1, m0 the masses of the classes, N = m1 + m0, W the within-class scatter, Delta the difference of the class
# means, c = m1 m0/N and shrinkage q,
#
#     w_lda = N/(1 - q) M^-1 Delta,   M = W + lam I,   lam = q/(1 - q) tr(W)/P,
#     w_ridge = kappa M^-1 Delta,     kappa = c (2 - d),   d = class difference of the ridge scores,
#
# so the two differ only by the factor N / (kappa (1 - q)). A row has mass 1, except that the solvers "lsqr" and "eigen"
# weight each class covariance by its prior: then a class has mass N x prior. Priors also move the intercept. Before
# scikit-learn 1.9.1 the solver "svd" had N - 2 in place of the first N; the fitted weights show which one applies.

# Full shrinkage means an infinite ridge penalty; this is close enough and leaves ten digits.
MAX_SHRINKAGE = 1.0 - 1e-6
NO_SCATTER = 1e-9  # with class means of the scores this close to their targets, rows differ by rounding only


def lda(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of LinearDiscriminantAnalysis; None when shrinkage is estimated or the scatter is singular."""
    if sample_weight is not None:
        raise InputError("LinearDiscriminantAnalysis.fit takes no sample_weight: leave it out.")
    q, positive = shrinkage(view.estimator), view.labels.positive
    N, P = view.X.shape
    if q is None or (q == 0 and P + 4 > N):
        # Without two rows the scatter is singular. Inverting it drops directions, which no ridge penalty does.
        return None
    kept, mass = 1.0 - min(q, MAX_SHRINKAGE), _row_mass(view)
    columns = feature_moments(view.X, positive)
    means = np.stack([c.mean for c in columns])
    readout = _readout(view, mass, means, kept)
    if np.isinf(readout.slope):
        raise EstimatorError(
            "this linear discriminant analysis fits its rows exactly: no scatter is left within the classes by which "
            "honest scores could be measured. Fit with more shrinkage (shrinkage=0.1), drop columns, or add rows."
        )
    total1, total0 = readout.mass1, readout.mass0
    # tr W: all rows of a class have the same weight.
    scatter = sum(m / c.n * float(c.scatter.sum()) for c, m in zip(columns, (total0, total1), strict=True))
    mean_score = float((total1 * means[1] + total0 * means[0]) @ view.w / N)
    return Objective(
        name="linear discriminant analysis",
        loss=SquaredLoss(targets(view.labels), mass),
        lam=(1.0 - kept) / kept * scatter / P,
        X=view.X,
        weights=view.w / readout.slope,
        intercept=(total1 - total0) / N - mean_score / readout.slope,
        readout=readout,
    )


@dataclass(frozen=True)
class DiscriminantScale(Readout):
    """From ridge scores to discriminant scores: z_lda = slope (z - midpoint of the class means) + log prior odds.

    Slope and midpoint are properties of the fit and change when rows are removed. Both follow from the class
    means of the honest ridge scores, which the normal equations give in closed form: over the remaining rows with
    their masses, sum z = sum t and sum t z = t'z + lever, see `Removal`. The change of tr W, and of the penalty with
    it, is neglected; without shrinkage the scores are exact.
    """

    mass1: float
    mass0: float
    kept: float  # 1 - q
    difference: float  # d of the full fit
    log_odds: float | None  # None: follows the class counts
    lost: int = 0  # what the solver subtracts from N in the covariance, 0 or 2
    rescales: ClassVar[bool] = True

    @property
    def slope(self) -> float:
        return float(self._slope(self.mass1, self.mass0, self.difference))

    def in_sample(self, z: Floats) -> Floats:
        return self.without(z, Removal(np.full(1, self.mass1), np.full(1, self.mass0), np.zeros(1)))

    def without(self, scores: Floats, removed: Removal) -> Floats:
        mass1, mass0 = removed.mass1, removed.mass0
        sum_tz = self._sum_tz() + removed.lever
        mean1, mean0 = 0.5 * (mass1 - mass0 + sum_tz) / mass1, 0.5 * (mass1 - mass0 - sum_tz) / mass0
        odds = np.log(mass1 / mass0) if self.log_odds is None else self.log_odds
        return np.asarray(self._slope(mass1, mass0, mean1 - mean0) * (scores - 0.5 * (mean1 + mean0)) + odds)

    def drift(self, bystander: float) -> float:
        # Each fit with rows removed has its own midpoint, so only the prior odds drift: by one row of each class.
        if self.log_odds is not None or min(self.mass1, self.mass0) <= 1:
            return 0.0
        return float(np.log((self.mass1 - 1) / (self.mass0 - 1)) - np.log(self.mass1 / self.mass0))

    def _slope(self, mass1: Any, mass0: Any, difference: Any) -> Any:
        N, left = mass1 + mass0, 2.0 - difference
        if self.difference <= 2.0:  # above 2, the weights point against the classes and `left` is always negative
            left = np.where(left < NO_SCATTER, 0.0, left)
        with np.errstate(divide="ignore"):  # infinite where a fit leaves no scatter within the classes
            return (N - self.lost) / (mass1 * mass0 / N * left * self.kept)

    def _sum_tz(self) -> float:
        # With sum z = sum t, the class means are mean1 = mean t + m0/N d and mean0 = mean t - m1/N d.
        N = self.mass1 + self.mass0
        return (self.mass1 - self.mass0) ** 2 / N + 2.0 * self.mass1 * self.mass0 / N * self.difference


def _readout(view: LinearView, mass: Floats, means: Floats, kept: float) -> DiscriminantScale:
    N, mass1, lost = mass.size, float(mass[view.labels.positive].sum()), _lost(view)
    # (1 - q)/(N - lost) Delta' w_lda = Delta' M^-1 Delta =: r,  and d = 2 c r / (1 + c r).
    cr = mass1 * (N - mass1) / N * kept / (N - lost) * float((means[1] - means[0]) @ view.w)
    return DiscriminantScale(mass1, N - mass1, kept, 2.0 * cr / (1.0 + cr), _log_odds(view), lost)


def _lost(view: LinearView) -> int:
    """0 or 2, whichever fits the weights: W w = (N - lost) Delta for the solver "svd", which has no shrinkage."""
    est: Any = view.estimator
    if est.solver != "svd":
        return 0
    z, positive = view.scores(), view.labels.positive
    within = sum(float(np.sum((z[rows] - z[rows].mean()) ** 2)) for rows in (positive, ~positive))
    between = float(z[positive].mean() - z[~positive].mean())
    return 2 if abs(within - (z.size - 2) * between) < abs(within - z.size * between) else 0


def _row_mass(view: LinearView) -> Floats:
    est: Any = view.estimator
    if est.priors is None or est.solver == "svd":
        return np.ones(view.labels.positive.size)
    prior0, prior1 = _priors(view)
    return np.where(view.labels.positive, prior1 / view.labels.n1, prior0 / view.labels.n0) * view.labels.positive.size


def _log_odds(view: LinearView) -> float | None:
    est: Any = view.estimator
    if est.priors is None:
        return None
    prior0, prior1 = _priors(view)
    return float(np.log(prior1 / prior0))


def _priors(view: LinearView) -> tuple[float, float]:
    est: Any = view.estimator
    first, second = (float(p) for p in est.priors_)
    return (second, first) if view.flipped else (first, second)


def shrinkage(est: Any) -> float | None:
    """Fixed shrinkage of a linear discriminant analysis; None where it is estimated."""
    if getattr(est, "covariance_estimator", None) is not None or isinstance(est.shrinkage, str):
        return None
    return 0.0 if est.shrinkage is None else float(est.shrinkage)


# ---- The table of families

FAMILIES: dict[str, Callable[[LinearView, Floats | None], Objective | None]] = {
    "LogisticRegression": logistic,
    "LogisticRegressionCV": logistic,
    "RidgeClassifier": ridge,
    "RidgeClassifierCV": ridge,
    "LinearSVC": squared_hinge,
    "LinearDiscriminantAnalysis": lda,
}


def describe(view: LinearView, sample_weight: Floats | None = None) -> Objective | None:
    """Objective that the view's classifier minimised, or None when it is unknown or has no closed form."""
    family = known_class(view.estimator, FAMILIES)
    objective = None if family is None else FAMILIES[family](view, sample_weight)
    return None if objective is None else _with_scales(objective, view, sample_weight)


def known_class(est: Any, names: Collection[str]) -> str | None:
    """Which of these classes of scikit-learn has the fit of an estimator: with its own fit it may minimise anything."""
    kind: Any = type(est)
    known = (c for c in kind.__mro__ if c.__name__ in names and c.__module__.startswith("sklearn."))
    return next((c.__name__ for c in known if kind.fit is c.fit), None)


def _with_scales(objective: Objective, view: LinearView, sample_weight: Floats | None) -> Objective:
    """The objective with the scalers of the view; without a penalty, scales make no difference."""
    if objective.lam == 0 or not view.scaled:
        return objective
    streamed = isinstance(view.X, LazyMatrix)  # scales are then measured when the rows are read
    return replace(objective, scaled=view.scaled if streamed else measured(view.X, view.scaled, sample_weight))
