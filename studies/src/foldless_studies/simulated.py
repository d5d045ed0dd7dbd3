"""Simulated populations: two classes, a shift between their means, and a law for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import foldless as fl
from foldless_studies.sample import AtChance, Floats, Known, Labels, Sample, Truth
from foldless_studies.seeds import source

TEST_ROWS = 20_000
CHUNK = 2_000

SIZES = (20, 40, 80, 120)
RATIOS = (0.04, 0.2, 1.0, 5.0, 25.0)
TARGETS = (0.5, 0.7, 0.85, 0.95)
HARD_SIZES = (40, 80)
HARD_RATIOS = (0.2, 5.0)
HARD_TARGETS = (0.5, 0.85)


@dataclass(frozen=True)
class Population:
    """Class c is shift c + scale_c L e: e of some law, L L' with correlation^|i-j| between columns i and j.

    law : one of `LAWS`: "normal"; "t3", rows of a multivariate Student t with 3 degrees of freedom; "skew", exponential
        columns
    scale1 : standard deviation of class 1 relative to class 0
    share1 : share of class 1
    """

    law: str = "normal"
    correlation: float = 0.0
    scale1: float = 1.0
    share1: float = 0.5


FAMILIES = {
    "gaussian": Population(),
    "unequal": Population(scale1=2.0),
    "correlated": Population(correlation=0.8),
    "imbalance": Population(share1=0.2),
    "heavy": Population(law="t3"),
    "skew": Population(law="skew"),
}


@dataclass(frozen=True)
class SimulatedCell:
    """n rows and p columns of a family.

    `target` sets the distance: on Gaussian data with p columns of unit variance, the AUC that the difference
    of the class means of n rows is expected to reach; 0.5 stands for no signal at all.
    """

    family: str
    n: int
    p: int
    target: float

    kind = "simulation"

    @property
    def name(self) -> str:
        return f"{self.family}-n{self.n}-p{self.p}-auc{self.target:g}"

    @property
    def group(self) -> str:
        return self.family

    @property
    def labels(self) -> str:
        return "none" if self.target == 0.5 else "real"

    @property
    def population(self) -> Population:
        return FAMILIES[self.family]

    def draw(self, seed: int, replicate: int) -> Sample:
        """Training rows, with the truth in closed form or from a large test draw of its own."""
        rng = source(seed, self.name, replicate)
        n1 = round(self.n * self.population.share1)
        y = np.repeat(np.array([0, 1], dtype=np.int64), [self.n - n1, n1])
        return Sample(rows(self, y, rng), y, self._truth(seed, replicate), self.p)

    def _truth(self, seed: int, replicate: int) -> Truth:
        if self.target == 0.5:
            return AtChance()
        return ClosedForm(self) if self.population.law == "normal" else Drawn(self, seed, replicate)


def distance(target: float, n: int, p: int) -> float:
    """Mahalanobis distance D at which the mean-difference classifier is expected to have the target AUC.

    Its AUC is about Phi(D^2 / sqrt(2 (D^2 + 4 p / n))); solved for D.

    Examples
    --------
    >>> round(distance(0.85, 40, 1000), 2), distance(0.5, 40, 4)
    (3.97, 0.0)
    """
    t2 = 2 * float(ndtri(target)) ** 2
    return float(np.sqrt((t2 + np.sqrt(t2**2 + 16 * t2 * p / n)) / 2))


def shift(cell: SimulatedCell) -> Floats:
    """Difference of the class means: equal in size along every column of e, so that no column stands out."""
    along = root(cell.population.correlation, cell.p) @ _diagonal(cell.p)
    return np.asarray(distance(cell.target, cell.n, cell.p) * along)


def _diagonal(p: int) -> Floats:
    # Alternating signs, so that correlated columns neither all help nor all hide each other.
    return np.asarray(np.where(np.arange(p) % 2, -1.0, 1.0) / np.sqrt(p))


@lru_cache(maxsize=8)
def root(correlation: float, p: int) -> Any:
    """Lower Cholesky factor L of correlation^|i-j|; a sparse identity without correlation."""
    from scipy.linalg import toeplitz
    from scipy.sparse import eye_array

    return eye_array(p, format="csr") if correlation == 0 else np.linalg.cholesky(toeplitz(correlation ** np.arange(p)))


def rows(cell: SimulatedCell, y: Labels, rng: np.random.Generator) -> Floats:
    """One row per label."""
    population = cell.population
    noise = LAWS[population.law]((y.size, cell.p), rng)
    if population.correlation:
        noise = noise @ root(population.correlation, cell.p).T
    scale = np.where(y == 1, population.scale1, 1.0)[:, None]
    return np.asarray(scale * noise + y[:, None] * shift(cell))


Shape = tuple[int, int]


def _normal(shape: Shape, rng: np.random.Generator) -> Floats:
    return rng.standard_normal(shape)


def _student(shape: Shape, rng: np.random.Generator) -> Floats:
    return np.asarray(rng.standard_normal(shape) / np.sqrt(rng.chisquare(3, (shape[0], 1)) / 3))


def _exponential(shape: Shape, rng: np.random.Generator) -> Floats:
    return rng.standard_exponential(shape) - 1


# Only for "normal" is the true AUC known in closed form; for any other it is measured on a large draw.
LAWS = {"normal": _normal, "t3": _student, "skew": _exponential}


@dataclass(frozen=True)
class ClosedForm:
    """Truth for normal classes: Phi(w'shift / sqrt(w'cov0 w + w'cov1 w))."""

    cell: SimulatedCell

    def __call__(self, W: Floats) -> list[Known]:
        population = self.cell.population
        spread = np.linalg.norm(root(population.correlation, self.cell.p).T @ W, axis=0)
        # Weights that an L1 penalty has all set to 0 rank nothing: 0.5, as ties give.
        effect = shift(self.cell) @ W / (np.where(spread > 0, spread, 1.0) * np.sqrt(1 + population.scale1**2))
        return [Known(float(auc)) for auc in ndtr(effect)]


@dataclass(frozen=True)
class Drawn:
    """Truth from a large test draw, made in chunks when it is asked for and taken as exact."""

    cell: SimulatedCell
    seed: int
    replicate: int

    def __call__(self, W: Floats) -> list[Known]:
        rng = source(self.seed, self.cell.name, self.replicate, "truth")
        y = np.tile(np.array([0, 1], dtype=np.int64), CHUNK // 2)
        scores = np.concatenate([rows(self.cell, y, rng) @ W for _ in range(TEST_ROWS // CHUNK)])
        labels = np.tile(y, TEST_ROWS // CHUNK)
        return [Known(float(fl.baselines.delong(labels, z))) for z in scores.T]


def catalogue(sizes: tuple[int, ...] = SIZES, *, quick: bool = False) -> list[SimulatedCell]:
    """All simulated cells; a handful when `quick`."""
    if quick:
        return [SimulatedCell(f, 40, 40, t) for f in ("gaussian", "skew") for t in (0.5, 0.85)]
    plain = [SimulatedCell("gaussian", n, columns(n, r), t) for n in sizes for r in RATIOS for t in TARGETS]
    hard = [
        SimulatedCell(f, n, columns(n, r), t)
        for f in FAMILIES
        if f != "gaussian"
        for n in HARD_SIZES
        for r in HARD_RATIOS
        for t in HARD_TARGETS
    ]
    return plain + hard


def columns(n: int, ratio: float) -> int:
    """Columns for n rows, at least one."""
    return max(1, round(n * ratio))
