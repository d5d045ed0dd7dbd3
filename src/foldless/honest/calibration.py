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
from foldless.honest.probabilities import FARTHEST, TINY, ProbableRows, normal_rule, unit_rule
from foldless.laws.effect import Effect

COUNTED = 3.0  # times that the variance of log sd enters
NORMAL_KURTOSIS, MOST_KURTOSIS = 3.0, 4.0
SHRINKING_ROWS, RATIO_SD = 120.0, 0.15
FAR_SHARE, FAR_SD = 0.1, 1.0  # classifiers whose R may be anything, and the spread of its log there
CLOSE, MOST_RATIO, STEPS = 0.5, 4.0, 60
ROUNDED = 1e-12  # spread of log odds that is rounding
MOST_ROWS = 2000  # rows that are enough for the shape of the curve
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
        values = np.outer(self.effect.ppf(p), factor).ravel() / max(sd, self._least_spread)
        order = np.argsort(values)
        return values[order], np.outer(weights, shares).ravel()[order]

    @cached_property
    def _size(self) -> float:
        """n, the harmonic mean of the class sizes; leaving rows out moves the classes by 2 / n towards each other."""
        n1 = np.count_nonzero(self.rows.positive)
        return float(2 / (1 / n1 + 1 / (self.rows.positive.size - n1)))

    def counted_beside(self, rows: float) -> float:
        """How much the sample counts beside a law that is worth so many rows without training noise."""
        return self._size / (self._size + rows * (1 + self.rows.noise_share))

    @cached_property
    def _log_ratio(self) -> list[tuple[float, float, float]]:
        """Both laws of log R: share, mean and variance; classes too close or too far apart tell nothing of it."""
        (level, slope), s, near, r = regression(self.rows), self.rows.log_odds, RATIO_SD**2, 1 + self.rows.noise_share
        w = self.counted_beside(SHRINKING_ROWS)
        if self.estimate < CLOSE or not 0 < slope < np.inf:
            return [(1.0, 0.0, near * (1 - w))]
        seen = float(np.log(np.clip(slope * self._spread[0] / self.estimate, 1 / MOST_RATIO, MOST_RATIO)))
        at = self.rows.weights * _curvature(level + slope * s) / len(s)
        info = self.rows.units * float(np.sum(at * s**2) - np.sum(at * s) ** 2 / max(np.sum(at), TINY))
        error = r / max(slope**2 * info, TINY)  # of the log of the regression's slope
        one, other = near + error, FAR_SD**2 + error
        far = float(expit(logit(FAR_SHARE) + (np.log(one / other) + seen**2 * (1 / one - 1 / other)) / 2))
        return [(1 - far, w * seen, near * (1 - w)), (far, FAR_SD**2 / other * seen, FAR_SD**2 / other * error)]

    @cached_property
    def said(self) -> Floats | None:
        """The chance of each row, (N,), by the curve; None for refits or tails, which bend it, or if it is lost."""
        s, one, (sd, kurtosis) = self.rows.log_odds, self.rows.positive, self._spread
        if len(s) > 1 or s[0, one].min() >= s[0, ~one].max() or sd <= 0.5 / self._size or kurtosis > MOST_KURTOSIS:
            return None  # scores separate the classes, or hardly differ beside the 2 / n
        some = self._thinned.log_odds[0]
        order = np.argsort(some)
        return np.asarray(np.interp(s[0], some[order], (self.lines[2] @ self._chances)[order]))

    @property
    def _least_spread(self) -> float:
        """Such that recalibrated log odds of the classes are as good as certain on average: more cannot be told."""
        s, one = self.rows.apparent.log_odds, self.rows.positive
        return abs(float(s[:, one].mean() - s[:, ~one].mean())) * max(self.estimate, 0.0) / (2 * FARTHEST)

    @cached_property
    def _spread(self) -> tuple[float, float]:
        """Standard deviation and kurtosis of the log odds within the classes."""
        s, one = self.rows.log_odds, self.rows.positive
        off = np.where(one, s - s[:, one].mean(axis=1, keepdims=True), s - s[:, ~one].mean(axis=1, keepdims=True))
        variance = float(np.sum(off**2)) / (s.size - 2 * len(s))
        if variance <= ROUNDED**2:
            return ROUNDED, NORMAL_KURTOSIS
        return float(np.sqrt(variance)), max(float(np.mean(off**4)) / variance**2, NORMAL_KURTOSIS)

    @cached_property
    def lines(self) -> tuple[Floats, Floats, Floats]:
        """Intercepts, slopes and weights of the lines that the curve may be."""
        values, weights = self.slope
        p, p_weights = unit_rule(16)
        slopes = np.interp(p, np.cumsum(weights) - weights / 2, values)
        z, z_weights = normal_rule(8)
        level, s = self._thinned.level(slopes), self._thinned.log_odds.ravel()
        # The error of the mean probability, on the scale of the log odds at each slope.
        own, at = _curvature(s).mean(), _curvature(level[:, None] + slopes[:, None] * s).mean(axis=1)
        shift = np.multiply.outer(self.rows.intercept.error * np.minimum(own / np.maximum(at, TINY), MOST_RATIO), z)
        lines = np.broadcast_arrays(level[:, None] + shift, slopes[:, None], np.multiply.outer(p_weights, z_weights))
        return lines[0].ravel(), lines[1].ravel(), lines[2].ravel()

    @cached_property
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

    @cached_property
    def _chances(self) -> Floats:
        """Chances of the rows under each line, (lines, R N)."""
        a, b, _ = self.lines
        return np.asarray(expit(a[:, None] + b[:, None] * self._thinned.log_odds.ravel()))

    def gaps(self) -> Law:
        """Distances of the curve from the probabilities of the rows: (lines, R N), and the weights of the lines."""
        return np.abs(self._chances - expit(self._thinned.log_odds.ravel())), self.lines[2]


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
    a, b, u = 0.0, 0.0, (s - centre) / unit
    for _ in range(STEPS):  # Newton's
        q = expit(a + b * u)
        bend, off = w * np.maximum(q * (1 - q), 1e-9), w * (y - q)
        h0, h1, h2, g0, g1 = (float(x) for x in (bend.sum(), bend @ u, bend @ (u * u), off.sum(), off @ u))
        whole = h0 * h2 - h1 * h1 + TINY
        da, db = (h2 * g0 - h1 * g1) / whole, (h0 * g1 - h1 * g0) / whole
        size = max(abs(da), abs(db))
        a, b = a + da / max(1.0, size / 2), b + db / max(1.0, size / 2)
        if size < 1e-8:  # the next step would be its square
            break
    return a - b * centre / unit, b / unit
