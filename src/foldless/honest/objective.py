"""The training objective of a linear classifier, as a value that the removal formulas understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from foldless._check import Floats
from foldless.honest.losses import Loss


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
