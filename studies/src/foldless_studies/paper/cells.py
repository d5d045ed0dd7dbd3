"""The cells of the paper: where the training samples of one point of a figure come from, and the settings that Table 1
may come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

from foldless_studies.paper import published
from foldless_studies.populations import Population
from foldless_studies.sampling import AtChance, Cell, Sample, Scaled, source, standardized

Where = tuple[tuple[str, Any], ...]


class PaperCell(Cell, Protocol):
    """A `Cell` that is a point of a figure.

    `where` says which point of which panel it is; `recipe` how the classifier is fitted; `held_out` is True where the
    truth is the AUC of a finite test set; `bayes` is the AUC of the best classifier, where it is known.
    """

    where: Where
    recipe: str

    @property
    def held_out(self) -> bool: ...
    @property
    def bayes(self) -> float | None: ...
    @property
    def name(self) -> str:
        """'P=4,N=20': unique within an item."""
        return ",".join(f"{key}={value}" for key, value in self.where)


@dataclass(frozen=True)
class PopulationCell(PaperCell):
    """n0 + n1 rows of a population, with its labels or with shuffled ones (truth: exactly 0.5).

    The rows depend on the population and the two sizes only: items, recipes and shuffling share them. `standardised`
    brings every column to mean 0 and variance 1 first, as the authors' script does with the ovarian data.
    """

    where: Where
    population: Population
    n0: int
    n1: int
    recipe: str = "liblinear"
    shuffled: bool = False
    standardised: bool = False

    held_out = False

    @property
    def bayes(self) -> float | None:
        return None if self.shuffled else self.population.bayes

    def draw(self, seed: int, replicate: int) -> Sample:
        names = (self.population.name, self.n0, self.n1, replicate)
        y = np.repeat(np.array([0, 1], dtype=np.int64), [self.n0, self.n1])
        X = self.population.rows(y, source(seed, *names))
        if self.shuffled:
            shuffled = source(seed, *names, "shuffled").permutation(y)
            return Sample(X, shuffled, AtChance(), X.shape[1])
        if self.standardised:
            Z, scale = standardized(X)
            return Sample(Z, y, Scaled(self.population.truth, scale), X.shape[1])
        return Sample(X, y, self.population.truth, X.shape[1])


# ---- Table 1 of the paper, and where its numbers may come from: settings that were tried, one after the other.


def ones(P: int) -> Population:
    """The paper's simulation: means 0 and 1, identity covariance."""
    return Population(f"gaussian-P{P}", (1.0,) * P)


@dataclass(frozen=True)
class Attempt:
    """A setting that Table 1 might come from: the population, how the classifier is fitted, and what N counts."""

    kind: str
    recipe: str = "liblinear"
    standardised: bool = False
    per_class: bool = False


# Except for the first two, the distance between the classes is that of the printed Bayes row.
ATTEMPTS = {
    "as stated": Attempt("stated"),
    "as stated, no intercept": Attempt("stated", "no-intercept"),
    "means further apart": Attempt("means"),
    "means further apart, N rows per class": Attempt("means", per_class=True),
    "means further apart, standardised, no intercept": Attempt("means", "no-intercept", standardised=True),
    "means further apart, standardised, no intercept, C = 10": Attempt(
        "means", "no-intercept, C=10", standardised=True
    ),
    "random means, standardised, no intercept": Attempt("random", "no-intercept", standardised=True),
    "smaller variance": Attempt("variance"),
    "correlation below 0": Attempt("negative"),
    "correlation 0.3, means further apart": Attempt("positive"),
}
POSITIVE = 0.3


def printed_distance(P: int) -> float:
    """Squared Mahalanobis distance of the printed Bayes AUC; where that is 1.0000, the stated one."""
    bayes = published.TABLE1_BAYES[P]
    return float(P) if bayes == 1 else 2 * float(ndtri(bayes)) ** 2


def candidate(kind: str, P: int) -> Population:
    """A population with the printed distance, reached in one of several ways."""
    ratio = printed_distance(P) / P
    if kind == "means":
        return Population(f"means-P{P}", (float(np.sqrt(ratio)),) * P)
    if kind == "random":
        # What means drawn from a normal law look like, without drawing: the middles of P slices of it. Signs and
        # order do not matter.
        means = ndtri(0.5 + (np.arange(P) + 0.5) / (2 * P))
        return Population(
            f"random-P{P}", tuple(float(m) for m in means * np.sqrt(printed_distance(P) / (means @ means)))
        )
    if kind == "variance":
        return Population(f"variance-P{P}", (1.0,) * P, 1 / ratio, 1 / ratio)
    # With correlation r between all columns, 1' Sigma^-1 1 = P / (1 + (P - 1) r).
    if kind == "negative":
        return Population(f"negative-P{P}", (1.0,) * P, correlation=(1 / ratio - 1) / (P - 1))
    if kind == "positive":
        apart = float(np.sqrt(ratio * (1 + (P - 1) * POSITIVE)))
        return Population(f"positive-P{P}", (apart,) * P, correlation=POSITIVE)
    return ones(P)
