"""Classifiers given as weights, one or thousands, judged by the paper's model on tables of any size."""

from foldless.given_weights.entry import auc_posterior_many as auc_posterior_many
from foldless.given_weights.entry import cbauc as cbauc
from foldless.given_weights.entry import conjugate_prior as conjugate_prior
from foldless.given_weights.entry import is_out_of_core as is_out_of_core
from foldless.given_weights.entry import posterior_of_weights as posterior_of_weights
from foldless.given_weights.posteriors import AUCPosteriors as AUCPosteriors
