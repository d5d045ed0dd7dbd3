"""Permutation tests without refits against scikit-learn's `permutation_test_score`: false alarms, power, refits, time.

    python -m foldless_studies.evidence.permutation > results/permutation.md

Its power takes the scores that `permutation_test_score` gives, without the checks that take most of its time (a test
compares); its time is its own. Half an hour; names of parts (alarms, power, refits, speed) may be given.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, permutation_test_score

import foldless as fl
from foldless_studies.evidence import begin_table, print_parts, print_row
from foldless_studies.sampling import Floats, Labels
from foldless_studies.speed.measurement import Effort, in_turns

MODELS: dict[str, Any] = {
    "ridge": RidgeClassifier(),
    "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
    "logistic": LogisticRegression(),
}
NULL_SAMPLES, NULL_ROWS, NULL_PERMUTATIONS, PER_GROUP = 200, 60, 199, 2
POWER_SAMPLES, POWER_PERMUTATIONS, LEVEL = 100, 99, 0.05
SHIFTS = {(40, 10): 1.3, (40, 100): 2.2, (80, 10): 0.9, (80, 100): 1.5}  # of one column, by rows and columns
PENALTIES, REFIT_SHAPES, REFIT_LABELS = (0.1, 1.0, 30.0), ((40, 10), (60, 30)), 20
RACES = ((100, 10), (100, 1000), (500, 100))
TEXT = """\
Normal columns and equal classes. ridge: RidgeClassifier; LDA: shrinkage of 0.2; logistic: LogisticRegression, C = 1.
The rival is `permutation_test_score` with `scoring="roc_auc", cv=5`."""


def drawn(n: int, columns: int, number: int, shift: float = 0.0) -> tuple[Floats, Labels]:
    """Rows whose first column is shifted in the second class."""
    y = np.arange(n) % 2
    X = np.random.default_rng([n, columns, number]).standard_normal((n, columns))
    X[:, 0] += shift * y
    return X, y


def alarms() -> None:
    """Print the share of p <= LEVEL without signal."""
    print(f"\n## Without signal\n\nShare of p at most {LEVEL} in {NULL_SAMPLES} samples of {NULL_ROWS} rows,")
    print(f"{NULL_PERMUTATIONS} permutations; independent rows, and whole groups of {PER_GROUP} with effects.\n")
    begin_table("columns | rows | " + " | ".join(MODELS))
    for columns, grouped in product((10, 100, 1000), (False, True)):
        found = np.array([_false_alarm(columns, grouped, k) for k in range(NULL_SAMPLES)])
        print_row(columns, "in groups" if grouped else "independent", *(f"{x:.3f}" for x in found.mean(axis=0)))


def _false_alarm(columns: int, grouped: bool, number: int) -> list[bool]:
    X, y = drawn(NULL_ROWS, columns, number)
    groups = None
    if grouped:
        groups = np.arange(NULL_ROWS) // PER_GROUP
        X = X + np.random.default_rng([number, columns]).standard_normal((groups.max() + 1, columns))[groups]
        y = groups % 2
    tests = (fl.permutation_test(m.fit(X, y), X, y, NULL_PERMUTATIONS, groups=groups) for m in MODELS.values())
    return [test.p_value <= LEVEL for test in tests]


def power() -> None:
    """Print the share of p <= LEVEL with a planted column, of both tests on the same samples."""
    print(f"\n## With signal\n\nShare of p at most {LEVEL} in {POWER_SAMPLES} samples, {POWER_PERMUTATIONS}")
    print("permutations; one column is shifted. Only: samples in which only one of the two tests is at most that.\n")
    begin_table("classifier | rows x columns | shift | foldless | 5 folds | only foldless | only 5 folds")
    for ((n, columns), shift), (name, model) in product(SHIFTS.items(), MODELS.items()):
        both = np.array([_found(model, *drawn(n, columns, 1000 + k, shift)) for k in range(POWER_SAMPLES)])
        ours, rival = both.T
        shares = (f"{x.mean():.2f}" for x in (ours, rival, ours & ~rival, rival & ~ours))
        print_row(name, f"{n} x {columns}", shift, *shares)


def _found(model: Any, X: Floats, y: Labels) -> tuple[bool, bool]:
    ours = fl.permutation_test(model.fit(X, y), X, y, POWER_PERMUTATIONS).p_value
    scores = folded(model, X, y, POWER_PERMUTATIONS)
    return ours <= LEVEL, bool(np.count_nonzero(scores >= scores[0]) / scores.size <= LEVEL)


def _rival(model: Any, X: Floats, y: Labels, permutations: int) -> Any:
    return permutation_test_score(model, X, y, scoring="roc_auc", cv=5, n_permutations=permutations, random_state=0)


def folded(model: Any, X: Floats, y: Labels, permutations: int) -> Floats:
    """The mean AUC over five folds with the true labels, and with those that `_rival` permutes."""
    rng, scores = np.random.RandomState(0), []
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for labels in (y, *(y[rng.permutation(y.size)] for _ in range(permutations))):
            folds = StratifiedKFold(5).split(X, labels)
            scores.append(np.mean([auc(X[b] @ direction(model, X[a], labels[a]), labels[b]) for a, b in folds]))
    return np.array(scores)


def auc(scores: Floats, y: Labels) -> float:
    gaps = scores[y == 1, None] - scores[y == 0]
    return float(np.mean((gaps > 0) + 0.5 * (gaps == 0)))


def direction(model: Any, X: Floats, y: Labels) -> Floats:
    """The weights of one of `MODELS`, fitted; those of ridge and LDA without scikit-learn's checks."""
    if isinstance(model, LogisticRegression):
        return np.asarray(model.fit(X, y).coef_[0])
    means = np.array([X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)])
    if isinstance(model, RidgeClassifier):
        A, t = X - X.mean(axis=0), 2.0 * y - 1.0
        return np.asarray(A.T @ np.linalg.solve(A @ A.T + model.alpha * np.eye(y.size), t - t.mean()))
    within = X - means[y]
    spread, shrinkage = within.T @ within / y.size, model.shrinkage
    shrunk = (1 - shrinkage) * spread + shrinkage * np.trace(spread) / X.shape[1] * np.eye(X.shape[1])
    return np.asarray(np.linalg.solve(shrunk, means[1] - means[0]))


