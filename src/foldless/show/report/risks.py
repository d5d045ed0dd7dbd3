"""The parts of a report about predicted risks: other thresholds, calibration, decisions, precision, and one table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foldless import words
from foldless.checks import Floats
from foldless.results.auc import stated
from foldless.show import style, validation
from foldless.show.report import page
from foldless.show.report.parts import Case, Part
from foldless.validation import validate

SHOWN_RATES = ("sensitivity", "specificity", "ppv", "npv", "alarms")
THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
RARE = 0.005  # share of rows beyond the right end of the pictures
POINTS, GROUPS, WORTH = 49, 10, 0.001  # the last: net benefit worth a word, one true positive among 1,000 rows
RECALLS, NOTABLE = (0.5, 0.8, 0.9, 0.95), 0.03  # the last: area between two curves that is worth a word


def _drawn(display: validation.CurveDisplay) -> dict[str, Floats]:
    return {"x": display.x, "mean": display.mean, "low": display.low, "high": display.high}


def thresholds_part(case: Case) -> Part:
    """Rates at thresholds with rows on both sides of them, and at one half."""
    honest = case.analysis.probabilities
    at = [case.analysis.at(probability=t) for t in THRESHOLDS if t == 0.5 or honest.min() < t < honest.max()]
    rows = [
        {"probability": post.probability, **{name: stated(getattr(post, name), case.level) for name in SHOWN_RATES}}
        for post in at
    ]
    return Part({"level": case.level, "prevalence": at[0].prevalence, "rows": rows})


# ---- Calibration


def calibration_part(case: Case) -> Part:
    """Whether predicted risks are right: the curve with its band, and groups of rows as they were counted."""
    calibration, level = case.analysis.calibration, case.level
    display = replace(validation.CalibrationDisplay.of(case.analysis, level, _grid(case)), notes=())
    groups = _groups(case)
    figures = {name: stated(getattr(calibration, name), level) for name in ("slope", "intercept", "oe", "ici")}
    text = _calibration_words(figures)

    def draw(ax: Any) -> None:
        predicted, observed = ([g[key] for g in groups] for key in ("predicted", "observed"))
        look = {"color": style.FAINT, "markersize": 5, "zorder": 4, "label": f"{len(groups)} groups, as counted"}
        ax.plot(predicted, observed, "o", **look)
        _plotted(display, ax)
        end = display.x[-1] * 1.04
        ax.set(xlim=(-0.02 * end, end), ylim=(-0.02, max(end, 1.05 * max(observed))))
        style.legend(ax, loc="upper left")

    content = {"level": level, **figures, "groups": groups, "curve": _drawn(display), "text": text}
    content["doubts"] = list(calibration.doubts(level))
    return Part(content, {"calibration": page.Picture(f"Calibration curve. {text}", draw, 3.6)})


def _grid(case: Case) -> Floats:
    """Risks from near 0 on, as far as some rows have them."""
    end = float(np.quantile(case.analysis.probabilities, 1 - RARE))
    return np.linspace(0.002, 1.0, POINTS) * float(np.clip(end, 0.05, 0.99))


def _groups(case: Case) -> list[dict[str, Any]]:
    """Rows in groups of equal size, in the order of their risk."""
    risk, positive = case.analysis.probabilities, case.analysis.rows.labels.positive
    parts = np.array_split(np.argsort(risk, kind="stable"), min(GROUPS, risk.size))
    return [{"predicted": risk[k].mean(), "observed": positive[k].mean(), "rows": k.size} for k in parts]


def _calibration_words(figures: dict[str, dict[str, float]]) -> str:
    oe, slope = figures["oe"], figures["slope"]
    on_average = _beside_one(oe, "too high on average", "right on average", "too low on average")
    spread = _beside_one(
        slope,
        "They are too extreme: high risks are too high, and low ones too low",
        "These data do not show that they are too extreme, or not extreme enough",
        "They are not extreme enough: high risks are too low, and low ones too high",
    )
    start = f"The predicted risks are {on_average} (observed/expected {_in_words(oe)})."
    if np.isnan(slope["mean"]):
        return f"{start} Many of them are exactly 0 or 1: there is no calibration slope."
    return f"{start} {spread} (slope {_in_words(slope)}; 1 would be right)."


def _beside_one(figure: dict[str, float], below: str, about: str, above: str) -> str:
    """The words for where an interval lies."""
    return below if figure["high"] < 1 else above if figure["low"] > 1 else about


def _in_words(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.2f}, {figure['low']:.2f} to {figure['high']:.2f}"


def _plotted(display: validation.CurveDisplay, ax: Any) -> None:
    display.plot(ax, label="this classifier")
    ax.get_legend().set_frame_on(False)  # a frame would look like a hole in the band


# ---- Decisions


def decision_part(case: Case) -> Part:
    """The decision curve, and where acting on the classifier is worth more than treating all or none."""
    display = replace(validation.DecisionCurveDisplay.of(case.analysis, case.level, _grid(case)), notes=())
    kept = [t for t in THRESHOLDS if t <= display.x[-1]]
    net = case.analysis.net_benefit(kept or [float(display.x[-1])])
    ends = zip(net.thresholds, net.mean, *net.interval(case.level), net.treat_all, strict=True)
    rows = [dict(zip(("probability", "mean", "low", "high", "treat_all"), row, strict=True)) for row in ends]
    text = _decision_words(display)

    def draw(ax: Any) -> None:
        _plotted(display, ax)
        ax.set_xlim(-0.02 * display.x[-1], 1.04 * display.x[-1])
        style.legend(ax, loc="upper right")

    content = {"level": case.level, "rows": rows, "curve": _drawn(display), "text": text}
    return Part(content, {"decision": page.Picture(f"Decision curve. {text}", draw, 3.2)})


def _decision_words(display: validation.CurveDisplay) -> str:
    p, t = display.prevalence, display.x
    rival = np.maximum(p - (1 - p) * t / (1 - t), 0.0) + WORTH
    if not np.any(display.mean > rival):
        return "At no threshold is acting on the classifier expected to do better than treating everybody or nobody."
    better = "Acting on the classifier is expected to do better than treating everybody or nobody"
    text = f"{better} {_range(t, display.mean > rival)}"
    interval = f"the whole {words.percent(display.level)} interval"
    if not np.any(display.low > rival):
        return f"{text}; at none of them is {interval} better."
    return f"{text}; {interval} is better {_range(t, display.low > rival)}."


def _range(t: Floats, true: Any) -> str:
    first, last = (f"{100 * end:.0f}" for end in t[np.flatnonzero(true)[[0, -1]]])
    if first == last:
        return f"at a threshold of {first}\N{NO-BREAK SPACE}%"
    return f"at thresholds between {first} and {last}\N{NO-BREAK SPACE}%"


# ---- Precision and recall


def precision_recall_part(case: Case) -> Part:
    """The precision-recall curve, and the share of right alarms at some sensitivities."""
    a, grid = case.analysis, np.linspace(0.02, 0.98, POINTS)
    display = replace(validation.PrecisionRecallPosteriorDisplay.of(a, case.level, grid), notes=())
    curve, at = a.precision_recall, np.array(RECALLS)
    ends = zip(RECALLS, curve.mean(at), *curve.band(at, case.level), strict=True)
    rows = [dict(zip(("recall", "mean", "low", "high"), row, strict=True)) for row in ends]
    area = stated(a.average_precision, case.level)
    text = (
        f"Average precision {words.estimate(area['mean'], area['low'], area['high'])}; without any knowledge it would "
        f"be the share of positive rows, {display.prevalence:.3f}."
    )
    if abs((smooth := float(curve.mean(grid).mean())) - area["mean"]) > NOTABLE:
        text += f" The smooth curve, {smooth:.3f} on average, does not follow equal scores as the thin line does."

    def draw(ax: Any) -> None:
        _plotted(display, ax)
        _draw_counted(ax, a.roc.steps, display.prevalence)
        ax.set_ylim(-0.02, 1.02)

    content = {"level": case.level, "average_precision": area, "rows": rows, "curve": _drawn(display), "text": text}
    return Part(content, {"precision": page.Picture(f"Precision-recall curve. {text}", draw, 3.2)})


def _draw_counted(ax: Any, steps: tuple[Floats, Floats] | None, prevalence: float) -> None:
    """The thin line of the ROC curve in terms of precision and recall."""
    if steps is not None:
        fpr, tpr = (rates[1:] for rates in steps)
        right = prevalence * tpr / (prevalence * tpr + (1 - prevalence) * fpr)
        ax.plot(tpr, right, linewidth=0.9, alpha=0.6, label="counted, each row left out", zorder=2.5)
        style.legend(ax, loc="best")


# ---- Everything in one table


def validation_part(case: Case) -> Part:
    """The table of `validate`."""
    return Part(validate(case.analysis, level=case.level).summary())
