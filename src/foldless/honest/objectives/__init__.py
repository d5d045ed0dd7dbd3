"""Which classifier minimised what: one file per family, one line per class in `FAMILIES`.

A family is a module with ``describe(view, sample_weight) -> Objective | None``; None says that this particular
fit (L1 penalty, automatic shrinkage, ...) has no closed form, and the surrogate takes over.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foldless._check import Floats
from foldless.honest.objective import Objective

if TYPE_CHECKING:
    from foldless.anatomy import LinearView

FAMILIES = {
    "LogisticRegression": "logistic",
    "LogisticRegressionCV": "logistic",
    "RidgeClassifier": "ridge",
    "RidgeClassifierCV": "ridge",
    "LinearSVC": "svm",
    "LinearDiscriminantAnalysis": "lda",
}


def describe(view: LinearView, sample_weight: Floats | None = None) -> Objective | None:
    """Objective that the view's classifier minimised, or None when it is unknown or has no closed form."""
    family = _family(view.estimator)
    if family is None:
        return None
    found: Objective | None = import_module(f"{__name__}.{family}").describe(view, sample_weight)
    return found


def _family(estimator: Any) -> str | None:
    """Module that knows this estimator: scikit-learn's own class, or a subclass that trains in the same way."""
    kind: Any = type(estimator)
    for base in kind.__mro__:
        if base.__name__ in FAMILIES and base.__module__.startswith("sklearn."):
            # A subclass with its own fit may minimise anything.
            return FAMILIES[base.__name__] if kind.fit is base.fit else None
    return None
