"""Linear discriminant analysis with fixed shrinkage, as ridge regression on t = +-1.

With m1, m0 the masses of the classes, N = m1 + m0, W the within-class scatter, Delta the difference of the class means,
c = m1 m0/N and shrinkage q,

    w_lda = N/(1 - q) M^-1 Delta,   M = W + lam I,   lam = q/(1 - q) tr(W)/P,
    w_ridge = kappa M^-1 Delta,     kappa = c (2 - d),   d = class difference of the ridge scores,

so the two differ by the factor N / (kappa (1 - q)) only. A row has mass 1, except that the solvers "lsqr" and "eigen"
weight each class covariance by its prior: then a class has mass N x prior. Priors also move the intercept. Before
scikit-learn 1.9.1 the solver "svd" had N - 2 in place of the first N; the fitted weights tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foldless._check import Floats
from foldless.errors import EstimatorError, InputError
from foldless.honest.losses import SquaredLoss
from foldless.honest.objective import Objective, Removal
from foldless.honest.objectives._rows import targets
from foldless.moments import Moments, feature_moments

if TYPE_CHECKING:
    from foldless.anatomy import LinearView

# Full shrinkage means an infinite ridge penalty; this is close enough to it and leaves ten digits.
MAX_SHRINKAGE = 1.0 - 1e-6
NO_SCATTER = 1e-9  # class means of the scores this close to their targets: rounding is all that is left between rows


def describe(view: LinearView, sample_weight: Floats | None) -> Objective | None:
    """Objective of LinearDiscriminantAnalysis; None when shrinkage is estimated or the scatter is singular."""
    if sample_weight is not None:
        raise InputError("LinearDiscriminantAnalysis.fit takes no sample_weight: leave it out.")
    q, positive = _shrinkage(view.estimator), view.labels.positive
    N, P = view.X.shape
    if q is None or (q == 0 and P + 4 > N):
        # Without two rows the scatter is singular. It is inverted by dropping directions, which no ridge penalty does.
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
    mean_score = float((total1 * means[1] + total0 * means[0]) @ view.weights / N)
    return Objective(
        name="linear discriminant analysis",
        loss=SquaredLoss(targets(view.labels), mass),
        lam=(1.0 - kept) / kept * _within_scatter(columns, (total0, total1)) / P,
        X=view.X,
        weights=view.weights / readout.slope,
        intercept=(total1 - total0) / N - mean_score / readout.slope,
        readout=readout,
    )


@dataclass(frozen=True)
class DiscriminantScale:
    """From ridge scores to discriminant scores: z_lda = slope (z - midpoint of the class means) + log prior odds.

    Slope and midpoint belong to the fit and change with the rows that are removed. Both follow from the class
    means of the honest ridge scores, which the normal equations give in closed form: over the remaining rows with
    their masses, sum z = sum t and sum t z = t'z + lever, see `Removal`. What is neglected is that removal changes tr W
    and with it the penalty; without shrinkage the scores are exact.
    """

    mass1: float
    mass0: float
    kept: float  # 1 - q
    difference: float  # d of the full fit
    log_odds: float | None  # None: follows the class counts
    lost: int = 0  # what the solver takes off N in the covariance, 0 or 2

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
        # Every removed fit gets its own midpoint, so only the prior odds drift: by one row of each class.
        if self.log_odds is not None or min(self.mass1, self.mass0) <= 1:
            return 0.0
        return float(np.log((self.mass1 - 1) / (self.mass0 - 1)) - np.log(self.mass1 / self.mass0))

    def _slope(self, mass1: Any, mass0: Any, difference: Any) -> Any:
        N, left = mass1 + mass0, 2.0 - difference
        if self.difference <= 2.0:  # beyond: weights that point against the classes, left is negative throughout
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
    cr = mass1 * (N - mass1) / N * kept / (N - lost) * float((means[1] - means[0]) @ view.weights)
    return DiscriminantScale(mass1, N - mass1, kept, 2.0 * cr / (1.0 + cr), _log_odds(view), lost)


def _lost(view: LinearView) -> int:
    """0 or 2, whichever the weights obey: W w = (N - lost) Delta for the solver "svd", which knows no shrinkage."""
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


def _shrinkage(est: Any) -> float | None:
    if getattr(est, "covariance_estimator", None) is not None or isinstance(est.shrinkage, str):
        return None
    return 0.0 if est.shrinkage is None else float(est.shrinkage)


def _within_scatter(columns: tuple[Moments, Moments], mass: tuple[float, float]) -> float:
    """tr W; all rows of a class weigh the same."""
    return sum(m / c.n * float(c.scatter.sum()) for c, m in zip(columns, mass, strict=True))
