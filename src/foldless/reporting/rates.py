"""Sensitivity, specificity and predictive values where the classifier itself decides."""

from __future__ import annotations

from foldless._threshold import why_unknown
from foldless.error import ErrorPosterior
from foldless.estimate import error_posterior
from foldless.reporting.case import TWO_ONLY, Case, Part

NO_THRESHOLD = (
    "Given weights rank rows but draw no line between the classes: pass a threshold to foldless.error_posterior."
)


def part(case: Case) -> Part:
    """The rates at the threshold of the classifier and the prevalence of the data."""
    if not case.two_classes:
        return Part.skipped(TWO_ONLY)
    post, reason = at_own_threshold(case)
    return Part.skipped(reason) if post is None else Part(post.summary(case.level))


def at_own_threshold(case: Case) -> tuple[ErrorPosterior | None, str]:
    """The rates where ``predict`` changes its mind; or why they are not known."""
    if case.is_weights:
        return None, NO_THRESHOLD
    if (reason := why_unknown(case.estimator)) is not None:
        return None, reason
    return error_posterior(case.estimator, case.X, case.y, **case.about), ""
