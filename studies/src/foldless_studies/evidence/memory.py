"""How much memory tables larger than memory take: the anonymous memory of a process that evaluates them.

    python -m foldless_studies.evidence.memory --folder /tmp --out results

1. A memory map of 6 GB (750,000 x 1,000 float64, real numbers) is written to a temporary folder. A fresh process
   evaluates it (`cbauc` for 1 and for 64 weight vectors, the in-sample posterior, and the leave-one-out posterior of a
   logistic regression fitted block by block) while a thread samples `RssAnon` from /proc/self/status. Pages of the
   file itself are not anonymous and do not count.
2. The same answers, on a part of the rows, from a copy in ordinary memory: the difference must be below 1e-10.
3. A sparse matrix of 100,000 columns at a density of 0.1 %, against what it would take in dense form.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.pages import Page, Table, Text

LIMIT_MB, TOLERANCE = 500, 1e-10
SEED = 20240229
FIT_COLUMNS = 200  # the fit takes about ten passes of N P^2 operations each


def anonymous_mb() -> float:
    """Anonymous memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not report RssAnon")


class Peak:
    """Largest anonymous memory seen while the block runs, sampled every 5 ms."""

    def __enter__(self) -> Peak:
        self.before = self.mb = anonymous_mb()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.mb = max(self.mb, anonymous_mb())

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def make_table(path: Path, rows: int, columns: int) -> None:
    """Two Gaussian classes, written block by block."""
    rng = np.random.default_rng(SEED)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(rows, columns))
    y = labels_of(rows)
    direction = 0.05 * rng.standard_normal(columns)
    for start in range(0, rows, 10_000):
        block = X[start : start + 10_000]
        rng.standard_normal(out=block)
        block += y[start : start + 10_000, None] * direction
    X.flush()


def labels_of(rows: int) -> np.ndarray:
    """Four rows in ten are positive."""
    return (np.random.default_rng(SEED + 1).random(rows) < 0.4).astype(int)


def weights_of(columns: int, k: int) -> np.ndarray:
    """Weights near the direction in which the classes differ."""
    direction = 0.05 * np.random.default_rng(SEED).standard_normal(columns)
    return direction[:, None] + 0.05 * np.random.default_rng(SEED + 2).standard_normal((columns, k))


def blocks_of(X: Any, y: np.ndarray, height: int = 2_000) -> Any:
    """A function that returns the chunks of a table."""
    return lambda: ((X[i : i + height], y[i : i + height]) for i in range(0, len(y), height))


def evaluate(X: Any, y: np.ndarray, fit: bool) -> dict[str, Any]:
    """Every answer with its peak of memory and its time."""
    W = weights_of(X.shape[1], 64)
    chunks = blocks_of(X[:, :FIT_COLUMNS], y)
    tasks: dict[str, Any] = {
        "cbauc, 1 classifier": lambda: fl.cbauc(W[:, 0], X, y),
        "cbauc, 64 classifiers": lambda: fl.cbauc(W, X, y).tolist(),
        "in-sample posterior": lambda: fl.auc_posterior(W[:, 0], X, y, method="in-sample").interval(),
        "scaled-identity prior": lambda: fl.cbauc(W[:, 0], X, y, prior=fl.Prior.scaled_identity()),
    }
    if fit:
        name = f"logistic fit and leave-one-out, {FIT_COLUMNS} columns"
        tasks[name] = lambda: fl.auc_posterior(fl.streaming.fit_logistic(chunks), chunks).interval()
    return {name: _measured(task) for name, task in tasks.items()}


def _measured(task: Any) -> dict[str, Any]:
    start = time.perf_counter()
    with Peak() as peak:
        answer = task()
    return {"answer": answer, "peak_mb": peak.mb, "before_mb": peak.before, "seconds": time.perf_counter() - start}


def evaluate_sparse() -> dict[str, Any]:
    """Rows with 100 of 100,000 columns filled; in dense form they would take 800 kB each."""
    import scipy.sparse as sp

    rng = np.random.default_rng(SEED)
    rows, columns, filled = 100_000, 100_000, 100
    indices = rng.integers(0, columns, (rows, filled), dtype=np.int32).ravel()
    pointers = np.arange(0, rows * filled + 1, filled, dtype=np.int64)
    X = sp.csr_array((rng.standard_normal(rows * filled), indices, pointers), shape=(rows, columns))
    y, w = labels_of(rows), rng.standard_normal(columns)
    before = anonymous_mb()
    tasks = {
        "sparse, cbauc": lambda: fl.cbauc(w, X, y, prior=fl.Prior.paper()),
        "sparse, scaled-identity prior": lambda: fl.cbauc(w, X, y, prior=fl.Prior.scaled_identity()),
    }
    results = {name: _measured(task) for name, task in tasks.items()}
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    return {"table_mb": size, "dense_mb": rows * columns * 8 / 2**20, "before_mb": before, "results": results}


