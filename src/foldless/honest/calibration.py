"""The calibration slope and the calibration curve, from honest probabilities and the posterior of the separation.

    slope = R delta / sd,    w = n / (n + 120 r),    n = harmonic mean of the class sizes,    r = 1 + rho

with delta the separation of the AUC's posterior and sd the spread of the log odds within the classes. R is the ratio of
the slope of a regression on honest log odds to delta / sd: nine times in ten near 1, as for normal scores, with log R
shrunk by w; else anything, as where a part of a class is far from the border. How far R is from 1 tells which. The
constants come from simulations and from half of the development data (docs/method.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from foldless.checks import Floats
from foldless.honest.probabilities import TINY, ProbableRows, normal_rule, unit_rule
from foldless.laws.effect import Effect

COUNTED = 3.0  # times that the variance of log sd enters
NORMAL_KURTOSIS = 3.0
SHRINKING_ROWS, RATIO_SD = 120.0, 0.15
FAR_SHARE, FAR_SD = 0.1, 1.0  # classifiers whose R may be anything, and the spread of its log there
CLOSE, MOST_RATIO, GRID = 0.5, 4.0, 200
MOST_ROWS = 2000  # rows that are enough for the shape of the curve
STEPS = 60
Law = tuple[Floats, Floats]  # values and their weights


@dataclass(frozen=True, eq=False)
class CalibrationLaw:
    """The laws of slope and intercept."""

    rows: ProbableRows
    effect: Effect
    estimate: float  # of the separation, without its prior

    @cached_property
    def slope(self) -> Law:
        """The slope: R times the separation over the spread of the log odds within the classes."""
        sd, kurtosis = self._spread
        rest = COUNTED * (1 + self.rows.noise_share) * (kurtosis - 1) / 4 / max(self.rows.units - 2, 1)
        p, weights = unit_rule(64)
        z, z_weights = normal_rule(24)
        laws = [(share, mean - (v + rest) / 2, np.sqrt(v + rest)) for share, mean, v in self._log_ratio if share]
        factor = np.concatenate([np.exp(mean + spread * z) for _, mean, spread in laws])
        shares = np.concatenate([share * z_weights for share, _, _ in laws])
        return np.multiply.outer(self.effect.ppf(p), factor) / sd, np.multiply.outer(weights, shares)

    @cached_property
    def _size(self) -> float:
        """n, the harmonic mean of the class sizes; leaving rows out moves the classes by 2 / n towards each other."""
        n1 = np.count_nonzero(self.rows.positive)
        return float(2 / (1 / n1 + 1 / (self.rows.positive.size - n1)))

    @property
    def _weight(self) -> float:
        return self._size / (self._size + SHRINKING_ROWS * (1 + self.rows.noise_share))

    @cached_property
    def _log_ratio(self) -> list[tuple[float, float, float]]:
        """Both laws of log R: share, mean and variance; classes too close or too far apart tell nothing of it."""
        (level, slope), s, w, near = regression(self.rows), self.rows.log_odds, self._weight, RATIO_SD**2
        if self.estimate < CLOSE or not 0 < slope < np.inf:
            return [(1.0, 0.0, near * (1 - w))]
        seen = float(np.log(np.clip(slope * self._spread[0] / self.estimate, 1 / MOST_RATIO, MOST_RATIO)))
        at = self.rows.weights * _curvature(level + slope * s) / len(s)
        info = self.rows.units * float(np.sum(at * s**2) - np.sum(at * s) ** 2 / max(np.sum(at), TINY))
        error = (1 + self.rows.noise_share) / max(slope**2 * info, TINY)  # of the log of the regression's slope
        one, other = near + error, FAR_SD**2 + error
        far = float(expit(logit(FAR_SHARE) + (np.log(one / other) + seen**2 * (1 / one - 1 / other)) / 2))
        return [(1 - far, w * seen, near * (1 - w)), (far, FAR_SD**2 / other * seen, FAR_SD**2 / other * error)]

    @cached_property
    def lent(self) -> float:
        """Weight of the curve beside the labels: 1 - w; 0 for refits, whose curve has any form, and where it is lost.

        That is where scores separate the classes, or hardly differ beside the 2 / n.
        """
        s, one = self.rows.log_odds, self.rows.positive
        mixed = s[:, one].min() < s[:, ~one].max() and self._spread[0] > 0.5 / self._size
        return 1 - self._weight if len(s) == 1 and mixed else 0.0

    @cached_property
    def said(self) -> Floats:
        """What the curve says of the rows, (R, N): the chance of each to be positive; 0 if nothing is lent."""
        s = self.rows.log_odds
        grid = np.linspace(s.min(), s.max(), GRID)
        curves, weights = self.curve(expit(grid)) if self.lent else (np.zeros((GRID, 1)), np.ones(1))
        return np.asarray(np.interp(s, grid, curves @ weights))

    @property
    def _spread(self) -> tuple[float, float]:
        """Standard deviation and kurtosis of the log odds within the classes."""
        s, one = self.rows.log_odds, self.rows.positive
        off = np.where(one, s - s[:, one].mean(axis=1, keepdims=True), s - s[:, ~one].mean(axis=1, keepdims=True))
        variance = float(np.sum(off**2)) / (s.size - 2 * len(s))
        if variance == 0:
            return float(np.finfo(float).tiny), NORMAL_KURTOSIS
        return float(np.sqrt(variance)), max(float(np.mean(off**4)) / variance**2, NORMAL_KURTOSIS)

    @cached_property
    def lines(self) -> tuple[Floats, Floats, Floats]:
        """Intercepts, slopes and weights of the lines that the curve may be."""
        values, weights = (np.ravel(each) for each in self.slope)
        order = np.argsort(values)
        p, p_weights = unit_rule(16)
        slopes = np.interp(p, np.cumsum(weights[order]) - weights[order] / 2, values[order])
        z, z_weights = normal_rule(8)
        level, s = self._thinned.level(slopes), self._thinned.log_odds.ravel()
        # The error of the mean probability, on the scale of the log odds at each slope.
        own, at = _curvature(s).mean(), _curvature(level[:, None] + slopes[:, None] * s).mean(axis=1)
        shift = np.multiply.outer(self.rows.intercept().error * np.minimum(own / np.maximum(at, TINY), MOST_RATIO), z)
        lines = np.broadcast_arrays(level[:, None] + shift, slopes[:, None], np.multiply.outer(p_weights, z_weights))
        return lines[0].ravel(), lines[1].ravel(), lines[2].ravel()

    @property
    def _thinned(self) -> ProbableRows:
        """Rows evenly spaced in each class, in the order of their probability; all unless there are many."""
        rows = self.rows
        if rows.positive.size <= MOST_ROWS:
            return rows
        order = np.lexsort((rows.honest[0], rows.positive))
        kept = order[np.linspace(0, order.size - 1, MOST_ROWS).astype(np.intp)]
        some = replace(rows, prevalence=rows.share, groups=None, positive=rows.positive[kept], own=rows.own[kept])
        return replace(some, honest=rows.honest[:, kept])

    def curve(self, p: Floats) -> Law:
        """Share of positive rows among those with probability p: (P, lines), and the weights of the lines."""
        a, b, weights = self.lines
        with np.errstate(divide="ignore"):
            return np.asarray(expit(a + b * logit(p)[:, None])), weights

    def gaps(self) -> Law:
        """Distances of the curve from the probabilities of the rows: (lines, R N), and the weights of the lines."""
        a, b, weights = self.lines
        s = self._thinned.log_odds.ravel()
        return np.abs(expit(a[:, None] + b[:, None] * s) - expit(s)), weights


def _curvature(log_odds: Floats) -> Floats:
    """p (1 - p)."""
    return np.asarray(expit(log_odds) * expit(-log_odds))


def regression(rows: ProbableRows) -> tuple[float, float]:
    """Intercept and slope of the logistic regression of y on the log odds; an infinite slope if they separate it."""
    s, repeats = rows.log_odds.ravel(), len(rows.log_odds)
    y, w = np.tile(rows.positive, repeats), np.tile(rows.weights, repeats) / repeats
    if s[y].min() >= s[~y].max():
        return float("nan"), float("inf")
    centre, unit = float(s.mean()), max(float(s.std()), TINY)  # log odds may be nearly equal, or large
    beta, A = np.zeros(2), np.column_stack([np.ones(s.size), (s - centre) / unit])
    for _ in range(STEPS):
        q = expit(A @ beta)
        curvature = (A * (w * np.maximum(q * (1 - q), 1e-9))[:, None]).T @ A + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, A.T @ (w * (y - q)))
        beta += step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < 1e-10:
            break
    return float(beta[0] - beta[1] * centre / unit), float(beta[1] / unit)


def apparent_gaps(rows: ProbableRows) -> Floats:
    """Distances of the in-sample calibration line from the in-sample probabilities."""
    a, b = regression(rows)
    if np.isinf(b):
        return np.abs(rows.positive - rows.own)
    return np.asarray(np.abs(expit(a + b * rows.log_odds[0]) - expit(rows.log_odds[0])))
