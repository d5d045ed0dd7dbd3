"""Refits of sparse, selected and PLS classifiers against known truth: coverage, error against CV5, false alarms.

Two normal classes with equal, spherical covariance; five columns carry signal, or none does. The AUC of a fit with
weights w on new rows is then Phi(w'd / (sqrt 2 |w|)), d the difference of the class means.

    python -m foldless_studies.evidence.sparse --models kbest pls --runs 60
    python -m foldless_studies.evidence.sparse --models l1-0.1 kbest --rows 100 --columns 200 --runs 200
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

LEVEL, SIGNALS = 0.9, 5


def sparse(C: float) -> Any:
    """L1 logistic regression on standardised columns."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, l1_ratio=1.0, solver="liblinear", random_state=0))


MODELS = {
    **{f"l1-{C}": sparse(C) for C in (0.1, 0.3, 1.0)},
    "kbest": make_pipeline(StandardScaler(), SelectKBest(k=10), LogisticRegression()),
    "pls": PLSRegression(2),
}


def scores(model: Any, X: Any) -> Any:
    """Decision values, or predictions of PLS."""
    return model.decision_function(X) if hasattr(model, "decision_function") else np.ravel(model.predict(X))


def truth(model: Any, difference: Any) -> float | None:
    """AUC of a linear fit on new rows; None if it ignores every column."""
    size = difference.size
    w = scores(model, np.eye(size)) - scores(model, np.zeros((1, size)))
    return float(ndtr(w @ difference / np.linalg.norm(w) / np.sqrt(2))) if np.any(w) else None


def run(name: str, rows: int, columns: int, shift: float, seed: int) -> tuple[float, ...] | None:
    """Truth, posterior mean, bounds, and the mean AUC of five folds, on one sample."""
    rng = np.random.default_rng([seed, rows, columns])
    y = np.arange(rows) % 2
    difference = np.where(np.arange(columns) < SIGNALS, shift, 0.0)
    X = rng.normal(size=(rows, columns)) + np.outer(y, difference)
    model = clone(MODELS[name]).fit(X, y)
    true = truth(model, difference)
    if true is None:
        return None
    post = fl.auc_posterior(model, X, y)
    metric = "roc_auc" if hasattr(model, "decision_function") else make_scorer(roc_auc_score)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    cv = float(np.mean(cross_val_score(model, X, y, cv=folds, scoring=metric)))
    return true, float(post.mean), *map(float, post.interval(LEVEL)), cv


def cell(name: str, rows: int, columns: int, shift: float, runs: int) -> str:
    """One line of the table."""
    found = np.array([r for seed in range(runs) if (r := run(name, rows, columns, shift, seed)) is not None])
    if not len(found):
        return f"{name:8} {rows:4} {columns:5} {shift:5.2f}  no fit uses a column"
    true, mean, low, high, cv = found.T
    cover, error, error_cv = np.mean((low <= true) & (true <= high)), np.abs(mean - true), np.abs(cv - true)
    return (
        f"{name:8} {rows:4} {columns:5} {shift:5.2f} {len(found):4} {true.mean():6.3f} {mean.mean():6.3f} {cover:6.2f} "
        f"{error.mean():7.4f} {error_cv.mean():7.4f} {error.mean() / error_cv.mean():6.2f} {np.mean(low > 0.5):6.3f}"
    )


def main() -> None:
    """Print the table, a line per cell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--rows", nargs="+", type=int, default=[60, 100])
    parser.add_argument("--columns", nargs="+", type=int, default=[20, 200])
    parser.add_argument("--shifts", nargs="+", type=float, default=[0.65, 0.0])
    parser.add_argument("--runs", type=int, default=60)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("model    rows  cols shift    n   true   mean  cover   error     CV5  ratio  low>.5")
    cells = ((n, r, c, s) for n in args.models for r in args.rows for c in args.columns for s in args.shifts)
    for each in cells:
        print(cell(*each, args.runs), flush=True)


if __name__ == "__main__":
    main()
