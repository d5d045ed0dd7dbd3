"""What a task works on: training rows, the true AUC of any weights, and random numbers that depend on names only."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

import foldless as fl

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

# Methods that look at every column (the adaptive prior) are asked up to here; wider tables may be rotated.
WIDE = 200


# ---- Random numbers that depend on names, never on the order or the number of workers.


def source(seed: int, *names: object) -> np.random.Generator:
    """A generator of its own for (seed, names).

    Examples
    --------
    >>> bool(source(0, "cell", 3).random() == source(0, "cell", 3).random())
    True
    """
    return np.random.default_rng([seed, *_words("/".join(str(name) for name in names))])


def small_seed(seed: int, *names: object) -> int:
    """A 32-bit seed, for functions that take no generator."""
    return int(source(seed, *names).integers(2**32))


def _words(text: str) -> list[int]:
    digest = hashlib.sha256(text.encode()).digest()
    return [int(word) for word in np.frombuffer(digest, dtype="<u4")]


# ---- Samples, and where they come from.


@dataclass(frozen=True)
class Known:
    """The AUC of given weights: its value, and its standard error where it comes from a finite test set.

    `variances` are those of the placements of a row of either class: the AUC of n0 and n1 new rows has the variance
    v0 / n0 + v1 / n1. None where they are not known.
    """

    auc: float
    se: float = 0.0
    variances: tuple[float, float] | None = None

    def second_sample(self, n0: int, n1: int) -> float | None:
        """Mean absolute error, against this AUC, of the AUC of a second labelled sample of n0 and n1 rows.

        The best that so many rows can tell about a classifier that is given. The noise of the test set counts, as it
        does in the errors of the methods.
        """
        if self.variances is None:
            return None
        v0, v1 = self.variances
        return float(np.sqrt(2 / np.pi * (v0 / n0 + v1 / n1 + self.se**2)))


# From weights (P, K), one classifier per column, to what is known about each.
Truth = Callable[[Floats], list[Known]]


@dataclass(frozen=True)
class Sample:
    """Training rows with the truth about any classifier trained on them; `n_features` as before any rotation."""

    X: Floats
    y: Labels
    truth: Truth
    n_features: int

    @property
    def counts(self) -> tuple[int, int]:
        """Rows of either class."""
        n1 = int(np.sum(self.y))
        return self.y.size - n1, n1


class Cell(Protocol):
    """Where samples come from. `name` is unique within a run."""

    @property
    def name(self) -> str: ...
    def draw(self, seed: int, replicate: int) -> Sample: ...


AnyCell = TypeVar("AnyCell", bound=Cell, covariant=True)


@dataclass(frozen=True)
class Task(Generic[AnyCell]):
    """One replicate of a cell."""

    cell: AnyCell
    replicate: int

    @property
    def key(self) -> str:
        return f"{self.cell.name}#{self.replicate}"


# ---- Ways to know the truth.


@dataclass(frozen=True)
class HeldOut:
    """Truth from held-out rows.

    X is as in the file; weights are for columns multiplied by `scale`. What was subtracted moves no rank.
    """

    X: npt.NDArray[Any]
    y: Labels
    scale: Floats

    def __call__(self, W: Floats) -> list[Known]:
        scores = np.asarray(self.X, dtype=np.float64) @ (self.scale[:, None] * W)
        return [measured(self.y, z) for z in scores.T]


def measured(y: Labels, scores: Floats) -> Known:
    """What scores of held-out rows tell: their AUC, with DeLong's standard error (0 where it is undefined)."""
    auc = fl.baselines.delong(y, scores)
    return Known(float(auc), auc.se or 0.0, placement_variances(y, scores))


def placement_variances(y: Labels, scores: Floats) -> tuple[float, float]:
    """Variances of the shares of the other class that the rows of class 0, and of class 1, are ordered rightly with.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1])
    >>> placement_variances(y, np.array([0.0, 2.0, 1.0, 3.0]))
    (0.125, 0.125)
    """
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    below = [ranks[y == c] - rankdata(scores[y == c]) for c in (0, 1)]
    sizes = [part.size for part in below]
    return float(np.var(below[0] / sizes[1], ddof=1)), float(np.var(below[1] / sizes[0], ddof=1))


@dataclass(frozen=True)
class AtChance:
    """Truth where labels do not depend on X: exactly one half, whatever the weights."""

    def __call__(self, W: Floats) -> list[Known]:
        # A uniform placement has the variance 1/12.
        return [Known(0.5, variances=(1 / 12, 1 / 12))] * W.shape[1]


@dataclass(frozen=True)
class Scaled:
    """Truth for weights of columns that were multiplied by `scale`."""

    truth: Truth
    scale: Floats

    def __call__(self, W: Floats) -> list[Known]:
        return self.truth(self.scale[:, None] * W)


@dataclass(frozen=True)
class Rotated:
    """Truth for weights in the coordinates of an orthonormal basis (P, r)."""

    truth: Truth
    basis: Floats

    def __call__(self, W: Floats) -> list[Known]:
        return self.truth(self.basis @ W)


# ---- The same sample in other coordinates.


def rotate(sample: Sample) -> Sample:
    """The same sample in the space that its rows span: n columns instead of P.

    A squared penalty depends on |w| only, and its minimiser lies in the span of the rows, so fits, refits on any
    part of the rows, and all that follows from their scores stay the same: exactly at the optimum. Solvers that stop
    at a tolerance per coordinate stop elsewhere. Not for an L1 penalty, nor for priors that count columns. A scaler
    that was applied before is kept as it was fitted.
    """
    basis, R = np.linalg.qr(sample.X.T)
    return replace(sample, X=np.ascontiguousarray(R.T), truth=Rotated(sample.truth, basis))


def narrowed(sample: Sample) -> Sample:
    """`rotate` where it saves work and no method needs the columns themselves."""
    return rotate(sample) if sample.n_features > max(WIDE, sample.y.size) else sample


def standardized(X: Any) -> tuple[Floats, Floats]:
    """Columns with mean 0 and variance 1, and the factor of each; a constant column becomes 0, as does its factor."""
    X = np.asarray(X, dtype=np.float64)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    varies = sd > 1e-9 * np.abs(mean)
    scale = np.where(varies, 1 / np.where(varies, sd, 1.0), 0.0)
    return (X - mean) * scale, scale
