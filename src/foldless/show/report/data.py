"""The parts of a report about the columns: the data in a few numbers, and the most weighted features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from foldless import checks
from foldless.checks import Floats
from foldless.errors import EstimatorError
from foldless.laws.moments import feature_moments
from foldless.model.steps import CONTAINERS, Steps, flattened, saw_y, sklearn_names
from foldless.model.view import LinearView, as_table, dismantled
from foldless.show.report.parts import Case, Part
from foldless.words import shortened

# ---- What the columns are called that a classifier's weights act on: those of X, carried through the steps before.

SCALERS = {"StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler", "QuantileTransformer", "PowerTransformer"}


def _steps_before_y(steps: Steps) -> Steps:
    """The steps that are applied to X before the weights are looked at: all up to the first that saw y."""
    cut = next((k for k, (_, step) in enumerate(steps) if saw_y(step)), len(steps))
    return steps[:cut]


def _scalers_of(steps: Steps) -> list[str]:
    """The classes of all scalers among steps and inside them, in their order."""
    scalers = []
    for _, step in steps:
        own = [type(step).__name__] if sklearn_names(step) & SCALERS else []
        scalers += own + _scalers_of([inner for part in _held_by(step) for inner in flattened("", part)])
    return scalers


def _held_by(step: Any) -> list[Any]:
    """What a ColumnTransformer or a FeatureUnion holds."""
    attribute = next((attribute for kind, attribute in CONTAINERS.items() if kind in sklearn_names(step)), None)
    return [item[1] for item in getattr(step, attribute, ()) if not isinstance(item[1], str)] if attribute else []


def _carried(names: list[str] | None, X: Any, steps: Steps, width: int) -> list[str]:
    """Names of the `width` columns after some steps; numbers where a step does not say what it made of them."""
    names = names or [_numbered(k) for k in range(X.shape[1] if len(getattr(X, "shape", ())) == 2 else width)]
    for _, step in steps:
        names = _after(step, names)
    return names if len(names) == width else [_numbered(k) for k in range(width)]


def _numbered(k: int) -> str:
    return f"column {k + 1}"


def _after(step: Any, names: list[str]) -> list[str]:
    for given in (names, None):
        try:
            return [str(name) for name in step.get_feature_names_out(given)]
        except Exception:  # names other than those seen in fit, or a step that cannot tell
            continue
    return names


# ---- The features that move the score most, in units that can be compared.

SHOWN = 15


def features_part(case: Case) -> Part:
    """The largest weights, each times the standard deviation of its column."""
    try:
        view = case.analysis.view
    except EstimatorError:
        return Part.skipped("This classifier is not linear: it has no weights.")
    all_steps = [] if case.is_weights else dismantled(case.analysis.estimator)[0]
    steps = _steps_before_y(all_steps)
    names = _carried(case.names, case.analysis.X, steps, view.X.shape[1])
    weights = _per_class(view) * _column_sds(view)
    size = np.max(np.abs(weights), axis=0)
    order = [int(k) for k in np.argsort(-size, kind="stable")[:SHOWN] if size[k] > 0]
    largest = float(size[order[0]]) if order else 1.0
    scaler = next((type(s).__name__ for _, s in reversed(steps) if sklearn_names(s) & SCALERS), None)
    content: dict[str, Any] = {
        "features": int(view.X.shape[1]),
        "nonzero": int(np.count_nonzero(size)),
        "scaler": scaler,
        "unit": _unit(scaler, _scalers_of(all_steps)),
        "top": [_entry(view, names[k], weights[:, k], size[k] / largest) for k in order],
    }
    return Part(content)


def _column_sds(view: LinearView) -> Floats:
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
    unit = "Change of the score per standard deviation of the feature: weight times standard deviation."
    if scalers:
        return f"{unit} The scaling of the pipeline ({', '.join(dict.fromkeys(scalers))}) is allowed for."
    return f"{unit} No scaler is in the pipeline, so the weights alone could not be compared."


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
    table, options = as_table(case.analysis.X), case.analysis.options
    rows = sum(case.counts.values())
    content: dict[str, Any] = {
        "rows": rows,
        "features": int(table.shape[1]) if len(getattr(table, "shape", ())) == 2 else None,
        "classes": [{"label": label, "rows": n, "share": n / rows} for label, n in case.counts.items()],
        "positive": next(iter(case.counts)) if case.two_classes else None,
        "sparse": checks.is_sparse(table),
        "groups": None if options.groups is None else _groups(options.groups, rows),
        "weighted": options.sample_weight is not None,
        **column_kinds(table, case.names),
    }
    return Part(content)


def _groups(groups: Any, rows: int) -> dict[str, int]:
    sizes = np.bincount(checks.group_codes(groups, rows))
    return {"count": int(sizes.size), "smallest": int(sizes.min()), "largest": int(sizes.max())}


def column_kinds(table: Any, names: list[str] | None) -> dict[str, Any]:
    """Which columns are constant, have missing values, or hold no numbers; nothing for rows that are documents."""
    columns = list(_columns(table)) if len(getattr(table, "shape", ())) == 2 else []
    kinds = {
        "constant": [k for k, column in enumerate(columns) if column.constant],
        "missing": [k for k, column in enumerate(columns) if column.missing],
        "text": [k for k, column in enumerate(columns) if not column.numeric],
    }
    named = {
        kind: {"count": len(at), "names": [shortened(names[k] if names else _numbered(k)) for k in at[:NAMED]]}
        for kind, at in kinds.items()
    }
    return {**named, "missing_values": sum(column.missing for column in columns)}


class Column(NamedTuple):
    """Whether a column is constant, how many values it lacks, and whether it holds numbers."""

    constant: bool
    missing: int
    numeric: bool = True


def _columns(table: Any) -> Iterator[Column]:
    if checks.is_sparse(table):
        return _of_sparse(table.tocsc())
    if checks.is_frame(table):
        return (_of_values(_series(table, k)) for k in range(table.shape[1]))
    return _of_array(np.asarray(table))


def _of_sparse(M: Any) -> Iterator[Column]:
    for k in range(M.shape[1]):
        stored = M.data[M.indptr[k] : M.indptr[k + 1]]
        yield _of_numbers(stored if stored.size == M.shape[0] else np.append(stored, 0))


def _of_array(M: Any) -> Iterator[Column]:
    if M.dtype.kind not in "biuf":
        yield from (_of_values(M[:, k]) for k in range(M.shape[1]))
        return
    step = max(1, BLOCK // M.shape[0])
    for start in range(0, M.shape[1], step):
        block = M[:, start : start + step]
        # Columns with NaN, whose extremes are NaN, are looked at one by one.
        low, high = np.min(block, axis=0), np.max(block, axis=0)
        for k, incomplete in enumerate(np.isnan(low)):
            yield _of_numbers(block[:, k]) if incomplete else Column(bool(low[k] == high[k]), 0)


def _of_numbers(values: Any) -> Column:
    values = np.asarray(values, dtype=np.float64)
    known = values[~np.isnan(values)]
    return Column(bool(known.size == 0 or known.min() == known.max()), int(values.size - known.size))


def _series(frame: Any, k: int) -> Any:
    # By place: two columns of a pandas frame may have one name.
    return frame.iloc[:, k].to_numpy() if hasattr(frame, "iloc") else frame.to_series(k).to_numpy()


def _of_values(values: Any) -> Column:
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return _of_numbers(values)
    known = [v for v in values.tolist() if not _is_missing(v)]
    numeric = all(isinstance(v, int | float) for v in known)
    return Column(len(set(map(str, known))) < 2, len(values) - len(known), numeric)


def _is_missing(value: Any) -> bool:
    # NaN differs from itself; pandas' NA refuses the comparison altogether.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
