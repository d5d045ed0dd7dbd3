"""Two classifiers on the same rows: do stated probabilities come true, and do intervals of the difference cover?

    FOLDLESS_DATA=folder OPENBLAS_NUM_THREADS=1 python benchmarks/compare.py > results/compare.md

Simulated pairs have a known AUC. Each problem is drawn anew (size, balance, strength, direction), so that now one and
now the other classifier is the better one. Development sets: training rows drawn at random, the rest is the truth.
A quarter of an hour of one core.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

SAMPLES, SEED, LEVEL = 2000, 20, 0.9
SETS = ("spambase", "madelon", "text_pcmac", "pima", "wdbc")  # the five largest with independent rows
ROWS, SPLITS = 80, 40


@dataclass(frozen=True)
class Problem:
    """One sample of two normal classes, two unfitted classifiers, and the difference of the class means."""

    X: np.ndarray
    y: np.ndarray
    a: Any
    b: Any
    shift: np.ndarray
    root: np.ndarray

    def auc(self, model: Any) -> float:
        """The AUC on new data, exactly."""
        P = self.shift.size
        w = np.asarray(model.decision_function(np.eye(P)) - model.decision_function(np.zeros((1, P))))
        return float(ndtr(w @ self.shift / np.linalg.norm(w @ self.root) / np.sqrt(2)))


def logistic(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, tol=1e-7, max_iter=10_000)


def on_columns(first: int, last: int, model: Any) -> Any:
    keep = make_column_transformer(("passthrough", list(range(first, last))))
    return make_pipeline(keep, model)


def direction(rng: np.random.Generator, size: int) -> np.ndarray:
    v = rng.standard_normal(size)
    return v / np.linalg.norm(v)


def sample(rng: np.random.Generator, shift: np.ndarray, root: np.ndarray, a: Any, b: Any) -> Problem:
    n = int(rng.choice([40, 60, 100, 160]))
    n1 = round(n * rng.uniform(0.35, 0.65))
    y = np.repeat([0, 1], [n - n1, n1])
    X = rng.standard_normal((n, shift.size)) @ root.T + np.outer(y, shift)
    return Problem(X, y, a, b, shift, root)


def independent(rng: np.random.Generator) -> Problem:
    """Five columns each, unrelated."""
    strengths = rng.uniform(0, 1.8, 2)
    shift = np.concatenate([s * direction(rng, 5) for s in strengths])
    return sample(rng, shift, np.eye(10), on_columns(0, 5, logistic(1.0)), on_columns(5, 10, logistic(1.0)))


def nested(rng: np.random.Generator) -> Problem:
    """Four columns, and the same with twelve more."""
    shift = np.concatenate([rng.uniform(0.3, 1.6) * direction(rng, 4), rng.uniform(0, 1.6) * direction(rng, 12)])
    return sample(rng, shift, np.eye(16), on_columns(0, 4, logistic(1.0)), on_columns(0, 16, logistic(1.0)))


def two_penalties(rng: np.random.Generator) -> Problem:
    """C = 0.01 and C = 1, correlated columns."""
    P = int(rng.choice([10, 30]))
    correlation = rng.uniform(0, 0.8)
    root = np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))))
    shift = root @ direction(rng, P) if rng.random() < 0.5 else root @ root.T @ direction(rng, P)
    shift *= rng.uniform(0.3, 2.2) / np.linalg.norm(np.linalg.solve(root, shift))
    return sample(rng, shift, root, logistic(0.01), logistic(1.0))


def families(rng: np.random.Generator) -> Problem:
    """Ridge regression on fewer columns than LDA."""
    shift = np.concatenate([rng.uniform(0.3, 1.6) * direction(rng, 10), rng.uniform(0, 1.2) * direction(rng, 10)])
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2)
    return sample(rng, shift, np.eye(20), on_columns(0, 10, RidgeClassifier(alpha=5.0)), lda)


CELLS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "independent features": independent,
    "nested feature sets": nested,
    "two C of one model": two_penalties,
    "ridge against LDA": families,
}


def measure(draw: Callable[[np.random.Generator], Problem], samples: int, seed: int) -> np.ndarray:
    """Per sample: truth, stated P(a better), interval, mean, errors of both estimates, stated correlation."""
    rows = []
    for k in range(samples):
        problem = draw(np.random.default_rng([seed, k]))
        a, b = (m.fit(problem.X, problem.y) for m in (problem.a, problem.b))
        true_a, true_b = problem.auc(a), problem.auc(b)
        found = fl.compare(a, b, problem.X, problem.y)
        rows.append(
            (
                true_a - true_b,
                found.prob_a_better,
                *found.difference.interval(LEVEL),
                found.difference.mean,
                found.a.mean - true_a,
                found.b.mean - true_b,
                found.correlation,
                found.a.sd,
                found.b.sd,
            )
        )
    return np.array(rows)


def calibration(rows: np.ndarray, low: float, high: float) -> tuple[float, int]:
    """How often the model named with a probability in [low, high] is the better one."""
    truth, p = rows[:, 0], rows[:, 1]
    stated, right = np.maximum(p, 1 - p), (p > 0.5) == (truth > 0)
    chosen = (stated >= low) & (stated <= high)
    return float(right[chosen].mean()) if chosen.any() else float("nan"), int(chosen.sum())


def simulated_row(name: str, rows: np.ndarray) -> str:
    truth, low, high, mean = rows[:, 0], rows[:, 2], rows[:, 3], rows[:, 4]
    shares = [calibration(rows, lo, hi) for lo, hi in ((0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.0))]
    apart = np.hypot(rows[:, 8], rows[:, 9]) * 2 * 1.645
    cells = [
        name,
        f"{np.mean((low <= truth) & (truth <= high)):.3f}",
        *(f"{share:.2f} ({n})" for share, n in shares),
        f"{np.corrcoef(rows[:, 5], rows[:, 6])[0, 1]:.2f} / {rows[:, 7].mean():.2f}",
        f"{np.mean(np.abs(mean - truth)):.4f}",
        f"{np.mean((high - low) / apart):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    path = Path(os.environ.get("FOLDLESS_DATA", "")) / f"{name}.npz"
    if not path.exists():
        sys.exit(f"{name}.npz not found: set FOLDLESS_DATA to the folder that holds the data sets.")
    with np.load(path, allow_pickle=False) as data:
        return data["X"].astype(float), data["y"]


def on_real_data(name: str, splits: int, seed: int) -> np.ndarray:
    """Per split: truth of C = 0.01 less C = 1 on the test part, P(0.01 better), difference by 5-fold CV, covered."""
    X, y = load(name)
    rows = []
    for train, test in StratifiedShuffleSplit(splits, train_size=ROWS, random_state=seed).split(X, y):
        models = [make_pipeline(StandardScaler(), logistic(C)) for C in (0.01, 1.0)]
        folds = [np.mean(cross_val_score(m, X[train], y[train], cv=5, scoring="roc_auc")) for m in models]
        a, b = (m.fit(X[train], y[train]) for m in models)
        truth = [roc_auc_score(y[test], m.decision_function(X[test])) for m in (a, b)]
        found = fl.compare(a, b, X[train], y[train])
        low, high = found.difference.interval(LEVEL)
        gap = truth[0] - truth[1]
        rows.append((gap, found.prob_a_better, folds[0] - folds[1], low <= gap <= high))
    return np.array(rows)


def picks(rows: np.ndarray) -> tuple[float, float]:
    """How often the truly better model is favoured: by the probability, and by the folds (a tie is half a pick)."""
    truth = np.sign(rows[:, 0])
    ours, folds = np.sign(rows[:, 1] - 0.5), np.sign(rows[:, 2])
    counted = truth != 0
    return tuple(float(np.mean((1 + truth[counted] * pick[counted]) / 2)) for pick in (ours, folds))


def exact_identities() -> str:
    """Swapping mirrors, and a model against itself differs by exactly 0."""
    problem = nested(np.random.default_rng(SEED))
    a, b = (m.fit(problem.X, problem.y) for m in (problem.a, problem.b))
    worst, zero = 0.0, True
    for method in ("loo", "in-sample"):
        one = fl.compare(a, b, problem.X, problem.y, rope=0.01, method=method)
        two = fl.compare(b, a, problem.X, problem.y, rope=0.01, method=method)
        pairs = [
            (one.prob_a_better, two.prob_b_better),
            (one.prob_rope, two.prob_rope),
            (one.difference.mean, -two.difference.mean),
            (one.difference.sd, two.difference.sd),
            (one.difference.interval()[0], -two.difference.interval()[1]),
        ]
        worst = max(worst, *(abs(x - y) for x, y in pairs))
        itself = fl.compare(a, a, problem.X, problem.y, method=method)
        zero &= itself.difference.interval() == (0.0, 0.0) and itself.prob_rope == 1.0 and itself.difference.sd == 0.0
    return f"Swapping a and b mirrors all figures to within {worst:.1e}; a model against itself is exactly 0: {zero}."


def main() -> None:
    warnings.simplefilter("ignore")
    print("# Two classifiers on the same rows\n")
    print("Command: `FOLDLESS_DATA=folder OPENBLAS_NUM_THREADS=1 python benchmarks/compare.py > results/compare.md`.\n")
    print(f"## Simulated pairs with a known AUC, {SAMPLES} samples each, 40 to 160 rows\n")
    print(
        f"covered: share of {LEVEL:.0%} intervals of the difference that hold the truth. 0.8-0.9 and so on: how often"
    )
    print("the model that was named with such a probability is the better one (number of statements). correlation: of")
    print(
        "the errors of the two AUCs, observed / stated. width: of the interval, in units of what it would be were the"
    )
    print("errors unrelated and the prior of the difference flat.\n")
    print("| pair | covered | 0.6-0.7 | 0.7-0.8 | 0.8-0.9 | 0.9-0.97 | 0.97-1 | correlation | error | width |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    everything = []
    for name, draw in CELLS.items():
        everything.append(measure(draw, SAMPLES, SEED))
        print(simulated_row(name, everything[-1]), flush=True)
    print(simulated_row("all", np.concatenate(everything)), flush=True)
    print(f"\n{exact_identities()}\n")
    print(f"## C = 0.01 against C = 1 on development sets, {ROWS} training rows, {SPLITS} splits each\n")
    print(
        "better: share of splits in which C = 0.01 is truly better (AUC on the test part). The next two: how often the"
    )
    print(f"truly better one is favoured. covered: {LEVEL:.0%} intervals that hold the difference on the test part.\n")
    print("| data | test rows | better | P > 0.5 | 5-fold CV | 0.8-0.9 | covered |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    found = {}
    for name in SETS:
        found[name] = on_real_data(name, SPLITS, SEED)
        print(real_row(name, str(len(load(name)[1]) - ROWS), found[name]), flush=True)
    print(real_row("all", "", np.concatenate(list(found.values()))))


def real_row(name: str, test_rows: str, rows: np.ndarray) -> str:
    ours, folds = picks(rows)
    share, n = calibration(rows, 0.8, 0.9)
    cells = [name, test_rows, f"{np.mean(rows[:, 0] > 0):.2f}", f"{ours:.3f}", f"{folds:.3f}", f"{share:.2f} ({n})"]
    return "| " + " | ".join([*cells, f"{rows[:, 3].mean():.2f}"]) + " |"


if __name__ == "__main__":
    main()
