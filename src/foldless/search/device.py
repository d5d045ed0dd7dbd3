"""A search over ridge classifiers of several classes whose rows are a PyTorch tensor: judged where the rows lie."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from foldless.checks import Array, Ints
from foldless.errors import EstimatorError
from foldless.honest.penalties import is_strength, l2_strength
from foldless.model.view import codes_among
from foldless.results.accuracy import AccuracyPosterior
from foldless.search.candidates import Params, shares_of_right
from foldless.search.paths import Outcome, Study, as_is
from foldless.tables.device import refuse_other_shapes

EXPECTED = (
    "with more than two classes, a search on PyTorch tensors is for RidgeClassifier alone (no pipeline, "
    "class_weight=None, positive=False, every alpha a positive number), scoring='accuracy' or 'balanced_accuracy', "
    "method='auto' or 'loo', and no further arguments of fit; got {}. Change that, or search on the host with "
    "X.detach().cpu().numpy()."
)


def try_on_device(study: Study, candidates: list[Params]) -> Iterator[Outcome]:
    """Outcomes of all candidates; those with an intercept share one eigendecomposition, and those without one."""
    X, names = study.X.detach(), np.unique(study.y)
    refuse_other_shapes(X, np.asarray(study.y), X.dtype.is_floating_point)
    given = ", ".join(f"{name}=..." for name, value in study.fit_params.items() if value is not None)
    _refuse(f"scoring={study.scoring!r}", study.scoring == "auc")
    _refuse(f"method={study.options.method!r}", study.options.refit)
    _refuse(f"fit(X, y, {given})", bool(given))
    shells: dict[int, Any] = {}
    for index, params in enumerate(candidates):
        try:
            shells[index] = _shell(study.unfitted(params), X, names)
        except Exception as err:
            yield Outcome(index, "shared", error=err)
    for free in (True, False):
        members = {index: shell for index, shell in shells.items() if bool(shell.fit_intercept) == free}
        if members:
            yield from _judged_together(study, X, codes_among(study.y, tuple(names.tolist())), members, free)


def _refuse(what: str, holds: bool) -> None:
    if holds:
        raise EstimatorError(EXPECTED.format(what))


def _shell(model: Any, X: Any, names: Array) -> Any:
    """A candidate as scikit-learn fits it, but for its coefficients: with one column of zeros that takes no time."""
    _refuse(type(model).__name__, l2_strength(model) != "alpha")
    _refuse(f"alpha={model.alpha!r}", not is_strength(model.alpha))
    _refuse(f"class_weight={model.class_weight!r}", model.class_weight is not None)
    _refuse(f"positive={model.positive!r}", bool(model.positive))
    model.fit(np.zeros((names.size, 1), np.float32 if X.element_size() <= 4 else np.float64), names)
    model.n_features_in_ = int(X.shape[1])
    return model


def _judged_together(study: Study, X: Any, codes: Ints, shells: dict[int, Any], intercept: bool) -> Iterator[Outcome]:
    from foldless.honest.ridge_on_device import DeviceSpectrum

    fits = DeviceSpectrum.of(X, codes, intercept).fits([float(model.alpha) for model in shells.values()])
    for (index, fitted), fit in zip(shells.items(), fits, strict=True):
        fitted.coef_ = fit.weights.T.astype(fitted.coef_.dtype)
        fitted.intercept_ = fit.intercepts if intercept else 0.0
        of_all = study.scoring == "accuracy"
        rows = fit.judged.accuracy() if of_all else fit.judged.balanced()
        apparent = fit.accuracy if of_all else fit.balanced_accuracy
        posterior = AccuracyPosterior.of_rows(study.scoring.replace("_", " "), *rows, apparent=apparent)
        yield Outcome(index, "shared", posterior, shares_of_right(fit.judged.right, None), partial(as_is, fitted))
