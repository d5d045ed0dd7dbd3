"""The average AUC of a classifier of more than two classes on given rows, by the scores that its posterior used."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from foldless import _check
from foldless._check import Floats
from foldless.errors import InputError
from foldless.honest.design import Ints
from foldless.honest.multi.result import LOG_ODDS, log_odds


def average_auc(y: Any, decisions: Any, classes: Any, *, kind: Any, multi_class: str, sample_weight: Any) -> float:
    """Mean over ordered pairs of classes ("ovo"), or over classes against the rest ("ovr"), of the AUC of a score.

    Equal to ``sklearn.metrics.roc_auc_score(average="macro")`` on `predict_proba` where `kind` says that rows are
    ranked by odds; that function takes nothing but probabilities, and this one also decision values.

    Parameters
    ----------
    y : classes of the rows
    decisions : array of shape (N, K), from ``decision_function``
    classes : the K classes
    kind : ``details["score"]`` of the posterior
    multi_class : {"ovo", "ovr"}
    sample_weight : array of shape (N,), or None
    """
    from sklearn.metrics import roc_auc_score

    codes = codes_of(y, np.asarray(classes).tolist())
    z = ranked_by(np.asarray(decisions, dtype=np.float64), kind)
    _check.same_length(len(z), codes.size)
    weight = np.ones(codes.size) if sample_weight is None else _check.as_row_weights(sample_weight, codes.size)

    def auc(score: int, rows: Any) -> float:
        return float(roc_auc_score(codes[rows] == score, z[rows, score], sample_weight=weight[rows]))

    if multi_class == "ovr":
        return float(np.mean([auc(k, slice(None)) for k in range(z.shape[1])]))
    return float(np.mean([auc(a, np.isin(codes, (a, b))) for a, b in permutations(range(z.shape[1]), 2)]))


def ranked_by(decisions: Floats, kind: Any) -> Floats:
    """The scores that the posterior is about: log odds, which rank as probabilities do, or decision values."""
    return log_odds(decisions.T).T if kind == LOG_ODDS else decisions


def codes_of(y: Any, classes: list[Any]) -> Ints:
    """Class of each row as its place in `classes`; every class must have rows."""
    place = {label: k for k, label in enumerate(classes)}
    values = _check.label_vector(y).tolist()
    strangers = sorted({str(v) for v in values if v not in place})
    if strangers:
        raise InputError(
            f"y has unknown labels: {_check.listed(strangers)}; the classes are {_check.listed(classes)}: "
            f"score rows of these classes only."
        )
    codes = np.array([place[v] for v in values], dtype=np.intp)
    counts = np.bincount(codes, minlength=len(classes))
    if not counts.all():
        raise InputError(
            f"y has no rows of class {classes[int(counts.argmin())]!r}, and the average AUC is over all of "
            f"{_check.listed(classes)}: score rows of every class."
        )
    return codes
