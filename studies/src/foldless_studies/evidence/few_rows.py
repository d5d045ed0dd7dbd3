"""Does the answer hold where one class has few rows?

    python -m foldless_studies.evidence.few_rows > results/few_rows.md

Normal columns, logistic regression with C = 1; the true AUC of the fitted weights is known. About three minutes.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression

import foldless as fl
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.populations import Population

SAMPLES = 200
SIZES = ((30, 100), (100, 10), (100, 500))
FEW = (2, 3, 4, 5, 7, 10, 15)
INFORMATIVE, AUC = 5, 0.9
TEXT = f"""\
Normal columns, {SAMPLES} samples of each kind, logistic regression with C = 1. Without signal: share of 90 % intervals
that lie above 0.5 (5 % are due), and the mean. With signal in five columns (the best rule has an AUC of {AUC}): share
of 90 % intervals that hold the AUC of the fitted weights, and the mean error."""


def population(p: int, auc: float) -> Population:
    """A few columns differ, so that the best rule has the AUC."""
    each = float(np.sqrt(2 / INFORMATIVE) * ndtri(auc))
    return Population("few rows", (each,) * INFORMATIVE + (0.0,) * (p - INFORMATIVE))


def trial(n: int, p: int, n1: int, auc: float, number: int) -> tuple[bool, bool, float, float]:
    """Whether the 90 % interval holds the truth, whether it lies above 0.5, the mean, and its error."""
    classes, y = population(p, auc), (np.arange(n) < n1).astype(int)
    X = classes.rows(y, np.random.default_rng([number, n, p, n1]))
    model = LogisticRegression(C=1.0, tol=1e-6, max_iter=1000).fit(X, y)
    truth = classes.truth(model.coef_.T)[0].auc
    post = fl.auc_posterior(model, X, y)
    low, high = post.interval(0.9)
    return low <= truth <= high, low > 0.5, post.mean, abs(post.mean - truth)


def main() -> None:
    """Print the page."""
    begin("few_rows", "Few rows of a class", TEXT)
    begin_table("rows | columns | of the small class | noise: above 0.5 | mean | signal: covered | error", left=0)
    for n, p in SIZES:
        for n1 in (k for k in FEW if 2 * k <= n):
            noise, signal = (np.array([trial(n, p, n1, auc, k) for k in range(SAMPLES)]) for auc in (0.5, AUC))
            figures = noise[:, 1].mean(), noise[:, 2].mean(), signal[:, 0].mean(), signal[:, 3].mean()
            print_row(n, p, n1, *(f"{x:.3f}" for x in figures))


if __name__ == "__main__":
    main()
