"""Data sets in a folder: the calibrated posterior, fit included, against 5-fold cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies import real
from foldless_studies.speed.clock import Effort, in_turns
from foldless_studies.speed.measurement import Measurement, timed
from foldless_studies.speed.rivals import CV5, WITH_FIT, classifier, folded

SUBJECT = "data sets"
OF_EACH_KIND = 5


def measurements(folder: Path, names: Sequence[str] | None, *, effort: Effort) -> list[Measurement]:
    """One for each named set, or for the first few wide and the first few other ones."""
    return [Measurement(SUBJECT, path.stem, partial(measure, path, effort)) for path in chosen(folder, names)]


def chosen(folder: Path, names: Sequence[str] | None) -> list[Path]:
    """The sets with these names; otherwise, by name, the first five with more columns than rows and the first five
    without. Sets that are not of two classes, or whose rows are not independent, are passed over."""
    if not folder.is_dir():
        raise fl.InputError(f"{folder} is not a folder: expected one with .npz files that hold X and y.")
    if names is not None:
        return [_named(folder, name) for name in names]
    usable = [path for path in sorted(folder.glob("*.npz")) if real.unusable(path) is None]
    if not usable:
        raise fl.InputError(f"{folder} has no usable .npz file: expected X, y of two classes, and no groups.")
    wide = [path for path in usable if _is_wide(path)]
    return wide[:OF_EACH_KIND] + [path for path in usable if path not in wide][:OF_EACH_KIND]


def _named(folder: Path, name: str) -> Path:
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise fl.InputError(f"there is no {path.name} in {folder}: --sets takes names of .npz files there.")
    why = real.unusable(path)
    if why:
        raise fl.InputError(f"{path} cannot be used: {why}.")
    return path


def _is_wide(path: Path) -> bool:
    X, _ = real.load(path)
    return bool(X.shape[1] > X.shape[0])


def measure(path: Path, effort: Effort) -> dict[str, Any]:
    """Times and answers of both; columns are standardised within the pipeline, so every fold does it anew."""
    X, y = real.load(path)
    X = np.asarray(X, dtype=np.float64)
    timings = in_turns(
        {WITH_FIT: lambda: _posterior(X, y).interval(), CV5: lambda: folded(_pipeline(), X, y)},
        effort,
    )
    posterior = _posterior(X, y)
    low, high = posterior.interval()
    return {
        "N": X.shape[0],
        "P": X.shape[1],
        "ratio_cv5": timings[CV5].seconds / timings[WITH_FIT].seconds,
        "auc": posterior.mean,
        "interval": [float(low), float(high)],
        "method": posterior.method,
        "auc_cv5": folded(_pipeline(), X, y),
        **timed(timings),
    }


def _pipeline() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), classifier())


def _posterior(X: Any, y: Any) -> fl.AUCPosterior:
    return fl.auc_posterior(_pipeline().fit(X, y), X, y)
