"""What is trained on every relabelling: the objective of a fitted classifier, for any labels of the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.checks import Floats, is_sparse, sane_size
from foldless.errors import EstimatorError, InputError
from foldless.honest.design import Bools, Ints, build_design
from foldless.honest.families import MAX_SHRINKAGE, class_weights, describe, shrinkage
from foldless.honest.objective import Loss, Objective, SquaredLoss
from foldless.model.view import LinearView

PAIRS_UP_TO = 200  # rows; above, pairs cost more than they tell beyond single rows
WAY_OUT = (
    "scikit-learn's permutation_test_score refits it for every permutation, and the ridge, logistic, LDA and "
    "squared-hinge classifiers are tested without refits"
)


@dataclass(frozen=True, eq=False)
class Training:
    """The objective of a family, for any labels of the same rows.

        lam/2 |w|^2 + sum_i weight_i loss(t_i, z_i),    z = A w (+ intercept, the last column, without penalty)

    `shares` are the weights of the negative and of the positive class, each times N over the rows of the class if
    `balanced`. With shrinkage q, lam is q/(1 - q) times the mean within-class scatter of the columns.
    """

    X: Any
    A: Floats
    free_intercept: bool
    loss: type[Loss]
    strength: float
    lam: float
    shares: tuple[float, float]
    balanced: bool
    shrinkage: float
    n_columns: int
    constant: float

    @classmethod
    def of(cls, view: LinearView) -> Training:
        """Read off a fitted classifier; a named refusal where a relabelling has no closed form."""
        sane_size(view.X)
        objective = _objective(view)
        shares, balanced = _class_weights(view, objective)
        q = min(shrinkage(view.estimator) or 0.0, MAX_SHRINKAGE) if objective.readout.rescales else 0.0
        first = int(view.codes[0])
        factor = shares[first] * (view.codes.size / view.counts[first] if balanced else 1.0)
        strength = float(objective.loss.weight[0]) / factor
        free, n_columns = objective.free_intercept, int(view.X.shape[1])
        about = (type(objective.loss), strength, objective.lam, shares, balanced, q, n_columns, objective.constant)
        return cls(view.X, _rows(objective), free, *about)

    @property
    def is_shared(self) -> bool:
        """Whether all relabellings have the same hat matrix: a squared loss whose weights and penalty ignore y."""
        equal = self.shares[0] == self.shares[1] and not self.balanced
        return self.loss is SquaredLoss and equal and not self.shrinkage

    def distinct_rows(self) -> Ints:
        """A number for each row that equal rows share; where there are too many for pairs, each has its own."""
        if len(self.A) > PAIRS_UP_TO:
            return np.arange(len(self.A))
        X = self.X.toarray() if is_sparse(self.X) else np.asarray(self.X)
        return np.unique(X, axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def equal_rows(self) -> tuple[Ints, ...]:
        """Sets of two rows or more that are equal."""
        numbers = self.distinct_rows()
        return tuple(np.flatnonzero(numbers == k) for k in np.flatnonzero(np.bincount(numbers) > 1))

    def weights(self, positive: Bools) -> Floats:
        """Weight of each row under each relabelling, (B, N), or (1, N) where it does not depend on the labels."""
        if self.shares[0] == self.shares[1] and not self.balanced:
            return np.full((1, positive.shape[1]), self.strength * self.shares[0])
        factors = np.array(self.shares) * np.ones((len(positive), 2))
        if self.balanced:
            n1, N = positive.sum(axis=1), positive.shape[1]
            factors = factors * N / np.column_stack([N - n1, n1])
        return np.asarray(self.strength * np.where(positive, factors[:, 1:], factors[:, :1]))

    @property
    def penalised(self) -> Floats:
        """1 for each coordinate that the penalty acts on, 0 for the intercept."""
        k = self.A.shape[1]
        return np.asarray(np.arange(k) < k - self.free_intercept, dtype=np.float64)

    def lams(self, positive: Bools) -> Floats:
        """Penalty under each relabelling, (B,), or (1,) where it does not depend on the labels."""
        if not self.shrinkage:
            return np.array([self.lam])
        return np.asarray(self.shrinkage / (1 - self.shrinkage) * self._scatter(positive) / self.n_columns)

    def _scatter(self, positive: Bools) -> Floats:
        """Trace of the within-class scatter, with the weights of the classes."""
        A, weight = self.A[:, : self.A.shape[1] - 1], self.weights(positive)
        total = np.broadcast_to(weight, positive.shape) @ np.einsum("ij,ij->i", A, A)
        for mask in (positive, ~positive):
            mass = (weight * mask).sum(axis=1)
            sums = (weight * mask) @ A
            total = total - np.einsum("bj,bj->b", sums, sums) / mass
        return np.asarray(total)


def _objective(view: LinearView) -> Objective:
    if view.estimator is None:
        raise EstimatorError(
            "permuted labels need the classifier and all that it learned from y: weights alone, or a step that saw y "
            f"(such as a selection of columns), cannot be trained on other labels. {WAY_OUT.capitalize()}."
        )
    objective = describe(view)
    if objective is None:
        raise EstimatorError(
            f"permuted labels have no closed form for this {type(view.estimator).__name__}: {WAY_OUT}."
        )
    if objective.lam == 0 and not isinstance(objective.loss, SquaredLoss):
        raise EstimatorError(
            f"{objective.name} has no finite solution for labels that happen to be separable, and permuted labels may "
            f"be: fit it with a finite C."
        )
    return objective


def _class_weights(view: LinearView, objective: Objective) -> tuple[tuple[float, float], bool]:
    """Weights of the two classes, and whether they are to be divided by the share of the class."""
    est: Any = view.estimator
    priors = getattr(est, "priors", None)
    if objective.readout.rescales:  # only some solvers weight the rows by the priors of their classes
        weighted = priors is not None and est.solver != "svd"
        first, second = (float(p) for p in est.priors_) if weighted else (1.0, 1.0)
        return ((second, first) if view.flipped else (first, second)), weighted
    weighing = est.class_weight
    if isinstance(weighing, str):
        return (0.5, 0.5), True
    low, high = (1.0, 1.0) if weighing is None else class_weights(view, weighing, None)
    return (float(low), float(high)), False


def _rows(objective: Objective) -> Floats:
    """Rows as coordinates, centred and with a last column of ones where the intercept is free."""
    design = build_design(objective.X, constant=objective.constant, free_intercept=objective.free_intercept)
    N = design.n_rows
    if not objective.free_intercept:
        return np.asarray(design.rows(slice(None), None), dtype=np.float64)
    A = np.asarray(design.rows(slice(None), design.mean(np.ones(N))), dtype=np.float64)
    if not np.any(np.abs(A) > 0):
        raise InputError("all rows of X are the same, so no classifier can tell them apart: check how X was made.")
    return np.hstack([A, np.ones((N, 1))])
