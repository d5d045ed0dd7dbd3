"""Targets and weights of the training rows, shared by the families."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from foldless._check import Floats, Labels


def targets(labels: Labels) -> Floats:
    """t = +1 for the positive class, -1 for the other."""
    return np.where(labels.positive, 1.0, -1.0)


def row_weights(labels: Labels, class_weight: Any, sample_weight: Floats | None, *, counted: bool = False) -> Floats:
    """Sample weight x class weight of each row.

    `counted` says whether "balanced" counts sample weights instead of rows, as newer versions of scikit-learn do
    for some classifiers.
    """
    s = np.ones(labels.positive.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if class_weight is None:
        return s
    mass = s if counted else np.ones_like(s)
    weight1, weight0 = _class_weights(labels, class_weight, mass)
    return s * np.where(labels.positive, weight1, weight0)


def _class_weights(labels: Labels, class_weight: Any, mass: Floats) -> tuple[float, float]:
    if isinstance(class_weight, Mapping):
        return float(class_weight.get(labels.positive_label, 1.0)), float(class_weight.get(labels.negative_label, 1.0))
    mass1, total = mass[labels.positive].sum(), mass.sum()
    return float(total / (2.0 * mass1)), float(total / (2.0 * (total - mass1)))


def balanced_counts_sample_weights() -> bool:
    """Whether this scikit-learn lets "balanced" see sample weights (the argument came with the behaviour)."""
    from sklearn.utils.class_weight import compute_class_weight

    return "sample_weight" in inspect.signature(compute_class_weight).parameters
