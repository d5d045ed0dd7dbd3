"""More than two classes: do intervals cover, does noise stay noise, and do refits agree?

    FOLDLESS_DATA=folder OPENBLAS_NUM_THREADS=1 python benchmarks/multiclass.py > results/multiclass.md

Four Gaussian classes with centres drawn anew in every sample; the truth is the Hand and Till average on 4000 new rows.
About ten minutes of one core.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl

SAMPLES, SHUFFLES, SEED, LEVEL, TEST_ROWS = 400, 60, 30, 0.9, 4000
SHAPES = ((60, 4), (80, 20), (80, 100))
FAMILIES: dict[str, Callable[[], Any]] = {
    "logistic, C = 1": lambda: LogisticRegression(tol=1e-6, max_iter=5000),
    "ridge": RidgeClassifier,
    "LDA, shrinkage 0.3": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3),
    "LinearSVC, C = 0.1": lambda: LinearSVC(C=0.1),
}
COMMAND = "FOLDLESS_DATA=folder OPENBLAS_NUM_THREADS=1 python benchmarks/multiclass.py > results/multiclass.md"
SETS = ("mc_wine", "mc_vehicle", "mc_srbct_khan")


def sample(rng: np.random.Generator, n: int, P: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and centres of four classes; about as hard for every P."""
    centres = rng.uniform(0.3, 1.4) * rng.normal(size=(4, P)) * np.sqrt(4 / P)
    y = np.arange(n) % 4
    return rng.normal(size=(n, P)) + centres[y], y, centres


def ranking_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """What rows of a class are ranked by: log odds where the model has probabilities, else its own decision value."""
    z = model.decision_function(X)
    if not hasattr(model, "predict_proba"):
        return z
    return np.stack([z[:, k] - np.logaddexp.reduce(np.delete(z, k, 1), axis=1) for k in range(z.shape[1])], axis=1)


def auc(above: np.ndarray, below: np.ndarray) -> float:
    ranks = rankdata(np.concatenate([above, below]))[: above.size]
    return float((ranks.sum() - above.size * (above.size + 1) / 2) / (above.size * below.size))


def hand_till(y: np.ndarray, scores: np.ndarray) -> float:
    pairs = [(a, b) for pair in combinations(range(scores.shape[1]), 2) for a, b in (pair, pair[::-1])]
    return float(np.mean([auc(scores[y == a, a], scores[y == b, a]) for a, b in pairs]))


def coverage(family: Callable[[], Any], n: int, P: int) -> tuple[float, float, float, float]:
    """Share of intervals that hold the truth, mean truth, bias and mean absolute error."""
    rows = []
    for k in range(SAMPLES):
        rng = np.random.default_rng([SEED, n, P, k])
        X, y, centres = sample(rng, n, P)
        model = family().fit(X, y)
        new = np.arange(TEST_ROWS) % 4
        truth = hand_till(new, ranking_scores(model, rng.normal(size=(TEST_ROWS, P)) + centres[new]))
        post = fl.auc_posterior(model, X, y)
        low, high = post.interval(LEVEL)
        rows.append((low <= truth <= high, truth, post.mean - truth, abs(post.mean - truth)))
    return tuple(np.mean(rows, axis=0).tolist())


def on_noise(family: Callable[[], Any], n: int, P: int) -> float:
    means = []
    for k in range(SHUFFLES):
        rng = np.random.default_rng([SEED, n, P, k, 1])
        X, y = rng.normal(size=(n, P)), np.arange(n) % 4
        means.append(fl.auc_posterior(family().fit(X, y), X, y).mean)
    return float(np.mean(means))


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    path = Path(os.environ.get("FOLDLESS_DATA", "")) / f"{name}.npz"
    if not path.exists():
        sys.exit(f"{name}.npz not found: set FOLDLESS_DATA to the folder that holds the data sets.")
    with np.load(path, allow_pickle=False) as data:
        return data["X"].astype(float), np.unique(data["y"], return_inverse=True)[1]


def by_refits(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The average AUC of the scores that each row gets from a fit without it."""
    everyone = np.arange(y.size)
    scores = [ranking_scores(clone(model).fit(X[everyone != i], y[everyone != i]), X[[i]])[0] for i in everyone]
    return hand_till(y, np.array(scores))


def main() -> None:
    warnings.simplefilter("ignore")
    print("# More than two classes\n")
    print(f"Command: `{COMMAND}`.\n")
    print(f"## Four Gaussian classes, {SAMPLES} samples of each shape\n")
    print(
        f"covered: share of {LEVEL:.0%} intervals that hold the average AUC on {TEST_ROWS} new rows. shuffled: mean of"
    )
    print(f"the posterior means over {SHUFFLES} samples without signal.\n")
    print("| classifier | rows x columns | covered | mean AUC | bias | error | shuffled |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name, family in FAMILIES.items():
        for n, P in SHAPES:
            covered, truth, bias, error = coverage(family, n, P)
            noise = on_noise(family, n, P)
            print(
                f"| {name} | {n} x {P} | {covered:.3f} | {truth:.3f} | {bias:+.3f} | {error:.3f} | {noise:.3f} |",
                flush=True,
            )
    print("\n## Against refits\n")
    print("pairs: share of ordered pairs by removal in closed form. refits: the same with one refit for each row.\n")
    print("| data | rows x columns | classes | classifier | pairs | refits | difference | posterior mean |")
    print("|---|--:|--:|---|--:|--:|--:|--:|", flush=True)
    for name in SETS:
        X, y = load(name)
        for label in ("logistic, C = 1", "ridge"):
            X_scaled = StandardScaler().fit_transform(X)  # the scaler, fitted once, is part of the problem here
            model = make_pipeline(FAMILIES[label]()).fit(X_scaled, y)
            post, refits = fl.auc_posterior(model, X_scaled, y), by_refits(model, X_scaled, y)
            shape = f"{X.shape[0]} x {X.shape[1]} | {y.max() + 1}"
            pairs = post.details["pair_auc"]
            figures = f"{pairs:.4f} | {refits:.4f} | {pairs - refits:+.4f} | {post.mean:.4f}"
            print(f"| {name} | {shape} | {label} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
