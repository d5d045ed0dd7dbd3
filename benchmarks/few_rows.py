"""Does the answer hold where one class has few rows?

    OPENBLAS_NUM_THREADS=1 python benchmarks/few_rows.py > results/few_rows.md

Normal columns, logistic regression with C = 1; the true AUC of the fitted weights is known. About three minutes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.linear_model import LogisticRegression

import foldless as fl

SAMPLES = 300
SIZES = ((30, 100), (100, 10), (100, 500))
FEW = (2, 3, 4, 5, 7, 10, 15)
INFORMATIVE, AUC = 5, 0.9


def sample(n: int, p: int, n1: int, auc: float, number: int) -> tuple[Any, Any, Any]:
    """Rows, labels, and the difference of the class means, which the best rule turns into the AUC."""
    rng = np.random.default_rng([number, n, p, n1])
    y = (np.arange(n) < n1).astype(int)
    shift = np.zeros(p)
    shift[:INFORMATIVE] = np.sqrt(2 / INFORMATIVE) * ndtri(auc)
    return rng.normal(size=(n, p)) + y[:, None] * shift, y, shift


def trial(n: int, p: int, n1: int, auc: float, number: int) -> tuple[bool, bool, float, float]:
    """Whether the 90 % interval holds the truth, whether it lies above 0.5, the mean, and its error."""
    X, y, shift = sample(n, p, n1, auc, number)
    model = LogisticRegression(C=1.0, tol=1e-6, max_iter=1000).fit(X, y)
    w = model.coef_[0]
    truth = float(ndtr(w @ shift / np.sqrt(2 * w @ w)))
    post = fl.auc_posterior(model, X, y)
    low, high = post.interval(0.9)
    return low <= truth <= high, low > 0.5, post.mean, abs(post.mean - truth)


def main() -> None:
    """Print the page."""
    print("# Few rows of a class\n")
    print("Command: `OPENBLAS_NUM_THREADS=1 python benchmarks/few_rows.py > results/few_rows.md`.\n")
    print(f"Normal columns, {SAMPLES} samples of each kind, logistic regression with C = 1. Without signal: share of")
    print(
        "90 % intervals that lie above 0.5 (5 % are due), and the mean. With signal in five columns (the best rule has"
    )
    print(f"an AUC of {AUC}): share of 90 % intervals that hold the AUC of the fitted weights, and the mean error.\n")
    print("| rows | columns | of the small class | noise: above 0.5 | mean | signal: covered | error |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for n, p in SIZES:
        for n1 in (k for k in FEW if 2 * k <= n):
            noise, signal = (
                np.array([trial(n, p, n1, auc, number) for number in range(SAMPLES)]) for auc in (0.5, AUC)
            )
            figures = noise[:, 1].mean(), noise[:, 2].mean(), signal[:, 0].mean(), signal[:, 3].mean()
            print(f"| {n} | {p} | {n1} | " + " | ".join(f"{x:.3f}" for x in figures) + " |", flush=True)
            print(f"{n} x {p}, {n1}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
