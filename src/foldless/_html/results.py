"""One function per kind of result: what of it is worth a reader's eye, as a card."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._html import numbers, svg
from foldless._html.card import card
from foldless._html.density import density_curve

LEVEL = 0.95
FPR = (0.05, 0.1, 0.2)
CURVE = np.unique(np.concatenate([[0.0], np.geomspace(1e-5, 0.1, 25), np.linspace(0.1, 1.0, 25)]))
DERIVED_BINS = 60  # the cdf of a derived rate costs a quadrature each time
# A rate taken out of its result has no notes of its own, and must not look as if there were none.
PARENT = "What a reader must know stands in the notes of the result that this rate was taken from."
METHODS = {
    "loo": "loo: each row scored as if left out of the one fit",
    "loo-surrogate": "loo-surrogate: each row left out of the nearest ridge regression",
    "in-sample": "in-sample: the paper's model on the training scores",
    "scores": "scores: held-out scores, as given",
}


def auc_posterior(post: Any) -> str:
    """An `AUCPosterior`."""
    facts = {
        "sd": numbers.rate(post.sd),
        "P(AUC > 0.5)": numbers.rate(post.prob_above(0.5)),
        **_origin(post),
    }
    if post.details.get("groups"):
        facts["groups"] = str(post.details["groups"])
    picture = svg.density(density_curve(post, LEVEL), chance=0.5)
    return card("AUC on new data", _headline(post), facts, picture=picture, notes=post.notes)


def rate_posterior(rate: Any) -> str:
    """A `RatePosterior` on its own: a sensitivity or a specificity."""
    facts = {"sd": numbers.rate(rate.sd), "median": numbers.rate(rate.median)}
    picture = svg.density(density_curve(rate, LEVEL))
    return card("Rate on new data", _headline(rate), facts, picture=picture, remark=PARENT)


def derived_rate(rate: Any) -> str:
    """A `DerivedRate`: error, PPV or NPV."""
    facts = {"sd": numbers.rate(rate.sd), "prevalence": f"{rate.prevalence:.3g}"}
    title = {"error": "Error rate", "ppv": "Positive predictive value", "npv": "Negative predictive value"}[rate.name]
    picture = svg.density(density_curve(rate, LEVEL, bins=DERIVED_BINS))
    return card(f"{title} on new data", _headline(rate), facts, picture=picture, remark=PARENT)


def roc_posterior(roc: Any) -> str:
    """A `ROCPosterior`."""
    area = roc.partial_auc(1.0, LEVEL)
    points = [(f"TPR at FPR {fpr:g}", roc.tpr_at(fpr, LEVEL)) for fpr in FPR]
    facts = {name: numbers.estimate(*at) for name, at in points}
    picture = svg.roc(CURVE, roc.mean(CURVE), *roc.band(CURVE, LEVEL))
    return card(
        "ROC curve on new data", f"AUC {_figure(*area)}", {**facts, **_origin(roc)}, picture=picture, notes=roc.notes
    )


def error_posterior(post: Any) -> str:
    """An `ErrorPosterior`: the five rates at its threshold."""
    found = post.summary(LEVEL)
    rates = {name: found[name] for name in ("error", "sensitivity", "specificity", "ppv", "npv")}
    rows = {_short(name): (r["mean"], r["low"], r["high"]) for name, r in rates.items()}
    facts = {n: numbers.estimate(*row) for n, row in rows.items()}
    facts |= {"threshold": f"{post.threshold:g}", "prevalence": f"{post.prevalence:.3g}", **_origin(post)}
    return card("Error rate on new data", _figure(*rows["error"]), facts, picture=svg.intervals(rows), notes=post.notes)


def honest_scores(found: Any) -> str:
    """`HonestScores`."""
    facts = {
        "rows": str(len(found.scores)),
        "noise share": f"{found.noise_share:.2f} of the variance of the scores comes from the training set",
        "method": METHODS.get(found.method, found.method),
    }
    return card(
        "Honest scores",
        f"leave-pair-out AUC {numbers.share(found.pair_auc)}",
        facts,
        picture=svg.histogram(found.scores),
        notes=found.notes,
        remark="Do not pool the scores into an AUC: the class balance moves with the removed row.",
    )


def auc_estimate(estimate: Any, interval: tuple[float, float] | None, reason: str) -> str:
    """An `AUCEstimate` of a baseline, with its interval or the reason why it has none."""
    level = numbers.percent(LEVEL)
    facts = {f"{level} interval": f"none: {reason}" if interval is None else _plain_span(*interval)}
    if estimate.se is not None:
        facts["standard error"] = f"{estimate.se:.4g}"
    scalars = {k: v for k, v in estimate.details.items() if isinstance(v, bool | int | float | str)}
    facts |= {str(key).replace("_", " "): _scalar(value) for key, value in scalars.items()}
    return card(f"AUC by the method '{estimate.method}'", numbers.share(float(estimate)), facts)


def _headline(rate: Any) -> str:
    return _figure(rate.mean, *rate.interval(LEVEL))


def _figure(mean: float, low: float, high: float) -> str:
    return f"{numbers.rate(mean)}, {numbers.percent(LEVEL)} interval {numbers.span(low, high)}"


def _origin(post: Any) -> dict[str, str]:
    return {
        "rows": f"{post.n1} positive, {post.n0} negative",
        "method": METHODS.get(post.method, post.method),
    }


def _short(name: str) -> str:
    return name.upper() if name in ("ppv", "npv") else name


def _plain_span(low: float, high: float) -> str:
    return f"{numbers.share(low)} to {numbers.share(high)}"


def _scalar(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
