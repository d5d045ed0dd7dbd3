"""Rows removed from linear discriminant analysis with fixed shrinkage, in closed form.

Up to a constant per row, the decision value of class k is -1/2 |x - mu_k|^2 in the metric of the inverse covariance,
plus the log prior. Removing rows i and j changes the class means and subtracts a matrix of rank two from the
within-class scatter W:

    W(-S) = W - U C U',   U = [d_i, d_j],   d = x - its class mean,
    M(-S)^-1 = M^-1 + M^-1 U (C^-1 - U' M^-1 U)^-1 U' M^-1,   M = W + lam I,   lam = q/(1 - q) tr(W)/P,

with C = diag(n/(n - 1)) for rows of different classes and I + 11'/(n - 2) for two of the same. This is exact without
shrinkage. With shrinkage, the change of tr W is neglected: it is nearly a common factor of the decision values of a
fit, which changes no rank. User-supplied priors enter as row masses and stay fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.checks import Floats, Ints, dense
from foldless.errors import InputError
from foldless.honest.design import Design, build_design, inverse_root
from foldless.honest.families import MAX_SHRINKAGE, known_class, shrinkage
from foldless.honest.removal import column_blocks
from foldless.honest.scales import VANISHED, change_without_row, measured
from foldless.honest.scaling import lifted
from foldless.honest.stand_ins import NO_SLACK, PENALTY
from foldless.model.view import LinearView


@dataclass(frozen=True, eq=False)
class Discriminant:
    """Rows and class means in coordinates in which M is the identity."""

    rows: Floats  # (N, r)
    means: Floats  # (K, r)
    codes: Ints  # class of each row
    counts: Ints  # rows of each class
    mass: Floats  # (K,): weight in W of a row of each class
    kept: float  # 1 - shrinkage
    lost: int  # degrees of freedom subtracted in the covariance W / (N - lost)
    log_prior: Floats | None  # (K,); None where the priors follow the class counts
    # Where the scaler leaves with the rows: Delta of each row (N, P), the map to the columns of X (r, P), and the
    # diagonal of M^-1 there (P,).
    scaler: tuple[Floats, Floats, Floats] | None = None

    def precision(self, removed: int) -> float:
        """Factor that turns M^-1 into the inverse covariance, with `removed` rows removed."""
        return (self.codes.size - removed - self.lost) / self.kept


def discriminant_of(view: LinearView, sample_weight: Floats | None) -> Discriminant | None:
    """The classifier in closed form; None when shrinkage is estimated or the scatter is singular."""
    est: Any = view.estimator
    if known_class(est, ("LinearDiscriminantAnalysis",)) is None:
        return None
    if sample_weight is not None:
        raise InputError("LinearDiscriminantAnalysis.fit takes no sample_weight: leave it out.")
    q = shrinkage(est)
    N, P = view.X.shape
    if q is None or (q == 0 and P + len(view.classes) + 2 > N):
        # Without two rows the scatter is singular. Inverting it drops directions, which removal formulas cannot do.
        return None
    return _discriminant(view, est, min(q, MAX_SHRINKAGE))


def scores_alone(model: Discriminant) -> tuple[Floats, Floats]:
    """Decision values (K, N) of each row without it, up to a constant per row; and each row's influence on its own."""
    x, codes = model.rows, model.codes
    d, n, mass = x - model.means[codes], model.counts[codes].astype(float), model.mass[codes]
    diagonal, reach = np.einsum("ij,ij->i", d, d), np.einsum("ij,ij->i", x, d)
    slack = (n - 1) / (n * mass) - diagonal
    alone = np.empty((len(model.counts), codes.size))
    for k, mean in enumerate(model.means):
        own, inside = reach - d @ mean, codes == k
        # v = x_i - mu_k(-i) = (x_i - mu_k) + a d_i, a = 1/(n - 1) for its own class.
        a = np.where(inside, 1.0 / (n - 1), 0.0)
        along = own + a * diagonal
        length = np.sum((x - mean) ** 2, axis=1) + 2 * a * own + a**2 * diagonal + along**2 / slack
        alone[k] = -0.5 * model.precision(1) * length + _log_prior(model, k, inside)
    return alone, diagonal / slack


