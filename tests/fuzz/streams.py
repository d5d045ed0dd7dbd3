"""Tables that come piece by piece: chunks, blocks and Parquet files, asked by everything that takes them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import foldless as fl
from fuzz import answers
from fuzz.cases import Built, Case, cases, keywords
from fuzz.models import models
from fuzz.tables import mostly

SERVED = ("function", "list", "loader", "blocks", "parquet", "parquet folder", "opened", "single rows", "with gaps")
MISSERVED = ("iterator", "shuffled anew", "shrinking", "growing wider", "triples", "no pairs", "other types", "lists",
             "renamed", "no rows", "missing file", "wrong column")  # fmt: skip
QUESTIONS = ("auc", "auc", "auc in-sample", "roc", "error", "honest", "cbauc", "many", "stats", "fit", "fit", "fit raw")
NEEDED = ("method", "prior", "groups", "sample_weight", "pos_label")


@dataclass(frozen=True, eq=False)
class Loader:
    """Something that can be iterated over, again and again."""

    pieces: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.pieces()


def streamed_cases() -> st.SearchStrategy[Case]:
    """Cases whose table is served in pieces of a few rows, mostly in a way that is meant to work."""
    return cases(
        model=models(odd=False),
        served=mostly(SERVED[0], SERVED[1:], 1) | st.sampled_from(SERVED) | st.sampled_from(SERVED + MISSERVED),
        height=mostly(5, (1, 2, 3, 8, 100), 1),
        question=st.sampled_from(QUESTIONS),
    )


def pieces(case: Case, built: Built, height: int | None = None) -> list[tuple[Any, Any]]:
    """The table, cut; what cannot be cut is one piece."""
    X, y = built.X, built.y
    X = X.tocsr() if hasattr(X, "tocsr") else X
    height = case.more["height"] if height is None else height
    try:
        return [(_rows(X, s, s + height), _rows(y, s, s + height)) for s in range(0, case.table.rows, height)]
    except (TypeError, IndexError, KeyError):
        return [(X, y)]


def _rows(values: Any, start: int, stop: int) -> Any:
    return values.iloc[start:stop] if hasattr(values, "iloc") else values[start:stop]


def serve(case: Case, built: Built, folder: Path) -> tuple[Any, Any]:
    """X and y as they are passed."""
    cut, name = pieces(case, built), case.more["served"]
    if "parquet" in name or name in ("opened", "wrong column", "missing file"):
        return _files(case, built, name, folder)
    if name == "blocks":
        return fl.streaming.in_blocks(built.X, built.y, elements=case.more["height"]), None
    calls: list[int] = []

    def again() -> int:
        calls.append(0)
        return len(calls)

    made: Any = {
        "function": lambda: lambda: iter(cut),
        "list": lambda: cut,
        "loader": lambda: Loader(lambda: iter(cut)),
        "single rows": lambda: lambda: iter(pieces(case, built, 1)),
        "with gaps": lambda: lambda: (part for one in cut for part in (one, (np.empty((0, 3)), []))),
        "iterator": lambda: iter(cut),
        "shuffled anew": lambda: lambda: iter(cut[:: (-1) ** again()]),
        "shrinking": lambda: lambda: iter(cut[: max(len(cut) - again() + 1, 0)]),
        "growing wider": lambda: lambda: ((np.ones((2, k + 1)), [0, 1]) for k in range(3)),
        "triples": lambda: lambda: ((X, y, 1) for X, y in cut),
        "no pairs": lambda: lambda: iter([1, None, "a"]),
        "other types": lambda: lambda: ((X, _texts(y)) if k % 2 else (X, y) for k, (X, y) in enumerate(cut)),
        "lists": lambda: [list(one) for one in cut],
        "renamed": lambda: lambda: ((_named(X, k), y) for k, (X, y) in enumerate(cut)),
        "no rows": lambda: lambda: iter([]),
    }[name]()
    return made, None


def _texts(y: Any) -> list[str]:
    return [str(v) for v in np.ravel(np.asarray(y, dtype=object))]


def _named(X: Any, k: int) -> Any:
    import pandas as pd

    columns = [f"c{(j + k) % X.shape[1]}" for j in range(X.shape[1])] if len(getattr(X, "shape", ())) == 2 else None
    return X if columns is None or hasattr(X, "tocsr") else pd.DataFrame(np.asarray(X), columns=columns)


def _files(case: Case, built: Built, name: str, folder: Path) -> tuple[Any, Any]:
    """The table as Parquet files of one or more row groups; what such a file cannot hold is served as one list."""
    import pandas as pd

    X = built.X.toarray() if hasattr(built.X, "toarray") else built.X
    try:
        frame = X.copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
        frame.columns = [str(column) for column in frame.columns]
        frame["the class"] = np.asarray(built.y) if built.y is not None else None
        half = len(frame) // 2 if "folder" in name else 0
        for k, part in enumerate((frame[:half], frame[half:])):
            part.to_parquet(folder / f"{k}.parquet", row_group_size=case.more["height"], engine="pyarrow")
    except Exception:  # whatever pandas and pyarrow say of such a table
        return [(built.X, built.y)], None
    target = "no such column" if name == "wrong column" else "the class"
    where = str(folder) if half else str(folder / ("9.parquet" if name == "missing file" else "1.parquet"))
    return (fl.streaming.open_files(where, target), None) if name == "opened" else (where, target)


def asked(case: Case, built: Built) -> Any:
    """The answer to the question of the case."""
    with tempfile.TemporaryDirectory() as folder:
        X, y = serve(case, built, Path(folder))
        return ASK[case.more["question"]](case, built, X, y)


def _fitted(case: Case, built: Built, X: Any, y: Any, standardize: bool) -> Any:
    model = fl.streaming.fit_logistic(X, y, C=10.0**case.model.power, standardize=standardize)
    answers.must(np.all(np.isfinite(model[-1].coef_)), f"weights are not finite: {model[-1].coef_}")
    return fl.auc_posterior(model, X, y, **keywords(case, built, *NEEDED))


def _weights(case: Case, built: Built, count: int | None) -> Any:
    width = max(case.table.columns, 1)
    return np.random.default_rng(case.option.seed).normal(size=width if count is None else (width, count))


ASK: dict[str, Callable[[Case, Built, Any, Any], Any]] = {
    "auc": lambda c, b, X, y: fl.auc_posterior(b.model, X, y, **keywords(c, b, *NEEDED)),
    "auc in-sample": lambda c, b, X, y: fl.auc_posterior(b.model, X, y, method="in-sample"),
    "roc": lambda c, b, X, y: fl.roc_posterior(b.model, X, y, **keywords(c, b, *NEEDED)),
    "error": lambda c, b, X, y: fl.error_posterior(b.model, X, y, **keywords(c, b, *NEEDED)),
    "honest": lambda c, b, X, y: fl.honest_scores(b.model, X, y, **keywords(c, b, *NEEDED[2:])),
    "cbauc": lambda c, b, X, y: fl.cbauc(_weights(c, b, None), X, y, **keywords(c, b, "prior", "pos_label")),
    "many": lambda c, b, X, y: fl.auc_posterior_many(_weights(c, b, 3), X, y, **keywords(c, b, "prior")),
    "stats": lambda c, b, X, y: fl.ScoreStats.from_data(X, y, _weights(c, b, None)),
    "fit": lambda c, b, X, y: _fitted(c, b, X, y, True),
    "fit raw": lambda c, b, X, y: _fitted(c, b, X, y, False),
}
CHECK: dict[str, Callable[[Any, Case], None]] = {
    "roc": lambda found, case: answers.roc(found, case.option.level),
    "error": lambda found, case: answers.error(found, case.option.level),
    "honest": lambda found, case: answers.honest(found, case.table.rows),
    "cbauc": lambda found, case: answers.number(found),
    "many": lambda found, case: answers.several(found, case.option.level),
    "stats": lambda found, case: answers.stats(found),
}


def check(found: Any, case: Case, built: Built) -> None:
    """What a proper answer is depends on the question."""
    CHECK.get(case.more["question"], lambda post, c: answers.auc(post, c.option.level))(found, case)
