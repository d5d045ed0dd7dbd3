"""Two checks cheap enough for every answer: repeated rows, and a column that is the label.

`diagnosis` looks closer: near copies, columns that nearly give the label away, and their effect on the AUC.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless.checks import Floats, is_sparse
from foldless.findings.columns import as_dense, blocks
from foldless.findings.finding import Finding, present
from foldless.findings.naming import Names
from foldless.findings.rows import Copies, copies_finding, exact_copies
from foldless.honest.design import Ints
from foldless.honest.refits import Training
from foldless.model.view import LinearView

BLOCK_ENTRIES = 1 << 20
SEED, FEW = 20240302, 32
VARIES = 1e-9  # share of a column's variance that is rounding


def quick_notes(view: LinearView | Training, names: Names, groups: Ints | None) -> tuple[str, ...]:
    """Notes on an answer that cost one pass over the table; none if it is not in memory."""
    if not (isinstance(view.X, np.ndarray) or is_sparse(view.X)):
        return ()
    codes = exact_copies(view.X, groups)
    copies = Copies(codes, codes.size - int(codes.max()) - 1, 0, 0)
    findings = present(copies_finding(copies, names), label_column(view.X, view.codes, names))
    return tuple(finding.note for finding in findings if finding.level > 0)


def label_column(M: Any, classes: Any, names: Names) -> Finding | None:
    """A column of M that is constant within every class."""
    same = _constant_within(M, np.asarray(classes))
    if same.size == 0:
        return None
    more = f" (and {same.size - 1} more)" if same.size > 1 else ""
    return Finding(
        "leak",
        "severe",
        f"{names.column(int(same[0]), M)}{more} is the label, written another way.",
        "Drop it and fit again: it is not known before the outcome is.",
        1.0,
    )


def _constant_within(M: Any, classes: Any) -> Ints:
    """Columns that only vary between the classes: those that do so in a few rows, checked on all rows."""
    rng = np.random.default_rng(SEED)
    rows = np.concatenate([rng.permutation(np.flatnonzero(classes == k))[:FEW] for k in np.unique(classes)])
    # What varies within the classes in few rows is at most that much more of their variance than in all rows.
    bound = 4 * VARIES * classes.size / rows.size
    left = np.flatnonzero(_between_classes(M[rows], classes[rows]) > 1 - bound)
    return left[_between_classes(M[:, left], classes) > 1 - VARIES] if left.size else left


def _between_classes(M: Any, classes: Any) -> Floats:
    """Share of each column's variance that lies between the classes; of two, the squared correlation with the label."""
    members = (np.asarray(classes)[:, None] == np.unique(classes)).astype(np.float64)
    members /= np.sqrt(members.sum(axis=0))
    shares = []
    for part in blocks(np.arange(M.shape[1]), M.shape[0], BLOCK_ENTRIES):
        dense = as_dense(M[:, part[0] : part[-1] + 1])
        dense = dense - dense.mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.square(members.T @ dense).sum(axis=0) / np.einsum("ij,ij->j", dense, dense)
        shares.append(np.nan_to_num(share))
    return np.concatenate(shares)
