"""The calibrated posterior against what people compute instead: on Gaussian data, and on data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.data import load, npz_files, unusable
from foldless_studies.sampling import Floats, Labels
from foldless_studies.speed.measurement import (
    SIGNAL,
    Call,
    Effort,
    Subject,
    classifier,
    gaussian,
    in_turns,
    shape,
    timed,
)

POSTERIOR, WITH_FIT = "posterior", "fit + posterior"
CV5, CV10X5, BOOTSTRAP, DELONG = "5-fold CV", "10 x 5-fold CV", ".632+ bootstrap", "DeLong"
OF_EACH_KIND = 5


def folded(model: Any, X: Floats, y: Labels, repeats: int = 1) -> float:
    """Mean AUC over the folds, by scikit-learn's own function."""
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    return float(np.mean(cross_val_score(model, X, y, scoring="roc_auc", cv=folds)))


def measure_rivals(case: tuple[int, int, int], effort: Effort) -> dict[str, Any]:
    """Times, and those of the rivals relative to ours, with and without the fit."""
    N, P, bootstraps = case
    X, y = gaussian(N, P, signal=SIGNAL)
    timings = in_turns(calls(X, y, bootstraps), effort)
    seconds = {name: t.seconds for name, t in timings.items()}
    rivals = (CV5, CV10X5, BOOTSTRAP, DELONG)
    return {
        "N": N,
        "P": P,
        "bootstraps": bootstraps,
        "ratio_with_fit": {name: seconds[name] / seconds[WITH_FIT] for name in rivals},
        "ratio_without_fit": {name: seconds[name] / seconds[POSTERIOR] for name in rivals},
        **timed(timings),
    }


def calls(X: Floats, y: Labels, bootstraps: int) -> dict[str, Call]:
    """Ours and those of the rivals."""
    model = classifier().fit(X, y)
    w = np.asarray(model.coef_[0], dtype=np.float64)
    return {
        "fit": lambda: classifier().fit(X, y),
        POSTERIOR: lambda: fl.auc_posterior(model, X, y).interval(),
        WITH_FIT: lambda: fl.auc_posterior(classifier().fit(X, y), X, y).interval(),
        CV5: lambda: folded(classifier(), X, y),
        CV10X5: lambda: folded(classifier(), X, y, 10),
        BOOTSTRAP: lambda: fl.baselines.bootstrap632plus_auc(classifier(), X, y, n_bootstraps=bootstraps),
        DELONG: lambda: fl.baselines.delong(y, X @ w).interval(),
    }


# Cases are (N, P, replicates of the bootstrap).
RIVALS = Subject(
    "rivals",
    lambda case: shape(*case[:2]),
    measure_rivals,
    Effort(3, 15, 10.0),
    full=((100, 20, 200), (1_000, 50, 200), (200, 2_000, 200)),
    quick=((40, 5, 5),),
)

# ---- Data sets in a folder: the calibrated posterior, fit included, against 5-fold cross-validation.


def chosen(folder: Path, names: Sequence[str] | None) -> list[Path]:
    """The sets with these names; otherwise, by name, the first five with more columns than rows and the first five
    without. Sets that are not of two classes, or whose rows are not independent, are passed over."""
    files = npz_files(folder)
    if names is not None:
        return [_named(folder, name) for name in names]
    usable = [path for path in files if unusable(path) is None]
    if not usable:
        raise fl.InputError(f"{folder} has no usable .npz file: expected X, y of two classes, and no groups.")
    wide = [path for path in usable if _is_wide(path)]
    return wide[:OF_EACH_KIND] + [path for path in usable if path not in wide][:OF_EACH_KIND]


def _named(folder: Path, name: str) -> Path:
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise fl.InputError(f"there is no {path.name} in {folder}: --sets takes names of .npz files there.")
    why = unusable(path)
    if why:
        raise fl.InputError(f"{path} cannot be used: {why}.")
    return path


def _is_wide(path: Path) -> bool:
    X, _ = load(path)
    return bool(X.shape[1] > X.shape[0])


def measure_data_set(path: Path, effort: Effort) -> dict[str, Any]:
    """Times and answers of both; columns are standardised within the pipeline, so every fold does it anew."""
    X, y = load(path)
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


DATA_SETS = Subject("data sets", lambda path: path.stem, measure_data_set, Effort(3, 15, 5.0))
