"""The parts of a report about the columns: the data in a few numbers, and the features with the largest weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from foldless import checks
from foldless.checks import Floats, is_missing, slices
from foldless.errors import EstimatorError
from foldless.findings.naming import in_words, names_after, steps_before_y
from foldless.honest.families import describe, strength
from foldless.honest.objective import Objective
from foldless.laws.moments import feature_moments
from foldless.model.steps import Steps, flattened, inner_steps, sklearn_names
from foldless.model.view import LinearView, as_table, dismantled
from foldless.results.auc import central
from foldless.show.report.parts import Case, Part
from foldless.words import shortened

# ---- Names of the columns that the weights act on: those of X, carried through the steps before the classifier.

SCALERS = {"StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler", "QuantileTransformer", "PowerTransformer"}


def _scalers_of(steps: Steps) -> list[str]:
    """Class names of all scalers among steps and inside them, in order."""
    scalers = []
    for _, step in steps:
        if sklearn_names(step) & SCALERS:
            scalers.append(type(step).__name__)
        scalers += _scalers_of([inner for part in inner_steps(step) for inner in flattened("", part)])
    return scalers


def _carried(names: list[str] | None, X: Any, steps: Steps, width: int) -> list[str]:
    """Names of the `width` columns after some steps; numbers where a step does not name its output."""
    names = names or [_numbered(k) for k in range(X.shape[1] if len(getattr(X, "shape", ())) == 2 else width)]
    for _, step in steps:
        names = names_after(step, names) or names
    return [in_words(name) for name in names] if len(names) == width else [_numbered(k) for k in range(width)]


def _numbered(k: int) -> str:
    return f"column {k + 1}"


# ---- The features with the largest effect on the score, in comparable units.

SHOWN = 15


def features_part(case: Case) -> Part:
    """The largest weights, each times the standard deviation of its column."""
    try:
        view = case.analysis.view
    except EstimatorError:
        return Part.skipped("This classifier is not linear: it has no weights.")
    all_steps = [] if case.is_weights else dismantled(case.analysis.estimator)[0]
    steps = steps_before_y(case.analysis.estimator)
    names = _carried(case.names, case.analysis.X, steps, view.X.shape[1])
    # A part of the weights that all classes share does not affect the ranking.
    weights = view.weights if case.two_classes else view.weights - view.weights.mean(axis=0)
    weights = weights * _column_sds(view)
    size = np.max(np.abs(weights), axis=0)
    order = [int(k) for k in np.argsort(-size, kind="stable")[:SHOWN] if size[k] > 0]
    largest = float(size[order[0]]) if order else 1.0
    scaler = next((type(s).__name__ for _, s in reversed(steps) if sklearn_names(s) & SCALERS), None)
    return Part({
        "features": int(view.X.shape[1]),
        "nonzero": int(np.count_nonzero(size)),
        "scaler": scaler,
        "unit": _unit(scaler, _scalers_of(all_steps)),
        "top": [_entry(view, names[k], weights[:, k], size[k] / largest) for k in order],
    })  # fmt: skip


def _column_sds(view: LinearView) -> Floats:
    """Standard deviation of each column on which the weights act."""
    positive = view.codes == (1 if len(view.classes) == 2 else 0)
    first, second = feature_moments(view.X, positive)
    return np.asarray(np.sqrt((first + second).scatter / positive.size))


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


# ---- Odds ratios of a logistic regression, per unit of the columns of X.

MOST_ODDS = 60
NO_LEVEL = ("_(missing)", "_nan", "_None")  # levels of rows without a value: nothing is compared with them
LARGEST_LOG = 700.0  # beyond it, the exponential is infinite, which JSON cannot say


def odds_part(case: Case) -> Part:
    """Odds ratios with the intervals that the curvature of the objective, penalty included, gives."""
    view = None if case.why_no_risks or case.analysis.by_refits else case.analysis.view
    known = None if view is None else describe(view, case.analysis.options.sample_weight)
    if view is None or known is None or not known.name.startswith("logistic regression"):
        return Part.skipped("Odds ratios are those of a logistic regression.")
    if view.X.shape[1] > MOST_ODDS or checks.is_sparse(view.X) or np.ptp(known.loss.weight) > 0:
        here = f"here are {view.X.shape[1]:,}, categories counted one by one"
        return Part.skipped(f"Odds ratios are shown for at most {MOST_ODDS} columns and unweighted rows; {here}.")
    Z = np.asarray(view.X, dtype=np.float64)
    contrasts, names, start = _contrasts(case, Z)
    spread = np.sqrt(np.diag(contrasts @ _covariance(known, strength(view.estimator), Z) @ contrasts.T))
    logs = [contrasts @ known.weights + z * spread for z in (0.0, *ndtri(central(case.level)))]
    ends = [np.exp(np.clip(log, -LARGEST_LOG, LARGEST_LOG)).tolist() for log in logs]
    varies = contrasts.astype(bool) @ (np.ptp(Z, axis=0) > 0)  # a constant column has no odds ratio
    told = (row for row, any_varies in zip(zip(names, *ends, strict=True), varies, strict=True) if any_varies)
    rows = [dict(zip(("name", "odds", "low", "high"), row, strict=True)) for row in told]
    intercept = float(known.intercept + known.weights @ start)
    return Part({"level": case.level, "penalised": known.lam > 0, "intercept": intercept, "rows": rows})


def _covariance(known: Objective, C: float | None, Z: Floats) -> Floats:
    """The inverse of the curvature on the scale of the likelihood; the objective counts each row C times."""
    A = np.column_stack([Z, np.full(len(Z), known.constant or float(known.free_intercept))])
    D = known.loss.curvature(Z @ known.weights + known.intercept)
    penalties = [*np.full(Z.shape[1], known.lam), known.lam if known.constant else 0.0]
    H = (A * D[:, None]).T @ A + np.diag(penalties)
    return np.asarray(np.linalg.pinv(H, hermitian=True)[:-1, :-1] * (C if known.lam and C else 1.0))


def _contrasts(case: Case, Z: Floats) -> tuple[Floats, list[str], Floats]:
    """Units of X and levels against the first known one, as factors of the weights; their names; where all are 0."""
    steps = steps_before_y(case.analysis.estimator)
    names, table = _carried(case.names, case.analysis.X, steps, Z.shape[1]), as_table(case.analysis.X)
    given = case.names or [_numbered(k) for k in range(table.shape[1])]
    lines = np.array([_line_of(table, given, name, z) for name, z in zip(names, Z.T, strict=True)], dtype=np.float64)
    units, start = np.diag(lines[:, 0]), lines[:, 1]
    labels = [shortened(name.rpartition("__")[2]) for name in names]
    groups = [group for group in _levels(steps) if _is_one_hot(Z[:, group[0] : group[-1] + 1])]
    bases = [next((k for k in group if not labels[k].endswith(NO_LEVEL)), group[0]) for group in groups]
    start[bases] = 1.0
    first = {k: base for group, base in zip(groups, bases, strict=True) for k in group if k != base}
    for k, reference in first.items():
        units[k, reference] = -1.0
        labels[k] = f"{labels[k]} against {labels[reference]}"
    kept = [k for k in range(len(labels)) if k not in set(first.values())]
    return units[kept], [labels[k] for k in kept], start


def _is_one_hot(Z: Floats) -> bool:
    return bool(np.isin(Z, (0, 1)).all() and np.all(Z.sum(axis=1) == 1))


def _line_of(table: Any, given: list[str], name: str, z: Floats) -> tuple[float, float]:
    """A column after the steps as a line in the column of X that it stems from: slope, start; 1 and 0 if it is none."""
    if (plain := name.rpartition("__")[2]) not in given:
        return 1.0, 0.0
    k = given.index(plain)
    column = np.asarray(table.iloc[:, k] if hasattr(table, "iloc") else table[:, k])
    if column.dtype.kind not in NUMERIC or np.unique(column[known := np.isfinite(column)]).size < 2:
        return 1.0, 0.0
    x, z = column[known], z[known]
    first, last = x.argmin(), x.argmax()
    slope = (z[last] - z[first]) / (x[last] - x[first])
    start = z[first] - slope * x[first]
    return (slope, start) if np.allclose(start + slope * x, z, atol=1e-8) else (1.0, 0.0)


def _levels(steps: Steps) -> Iterator[list[int]]:
    """Columns that hold all levels of one column of X."""
    parts = ((step, *part[:2]) for _, step in steps for part in getattr(step, "transformers_", ()))
    for container, name, part in parts:
        for _, encoder in flattened(name, part)[-1:]:
            if "OneHotEncoder" in sklearn_names(encoder) and encoder.drop is None:
                ends = np.cumsum([container.output_indices_[name].start, *map(len, encoder.categories_)]).tolist()
                yield from (list(range(*span)) for span in pairwise(ends))


# ---- The data in a few numbers: rows, classes, features, and columns that are constant, incomplete or not numeric.

NAMED = 10
BLOCK = 1 << 22  # cells examined at once
NUMERIC = "biuf"  # kinds of dtype


def data_part(case: Case) -> Part:
    """X and y as they were given."""
    table, options = as_table(case.analysis.X), case.analysis.options
    rows = sum(case.counts.values())
    return Part({
        "rows": rows,
        "features": int(table.shape[1]) if len(getattr(table, "shape", ())) == 2 else None,
        "classes": [{"label": label, "rows": n, "share": n / rows} for label, n in case.counts.items()],
        "positive": next(iter(case.counts)) if case.two_classes else None,
        "sparse": checks.is_sparse(table),
        "groups": None if options.groups is None else _groups(options.groups, rows),
        "weighted": options.sample_weight is not None,
        **column_kinds(table, case.names),
    })  # fmt: skip


def _groups(groups: Any, rows: int) -> dict[str, int]:
    sizes = np.bincount(checks.group_codes(groups, rows))
    return {"count": int(sizes.size), "smallest": int(sizes.min()), "largest": int(sizes.max())}


def column_kinds(table: Any, names: list[str] | None) -> dict[str, Any]:
    """Which columns are constant, incomplete or not numeric; none if the rows are documents."""
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
    """Whether a column is constant, how many values are missing, and whether it is numeric."""

    constant: bool
    missing: int
    numeric: bool = True


def _columns(table: Any) -> Iterator[Column]:
    if checks.is_sparse(table):
        M = table.tocsc()
        for start, end in pairwise(M.indptr):
            stored = M.data[start:end]
            yield _column(stored if stored.size == M.shape[0] else np.append(stored, 0))
    elif checks.is_frame(table):
        for k in range(table.shape[1]):
            # By position: two columns of a pandas frame may have the same name.
            yield _column((table.iloc[:, k] if hasattr(table, "iloc") else table.to_series(k)).to_numpy())
    elif (M := np.asarray(table)).dtype.kind in NUMERIC:
        for part in slices(M.shape[1], M.shape[0], BLOCK):
            yield from _numeric_columns(M[:, part])
    else:
        yield from map(_column, M.T)


def _numeric_columns(M: Any) -> list[Column]:
    missing = np.count_nonzero(np.isnan(M), axis=0)
    constant = (missing == len(M)) | (np.fmin.reduce(M, axis=0) == np.fmax.reduce(M, axis=0))
    return [Column(bool(same), int(count)) for same, count in zip(constant, missing, strict=True)]


def _column(values: Any) -> Column:
    values = np.asarray(values)
    if values.dtype.kind in NUMERIC:
        return _numeric_columns(values[:, None])[0]
    known = [v for v in values.tolist() if not is_missing(v)]
    numeric = all(isinstance(v, int | float) for v in known)
    return Column(len(set(map(str, known))) < 2, len(values) - len(known), numeric)
