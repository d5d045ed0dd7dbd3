"""Priors of the paper's in-sample model, their projection on a weight vector, and the adaptive prior.

The model (Hassan et al. 2019, section 2): rows of class c are N(mu_c, Sigma) with

    Sigma ~ InverseWishart(S, kappa),    mu_c | Sigma ~ N(m_c, Sigma / nu_c).

`Prior` holds the hyperparameters; `Prior.along` reduces them to a few scalars per classifier, which is all that the
conjugate update needs. S is never expanded to a P x P matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from foldless import checks
from foldless.checks import Array, Floats, as_finite_numbers, as_number
from foldless.errors import InputError, PriorError
from foldless.laws.effect import GridEffect, StudentEffect

Family = Literal["inverse-wishart", "scaled-identity", "known", "adaptive"]


@dataclass(frozen=True)
class ProjectedPrior:
    """A prior projected on w: scalars, or arrays with one entry per classifier."""

    family: Family
    mean0: Any
    mean1: Any
    nu0: float
    nu1: float
    scale: Any
    kappa: float
    n_features: int
    norm2: Any


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior of the in-sample model; build it with one of the named constructors.

    Examples
    --------
    >>> from foldless import Prior
    >>> Prior.paper()
    Prior.paper()
    >>> Prior.niw(nu0=1, nu1=1, scale=2.0, kappa=10).nu0
    1.0
    """

    family: Family
    name: str
    mean0: Any = 0.0
    mean1: Any = 0.0
    nu0: float = 0.0
    nu1: float = 0.0
    scale: Any = 0.0
    kappa: float | None = 0.0  # None: P + 2

    def __post_init__(self) -> None:
        checked = {
            "mean0": _checked_mean(self.mean0, "mean0"),
            "mean1": _checked_mean(self.mean1, "mean1"),
            "nu0": _non_negative(self.nu0, "nu0"),
            "nu1": _non_negative(self.nu1, "nu1"),
            "scale": _checked_scale(self.scale, "covariance" if self.family == "known" else "scale"),
            "kappa": None if self.kappa is None else _number(self.kappa, "kappa"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def paper(cls) -> Prior:
        """The paper's choice: m = 0, S = I, nu = 0.5, kappa = P + 2.

        It puts the squared Mahalanobis distance between the classes at about 4 P: with many features it is certain
        that the AUC is 1 before it has seen any data. Use it to reproduce the paper.
        """
        return cls("inverse-wishart", "Prior.paper()", nu0=0.5, nu1=0.5, scale=1.0, kappa=None)

    @classmethod
    def improper(cls) -> Prior:
        """No prior information: S = 0, nu = kappa = 0. The posterior is proper only if P <= N."""
        return cls("inverse-wishart", "Prior.improper()")

    @classmethod
    def niw(
        cls,
        *,
        mean0: Any = 0.0,
        mean1: Any = 0.0,
        nu0: float = 0.5,
        nu1: float = 0.5,
        scale: Any = 1.0,
        kappa: float | None = None,
    ) -> Prior:
        """Normal-inverse-Wishart prior with your own hyperparameters.

        Parameters
        ----------
        mean0, mean1 : float or array of shape (P,)
            Prior means of the negative and the positive class.
        nu0, nu1 : float
            How many rows each prior mean counts for.
        scale : float, array of shape (P,) or (P, P)
            S: a multiple of the identity, a diagonal, or a full matrix.
        kappa : float, optional
            Degrees of freedom of the inverse Wishart; P + 2 by default.
        """
        return cls("inverse-wishart", "Prior.niw(...)", mean0, mean1, nu0, nu1, scale, kappa)

    @classmethod
    def scaled_identity(
        cls,
        *,
        mean0: Any = 0.0,
        mean1: Any = 0.0,
        nu0: float = 0.5,
        nu1: float = 0.5,
        scale: Any = 1.0,
        kappa: float | None = None,
    ) -> Prior:
        """Prior with Sigma = sigma^2 I, as in the paper's supplement. Parameters as in `Prior.niw`."""
        return cls("scaled-identity", "Prior.scaled_identity(...)", mean0, mean1, nu0, nu1, scale, kappa)

    @classmethod
    def known_covariance(
        cls, covariance: Any, *, mean0: Any = 0.0, mean1: Any = 0.0, nu0: float = 0.0, nu1: float = 0.0
    ) -> Prior:
        """Sigma is known and the means are not (the paper's Lemma 1).

        `covariance` is a multiple of the identity, a diagonal or a full matrix.
        """
        return cls("known", "Prior.known_covariance(...)", mean0, mean1, nu0, nu1, covariance)

    @classmethod
    def adaptive(cls) -> Prior:
        """Hyperparameters weighted by their evidence: X and y tell how far apart the classes are.

        Flat grand mean, Delta | Sigma ~ N(0, Sigma / nu), S = s d I; nu, s and d are averaged over a
        grid. Accurate on Gaussian data with P <= N; too pessimistic on strongly correlated features.
        """
        return cls("adaptive", "Prior.adaptive()")

    def __repr__(self) -> str:
        return self.name

    def along(self, w: Floats) -> ProjectedPrior:
        """Reduce the prior to scalars along w of shape (P,) or (P, K)."""
        P = w.shape[0]
        mean0, mean1 = self.mean_vectors(P)
        S = _of_size(self.scale, P, "scale")
        return ProjectedPrior(
            family=self.family,
            mean0=mean0 @ w,
            mean1=mean1 @ w,
            nu0=self.nu0,
            nu1=self.nu1,
            scale=_products(w, (S @ w) if S.ndim == 2 else (S * w.T).T),
            kappa=P + 2 if self.kappa is None else self.kappa,
            n_features=P,
            norm2=_products(w, w),
        )

    def mean_vectors(self, n_features: int) -> tuple[Floats, Floats]:
        """Both prior means, as vectors of length P."""
        mean0, mean1 = _of_size(self.mean0, n_features, "mean0"), _of_size(self.mean1, n_features, "mean1")
        return np.broadcast_to(mean0, (n_features,)), np.broadcast_to(mean1, (n_features,))

    def scale_trace(self, n_features: int) -> float:
        """Trace of S."""
        S = _of_size(self.scale, n_features, "scale")
        return float(np.broadcast_to(np.diag(S) if S.ndim == 2 else S, (n_features,)).sum())


def _products(a: Floats, b: Floats) -> Any:
    """Inner product of each column of a with that of b."""
    return np.einsum("i...,i...->...", a, b)


def _of_size(value: Any, n_features: int, name: str) -> Floats:
    """A hyperparameter as an array; refused if it is for another number of features."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and array.shape[0] != n_features:
        raise PriorError(f"the prior's {name} is for {array.shape[0]} features but X has {n_features} columns.")
    return array


def _number(value: Any, name: str) -> float:
    try:
        return as_number(value, name)
    except ValueError as err:
        raise PriorError(str(err)) from err


def _non_negative(value: Any, name: str) -> float:
    number = _number(value, name)
    if number < 0:
        raise PriorError(f"{name} must not be negative (it counts rows), got {value!r}.")
    return number


def _numeric_array(value: Any, name: str) -> Floats:
    try:
        array = as_finite_numbers(value, name).copy()
    except ValueError as err:
        raise PriorError(str(err)) from err
    array.setflags(write=False)
    return array


def _checked_mean(value: Any, name: str) -> Any:
    array = _numeric_array(value, name)
    if array.ndim > 1:
        raise PriorError(f"{name} must be a number or a vector of length P, got shape {array.shape}.")
    return float(array) if array.ndim == 0 else array


def _checked_scale(value: Any, name: str) -> Any:
    S = _numeric_array(value, name)
    if S.ndim > 2 or (S.ndim == 2 and S.shape[0] != S.shape[1]):
        raise PriorError(f"{name} must be a number, a vector (P,) or a square matrix (P, P), got shape {S.shape}.")
    if np.any((np.diag(S) if S.ndim == 2 else S) < 0):
        raise PriorError(f"{name} must be positive semi-definite, got a negative entry on its diagonal.")
    if S.ndim == 2:
        _positive_semidefinite(S, name)
    return float(S) if S.ndim == 0 else S


def _positive_semidefinite(S: Floats, name: str) -> None:
    top = max(float(np.abs(S).max()), np.finfo(float).tiny)
    if not np.allclose(S, S.T, rtol=1e-10, atol=1e-12 * top):
        raise PriorError(f"{name} must be symmetric: pass (S + S.T) / 2.")
    if np.linalg.eigvalsh(S)[0] < -1e-10 * top * S.shape[0]:
        raise PriorError(f"{name} must be positive semi-definite, got a negative eigenvalue.")


# ---- `Prior.adaptive()`: a hierarchical prior whose hyperparameters are weighted by their evidence.
#
# With a flat prior on the grand mean, Delta = mu1 - mu0 and c = n0 n1 / N,
#
#     Sigma ~ InverseWishart(s d I, kappa),  d = kappa - P + 1,      Delta | Sigma ~ N(0, Sigma / nu)
#
#     Delta* = c/(c+nu) Delta_hat,  S* = s d I + W + c nu/(c+nu) Delta_hat Delta_hat',  kappa* = kappa + N - 1
#
# W is the within-class scatter. Along w the separation is again a `StudentEffect`. The evidence
# p(X | y, nu, s, d) needs det S*, hence the eigenvalues of W, taken from its smaller Gram matrix.

# tau^2 = P / nu is the prior mean of the squared Mahalanobis distance between the classes. The grid runs from an
# AUC of 0.59 for the best classifier to perfect separation; smaller values would only shrink every answer further.
TAU2 = np.geomspace(0.1, 100.0, 11)
DF = np.geomspace(1.0, 1000.0, 9)
# In units of the mean variance within the classes. With many features the scale is known to a few per cent.
SCALE = np.geomspace(0.05, 4.0, 45)
POINTS = np.linspace(-6.0, 12.0, 541)
NEGLIGIBLE = 1e-4
LEAST, TINY = 1e-100, 1e-300  # of a variance: in units of the squared distance of the classes, and at all


@dataclass(frozen=True)
class WithinSpectrum:
    """Eigenvalues of W, and squared coordinates of Delta_hat: on its axes, and in total `outside` them."""

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
    """Decompose the data once, through the smaller of the N x N and P x P Gram matrices."""
    checks.sane_size(X)
    M = checks.dense(X)
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

    The product over features telescopes into one over rows; the shorter of the two is used.
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
        raise InputError(
            "the squares of the weights or of the scores overflow or vanish: rescale w, or X before the fit."
        )
    # The separation does not depend on the length of w.
    difference, scatter = difference / float(np.sqrt(norm2)), scatter / norm2
    within = float(data.eigenvalues.sum()) / (data.n_features * max(data.n0 + data.n1 - 2, 1))
    typical = max(within, LEAST * float(data.squares.sum()), TINY)
    nu, d, s = np.meshgrid(data.n_features / TAU2, DF, SCALE * typical, indexing="ij")
    log_weights = log_evidence(data, nu, d, s).ravel()
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    log_density = np.full_like(POINTS, -np.inf)
    for i in np.flatnonzero(weights > NEGLIGIBLE):
        effect = _component(data, difference, scatter, nu.ravel()[i], d.ravel()[i], s.ravel()[i])
        # In logarithms: where the mass lies far beyond the grid all densities vanish, and its end should take it.
        log_density = np.logaddexp(log_density, np.log(weights[i]) + effect.logpdf(POINTS))
    return GridEffect(POINTS, log_density)


def _component(data: WithinSpectrum, difference: float, scatter: float, nu: float, d: float, s: float) -> StudentEffect:
    """The effect along a w of length 1, given the hyperparameters."""
    c, df = data.c, d + data.n0 + data.n1 - 1
    quadratic = s * d + scatter + c * nu / (c + nu) * difference**2
    return StudentEffect(c / (c + nu) * difference * float(np.sqrt(df / quadratic)), float((c + nu) ** -0.5), df)
