"""Model selection without folds: one fit per candidate, each judged by the calibrated posterior of its AUC.

candidates   the grid, its columns, and which candidates differ in the strength of an L2 penalty alone
general      any candidate: fit, take apart, judge                                  assess, classes
shared       a family of L2 strengths on one rotation of the data                   prototype, rotation, newton,
                                                                                    factor
joint        what the candidates' AUCs have in common; the optimism of their maximum
choice       the best candidate, or the simplest that is not credibly worse
meta         FoldlessSearch, which looks like GridSearchCV                          score
"""

from foldless.search.meta import FoldlessSearch
from foldless.search.scorer import auc_scorer

__all__ = ["FoldlessSearch", "auc_scorer"]
