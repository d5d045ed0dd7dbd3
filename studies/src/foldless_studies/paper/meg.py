"""The MEG mind reading challenge (ICANN 2011): its recording, two features per channel, and plot against no plot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import foldless as fl
from foldless_studies.data import matlab, present, split
from foldless_studies.paper.cells import PaperCell, Where
from foldless_studies.sampling import Floats, HeldOut, Labels, Sample, source, standardized

FILES = ("megicann.mat", "megicann_train_v2.mat", "meg.mat")
CHANNELS, SAMPLES = 204, 200
# 1 artificial, 2 nature, 3 football; 4 Mr. Bean, 5 Chaplin have a plot.
CLASSES, PLOT = (1, 2, 3, 4, 5), (4, 5)
SHARES = tuple(range(10, 100, 5))
SIMULATED, RECORDED = "SIMULATED", "recorded"
# The three parts of the recording, and the words that the names of their variables hold.
PARTS = {"day-1 training": ("day1",), "day-2 training": ("day2", "train"), "day-2 test": ("day2", "test")}


@dataclass(frozen=True)
class Recording:
    """Training rows of both days (`day` 1 or 2), and test rows of the second day; y: 1 with a plot."""

    X: Floats
    y: Labels
    day: Labels
    X_test: Floats
    y_test: Labels
    origin: str


def find() -> Path | None:
    """The recording in the data folder, if it is there: it is no longer offered for download."""
    return present(*FILES)


@lru_cache(maxsize=2)
def recording(path: Path | None) -> Recording:
    """The recording as features; without a file, the simulation."""
    return simulated() if path is None else load(path)


def load(path: Path) -> Recording:
    """Read epochs x 204 channels x 200 samples of the three parts, and their labels 1 to 5.

    The parts are found by their names: those of the first day hold "day1", those of the second "day2" and "train"
    or "test"; labels are the vectors among them.
    """
    content = matlab(path)
    taken = {part: _part(path, content, words) for part, words in PARTS.items()}
    X, y = zip(*((features(epochs), plot(labels)) for epochs, labels in taken.values()), strict=True)
    day = np.repeat(np.array([1, 2], dtype=np.int64), [len(y[0]), len(y[1])])
    return Recording(np.vstack(X[:2]), np.concatenate(y[:2]), day, X[2], y[2], RECORDED)


def _part(path: Path, content: dict[str, Any], words: tuple[str, ...]) -> tuple[Floats, Labels]:
    named = {k: np.asarray(v) for k, v in content.items() if all(w in k.lower().replace("_", "") for w in words)}
    epochs = [v for v in named.values() if v.ndim == 3]
    labels = [v.ravel() for v in named.values() if v.ndim < 3 and v.size > 1 and v.size == max(v.shape)]
    if len(epochs) != 1 or len(labels) != 1:
        raise fl.InputError(
            f"{path}: expected one array (epochs x {CHANNELS} x {SAMPLES}) and one vector of labels whose names hold "
            f"{' and '.join(words)}, got {', '.join(f'{k} {np.shape(v)}' for k, v in content.items()) or 'nothing'}."
        )
    if epochs[0].shape[1:] != (CHANNELS, SAMPLES) or len(epochs[0]) != labels[0].size:
        raise fl.InputError(
            f"{path}: expected epochs x {CHANNELS} channels x {SAMPLES} samples with one label each, got "
            f"{epochs[0].shape} and {labels[0].size} labels."
        )
    return np.asarray(epochs[0], dtype=np.float64), np.asarray(labels[0])


def features(epochs: Floats) -> Floats:
    """408 columns: for each channel its level, and its spread about a fitted line.

    Level is the mean of the second (the value of the fitted line in its middle), spread the standard deviation of
    what the line leaves. This is our reading of the winning entry of the challenge (Huttunen et al. 2012).
    """
    n = epochs.shape[2]
    time = np.arange(n) - (n - 1) / 2
    level = epochs.mean(axis=2)
    slope = epochs @ time / (time @ time)
    rest = epochs - level[:, :, None] - slope[:, :, None] * time
    return np.hstack([level, np.sqrt(np.mean(rest**2, axis=2))])


def plot(labels: npt.NDArray[Any]) -> Labels:
    """1 for films with a plot, 0 for clips without."""
    strange = sorted(set(np.unique(labels).tolist()) - set(CLASSES))
    if strange:
        raise fl.InputError(f"expected the classes {CLASSES} of the challenge, got also {strange}.")
    return np.isin(labels, PLOT).astype(np.int64)


# The simulation: as many rows and columns as the challenge had, and its mechanism. On the second day everything is
# moved, and only part of what told the classes apart on the first still does.
DAY1, DAY2, TEST, COLUMNS = 677, 50, 653, 408
DISTANCE, KEPT, MOVED = 2.2, 0.5, 4.0
SHARE_PLOT = 0.35


def simulated(seed: int = 2011) -> Recording:
    """Two days of normal rows: classes `DISTANCE` apart, a day shift of length `MOVED`, `KEPT` the cosine between the
    class differences of the two days."""
    rng = source(seed, "meg")
    apart, other, shift = np.linalg.qr(rng.standard_normal((COLUMNS, 3)))[0].T
    differences = {1: DISTANCE * apart, 2: DISTANCE * (KEPT * apart + np.sqrt(1 - KEPT**2) * other)}

    def rows(n: int, day: int) -> tuple[Floats, Labels]:
        y = (rng.random(n) < SHARE_PLOT).astype(np.int64)
        X = rng.standard_normal((n, COLUMNS)) + y[:, None] * differences[day] + (day == 2) * MOVED * shift
        return X, y

    (X1, y1), (X2, y2), (X_test, y_test) = rows(DAY1, 1), rows(DAY2, 2), rows(TEST, 2)
    day = np.repeat(np.array([1, 2], dtype=np.int64), [DAY1, DAY2])
    return Recording(np.vstack([X1, X2]), np.concatenate([y1, y2]), day, X_test, y_test, SIMULATED)


@dataclass(frozen=True)
class MegCell(PaperCell):
    """A share of the training set (percent); truth from the test set of day 2, or from the rest of the training set."""

    path: Path | None
    share: int
    predefined: bool
    where: Where
    recipe: str = "liblinear"

    held_out = True
    bayes = None

    def draw(self, seed: int, replicate: int) -> Sample:
        data = recording(self.path)
        n = round(data.y.size * self.share / 100)
        # Both truths judge the same fits.
        train = split(data.y, n, source(seed, "meg", self.share, replicate))
        Z, scale = standardized(data.X[train])
        rest = np.setdiff1d(np.arange(data.y.size), train)
        test = (data.X_test, data.y_test) if self.predefined else (data.X[rest], data.y[rest])
        return Sample(Z, data.y[train], HeldOut(*test, scale), data.X.shape[1])
