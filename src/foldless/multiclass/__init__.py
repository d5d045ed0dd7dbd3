"""More than two classes: the average of the AUCs of all pairs of classes, and each of them.

analysis     from a classifier, or from held-out scores, to the result
result       `MulticlassAUCPosterior`
pairwise     `PairwisePosteriors`, the matrix
"""

from foldless.multiclass.analysis import posterior_from_scores, posterior_of_classes
from foldless.multiclass.pairwise import PairwisePosteriors
from foldless.multiclass.result import MulticlassAUCPosterior

__all__ = ["MulticlassAUCPosterior", "PairwisePosteriors", "posterior_from_scores", "posterior_of_classes"]
