"""One member of a family of L2 strengths, fitted for what all members share: steps, classes, names, the objective."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from foldless._check import Floats
from foldless.anatomy import LinearView, take_apart
from foldless.errors import EstimatorError
from foldless.honest import Objective, describe
from foldless.search.candidates import Params, final_classifier
from foldless.search.general import Study


@dataclass(frozen=True, eq=False)
class Prototype:
    """A fitted member of the family, taken apart; its own coefficients are of no interest."""

    estimator: Any
    view: LinearView
    weight: Floats | None
    strength: str
    X: Any  # as the user gave it

    @classmethod
    def of(cls, study: Study, params: Params, strength: str) -> Prototype:
        """Fit a member for one iteration: scikit-learn checks the data and sets all but the coefficients."""
        estimator = _fitted_in_haste(study, params)
        weight = study.weight(estimator)
        return cls(estimator, take_apart(estimator, study.X, study.y), weight, strength, study.X)

    @cached_property
    def template(self) -> Objective | None:
        """What the prototype minimises; None where the honest method does not know, or not on these columns."""
        view = self.view
        # With a single row in a class there is nothing to remove: the general path says so.
        if view.estimator is None or min(view.labels.n0, view.labels.n1) < 2:
            return None
        found = describe(view, self.weight)
        # Without a penalty the strength has no effect, and the optimum may not exist.
        return found if found is not None and found.lam > 0 else None

    def objective(self, value: float) -> Objective:
        """What the member with this strength minimises: C multiplies the losses, alpha is the penalty itself."""
        template, name = self.template, self.strength.split("__")[-1]
        if template is None:
            raise EstimatorError(f"no closed form is known for {type(self.estimator).__name__} with these parameters.")
        if name == "alpha":
            return replace(template, lam=float(value))
        loss: Any = template.loss
        factor = float(value) / float(self.view.estimator.C)  # type: ignore[union-attr]
        return replace(template, loss=replace(loss, weight=factor * loss.weight))


def _fitted_in_haste(study: Study, params: Params) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    estimator = study.unfitted(params)
    own = final_classifier(estimator)[0].get_params(deep=False)
    hasty = _hasty(own)
    final_classifier(estimator)[0].set_params(**hasty)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(study.X, study.y, **study.fit_params)
    final_classifier(estimator)[0].set_params(**{name: own[name] for name in hasty})
    return estimator


def _hasty(own: Params) -> Params:
    """Parameters that end an iterative fit at once. With L2, all solvers but liblinear minimise the same as lbfgs."""
    if not isinstance(own.get("max_iter"), int) or own["max_iter"] < 1:
        return {}
    l1 = own.get("penalty") in ("l1", "elasticnet") or bool(own.get("l1_ratio"))
    other = own.get("solver") in ("newton-cg", "newton-cholesky", "sag", "saga") and not l1
    return {"max_iter": 1, "solver": "lbfgs"} if other else {"max_iter": 1}
