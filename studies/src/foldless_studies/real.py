"""Data sets in a folder: some rows to train on, the others for the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import foldless as fl
from foldless_studies.sample import AtChance, HeldOut, Labels, Sample, standardized
from foldless_studies.seeds import source

LEAST_TEST = 30
LEAST_PER_CLASS = 5
REAL, SHUFFLED = "real", "shuffled"


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


def split(y: Labels, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """n rows at random, each class in proportion."""
    n0, n1 = class_counts(y, n)
    parts = [rng.permutation(np.flatnonzero(y == c))[:k] for c, k in ((0, n0), (1, n1))]
    return rng.permutation(np.concatenate(parts))


def class_counts(y: Labels, n: int) -> tuple[int, int]:
    """Training rows of each class."""
    n1 = round(n * float(np.mean(y)))
    return n - n1, n1


@lru_cache(maxsize=64)
def load(path: Path) -> tuple[npt.NDArray[Any], Labels]:
    """X in the precision of the file, and y as 0 and 1."""
    with _opened(path) as data:
        X = np.asarray(data["X"])
        y = np.unique(data["y"], return_inverse=True)[1].astype(np.int64)
    if X.ndim != 2 or len(X) != y.size or not np.all(np.isfinite(X)):
        raise fl.InputError(f"{path}: X must be a table of finite numbers with one row per label.")
    return X, y


def _opened(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as err:
        raise fl.InputError(f"{path} is not an .npz file of plain arrays.") from err


def catalogue(folder: Path, sizes: tuple[int, ...]) -> tuple[list[DataCell], list[str]]:
    """Cells of every usable two-class .npz file in a folder, and a sentence for each one left out."""
    if not folder.is_dir():
        raise fl.InputError(f"{folder} is not a folder: expected one with .npz files that hold X and y.")
    cells: list[DataCell] = []
    skipped: list[str] = []
    for path in sorted(folder.glob("*.npz")):
        why = unusable(path)
        if why:
            skipped.append(f"{path.stem}: {why}")
            continue
        _add_sizes(path, sizes, cells, skipped)
    if not cells:
        raise fl.InputError(f"{folder} has no usable .npz file: expected two classes, no groups, and enough rows.")
    return cells, skipped


def _add_sizes(path: Path, sizes: tuple[int, ...], cells: list[DataCell], skipped: list[str]) -> None:
    y = load(path)[1]
    for n in sizes:
        why = too_few(y, n)
        if why:
            skipped.append(f"{path.stem}, n = {n}: {why}")
        else:
            cells += [DataCell(path, n, labels) for labels in (REAL, SHUFFLED)]


def unusable(path: Path) -> str | None:
    """Why a file is left out, or None."""
    with _opened(path) as data:
        if not {"X", "y"} <= set(data.files):
            return "no X and y"
        if "groups" in data.files:
            return "its rows are not independent (it has groups)"
        classes = np.unique(data["y"]).size
    return None if classes == 2 else f"{classes} classes"


def too_few(y: Labels, n: int) -> str | None:
    """Why n training rows are too many or too few for this data set, or None."""
    train = np.array(class_counts(y, n))
    test = np.bincount(y, minlength=2) - train
    if train.min() < LEAST_PER_CLASS:
        return f"fewer than {LEAST_PER_CLASS} training rows of a class"
    if test.sum() < LEAST_TEST or test.min() < LEAST_PER_CLASS:
        return f"fewer than {LEAST_TEST} held-out rows, or than {LEAST_PER_CLASS} of a class"
    return None
