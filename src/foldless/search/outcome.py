"""What is known about a candidate once it was tried, and how far a search has come."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Any

import numpy as np

from foldless.errors import InputError
from foldless.honest.families import Objective
from foldless.results.auc import AUCPosterior
from foldless.search.assess import Assessment
from foldless.search.candidates import Params, final_classifier
from foldless.search.newton import Fit, Rotation

Tick = Callable[[], None]
Heard = tuple[tuple[type[Warning], str], ...]


@dataclass(frozen=True, eq=False)
class OwnFit:
    """A candidate that was fitted by scikit-learn."""

    fitted: Any

    def estimator(self) -> Any:
        return self.fitted


@dataclass(frozen=True, eq=False)
class SharedFit:
    """A candidate of a shared path: a fitted prototype of its family, and what is its own.

    Its weights on the columns of X are computed only on request, as only one candidate is chosen in the end.
    """

    prototype: Any  # fitted with another strength
    params: Params  # the parameter in which the candidate differs
    # The candidate's own optimum, and the way back to the columns.
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
    """One candidate: its assessment and its fit, or the error that it failed with."""

    index: int  # position in the grid
    path: str  # "shared" or "general"
    assessment: Assessment | None = None
    fitted: OwnFit | SharedFit | None = None
    error: Exception | None = None
    heard: Heard = ()  # warnings given meanwhile

    @property
    def posterior(self) -> AUCPosterior | None:
        """The posterior of its AUC; None if the candidate failed."""
        return None if self.assessment is None else self.assessment.posterior


@contextmanager
def listening() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings instead of giving them: K candidates would repeat them K times, some in other processes."""
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        yield messages


def as_heard(messages: list[warnings.WarningMessage]) -> Heard:
    """Kind and text of each warning."""
    return tuple((m.category, str(m.message)) for m in messages)


Progress = Callable[[int, int, float | None], None]


def counter(total: int, progress: Progress | None) -> Tick:
    """To be called after each candidate; calls ``progress(done, total, seconds to go)``."""
    start, numbers = monotonic(), count(1)

    def tick() -> None:
        done = next(numbers)
        if progress is not None:
            progress(done, total, (monotonic() - start) / done * (total - done))

    return tick


def as_progress(progress: Any) -> Progress | None:
    """None for False, a bar for True, a callable as it is."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if not callable(progress):
        raise InputError(
            f"progress must be True, False or a callable that takes (done, total, seconds to go), got {progress!r}."
        )
    return progress  # type: ignore[no-any-return]


class Bar:
    """A bar of rich where that is installed, a line now and then otherwise; nothing for short searches."""

    def __init__(self, patience: float = 2.0) -> None:
        self.patience = patience
        self.start = self.last = monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, done: int, total: int, remaining: float | None) -> None:
        now = monotonic()
        if self.bar is None and (now - self.start < self.patience or done == total):
            return
        if self.bar is None:
            self.bar = _rich_bar() or "plain"
            if self.bar != "plain":
                self.task = self.bar.add_task("candidates", total=total)
                self.bar.start()
        self._show(done, total, remaining, now)

    def _show(self, done: int, total: int, remaining: float | None, now: float) -> None:
        if self.bar != "plain":
            self.bar.update(self.task, completed=done)
        elif done == total or now - self.last >= self.patience:
            self.last = now
            left = "" if remaining is None or done == total else f", {remaining:.0f} s to go"
            print(f"{done} of {total} candidates{left}", file=sys.stderr)

    def close(self) -> None:
        """Remove the bar, also when the search was interrupted."""
        if self.bar not in (None, "plain"):
            self.bar.stop()


def _rich_bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    return RichProgress(console=Console(stderr=True), transient=True)
