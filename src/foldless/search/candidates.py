"""The candidates of a search: the expanded grid, and the families that differ only in the strength of an L2 penalty."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.errors import InputError
from foldless.honest.penalties import is_strength, l2_strength

Params = dict[str, Any]

# +1: a larger value penalises less; -1: a larger value penalises more.
STRENGTHS = {"C": 1, "alpha": -1, "shrinkage": -1}


@dataclass(frozen=True)
class Family:
    """Candidates that are worked on together."""

    indices: tuple[int, ...]  # in the grid
    params: tuple[Params, ...]
    strength: str | None = None  # the one parameter in which they differ; None for a candidate on its own


def expand(param_grid: Any) -> list[Params]:
    """All combinations of a grid, or of a list of grids, in scikit-learn's order."""
    from sklearn.model_selection import ParameterGrid

    try:
        candidates = list(ParameterGrid(param_grid))
    except (TypeError, ValueError) as err:
        raise InputError(
            f"param_grid must be a dict of lists such as {{'C': [0.1, 1, 10]}}, or a list of such dicts: {err}"
        ) from err
    if not candidates:
        raise InputError("param_grid is an empty list: name at least one candidate, such as {'C': [0.1, 1, 10]}.")
    return candidates


def param_columns(candidates: list[Params]) -> dict[str, Any]:
    """One masked array per parameter, masked where a candidate does not set it; as in ``cv_results_``."""
    names = sorted({name for params in candidates for name in params})
    return {f"param_{name}": _column([params.get(name, np.ma.masked) for params in candidates]) for name in names}


def _column(values: list[Any]) -> Any:
    present = [v for v in values if v is not np.ma.masked]
    numeric = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in present)
    dtype = np.result_type(*map(np.asarray, present)) if numeric else np.dtype(object)
    column: Any = np.ma.MaskedArray(np.empty(len(values), dtype=dtype), mask=True)
    for k, value in enumerate(values):
        if value is not np.ma.masked:
            column[k] = value
    return column


def families(estimator: Any, candidates: list[Params]) -> list[Family]:
    """Sort candidates into families with a shared path, and candidates on their own.

    Members of a family end in the same L2 classifier and differ in its strength alone. Whether the classifier really
    has a closed form (penalty, loss, supervised steps) is known only once it is fitted.
    """
    from sklearn.base import clone

    groups: dict[Any, list[int]] = {}
    for k, params in enumerate(candidates):
        names = _strengths(params, ("C", "alpha"))
        # Alone in its group unless exactly one parameter can be the strength.
        key = (names[0], other_settings(params, names[0])) if len(names) == 1 else (None, k)
        groups.setdefault(key, []).append(k)
    result = []
    for (name, _), members in groups.items():
        first = clone(estimator).set_params(**clone(candidates[members[0]], safe=False))
        shared = name if len(members) > 1 and name == l2_strength(first) else None
        parts = [members] if shared else [[k] for k in members]
        result += [Family(tuple(part), tuple(candidates[k] for k in part), shared) for part in parts]
    return result


def other_settings(params: Params, strength: str) -> tuple[Any, ...]:
    """All parameters of a candidate but its strength, in a form that can be compared."""
    return tuple((name, _comparable(params[name])) for name in sorted(params) if name != strength)


def strength_of(params: Params) -> str | None:
    """Name of the parameter that sets the strength of regularisation; None if there is not exactly one."""
    names = _strengths(params, STRENGTHS)
    return names[0] if len(names) == 1 else None


def weakness(name: str, value: float) -> float:
    """A number that is larger for weaker regularisation."""
    return STRENGTHS[name.split("__")[-1]] * float(value)


def _strengths(params: Params, kinds: Collection[str]) -> list[str]:
    """Parameters of these kinds that are positive, finite numbers."""
    return [name for name, value in params.items() if name.split("__")[-1] in kinds and is_strength(value)]


def _comparable(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return type(value).__name__, value
    if isinstance(value, Mapping):
        return tuple((str(k), _comparable(v)) for k, v in value.items())
    return id(value)  # a grid uses the same object in every combination
