"""The rivals: what people use today, each an independent check on foldless's own estimates.

Nothing here imports the Bayesian modules, so agreement between the two sides means something.
"""

from foldless.baselines.estimate import AUCEstimate, bayes_auc, true_auc
from foldless.baselines.folds import cv_auc
from foldless.baselines.given import DeLongTest, binormal_auc, delong, delong_test, ebauc, resubstitution_auc
from foldless.baselines.resampling import bootstrap632plus_auc, leave_pair_out_auc, loo_auc

__all__ = [
    "AUCEstimate",
    "DeLongTest",
    "bayes_auc",
    "binormal_auc",
    "bootstrap632plus_auc",
    "cv_auc",
    "delong",
    "delong_test",
    "ebauc",
    "leave_pair_out_auc",
    "loo_auc",
    "resubstitution_auc",
    "true_auc",
]
