"""The honest scores of a classifier: what `remove_rows` returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldless._check import Floats
from foldless.honest.design import Ints

ROUNDING = 1e-10  # differences of scores below this part of the largest one are ties


@dataclass(frozen=True, eq=False)
class Removed:
    """Scores of training rows under fits that lack them, on the scale of decision_function.

    Positive rows score higher. "Without" a row means without its whole group where groups were given.

    Attributes
    ----------
    rows1, rows0 : ndarray of int, shapes (n1,) and (n0,)
        Positive and negative rows on which pairs were evaluated; all rows unless there are very many.
    z : ndarray of shape (N,)
        In-sample scores at the optimum.
    loo : ndarray of shape (N,)
        Score of each row without it.
    without_pair1 : ndarray of shape (n1, n0)
        Score of positive row i without i and j.
    without_pair0 : ndarray of shape (n1, n0)
        Score of negative row j without i and j, from the same fit.
    drift : float
        How far removal moves the scores of the rows that stay, on average: the part of an honest score that is a
        change of the intercept and not of the row's own rank. Differences of scores are free of it.
    influence_sq : float
        (1/N) sum_k n_k/(n_k - 1) sum_{i in k, j != i} I_ij^2, where I_ij = z_i(-ij) - z_i(-i) is what row (or
        group) j does to the honest score of i, centred per class and column; estimated from the evaluated rows.
        Divided by the pooled within-class variance of the scores it is the share of training noise.
    cluster_influence_sq : float
        sum over ordered pairs of different groups a, h of (sum_{i in a} +-I_ih / n_k)^2, centred likewise: the part of
        the clustered variance of the difference of class means that is training noise. Without groups every row is
        its own.
    groups : ndarray of int, shape (N,), or None
        Group of each row, as codes 0, 1, ...
    method : str
        "loo" or "loo-surrogate".
    family : str
        The classifier, in words.
    residual : float
        Optimality residual of the user's fit; nan for a surrogate.
    polished : bool
        Whether Newton steps were taken from the user's fit.
    direction_cosine : float
        Agreement of the user's direction with the polished one; 1 if not polished.
    match : float
        Agreement of the user's direction with the surrogate's; 1 where the objective is known.
    notes : tuple of str
        What a reader of the result has to know.
    """

    rows1: Ints
    rows0: Ints
    z: Floats
    loo: Floats
    without_pair1: Floats
    without_pair0: Floats
    drift: float
    influence_sq: float
    cluster_influence_sq: float
    groups: Ints | None
    method: str
    family: str
    residual: float
    polished: bool
    direction_cosine: float
    match: float
    notes: tuple[str, ...] = ()

    @cached_property
    def differences(self) -> Floats:
        """(n1, n0): positive minus negative score, both without the pair; 0 where only rounding tells them apart.

        Rows with equal columns tie, whichever way their scores were computed.
        """
        diff = self.without_pair1 - self.without_pair0
        size = np.abs(diff)
        diff[size <= ROUNDING * size.max()] = 0.0
        return np.asarray(diff)
