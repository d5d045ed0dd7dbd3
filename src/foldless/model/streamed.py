"""The view of a fitted linear classifier on a table that is not in memory.

The steps of a pipeline are applied block by block. Weights, intercept and checks are those of
`foldless.model.view.take_apart`, run on the first rows only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from foldless import checks
from foldless.errors import EstimatorError, InputError
from foldless.model.pullback import unfold
from foldless.model.steps import ScaledColumns, Steps, is_estimator
from foldless.model.view import VERIFIED_ROWS, LinearView, codes_of, dismantled, same_names, take_apart
from foldless.tables import as_source
from foldless.tables.block import no_rows
from foldless.tables.device import is_device_array, is_torch, refuse_other_shapes, to_host
from foldless.tables.matrix import LazyMatrix

PROBE_ROWS = 512  # rows on which weights are mapped back and checked


def stream_view(estimator: Any, X: Any, y: Any, *, pos_label: Any = None) -> LinearView:
    """`take_apart` for a source: reads the first rows and the labels; the rest of X is read when needed."""
    if is_torch(X):
        return device_view(estimator, X, y, pos_label=pos_label)
    source = _readable(X, y)
    fitted_names = getattr(estimator, "feature_names_in_", None)
    if fitted_names is not None and hasattr(source, "with_features"):
        source = source.with_features([str(n) for n in fitted_names])
    given = source.labels()
    labels = checks.as_labels(given, pos_label=pos_label, classes=_classes(estimator))
    if hasattr(source, "repeating"):
        source = source.repeating(given)
    first = next(source.blocks(), None)
    if first is None:
        raise no_rows()
    if fitted_names is not None and first.names is not None:
        same_names([str(n) for n in fitted_names], list(first.names))
    view = _probe_view(estimator, first.X[:PROBE_ROWS], labels)
    steps = dismantled(estimator)[0] if is_estimator(estimator) else []
    matrix = LazyMatrix(source, (labels.positive.size, view.X.shape[1]), partial(_applied, steps))
    codes, classes = codes_of(labels)
    by_name = hasattr(source, "with_features") or first.names is not None
    notes = tuple(note for note in view.notes if not (by_name and "X has no names" in note))
    # Whether columns came standardised is known once all rows have been read.
    scaled = view.scaled if steps else (ScaledColumns(slice(0, view.X.shape[1]), "sd", centred=True, given=True),)
    return replace(view, X=matrix, codes=codes, classes=classes, notes=notes, scaled=scaled)


def device_view(estimator: Any, X: Any, y: Any, *, pos_label: Any = None) -> LinearView:
    """`take_apart` for a PyTorch tensor: the first rows and the labels come to the host, nothing else of X does."""
    from foldless.tables.tensors import TorchMatrix

    if is_estimator(estimator) and dismantled(estimator)[0]:
        raise EstimatorError(
            "the steps of a pipeline run on the host, and X is on another device: transform X there, fit the "
            "classifier to that, and pass both; or pass X.cpu().numpy()."
        )
    model = estimator if is_estimator(estimator) else to_host(estimator)
    given: Any = y if is_torch(y) else checks.label_vector(y)
    refuse_other_shapes(X, given, X.dtype.is_floating_point)
    labels = checks.as_labels(
        to_host(given.unique()) if is_torch(given) else given, pos_label=pos_label, classes=_classes(model)
    )
    matrix = TorchMatrix(X.detach())
    view = _probe_view(model, matrix.rows(slice(0, VERIFIED_ROWS), None), labels)
    _, classes = codes_of(labels)
    codes = matrix.vector(given == labels.positive_label).astype(np.intp)
    return replace(view, X=matrix, codes=codes, classes=classes, scaled=())


def _applied(steps: Steps, X: Any) -> Any:
    """A block after the steps of a pipeline that come before any that saw y."""
    return checks.as_matrix(unfold(steps, X).table) if steps else X


def _readable(X: Any, y: Any) -> Any:
    if is_device_array(X):
        raise InputError(
            f"X is on another device ({type(X).__name__}): pass a PyTorch tensor, a NumPy array, or weights with "
            f"method='in-sample'."
        )
    source = as_source(X, y)
    if source is None:
        raise TypeError("stream_view is for sources")
    if not source.repeatable:
        raise InputError(
            "this needs more than one pass over X, and an iterator can be read only once: pass a function that returns "
            "a fresh one, or weights with method='in-sample'."
        )
    return source


def _classes(estimator: Any) -> Any:
    if not is_estimator(estimator):
        return None
    classes = getattr(dismantled(estimator)[1], "classes_", None)
    return classes if classes is not None and len(classes) == 2 else None


def _probe_view(estimator: Any, probe: Any, labels: checks.Labels) -> LinearView:
    """Weights, intercept and notes from the first rows; the labels are placeholders, since only X matters here."""
    made_up = np.where(np.arange(probe.shape[0]) % 2, labels.positive_label, labels.negative_label)
    if probe.shape[0] < 2:
        raise EstimatorError("the first block of X has a single row: use larger blocks.")
    return take_apart(estimator, probe, made_up, pos_label=labels.positive_label)
