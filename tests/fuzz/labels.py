"""Any y: two classes, one, many; numbers, words, nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzz.tables import mostly

NAMES: dict[str, Sequence[Any]] = {
    "numbers": (0, 1, 2, 3, 4, 5),
    "signs": (-1, 1, 2, 3, 4, 5),
    "floats": (0.0, 1.0, 2.0, 3.0, 4.0, 5.0),
    "fractions": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "words": ("no", "yes", "maybe", "never", "", "ünïcode \u202e"),
    "bools": (False, True, False, True, False, True),
    "big": (-(2**62), 2**62, 2**63 - 1, 0, 1, 2),
    "bytes": (b"no", b"yes", b"c", b"d", b"e", b"f"),
    "dates": tuple(np.datetime64(f"2020-01-0{d}") for d in range(1, 7)),
    "mixed": (0, "one", 2.0, "three", None, b"5"),
    "with None": (None, 1, 2, 3, 4, 5),
    "with nan": (float("nan"), 1.0, 2.0, 3.0, 4.0, 5.0),
    "objects": tuple(date(2020, 1, d) for d in range(1, 7)),
    "tuples": ((0, 1), (1, 0), (2, 2), (3, 3), (4, 4), (5, 5)),
    "infinite": (float("-inf"), float("inf"), 0.0, 1.0, 2.0, 3.0),
    "complex": (1j, 2j, 3j, 4j, 5j, 6j),
}
HOLDERS = ("list", "tuple", "series", "category", "nullable", "polars", "column", "one-hot", "scalar", "None",
           "generator", "frame", "object")  # fmt: skip


@dataclass(frozen=True)
class LabelSpec:
    """What y is made of; `extra` rows too many, or too few."""

    classes: int = 2
    names: str = "numbers"
    holder: str = "array"
    seed: int = 0
    extra: int = 0
    shuffled: bool = True


def labels(odd: bool = True) -> st.SearchStrategy[LabelSpec]:
    """Labels of mostly two classes; unless `odd`, one proper label per row."""
    calm = st.builds(
        LabelSpec,
        classes=mostly(2, (3, 4), 4),
        names=st.sampled_from(("numbers", "words", "signs", "floats", "numbers", "big", "bools")),
        holder=mostly("array", ("list", "series", "category", "nullable", "polars", "object"), 2),
        seed=st.integers(0, 10**6),
        shuffled=st.booleans(),
    )
    strange = st.builds(
        LabelSpec,
        classes=st.one_of(st.just(2), st.integers(1, 6)),
        names=st.sampled_from(tuple(NAMES)),
        holder=mostly("array", HOLDERS, 1),
        seed=st.integers(0, 10**6),
        extra=mostly(0, (-1, 1, 5), 3),
        shuffled=st.booleans(),
    )
    return st.one_of(calm, strange) if odd else calm


def build_codes(spec: LabelSpec, rows: int) -> np.ndarray:
    """Classes as numbers 0, 1, ..."""
    n = max(rows + spec.extra, 0)
    codes = np.arange(n) % spec.classes
    return np.random.default_rng(spec.seed).integers(0, spec.classes, size=n) if spec.shuffled else codes


def build_labels(spec: LabelSpec, codes: np.ndarray) -> Any:
    """y as the spec has it."""
    values = [NAMES[spec.names][c] for c in codes]
    y = as_array(values)
    if spec.holder == "array":
        return y
    return holders(y, values, codes)[spec.holder]()


def as_array(values: list[Any]) -> np.ndarray:
    kinds = {type(v) for v in values}
    if len(kinds) == 1 and kinds <= {int, float, str, bool, bytes, complex, np.datetime64}:
        return np.array(values)
    y = np.empty(len(values), dtype=object)
    y[:] = values
    return y


def holders(y: np.ndarray, values: list[Any], codes: np.ndarray) -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    return {
        "list": lambda: values,
        "tuple": lambda: tuple(values),
        "series": lambda: pd.Series(y),
        "category": lambda: pd.Series(codes).astype("category"),
        "nullable": lambda: pd.Series(codes, dtype="Int64"),
        "polars": lambda: pl.Series(codes.tolist()),
        "column": lambda: y[:, None],
        "one-hot": lambda: np.eye(max(int(codes.max(initial=0)) + 1, 2), dtype=int)[codes],
        "scalar": lambda: 1,
        "None": lambda: None,
        "generator": lambda: (v for v in values),
        "frame": lambda: pd.DataFrame({"y": y}),
        "object": lambda: y.astype(object),
    }
