"""Pictures of results in scikit-learn's pattern: compute once, keep the numbers, draw them on any axes.

``from_estimator`` and ``from_posterior`` compute and draw; ``plot`` draws again. The notes of a result are
written under its picture. matplotlib is imported where it is used: ``pip install 'foldless[plot]'``.
"""

from foldless.display.auc import AUCPosteriorDisplay
from foldless.display.comparison import ComparisonDisplay
from foldless.display.learning_curve import LearningCurveDisplay
from foldless.display.pairwise import PairwiseAUCDisplay
from foldless.display.roc import ROCPosteriorDisplay
from foldless.display.search import SearchDisplay

__all__ = [
    "AUCPosteriorDisplay",
    "ComparisonDisplay",
    "LearningCurveDisplay",
    "PairwiseAUCDisplay",
    "ROCPosteriorDisplay",
    "SearchDisplay",
]
