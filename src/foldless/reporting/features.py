"""The features that move the score most, in units that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._check import Floats
from foldless._steps import sklearn_names
from foldless.anatomy import LinearView
from foldless.honest.multi.view import ClassesView
from foldless.moments import feature_moments
from foldless.reporting.case import Case, Part
from foldless.reporting.names import SCALERS, carried, scalers_of, steps_before_y
from foldless.reporting.text import shortened

SHOWN = 15


def part(case: Case) -> Part:
    """The largest weights, each times the standard deviation of its column."""
    all_steps = case.taken_apart()[0]
    steps = steps_before_y(all_steps)
    X, spread = case.view.X, column_sds(case.view)
    names = carried(case.names, case.X, steps, X.shape[1])
    weights = _per_class(case.view) * spread
    size = np.max(np.abs(weights), axis=0)
    order = [int(k) for k in np.argsort(-size, kind="stable")[:SHOWN] if size[k] > 0]
    largest = float(size[order[0]]) if order else 1.0
    scaler = next((type(s).__name__ for _, s in reversed(steps) if sklearn_names(s) & SCALERS), None)
    content: dict[str, Any] = {
        "features": int(X.shape[1]),
        "nonzero": int(np.count_nonzero(size)),
        "scaler": scaler,
        "unit": _unit(scaler, scalers_of(all_steps)),
        "top": [_entry(case.view, names[k], weights[:, k], size[k] / largest) for k in order],
    }
    return Part(content)


def column_sds(view: LinearView | ClassesView) -> Floats:
    """Standard deviation of each column on which the weights act."""
    positive = view.labels.positive if isinstance(view, LinearView) else view.codes == 0
    first, second = feature_moments(view.X, positive)
    return np.asarray(np.sqrt((first + second).scatter / positive.size))


def _per_class(view: LinearView | ClassesView) -> Floats:
    """Weights, one row per score; of several classes what is common to all of them ranks nothing and is left out."""
    if isinstance(view, LinearView):
        return view.weights[None, :]
    return np.asarray(view.weights - view.weights.mean(axis=0))


def _unit(all_columns: str | None, scalers: list[str]) -> str:
    if all_columns == "StandardScaler":
        return "Change of the score per standard deviation of the feature; the units are those of the StandardScaler."
    words = "Change of the score per standard deviation of the feature: weight times standard deviation."
    if scalers:
        return f"{words} The scaling of the pipeline ({', '.join(dict.fromkeys(scalers))}) is allowed for."
    return f"{words} No scaler is in the pipeline, so the weights alone could not be compared."


def _entry(view: LinearView | ClassesView, name: str, weights: Floats, share: float) -> dict[str, Any]:
    k = int(np.argmax(np.abs(weights)))
    entry: dict[str, Any] = {"name": shortened(name), "weight": float(weights[k]), "share": float(share)}
    if isinstance(view, ClassesView):
        entry["class"] = view.classes[k]
    return entry
