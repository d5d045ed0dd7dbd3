"""Two simulated classes, and the exact AUC of any linear classifier on them: the simulator of all studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

import foldless as fl
from foldless_studies.sampling import Floats, Known, Labels, source

RESPONDERS = 0.6
DF = 3
TEST_ROWS, CHUNK = 20_000, 2_000


@dataclass(frozen=True)
class Population:
    """Class 0 around 0, class 1 around `shift`: rows are shift_c + sd_c L e, with e of some law.

    Attributes
    ----------
    name : str
        Names the random numbers: cells of equal name and size see the same data.
    shift : tuple of P floats
    variance0, variance1 : float or tuple of P floats
    correlation : float
        Between any two columns, before the variances; with `decaying`, correlation^|i-j| between columns i and j.
    law : str
        "normal"; "heavy", rows of a multivariate Student t with 3 degrees of freedom; "skew", exponential columns;
        "mixture", where 40 % of class 1 look like class 0 and the others make up for it. The exact truth of the last
        three is for variance 1 (of the normal part) and no correlation.

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
    decaying: bool = False
    law: str = "normal"

    @property
    def columns(self) -> int:
        return len(self.shift)

    def rows(self, y: Labels, rng: np.random.Generator) -> Floats:
        """One row per label."""
        noise, moved = LAWS[self.law](y, self.columns, rng)
        if self.correlation:
            noise = noise @ self.root().T
        sd = np.where((y == 1)[:, None], self.sd(1), self.sd(0))
        return np.asarray(sd * noise + moved[:, None] * np.array(self.shift))

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

    def sd(self, c: int) -> Floats:
        """Standard deviation of each column in class c."""
        return np.asarray(np.sqrt(np.broadcast_to((self.variance0, self.variance1)[c], (self.columns,))))

    def root(self) -> Floats:
        """Lower Cholesky factor of the correlations."""
        return _root(self.correlation, self.decaying, self.columns)

    def covariance(self, c: int) -> Floats:
        """Covariance of class c (of the normal part)."""
        sd = self.sd(c)
        return np.asarray(sd[:, None] * _correlations(self.correlation, self.decaying, self.columns) * sd)


def _correlations(correlation: float, decaying: bool, P: int) -> Floats:
    if decaying:
        return np.asarray(correlation ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))), dtype=np.float64)
    mixed = np.full((P, P), correlation)
    np.fill_diagonal(mixed, 1.0)
    return mixed


@lru_cache(maxsize=8)
def _root(correlation: float, decaying: bool, P: int) -> Floats:
    return np.asarray(np.linalg.cholesky(_correlations(correlation, decaying, P)))


# ---- The laws: noise (n, P), and the share of the shift by which each row is moved.


def _normal_noise(y: Labels, P: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.standard_normal((y.size, P)), y.astype(np.float64)


def _heavy_noise(y: Labels, P: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    noise = rng.standard_normal((y.size, P)) / np.sqrt(rng.chisquare(DF, (y.size, 1)) / DF)
    return np.asarray(noise), y.astype(np.float64)


def _skew_noise(y: Labels, P: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.standard_exponential((y.size, P)) - 1, y.astype(np.float64)


def _mixture_noise(y: Labels, P: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    noise = rng.standard_normal((y.size, P))
    responds = (y == 1) & (rng.random(y.size) < RESPONDERS)
    return noise, responds / RESPONDERS


# ---- The exact AUC of weights w under each law.


def _normal_truth(population: Population, w: Floats) -> float:
    """Phi(w'shift / sqrt(w'cov0 w + w'cov1 w)); weights of 0 rank nothing: 0.5, as ties give."""
    scaled = [population.sd(c) * w for c in (0, 1)]
    if population.correlation:
        scaled = [population.root().T @ v for v in scaled]
    spread = sum(float(v @ v) for v in scaled)
    return float(ndtr(w @ np.array(population.shift) / np.sqrt(spread))) if spread > 0 else 0.5


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


LAWS: dict[str, Callable[[Labels, int, np.random.Generator], tuple[Floats, Floats]]] = {
    "normal": _normal_noise,
    "heavy": _heavy_noise,
    "skew": _skew_noise,
    "mixture": _mixture_noise,
}
TRUTHS: dict[str, Callable[[Population, Floats], float]] = {
    "normal": _normal_truth,
    "heavy": _heavy_truth,
    "skew": _skew_truth,
    "mixture": _mixture_truth,
}


@dataclass(frozen=True)
class Drawn:
    """Truth from a large test draw, made in chunks when it is asked for and taken as exact.

    For any law and covariance. The accuracy benchmark uses it for all laws but the normal one.
    """

    population: Population
    seed: int
    replicate: int

    def __call__(self, W: Floats) -> list[Known]:
        rng = source(self.seed, self.population.name, self.replicate, "truth")
        y = np.tile(np.array([0, 1], dtype=np.int64), CHUNK // 2)
        scores = np.concatenate([self.population.rows(y, rng) @ W for _ in range(TEST_ROWS // CHUNK)])
        labels = np.tile(y, TEST_ROWS // CHUNK)
        return [Known(float(fl.baselines.delong(labels, z))) for z in scores.T]
