"""The calibrated posterior and CBAUC against what people compute instead."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.sample import Floats, Labels
from foldless_studies.speed.clock import Call, Effort, in_turns
from foldless_studies.speed.measurement import Measurement, gaussian, shape, timed
from foldless_studies.speed.naive import naive_cbauc

SUBJECT = "rivals"
SHAPES = ((100, 20), (1_000, 50), (200, 2_000))
QUICK = ((40, 5),)
SIGNAL = 0.3
BOOTSTRAPS = 200
POSTERIOR, WITH_FIT, CBAUC = "posterior", "fit + posterior", "cbauc"
CV5, CV10X5, BOOTSTRAP, DELONG, NAIVE = "5-fold CV", "10 x 5-fold CV", ".632+ bootstrap", "DeLong", "naive CBAUC"


def measurements(*, quick: bool, effort: Effort) -> list[Measurement]:
    """One for each shape."""
    return [
        Measurement(SUBJECT, shape(N, P), partial(measure, N, P, 5 if quick else BOOTSTRAPS, effort))
        for N, P in (QUICK if quick else SHAPES)
    ]


def classifier() -> Any:
    """The classifier under judgement, not fitted."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=10_000)


def folded(model: Any, X: Floats, y: Labels, repeats: int = 1) -> float:
    """Mean AUC over the folds, by scikit-learn's own function."""
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    return float(np.mean(cross_val_score(model, X, y, scoring="roc_auc", cv=folds)))


def measure(N: int, P: int, bootstraps: int, effort: Effort) -> dict[str, Any]:
    """Times, and those of the rivals relative to ours, with and without the fit."""
    X, y = gaussian(N, P, signal=SIGNAL)
    timings = in_turns(_calls(X, y, bootstraps), effort)
    seconds = {name: t.seconds for name, t in timings.items()}
    rivals = (CV5, CV10X5, BOOTSTRAP, DELONG, NAIVE)
    return {
        "N": N,
        "P": P,
        "bootstraps": bootstraps,
        "ratio_with_fit": {name: seconds[name] / seconds[WITH_FIT] for name in rivals},
        "ratio_without_fit": {name: seconds[name] / seconds[POSTERIOR] for name in rivals},
        "naive_to_cbauc": seconds[NAIVE] / seconds[CBAUC],
        **timed(timings),
    }


def _calls(X: Floats, y: Labels, bootstraps: int) -> dict[str, Call]:
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
        CBAUC: lambda: fl.cbauc(w, X, y),
        NAIVE: lambda: naive_cbauc(w, X, y),
    }
