"""Where the accuracy benchmark takes its samples from: simulated families, and data sets in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.special import ndtri

import foldless as fl
from foldless_studies.data import VARIABLE, class_counts, load, npz_files, split, unusable
from foldless_studies.populations import Drawn, Population
from foldless_studies.sampling import AtChance, Cell, Floats, HeldOut, Labels, Sample, Truth, source, standardized

REAL, SHUFFLED = "real", "shuffled"


class AccuracyCell(Cell, Protocol):
    """A `Cell` with what results are grouped by: `group` is the simulated family, or the data set."""

    @property
    def kind(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def labels(self) -> str: ...


# ---- Simulated families.

SIZES = (20, 40, 80, 120)
RATIOS = (0.04, 0.2, 1.0, 5.0, 25.0)
TARGETS = (0.5, 0.7, 0.85, 0.95)
HARD_SIZES = (40, 80)
HARD_RATIOS = (0.2, 5.0)
HARD_TARGETS = (0.5, 0.85)


@dataclass(frozen=True)
class Family:
    """What the populations of a family have in common; `Population` says what the words mean.

    correlation : correlation^|i-j| between columns i and j
    scale1 : standard deviation of class 1 relative to class 0
    share1 : share of class 1
    """

    law: str = "normal"
    correlation: float = 0.0
    scale1: float = 1.0
    share1: float = 0.5


FAMILIES = {
    "gaussian": Family(),
    "unequal": Family(scale1=2.0),
    "correlated": Family(correlation=0.8),
    "imbalance": Family(share1=0.2),
    "heavy": Family(law="heavy"),
    "skew": Family(law="skew"),
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
        return population_of(self)

    def draw(self, seed: int, replicate: int) -> Sample:
        """Training rows, with the truth in closed form or from a large test draw of its own."""
        n1 = round(self.n * FAMILIES[self.family].share1)
        y = np.repeat(np.array([0, 1], dtype=np.int64), [self.n - n1, n1])
        X = self.population.rows(y, source(seed, self.name, replicate))
        return Sample(X, y, self._truth(seed, replicate), self.p)

    def _truth(self, seed: int, replicate: int) -> Truth:
        if self.target == 0.5:
            return AtChance()
        population = self.population
        return population.truth if population.law == "normal" else Drawn(population, seed, replicate)


@lru_cache(maxsize=8)
def population_of(cell: SimulatedCell) -> Population:
    """The family at a distance that suits the cell: equal along every column of the noise, so that none stands out."""
    family = FAMILIES[cell.family]
    flat = Population(cell.name, (0.0,) * cell.p, 1.0, family.scale1**2, family.correlation, True, family.law)
    along = flat.root() @ _diagonal(cell.p) if family.correlation else _diagonal(cell.p)
    shift = distance(cell.target, cell.n, cell.p) * along
    return replace(flat, shift=tuple(shift.tolist()))


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


def _diagonal(p: int) -> Floats:
    # Alternating signs, so that correlated columns neither all help nor all hide each other.
    return np.asarray(np.where(np.arange(p) % 2, -1.0, 1.0) / np.sqrt(p))


def simulated_cells(sizes: tuple[int, ...] = SIZES, *, quick: bool = False) -> list[SimulatedCell]:
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


# ---- Data sets in a folder: some rows to train on, the others for the truth.

LEAST_TEST = 30
LEAST_PER_CLASS = 5


@dataclass(frozen=True)
class DataCell:
    """n training rows of a data set, with its labels or with shuffled ones (truth: exactly 0.5).

    Real and shuffled labels of the same data set and n use the same splits.
    """

    path: Path
    n: int
    labels: str

    kind = "data"

    @property
    def name(self) -> str:
        return f"{self.group}-n{self.n}-{self.labels}"

    @property
    def group(self) -> str:
        return self.path.stem

    def draw(self, seed: int, replicate: int) -> Sample:
        """A stratified random split, columns standardised on its training part."""
        X, y = load(self.path)
        train = split(y, self.n, source(seed, self.group, self.n, replicate))
        Z, scale = standardized(X[train])
        if self.labels == SHUFFLED:
            target = source(seed, self.group, self.n, replicate, SHUFFLED).permutation(y[train])
            return Sample(Z, target, AtChance(), X.shape[1])
        test = np.setdiff1d(np.arange(y.size), train)
        return Sample(Z, y[train], HeldOut(X[test], y[test], scale), X.shape[1])


def data_cells(folder: Path, sizes: tuple[int, ...]) -> tuple[list[DataCell], list[str]]:
    """Cells of every usable two-class .npz file in a folder, and a sentence for each one left out."""
    cells: list[DataCell] = []
    skipped: list[str] = []
    for path in npz_files(folder):
        why = unusable(path)
        if why:
            skipped.append(f"{path.stem}: {why}")
            continue
        _add_sizes(path, sizes, cells, skipped)
    if not cells:
        raise fl.InputError(f"{folder} has no usable .npz file: expected two classes, no groups, and enough rows.")
    return cells, skipped


def real_cells(sizes: tuple[int, ...]) -> list[DataCell]:
    """Those of the folder that FOLDLESS_DATA names, with their own labels."""
    return [cell for cell in data_cells(Path(os.environ[VARIABLE]), sizes)[0] if cell.labels == REAL]


def _add_sizes(path: Path, sizes: tuple[int, ...], cells: list[DataCell], skipped: list[str]) -> None:
    y = load(path)[1]
    for n in sizes:
        why = too_few(y, n)
        if why:
            skipped.append(f"{path.stem}, n = {n}: {why}")
        else:
            cells += [DataCell(path, n, labels) for labels in (REAL, SHUFFLED)]


def too_few(y: Labels, n: int) -> str | None:
    """Why n training rows are too many or too few for this data set, or None."""
    train = np.array(class_counts(y, n))
    test = np.bincount(y, minlength=2) - train
    if train.min() < LEAST_PER_CLASS:
        return f"fewer than {LEAST_PER_CLASS} training rows of a class"
    if test.sum() < LEAST_TEST or test.min() < LEAST_PER_CLASS:
        return f"fewer than {LEAST_TEST} held-out rows, or than {LEAST_PER_CLASS} of a class"
    return None
