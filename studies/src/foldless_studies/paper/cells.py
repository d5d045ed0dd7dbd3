"""A cell: where the training samples of one point of a figure come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from foldless_studies.paper.population import Population
from foldless_studies.sample import AtChance, Floats, Known, Sample, standardized
from foldless_studies.seeds import source

Where = tuple[tuple[str, Any], ...]


class Cell(Protocol):
    """`where` says which point of which panel it is; `recipe` how the classifier is fitted.

    `held_out` is True where the truth is the AUC of a finite test set.
    """

    @property
    def where(self) -> Where: ...
    @property
    def recipe(self) -> str: ...
    @property
    def held_out(self) -> bool: ...
    @property
    def bayes(self) -> float | None: ...
    def draw(self, seed: int, replicate: int) -> Sample: ...


def name_of(cell: Cell) -> str:
    """'P=4,N=20': unique within an item."""
    return ",".join(f"{key}={value}" for key, value in cell.where)


@dataclass(frozen=True)
class SimulatedCell:
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
            return Sample(Z, y, Scaled(self.population, scale), X.shape[1])
        return Sample(X, y, self.population.truth, X.shape[1])


@dataclass(frozen=True)
class Scaled:
    """Truth for weights of columns that were multiplied by `scale`."""

    population: Population
    scale: Floats

    def __call__(self, W: Floats) -> list[Known]:
        return self.population.truth(self.scale[:, None] * W)
