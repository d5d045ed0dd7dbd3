"""The parts of a report about the columns: the data in a few numbers, and the most weighted features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Floats
from foldless.laws.moments import feature_moments
from foldless.model.steps import CONTAINERS, Steps, flattened, saw_y, sklearn_names
from foldless.model.view import LinearView, as_table
from foldless.show.report.case import Case, Part
from foldless.words import shortened

# ---- What the columns are called that a classifier's weights act on: those of X, carried through the steps before.

SCALERS = {"StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler", "QuantileTransformer", "PowerTransformer"}


def steps_before_y(steps: Steps) -> Steps:
    """The steps that are applied to X before the weights are looked at: all up to the first that saw y."""
    cut = next((k for k, (_, step) in enumerate(steps) if saw_y(step)), len(steps))
    return steps[:cut]


def scalers_of(steps: Steps) -> list[str]:
    """The classes of all scalers among steps and inside them, in their order."""
    found = []
    for _, step in steps:
        inner = [s for part in inner_steps(step) for s in flattened("", part)]
        own = [type(step).__name__] if sklearn_names(step) & SCALERS else []
        found += own + scalers_of(inner)
    return found


def carried(names: list[str] | None, X: Any, steps: Steps, width: int) -> list[str]:
    """Names of the `width` columns after some steps; numbers where a step does not say what it made of them."""
    known = names or _numbered(X.shape[1] if len(getattr(X, "shape", ())) == 2 else width)
    for _, step in steps:
        known = _after(step, known)
    return known if len(known) == width else _numbered(width)


def _numbered(width: int) -> list[str]:
    return [f"column {k + 1}" for k in range(width)]


def _after(step: Any, names: list[str]) -> list[str]:
    for given in (names, None):
        try:
            return [str(name) for name in step.get_feature_names_out(given)]
        except Exception:  # names other than those seen in fit, or a step that cannot tell
            continue
    return names


def inner_steps(step: Any) -> list[Any]:
    """What a ColumnTransformer or a FeatureUnion holds."""
    held = next((attribute for kind, attribute in CONTAINERS.items() if kind in sklearn_names(step)), None)
    return [item[1] for item in getattr(step, held, ()) if not isinstance(item[1], str)] if held else []


# ---- The features that move the score most, in units that can be compared.

SHOWN = 15


def features_part(case: Case) -> Part:
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


def column_sds(view: LinearView) -> Floats:
    """Standard deviation of each column on which the weights act."""
    positive = view.codes == (1 if len(view.classes) == 2 else 0)
    first, second = feature_moments(view.X, positive)
    return np.asarray(np.sqrt((first + second).scatter / positive.size))


def _per_class(view: LinearView) -> Floats:
    """Weights, one row per score; of several classes what is common to all of them ranks nothing and is left out."""
    if len(view.weights) == 1:
        return view.weights
    return np.asarray(view.weights - view.weights.mean(axis=0))


def _unit(all_columns: str | None, scalers: list[str]) -> str:
    if all_columns == "StandardScaler":
        return "Change of the score per standard deviation of the feature; the units are those of the StandardScaler."
    words = "Change of the score per standard deviation of the feature: weight times standard deviation."
    if scalers:
        return f"{words} The scaling of the pipeline ({', '.join(dict.fromkeys(scalers))}) is allowed for."
    return f"{words} No scaler is in the pipeline, so the weights alone could not be compared."


def _entry(view: LinearView, name: str, weights: Floats, share: float) -> dict[str, Any]:
    k = int(np.argmax(np.abs(weights)))
    entry: dict[str, Any] = {"name": shortened(name), "weight": float(weights[k]), "share": float(share)}
    if len(view.classes) > 2:
        entry["class"] = view.classes[k]
    return entry


# ---- The data in a few numbers: rows, classes, features, and columns that are constant, incomplete or text.

NAMED = 10
BLOCK = 1 << 22  # cells looked at together


def data_part(case: Case) -> Part:
    """What X and y look like, as they were given."""
    table = as_table(case.X)
    counts = case.counts
    rows = sum(counts.values())
    content: dict[str, Any] = {
        "rows": rows,
        "features": int(table.shape[1]) if len(getattr(table, "shape", ())) == 2 else None,
        "classes": [{"label": label, "rows": n, "share": n / rows} for label, n in counts.items()],
        "positive": None if not case.two_classes else next(iter(counts)),
        "sparse": checks.is_sparse(table),
        "groups": None if case.groups is None else _groups(case.groups, rows),
        "weighted": case.sample_weight is not None,
        **column_kinds(table, case.names),
    }
    return Part(content)


def _groups(groups: Any, rows: int) -> dict[str, int]:
    sizes = np.bincount(checks.group_codes(groups, rows))
    return {"count": int(sizes.size), "smallest": int(sizes.min()), "largest": int(sizes.max())}


def column_kinds(table: Any, names: list[str] | None) -> dict[str, Any]:
    """Which columns are constant, have missing values, or hold no numbers; nothing for rows that are documents."""
    found: dict[str, Any] = {"constant": [], "missing": [], "text": []}
    cells = 0
    for k, constant, missing, numeric in _columns(table):
        cells += missing
        for kind, applies in (("constant", constant), ("missing", missing > 0), ("text", not numeric)):
            if applies:
                found[kind].append(k)
    kinds = {kind: {"count": len(at), "names": _named(at, names)} for kind, at in found.items()}
    return {**kinds, "missing_values": cells}


def _named(places: list[int], names: list[str] | None) -> list[str]:
    return [shortened(names[k] if names else f"column {k + 1}") for k in places[:NAMED]]


def _columns(table: Any) -> Iterator[tuple[int, bool, int, bool]]:
    """(place, constant, missing values, holds numbers) of every column."""
    if len(getattr(table, "shape", ())) != 2:
        return
    if checks.is_sparse(table):
        yield from _of_sparse(table.tocsc())
    elif checks.is_frame(table):
        yield from (_of_series(k, _series(table, k)) for k in range(table.shape[1]))
    else:
        yield from _of_array(np.asarray(table))


def _of_sparse(M: Any) -> Iterator[tuple[int, bool, int, bool]]:
    for k in range(M.shape[1]):
        stored = M.data[M.indptr[k] : M.indptr[k + 1]]
        full = stored if stored.size == M.shape[0] else np.append(stored, 0)
        yield _of_numbers(k, full)


def _of_array(M: Any) -> Iterator[tuple[int, bool, int, bool]]:
    if M.dtype.kind not in "biuf":
        yield from (_of_series(k, M[:, k]) for k in range(M.shape[1]))
        return
    step = max(1, BLOCK // M.shape[0])
    for start in range(0, M.shape[1], step):
        block = M[:, start : start + step]
        missing = np.count_nonzero(np.isnan(block), axis=0) if M.dtype.kind == "f" else np.zeros(block.shape[1], int)
        spread = np.max(block, axis=0) == np.min(block, axis=0)
        for j in range(block.shape[1]):
            yield _of_numbers(start + j, block[:, j]) if missing[j] else (start + j, bool(spread[j]), 0, True)


def _of_numbers(k: int, values: Any) -> tuple[int, bool, int, bool]:
    values = np.asarray(values, dtype=np.float64)
    known = values[~np.isnan(values)]
    return k, bool(known.size == 0 or known.min() == known.max()), int(values.size - known.size), True


def _series(frame: Any, k: int) -> Any:
    # By place: two columns of a pandas frame may have one name.
    return frame.iloc[:, k].to_numpy() if hasattr(frame, "iloc") else frame.to_series(k).to_numpy()


def _of_series(k: int, values: Any) -> tuple[int, bool, int, bool]:
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return _of_numbers(k, values)
    known = [v for v in values.tolist() if not _is_missing(v)]
    numeric = all(isinstance(v, int | float) for v in known)
    return k, len(set(map(str, known))) < 2, len(values) - len(known), numeric


def _is_missing(value: Any) -> bool:
    # NaN differs from itself; pandas' NA refuses the comparison altogether.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
