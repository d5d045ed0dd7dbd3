"""What is known about one candidate once it was tried."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from foldless.honest.objective import Objective
from foldless.search.assess import Assessment
from foldless.search.candidates import Params, final_classifier
from foldless.search.newton import Fit
from foldless.search.rotation import Rotation

Tick = Callable[[], None]
Heard = tuple[tuple[type[Warning], str], ...]


class Fitted(Protocol):
    """Hands out the fitted scikit-learn estimator of a candidate."""

    def estimator(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class OwnFit:
    """A candidate that was fitted by scikit-learn."""

    fitted: Any

    def estimator(self) -> Any:
        return self.fitted


@dataclass(frozen=True, eq=False)
class SharedFit:
    """A candidate of a shared path: a fitted prototype of its family, and what is its own.

    Its weights on the columns of X are worked out when they are asked for: one candidate in K is chosen.

    Attributes
    ----------
    prototype : fitted estimator, whose coefficients are those of another strength
    params : the parameter in which the candidate differs
    rotation, objective, fit : the candidate's own optimum, and the way back to the columns
    """

    prototype: Any
    params: Params
    rotation: Rotation
    objective: Objective
    fit: Fit

    def estimator(self) -> Any:
        coef, intercept = self.rotation.back(self.objective, self.fit)
        fitted = copy.deepcopy(self.prototype).set_params(**self.params)
        final, _ = final_classifier(fitted)
        # Versions of scikit-learn differ in the shapes; those of the prototype are right.
        final.coef_ = coef.reshape(final.coef_.shape).astype(final.coef_.dtype)
        if final.fit_intercept:
            final.intercept_ = np.full_like(final.intercept_, intercept)[()]
        if final.n_iter_ is not None:
            final.n_iter_ = np.full_like(final.n_iter_, self.fit.steps)[()]
        return fitted


@dataclass(frozen=True, eq=False)
class Outcome:
    """One candidate: judged, or why not.

    Attributes
    ----------
    index : position in the grid
    path : "shared" or "general"
    assessment, fitted : None if the candidate failed
    error : what it failed with
    heard : warnings given meanwhile
    """

    index: int
    path: str
    assessment: Assessment | None = None
    fitted: Fitted | None = None
    error: Exception | None = None
    heard: Heard = field(default=())


@contextmanager
def listening() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings instead of giving them: K candidates would say the same K times, some in other processes."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield heard


def as_heard(messages: list[warnings.WarningMessage]) -> Heard:
    """Kind and text of each warning."""
    return tuple((m.category, str(m.message)) for m in messages)