def refits() -> None:
    """Print how far the AUCs of relabellings are from those of refits without each row."""
    print(f"\n## Against refits\n\nLogistic regression, rows left out one by one, {REFIT_LABELS} relabellings: mean")
    print("difference of the AUC from that of refits.\n")
    begin_table("C | " + " | ".join(f"{n} x {columns}" for n, columns in REFIT_SHAPES))
    for C in PENALTIES:
        print_row(C, *(f"{_distance(LogisticRegression(C=C, tol=1e-8, max_iter=2000), *s):.4f}" for s in REFIT_SHAPES))


def _distance(model: Any, n: int, columns: int) -> float:
    X, y = drawn(n, columns, 0, 0.5)
    labels = [np.random.default_rng(k).permutation(y) for k in range(REFIT_LABELS)]
    found = [fl.permutation_test(model.fit(X, each), X, each, 1).statistic for each in labels]
    return float(np.mean([abs(a - _refitted(model, X, each)) for a, each in zip(found, labels, strict=True)]))


def _refitted(model: Any, X: Floats, y: Labels) -> float:
    """AUC of the scores of refits without the row, less the mean score of the rows trained on."""
    scores = np.empty(y.size)
    for k in range(y.size):
        rest = np.arange(y.size) != k
        z = clone(model).fit(X[rest], y[rest]).decision_function(X)
        scores[k] = z[k] - z[rest].mean()
    return float(roc_auc_score(y, scores))


def speed() -> None:
    """Print times per permutation."""
    print("\n## Time\n\nPer permutation, processor time on one thread, the shortest of three in turns: 1,000")
    print("permutations of ours, 5 of the rival's, which also scores the true labels.\n")
    begin_table("rows x columns | classifier | foldless | 5 folds | ratio", left=2)
    for (n, columns), (name, model) in product(RACES, MODELS.items()):
        X, y = drawn(n, columns, 0, 0.5)
        fitted = clone(model).fit(X, y)
        calls = {"ours": partial(fl.permutation_test, fitted, X, y, 1000), "rival": partial(_rival, model, X, y, 5)}
        times = in_turns(calls, Effort(3, 3))
        ours, rival = times["ours"].seconds / 1001, times["rival"].seconds / 6
        print_row(f"{n} x {columns}", name, f"{1e6 * ours:.0f} µs", f"{1e3 * rival:.1f} ms", f"{rival / ours:.0f}")


PARTS = {"alarms": alarms, "power": power, "refits": refits, "speed": speed}


if __name__ == "__main__":
    print_parts("permutation", "Permutation tests without refits", TEXT, PARTS)
