"""The numbers of a ROC picture: a curve with its band, and the operating point on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldless._check import Floats
from foldless.error import ErrorPosterior
from foldless.roc import PointInterval, ROCPosterior

# Dense at the left, where good curves rise.
FPR = np.unique(np.concatenate([[0.0], np.geomspace(1e-6, 0.05, 60), np.linspace(0.05, 1.0, 96)]))


@dataclass(frozen=True)
class OperatingPoint:
    """False and true positive rate at a threshold, each with its interval."""

    fpr: PointInterval
    tpr: PointInterval
    threshold: float

    @classmethod
    def of(cls, post: ErrorPosterior, level: float) -> OperatingPoint:
        """Read off the rates at a threshold."""
        low, high = post.specificity.interval(level)
        fpr = PointInterval(1 - post.specificity.mean, 1 - high, 1 - low)
        return cls(fpr, PointInterval(post.sensitivity.mean, *post.sensitivity.interval(level)), post.threshold)


@dataclass(frozen=True, eq=False)
class ROCCurve:
    """Mean curve and band over `fpr`, the area under it, and where the classifier stands on it."""

    fpr: Floats
    mean: Floats
    low: Floats
    high: Floats
    level: float
    area: PointInterval
    point: OperatingPoint | None = None

    @classmethod
    def of(cls, roc: ROCPosterior, level: float, error: ErrorPosterior | None = None) -> ROCCurve:
        """Evaluate a posterior on the grid of the picture."""
        point = None if error is None else OperatingPoint.of(error, level)
        return cls(FPR, roc.mean(FPR), *roc.band(FPR, level), level, roc.partial_auc(1.0, level), point)
