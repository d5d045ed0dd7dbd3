"""More than two classes: do intervals cover, does noise stay noise, and do refits agree?

    python -m foldless_studies.evidence.multiclass > results/multiclass.md

Four Gaussian classes with centres drawn anew in every sample; the truth is the Hand and Till average on 4000 new rows.
About five minutes of one core.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations
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
from foldless_studies.data import named
from foldless_studies.evidence import begin, begin_table, print_row

SAMPLES, SHUFFLES, SEED, LEVEL, TEST_ROWS = 200, 60, 30, 0.9, 4000
SHAPES = ((60, 4), (80, 20), (80, 100))
FAMILIES: dict[str, Callable[[], Any]] = {
    "logistic, C = 1": lambda: LogisticRegression(tol=1e-6, max_iter=5000),
    "ridge": RidgeClassifier,
    "LDA, shrinkage 0.3": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3),
    "LinearSVC, C = 0.1": lambda: LinearSVC(C=0.1),
}
SETS = ("mc_wine", "mc_vehicle", "mc_srbct_khan")


def sample(rng: np.random.Generator, n: int, P: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and centres of four classes; about as hard for every P."""
    centres = rng.uniform(0.3, 1.4) * rng.normal(size=(4, P)) * np.sqrt(4 / P)
    y = np.arange(n) % 4
    return rng.normal(size=(n, P)) + centres[y], y, centres


def ranking_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """What rows of a class are ranked by: log odds where the model has probabilities, else its own decision value."""
    z: np.ndarray = model.decision_function(X)
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


def by_refits(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The average AUC of the scores that each row gets from a fit without it."""
    everyone = np.arange(y.size)
    scores = [ranking_scores(clone(model).fit(X[everyone != i], y[everyone != i]), X[[i]])[0] for i in everyone]
    return hand_till(y, np.array(scores))


TEXT = f"""\
## Four Gaussian classes, {SAMPLES} samples of each shape

covered: share of {LEVEL:.0%} intervals that hold the average AUC on {TEST_ROWS} new rows. shuffled: mean of the
posterior means over {SHUFFLES} samples without signal."""
REFITS = """
## Against refits

pairs: share of ordered pairs by removal in closed form. refits: the same with one refit for each row.
"""


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")
    begin("multiclass", "More than two classes", TEXT)
    begin_table("classifier | rows x columns | covered | mean AUC | bias | error | shuffled")
    for name, family in FAMILIES.items():
        for n, P in SHAPES:
            covered, truth, bias, error = coverage(family, n, P)
            noise = f"{on_noise(family, n, P):.3f}"
            print_row(name, f"{n} x {P}", f"{covered:.3f}", f"{truth:.3f}", f"{bias:+.3f}", f"{error:.3f}", noise)
    print(REFITS)
    begin_table("data | rows x columns | classes | classifier | pairs | refits | difference | posterior mean")
    for name in SETS:
        X, y = named(name)
        X = StandardScaler().fit_transform(X)  # the scaler, fitted once, is part of the problem here
        for label in ("logistic, C = 1", "ridge"):
            model = make_pipeline(FAMILIES[label]()).fit(X, y)
            post, refits = fl.auc_posterior(model, X, y), by_refits(model, X, y)
            pairs = post.details["pair_auc"]
            figures = f"{pairs:.4f}", f"{refits:.4f}", f"{pairs - refits:+.4f}", f"{post.mean:.4f}"
            print_row(name, f"{X.shape[0]} x {X.shape[1]}", y.max() + 1, label, *figures)


if __name__ == "__main__":
    main()
