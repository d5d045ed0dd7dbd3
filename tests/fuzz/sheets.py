"""Files that hold a table as people keep them: named columns of any kind, as text, Parquet or a NumPy archive."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzz.tables import mostly

COLUMNS = (
    "number", "whole", "words", "constant", "huge", "tiny", "gaps", "empty", "truth", "date", "leak", "counter",
    "almost number", "infinite", "comma", "nothing but zero", "many words", "overflow",
)  # fmt: skip
CALM = ("number", "number", "whole", "truth")
HEADERS = ("a", "b", "c", "d", "e", "f", "g", "h")
ODD_HEADERS = (
    "", " ", "a", "a b", "1", "2.5", "naïve", "=cmd()", "$x$", "[red]", "<b>", "x" * 300, "a__b", "\u202etxet",
    "--json", 'say "hi"', "a,b", "two\nlines", "{0}", "%s", "\\", "'", "tab\there", "y ", "None", "True",
)  # fmt: skip
LABELS: dict[str, tuple[str, ...]] = {
    "numbers": ("0", "1", "2", "3"),
    "signs": ("-1", "1", "2", "3"),
    "words": ("no", "yes", "maybe", "never"),
    "fractions": ("0.5", "1.5", "2.5", "3.5"),
    "alike": ("1", "1.0", "01", "one"),
    "odd": ("=1+1", "[bold]", "<script>", "a,b"),
    "letters": ("ü", "\u202eb", "c\nd", '"'),
    "long": ("x" * 200, "y" * 200, "z" * 200, "w" * 200),
    "truth": ("False", "True", "false", "true"),
    "dates": ("2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"),
    "gap": ("", "1", "2", "NA"),
    "big": ("9" * 30, "1e400", "-0", "0"),
}
ENDINGS = (".csv", ".tsv", ".parquet", ".npz")


@dataclass(frozen=True)
class Sheet:
    """A table: the kind and the name of each column, the labels, and the kind of file."""

    kinds: tuple[str, ...] = ("number", "number")
    names: tuple[str, ...] = ("a", "b")
    target: str = "y"
    label: str = "words"
    classes: int = 2
    rows: int = 20
    seed: int = 0
    ending: str = ".csv"
    mark: str = ","


def sheets() -> st.SearchStrategy[Sheet]:
    """Calm tables, and ones of which the columns, the names or the labels are odd."""
    calm, columns = st.sampled_from(CALM), mostly("number", COLUMNS, 1)
    plain, odd = st.just("words"), st.sampled_from(tuple(LABELS))
    return st.one_of(
        _sheets(calm, HEADERS, plain),
        _sheets(calm, HEADERS, st.sampled_from(("numbers", "signs", "truth", "fractions"))),
        _sheets(columns, HEADERS, plain),
        _sheets(calm, HEADERS, odd),
        _sheets(calm, ODD_HEADERS, plain),
        _sheets(columns, ODD_HEADERS, odd),
    )


def _sheets(
    kinds: st.SearchStrategy[str], headers: tuple[str, ...], label: st.SearchStrategy[str]
) -> st.SearchStrategy[Sheet]:
    return st.integers(1, 5).flatmap(
        lambda width: st.builds(
            Sheet,
            kinds=st.lists(kinds, min_size=width, max_size=width).map(tuple),
            names=_names(headers, width),
            target=mostly("y", headers, 1) if headers is ODD_HEADERS else st.just("y"),
            label=label,
            classes=mostly(2, (1, 3, 4), 4),
            rows=mostly(24, (2, 4, 7, 12, 40), 1),
            seed=st.integers(0, 10**6),
            ending=st.sampled_from(ENDINGS),
            mark=mostly(",", (";", "|"), 4),
        )
    )


def _names(headers: tuple[str, ...], width: int) -> st.SearchStrategy[tuple[str, ...]]:
    if headers is HEADERS:
        return st.just(headers[:width])
    return st.lists(st.sampled_from(headers + HEADERS), min_size=width, max_size=width).map(tuple)


def codes(sheet: Sheet) -> np.ndarray:
    """Classes as numbers, in an order that no column repeats."""
    return np.random.default_rng(sheet.seed).permutation(np.arange(sheet.rows) % sheet.classes)


def labels(sheet: Sheet) -> list[str]:
    """The column of labels, as text."""
    return [LABELS[sheet.label][code] for code in codes(sheet)]


def column(sheet: Sheet, place: int) -> list[Any]:
    """The values of one column: numbers, words or None."""
    rng = np.random.default_rng((sheet.seed, place))
    side, n = codes(sheet), sheet.rows
    values = rng.normal(size=n) + 0.8 * side
    words = [("red", "green", "blue")[k] for k in rng.integers(0, 3, size=n)]
    made: Any = {
        "whole": lambda: rng.integers(0, 9, size=n),
        "words": lambda: words,
        "constant": lambda: np.full(n, 7.0),
        "huge": lambda: values * 1e200,
        "overflow": lambda: values * 1e307,
        "tiny": lambda: values * 1e-200,
        "gaps": lambda: [None if k % 5 == 0 else v for k, v in enumerate(values.tolist())],
        "empty": lambda: [None] * n,
        "truth": lambda: values > 0,
        "date": lambda: [f"2020-01-{1 + k % 28:02d}" for k in range(n)],
        "leak": lambda: side.astype(float),
        "counter": lambda: np.arange(n),
        "almost number": lambda: ["<0.1" if k == n // 2 else f"{v:.3f}" for k, v in enumerate(values)],
        "infinite": lambda: np.where(np.arange(n) == 1, np.inf, values),
        "comma": lambda: [f"{v:.2f}".replace(".", ",") for v in values],
        "nothing but zero": lambda: np.zeros(n),
        "many words": lambda: [f"patient {k}" for k in range(n)],
    }.get(sheet.kinds[place], lambda: values)()
    return made.tolist() if isinstance(made, np.ndarray) else list(made)


def write(sheet: Sheet, folder: Path) -> Path:
    """The file, in this folder."""
    path = folder / f"table{sheet.ending}"
    if sheet.ending == ".parquet":
        _parquet(sheet, path)
    elif sheet.ending == ".npz":
        _archive(sheet, path)
    else:
        path.write_bytes(_text(sheet, "\t" if sheet.ending == ".tsv" else sheet.mark).encode("utf-8"))
    return path


def _text(sheet: Sheet, mark: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=mark)
    writer.writerow([*sheet.names, sheet.target])
    columns = [column(sheet, place) for place in range(len(sheet.kinds))]
    for row in zip(*columns, labels(sheet), strict=True):
        writer.writerow(["" if cell is None else cell for cell in row])
    return out.getvalue()


def _parquet(sheet: Sheet, path: Path) -> None:
    """A Parquet file; of columns with the same name it holds the last one."""
    import polars as pl

    columns = {name: pl.Series(name, column(sheet, place), strict=False) for place, name in enumerate(sheet.names)}
    target: Any = labels(sheet)
    if sheet.label == "truth" and sheet.classes == 2:
        target = [text == "True" for text in target]
    elif sheet.label in ("numbers", "signs", "fractions") and sheet.seed % 2:
        target = [float(text) for text in target]
    pl.DataFrame({**columns, sheet.target: pl.Series(sheet.target, target)}).write_parquet(path)


def _archive(sheet: Sheet, path: Path) -> None:
    """An archive with X, y and sometimes names of the columns; words become numbers, as they would be there."""
    X = np.array([[_number(cell) for cell in column(sheet, k)] for k in range(len(sheet.kinds))], dtype=float).T
    kept = X.astype(("float64", "float32", "float16", "float64")[sheet.seed % 4]) if np.isfinite(X).all() else X
    y: Any = np.array(labels(sheet))
    if sheet.label in ("numbers", "signs", "fractions"):
        y = y.astype((float, "U4", "S4")[sheet.seed % 3])
    names = {"feature_names": np.array(sheet.names)} if sheet.seed % 2 else {}
    np.savez(path, X=kept, **{sheet.target or "y": y}, **names)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan") if cell is None else float(len(str(cell)))