def of_scaler(model: Discriminant) -> Floats:
    """What the scaler adds to `scores_alone`, and in pairs: 1/2 E (M_S^-1 v)^2, with E of `foldless.honest.scaling`."""
    if model.scaler is None:
        return np.zeros((len(model.counts), model.codes.size))
    (change, back, inverse), x, codes, n = model.scaler, model.rows, model.codes, model.counts[model.codes]
    d, added = x - model.means[codes], []
    slack = ((n - 1) / (n * model.mass[codes]) - np.einsum("ij,ij->i", d, d))[:, None]
    E = change / np.maximum(1.0 + change * (inverse + (d @ back) ** 2 / slack), VANISHED)
    for k, mean in enumerate(model.means):
        v = x - mean + np.where(codes == k, 1.0 / (n - 1), 0.0)[:, None] * d
        reached = (v + np.einsum("ij,ij->i", v, d)[:, None] / slack * d) @ back
        added.append(0.5 * model.precision(1) * np.einsum("ij,ij->i", E, reached**2))
    return np.array(added)


def added_back(model: Discriminant) -> Floats:
    """What an average row of its own class, in the place of each row, adds to `scores_alone`: the prior it had.

    A row at the mean of a class moves no mean.
    """
    own = np.arange(len(model.counts))[:, None] == model.codes
    n = model.counts[model.codes]
    return np.where(own, np.log(n / (n - 1)), 0.0) if model.log_prior is None else np.zeros(own.shape)


def scores_in_pairs(model: Discriminant, rows: Ints) -> Floats:
    """Decision values (K, m, m) of row i without i and j, up to a constant per row, for all pairs of `rows`."""
    x, codes = model.rows[rows], model.codes[rows]
    d, n, mass = x - model.means[codes], model.counts[codes].astype(float), model.mass[codes]
    G, reach = d @ d.T, x @ d.T  # <d_i, d_j> and <x_i, d_j>
    inverse = _pair_inverse(G, n, mass, codes)
    without = np.empty((len(model.counts), rows.size, rows.size))
    for k, mean in enumerate(model.means):
        at_mean, squared = d @ mean, np.sum((x - mean) ** 2, axis=1)
        without[k] = _pairs(model, k, codes, n, squared, np.diag(reach) - at_mean, reach - at_mean, G, inverse)
    return without


def _pairs(
    model: Discriminant,
    k: int,
    codes: Ints,
    n: Floats,
    squared: Floats,
    own: Floats,
    cross: Floats,
    G: Floats,
    inverse: tuple[Floats, Floats, Floats],
) -> Floats:
    """Decision values (m, m) for class k of row i without i and j: v = (x_i - mu_k) + a d_i + b d_j."""
    inside, same = codes == k, codes[:, None] == codes
    left = n[:, None] - 1 - same  # rows left in the class of i; for j in k and i in another class, n_j - 1
    a = np.where(inside[:, None], 1.0 / left, 0.0)
    b = np.where(inside, 1.0 / np.where(same, left, n - 1), 0.0)
    gi, gj = np.diag(G)[:, None], np.diag(G)
    vi = own[:, None] + a * gi + b * G
    vj = cross + a * G + b * gj
    length = squared[:, None] + 2 * (a * own[:, None] + b * cross) + a**2 * gi + b**2 * gj + 2 * a * b * G
    Kii, Kij, Kjj = inverse
    length = length + Kii * vi**2 + 2 * Kij * vi * vj + Kjj * vj**2
    gone = inside[:, None].astype(int) + inside
    return np.asarray(-0.5 * model.precision(2) * length + _log_prior(model, k, gone))


def _pair_inverse(G: Floats, n: Floats, mass: Floats, codes: Ints) -> tuple[Floats, Floats, Floats]:
    """Entries ii, ij, jj of (C^-1 - U' M^-1 U)^-1 for all pairs.

    C^-1 = diag((n - 1)/n) between classes and I - 11'/n within one, over the mass of a row.
    """
    same = codes[:, None] == codes
    ii = ((n - 1) / (n * mass) - np.diag(G))[:, None]
    jj = ii.T
    ij = np.where(same, -1.0 / (n * mass), 0.0) - G
    # On the diagonal there is no pair and the determinant vanishes; these entries are not used.
    det = np.where(np.eye(len(G), dtype=bool), 1.0, ii * jj - ij**2)
    return jj / det, -ij / det, ii / det


