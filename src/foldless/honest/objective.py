"""The objective of a linear classifier, in the form that the removal formulas use: losses, penalty, readout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from foldless.checks import Floats
from foldless.model.steps import ScaledColumns

# ---- What one training row costs, as a function of its score: the three losses with a closed form.

EXPONENTS = {4: 80.0, 8: 700.0}  # largest that exp takes, by the bytes of a number


@dataclass(frozen=True)
class Loss(ABC):
    """Convex loss of each row: l_i(z_i), its slope g_i and its curvature D_i >= 0, from the scores z of all rows.

    `target` is t = 2y - 1 and `weight` is sample weight x class weight x C.
    """

    target: Floats
    weight: Floats

    @abstractmethod
    def value(self, z: Floats) -> Floats: ...

    @abstractmethod
    def gradient(self, z: Floats) -> Floats: ...

    @abstractmethod
    def curvature(self, z: Floats) -> Floats: ...

    @abstractmethod
    def stiffness(self) -> Floats:
        """Curvature that remains when a row is fitted exactly; it is what makes a leverage approach one."""


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """l = c log(1 + exp(-t z)),  g = -c t p(-t z),  D = c p(z) p(-z),  p the logistic function."""

    def value(self, z: Floats) -> Any:
        return self.weight * (np.log1p(np.exp(-np.abs(z))) + np.maximum(-self.target * z, 0.0))

    def gradient(self, z: Floats) -> Floats:
        # p(z) - y loses every digit once p rounds to one; this form keeps them.
        return -self.weight * self.target / (1.0 + np.exp(np.minimum(self.target * z, EXPONENTS[z.itemsize])))

    def curvature(self, z: Floats) -> Floats:
        e = np.exp(-np.abs(z))
        return self.weight * e / (1.0 + e) ** 2

    def stiffness(self) -> Floats:
        return np.zeros_like(self.weight)


class SquaredLoss(Loss):
    """l = c (z - t)^2 / 2,  g = c (z - t),  D = c."""

    def value(self, z: Floats) -> Floats:
        return 0.5 * self.weight * (z - self.target) ** 2

    def gradient(self, z: Floats) -> Floats:
        return self.weight * (z - self.target)

    def curvature(self, z: Floats) -> Floats:
        return self.weight

    def stiffness(self) -> Floats:
        return self.weight


class SquaredHingeLoss(Loss):
    """l = c m^2,  g = -2 c t m,  D = 2 c [m > 0],  m = max(0, 1 - t z)."""

    def value(self, z: Floats) -> Floats:
        return self.weight * self._margin(z) ** 2

    def gradient(self, z: Floats) -> Floats:
        return -2.0 * self.weight * self.target * self._margin(z)

    def curvature(self, z: Floats) -> Floats:
        return 2.0 * self.weight * (self.target * z < 1.0)

    def stiffness(self) -> Floats:
        return 2.0 * self.weight

    def _margin(self, z: Floats) -> Floats:
        return np.maximum(0.0, 1.0 - self.target * z)


# ---- The objective, and how its scores become decision values.


@dataclass(frozen=True)
class Removal:
    """What a readout may need to know about the rows S removed before a score was computed.

    Arrays broadcast against the scores: `mass1`, `mass0` = sum of the curvatures D of the rows left in each class
    (their number, or their weight), `lever` = sum over S of D ((z - t) z(-S) - t z), with z the score of a row under
    the full fit.
    """

    mass1: Floats
    mass0: Floats
    lever: Floats


@dataclass(frozen=True)
class Readout:
    """Map from the scores of an objective to decision values; here the identity."""

    rescales: ClassVar[bool] = False

    @property
    def slope(self) -> float:
        """Decision value per unit of score, for small changes of the fit."""
        return 1.0

    def in_sample(self, z: Floats) -> Floats:
        """Decision values of all rows under the full fit."""
        return z

    def without(self, scores: Floats, removed: Removal) -> Floats:
        """Decision values under fits without the rows summarised in `removed`."""
        return scores

    def drift(self, bystander: float) -> float:
        """Mean change of the decision values of the remaining rows when their scores change by `bystander`."""
        return bystander


@dataclass(frozen=True, eq=False)
class Balance:
    """Balanced class weights, which depend on the remaining rows: total / (2 x total of the class).

    `total` is the number of rows of the negative and of the positive class, or their sample weight if the classifier
    balances that; `row` is the average contribution of one row.
    """

    total: Floats
    row: Floats

    def factors(self, gone0: int, gone1: int) -> Floats:
        """Factors by which the two class weights change when `gone0` and `gone1` rows are removed."""
        left = self.total - self.row * (gone0, gone1)
        return np.asarray(left.sum() / left / (self.total.sum() / self.total))


@dataclass(frozen=True)
class Objective:
    """What the classifier minimised, and the minimum that it reports.

    lam/2 |w|^2 + sum_i loss_i(z_i),    z = [X, constant] w + b
    """

    name: str  # the family, in words for the user
    loss: Loss  # of each row, row weights and C included
    lam: float  # penalty; 0 for none
    X: Any  # (N, P), dense or CSR: the rows that the penalty acts on
    weights: Floats  # (P,) fitted weights, on the objective's own scale
    intercept: float  # fitted b; where `constant` is not 0, it equals `constant` times a penalised weight
    scores: Floats | None = None  # X weights + b, where they are known
    constant: float = 0.0  # value of an appended column whose weight is penalised (liblinear); 0 for no such column
    free_intercept: bool = True  # whether b is fitted without penalty
    readout: Readout = Readout()  # map from the objective's scores to decision values
    scaled: tuple[ScaledColumns, ...] = ()  # columns of X whose scale is refitted without the removed rows
    balance: Balance | None = None  # class weights that are recomputed without the removed rows; None if they are fixed

    def without(self, gone0: int, gone1: int) -> Objective:
        """The same objective on all rows, with the class weights for `gone0` and `gone1` fewer rows."""
        if self.balance is None:
            return self
        factors = self.balance.factors(gone0, gone1)[(self.loss.target > 0).astype(np.intp)]
        return replace(self, loss=replace(self.loss, weight=self.loss.weight * factors))
