"""Refits of sparse, selected, hinge, PLS and any other classifiers: coverage, error and cost against folds.

    python -m foldless_studies.evidence.sparse > results/sparse.md

Eighty minutes on one core; names of parts (grid, cases, sets, others, cost) may be given.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import foldless as fl
from foldless_studies.accuracy.cells import DataCell, real_cells
from foldless_studies.data import load, split
from foldless_studies.estimators import holds
from foldless_studies.evidence import begin_table, print_parts, print_row
from foldless_studies.sampling import Floats, Labels, measured, source
from foldless_studies.speed.measurement import Effort, in_turns


def scaled(*steps: Any) -> Any:
    """A pipeline behind a StandardScaler."""
    return make_pipeline(StandardScaler(), *steps)


def logistic(C: float, l1_ratio: float, solver: str) -> Any:
    """Logistic regression with an L1 part, on standardised columns."""
    tol = 1e-3 if solver == "saga" else 1e-4  # saga takes long
    return scaled(LogisticRegression(C=C, l1_ratio=l1_ratio, solver=solver, tol=tol, max_iter=500, random_state=0))


MODELS = {
    **{f"L1, C = {C}": logistic(C, 1.0, "liblinear") for C in (0.1, 0.3, 1)},
    "elastic net": logistic(0.3, 0.5, "saga"),
    "10 columns selected": scaled(SelectKBest(k=10), LogisticRegression()),
    "linear SVC": scaled(SVC(kernel="linear", C=0.01)),
    "PLS-DA": PLSRegression(2),
}
OTHERS = {
    "random forest": RandomForestClassifier(50, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=50, random_state=0),
    "RBF SVM": scaled(SVC()),
    "5 neighbours": scaled(KNeighborsClassifier()),
    "MLP": scaled(MLPClassifier((10,), solver="lbfgs", alpha=1.0, max_iter=100, random_state=0)),
}
EVERY = {**MODELS, **OTHERS}
LEVEL, SEED, SAMPLES, CASE_SAMPLES, DISTANCE = 0.9, 2200, 100, 200, 1.45
SIZES, SPLITS, WIDEST, SETS = (40, 80), {1: 4, 5: 4}, 1000, 12  # splits by repeats of the folds
RACES = ((60, 20), (100, 200), (100, 2000))
SLOW = "elastic net"  # beyond `WIDEST` columns, scikit-learn's saga takes a minute for one sample
TEXT = """\
`auc_posterior` of classifiers without a closed form: 20 refits of the whole pipeline, at once where that is known to
give the same. The scaler is part of the pipeline (PLS-DA has its own); elastic net: C = 0.3, half L1; SVC: C = 0.01."""


# ---- Known truth


def truth(model: Any, difference: Floats) -> float | None:
    """AUC of a linear fit on new rows of two spherical normal classes; None if it ignores every column."""
    w = score(model, np.eye(difference.size)) - score(model, np.zeros((1, difference.size)))
    size = np.linalg.norm(w)
    return float(ndtr(w @ difference / size / np.sqrt(2))) if size > 0 else None


def folds_auc(model: Any, X: Floats, y: Labels, repeats: int = 1) -> float:
    """The mean AUC of five folds."""
    metric = "roc_auc" if hasattr(model, "classes_") else make_scorer(roc_auc_score)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    return float(np.mean(cross_val_score(model, X, y, cv=folds, scoring=metric)))


def simulated(name: str, rows: int, columns: int, signals: int, number: int) -> tuple[float, ...] | None:
    """Truth, mean, bounds and the AUC of five folds on one sample; `signals` columns share one distance."""
    y, drawn = np.arange(rows) % 2, np.random.default_rng([SEED + number, rows, columns, signals])
    difference = np.where(np.arange(columns) < signals, DISTANCE / np.sqrt(max(signals, 1)), 0.0)
    X = drawn.normal(size=(rows, columns)) + np.outer(y, difference)
    model = clone(MODELS[name]).fit(X, y)
    if (true := truth(model, difference)) is None:
        return None
    post = fl.auc_posterior(model, X, y)
    return true, post.mean, *map(float, post.interval(LEVEL)), folds_auc(model, X, y)


def cell(name: str, rows: int, columns: int, signals: int, samples: int) -> Floats:
    """The samples of a cell whose fit uses a column, (n, 5)."""
    found = [simulated(name, rows, columns, signals, number) for number in range(samples)]
    return np.array([each for each in found if each is not None]).reshape(-1, 5)


def line(found: Floats) -> tuple[str, ...]:
    """What the table shows of a cell."""
    true, mean, low, high, cv = found.T
    error, rival = np.abs(mean - true).mean(), np.abs(cv - true).mean()
    held = np.mean((low <= true) & (true <= high))
    return (
        *(f"{len(found)}", f"{true.mean():.3f}", f"{mean.mean():.3f}", f"{held:.2f}"),
        *(f"{error:.4f}", f"{rival:.4f}", f"{np.mean(low > 0.5):.2f}"),
    )


HEADER = "samples | truth | answer | held | error | CV5 | above 0.5"


def grid() -> None:
    """Print all cells, and what they say together."""
    print("\n## Known truth\n\nTwo normal classes; the columns with signal put the best classifier at an AUC of")
    print(f"{ndtr(DISTANCE / np.sqrt(2)):.2f}. {SAMPLES} samples a cell, less those whose fit uses no column. Held:")
    print("90 % intervals that hold the truth; error: mean absolute; above 0.5: intervals that lie above chance.\n")
    begin_table(f"classifier | rows | columns | signal | {HEADER}")
    shapes = [(N, P, k) for N, P in product((60, 100), (20, 200, 2000)) for k in dict.fromkeys((0, 5, 20, P))]
    cells = [(name, *shape) for name in MODELS for shape in shapes if feasible(name, shape[1])]
    drawn = Parallel(n_jobs=2, return_as="generator")(delayed(_quietly)(cell, *each, SAMPLES) for each in cells)
    found = dict(_printed(cells, drawn))
    signal, null = ([v for key, v in found.items() if (key[3] > 0) == real] for real in (True, False))
    covers = np.array([np.mean((v[:, 2] <= v[:, 0]) & (v[:, 0] <= v[:, 3])) for v in signal])
    true, mean, _, _, cv = np.concatenate(signal).T
    _, noise, low, _, _ = np.concatenate(null).T
    inside = np.mean((covers > 0.845) & (covers < 0.985))
    ratio = np.abs(mean - true).mean() / np.abs(cv - true).mean()
    print(f"\nWith signal: held in 0.85 to 0.98 of the samples in {inside:.0%} of {len(signal)} cells,")
    print(f"{covers.min():.2f} at least, {covers.mean():.3f} on average; error {ratio:.3f} of CV5's.")
    print(f"Without: mean {noise.mean():.3f}, above 0.5 in {np.mean(low > 0.5):.3f}.")


def _printed(cells: list[Any], drawn: Iterator[Floats]) -> Iterator[tuple[Any, Floats]]:
    for key, found in zip(cells, drawn, strict=True):
        if len(found):
            print_row(*key, *line(found))
            yield key, found


def _quietly(work: Any, *arguments: Any) -> Any:
    """In another process, which has its own warnings."""
    warnings.simplefilter("ignore")
    return work(*arguments)


def cases() -> None:
    """Print the two cases that the stand-ins failed on."""
    print(f"\n## Five columns of 200 with signal, 100 rows, {CASE_SAMPLES} samples\n")
    begin_table(f"classifier | {HEADER}")
    for name in ("L1, C = 0.1", "10 columns selected"):
        print_row(name, *line(cell(name, 100, 200, 5, CASE_SAMPLES)))


# ---- Data sets


def trial(name: str, at: DataCell, number: int, repeats: int) -> tuple[float, ...] | None:
    """Whether the interval holds the AUC of the other rows, the errors of foldless and of folds, and that AUC."""
    X, y = load(at.path)
    X = np.asarray(X, dtype=np.float64)
    train = split(y, at.n, source(SEED, at.group, at.n, number))
    test = np.setdiff1d(np.arange(y.size), train)
    model = clone(EVERY[name]).fit(X[train], y[train])
    if not np.ptp(scores := score(model, X[test])) > 0:
        return None
    known, post = measured(y[test], scores), fl.auc_posterior(model, X[train], y[train], method="refit")
    held = holds(post, known, LEVEL)
    print(at.name, name, number, held, file=sys.stderr, flush=True)
    return held, post.mean - known.auc, folds_auc(model, X[train], y[train], repeats) - known.auc, known.auc


def score(model: Any, X: Floats) -> Floats:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.asarray(model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else np.ravel(model.predict(X)))


def on_sets(models: dict[str, Any], cells: list[DataCell], repeats: int) -> None:
    """Print a line per classifier and size, and one of both sizes."""
    begin_table("classifier | rows | samples | held | error | folds | ratio | truths above 0.95 | held there")
    for name in models:
        able = [at for at in cells if feasible(name, columns(at))]
        units = [(name, at, k, repeats) for at in able for k in range(SPLITS[repeats])]
        made = Parallel(n_jobs=2)(delayed(_quietly)(trial, *unit) for unit in units)
        known = [(unit[1].n, *each) for unit, each in zip(units, made, strict=True) if each is not None]
        size, *found = np.array(known).T
        for label, rows in (*((n, size == n) for n in SIZES), ("both", size > 0)):
            print_row(name, label, *accuracy(*(each[rows] for each in found)))


def accuracy(held: Floats, ours: Floats, theirs: Floats, true: Floats) -> tuple[Any, ...]:
    """What the table shows of trials."""
    high, error, rival = true > 0.95, np.abs(ours).mean(), np.abs(theirs).mean()
    there = f"{held[high].mean():.2f}" if high.any() else ""
    return held.size, f"{held.mean():.3f}", f"{error:.4f}", f"{rival:.4f}", f"{error / rival:.3f}", high.sum(), there


def columns(at: DataCell) -> int:
    return int(load(at.path)[0].shape[1])


def feasible(name: str, width: int) -> bool:
    """Whether scikit-learn fits this classifier to so many columns in less than a minute."""
    return name != SLOW or width <= WIDEST


def sets() -> None:
    """Print linear classifiers on real data."""
    cells = real_cells(SIZES)
    print(f"\n## Real data\n\n{len({at.group for at in cells})} sets, {SPLITS[1]} splits each; the elastic net")
    print(f"up to {WIDEST} columns. Held allows for the noise of the truth, the AUC of the other rows. Folds: five.\n")
    on_sets(MODELS, cells, 1)


def others() -> None:
    """Print any other classifiers on real data, against as many fits."""
    cells = [at for at in real_cells(SIZES) if columns(at) <= WIDEST]
    chosen = sorted({at.group for at in cells if at.n == max(SIZES)})[::2][:SETS]
    print(f"\n## Any classifier\n\n{SPLITS[5]} splits each, 20 refits here, 5 x 5 folds there: {', '.join(chosen)}.\n")
    on_sets(OTHERS, [at for at in cells if at.group in chosen], 5)


def cost() -> None:
    """Print processor times beside those of five folds."""
    print("\n## Cost\n\nProcessor time of `auc_posterior` as a share of that of five folds.\n")
    begin_table("classifier | " + " | ".join(f"{n} x {P}" for n, P in RACES))
    for name in (*MODELS, "random forest"):
        print_row(name, *(f"{_ratio(EVERY[name], n, P):.2f}" if feasible(name, P) else "" for n, P in RACES))


def _ratio(model: Any, n: int, columns: int) -> float:
    y = np.arange(n) % 2
    X = np.random.default_rng(n).normal(size=(n, columns)) + 0.65 * np.outer(y, np.arange(columns) < 5)
    fitted = clone(model).fit(X, y)
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(fl.auc_posterior, fitted, X, y, method="refit"),
        "folds": partial(folds_auc, fitted, X, y),
    }
    ours, folds = (each.seconds for each in in_turns(calls, Effort(3, 3)).values())
    return float(ours / folds)


PARTS = {"grid": grid, "cases": cases, "sets": sets, "others": others, "cost": cost}


if __name__ == "__main__":
    from foldless_studies.evidence import sparse  # by its name, under which other processes find it

    print_parts("sparse", "L1, selection, hinge, PLS and any classifier", TEXT, sparse.PARTS)
