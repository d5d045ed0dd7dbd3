"""The general path: fit the candidate as scikit-learn does, then judge it on its training rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless import _check
from foldless._check import Floats
from foldless._steps import sklearn_names
from foldless.errors import InputError, TrustWarning, warn_user
from foldless.search.assess import Judge, assess
from foldless.search.candidates import Params
from foldless.search.outcome import Outcome, OwnFit, as_heard, listening


@dataclass(frozen=True, eq=False)
class Study:
    """What all candidates share: the unfitted estimator, the training rows, and how to judge."""

    estimator: Any
    X: Any
    y: Any
    fit_params: Params
    judge: Judge

    @cached_property
    def several_classes(self) -> bool:
        """Whether there are more than two classes: then no path is shared, and what is judged is an average AUC."""
        from sklearn.utils.multiclass import type_of_target

        return bool(type_of_target(self.y) == "multiclass")

    def unfitted(self, params: Params) -> Any:
        """A fresh candidate."""
        from sklearn.base import clone

        # Parameters may be estimators themselves, and must not be shared between candidates.
        return clone(self.estimator).set_params(**clone(params, safe=False))

    def weight(self, estimator: Any) -> Floats | None:
        """Sample weights that reach the classifier of a candidate, checked."""
        given = weight_of_classifier(estimator, self.fit_params)
        if given is None:
            return None
        if self.several_classes:
            return self._weight_of_classes(given)
        labels = _check.as_labels(self.y)
        weight = _check.as_row_weights(given, labels.positive.size)
        for name, rows in ((labels.negative_label, ~labels.positive), (labels.positive_label, labels.positive)):
            if not weight[rows].any():
                raise InputError(
                    f"sample_weight is 0 for every row of class {name!r}, which leaves one class to learn from: "
                    f"give some rows of each class a positive weight."
                )
        return weight

    def _weight_of_classes(self, given: Any) -> Floats:
        labels = _check.label_vector(self.y)
        weight = _check.as_row_weights(given, labels.size)
        for name in np.unique(labels).tolist():
            if not weight[labels == name].any():
                raise InputError(
                    f"sample_weight is 0 for every row of class {name!r}, which leaves nothing to learn it from: give "
                    f"some rows of each class a positive weight, or leave that class out."
                )
        return weight


def try_candidate(study: Study, index: int, params: Params) -> Outcome:
    """Fit and judge one candidate; whatever goes wrong becomes part of the outcome."""
    candidate = study.unfitted(params)
    with listening() as heard:
        try:
            fitted = candidate.fit(study.X, study.y, **study.fit_params)
            assessment = assess(fitted, study.X, study.y, study.judge, study.weight(fitted))
            if assessment.strained is not None:
                warn_user(assessment.strained, TrustWarning)
        except Exception as err:
            return Outcome(index, "general", error=err, heard=as_heard(heard))
    return Outcome(index, "general", assessment, OwnFit(fitted), heard=as_heard(heard))


def weight_of_classifier(estimator: Any, fit_params: Params) -> Any:
    """The sample weights that reach the classifier at the end of a pipeline, or None."""
    if not fit_params or "Pipeline" not in sklearn_names(estimator):
        return fit_params.get("sample_weight")
    name, last = estimator.steps[-1]
    return weight_of_classifier(last, _params_of_step(estimator, name, fit_params))


def _params_of_step(pipeline: Any, name: str, fit_params: Params) -> Params:
    from sklearn import get_config
    from sklearn.utils.metadata_routing import process_routing

    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(pipeline, "fit", **fit_params)[name]["fit"])
    prefix = f"{name}__"
    return {key.removeprefix(prefix): value for key, value in fit_params.items() if key.startswith(prefix)}
