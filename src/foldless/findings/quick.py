"""What one look at the table tells: rows that are there twice, and a column that is the label. Every answer says so.

`diagnosis` looks closer: near copies, columns that nearly know the label, and what they do to the AUC.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless.checks import Floats, is_sparse
from foldless.findings.columns import name_of_column
from foldless.findings.finding import Finding, found
from foldless.findings.rows import Copies, copies_finding, exact_copies
from foldless.honest.design import Ints
from foldless.model.view import LinearView

SAME = 1 - 1e-9  # share of a column's variance between the classes that leaves no doubt
BLOCK_ENTRIES = 1 << 20


def quick_findings(view: LinearView, X: Any, groups: Ints | None) -> tuple[Finding, ...]:
    """Findings that cost one pass over a table in memory; none about one that is not."""
    if not (isinstance(view.X, np.ndarray) or is_sparse(view.X)):
        return ()
    codes = exact_copies(view.X, groups)
    copies = Copies(codes, codes.size - int(codes.max()) - 1, 0, 0)
    classes = view.codes
    return found(copies_finding(copies), label_column(view.X, classes, X))


def quick_notes(view: LinearView, X: Any, groups: Ints | None) -> tuple[str, ...]:
    """The same as notes of an answer."""
    return tuple(finding.note for finding in quick_findings(view, X, groups) if finding.level > 0)


def label_column(M: Any, classes: Any, X: Any) -> Finding | None:
    """A column of M that is constant within every class; X is the table as the user knows it."""
    same = np.flatnonzero(_between_classes(M, classes) > SAME)
    if same.size == 0:
        return None
    more = f" (and {same.size - 1} more)" if same.size > 1 else ""
    return Finding(
        "leak",
        "severe",
        f"{name_of_column(int(same[0]), M, X)}{more} is the label, written another way.",
        "Drop it and fit again: it is not known before the outcome is.",
        1.0,
    )


def _between_classes(M: Any, classes: Any) -> Floats:
    """Share of each column's variance that lies between the classes; a block of columns at a time.

    Of two classes it is the squared correlation with the label.
    """
    members = (np.asarray(classes)[:, None] == np.unique(classes)).astype(np.float64)
    members /= np.sqrt(members.sum(axis=0))
    step = max(1, BLOCK_ENTRIES // M.shape[0])
    parts = [_of_block(M[:, start : start + step], members) for start in range(0, M.shape[1], step)]
    return np.concatenate(parts)


def _of_block(block: Any, members: Floats) -> Floats:
    dense = np.asarray(block.toarray() if is_sparse(block) else block, dtype=np.float64)
    dense = dense - dense.mean(axis=0)
    squares = np.einsum("ij,ij->j", dense, dense)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(np.square(members.T @ dense).sum(axis=0) / squares))