def evaluate_file(path: Path, fit: bool) -> dict[str, Any]:
    """The same for a memory map of a file."""
    X = np.load(path, mmap_mode="r")
    return evaluate(X, labels_of(X.shape[0]), fit)


def in_fresh_process(call: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """The answer of a function in a new interpreter, which holds nothing of this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(call, *args).result()


def differences(path: Path, rows: int) -> float:
    """Largest difference between the mapped rows and a copy of them in memory."""
    X, y = np.load(path, mmap_mode="r")[:rows], labels_of(np.load(path, mmap_mode="r").shape[0])[:rows]
    mapped, copied = evaluate(X, y, False), evaluate(np.array(X), y, False)
    return max(float(np.max(np.abs(np.subtract(mapped[k]["answer"], copied[k]["answer"])))) for k in mapped)


def page(big: dict[str, Any], gap: float, sparse: dict[str, Any], args: argparse.Namespace) -> Page:
    """The table, the limits, and how it was made."""
    about = (
        f"A memory map of {args.rows:,} x {args.columns:,} float64 ({args.rows * args.columns * 8 / 1e9:.1f} GB), "
        f"evaluated in a fresh process. Peak of anonymous memory (`RssAnon`), sampled every 5 ms; the interpreter with "
        f"NumPy, SciPy and scikit-learn is part of it. Made by `python -m foldless_studies.evidence.memory`."
    )
    cells = {name: (r["peak_mb"], r["before_mb"], r["seconds"]) for name, r in {**big, **sparse["results"]}.items()}
    rows = [[name, f"{peak:.0f}", f"{before:.0f}", f"{s:.1f}"] for name, (peak, before, s) in cells.items()]
    limits = (
        f"Limit: {LIMIT_MB} MB for every row about the memory map. Largest difference to the same answers from "
        f"{args.part:,} of the rows in ordinary memory: {gap:.1e} (limit {TOLERANCE:.0e})."
    )
    about_sparse = (
        f"Sparse: 100,000 x 100,000 at a density of 0.1 %, {sparse['table_mb']:.0f} MB in CSR form and "
        f"{sparse['dense_mb'] / 1024:.0f} GB in dense form. 'Before' includes the table."
    )
    table = Table(["", "peak, MB", "before, MB", "seconds"], rows)
    return Page("Memory of tables larger than memory", [Text(about), table, Text(limits), Text(about_sparse)])


def check(big: dict[str, Any], gap: float, sparse: dict[str, Any]) -> None:
    """Stop with an error where a limit is exceeded."""
    over = [k for k, r in big.items() if r["peak_mb"] >= LIMIT_MB]
    over += [k for k, r in sparse["results"].items() if r["peak_mb"] - r["before_mb"] >= LIMIT_MB]
    if over or gap > TOLERANCE:
        raise SystemExit(f"MISSED: {over or ''} difference {gap:.1e}")


def main() -> None:
    """Make the table, evaluate it, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the temporary file goes; it needs 6 GB")
    parser.add_argument("--out", type=Path, help="folder for memory.md")
    parser.add_argument("--rows", type=int, default=750_000)
    parser.add_argument("--columns", type=int, default=1_000)
    parser.add_argument("--part", type=int, default=50_000, help="rows that are also evaluated in memory")
    parser.add_argument("--no-fit", action="store_true", help="skip the fit, which reads the table a dozen times")
    args = parser.parse_args()
    sparse = in_fresh_process(evaluate_sparse)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = Path(folder) / "X.npy"
        make_table(path, args.rows, args.columns)
        big = in_fresh_process(evaluate_file, path, not args.no_fit)
        gap = differences(path, args.part)
    text = page(big, gap, sparse, args).markdown()
    print(text)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "memory.md").write_text(text)
    check(big, gap, sparse)


if __name__ == "__main__":
    main()
