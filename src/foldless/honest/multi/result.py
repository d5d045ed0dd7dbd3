"""The honest scores of a classifier of several classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from foldless._check import Floats
from foldless.honest.design import Ints, blocks

DECISION = "the class's column of decision_function"
LOG_ODDS = "log odds of the class's column of predict_proba"


@dataclass(frozen=True, eq=False)
class Tensor:
    """Scores of m rows for K classes, under fits that lack them.

    Attributes
    ----------
    alone : ndarray of shape (K, m)
        Score k of row i, without i.
    without : ndarray of shape (K, m, m)
        Score k of row i, without i and j; on the diagonal `alone`.
    """

    alone: Floats
    without: Floats

    @classmethod
    def of(cls, alone: Floats, without: Floats) -> Tensor:
        """The scores, with the diagonal put right."""
        rows = np.arange(alone.shape[1])
        without[:, rows, rows] = alone
        return cls(alone, without)

    def as_log_odds(self) -> Tensor:
        """From decision values to the log odds of their softmax."""
        odds = np.empty_like(self.without)
        for part in blocks(odds.shape[1], odds.shape[0] * odds.shape[2]):
            odds[:, part] = log_odds(self.without[:, part])
        return Tensor.of(log_odds(self.alone), odds)


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What `remove_rows_of_classes` returns.

    Attributes
    ----------
    tensor : Tensor
        Honest scores of the evaluated rows.
    codes : ndarray of int, shape (m,)
        Class of each evaluated row.
    counts : ndarray of int, shape (K,)
        All rows per class; more than the evaluated ones where there are very many.
    score : str
        What a score is, in words.
    method, family, residual, polished, direction_cosine, match, notes
        As in `foldless.honest.result.Removed`; the worst of the classes.
    """

    tensor: Tensor
    codes: Ints
    counts: Ints
    score: str
    method: str
    family: str
    residual: float
    polished: bool
    direction_cosine: float
    match: float
    notes: tuple[str, ...] = ()


def log_odds(decisions: Floats) -> Floats:
    """log p_k/(1 - p_k) of p = softmax(decisions), along the first axis: ranks rows as p_k does, and does not saturate.

    Examples
    --------
    >>> import numpy as np
    >>> log_odds(np.array([[1.0], [3.0]])).ravel()
    array([-2.,  2.])
    """
    others = ~np.eye(len(decisions), dtype=bool)
    return np.array([z - logsumexp(decisions[rest], axis=0) for z, rest in zip(decisions, others, strict=True)])
