"""The card of each kind of result, one function each."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from foldless import words
from foldless.cards import drawing
from foldless.cards.drawing import ALERT, BLUE, RULE, card, density_curve, framed

LEVEL = 0.95
CARD_FPR = (0.05, 0.1, 0.2)
CURVE = np.unique(np.concatenate([[0.0], np.geomspace(1e-5, 0.1, 25), np.linspace(0.1, 1.0, 25)]))
DERIVED_BINS = 60  # the cdf of a derived rate costs a quadrature each time
# A rate has no notes of its own; the card must not look as if there were none.
PARENT = "What a reader must know stands in the notes of the result that this rate was taken from."
METHODS = {
    "loo": "loo: each row scored as if left out of the one fit",
    "loo-surrogate": "loo-surrogate: each row left out of the nearest ridge regression",
    "refit": "refit: each row scored by refits that lack it and a fifth of the others",
    "in-sample": "in-sample: the paper's model on the training scores",
    "scores": "scores: held-out scores, as given",
}


def auc_posterior(post: Any) -> str:
    """An `AUCPosterior`."""
    facts = {"sd": words.rate(post.sd), "P(AUC > 0.5)": words.rate(post.prob_above(0.5)), **_origin(post)}
    if post.details.get("groups"):
        facts["groups"] = str(post.details["groups"])
    picture = drawing.density(density_curve(post, LEVEL), chance=0.5)
    return card("AUC on new data", _headline(post), facts, picture=picture, notes=post.notes)


AVERAGES = {
    "ovo": "mean over pairs of classes (Hand and Till)",
    "ovr": "mean over classes against the rest",
}
SHOWN = 6  # pairs of classes that are listed


def multiclass_auc_posterior(post: Any) -> str:
    """A `MulticlassAUCPosterior`, with its weakest pairs of classes."""
    pairs = sorted(post.pairwise, key=lambda pair: post.pairwise[pair].mean)
    facts = {
        "average": AVERAGES[post.multi_class],
        "sd": words.rate(post.sd),
        "rows": ", ".join(f"{c}: {n}" for c, n in zip(post.classes, post.counts, strict=True)),
        "method": post.method,
        "score": str(post.details.get("score", "as given")),
        **{f"{first} and {second}": _estimate(post.pairwise[first, second]) for first, second in pairs[:SHOWN]},
    }
    rest = len(pairs) - SHOWN
    remark = f"The {SHOWN} weakest pairs of classes; {rest} others are better." if rest > 0 else ""
    picture = drawing.density(density_curve(post, LEVEL), chance=0.5)
    return card("Average AUC on new data", _headline(post), facts, picture=picture, notes=post.notes, remark=remark)


def rate_posterior(rate: Any) -> str:
    """A `RatePosterior` on its own: a sensitivity or a specificity."""
    facts = {"sd": words.rate(rate.sd), "median": words.rate(rate.median)}
    picture = drawing.density(density_curve(rate, LEVEL))
    return card("Rate on new data", _headline(rate), facts, picture=picture, remark=PARENT)


def accuracy_posterior(post: Any) -> str:
    """An `AccuracyPosterior`."""
    facts = {"sd": words.rate(post.sd), "method": METHODS.get(post.method, post.method)}
    picture = drawing.density(density_curve(post, LEVEL))
    title = f"{post.name[0].upper()}{post.name[1:]} on new data"
    return card(title, _headline(post), facts, picture=picture, notes=post.notes)


DERIVED = {
    "error": "Error rate",
    "ppv": "Positive predictive value",
    "npv": "Negative predictive value",
    "alarms": "Share of alarms",
    "f1": "F1",
}


def derived_rate(rate: Any) -> str:
    """A `DerivedRate`: error, PPV, NPV, alarms or F1."""
    facts = {"sd": words.rate(rate.sd), "prevalence": f"{rate.prevalence:.3g}"}
    picture = drawing.density(density_curve(rate, LEVEL, bins=DERIVED_BINS))
    return card(f"{DERIVED[rate.name]} on new data", _headline(rate), facts, picture=picture, remark=PARENT)


def measure(post: Any) -> str:
    """A `Measure`."""
    facts = {"sd": f"{post.sd:.3g}", "apparent": f"{post.apparent:.3f}", "optimism": f"{post.optimism:.3f}"}
    return card(f"{post.name[0].upper()}{post.name[1:]} on new data", _headline_of(post), facts, remark=PARENT)


def calibration(post: Any) -> str:
    """A `Calibration`."""
    facts = {each.name: _headline_of(each) for each in post.measures[1:]} | {"method": METHODS[post.method]}
    return card("Calibration on new data", f"slope {_headline_of(post.slope)}", facts, notes=post.notes)


def validation(post: Any) -> str:
    """A `Validation`."""
    facts = {name: f"{honest} ({interval})" for name, _, honest, _, interval in post.cells()[1:]}
    rows = f"{post.n1} positive, {post.n0} negative rows"
    if post.classes:
        rows = f"{post.n1} rows of {len(post.classes)} classes"
    return card("Internal validation", rows, facts, notes=post.notes)


def _headline_of(post: Any) -> str:
    """Mean and interval of a figure that need not lie between 0 and 1."""
    low, high = post.interval(LEVEL)
    return f"{post.mean:.3f} [{low:.3f}, {high:.3f}]"


def roc_posterior(roc: Any) -> str:
    """A `ROCPosterior`."""
    area = roc.partial_auc(1.0, LEVEL)
    facts = {f"TPR at FPR {fpr:g}": words.estimate(*roc.tpr_at(fpr, LEVEL)) for fpr in CARD_FPR}
    picture = drawing.roc(CURVE, roc.mean(CURVE), *roc.band(CURVE, LEVEL))
    facts |= _origin(roc)
    return card("ROC curve on new data", f"AUC {_figure(*area)}", facts, picture=picture, notes=roc.notes)


def error_posterior(post: Any) -> str:
    """An `ErrorPosterior`: the five rates at its threshold."""
    summary = post.summary(LEVEL)
    names = {"error": "error", "sensitivity": "sensitivity", "specificity": "specificity", "ppv": "PPV", "npv": "NPV"}
    rows = {name: tuple(summary[key][x] for x in ("mean", "low", "high")) for key, name in names.items()}
    facts = {name: words.estimate(*row) for name, row in rows.items()}
    facts |= {"threshold": f"{post.threshold:g}", "prevalence": f"{post.prevalence:.3g}", **_origin(post)}
    picture = drawing.intervals(rows)
    return card("Error rate on new data", _figure(*rows["error"]), facts, picture=picture, notes=post.notes)


def class_error_posterior(post: Any) -> str:
    """A `ClassErrorPosterior`: how often each class is recognised."""
    rows = {str(label): (rate.mean, *rate.interval(LEVEL)) for label, rate in post.sensitivity.items()}
    facts = {name: words.estimate(*row) for name, row in rows.items()} | {"method": _method(post)}
    remark = "Share of the rows of each class that is recognised."
    about = {"picture": drawing.intervals(rows), "notes": post.notes, "remark": remark}
    return card("Error rate on new data", _headline(post.error), facts, **about)


def honest_scores(honest: Any) -> str:
    """`HonestScores`."""
    facts = {
        "rows": str(len(honest.scores)),
        "training noise": f"{honest.noise_share:.2f} of the variance of the scores comes from the training set",
        "method": _method(honest),
    }
    figure = f"leave-pair-out AUC {words.share(honest.pair_auc)}"
    remark = "Do not pool the scores into an AUC: the class balance moves with the removed row."
    picture = drawing.histogram(honest.scores.ravel())
    return card("Honest scores", figure, facts, picture=picture, notes=honest.notes, remark=remark)


def auc_estimate(estimate: Any, interval: tuple[float, float] | None, reason: str) -> str:
    """An `AUCEstimate` of a baseline, with its interval or the reason why it has none."""
    level = words.percent(LEVEL)
    span = f"none: {reason}" if interval is None else " to ".join(words.share(end) for end in interval)
    facts = {f"{level} interval": span}
    if estimate.se is not None:
        facts["standard error"] = f"{estimate.se:.4g}"
    scalars = {k: v for k, v in estimate.details.items() if isinstance(v, bool | int | float | str)}
    facts |= {
        str(key).replace("_", " "): f"{value:.4g}" if isinstance(value, float) else str(value)
        for key, value in scalars.items()
    }
    return card(f"AUC by the method '{estimate.method}'", words.share(float(estimate)), facts)


def _headline(rate: Any) -> str:
    return _figure(rate.mean, *rate.interval(LEVEL))


def _figure(mean: float, low: float, high: float) -> str:
    return f"{words.rate(mean)}, {words.percent(LEVEL)} interval {words.span(low, high)}"


def _origin(post: Any) -> dict[str, str]:
    return {"rows": f"{post.n1} positive, {post.n0} negative", "method": _method(post)}


def _method(result: Any) -> str:
    return METHODS.get(result.method, str(result.method))


def _estimate(rate: Any) -> str:
    return words.estimate(rate.mean, *rate.interval(LEVEL))


def learning_curve(curve: Any) -> str:
    """A `LearningCurve`: the AUC at every size, on one axis."""
    points = curve.summary(LEVEL)["points"]
    rows = {f"{p['rows']:,} rows": (p["auc"], p["low"], p["high"]) for p in points}
    first, last = points[0], points[-1]
    figure = f"{words.rate(first['auc'])} with {first['rows']:,} rows"
    if last is not first:
        figure += f", {words.rate(last['auc'])} with {last['rows']:,}"
    facts = {name: words.estimate(*row) for name, row in rows.items()}
    facts |= {
        f"{words.percent(LEVEL)} interval then": "; ".join(f"± {p['half_width_then']:.3f}" for p in points),
        "training noise": f"{curve.noise_share:.2f} of the variance of the scores comes from the training set",
        "method": _method(curve),
    }
    return card("AUC to expect from more rows", figure, facts, picture=drawing.intervals(rows), notes=curve.notes)


def permutation_test(test: Any) -> str:
    """A `PermutationTest`: where the AUC of the true labels lies among the others."""
    low, high = np.quantile(test.null, [0.025, 0.975])
    count = f"{'all' if test.exhaustive else 'random'} {test.n_permutations:,}, of {test.permuted}"
    facts = {
        "AUC": f"{words.rate(test.statistic)}, {test.left_out} left out",
        "permuted labels": f"{words.rate(float(np.median(test.null)))} ({words.span(float(low), float(high))})",
        "relabellings": count,
        "rows": f"{test.n1} positive, {test.n0} negative",
    }
    picture = drawing.histogram(test.null, mark=round(test.statistic, 3), what="AUCs")
    remark = "The dashed line is the AUC of the true labels; p = (1 + those that reach it) / (1 + all others)."
    title = "Do the labels say anything about the rows?"
    return card(title, f"p = {test.p_value:.2g}", facts, picture=picture, notes=test.notes, remark=remark)


def decoding(result: Any) -> str:
    """A `Decoding`: where the labels can be told, and the best point."""
    best, spans = int(np.argmax(result.statistic)), [" to ".join(map(str, dict.fromkeys(s))) for s in result.spans()]
    facts = {
        "p ≤ 0.05 at": words.first_few(spans) or "none",
        "best": f"{result.times[best]}: AUC {_estimate(result.auc[best])}, p = {result.p_values[best]:.2g}",
        "relabellings": f"{'all' if result.exhaustive else 'random'} {result.null.size:,}, of {result.permuted}",
        "trials": f"{result.n1} positive, {result.n0} negative",
    }
    figure = f"{int(result.significant().sum())} of {len(result.auc)} {result.points}"
    remark = "p-values are corrected for the number of points by the highest AUC of all points under each relabelling."
    return card("Where do the labels show?", figure, facts, notes=result.notes, remark=remark)


def sample_plan(plan: Any) -> str:
    """A `SamplePlan`: the rows needed, and what they achieve."""
    level = words.percent(plan.level)
    facts = {"AUC": f"{plan.auc:g}, as expected", f"{level} interval": f"± {plan.half_width:.3f}"}
    if plan.above is not None:
        facts[f"interval above {plan.above:g}"] = f"with probability {words.rate(plan.power)}"
    facts["training noise"] = f"{plan.noise_share:.2f} of the variance of the scores, as assumed"
    if plan.n_if_noisy is not None:
        facts["rows at worst"] = f"{plan.n_if_noisy:,}, if the scores were training noise throughout"
    figure = f"{plan.n:,} rows: {plan.n1:,} positive, {plan.n0:,} negative"
    return card("Rows that the study needs", figure, facts, notes=plan.notes)


SEVERITY_COLOURS = {"info": RULE, "caution": ALERT, "severe": "#dc2626"}
VERDICT_COLOURS = {"trust": "#16a34a", "caution": ALERT, "do not use": "#dc2626"}
ITEM = "border-left:3px solid {colour};padding:1px 0 1px 9px;margin-top:8px;overflow-wrap:anywhere"


def diagnosis(result: Any) -> str:
    """A `Diagnosis`; all text is escaped here."""
    dot = f'<span aria-hidden="true" style="color:{VERDICT_COLOURS[result.verdict]}">&#9679;</span>'
    auc = "no AUC" if result.auc is None else f"AUC {_estimate(result.auc)}"
    items = [_item(finding) for finding in result.findings]
    nothing = '<div style="margin-top:6px">Nothing was found that speaks against it.</div>'
    about = f'<div style="opacity:0.75">{escape(auc)}; {result.n_rows} rows, {result.n_columns} columns</div>'
    return framed("May the answer be trusted?", f"{dot} {escape(result.verdict)}", [about, *(items or [nothing])])


def _item(finding: Any) -> str:
    style = ITEM.format(colour=SEVERITY_COLOURS[finding.severity])
    head = f"<b>{escape(finding.severity)}: {escape(finding.name)}</b>"
    advice = f'<div style="opacity:0.75">{escape(finding.advice)}</div>'
    return f'<div style="{style}">{head}<div>{escape(finding.text)}</div>{advice}</div>'


# ---- A comparison, and a ranking.

BAR_HEIGHT = 18.0
SHARE_COLOURS = (BLUE, "#8b949e", ALERT)


def comparison(result: Any) -> str:
    """A `Comparison`: the three probabilities as a bar, and the difference."""
    low, high = result.difference.interval(LEVEL)
    a, equal, b = result.difference.beyond(result.rope)
    first, second = result.names
    figure = f"{result.difference.mean:+.3f}, {words.percent(LEVEL)} interval {low:+.3f} to {high:+.3f}"
    facts = {f"P({first} better)": words.share(a)}
    if result.rope or result.difference.exactly_zero:
        facts[f"P(equal within {result.rope:g})"] = words.share(equal)
    facts |= {
        f"P({second} better)": words.share(b),
        f"AUC of {first}": _estimate(result.a),
        f"AUC of {second}": _estimate(result.b),
        "rows": _origin(result.a)["rows"],
        "method": _method(result),
    }
    title = f"AUC on new data: {first} less {second}"
    return card(title, figure, facts, picture=_bar((a, equal, b)), notes=result.notes)


def ranking(result: Any) -> str:
    """A `Ranking`: one line per model."""
    best = result.models[0]
    facts = {m.name: f"{words.share(m.prob_best)}; AUC {_estimate(m.auc)}" for m in result.models}
    facts["method"] = _method(result)
    figure = f"{best.name}, with probability {words.share(best.prob_best)}"
    return card("Best AUC on new data", figure, facts, notes=result.notes, remark="Probability of being the best; AUC.")


def _bar(shares: tuple[float, float, float]) -> str:
    """Three shares of one bar: a better, equal, b better."""
    parts, at = [], 0.0
    for share, colour in zip(shares, SHARE_COLOURS, strict=True):
        width = drawing.WIDTH * share
        parts.append(
            f'<rect x="{at:.1f}" y="0" width="{width:.1f}" height="{BAR_HEIGHT:g}" fill="{colour}" fill-opacity="0.6"/>'
        )
        at += width
    label = "shares of probability: " + ", ".join(words.share(s) for s in shares)
    return drawing.svg(drawing.WIDTH, BAR_HEIGHT, label, parts)
