"""A search over ridge classifiers of several classes whose rows are a PyTorch tensor: judged where the rows lie."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from foldless.checks import Ints
from foldless.errors import EstimatorError
from foldless.honest.penalties import is_strength
from foldless.model.steps import sklearn_names
from foldless.model.view import codes_among
from foldless.results.accuracy import AccuracyPosterior
from foldless.search.candidates import Params, shares_of_right
from foldless.search.paths import Outcome, Study, as_is
from foldless.tables.device import refuse_other_shapes, to_host

EXPECTED = (
    "a search over tensors of more than two classes takes RidgeClassifier without steps before it, class weights or "
    "positive=True, positive numbers for alpha, scoring='accuracy' or 'balanced_accuracy', method 'auto' or 'loo', and "
    "no fit arguments; got {}: change that, or pass X.cpu().numpy()."
)


def try_on_device(study: Study, candidates: list[Params]) -> Iterator[Outcome]:
    """Outcomes of all candidates; those with an intercept share one eigendecomposition, and those without one."""
    X = study.X.detach()
    refuse_other_shapes(X, np.asarray(study.y), X.dtype.is_floating_point)
    models = [study.unfitted(params) for params in candidates]
    strange = next((why for why in map(partial(_strange, study), models) if why is not None), None)
    if strange is not None:
        raise EstimatorError(EXPECTED.format(strange))
    for free in (True, False):
        members = [k for k, model in enumerate(models) if model.fit_intercept == free]
        if members:
            yield from _judged_together(study, X, {k: models[k] for k in members}, free)


def _strange(study: Study, model: Any) -> str | None:
    """What keeps a candidate from being judged on the device, in words."""
    if "RidgeClassifier" not in sklearn_names(model):
        return type(model).__name__
    found = {
        f"alpha={model.alpha!r}": not is_strength(model.alpha),
        f"class_weight={model.class_weight!r}": model.class_weight is not None,
        "positive=True": model.positive,
        f"scoring={study.scoring!r}": study.scoring == "auc",
        f"method={study.options.method!r}": study.options.refit,
        "fit arguments": bool(study.fit_params),
    }
    return next((text for text, holds in found.items() if holds), None)


def _judged_together(study: Study, X: Any, models: dict[int, Any], free_intercept: bool) -> Iterator[Outcome]:
    from foldless.honest.ridge_on_device import Spectrum

    names, first = np.unique(study.y, return_index=True)
    codes: Ints = codes_among(study.y, tuple(names.tolist()))
    # scikit-learn checks the parameters and sets everything but the coefficients.
    shell = copy.deepcopy(next(iter(models.values()))).set_params(solver="auto", alpha=1.0)
    shell.fit(to_host(X[first]), names)
    fits = Spectrum.of(X, codes, free_intercept).fits([float(model.alpha) for model in models.values()])
    for (index, model), fit in zip(models.items(), fits, strict=True):
        fitted = copy.deepcopy(shell).set_params(**model.get_params(deep=False))
        fitted.coef_ = fit.weights.T.astype(shell.coef_.dtype)
        fitted.intercept_ = fit.intercepts if free_intercept else 0.0
        accuracy = study.scoring == "accuracy"
        rows = fit.judged.accuracy() if accuracy else fit.judged.balanced()
        posterior = AccuracyPosterior.of_rows(
            study.scoring.replace("_", " "), *rows, apparent=fit.accuracy if accuracy else fit.balanced_accuracy
        )
        shares = shares_of_right(fit.judged.right, None)
        yield Outcome(index, "shared", posterior, shares, partial(as_is, fitted))
