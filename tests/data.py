"""Made-up data for tests. Makers take a seed, or a generator to draw from, and always give the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

Seed = int | list[int] | np.random.Generator
Sample = tuple[np.ndarray, np.ndarray]


def normal_rows(y: Any, p: int, *, shift: Any = 0.0, spread: float = 1.0, seed: Seed = 0) -> np.ndarray:
    """X with independent standard normal columns for labels 0 and 1.

    Rows of class 1 have standard deviation `spread` and lie `shift` higher: one number, or one for each column.
    """
    y = np.asarray(y)
    X = np.random.default_rng(seed).normal(size=(len(y), p))
    return np.where(y[:, None] == 1, spread * X, X) + np.outer(y, np.broadcast_to(shift, p))


def alternating(n: int, p: int, *, shift: Any = 0.0, seed: Seed = 0) -> Sample:
    """X, y: normal rows whose labels are 0, 1, 0, 1, ..."""
    y = np.arange(n) % 2
    return normal_rows(y, p, shift=shift, seed=seed), y


def ones_first(n1: int, n0: int, p: int, *, shift: Any = 0.0, seed: Seed = 0) -> Sample:
    """X, y: normal rows, those of class 1 before those of class 0."""
    y = (np.arange(n1 + n0) < n1).astype(int)
    return normal_rows(y, p, shift=shift, seed=seed), y


def shuffled(labels: Any, p: int, *, shift: Any = 0.0, seed: Seed = 0) -> Sample:
    """X, y: normal rows with these labels 0 and 1 in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(labels).astype(int)
    return normal_rows(y, p, shift=shift, seed=rng), y


def gaussian(seed: int, P: int, N: int = 40, effect: float = 1.2, n1: int | None = None) -> Sample:
    """X, y: two spherical classes, `effect` standard deviations apart along all columns together; class 1 first."""
    n1 = N // 2 if n1 is None else n1
    return ones_first(n1, N - n1, P, shift=effect / np.sqrt(P), seed=seed)


def correlated(seed: int, n0: int, n1: int, P: int, shift: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y, w: correlated columns of unequal scale, rows of the classes mixed, weights that separate a little."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.r_[np.zeros(n0, int), np.ones(n1, int)])
    X = rng.normal(size=(n0 + n1, P)) * np.geomspace(0.5, 2.0, P) + rng.normal(size=(n0 + n1, 1))
    X += rng.normal(size=P) + shift * np.outer(y, rng.normal(size=P))
    return X, y, X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0) + 0.3 * rng.normal(size=P)


def random_direction(n: int, p: int, *, shift: float = 0.7, seed: Seed = 0) -> Sample:
    """X, y: labels 0, 1, 0, 1, ...; class 1 lies apart in a random direction."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, p)) + shift * np.outer(y, rng.normal(size=p)), y


def several_classes(
    K: int, n: int, p: int, *, shift: float = 1.0, seed: Seed = 0, shuffle: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y, centres: K spherical classes around random centres; labels 0, 1, ... in turn, or in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K) if shuffle else np.arange(n) % K
    centres = 2 * shift * rng.normal(size=(K, p)) / np.sqrt(p)  # as far apart for many columns as for few
    return rng.normal(size=(n, p)) + centres[y], y, centres


def with_rare_column(rows: Any, *, n: int = 30, seed: Seed = 0, scale: float = 1.0) -> Sample:
    """X, y: two classes, and a last column in which only `rows` differ from zero."""
    X, y = ones_first(n // 2, n - n // 2, 4, shift=0.6, seed=seed)
    rare = np.zeros((n, 1))
    rare[rows] = scale
    return np.hstack([X, rare]), y


def one_hot(rng: np.random.Generator, levels: int, n: int) -> np.ndarray:
    """Indicator columns of a category with this many levels, drawn for n rows."""
    return np.eye(levels)[rng.integers(0, levels, n)]


def noise(n1: int, n0: int, p: int, seed: int) -> Sample:
    """X, y: columns that know nothing of the labels, class 1 first."""
    return ones_first(n1, n0, p, seed=[seed, n1])
