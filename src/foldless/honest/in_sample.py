"""The in-sample method: the paper's conjugate model on the training scores themselves.

Valid when w was chosen without these rows, or when there are far fewer features than rows.
Otherwise the fit has already adapted to the rows it is judged on, and the prior adds its own
confidence: `optimism` detects this case, and every result says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless.checks import Floats
from foldless.errors import PriorError
from foldless.laws.conjugate import ScorePosterior, class_update, degrees_of_freedom, posterior_trace, update
from foldless.laws.effect import SQRT2, Effect, GridEffect, StudentEffect
from foldless.laws.moments import ScoreStats, feature_moments, prepared
from foldless.laws.prior import Prior, adaptive_effect, spectrum
from foldless.model.view import LinearView
from foldless.tables.matrix import Unloaded


def score_posterior(X: Any, positive: Any, weights: Floats, scores: Floats, prior: Prior) -> ScorePosterior:
    """Posterior of the score distribution along weights (P,) or (P, K), intercept left out of `scores`.

    The result does not depend on the length of w. Scaling by a power of two, which is exact, brings it near 1
    so that neither huge nor tiny weights overflow.
    """
    exponent = np.frexp(np.max(np.abs(weights), axis=0))[1]
    trace = posterior_trace(prior, *feature_moments(X, positive)) if prior.family == "scaled-identity" else None
    with np.errstate(over="ignore"):  # `update` refuses what has overflowed
        stats = ScoreStats.from_classes(np.ldexp(scores, -exponent), positive)
    return update(stats, prior.along(np.ldexp(weights, -exponent)), trace=trace).scaled(np.ldexp(1.0, exponent))


def posterior_along(X: Any, y: Any, w: Any, prior: Prior, pos_label: Any) -> tuple[ScorePosterior, ScoreStats]:
    """The same for weights (P,) or (P, K) and any kind of table, read once and never held in full."""
    identity = prior.family == "scaled-identity"
    ready = prepared(X, y, w, pos_label=pos_label, columns=identity, unit_length=True)
    along, rescaled = prior.along(ready.weights), np.any(ready.exponent)  # while the device, if any, is working
    summary = ready.collect()
    trace = posterior_trace(prior, *summary.columns) if summary.columns is not None else None
    post = update(summary.stats, along, trace=trace)
    return post.scaled(np.ldexp(1.0, ready.exponent)) if rescaled else post, summary.stats


def view_posterior(view: LinearView, prior: Prior) -> ScorePosterior:
    """Posterior of the scores of one classifier; the intercept does not enter."""
    scores = np.asarray(view.scores()) - view.intercept
    return score_posterior(view.X, np.asarray(view.labels.positive), view.w, scores, prior)


def separation(view: LinearView, prior: Prior) -> Effect:
    """Posterior of the separation of the classes along the weights."""
    if prior.family == "adaptive":
        return adaptive_separation(view.X, np.asarray(view.labels.positive), view.w, np.asarray(view.scores()))
    return view_posterior(view, prior).separation()


def adaptive_separation(X: Any, positive: Any, weights: Floats, scores: Floats) -> GridEffect:
    """The same under `Prior.adaptive()`, whose hyperparameters are chosen from the data."""
    if isinstance(X, Unloaded):
        raise PriorError(
            "Prior.adaptive() needs the spectrum of X and does not go with a table that is not in memory: use "
            "Prior.paper(), or load X."
        )
    exponent = np.frexp(np.max(np.abs(weights)))[1]
    with np.errstate(over="ignore"):  # `spectrum` refuses what has overflowed
        weights, scores = np.ldexp(weights, -exponent), np.ldexp(scores, -exponent)
        stats = ScoreStats.from_classes(scores, positive)
    return adaptive_effect(
        spectrum(X, positive),
        float(stats.mean1 - stats.mean0),
        float(stats.scatter0 + stats.scatter1),
        float(weights @ weights),
    )


def adaptive_mean_auc(X: Any, positive: Any, weights: Floats, scores: Floats) -> Any:
    """CBAUC of one classifier under `Prior.adaptive()`, or of each column of weights (P, K)."""
    columns = zip(np.atleast_2d(weights.T), np.atleast_2d(scores.T), strict=True)
    means = [adaptive_separation(X, positive, w, z).mean_probability(SQRT2) for w, z in columns]
    return np.array(means) if weights.ndim == 2 else means[0]


@np.errstate(over="ignore")
def error_effects(view: LinearView, prior: Prior, threshold: float) -> tuple[StudentEffect, StudentEffect]:
    """Standardised distances of both class means above the threshold, with one common covariance."""
    post = view_posterior(view, prior)
    bound = threshold - view.intercept
    return (
        StudentEffect(float((post.mean0 - bound) / post.unit), float(post.nu0**-0.5), post.df),
        StudentEffect(float((post.mean1 - bound) / post.unit), float(post.nu1**-0.5), post.df),
    )


@np.errstate(over="ignore")
def class_error_effects(view: LinearView, prior: Prior, threshold: float) -> tuple[StudentEffect, StudentEffect]:
    """The same when each class has a covariance of its own (Dalton and Dougherty 2011)."""
    along = prior.along(view.w)
    stats = ScoreStats.from_classes(np.asarray(view.scores()) - view.intercept, np.asarray(view.labels.positive))
    bound = threshold - view.intercept
    effects = []
    for moments, nu, mean in ((stats.negative, along.nu0, along.mean0), (stats.positive, along.nu1, along.mean1)):
        df = degrees_of_freedom(along, moments.n)
        center, weight, unit = class_update(moments, nu, mean, along.scale, df)
        effects.append(StudentEffect(float((center - bound) / unit), float(np.sqrt(1 / weight)), df))
    return effects[0], effects[1]


# Mean of the in-sample posterior (paper prior, logistic regression) on data without any signal, by
# features per row: measured in results/optimism.md, nearly the same for N from 20 to 1000.
NOISE_LEVEL = ((0.02, 0.58), (0.05, 0.62), (0.1, 0.68), (0.2, 0.76), (0.5, 0.90), (1.0, 0.99), (2.0, 1.0))
# Beyond this many features per row, pure noise yields 0.6 or more: the result no longer reflects the data.
MAX_FEATURES_PER_ROW = 0.03


def optimism(n_features: int, n_rows: int, prior: Prior) -> str | None:
    """The warning that an in-sample result needs for data of this shape, or None."""
    ratio = n_features / n_rows
    if ratio <= MAX_FEATURES_PER_ROW or prior.family == "adaptive":
        return None
    return (
        f"the in-sample answer is optimistic with {n_features} features and {n_rows} rows: "
        f"{_on_noise(ratio, prior)}. Use method='loo', or judge rows that were not used in the fit "
        f"with auc_posterior_from_scores."
    )


def _on_noise(ratio: float, prior: Prior) -> str:
    if prior.name != Prior.paper().name:
        return "the weights have adapted to the very rows on which they are judged"
    shapes, levels = zip(*NOISE_LEVEL, strict=True)
    return f"on labels without any signal it would read about {np.interp(ratio, shapes, levels):.2f}"
