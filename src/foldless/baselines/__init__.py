"""The rivals: what people use today, each an independent check on foldless's own estimates.

Nothing here imports the Bayesian modules, so agreement between the two sides means something.
"""

from foldless.baselines.binormal import binormal_auc
from foldless.baselines.bootstrap import bootstrap632plus_auc
from foldless.baselines.cross_validation import cv_auc
from foldless.baselines.delong import delong
from foldless.baselines.ebauc import ebauc
from foldless.baselines.estimate import AUCEstimate
from foldless.baselines.leave_out import leave_pair_out_auc, loo_auc
from foldless.baselines.population import bayes_auc, true_auc
from foldless.baselines.resubstitution import resubstitution_auc

__all__ = [
    "AUCEstimate",
    "bayes_auc",
    "binormal_auc",
    "bootstrap632plus_auc",
    "cv_auc",
    "delong",
    "ebauc",
    "leave_pair_out_auc",
    "loo_auc",
    "resubstitution_auc",
    "true_auc",
]
