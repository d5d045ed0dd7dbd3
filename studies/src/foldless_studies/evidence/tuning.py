"""The AUC of a tuned classifier, tuning included, against nested 5 x 5-fold cross-validation: error, alarms, time.

    python -m foldless_studies.evidence.tuning > results/tuning.md

On real data the fits of the rival are made at once, by Newton steps on all of them (a test compares with
scikit-learn's); its time is its own. Half an hour; names of parts (development, alarms, speed) may be given.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import foldless as fl
from foldless_studies.accuracy.cells import DataCell, real_cells
from foldless_studies.estimators import holds
from foldless_studies.evidence import begin_table, print_parts, print_row
from foldless_studies.evidence.permutation import auc, drawn
from foldless_studies.evidence.validation import fits
from foldless_studies.sampling import Floats, Labels, narrowed
from foldless_studies.speed.measurement import Effort, in_turns

STRENGTHS = np.logspace(-4, 4, 20)
SEARCHES: dict[str, tuple[Any, dict[str, Floats]]] = {
    "ridge": (RidgeClassifier(), {"alpha": STRENGTHS[::-1]}),
    "logistic": (LogisticRegression(), {"C": STRENGTHS}),
}
SIZES, SPLITS, SEED, LEVEL = (40, 80), 12, 24, 0.9
NULL_SAMPLES, NULL_SHAPE = 500, (40, 20)
RACES = ((40, 20), (40, 200), (80, 50), (200, 100))
TEXT = f"""\
{len(STRENGTHS)} strengths of the L2 penalty from {STRENGTHS[0]:g} to {STRENGTHS[-1]:g}. foldless:
`FoldlessSearch(...).fit(X, y).posterior_`. The rival: `cross_val_score` of a `GridSearchCV`, both with 5 folds and
`scoring="roc_auc"`."""


def development() -> None:
    """Print errors and coverage on real data."""
    print("\n## Real data\n\nLogistic regression; the truth is the AUC, on the other rows, of the fit that the search")
    print(
        f"took. {SPLITS} splits of every set. Held: share of 90 % intervals that hold the truth, whose noise is allowed"
    )
    print("for; error: mean absolute; below: share of the sets on which ours is smaller.\n")
    begin_table("rows | samples | held | error | nested 5 x 5 | ratio | below | bias | nested bias")
    cells = real_cells(SIZES)
    for n in SIZES:
        units = [(cell, k) for cell in cells if cell.n == n for k in range(SPLITS)]
        held, off, rival = np.array([trial(cell, k) for cell, k in units]).T
        ours, theirs = np.abs(off), np.abs(rival)
        by_set = (ours.reshape(-1, SPLITS).mean(axis=1) < theirs.reshape(-1, SPLITS).mean(axis=1)).mean()
        errors = f"{ours.mean():.4f}", f"{theirs.mean():.4f}", f"{ours.mean() / theirs.mean():.3f}"
        bias = f"{off.mean():+.4f}", f"{rival.mean():+.4f}"
        print_row(n, held.size, f"{held.mean():.3f}", *errors, f"{by_set:.2f}", *bias)


def trial(cell: DataCell, number: int) -> tuple[float, float, float]:
    """Whether the interval holds the truth, and the errors of foldless and of nested folds."""
    sample = narrowed(cell.draw(SEED, number))
    search = fl.FoldlessSearch(*SEARCHES["logistic"]).fit(sample.X, sample.y)
    (known,), post = sample.truth(search.best_estimator_.coef_.T), search.posterior_
    held = holds(post, known, LEVEL)
    print(cell.name, number, f"{known.auc:.3f} {post.mean:.3f} {held}", file=sys.stderr, flush=True)
    return held, post.mean - known.auc, nested(sample.X, sample.y) - known.auc


def nested(X: Floats, y: Labels) -> float:
    """The mean AUC of five folds, each scored by the logistic regression whose C five folds of the others chose."""
    if X.shape[1] > X.shape[0]:
        U, s, _ = np.linalg.svd(X, full_matrices=False)
        X = U * s
    outer = [(train, test) for train, test in StratifiedKFold(5).split(X, y)]
    inner = [(train[a], train[b]) for train, _ in outer for a, b in StratifiedKFold(5).split(X[train], y[train])]
    weights = np.array([np.isin(np.arange(y.size), train) for train, _ in (*outer, *inner)], dtype=float)
    tests = [test for _, test in (*outer, *inner)]
    found = np.array([_folds(fits(X, y.astype(float), weights, C), y, tests) for C in STRENGTHS])
    chosen = found[:, 5:].reshape(-1, 5, 5).mean(axis=2).argmax(axis=0)
    return float(found[chosen, np.arange(5)].mean())


def _folds(log_odds: Floats, y: Labels, tests: list[Any]) -> list[float]:
    return [auc(each[test], y[test]) for each, test in zip(log_odds, tests, strict=True)]


def alarms() -> None:
    """Print the share of intervals above chance without signal."""
    n, columns = NULL_SHAPE
    print(f"\n## Without signal\n\nShare of 90 % intervals above 0.5 in {NULL_SAMPLES} samples of {n} x {columns} and")
    print("the mean of the AUCs; best: the same of the best candidate, as if nothing had been chosen.\n")
    begin_table("classifier | above 0.5 | mean | best above 0.5 | best mean")
    for name, (model, grid) in SEARCHES.items():
        found = np.array([_null(model, grid, *drawn(n, columns, k)) for k in range(NULL_SAMPLES)])
        print_row(name, *(f"{x:.3f}" for x in found.mean(axis=0)))


def _null(model: Any, grid: Any, X: Floats, y: Labels) -> tuple[float, ...]:
    search = fl.FoldlessSearch(model, grid).fit(X, y)
    posts = search.posterior_, search.best_posterior_
    return tuple(float(x) for post in posts for x in (post.interval(LEVEL)[0] > 0.5, post.mean))


def speed() -> None:
    """Print times of both, and of a `GridSearchCV` that is fitted already."""
    print("\n## Time\n\nProcessor time on one thread, the shortest of three in turns. Fitted: `auc_posterior` of a")
    print("`GridSearchCV` that is fitted already.\n")
    begin_table("classifier | rows x columns | nested 5 x 5 | foldless | ratio | fitted | ratio", left=2)
    for (name, (model, grid)), (n, columns) in product(SEARCHES.items(), RACES):
        X, y = drawn(n, columns, 0, 0.5)
        search = GridSearchCV(model, grid, scoring="roc_auc", cv=5)
        fitted = GridSearchCV(model, grid, scoring="roc_auc", cv=5).fit(X, y)
        calls = {
            "rival": partial(cross_val_score, search, X, y, scoring="roc_auc", cv=5),
            "ours": partial(_whole, model, grid, X, y),
            "fitted": partial(fl.auc_posterior, fitted, X, y),
        }
        rival, ours, after = (each.seconds for each in in_turns(calls, Effort(3, 3)).values())
        both = (cell for t in (ours, after) for cell in (f"{1e3 * t:.0f} ms", f"{rival / t:.0f}"))
        print_row(name, f"{n} x {columns}", f"{rival:.2f} s", *both)


def _whole(model: Any, grid: Any, X: Floats, y: Labels) -> fl.AUCPosterior:
    return fl.FoldlessSearch(model, grid).fit(X, y).posterior_


PARTS = {"development": development, "alarms": alarms, "speed": speed}


if __name__ == "__main__":
    print_parts("tuning", "Tuning that is accounted for", TEXT, PARTS)
