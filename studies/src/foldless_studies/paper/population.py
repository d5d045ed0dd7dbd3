"""Two simulated classes, and the exact AUC of any linear classifier on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from foldless_studies.sample import Floats, Known, Labels

RESPONDERS = 0.6
DF = 3


@dataclass(frozen=True)
class Population:
    """Class 0 around 0, class 1 around `shift`, with noise of some law.

    Attributes
    ----------
    name : str
        Names the random numbers: cells of equal name and size see the same data.
    shift : tuple of P floats
    variance0, variance1 : float or tuple of P floats
    correlation : float
        Between any two columns, before the variances.
    law : str
        "normal"; "heavy", rows of a multivariate Student t with 3 degrees of freedom; "skew", exponential columns;
        "mixture", where 40 % of class 1 look like class 0 and the others make up for it. The last three have
        variance 1 (of the normal part) and no correlation.

    Examples
    --------
    >>> round(Population("two", (1.0, 1.0)).truth(np.ones((2, 1)))[0].auc, 4)  # Phi(1)
    0.8413
    """

    name: str
    shift: tuple[float, ...]
    variance0: float | tuple[float, ...] = 1.0
    variance1: float | tuple[float, ...] = 1.0
    correlation: float = 0.0
    law: str = "normal"

    @property
    def columns(self) -> int:
        return len(self.shift)

    def rows(self, y: Labels, rng: np.random.Generator) -> Floats:
        """One row per label."""
        return LAWS[self.law](self, y, rng)

    def truth(self, W: Floats) -> list[Known]:
        """AUC of the classifiers whose weights are the columns of W (P, K)."""
        return [Known(float(TRUTHS[self.law](self, w))) for w in W.T]

    @property
    def bayes(self) -> float | None:
        """AUC of the best linear classifier; None where no formula is known."""
        if self.law != "normal":
            return None
        total = self.covariance(0) + self.covariance(1)
        return float(ndtr(np.sqrt(np.array(self.shift) @ np.linalg.solve(total, np.array(self.shift)))))

    def covariance(self, c: int) -> Floats:
        sd = np.sqrt(np.broadcast_to((self.variance0, self.variance1)[c], (self.columns,)))
        mixed = np.full((self.columns, self.columns), self.correlation)
        np.fill_diagonal(mixed, 1.0)
        return np.asarray(sd[:, None] * mixed * sd)


def _normal_rows(population: Population, y: Labels, rng: np.random.Generator) -> Floats:
    X = rng.standard_normal((y.size, population.columns))
    for c in (0, 1):
        X[y == c] = X[y == c] @ _root(population, c).T
    return np.asarray(X + y[:, None] * np.array(population.shift))


@lru_cache(maxsize=8)
def _root(population: Population, c: int) -> Floats:
    return np.asarray(np.linalg.cholesky(population.covariance(c)), dtype=np.float64)


def _heavy_rows(population: Population, y: Labels, rng: np.random.Generator) -> Floats:
    noise = rng.standard_normal((y.size, population.columns)) / np.sqrt(rng.chisquare(DF, (y.size, 1)) / DF)
    return np.asarray(noise + y[:, None] * np.array(population.shift))


def _skew_rows(population: Population, y: Labels, rng: np.random.Generator) -> Floats:
    noise = rng.standard_exponential((y.size, population.columns)) - 1
    return np.asarray(noise + y[:, None] * np.array(population.shift))


def _mixture_rows(population: Population, y: Labels, rng: np.random.Generator) -> Floats:
    noise = rng.standard_normal((y.size, population.columns))
    responds = (y == 1) & (rng.random(y.size) < RESPONDERS)
    return np.asarray(noise + responds[:, None] * np.array(population.shift) / RESPONDERS)


def _normal_truth(population: Population, w: Floats) -> float:
    spread = w @ _total(population) @ w
    return float(ndtr(w @ np.array(population.shift) / np.sqrt(spread))) if spread > 0 else 0.5


@lru_cache(maxsize=8)
def _total(population: Population) -> Floats:
    return population.covariance(0) + population.covariance(1)


def _distance(population: Population, w: Floats) -> float:
    """Shift along w in units of |w|; 0 for weights that rank nothing."""
    length = np.linalg.norm(w)
    return float(w @ np.array(population.shift) / length) if length > 0 else 0.0


# Student's t as equally probable points: the middles of many slices.
_HEAVY = stdtrit(DF, (np.arange(4000) + 0.5) / 4000)


def _heavy_truth(population: Population, w: Floats) -> float:
    """P(T1 + d > T0) for independent Student t: along any direction the noise has the same law."""
    return float(np.mean(stdtr(DF, _HEAVY + _distance(population, w))))


def _mixture_truth(population: Population, w: Floats) -> float:
    apart = ndtr(_distance(population, w) / RESPONDERS / np.sqrt(2))
    return float(RESPONDERS * apart + (1 - RESPONDERS) / 2)


# Gauss-Legendre on (0, 1), carried to t = u / (1 - u) on (0, inf).
_NODES, _WEIGHTS = (half / 2 for half in np.polynomial.legendre.leggauss(600))
_NODES = _NODES + 0.5
_T = _NODES / (1 - _NODES)


def _skew_truth(population: Population, w: Floats) -> float:
    """P(d + sum_j w_j L_j > 0), where L_j, the difference of two exponentials, has the Laplace law.

    Its characteristic function is prod 1 / (1 + (w_j t)^2); the inversion formula of Gil-Pelaez gives
    1/2 + 1/pi times the integral of sin(d t) / t prod 1 / (1 + (w_j t)^2) over t > 0.
    """
    length = np.linalg.norm(w)
    if length == 0:
        return 0.5
    damping = np.prod(1 / (1 + (np.outer(_T, w / length)) ** 2), axis=1)
    values = np.sin(_distance(population, w) * _T) / _T * damping / (1 - _NODES) ** 2
    return float(0.5 + _WEIGHTS @ values / np.pi)


LAWS: dict[str, Callable[[Population, Labels, np.random.Generator], Floats]] = {
    "normal": _normal_rows,
    "heavy": _heavy_rows,
    "skew": _skew_rows,
    "mixture": _mixture_rows,
}
TRUTHS: dict[str, Callable[[Population, Floats], float]] = {
    "normal": _normal_truth,
    "heavy": _heavy_truth,
    "skew": _skew_truth,
    "mixture": _mixture_truth,
}
