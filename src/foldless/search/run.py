"""A search from start to end: candidates tried, failures and warnings reported once, one candidate chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless import checks
from foldless.errors import InputError, TrustWarning, warn_user
from foldless.search.candidates import Family, Params, expand, families, param_columns
from foldless.search.choice import JointAUC, ranks, simplest
from foldless.search.outcome import Bar, Outcome, OwnFit, Tick, as_progress, counter
from foldless.search.paths import Study, try_candidate, try_family


@dataclass(frozen=True)
class SearchSettings:
    """How to search; the parameters of `FoldlessSearch` that are not about judging, checked."""

    rule: str
    level: float
    n_jobs: Any
    error_score: Any
    progress: Any

    def __post_init__(self) -> None:
        if self.rule not in ("best", "simplest"):
            raise InputError(f"rule must be 'best' or 'simplest', got {self.rule!r}.")
        if self.error_score != "raise" and not (isinstance(self.error_score, float) and np.isnan(self.error_score)):
            raise InputError(f"error_score must be nan or 'raise', got {self.error_score!r}.")
        checks.in_open_interval(self.level, "level")
        as_progress(self.progress)


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """The result of a search; `FoldlessSearch` shows it as its attributes."""

    candidates: list[Params]
    outcomes: list[Outcome]
    results: dict[str, Any]
    best: int
    optimism: float

    @property
    def path(self) -> str:
        return "shared" if all(outcome.path == "shared" for outcome in self.outcomes) else "general"


def run(study: Study, param_grid: Any, settings: SearchSettings) -> SearchOutcome:
    """Try all candidates and choose one."""
    candidates = expand(param_grid)
    outcomes = sorted(_tried(study, candidates, settings), key=lambda outcome: outcome.index)
    judged = _judged(outcomes, candidates, settings.error_score)
    _repeat_warnings(outcomes)
    results = _results(candidates, outcomes, settings.level)
    known = [o.index for o in judged]
    shares = np.array([o.assessment.shares for o in judged if o.assessment])
    joint = JointAUC(results["mean"][known], results["sd"][known], shares)
    best = int(np.argmax(joint.mean))
    if settings.rule == "simplest":
        best = simplest(best, [candidates[k] for k in known], joint, settings.level)
    return SearchOutcome(candidates, outcomes, results, known[best], joint.optimism())


def _tried(study: Study, candidates: list[Params], settings: SearchSettings) -> Iterator[Outcome]:
    from joblib import effective_n_jobs

    alone = [Family((k,), (params,)) for k, params in enumerate(candidates)]
    parts = alone if study.several_classes else families(study.estimator, candidates)
    progress = as_progress(settings.progress)
    tick = counter(len(candidates), progress)
    try:
        if effective_n_jobs(settings.n_jobs) == 1 or len(parts) == 1:
            for family in parts:
                yield from _try(study, family, tick)
            return
        for outcomes in _in_parallel(study, parts, settings.n_jobs):
            for outcome in outcomes:
                tick()
                yield outcome
    finally:
        if isinstance(progress, Bar):
            progress.close()


def _in_parallel(study: Study, parts: list[Family], n_jobs: Any) -> Any:
    from sklearn.utils.parallel import Parallel, delayed

    return Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_try_elsewhere)(study, family) for family in parts)


def _try(study: Study, family: Family, tick: Tick) -> list[Outcome]:
    if family.strength is not None and not study.options.in_sample:
        return try_family(study, family, family.strength, tick)
    outcomes = []
    for index, params in zip(family.indices, family.params, strict=True):
        outcomes.append(try_candidate(study, index, params))
        tick()
    return outcomes


def _try_elsewhere(study: Study, family: Family) -> list[Outcome]:
    """In another process, which cannot show progress, and sends back fitted estimators, not the training rows."""
    outcomes = _try(study, family, lambda: None)
    return [o if o.fitted is None else replace(o, fitted=OwnFit(o.fitted.estimator())) for o in outcomes]


def _judged(outcomes: list[Outcome], candidates: list[Params], error_score: Any) -> list[Outcome]:
    """The candidates that could be judged; a warning about the others, or their error where all failed."""
    failed = [o for o in outcomes if o.error is not None]
    if failed and (error_score == "raise" or len(failed) == len(outcomes)):
        raise failed[0].error  # type: ignore[misc]
    if failed:
        first = failed[0]
        warn_user(
            f"{len(failed)} of {len(outcomes)} candidates could not be judged and are out of the search; the first, "
            f"{candidates[first.index]}: {first.error}",
            TrustWarning,
        )
    return [o for o in outcomes if o.error is None]


def _repeat_warnings(outcomes: list[Outcome]) -> None:
    """Each kind of warning once, in the words of the first candidate that gave it."""
    texts: dict[type[Warning], dict[int, str]] = {}
    for outcome in outcomes:
        for kind, text in outcome.heard:
            texts.setdefault(kind, {}).setdefault(outcome.index, text)
    for kind, by_candidate in texts.items():
        text, count = next(iter(by_candidate.values())), len(by_candidate)
        more = f" ({count} of {len(outcomes)} candidates gave a warning of this kind)" if len(outcomes) > 1 else ""
        warn_user(text + more, kind)


def _results(candidates: list[Params], outcomes: list[Outcome], level: float) -> dict[str, Any]:
    posteriors = [o.posterior for o in outcomes]
    figures = [(np.nan,) * 4 if p is None else (p.mean, p.sd, *p.interval(level)) for p in posteriors]
    mean, sd, lower, upper = np.array(figures).T
    return {
        "params": candidates,
        **param_columns(candidates),
        "mean": mean,
        "sd": sd,
        "lower": lower,
        "upper": upper,
        "rank": ranks(mean),
        "path": np.array([o.path for o in outcomes]),
    }
