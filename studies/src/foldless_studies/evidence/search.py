"""FoldlessSearch against GridSearchCV: how much faster, and is its choice as good on rows that neither has seen?

    python -m foldless_studies.evidence.search > results/search.md

The rival's splits are computed on rows rotated to N coordinates where P > N: an L2 fit, and so every fold, its scores
and its choice, is the same there, and the benchmark takes minutes instead of an hour.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless_studies.data import named
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.speed.measurement import Call, Effort, in_turns

GRID = {"C": np.logspace(-4, 4, 20)}
ROWS, SPLITS = 150, 20
WIDE = ("ovarian", "prostate_spls6033", "breast_gravier", "arcene", "eeg_bci2_fingers", "ucr_ham")
TALL = ("sonar", "heart_statlog", "ionosphere", "wdbc", "pima")


def race(ours: Call, rival: Call) -> tuple[float, float]:
    """Shortest processor times of both, timed in turns."""
    times = in_turns({"ours": ours, "rival": rival}, Effort(3, 3))
    return times["ours"].seconds, times["rival"].seconds


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


def test_aucs(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Test AUCs and chosen C, both (SPLITS, 3): the rival's choice, the best, the simplest."""
    aucs, chosen = [], []
    for A, a, B, b in splits(X, y):
        Q = np.linalg.svd(A, full_matrices=False)[2].T if A.shape[1] > A.shape[0] else np.eye(A.shape[1])
        RA, RB = A @ Q, B @ Q
        found = [(rival().fit(RA, a), RB), (ours().fit(A, a), B), (ours("simplest").fit(A, a), B)]
        aucs.append([roc_auc_score(b, search.decision_function(rows)) for search, rows in found])
        chosen.append([search.best_params_["C"] for search, _ in found])
    return np.array(aucs), np.array(chosen)


def compared(name: str) -> float:
    """Print one line of the table; the mean difference of the test AUCs."""
    X, y = named(name)
    A, a, _, _ = next(iter(splits(X, y)))
    fast, slow = race(lambda: ours().fit(A, a), lambda: rival().fit(A, a))
    aucs, chosen = test_aucs(X, y)
    times = f"{slow:.2f} s", f"{1e3 * fast:.0f} ms", f"{slow / fast:.0f}"
    gains = (difference(aucs[:, k] - aucs[:, 0]) for k in (1, 2))
    medians = ", ".join(f"{c:.2g}" for c in np.median(chosen, axis=0))
    print_row(name, f"{len(A)} x {A.shape[1]}", *times, f"{aucs[:, 0].mean():.4f}", *gains, medians)
    return float(np.mean(aucs[:, 1] - aucs[:, 0]))


def difference(gap: np.ndarray) -> str:
    """Mean and its standard error over splits, which share rows: a lower bound."""
    return f"{gap.mean():+.4f} ± {gap.std(ddof=1) / np.sqrt(gap.size):.4f}"


def ovarian_otherwise(what: str, model: Any, name: str) -> str:
    """The ovarian search with the scaler inside, where cross-validation fits it in every fold, or without any."""
    X, y = named("ovarian")
    train, _ = next(StratifiedShuffleSplit(1, train_size=ROWS, random_state=0).split(X, y))
    own = fl.FoldlessSearch(model, {name: GRID["C"]})
    other = GridSearchCV(model, {name: GRID["C"]}, scoring="roc_auc", cv=5)
    fast, slow = race(partial(own.fit, X[train], y[train]), partial(other.fit, X[train], y[train]))
    return f"Ovarian, {what}: {slow:.1f} s against {1e3 * fast:.0f} ms, {slow / fast:.0f} times."


TEXT = f"""\
Logistic regression, C from 1e-4 to 1e4 in 20 steps, training rows standardised. GridSearchCV with
`scoring='roc_auc', cv=5` (100 fits and a refit) and FoldlessSearch on the same rows in the same run; processor time,
one thread. AUC: of the grid search's choice on test rows, mean over {SPLITS} random splits. best, simplest: AUC of
FoldlessSearch's choice by either rule, less that of the grid search, with its error. C: medians of the choices. With
P > N the rival's test AUCs were computed on rotated rows, which changes nothing but their time; its time was measured
on the rows as they are."""


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")  # the rival's fits stop at max_iter for large C
    begin("search", "Search without folds against 5-fold grid search", TEXT)
    begin_table("data | training | GridSearchCV | FoldlessSearch | ratio | AUC | best | simplest | C")
    gaps = [compared(name) for name in (*WIDE, *TALL)]
    print(f"\nMean difference (best) over the {len(gaps)} sets: {np.mean(gaps):+.4f}.")
    scaled = Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression())])
    print(ovarian_otherwise("scaled inside a Pipeline", scaled, "clf__C"))
    print(ovarian_otherwise("not scaled", LogisticRegression(), "C"))


if __name__ == "__main__":
    main()
