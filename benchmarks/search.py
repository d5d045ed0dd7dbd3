"""FoldlessSearch against GridSearchCV: how much faster, and is its choice as good on rows that neither has seen?

    FOLDLESS_DATA=folder OPENBLAS_NUM_THREADS=1 python benchmarks/search.py > results/search.md

Logistic regression, 20 values of C, up to 150 training rows standardised by themselves. Times are processor times
on one thread within one run, the shortest of several: other work on the machine disturbs them less than the clock.
Test AUCs are means over 20 splits. With P > N the rival's 20 splits are computed on rows rotated to N coordinates:
an L2 fit, and so every fold, its scores and its choice, is the same there, and the benchmark takes minutes instead of
an hour. Its times are measured on the rows as they are.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

GRID = {"C": np.logspace(-4, 4, 20)}
ROWS, SPLITS = 150, 20
WIDE = ("ovarian", "prostate_spls6033", "breast_gravier", "arcene", "eeg_bci2_fingers", "ucr_ham")
TALL = ("sonar", "heart_statlog", "ionosphere", "wdbc", "pima")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X in double precision, and y."""
    path = Path(os.environ.get("FOLDLESS_DATA", "")) / f"{name}.npz"
    if not path.exists():
        sys.exit(f"{name}.npz not found: set FOLDLESS_DATA to the folder that holds the data sets.")
    with np.load(path, allow_pickle=False) as data:
        return data["X"].astype(float), data["y"]


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Shortest processor time of several calls, after one that warms caches and lazy imports."""
    times = []
    for _ in range(repeats + 1):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times[1:])


def splits(X: np.ndarray, y: np.ndarray) -> Any:
    """Training rows (at most ROWS, and 70 %) and test rows, scaled by the training rows."""
    size = min(ROWS, 7 * len(y) // 10)
    for train, test in StratifiedShuffleSplit(SPLITS, train_size=size, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def rival() -> GridSearchCV:
    return GridSearchCV(LogisticRegression(), GRID, scoring="roc_auc", cv=5)


def ours(rule: str = "best") -> fl.FoldlessSearch:
    return fl.FoldlessSearch(LogisticRegression(), GRID, rule=rule)


def rotated(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and B in coordinates of the row space of A; lengths and products with rows of A are kept."""
    Q = np.linalg.svd(A, full_matrices=False)[2].T
    return A @ Q, B @ Q


def test_aucs(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Test AUCs and chosen C, both (SPLITS, 3): the rival's choice, the best, the simplest."""
    aucs, chosen = [], []
    for A, a, B, b in splits(X, y):
        RA, RB = rotated(A, B) if A.shape[1] > A.shape[0] else (A, B)
        found = [(rival().fit(RA, a), RB), (ours().fit(A, a), B), (ours("simplest").fit(A, a), B)]
        aucs.append([roc_auc_score(b, search.decision_function(rows)) for search, rows in found])
        chosen.append([search.best_params_["C"] for search, _ in found])
    return np.array(aucs), np.array(chosen)


def row(name: str) -> tuple[str, float]:
    """One line of the table, and the mean difference of the test AUCs."""
    X, y = load(name)
    A, a, _, _ = next(iter(splits(X, y)))
    fast, slow = seconds(lambda: ours().fit(A, a), 10), seconds(lambda: rival().fit(A, a), 2)
    aucs, chosen = test_aucs(X, y)
    cells = [
        name,
        f"{len(A)} x {A.shape[1]}",
        f"{slow:.2f} s",
        f"{1e3 * fast:.0f} ms",
        f"{slow / fast:.0f}",
        f"{aucs[:, 0].mean():.4f}",
        *(difference(aucs[:, k] - aucs[:, 0]) for k in (1, 2)),
        ", ".join(f"{c:.2g}" for c in np.median(chosen, axis=0)),
    ]
    return "| " + " | ".join(cells) + " |", float(np.mean(aucs[:, 1] - aucs[:, 0]))


def difference(gap: np.ndarray) -> str:
    """Mean and its standard error over splits, which share rows: a lower bound."""
    return f"{gap.mean():+.4f} ± {gap.std(ddof=1) / np.sqrt(gap.size):.4f}"


def ovarian_otherwise() -> list[str]:
    """The ovarian search with the scaler inside, where cross-validation fits it in every fold, and without any."""
    X, y = load("ovarian")
    train, _ = next(StratifiedShuffleSplit(1, train_size=ROWS, random_state=0).split(X, y))
    lines = []
    scaled = Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression())])
    for what, model, name in (
        ("scaled inside a Pipeline", scaled, "clf__C"),
        ("not scaled", LogisticRegression(), "C"),
    ):
        own = fl.FoldlessSearch(model, {name: GRID["C"]})
        other = GridSearchCV(model, {name: GRID["C"]}, scoring="roc_auc", cv=5)
        fast, slow = (
            seconds(partial(own.fit, X[train], y[train]), 10),
            seconds(partial(other.fit, X[train], y[train]), 2),
        )
        lines.append(f"Ovarian, {what}: {slow:.1f} s against {1e3 * fast:.0f} ms, {slow / fast:.0f} times.")
    return lines


def main() -> None:
    warnings.simplefilter("ignore")  # the rival's fits stop at max_iter for large C
    print("# Search without folds against 5-fold grid search\n")
    print("Command: `FOLDLESS_DATA=folder OPENBLAS_NUM_THREADS=1 python benchmarks/search.py > results/search.md`.")
    print("Logistic regression, C from 1e-4 to 1e4 in 20 steps, training rows standardised. GridSearchCV with")
    print("`scoring='roc_auc', cv=5` (100 fits and a refit) and FoldlessSearch on the same rows in the same run;")
    print(
        f"processor time, one thread. AUC: of the grid search's choice on test rows, mean over {SPLITS} random splits."
    )
    print(
        "best, simplest: AUC of FoldlessSearch's choice by either rule, less that of the grid search, with its error."
    )
    print("C: medians of the choices. With P > N the rival's test AUCs were computed on rotated rows, which changes")
    print("nothing but their time; its time was measured on the rows as they are.\n")
    print("| data | training | GridSearchCV | FoldlessSearch | ratio | AUC | best | simplest | C |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    gaps = []
    for name in (*WIDE, *TALL):
        line, gap = row(name)
        gaps.append(gap)
        print(line, flush=True)
    print(f"\nMean difference (best) over the {len(gaps)} sets: {np.mean(gaps):+.4f}.")
    print("\n".join(ovarian_otherwise()))


if __name__ == "__main__":
    main()
