"""The joint posterior of several classifiers on the same rows, by either method."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from foldless._check import Floats, known_method
from foldless.anatomy import take_apart
from foldless.auc import AUCPosterior
from foldless.comparison.difference import Difference
from foldless.comparison.in_sample import in_sample_joint
from foldless.comparison.loo import LooJoint
from foldless.comparison.paired import paired_evidence
from foldless.errors import FoldlessWarning, TrustWarning, warn_user
from foldless.estimate import auc_posterior
from foldless.findings.answer import auc_answer
from foldless.findings.quick import quick_notes
from foldless.honest.analysis import Analysis
from foldless.honest.posterior import EffectPrior
from foldless.prior import Prior
from foldless.sources import refuse_stream

NEAR_ONE = 0.97  # beyond it, intervals of differences covered too little on real data (results/compare.md)


class Joint(Protocol):
    """What is known about the AUCs of several models together; models go by their number."""

    def difference(self, a: int, b: int) -> Difference:
        """Posterior of AUC_a - AUC_b; exactly mirrored when a and b change places."""

    def correlation(self, a: int, b: int) -> float:
        """How the errors of the two estimates go together."""

    def prob_best(self) -> Floats:
        """For each model, the probability that it has the largest AUC."""


@dataclass(frozen=True)
class How:
    """The question that is asked about every model; the fields are parameters of `auc_posterior`."""

    method: Any = "auto"
    prior: Any = None
    groups: Any = None
    sample_weight: Any = None
    pos_label: Any = None


@dataclass(frozen=True, eq=False)
class Judged:
    """Every model's own posterior, the joint one, and what a reader must know."""

    posteriors: dict[str, AUCPosterior]
    joint: Joint
    notes: tuple[str, ...]

    @property
    def method(self) -> str:
        """The weakest of the methods used: one surrogate makes the comparison rest on a surrogate."""
        found = {post.method for post in self.posteriors.values()}
        return found.pop() if len(found) == 1 else "loo-surrogate"


def judged(models: Mapping[str, Any], X: Any, y: Any, how: How) -> Judged:
    """Judge every model on the rows that all of them were fitted to."""
    refuse_stream(X, y, "compare")
    judge = _in_sample if known_method(how.method) == "in-sample" else _loo
    return judge(models, X, y, how)


def _loo(models: Mapping[str, Any], X: Any, y: Any, how: How) -> Judged:
    prior = EffectPrior.checked(how.prior)
    found: dict[str, Analysis] = {}
    posteriors = {}
    for name, model in models.items():
        view = take_apart(model, X, y, pos_label=how.pos_label)
        found[name] = each = Analysis.of(view, prior, how.groups, how.sample_weight)
        if each.strained is not None:
            warn_user(f"{name}: {each.strained}", TrustWarning)
        table_notes = quick_notes(view, X, each.removed.groups)
        posteriors[name] = auc_answer(each, view.labels.n0, view.labels.n1, table_notes)
    evidence = paired_evidence([f.removed for f in found.values()], [f.statistic for f in found.values()])
    return Judged(posteriors, LooJoint(evidence, prior), (*_merged(posteriors), *_near_one(posteriors)))


def _in_sample(models: Mapping[str, Any], X: Any, y: Any, how: How) -> Judged:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posteriors = {name: auc_posterior(model, X, y, **vars(how)) for name, model in models.items()}
    for message in {str(w.message): w.message for w in caught if issubclass(w.category, FoldlessWarning)}.values():
        warn_user(message)  # once, though it concerns every model
    views = [take_apart(model, X, y, pos_label=how.pos_label) for model in models.values()]
    joint = in_sample_joint(views, Prior.paper() if how.prior is None else how.prior)
    return Judged(posteriors, joint, _merged(posteriors))


def _merged(posteriors: Mapping[str, AUCPosterior]) -> tuple[str, ...]:
    """Each note once, with the models that it concerns where it does not concern all."""
    owners: dict[str, list[str]] = {}
    for name, post in posteriors.items():
        for note in dict.fromkeys(post.notes):
            owners.setdefault(note, []).append(name)
    return tuple(note if len(who) == len(posteriors) else f"{', '.join(who)}: {note}" for note, who in owners.items())


def _near_one(posteriors: Mapping[str, AUCPosterior]) -> tuple[str, ...]:
    if sum(post.mean > NEAR_ONE for post in posteriors.values()) < 2:
        return ()
    return (
        f"AUCs above {NEAR_ONE:g} are decided by the few rows in the tails of the scores: "
        f"differences between them are less certain than their intervals and probabilities say.",
    )
