"""What the columns are called that a classifier's weights act on: those of X, carried through the steps before."""

from __future__ import annotations

from typing import Any

from foldless._steps import CONTAINERS, Steps, flattened, saw_y, sklearn_names

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
