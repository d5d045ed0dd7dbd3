"""The joint posterior of several classifiers on the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from foldless import words
from foldless.analysis import Analysis, analysed
from foldless.checks import Floats, Ints
from foldless.comparison.difference import KNOTS, Difference
from foldless.comparison.in_sample import InSampleJoint, in_sample_joint
from foldless.comparison.paired import (
    LEAST,
    TAIL_DF,
    PairedEvidence,
    center,
    class_evidence,
    paired_evidence,
    refitted_evidence,
    typical_gap,
    wins,
)
from foldless.computation import Options
from foldless.errors import EstimatorError, InputError, OptimismWarning, warn_user
from foldless.honest.posterior import HIGH, LOW, EffectPrior
from foldless.honest.refits import Refits
from foldless.honest.statistic import SeparationStatistic
from foldless.laws.effect import SQRT2
from foldless.laws.prior import Prior
from foldless.results.auc import AUCPosterior
from foldless.tables import refuse_stream

# The joint posterior of two separations from honest scores, on a grid:
#
#     likelihood: bivariate t of the signed roots of both deviances, with correlation r
#
#     prior:      sqrt(pi(delta_a) pi(delta_b)) x Cauchy( (delta_a - delta_b) / (s T) ) / (s T),
#                 s = sqrt(2 (1 - likeness)),   T = typical_gap( (delta_a + delta_b)/2 )
#
# pi is the prior of a single classifier; (delta_a - delta_b)/s is the separation of the classes along the difference of
# the two standardised score directions, whose length is s. Unlike under a product of two priors, nearly equal models
# differ little: s goes to 0, and they become one model with the prior pi.

REACH = 8.0
MIDDLE_POINTS, COARSE_POINTS, GAP_POINTS = 129, 71, 257
MIN_DETERMINANT = 1e-12
MOST_ALIKE = 1 - 1e-9  # correlation of errors; beyond it, rounding decides


@dataclass(frozen=True, eq=False)
class LooJoint:
    """Joint posterior of the AUCs of K models, from honest scores."""

    evidence: PairedEvidence
    prior: EffectPrior

    def correlation(self, a: int, b: int) -> float:
        """Correlation of the errors of the two estimates."""
        return float(self.evidence.correlation[a, b])

    def difference(self, a: int, b: int) -> Difference:
        """Posterior of AUC_a - AUC_b; computed in one fixed order, so that both orders agree to the last bit."""
        if self.evidence.same(a, b):
            return Difference.none()
        if _key(self.evidence.statistics[a]) > _key(self.evidence.statistics[b]):
            return self.difference(b, a).mirrored()
        return replace(self, evidence=self.evidence.among([a, b]))._of_two()

    def _of_two(self) -> Difference:
        """The difference, where there are just two models."""
        apart = np.sqrt(2 * (1 - self.evidence.likeness[0, 1]))
        in_order = any(s.auc in (0.0, 1.0) for s in self.evidence.statistics)
        middle, gap = _wide_grid(LEAST * apart) if in_order else self._fitting_grid()
        delta_a, delta_b = middle[:, None] + gap / 2, middle[:, None] - gap / 2
        scale = apart * typical_gap(middle[:, None])
        log_t = -(TAIL_DF + 1) / 2 * np.log1p(np.square(gap / scale) / TAIL_DF)
        log_density = self._log_likelihood(delta_a, delta_b) + log_t - np.log(scale)
        log_density = log_density + 0.5 * (self.prior.log_density(delta_a) + self.prior.log_density(delta_b))
        return _law_of_gap(middle, gap, log_density, ndtr(delta_a / SQRT2) - ndtr(delta_b / SQRT2))

    def prob_best(self) -> Floats:
        """For each model, the probability that it has the largest AUC; models that rank alike share it."""
        everyone = range(len(self.evidence.statistics))
        kept = [k for k in everyone if not any(self.evidence.same(k, j) for j in range(k))]
        firsts = [next(j for j in kept if self.evidence.same(k, j)) for k in everyone]
        # Of two models the answer is that of `compare`.
        shares = self.difference(*kept).beyond(0.0)[::2] if len(kept) == 2 else wins(self.evidence.among(kept))
        chance = dict(zip(kept, shares, strict=True))
        return np.array([chance[j] / firsts.count(j) for j in firsts])

    def _log_likelihood(self, delta_a: Floats, delta_b: Floats) -> Floats:
        E = self.evidence
        r = float(np.clip(E.correlation[0, 1], -MOST_ALIKE, MOST_ALIKE))
        za, zb = (s.distance(delta) for s, delta in zip(E.statistics, (delta_a, delta_b), strict=True))
        return np.asarray(-(E.df + 2) / 2 * np.log1p((za**2 - 2 * r * za * zb + zb**2) / (1 - r**2) / E.df))

    def _fitting_grid(self) -> tuple[Floats, Floats]:
        """Means of the two separations (M,) and differences (M, G), which follow the ridge of the likelihood."""
        da, db = (center(statistic) for statistic in self.evidence.statistics)
        (va, c), (_, vb) = self.evidence.covariance
        v_middle = max((va + vb + 2 * c) / 4, MIN_DETERMINANT)
        slope = (va - vb) / 2 / v_middle
        v_gap = max(va + vb - 2 * c - slope**2 * v_middle, MIN_DETERMINANT * (va + vb))
        near = (da + db) / 2 + np.sqrt(v_middle) * np.linspace(-REACH, REACH, MIDDLE_POINTS)
        middle = np.unique(np.concatenate([np.linspace(LOW, HIGH, COARSE_POINTS), np.clip(near, LOW, HIGH)]))
        ridge = (da - db) + slope * (middle - (da + db) / 2)
        return middle, ridge[:, None] + np.sqrt(v_gap) * np.linspace(-REACH, REACH, GAP_POINTS)


def _key(s: SeparationStatistic) -> tuple[float, ...]:
    return s.auc, s.trials, s.df, s.noise_share


def _wide_grid(scale: float) -> tuple[Floats, Floats]:
    """All separations in the range of the prior, with differences dense around 0 on their own scale."""
    middle = np.linspace(LOW, HIGH, 2 * MIDDLE_POINTS + 1)
    steps = np.linspace(-1, 1, GAP_POINTS) * np.arcsinh(REACH / scale)
    return middle, np.tile(scale * np.sinh(steps), (middle.size, 1))


def _law_of_gap(middle: Floats, gap: Floats, log_density: Floats, values: Floats) -> Difference:
    """Law of `values` (M, G), increasing along each row, under a density of (middle, gap)."""
    density = np.exp(log_density - log_density.max())
    cells = np.diff(gap, axis=1) * (density[:, 1:] + density[:, :-1]) / 2
    cells *= np.gradient(middle)[:, None]
    cells /= cells.sum()
    mass = cells.sum(axis=1)
    kept = mass > 1e-12 * mass.max()
    values, cells = values[kept], cells[kept]
    below = np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)
    # Points at roughly the quantiles `KNOTS`, and the ends.
    middles = (values[:, 1:] + values[:, :-1]).ravel() / 2
    order = np.argsort(middles, kind="stable")
    inner = np.interp(KNOTS, np.cumsum(cells.ravel()[order]), middles[order])
    points = np.unique(np.concatenate([[values.min()], inner, [values.max()]]))
    total = np.sum([np.interp(points, v, p) for v, p in zip(values, below, strict=True)], axis=0)
    return Difference.of(points, total)


NEAR_ONE = 0.97  # beyond it, intervals of differences covered too little on real data (results/compare.md)


@dataclass(frozen=True, eq=False)
class Judged:
    """Every model's own posterior, the joint one (of models by their number), and what a reader must know."""

    posteriors: dict[str, AUCPosterior]
    joint: LooJoint | InSampleJoint
    notes: tuple[str, ...]

    @property
    def method(self) -> str:
        """The weakest of the methods used: one surrogate makes the comparison rest on a surrogate."""
        methods = {post.method for post in self.posteriors.values()}
        return methods.pop() if len(methods) == 1 else "loo-surrogate"


