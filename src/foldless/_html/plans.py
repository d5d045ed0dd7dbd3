"""What a notebook shows of a plan: the rows a study needs, and what more rows would bring."""

from __future__ import annotations

from typing import Any

from foldless._html import numbers, svg
from foldless._html.card import card
from foldless._html.results import LEVEL, METHODS


def learning_curve(curve: Any) -> str:
    """A `LearningCurve`: the AUC at every size, on one axis."""
    points = curve.summary(LEVEL)["points"]
    rows = {f"{p['rows']:,} rows": (p["auc"], p["low"], p["high"]) for p in points}
    first, last = points[0], points[-1]
    figure = f"{numbers.rate(first['auc'])} with {first['rows']:,} rows"
    if last is not first:
        figure += f", {numbers.rate(last['auc'])} with {last['rows']:,}"
    facts = {name: numbers.estimate(*row) for name, row in rows.items()}
    facts |= {
        f"{numbers.percent(LEVEL)} interval then": "; ".join(f"± {p['half_width_then']:.3f}" for p in points),
        "training noise": f"{curve.noise_share:.2f} of the variance of the scores",
        "method": METHODS.get(curve.method, curve.method),
    }
    return card("AUC to expect from more rows", figure, facts, picture=svg.intervals(rows), notes=curve.notes)


def sample_plan(plan: Any) -> str:
    """A `SamplePlan`: the rows, and the promise that they keep."""
    level = numbers.percent(plan.level)
    facts = {"AUC": f"{plan.auc:g}, as expected", f"{level} interval": f"± {plan.half_width:.3f}"}
    if plan.above is not None:
        facts[f"interval above {plan.above:g}"] = f"with probability {numbers.rate(plan.power)}"
    facts["training noise"] = f"{plan.noise_share:.2f} of the variance of the scores, as assumed"
    if plan.n_if_noisy is not None:
        facts["rows at worst"] = f"{plan.n_if_noisy:,}, if the scores were training noise throughout"
    figure = f"{plan.n:,} rows: {plan.n1:,} positive, {plan.n0:,} negative"
    return card("Rows that the study needs", figure, facts, notes=plan.notes)
