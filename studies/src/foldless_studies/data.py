"""Data sets in files: the folder named by FOLDLESS_DATA, .npz and MATLAB files, and random splits of their rows."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import foldless as fl
from foldless_studies.sampling import Floats, Labels

VARIABLE = "FOLDLESS_DATA"


def present(*names: str) -> Path | None:
    """The first of these files that is in the data folder; None without folder or file."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise fl.InputError(f"{VARIABLE} is {folder!r}, which is not a folder: set it to the folder with the data.")
    return next((path for name in names if (path := Path(folder) / name).is_file()), None)


def named(name: str) -> tuple[Floats, Labels]:
    """X in double precision and y as 0, 1, ... of a data set in the data folder."""
    path = present(f"{name}.npz")
    if path is None:
        raise fl.InputError(f"{name}.npz was not found: set {VARIABLE} to the folder that holds the data sets.")
    X, y = load(path)
    return X.astype(np.float64), y


@lru_cache(maxsize=64)
def load(path: Path) -> tuple[npt.NDArray[Any], Labels]:
    """X in the precision of the file, and y as 0, 1, ..."""
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


def npz_files(folder: Path) -> list[Path]:
    """The .npz files in a folder, by name."""
    if not folder.is_dir():
        raise fl.InputError(f"{folder} is not a folder: expected one with .npz files that hold X and y.")
    return sorted(folder.glob("*.npz"))


def unusable(path: Path) -> str | None:
    """Why a file is left out, or None."""
    with _opened(path) as data:
        if not {"X", "y"} <= set(data.files):
            return "no X and y"
        if "groups" in data.files:
            return "its rows are not independent (it has groups)"
        classes = np.unique(data["y"]).size
    return None if classes == 2 else f"{classes} classes"


def split(y: Labels, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """n rows at random, each class in proportion."""
    n0, n1 = class_counts(y, n)
    parts = [rng.permutation(np.flatnonzero(y == c))[:k] for c, k in ((0, n0), (1, n1))]
    return rng.permutation(np.concatenate(parts))


def class_counts(y: Labels, n: int) -> tuple[int, int]:
    """Training rows of each class."""
    n1 = round(n * float(np.mean(y)))
    return n - n1, n1


def matlab(path: Path) -> dict[str, Any]:
    """The variables of a MATLAB file; fields of structures get names such as 'train.data'."""
    from scipy.io import loadmat

    try:
        content = loadmat(path, simplify_cells=True)
    except OSError:
        raise
    except Exception as err:  # a damaged file makes the parser fail in any of a dozen ways
        raise fl.InputError(f"{path} is not a MATLAB file of version 7 or older: download it again.") from err
    return dict(_flat({key: value for key, value in content.items() if not key.startswith("__")}))


def _flat(content: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in content.items():
        found += _flat(value, f"{before}{key}.") if isinstance(value, dict) else [(before + key, value)]
    return found
