"""The CV-AUC behind the paper's figures, written down once more so that one thing at a time can be changed.

The published computation differs from the textbook in the thresholds (training scores of the full model for every
fold), the corners (the curve is not closed at (0, 0) and (1, 1)) and the sign (turned on the test fold). Changing
the first two separately shows which of them costs how much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.classifiers import weights_of
from foldless_studies.sample import Floats, Labels

FOLDS = 5


def cv_area(model: Any, X: Floats, y: Labels, seed: int, *, corners: bool, own_thresholds: bool) -> float:
    """Mean area of the folds' curves; with both options off, the published number.

    Parameters
    ----------
    model : linear classifier, fitted on X, y
    corners : bool
        Close every curve at (0, 0) and (1, 1).
    own_thresholds : bool
        Threshold a fold at its own test scores instead of the full model's training scores; the corner (0, 0) is
        then the point before the first threshold, and is part of the curve.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    smallest = int(np.bincount(y, minlength=2).min())
    if smallest < FOLDS:
        raise fl.InputError(f"expected at least {FOLDS} rows of each class for {FOLDS} folds, got {smallest}.")
    full = _falling(_upright(X @ weights_of(model), y))
    areas = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=np.random.RandomState(seed)).split(X, y):
        z = _upright(X[test] @ weights_of(clone(model).fit(X[train], y[train])), y[test])
        thresholds = np.r_[np.inf, _falling(z)] if own_thresholds else full
        areas.append(_area(z, y[test], thresholds, corners))
    return float(np.mean(areas))


def _falling(z: Floats) -> Floats:
    return np.sort(z)[::-1]


def _upright(z: Floats, y: Labels) -> Floats:
    return -z if z[y == 0].mean() > z[y == 1].mean() else z


def _area(z: Floats, y: Labels, thresholds: Floats, corners: bool) -> float:
    fpr, tpr = (np.mean(z[y == c] >= thresholds[:, None], axis=1) for c in (0, 1))
    if corners:
        fpr, tpr = np.r_[0.0, fpr, 1.0], np.r_[0.0, tpr, 1.0]
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)
