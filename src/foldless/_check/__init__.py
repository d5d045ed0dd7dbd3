"""Checks at the public edge: turn what users pass into plain arrays, or say what is wrong."""

from foldless._check.arrays import Array, Floats
from foldless._check.choices import known_method
from foldless._check.labels import Labels, as_groups, as_labels, as_partial_labels, distinct, group_codes, label_vector
from foldless._check.numbers import as_finite_numbers, as_number, as_numbers, as_probabilities, in_open_interval
from foldless._check.scores import as_row_weights, as_scores, as_weights, finite_scores, sane_length, unequal_scores
from foldless._check.table import as_matrix, column_names, is_frame, is_sparse, same_length, sane_size
from foldless._check.text import listed

__all__ = [
    "Array",
    "Floats",
    "Labels",
    "as_finite_numbers",
    "as_groups",
    "as_labels",
    "as_matrix",
    "as_number",
    "as_numbers",
    "as_partial_labels",
    "as_probabilities",
    "as_row_weights",
    "as_scores",
    "as_weights",
    "column_names",
    "distinct",
    "finite_scores",
    "group_codes",
    "in_open_interval",
    "is_frame",
    "is_sparse",
    "known_method",
    "label_vector",
    "listed",
    "same_length",
    "sane_length",
    "sane_size",
    "unequal_scores",
]
