"""How often `diagnose` finds what is wrong, and how often it stays silent where nothing is.

    python -m foldless_studies.evidence.diagnose 50 > results/diagnose.md

Gaussian data with two classes, logistic regression after a StandardScaler. Each fault is then put in by hand: copies of
half of the rows (equal, or with noise of 2 % of the spread) shuffled in, log-normal columns, one class with four times
the variance, a column that is the label (as it is, or with noise of a tenth). Printed: the share of data sets in which
the finding of that fault is more than information; for clean data, the share without any such finding.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.populations import Population

SHAPES = ((60, 5), (100, 20), (200, 10), (80, 200))
Data = tuple[np.ndarray, np.ndarray]
Rng = np.random.Generator


def clean(rng: Rng, N: int, P: int) -> Data:
    """Two normal classes 1.5 standard deviations apart along a random direction."""
    y = rng.permutation(np.arange(N) % 2)
    direction = rng.standard_normal(P)
    shift = 1.5 * (direction / np.linalg.norm(direction))
    return Population("clean", tuple(shift.tolist())).rows(y, rng), y


def copied(noise: float, rng: Rng, N: int, P: int) -> Data:
    """A third of the rows repeat others, exactly or with noise, as if measured twice."""
    X, y = clean(rng, 2 * N // 3, P)
    again = rng.permutation(len(y))[: N // 3]
    order = rng.permutation(len(y) + len(again))
    repeated = X[again] + noise * rng.standard_normal((len(again), P))
    return np.vstack([X, repeated])[order], np.r_[y, y[again]][order]


def log_normal(rng: Rng, N: int, P: int) -> Data:
    """Every column is log-normal (sigma 1), the classes differ before the exponential."""
    X, y = clean(rng, N, P)
    return np.exp(X), y


def unequal(rng: Rng, N: int, P: int) -> Data:
    """The positive class has four times the variance."""
    X, y = clean(rng, N, P)
    centre = X[y == 1].mean(axis=0)
    return np.where(y[:, None] == 1, centre + 2 * (X - centre), X), y


def leaked(noise: float, rng: Rng, N: int, P: int) -> Data:
    """One column is the label, with noise."""
    X, y = clean(rng, N, P)
    X[:, rng.integers(P)] = y + noise * rng.standard_normal(N)
    return X, y


FAULTS: dict[str, tuple[Callable[[Rng, int, int], Data], str]] = {
    "equal copies": (partial(copied, 0.0), "copies"),
    "near copies": (partial(copied, 0.02), "copies"),
    "log-normal columns": (log_normal, "heavy tails"),
    "variances 4 : 1": (unequal, "unequal variances"),
    "label as a column": (partial(leaked, 0.0), "leak"),
    "label with noise": (partial(leaked, 0.1), "leak"),
}


def diagnosed(make: Callable[[Rng, int, int], Data], seed: int, N: int, P: int) -> fl.Diagnosis:
    """The diagnosis of one simulated data set."""
    X, y = make(np.random.default_rng([seed, N, P]), N, P)
    return fl.diagnose(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X, y)


def main(replicates: int) -> None:
    """Print the page."""
    text = f"""\
Logistic regression on {replicates} Gaussian data sets of each shape, one fault put in by hand: share in which it is
flagged."""
    begin("diagnose", "What `diagnose` finds", text, options=f" {replicates}")
    begin_table(" | ".join(["fault", *(f"{N} x {P}" for N, P in SHAPES)]))
    for fault, (make, name) in FAULTS.items():
        shares = [
            np.mean([any(f.name == name for f in diagnosed(make, s, *shape).findings) for s in range(replicates)])
            for shape in SHAPES
        ]
        print_row(fault, *(f"{100 * s:.0f} %" for s in shares))
    runs = {shape: [diagnosed(clean, s, *shape) for s in range(replicates)] for shape in SHAPES}
    silent = [np.mean([run.verdict == "trust" for run in found]) for found in runs.values()]
    print_row("none: silent", *(f"{100 * s:.0f} %" for s in silent))
    alarms = Counter(name for found in runs.values() for run in found for name in run.flagged)
    print(f"\nFalse alarms in {replicates * len(SHAPES)} clean data sets: {dict(alarms) or 'none'}.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
