"""The training objective of a linear classifier: its loss, its penalty, and how scores are read off it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from foldless.checks import Floats

# ---- What one training row costs, as a function of its score: the three losses with a closed form.
#
# A loss sees the scores z of all rows and returns one number per row. `target` is t = 2y - 1 and
# `weight` is sample weight x class weight x C, held fixed when rows are removed.


class Loss(Protocol):
    """Convex loss of each row: l_i(z_i), its slope g_i and its curvature D_i >= 0."""

    @property
    def weight(self) -> Floats:
        """Sample weight x class weight x C."""
        ...

    def value(self, z: Floats) -> Floats: ...

    def gradient(self, z: Floats) -> Floats: ...

    def curvature(self, z: Floats) -> Floats: ...

    def stiffness(self) -> Floats:
        """Curvature that is left where a row is fitted exactly: what makes a leverage approach one."""
        ...


@dataclass(frozen=True)
class LogisticLoss:
    """l = c log(1 + exp(-t z)),  g = -c t p(-t z),  D = c p(z) p(-z),  p the logistic function."""

    target: Floats
    weight: Floats

    def value(self, z: Floats) -> Floats:
        return self.weight * np.logaddexp(0.0, -self.target * z)

    def gradient(self, z: Floats) -> Floats:
        # p(z) - y loses every digit once p rounds to one; this form keeps them.
        return np.asarray(-self.weight * self.target * expit(-self.target * z))

    def curvature(self, z: Floats) -> Floats:
        return np.asarray(self.weight * expit(z) * expit(-z))

    def stiffness(self) -> Floats:
        return np.zeros_like(self.weight)


@dataclass(frozen=True)
class SquaredLoss:
    """l = c (z - t)^2 / 2,  g = c (z - t),  D = c."""

    target: Floats
    weight: Floats

    def value(self, z: Floats) -> Floats:
        return 0.5 * self.weight * (z - self.target) ** 2

    def gradient(self, z: Floats) -> Floats:
        return self.weight * (z - self.target)

    def curvature(self, z: Floats) -> Floats:
        return self.weight

    def stiffness(self) -> Floats:
        return self.weight


@dataclass(frozen=True)
class SquaredHingeLoss:
    """l = c m^2,  g = -2 c t m,  D = 2 c [m > 0],  m = max(0, 1 - t z)."""

    target: Floats
    weight: Floats

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


# ---- The training objective of a linear classifier, as a value that the removal formulas understand.


class Readout(Protocol):
    """Turns scores on the objective's own scale into scores on the scale of decision_function."""

    def in_sample(self, z: Floats) -> Floats:
        """Decision values of all rows under the full fit."""
        ...

    def without(self, scores: Floats, removed: Removal) -> Floats:
        """Decision values under fits that lack the rows summed up in `removed`."""
        ...

    def drift(self, bystander: float) -> float:
        """Mean change of decision values of rows that stay, when their scores change by `bystander`."""
        ...

    @property
    def slope(self) -> float:
        """Decision value per unit of score, for small changes of the fit."""
        ...


@dataclass(frozen=True)
class Removal:
    """What a readout may want to know about the rows S that a score was computed without.

    Arrays broadcast against the scores: `mass1`, `mass0` = sum of the curvatures D of the rows left in each class
    (their number, or their weight), `lever` = sum over S of D ((z - t) z(-S) - t z), with z the score of a row under
    the full fit.
    """

    mass1: Floats
    mass0: Floats
    lever: Floats


@dataclass(frozen=True)
class SameScale:
    """The objective's scores are the decision values."""

    slope: float = 1.0

    def in_sample(self, z: Floats) -> Floats:
        return z

    def without(self, scores: Floats, removed: Removal) -> Floats:
        return scores

    def drift(self, bystander: float) -> float:
        return bystander


@dataclass(frozen=True)
class Objective:
    """What the classifier minimised, and where it says the minimum is.

        lam/2 |w|^2 + sum_i loss_i(z_i),    z = [X, constant] w + b

    Attributes
    ----------
    name : str
        The family, in words for the user.
    loss : Loss
        Loss of each row, row weights and C included.
    lam : float
        Penalty; 0 for none.
    X : matrix of shape (N, P), dense or CSR
        Rows that the penalty acts on.
    weights : ndarray of shape (P,)
        Fitted weights, on the objective's own scale.
    intercept : float
        Fitted intercept b; where `constant` is not 0, it equals `constant` times a penalised weight.
    constant : float
        Value of an appended column whose weight is penalised (liblinear); 0 for no such column.
    free_intercept : bool
        Whether b is fitted without penalty.
    readout : Readout
        The way from the objective's scores to decision values.
    """

    name: str
    loss: Loss
    lam: float
    X: Any
    weights: Floats
    intercept: float
    constant: float = 0.0
    free_intercept: bool = True
    readout: Readout = SameScale()