def judged(models: Mapping[str, Any], X: Any, y: Any, options: Options) -> Judged:
    """Judge every model, or read off its analysis, on the rows that all of them were fitted to."""
    refuse_stream(X, y, "compare")
    # X, y and options apply to the models that are not analyses; if all are, `analysed` refuses them.
    only_analyses = all(isinstance(model, Analysis) for model in models.values())
    analyses: dict[str, Analysis] = {}
    for name, model in models.items():
        with _about(name):
            given = isinstance(model, Analysis) and not only_analyses
            analyses[name] = model if given else analysed(model, X, y, options)
            if analyses[name].options.in_sample:
                analyses[name].refuse_several_classes("compare by method 'in-sample'")
    alone, analyses = analyses, _by_one_method(analyses)
    _refuse_disagreement(analyses)
    shared = next(iter(analyses.values())).options
    posteriors: dict[str, AUCPosterior] = {}
    for name, each in analyses.items():
        with _about(name):
            posteriors[name] = each.auc
    _emit(analyses)
    notes = tuple(words.merged_notes({name: post.notes for name, post in posteriors.items()})) + tuple(
        f"{name}: refitted here as others have no closed form, on the same splits; alone it is judged in closed form, "
        f"with an AUC of {words.estimate(each.auc.mean, *each.auc.interval())}."
        for name, each in alone.items()
        if analyses[name] is not each
    )
    if shared.in_sample:
        prior = Prior.paper() if shared.prior is None else shared.prior
        views = [each.two_classes for each in analyses.values()]
        return Judged(posteriors, in_sample_joint(views, prior), notes)
    evidence = _evidence(list(analyses.values()))
    if sum(post.mean > NEAR_ONE for post in posteriors.values()) >= 2:
        notes += (
            f"AUCs above {NEAR_ONE:g} are decided by the few rows in the tails of the scores: "
            f"differences between them are less certain than their intervals and probabilities say.",
        )
    return Judged(posteriors, LooJoint(evidence, EffectPrior.checked(shared.prior)), notes)


