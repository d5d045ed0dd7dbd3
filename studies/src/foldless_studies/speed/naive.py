"""CBAUC as the paper writes it down, with the P x P posterior scale matrix: the same number, at the price of P^2."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from foldless_studies.sample import Floats, Labels

# The paper's prior: m = 0, S = I, nu = 0.5, kappa = P + 2.
NU, KAPPA_MINUS_P = 0.5, 2.0


def naive_cbauc(w: Floats, X: Floats, y: Labels) -> float:
    """Proposition 1 with every matrix formed."""
    N, P = X.shape
    S = np.eye(P)
    means, spread2 = [], 2.0
    for label in (0, 1):
        rows = X[y == label]
        n, mean = len(rows), rows.mean(axis=0)
        centred = rows - mean
        S += centred.T @ centred + n * NU / (n + NU) * np.outer(mean, mean)
        means.append(n * mean / (n + NU))
        spread2 += 1 / (n + NU)
    df = P + KAPPA_MINUS_P + N - P + 1
    distance = w @ (means[1] - means[0]) / np.sqrt(w @ S @ w / df)
    return float(stdtr(df, distance / np.sqrt(spread2)))
