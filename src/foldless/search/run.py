"""A search from start to finish: candidates tried, failures and warnings reported once, one candidate chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from foldless import checks
from foldless.errors import InputError, TrustWarning, warn_user
from foldless.progress import as_progress, told
from foldless.search.candidates import Family, JointAUC, Params, expand, families, param_columns, ranks, simplest
from foldless.search.paths import Outcome, Study, as_is, try_candidate, try_family, try_ridges
from foldless.tables.device import is_torch


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """The result of a search, from which `FoldlessSearch` takes its attributes."""

    outcomes: list[Outcome]
    candidates: list[Params]
    level: float
    best: int

    @property
    def path(self) -> str:
        return "shared" if all(outcome.path == "shared" for outcome in self.outcomes) else "general"

    def on_its_own(self) -> SearchOutcome:
        """The same without the training rows, which nothing but `FoldlessSearch.posterior_` needs any more."""
        return replace(self, outcomes=[replace(o.without_rows(), error=None) for o in self.outcomes])

    @cached_property
    def joint(self) -> JointAUC:
        """How the candidates that could be judged err together."""
        known = [(o.posterior.mean, o.posterior.sd, o.shares) for o in self.outcomes if o.posterior is not None]
        return JointAUC(*(np.array(each) for each in zip(*known, strict=True)))

    @cached_property
    def optimism(self) -> float:
        return self.joint.optimism()

    @cached_property
    def best_posterior(self) -> Any:
        """What the chosen candidate is judged by, with all notes."""
        posterior, count = self.outcomes[self.best].told(), len(self.outcomes)
        note = (
            f"chosen among {count} candidates with the help of this very number: the largest of their means is "
            f"expected to lie {self.optimism:.3f} too high for that reason alone."
        )
        if posterior is None or count == 1 or posterior.mean < np.nanmax(self.results["mean"]):
            return posterior
        return replace(posterior, notes=(*posterior.notes, note))

    @cached_property
    def posteriors(self) -> list[Any]:
        """What the candidates are judged by, with all notes; None for those that could not be judged."""
        return [outcome.told() for outcome in self.outcomes]

    @cached_property
    def results(self) -> dict[str, Any]:
        """The table of the candidates."""
        laws = [o.posterior for o in self.outcomes]
        figures = [(np.nan,) * 4 if p is None else (p.mean, p.sd, *p.interval(self.level)) for p in laws]
        table = dict(zip(("mean", "sd", "lower", "upper"), np.array(figures).T, strict=True))
        path = np.array([o.path for o in self.outcomes])
        known = {"params": self.candidates, **param_columns(self.candidates)}
        return {**known, **table, "rank": ranks(table["mean"]), "path": path}

    @property
    def cv_results(self) -> dict[str, Any]:
        """The same table, by the names that columns have in scikit-learn's searches."""
        names = {"mean": "mean_test_score", "sd": "std_test_score", "rank": "rank_test_score"}
        return {names.get(name, name): column for name, column in self.results.items()}


def check_settings(settings: Any) -> None:
    """Check the parameters of a `FoldlessSearch` that say how to search."""
    checks.one_of(settings.rule, "rule", ("best", "simplest"))
    checks.one_of(settings.scoring, "scoring", ("auc", "accuracy", "balanced_accuracy"))
    error_score = settings.error_score
    if error_score != "raise" and not (isinstance(error_score, float) and np.isnan(error_score)):
        raise InputError(f"error_score must be nan or 'raise', got {error_score!r}.")
    checks.in_open_interval(settings.level, "level")
    as_progress(settings.progress, "candidates")


def run(study: Study, settings: Any) -> SearchOutcome:
    """Try all candidates and choose one; `settings` is the `FoldlessSearch`, or has its parameters."""
    candidates = expand(settings.param_grid)
    outcomes = sorted(_tried(study, candidates, settings), key=lambda outcome: outcome.index)
    judged = _judged(outcomes, candidates, settings.error_score)
    _repeat_warnings(outcomes)
    best = int(np.argmax([o.posterior.mean for o in judged if o.posterior is not None]))
    search = SearchOutcome(outcomes, candidates, settings.level, judged[best].index)
    if settings.rule == "simplest":
        best = simplest(best, [candidates[o.index] for o in judged], search.joint, settings.level)
    return replace(search, best=judged[best].index)


def _tried(study: Study, candidates: list[Params], settings: Any) -> Iterator[Outcome]:
    from joblib import effective_n_jobs

    if study.several_classes and is_torch(study.X):
        from foldless.search.device import try_on_device

        return told(try_on_device(study, candidates), len(candidates), as_progress(settings.progress, "candidates"))
    parts = families(study.estimator, candidates)
    if study.several_classes and not all(is_of_ridges(family) for family in parts):
        parts = [Family((k,), (params,)) for k, params in enumerate(candidates)]
    alone = effective_n_jobs(settings.n_jobs) == 1 or len(parts) == 1
    batches = (_try(study, family) for family in parts) if alone else _in_parallel(study, parts, settings.n_jobs)
    return told(chain.from_iterable(batches), len(candidates), as_progress(settings.progress, "candidates"))


def is_of_ridges(family: Family) -> bool:
    """Whether its members differ in the penalty of a RidgeClassifier, the one family of several classes with a path."""
    return family.strength is not None and family.strength.split("__")[-1] == "alpha"


def _in_parallel(study: Study, parts: list[Family], n_jobs: Any) -> Any:
    from sklearn.utils.parallel import Parallel, delayed

    return Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_try_elsewhere)(study, family) for family in parts)


def _try(study: Study, family: Family) -> Iterable[Outcome]:
    if family.strength is not None and not (study.options.in_sample or study.options.refit):
        return (try_ridges if study.several_classes else try_family)(study, family, family.strength)
    return (try_candidate(study, k, params) for k, params in zip(family.indices, family.params, strict=True))


def _try_elsewhere(study: Study, family: Family) -> list[Outcome]:
    """For another process, which sends back fitted estimators without the training rows."""
    outcomes = _try(study, family)
    here = ((o, None if o.estimator is None else partial(as_is, o.estimator())) for o in outcomes)
    return [replace(o.without_rows(), estimator=estimator) for o, estimator in here]


def _judged(outcomes: list[Outcome], candidates: list[Params], error_score: Any) -> list[Outcome]:
    """The candidates that could be judged; warns about the others, or raises their error if all failed."""
    failed = [(o, o.error) for o in outcomes if o.error is not None]
    if not failed:
        return outcomes
    first, error = failed[0]
    if error_score == "raise" or len(failed) == len(outcomes):
        raise error
    warn_user(
        f"{len(failed)} of {len(outcomes)} candidates could not be judged and are left out of the search; the first, "
        f"{candidates[first.index]}: {error}",
        TrustWarning,
    )
    return [o for o in outcomes if o.error is None]


def _repeat_warnings(outcomes: list[Outcome]) -> None:
    """Give each kind of warning once, in the words of the first candidate that caused it."""
    texts: dict[type[Warning], dict[int, str]] = {}
    for outcome in outcomes:
        for kind, text in outcome.warnings:
            texts.setdefault(kind, {}).setdefault(outcome.index, text)
    for kind, by_candidate in texts.items():
        text, count = next(iter(by_candidate.values())), len(by_candidate)
        more = f" ({count} of {len(outcomes)} candidates gave a warning of this kind)" if len(outcomes) > 1 else ""
        warn_user(text + more, kind)