def _log_prior(model: Discriminant, k: int, gone: Any) -> Any:
    """Log prior of class k with `gone` of its rows removed, up to a constant common to all classes."""
    return np.log(model.counts[k] - gone) if model.log_prior is None else model.log_prior[k]


def _discriminant(view: LinearView, est: Any, q: float) -> Discriminant:
    N, P = view.X.shape
    design = build_design(view.X, constant=0.0, free_intercept=True)
    A = design.rows(slice(None), None)
    A = A - A.mean(axis=0)
    counts = view.counts
    means = np.array([A[view.codes == k].mean(axis=0) for k in range(len(counts))])
    by_prior = est.priors is not None and est.solver != "svd"
    mass = np.asarray(est.priors_) * N / counts if by_prior else np.ones(len(counts))
    d = (A - means[view.codes]) * np.sqrt(mass[view.codes, None])
    M, lam = d.T @ d, q / (1 - q) * float(np.sum(d**2)) / P
    M.flat[:: len(M) + 1] += lam
    log_prior = None if est.priors is None else np.log(np.asarray(est.priors_, dtype=np.float64))
    model = Discriminant(A, means, view.codes, counts, mass, 1.0 - q, 0, log_prior)
    seen = _seen_through(model, M)
    if q == 0 and _is_undetermined(seen):
        M.flat[:: len(M) + 1] *= 1.0 + PENALTY
        seen = _seen_through(model, M)
    scaler = _scaler(view, lam, inverse_root(M), design) if view.scaled and q else None
    return replace(seen, lost=_lost(seen, view.scores()), scaler=scaler)


def _scaler(view: LinearView, lam: float, R: Floats, design: Design) -> tuple[Floats, Floats, Floats]:
    Q = np.eye(len(R)) if design.pivots is None else lifted(design, dense(view.X), True)
    back, outside = R.T @ Q, (1.0 - np.sum(Q**2, axis=0)) / lam
    change = change_without_row(view.X, measured(view.X, view.scaled, None), slice(None))
    return lam * change, back, np.sum(back**2, axis=0) + outside


def _seen_through(model: Discriminant, M: Floats) -> Discriminant:
    R = inverse_root(M)
    return replace(model, rows=model.rows @ R, means=model.means @ R)


def _is_undetermined(model: Discriminant) -> bool:
    """Whether two rows alone determine a direction, as in `foldless.honest.stand_ins`."""
    n, mass = model.counts[model.codes].astype(float), model.mass[model.codes]
    d = model.rows - model.means[model.codes]
    most, squared = (n - 1) / (n * mass), np.einsum("ij,ij->i", d, d)
    slack, strong = most - squared, np.flatnonzero(squared >= 0.5 * most)
    least = float(np.min(slack * mass))
    for part in column_blocks(len(d), len(strong)):
        i = strong[part]
        off = d @ d[i].T + np.where(model.codes[:, None] == model.codes[i], 1.0 / (n * mass)[i], 0.0)
        off[i, np.arange(len(i))] = 0.0
        least = min(least, float(np.min((slack[:, None] * slack[i] - off**2) * mass[:, None] * mass[i])))
    return least < NO_SLACK


def _lost(model: Discriminant, fitted: Floats) -> int:
    """0 or K, whichever comes closer to the slope of the fitted decision values: scikit-learn versions differ."""
    ours, theirs = (z - z.mean(axis=1, keepdims=True) for z in (decisions(model), fitted))
    ours, theirs = ours - ours.mean(axis=0), theirs - theirs.mean(axis=0)
    steepness = float(np.sum(ours * theirs) / max(float(np.sum(ours**2)), np.finfo(float).tiny))
    N, K = model.codes.size, len(model.counts)
    return K if abs(steepness - (N - K) / N) < abs(steepness - 1.0) else 0


def decisions(model: Discriminant) -> Floats:
    """Decision values of all rows under the full fit, up to a constant per row; shape (N, K)."""
    length = np.stack([np.sum((model.rows - mean) ** 2, axis=1) for mean in model.means], axis=1)
    prior = np.log(model.counts) if model.log_prior is None else model.log_prior
    return np.asarray(-0.5 * model.precision(0) * length + prior)
