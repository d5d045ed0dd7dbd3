"""`Prior.adaptive()`: a hierarchical prior whose hyperparameters are weighted by their evidence.

With a flat prior on the grand mean, Delta = mu1 - mu0 and c = n0 n1 / N,

    Sigma ~ InverseWishart(s d I, kappa),  d = kappa - P + 1,      Delta | Sigma ~ N(0, Sigma / nu)

    Delta* = c/(c+nu) Delta_hat,  S* = s d I + W + c nu/(c+nu) Delta_hat Delta_hat',  kappa* = kappa + N - 1

W is the within-class scatter. Along w the separation is again a `StudentEffect`. The evidence
p(X | y, nu, s, d) needs det S*, hence the eigenvalues of W, taken from its smaller Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from foldless import _check
from foldless._check import Array, Floats
from foldless.errors import InputError
from foldless.grid import GridEffect
from foldless.student import StudentEffect

# tau^2 = P / nu is the prior mean of the squared Mahalanobis distance between the classes: from an AUC
# of 0.59 for the best classifier to perfect separation. Smaller values only shrink every answer further.
TAU2 = np.geomspace(0.1, 100.0, 11)
DF = np.geomspace(1.0, 1000.0, 9)
# In units of the mean variance within the classes. Many features pin the scale down to a few per cent.
SCALE = np.geomspace(0.05, 4.0, 45)
POINTS = np.linspace(-6.0, 12.0, 541)
NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class WithinSpectrum:
    """Eigenvalues of W, squared coordinates of Delta_hat on its axes, and what lies outside them."""

    eigenvalues: Floats
    squares: Floats
    outside: float
    n0: int
    n1: int
    n_features: int

    @property
    def c(self) -> float:
        return self.n0 * self.n1 / (self.n0 + self.n1)


def spectrum(X: Any, positive: Array) -> WithinSpectrum:
    """Decompose the data once; the smaller of the N x N and P x P Gram matrices is used."""
    _check.sane_size(X)
    M = np.asarray(X.todense() if _check.is_sparse(X) else X, dtype=np.float64)
    means = np.stack([M[~positive].mean(axis=0), M[positive].mean(axis=0)])
    delta = means[1] - means[0]
    centred = M - means[positive.astype(int)]
    values, squares = _coordinates(centred, delta)
    outside = max(float(delta @ delta) - float(squares.sum()), 0.0)
    n1 = int(positive.sum())
    return WithinSpectrum(values, squares, outside, positive.size - n1, n1, M.shape[1])


def _coordinates(centred: Floats, delta: Floats) -> tuple[Floats, Floats]:
    N, P = centred.shape
    if P <= N:
        values, axes = np.linalg.eigh(centred.T @ centred)
        return np.maximum(values, 0.0), np.square(axes.T @ delta)
    values, left = np.linalg.eigh(centred @ centred.T)
    keep = values > 1e-10 * values[-1]
    return values[keep], np.square(left[:, keep].T @ (centred @ delta)) / values[keep]


def log_evidence(data: WithinSpectrum, nu: Floats, d: Floats, s: Floats) -> Floats:
    """log p(X | y, nu, d, s) up to a constant, for arrays that broadcast together."""
    P, N, c = data.n_features, data.n0 + data.n1, data.c
    kappa = P - 1 + d
    ridge = s * d
    shifted = ridge[..., None] + data.eigenvalues
    flat = P - data.eigenvalues.size
    distance = np.sum(data.squares / shifted, axis=-1) + (data.outside / ridge if flat else 0.0)
    log_det = np.sum(np.log(shifted), axis=-1) + flat * np.log(ridge) + np.log1p(c * nu / (c + nu) * distance)
    return np.asarray(
        _log_multigamma_ratio(kappa, N - 1, P)
        + 0.5 * kappa * P * np.log(ridge)
        - 0.5 * (kappa + N - 1) * log_det
        + 0.5 * P * np.log(nu / (c + nu))
    )


def _log_multigamma_ratio(kappa: Floats, rows: int, P: int) -> Floats:
    """log Gamma_P((kappa + rows)/2) - log Gamma_P(kappa/2).

    The product over P features telescopes into one over rows, whichever is shorter.
    """
    if rows <= P:
        i = np.arange(rows)
        upper, lower = (kappa[..., None] + i + 1) / 2, (kappa[..., None] - P + i + 1) / 2
    else:
        j = np.arange(P)
        upper, lower = (kappa[..., None] + rows - j) / 2, (kappa[..., None] - j) / 2
    return np.asarray(np.sum(gammaln(upper) - gammaln(lower), axis=-1))


def adaptive_effect(data: WithinSpectrum, difference: float, scatter: float, norm2: float) -> GridEffect:
    """Posterior of the separation along w: a mixture of Student effects, put on a grid.

    `difference` is w'Delta_hat, `scatter` is w'Ww and `norm2` is w'w.
    """
    if not (0 < norm2 < np.inf and np.isfinite(scatter)):
        raise InputError("the squares of the weights or of the scores are lost: rescale w, or X before the fit.")
    # The separation does not depend on the length of w.
    difference, scatter, norm2 = difference / float(np.sqrt(norm2)), scatter / norm2, 1.0
    typical = max(float(data.eigenvalues.sum()) / (data.n_features * max(data.n0 + data.n1 - 2, 1)), 1e-300)
    nu, d, s = np.meshgrid(data.n_features / TAU2, DF, SCALE * typical, indexing="ij")
    log_weights = log_evidence(data, nu, d, s).ravel()
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    log_density = np.full_like(POINTS, -np.inf)
    for i in np.flatnonzero(weights > NEGLIGIBLE):
        effect = _component(data, difference, scatter, norm2, nu.ravel()[i], d.ravel()[i], s.ravel()[i])
        # In logarithms: far beyond the grid all densities vanish, and the mass belongs to its end.
        log_density = np.logaddexp(log_density, np.log(weights[i]) + effect.logpdf(POINTS))
    return GridEffect(POINTS, log_density)


def _component(
    data: WithinSpectrum, difference: float, scatter: float, norm2: float, nu: float, d: float, s: float
) -> StudentEffect:
    c, N = data.c, data.n0 + data.n1
    df = d + N - 1
    quadratic = s * d * norm2 + scatter + c * nu / (c + nu) * difference**2
    return StudentEffect(c / (c + nu) * difference * float(np.sqrt(df / quadratic)), float((c + nu) ** -0.5), df)
