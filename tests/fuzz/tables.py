"""Any X: contents, types and containers, from well-behaved to absurd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

CONTENTS = (
    "signal", "normal", "whole numbers", "constant", "constant column", "copied rows", "copied columns", "binary",
    "offset", "mixed scales", "heavy tails", "nasty", "separated", "label as column", "mostly zero", "low rank",
)  # fmt: skip
TYPES = (
    "float64", "float32", "float16", "int64", "int8", "uint8", "uint64", "bool", "object", "str", "bytes",
    "complex128", "longdouble", "datetime64[D]", "timedelta64[s]", ">f8",
)  # fmt: skip
NUMERIC = ("float32", "float16", "int64", "int8", "uint8", "bool", "object", ">f8", "longdouble")
SPARSE = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok", "csr_array", "coo_array")
FRAMES = ("pandas", "pandas nullable", "pandas category", "pandas text", "pandas same names", "pandas numbers as names",
          "polars", "polars nulls")  # fmt: skip
ODD = ("list", "matrix", "masked", "0-d", "1-d", "3-d", "None", "text", "ragged", "dict", "series")
LAYOUTS = ("array", "fortran", "strided", "backwards", "read-only")
POISONS = ("nan", "inf", "-inf", "1e308", "5e-324", "nan row", "nan column", "None", "word")
NASTY = np.array([0.0, -0.0, 1.0, -1.0, 1e-308, 5e-324, 1e308, -1e308, 1e150, 1e-150, 1e16, 2.0**53 + 1, 0.1, 1 / 3])


@dataclass(frozen=True)
class TableSpec:
    """What X is made of."""

    rows: int = 12
    columns: int = 3
    seed: int = 0
    content: str = "signal"
    power: int = 0
    dtype: str = "float64"
    holder: str = "array"
    poison: str | None = None


def mostly(usual: Any, rare: Any, share: int = 8) -> st.SearchStrategy[Any]:
    """The usual value `share` times as often as one of the rare ones."""
    return st.sampled_from((usual,) * (share * len(rare)) + tuple(rare))


def tables(odd: bool = True) -> st.SearchStrategy[TableSpec]:
    """Tables of up to 30 rows and 40 columns; unless `odd`, those that scikit-learn would fit."""
    calm = st.builds(
        TableSpec,
        rows=st.integers(6, 30),
        columns=st.one_of(st.integers(1, 6), st.integers(1, 3), st.integers(7, 40)),
        seed=st.integers(0, 10**6),
        content=st.sampled_from(CONTENTS),
        power=mostly(0, (-150, -30, -8, 8, 30, 150), 8),
        dtype=mostly("float64", NUMERIC, 3),
        holder=mostly("array", LAYOUTS + SPARSE + ("pandas", "pandas nullable", "polars", "list"), 1),
    )
    return st.one_of(calm, odd_tables()) if odd else calm


def odd_tables() -> st.SearchStrategy[TableSpec]:
    """Tables of any type, shape and container."""
    return st.builds(
        TableSpec,
        rows=st.one_of(st.integers(4, 30), st.integers(0, 6)),
        columns=st.one_of(st.integers(1, 6), st.integers(0, 40)),
        seed=st.integers(0, 10**6),
        content=st.sampled_from(CONTENTS),
        power=mostly(0, (-300, -160, -150, 150, 160, 300), 2),
        dtype=mostly("float64", TYPES, 2),
        holder=mostly("array", LAYOUTS + SPARSE + FRAMES + ODD, 1),
        poison=mostly(None, POISONS, 3),
    )


def numbers(spec: TableSpec, codes: np.ndarray) -> np.ndarray:
    """The content as float64; `codes` are the classes, for contents that know them."""
    rng = np.random.default_rng(spec.seed)
    n, p = spec.rows, spec.columns
    labels = np.resize(codes, n) if codes.size else np.zeros(n)
    X = rng.normal(size=(n, p))
    side = labels[:, None]
    made = {
        "signal": lambda: X + 0.8 * side,
        "whole numbers": lambda: rng.integers(-2, 3, size=(n, p)).astype(float),
        "constant": lambda: np.full((n, p), 7.0),
        "constant column": lambda: np.where(np.arange(p) == 0, 3.0, X),
        "copied rows": lambda: X[rng.integers(0, max(n // 2, 1), size=n)] if n else X,
        "copied columns": lambda: X[:, np.zeros(p, int)] if p else X,
        "binary": lambda: (X > 0).astype(float),
        "offset": lambda: X + 1e12,
        "mixed scales": lambda: X * 10.0 ** rng.integers(-12, 13, size=p),
        "heavy tails": lambda: rng.standard_t(0.5, size=(n, p)),
        "nasty": lambda: rng.choice(NASTY, size=(n, p)),
        "separated": lambda: X + 50 * side,
        "label as column": lambda: np.where(np.arange(p) == 0, side, X),
        "mostly zero": lambda: X * (rng.random((n, p)) < 0.2),
        "low rank": lambda: np.outer(rng.normal(size=n), rng.normal(size=p)),
    }.get(spec.content, lambda: X)()
    with np.errstate(over="ignore"):
        return np.asarray(made * 10.0**spec.power, dtype=float)


def build_table(spec: TableSpec, codes: np.ndarray) -> Any:
    """X as the spec has it."""
    X = poisoned(numbers(spec, codes), spec)
    return held(typed(X, spec.dtype), spec)


def poisoned(X: np.ndarray, spec: TableSpec) -> np.ndarray:
    if spec.poison is None or X.size == 0:
        return X
    i, j = spec.seed % X.shape[0], spec.seed % X.shape[1]
    if spec.poison in ("None", "word"):
        X = X.astype(object)
        X[i, j] = None if spec.poison == "None" else "much"
        return X
    rows, columns = (i, slice(None)) if "row" in spec.poison else (slice(None), j) if "col" in spec.poison else (i, j)
    X[rows, columns] = float(spec.poison.split()[0])
    return X


def typed(X: np.ndarray, dtype: str) -> np.ndarray:
    """X in another type; what does not convert stays as it is."""
    if dtype in ("str", "bytes"):
        return X.astype("U6" if dtype == "str" else "S6")
    try:
        with np.errstate(all="ignore"):
            return X.astype("int64").astype(dtype) if dtype[:4] in ("date", "time") else X.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return X


def width_of(X: Any, otherwise: int = 2) -> int:
    """Columns of X, if it has any."""
    shape = getattr(X, "shape", (0, len(X[0])) if isinstance(X, list) and X and isinstance(X[0], list) else ())
    return int(shape[1]) if len(shape) == 2 and shape[1] else otherwise


def held(X: np.ndarray, spec: TableSpec) -> Any:
    """X in its container; a container that cannot hold it is left out."""
    name = spec.holder
    try:
        if name in SPARSE:
            return getattr(sp, name if name.endswith("array") else f"{name}_matrix")(X)
        if name in FRAMES:
            return framed(X, name)
    except (TypeError, ValueError, OverflowError):
        return X
    return laid_out(X, name) if name in LAYOUTS else odd(X, name)


def laid_out(X: np.ndarray, name: str) -> np.ndarray:
    if name == "fortran":
        return np.asfortranarray(X)
    if name == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    if name == "backwards":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    X = X.copy()
    X.setflags(write=name != "read-only")
    return X


def odd(X: np.ndarray, name: str) -> Any:
    import pandas as pd

    made = {
        "list": lambda: X.tolist(),
        "matrix": lambda: np.asmatrix(X),
        "masked": lambda: np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == 0),
        "0-d": lambda: np.array(1.0),
        "1-d": lambda: X.ravel()[: len(X)],
        "3-d": lambda: X[None],
        "None": lambda: None,
        "text": lambda: "table.csv",
        "ragged": lambda: [[1.0], [1.0, 2.0]] * (len(X) // 2),
        "dict": lambda: {"a": [1, 2]},
        "series": lambda: pd.Series(X[:, 0] if X.shape[1] else []),
    }
    return made[name]()


def framed(X: np.ndarray, name: str) -> Any:
    import pandas as pd

    names: list[Any] = [f"c{j}" for j in range(X.shape[1])]
    if name.startswith("polars"):
        import polars as pl

        columns = {c: X[:, j].tolist() for j, c in enumerate(names)}
        frame = pl.DataFrame(columns, strict=False)
        empty = name == "polars" or not len(X) or not names
        return frame if empty else frame.with_columns(pl.col("c0").shift(1))
    if name == "pandas same names":
        names = ["c"] * len(names)
    if name == "pandas numbers as names":
        names = list(range(len(names)))
    frame = pd.DataFrame(X, columns=names)
    if not names or name in ("pandas", "pandas same names", "pandas numbers as names"):
        return frame
    changed = {
        "pandas nullable": lambda c: c.astype("Float64"),
        "pandas category": lambda c: c.astype(np.float32 if c.dtype == np.float16 else c.dtype).astype("category"),
        "pandas text": lambda c: pd.Series(["low", "high"] * len(c))[: len(c)],
    }[name]
    return frame.assign(c0=changed(frame["c0"]))
