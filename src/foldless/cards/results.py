"""One function per kind of result: what a notebook shows for it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from foldless import words
from foldless.cards import drawing
from foldless.cards.drawing import FRAME, RULE, card, density_curve

if TYPE_CHECKING:
    from foldless.comparison.answers import Comparison, Ranking


# ---- One function per kind of result: what of it is worth a reader's eye, as a card.

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
        "sd": words.rate(post.sd),
        "P(AUC > 0.5)": words.rate(post.prob_above(0.5)),
        **_origin(post),
    }
    if post.details.get("groups"):
        facts["groups"] = str(post.details["groups"])
    picture = drawing.density(density_curve(post, LEVEL), chance=0.5)
    return card("AUC on new data", _headline(post), facts, picture=picture, notes=post.notes)


def rate_posterior(rate: Any) -> str:
    """A `RatePosterior` on its own: a sensitivity or a specificity."""
    facts = {"sd": words.rate(rate.sd), "median": words.rate(rate.median)}
    picture = drawing.density(density_curve(rate, LEVEL))
    return card("Rate on new data", _headline(rate), facts, picture=picture, remark=PARENT)


def derived_rate(rate: Any) -> str:
    """A `DerivedRate`: error, PPV or NPV."""
    facts = {"sd": words.rate(rate.sd), "prevalence": f"{rate.prevalence:.3g}"}
    title = {"error": "Error rate", "ppv": "Positive predictive value", "npv": "Negative predictive value"}[rate.name]
    picture = drawing.density(density_curve(rate, LEVEL, bins=DERIVED_BINS))
    return card(f"{title} on new data", _headline(rate), facts, picture=picture, remark=PARENT)


def roc_posterior(roc: Any) -> str:
    """A `ROCPosterior`."""
    area = roc.partial_auc(1.0, LEVEL)
    points = [(f"TPR at FPR {fpr:g}", roc.tpr_at(fpr, LEVEL)) for fpr in FPR]
    facts = {name: words.estimate(*at) for name, at in points}
    picture = drawing.roc(CURVE, roc.mean(CURVE), *roc.band(CURVE, LEVEL))
    return card(
        "ROC curve on new data", f"AUC {_figure(*area)}", {**facts, **_origin(roc)}, picture=picture, notes=roc.notes
    )


def error_posterior(post: Any) -> str:
    """An `ErrorPosterior`: the five rates at its threshold."""
    found = post.summary(LEVEL)
    rates = {name: found[name] for name in ("error", "sensitivity", "specificity", "ppv", "npv")}
    rows = {_short(name): (r["mean"], r["low"], r["high"]) for name, r in rates.items()}
    facts = {n: words.estimate(*row) for n, row in rows.items()}
    facts |= {"threshold": f"{post.threshold:g}", "prevalence": f"{post.prevalence:.3g}", **_origin(post)}
    return card(
        "Error rate on new data", _figure(*rows["error"]), facts, picture=drawing.intervals(rows), notes=post.notes
    )


def honest_scores(found: Any) -> str:
    """`HonestScores`."""
    facts = {
        "rows": str(len(found.scores)),
        "noise share": f"{found.noise_share:.2f} of the variance of the scores comes from the training set",
        "method": METHODS.get(found.method, found.method),
    }
    return card(
        "Honest scores",
        f"leave-pair-out AUC {words.share(found.pair_auc)}",
        facts,
        picture=drawing.histogram(found.scores),
        notes=found.notes,
        remark="Do not pool the scores into an AUC: the class balance moves with the removed row.",
    )


def auc_estimate(estimate: Any, interval: tuple[float, float] | None, reason: str) -> str:
    """An `AUCEstimate` of a baseline, with its interval or the reason why it has none."""
    level = words.percent(LEVEL)
    facts = {f"{level} interval": f"none: {reason}" if interval is None else _plain_span(*interval)}
    if estimate.se is not None:
        facts["standard error"] = f"{estimate.se:.4g}"
    scalars = {k: v for k, v in estimate.details.items() if isinstance(v, bool | int | float | str)}
    facts |= {str(key).replace("_", " "): _scalar(value) for key, value in scalars.items()}
    return card(f"AUC by the method '{estimate.method}'", words.share(float(estimate)), facts)


def _headline(rate: Any) -> str:
    return _figure(rate.mean, *rate.interval(LEVEL))


def _figure(mean: float, low: float, high: float) -> str:
    return f"{words.rate(mean)}, {words.percent(LEVEL)} interval {words.span(low, high)}"


def _origin(post: Any) -> dict[str, str]:
    return {
        "rows": f"{post.n1} positive, {post.n0} negative",
        "method": METHODS.get(post.method, post.method),
    }


def _short(name: str) -> str:
    return name.upper() if name in ("ppv", "npv") else name


def _plain_span(low: float, high: float) -> str:
    return f"{words.share(low)} to {words.share(high)}"


def _scalar(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ---- What a notebook shows of a plan: the rows a study needs, and what more rows would bring.


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
        "training noise": f"{curve.noise_share:.2f} of the variance of the scores",
        "method": METHODS.get(curve.method, curve.method),
    }
    return card("AUC to expect from more rows", figure, facts, picture=drawing.intervals(rows), notes=curve.notes)


def sample_plan(plan: Any) -> str:
    """A `SamplePlan`: the rows, and the promise that they keep."""
    level = words.percent(plan.level)
    facts = {"AUC": f"{plan.auc:g}, as expected", f"{level} interval": f"± {plan.half_width:.3f}"}
    if plan.above is not None:
        facts[f"interval above {plan.above:g}"] = f"with probability {words.rate(plan.power)}"
    facts["training noise"] = f"{plan.noise_share:.2f} of the variance of the scores, as assumed"
    if plan.n_if_noisy is not None:
        facts["rows at worst"] = f"{plan.n_if_noisy:,}, if the scores were training noise throughout"
    figure = f"{plan.n:,} rows: {plan.n1:,} positive, {plan.n0:,} negative"
    return card("Rows that the study needs", figure, facts, notes=plan.notes)


# ---- What a notebook shows of a diagnosis: the verdict, then the findings, the worst first.

SEVERITY_COLOURS = {"info": RULE, "caution": "#d97706", "severe": "#dc2626"}
VERDICTS = {"trust": "#16a34a", "caution": "#d97706", "do not use": "#dc2626"}
ITEM = "border-left:3px solid {colour};padding:1px 0 1px 9px;margin-top:8px;overflow-wrap:anywhere"


def diagnosis(found: Any) -> str:
    """A `Diagnosis` as HTML; every text is escaped here."""
    dot = f'<span aria-hidden="true" style="color:{VERDICTS[found.verdict]}">&#9679;</span>'
    parts = [
        '<div style="font-weight:600">May the answer be trusted?</div>',
        f'<div style="font-size:17px;margin:2px 0 6px">{dot} {escape(found.verdict)}</div>',
        f'<div style="opacity:0.75">{escape(_answer(found))}</div>',
        *(_item(f) for f in found.findings),
    ]
    if not found.findings:
        parts.append('<div style="margin-top:6px">Nothing was found that speaks against it.</div>')
    return f'<div class="foldless" style="{FRAME}">{"".join(parts)}</div>'


def _answer(found: Any) -> str:
    shape = f"{found.n_rows} rows, {found.n_columns} columns"
    if found.auc is None:
        return f"no AUC; {shape}"
    low, high = found.auc.interval(0.95)
    return f"AUC {words.estimate(found.auc.mean, low, high)}; {shape}"


def _item(finding: Any) -> str:
    style = ITEM.format(colour=SEVERITY_COLOURS[finding.severity])
    head = f"<b>{escape(finding.severity)}: {escape(finding.name)}</b>"
    advice = f'<div style="opacity:0.75">{escape(finding.advice)}</div>'
    return f'<div style="{style}">{head}<div>{escape(finding.text)}</div>{advice}</div>'


# ---- What notebooks show of a comparison and of a ranking.

WIDTH, HEIGHT = 250.0, 18.0
SHARE_COLOURS = ("#3b82f6", "#8b949e", "#d97706")


def comparison(result: Comparison) -> str:
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
        f"AUC of {first}": _auc(result.a),
        f"AUC of {second}": _auc(result.b),
        "rows": f"{result.a.n1} positive, {result.a.n0} negative",
        "method": METHODS.get(result.method, result.method),
    }
    title = f"AUC on new data: {first} less {second}"
    return card(title, figure, facts, picture=_bar((a, equal, b)), notes=result.notes)


def ranking(result: Ranking) -> str:
    """A `Ranking`: one line per model."""
    best = result.models[0]
    facts = {m.name: f"{words.share(m.prob_best)}; AUC {_auc(m.auc)}" for m in result.models}
    facts["method"] = METHODS.get(result.method, result.method)
    figure = f"{best.name}, with probability {words.share(best.prob_best)}"
    return card("Best AUC on new data", figure, facts, notes=result.notes, remark="Probability of being the best; AUC.")


def _auc(post: object) -> str:
    mean, interval = post.mean, post.interval(LEVEL)  # type: ignore[attr-defined]
    return words.estimate(mean, *interval)


def _bar(shares: tuple[float, float, float]) -> str:
    """Three shares of one bar: a better, equal, b better."""
    parts, at = [], 0.0
    for share, colour in zip(shares, SHARE_COLOURS, strict=True):
        parts.append(
            f'<rect x="{at:.1f}" y="0" width="{WIDTH * share:.1f}" height="{HEIGHT:g}" fill="{colour}" '
            f'fill-opacity="0.6"/>'
        )
        at += WIDTH * share
    label = "shares of probability: " + ", ".join(words.share(s) for s in shares)
    return (
        f'<svg role="img" aria-label="{label}" xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" '
        f'height="{HEIGHT:g}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" style="max-width:100%;height:auto">'
        f"{''.join(parts)}</svg>"
    )