def _evidence(analyses: list[Analysis]) -> PairedEvidence:
    if analyses[0].several_classes:
        return class_evidence([(each.class_rows, *each.averaged) for each in analyses])
    loo = [each.leave_one_out for each in analyses]
    refits = [each for each in loo if isinstance(each, Refits)]
    if refits:
        return refitted_evidence(refits)
    return paired_evidence([each.removed for each in loo], [each.statistic for each in loo])


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Errors about a classifier say which one."""
    try:
        yield
    except EstimatorError as err:
        raise type(err)(f"model '{name}': {err}") from err


def _by_one_method(analyses: Mapping[str, Analysis]) -> dict[str, Analysis]:
    """Where one classifier has no closed form all are refitted, on the same splits: their noise cancels."""
    if not any(each.by_refits for each in analyses.values()):
        return dict(analyses)
    return {
        name: each if each.by_refits or each.options.method != "auto" else each.by("refit")
        for name, each in analyses.items()
    }


def _refuse_disagreement(analyses: Mapping[str, Analysis]) -> None:
    """Models can be compared only on the rows that they share, and if the same was asked about each."""
    first, *others = analyses.values()
    for other in others:
        for what, agree in _agreements(first, other):
            if not agree:
                raise InputError(
                    f"the analyses differ in their {what}: compare models that were fitted to the same rows, and "
                    f"analysed with the same options."
                )


def _agreements(a: Analysis, b: Analysis) -> Iterator[tuple[str, bool]]:
    yield "number of classes", a.several_classes == b.several_classes
    if a.several_classes:
        first, second = a.of_classes, b.of_classes
        yield "rows or classes", first.classes == second.classes and np.array_equal(first.codes, second.codes)
        yield "groups", _same_groups(a.class_scores.groups, b.class_scores.groups)
        yield "method", (a.class_scores.repeats is None) == (b.class_scores.repeats is None)
        yield "average", a.options.multi_class == b.options.multi_class
        yield "prior", EffectPrior.checked(a.options.prior) == EffectPrior.checked(b.options.prior)
        return
    yield "rows or positive class", np.array_equal(a.rows.labels.positive, b.rows.labels.positive)
    yield "method", (a.options.in_sample, a.by_refits) == (b.options.in_sample, b.by_refits)
    if a.options.in_sample:
        yield "prior", a.options.prior is b.options.prior or repr(a.options.prior) == repr(b.options.prior)
        return
    yield "prior", EffectPrior.checked(a.options.prior) == EffectPrior.checked(b.options.prior)
    yield "groups", _same_groups(a.leave_one_out.removed.groups, b.leave_one_out.removed.groups)


def _same_groups(a: Ints | None, b: Ints | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


def _emit(analyses: Mapping[str, Analysis]) -> None:
    """Give each warning once, with the name of its model unless it is about the method."""
    seen: set[str] = set()
    for name, each in analyses.items():
        for warning in each.warnings:
            text = str(warning) if isinstance(warning, OptimismWarning) else f"{name}: {warning}"
            if text not in seen:
                seen.add(text)
                warn_user(text, type(warning))
