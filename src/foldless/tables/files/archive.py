"""NumPy archives: `X`, the target `y`, maybe `groups` and the names of the columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless.tables.files.sheet import Hints, Loaded, refuse_zip_bomb, stripped
from foldless.words import quoted_list

MATRIX, TARGET = "X", "y"
NAMES = ("feature_names", "features", "columns")
SAVED_BY = "expected an archive as numpy.savez(file, X=X, y=y) writes it"


def read(path: Path, hints: Hints, scratch: Path) -> ArchiveSource:
    """Open the archive without ever unpickling, and check its matrix."""
    refuse_zip_bomb(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            held = tuple(archive.files)
    except (OSError, ValueError, EOFError) as err:
        raise fl.InputError(f"{path} is damaged or no .npz file: {SAVED_BY}.") from err
    if MATRIX not in held:
        raise fl.InputError(f"{path} has no array 'X' (it has {quoted_list(held) or 'none'}): {SAVED_BY}.")
    X = _checked(_array(path, MATRIX), path)
    return ArchiveSource(path, X, _names(path, held, X.shape[1]), tuple(n for n in held if n not in (MATRIX, *NAMES)))


@dataclass(frozen=True, eq=False)
class ArchiveSource:
    """A NumPy archive; see `Sheet`."""

    path: Path
    X: Any
    names: tuple[str, ...]
    others: tuple[str, ...]
    default_target: str | None = TARGET
    read_as: str = "NumPy archive"
    remedy: str = ""

    def column(self, name: str) -> Any:
        """An array of the archive, or a column of X, as text."""
        import polars as pl

        values = self.X[:, self.names.index(name)] if name not in self.others else _array(self.path, name)
        if values.ndim != 1 or len(values) != len(self.X):
            raise fl.InputError(
                f"array '{name}' of {self.path} has the shape {values.shape}: expected one value for each of the "
                f"{len(self.X)} rows of X."
            )
        return stripped(pl.Series(name, [_written(v) for v in values.tolist()], dtype=pl.String))

    def load(self, names: tuple[str, ...]) -> Loaded:
        """X itself where nothing is left out."""
        if names == self.names:
            return Loaded(self.X, {}, {})
        places = {name: k for k, name in enumerate(self.names)}
        return Loaded(self.X[:, [places[name] for name in names]], {}, {})


def _written(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _array(path: Path, name: str) -> Any:
    try:
        with np.load(path, allow_pickle=False) as archive:
            array = archive[name]
    except (OSError, ValueError, EOFError, KeyError) as err:
        why = "holds Python objects, which are never unpickled" if "pickle" in str(err) else "cannot be read"
        raise fl.InputError(f"array '{name}' of {path} {why}: save it as numbers or as text.") from err
    except MemoryError as err:
        raise fl.InputError(f"array '{name}' of {path} is larger than the memory there is.") from err
    if not isinstance(array, np.ndarray):  # a member that is no array comes as bytes
        raise fl.InputError(f"'{name}' of {path} is not an array: {SAVED_BY}.")
    return array


def _checked(X: Any, path: Path) -> Any:
    if X.ndim != 2 or 0 in X.shape:
        raise fl.InputError(f"array 'X' of {path} has the shape {X.shape}: expected rows and columns.")
    if X.dtype.kind not in "fiub":
        raise fl.InputError(f"array 'X' of {path} holds {X.dtype}: expected numbers.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _names(path: Path, held: tuple[str, ...], width: int) -> tuple[str, ...]:
    given = next((name for name in NAMES if name in held), None)
    if given is None:
        return tuple(f"x{k}" for k in range(width))
    names = tuple(_written(v).strip() for v in _array(path, given).ravel().tolist())
    if len(names) != width:
        raise fl.InputError(f"array '{given}' of {path} has {len(names)} names for the {width} columns of X.")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise fl.InputError(
            f"{path} has more than one column named {quoted_list(twice)}: give every column its own name."
        )
    return names
