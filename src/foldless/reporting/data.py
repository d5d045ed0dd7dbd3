"""The data in a few numbers: rows, classes, features, and columns that are constant, incomplete or text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foldless import _check
from foldless.anatomy import as_table
from foldless.reporting.case import Case, Part
from foldless.reporting.text import shortened

NAMED = 10
BLOCK = 1 << 22  # cells looked at together


def part(case: Case) -> Part:
    """What X and y look like, as they were given."""
    table = as_table(case.X)
    counts = case.counts
    rows = sum(counts.values())
    content: dict[str, Any] = {
        "rows": rows,
        "features": int(table.shape[1]) if len(getattr(table, "shape", ())) == 2 else None,
        "classes": [{"label": label, "rows": n, "share": n / rows} for label, n in counts.items()],
        "positive": None if not case.two_classes else next(iter(counts)),
        "sparse": _check.is_sparse(table),
        "groups": None if case.groups is None else _groups(case.groups, rows),
        "weighted": case.sample_weight is not None,
        **column_kinds(table, case.names),
    }
    return Part(content)


def _groups(groups: Any, rows: int) -> dict[str, int]:
    sizes = np.bincount(_check.group_codes(groups, rows))
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
    if _check.is_sparse(table):
        yield from _of_sparse(table.tocsc())
    elif _check.is_frame(table):
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
