"""Which rows of several classes are classified rightly by fits that lack them, and how sure the share of such rows is.

Row i is right if its class has the largest decision value (or one of the k largest) under the fit in which an average
row of its class takes its place. The share p of right rows has the variance (1 + rho) p (1 - p)/N: that of independent
rows, and more because two rows each test a fit that the other one helped to train. With M_i the margin of row i, the
decision value of its class less that of its strongest rival, I_ij the effect of row j on it, and
sigma_i^2 = sum_j I_ij^2 its training noise, row i is right with probability q_i = Phi(m_i / sigma_i) over training
sets, m_i being its margin without the noise. The normal law of M_i / sigma_i over the rows tells what to expect of q_i:

    rho = s mean q_i (1 - q_i) / (p (1 - p)),

with s the share of the noise that two rows cause in each other. It follows from the labels: row j acts on row i if its
class is that of i, in which case i acts on j as well, or the rival of i, in which case i acts on j only if the rival of
j is the class of i. Coverage with 3, 10 and 100 classes was simulated (`tests/test_accuracy.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import owens_t

from foldless.checks import Floats, Ints
from foldless.honest.classes import MAX_ENTRIES, ClassScores
from foldless.honest.pairs import SEED

FOR_NOISE = 200  # rows on whose pairs the training noise is measured
TINY, HUGE = float(np.finfo(float).tiny), 1e100  # the square of the last is finite


@dataclass(frozen=True, eq=False)
class Judged:
    """How often each row is right (once, or in each repeat of refits), its class, and the share of training noise."""

    right: Floats
    codes: Ints
    noise_share: float
    dependence: float = 1.0  # factor by which groups increase the variance

    def accuracy(self) -> tuple[float, float]:
        """Right and wrong rows, as many as count as independent."""
        rows, p = self.right.size / (1.0 + self.noise_share) / self.dependence, float(self.right.mean())
        return rows * p, rows * (1.0 - p)

    def balanced(self) -> tuple[float, float]:
        """The same for the mean over classes, whose variance is that of the means of the classes."""
        n, right = np.bincount(self.codes), np.bincount(self.codes, self.right)
        shares = (right + (right.sum() + 0.5) / (n.sum() + 1)) / (n + 1)  # none may be wrong in a class of few rows
        variance = float(np.sum(shares * (1.0 - shares) / n)) / n.size**2
        p = float(np.mean(shares))
        rows, p = p * (1.0 - p) / variance / (1.0 + self.noise_share) / self.dependence, float(np.mean(right / n))
        return rows * p, rows * (1.0 - p)


def judged(honest: ClassScores, k: int = 1) -> Judged:
    """The rows whose class has one of the k largest decision values; of equal ones the first, as `predict` has it."""
    scores, first = honest.deciding, np.arange(len(honest.alone))[:, None] < honest.codes
    own = scores[honest.codes, :, np.arange(honest.codes.size)].T
    ahead = (scores > own) | ((scores == own) & first[:, None])
    right = np.mean(np.count_nonzero(ahead, axis=0) < k, axis=0)
    if honest.noise_share is None:
        rows = rows_for_noise(honest.codes.size, len(honest.alone), honest.most)
        drawn = (honest.replaced[:, rows], honest.alone[:, rows], honest.pairs(rows))
        return with_noise(right, honest.codes, rows, drawn, k)
    return Judged(right, honest.codes, honest.noise_share, _dependence(right - right.mean(), honest.groups))


def rows_for_noise(N: int, K: int, most: int) -> Ints:
    """A fixed random sample of rows."""
    most = min(FOR_NOISE, most, int(np.sqrt(MAX_ENTRIES / K)))
    return np.sort(np.random.default_rng(SEED).permutation(N)[:most])


def with_noise(right: Floats, codes: Ints, rows: Ints, drawn: tuple[Floats, Floats, Floats], k: int = 1) -> Judged:
    """All rows, with the share of noise that some rows show by their scores (K, m) and (K, m, m), see `_noise`."""
    p = (right.sum() + 0.5) / (right.size + 1)  # kept off 0 and 1
    return Judged(right, codes, min(1.0, _noise(codes[rows], *drawn, right.size, k) / (p * (1.0 - p))))


def _dependence(off: Floats, groups: Ints | None) -> float:
    """Variance of the sum over groups relative to that over rows; at least 1."""
    if groups is None or not off.any():
        return 1.0
    return max(1.0, float(np.sum(np.bincount(groups, off) ** 2) / np.sum(off**2)))


def _noise(own: Ints, replaced: Floats, alone: Floats, without: Floats, N: int, k: int) -> float:
    """s mean q (1 - q), from the scores of rows with an average row in their place, without them, and in pairs."""
    K, each, scores = len(alone), np.arange(own.size), replaced.copy()
    at_own = scores[own, each]
    scores[own, each] = -np.inf
    rival = np.argpartition(scores, K - k, axis=0)[K - k]
    moves = without[own, each] - without[rival, each] - (alone[own, each] - alone[rival, each])[:, None]
    moves[each, each] = 0.0
    sd = np.maximum(np.sqrt(np.sum(moves**2, axis=1) * (N - 1) / (own.size - 1)), TINY)
    return _symmetric(own, rival, K) * _uncertain(np.clip((at_own - scores[rival, each]) / sd, -HUGE, HUGE))


def _uncertain(x: Floats) -> float:
    """Mean of q (1 - q), q = Phi(m), given x = m + noise of variance 1: 2 T(mean m, ..) for a normal m (Owen 1980)."""
    spread = max(float(x.var()) - 1.0, 0.0)
    kept = spread / (1.0 + spread)
    m = x.mean() + kept * (x - x.mean())
    return 2.0 * float(np.mean(owens_t(m / np.sqrt(1.0 + kept), 1.0 / np.sqrt(1.0 + 2.0 * kept))))


def _symmetric(own: Ints, rival: Ints, K: int) -> float:
    """Share of the noise that two rows give each other, from their classes and rivals."""
    met = np.zeros((K, K))
    np.add.at(met, (own, rival), 1.0)
    n = met.sum(axis=1)
    return float((n @ n + np.sum(met * met.T)) / (n @ n + np.sum(met @ n)))
