"""Rows that come in families, wherever in the file they stand: several of a subject, a molecule, a recording.

The question is not how close rows are (a smooth cloud has close rows too) but what a row's closest rows betray. A
ridge regression predicts every row twice: without the small cluster of close rows that it belongs to, and without as
many rows of the same classes drawn at random. What is lost with the one and not with the other only close rows knew.
Where rows are independent, a linear classifier learns as much from rows far away, and hardly anything is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless.checks import Floats, dense, slices
from foldless.findings.columns import BLOCK_ENTRIES
from foldless.findings.finding import Finding
from foldless.honest.design import Ints
from foldless.honest.pairs import Pairs

MOST_ROWS, MOST_COLUMNS, SEED = 600, 5000, 20240304  # rows and columns looked at, drawn at random where there are more
CLUSTER = 4  # rows on average: larger ones would take whole regions of independent rows away
CLIPPED = 3.0  # standard deviations, so that a few heavy tails do not decide who is close
PENALTIES = (0.01, 0.1, 1.0)  # relative to the mean squared length of a row; the best without a row is used
DRAWS = 3
# Loss of AUC, and its standard errors, from which rows count as families. Chosen on 31 real data sets, of which three
# that come in families are named and no other; none of 17 further ones is, and none of 1,248 drawn (docs/method.md).
LOST, ERRORS = 0.05, 3.0


def families(X: Any, classes: Any, rows: Ints) -> Finding | None:
    """Whether these `rows` betray the class of the rows closest to them, more than independent rows do."""
    rng = np.random.default_rng(SEED)
    rows = np.sort(rng.permutation(rows)[:MOST_ROWS])
    counts = np.unique(classes[rows], return_counts=True)[1]
    if counts.size < 2 or counts.min() < 3 * CLUSTER:  # too few to lose a cluster
        return None
    members = _members(classes[rows])
    K = _products(X[rows], rng)
    codes = _clusters(K)
    inverse, slope = _fitted(K, members - members.mean(axis=0))

    def auc(codes: Ints) -> float:
        each = zip((members - _errors(inverse, slope, codes)).T, members.T == 1.0, strict=True)
        return float(np.mean([Pairs(z[own], z[~own]).ranks().mean for z, own in each]))

    drawn = float(np.mean([auc(_drawn(codes, classes[rows], rng)) for _ in range(DRAWS)]))
    close = auc(codes)
    lost = drawn - max(close, 0.5)
    if lost < max(LOST, ERRORS * _standard_error(0.5 * (drawn + max(close, 0.5)), members)):
        return None
    return Finding(
        "families",
        "caution",
        f"rows give away the class of the rows closest to them, wherever they stand in the file: a ridge regression on "
        f"these columns reaches an AUC of {close:.2f} without the rows closest to the one that it judges, and "
        f"{drawn:.2f} without as many others.",
        "If several rows come from the same subject, session or recording, say which belong together (groups=... in "
        "Python, --groups COLUMN on the command line); otherwise the answer is too good and its interval too narrow. "
        "If every row is a subject of its own, nothing is wrong.",
        lost,
    )


def _members(classes: Any) -> Floats:
    """A column of 0 and 1 for each class; of two classes, for the second."""
    values = np.unique(classes)
    return np.asarray(classes[:, None] == values[values.size == 2 :], dtype=np.float64)


def _products(X: Any, rng: np.random.Generator) -> Floats:
    """Inner products of the standardised rows relative to their mean square, and 1 for the intercept."""
    n, p = X.shape
    columns, K = np.sort(rng.permutation(p)[:MOST_COLUMNS]), np.zeros((n, n))
    for part in slices(columns.size, n, BLOCK_ENTRIES):
        block = dense(X[:, columns[part]])
        centred, sd = block - block.mean(axis=0), block.std(axis=0)
        varies = sd > 1e-12 * np.abs(block).max(axis=0)
        Z = np.clip(centred[:, varies] / sd[varies], -CLIPPED, CLIPPED)
        K += Z @ Z.T
    return np.asarray(K / max(float(np.trace(K)) / n, np.finfo(float).tiny) + 1.0)


def _clusters(K: Floats) -> Ints:
    """Ward's clusters of `CLUSTER` rows on average."""
    from scipy.cluster.hierarchy import fcluster, ward

    lengths, (i, j) = np.diag(K), np.triu_indices(len(K), 1)
    tree = ward(np.sqrt(np.maximum(lengths[i] + lengths[j] - 2 * K[i, j], 0.0)))
    return np.asarray(fcluster(tree, len(K) // CLUSTER, "maxclust") - 1)


def _fitted(K: Floats, t: Floats) -> tuple[Floats, Floats]:
    """The inverse of K + penalty and its product with t, at the penalty with the least error without a row."""
    inverses = [np.asarray(np.linalg.inv(K + each * np.eye(len(K))), dtype=np.float64) for each in PENALTIES]
    best = min(inverses, key=lambda inverse: float(np.sum((inverse @ t / np.diag(inverse)[:, None]) ** 2)))
    return best, best @ t


def _errors(inverse: Floats, slope: Floats, codes: Ints) -> Floats:
    """Errors of the predictions of rows without all rows that have their code."""
    errors = np.empty_like(slope)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        errors[rows] = np.linalg.solve(inverse[np.ix_(rows, rows)], slope[rows])
    return errors


def _drawn(codes: Ints, classes: Any, rng: np.random.Generator) -> Ints:
    """The same clusters, of the same classes, with rows drawn at random."""
    drawn = codes.copy()
    for label in np.unique(classes):
        drawn[classes == label] = rng.permutation(codes[classes == label])
    return drawn


def _standard_error(auc: float, members: Floats) -> float:
    """Of an AUC (Hanley and McNeil 1982), averaged over the classes."""
    n1 = members.sum(axis=0)
    n0, both, twice = len(members) - n1, auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (n1 - 1) * (both - auc**2) + (n0 - 1) * (twice - auc**2)
    return float(np.mean(np.sqrt(variance / (n0 * n1))))
