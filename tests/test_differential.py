"""Drawn situations: honest scores of some rows against refits of the whole pipeline without them, or their groups.

Fits are at scikit-learn's default tolerance, rows in any order, tables tall and wide, sampled and complete: what tests
of one formula at a time do not put together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import foldless as fl

ROWS = 4  # refits per situation
SCALERS = {"none": None, "sd": StandardScaler(), "range": MinMaxScaler(), "size": MaxAbsScaler()}
CELLS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy": lambda rng, shape: rng.standard_t(3, size=shape),
    "rare": lambda rng, shape: (rng.random(shape) < 0.15).astype(float),
}


@dataclass(frozen=True)
class Situation:
    """What is drawn, from a seed."""

    N: int
    P: int
    cells: str
    scaler: str
    C: float  # 0 for ridge
    size: int  # of the groups; 1 for none
    sparse: bool

    @classmethod
    def drawn(cls, rng):
        N, P = int(rng.choice([50, 120, 250, 650])), int(rng.choice([5, 40, 150, 700]))
        scaler, C = str(rng.choice(list(SCALERS))), float(rng.choice([0.0, 0.0, 0.01, 0.1, 1.0]))
        sparse = bool(rng.random() < 0.2) and scaler in ("none", "size")
        return cls(N, P, str(rng.choice(list(CELLS))), scaler, C, int(rng.choice([1, 1, 2, 5])), sparse)

    def model(self, tol):
        last = LogisticRegression(C=self.C, tol=tol, max_iter=5000) if self.C else RidgeClassifier(alpha=5.0)
        return last if self.scaler == "none" else make_pipeline(clone(SCALERS[self.scaler]), last)


@pytest.mark.parametrize("seed", range(28))
def test_scores_of_drawn_situations_are_those_of_refits(seed):
    rng = np.random.default_rng([7, seed])
    s = Situation.drawn(rng)
    y = np.arange(s.N) % 2
    X = CELLS[s.cells](rng, (s.N, s.P))
    X[:, :3] += rng.choice([0.0, 0.7]) * y[:, None]
    X, groups = csr_matrix(X) if s.sparse else X, rng.permutation(np.arange(s.N) // s.size)
    ours = fl.honest_scores(s.model(1e-4).fit(X, y), X, y, groups=None if s.size == 1 else groups)
    rows, truth, tight = rng.choice(s.N, ROWS, replace=False), [], s.model(1e-8)
    for i in rows:
        keep = groups != groups[i]
        truth.append(tight.fit(X[keep], y[keep]).decision_function(X[[i]])[0])
    assert ours.method == "loo"
    np.testing.assert_allclose(ours.scores[rows], truth, rtol=0, atol=0.1 * ours.scores.std(), err_msg=repr(s))
